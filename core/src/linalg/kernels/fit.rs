//! The sums of a least-squares fit Cⁱ ≈ A Λⁱ Aᴴ over a block, from the original matrices Cⁱ: 2p³
//! flops per matrix, 8p³ if complex.

use pulp::{Simd, WithSimd};

use super::coefficients::{LeftFactor, right};
use super::combine::combine_many;
use super::diagonals::combine;
use super::hessian::add_planes;
use super::lane_sums::{LaneSums, dot, with_vectors_per_group};
use super::moments::MomentSums;
use super::transform::half_product;
use super::{LANES, Real, arch, planes, vectors, vectors_mut, vectors_per_row};
use crate::linalg::{Matrix, Scalar, Scratch, Triangle, reals_mut};

/// K⁻¹ in factored form: `outer`, or `outer` · `inner` if K is ill-conditioned. Applying the two
/// factors one after the other has much smaller rounding errors than applying their product.
#[derive(Clone, Copy)]
pub struct InverseFactors<'a> {
    /// The factor applied last; K⁻¹ itself if it is the only one.
    pub outer: &'a Matrix,
    /// The factor applied first, if there are two.
    pub inner: Option<&'a Matrix>,
}

impl InverseFactors<'_> {
    /// Whether the factors are p×p.
    pub(super) fn have_size(&self, p: usize) -> bool {
        let square = |m: &Matrix| (m.rows(), m.columns()) == (p, p);
        square(self.outer) && self.inner.is_none_or(square)
    }

    /// Returns the operand of `outer` for W vectors of matrices: `numbers` multiplied by `inner`,
    /// if there is one. `scratch` holds the product.
    #[inline(always)]
    pub(super) fn apply_inner<'n, S: Simd, const W: usize>(
        &self,
        simd: S,
        numbers: &'n [S::f64s],
        scratch: &'n mut [S::f64s],
    ) -> &'n [S::f64s] {
        let Some(inner) = self.inner else {
            return numbers;
        };
        for (a, out) in scratch.chunks_exact_mut(W).enumerate() {
            out.copy_from_slice(&combine::<S, W>(simd, inner.row(a), numbers));
        }
        scratch
    }
}

/// Operands and outputs of the fit of a block for a given A.
pub struct FitTask<'a, T = f64> {
    /// Aᴴ: one component per row.
    pub components: &'a Matrix<T>,
    /// K⁻¹, with K_ab = |a_aᴴ a_b|².
    pub inverse: InverseFactors<'a>,
    /// The matrices Cⁱ, packed.
    pub block: &'a [f64],
    /// The weights of the matrices.
    pub weights: &'a [f64],
    /// Receives the diagonals λⁱ = K⁻¹cⁱ of the optimal Λⁱ, with cⁱ = diag(Aᴴ Cⁱ A): p rows with
    /// one number per lane.
    pub fitted: &'a mut [f64],
}

/// Adds the contribution of one block: Σ_i w_i λⁱ_a (Cⁱ a_a)ᴴ to row a of `sums.gradient`, and the
/// lower triangle of Σ_i w_i λⁱ λⁱᵀ to `sums.gamma`. Returns Σ_i w_i cⁱ·λⁱ, the energy of the fit.
#[allow(clippy::needless_pass_by_value)] // the output `fitted` is borrowed mutably
pub fn accumulate_fit<T: Scalar>(task: FitTask<'_, T>, sums: &mut MomentSums<T>) -> f64 {
    let FitTask {
        components,
        inverse,
        block,
        weights,
        fitted,
    } = task;
    let (p, lanes) = (components.rows(), weights.len());
    assert_eq!(lanes % LANES, 0);
    assert_eq!(components.columns(), p);
    assert!(inverse.have_size(p));
    assert_eq!(planes(block, p, lanes), T::PLANES);
    assert_eq!(fitted.len(), p * lanes);
    assert_eq!((sums.gradient.rows(), sums.gamma.rows()), (p, p));
    let left = LeftFactor::new(components);
    let sums_len = LANES * T::PLANES * p * p;
    let mut scratch = Scratch::of_len(left.scratch_len() + sums_len + 4 * LANES * p + p * lanes);
    let (half, rest) = scratch.split_at_mut(left.scratch_len());
    let (products, rest) = rest.split_at_mut(sums_len);
    let (diagonals, rest) = rest.split_at_mut(2 * LANES * p);
    let (after_inner, weighted) = rest.split_at_mut(2 * LANES * p);
    run(Accumulate {
        left,
        right: &right(components),
        inverse,
        block,
        weights,
        fitted,
        gradient: reals_mut(sums.gradient.as_mut_slice()),
        gamma: &mut sums.gamma,
        half,
        products,
        diagonals,
        after_inner,
        weighted,
    })
}

