//! Products with the Hessian: row blocks lie side by side, in groups as wide as vectors are, and so must what they are multiplied with, row by
//! row of its adjoint.

use bytemuck::{cast_slice, cast_slice_mut};

use super::Hessian;
use crate::linalg::kernels::{self, LANES, Real};
use crate::linalg::{AlignedBuffer, Matrix, Scalar, Triangle};
use crate::threads::Workers;

impl<T: Scalar> Hessian<T> {
    /// H·E = (rows M^a e_a) + Eᴴ, off the diagonal; the diagonal is a change of scale and phase.
    ///
    /// # Panics
    /// If E is not p×p.
    pub fn product(&mut self, e: &Matrix<T>) -> Matrix<T> {
        self.adjoint_product(&e.adjoint()).adjoint()
    }

    /// The adjoint of the product with the matrix whose adjoint is given: both have the layout of groups of row blocks.
    pub(crate) fn adjoint_product(&mut self, e: &Matrix<T>) -> Matrix<T> {
        let p = self.p;
        assert_eq!((e.rows(), e.columns()), (p, p), "E must be {p} x {p}");
        let mut product = if self.is_single {
            let product = self.in_groups::<f32, { f32::LANES }>(e, Self::multiply_single);
            product.scaled(self.single_unit)
        } else {
            self.in_groups::<f64, LANES>(e, Self::multiply_rows)
        };
        self.criterion.add_determinant(&mut product, e);
        product
    }

    /// The same without what the determinant adds, by products of `operand` with row blocks in groups of L, whose sums are of the
    /// precision of N.
    fn in_groups<N: Real, const L: usize>(
        &mut self,
        e: &Matrix<T>,
        multiply: fn(&mut Self),
    ) -> Matrix<T> {
        let p = self.p;
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
                    columns_to_panel(e, group * L, panel);
                }
            },
        );
        multiply(self);
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

    /// The product with `operand`.
    fn multiply_rows(&mut self) {
        let (operand, result) = (&self.operand, &mut self.result);
        multiply(
            T::PLANES * self.p,
            &self.rows,
            operand,
            result,
            &self.workers,
        );
    }

    /// The product with `operand` in single precision.
    fn multiply_single(&mut self) {
        let (operand, result) = (cast_slice(&self.operand), cast_slice_mut(&mut self.result));
        let rows = &self.single;
        multiply(T::PLANES * self.p, rows, operand, result, &self.workers);
    }
}

/// Products of all row blocks, a group at a time where several threads pay.
fn multiply<N: Real>(size: usize, rows: &[N], e: &[N], out: &mut [N], workers: &Workers) {
    // Each number is read, from memory if there are many, for two multiply-adds.
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

/// Up to L columns of an adjoint, from one on, as the row blocks are: the real parts of what it is the adjoint of, then the imaginary ones.
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
