//! The border itself: nothing unwinds across it, and what went wrong is kept for the thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use codiag::Error;
use codiag::error::OptionNames;

use crate::details::Details;
use crate::option_names::{C, Octave, R};

/// What functions return: 0, or what kind of thing is wrong.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_error {
    /// Nothing is wrong.
    None = 0,
    /// A pointer is NULL or not aligned, the size of a struct is not one that this version of the
    /// library knows, or a number is none of its enum.
    Argument = 1,
    /// There are no matrices, they have no size, or more numbers than can be addressed.
    Shape = 2,
    /// An entry or a sample is NaN or infinite, or so large or small that products leave the range of
    /// numbers.
    NotFinite = 3,
    /// A matrix is not symmetric or, if it is complex, not Hermitian.
    Asymmetric = 4,
    /// A matrix is not positive definite, and the criterion asks for it.
    NotPositiveDefinite = 5,
    /// A weight is negative or not finite, or all are zero.
    Weights = 6,
    /// A given B is singular, not finite or not orthogonal.
    Start = 7,
    /// A setting is out of its range.
    Setting = 8,
    /// Two choices exclude each other, such as a method that the criterion does not have.
    Conflict = 9,
    /// A recording has no channels, no samples or no variance, or too few samples for what is asked.
    Recording = 10,
    /// The library itself is at fault: please report it.
    Internal = 11,
    /// What was asked for takes more memory than there is. Nothing has been allocated.
    Memory = 12,
}

/// Whose names of options a message has.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_language {
    /// C. Matrices and entries are counted from 0.
    C = 0,
    /// R. Matrices and entries are counted from 1.
    R = 1,
    /// Octave and MATLAB. Matrices and entries are counted from 1.
    Octave = 2,
}

/// What went wrong in a call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub code: codiag_error,
    pub message: String,
    /// The error of the library, if it is one.
    pub error: Option<Error>,
}

impl Failure {
    /// Something that a caller in C must not pass.
    pub fn argument(message: impl Into<String>) -> Self {
        Self {
            code: codiag_error::Argument,
            message: message.into(),
            error: None,
        }
    }

    fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self {
            code: codiag_error::Internal,
            message: format!(
                "internal error, please report it: {}",
                text.as_deref().unwrap_or("a panic without words")
            ),
            error: None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            code: code(&error),
            message: error.render(&C),
            error: Some(error),
        }
    }
}

/// The kind of an error of the library.
fn code(error: &Error) -> codiag_error {
    match error {
        Error::Shape { .. }
        | Error::Length { .. }
        | Error::TooLarge { .. }
        | Error::MatrixLength { .. } => codiag_error::Shape,
        Error::NotFinite { .. }
        | Error::Range { .. }
        | Error::Energy { .. }
        | Error::SampleNotFinite { .. } => codiag_error::NotFinite,
        Error::Asymmetric { .. } => codiag_error::Asymmetric,
        Error::NotPositiveDefinite { .. } | Error::NoEigenvalues => {
            codiag_error::NotPositiveDefinite
        }
        Error::WeightsLength { .. } | Error::Weight { .. } | Error::WeightsZero => {
            codiag_error::Weights
        }
        Error::InitShape { .. } | Error::Init { .. } => codiag_error::Start,
        Error::Setting { .. } | Error::Memory { .. } => codiag_error::Setting,
        Error::OutOfMemory { .. } => codiag_error::Memory,
        Error::Conflict(_) | Error::Method { .. } => codiag_error::Conflict,
        Error::RecordingShape { .. }
        | Error::Constant
        | Error::Channels { .. }
        | Error::TooFewSamples { .. } => codiag_error::Recording,
        _ => codiag_error::Internal,
    }
}

struct Last {
    message: CString,
    error: Option<Error>,
    code: codiag_error,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::new(Last {
        message: CString::default(),
        error: None,
        code: codiag_error::None,
    });
}

