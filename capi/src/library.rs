//! The library as a whole.

use std::ffi::{c_char, c_int};

use crate::border::guard;

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn codiag_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Ends the threads that are kept for the next solve with a given number of threads. Solves under way
/// keep theirs until they end. Call it before fork().
#[unsafe(no_mangle)]
pub extern "C" fn codiag_release_threads() -> c_int {
    guard(|| {
        codiag::release_threads();
        Ok(())
    })
}
