//! What one sweep over the set yields: gradient, Γ, and on demand the exact Hessian.
//!
//! With the relative update B ← (I + E)B and Dⁱ = B Cⁱ Bᵀ,
//!
//! - the gradient is G_ab = Σ_i w_i Dⁱ_ab / Dⁱ_aa − δ_ab (its diagonal is zero),
//! - the approximate Hessian is made of Γ_ab = Σ_i w_i Dⁱ_bb / Dⁱ_aa,
//! - the Hessian is H_abcd = δ_ac M^a_bd + δ_ad δ_bc with
//!   M^a = Σ_i w_i [ Dⁱ / Dⁱ_aa − 2 dⁱ_a dⁱ_aᵀ / (Dⁱ_aa)² ], dⁱ_a being row a of Dⁱ.

use crate::linalg::Matrix;
use crate::linalg::kernels::{self, LANES, packed, packed_len};

/// Gradient and Γ at the current point.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// G, its diagonal zero.
    pub gradient: Matrix,
    /// Γ.
    pub gamma: Matrix,
}

impl Statistics {
    /// ĝ = ‖G‖_F / √p: in the gauge where the mean powers are 1, a measure that depends neither
    /// on units nor on n.
    pub fn gradient_norm(&self) -> f64 {
        self.gradient.norm() / (self.gradient.rows() as f64).sqrt()
    }

    /// The antisymmetric part G − Gᵀ, the gradient over rotations.
    pub fn rotation_gradient(&self) -> Matrix {
        let g = &self.gradient;
        Matrix::from_fn(g.rows(), g.rows(), |a, b| g[(a, b)] - g[(b, a)])
    }

    /// The pair of components that is hardest to tell apart, and its Γ_ab Γ_ba − 1 ≥ 0.
    pub fn identifiability(&self) -> Option<(f64, (usize, usize))> {
        let p = self.gamma.rows();
        (0..p)
            .flat_map(|a| (a + 1..p).map(move |b| (a, b)))
            .map(|(a, b)| (self.gamma[(a, b)] * self.gamma[(b, a)] - 1.0, (a, b)))
            .min_by(|x, y| x.0.total_cmp(&y.0))
    }
}

/// The exact Hessian as its p row blocks M^a.
#[derive(Clone, Debug)]
pub struct Hessian {
    p: usize,
    rows: Vec<f64>,
    /// The operands of a product, in the layout of the row blocks.
    operand: Vec<f64>,
    result: Vec<f64>,
}

impl Hessian {
    /// From the sums of [`kernels::accumulate_hessian`].
    pub fn new(p: usize, rows: Vec<f64>) -> Self {
        let len = p.div_ceil(LANES) * p * LANES;
        Self {
            p,
            rows,
            operand: vec![0.0; len],
            result: vec![0.0; len],
        }
    }

    /// How many bytes the row blocks of p×p matrices take.
    pub fn bytes(p: usize) -> usize {
        8 * kernels::hessian_len(p)
    }

    /// Entry (b, c) of M^a.
    pub fn entry(&self, a: usize, b: usize, c: usize) -> f64 {
        let group = a / LANES * packed_len(self.p) * LANES;
        self.rows[group + packed(b, c) * LANES + a % LANES]
    }

    /// H·E = (rows M^a e_a) + Eᵀ, off the diagonal; the diagonal is a change of scale.
    pub fn product(&mut self, e: &Matrix) -> Matrix {
        let p = self.p;
        let place = |a: usize, b: usize| (a / LANES * p + b) * LANES + a % LANES;
        for a in 0..p {
            for (b, x) in e.row(a).iter().enumerate() {
                self.operand[place(a, b)] = *x;
            }
        }
        kernels::hessian_times(p, &self.rows, &self.operand, &mut self.result);
        let mut product = Matrix::from_fn(p, p, |a, b| self.result[place(a, b)]);
        Self::add_transposed(&mut product, e);
        product
    }

    /// Adds the term δ_ad δ_bc of the Hessian, and clears the diagonal.
    pub(crate) fn add_transposed(product: &mut Matrix, e: &Matrix) {
        for a in 0..e.rows() {
            for b in 0..e.rows() {
                product[(a, b)] += e[(b, a)];
            }
            product[(a, a)] = 0.0;
        }
    }
}
