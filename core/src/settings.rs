//! The settings of a solve.

use std::str::FromStr;

use crate::Error;
use crate::choices::{Criterion, Method, SortBy};
use crate::error::{Conflict, Expected, Setting};
use crate::linalg::{Matrix, Scalar, c64};
use crate::setters::setters;
use crate::tuning::DEFAULT_HESSIAN_MEMORY;

impl FromStr for Criterion {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let mut all = Self::ALL.into_iter();
        all.find(|criterion| criterion.name() == name)
            .ok_or_else(|| {
                let expected = Expected::OneOf(&Self::NAMES);
                Error::setting(Setting::Criterion, expected, format!("{name:?}"))
            })
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(|| {
                let expected = Expected::OneOf(&Self::NAMES);
                Error::setting(Setting::Method, expected, format!("{name:?}"))
            })
    }
}

/// Starting point of the iteration.
///
/// ```
/// use codiag::{Settings, Init, diagonalize, synthetic};
/// let set = synthetic::noisy(50, 6, 0.1, 0);
/// let result = diagonalize(&set, &Settings::default())?;
/// let settings = Settings::default().init(Init::Given(result.b)).tol(1e-7);
/// assert_eq!(diagonalize(&set, &settings)?.n_iter, 0);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// The rotation that jointly diagonalizes a few principal combinations of the whitened matrices
    /// as well as possible. It is often close to the solution, and is the solution if the set can
    /// be diagonalized exactly. For the likelihood over orthogonal B it is the eigenvectors of
    /// Σ_i w_i Cⁱ Cⁱ; for least squares, generalized eigenvectors of principal combinations of the
    /// matrices, refined by U-WEDGE.
    #[default]
    Spectral,
    /// The whitener of the mean matrix, as in Ablin, Cardoso & Gramfort (2019). Over orthogonal B,
    /// and for least squares, the eigenvectors of the mean matrix.
    Whitener,
    /// The identity matrix.
    Identity,
    /// A given real matrix B.
    Given(Matrix),
    /// A given complex matrix B, for sets of Hermitian matrices.
    GivenComplex(Matrix<c64>),
}

impl Init {
    /// Returns [`Init::Given`] for a real matrix B, and [`Init::GivenComplex`] for a complex one.
    ///
    /// ```
    /// use codiag::{Matrix, Init};
    /// assert_eq!(Init::given(&Matrix::<f64>::identity(2)), Init::Given(Matrix::identity(2)));
    /// ```
    pub fn given<T: Scalar>(b: &Matrix<T>) -> Self {
        let (rows, columns) = (b.rows(), b.columns());
        if T::PLANES == 1 {
            return Self::Given(Matrix::from_fn(rows, columns, |a, c| b[(a, c)].real()));
        }
        let entry = |a, c| c64::new(b[(a, c)].real(), b[(a, c)].imaginary());
        Self::GivenComplex(Matrix::from_fn(rows, columns, entry))
    }
}

impl FromStr for Init {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "spectral" => Ok(Self::Spectral),
            "whitener" => Ok(Self::Whitener),
            "identity" => Ok(Self::Identity),
            _ => {
                let names = &["spectral", "whitener", "identity"];
                let expected = Expected::OneOfOr(names, "a matrix");
                Err(Error::setting(Setting::Init, expected, format!("{name:?}")))
            }
        }
    }
}

impl FromStr for SortBy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|order| order.name() == name)
            .ok_or_else(|| {
                let expected = Expected::OneOf(&Self::NAMES);
                Error::setting(Setting::SortBy, expected, format!("{name:?}"))
            })
    }
}

