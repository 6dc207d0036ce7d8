//! The function of diagonal entries that a criterion sums over all matrices.

/// A concave function f of a diagonal entry d = Dⁱ_aa. The kernels sum f(d) and weight matrices by
/// its derivatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagonalFunction {
    /// f(d) = log d, of the likelihood criterion.
    Log,
    /// f(d) = −d², of the Frobenius criterion; sums are of d², with the opposite sign.
    Square,
}

impl DiagonalFunction {
    /// Returns the first weight u of a matrix with weight w: w/d for the logarithm, −w d for the
    /// square.
    #[inline(always)]
    pub fn first_weight(self, w: f64, d: f64) -> f64 {
        match self {
            Self::Log => w / d,
            Self::Square => -w * d,
        }
    }

    /// √(−v) of the second weight v, from `root` = √(2w): √(2w)/d for the logarithm, √(2w) for the
    /// square.
    #[inline(always)]
    pub fn second_weight_root(self, root: f64, d: f64) -> f64 {
        match self {
            Self::Log => root / d,
            Self::Square => root,
        }
    }
}
