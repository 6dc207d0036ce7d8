//! What can be wrong with the input, as data. Not converging is no error: see
//! [`Status`](crate::Status).
//!
//! An error says which setting, which matrix and which entry, as values. Its [`Display`] puts it in
//! words for those who call the library from Rust; the Python package and the program have words of
//! their own, made from the same values.
//!
//! [`Display`]: std::fmt::Display

mod data;
mod settings;
mod sources;

pub use data::{MemoryRemedy, Portion, Remedy, StartProblem};
pub use settings::{Conflict, Expected, Setting};
pub use sources::{ExternalError, IoError};

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::Memory;
use crate::data::Criterion;
use crate::npy::NpyError;
use crate::settings::Method;

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
    #[error("expected n matrices of size p x p with n, p > 0, got shape {shape:?}")]
    Shape {
        /// The shape received.
        shape: Vec<usize>,
    },
    /// A slice does not hold as many numbers as its shape says.
    #[error("shape {shape:?} needs {expected} numbers, got {actual}")]
    Length {
        /// The shape announced.
        shape: Vec<usize>,
        /// How many numbers that is.
        expected: usize,
        /// How many there are.
        actual: usize,
    },
    /// A shape of more numbers than a computer can address.
    #[error("shape {shape:?} has more numbers than can be addressed")]
    TooLarge {
        /// The shape announced.
        shape: Vec<usize>,
    },
    /// One of many matrices does not have the size of the others.
    #[error("matrix {matrix} has {actual} numbers, but a {size} x {size} matrix has {}", size * size)]
    MatrixLength {
        /// The matrix, counted from 0.
        matrix: usize,
        /// The size of the others.
        size: usize,
        /// How many numbers it has.
        actual: usize,
    },
    /// An entry is NaN or infinite.
    #[error(
        "matrix {matrix}: {}entry ({row}, {column}) is {value}, not a finite number",
        if *imaginary { "the imaginary part of " } else { "" }
    )]
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
    #[error(
        "the mean of the matrices has a diagonal entry of {power:.3e}: change the unit, so that it lies \
         between 1e-250 and 1e250"
    )]
    Range {
        /// The entry.
        power: f64,
    },
    /// The same for the Frobenius criterion and for least squares, whose derivatives are fourth powers
    /// of the entries.
    #[error(
        "the matrices have a norm of {norm:.3e}: change the unit, so that it lies between 1e-70 and 1e70"
    )]
    Energy {
        /// The root of their weighted mean square.
        norm: f64,
    },
    /// A matrix is not symmetric or, if it is complex, not Hermitian.
    #[error(
        "matrix {matrix} is not {} of the largest entry (at most 1e-8 is taken as rounding); \
         SetOptions::symmetrize takes the mean of the two",
        asymmetric_entries(*complex, *row, *column, *asymmetry)
    )]
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
    #[error(
        "{} is not positive definite: its smallest eigenvalue is {eigenvalue:.3e}{}",
        matrix_or_mean(*matrix),
        rust_advice(*remedy)
    )]
    NotPositiveDefinite {
        /// The matrix, counted from 0; None for the mean of the set.
        matrix: Option<usize>,
        /// Its smallest eigenvalue.
        eigenvalue: f64,
        /// What would help.
        remedy: Remedy,
    },
    /// The weights are not one number per matrix.
    #[error("expected {expected} weights, one per matrix, got {actual}")]
    WeightsLength {
        /// The number of matrices.
        expected: usize,
        /// The number of weights.
        actual: usize,
    },
    /// A weight is negative or not finite.
    #[error("weight {index} is {value}: weights must be finite and not negative")]
    Weight {
        /// The weight, counted from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// All weights are zero.
    #[error("all weights are zero: at least one must be positive")]
    WeightsZero,
    /// A given B has the wrong shape.
    #[error("B must be {} x {}, got {rows} x {columns}", expected.0, expected.1)]
    StartShape {
        /// The dimension of the set and the number of its channels.
        expected: (usize, usize),
        /// The rows of B.
        rows: usize,
        /// The columns of B.
        columns: usize,
    },
    /// A given B cannot be used.
    #[error("B must be {}, but it is {problem}", problem.remedy())]
    Start {
        /// What is wrong with it.
        problem: StartProblem,
    },
    /// The mean of the matrices has no eigenvalues that could be computed, so there is no start.
    #[error("the eigenvalues of the mean of the matrices cannot be computed")]
    NoEigenvalues,
    /// A setting is out of its range.
    #[error("{setting} must be {expected}, got {value}")]
    Setting {
        /// The setting.
        setting: Setting,
        /// What it may be.
        expected: Expected,
        /// What it was.
        value: String,
    },
    /// Two choices that exclude each other.
    #[error("{0}")]
    Conflict(Conflict),
    /// A method that the criterion does not have.
    #[error(
        "the criterion {:?} has the methods {}, not {:?}",
        criterion.name(), methods(*criterion), method.name()
    )]
    Method {
        /// The criterion.
        criterion: Criterion,
        /// The method.
        method: Method,
    },
    /// A recording has no channels or no samples, or epochs none of one of the three.
    #[error(
        "expected {}channels x samples, none of them 0, got shape {shape:?}",
        if *epochs { "epochs x " } else { "" }
    )]
    RecordingShape {
        /// Whether epochs × channels × samples were expected.
        epochs: bool,
        /// The shape received.
        shape: Vec<usize>,
    },
    /// A recording is the same at all times.
    #[error("the recording must be more than constants: it has no variance at all")]
    Constant,
    /// A recording has another number of channels than it should.
    #[error("expected {expected} channels, got {actual}")]
    Channels {
        /// How many it should have.
        expected: usize,
        /// How many it has.
        actual: usize,
    },
    /// A sample is NaN or infinite.
    #[error(
        "channel {channel}, sample {sample} is {value}, not a finite number: mend it, or exclude the \
         span it lies in"
    )]
    SampleNotFinite {
        /// The channel, counted from 0.
        channel: usize,
        /// The sample, counted from 0.
        sample: usize,
        /// The number found.
        value: f64,
    },
    /// A covariance would be singular for want of samples.
    #[error(
        "{portion} has {samples} {}, but a {dimension} x {dimension} matrix needs at least {needed}: \
         {}, ask for at most {} components, or for shrinkage",
        portion.unit(), portion.remedy(), dimension.saturating_sub(needed - samples)
    )]
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
    #[error("the memory must be at least {smallest} for matrices of this size, got {given}")]
    Memory {
        /// The smallest budget that works.
        smallest: Memory,
        /// The budget.
        given: Memory,
    },
    /// What was asked for takes more memory than the machine has or the limits of the process allow. It is refused
    /// before anything is allocated.
    #[error(
        "{}{}",
        memory_shortage(what, *needed, *available),
        rust_memory_advice(*remedy)
    )]
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
    #[error("cannot be read: {0}")]
    Io(#[source] IoError),
    /// A file is no .npy that can be used.
    #[error(transparent)]
    Npy(NpyError),
    /// A file of matrices ends too early.
    #[error(
        "the file is truncated: its {matrices} matrices of {size} x {size} need {bytes} bytes, but it ends \
         within matrix {matrix}"
    )]
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
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        error: Box<Error>,
    },
    /// A part of a set on a cluster gave an answer of another length than the question asks for.
    #[error(
        "an answer of {actual} numbers instead of {expected}: do all workers run the same version of codiag?"
    )]
    Answer {
        /// How many numbers were asked for.
        expected: usize,
        /// How many came.
        actual: usize,
    },
    /// A question to a part of a set on a cluster that cannot be answered as it is.
    #[error("a question that cannot be answered: do all processes run the same version of codiag?")]
    Question,
    /// Whoever keeps the matrices or the recording elsewhere cannot reach them.
    #[error("{0}")]
    External(#[source] ExternalError),
    /// Whoever watches a solve asked to stop, before there was anything to return.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// An error of whoever keeps matrices or recordings elsewhere: an implementation of
    /// [`WorkingSet`](crate::working::WorkingSet) or
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

/// The names of a criterion's methods, as they are listed in a sentence.
pub fn methods(criterion: Criterion) -> String {
    let names = criterion
        .methods()
        .iter()
        .map(|method| format!("{:?}", method.name()));
    let names: Vec<String> = names.collect();
    names.join(", ")
}

/// The criteria that take any symmetric matrices, each as `named`, as they are listed in a sentence.
pub fn symmetric_criteria(named: impl Fn(Criterion) -> String) -> String {
    let names: Vec<String> = Criterion::for_any_symmetric().map(named).collect();
    match &names[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.concat(),
    }
}

/// Which two entries of a matrix should be equal, or each other's conjugates, and how much they differ:
/// "Hermitian: entries (1, 0) and the conjugate of (0, 1) differ by 1e-3".
///
/// ```
/// use codiag::error::asymmetric_entries;
/// let words = asymmetric_entries(false, 1, 0, 0.5);
/// assert_eq!(words, "symmetric: entries (1, 0) and (0, 1) differ by 5.000e-1");
/// ```
pub fn asymmetric_entries(complex: bool, row: usize, column: usize, asymmetry: f64) -> String {
    let (word, conjugate) = if complex {
        ("Hermitian", "the conjugate of ")
    } else {
        ("symmetric", "")
    };
    if row == column {
        return format!("{word}: entry ({row}, {row}) and its conjugate differ by {asymmetry:.3e}");
    }
    format!(
        "{word}: entries ({row}, {column}) and {conjugate}({column}, {row}) differ by {asymmetry:.3e}"
    )
}

/// How much memory something needs, and how much there is: "JADE of 306 components needs about 36 GB of memory, but 24 GB
/// is available".
///
/// ```
/// use codiag::Memory;
/// use codiag::error::memory_shortage;
/// let words = memory_shortage("a copy", Memory(2_000_000_000), Some(Memory(500_000_000)));
/// assert_eq!(words, "a copy needs about 2.0 GB of memory, but 500 MB is available");
/// ```
pub fn memory_shortage(what: &str, needed: Memory, available: Option<Memory>) -> String {
    let amount = match needed {
        Memory::UNCOUNTABLE => "more than 18 EB".to_owned(),
        needed => format!("about {needed}"),
    };
    match available {
        Some(available) => {
            format!("{what} needs {amount} of memory, but {available} is available")
        }
        None => format!("{what} needs {amount} of memory, which cannot be allocated"),
    }
}

fn rust_memory_advice(remedy: MemoryRemedy) -> String {
    match remedy {
        MemoryRemedy::Setting {
            setting,
            value,
            needs,
        } => format!("; {setting} = {value} needs {needs}"),
        MemoryRemedy::OnDisk => {
            "; use fewer matrices, or keep them in a file with OnDisk".to_owned()
        }
        MemoryRemedy::None => String::new(),
    }
}

fn matrix_or_mean(matrix: Option<usize>) -> String {
    matrix.map_or_else(
        || "the mean of the matrices".to_owned(),
        |i| format!("matrix {i}"),
    )
}

fn rust_advice(remedy: Remedy) -> String {
    match remedy {
        Remedy::Reduce { rank } => format!(
            "; all matrices share a null space (the mean has rank {rank}): reduce the set to its range with \
             Rank::Auto or Rank::Exactly({rank})"
        ),
        Remedy::Shrink { shrinkage } => format!(
            "; its companions do not share its null space: lift it with SetOptions::shrinkage, for \
             instance {shrinkage:e}"
        ),
        Remedy::None => format!(
            "; only {} can take a set that is not positive definite",
            symmetric_criteria(|criterion| format!("Criterion::{criterion:?}"))
        ),
    }
}
