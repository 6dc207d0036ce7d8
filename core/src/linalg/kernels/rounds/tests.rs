//! Tests of rounds against matrix products, for every SIMD width.

use pulp::{Scalar as One, Scalar128b, Scalar256b, Scalar512b};

use super::*;
use crate::linalg::{Matrix, c64, product, product_adjoint};

const P: usize = 6;

/// Two blocks of matrices, and the matrices themselves.
fn examples<T: Scalar>() -> (Vec<f32>, Vec<Matrix<T>>) {
    let triangle = Triangle::new(P);
    let plane = triangle.len() * ROUND_LANES;
    let number = |k: usize| ((k * 37 + 11) % 23) as f32 / 11.5 - 1.0;
    let mut blocks: Vec<f32> = (0..2 * T::PLANES * plane).map(number).collect();
    if T::PLANES == 2 {
        for imaginary in blocks.chunks_exact_mut(plane).skip(1).step_by(2) {
            for a in 0..P {
                imaginary[triangle.diagonal(a) * ROUND_LANES..][..ROUND_LANES].fill(0.0);
            }
        }
    }
    let matrices = (0..2 * ROUND_LANES).map(|k| matrix(&blocks, k)).collect();
    (blocks, matrices)
}

fn matrix<T: Scalar>(blocks: &[f32], k: usize) -> Matrix<T> {
    let triangle = Triangle::new(P);
    let plane = triangle.len() * ROUND_LANES;
    let block = &blocks[k / ROUND_LANES * T::PLANES * plane..];
    Matrix::from_fn(P, P, |a, b| {
        let place = triangle.index(a, b) * ROUND_LANES + k % ROUND_LANES;
        let imaginary = if T::PLANES == 2 {
            block[plane + place]
        } else {
            0.0
        };
        let entry = T::from_parts(block[place].into(), imaginary.into());
        if a >= b { entry } else { entry.conj() }
    })
}

/// Three pairs, one of which is not rotated.
fn pairs() -> [RotatedPair; 3] {
    let rotated = |a, b, angle: f32, phase: f32| RotatedPair {
        cosine: angle.cos(),
        sine: [angle.sin() * phase.cos(), angle.sin() * phase.sin()],
        ..RotatedPair::identity((a, b))
    };
    [
        rotated(3, 0, 0.4, 0.0),
        rotated(4, 2, -0.7, 0.0),
        RotatedPair::identity((5, 1)),
    ]
}

/// Performs a round with one SIMD width.
fn rotated<S: Simd, const PLANES: usize>(
    simd: S,
    blocks: &[f32],
    pairs: &[RotatedPair],
) -> Vec<f32> {
    let mut blocks = blocks.to_vec();
    let round = Round::<PLANES> {
        p: P,
        blocks: &mut blocks,
        pairs,
    };
    round.with_simd(simd);
    blocks
}

fn assert_rotated<T: Scalar, const PLANES: usize>(pairs: &[RotatedPair]) {
    let (blocks, matrices) = examples::<T>();
    let mut rotation = Matrix::<T>::identity(P);
    for pair in pairs {
        let (a, b) = (pair.a, pair.b);
        let sine = T::from_parts(pair.sine[0].into(), pair.sine[1].into());
        rotation[(a, a)] = T::from_real(pair.cosine.into());
        rotation[(b, b)] = rotation[(a, a)];
        (rotation[(a, b)], rotation[(b, a)]) = (sine, -sine.conj());
    }
    let all = [
        rotated::<_, PLANES>(One, &blocks, pairs),
        rotated::<_, PLANES>(Scalar128b, &blocks, pairs),
        rotated::<_, PLANES>(Scalar256b, &blocks, pairs),
        rotated::<_, PLANES>(Scalar512b, &blocks, pairs),
        {
            let mut blocks = blocks;
            rotate_round(P, PLANES, &mut blocks, pairs);
            blocks
        },
    ];
    for blocks in all {
        for (k, d) in matrices.iter().enumerate() {
            let expected = product_adjoint(&product(&rotation, d), &rotation);
            let found = matrix::<T>(&blocks, k);
            for (x, y) in found.as_slice().iter().zip(expected.as_slice()) {
                assert!((*x - *y).abs() < 1e-5, "{x:?} {y:?}");
            }
        }
    }
}

#[test]
fn round_agrees_with_matrix_products() {
    assert_rotated::<f64, 1>(&pairs());
    let mut pairs = pairs();
    pairs[0].sine = [
        0.3,
        pairs[0].sine[0].mul_add(pairs[0].sine[0], -0.09).sqrt(),
    ];
    pairs[1].sine = [
        -0.5,
        pairs[1].sine[0].mul_add(pairs[1].sine[0], -0.25).sqrt(),
    ];
    assert_rotated::<c64, 2>(&pairs);
}

fn summed<T: Scalar, S: Simd>(
    simd: S,
    blocks: &[f32],
    pairs: &[RotatedPair],
) -> Vec<RotationSums<T>> {
    let mut sums = vec![RotationSums::default(); pairs.len()];
    let task = Sums {
        p: P,
        blocks,
        pairs,
        out: &mut sums,
    };
    task.with_simd(simd);
    sums
}

fn assert_sums<T: Scalar>() {
    let (blocks, matrices) = examples::<T>();
    let pairs = pairs();
    let mut dispatched = vec![RotationSums::<T>::default(); pairs.len()];
    rotation_sums_of_round(P, &blocks, &pairs, &mut dispatched);
    let all = [
        summed::<T, _>(One, &blocks, &pairs),
        summed::<T, _>(Scalar128b, &blocks, &pairs),
        summed::<T, _>(Scalar256b, &blocks, &pairs),
        summed::<T, _>(Scalar512b, &blocks, &pairs),
        dispatched,
    ];
    for (k, pair) in pairs.iter().enumerate() {
        let mut expected = RotationSums::<T>::default();
        for d in &matrices {
            let h = (d[(pair.a, pair.a)] - d[(pair.b, pair.b)]).real();
            let g = d[(pair.a, pair.b)] * 2.0;
            expected += RotationSums {
                on: h * h - g.real() * g.real(),
                off: g * (2.0 * h),
                square: if T::PLANES == 2 { g * g } else { T::ZERO },
            };
        }
        for sums in all.iter().map(|sums| sums[k]) {
            assert!((sums.on - expected.on).abs() < 1e-4);
            assert!((sums.off - expected.off).abs() < 1e-4);
            assert!((sums.square - expected.square).abs() < 1e-4);
        }
    }
}

#[test]
fn rotation_sums_agree_with_their_definition() {
    assert_sums::<f64>();
    assert_sums::<c64>();
}
