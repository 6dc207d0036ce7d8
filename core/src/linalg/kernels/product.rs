//! Hessian-vector products computed from the matrices of a block, without forming the Hessian.

use pulp::{Simd, WithSimd};

use super::DiagonalFunction;
use super::coefficients::LeftFactor;
use super::fit::add_rows;
use super::transform::half_product;
use super::{LANES, arch, planes, vectors, vectors_mut, vectors_per_group, vectors_per_row};
use crate::linalg::{Matrix, Scalar, Scratch, Triangle, reals_mut};

/// Adds the contribution of a block to the product of the Hessian with `e`, except for the term
/// that transposes `e`: Σ_i [ u_ia F_ab + v_ia D_ab Re F_aa ] with F = E D and the weights u and v
/// of the criterion. This takes 2p³ flops per matrix, 8p³ if they are complex.
pub fn accumulate_product<T: Scalar>(
    function: DiagonalFunction,
    e: &Matrix<T>,
    block: &[f64],
    weights: &[f64],
    sums: &mut Matrix<T>,
) {
    let (p, lanes) = (e.rows(), weights.len());
    assert_eq!(lanes % LANES, 0);
    assert_eq!(planes(block, p, lanes), T::PLANES);
    assert_eq!(e.columns(), p);
    assert_eq!((sums.rows(), sums.columns()), (p, p));
    let left = LeftFactor::new(e);
    let totals_len = LANES * T::PLANES * p * p;
    let mut scratch = Scratch::of_len(left.scratch_len() + 2 * p * lanes + totals_len);
    let (tables, rest) = scratch.split_at_mut(2 * p * lanes);
    let (totals, half) = rest.split_at_mut(totals_len);
    let (first, second) = tables.split_at_mut(p * lanes);
    run(Product {
        function,
        left,
        block,
        weights,
        sums: reals_mut(sums.as_mut_slice()),
        first,
        second,
        totals,
        half,
    });
}

// Not generic, so that real and complex matrices share the compiled kernel.
fn run(task: Product<'_>) {
    arch().dispatch(task);
}

struct Product<'a> {
    function: DiagonalFunction,
    left: LeftFactor<'a>,
    block: &'a [f64],
    weights: &'a [f64],
    /// Interleaved real and imaginary parts.
    sums: &'a mut [f64],
    /// u, one row of `lanes` numbers per component.
    first: &'a mut [f64],
    /// −v, one row of `lanes` numbers per component.
    second: &'a mut [f64],
    /// Partial sums of the product, [`LANES`] per number. A row consists of its real parts,
    /// followed by the imaginary parts.
    totals: &'a mut [f64],
    half: &'a mut [f64],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (planes, p) = (self.left.planes(), self.left.columns());
        let (triangle, lanes) = (Triangle::new(p), self.weights.len());
        let rows = self.first.chunks_exact_mut(lanes);
        for (a, (u, v)) in rows.zip(self.second.chunks_exact_mut(lanes)).enumerate() {
            let power = &self.block[triangle.diagonal(a) * lanes..][..lanes];
            for i in 0..lanes {
                let (w, d) = (self.weights[i], power[i]);
                u[i] = self.function.first_weight(w, d);
                v[i] = self
                    .function
                    .second_weight_root((2.0 * w).sqrt(), d)
                    .powi(2);
            }
        }
        let block = vectors::<S>(self.block);
        let (first, second) = (vectors::<S>(self.first), vectors::<S>(self.second));
        let half = &mut vectors_mut::<S>(self.half)[..self.left.half_len(1)];
        let stride = vectors_per_row::<f64, S>(lanes);
        let per_group = vectors_per_group::<f64, S>();
        self.totals.fill(0.0);
        let totals = vectors_mut::<S>(self.totals);
        for at in 0..stride {
            half_product::<S, f64, 1>(simd, &self.left, block, stride, at, half);
            for a in 0..p {
                let u = first[a * stride + at];
                let row = &half[planes * a * p..];
                let t = simd.mul_f64s(second[a * stride + at], row[a]);
                let mut add = |part: usize, b: usize, d: S::f64s| {
                    let place = ((planes * a + part) * p + b) * per_group + at % per_group;
                    let term = simd.mul_f64s(row[part * p + b], u);
                    let term = simd.negate_mul_add_e_f64s(d, t, term);
                    totals[place] = simd.add_f64s(totals[place], term);
                };
                for b in 0..p {
                    let place = triangle.index(a, b) * stride + at;
                    add(0, b, block[place]);
                    if planes == 2 {
                        let d = block[triangle.len() * stride + place];
                        add(1, b, if a < b { simd.neg_f64s(d) } else { d });
                    }
                }
            }
        }
        add_rows(p, planes, self.totals, self.sums);
    }
}
