//! What can be wrong with the input, as data. Not converging is no error: see
//! [`Status`](crate::Status).
//!
//! An error says which setting, which matrix and which entry, as values. [`Error::render`] makes the
//! message, with the names of options that a binding supplies ([`OptionNames`]); its [`Display`] uses
//! those of Rust.
//!
//! [`Display`]: std::fmt::Display

mod data;
mod memory;
mod npy;
mod render;
mod settings;
mod sources;

pub use data::{InitProblem, MemoryRemedy, Portion, Remedy};
pub use npy::{NpyError, tuple};
pub use render::{OptionNames, criteria_for_indefinite, system_reason};
pub use settings::{Conflict, Expected, Setting};
pub use sources::{ExternalError, IoError};

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::choices::{Criterion, Method};
use crate::memory::Memory;

/// Bad input, or input that cannot be reached any more.
///
/// ```
/// use codiag::{Error, MatrixSet};
/// let data = [1.0, 0.5, f64::NAN, 1.0];
/// let error = MatrixSet::new(&data, 1, 2).unwrap_err();
/// assert!(matches!(error, Error::NotFinite { matrix: 0, row: 1, column: 0, .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The data do not have the shape (n, p, p) with n, p > 0.
    Shape {
        /// The shape received.
        shape: Vec<usize>,
    },
    /// A slice does not hold as many numbers as its shape says.
    Length {
        /// The shape announced.
        shape: Vec<usize>,
        /// How many numbers that is.
        expected: usize,
        /// How many there are.
        actual: usize,
    },
    /// A shape of more numbers than a computer can address.
    TooLarge {
        /// The shape announced.
        shape: Vec<usize>,
    },
    /// One of many matrices does not have the size of the others.
    MatrixLength {
        /// The matrix, counted from 0.
        matrix: usize,
        /// The size of the others.
        size: usize,
        /// How many numbers it has.
        actual: usize,
    },
    /// An entry is NaN or infinite.
    NotFinite {
        /// The matrix, counted from 0.
        matrix: usize,
        /// The entry's row.
        row: usize,
        /// The entry's column.
        column: usize,
        /// The entry, or the part of it that is not finite.
        value: f64,
        /// Whether that is its imaginary part.
        imaginary: bool,
    },
    /// The matrices are so small or large that products of their entries leave the range of `f64`.
    Range {
        /// The entry.
        power: f64,
    },
    /// The same for the Frobenius criterion and for least squares, whose derivatives are fourth powers
    /// of the entries.
    Energy {
        /// The root of their weighted mean square.
        norm: f64,
    },
    /// A matrix is not symmetric or, if it is complex, not Hermitian.
    Asymmetric {
        /// The matrix, counted from 0.
        matrix: usize,
        /// The entry's row.
        row: usize,
        /// The entry's column.
        column: usize,
        /// |C_ab − conj C_ba| / max |C|.
        asymmetry: f64,
        /// Whether it is complex: the entry may then be one of the diagonal.
        complex: bool,
    },
    /// A matrix, or the mean of all, is not positive definite.
    NotPositiveDefinite {
        /// The matrix, counted from 0; None for the mean of the set.
        matrix: Option<usize>,
        /// Its smallest eigenvalue.
        eigenvalue: f64,
        /// What would help.
        remedy: Remedy,
    },
    /// The weights are not one number per matrix.
    WeightsLength {
        /// The number of matrices.
        expected: usize,
        /// The number of weights.
        actual: usize,
    },
    /// A weight is negative or not finite.
    Weight {
        /// The weight, counted from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// All weights are zero.
    WeightsZero,
    /// A given B has the wrong shape.
    InitShape {
        /// The dimension of the set and the number of its channels.
        expected: (usize, usize),
        /// The rows of B.
        rows: usize,
        /// The columns of B.
        columns: usize,
    },
    /// A given B cannot be used.
    Init {
        /// What is wrong with it.
        problem: InitProblem,
    },
    /// The mean of the matrices has no eigenvalues that could be computed, so there is no start.
    NoEigenvalues,
    /// A setting is out of its range.
    Setting {
        /// The setting.
        setting: Setting,
        /// What it may be.
        expected: Expected,
        /// What it was.
        value: String,
    },
    /// Two choices that exclude each other.
    Conflict(Conflict),
    /// A method that the criterion does not have.
    Method {
        /// The criterion.
        criterion: Criterion,
        /// The method.
        method: Method,
    },
    /// A recording has no channels or no samples, or epochs none of one of the three.
    RecordingShape {
        /// Whether epochs × channels × samples were expected.
        epochs: bool,
        /// The shape received.
        shape: Vec<usize>,
    },
    /// A recording is the same at all times.
    Constant,
    /// A recording has another number of channels than it should.
    Channels {
        /// How many it should have.
        expected: usize,
        /// How many it has.
        actual: usize,
    },
    /// A sample is NaN or infinite.
    SampleNotFinite {
        /// The channel, counted from 0.
        channel: usize,
        /// The sample, counted from 0.
        sample: usize,
        /// The number found.
        value: f64,
    },
    /// A covariance would be singular for want of samples.
    TooFewSamples {
        /// What is too short.
        portion: Portion,
        /// How many samples (for a band, Fourier coefficients) it has.
        samples: usize,
        /// The size of the matrix.
        dimension: usize,
        /// How many samples would do.
        needed: usize,
    },
    /// A budget of memory within which not even one block could be worked on.
    Memory {
        /// The smallest budget that works.
        smallest: Memory,
        /// The budget.
        given: Memory,
    },
    /// What was asked for takes more memory than the machine has or the limits of the process allow. It is refused
    /// before anything is allocated.
    OutOfMemory {
        /// What needs the memory, such as "JADE of 306 components".
        what: String,
        /// About how much it needs.
        needed: Memory,
        /// How much there is; None if the system did not say.
        available: Option<Memory>,
        /// What would fit.
        remedy: MemoryRemedy,
    },
    /// The system refuses to read.
    Io(#[source] IoError),
    /// A file is no .npy that can be used.
    Npy(NpyError),
    /// A file of matrices ends too early.
    Truncated {
        /// How many matrices it should have.
        matrices: usize,
        /// Their size.
        size: usize,
        /// How many bytes it should have.
        bytes: u64,
        /// The first matrix that is not whole.
        matrix: usize,
    },
    /// What is wrong with the matrices of a file.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        error: Box<Error>,
    },
    /// A part of a set on a cluster gave an answer of another length than the question asks for.
    Answer {
        /// How many numbers were asked for.
        expected: usize,
        /// How many came.
        actual: usize,
    },
    /// A question to a part of a set on a cluster that cannot be answered as it is.
    Question,
    /// Whoever keeps the matrices or the recording elsewhere cannot reach them.
    External(#[source] ExternalError),
    /// Whoever watches a solve asked to stop, before there was anything to return.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&render::RustNames))
    }
}

impl Error {
    /// An error of whoever keeps matrices or recordings elsewhere: an implementation of
    /// [`Backend`](crate::backend::Backend) or
    /// [`Recording`](crate::signals::Recording).
    ///
    /// ```
    /// let error = codiag::Error::external("the disk has gone");
    /// assert_eq!(error.to_string(), "the disk has gone");
    /// ```
    pub fn external(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::External(ExternalError(error.into().into()))
    }

    #[allow(clippy::needless_pass_by_value)] // called with temporaries
    pub(crate) fn setting(setting: Setting, expected: Expected, value: impl ToString) -> Self {
        Self::Setting {
            setting,
            expected,
            value: value.to_string(),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(IoError(Arc::new(error)))
    }
}
