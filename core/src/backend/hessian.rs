//! Gradient, Γ and the exact Hessian, computed from sums over a set.
//!
//! With the relative update B ← (I + E)B and Dⁱ = B Cⁱ Bᴴ,
//!
//! - the gradient is G_ab = Σ_i w_i Dⁱ_ab / Dⁱ_aa − δ_ab (its diagonal is zero),
//! - the approximate Hessian consists of Γ_ab = Σ_i w_i Dⁱ_bb / Dⁱ_aa,
//! - the Hessian is H_abcd = δ_ac M^a_bd + δ_ad δ_bc with
//!   M^a = Σ_i w_i [ Dⁱ / Dⁱ_aa − 2 dⁱ_a dⁱ_aᵀ / (Dⁱ_aa)² ], dⁱ_a being row a of Dⁱ. For complex
//!   sets it is real-linear:
//!   (H E)_a = Σ_i w_i [ e_a Dⁱ / Dⁱ_aa − 2 Re⟨dⁱ_a, e_a⟩ dⁱ_a / (Dⁱ_aa)² ] + (Eᴴ)_a,
//!   and M^a acts on the real and imaginary parts of e_a side by side.

use bytemuck::{cast_slice, cast_slice_mut};

use crate::data::Criterion;
use crate::linalg::kernels::{self, LANES, MomentSums, Real};
use crate::linalg::{AlignedBuffer, F32Buffer, Matrix, Scalar, Triangle};
use crate::threads::Workers;

/// Gradient and Γ at a point.
#[derive(Clone, Debug)]
pub struct Statistics<T = f64> {
    /// G. For the likelihood and for least squares its diagonal is zero.
    pub gradient: Matrix<T>,
    /// Γ.
    pub gamma: Matrix,
}

impl<T: Scalar> Statistics<T> {
    /// Computes gradient and Γ from moments, for the likelihood and the Frobenius criterion. The
    /// diagonal of the gradient, Σ_i u_ia Dⁱ_aa − δ_aa, is zero for the likelihood. For rotations
    /// it affects only the curvature.
    pub(crate) fn new(criterion: Criterion, moments: &MomentSums<T>) -> Self {
        let MomentSums { gradient, gamma } = moments.clone();
        let mut statistics = Self { gradient, gamma };
        if criterion == Criterion::Frobenius {
            let Self { gradient, gamma } = &mut statistics;
            (0..gamma.rows()).for_each(|a| gradient[(a, a)] = T::from_real(gamma[(a, a)]));
        }
        statistics
    }

    /// Returns ĝ = ‖G‖_F / √p. If all mean powers are 1, it depends neither on units nor on n.
    pub fn gradient_norm(&self) -> f64 {
        self.gradient.norm() / (self.gradient.rows() as f64).sqrt()
    }

    /// Returns the antisymmetric (antihermitian if complex) matrix G − Gᴴ, the gradient over
    /// rotations.
    pub fn rotation_gradient(&self) -> Matrix<T> {
        let g = &self.gradient;
        Matrix::from_fn(g.rows(), g.rows(), |a, b| g[(a, b)] - g[(b, a)].conj())
    }
}

/// Row blocks of a Hessian: p interleaved symmetric matrices, in double or single precision.
#[derive(Clone, Debug, Default)]
pub(crate) struct HessianRows {
    double: AlignedBuffer,
    /// Row blocks in single precision, for a set in single precision.
    single: F32Buffer,
    is_single: bool,
    /// Operand and result of a product, in the layout and precision of the row blocks.
    operand: AlignedBuffer,
    result: AlignedBuffer,
    workers: Workers,
}

/// A precision in which row blocks are stored.
pub(crate) trait RowPrecision: Real {
    /// Allocates `len` numbers for the caller to overwrite.
    fn rows_mut(rows: &mut HessianRows, len: usize) -> &mut [Self];
    /// Returns the row blocks of this precision.
    fn rows<'a>(double: &'a [f64], single: &'a F32Buffer) -> &'a [Self];
    /// Returns the numbers if they are in double precision.
    fn as_double(numbers: &[Self]) -> Option<&[f64]>;
}

