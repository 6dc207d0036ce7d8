//! Requests to a backend, and the sums that it returns.

use crate::linalg::kernels::{LinePoint, MomentSums};
use crate::linalg::{self, Matrix, Scalar, Triangle, unpacked};

use super::hessian::HessianRows;

/// The step that led to a point: B = S (I + αE) B₀ with S = diag(`scale`).
///
/// A backend that has the transformed matrices at B₀ and the tables along E updates them. Other
/// backends compute B Cⁱ Bᴴ.
#[derive(Clone, Debug, PartialEq)]
pub struct Update<T = f64> {
    /// B₀.
    pub from: Matrix<T>,
    /// E.
    pub e: Matrix<T>,
    /// α.
    pub alpha: f64,
    /// The diagonal of S.
    pub scale: Vec<f64>,
}

impl<T: Scalar> Update<T> {
    /// Returns B = S (I + αE) B₀.
    ///
    /// ```
    /// use codiag::Matrix;
    /// use codiag::backend::Update;
    /// let e = Matrix::from_rows(2, 2, vec![0.0, 0.5, 0.0, 0.0]);
    /// let update = Update { from: Matrix::identity(2), e, alpha: 1.0, scale: vec![1.0, 2.0] };
    /// assert_eq!(update.point().as_slice(), [1.0, 0.5, 0.0, 2.0]);
    /// ```
    #[must_use]
    pub fn point(&self) -> Matrix<T> {
        moved(&self.from, &self.e, self.alpha).scale_rows(&self.scale)
    }
}

/// Returns (I + αE) B.
pub(crate) fn moved<T: Scalar>(b: &Matrix<T>, e: &Matrix<T>, alpha: f64) -> Matrix<T> {
    let mut next = linalg::product(e, b);
    for (x, old) in next.as_mut_slice().iter_mut().zip(b.as_slice()) {
        *x = *old + *x * alpha;
    }
    next
}

/// A request for sums over a set, with everything that the result depends on. Dⁱ = B Cⁱ Bᴴ.
///
/// For least squares, A = B⁻¹, Λⁱ are the best diagonal matrices of the fit Cⁱ ≈ A Λⁱ Aᴴ, and λⁱ
/// are their diagonals.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Request<T = f64> {
    /// The packed lower triangles of Σ_i w_i Cⁱ / s_i and of Σ_i w_i (1 − 1/s_i)² Cⁱ, with the
    /// sizes s_i = ⟨Cⁱ, S⟩ / p in a positive definite metric S.
    Balance {
        /// S.
        metric: Matrix<T>,
    },
    /// Σ_i w_i Cⁱ Cⁱ, returned as the gradient of the moments.
    SecondMoment,
    /// Σ_i w_i ⟨Cⁱ, S⟩ Cⁱ / s_i² for several symmetric S, whose number is a multiple of eight. The
    /// matrices S and the results are lower triangles, row after row, with one number per S in each
    /// entry. For Hermitian S, a triangle of the real parts is followed by a triangle of the
    /// imaginary parts.
    Correlate {
        /// Metric of the sizes s_i; None for s_i = 1.
        metric: Option<Matrix<T>>,
        /// The matrices S.
        matrices: Vec<f64>,
    },
    /// Σ_i w_i Σ_a φ(Dⁱ_aa), the moments that determine the gradient and Γ, and optionally the
    /// Hessian. φ(x) is log x for the likelihood and x² for the Frobenius criterion. For least
    /// squares: the energy Σ_i w_i ‖A Λⁱ Aᴴ‖² and the moments of the fit.
    Point {
        /// B.
        b: Matrix<T>,
        /// The step that led to B, if the transformed matrices may be updated instead of
        /// recomputed.
        update: Option<Update<T>>,
        /// Whether the Hessian is requested.
        hessian: bool,
    },
    /// The exact Hessian.
    Hessian {
        /// B.
        b: Matrix<T>,
    },
    /// The product of the exact Hessian with E without the term of the determinant, returned as the
    /// gradient of the moments. For least squares, the sums over the response of the fit to a
    /// change E of A.
    HessianProduct {
        /// B.
        b: Matrix<T>,
        /// E.
        e: Matrix<T>,
    },
    /// The packed lower triangle of Σ_i w_i Dⁱ, computed from the matrices that the backend keeps.
    Mean {
        /// B.
        b: Matrix<T>,
    },
    /// Prepares a line search along (I + αE) B: the linear and quadratic coefficients of the powers
    /// Σ_i w_i Dⁱ_aa in α (2p numbers), and the line points at α = 0 and 1.
    Line {
        /// B.
        b: Matrix<T>,
        /// E.
        e: Matrix<T>,
    },
    /// Σ_i w_i Σ_a φ(Dⁱ_aa) at (I + αE) B, with two derivatives with respect to α.
    LinePoint {
        /// B.
        b: Matrix<T>,
        /// E.
        e: Matrix<T>,
        /// α.
        alpha: f64,
    },
    /// Σ_i w_i Dⁱ / Dⁱ_aa for all a (for least squares Σ_i w_i λⁱ_a Cⁱ), returned as the row blocks
    /// of the Hessian.
    Weighted {
        /// B.
        b: Matrix<T>,
    },
    /// The moments of U-WEDGE and FFDIAG: −Σ_i w_i Dⁱ_aa Dⁱ_ab and −Σ_i w_i Dⁱ_aa Dⁱ_bb.
    Wedge {
        /// B.
        b: Matrix<T>,
    },
    /// Statistics of the components of a result: Σ_i w_i Σ_a φ(Dⁱ_aa), the variation of each
    /// power and, if requested and if the backend has enough memory, the tables of all powers.
    Components {
        /// B.
        b: Matrix<T>,
        /// Σ_i w_i Dⁱ_aa.
        mean_powers: Vec<f64>,
        /// Whether the tables are requested.
        tables: bool,
    },
}

