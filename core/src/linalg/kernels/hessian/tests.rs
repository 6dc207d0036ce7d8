//! Tests that row blocks and their products do not depend on the SIMD width.

use pulp::{Scalar, Scalar128b, Scalar256b, Scalar512b};

use super::super::hessian_times::HessianTimes;
use super::*;

/// Returns the row blocks of a set and their product with a matrix, computed with one SIMD width.
fn in_vectors<R: Real, S: Simd>(simd: S, p: usize, planes: usize) -> Vec<f64> {
    let (lanes, width) = (2 * R::LANES, p.next_multiple_of(R::LANES));
    let block: Vec<R> = (0..planes * Triangle::new(p).len() * lanes)
        .map(|k| R::rounded(1.0 + 0.1 * ((k * 7) % 11) as f64))
        .collect();
    // The last matrices have weight 0.
    let depth = if p % 2 == 1 { lanes - 5 } else { lanes };
    let weight = |i: usize| {
        if i < depth {
            0.01 * (1 + i % 3) as f64
        } else {
            0.0
        }
    };
    let weights: Vec<f64> = (0..lanes).map(weight).collect();
    let table = |len: usize| vec![R::rounded(f64::NAN); len];
    let mut hessian = table(hessian_len_in::<R>(p, planes));
    Accumulate {
        function: DiagonalFunction::Log,
        p,
        block: &block,
        weights: &weights,
        first: 0,
        hessian: &mut hessian,
        overwrite: true,
        scale: &mut table(width * lanes),
        first_transposed: &mut table(width * lanes),
        root_weights: &mut table(lanes),
        scaled_rows: &mut table(R::LANES * planes * p * lanes),
        first_sum: &mut table((planes - 1) * 2 * Triangle::new(p).len() * R::LANES),
    }
    .with_simd(simd);
    let size = planes * p;
    let e: Vec<R> = (0..width * size)
        .map(|k| R::rounded(0.1 * (k % 7) as f64 - 0.2))
        .collect();
    let mut product = table(e.len());
    HessianTimes {
        size,
        hessian: &hessian,
        e: &e,
        out: &mut product,
    }
    .with_simd(simd);
    let numbers = hessian.into_iter().chain(product);
    numbers.map(R::widened).collect()
}

fn assert_all_widths<R: Real>(tolerance: f64) {
    let sizes = [1, 2, 3, 5, 8, 9, 12, 17, 50];
    for (p, planes) in sizes.into_iter().flat_map(|p| [(p, 1), (p, 2)]) {
        let expected = in_vectors::<R, _>(Scalar, p, planes);
        assert!(expected.iter().all(|x| x.is_finite()));
        let others = [
            in_vectors::<R, _>(Scalar128b, p, planes),
            in_vectors::<R, _>(Scalar256b, p, planes),
            in_vectors::<R, _>(Scalar512b, p, planes),
        ];
        for numbers in others {
            for (x, y) in numbers.iter().zip(&expected) {
                let close = (x - y).abs() <= tolerance * (1.0 + y.abs());
                assert!(close, "p {p}: {x} {y}");
            }
        }
    }
}

#[test]
fn row_blocks_agree_for_all_simd_widths() {
    assert_all_widths::<f64>(1e-12);
    assert_all_widths::<f32>(1e-4);
}
