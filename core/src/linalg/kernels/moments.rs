//! The sums over a block that make gradient and Γ.
#![allow(unsafe_code)]

use pulp::{Arch, Simd, WithSimd};

use super::{Real, planes, vectors_per_row};
use crate::criterion::Criterion;
use crate::linalg::{Matrix, Scalar, Scratch, Triangle, reals_mut};

/// The sums of one pass, all p×p or p, over the matrices seen so far.
#[derive(Clone, Debug)]
pub struct MomentSums<T = f64> {
    /// Σ_i w_i Dⁱ_ab / Dⁱ_aa, off the diagonal.
    pub gradient: Matrix<T>,
    /// Σ_i w_i Dⁱ_bb / Dⁱ_aa.
    pub gamma: Matrix,
}

impl<T: Scalar> MomentSums<T> {
    /// No matrices yet.
    pub fn new(p: usize) -> Self {
        Self {
            gradient: Matrix::zeros(p, p),
            gamma: Matrix::zeros(p, p),
        }
    }

    /// Adds the sums over other matrices.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.gradient, &other.gradient);
        add(&mut self.gamma, &other.gamma);
    }
}

fn add<T: Scalar>(mine: &mut Matrix<T>, theirs: &Matrix<T>) {
    for (x, y) in mine.as_mut_slice().iter_mut().zip(theirs.as_slice()) {
        *x += *y;
    }
}

/// Adds one block's share.
pub fn accumulate_moments<T: Scalar, R: Real>(
    criterion: Criterion,
    p: usize,
    block: &[R],
    weights: &[f64],
    sums: &mut MomentSums<T>,
) {
    let lanes = weights.len();
    assert_eq!(lanes % R::LANES, 0);
    assert_eq!(planes(block, p, lanes), T::PLANES);
    assert_eq!((sums.gradient.rows(), sums.gamma.rows()), (p, p));
    let mut scratch = Scratch::new();
    run(Moments {
        criterion,
        p,
        planes: T::PLANES,
        lanes,
        block,
        weights,
        gradient: reals_mut(sums.gradient.as_mut_slice()),
        gamma: sums.gamma.as_mut_slice(),
        first_weights: scratch.room(p * lanes),
    });
}

/// Apart, so that it is compiled for real and complex matrices at once.
#[inline(never)]
fn run<R: Real>(task: Moments<'_, R>) {
    Arch::new().dispatch(task);
}

struct Moments<'a, R> {
    criterion: Criterion,
    p: usize,
    planes: usize,
    lanes: usize,
    block: &'a [R],
    weights: &'a [f64],
    /// The parts of its entries one after the other.
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
            criterion,
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
                *u = R::rounded(criterion.first_weight(*w, d.widened()));
            }
        }
        let stride = vectors_per_row::<R, S>(lanes);
        let block = R::vectors::<S>(block);
        let u = R::vectors::<S>(first_weights);
        for a in 0..p {
            let u_a = &u[a * stride..(a + 1) * stride];
            let d_a = &block[triangle.diagonal(a) * stride..][..stride];
            gamma[a * p + a] += R::sum(simd, dot::<R, S>(simd, u_a, d_a));
            for b in 0..a {
                let d = &block[triangle.index(a, b) * stride..][..stride];
                let u_b = &u[b * stride..(b + 1) * stride];
                let d_b = &block[triangle.diagonal(b) * stride..][..stride];
                let mut dots = [R::splat(simd, R::zeroed()); 4];
                for v in 0..stride {
                    // SAFETY: all five slices were cut to `stride` vectors.
                    unsafe {
                        let (d, u_a, u_b) = (
                            *d.get_unchecked(v),
                            *u_a.get_unchecked(v),
                            *u_b.get_unchecked(v),
                        );
                        dots[0] = R::mul_add(simd, d, u_a, dots[0]);
                        dots[1] = R::mul_add(simd, d, u_b, dots[1]);
                        dots[2] = R::mul_add(simd, *d_b.get_unchecked(v), u_a, dots[2]);
                        dots[3] = R::mul_add(simd, *d_a.get_unchecked(v), u_b, dots[3]);
                    }
                }
                let (ab, ba) = (planes * (a * p + b), planes * (b * p + a));
                gradient[ab] += R::sum(simd, dots[0]);
                gradient[ba] += R::sum(simd, dots[1]);
                if planes == 2 {
                    let d = &block[(triangle.len() + triangle.index(a, b)) * stride..][..stride];
                    gradient[ab + 1] += R::sum(simd, dot::<R, S>(simd, u_a, d));
                    gradient[ba + 1] -= R::sum(simd, dot::<R, S>(simd, u_b, d));
                }
                gamma[a * p + b] += R::sum(simd, dots[2]);
                gamma[b * p + a] += R::sum(simd, dots[3]);
            }
        }
    }
}

#[inline(always)]
pub(super) fn dot<R: Real, S: Simd>(
    simd: S,
    x: &[R::Vector<S>],
    y: &[R::Vector<S>],
) -> R::Vector<S> {
    let mut sum = R::splat(simd, R::zeroed());
    for (x, y) in x.iter().zip(y) {
        sum = R::mul_add(simd, *x, *y, sum);
    }
    sum
}