impl<T: Scalar> Request<T> {
    /// Returns the point B at which matrices are transformed.
    pub(crate) fn point(&self) -> Option<&Matrix<T>> {
        match self {
            Self::Balance { .. } | Self::SecondMoment | Self::Correlate { .. } => None,
            Self::Point { b, .. }
            | Self::Hessian { b }
            | Self::HessianProduct { b, .. }
            | Self::Mean { b }
            | Self::Line { b, .. }
            | Self::LinePoint { b, .. }
            | Self::Weighted { b }
            | Self::Wedge { b }
            | Self::Components { b, .. } => Some(b),
        }
    }

    /// Returns the sizes of the sums for p×p matrices: the length of `numbers`, and whether there
    /// are moments and a Hessian.
    pub(crate) fn counts(&self, p: usize) -> (usize, bool, bool) {
        let packed = T::PLANES * Triangle::new(p).len();
        match self {
            Self::Balance { .. } => (2 * packed, false, false),
            Self::Correlate { matrices, .. } => (matrices.len(), false, false),
            Self::Point { hessian, .. } => (1, true, *hessian),
            Self::Hessian { .. } | Self::Weighted { .. } => (0, false, true),
            Self::SecondMoment | Self::HessianProduct { .. } | Self::Wedge { .. } => {
                (0, true, false)
            }
            Self::Mean { .. } => (packed, false, false),
            Self::Line { .. } => (2 * p + 6, false, false),
            Self::LinePoint { .. } => (3, false, false),
            Self::Components { .. } => (1 + p, false, false),
        }
    }
}

/// Tables of a result, with one row per matrix.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Dⁱ_aa, for least squares Λⁱ_aa, one row per matrix.
    pub powers: Vec<f64>,
    /// log det Cⁱ for the likelihood, ‖Cⁱ‖² for the Frobenius criterion, and the energy
    /// ‖Cⁱ − A Λⁱ Aᴴ‖² of the residual for least squares.
    pub constants: Vec<f64>,
}

