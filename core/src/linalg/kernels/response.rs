//! Directional derivative of the diagonals of a least-squares fit along a change E of A, and the
//! sums from which the exact Hessian follows: O(p²) per matrix, given the products Cⁱ A.

use pulp::{Simd, WithSimd};

use super::coefficients::{LeftFactor, right};
use super::diagonals::combine;
use super::fit::{InverseFactors, add_rows, add_to_partial_sums};
use super::lane_sums::{dot, with_vectors_per_group};
use super::moments::MomentSums;
use super::transform::half_product;
use super::{LANES, arch, planes, vectors, vectors_mut, vectors_per_row};
use crate::linalg::{Matrix, Scalar, Scratch, reals_mut};

/// Writes Aᴴ Cⁱ for the matrices of a block, p² numbers per matrix, in the layout that
/// [`accumulate_response`] reads.
pub fn fit_products<T: Scalar>(
    components: &Matrix<T>,
    block: &[f64],
    lanes: usize,
    products: &mut [f64],
) {
    let p = components.rows();
    assert_eq!(components.columns(), p);
    assert_eq!(lanes % LANES, 0);
    assert_eq!(planes(block, p, lanes), T::PLANES);
    assert_eq!(products.len(), T::PLANES * p * p * lanes);
    write_products(Products {
        components: LeftFactor::new(components),
        block,
        lanes,
        out: products,
    });
}

// Not generic, so that real and complex matrices share the compiled kernel.
fn write_products(task: Products<'_>) {
    arch().dispatch(task);
}

struct Products<'a> {
    components: LeftFactor<'a>,
    block: &'a [f64],
    lanes: usize,
    out: &'a mut [f64],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (stride, square) = (
            vectors_per_row::<f64, S>(self.lanes),
            self.components.half_len(1),
        );
        let block = vectors::<S>(self.block);
        let products = vectors_mut::<S>(self.out);
        for at in (0..stride - stride % 2).step_by(2) {
            let half = &mut products[at * square..(at + 2) * square];
            half_product::<S, f64, 2>(simd, &self.components, block, stride, at, half);
        }
        if stride % 2 == 1 {
            let half = &mut products[(stride - 1) * square..];
            half_product::<S, f64, 1>(simd, &self.components, block, stride, stride - 1, half);
        }
    }
}

/// Operands of the response of a block to a change E of A.
#[derive(Clone, Copy)]
pub struct ResponseTask<'a, T = f64> {
    /// Eᴴ: the change of one component per row.
    pub change: &'a Matrix<T>,
    /// Re ḡ∘(U + Uᴴ), with g = AᴴA and U = AᴴE, which is half the change of K.
    pub coupling: &'a Matrix,
    /// K⁻¹.
    pub inverse: InverseFactors<'a>,
    /// The products Aᴴ Cⁱ written by [`fit_products`].
    pub products: &'a [f64],
    /// The weights of the matrices.
    pub weights: &'a [f64],
    /// The diagonals λⁱ of the fit.
    pub fitted: &'a [f64],
}

/// Adds the contribution of one block, with δλⁱ = 2K⁻¹(qⁱ − Re(ḡ∘(U + Uᴴ))λⁱ) and
/// qⁱ_a = Re e_aᴴ Cⁱ a_a: Σ_i w_i δλⁱ_a (Cⁱ a_a)ᴴ to row a of `sums.gradient`, and Σ_i w_i δλⁱ λⁱᵀ
/// to `sums.gamma`.
pub fn accumulate_response<T: Scalar>(task: &ResponseTask<'_, T>, sums: &mut MomentSums<T>) {
    let (p, lanes) = (task.change.rows(), task.weights.len());
    assert_eq!(lanes % LANES, 0);
    assert_eq!(task.change.columns(), p);
    assert_eq!((task.coupling.rows(), task.coupling.columns()), (p, p));
    assert!(task.inverse.have_size(p));
    assert_eq!(task.products.len(), T::PLANES * p * p * lanes);
    assert_eq!(task.fitted.len(), p * lanes);
    assert_eq!((sums.gradient.rows(), sums.gamma.rows()), (p, p));
    let mut scratch = Scratch::of_len(LANES * p * (T::PLANES * p + 4) + p * lanes);
    let (totals, rest) = scratch.split_at_mut(LANES * T::PLANES * p * p);
    let (diagonals, rest) = rest.split_at_mut(2 * LANES * p);
    let (differences, weighted) = rest.split_at_mut(2 * LANES * p);
    run(Response {
        planes: T::PLANES,
        change: &right(task.change),
        coupling: task.coupling,
        inverse: task.inverse,
        products: task.products,
        weights: task.weights,
        fitted: task.fitted,
        gradient: reals_mut(sums.gradient.as_mut_slice()),
        gamma: &mut sums.gamma,
        totals,
        diagonals,
        differences,
        weighted,
    });
}

