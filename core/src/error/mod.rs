//! Errors in the input, as data. A solve that does not converge is not an error: see
//! [`Status`](crate::Status).
//!
//! An error holds the setting, the matrix and the entry that it is about. [`Error::render`] writes
//! the message with the option names of a binding ([`OptionNames`]). [`Display`] uses the names of
//! Rust.
//!
//! [`Display`]: std::fmt::Display

mod data;
mod memory;
mod messages;
mod npy;
mod option_names;
mod settings;
mod sources;
mod suggestion;

pub use data::{InitProblem, MemoryRemedy, Portion, Remedy};
pub use messages::{criteria_for_indefinite, system_reason};
pub use npy::{NpyError, tuple};
pub use option_names::OptionNames;
pub use settings::{Conflict, Expected, Setting};
pub use sources::{ExternalError, IoError};
pub use suggestion::nearest_name;

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::choices::{Criterion, Method};
use crate::memory::Memory;

/// Invalid input, or input that is no longer accessible.
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
        /// Shape passed by the caller.
        shape: Vec<usize>,
    },
    /// The length of a slice does not match its shape.
    Length {
        /// Shape passed by the caller.
        shape: Vec<usize>,
        /// Number of elements of this shape.
        expected: usize,
        /// Length of the slice.
        actual: usize,
    },
    /// A shape has more elements than the address space.
    TooLarge {
        /// Shape passed by the caller.
        shape: Vec<usize>,
    },
    /// A matrix of a list does not have as many elements as the first matrix.
    MatrixLength {
        /// The matrix, counted from 0.
        matrix: usize,
        /// Number of rows of the first matrix.
        size: usize,
        /// Number of elements of this matrix.
        actual: usize,
    },
    /// An entry is NaN or infinite.
    NotFinite {
        /// The matrix, counted from 0.
        matrix: usize,
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The entry or, if `imaginary`, its imaginary part.
        value: f64,
        /// Whether the imaginary part is not finite.
        imaginary: bool,
    },
    /// The matrices are so small or large that products of their entries underflow or overflow.
    Range {
        /// A diagonal entry of the mean that is out of range.
        power: f64,
    },
    /// The matrices are so small or large that fourth powers of their entries, which the Frobenius
    /// criterion and least squares need, underflow or overflow.
    Energy {
        /// Root of the weighted mean square of the Frobenius norms.
        norm: f64,
    },
    /// A real matrix is not symmetric, or a complex one not Hermitian.
    Asymmetric {
        /// The matrix, counted from 0.
        matrix: usize,
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// |C_ab − conj C_ba| / max |C|.
        asymmetry: f64,
        /// Whether the matrix is complex: the entry may then be on the diagonal.
        complex: bool,
    },
    /// A matrix, or the mean of all, is not positive definite.
    NotPositiveDefinite {
        /// The matrix, counted from 0; None for the mean of the set.
        matrix: Option<usize>,
        /// Smallest eigenvalue of the matrix or the mean.
        eigenvalue: f64,
        /// Change of the options that makes the set valid.
        remedy: Remedy,
    },
    /// The number of weights is not the number of matrices.
    WeightsLength {
        /// Number of matrices.
        expected: usize,
        /// Number of weights.
        actual: usize,
    },
    /// A weight is negative or not finite.
    Weight {
        /// The weight, counted from 0.
        index: usize,
        /// Value of the weight.
        value: f64,
    },
    /// All weights are zero.
    WeightsZero,
    /// A given starting point B has the wrong shape.
    InitShape {
        /// Dimension of the set and number of its channels.
        expected: (usize, usize),
        /// Number of rows of B.
        rows: usize,
        /// Number of columns of B.
        columns: usize,
    },
    /// A given starting point B cannot be used.
    Init {
        /// The reason.
        problem: InitProblem,
    },
    /// The eigenvalue decomposition of the mean of the matrices failed.
    NoEigenvalues,
    /// A setting has a value that it does not accept.
    Setting {
        /// The setting.
        setting: Setting,
        /// The values that it accepts.
        expected: Expected,
        /// The value received, as text; names are in double quotes.
        value: String,
    },
    /// Two settings cannot be combined, or the set does not support a setting.
    Conflict(Conflict),
    /// The criterion does not support the method.
    Method {
        /// The criterion.
        criterion: Criterion,
        /// The method.
        method: Method,
    },
    /// A recording has no channels or no samples, or an array of epochs has a length of zero.
    RecordingShape {
        /// Whether epochs × channels × samples were expected.
        epochs: bool,
        /// Shape passed by the caller.
        shape: Vec<usize>,
    },
    /// Every channel of a recording is constant.
    Constant,
    /// A recording has a wrong number of channels.
    Channels {
        /// Number of channels expected.
        expected: usize,
        /// Number of channels of the recording.
        actual: usize,
    },
    /// A sample is NaN or infinite.
    SampleNotFinite {
        /// The channel, counted from 0.
        channel: usize,
        /// The sample, counted from 0.
        sample: usize,
        /// The value of the sample.
        value: f64,
    },
    /// A covariance would be singular because it is computed from too few samples.
    TooFewSamples {
        /// The part of the recording.
        portion: Portion,
        /// Number of samples of this part (for a band, of Fourier coefficients).
        samples: usize,
        /// Number of rows of the covariance.
        dimension: usize,
        /// Number of samples needed.
        needed: usize,
    },
    /// The memory limit is too small for a single block of matrices.
    Memory {
        /// The smallest sufficient memory limit.
        smallest: Memory,
        /// The memory limit received.
        given: Memory,
    },
    /// A computation needs more memory than is available. Nothing has been allocated yet.
    OutOfMemory {
        /// The computation, such as "JADE of 306 components".
        what: String,
        /// Memory needed, approximately.
        needed: Memory,
        /// Memory available; None if unknown.
        available: Option<Memory>,
        /// Change of the options that reduces the memory requirement.
        remedy: MemoryRemedy,
    },
    /// The operating system reports an error while reading.
    Io(#[source] IoError),
    /// A .npy file cannot be used.
    Npy(NpyError),
    /// A file of matrices is truncated.
    Truncated {
        /// Number of matrices according to the header.
        matrices: usize,
        /// Number of rows of a matrix.
        size: usize,
        /// Number of bytes the matrices need.
        bytes: u64,
        /// The first matrix that is incomplete, counted from 0.
        matrix: usize,
    },
    /// The matrices of a file are invalid.
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        error: Box<Error>,
    },
    /// The response of a worker has a wrong length.
    InvalidResponse {
        /// Length expected.
        expected: usize,
        /// Length received.
        actual: usize,
    },
    /// A worker or a backend received a request that it does not support.
    InvalidRequest,
    /// External code that holds the matrices or the recording failed.
    External(#[source] ExternalError),
    /// An observer stopped the solve before the first iterate was available.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&option_names::RustNames))
    }
}

impl Error {
    /// Wraps an error of external code, such as an implementation of
    /// [`Backend`](crate::backend::Backend) or [`Recording`](crate::signals::Recording).
    ///
    /// ```
    /// let error = codiag::Error::external("worker 3 is not reachable");
    /// assert_eq!(error.to_string(), "worker 3 is not reachable");
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
