//! Errors in the settings of a solve, a set or a separation.

use std::fmt;

use crate::choices::Method;

/// Parameter that an error message names. It is displayed as the name of the field in Rust.
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
#[allow(missing_docs)] // documented where the fields are
pub enum Setting {
    BadSpans,
    Bands,
    Components,
    Criterion,
    Exclude,
    Forgetting,
    Init,
    Labels,
    Lags,
    LambdaMin,
    Matrices,
    Memory,
    Method,
    NJobs,
    NResamples,
    NRestarts,
    NSegments,
    Orthogonal,
    Overlap,
    Rank,
    Scale,
    SegmentLength,
    Sfreq,
    Shrinkage,
    SortBy,
    Symmetrize,
    Tol,
    TrackerWindow,
    Weights,
    Window,
    WindowLength,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadSpans => "bad_spans",
            Self::Bands => "bands",
            Self::Components | Self::Rank => "n_components",
            Self::Criterion => "criterion",
            Self::Exclude => "exclude",
            Self::Forgetting => "forgetting",
            Self::Init => "init",
            Self::Labels => "labels",
            Self::Lags => "lags",
            Self::LambdaMin => "lambda_min",
            Self::Matrices => "n",
            Self::Memory => "memory",
            Self::Method => "method",
            Self::NJobs => "n_jobs",
            Self::NResamples => "n_resamples",
            Self::NRestarts => "n_restarts",
            Self::NSegments => "n_segments",
            Self::Orthogonal => "orthogonal",
            Self::Overlap => "overlap",
            Self::Scale => "scale",
            Self::SegmentLength => "segment_length",
            Self::Sfreq => "sfreq",
            Self::Shrinkage => "shrinkage",
            Self::SortBy => "sort_by",
            Self::Symmetrize => "symmetrize",
            Self::Tol => "tol",
            Self::TrackerWindow | Self::Window => "window",
            Self::Weights => "weights",
            Self::WindowLength => "window_length",
        })
    }
}

/// The values that a setting accepts.
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
    /// An integer of at least this value.
    AtLeast(usize),
    /// An integer of at most this value.
    AtMost(usize),
    /// A number in the closed interval [a, b].
    Between(f64, f64),
    /// A number in the half-open interval [a, b).
    Below(f64, f64),
    /// A number in the half-open interval (a, b].
    Above(f64, f64),
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// One of these names, or a value described by the text.
    OneOfOr(&'static [&'static str], &'static str),
    /// A value described by a text that can follow "must be".
    Words(&'static str),
}

/// Settings that cannot be combined, or that a set of matrices does not support.
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
    /// An orthogonal B with a method that does not keep B orthogonal, such as Pham's or the
    /// row-wise method.
    OrthogonalMethod(Method),
    /// An orthogonal B for a set of reduced rank, whose axes are not the channels.
    OrthogonalReduced,
    /// Least squares with an orthogonal B, which is equivalent to the Frobenius criterion.
    OrthogonalLeastSquares,
    /// The Hessian of least squares, which is never formed.
    LeastSquaresHessian,
    /// Pham's method or Jacobi's with matrices that are not in memory: a sweep would need p²/2 data
    /// passes.
    PairsNotInMemory,
    /// Sorting by stability without the resamples or restarts that estimate it.
    StabilityNotEstimated,
    /// Resamples of matrices that are not in memory.
    StabilityNotInMemory,
}