impl RowPrecision for f64 {
    fn rows_mut(rows: &mut HessianRows, len: usize) -> &mut [f64] {
        rows.is_single = false;
        if rows.double.len() != len {
            rows.double = AlignedBuffer::of_len(len);
        }
        &mut rows.double
    }

    fn rows<'a>(double: &'a [f64], _: &'a F32Buffer) -> &'a [f64] {
        double
    }

    fn as_double(numbers: &[f64]) -> Option<&[f64]> {
        Some(numbers)
    }
}

impl RowPrecision for f32 {
    fn rows_mut(rows: &mut HessianRows, len: usize) -> &mut [f32] {
        rows.is_single = true;
        if rows.single.len() != len {
            rows.single = F32Buffer::of_len(len);
        }
        &mut rows.single
    }

    fn rows<'a>(_: &'a [f64], single: &'a F32Buffer) -> &'a [f32] {
        single
    }

    fn as_double(_: &[f32]) -> Option<&[f64]> {
        None
    }
}

impl HessianRows {
    /// Allocates the row blocks of p×p matrices for the caller to overwrite.
    pub fn unwritten<T: Scalar, R: RowPrecision>(&mut self, p: usize) -> &mut [R] {
        R::rows_mut(self, kernels::hessian_len_in::<R>(p, T::PLANES))
    }

    /// Sets the row blocks to zeros in double precision.
    pub fn begin<T: Scalar>(&mut self, p: usize) {
        self.unwritten::<T, f64>(p).fill(0.0);
    }

    /// Sets the threads that compute products.
    pub fn set_workers(&mut self, workers: &Workers) {
        self.workers = workers.clone();
    }

    /// Returns the row blocks in double precision.
    pub fn double(&self) -> &[f64] {
        assert!(!self.is_single, "row blocks in double precision");
        &self.double
    }

    /// Returns the row blocks in double precision, mutably.
    pub fn double_mut(&mut self) -> &mut [f64] {
        assert!(!self.is_single, "row blocks in double precision");
        &mut self.double
    }

    pub fn add_multiple(&mut self, factor: f64, other: &Self) {
        crate::linalg::add_multiple(self.double_mut(), factor, other.double());
    }

    /// Returns the product of the row blocks with the rows of E: (M^a e_a)_a.
    pub fn product<T: Scalar>(&mut self, e: &Matrix<T>) -> Matrix<T> {
        let p = e.rows();
        assert_eq!(e.columns(), p, "E is a square matrix");
        let adjoint = e.adjoint();
        let product = if self.is_single {
            self.product_in::<T, f32, { f32::LANES }>(&adjoint)
        } else {
            self.product_in::<T, f64, LANES>(&adjoint)
        };
        product.adjoint()
    }

    /// Returns the adjoint of the product, from the adjoint of E, whose rows have the layout of the
    /// row blocks.
    fn product_in<T: Scalar, N: RowPrecision, const L: usize>(
        &mut self,
        adjoint: &Matrix<T>,
    ) -> Matrix<T> {
        let p = adjoint.rows();
        let doubles = p.next_multiple_of(L) * T::PLANES * p * size_of::<N>() / size_of::<f64>();
        if self.operand.len() != doubles {
            (self.operand, self.result) =
                (AlignedBuffer::zeros(doubles), AlignedBuffer::zeros(doubles));
        }
        let (operand, _) = cast_slice_mut::<f64, N>(&mut self.operand).as_chunks_mut::<L>();
        kernels::dispatch(
            #[inline(always)]
            || {
                let panels = operand.chunks_exact_mut(T::PLANES * p);
                for (group, panel) in panels.enumerate() {
                    columns_to_panel(adjoint, group * L, panel);
                }
            },
        );
        let rows = N::rows(&self.double, &self.single);
        let operand = cast_slice(&self.operand);
        let result = cast_slice_mut(&mut self.result);
        multiply(T::PLANES * p, rows, operand, result, &self.workers);
        let mut product = Matrix::zeros(p, p);
        let (result, _) = cast_slice::<f64, N>(&self.result).as_chunks::<L>();
        kernels::dispatch(
            #[inline(always)]
            || {
                let panels = result.chunks_exact(T::PLANES * p);
                for (group, panel) in panels.enumerate() {
                    panel_to_columns(panel, &mut product, group * L);
                }
            },
        );
        product
    }
}

