//! What is wrong with a choice.

use std::fmt;

use thiserror::Error;

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
    Lags,
    LambdaMin,
    Matrices,
    Memory,
    Method,
    Order,
    Overlap,
    Rank,
    Rate,
    Scale,
    SegmentLength,
    Segments,
    Shrinkage,
    Stability,
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
            Self::Lags => "lags",
            Self::LambdaMin => "lambda_min",
            Self::Matrices => "n",
            Self::Memory => "memory",
            Self::Method => "method",
            Self::Order => "order",
            Self::Overlap => "overlap",
            Self::Rank => "rank",
            Self::Rate => "rate",
            Self::Scale => "scale",
            Self::SegmentLength => "the length of segments",
            Self::Segments => "the number of segments",
            Self::Shrinkage => "shrinkage",
            Self::Stability => "stability",
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
    /// A whole number of at most this.
    AtMost(usize),
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
            Self::AtMost(most) => write!(f, "at most {most}"),
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
    /// Over rotations, least squares is the Frobenius criterion.
    #[error(
        "Settings::orthogonal is not for Criterion::LeastSquares: over rotations it is \
         Criterion::Frobenius"
    )]
    OrthogonalLeastSquares,
    /// The second derivatives of least squares are never formed.
    #[error("Hessian::at is not for Criterion::LeastSquares, whose Hessian is never formed")]
    LeastSquaresHessian,
    /// Pham's method and Jacobi's would take p²/2 passes over matrices that are not in memory.
    #[error(
        "Method::Pham and Method::Jacobi are only for matrices in memory: choose Method::Newton or \
         Method::QuasiNewton"
    )]
    PairsNotInMemory,
    /// How surely components come again is not known if nothing was tried.
    #[error("Order::Stability needs trials: set Settings::stability or Settings::restarts")]
    OrderUntried,
    /// Matrices that are not in memory are not drawn from.
    #[error(
        "Settings::stability is only for matrices in memory: Settings::restarts are tried wherever \
         they are"
    )]
    StabilityNotInMemory,
}
