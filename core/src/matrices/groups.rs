//! How blocks are dealt out to groups, and what is summed over a block, wherever it is kept.
//!
//! A group sums over its blocks in order, and the groups' sums are added in order. Which blocks make
//! a group depends on the set's size alone, so that the sums have the same bits on one thread or
//! many, in memory or from disk.

use std::ops::{Deref, Range};

use crate::criterion::Criterion;
use crate::least_squares::Fit;
use crate::linalg::{self, Scalar, SymmetricBatch, Triangle};
use crate::statistics::Hessian;

/// At most this many groups of blocks are summed apart, whatever the number of threads.
const GROUPS: usize = 32;

/// The groups of that many blocks, which hold so many lanes together.
pub fn deal<T: Scalar>(blocks: usize, lanes: usize, dimension: usize) -> Vec<Range<usize>> {
    // Each group sums a Hessian of its own: together they should not weigh more than the set.
    let bytes = 8 * T::PLANES * Triangle::new(dimension).len() * lanes;
    let hessian_bytes = Hessian::<T>::bytes(dimension);
    let affordable = bytes.max(64 << 20) / hessian_bytes;
    // Each has two blocks or more, once there are some for a few threads, which are mostly two, four or eight.
    let wanted = (blocks / 2 / 4 * 4).clamp(blocks.min(4), GROUPS);
    let groups = affordable.clamp(1, wanted);
    let edge = |g: usize| g * blocks / groups;
    (0..groups).map(|g| edge(g)..edge(g + 1)).collect()
}

/// How many numbers are summed over a set, if it is for each packed entry of its matrices.
pub fn packed_len<T: Scalar>(p: usize) -> usize {
    T::PLANES * Triangle::new(p).len()
}

/// Adds what orders the components of an answer over a block: for the likelihood how much their powers
/// vary, Σ_i w_i (Dⁱ_aa / m_a − 1)² with the mean powers m_a; else their energy, Σ_i w_i (Dⁱ_aa)².
pub fn add_variations<S: Deref<Target = [f64]>, T: Scalar>(
    criterion: Criterion,
    batch: &SymmetricBatch<S, T>,
    weights: &[f64],
    mean_powers: &[f64],
    sums: &mut [f64],
) {
    for (a, (sum, mean)) in sums.iter_mut().zip(mean_powers).enumerate() {
        let powers = batch.diagonal(a).iter().zip(weights);
        *sum += match criterion {
            Criterion::Likelihood => powers
                .map(|(x, w)| w * (x / mean - 1.0).powi(2))
                .sum::<f64>(),
            Criterion::Frobenius | Criterion::LeastSquares => powers.map(|(x, w)| w * x * x).sum(),
        };
    }
}

/// Writes Dⁱ_aa, one row per matrix, of a block.
pub fn write_powers<S: Deref<Target = [f64]>, T: Scalar>(
    batch: &SymmetricBatch<S, T>,
    out: &mut [f64],
) {
    let p = batch.size();
    for a in 0..p {
        let rows = out.chunks_exact_mut(p).zip(batch.diagonal(a));
        rows.for_each(|(row, x)| row[a] = *x);
    }
}

/// Adds the sums of one group to those of others.
#[allow(clippy::ptr_arg)] // what the groups' sums are
pub fn add_slices(total: &mut Vec<f64>, part: &Vec<f64>) {
    linalg::add_multiple(total, 1.0, part);
}

/// The diagonals λⁱ of a block of a least-squares fit.
pub struct Diagonals<'a> {
    /// p rows, one lane per matrix.
    pub rows: &'a [f64],
    /// One per lane.
    pub weights: &'a [f64],
    /// How many lanes are matrices of the set.
    pub matrices: usize,
}

impl Diagonals<'_> {
    /// Adds the energies Σ_i w_i (λⁱ_a / m_a)² over the block.
    pub fn add_variations(&self, mean_powers: &[f64], sums: &mut [f64]) {
        let rows = self.rows.chunks_exact(self.weights.len());
        for ((sum, mean), row) in sums.iter_mut().zip(mean_powers).zip(rows) {
            let numbers = row.iter().zip(self.weights);
            *sum += numbers.map(|(x, w)| w * (x / mean).powi(2)).sum::<f64>();
        }
    }

    /// Writes the λⁱ, one row per matrix, and takes the energy of the fit from each ‖Cⁱ‖².
    pub fn write<T: Scalar>(&self, fit: &Fit<T>, powers: &mut [f64], energies: &mut [f64]) {
        let (p, lanes) = (self.rows.len() / self.weights.len(), self.weights.len());
        let matrices = powers.chunks_exact_mut(p).zip(energies).enumerate();
        for (lane, (out, energy)) in matrices {
            let places = out.iter_mut().enumerate();
            places.for_each(|(a, x)| *x = self.rows[a * lanes + lane]);
            *energy -= fit.energy(out);
        }
    }
}
