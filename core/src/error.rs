//! What can be wrong with the input, as data. Not converging is no error: see
//! [`Status`](crate::Status).
//!
//! An error says which setting, which matrix and which entry, as values. Its [`Display`] puts it in
//! words for those who call the library from Rust; the Python package and the program have words of
//! their own, made from the same values.
//!
//! [`Display`]: std::fmt::Display

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::Memory;
use crate::npy::NpyError;

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
    #[error("matrix {matrix}: entry ({row}, {column}) is {value}, not a finite number")]
    NotFinite {
        /// The matrix, counted from 0.
        matrix: usize,
        /// The entry's row.
        row: usize,
        /// The entry's column.
        column: usize,
        /// The entry.
        value: f64,
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
    /// A matrix is not symmetric.
    #[error(
        "matrix {matrix} is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ by \
         {asymmetry:.3e} of the largest entry (at most 1e-8 is taken as rounding); \
         SetOptions::symmetrize takes the mean of the two"
    )]
    Asymmetric {
        /// The matrix, counted from 0.
        matrix: usize,
        /// The entry's row.
        row: usize,
        /// The entry's column.
        column: usize,
        /// |C_ab − C_ba| / max |C|.
        asymmetry: f64,
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

/// An error of the system, shared so that it can be cloned; two are equal if they are of one kind.
///
/// ```
/// use codiag::{Error, MatrixFile};
/// let Err(Error::File { path, error }) = MatrixFile::open("no/such/file.npy") else {
///     panic!("there is no such file");
/// };
/// let Error::Io(error) = *error else { panic!("{error}") };
/// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// assert!(path.ends_with("file.npy"));
/// ```
#[derive(Clone, Debug)]
pub struct IoError(Arc<io::Error>);

impl IoError {
    /// What kind it is.
    pub fn kind(&self) -> io::ErrorKind {
        self.0.kind()
    }

    /// The error itself.
    pub fn get(&self) -> &io::Error {
        &self.0
    }
}

impl PartialEq for IoError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for IoError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

/// An error of another program, shared so that it can be cloned; two are equal if they say the same.
///
/// ```
/// use std::error::Error as _;
/// use codiag::Error;
/// let timeout = std::io::Error::new(std::io::ErrorKind::TimedOut, "worker 3 does not answer");
/// let error = Error::external(timeout);
/// assert_eq!(error.to_string(), "worker 3 does not answer");
/// // What went wrong elsewhere stays reachable as the source.
/// assert!(matches!(&error, Error::External(inner) if inner.source().is_some()));
/// ```
#[derive(Clone, Debug)]
pub struct ExternalError(Arc<dyn StdError + Send + Sync>);

impl PartialEq for ExternalError {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl fmt::Display for ExternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for ExternalError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
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
///         SetOptions::default().rank(Rank::Exactly(rank))
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
/// use codiag::error::StartProblem;
/// use codiag::{Error, Matrix, Settings, Start, diagonalize, synthetic};
/// let set = synthetic::noisy(20, 2, 0.1, 0);
/// // Its second row is twice the first.
/// let b = Matrix::from_rows(2, 2, vec![1.0, 2.0, 2.0, 4.0]);
/// let error = diagonalize(&set, &Settings::default().start(Start::Given(b))).unwrap_err();
/// assert_eq!(error, Error::Start { problem: StartProblem::Singular });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartProblem {
    /// An entry is NaN or infinite.
    NotFinite,
    /// It cannot be inverted.
    Singular,
    /// It is not orthogonal, and should be.
    NotOrthogonal,
}

impl StartProblem {
    fn remedy(self) -> &'static str {
        match self {
            Self::NotFinite | Self::Singular => "finite and invertible",
            Self::NotOrthogonal => "orthogonal, as Settings::orthogonal asks",
        }
    }
}

impl fmt::Display for StartProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFinite => "not finite",
            Self::Singular => "singular",
            Self::NotOrthogonal => "not orthogonal",
        })
    }
}

