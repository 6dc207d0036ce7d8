//! Products with the Hessian: row blocks lie side by side, in groups as wide as vectors are, and so must what they are multiplied with, row by
//! row of its adjoint.

use bytemuck::{cast_slice, cast_slice_mut};

use super::{Current, Hessian, MANY, VERY_MANY};
use crate::criterion::Criterion;
use crate::linalg::kernels::{self, LANES, ReadAs, Real};
use crate::linalg::{self, Matrix, Recycled, Scalar, Triangle, reals, reals_mut};

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
        if self.current == Current::Rows {
            self.single_unit = self.unit_of_copy();
        }
        let mut product = if self.current == Current::Rows && T::PLANES == 1 && p <= LANES {
            self.small_product(e)
        } else if self.current == Current::Rows && self.rows.len() < MANY {
            self.in_groups::<f64, LANES>(e, Self::multiply_rows)
        } else if self.is_short() {
            self.in_groups::<f32, { f32::LANES }>(e, Self::multiply_short)
        } else if self.current == Current::Single {
            // No more digits are known.
            self.in_groups::<f32, { f32::LANES }>(e, Self::multiply_single::<f32>)
        } else {
            self.in_groups::<f64, { f32::LANES }>(e, Self::multiply_single::<f64>)
        };
        if self.current != Current::Rows && self.single_unit != 1.0 {
            product = product.scaled(self.single_unit);
        }
        self.criterion.add_determinant(&mut product, e);
        product
    }

    /// What a copy of the rows in single precision is a multiple of. Those of the likelihood are free of units.
    fn unit_of_copy(&self) -> f64 {
        if self.criterion == Criterion::Likelihood || self.rows.len() < MANY {
            return 1.0;
        }
        linalg::power_of_two_below(linalg::largest(&self.rows))
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
            (self.operand, self.result) = (Recycled::zeros(doubles), Recycled::zeros(doubles));
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

    /// The same for one group of row blocks of real matrices: to lay out operands for the kernel would take longer.
    fn small_product(&self, e: &Matrix<T>) -> Matrix<T> {
        let mut product = Matrix::zeros(self.p, self.p);
        let (rows, _) = self.rows.as_chunks();
        let out = reals_mut(product.as_mut_slice());
        linalg::multiply_row_blocks(self.p, rows, reals(e.as_slice()), out);
        product
    }

    /// The product with `operand`; for so few numbers, other threads do not pay.
    fn multiply_rows(&mut self) {
        let size = T::PLANES * self.p;
        kernels::hessian_times(size, &self.rows, &[], &self.operand, &mut self.result);
    }

    /// The same in single precision, of which a copy is made if need be, a group of row blocks at a time.
    fn multiply_single<N: Real>(&mut self)
    where
        f32: ReadAs<N>,
    {
        let size = T::PLANES * self.p;
        let entries = Triangle::new(size).len();
        let (block, panel) = (entries * f32::LANES, size * f32::LANES);
        let copied = self.current == Current::Rows;
        self.single
            .set_len(kernels::hessian_len_in::<f32>(self.p, T::PLANES));
        // A group has as many numbers as two of double precision, but for the last.
        let mut rows = self.rows.chunks(block);
        let panels = cast_slice::<f64, N>(&self.operand).chunks_exact(panel);
        let panels = panels.zip(cast_slice_mut(&mut self.result).chunks_exact_mut(panel));
        let singles = self.single.numbers_mut();
        let groups = singles.chunks_exact_mut(block).zip(panels);
        let mut groups: Vec<_> = groups.map(|group| (group, rows.next())).collect();
        let unit = self.single_unit;
        // Each number is read, from memory if there are many, for two multiply-adds.
        let workers = self.workers.if_worthwhile(4 * self.rows.len());
        workers.each(&mut groups, |((single, (e, out)), rows)| {
            if copied {
                let rows = rows.expect("as many rows as there are copies");
                round_rows(entries, rows, unit, single);
            }
            kernels::hessian_times(size, single, &[], e, out);
        });
        if copied {
            self.current = Current::Both;
        }
    }

    /// Whether products read whole numbers.
    fn is_short(&self) -> bool {
        match self.current {
            Current::Short => true,
            Current::Single => self.single.numbers().len() >= VERY_MANY,
            Current::Rows | Current::Both => false,
        }
    }

    /// The same by whole numbers, which are made for the first product, a group of row blocks at a time.
    fn multiply_short(&mut self) {
        let size = T::PLANES * self.p;
        let (block, panel) = (Triangle::new(size).len() * f32::LANES, size * f32::LANES);
        let count = self.single.numbers().len() / block;
        let new = self.current == Current::Single;
        self.short.set_len(count * block / 2);
        self.units.set_len(count * panel);
        let singles = self.single.numbers().chunks_exact(block);
        let shorts = self.short.shorts_mut().chunks_exact_mut(block);
        let units = self.units.numbers_mut().chunks_exact_mut(panel);
        let operands = cast_slice::<f64, f32>(&self.operand).chunks_exact(panel);
        let results = cast_slice_mut(&mut self.result).chunks_exact_mut(panel);
        let rows = singles.zip(shorts.zip(units));
        let mut groups: Vec<_> = rows.zip(operands.zip(results)).collect();
        let workers = self.workers.if_worthwhile(4 * count * block);
        workers.each(&mut groups, |((single, (short, units)), (e, out))| {
            if new {
                kernels::round_to_units(size, single, short, units);
            }
            kernels::hessian_times(size, short, units, e, out);
        });
        self.current = Current::Short;
    }
}

/// One or two groups of row blocks as one of single precision, side by side, in multiples of `unit`, a power of two.
fn round_rows(entries: usize, rows: &[f64], unit: f64, single: &mut [f32]) {
    let inverse = 1.0 / unit;
    let (places, _) = single.as_chunks_mut::<LANES>();
    let (rows, _) = rows.as_chunks::<LANES>();
    const { assert!(f32::LANES == 2 * LANES) };
    for (half, rows) in rows.chunks_exact(entries).enumerate() {
        for (entry, numbers) in rows.iter().enumerate() {
            places[2 * entry + half] = numbers.map(|x| (x * inverse) as f32);
        }
    }
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
