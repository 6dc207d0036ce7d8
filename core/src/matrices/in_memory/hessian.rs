//! Exact Hessians, in the precision that the set stands in.

use std::iter::once;

use bytemuck::cast_slice_mut;

use super::single::SingleBlock;
use super::{Group, InMemory, TransformedBlock, Work};
use crate::linalg::kernels::{self, Real};
use crate::linalg::{AlignedBuffer, Scalar};
use crate::statistics::Hessian;

/// The groups' Hessians are added in slices of so many numbers, which the nearest cache holds.
const SLICE: usize = 2048;

/// From this size on, the Hessian of a set of few matrices is shared out by its row blocks: sums for each group of
/// the set, and their sum, would take as long as some of its products.
const BY_COMPONENTS: usize = 64;

/// A precision in which a set can stand.
trait Standing: Real {
    /// The matrices of a group in it, with their weights.
    fn blocks<'a, T: Scalar>(
        double: &'a [TransformedBlock<T>],
        single: &'a [SingleBlock<T>],
    ) -> Vec<(&'a [Self], &'a [f64])>;

    /// Where row blocks of it go.
    fn rows<T: Scalar>(hessian: &mut Hessian<T>) -> &mut [Self];
}

impl Standing for f64 {
    fn blocks<'a, T: Scalar>(
        double: &'a [TransformedBlock<T>],
        _: &'a [SingleBlock<T>],
    ) -> Vec<(&'a [Self], &'a [f64])> {
        double.iter().map(|b| (b.entries(), b.weights())).collect()
    }

    fn rows<T: Scalar>(hessian: &mut Hessian<T>) -> &mut [Self] {
        hessian.rows_mut()
    }
}

impl Standing for f32 {
    fn blocks<'a, T: Scalar>(
        _: &'a [TransformedBlock<T>],
        single: &'a [SingleBlock<T>],
    ) -> Vec<(&'a [Self], &'a [f64])> {
        single
            .iter()
            .map(|b| (b.entries(), &b.weights[..]))
            .collect()
    }

    fn rows<T: Scalar>(hessian: &mut Hessian<T>) -> &mut [Self] {
        hessian.single_mut()
    }
}

impl<T: Scalar> InMemory<T> {
    /// Writes the exact Hessian; for least squares the sums Σ_i w_i λⁱ_a Cⁱ in its place.
    pub(super) fn write_hessian(&mut self, hessian: &mut Hessian<T>) {
        hessian.work_on(&self.workers);
        let p = self.dimension();
        if self.summary.criterion.fits_originals() {
            self.by_groups::<f64>(hessian, |group, rows| group.weigh_originals(p, rows));
        } else if self.is_single() {
            self.sum_hessian::<f32>(hessian);
            hessian.set_single_unit(self.single_unit().powi(2));
        } else {
            self.sum_hessian::<f64>(hessian);
        }
    }

    fn sum_hessian<R: Standing>(&mut self, hessian: &mut Hessian<T>) {
        let (n, p, criterion) = (self.summary.len, self.dimension(), self.summary.criterion);
        if p >= BY_COMPONENTS && n <= 4 * p {
            self.by_components::<R>(hessian);
            return;
        }
        self.by_groups::<R>(hessian, |group, rows| {
            let blocks = R::blocks(&group.blocks, &group.single);
            for (k, (entries, weights)) in blocks.into_iter().enumerate() {
                kernels::accumulate_hessian(criterion, p, entries, weights, rows, k == 0);
            }
        });
    }

