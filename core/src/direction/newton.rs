//! The Newton direction, by conjugate gradients on the exact Hessian.
//!
//! The Hessian looks like a p²×p² matrix, but it is p row blocks M^a and a transposition, so its
//! product with E costs 2p³ flops, whatever n is: conjugate gradients preconditioned by the 2×2
//! blocks of the quasi-Newton method solve H E = −G for almost nothing.

use crate::Error;
use crate::linalg::Matrix;
use crate::statistics::Statistics;

/// A direction and how it was found.
pub(crate) struct Newton {
    pub e: Matrix,
    pub iterations: usize,
}

/// The inverse of the 2×2 blocks, kept positive definite.
pub(crate) struct Preconditioner {
    /// Γ_ba / det, the weight of G_ab in E_ab.
    own: Matrix,
    /// 1 / det, that of −G_ba.
    other: Matrix,
}

impl Preconditioner {
    /// Blocks whose determinant Γ_ab Γ_ba − 1 is below `floor` are lifted to it.
    pub fn new(statistics: &Statistics, floor: f64) -> Self {
        let gamma = &statistics.gamma;
        let p = gamma.rows();
        let (mut own, mut other) = (Matrix::zeros(p, p), Matrix::zeros(p, p));
        for a in 0..p {
            for b in 0..p {
                if a == b {
                    continue;
                }
                let product = gamma[(a, b)] * gamma[(b, a)];
                let lift = ((1.0 + floor) / product).sqrt().max(1.0);
                let determinant = (product * lift * lift - 1.0).max(floor);
                own[(a, b)] = lift * gamma[(b, a)] / determinant;
                other[(a, b)] = 1.0 / determinant;
            }
        }
        Self { own, other }
    }

    /// H̃⁻¹ R.
    pub fn solve(&self, r: &Matrix) -> Matrix {
        let p = r.rows();
        Matrix::from_fn(p, p, |a, b| {
            self.own[(a, b)] * r[(a, b)] - self.other[(a, b)] * r[(b, a)]
        })
    }
}

/// Solves H E = −G until the residual is `forcing` · ‖G‖, or until a direction of negative
/// curvature shows that H is indefinite: then the last iterate, at least −H̃⁻¹G, is returned.
pub(crate) fn direction(
    gradient: &Matrix,
    preconditioner: &Preconditioner,
    forcing: f64,
    max_iterations: usize,
    mut product: impl FnMut(&Matrix) -> Result<Matrix, Error>,
) -> Result<Newton, Error> {
    let p = gradient.rows();
    let goal = forcing * gradient.norm();
    let mut e = Matrix::zeros(p, p);
    let mut residual = Matrix::from_fn(p, p, |a, b| -gradient[(a, b)]);
    let mut z = preconditioner.solve(&residual);
    let mut q = z.clone();
    let mut rz = residual.dot(&z);
    for k in 0..max_iterations {
        let hq = product(&q)?;
        let curvature = q.dot(&hq);
        if curvature <= 1e-10 * rz {
            if k == 0 {
                e = z;
            }
            return Ok(Newton { e, iterations: k });
        }
        let length = rz / curvature;
        axpy(&mut e, length, &q);
        axpy(&mut residual, -length, &hq);
        if residual.norm() <= goal {
            return Ok(Newton {
                e,
                iterations: k + 1,
            });
        }
        z = preconditioner.solve(&residual);
        let old = rz;
        rz = residual.dot(&z);
        for (q, z) in q.as_mut_slice().iter_mut().zip(z.as_slice()) {
            *q = z + rz / old * *q;
        }
    }
    Ok(Newton {
        e,
        iterations: max_iterations,
    })
}

/// y ← y + factor · x.
fn axpy(y: &mut Matrix, factor: f64, x: &Matrix) {
    for (y, x) in y.as_mut_slice().iter_mut().zip(x.as_slice()) {
        *y += factor * x;
    }
}