/// Does the work of a call. Whatever goes wrong becomes a code, and is kept for the thread.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    // What a panic leaves half done is dropped, or has been handed to nobody.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return codiag_error::None as c_int,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::panic(&*payload),
    };
    let code = failure.code;
    // At the very end of a thread there is no place left for it.
    let _ = LAST.try_with(|last| {
        *last.borrow_mut() = Last {
            message: to_c(failure.message),
            error: failure.error,
            code,
        };
    });
    code as c_int
}

fn to_c(message: String) -> CString {
    let mut bytes = message.into_bytes();
    bytes.retain(|b| *b != 0);
    CString::new(bytes).unwrap_or_default()
}

/// The code and the details of the last failure of this thread.
pub(crate) fn last() -> (codiag_error, Details) {
    let last = LAST.try_with(|last| {
        let last = last.borrow();
        let details = last.error.as_ref().map(Details::of);
        (last.code, details.unwrap_or_default())
    });
    last.unwrap_or((codiag_error::None, Details::default()))
}

/// What was wrong in the last call that failed on this thread: a sentence in UTF-8, empty if none has
/// failed. It is valid until the next failure on the thread.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_last_error() -> *const c_char {
    const NOTHING: &CStr = c"";
    let message = LAST.try_with(|last| last.borrow().message.as_ptr());
    message.unwrap_or(NOTHING.as_ptr())
}

/// The message of codiag_last_error with the names of options of a codiag_language, for bindings that are made from
/// this library. It is valid until the next failure on the thread, or the next call of this function.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_last_error_in(language: c_int) -> *const c_char {
    const R_LANGUAGE: c_int = codiag_language::R as c_int;
    const OCTAVE_LANGUAGE: c_int = codiag_language::Octave as c_int;
    let names: &dyn OptionNames = match language {
        R_LANGUAGE => &R,
        OCTAVE_LANGUAGE => &Octave,
        _ => &C,
    };
    let _ = LAST.try_with(|last| {
        let last = &mut *last.borrow_mut();
        if let Some(error) = &last.error {
            last.message = to_c(error.render(names));
        }
    });
    codiag_last_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> String {
        // SAFETY: the message ends with a zero, and no call comes between.
        let text = unsafe { CStr::from_ptr(codiag_last_error()) };
        text.to_str().expect("messages are UTF-8").to_owned()
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_sentence() {
        let code = guard(|| panic!("seven is {}", 7));
        assert_eq!(code, codiag_error::Internal as c_int);
        assert_eq!(message(), "internal error, please report it: seven is 7");
        assert_eq!(guard(|| Ok(())), 0);
        assert_eq!(message(), "internal error, please report it: seven is 7");
    }

    #[test]
    fn every_thread_has_its_own_message() {
        guard(|| Err(Failure::argument("the first")));
        let other = std::thread::spawn(|| {
            let before = message();
            guard(|| Err(Failure::argument("the second")));
            (before, message())
        });
        let (before, after) = other.join().expect("it does not panic");
        assert_eq!((before.as_str(), after.as_str()), ("", "the second"));
        assert_eq!(message(), "the first");
    }

    #[test]
    fn a_message_has_the_names_of_the_language() {
        let weight = || Error::Weight {
            index: 3,
            value: -1.0,
        };
        guard(|| Err(weight().into()));
        for (language, start) in [
            (codiag_language::R, "weight 4"),
            (codiag_language::Octave, "weight 4"),
            (codiag_language::C, "weight 3"),
        ] {
            codiag_last_error_in(language as c_int);
            assert!(message().starts_with(start), "{}", message());
        }
        guard(|| Err(Failure::argument("no error of the library")));
        codiag_last_error_in(codiag_language::R as c_int);
        assert_eq!(message(), "no error of the library");
    }

    #[test]
    fn a_message_has_no_zeros_within() {
        guard(|| Err(Failure::argument("a\0b")));
        assert_eq!(message(), "ab");
    }
}
