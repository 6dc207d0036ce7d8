//! The Gauss–Newton direction of the fit, its diagonals eliminated, by conjugate gradients.
//!
//! With A ← A + E and U = AᴴE, the model of a quarter of what the fit leaves has the product
//!
//! ```text
//! H E = E (g∘T) + A [Uᴴ∘T − 2 g∘(K⁻¹ Re(ḡ∘U) T)],   g = AᴴA
//! ```
//!
//! which is O(p³), whatever n is. E is orthogonal to A column by column, since a change of a column's
//! length (if complex, its phase too) changes nothing. Damped by μ T_aa on column a, as by Levenberg and Marquardt.
//!
//! The preconditioner is the sum of two inverses. The first is that of E ↦ E (g∘T), the part of H that sees components
//! that cancel each other. The second is that of H in the coordinates A⁻¹E as if the columns of A were orthogonal: one
//! 2×2 block \[\[T_bb, T_ab\], \[T_ab, T_aa\]\] for each pair, which sees components that can hardly be separated.

use super::column_norms;
use crate::backend::{Fit, Statistics};
use crate::linalg::{self, Matrix, Scalar};

/// The second-order term of a step is left out where it is longer than this fraction of the step.
const LONGEST_CORRECTION: f64 = 0.5;

/// The determinants of the preconditioner's 2×2 blocks are at least this fraction of the product of their diagonals.
const SMALLEST_DETERMINANT: f64 = 1e-4;
/// What is added to the diagonal of g∘T, relative to T, so that rounding leaves it positive definite.
const SHIFT: f64 = 1e-12;

/// The Gauss–Newton model at one A.
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
    /// T_aa, or, for a component that the fit does not use, the largest of them.
    pub energies: Vec<f64>,
}

impl<'a, T: Scalar> Model<'a, T> {
    /// The model at B, with the statistics there.
    pub fn new(b: &Matrix<T>, fit: &'a Fit<T>, statistics: &'a Statistics<T>) -> Self {
        let p = b.rows();
        let moments = &statistics.gamma;
        let a = fit.components.adjoint();
        // Under B ← (I + E)B, A changes by −A E: the gradient with respect to A is −Bᴴ G.
        let mut gradient = linalg::product(&b.adjoint(), &statistics.gradient);
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
            b: b.clone(),
        }
    }

    /// H E of the Gauss–Newton model, not damped.
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

    /// The damping μ T_aa of the columns of E, as ½⟨E, μ T E⟩.
    pub fn damping_energy(&self, damping: f64, e: &Matrix<T>) -> f64 {
        let columns = column_norms(e);
        let energies = columns.iter().zip(&self.energies);
        0.5 * damping * energies.map(|(x, energy)| x * x * energy).sum::<f64>()
    }

    /// A (I + ε + ½ε²) with ε = A⁻¹E, the step along exp(ε), or A + E where the last term is too long to be a correction.
    ///
    /// Steps among components that can hardly be separated are rotations of these: with A + E they would change
    /// the fit by terms of second order, and had to be short.
    pub fn moved(&self, e: &Matrix<T>) -> Matrix<T> {
        let mut a = self.a.clone();
        linalg::add_multiple(a.as_mut_slice(), 1.0, e.as_slice());
        let bend = linalg::product(e, &linalg::product(&self.b, e));
        if 0.5 * bend.norm() <= LONGEST_CORRECTION * e.norm() {
            linalg::add_multiple(a.as_mut_slice(), 0.5, bend.as_slice());
        }
        a
    }
}

/// An approximate inverse of H + μ T.
pub(crate) struct Preconditioner<T> {
    /// A, and Aᴴ.
    a: Matrix<T>,
    components: Matrix<T>,
    /// (g∘T + μ T)⁻¹.
    inverse: Matrix<T>,
    /// Entry (a, b) of the inverse blocks: the factor of R_ab, and that of the conjugate of R_ba, in E_ab.
    own: Matrix,
    other: Matrix,
}

impl<T: Scalar> Preconditioner<T> {
    pub fn new(model: &Model<'_, T>, damping: f64) -> Self {
        let (t, p) = (model.moments, model.a.rows());
        let energy = |k: usize| model.energies[k] * (1.0 + damping);
        let inverse_determinant = |a: usize, b: usize| {
            let diagonal = energy(a) * energy(b);
            1.0 / (diagonal - t[(a, b)].powi(2)).max(SMALLEST_DETERMINANT * diagonal)
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

/// Subtracts from each column its component along the column of A.
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

    /// The gradient with respect to A at a point, and a direction that leaves the norms of columns.
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

    fn direction<T: Scalar>(a: &Matrix<T>) -> Matrix<T> {
        let p = a.rows();
        let part = |k: usize, c: usize| ((k * 7 + c * 3) % 5) as f64 - 2.0;
        let mut e = Matrix::from_fn(p, p, |k, c| T::from_parts(part(k, c), part(c, k + 1)));
        project(a, &mut e);
        e
    }

    /// A + tE.
    fn moved<T: Scalar>(a: &Matrix<T>, t: f64, e: &Matrix<T>) -> Matrix<T> {
        let mut a = a.clone();
        linalg::add_multiple(a.as_mut_slice(), t, e.as_slice());
        a
    }

    /// That a product is how the gradient changes along E.
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

    fn the_gradient_is_the_derivative<T: Scalar>() {
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
    fn the_gradient_is_the_derivative_with_respect_to_a() {
        the_gradient_is_the_derivative::<f64>();
        the_gradient_is_the_derivative::<c64>();
    }

    fn exact_fits_have_the_gauss_newton_product<T: Scalar>() {
        let (mut set, b) = working::<T>(12, 5, 0.0, 4);
        let here = at(&mut set, &b);
        let fit = Fit::at(&b);
        let model = Model::new(&b, &fit, &here.statistics);
        let e = direction(&model.a);
        check_product(&mut set, &model.a, &e, &model.product(&e));
    }

    #[test]
    fn the_product_is_the_derivative_of_the_gradient_where_the_fit_is_exact() {
        exact_fits_have_the_gauss_newton_product::<f64>();
        exact_fits_have_the_gauss_newton_product::<c64>();
    }

    fn noisy_fits_have_the_exact_product<T: Scalar>() {
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
    fn the_exact_product_is_the_derivative_of_the_gradient_on_noisy_sets_too() {
        noisy_fits_have_the_exact_product::<f64>();
        noisy_fits_have_the_exact_product::<c64>();
    }

    #[test]
    fn the_form_is_half_of_what_the_best_diagonals_leave() {
        // ⟨E, H E⟩ = ½ min over δ of Σ_i w_i ‖E Λⁱ Aᴴ + A Λⁱ Eᴴ + A δⁱ Aᴴ‖², on noisy sets too.
        let (n, p) = (7, 4);
        let (data, mixing) = synthetic::mixed_complex(n, p, 1.0, 5);
        let options = SetOptions::default().criterion(Criterion::LeastSquares);
        let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
        let b = diagonalizer(&mixing).unwrap();
        let here = at(&mut InMemory::new(&set), &b);
        let fit = Fit::at(&b);
        let model = Model::new(&b, &fit, &here.statistics);
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
