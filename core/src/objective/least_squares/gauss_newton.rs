//! The Gauss–Newton model of the fit with eliminated diagonals, and its preconditioner.
//!
//! With A ← A + E and U = AᴴE, the model of a quarter of the residual energy has the Hessian
//! product
//!
//! ```text
//! H E = E (g∘T) + A [Uᴴ∘T − 2 g∘(K⁻¹ Re(ḡ∘U) T)],   g = AᴴA
//! ```
//!
//! which costs O(p³), independent of n. Every column of E is orthogonal to the same column of A,
//! since the fit does not depend on the norm (and phase, if complex) of a column. The
//! Levenberg–Marquardt damping adds μ T_aa to the diagonal for column a.
//!
//! The preconditioner is the sum of two inverses. The first inverts E ↦ E (g∘T), the part of H that
//! accounts for components that cancel each other. The second inverts H in the coordinates A⁻¹E as
//! if the columns of A were orthogonal: it consists of one 2×2 block \[\[T_bb, T_ab\], \[T_ab,
//! T_aa\]\] per pair, which is nearly singular if the two components are hard to separate.

use super::column_norms;
use crate::backend::{Fit, Statistics};
use crate::linalg::{self, Matrix, Scalar};

/// Largest norm of the second-order term of a step, as a fraction of the step, for which it is
/// included.
const MAX_CORRECTION: f64 = 0.5;

/// Smallest determinant of a 2×2 block of the preconditioner, as a fraction of the product of its
/// diagonal.
const MIN_DETERMINANT: f64 = 1e-4;
/// Relative shift of the diagonal of g∘T that keeps it numerically positive definite.
const SHIFT: f64 = 1e-12;

/// The Gauss–Newton model at a point.
pub(crate) struct Model<'a, T = f64> {
    fit: &'a Fit<T>,
    pub a: Matrix<T>,
    /// A⁻¹.
    b: Matrix<T>,
    /// T.
    moments: &'a Matrix,
    /// g∘T.
    weighted: Matrix<T>,
    /// The gradient with respect to A.
    pub gradient: Matrix<T>,
    /// T_aa, or the largest T_aa for a component of negligible energy.
    pub energies: Vec<f64>,
}

impl<'a, T: Scalar> Model<'a, T> {
    /// Returns the model at B, with the fit and the statistics at B.
    pub fn new(b: &Matrix<T>, fit: &'a Fit<T>, statistics: &'a Statistics<T>) -> Self {
        let p = b.rows();
        let moments = &statistics.gamma;
        let a = fit.components.adjoint();
        // Under B ← (I + E)B, A changes by −A E: the gradient with respect to A is −Bᴴ G.
        let mut gradient = linalg::product(&b.adjoint(), &statistics.gradient);
        gradient.as_mut_slice().iter_mut().for_each(|x| *x = -*x);
        project(&a, &mut gradient);
        let largest = (0..p).fold(f64::MIN_POSITIVE, |largest, k| largest.max(moments[(k, k)]));
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
            b: b.clone(),
        }
    }

    /// Returns the Gauss–Newton product H E, without damping.
    pub fn product(&self, e: &Matrix<T>) -> Matrix<T> {
        let p = e.rows();
        let (g, t) = (&self.fit.gram, self.moments);
        let u = linalg::product(&self.fit.components, e);
        let pairs = g.as_slice().iter().zip(u.as_slice());
        let inner = pairs.map(|(g, u)| (g.conj() * *u).real()).collect();
        let inner = self.fit.solve(&Matrix::from_rows(p, p, inner));
        let inner = linalg::product(&inner, t);
        // U becomes Uᴴ∘T − 2 g∘(K⁻¹ Re(ḡ∘U) T).
        let mut u = u.adjoint();
        let others = t.as_slice().iter().zip(g.as_slice()).zip(inner.as_slice());
        for (u, ((t, g), inner)) in u.as_mut_slice().iter_mut().zip(others) {
            *u = *u * *t - *g * (2.0 * inner);
        }
        let mut product = linalg::product(e, &self.weighted);
        let rest = linalg::product(&self.a, &u);
        linalg::add_multiple(product.as_mut_slice(), 1.0, rest.as_slice());
        project(&self.a, &mut product);
        product
    }

    /// Returns the damping term ½ μ Σ_a T_aa ‖E_a‖² of the model.
    pub fn damping_energy(&self, damping: f64, e: &Matrix<T>) -> f64 {
        let columns = column_norms(e);
        let energies = columns.iter().zip(&self.energies);
        0.5 * damping * energies.map(|(x, energy)| x * x * energy).sum::<f64>()
    }

    /// Returns A (I + ε + ½ε²) with ε = A⁻¹E, which is A exp(ε) to second order, or A + E if the
    /// second-order term is too large.
    ///
    /// Steps that involve components that are hard to separate are rotations of these components.
    /// With A + E such rotations would change the fit to second order, and would have to be short.
    pub fn moved(&self, e: &Matrix<T>) -> Matrix<T> {
        let mut a = self.a.clone();
        linalg::add_multiple(a.as_mut_slice(), 1.0, e.as_slice());
        let correction = linalg::product(e, &linalg::product(&self.b, e));
        if 0.5 * correction.norm() <= MAX_CORRECTION * e.norm() {
            linalg::add_multiple(a.as_mut_slice(), 0.5, correction.as_slice());
        }
        a
    }
}