    /// Each group's share, and their sum.
    fn by_groups<R: Standing>(
        &mut self,
        hessian: &mut Hessian<T>,
        share: impl Fn(&mut Group<T>, &mut [R]) + Sync + Send,
    ) {
        let (n, p) = (self.summary.len, self.dimension());
        let cost = Work::Products.multiply_adds(n, p, T::PLANES);
        let workers = self.workers.if_worthwhile(cost);
        // The first group's share is written where the whole is wanted.
        let rows = R::rows(hessian);
        let doubles = size_of_val(rows) / size_of::<f64>();
        let room = |group: &mut Group<T>| match std::mem::take(&mut group.hessian) {
            kept if kept.len() == doubles => kept,
            _ => AlignedBuffer::of_len(doubles),
        };
        if workers.count() == 1 {
            // One after the other, in room that stays in the caches.
            let (first, others) = self.groups.split_first_mut().expect("a set has a group");
            share(first, rows);
            if !others.is_empty() {
                let mut numbers = room(first);
                for group in others {
                    let part = cast_slice_mut(&mut numbers);
                    share(group, part);
                    kernels::add(rows, part);
                }
                first.hessian = numbers;
            }
            return;
        }
        let mut others: Vec<AlignedBuffer> = self.groups[1..].iter_mut().map(room).collect();
        let places = others.iter_mut().map(|numbers| cast_slice_mut(numbers));
        let mut shares: Vec<(&mut Group<T>, &mut [R])> = self
            .groups
            .iter_mut()
            .zip(once(rows).chain(places))
            .collect();
        workers.each(&mut shares, |(group, rows)| share(group, rows));
        // Slice by slice of the entries, the groups in order.
        let mut shares = shares.into_iter().map(|(_, rows)| rows);
        let rows = shares.next().expect("a set has a group");
        let parts: Vec<&mut [R]> = shares.collect();
        let workers = self.workers.if_worthwhile(4 * parts.len() * rows.len());
        let mut slices: Vec<_> = rows.chunks_mut(SLICE).enumerate().collect();
        workers.each(&mut slices, |(k, rows)| {
            for part in &parts {
                kernels::add(rows, &part[*k * SLICE..][..rows.len()]);
            }
        });
        for (group, numbers) in self.groups[1..].iter_mut().zip(others) {
            group.hessian = numbers;
        }
    }

    /// Shared out by row blocks. Each number is summed over all blocks in order, whoever sums it.
    fn by_components<R: Standing>(&mut self, hessian: &mut Hessian<T>) {
        let (n, p, criterion) = (self.summary.len, self.dimension(), self.summary.criterion);
        let workers = self
            .workers
            .if_worthwhile(Work::Products.multiply_adds(n, p, T::PLANES));
        let rows = R::rows(hessian);
        let groups = p.div_ceil(R::LANES);
        // Each task reads all matrices: a few are enough to keep all workers busy.
        let tasks = match workers.count() {
            1 => 1,
            count => groups.min(2 * count),
        };
        let share = groups.div_ceil(tasks);
        let len = rows.len() / groups * share;
        let mut tasks: Vec<_> = rows.chunks_mut(len).enumerate().collect();
        let blocks = self.groups.iter();
        let blocks: Vec<_> = blocks
            .flat_map(|group| R::blocks(&group.blocks, &group.single))
            .collect();
        workers.each(&mut tasks, |(task, rows)| {
            for (k, (entries, weights)) in blocks.iter().enumerate() {
                let (first, begins) = (*task * share, k == 0);
                kernels::accumulate_groups(criterion, p, entries, weights, first, rows, begins);
            }
        });
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::matrices::WorkingSet;
    use crate::{Criterion, synthetic};

    #[test]
    fn hessians_shared_out_by_row_blocks_are_those_of_a_pass() {
        // A last group that is not whole, and two blocks.
        let (n, p) = (30, BY_COMPONENTS + 3);
        let set = synthetic::noisy(n, p, 0.3, 1);
        let e = Matrix::from_fn(p, p, |a, b| {
            if a == b {
                0.0
            } else {
                ((a * 7 + b * 3) % 5) as f64 - 2.0
            }
        });
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for threads in [1, 2, 3] {
            let mut working = InMemory::new(&set.clone().with_threads(threads));
            working.reset(&Matrix::identity(p)).unwrap();
            let mut hessian = Hessian::zeros(Criterion::Likelihood, p);
            working.hessian(&mut hessian).unwrap();
            let by_pass = working.hessian_product(&e).unwrap();
            let product = hessian.product(&e);
            // Products read row blocks of this size in single precision.
            let pairs = product.as_slice().iter().zip(by_pass.as_slice());
            let off = pairs.fold(0.0_f64, |off, (x, y)| off.max((x - y).abs()));
            assert!(off < 1e-5 * by_pass.norm(), "{off}");
            rows.push(hessian.rows().to_vec());
        }
        assert!(rows.iter().all(|numbers| *numbers == rows[0]));
    }
}