/// Sums that a [`Request`] asks for. Only the fields that the request needs
/// are defined.
#[derive(Debug)]
pub struct Sums<T = f64> {
    pub(crate) numbers: Vec<f64>,
    pub(crate) moments: MomentSums<T>,
    pub(crate) hessian: HessianRows,
    pub(crate) tables: Option<Tables>,
}

impl<T: Scalar> Default for Sums<T> {
    fn default() -> Self {
        Self {
            numbers: Vec::new(),
            moments: MomentSums::new(0),
            hessian: HessianRows::default(),
            tables: None,
        }
    }
}

impl<T: Scalar> Sums<T> {
    /// Returns the numbers.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Returns the numbers, mutably.
    pub fn numbers_mut(&mut self) -> &mut [f64] {
        &mut self.numbers
    }

    /// Returns the moments as two p×p matrices: the gradient and Γ.
    pub fn moments_mut(&mut self) -> (&mut Matrix<T>, &mut Matrix) {
        (&mut self.moments.gradient, &mut self.moments.gamma)
    }

    /// Returns the tables of a result, mutably.
    pub fn tables_mut(&mut self) -> &mut Option<Tables> {
        &mut self.tables
    }

    /// Returns the row blocks of a Hessian or of weighted sums, in double precision.
    pub(crate) fn row_blocks(&self) -> &[f64] {
        self.hessian.double()
    }

    /// Resets the sums to zeros, with the sizes that a request for p×p matrices needs. The Hessian
    /// is in double precision.
    pub fn begin(&mut self, request: &Request<T>, p: usize) {
        self.begin_without_hessian(request, p);
        if request.counts(p).2 {
            self.hessian.begin::<T>(p);
        }
    }

    /// Resets all sums except for the Hessian to zeros.
    pub(crate) fn begin_without_hessian(&mut self, request: &Request<T>, p: usize) {
        let (count, moments, _) = request.counts(p);
        self.numbers.clear();
        self.numbers.resize(count, 0.0);
        let size = if moments { p } else { 0 };
        if self.moments.gamma.rows() == size {
            self.moments.clear();
        } else {
            self.moments = MomentSums::new(size);
        }
        self.tables = None;
    }

    /// Adds the sums of another part of the set.
    pub(crate) fn add(&mut self, other: &Self, with_hessian: bool) {
        self.add_multiple(1.0, other, with_hessian);
    }

    /// Adds a multiple of the sums of another part of the set.
    pub(crate) fn add_multiple(&mut self, factor: f64, other: &Self, with_hessian: bool) {
        linalg::add_multiple(&mut self.numbers, factor, &other.numbers);
        let (mine, theirs) = (&mut self.moments, &other.moments);
        linalg::add_multiple(
            mine.gradient.as_mut_slice(),
            factor,
            theirs.gradient.as_slice(),
        );
        linalg::add_multiple(mine.gamma.as_mut_slice(), factor, theirs.gamma.as_slice());
        if with_hessian {
            self.hessian.add_multiple(factor, &other.hessian);
        }
    }

    /// Returns the line point whose first number has the index `at`.
    pub(crate) fn line_point(&self, at: usize) -> LinePoint {
        LinePoint {
            sum: self.numbers[at],
            first: self.numbers[at + 1],
            second: self.numbers[at + 2],
        }
    }

    pub(crate) fn add_line_point(&mut self, at: usize, point: LinePoint) {
        let numbers = self.numbers[at..at + 3].iter_mut();
        let parts = numbers.zip([point.sum, point.first, point.second]);
        parts.for_each(|(sum, x)| *sum += x);
    }

    /// Returns the `k`-th p×p matrix of several packed lower triangles.
    pub(crate) fn packed_matrix(&self, k: usize, p: usize) -> Matrix<T> {
        let len = T::PLANES * Triangle::new(p).len();
        unpacked(p, &self.numbers[k * len..(k + 1) * len])
    }
}
