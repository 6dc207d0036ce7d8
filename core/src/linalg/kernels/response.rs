//! How the diagonals of a least-squares fit respond to a change E of A, and the sums that make the exact Hessian
//! from it: O(p²) per matrix, once the products Cⁱ A are there.

use pulp::{Arch, Simd, WithSimd};

use super::coefficients::Left;
use super::diagonals::combine;
use super::moments::{MomentSums, dot};
use super::transform::half_product;
use super::{LANES, room, vectors, vectors_mut, vectors_per_row};
use crate::linalg::{Matrix, Triangle};

/// Writes Yⁱ = Cⁱ A of a block, p² numbers per matrix, in the order in which [`accumulate_response`] reads them.
pub fn fit_products(components: &Matrix, block: &[f64], lanes: usize, products: &mut [f64]) {
    let p = components.rows();
    assert_eq!(components.columns(), p);
    assert_eq!(lanes % LANES, 0);
    assert_eq!(block.len(), Triangle::new(p).len() * lanes);
    assert_eq!(products.len(), p * p * lanes);
    Arch::new().dispatch(Products {
        components: Left::new(components),
        block,
        lanes,
        out: products,
    });
}

struct Products<'a> {
    components: Left<'a>,
    block: &'a [f64],
    lanes: usize,
    out: &'a mut [f64],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (stride, square) = (
            vectors_per_row::<S>(self.lanes),
            self.components.rows().pow(2),
        );
        let block = vectors::<S>(self.block);
        let products = vectors_mut::<S>(self.out);
        for at in (0..stride - stride % 2).step_by(2) {
            let half = &mut products[at * square..(at + 2) * square];
            half_product::<S, 2>(simd, &self.components, block, stride, at, half);
        }
        if stride % 2 == 1 {
            let half = &mut products[(stride - 1) * square..];
            half_product::<S, 1>(simd, &self.components, block, stride, stride - 1, half);
        }
    }
}

/// What a change E of A asks of a block.
pub struct ResponseTask<'a> {
    /// Eᵀ: the change of one component per row.
    pub change: &'a Matrix,
    /// g∘(U + Uᵀ), with g = AᵀA and U = AᵀE: half the change of K, entry by entry.
    pub coupling: &'a Matrix,
    /// K⁻¹.
    pub inverse: &'a Matrix,
    /// The Yⁱ, as [`fit_products`] wrote them.
    pub products: &'a [f64],
    /// The weights of the matrices.
    pub weights: &'a [f64],
    /// The λⁱ.
    pub fitted: &'a [f64],
}

/// Adds one block's share, with δλⁱ = 2K⁻¹(qⁱ − (g∘(U + Uᵀ))λⁱ), qⁱ_a = e_aᵀ Cⁱ a_a: row a of the sums'
/// gradient is Σ_i w_i δλⁱ_a (Cⁱ a_a)ᵀ, and their Γ is Σ_i w_i δλⁱ λⁱᵀ.
pub fn accumulate_response(task: ResponseTask<'_>, sums: &mut MomentSums, scratch: &mut Vec<f64>) {
    let (p, lanes) = (task.change.rows(), task.weights.len());
    assert_eq!(lanes % LANES, 0);
    for matrix in [task.change, task.coupling, task.inverse] {
        assert_eq!((matrix.rows(), matrix.columns()), (p, p));
    }
    assert_eq!(task.products.len(), p * p * lanes);
    assert_eq!(task.fitted.len(), p * lanes);
    assert_eq!((sums.gradient.rows(), sums.gamma.rows()), (p, p));
    let scratch = room(scratch, LANES * p * (p + 4) + p * lanes);
    let (totals, rest) = scratch.split_at_mut(LANES * p * p);
    let (diagonals, rest) = rest.split_at_mut(2 * LANES * p);
    let (right, weighted) = rest.split_at_mut(2 * LANES * p);
    Arch::new().dispatch(Response {
        task,
        sums,
        totals,
        diagonals,
        right,
        weighted,
    });
}

struct Response<'a, 'b> {
    task: ResponseTask<'a>,
    sums: &'b mut MomentSums,
    /// The gradient's sums, lane by lane.
    totals: &'b mut [f64],
    /// λⁱ of two vectors of matrices.
    diagonals: &'b mut [f64],
    /// What K⁻¹ is applied to.
    right: &'b mut [f64],
    /// w_i δλⁱ_a, row a.
    weighted: &'b mut [f64],
}

impl WithSimd for Response<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let p = self.task.change.rows();
        let stride = vectors_per_row::<S>(self.task.weights.len());
        vectors_mut::<S>(self.totals).fill(simd.splat_f64s(0.0));
        for at in (0..stride - stride % 2).step_by(2) {
            self.slice::<S, 2>(simd, stride, at);
        }
        if stride % 2 == 1 {
            self.slice::<S, 1>(simd, stride, stride - 1);
        }
        let gradient = self.sums.gradient.as_mut_slice();
        for (sum, total) in gradient.iter_mut().zip(vectors::<S>(self.totals)) {
            *sum += simd.reduce_sum_f64s(*total);
        }
        let (fitted, weighted) = (vectors::<S>(self.task.fitted), vectors::<S>(self.weighted));
        let row = |a: usize| a * stride..(a + 1) * stride;
        for a in 0..p {
            for b in 0..p {
                let sum = dot(simd, &weighted[row(a)], &fitted[row(b)]);
                self.sums.gamma[(a, b)] += simd.reduce_sum_f64s(sum);
            }
        }
    }
}

impl Response<'_, '_> {
    #[inline(always)]
    fn slice<S: Simd, const W: usize>(&mut self, simd: S, stride: usize, at: usize) {
        let ResponseTask {
            change,
            coupling,
            inverse,
            ..
        } = self.task;
        let p = change.rows();
        let products = &vectors::<S>(self.task.products)[at * p * p..(at + W) * p * p];
        let weights = &vectors::<S>(self.task.weights)[at..at + W];
        let fitted = vectors::<S>(self.task.fitted);
        let diagonals = &mut vectors_mut::<S>(self.diagonals)[..p * W];
        for (a, own) in diagonals.chunks_exact_mut(W).enumerate() {
            own.copy_from_slice(&fitted[a * stride + at..][..W]);
        }
        let right = &mut vectors_mut::<S>(self.right)[..p * W];
        let rows = products.chunks_exact(p * W).zip(right.chunks_exact_mut(W));
        for (a, (row, out)) in rows.enumerate() {
            let direct = combine::<S, W>(simd, change.row(a), row);
            let coupled = combine::<S, W>(simd, coupling.row(a), diagonals);
            for w in 0..W {
                let half = simd.sub_f64s(direct[w], coupled[w]);
                out[w] = simd.add_f64s(half, half);
            }
        }
        let weighted = vectors_mut::<S>(self.weighted);
        let totals = vectors_mut::<S>(self.totals);
        for (a, row) in products.chunks_exact(p * W).enumerate() {
            let mut scaled = combine::<S, W>(simd, inverse.row(a), right);
            for w in 0..W {
                scaled[w] = simd.mul_f64s(weights[w], scaled[w]);
            }
            weighted[a * stride + at..][..W].copy_from_slice(&scaled);
            let (values, _) = row.as_chunks::<W>();
            for (sum, value) in totals[a * p..(a + 1) * p].iter_mut().zip(values) {
                for w in 0..W {
                    *sum = simd.mul_add_e_f64s(value[w], scaled[w], *sum);
                }
            }
        }
    }
}