// Not generic, so that real and complex matrices share the compiled kernel.
fn run(task: Accumulate<'_>) -> f64 {
    arch().dispatch(task)
}

struct Accumulate<'a> {
    /// Coefficients of Aᴴ as left factor of C.
    left: LeftFactor<'a>,
    /// Coefficients of A as right factor of C.
    right: &'a [f64],
    inverse: InverseFactors<'a>,
    block: &'a [f64],
    weights: &'a [f64],
    fitted: &'a mut [f64],
    /// Interleaved real and imaginary parts.
    gradient: &'a mut [f64],
    gamma: &'a mut Matrix,
    /// (a_aᴴ Cⁱ)_c for two vectors of matrices.
    half: &'a mut [f64],
    /// Partial sums of the gradient, [`LANES`] per number. A row consists of its real parts,
    /// followed by the imaginary parts.
    products: &'a mut [f64],
    /// cⁱ for two vectors of matrices.
    diagonals: &'a mut [f64],
    /// cⁱ for two vectors of matrices, multiplied by the inner factor of K⁻¹.
    after_inner: &'a mut [f64],
    /// w_i λⁱ_a, row a.
    weighted: &'a mut [f64],
}

impl WithSimd for Accumulate<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> f64 {
        let (p, stride) = (
            self.left.rows(),
            vectors_per_row::<f64, S>(self.weights.len()),
        );
        self.products.fill(0.0);
        let energy = with_vectors_per_group!(f64, S, H => {
            let mut energy = LaneSums::<f64, S, H>::zero(simd);
            for at in (0..stride - stride % 2).step_by(2) {
                self.slice::<S, 2, H>(simd, stride, at, &mut energy);
            }
            if stride % 2 == 1 {
                self.slice::<S, 1, H>(simd, stride, stride - 1, &mut energy);
            }
            energy.total()
        });
        add_rows(p, self.left.planes(), self.products, self.gradient);
        let (fitted, weighted) = (vectors::<S>(self.fitted), vectors::<S>(self.weighted));
        let row = |a: usize| a * stride..(a + 1) * stride;
        for a in 0..p {
            for b in 0..=a {
                self.gamma[(a, b)] += dot::<f64, S>(simd, &weighted[row(a)], &fitted[row(b)]);
            }
        }
        energy
    }
}

/// Adds numbers that are given as [`LANES`] partial sums each, in rows of p real parts followed by
/// the imaginary parts, to a matrix with interleaved parts.
pub(super) fn add_rows(p: usize, planes: usize, sums: &[f64], matrix: &mut [f64]) {
    let (sums, _) = sums.as_chunks::<LANES>();
    for (k, lanes) in sums[..planes * p * p].iter().enumerate() {
        let (row, part, column) = (k / (planes * p), k % (planes * p) / p, k % p);
        matrix[planes * (row * p + column) + part] += f64::sum_of_lanes(*lanes);
    }
}

/// Adds value·scaled for W vectors of matrices from `at` on to partial sums of H vectors each.
#[inline(always)]
pub(super) fn add_to_partial_sums<S: Simd, const W: usize, const H: usize>(
    simd: S,
    at: usize,
    values: &[S::f64s],
    scaled: [S::f64s; W],
    sums: &mut [S::f64s],
) {
    let (values, _) = values.as_chunks::<W>();
    let (sums, _) = sums.as_chunks_mut::<H>();
    for (sums, value) in sums.iter_mut().zip(values) {
        for w in 0..W {
            let sum = &mut sums[(at + w) % H];
            *sum = simd.mul_add_e_f64s(value[w], scaled[w], *sum);
        }
    }
}

