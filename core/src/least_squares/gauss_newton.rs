//! The Gauss–Newton direction of the fit, its diagonals eliminated, by conjugate gradients.
//!
//! With A ← A + E and U = AᵀE, the model of a quarter of what the fit leaves has the product
//!
//! ```text
//! H E = E (g∘T) + A [Uᵀ∘T − 2 g∘(K⁻¹ (g∘U) T)],   g = AᵀA
//! ```
//!
//! which is O(p³), whatever n is. E is orthogonal to A column by column, since a change of a column's
//! length changes nothing. Damped by μ T_aa on column a, as by Levenberg and Marquardt.

use super::{Fit, column_norms};
use crate::linalg::{self, Matrix};
use crate::statistics::Statistics;

/// The longest column of a step: those of A have unit norm, and beyond it the model is void.
const LONGEST_COLUMN: f64 = 0.5;
/// Conjugate gradient iterations at most.
const MOST: usize = 200;

/// The Gauss–Newton model at one A.
pub(crate) struct Model<'a> {
    fit: &'a Fit,
    a: Matrix,
    /// T.
    moments: &'a Matrix,
    /// g∘T.
    weighted: Matrix,
    /// The gradient with respect to A.
    gradient: Matrix,
    /// T_aa, or, for a component that the fit does not use, the largest of them.
    energies: Vec<f64>,
}

/// A direction, and what was expected of it.
pub(crate) struct Direction {
    /// E.
    pub e: Matrix,
    /// The decrease that the model predicts, in its units.
    pub predicted: f64,
    /// The conjugate gradient iterations.
    pub iterations: usize,
}

impl<'a> Model<'a> {
    /// The model at B, with the statistics there.
    pub fn new(b: &Matrix, fit: &'a Fit, statistics: &'a Statistics) -> Self {
        let p = b.rows();
        let moments = &statistics.gamma;
        let a = fit.components.transpose();
        // Under B ← (I + E)B, A changes by −A E: the gradient with respect to A is −Bᵀ G.
        let mut gradient = linalg::product(&b.transpose(), &statistics.gradient);
        gradient.as_mut_slice().iter_mut().for_each(|x| *x = -*x);
        project(&a, &mut gradient);
        let largest = (0..p).fold(f64::MIN_POSITIVE, |most, k| most.max(moments[(k, k)]));
        let energy = |k: usize| match moments[(k, k)] {
            energy if energy > f64::EPSILON * largest => energy,
            _ => largest,
        };
        Self {
            fit,
            weighted: Matrix::from_fn(p, p, |x, y| fit.gram[(x, y)] * moments[(x, y)]),
            energies: (0..p).map(energy).collect(),
            gradient,
            moments,
            a,
        }
    }

    /// H E, not damped.
    pub fn product(&self, e: &Matrix) -> Matrix {
        let p = e.rows();
        let (g, t) = (&self.fit.gram, self.moments);
        let u = linalg::product(&self.fit.components, e);
        let inner = Matrix::from_fn(p, p, |a, b| g[(a, b)] * u[(a, b)]);
        let inner = linalg::product(&linalg::product(&self.fit.inverse, &inner), t);
        let inner = Matrix::from_fn(p, p, |a, b| {
            u[(b, a)] * t[(a, b)] - 2.0 * g[(a, b)] * inner[(a, b)]
        });
        let mut product = linalg::product(e, &self.weighted);
        let rest = linalg::product(&self.a, &inner);
        linalg::add_multiple(product.as_mut_slice(), 1.0, rest.as_slice());
        project(&self.a, &mut product);
        product
    }

    /// Solves (H + μ T) E = −gradient to a residual of `forcing` times the gradient, in the norm of
    /// the diagonal T.
    pub fn direction(&self, damping: f64, forcing: f64) -> Direction {
        let p = self.a.rows();
        let mut e = Matrix::zeros(p, p);
        let mut residual = self.gradient.clone();
        residual.as_mut_slice().iter_mut().for_each(|x| *x = -*x);
        let mut z = self.precondition(&residual);
        let mut q = z.clone();
        let mut rz = residual.dot(&z);
        let goal = forcing * forcing * rz;
        let mut iterations = 0;
        while iterations < MOST && rz > goal {
            iterations += 1;
            let mut hq = self.product(&q);
            for (k, x) in hq.as_mut_slice().iter_mut().enumerate() {
                *x += damping * self.energies[k % p] * q.as_slice()[k];
            }
            let curvature = q.dot(&hq);
            if curvature <= 0.0 {
                break;
            }
            let length = rz / curvature;
            linalg::add_multiple(e.as_mut_slice(), length, q.as_slice());
            linalg::add_multiple(residual.as_mut_slice(), -length, hq.as_slice());
            z = self.precondition(&residual);
            let old = std::mem::replace(&mut rz, residual.dot(&z));
            for (q, z) in q.as_mut_slice().iter_mut().zip(z.as_slice()) {
                *q = z + rz / old * *q;
            }
        }
        let longest = column_norms(&e).into_iter().fold(0.0, f64::max);
        let factor = (LONGEST_COLUMN / longest).min(1.0);
        e.as_mut_slice().iter_mut().for_each(|x| *x *= factor);
        Direction {
            predicted: -(self.gradient.dot(&e) + 0.5 * e.dot(&self.product(&e))),
            iterations,
            e,
        }
    }

    /// A + E.
    pub fn moved(&self, e: &Matrix) -> Matrix {
        let mut a = self.a.clone();
        linalg::add_multiple(a.as_mut_slice(), 1.0, e.as_slice());
        a
    }

    fn precondition(&self, r: &Matrix) -> Matrix {
        let mut z = Matrix::from_fn(r.rows(), r.rows(), |k, c| r[(k, c)] / self.energies[c]);
        project(&self.a, &mut z);
        z
    }
}

/// Takes from each column its share along the column of A.
fn project(a: &Matrix, x: &mut Matrix) {
    let p = a.rows();
    let mut dots = vec![0.0; p];
    for k in 0..p {
        let numbers = a.row(k).iter().zip(x.row(k));
        dots.iter_mut()
            .zip(numbers)
            .for_each(|(dot, (a, x))| *dot += a * x);
    }
    for k in 0..p {
        let numbers = x.row_mut(k).iter_mut().zip(a.row(k));
        numbers.zip(&dots).for_each(|((x, a), dot)| *x -= dot * a);
    }
}
