//! What one pass over the set yields: gradient, Γ, and on demand the exact Hessian.
//!
//! With the relative update B ← (I + E)B and Dⁱ = B Cⁱ Bᴴ,
//!
//! - the gradient is G_ab = Σ_i w_i Dⁱ_ab / Dⁱ_aa − δ_ab (its diagonal is zero),
//! - the approximate Hessian is made of Γ_ab = Σ_i w_i Dⁱ_bb / Dⁱ_aa,
//! - the Hessian is H_abcd = δ_ac M^a_bd + δ_ad δ_bc with
//!   M^a = Σ_i w_i [ Dⁱ / Dⁱ_aa − 2 dⁱ_a dⁱ_aᵀ / (Dⁱ_aa)² ], dⁱ_a being row a of Dⁱ. For complex sets it is
//!   real-linear: (H E)_a = Σ_i w_i [ e_a Dⁱ / Dⁱ_aa − 2 Re⟨dⁱ_a, e_a⟩ dⁱ_a / (Dⁱ_aa)² ] + (Eᴴ)_a, and M^a
//!   acts on the real and imaginary parts of e_a side by side.

mod product;

use std::marker::PhantomData;

use crate::criterion::Criterion;
use crate::linalg::kernels::{self, LANES};
use crate::linalg::{AlignedBuffer, F32Buffer, Matrix, Scalar, Triangle};
use crate::threads::Workers;

/// Gradient and Γ at the current point.
///
/// ```
/// use codiag::working::{InMemory, WorkingSet};
/// use codiag::{Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(50, 4, 0.1, 0);
/// let answer = diagonalize(&set, &Settings::default())?;
/// let mut working = InMemory::new(&set);
/// working.reset(&answer.b)?;
/// let statistics = working.statistics()?;
/// assert!(statistics.gradient_norm() < 1e-7); // a stationary point
/// assert!((statistics.gamma[(1, 1)] - 1.0).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Statistics<T = f64> {
    /// G, its diagonal zero.
    pub gradient: Matrix<T>,
    /// Γ.
    pub gamma: Matrix,
}

impl<T: Scalar> Statistics<T> {
    /// From the sums over a set. The diagonal of the gradient, Σ_i u_ia Dⁱ_aa − δ_aa, is zero for the
    /// likelihood, and of no use to rotations but for their curvature.
    pub(crate) fn new(criterion: Criterion, mut gradient: Matrix<T>, gamma: Matrix) -> Self {
        if criterion == Criterion::Frobenius {
            (0..gamma.rows()).for_each(|a| gradient[(a, a)] = T::from_real(gamma[(a, a)]));
        }
        Self { gradient, gamma }
    }

    /// ĝ = ‖G‖_F / √p: in the gauge where the mean powers are 1, a measure that depends neither
    /// on units nor on n.
    pub fn gradient_norm(&self) -> f64 {
        self.gradient.norm() / (self.gradient.rows() as f64).sqrt()
    }

    /// The antisymmetric (if complex, antihermitian) part G − Gᴴ, the gradient over rotations.
    pub fn rotation_gradient(&self) -> Matrix<T> {
        let g = &self.gradient;
        Matrix::from_fn(g.rows(), g.rows(), |a, b| g[(a, b)] - g[(b, a)].conj())
    }

    /// The pair of components that is hardest to tell apart, and its margin.
    pub(crate) fn identifiability(&self, criterion: Criterion) -> Option<(f64, (usize, usize))> {
        let p = self.gamma.rows();
        let gamma = &self.gamma;
        (0..p)
            .flat_map(|a| (a + 1..p).map(move |b| (a, b)))
            .map(|(a, b)| (criterion.margin(gamma, a, b), (a, b)))
            .min_by(|x, y| x.0.total_cmp(&y.0))
    }
}

/// The exact Hessian as its p row blocks M^a, of size p, or 2p if the matrices are complex.
///
/// ```
/// use codiag::{Evaluation, Hessian, Matrix, synthetic};
/// let set = synthetic::noisy(30, 4, 0.1, 0);
/// let b = Matrix::identity(4);
/// let gradient = Evaluation::at(&set, &b)?.gradient;
/// // How strongly the loss bends along its gradient.
/// let product = Hessian::at(&set, &b)?.product(&gradient);
/// let curvature = gradient.dot(&product) / gradient.dot(&gradient);
/// assert!(curvature.is_finite());
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hessian<T = f64> {
    criterion: Criterion,
    p: usize,
    rows: AlignedBuffer,
    /// The row blocks in single precision, as a set in single precision has written them.
    single: F32Buffer,
    /// What the numbers in single precision are multiples of: a power of two, so that no scale of the set leaves the
    /// range of single precision.
    single_unit: f64,
    /// Whether the row blocks in single precision are those of the point.
    is_single: bool,
    /// The operands of a product, in the layout of the row blocks and the precision of the sums.
    operand: AlignedBuffer,
    result: AlignedBuffer,
    /// Who works on a product.
    workers: Workers,
    scalar: PhantomData<T>,
}

