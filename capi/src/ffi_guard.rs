//! Entry guard of all C functions: catches panics, and stores the last error of each thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use codiag::Error;
use codiag::error::OptionNames;

use crate::error_details::Details;
use crate::option_names::{C, Octave, R};

/// Return code of a function: 0 for success, otherwise the kind of error.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_error {
    /// Success.
    None = 0,
    /// A pointer is NULL or misaligned, the `size` of a struct is not supported by this version of
    /// the library, or a number is not a value of its enum.
    Argument = 1,
    /// The number or the size of the matrices is 0, or the array is too large to be addressed.
    Shape = 2,
    /// An entry or a sample is NaN or infinite, or so large or small that products overflow or
    /// underflow.
    NotFinite = 3,
    /// A matrix is not symmetric or, if it is complex, not Hermitian.
    Asymmetric = 4,
    /// A matrix is not positive definite, but the criterion requires it.
    NotPositiveDefinite = 5,
    /// A weight is negative or not finite, or all weights are zero.
    Weights = 6,
    /// The given starting point B is singular or not finite, or not orthogonal where that is
    /// required.
    Init = 7,
    /// The value of a setting is out of range.
    Setting = 8,
    /// Two settings cannot be combined, such as a criterion and a method that does not support it.
    Conflict = 9,
    /// A recording has no channels, no samples or zero variance, or too few samples for the
    /// request.
    Recording = 10,
    /// A defect of the library. Please report it.
    Internal = 11,
    /// The request needs more memory than is available. Nothing was allocated.
    Memory = 12,
}

/// Language whose option names are used in error messages.
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

/// Error of one call, before it is stored for the thread.
#[derive(Debug)]
pub(crate) struct Failure {
    pub code: codiag_error,
    pub message: String,
    /// The error of the Rust library; None for an invalid argument or a panic.
    pub error: Option<Error>,
}

impl Failure {
    /// Creates the error of an invalid argument.
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
                text.as_deref().unwrap_or("panic without a message")
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

/// Returns the error code of an error of the Rust library.
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
        Error::InitShape { .. } | Error::Init { .. } => codiag_error::Init,
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

/// The last error of a thread.
struct LastError {
    message: CString,
    error: Option<Error>,
    code: codiag_error,
}

thread_local! {
    static LAST_ERROR: RefCell<LastError> = RefCell::new(LastError {
        message: CString::default(),
        error: None,
        code: codiag_error::None,
    });
}

/// Runs the body of a C function. An error or a panic is stored for this thread, and its code is
/// returned.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    // Unwind safety: values that a panic leaves incomplete are dropped, or were not yet returned.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return codiag_error::None as c_int,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::panic(&*payload),
    };
    let code = failure.code;
    // Thread-local storage may already be destroyed while a thread exits: the message is then lost.
    let _ = LAST_ERROR.try_with(|last| {
        *last.borrow_mut() = LastError {
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

/// Returns the code and the details of the last error of this thread.
pub(crate) fn last_error() -> (codiag_error, Details) {
    let last = LAST_ERROR.try_with(|last| {
        let last = last.borrow();
        let details = last.error.as_ref().map(Details::of);
        (last.code, details.unwrap_or_default())
    });
    last.unwrap_or((codiag_error::None, Details::default()))
}

/// Returns the error message of the last call that failed on this thread, in UTF-8; an empty string
/// if no call has failed. The pointer is valid until the next call that fails on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_last_error() -> *const c_char {
    const NO_ERROR: &CStr = c"";
    let message = LAST_ERROR.try_with(|last| last.borrow().message.as_ptr());
    message.unwrap_or(NO_ERROR.as_ptr())
}

/// Returns the message of codiag_last_error with the option names of `language`, a codiag_language.
/// It is meant for bindings built on this library. The pointer is valid until the next call that
/// fails on this thread, or the next call of this function.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_last_error_in(language: c_int) -> *const c_char {
    const R_LANGUAGE: c_int = codiag_language::R as c_int;
    const OCTAVE_LANGUAGE: c_int = codiag_language::Octave as c_int;
    let names: &dyn OptionNames = match language {
        R_LANGUAGE => &R,
        OCTAVE_LANGUAGE => &Octave,
        _ => &C,
    };
    let _ = LAST_ERROR.try_with(|last| {
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
        // SAFETY: the message ends with a zero, and no other call is made before it is read.
        let text = unsafe { CStr::from_ptr(codiag_last_error()) };
        text.to_str().expect("messages are UTF-8").to_owned()
    }

    #[test]
    fn panic_becomes_internal_error_with_message() {
        let code = guard(|| panic!("seven is {}", 7));
        assert_eq!(code, codiag_error::Internal as c_int);
        assert_eq!(message(), "internal error, please report it: seven is 7");
        assert_eq!(guard(|| Ok(())), 0);
        assert_eq!(message(), "internal error, please report it: seven is 7");
    }

    #[test]
    fn messages_are_per_thread() {
        guard(|| Err(Failure::argument("the first")));
        let other = std::thread::spawn(|| {
            let before = message();
            guard(|| Err(Failure::argument("the second")));
            (before, message())
        });
        let (before, after) = other.join().expect("the thread does not panic");
        assert_eq!((before.as_str(), after.as_str()), ("", "the second"));
        assert_eq!(message(), "the first");
    }

    #[test]
    fn message_uses_option_names_of_language() {
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
        guard(|| Err(Failure::argument("invalid argument")));
        codiag_last_error_in(codiag_language::R as c_int);
        assert_eq!(message(), "invalid argument");
    }

    #[test]
    fn zero_bytes_are_removed_from_messages() {
        guard(|| Err(Failure::argument("a\0b")));
        assert_eq!(message(), "ab");
    }
}
