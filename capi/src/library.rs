//! Version and threads of the library.

use std::ffi::{c_char, c_int};

use crate::ffi_guard::guard;

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn codiag_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Ends the idle worker threads that are kept for later solves with a given n_jobs. A running solve
/// keeps its threads until it ends. Call this function before fork(). Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_release_threads() -> c_int {
    guard(|| {
        codiag::release_threads();
        Ok(())
    })
}