/// Settings of a solve.
///
/// ```
/// use codiag::{Method, Settings};
/// let settings = Settings::default().method(Method::QuasiNewton).tol(1e-6);
/// assert_eq!(settings.max_iter, 1000);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Optimization method (default Newton's method).
    pub method: Method,
    /// Starting point (default [`Init::Spectral`]).
    pub init: Init,
    /// Whether B is restricted to orthogonal (if complex, unitary) matrices, which gives common
    /// principal components (default false). Not supported by Pham's and the row-wise method, nor
    /// by least squares; the Frobenius criterion always implies it.
    pub orthogonal: bool,
    /// Tolerance of the gradient norm ĝ at which the solve has converged (default 1e-8). For the
    /// likelihood, ĝ = ‖G‖_F / √p with rows of B scaled to unit mean powers.
    pub tol: f64,
    /// Maximum number of iterations (default 1000). An iteration of Pham's method, of Jacobi
    /// rotations and of AC-DC is one sweep.
    pub max_iter: usize,
    /// Lower bound of the determinants Γ_ab Γ_ba − 1 of the quasi-Newton method's 2×2 blocks
    /// (default 1e-4).
    pub lambda_min: f64,
    /// Maximum number of times that a step of the quasi-Newton method, or of any method over
    /// orthogonal B, is halved; if the loss still does not decrease, the solve has stalled (default
    /// 10).
    pub max_halvings: usize,
    /// Number of additional starting points, which are deterministic; the result of lowest loss is
    /// kept (default 0). For the likelihood they come in rounds of five: each starts at the best
    /// point so far with three fifths of its components mixed at random. Newton's method stops a
    /// solve early if it is not expected to reach a lower loss. Solves run in parallel if the set
    /// is small and in memory.
    pub n_restarts: usize,
    /// Number of bootstrap resamples of the matrices used to estimate how reproducible each
    /// component is (default 0: not estimated). The result is
    /// [`Diagonalization::stability`](crate::Diagonalization::stability). The matrices must be in
    /// memory.
    pub n_resamples: usize,
    /// Order of the components (default [`SortBy::Contrast`]). [`SortBy::Stability`] requires
    /// `n_resamples` or `n_restarts`, and no start is then stopped early.
    pub sort_by: SortBy,
    /// Whether B is returned in canonical form (default true): unit mean powers, components sorted
    /// by how much their power varies over the set, the largest entry of each pattern positive. For
    /// the other criteria, components are sorted by energy, and rows of B (Frobenius) or columns of
    /// A (least squares) have unit norm.
    pub canonical: bool,
    /// Whether rows of B are rescaled to unit mean powers at every iteration (default true). The
    /// loss does not depend on it, but the gradient does: without it, the meaning of `tol` depends
    /// on the units of the data.
    pub rescale: bool,
    /// Maximum size of the stored Hessian in bytes (default 1 GiB). A larger Hessian is not stored:
    /// each of its products with a vector takes a pass over the data.
    pub hessian_memory: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::Newton,
            init: Init::Spectral,
            orthogonal: false,
            tol: 1e-8,
            max_iter: 1000,
            lambda_min: 1e-4,
            max_halvings: 10,
            n_restarts: 0,
            n_resamples: 0,
            sort_by: SortBy::Contrast,
            canonical: true,
            rescale: true,
            hessian_memory: DEFAULT_HESSIAN_MEMORY,
        }
    }
}

setters!(Settings {
    method: Method,
    init: Init,
    orthogonal: bool,
    tol: f64,
    max_iter: usize,
    lambda_min: f64,
    max_halvings: usize,
    n_restarts: usize,
    n_resamples: usize,
    sort_by: SortBy,
    canonical: bool,
    rescale: bool,
    hessian_memory: usize,
});

/// Larger numbers of resamples are rejected as mistakes.
const MAX_RESAMPLES: usize = 1_000_000;

impl Settings {
    /// Checks that all settings are in their ranges and agree with each other and the criterion.
    pub(crate) fn check(&self, criterion: Criterion) -> Result<(), Error> {
        let positive = |setting, value: f64| {
            if value.is_finite() && value > 0.0 {
                return Ok(());
            }
            Err(Error::setting(setting, Expected::Positive, value))
        };
        positive(Setting::Tol, self.tol)?;
        positive(Setting::LambdaMin, self.lambda_min)?;
        if !criterion.methods().contains(&self.method) {
            let method = self.method;
            return Err(Error::Method { criterion, method });
        }
        if self.orthogonal && matches!(self.method, Method::Pham | Method::RowWise) {
            return Err(Error::Conflict(Conflict::OrthogonalMethod(self.method)));
        }
        if self.orthogonal && criterion == Criterion::LeastSquares {
            return Err(Error::Conflict(Conflict::OrthogonalLeastSquares));
        }
        if self.n_resamples > MAX_RESAMPLES {
            let expected = Expected::AtMost(MAX_RESAMPLES);
            return Err(Error::setting(
                Setting::NResamples,
                expected,
                self.n_resamples,
            ));
        }
        if self.sort_by == SortBy::Stability && self.n_resamples == 0 && self.n_restarts == 0 {
            return Err(Error::Conflict(Conflict::StabilityNotEstimated));
        }
        Ok(())
    }
}
