//! What is wrong, as numbers: for programs that put it in words of their own.

use std::ffi::c_int;

use codiag::Error;
use codiag::error::Remedy;

use crate::border::{guard, last};
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

/// Which matrix, entry or number is at fault. Numbers that do not apply are CODIAG_NONE, or 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_error_details {
    /// sizeof(codiag_error_details), set by the caller.
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

/// Tells which matrix and entry the last call that failed on this thread stumbled over. The caller sets
/// `details->size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_last_error_details(details: *mut codiag_error_details) -> c_int {
    // Before this call's own failure, if it has one.
    let (code, known) = last();
    guard(|| {
        let filled = codiag_error_details {
            size: 0,
            code: code as c_int,
            matrix: known.matrix,
            row: known.row,
            column: known.column,
            value: known.value,
            remedy: known.remedy as c_int,
            rank: known.rank,
            shrinkage: known.shrinkage,
        };
        // SAFETY: the caller passes a struct of the size that it begins with.
        unsafe { options::write(details, filled) }
    })
}
