//! The sums of a least-squares fit Cⁱ ≈ A Λⁱ Aᵀ over a block, straight from the matrices Cⁱ: 2p³ flops
//! per matrix.

use pulp::{Arch, Simd, WithSimd};

use super::coefficients::Left;
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
        left: Left::new(task.components),
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
    left: Left<'a>,
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
        half_product::<S, W>(simd, &self.left, block, stride, at, half);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{self, kernels::hessian_len};

    fn number(k: usize) -> f64 {
        ((k * 37 + 11) % 23) as f64 / 11.5 - 1.0
    }

    #[test]
    fn sums_are_those_of_plain_loops() {
        for (p, lanes) in [(1, 8), (2, 8), (3, 16), (5, 24), (9, 40), (16, 8)] {
            let triangle = Triangle::new(p);
            let block: Vec<f64> = (0..triangle.len() * lanes).map(number).collect();
            let weights: Vec<f64> = (0..lanes).map(|i| 0.1 + (i % 3) as f64).collect();
            let components = Matrix::from_fn(p, p, |a, b| number(5 * a + b));
            let inverse = Matrix::from_fn(p, p, |a, b| number(7 + a + 3 * b));
            let mut sums = MomentSums::new(p);
            let (mut fitted, mut scratch) = (vec![0.0; p * lanes], vec![f64::NAN; 7]);
            let task = FitTask {
                components: &components,
                inverse: &inverse,
                block: &block,
                weights: &weights,
                fitted: &mut fitted,
            };
            let energy = accumulate_fit(task, &mut sums, &mut scratch);
            let mut rows = vec![0.0; hessian_len(p, 1)];
            accumulate_weighted(p, &block, &weights, &fitted, &mut rows, &mut scratch);

            let mut expected = MomentSums::new(p);
            let mut total = 0.0;
            let mut weighted = vec![0.0; rows.len()];
            for (i, w) in weights.iter().enumerate() {
                let c = Matrix::from_fn(p, p, |a, b| block[triangle.index(a, b) * lanes + i]);
                let half = linalg::product(&components, &c);
                let dots =
                    Matrix::from_fn(p, 1, |a, _| linalg::dot(half.row(a), components.row(a)));
                let lambda = linalg::product(&inverse, &dots);
                for a in 0..p {
                    let own = lambda[(a, 0)];
                    assert!((fitted[a * lanes + i] - own).abs() < 1e-12 * (1.0 + own.abs()));
                    total += w * own * dots[(a, 0)];
                    for b in 0..p {
                        expected.gradient[(a, b)] += w * own * half[(a, b)];
                        if b <= a {
                            expected.gamma[(a, b)] += w * own * lambda[(b, 0)];
                            let entry = triangle.index(a, b);
                            for k in 0..p {
                                let place =
                                    (k / LANES * triangle.len() + entry) * LANES + k % LANES;
                                weighted[place] += w * lambda[(k, 0)] * c[(a, b)];
                            }
                        }
                    }
                }
            }
            let close =
                |x: f64, y: f64| assert!((x - y).abs() < 1e-10 * (1.0 + y.abs()), "{x} {y}");
            close(energy, total);
            let pairs = [
                (&sums.gradient, &expected.gradient),
                (&sums.gamma, &expected.gamma),
            ];
            for (actual, expected) in pairs {
                let numbers = actual.as_slice().iter().zip(expected.as_slice());
                numbers.for_each(|(x, y)| close(*x, *y));
            }
            rows.iter().zip(&weighted).for_each(|(x, y)| close(*x, *y));
        }
    }
}
