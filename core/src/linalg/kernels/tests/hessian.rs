//! Tests of the row blocks of the Hessian and of Hessian-vector products.

use super::*;

/// Converts groups of eight row blocks to groups of sixteen.
fn regrouped<R: Real>(entries: usize, numbers: &[R]) -> Vec<R> {
    let groups = numbers.len() / (entries * LANES);
    let mut out = vec![R::zeroed(); groups.div_ceil(2) * entries * f32::LANES];
    for (at, number) in numbers.iter().enumerate() {
        let (group, entry, l) = (at / LANES / entries, at / LANES % entries, at % LANES);
        out[(group / 2 * entries + entry) * f32::LANES + group % 2 * LANES + l] = *number;
    }
    out
}

pub(super) fn hessians<T: Scalar>() {
    // All matrices have nonzero weight, all but the last three, or none.
    let depths = |(p, lanes): (usize, usize)| [lanes, lanes - 3, 0].map(|depth| (p, lanes, depth));
    for (p, lanes, depth) in SIZES.into_iter().flat_map(depths) {
        let (entries, matrices) = block::<T>(p, lanes);
        let mut w = weights(lanes);
        w[depth..].fill(0.0);
        let mut hessian = vec![0.0; hessian_len(p, T::PLANES)];
        accumulate_hessian(DiagonalFunction::Log, p, &entries, &w, &mut hessian, true);
        // Row a of the product with e: Σ_i w_i [ e_a D / D_aa − 2 Re⟨d_a, e_a⟩ d_a / D_aa² ].
        let row = |a: usize, e: &[T]| -> Vec<T> {
            let term = |d: &Matrix<T>, b: usize| {
                let power = d[(a, a)].real();
                let left: T = (0..p).map(|c| e[c] * d[(c, b)]).sum();
                let inner = (0..p)
                    .map(|c| (e[c] * d[(a, c)].conj()).real())
                    .sum::<f64>();
                left / power - d[(a, b)] * (2.0 * inner / (power * power))
            };
            let entry = |b: usize| matrices.iter().zip(&w).map(|(d, w)| term(d, b) * *w).sum();
            (0..p).map(entry).collect()
        };
        // Real parts, followed by imaginary parts.
        let (size, width) = (T::PLANES * p, p.next_multiple_of(LANES));
        let part = |z: T, k: usize| if k < p { z.real() } else { z.imaginary() };
        let place = |a: usize, b: usize| (a / LANES * size + b) * LANES + a % LANES;
        let e = square::<T>(p, 5);
        let mut operand = vec![0.0; width * size];
        let mut result = operand.clone();
        for (a, b) in (0..p).flat_map(|a| (0..size).map(move |b| (a, b))) {
            operand[place(a, b)] = part(e[(a, b % p)], b);
        }
        hessian_times(T::PLANES * p, &hessian, &operand, &mut result);
        let single: Vec<f32> = hessian.iter().map(|x| *x as f32).collect();
        // Single-precision groups are wider.
        let single = regrouped(Triangle::new(size).len(), &single);
        let wide: Vec<f32> = operand.iter().map(|x| *x as f32).collect();
        let wide = regrouped(size, &wide);
        let mut by_single = vec![0.0; wide.len()];
        hessian_times(size, &single, &wide, &mut by_single);
        let scale = result.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
        for (x, y) in by_single.iter().zip(regrouped(size, &result)) {
            assert!((f64::from(*x) - y).abs() < 1e-5 * scale, "{x} {y}");
        }
        let mut swept = Matrix::zeros(p, p);
        accumulate_product(DiagonalFunction::Log, &e, &entries, &w, &mut swept);
        let triangle = Triangle::new(size);
        for a in 0..p {
            let expected = row(a, e.row(a));
            for b in 0..size {
                assert_close(result[place(a, b)], part(expected[b % p], b));
            }
            (0..p).for_each(|b| assert_near(swept[(a, b)], expected[b]));
            // Column c of the row block is the product with a unit vector.
            for c in 0..size {
                let mut unit = vec![T::ZERO; p];
                unit[c % p] = if c < p {
                    T::ONE
                } else {
                    T::from_parts(0.0, 1.0)
                };
                let column = row(a, &unit);
                for b in c..size {
                    let at =
                        (a / LANES * triangle.len() + triangle.index(b, c)) * LANES + a % LANES;
                    assert_close(hessian[at], part(column[b % p], b));
                }
            }
        }
    }
}
