//! Sums over a block from which the spectral starting point is computed.

use crate::data::{Block, packed_len};
use crate::linalg::kernels::{self, LANES};
use crate::linalg::{AlignedBuffer, Matrix, Scalar, Triangle};

/// Maximum number of matrices in [`Request::Correlate`](super::Request::Correlate). The plan of a
/// memory limit relies on it.
pub const COMBINATIONS_AT_ONCE: usize = 16;

/// Returns the packed entries of a symmetric matrix as weights, such that their dot product with
/// another packed matrix is the inner product of both matrices: entries off the diagonal count
/// twice.
pub fn inner_product_weights<T: Scalar>(matrix: &Matrix<T>) -> Vec<f64> {
    let p = matrix.rows();
    let mut weights = Vec::with_capacity(T::PLANES * Triangle::new(p).len());
    for plane in 0..T::PLANES {
        let part = |x: T| if plane == 0 { x.real() } else { x.imaginary() };
        for a in 0..p {
            weights.extend((0..a).map(|b| 2.0 * part(matrix[(a, b)])));
            weights.push(part(matrix[(a, a)]));
        }
    }
    weights
}

/// Converts interleaved packed entries of several symmetric matrices to rows of
/// [`inner_product_weights`], one row per matrix.
pub fn inner_product_rows<T: Scalar>(matrices: &[f64], p: usize) -> AlignedBuffer {
    let len = packed_len::<T>(p);
    let count = matrices.len() / len;
    let mut weights = AlignedBuffer::of_len(matrices.len());
    // One plane of entries after the other.
    let pairs = Triangle::new(p).pairs().cycle();
    for (row, (entries, (a, b))) in matrices.chunks_exact(count).zip(pairs).enumerate() {
        let times = if a == b { 1.0 } else { 2.0 };
        for (k, x) in entries.iter().enumerate() {
            weights[k * len + row] = times * x;
        }
    }
    weights
}

/// Returns 1 / s_i for the sizes s_i = ⟨Cⁱ, S⟩ / p of the matrices of a block. S is given as
/// weights.
pub fn inverse_sizes<T: Scalar>(p: usize, block: &Block<T>, weights: &[f64]) -> Vec<f64> {
    let mut products = vec![0.0; block.lanes()];
    kernels::correlate(block.entries(), weights, &mut products);
    products.truncate(block.matrices);
    products.iter_mut().for_each(|s| *s = p as f64 / *s);
    products
}

/// Adds Σ_i w_i f_i Cⁱ over a block.
pub fn add_scaled<T: Scalar>(block: &Block<T>, factors: &[f64], sums: &mut [f64]) {
    let mut coefficients = block.weights.clone();
    let pairs = coefficients.iter_mut().zip(factors);
    pairs.for_each(|(w, f)| *w *= f);
    kernels::combine(block.entries(), &coefficients, sums);
}

/// Adds a block to the two packed sums of `Request::Balance`.
pub fn add_balanced<T: Scalar>(block: &Block<T>, inverse_sizes: &[f64], sums: &mut [f64]) {
    let (mean, spread) = sums.split_at_mut(sums.len() / 2);
    add_scaled(block, inverse_sizes, mean);
    let factors: Vec<f64> = inverse_sizes.iter().map(|x| (1.0 - x).powi(2)).collect();
    add_scaled(block, &factors, spread);
}

/// Adds Σ_i w_i f_i² ⟨Cⁱ, S⟩ Cⁱ over a block. The matrices S, a multiple of eight, are given as
/// rows of weights. Without factors, f_i = 1.
pub fn add_correlations<T: Scalar>(
    block: &Block<T>,
    factors: &[f64],
    matrices: &[f64],
    sums: &mut [f64],
) {
    let (lanes, entries) = (block.lanes(), block.entries());
    let count = matrices.len() * lanes / entries.len();
    let mut products = AlignedBuffer::of_len(count * lanes);
    kernels::correlate_many(entries, lanes, matrices, &mut products);
    let mut coefficients = AlignedBuffer::of_len(count * lanes);
    // Groups of eight, one row for each matrix of the block.
    let groups = coefficients.chunks_exact_mut(LANES * lanes);
    for (products, group) in products.chunks_exact(LANES * lanes).zip(groups) {
        let (rows, _) = group.as_chunks_mut::<LANES>();
        for (k, products) in products.chunks_exact(lanes).enumerate() {
            let places = rows.iter_mut().zip(products);
            places.for_each(|(row, x)| row[k] = *x);
        }
        // The weights of the padding are zero.
        for (i, (row, weight)) in rows.iter_mut().zip(&block.weights).enumerate() {
            let f = factors.get(i).copied().unwrap_or(1.0);
            let weight = weight * f * f;
            row.iter_mut().for_each(|x| *x *= weight);
        }
    }
    kernels::combine_many(entries, lanes, &coefficients, sums);
}
