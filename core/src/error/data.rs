//! Details of errors in matrices, starting points and recordings, with remedies.

use super::Setting;
use crate::memory::Memory;

/// Change of the options that reduces the memory requirement.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MemoryRemedy {
    /// A smaller value of a setting.
    Setting {
        /// The setting.
        setting: Setting,
        /// A value that fits.
        value: usize,
        /// Memory that this value needs.
        needs: Memory,
    },
    /// Keeping the matrices in their file ([`OnDisk`](crate::OnDisk)), or fewer matrices.
    OnDisk,
    /// No change is known.
    None,
}

impl MemoryRemedy {
    /// Returns the largest value of a setting from 1 to `max_value` that needs at most the
    /// available memory.
    pub(crate) fn largest(
        setting: Setting,
        max_value: usize,
        available: Memory,
        needs: impl Fn(usize) -> Memory,
    ) -> Self {
        match crate::memory::largest_that_fits(max_value, available, &needs) {
            Some(value) => Self::Setting {
                setting,
                value,
                needs: needs(value),
            },
            None => Self::None,
        }
    }
}

/// Change of the options that makes a set of matrices positive definite.
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
    /// Single matrices are singular or slightly indefinite, but the mean is positive definite:
    /// shrink the matrices.
    Shrink {
        /// A sufficient shrinkage.
        shrinkage: f64,
    },
    /// No change helps: a matrix has a clearly negative eigenvalue.
    None,
}

/// Reason why a given starting point B cannot be used.
///
/// ```
/// use codiag::error::InitProblem;
/// use codiag::{Error, Matrix, Settings, Init, diagonalize, synthetic};
/// let set = synthetic::noisy(20, 2, 0.1, 0);
/// // The second row is twice the first.
/// let b = Matrix::from_rows(2, 2, vec![1.0, 2.0, 2.0, 4.0]);
/// let error = diagonalize(&set, &Settings::default().init(Init::Given(b))).unwrap_err();
/// assert_eq!(error, Error::Init { problem: InitProblem::Singular });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitProblem {
    /// An entry is NaN or infinite.
    NotFinite,
    /// B is singular.
    Singular,
    /// B is not orthogonal (unitary if complex), but must be.
    NotOrthogonal,
    /// B is complex, but the matrices of the set are real.
    Complex,
}

/// The part of a recording, or of its spectrum, from which one matrix is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Portion {
    /// A segment, counted from 0.
    Segment(usize),
    /// An epoch, counted from 0.
    Epoch(usize),
    /// A class of epochs, counted from 0.
    Class(usize),
    /// A frequency band.
    Band {
        /// Lower edge, in Hz.
        low: f64,
        /// Upper edge, in Hz.
        high: f64,
    },
}