/// Everything a caller can set. Displayed, it is the name of the field in Rust.
///
/// ```
/// use codiag::error::Setting;
/// use codiag::{Error, Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(20, 3, 0.1, 0);
/// let error = diagonalize(&set, &Settings::default().tolerance(-1.0)).unwrap_err();
/// // A program that knows the setting by another name says it in its own words.
/// let words = match &error {
///     Error::Setting { setting: Setting::Tolerance, expected, value } => {
///         format!("--tol must be {expected}, got {value}")
///     }
///     other => other.to_string(),
/// };
/// assert_eq!(words, "--tol must be a positive number, got -1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields of those names say what they are
pub enum Setting {
    Bands,
    Components,
    Criterion,
    Exclude,
    Forgetting,
    Labels,
    LambdaMin,
    Memory,
    Method,
    Overlap,
    Rank,
    Rate,
    Scale,
    SegmentLength,
    Segments,
    Shrinkage,
    Start,
    Threads,
    Tolerance,
    TrackerWindow,
    Window,
    WindowLength,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bands => "bands",
            Self::Components => "components",
            Self::Criterion => "criterion",
            Self::Exclude => "exclude",
            Self::Forgetting => "forgetting",
            Self::Labels => "labels",
            Self::LambdaMin => "lambda_min",
            Self::Memory => "memory",
            Self::Method => "method",
            Self::Overlap => "overlap",
            Self::Rank => "rank",
            Self::Rate => "rate",
            Self::Scale => "scale",
            Self::SegmentLength => "the length of segments",
            Self::Segments => "the number of segments",
            Self::Shrinkage => "shrinkage",
            Self::Start => "start",
            Self::Threads => "threads",
            Self::Tolerance => "tolerance",
            Self::TrackerWindow | Self::Window => "window",
            Self::WindowLength => "window_length",
        })
    }
}

/// What a setting may be. Displayed, it is a phrase that follows "must be".
///
/// ```
/// use codiag::error::Expected;
/// use codiag::{Error, MatrixSet, SetOptions};
/// let options = SetOptions::default().shrinkage(1.5);
/// let Err(Error::Setting { expected, .. }) = MatrixSet::with_options(&[1.0], 1, 1, &options) else {
///     panic!("a shrinkage is at most 1");
/// };
/// assert_eq!(expected, Expected::Between(0.0, 1.0));
/// assert_eq!(expected.to_string(), "between 0 and 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Expected {
    /// A finite number above zero.
    Positive,
    /// A whole number of at least this.
    AtLeast(usize),
    /// A number between these, both included.
    Between(f64, f64),
    /// A number from the first on, and below the second.
    Below(f64, f64),
    /// A number above the first, and at most the second.
    Above(f64, f64),
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// One of these names, or something else, as the words say.
    OneOfOr(&'static [&'static str], &'static str),
    /// As the words say.
    Words(&'static str),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Positive => f.write_str("a positive number"),
            Self::AtLeast(least) => write!(f, "at least {least}"),
            Self::Between(low, high) => write!(f, "between {low} and {high}"),
            Self::Below(low, high) => write!(f, "at least {low} and below {high}"),
            Self::Above(low, high) => write!(f, "above {low} and at most {high}"),
            Self::OneOf(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                match names.split_last() {
                    Some((last, [])) => f.write_str(last),
                    Some((last, others)) => write!(f, "{} or {last}", others.join(", ")),
                    None => Ok(()),
                }
            }
            Self::OneOfOr(names, other) => {
                let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                write!(f, "{} or {other}", names.join(", "))
            }
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// Choices that exclude each other.
///
/// ```
/// use codiag::error::Conflict;
/// use codiag::{Error, Method, Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(20, 3, 0.1, 0);
/// let settings = Settings::default().orthogonal(true).method(Method::Pham);
/// let error = diagonalize(&set, &settings).unwrap_err();
/// assert_eq!(error, Error::Conflict(Conflict::OrthogonalPham));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Conflict {
    /// Pham's method does not keep B orthogonal.
    #[error("Settings::orthogonal is not for Method::Pham")]
    OrthogonalPham,
    /// The axes of a reduced set are not those of the channels.
    #[error(
        "Settings::orthogonal is not for a set reduced in rank, whose axes are not those of the channels"
    )]
    OrthogonalReduced,
    /// Pham's method would take p²/2 passes over matrices that are not in memory.
    #[error(
        "Method::Pham is only for matrices in memory: choose Method::Newton or Method::QuasiNewton"
    )]
    PhamNotInMemory,
}

/// A stretch of a recording, or of its spectrum, from which one matrix is made.
///
/// ```
/// use codiag::error::Portion;
/// let band = Portion::Band { low: 8.0, high: 13.0 };
/// let words = format!("{band} has too few {}: {}", band.unit(), band.remedy());
/// assert_eq!(words, "the band 8-13 Hz has too few Fourier coefficients: take wider bands");
/// ```
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

impl Portion {
    /// What it is made of.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Band { .. } => "Fourier coefficients",
            _ => "samples",
        }
    }

    /// What makes it larger.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Segment(_) => "take fewer or longer segments",
            Self::Epoch(_) => "take one covariance per class",
            Self::Class(_) => "take more epochs",
            Self::Band { .. } => "take wider bands",
        }
    }
}

impl fmt::Display for Portion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(i) => write!(f, "segment {i}"),
            Self::Epoch(i) => write!(f, "epoch {i}"),
            Self::Class(i) => write!(f, "class {i}"),
            Self::Band { low, high } => write!(f, "the band {low}-{high} Hz"),
        }
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
        Remedy::None => String::new(),
    }
}
