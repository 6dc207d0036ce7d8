//! What a caller chooses by name: criterion, method, and order of the components.

use crate::linalg::kernels::DiagonalFunction;

/// What is minimized.
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
    /// Pham's (2001) likelihood, for positive definite matrices:
    /// L(B) = ½ Σ_i w_i \[Σ_a log Dⁱ_aa − log det Dⁱ\].
    #[default]
    Likelihood,
    /// The energy off the diagonals, over rotations (Cardoso & Souloumiac 1996), for any symmetric
    /// matrices: L(B) = Σ_i w_i Σ_{a≠b} (Dⁱ_ab)² / Σ_i w_i ‖Cⁱ‖², B orthogonal. It is 0 if all Dⁱ are
    /// diagonal, and at most 1.
    Frobenius,
    /// The energy that a fit leaves (Yeredor 2002), for any symmetric matrices:
    /// L(B) = Σ_i w_i ‖Cⁱ − A Λⁱ Aᵀ‖² / Σ_i w_i ‖Cⁱ‖² with A = B⁻¹ and the best diagonal Λⁱ. It is 0 if
    /// all B Cⁱ Bᵀ are diagonal, and at most 1.
    LeastSquares,
}

impl Criterion {
    /// All criteria.
    pub const ALL: [Self; 3] = [Self::Likelihood, Self::Frobenius, Self::LeastSquares];

    pub(crate) const NAMES: [&'static str; 3] = ["likelihood", "frobenius", "least-squares"];

    /// The name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Likelihood => "likelihood",
            Self::Frobenius => "frobenius",
            Self::LeastSquares => "least-squares",
        }
    }

    /// Whether B is always orthogonal.
    pub fn requires_rotations(self) -> bool {
        self == Self::Frobenius
    }

    /// Whether all matrices must be positive definite; symmetric and finite they always are.
    pub fn requires_definite(self) -> bool {
        self == Self::Likelihood
    }

    /// Those that take any symmetric matrices.
    ///
    /// ```
    /// use codiag::Criterion;
    /// assert!(Criterion::for_any_symmetric().any(|criterion| criterion == Criterion::Frobenius));
    /// ```
    pub fn for_any_symmetric() -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(|criterion| !criterion.requires_definite())
    }

    /// Whether the matrices are fitted in the coordinates in which they came, and not diagonalized as B Cⁱ Bᴴ.
    pub(crate) fn is_least_squares(self) -> bool {
        self == Self::LeastSquares
    }

    /// The function of the diagonal entries that is summed; for least squares that of U-WEDGE and FFDIAG.
    pub(crate) fn function(self) -> DiagonalFunction {
        match self {
            Self::Likelihood => DiagonalFunction::Log,
            Self::Frobenius | Self::LeastSquares => DiagonalFunction::Square,
        }
    }
}

impl Criterion {
    /// The methods that minimize it.
    pub fn methods(self) -> &'static [Method] {
        use Method::{Acdc, Ffdiag, Jacobi, Newton, Pham, QuasiNewton, RowWise, Uwedge};
        match self {
            Self::Likelihood => &[Newton, QuasiNewton, Pham, RowWise],
            Self::Frobenius => &[Newton, QuasiNewton, Jacobi],
            Self::LeastSquares => &[Newton, Acdc, Uwedge, Ffdiag],
        }
    }
}

/// How the loss is minimized.
///
/// ```
/// use codiag::Method;
/// assert_eq!("quasi-newton".parse(), Ok(Method::QuasiNewton));
/// assert_eq!(Method::Pham.name(), "pham");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Newton's method: conjugate gradients on the exact Hessian, and an exact line search. For least
    /// squares the Gauss–Newton method, damped as by Levenberg and Marquardt.
    #[default]
    Newton,
    /// Algorithm 1 of Ablin, Cardoso & Gramfort (2019), to the letter.
    QuasiNewton,
    /// Pham's (2001) algorithm, for the likelihood: one pair of components at a time.
    Pham,
    /// Alternating minimization over the rows of B, for the likelihood (Todros & Tabrikian 2007; Ono
    /// 2011): slower than the other methods, for comparison.
    RowWise,
    /// Jacobi rotations (Cardoso & Souloumiac 1996), for the Frobenius criterion: one pair of
    /// components at a time.
    Jacobi,
    /// AC-DC (Yeredor 2002), for least squares: the columns of A one after the other, then the diagonals.
    Acdc,
    /// U-WEDGE (Tichavský & Yeredor 2009), for least squares: it solves Σ_i w_i Dⁱ_bb Dⁱ_ab = 0, a ≠ b, which
    /// on exact sets has the same answer.
    Uwedge,
    /// FFDIAG (Ziehe, Laskov, Nolte & Müller 2004), for least squares: the same equation, by steps that are
    /// not inverted, and capped.
    Ffdiag,
}

impl Method {
    /// All methods.
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

    /// The name used in Python and on the command line.
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

/// In what order components come.
///
/// ```
/// use codiag::{SortBy, Settings, diagonalize, synthetic};
/// assert_eq!("stability".parse(), Ok(SortBy::Stability));
/// let settings = Settings::default().n_resamples(10).sort_by(SortBy::Stability);
/// let answer = diagonalize(&synthetic::noisy(40, 6, 0.5, 0), &settings)?;
/// let stability = answer.stability.expect("10 resamples were solved").values;
/// assert!(stability.windows(2).all(|pair| pair[0] >= pair[1]));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortBy {
    /// By what tells them apart, descending: how much their power varies over the set; for the other criteria their
    /// energy; for the sources of a recording what its separation says.
    #[default]
    Contrast,
    /// By how reproducible they are, descending:
    /// [`Diagonalization::stability`](crate::Diagonalization::stability).
    Stability,
}

impl SortBy {
    /// All orders.
    pub const ALL: [Self; 2] = [Self::Contrast, Self::Stability];

    pub(crate) const NAMES: [&'static str; 2] = ["contrast", "stability"];

    /// The name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contrast => "contrast",
            Self::Stability => "stability",
        }
    }
}
