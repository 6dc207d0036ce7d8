//! Sums over a block from which the gradient and Γ follow.

use pulp::{Simd, WithSimd};

use super::DiagonalFunction;
use super::lane_sums::{LaneSums, dot, with_vectors_per_group};
use super::{Real, arch, planes, vectors_per_row};
use crate::linalg::{Matrix, Scalar, Scratch, Triangle, reals_mut};

/// The sums for gradient and Γ over the matrices accumulated so far.
#[derive(Clone, Debug)]
pub struct MomentSums<T = f64> {
    /// Σ_i w_i Dⁱ_ab / Dⁱ_aa off the diagonal; the diagonal is not used.
    pub gradient: Matrix<T>,
    /// Σ_i w_i Dⁱ_bb / Dⁱ_aa.
    pub gamma: Matrix,
}

impl<T: Scalar> MomentSums<T> {
    /// Sums over no matrices, which are zero.
    pub fn new(p: usize) -> Self {
        Self {
            gradient: Matrix::zeros(p, p),
            gamma: Matrix::zeros(p, p),
        }
    }

    /// Sets all sums to zero.
    pub fn clear(&mut self) {
        self.gradient.as_mut_slice().fill(T::ZERO);
        self.gamma.as_mut_slice().fill(0.0);
    }
}

/// Adds the contribution of one block to the sums.
pub fn accumulate_moments<T: Scalar, R: Real>(
    function: DiagonalFunction,
    p: usize,
    block: &[R],
    weights: &[f64],
    sums: &mut MomentSums<T>,
) {
    let lanes = weights.len();
    assert_eq!(lanes % R::LANES, 0);
    assert_eq!(planes(block, p, lanes), T::PLANES);
    assert_eq!((sums.gradient.rows(), sums.gamma.rows()), (p, p));
    run(Moments {
        function,
        p,
        planes: T::PLANES,
        lanes,
        block,
        weights,
        gradient: reals_mut(sums.gradient.as_mut_slice()),
        gamma: sums.gamma.as_mut_slice(),
        first_weights: &mut Scratch::of_len(p * lanes),
    });
}

// Not generic over the scalar, so that real and complex matrices share the compiled kernel.
#[inline(never)]
fn run<R: Real>(task: Moments<'_, R>) {
    arch().dispatch(task);
}

struct Moments<'a, R> {
    function: DiagonalFunction,
    p: usize,
    planes: usize,
    lanes: usize,
    block: &'a [R],
    weights: &'a [f64],
    /// Interleaved real and imaginary parts.
    gradient: &'a mut [f64],
    gamma: &'a mut [f64],
    /// u = w_i 2φ'(D_aa), row a.
    first_weights: &'a mut [R],
}

impl<R: Real> WithSimd for Moments<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            function,
            p,
            planes,
            lanes,
            block,
            weights,
            gradient,
            gamma,
            first_weights,
        } = self;
        let triangle = Triangle::new(p);
        for a in 0..p {
            let power = &block[triangle.diagonal(a) * lanes..][..lanes];
            let out = &mut first_weights[a * lanes..(a + 1) * lanes];
            for ((u, w), d) in out.iter_mut().zip(weights).zip(power) {
                *u = R::rounded(function.first_weight(*w, d.widened()));
            }
        }
        let stride = vectors_per_row::<R, S>(lanes);
        let block = R::vectors::<S>(block);
        let u = R::vectors::<S>(first_weights);
        let row = |entry: usize| &block[entry * stride..][..stride];
        for a in 0..p {
            let u_a = &u[a * stride..(a + 1) * stride];
            let d_a = row(triangle.diagonal(a));
            gamma[a * p + a] += dot::<R, S>(simd, u_a, d_a);
            for b in 0..a {
                let u_b = &u[b * stride..(b + 1) * stride];
                let rows = [
                    row(triangle.index(a, b)),
                    u_a,
                    u_b,
                    d_a,
                    row(triangle.diagonal(b)),
                ];
                let [g_ab, g_ba, gamma_ab, gamma_ba] = dots_of_pair::<R, S>(simd, rows);
                let (ab, ba) = (planes * (a * p + b), planes * (b * p + a));
                gradient[ab] += g_ab;
                gradient[ba] += g_ba;
                if planes == 2 {
                    let d = row(triangle.len() + triangle.index(a, b));
                    gradient[ab + 1] += dot::<R, S>(simd, u_a, d);
                    gradient[ba + 1] -= dot::<R, S>(simd, u_b, d);
                }
                gamma[a * p + b] += gamma_ab;
                gamma[b * p + a] += gamma_ba;
            }
        }
    }
}

/// Returns Σ D_ab u_a, Σ D_ab u_b, Σ D_bb u_a and Σ D_aa u_b, from the rows D_ab, u_a, u_b, D_aa
/// and D_bb.
#[inline(always)]
fn dots_of_pair<R: Real, S: Simd>(
    simd: S,
    [d, u_a, u_b, d_a, d_b]: [&[R::Vector<S>]; 5],
) -> [f64; 4] {
    with_vectors_per_group!(R, S, H => {
        let [d, u_a, u_b, d_a, d_b] = [d, u_a, u_b, d_a, d_b].map(|row| row.as_chunks::<H>().0);
        let mut dots = [LaneSums::<R, S, H>::zero(simd); 4];
        let entries = d.iter().zip(u_a.iter().zip(u_b));
        for ((d, (u_a, u_b)), (d_a, d_b)) in entries.zip(d_a.iter().zip(d_b)) {
            for h in 0..H {
                dots[0].add_product(simd, h, d[h], u_a[h]);
                dots[1].add_product(simd, h, d[h], u_b[h]);
                dots[2].add_product(simd, h, d_b[h], u_a[h]);
                dots[3].add_product(simd, h, d_a[h], u_b[h]);
            }
        }
        dots.map(LaneSums::total)
    })
}
