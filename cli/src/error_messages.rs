//! Error messages of the program: one line that names options as they are typed.

use std::io;

use codiag::Error;
use codiag::error::system_reason;

use crate::option_names::Flags;

/// Formats an error with its context on one line.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut parts = Vec::new();
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<Error>() {
            // The message includes its causes.
            parts.push(error.render(&Flags));
            break;
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            parts.push(system_reason(error));
            break;
        }
        parts.push(cause.to_string());
    }
    parts.join(": ").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_the_file_and_repeats_nothing() {
        let error = anyhow::Error::from(Error::from(io::Error::from_raw_os_error(2)));
        assert_eq!(
            one_line(&error.context("b.npy")),
            "b.npy: cannot be read: no such file or directory"
        );
        let error = anyhow::anyhow!("two\nlines").context("b.npy");
        assert_eq!(one_line(&error), "b.npy: two lines");
    }
}