/// The exact Hessian, stored as p row blocks M^a of size p, or 2p if the matrices are complex.
///
/// ```
/// use codiag::{Evaluation, Hessian, Matrix, synthetic};
/// let set = synthetic::noisy(30, 4, 0.1, 0);
/// let b = Matrix::identity(4);
/// let gradient = Evaluation::at(&set, &b)?.gradient;
/// // The curvature of the loss along its gradient.
/// let product = Hessian::at(&set, &b)?.product(&gradient);
/// let curvature = gradient.dot(&product) / gradient.dot(&gradient);
/// assert!(curvature.is_finite());
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hessian<T = f64> {
    criterion: Criterion,
    p: usize,
    rows: HessianRows,
    scalar: std::marker::PhantomData<T>,
}

impl<T: Scalar> Hessian<T> {
    /// Creates a Hessian from summed row blocks.
    pub(crate) fn new(criterion: Criterion, p: usize, rows: HessianRows) -> Self {
        Self {
            criterion,
            p,
            rows,
            scalar: std::marker::PhantomData,
        }
    }

    /// Returns the memory of the row blocks of p×p matrices in bytes.
    pub(crate) fn bytes(p: usize) -> usize {
        8 * kernels::hessian_len(p, T::PLANES)
    }

    /// Returns H·E = (rows M^a e_a) + Eᴴ with a zero diagonal, because diagonal entries of E only
    /// change scale and phase. The term Eᴴ is present for the likelihood only.
    ///
    /// # Panics
    /// If E is not p×p.
    pub fn product(&mut self, e: &Matrix<T>) -> Matrix<T> {
        assert_eq!(e.rows(), self.p, "E must be {0} x {0}", self.p);
        let mut product = self.rows.product(e);
        add_determinant(self.criterion, &mut product, e);
        product
    }

    /// Returns entry (b, c) of M^a. If the matrices are complex, indices from p on are imaginary
    /// parts.
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn entry(&self, a: usize, b: usize, c: usize) -> f64 {
        row_entry::<T>(self.rows.double(), self.p, a, b, c)
    }
}

/// Returns entry (b, c) of row block a.
pub(crate) fn row_entry<T: Scalar>(rows: &[f64], p: usize, a: usize, b: usize, c: usize) -> f64 {
    let triangle = Triangle::new(T::PLANES * p);
    assert!(
        a < p && b.max(c) < triangle.size(),
        "no entry ({b}, {c}) of row block {a} of {p}"
    );
    rows[(a / LANES * triangle.len() + triangle.index(b, c)) * LANES + a % LANES]
}

/// Adds the term of the determinant to the product of the Hessian with E, and sets the diagonal to
/// zero, because the scale of the rows is fixed.
pub(crate) fn add_determinant<T: Scalar>(
    criterion: Criterion,
    product: &mut Matrix<T>,
    e: &Matrix<T>,
) {
    if criterion == Criterion::Likelihood {
        e.add_adjoint(product);
    }
    (0..e.rows()).for_each(|a| product[(a, a)] = T::ZERO);
}

/// Multiplies all row blocks with E, on several threads if that is worthwhile.
fn multiply<N: Real>(size: usize, rows: &[N], e: &[N], out: &mut [N], workers: &Workers) {
    // The product is limited by memory bandwidth: each number is used for two multiply-adds only.
    let workers = workers.if_worthwhile(4 * rows.len());
    if matches!(workers, Workers::One) {
        kernels::hessian_times(size, rows, e, out);
        return;
    }
    let (block, panel) = (Triangle::new(size).len() * N::LANES, size * N::LANES);
    let panels = e.chunks_exact(panel).zip(out.chunks_exact_mut(panel));
    let mut groups: Vec<_> = rows.chunks_exact(block).zip(panels).collect();
    workers.each(&mut groups, |(rows, (e, out))| {
        kernels::hessian_times(size, rows, e, out);
    });
}