impl<T: Scalar> Hessian<T> {
    /// Zero, for p×p matrices.
    pub fn zeros(criterion: Criterion, p: usize) -> Self {
        let mut hessian = Self::unset(criterion, p);
        hessian.rows.fill(0.0);
        hessian
    }

    /// Any numbers, to be overwritten.
    pub(crate) fn unset(criterion: Criterion, p: usize) -> Self {
        Self {
            criterion,
            p,
            rows: AlignedBuffer::of_len(kernels::hessian_len(p, T::PLANES)),
            single: F32Buffer::default(),
            single_unit: 1.0,
            is_single: false,
            operand: AlignedBuffer::default(),
            result: AlignedBuffer::default(),
            workers: Workers::One,
            scalar: PhantomData,
        }
    }

    /// Has products computed by these.
    pub(crate) fn work_on(&mut self, workers: &Workers) {
        self.workers = workers.clone();
    }

    /// The row blocks as the numbers in which parts of a set pass them on; the sum of the numbers
    /// of the parts, weighed by their shares, is that of the whole.
    ///
    /// # Panics
    /// If a set that stands in single precision has written it: then there are none.
    pub fn rows(&self) -> &[f64] {
        assert!(!self.is_single, "row blocks in double precision");
        &self.rows
    }

    /// The same, to be written.
    pub fn rows_mut(&mut self) -> &mut [f64] {
        self.is_single = false;
        &mut self.rows
    }

    /// Row blocks in single precision, to be written instead of the others.
    pub(crate) fn single_mut(&mut self) -> &mut [f32] {
        self.is_single = true;
        self.single_unit = 1.0;
        let len = kernels::hessian_len_in::<f32>(self.p, T::PLANES);
        if self.single.len() != len {
            self.single = F32Buffer::of_len(len);
        }
        &mut self.single
    }

    /// Says what the row blocks just written in single precision are multiples of.
    pub(crate) fn set_single_unit(&mut self, unit: f64) {
        self.single_unit = unit;
    }

    /// The size p of the matrices.
    pub(crate) fn size(&self) -> usize {
        self.p
    }

    /// How many bytes the row blocks of p×p matrices take.
    pub(crate) fn bytes(p: usize) -> usize {
        8 * kernels::hessian_len(p, T::PLANES)
    }

    /// The lower triangle of one row block.
    fn triangle(&self) -> Triangle {
        Triangle::new(T::PLANES * self.p)
    }

    /// The lower triangles of M¹ … M^p one after the other, p·p(p+1)/2 numbers (complex, p·p(2p+1)): what
    /// travels.
    pub fn triangles(&self) -> Vec<f64> {
        let len = self.triangle().len();
        let mut numbers = Vec::with_capacity(self.p * len);
        for a in 0..self.p {
            numbers.extend((0..len).map(|entry| self.rows()[self.place(a, entry)]));
        }
        numbers
    }

    /// Takes over the lower triangles of M¹ … M^p.
    ///
    /// # Panics
    /// If there are not as many numbers as [`triangles`](Self::triangles) gives.
    pub fn set_triangles(&mut self, numbers: &[f64]) {
        let len = self.triangle().len();
        assert_eq!(numbers.len(), self.p * len, "one triangle per row block");
        self.is_single = false;
        for (a, triangle) in numbers.chunks_exact(len).enumerate() {
            for (entry, x) in triangle.iter().enumerate() {
                let place = self.place(a, entry);
                self.rows[place] = *x;
            }
        }
    }

    /// Where an entry of the triangle of M^a is.
    fn place(&self, a: usize, entry: usize) -> usize {
        (a / LANES * self.triangle().len() + entry) * LANES + a % LANES
    }

