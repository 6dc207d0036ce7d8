//! The trait through which the solvers see the matrices.

use super::{InMemory, Summary};
use crate::Error;
pub use crate::linalg::kernels::{LinePoint, PairSums, RotationSums};
use crate::linalg::{Matrix, Scalar};
use crate::statistics::{Hessian, Statistics};

/// How the powers Σ_i w_i Dⁱ_aa change along a probed direction:
/// power(α) = 1 + α·`linear` + α²·`quadratic` in the gauge where they are 1.
///
/// ```
/// use codiag::working::{InMemory, WorkingSet};
/// use codiag::{Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(50, 3, 0.1, 0);
/// let answer = diagonalize(&set, &Settings::default())?; // in the gauge of unit mean powers
/// let mut working = InMemory::new(&set);
/// working.reset(&answer.b)?;
/// let e = codiag::Matrix::from_rows(3, 3, vec![0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// let probe = working.probe(&e)?;
/// // The mean power of component 0 half-way along E.
/// let power = 1.0 + 0.5 * probe.linear[0] + 0.25 * probe.quadratic[0];
/// working.advance(0.5, &[1.0; 3])?;
/// assert!((working.mean()?[(0, 0)] - power).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Probe {
    /// Σ_i w_i of the diagonals of E Dⁱ + (E Dⁱ)ᴴ.
    pub linear: Vec<f64>,
    /// Σ_i w_i of the diagonals of E Dⁱ Eᴴ.
    pub quadratic: Vec<f64>,
}

/// Two sums of matrices that are weighted by their sizes s_i ([`WorkingSet::balance`]).
///
/// ```
/// use codiag::working::{InMemory, WorkingSet};
/// use codiag::{Matrix, MatrixSet};
/// // Two matrices of size 1 and 3 in the metric of the identity.
/// let set = MatrixSet::new(&[1.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 3.0], 2, 2)?;
/// let balanced = InMemory::new(&set).balance(&Matrix::identity(2))?;
/// assert!((balanced.mean[(0, 0)] - 1.0).abs() < 1e-12);
/// assert!((balanced.spread[(0, 0)] - 2.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Balanced<T = f64> {
    /// Σ_i w_i Cⁱ / s_i.
    pub mean: Matrix<T>,
    /// Σ_i w_i (1 − 1/s_i)² Cⁱ.
    pub spread: Matrix<T>,
}

/// What an answer says of the set at the last B.
///
/// ```
/// use codiag::working::{InMemory, WorkingSet};
/// use codiag::{Matrix, synthetic};
/// let set = synthetic::noisy(50, 3, 0.1, 0);
/// let mut working = InMemory::new(&set);
/// let diagonal_sum = working.reset(&Matrix::identity(3))?;
/// let mean = working.mean()?;
/// let sums = working.final_sums(&[mean[(0, 0)], mean[(1, 1)], mean[(2, 2)]])?;
/// assert!((sums.diagonal_sum - diagonal_sum).abs() < 1e-12);
/// // How much the power of each component varies over the set, relative to its mean.
/// assert!(sums.variations.iter().all(|variation| *variation > 0.0));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FinalSums {
    /// What the criterion sums over the diagonals: Σ_i w_i Σ_a log Dⁱ_aa for the likelihood, the same of
    /// (Dⁱ_aa)² for the Frobenius criterion, and the energy Σ_i w_i ‖A Λⁱ Aᵀ‖² of the fit for least squares.
    pub diagonal_sum: f64,
    /// What orders the components: Σ_i w_i (Dⁱ_aa / m_a − 1)² for the mean powers m_a, or the energy
    /// Σ_i w_i (Dⁱ_aa)², for least squares Σ_i w_i (Λⁱ_aa / m_a)².
    pub variations: Vec<f64>,
    /// What is known of each matrix; None where that is too much to bring here.
    pub tables: Option<Tables>,
}

/// The parts of an answer that grow with the number of matrices.
///
/// ```
/// use codiag::working::{InMemory, WorkingSet};
/// use codiag::{Matrix, MatrixSet};
/// let set = MatrixSet::new(&[2.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 4.0], 2, 2)?;
/// let mut working = InMemory::new(&set);
/// working.reset(&Matrix::identity(2))?;
/// let tables = working.final_sums(&[1.0, 1.0])?.tables.expect("two matrices are not too many");
/// assert_eq!(tables.powers, [2.0, 1.0, 3.0, 4.0]);
/// assert!((tables.constants[1] - 12_f64.ln()).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tables {
    /// Dⁱ_aa, for least squares Λⁱ_aa, one row per matrix.
    pub powers: Vec<f64>,
    /// log det Cⁱ for the likelihood, ‖Cⁱ‖² for the Frobenius criterion, and what the fit leaves of it,
    /// ‖Cⁱ − A Λⁱ Aᵀ‖², for least squares.
    pub constants: Vec<f64>,
}