/// Copies up to L columns of an adjoint to a panel in the layout of the row blocks: first the real
/// parts of the original matrix, then its imaginary parts.
#[inline(always)]
fn columns_to_panel<T: Scalar, N: Real, const L: usize>(
    adjoint: &Matrix<T>,
    from: usize,
    panel: &mut [[N; L]],
) {
    let p = adjoint.rows();
    let (real, imaginary) = panel.split_at_mut(p);
    for (b, place) in real.iter_mut().enumerate() {
        let numbers = place.iter_mut().zip(&adjoint.row(b)[from..]);
        numbers.for_each(|(place, x)| *place = N::rounded(x.real()));
    }
    for (b, place) in imaginary.iter_mut().enumerate() {
        let numbers = place.iter_mut().zip(&adjoint.row(b)[from..]);
        numbers.for_each(|(place, x)| *place = N::rounded(-x.imaginary()));
    }
}

#[inline(always)]
fn panel_to_columns<T: Scalar, N: Real, const L: usize>(
    panel: &[[N; L]],
    adjoint: &mut Matrix<T>,
    from: usize,
) {
    let p = adjoint.rows();
    for b in 0..p {
        let row = &mut adjoint.row_mut(b)[from..];
        if T::PLANES == 1 {
            let places = row.iter_mut().zip(&panel[b]);
            places.for_each(|(place, x)| *place = T::from_parts(x.widened(), 0.0));
        } else {
            let parts = panel[b].iter().zip(&panel[p + b]);
            let places = row.iter_mut().zip(parts);
            places.for_each(|(place, (x, y))| *place = T::from_parts(x.widened(), -y.widened()));
        }
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::backend::{Backend, InMemory, Request, Sums};
    use crate::linalg;
    use crate::{Evaluation, MatrixSet, synthetic};

    /// Returns a set, a B that is not its diagonalizer, and two directions.
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
        // Mixed second difference of L(I + sE + tF) in s and t.
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
    fn products_with_row_blocks_and_by_data_passes_agree() {
        for p in [1, 3, 4, 5, 8, 9, 20] {
            let set = synthetic::noisy(15, p, 0.5, 7);
            let e = Matrix::from_fn(p, p, |a, b| ((7 * a + 3 * b) % 5) as f64 - 2.0);
            let b = Matrix::identity(p);
            let rows = Hessian::at(&set, &b).unwrap().product(&e);
            let (mut backend, mut sums) = (InMemory::new(&set), Sums::default());
            let request = Request::HessianProduct { b, e: e.clone() };
            backend.evaluate(&request, &mut sums).unwrap();
            let mut by_pass = sums.moments.gradient;
            add_determinant(Criterion::Likelihood, &mut by_pass, &e);
            for (x, y) in rows.as_slice().iter().zip(by_pass.as_slice()) {
                assert!((x - y).abs() < 1e-12 * (1.0 + x.abs()), "p {p}: {x} {y}");
            }
        }
    }

    #[test]
    fn hessian_is_gamma_if_all_matrices_are_diagonal() {
        let generated = synthetic::Synthetic::new(20, 5, 0.0, 2);
        let set = generated.set().unwrap();
        let b = linalg::inverse(&generated.mixing);
        let evaluation = Evaluation::at(&set, &b).unwrap();
        let hessian = Hessian::at(&set, &b).unwrap();
        assert!(evaluation.loss.abs() < 1e-12 && evaluation.gradient.norm() < 1e-10);
        for a in 0..5 {
            for b in 0..5 {
                if a != b {
                    assert!((hessian.entry(a, b, b) - evaluation.gamma[(a, b)]).abs() < 1e-9);
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
    fn loss_is_invariant_and_gradient_equivariant_to_row_scaling() {
        let (set, b, _, _) = problem();
        let scale = [1e-3, 1.0, 20.0, 0.5, 1e4, 3.0];
        let (original, scaled) = (
            Evaluation::at(&set, &b).unwrap(),
            Evaluation::at(&set, &b.clone().scale_rows(&scale)).unwrap(),
        );
        assert!((original.loss - scaled.loss).abs() < 1e-12);
        for x in 0..6 {
            for y in 0..6 {
                let expected = original.gradient[(x, y)] * scale[y] / scale[x];
                assert!(
                    (scaled.gradient[(x, y)] - expected).abs() < 1e-10 * (1.0 + expected.abs())
                );
            }
        }
    }
}
