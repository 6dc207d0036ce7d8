//! Choices by name: the criterion, the method, and the order of the components.

use crate::linalg::kernels::DiagonalFunction;

/// Criterion of joint diagonality that is minimized.
///
/// ```
/// use codiag::{Criterion, Method};
/// assert_eq!(Criterion::default(), Criterion::Likelihood);
/// assert!(Criterion::Likelihood.methods().contains(&Method::Pham));
/// assert_eq!("likelihood".parse(), Ok(Criterion::Likelihood));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Criterion {
    /// Likelihood criterion of Pham (2001), for positive definite matrices:
    /// L(B) = ½ Σ_i w_i \[Σ_a log Dⁱ_aa − log det Dⁱ\].
    #[default]
    Likelihood,
    /// Fraction of the energy that is off the diagonals, over orthogonal B (Cardoso & Souloumiac
    /// 1996), for any symmetric matrices: L(B) = Σ_i w_i Σ_{a≠b} |Dⁱ_ab|² / Σ_i w_i ‖Cⁱ‖². It is 0
    /// if all Dⁱ are diagonal, and at most 1.
    Frobenius,
    /// Relative residual of a least-squares fit (Yeredor 2002), for any symmetric matrices:
    /// L(B) = Σ_i w_i ‖Cⁱ − A Λⁱ Aᴴ‖² / Σ_i w_i ‖Cⁱ‖² with A = B⁻¹ and the best diagonal Λⁱ. It is
    /// 0 if all B Cⁱ Bᴴ are diagonal, and at most 1.
    LeastSquares,
}

impl Criterion {
    /// All criteria, the default first.
    pub const ALL: [Self; 3] = [Self::Likelihood, Self::Frobenius, Self::LeastSquares];

    pub(crate) const NAMES: [&'static str; 3] = ["likelihood", "frobenius", "least-squares"];

    /// Returns the name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Likelihood => "likelihood",
            Self::Frobenius => "frobenius",
            Self::LeastSquares => "least-squares",
        }
    }

    /// Whether B is always orthogonal (if complex, unitary).
    pub fn requires_rotations(self) -> bool {
        self == Self::Frobenius
    }

    /// Whether all matrices must be positive definite. Every criterion requires finite symmetric
    /// (if complex, Hermitian) matrices.
    pub fn requires_definite(self) -> bool {
        self == Self::Likelihood
    }

    /// Returns the criteria that accept any symmetric matrices, positive definite or not.
    ///
    /// ```
    /// use codiag::Criterion;
    /// assert!(Criterion::for_any_symmetric().any(|criterion| criterion == Criterion::Frobenius));
    /// ```
    pub fn for_any_symmetric() -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(|criterion| !criterion.requires_definite())
    }

    /// Whether this is the least-squares criterion, which is evaluated on the original matrices Cⁱ
    /// rather than on B Cⁱ Bᴴ.
    pub(crate) fn is_least_squares(self) -> bool {
        self == Self::LeastSquares
    }

    /// Returns the function of the diagonal entries that is summed over the set. For least squares
    /// it is the one that U-WEDGE and FFDIAG use.
    pub(crate) fn function(self) -> DiagonalFunction {
        match self {
            Self::Likelihood => DiagonalFunction::Log,
            Self::Frobenius | Self::LeastSquares => DiagonalFunction::Square,
        }
    }
}

impl Criterion {
    /// Returns the methods that minimize this criterion, the default first.
    pub fn methods(self) -> &'static [Method] {
        use Method::{Acdc, Ffdiag, Jacobi, Newton, Pham, QuasiNewton, RowWise, Uwedge};
        match self {
            Self::Likelihood => &[Newton, QuasiNewton, Pham, RowWise],
            Self::Frobenius => &[Newton, QuasiNewton, Jacobi],
            Self::LeastSquares => &[Newton, Acdc, Uwedge, Ffdiag],
        }
    }
}

/// Optimization method.
///
/// ```
/// use codiag::Method;
/// assert_eq!("quasi-newton".parse(), Ok(Method::QuasiNewton));
/// assert_eq!(Method::Pham.name(), "pham");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Truncated Newton method: conjugate gradients with the exact Hessian, then an exact line
    /// search. For least squares, the Gauss–Newton method with Levenberg–Marquardt damping.
    #[default]
    Newton,
    /// Quasi-Newton method: Algorithm 1 of Ablin, Cardoso & Gramfort (2019).
    QuasiNewton,
    /// Algorithm of Pham (2001), for the likelihood: sweeps over pairs of components.
    Pham,
    /// Alternating minimization over the rows of B, for the likelihood (Todros & Tabrikian 2007;
    /// Ono 2011): slower than the other methods, for comparison.
    RowWise,
    /// Jacobi rotations (Cardoso & Souloumiac 1996), for the Frobenius criterion: sweeps over pairs
    /// of components.
    Jacobi,
    /// AC-DC (Yeredor 2002), for least squares: alternates between the columns of A and the
    /// diagonals.
    Acdc,
    /// U-WEDGE (Tichavský & Yeredor 2009), for least squares: solves Σ_i w_i Dⁱ_bb Dⁱ_ab = 0 for a
    /// ≠ b. Its solution is the least-squares minimizer if the set can be diagonalized exactly, and
    /// close to it otherwise.
    Uwedge,
    /// FFDIAG (Ziehe, Laskov, Nolte & Müller 2004), for least squares: solves the equation of
    /// U-WEDGE by steps B ← (I + E)B of bounded norm.
    Ffdiag,
}

impl Method {
    /// All methods, the default first.
    pub const ALL: [Self; 8] = [
        Self::Newton,
        Self::QuasiNewton,
        Self::Pham,
        Self::RowWise,
        Self::Jacobi,
        Self::Acdc,
        Self::Uwedge,
        Self::Ffdiag,
    ];

    pub(crate) const NAMES: [&'static str; 8] = [
        "newton",
        "quasi-newton",
        "pham",
        "row-wise",
        "jacobi",
        "acdc",
        "uwedge",
        "ffdiag",
    ];

    /// Returns the name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Newton => "newton",
            Self::QuasiNewton => "quasi-newton",
            Self::Pham => "pham",
            Self::RowWise => "row-wise",
            Self::Jacobi => "jacobi",
            Self::Acdc => "acdc",
            Self::Uwedge => "uwedge",
            Self::Ffdiag => "ffdiag",
        }
    }
}

/// Order of the components in a result.
///
/// ```
/// use codiag::{SortBy, Settings, diagonalize, synthetic};
/// assert_eq!("stability".parse(), Ok(SortBy::Stability));
/// let settings = Settings::default().n_resamples(10).sort_by(SortBy::Stability);
/// let result = diagonalize(&synthetic::noisy(40, 6, 0.5, 0), &settings)?;
/// let stability = result.stability.expect("10 resamples were solved").values;
/// assert!(stability.windows(2).all(|pair| pair[0] >= pair[1]));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortBy {
    /// By decreasing contrast: how much the power of a component varies over the set; for the other
    /// criteria its energy; for the sources of a recording the measure of its separation method.
    #[default]
    Contrast,
    /// By decreasing stability, that is, by how reproducible components are:
    /// [`Diagonalization::stability`](crate::Diagonalization::stability).
    Stability,
}

impl SortBy {
    /// All orders, the default first.
    pub const ALL: [Self; 2] = [Self::Contrast, Self::Stability];

    pub(crate) const NAMES: [&'static str; 2] = ["contrast", "stability"];

    /// Returns the name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contrast => "contrast",
            Self::Stability => "stability",
        }
    }
}
