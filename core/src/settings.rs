//! What a caller can choose.

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

/// Where the iteration starts.
///
/// ```
/// use codiag::{Settings, Init, diagonalize, synthetic};
/// let set = synthetic::noisy(50, 6, 0.1, 0);
/// let answer = diagonalize(&set, &Settings::default())?;
/// let again = Settings::default().init(Init::Given(answer.b)).tol(1e-7);
/// assert_eq!(diagonalize(&set, &again)?.n_iter, 0);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// The rotation that makes a few principal combinations of the whitened set most diagonal
    /// together: often close to the answer, and the answer itself if the set can be diagonalized
    /// exactly.
    #[default]
    Spectral,
    /// The whitener of the mean, as in the paper.
    Whitener,
    /// The identity.
    Identity,
    /// A given matrix B: its own answer is returned as it is.
    Given(Matrix),
    /// The same with complex numbers, for sets of Hermitian matrices.
    GivenComplex(Matrix<c64>),
}

impl Init {
    /// A given matrix B, of real or complex numbers.
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

/// The settings of a solve.
///
/// ```
/// use codiag::{Method, Settings};
/// let settings = Settings::default().method(Method::QuasiNewton).tol(1e-6);
/// assert_eq!(settings.max_iter, 1000);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// The method.
    pub method: Method,
    /// The start.
    pub init: Init,
    /// Whether B stays orthogonal: common principal components. Not for Pham's method and the row-wise one.
    pub orthogonal: bool,
    /// Stops when ĝ is at most this: for the likelihood ‖G‖_F / √p in the gauge of unit mean powers.
    pub tol: f64,
    /// Stops after this many iterations (sweeps, for Pham's method, Jacobi's and AC-DC).
    pub max_iter: usize,
    /// The floor of the determinants Γ_ab Γ_ba − 1 of the quasi-Newton blocks.
    pub lambda_min: f64,
    /// How often the quasi-Newton method halves a step before it gives up.
    pub max_halvings: usize,
    /// Number of further, deterministic starts; the result of lowest loss is kept. For the likelihood,
    /// starts come in rounds of five, which begin at the best point so far with three fifths of its
    /// components mixed; Newton's method gives one up as soon as it is not expected to win. Several
    /// starts are solved at a time if the set is small and in memory.
    pub n_restarts: usize,
    /// How many resamples of the matrices, drawn with replacement, are solved to learn how surely each component
    /// comes again: [`Diagonalization::stability`](crate::Diagonalization::stability). Only for matrices in memory.
    pub n_resamples: usize,
    /// In what order components come. By stability, something must have been tried: resamples or restarts,
    /// all of which are then followed to their end.
    pub sort_by: SortBy,
    /// Whether B is brought to its canonical form: unit mean powers, components ordered by how
    /// much their power varies over the set, the largest entry of each pattern positive. For the
    /// other criteria components are ordered by their energy, and rows of B (Frobenius) or columns of A
    /// (least squares) have unit norm.
    pub canonical: bool,
    /// Whether rows of B are rescaled to unit mean powers at every iteration. Losses do not
    /// depend on it, but the gradient does: without it, the tolerance is not free of units.
    pub rescale: bool,
    /// The exact Hessian is not stored, but applied by passes over the set, if it would take more
    /// bytes than this.
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

/// More resamples are taken for a mistake.
const MAX_RESAMPLES: usize = 1_000_000;

impl Settings {
    /// Checks the ranges.
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