/// Checked matrices Cⁱ and the transformed Dⁱ = B Cⁱ Bᴴ, wherever they are: real ones, or complex ones for
/// `WorkingSet<Complex<f64>>`.
///
/// These are all the questions a solver asks. But for the tables at the end, nothing of size n is in
/// them: answers are sums over the set, so that blocks in memory, blocks on disk and workers on
/// other machines can answer alike. All that must survive a fault is B: [`reset`](Self::reset)
/// brings any set to it.
///
/// For [`Criterion::LeastSquares`](crate::Criterion::LeastSquares) the sums are those of the fit
/// Cⁱ ≈ A Λⁱ Aᵀ at A = B⁻¹, whose gradient and Γ = Σ_i w_i λⁱλⁱᵀ are its statistics; nothing is probed.
///
/// Every call fails, with [`Error::External`], if the matrices cannot be reached any more. It may fail
/// with [`Error::Interrupted`] if whoever watches the set wants the solve to end where it stands.
///
/// ```
/// use codiag::working::{InMemory, WorkingSet};
/// use codiag::{Matrix, synthetic};
///
/// /// The change of the criterion's first sum along E, as a line search would see it.
/// fn change<S: WorkingSet>(set: &mut S, e: &Matrix, alpha: f64) -> Result<f64, codiag::Error> {
///     let here = set.reset(&Matrix::identity(e.rows()))?;
///     set.probe(e)?;
///     Ok(set.line_point(alpha)?.sum - here)
/// }
///
/// let e = Matrix::from_rows(2, 2, vec![0.0, 0.1, -0.1, 0.0]);
/// let mut set = InMemory::new(&synthetic::noisy(20, 2, 0.1, 0));
/// assert!(change(&mut set, &e, 0.0)?.abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// The example `working_set` of the repository (`core/examples/working_set.rs`) is a whole set of one's own: its
/// matrices are made when they are needed.
#[allow(clippy::missing_errors_doc)] // said above
pub trait WorkingSet<T: Scalar = f64> {
    /// What is known of the Cⁱ without a pass over them.
    fn summary(&self) -> &Summary<T>;

    /// Every `step`-th matrix as a set of its own, its weights summing to 1 again; None if these
    /// are all zero. Determinants are not carried along: losses on this set lack a constant.
    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn WorkingSet<T> + '_>>, Error>;

    /// The set itself, if it is in memory: several starts can then be solved at a time. None by default.
    fn in_memory(&self) -> Option<&InMemory<T>> {
        None
    }

    /// Balances the matrices by their sizes s_i = ⟨Cⁱ, S⟩ / p in the metric of a positive definite
    /// S, and keeps the sizes where the matrices are.
    fn balance(&mut self, metric: &Matrix<T>) -> Result<Balanced<T>, Error>;

    /// Σ_i w_i Cⁱ Cⁱ. Its eigenvectors rotate with the matrices, so that a start in their coordinates does not depend on
    /// the order or the signs of the channels.
    fn second_moment(&mut self) -> Result<Matrix<T>, Error>;

    /// Writes Σ_i w_i ⟨Cⁱ, S⟩ Cⁱ / s_i² for several symmetric S at once, a multiple of eight, with the sizes of
    /// [`balance`](Self::balance), or with s_i = 1 if it was never called. Both sides are as many numbers: lower
    /// triangles, row after row, each entry being one number for each S; those of Hermitian S are the real parts
    /// and then, as a second triangle, the imaginary ones.
    fn correlate(&mut self, matrices: &[f64], sums: &mut [f64]) -> Result<(), Error>;

    /// D ← B C Bᴴ. Returns what the criterion sums over the diagonals, Σ_i w_i Σ_a log Dⁱ_aa for the
    /// likelihood.
    fn reset(&mut self, b: &Matrix<T>) -> Result<f64, Error>;

    /// Goes on in single precision from the current D, until the next [`reset`](Self::reset), if the set can: passes then
    /// take half the time. Only statistics, stored Hessians, probes, line points and steps are asked for meanwhile, and
    /// have about six digits. Says whether it does, and asked again, whether it still should; false by default.
    fn round_to_single(&mut self) -> bool {
        false
    }

    /// Σ_i w_i Dⁱ.
    fn mean(&mut self) -> Result<Matrix<T>, Error>;

    /// The sums that make gradient and Γ at the current D.
    fn statistics(&mut self) -> Result<Statistics<T>, Error>;

    /// Hears that exact Hessians will be asked for at the points to come, so that they may be summed
    /// together with the statistics; says whether there is room for them.
    fn expect_hessian(&mut self) -> bool {
        true
    }

    /// Writes the exact Hessian at the current D; for least squares the sums Σ_i w_i Λⁱ_aa Cⁱ, in place of
    /// its row blocks.
    fn hessian(&mut self, hessian: &mut Hessian<T>) -> Result<(), Error>;

    /// The product of the exact Hessian at the current D with `e`, by a pass over the set: for
    /// when the Hessian would not fit into memory. For least squares, `e` is a change of A, and the
    /// Hessian that with respect to A, of a quarter of what the fit leaves.
    fn hessian_product(&mut self, e: &Matrix<T>) -> Result<Matrix<T>, Error>;

    /// Prepares D(α) = (I + αE) D (I + αE)ᴴ for all α.
    fn probe(&mut self, e: &Matrix<T>) -> Result<Probe, Error>;

