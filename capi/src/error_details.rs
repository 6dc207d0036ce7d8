//! Details of the last error as numbers, for programs that write their own messages.

use std::ffi::c_int;

use codiag::Error;
use codiag::error::Remedy;

use crate::ffi_guard::{codiag_error, guard, last_error};
use crate::options::{self, CODIAG_NONE, VersionedStruct, end_of};

/// Change that would make a set of matrices positive definite.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_remedy {
    /// No remedy is known.
    None = 0,
    /// All matrices share a null space: set codiag_set_options.n_components to `rank`.
    Reduce = 1,
    /// Some matrices are singular: set codiag_set_options.shrinkage to `shrinkage`.
    Shrink = 2,
}

/// Location and value of the number that caused an error. Indices that do not apply are
/// CODIAG_NONE, other fields 0. Initialize it with codiag_error_details_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_error_details {
    /// sizeof(codiag_error_details), set by codiag_error_details_init.
    pub size: usize,
    /// Return code of the failed call, a codiag_error.
    pub code: c_int,
    /// Index of the matrix or, for CODIAG_ERROR_WEIGHTS, of the weight.
    pub matrix: usize,
    /// Row of the entry or, for a recording, index of the channel.
    pub row: usize,
    /// Column of the entry or, for a recording, index of the sample.
    pub column: usize,
    /// The invalid entry, weight or sample. For CODIAG_ERROR_ASYMMETRIC, the asymmetry relative to
    /// the largest entry. For CODIAG_ERROR_NOT_POSITIVE_DEFINITE, the smallest eigenvalue.
    pub value: f64,
    /// Change that resolves the error, a codiag_remedy.
    pub remedy: c_int,
    /// Rank of the set, for CODIAG_REMEDY_REDUCE.
    pub rank: usize,
    /// Sufficient shrinkage, for CODIAG_REMEDY_SHRINK.
    pub shrinkage: f64,
}

impl codiag_error_details {
    fn new(code: codiag_error, details: Details) -> Self {
        Self {
            size: size_of::<Self>(),
            code: code as c_int,
            matrix: details.matrix,
            row: details.row,
            column: details.column,
            value: details.value,
            remedy: details.remedy as c_int,
            rank: details.rank,
            shrinkage: details.shrinkage,
        }
    }
}

/// Fields of [`codiag_error_details`] other than the size and the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Details {
    matrix: usize,
    row: usize,
    column: usize,
    value: f64,
    remedy: codiag_remedy,
    rank: usize,
    shrinkage: f64,
}

impl Default for Details {
    fn default() -> Self {
        Self {
            matrix: CODIAG_NONE,
            row: CODIAG_NONE,
            column: CODIAG_NONE,
            value: 0.0,
            remedy: codiag_remedy::None,
            rank: 0,
            shrinkage: 0.0,
        }
    }
}

impl Details {
    pub fn of(error: &Error) -> Self {
        let mut details = Self::default();
        match error {
            Error::NotFinite {
                matrix,
                row,
                column,
                value,
                ..
            } => {
                (details.matrix, details.row, details.column) = (*matrix, *row, *column);
                details.value = *value;
            }
            Error::Asymmetric {
                matrix,
                row,
                column,
                asymmetry,
                ..
            } => {
                (details.matrix, details.row, details.column) = (*matrix, *row, *column);
                details.value = *asymmetry;
            }
            Error::NotPositiveDefinite {
                matrix,
                eigenvalue,
                remedy,
            } => {
                details.matrix = matrix.unwrap_or(CODIAG_NONE);
                details.value = *eigenvalue;
                match remedy {
                    Remedy::Reduce { rank } => {
                        (details.remedy, details.rank) = (codiag_remedy::Reduce, *rank);
                    }
                    Remedy::Shrink { shrinkage } => {
                        (details.remedy, details.shrinkage) = (codiag_remedy::Shrink, *shrinkage);
                    }
                    _ => {}
                }
            }
            Error::Weight { index, value } => (details.matrix, details.value) = (*index, *value),
            Error::SampleNotFinite {
                channel,
                sample,
                value,
            } => (details.row, details.column, details.value) = (*channel, *sample, *value),
            _ => {}
        }
        details
    }
}

// SAFETY: repr(C), its first field is its size, and any bytes are a valid value.
unsafe impl VersionedStruct for codiag_error_details {
    const FIRST_SIZE: usize = end_of!(codiag_error_details, shrinkage: f64);
    const NAME: &'static str = "codiag_error_details";
}

/// Initializes the details to those of no error. `size` is sizeof(codiag_error_details). Returns 0
/// or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_error_details_init(
    details: *mut codiag_error_details,
    size: usize,
) -> c_int {
    let none = codiag_error_details::new(codiag_error::None, Details::default());
    // SAFETY: null or a struct of `size` bytes, as the caller guarantees.
    unsafe { options::init(details, size, none) }
}

/// Fills in the details of the last error on this thread. Initialize `details` with
/// codiag_error_details_init. Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_last_error_details(details: *mut codiag_error_details) -> c_int {
    // Read first: an error of this call replaces the last error.
    let (code, last) = last_error();
    guard(|| {
        let filled = codiag_error_details::new(code, last);
        // SAFETY: null or a struct whose first field is its size, as the caller guarantees.
        unsafe { options::write(details, filled) }
    })
}
