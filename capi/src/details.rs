//! What is wrong, as numbers: for programs that put it in words of their own.

use std::ffi::c_int;

use codiag::Error;
use codiag::error::Remedy;

use crate::border::{codiag_error, guard, last};
use crate::options::{self, CODIAG_NONE, Growing, end_of};

/// What would make a set positive definite.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_remedy {
    /// Nothing is known to help.
    None = 0,
    /// All matrices share a null space: reduce the set to its rank.
    Reduce = 1,
    /// Single matrices are singular: shrink them.
    Shrink = 2,
}

/// Which matrix, entry or number is at fault. Numbers that do not apply are CODIAG_NONE, or 0. Set it up
/// with codiag_error_details_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_error_details {
    /// sizeof(codiag_error_details); the init function sets it.
    pub size: usize,
    /// The codiag_error that the call returned.
    pub code: c_int,
    /// The matrix or, for CODIAG_ERROR_WEIGHTS, the weight.
    pub matrix: usize,
    /// The row of its entry or, of a recording, the channel.
    pub row: usize,
    /// The column of its entry or, of a recording, the sample.
    pub column: usize,
    /// The entry, weight or sample that is no good; the asymmetry, as a share of the largest entry;
    /// the smallest eigenvalue.
    pub value: f64,
    /// What would help: a codiag_remedy.
    pub remedy: c_int,
    /// The rank to reduce to, for CODIAG_REMEDY_REDUCE.
    pub rank: usize,
    /// A shrinkage that is enough, for CODIAG_REMEDY_SHRINK.
    pub shrinkage: f64,
}

impl codiag_error_details {
    fn new(code: codiag_error, known: Details) -> Self {
        Self {
            size: size_of::<Self>(),
            code: code as c_int,
            matrix: known.matrix,
            row: known.row,
            column: known.column,
            value: known.value,
            remedy: known.remedy as c_int,
            rank: known.rank,
            shrinkage: known.shrinkage,
        }
    }
}

/// The same within the library.
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

// SAFETY: repr(C), begins with its size, and any bytes are a value of it.
unsafe impl Growing for codiag_error_details {
    const FIRST_SIZE: usize = end_of!(codiag_error_details, shrinkage: f64);
    const NAME: &'static str = "codiag_error_details";
}

/// Sets error details to those of no error. `size` is sizeof(codiag_error_details).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_error_details_init(
    details: *mut codiag_error_details,
    size: usize,
) -> c_int {
    let none = codiag_error_details::new(codiag_error::None, Details::default());
    // SAFETY: the caller passes a struct of that size.
    unsafe { options::init(details, size, none) }
}

/// Tells which matrix and entry the last failed call on this thread reported. Set `details` up with
/// codiag_error_details_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_last_error_details(details: *mut codiag_error_details) -> c_int {
    // Before this call's own failure, if it has one.
    let (code, known) = last();
    guard(|| {
        let filled = codiag_error_details::new(code, known);
        // SAFETY: the caller passes a struct of the size that it begins with.
        unsafe { options::write(details, filled) }
    })
}