impl Accumulate<'_> {
    /// Fits W vectors of matrices from `at` on, and adds their energies. H is the number of vectors
    /// per group.
    #[inline(always)]
    fn slice<S: Simd, const W: usize, const H: usize>(
        &mut self,
        simd: S,
        stride: usize,
        at: usize,
        energy: &mut LaneSums<f64, S, H>,
    ) {
        let (p, inner) = (self.left.rows(), self.left.planes() * self.left.rows());
        let block = vectors::<S>(self.block);
        let weights = &vectors::<S>(self.weights)[at..at + W];
        let half = &mut vectors_mut::<S>(self.half)[..self.left.half_len(W)];
        half_product::<S, f64, W>(simd, &self.left, block, stride, at, half);
        let diagonals = &mut vectors_mut::<S>(self.diagonals)[..p * W];
        let rows = half
            .chunks_exact(inner * W)
            .zip(self.right.chunks_exact(inner));
        for ((row, own), c) in rows.zip(diagonals.chunks_exact_mut(W)) {
            c.copy_from_slice(&combine::<S, W>(simd, own, row));
        }
        let scratch = &mut vectors_mut::<S>(self.after_inner)[..p * W];
        let operand = self.inverse.apply_inner::<S, W>(simd, diagonals, scratch);
        let fitted = vectors_mut::<S>(self.fitted);
        let weighted = vectors_mut::<S>(self.weighted);
        let products = vectors_mut::<S>(self.products);
        let mut energies = [simd.splat_f64s(0.0); W];
        for (a, row) in half.chunks_exact(inner * W).enumerate() {
            let lambda = combine::<S, W>(simd, self.inverse.outer.row(a), operand);
            let mut scaled = lambda;
            for w in 0..W {
                scaled[w] = simd.mul_f64s(weights[w], lambda[w]);
                energies[w] = simd.mul_add_e_f64s(scaled[w], diagonals[a * W + w], energies[w]);
            }
            fitted[a * stride + at..][..W].copy_from_slice(&lambda);
            weighted[a * stride + at..][..W].copy_from_slice(&scaled);
            let sums = &mut products[a * inner * H..(a + 1) * inner * H];
            add_to_partial_sums::<S, W, H>(simd, at, row, scaled, sums);
        }
        for w in 0..W {
            energy.add(simd, (at + w) % H, energies[w]);
        }
    }
}

/// Adds the contribution of one block to the p matrices Σ_i w_i λⁱ_a Cⁱ, stored as the row blocks
/// of a Hessian, for the λⁱ computed by [`accumulate_fit`].
pub fn accumulate_weighted(
    p: usize,
    block: &[f64],
    weights: &[f64],
    fitted: &[f64],
    rows: &mut [f64],
) {
    let lanes = weights.len();
    let planes = planes(block, p, lanes);
    assert_eq!(fitted.len(), p * lanes);
    let sum_len = block.len() / lanes * LANES;
    let mut scratch = Scratch::of_len(LANES * lanes + sum_len);
    let (coefficients, sum) = scratch.split_at_mut(LANES * lanes);
    let groups = rows.chunks_exact_mut(Triangle::new(planes * p).len() * LANES);
    for (own, group) in fitted.chunks(LANES * lanes).zip(groups) {
        coefficients.fill(0.0);
        let (columns, _) = coefficients.as_chunks_mut::<LANES>();
        for (l, row) in own.chunks_exact(lanes).enumerate() {
            for ((column, w), lambda) in columns.iter_mut().zip(weights).zip(row) {
                column[l] = w * lambda;
            }
        }
        if planes == 1 {
            combine_many(block, lanes, coefficients, group);
        } else {
            sum.fill(0.0);
            combine_many(block, lanes, coefficients, sum);
            let rows = group;
            arch().dispatch(AddPlanes { p, sum, rows });
        }
    }
}

/// Adds the two planes of a sum of complex matrices to row blocks of a Hessian.
struct AddPlanes<'a> {
    p: usize,
    sum: &'a [f64],
    rows: &'a mut [f64],
}

impl WithSimd for AddPlanes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (sum, rows) = (vectors::<S>(self.sum), vectors_mut::<S>(self.rows));
        add_planes::<f64, S>(simd, self.p, sum, rows, false);
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
    fn fit_sums_agree_with_plain_loops() {
        for (p, lanes) in [(1, 8), (2, 8), (3, 16), (5, 24), (9, 40), (16, 8)] {
            let triangle = Triangle::new(p);
            let block: Vec<f64> = (0..triangle.len() * lanes).map(number).collect();
            let weights: Vec<f64> = (0..lanes).map(|i| 0.1 + (i % 3) as f64).collect();
            let components = Matrix::from_fn(p, p, |a, b| number(5 * a + b));
            let inverse = Matrix::from_fn(p, p, |a, b| number(7 + a + 3 * b));
            let mut sums = MomentSums::new(p);
            let mut fitted = vec![0.0; p * lanes];
            let task = FitTask {
                components: &components,
                inverse: InverseFactors {
                    outer: &inverse,
                    inner: None,
                },
                block: &block,
                weights: &weights,
                fitted: &mut fitted,
            };
            let energy = accumulate_fit(task, &mut sums);
            let mut rows = vec![0.0; hessian_len(p, 1)];
            accumulate_weighted(p, &block, &weights, &fitted, &mut rows);

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
