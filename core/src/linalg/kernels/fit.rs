//! The sums of a least-squares fit Cⁱ ≈ A Λⁱ Aᵀ over a block, straight from the matrices Cⁱ: 2p³ flops
//! per matrix.

use pulp::{Arch, Simd, WithSimd};

use super::combine::combine_eight;
use super::diagonals::combine;
use super::moments::{MomentSums, dot};
use super::transform::half_product;
use super::{LANES, room, vectors, vectors_mut, vectors_per_row};
use crate::linalg::{Matrix, Triangle};

/// What a fit at one A asks of a block.
pub struct FitTask<'a> {
    /// Aᵀ: one component per row.
    pub components: &'a Matrix,
    /// K⁻¹, with K = (AᵀA)∘(AᵀA).
    pub inverse: &'a Matrix,
    /// The matrices Cⁱ, packed.
    pub block: &'a [f64],
    /// Their weights.
    pub weights: &'a [f64],
    /// Receives the diagonals λⁱ = K⁻¹cⁱ of the best Λⁱ, with cⁱ = diag(Aᵀ Cⁱ A): p rows of lanes.
    pub fitted: &'a mut [f64],
}

/// Adds one block's share: row a of the sums' gradient is Σ_i w_i λⁱ_a (Cⁱ a_a)ᵀ, and their Γ is the lower
/// triangle of Σ_i w_i λⁱ λⁱᵀ. Returns Σ_i w_i cⁱ·λⁱ, the energy of the fit. `scratch` grows as needed
/// and is worth keeping between calls.
pub fn accumulate_fit(task: FitTask<'_>, sums: &mut MomentSums, scratch: &mut Vec<f64>) -> f64 {
    let (p, lanes) = (task.components.rows(), task.weights.len());
    assert_eq!(lanes % LANES, 0);
    assert_eq!((task.components.columns(), task.inverse.rows()), (p, p));
    assert_eq!(task.inverse.columns(), p);
    assert_eq!(task.block.len(), Triangle::new(p).len() * lanes);
    assert_eq!(task.fitted.len(), p * lanes);
    assert_eq!((sums.gradient.rows(), sums.gamma.rows()), (p, p));
    let scratch = room(scratch, LANES * p * (3 * p + 2) + p * lanes);
    let (half, rest) = scratch.split_at_mut(2 * LANES * p * p);
    let (products, rest) = rest.split_at_mut(LANES * p * p);
    let (diagonals, weighted) = rest.split_at_mut(2 * LANES * p);
    Arch::new().dispatch(Accumulate {
        task,
        sums,
        half,
        products,
        diagonals,
        weighted,
    })
}

struct Accumulate<'a, 'b> {
    task: FitTask<'a>,
    sums: &'b mut MomentSums,
    /// (Cⁱ a_a)_c of two vectors of matrices.
    half: &'b mut [f64],
    /// The gradient's sums, lane by lane.
    products: &'b mut [f64],
    /// cⁱ of two vectors of matrices.
    diagonals: &'b mut [f64],
    /// w_i λⁱ_a, row a.
    weighted: &'b mut [f64],
}

impl WithSimd for Accumulate<'_, '_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> f64 {
        let (p, stride) = (
            self.task.components.rows(),
            vectors_per_row::<S>(self.task.weights.len()),
        );
        vectors_mut::<S>(self.products).fill(simd.splat_f64s(0.0));
        let mut energy = simd.splat_f64s(0.0);
        for at in (0..stride - stride % 2).step_by(2) {
            energy = simd.add_f64s(energy, self.slice::<S, 2>(simd, stride, at));
        }
        if stride % 2 == 1 {
            energy = simd.add_f64s(energy, self.slice::<S, 1>(simd, stride, stride - 1));
        }
        let products = vectors::<S>(self.products);
        let gradient = self.sums.gradient.as_mut_slice();
        for (sum, product) in gradient.iter_mut().zip(products) {
            *sum += simd.reduce_sum_f64s(*product);
        }
        let (fitted, weighted) = (vectors::<S>(self.task.fitted), vectors::<S>(self.weighted));
        let row = |a: usize| a * stride..(a + 1) * stride;
        for a in 0..p {
            for b in 0..=a {
                let sum = dot(simd, &weighted[row(a)], &fitted[row(b)]);
                self.sums.gamma[(a, b)] += simd.reduce_sum_f64s(sum);
            }
        }
        simd.reduce_sum_f64s(energy)
    }
}

impl Accumulate<'_, '_> {
    /// The W vectors of matrices from `at` on; returns their energies.
    #[inline(always)]
    fn slice<S: Simd, const W: usize>(&mut self, simd: S, stride: usize, at: usize) -> S::f64s {
        let components = self.task.components;
        let p = components.rows();
        let block = vectors::<S>(self.task.block);
        let weights = &vectors::<S>(self.task.weights)[at..at + W];
        let half = &mut vectors_mut::<S>(self.half)[..p * p * W];
        half_product::<S, W>(simd, components, block, stride, at, half);
        let diagonals = &mut vectors_mut::<S>(self.diagonals)[..p * W];
        let rows = half.chunks_exact(p * W);
        for ((a, row), c) in rows.enumerate().zip(diagonals.chunks_exact_mut(W)) {
            c.copy_from_slice(&combine::<S, W>(simd, components.row(a), row));
        }
        let fitted = vectors_mut::<S>(self.task.fitted);
        let weighted = vectors_mut::<S>(self.weighted);
        let products = vectors_mut::<S>(self.products);
        let mut energy = simd.splat_f64s(0.0);
        for (a, row) in half.chunks_exact(p * W).enumerate() {
            let lambda = combine::<S, W>(simd, self.task.inverse.row(a), diagonals);
            let mut scaled = lambda;
            for w in 0..W {
                scaled[w] = simd.mul_f64s(weights[w], lambda[w]);
                energy = simd.mul_add_e_f64s(scaled[w], diagonals[a * W + w], energy);
            }
            fitted[a * stride + at..][..W].copy_from_slice(&lambda);
            weighted[a * stride + at..][..W].copy_from_slice(&scaled);
            let (values, _) = row.as_chunks::<W>();
            for (sum, value) in products[a * p..(a + 1) * p].iter_mut().zip(values) {
                for w in 0..W {
                    *sum = simd.mul_add_e_f64s(value[w], scaled[w], *sum);
                }
            }
        }
        energy
    }
}

/// Adds one block's share of the p matrices Σ_i w_i λⁱ_a Cⁱ, laid out as the row blocks of a Hessian, from the
/// λⁱ that [`accumulate_fit`] wrote.
pub fn accumulate_weighted(
    p: usize,
    block: &[f64],
    weights: &[f64],
    fitted: &[f64],
    rows: &mut [f64],
    scratch: &mut Vec<f64>,
) {
    let lanes = weights.len();
    assert_eq!(fitted.len(), p * lanes);
    let coefficients = room(scratch, LANES * lanes);
    let groups = rows.chunks_exact_mut(Triangle::new(p).len() * LANES);
    for (own, group) in fitted.chunks(LANES * lanes).zip(groups) {
        coefficients.fill(0.0);
        let (columns, _) = coefficients.as_chunks_mut::<LANES>();
        for (l, row) in own.chunks_exact(lanes).enumerate() {
            for ((column, w), lambda) in columns.iter_mut().zip(weights).zip(row) {
                column[l] = w * lambda;
            }
        }
        combine_eight(block, coefficients, group);
    }
}