/// An approximate inverse of H + μ T.
pub(crate) struct Preconditioner<T> {
    /// A.
    a: Matrix<T>,
    /// Aᴴ.
    components: Matrix<T>,
    /// (g∘T + μ T)⁻¹.
    inverse: Matrix<T>,
    /// Coefficient of R_ab in E_ab in the inverse blocks.
    own: Matrix,
    /// Coefficient of conj R_ba in E_ab in the inverse blocks.
    other: Matrix,
}

impl<T: Scalar> Preconditioner<T> {
    pub fn new(model: &Model<'_, T>, damping: f64) -> Self {
        let (t, p) = (model.moments, model.a.rows());
        let energy = |k: usize| model.energies[k] * (1.0 + damping);
        let inverse_determinant = |a: usize, b: usize| {
            let diagonal = energy(a) * energy(b);
            1.0 / (diagonal - t[(a, b)].powi(2)).max(MIN_DETERMINANT * diagonal)
        };
        let off_diagonal = |entry: &dyn Fn(usize, usize) -> f64| {
            Matrix::from_fn(p, p, |a, b| if a == b { 0.0 } else { entry(a, b) })
        };
        let mut shifted = model.weighted.clone();
        for k in 0..p {
            shifted[(k, k)] = T::from_real(energy(k) * (1.0 + SHIFT));
        }
        let inverse = match linalg::cholesky(&shifted) {
            Some(factor) => {
                let inverse = linalg::lower_inverse(&factor);
                linalg::product(&inverse.adjoint(), &inverse)
            }
            None => Matrix::from_fn(p, p, |a, b| {
                T::from_real(if a == b { 1.0 / energy(a) } else { 0.0 })
            }),
        };
        Self {
            own: off_diagonal(&|a, b| energy(a) * inverse_determinant(a, b)),
            other: off_diagonal(&|a, b| -t[(a, b)] * inverse_determinant(a, b)),
            inverse,
            a: model.a.clone(),
            components: model.fit.components.clone(),
        }
    }

    /// Applies the preconditioner.
    pub fn solve(&self, r: &Matrix<T>) -> Matrix<T> {
        let mut z = linalg::product(r, &self.inverse);
        let inner = linalg::product(&self.components, r);
        let pairs = Matrix::from_fn(r.rows(), r.columns(), |a, b| {
            inner[(a, b)] * self.own[(a, b)] + inner[(b, a)].conj() * self.other[(a, b)]
        });
        let pairs = linalg::product(&self.a, &pairs);
        linalg::add_multiple(z.as_mut_slice(), 1.0, pairs.as_slice());
        project(&self.a, &mut z);
        z
    }
}

