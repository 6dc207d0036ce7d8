//! What is wrong with matrices, starts and recordings, and what would help.

use super::Setting;
use crate::memory::Memory;

/// What would need less memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MemoryRemedy {
    /// Another value of a setting.
    Setting {
        /// The setting.
        setting: Setting,
        /// A value that fits.
        value: usize,
        /// How much memory that value needs.
        needs: Memory,
    },
    /// Matrices that stay in their file ([`OnDisk`](crate::OnDisk)), or fewer matrices.
    OnDisk,
    /// Nothing is known that would fit.
    None,
}

impl MemoryRemedy {
    /// The largest value from 1 to `most` of a setting whose memory is at most `available`, if there is one.
    pub(crate) fn largest(
        setting: Setting,
        most: usize,
        available: Memory,
        needs: impl Fn(usize) -> Memory,
    ) -> Self {
        match crate::memory::largest_that_fits(most, available, &needs) {
            Some(value) => Self::Setting {
                setting,
                value,
                needs: needs(value),
            },
            None => Self::None,
        }
    }
}

/// What would make a set positive definite.
///
/// ```
/// use codiag::error::Remedy;
/// use codiag::{Error, MatrixSet, Rank, SetOptions};
/// // The third channel is the sum of the others.
/// let data = [2.0, 0.0, 2.0, 0.0, 1.0, 1.0, 2.0, 1.0, 3.0];
/// let options = match MatrixSet::new(&data, 1, 3) {
///     Err(Error::NotPositiveDefinite { remedy: Remedy::Reduce { rank }, .. }) => {
///         SetOptions::default().n_components(Rank::Exactly(rank))
///     }
///     other => panic!("{other:?}"),
/// };
/// assert_eq!(MatrixSet::with_options(&data, 1, 3, &options)?.dimension(), 2);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// All matrices share a null space: reduce the set to this rank.
    Reduce {
        /// The rank of the mean.
        rank: usize,
    },
    /// Single matrices are singular, or negative by no more than this share of their mean
    /// eigenvalue: shrink them by it.
    Shrink {
        /// A shrinkage that is enough.
        shrinkage: f64,
    },
    /// Nothing: a matrix has a clearly negative eigenvalue.
    None,
}

/// What is wrong with a given B.
///
/// ```
/// use codiag::error::InitProblem;
/// use codiag::{Error, Matrix, Settings, Init, diagonalize, synthetic};
/// let set = synthetic::noisy(20, 2, 0.1, 0);
/// // Its second row is twice the first.
/// let b = Matrix::from_rows(2, 2, vec![1.0, 2.0, 2.0, 4.0]);
/// let error = diagonalize(&set, &Settings::default().init(Init::Given(b))).unwrap_err();
/// assert_eq!(error, Error::Init { problem: InitProblem::Singular });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitProblem {
    /// An entry is NaN or infinite.
    NotFinite,
    /// It cannot be inverted.
    Singular,
    /// It is not orthogonal (if complex, unitary), and should be.
    NotOrthogonal,
    /// It is complex, for a set of real matrices.
    Complex,
}

/// A stretch of a recording, or of its spectrum, from which one matrix is made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Portion {
    /// A segment, by its number.
    Segment(usize),
    /// An epoch, by its number.
    Epoch(usize),
    /// A class of epochs, by its number.
    Class(usize),
    /// A band of frequencies.
    Band {
        /// From this frequency on.
        low: f64,
        /// Up to this one.
        high: f64,
    },
}
