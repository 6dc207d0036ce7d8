//! Error messages of the program, on one line and with its options.
//!
//! Errors travel as they are; they become text once, where they are printed.

use std::io;

use codiag::Error;
use codiag::error::system_reason;

use crate::option_names::Flags;

/// An error with the places where it happened, on one line.
pub fn line(error: &anyhow::Error) -> String {
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
    // Scripts and people both read the last line.
    parts.join(": ").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_place_and_says_each_thing_once() {
        let error = anyhow::Error::from(Error::from(io::Error::from_raw_os_error(2)));
        assert_eq!(
            line(&error.context("b.npy")),
            "b.npy: cannot be read: no such file or directory"
        );
        let error = anyhow::anyhow!("two\nlines").context("b.npy");
        assert_eq!(line(&error), "b.npy: two lines");
    }
}