/// Makes each column of X orthogonal to the same column of A.
pub(crate) fn project<T: Scalar>(a: &Matrix<T>, x: &mut Matrix<T>) {
    let p = a.rows();
    let mut dots = vec![T::ZERO; p];
    for k in 0..p {
        let numbers = a.row(k).iter().zip(x.row(k));
        dots.iter_mut()
            .zip(numbers)
            .for_each(|(dot, (a, x))| *dot += a.conj() * *x);
    }
    for k in 0..p {
        let numbers = x.row_mut(k).iter_mut().zip(a.row(k));
        numbers.zip(&dots).for_each(|((x, a), dot)| *x -= *dot * *a);
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::super::diagonalizer;
    use super::*;
    use crate::backend::{Backend, Change, InMemory, Request, Sums};
    use crate::linalg::c64;
    use crate::objective::Point;
    use crate::{Criterion, MatrixSet, SetOptions, Settings, synthetic};

    fn working<T: Scalar>(n: usize, p: usize, sigma: f64, seed: u64) -> (InMemory<T>, Matrix<T>) {
        let (data, mixing) = synthetic::mixed_of(n, p, sigma, seed);
        let options = SetOptions::default().criterion(Criterion::LeastSquares);
        let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
        (InMemory::new(&set), diagonalizer(&mixing).unwrap())
    }

    /// Returns the gradient with respect to A at B.
    fn gradient<T: Scalar>(set: &mut InMemory<T>, b: &Matrix<T>) -> Matrix<T> {
        Model::new(b, &Fit::at(b), &at(set, b).statistics).gradient
    }

    fn at<T: Scalar>(set: &mut InMemory<T>, b: &Matrix<T>) -> Point<T> {
        Point::at(
            set,
            &Settings::default(),
            b.clone(),
            &mut Sums::default(),
            false,
        )
        .unwrap()
    }

    /// Returns a direction that does not change the norms of the columns.
    fn direction<T: Scalar>(a: &Matrix<T>) -> Matrix<T> {
        let p = a.rows();
        let part = |k: usize, c: usize| ((k * 7 + c * 3) % 5) as f64 - 2.0;
        let mut e = Matrix::from_fn(p, p, |k, c| T::from_parts(part(k, c), part(c, k + 1)));
        project(a, &mut e);
        e
    }

    /// Returns A + tE.
    fn moved<T: Scalar>(a: &Matrix<T>, t: f64, e: &Matrix<T>) -> Matrix<T> {
        let mut a = a.clone();
        linalg::add_multiple(a.as_mut_slice(), t, e.as_slice());
        a
    }

    /// Asserts that a Hessian product equals the finite difference of the gradient along E.
    fn check_product<T: Scalar>(
        set: &mut InMemory<T>,
        a: &Matrix<T>,
        e: &Matrix<T>,
        product: &Matrix<T>,
    ) {
        let h = 1e-5;
        let ahead = gradient(set, &linalg::inverse(&moved(a, h, e)));
        let behind = gradient(set, &linalg::inverse(&moved(a, -h, e)));
        for k in 0..product.as_slice().len() {
            let difference = (ahead.as_slice()[k] - behind.as_slice()[k]) / (2.0 * h);
            let expected = product.as_slice()[k];
            let error = (difference - expected).abs();
            assert!(error < 1e-6 * product.norm(), "{difference} {expected}");
        }
    }

    fn assert_gradient_is_the_derivative<T: Scalar>() {
        let (mut set, b) = working::<T>(12, 5, 1.0, 3);
        let a = linalg::inverse(&b);
        let e = direction(&a);
        let unit = 4.0 / set.summary().constant;
        let mut loss = |t: f64| {
            let b = linalg::inverse(&moved(&a, t, &e));
            at(&mut set, &b).loss
        };
        let h = 1e-5;
        let difference = (loss(h) - loss(-h)) / (2.0 * h);
        let slope = unit * gradient(&mut set, &b).dot(&e);
        assert!((difference - slope).abs() < 1e-8, "{difference} {slope}");
    }

    #[test]
    fn gradient_agrees_with_finite_differences_of_the_loss() {
        assert_gradient_is_the_derivative::<f64>();
        assert_gradient_is_the_derivative::<c64>();
    }

    fn assert_gauss_newton_product_is_exact<T: Scalar>() {
        let (mut set, b) = working::<T>(12, 5, 0.0, 4);
        let point = at(&mut set, &b);
        let fit = Fit::at(&b);
        let model = Model::new(&b, &fit, &point.statistics);
        let e = direction(&model.a);
        check_product(&mut set, &model.a, &e, &model.product(&e));
    }

    #[test]
    fn gauss_newton_product_agrees_with_finite_differences_for_exact_fits() {
        assert_gauss_newton_product_is_exact::<f64>();
        assert_gauss_newton_product_is_exact::<c64>();
    }

    fn assert_exact_product_on_noisy_fit<T: Scalar>() {
        let (mut set, b) = working::<T>(12, 5, 2.0, 4);
        let a = linalg::inverse(&b);
        let e = direction(&a);
        let fit = Fit::at(&b);
        let moments = at(&mut set, &b).statistics.gamma;
        let (mut weighted, mut response) = (Sums::default(), Sums::default());
        let request = Request::Weighted { b: b.clone() };
        set.evaluate(&request, &mut weighted).unwrap();
        let request = Request::HessianProduct { b, e: e.clone() };
        set.evaluate(&request, &mut response).unwrap();
        let (change, rows) = (Change::new(&fit, &e), &mut weighted.hessian);
        let product = fit.hessian_product(&change, &moments, rows, &response.moments);
        check_product(&mut set, &a, &e, &product);
    }

    #[test]
    fn exact_product_agrees_with_finite_differences_for_noisy_fits() {
        assert_exact_product_on_noisy_fit::<f64>();
        assert_exact_product_on_noisy_fit::<c64>();
    }

    #[test]
    fn gauss_newton_form_is_half_of_the_linearized_residual() {
        // ⟨E, H E⟩ = ½ min over δ of Σ_i w_i ‖E Λⁱ Aᴴ + A Λⁱ Eᴴ + A δⁱ Aᴴ‖².
        let (n, p) = (7, 4);
        let (data, mixing) = synthetic::mixed_complex(n, p, 1.0, 5);
        let options = SetOptions::default().criterion(Criterion::LeastSquares);
        let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
        let b = diagonalizer(&mixing).unwrap();
        let point = at(&mut InMemory::new(&set), &b);
        let fit = Fit::at(&b);
        let model = Model::new(&b, &fit, &point.statistics);
        let (a, e) = (&model.a, direction(&model.a));
        let columns = &fit.components;
        let mut expected = 0.0;
        for i in 0..n {
            let diagonal = |m: &Matrix<c64>| {
                let inner = linalg::product(&linalg::product(columns, m), a);
                let dots = Matrix::from_fn(p, 1, |k, _| inner[(k, k)].re);
                let best = fit.solve(&dots).into_vec();
                let best: Vec<c64> = best.into_iter().map(c64::from).collect();
                Matrix::diagonal(&best)
            };
            let lambda = diagonal(&set.matrix(i));
            let half = linalg::product_adjoint(&linalg::product(&e, &lambda), a);
            let change = Matrix::from_fn(p, p, |k, l| half[(k, l)] + half[(l, k)].conj());
            let fitted = linalg::product(a, &diagonal(&change));
            let fitted = linalg::product_adjoint(&fitted, a);
            let rest = Matrix::from_fn(p, p, |k, l| change[(k, l)] - fitted[(k, l)]);
            expected += 0.5 * rest.dot(&rest) / n as f64;
        }
        let form = e.dot(&model.product(&e));
        assert!(
            (form - expected).abs() < 1e-10 * expected,
            "{form} {expected}"
        );
    }
}
