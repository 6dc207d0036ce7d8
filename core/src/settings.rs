//! What a caller can choose.

use std::str::FromStr;

use crate::Error;
use crate::linalg::Matrix;

/// How the loss is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Newton's method by conjugate gradients on the exact Hessian, after quasi-Newton steps with
    /// an exact line search.
    #[default]
    Newton,
    /// Algorithm 1 of Ablin, Cardoso & Gramfort (2019), to the letter.
    QuasiNewton,
    /// Pham's (2001) algorithm: one pair of components at a time.
    Pham,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Newton, Self::QuasiNewton, Self::Pham];

    /// The name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Newton => "newton",
            Self::QuasiNewton => "quasi-newton",
            Self::Pham => "pham",
        }
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or(Error::Setting {
                name: "method",
                expected: "\"newton\", \"quasi-newton\" or \"pham\"",
                value: format!("{name:?}"),
            })
    }
}

/// Where the iteration starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// The eigenvectors of the principal combination of the whitened set: often close to the
    /// answer, and the answer itself if the set can be diagonalised exactly.
    #[default]
    Spectral,
    /// The whitener of the mean, as in the paper.
    Whitener,
    /// The identity.
    Identity,
    /// A given matrix B: its own answer is returned as it is.
    Given(Matrix),
}

impl FromStr for Start {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "spectral" => Ok(Self::Spectral),
            "whitener" => Ok(Self::Whitener),
            "identity" => Ok(Self::Identity),
            _ => Err(Error::Setting {
                name: "start",
                expected: "\"spectral\", \"whitener\", \"identity\" or a matrix",
                value: format!("{name:?}"),
            }),
        }
    }
}

/// The settings of a solve.
///
/// ```
/// use codiag::{Method, Settings};
/// let settings = Settings { method: Method::QuasiNewton, tolerance: 1e-6, ..Settings::default() };
/// assert_eq!(settings.max_iterations, 1000);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The method.
    pub method: Method,
    /// The start.
    pub start: Start,
    /// Whether B stays orthogonal: common principal components. Not for Pham's method.
    pub orthogonal: bool,
    /// Stops when ĝ = ‖G‖_F / √p is at most this, in the gauge of unit mean powers.
    pub tolerance: f64,
    /// Stops after this many iterations (sweeps, for Pham's method).
    pub max_iterations: usize,
    /// The floor of the determinants Γ_ab Γ_ba − 1 of the quasi-Newton blocks.
    pub lambda_min: f64,
    /// How often the quasi-Newton method halves a step before it gives up.
    pub max_halvings: usize,
    /// How many further, deterministic starts are tried; the answer of lowest loss is kept.
    pub restarts: usize,
    /// Whether B is brought to its canonical form: unit mean powers, components ordered by how
    /// much their power varies over the set, the largest entry of each pattern positive.
    pub canonical: bool,
    /// Whether rows of B are rescaled to unit mean powers at every iteration. Losses do not
    /// depend on it, but the gradient does: without it, the tolerance is not free of units.
    pub rescale: bool,
    /// The number of threads; as many as pay if None. The answer does not depend on it.
    pub threads: Option<usize>,
    /// The exact Hessian is not stored, but applied by sweeps over the set, if it would take more
    /// bytes than this.
    pub hessian_memory: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::Newton,
            start: Start::Spectral,
            orthogonal: false,
            tolerance: 1e-8,
            max_iterations: 1000,
            lambda_min: 1e-4,
            max_halvings: 10,
            restarts: 0,
            canonical: true,
            rescale: true,
            threads: None,
            hessian_memory: 1 << 30,
        }
    }
}

impl Settings {
    /// Checks the ranges.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let positive = |name, value: f64| {
            if value.is_finite() && value > 0.0 {
                return Ok(());
            }
            Err(Error::Setting {
                name,
                expected: "a positive number",
                value: value.to_string(),
            })
        };
        positive("tol", self.tolerance)?;
        positive("lambda_min", self.lambda_min)?;
        if self.threads == Some(0) {
            return Err(Error::Setting {
                name: "threads",
                expected: "at least 1",
                value: "0".to_owned(),
            });
        }
        if self.orthogonal && self.method == Method::Pham {
            return Err(Error::Setting {
                name: "orthogonal",
                expected: "false for method \"pham\"",
                value: "true".to_owned(),
            });
        }
        Ok(())
    }
}
