//! What is wrong with a choice.

use std::fmt;

use crate::choices::Method;

/// Everything a caller can set. Displayed, it is the name of the field in Rust.
///
/// ```
/// use codiag::error::Setting;
/// use codiag::{Error, Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(20, 3, 0.1, 0);
/// let error = diagonalize(&set, &Settings::default().tol(-1.0)).unwrap_err();
/// assert!(matches!(error, Error::Setting { setting: Setting::Tol, .. }));
/// assert_eq!(error.to_string(), "tol must be a positive number, got -1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields of those names say what they are
pub enum Setting {
    Bands,
    Components,
    Criterion,
    BadSpans,
    Exclude,
    Forgetting,
    Labels,
    Lags,
    LambdaMin,
    Matrices,
    Memory,
    Method,
    SortBy,
    Orthogonal,
    Overlap,
    Rank,
    Sfreq,
    NRestarts,
    Scale,
    SegmentLength,
    NSegments,
    Shrinkage,
    NResamples,
    Init,
    Symmetrize,
    NJobs,
    Tol,
    TrackerWindow,
    Window,
    WindowLength,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bands => "bands",
            Self::Components | Self::Rank => "n_components",
            Self::Criterion => "criterion",
            Self::BadSpans => "bad_spans",
            Self::Exclude => "exclude",
            Self::Forgetting => "forgetting",
            Self::Labels => "labels",
            Self::Lags => "lags",
            Self::LambdaMin => "lambda_min",
            Self::Matrices => "n",
            Self::Memory => "memory",
            Self::Method => "method",
            Self::SortBy => "sort_by",
            Self::Orthogonal => "orthogonal",
            Self::Overlap => "overlap",
            Self::Sfreq => "sfreq",
            Self::NRestarts => "n_restarts",
            Self::Scale => "scale",
            Self::SegmentLength => "segment_length",
            Self::NSegments => "n_segments",
            Self::Shrinkage => "shrinkage",
            Self::NResamples => "n_resamples",
            Self::Init => "init",
            Self::Symmetrize => "symmetrize",
            Self::NJobs => "n_jobs",
            Self::Tol => "tol",
            Self::TrackerWindow | Self::Window => "window",
            Self::WindowLength => "window_length",
        })
    }
}

/// What a setting may be.
///
/// ```
/// use codiag::error::Expected;
/// use codiag::{Error, MatrixSet, SetOptions};
/// let options = SetOptions::default().shrinkage(1.5);
/// let Err(Error::Setting { expected, .. }) = MatrixSet::with_options(&[1.0], 1, 1, &options) else {
///     panic!("a shrinkage is at most 1");
/// };
/// assert_eq!(expected, Expected::Between(0.0, 1.0));
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

/// Choices that exclude each other.
///
/// ```
/// use codiag::error::Conflict;
/// use codiag::{Error, Method, Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(20, 3, 0.1, 0);
/// let settings = Settings::default().orthogonal(true).method(Method::Pham);
/// let error = diagonalize(&set, &settings).unwrap_err();
/// assert_eq!(error, Error::Conflict(Conflict::OrthogonalMethod(Method::Pham)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// The method does not keep B orthogonal: Pham's and the row-wise one.
    OrthogonalMethod(Method),
    /// The axes of a reduced set are not those of the channels.
    OrthogonalReduced,
    /// Over rotations, least squares is the Frobenius criterion.
    OrthogonalLeastSquares,
    /// The second derivatives of least squares are never formed.
    LeastSquaresHessian,
    /// Pham's method and Jacobi's would take p²/2 passes over matrices that are not in memory.
    PairsNotInMemory,
    /// How surely components come again is not known if nothing was tried.
    OrderUntried,
    /// Matrices that are not in memory are not drawn from.
    StabilityNotInMemory,
}
