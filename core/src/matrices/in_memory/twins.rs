//! The same matrices for another solve.

use std::sync::Arc;

use super::InMemory;
use crate::linalg::Scalar;
use crate::matrices::needs;
use crate::memory::count_that_fits;
use crate::threads::Workers;

/// Multiply-adds of a pass from which on all threads are better used within it. Below, most of a solve is not
/// passes, and a thread for each of several solves brings more.
const LARGE: usize = 100_000_000;

impl<T: Scalar> InMemory<T> {
    /// Another working set of the same matrices, nowhere yet, for threads of its own.
    pub(crate) fn twin(&self, workers: Workers) -> Self {
        let blocks: Vec<_> = self.blocks().map(|b| Arc::clone(&b.original)).collect();
        let constants = Arc::clone(&self.constants);
        Self::of_blocks(&blocks, self.summary.clone(), constants, workers)
    }

    /// How many threads are best used by several solves of the set, a thread for each, and not within one: no more
    /// than there is memory for.
    pub(crate) fn solves_at_once(&self) -> usize {
        let (n, p) = (self.summary.len, self.dimension());
        let pass = T::PLANES * T::PLANES * n * p * p * p;
        if pass < LARGE {
            count_that_fits(self.workers.count(), needs::of_solve::<T>(n, p))
        } else {
            1
        }
    }
}