// Not generic, so that real and complex matrices share the compiled kernel.
fn run(task: Response<'_>) {
    arch().dispatch(task);
}

struct Response<'a> {
    planes: usize,
    /// Coefficients of E as right factor of Aᴴ Cⁱ.
    change: &'a [f64],
    coupling: &'a Matrix,
    inverse: InverseFactors<'a>,
    products: &'a [f64],
    weights: &'a [f64],
    fitted: &'a [f64],
    /// Interleaved real and imaginary parts.
    gradient: &'a mut [f64],
    gamma: &'a mut Matrix,
    /// Partial sums of the gradient, [`LANES`] per number. A row consists of its real parts,
    /// followed by the imaginary parts.
    totals: &'a mut [f64],
    /// λⁱ for two vectors of matrices.
    diagonals: &'a mut [f64],
    /// The right-hand sides that K⁻¹ is applied to.
    differences: &'a mut [f64],
    /// w_i δλⁱ_a, row a.
    weighted: &'a mut [f64],
}

impl WithSimd for Response<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let p = self.coupling.rows();
        let stride = vectors_per_row::<f64, S>(self.weights.len());
        self.totals.fill(0.0);
        with_vectors_per_group!(f64, S, H => {
            for at in (0..stride - stride % 2).step_by(2) {
                self.slice::<S, 2, H>(simd, stride, at);
            }
            if stride % 2 == 1 {
                self.slice::<S, 1, H>(simd, stride, stride - 1);
            }
        });
        add_rows(p, self.planes, self.totals, self.gradient);
        let (fitted, weighted) = (vectors::<S>(self.fitted), vectors::<S>(self.weighted));
        let row = |a: usize| a * stride..(a + 1) * stride;
        for a in 0..p {
            for b in 0..p {
                self.gamma[(a, b)] += dot::<f64, S>(simd, &weighted[row(a)], &fitted[row(b)]);
            }
        }
    }
}

impl Response<'_> {
    #[inline(always)]
    fn slice<S: Simd, const W: usize, const H: usize>(
        &mut self,
        simd: S,
        stride: usize,
        at: usize,
    ) {
        let p = self.coupling.rows();
        let inner = self.planes * p;
        let products = &vectors::<S>(self.products)[at * p * inner..(at + W) * p * inner];
        let weights = &vectors::<S>(self.weights)[at..at + W];
        let fitted = vectors::<S>(self.fitted);
        let diagonals = &mut vectors_mut::<S>(self.diagonals)[..p * W];
        for (a, own) in diagonals.chunks_exact_mut(W).enumerate() {
            own.copy_from_slice(&fitted[a * stride + at..][..W]);
        }
        let differences = &mut vectors_mut::<S>(self.differences)[..p * W];
        let rows = products.chunks_exact(inner * W);
        for (a, (row, out)) in rows.zip(differences.chunks_exact_mut(W)).enumerate() {
            let direct = combine::<S, W>(simd, &self.change[a * inner..][..inner], row);
            let coupled = combine::<S, W>(simd, self.coupling.row(a), diagonals);
            for w in 0..W {
                let half = simd.sub_f64s(direct[w], coupled[w]);
                out[w] = simd.add_f64s(half, half);
            }
        }
        // The memory of the λⁱ is reused as scratch.
        let operand = self
            .inverse
            .apply_inner::<S, W>(simd, differences, diagonals);
        let weighted = vectors_mut::<S>(self.weighted);
        let totals = vectors_mut::<S>(self.totals);
        for (a, row) in products.chunks_exact(inner * W).enumerate() {
            let mut scaled = combine::<S, W>(simd, self.inverse.outer.row(a), operand);
            for w in 0..W {
                scaled[w] = simd.mul_f64s(weights[w], scaled[w]);
            }
            weighted[a * stride + at..][..W].copy_from_slice(&scaled);
            let sums = &mut totals[a * inner * H..(a + 1) * inner * H];
            add_to_partial_sums::<S, W, H>(simd, at, row, scaled, sums);
        }
    }
}