    /// Entry (b, c) of M^a; if the matrices are complex, numbers from p on mean imaginary parts.
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn entry(&self, a: usize, b: usize, c: usize) -> f64 {
        let (p, triangle) = (self.p, self.triangle());
        assert!(
            a < p && b.max(c) < triangle.size(),
            "no entry ({b}, {c}) of row block {a} of {p}"
        );
        self.rows()[self.place(a, triangle.index(b, c))]
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::linalg;
    use crate::matrices::{InMemory, WorkingSet};
    use crate::{Evaluation, MatrixSet, synthetic};

    /// A set, a B that is not its diagonalizer, and two directions.
    fn problem() -> (MatrixSet, Matrix, Matrix, Matrix) {
        let p = 6;
        let set = synthetic::noisy(15, p, 0.5, 7);
        let entry = |k: usize| ((k * 37 + 11) % 23) as f64 / 11.5 - 1.0;
        let off = |scale: f64, seed: usize| {
            Matrix::from_fn(p, p, |a, b| {
                if a == b {
                    0.0
                } else {
                    scale * entry(seed + a * p + b)
                }
            })
        };
        let b = Matrix::from_fn(p, p, |a, c| {
            0.3 * entry(2 + a + 5 * c) + f64::from(u8::from(a == c))
        });
        (set, b, off(1.0, 3), off(1.0, 71))
    }

    fn at(set: &MatrixSet, b: &Matrix, e: &Matrix, h: f64) -> Evaluation {
        let m = Matrix::from_fn(b.rows(), b.rows(), |x, y| {
            h * e[(x, y)] + f64::from(u8::from(x == y))
        });
        Evaluation::at(set, &linalg::product(&m, b)).unwrap()
    }

    #[test]
    fn gradient_is_the_derivative_of_the_loss() {
        let (set, b, e, _) = problem();
        let h = 1e-6;
        let difference = (at(&set, &b, &e, h).loss - at(&set, &b, &e, -h).loss) / (2.0 * h);
        let slope = at(&set, &b, &e, 0.0).gradient.dot(&e);
        assert!((difference - slope).abs() < 1e-8 * slope.abs().max(1.0));
    }

    #[test]
    fn hessian_is_the_second_derivative_of_the_loss() {
        // L(I + sE + tF) differentiated in s and t: four points.
        let (set, b, e, f) = problem();
        let h = 1e-4;
        let loss = |s: f64, t: f64| {
            let m = Matrix::from_fn(6, 6, |x, y| {
                s * e[(x, y)] + t * f[(x, y)] + f64::from(u8::from(x == y))
            });
            Evaluation::at(&set, &linalg::product(&m, &b)).unwrap().loss
        };
        let difference = (loss(h, h) - loss(h, -h) - loss(-h, h) + loss(-h, -h)) / (4.0 * h * h);
        let form = f.dot(&Hessian::at(&set, &b).unwrap().product(&e));
        assert!((difference - form).abs() < 1e-5 * form.abs().max(1.0));
    }

    #[test]
    fn products_by_rows_and_by_passes_agree() {
        // Row blocks of up to eight components have loops of their own.
        for p in [1, 3, 4, 5, 8, 9, 20] {
            let set = synthetic::noisy(15, p, 0.5, 7);
            let e = Matrix::from_fn(p, p, |a, b| ((7 * a + 3 * b) % 5) as f64 - 2.0);
            let mut working = InMemory::new(&set);
            working.reset(&Matrix::identity(p)).unwrap();
            let mut hessian = Hessian::zeros(Criterion::Likelihood, p);
            working.hessian(&mut hessian).unwrap();
            let rows = hessian.product(&e);
            let by_pass = working.hessian_product(&e).unwrap();
            for (x, y) in rows.as_slice().iter().zip(by_pass.as_slice()) {
                assert!((x - y).abs() < 1e-12 * (1.0 + x.abs()), "p {p}: {x} {y}");
            }
        }
    }

    #[test]
    fn triangles_make_the_hessian_anew() {
        let (set, b, e, _) = problem();
        let mut hessian = Hessian::at(&set, &b).unwrap();
        let mut again: Hessian = Hessian::zeros(Criterion::Likelihood, 6);
        again.set_triangles(&hessian.triangles());
        assert_eq!(hessian.triangles().len(), 6 * 21);
        assert_eq!(again.entry(3, 1, 4), hessian.entry(3, 1, 4));
        assert_eq!(again.product(&e), hessian.product(&e));
    }

    #[test]
    fn hessian_is_gamma_where_all_matrices_are_diagonal() {
        let made = synthetic::Synthetic::new(20, 5, 0.0, 2);
        let set = made.set().unwrap();
        let b = linalg::inverse(&made.mixing);
        let here = Evaluation::at(&set, &b).unwrap();
        let hessian = Hessian::at(&set, &b).unwrap();
        assert!(here.loss.abs() < 1e-12 && here.gradient.norm() < 1e-10);
        for a in 0..5 {
            for b in 0..5 {
                if a != b {
                    assert!((hessian.entry(a, b, b) - here.gamma[(a, b)]).abs() < 1e-9);
                }
                for c in 0..5 {
                    if c != b && a != b && a != c {
                        assert!(hessian.entry(a, b, c).abs() < 1e-9);
                    }
                }
            }
        }
    }

    #[test]
    fn loss_is_free_of_the_scale_of_rows_and_the_gradient_scales_with_them() {
        let (set, b, _, _) = problem();
        let scale = [1e-3, 1.0, 20.0, 0.5, 1e4, 3.0];
        let (here, there) = (
            Evaluation::at(&set, &b).unwrap(),
            Evaluation::at(&set, &b.clone().scale_rows(&scale)).unwrap(),
        );
        assert!((here.loss - there.loss).abs() < 1e-12);
        for x in 0..6 {
            for y in 0..6 {
                let expected = here.gradient[(x, y)] * scale[y] / scale[x];
                assert!((there.gradient[(x, y)] - expected).abs() < 1e-10 * (1.0 + expected.abs()));
            }
        }
    }
}
