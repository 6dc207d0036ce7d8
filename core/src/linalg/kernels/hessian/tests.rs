//! Row blocks and their products, in vectors of every width.

use pulp::{Scalar, Scalar128b, Scalar256b, Scalar512b};

use super::super::ReadAs;
use super::super::hessian_times::Times;
use super::*;

/// Row blocks and product of one set, in vectors of one width.
fn in_vectors<R: Real + ReadAs<R> + ReadAs<f64>, S: Simd>(
    simd: S,
    p: usize,
    planes: usize,
) -> Vec<f64> {
    let (lanes, width) = (2 * R::LANES, p.next_multiple_of(R::LANES));
    let block: Vec<R> = (0..planes * Triangle::new(p).len() * lanes)
        .map(|k| R::rounded(1.0 + 0.1 * ((k * 7) % 11) as f64))
        .collect();
    // Of odd sizes, the last matrices do not count.
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
        criterion: Criterion::Likelihood,
        p,
        block: &block,
        weights: &weights,
        first: 0,
        hessian: &mut hessian,
        begins: true,
        scale: &mut table(width * lanes),
        first_transposed: &mut table(width * lanes),
        root_weights: &mut table(lanes),
        scaled_rows: &mut table(R::LANES * planes * p * lanes),
        first_sum: &mut table((planes - 1) * 2 * Triangle::new(p).len() * R::LANES),
    }
    .with_simd(simd);
    let size = planes * p;
    let e: Vec<f64> = (0..width * size)
        .map(|k| 0.1 * (k % 7) as f64 - 0.2)
        .collect();
    let mut product = vec![f64::NAN; e.len()];
    Times {
        size,
        hessian: &hessian,
        units: &[],
        e: &e,
        out: &mut product,
    }
    .with_simd(simd);
    // Sums in the precision of the row blocks.
    let rounded: Vec<R> = e.iter().map(|x| R::rounded(*x)).collect();
    let mut by_rounded = table(e.len());
    Times {
        size,
        hessian: &hessian,
        units: &[],
        e: &rounded,
        out: &mut by_rounded,
    }
    .with_simd(simd);
    let numbers = hessian.into_iter().chain(by_rounded).map(R::widened);
    numbers.chain(product).collect()
}

fn assert_all_widths<R: Real + ReadAs<R> + ReadAs<f64>>(tolerance: f64) {
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
fn every_width_of_vectors_gives_the_same_numbers() {
    assert_all_widths::<f64>(1e-12);
    assert_all_widths::<f32>(1e-4);
}

/// The product of whole numbers in units, in vectors of one width.
fn of_whole_numbers<S: Simd>(simd: S, size: usize) -> Vec<f32> {
    let triangle = Triangle::new(size);
    let numbers = |len: usize| (0..len).map(|k| (k * 37 % 101) as f32 - 50.0);
    let rows: Vec<i16> = numbers(triangle.len() * f32::LANES)
        .map(|x| x as i16)
        .collect();
    let units: Vec<f32> = numbers(size * f32::LANES).map(|x| 0.1 * x.abs()).collect();
    let e: Vec<f32> = numbers(size * f32::LANES).map(|x| 0.02 * x).collect();
    let mut out = vec![f32::NAN; e.len()];
    Times {
        size,
        hessian: &rows,
        units: &units,
        e: &e,
        out: &mut out,
    }
    .with_simd(simd);
    // Each entry is that of the row of the larger number.
    for (b, l) in (0..size).flat_map(|b| (0..f32::LANES).map(move |l| (b, l))) {
        let terms = (0..size).map(|c| {
            let unit = units[b.max(c) * f32::LANES + l];
            f32::from(rows[triangle.index(b, c) * f32::LANES + l]) * unit * e[c * f32::LANES + l]
        });
        let (sum, found) = (terms.sum::<f32>(), out[b * f32::LANES + l]);
        assert!(
            (sum - found).abs() <= 1e-3 * (1.0 + sum.abs()),
            "{sum} {found}"
        );
    }
    out
}

#[test]
fn whole_numbers_in_units_of_their_rows_give_the_product_in_every_width() {
    for size in [1, 2, 3, 6, 17] {
        let expected = of_whole_numbers(Scalar, size);
        for numbers in [
            of_whole_numbers(Scalar128b, size),
            of_whole_numbers(Scalar256b, size),
            of_whole_numbers(Scalar512b, size),
        ] {
            for (x, y) in numbers.iter().zip(&expected) {
                assert!(
                    (x - y).abs() <= 1e-4 * (1.0 + y.abs()),
                    "size {size}: {x} {y}"
                );
            }
        }
    }
}