    /// Σ_i w_i Σ_a log Dⁱ_aa(α) along the probed direction, with two derivatives.
    fn line_point(&mut self, alpha: f64) -> Result<LinePoint, Error>;

    /// D ← S D(α) S along the probed direction, with S = diag(`scale`). Returns the statistics
    /// there.
    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics<T>, Error>;

    /// For U-WEDGE and FFDIAG: Σ_i w_i Dⁱ_bb Dⁱ_ab, a ≠ b, as gradient, and Σ_i w_i Dⁱ_aa Dⁱ_bb as Γ, of
    /// Dⁱ = B Cⁱ Bᴴ at the current B. Not asked of a set that is not diagonalized by least squares, and
    /// [`Error::Question`] by default.
    fn wedge_sums(&mut self) -> Result<Statistics<T>, Error> {
        Err(Error::Question)
    }

    /// What the answer says of the current D, whose mean powers are given.
    fn final_sums(&mut self, mean_powers: &[f64]) -> Result<FinalSums, Error>;

    /// Access pair by pair; None where p²/2 passes per iteration would not do.
    fn pairs(&mut self) -> Option<&mut dyn Pairs<T>> {
        None
    }
}

/// What the methods of Pham and Jacobi ask of a set: sums over a pair of components, and its
/// transformation.
///
/// ```
/// use codiag::working::{InMemory, PairStep, WorkingSet};
/// use codiag::{Matrix, synthetic};
/// let mut set = InMemory::new(&synthetic::noisy(20, 3, 0.1, 0));
/// let before = set.reset(&Matrix::identity(3))?;
/// let pairs = set.pairs().expect("in memory, passes are cheap");
/// // A small step of components 2 and 0 against their gradient.
/// let sums = pairs.pair_sums(2, 0);
/// let (ab, ba) = (-0.01 * sums.gradient_ab, -0.01 * sums.gradient_ba);
/// pairs.apply(2, 0, PairStep::Shear { ab, ba });
/// let loss = |diagonal_sum: f64, det: f64| 0.5 * diagonal_sum - det.abs().ln();
/// assert!(loss(pairs.diagonal_sum(), 1.0 - ab * ba) < loss(before, 1.0));
/// # Ok::<(), codiag::Error>(())
/// ```
pub trait Pairs<T: Scalar = f64> {
    /// The sums that decide the step of Pham's algorithm for components a > b.
    fn pair_sums(&mut self, a: usize, b: usize) -> PairSums<T>;

    /// The sums that decide the angle of a Jacobi rotation of components a > b.
    fn rotation_sums(&mut self, a: usize, b: usize) -> RotationSums<T>;

    /// Applies a step to components a > b.
    fn apply(&mut self, a: usize, b: usize, step: PairStep<T>);

    /// Σ_i w_i Σ_a log Dⁱ_aa.
    fn diagonal_sum(&mut self) -> f64;
}

/// What is done to two components a and b.
///
/// ```
/// use codiag::working::{InMemory, PairStep, WorkingSet};
/// use codiag::{Matrix, MatrixSet};
/// // Turned by 45°, this matrix is diagonal: 3 and 1.
/// let set = MatrixSet::new(&[2.0, 1.0, 1.0, 2.0], 1, 2)?;
/// let mut working = InMemory::new(&set);
/// working.reset(&Matrix::identity(2))?;
/// let half = 0.5_f64.sqrt();
/// let pairs = working.pairs().expect("it is in memory");
/// pairs.apply(1, 0, PairStep::Rotation { cosine: half, sine: half });
/// let mean = working.mean()?;
/// assert!((mean[(1, 1)] - 3.0).abs() < 1e-12 && mean[(1, 0)].abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PairStep<T = f64> {
    /// (a, b) ← (a + `ab`·b, b + `ba`·a).
    Shear {
        /// How much of b is added to a.
        ab: T,
        /// How much of a is added to b.
        ba: T,
    },
    /// (a, b) ← (c·a + s·b, c·b − s̄·a).
    Rotation {
        /// c, which is not 0.
        cosine: f64,
        /// s.
        sine: T,
    },
}

impl<T: Scalar> PairStep<T> {
    /// The numbers (c, e, f) of (a, b) ← (c·a + e·b, c·b + f·a).
    #[inline(always)]
    pub(crate) fn coefficients(self) -> (f64, T, T) {
        match self {
            Self::Shear { ab, ba } => (1.0, ab, ba),
            Self::Rotation { cosine, sine } => (cosine, sine, -sine.conj()),
        }
    }

    /// Applies the step to rows a > b of a matrix.
    #[inline(always)]
    pub(crate) fn apply_to_rows(self, m: &mut Matrix<T>, a: usize, b: usize) {
        let (c, ab, ba) = self.coefficients();
        let columns = m.columns();
        let (head, tail) = m.as_mut_slice().split_at_mut(a * columns);
        let rows = tail[..columns]
            .iter_mut()
            .zip(&mut head[b * columns..][..columns]);
        rows.for_each(|(x, y)| (*x, *y) = (*x * c + ab * *y, *y * c + ba * *x));
    }
}
