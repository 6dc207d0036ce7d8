//! The groups' shares of the Hessian, in single or double precision.

use super::{InMemory, Moving};
use crate::linalg::kernels::{self, HessianScratch, Real};
use crate::statistics::Hessian;

/// A group's share.
#[derive(Default)]
pub(super) struct HessianSums<T> {
    rows: Vec<T>,
    scratch: HessianScratch<T>,
}

impl<T: Real> HessianSums<T> {
    /// Sums over the blocks, in order.
    pub fn sum(&mut self, p: usize, blocks: &[Moving]) {
        self.rows.clear();
        self.rows.resize(kernels::hessian_len(p), T::default());
        for block in blocks {
            let (entries, weights) = (&block.entries, &block.original.weights);
            kernels::accumulate_hessian(p, entries, weights, &mut self.rows, &mut self.scratch);
        }
    }
}

/// Adds the groups' shares, in order.
pub(super) fn add_up<'a, T: Real>(
    parts: impl IntoIterator<Item = &'a HessianSums<T>>,
    hessian: &mut Hessian<T>,
) {
    let rows = hessian.rows_mut();
    rows.fill(T::default());
    for part in parts {
        kernels::add_to(rows, &part.rows);
    }
}

impl InMemory {
    /// The Hessian in double precision, for those who look at it.
    pub(crate) fn exact_hessian(&self) -> Hessian {
        let p = self.dimension();
        let mut parts = Vec::new();
        parts.resize_with(self.groups.len(), HessianSums::default);
        let pairs = parts.iter_mut().zip(&self.groups);
        pairs.for_each(|(sums, group)| sums.sum(p, &group.blocks));
        let mut hessian = Hessian::zeros(p);
        add_up(&parts, &mut hessian);
        hessian
    }
}
