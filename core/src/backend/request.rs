//! A request, and the sums that answer it.

use crate::linalg::kernels::{LinePoint, MomentSums};
use crate::linalg::{self, Matrix, Scalar, Triangle, unpacked};

use super::hessian::HessianRows;

/// How a point was reached: B = S (I + αE) B₀ with S = diag(`scale`).
///
/// A backend that still has the transformed matrices at B₀ and the tables along E updates them. One
/// that does not computes B Cⁱ Bᴴ.
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
    /// B = S (I + αE) B₀.
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

/// (I + αE) B.
pub(crate) fn moved<T: Scalar>(b: &Matrix<T>, e: &Matrix<T>, alpha: f64) -> Matrix<T> {
    let mut next = linalg::product(e, b);
    for (x, old) in next.as_mut_slice().iter_mut().zip(b.as_slice()) {
        *x = *old + *x * alpha;
    }
    next
}

/// What a solver asks of a set, with everything that the answer depends on. Dⁱ = B Cⁱ Bᴴ.
///
/// Where the criterion is least squares, A = B⁻¹, Λⁱ are the best diagonal matrices of the fit
/// Cⁱ ≈ A Λⁱ Aᴴ, and λⁱ their diagonals.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Request<T = f64> {
    /// With the sizes s_i = ⟨Cⁱ, S⟩ / p in a positive definite metric S: the packed lower triangles of
    /// Σ_i w_i Cⁱ / s_i and of Σ_i w_i (1 − 1/s_i)² Cⁱ.
    Balance {
        /// S.
        metric: Matrix<T>,
    },
    /// Σ_i w_i Cⁱ Cⁱ, as gradient of the moments.
    SecondMoment,
    /// Σ_i w_i ⟨Cⁱ, S⟩ Cⁱ / s_i² for several symmetric S at once, a multiple of eight. Both sides are
    /// lower triangles, row after row, with one number for each S in each entry; those of Hermitian S
    /// are the real parts and then, as a second triangle, the imaginary parts.
    Correlate {
        /// The metric of the sizes s_i; None for s_i = 1.
        metric: Option<Matrix<T>>,
        /// The matrices S.
        matrices: Vec<f64>,
    },
    /// Σ_i w_i Σ_a φ(Dⁱ_aa), the moments that make gradient and Γ, and the Hessian if it is wanted.
    /// φ(x) is log x for the likelihood and x² for the Frobenius criterion. For least squares: the
    /// energy Σ_i w_i ‖A Λⁱ Aᴴ‖² and the moments of the fit.
    Point {
        /// B.
        b: Matrix<T>,
        /// How B was reached, if the matrices may be updated from there instead of recomputed.
        update: Option<Update<T>>,
        /// Whether the Hessian is wanted too.
        hessian: bool,
    },
    /// The exact Hessian.
    Hessian {
        /// B.
        b: Matrix<T>,
    },
    /// The product of the exact Hessian with E, as gradient of the moments, without the part that the
    /// determinant adds. For least squares the sums over the response of the fit to a change E of A.
    HessianProduct {
        /// B.
        b: Matrix<T>,
        /// E.
        e: Matrix<T>,
    },
    /// The packed lower triangle of Σ_i w_i Dⁱ, from the matrices that the backend keeps.
    Mean {
        /// B.
        b: Matrix<T>,
    },
    /// Prepares (I + αE) B for all α: how the powers Σ_i w_i Dⁱ_aa change, linearly and quadratically
    /// in α (2p numbers), and the line points at α = 0 and 1.
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
    /// Σ_i w_i Dⁱ / Dⁱ_aa for all a, in place of the row blocks of the Hessian; for least squares
    /// Σ_i w_i λⁱ_a Cⁱ.
    Weighted {
        /// B.
        b: Matrix<T>,
    },
    /// For U-WEDGE and FFDIAG, as moments: −Σ_i w_i Dⁱ_aa Dⁱ_ab and −Σ_i w_i Dⁱ_aa Dⁱ_bb.
    Wedge {
        /// B.
        b: Matrix<T>,
    },
    /// What a result says of the components: Σ_i w_i Σ_a φ(Dⁱ_aa), how much each power varies, and
    /// the tables of all powers if they are wanted and the backend has room for them.
    Components {
        /// B.
        b: Matrix<T>,
        /// Σ_i w_i Dⁱ_aa.
        mean_powers: Vec<f64>,
        /// Whether the tables are wanted.
        tables: bool,
    },
}

impl<T: Scalar> Request<T> {
    /// The point B at which matrices are transformed.
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

    /// How many numbers, moments (0 or 1) and Hessians (0 or 1) answer it, for p×p matrices.
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

/// Of each matrix: what a result says of it.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Dⁱ_aa, for least squares Λⁱ_aa, one row per matrix.
    pub powers: Vec<f64>,
    /// log det Cⁱ for the likelihood, ‖Cⁱ‖² for the Frobenius criterion, and the energy
    /// ‖Cⁱ − A Λⁱ Aᴴ‖² of the residual for least squares.
    pub constants: Vec<f64>,
}

/// The sums that answer a [`Request`]. Which of the parts are used depends on the request.
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
    /// The numbers.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// The numbers, to be added to.
    pub fn numbers_mut(&mut self) -> &mut [f64] {
        &mut self.numbers
    }

    /// The moments as two p×p matrices: the one of the gradient, and Γ.
    pub fn moments_mut(&mut self) -> (&mut Matrix<T>, &mut Matrix) {
        (&mut self.moments.gradient, &mut self.moments.gamma)
    }

    /// The tables of a result.
    pub fn tables_mut(&mut self) -> &mut Option<Tables> {
        &mut self.tables
    }

    /// The row blocks of a Hessian or of weighted sums, in double precision.
    pub(crate) fn row_blocks(&self) -> &[f64] {
        self.hessian.double()
    }

    /// Zeros, as many as the answer to a request for p×p matrices has. The Hessian is made of zeros
    /// in double precision.
    pub fn begin(&mut self, request: &Request<T>, p: usize) {
        self.begin_without_hessian(request, p);
        if request.counts(p).2 {
            self.hessian.begin::<T>(p);
        }
    }

    /// Zeros, except for the Hessian.
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

    /// The line point that begins with that number.
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

    /// A p×p matrix from its packed lower triangle, the `k`-th of several.
    pub(crate) fn packed_matrix(&self, k: usize, p: usize) -> Matrix<T> {
        let len = T::PLANES * Triangle::new(p).len();
        unpacked(p, &self.numbers[k * len..(k + 1) * len])
    }
}
