//! Random test matrices for the sketch of Σ_i w_i Cⁱ ⊗ Cⁱ.

use super::SplitMix;
use super::spectral::{Combinations, MAX_COMBINATIONS, Row, congruent};
use crate::linalg::kernels::dispatch;
use crate::linalg::{Matrix, Scalar, Triangle};

/// Returns `count` symmetric (Hermitian) S with random signs as entries; the others are zero.
pub(super) fn rademacher<T: Scalar>(p: usize, count: usize, seed: u64) -> Combinations<T> {
    let mut random = SplitMix(seed);
    let mut test_matrices = Combinations::<T>::zeros(p, MAX_COMBINATIONS);
    for row in test_matrices.rows_mut() {
        row.copy_from_slice(&random_signs(random.bits(), count));
    }
    let triangle = Triangle::new(p);
    let imaginary = test_matrices.rows_mut().skip(triangle.len());
    for ((a, b), row) in triangle.pairs().zip(imaginary) {
        if a == b {
            row.fill(0.0);
        }
    }
    test_matrices
}

/// Size p from which low-rank test matrices are used, which are cheaper to transform.
const LOW_RANK_FROM_P: usize = 16;

/// Returns Tᴴ S T for a frame T and `count` random S of trace zero.
pub(super) fn traceless<T: Scalar>(frame: &Matrix<T>, count: usize, seed: u64) -> Combinations<T> {
    let p = frame.rows();
    if p >= LOW_RANK_FROM_P {
        return low_rank(frame, count, seed);
    }
    let mut test_matrices = rademacher::<T>(p, count, seed);
    let mut mean = [0.0; MAX_COMBINATIONS];
    for a in 0..p {
        let diagonal = mean.iter_mut().zip(test_matrices.diagonal(a));
        diagonal.for_each(|(mean, x)| *mean += x / p as f64);
    }
    for a in 0..p {
        let diagonal = test_matrices.diagonal_mut(a).iter_mut().zip(&mean);
        diagonal.for_each(|(x, mean)| *x -= mean);
    }
    congruent(&test_matrices, &frame.adjoint())
}

/// Returns Tᴴ S T for a unitary T and `count` random S of arbitrary trace.
pub(super) fn with_trace<T: Scalar>(frame: &Matrix<T>, count: usize, seed: u64) -> Combinations<T> {
    let p = frame.rows();
    if p < LOW_RANK_FROM_P {
        return congruent(&rademacher::<T>(p, count, seed), &frame.adjoint());
    }
    let mut test_matrices = low_rank(frame, count, seed);
    // Add a multiple of the identity with the norm of a typical component of S.
    let size = 2.0 / (p as f64).powf(1.5);
    let traces = random_signs(SplitMix(!seed).bits(), count);
    for a in 0..p {
        let diagonal = test_matrices.diagonal_mut(a).iter_mut().zip(&traces);
        diagonal.for_each(|(x, sign)| *x += size * sign);
    }
    test_matrices
}

/// Number of terms s sᴴ in each S of [`low_rank`]. With more terms the entries are hardly
/// more random.
const TERMS: usize = 4;

/// One number for each term of each S.
type Terms = [Row; TERMS];

/// Returns Tᴴ S T for `count` matrices S = Σ ± s sᴴ of random complex unit vectors s (the real
/// part, if T is real); half of the terms have a minus sign, so the trace is zero. The transforms
/// follow from the vectors Tᴴ s at a small fraction of the cost of transforming a general S. The
/// real parts do not depend on whether a real T is given as a complex matrix.
fn low_rank<T: Scalar>(frame: &Matrix<T>, count: usize, seed: u64) -> Combinations<T> {
    let p = frame.rows();
    let mut random = SplitMix(seed);
    // The real parts of all s, then the imaginary parts; below, those of y = Tᴴ s.
    let mut s = vec![[[0.0; MAX_COMBINATIONS]; TERMS]; 2 * p];
    for row in s.as_flattened_mut() {
        *row = random_row(&mut random, count);
    }
    let mut y = vec![[[0.0; MAX_COMBINATIONS]; TERMS]; 2 * p];
    let mut test_matrices = Combinations::<T>::zeros(p, MAX_COMBINATIONS);
    let triangle = Triangle::new(p);
    let (places, _) = test_matrices
        .entries_mut()
        .as_chunks_mut::<MAX_COMBINATIONS>();
    let (real, imaginary) = places.split_at_mut(triangle.len());
    dispatch(
        #[inline(always)]
        || {
            normalize(&mut s);
            for (b, a) in (0..p).flat_map(|b| (0..p).map(move |a| (b, a))) {
                let w = frame[(b, a)];
                add(&mut y[a], w.real(), &s[b]);
                add(&mut y[p + a], w.real(), &s[p + b]);
                if T::PLANES == 2 {
                    add(&mut y[a], w.imaginary(), &s[p + b]);
                    add(&mut y[p + a], -w.imaginary(), &s[b]);
                }
            }
            let (re, im) = y.split_at(p);
            for (entry, (a, b)) in triangle.pairs().enumerate() {
                let parts = [(&re[a], &re[b]), (&im[a], &im[b])];
                let [x, y] = parts.map(|(x, y)| alternating_sum(x, y));
                for k in 0..MAX_COMBINATIONS {
                    real[entry][k] = x[k] + y[k];
                }
                if T::PLANES == 2 {
                    let parts = [(&im[a], &re[b]), (&re[a], &im[b])];
                    let [x, y] = parts.map(|(x, y)| alternating_sum(x, y));
                    for k in 0..MAX_COMBINATIONS {
                        imaginary[entry][k] = x[k] - y[k];
                    }
                }
            }
        },
    );
    test_matrices
}

/// Returns random signs for the first `count` combinations, from the bits of a random number.
fn random_signs(bits: u64, count: usize) -> Row {
    let mut row = [0.0; MAX_COMBINATIONS];
    let places = row[..count].iter_mut().enumerate();
    places.for_each(|(k, x)| *x = if bits >> k & 1 == 0 { 1.0 } else { -1.0 });
    row
}

/// Returns random numbers for the first `count` combinations. X/// four numbers.
fn random_row(random: &mut SplitMix, count: usize) -> Row {
    let mut row = [0.0; MAX_COMBINATIONS];
    for group in row[..count].chunks_mut(4) {
        let bits = random.bits();
        let places = group.iter_mut().enumerate();
        places.for_each(|(k, x)| *x = f64::from((bits >> (16 * k)) as i16) + 0.5);
    }
    row
}

/// Scales all nonzero vectors to unit length.
#[inline(always)]
fn normalize(vectors: &mut [Terms]) {
    let mut lengths = [[0.0; MAX_COMBINATIONS]; TERMS];
    for entries in vectors.iter() {
        for t in 0..TERMS {
            for k in 0..MAX_COMBINATIONS {
                lengths[t][k] += entries[t][k] * entries[t][k];
            }
        }
    }
    let inverse = |square: f64| {
        if square > 0.0 {
            1.0 / square.sqrt()
        } else {
            0.0
        }
    };
    let scale = lengths.map(|row| row.map(inverse));
    for entries in vectors {
        for t in 0..TERMS {
            for k in 0..MAX_COMBINATIONS {
                entries[t][k] *= scale[t][k];
            }
        }
    }
}

/// Adds `factor` times the terms to the sums.
#[inline(always)]
fn add(sums: &mut Terms, factor: f64, terms: &Terms) {
    for (sums, terms) in sums.iter_mut().zip(terms) {
        for k in 0..MAX_COMBINATIONS {
            sums[k] += factor * terms[k];
        }
    }
}

/// Returns the sum of the products of terms, with alternating signs.
#[inline(always)]
fn alternating_sum(x: &Terms, y: &Terms) -> Row {
    let mut sum = [0.0; MAX_COMBINATIONS];
    for ([x, minus_x], [y, minus_y]) in x.as_chunks().0.iter().zip(y.as_chunks().0) {
        for k in 0..MAX_COMBINATIONS {
            sum[k] += x[k] * y[k] - minus_x[k] * minus_y[k];
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{c64, product, product_adjoint};

    fn assert_congruent<T: Scalar>(p: usize) {
        let mut random = SplitMix(1);
        let w = Matrix::from_fn(p, p, |a, b| {
            let noise = T::from_parts(random.next(), random.next());
            if a == b { T::ONE + noise } else { noise }
        });
        let count = 11;
        let plain = traceless(&Matrix::<T>::identity(p), count, 3);
        let transformed = traceless(&w, count, 3);
        for k in 0..MAX_COMBINATIONS {
            let s = plain.matrix(k);
            let trace: f64 = (0..p).map(|a| s[(a, a)].real()).sum();
            assert!(trace.abs() < 1e-14);
            assert!((0..p).all(|a| s[(a, a)].imaginary() == 0.0));
            assert_eq!(s.norm() == 0.0, k >= count || p == 1);
            // Low-rank S also have random diagonals.
            let is_random = |a: usize| s[(a, a)].abs() > 1e-6;
            assert!(p < LOW_RANK_FROM_P || k >= count || (0..p).all(is_random));
            let expected = product_adjoint(&product(&w.adjoint(), &s), &w.adjoint());
            let transformed = transformed.matrix(k);
            for (x, y) in transformed.as_slice().iter().zip(expected.as_slice()) {
                assert!(
                    (*x - *y).abs() < 1e-12 * (1.0 + y.abs()),
                    "p {p}: {x:?} {y:?}"
                );
            }
        }
        let (first, second) = (plain.matrix(0), plain.matrix(1));
        assert!(p < 3 || first != second);
        // The real part equals that of the real test matrices.
        let real = traceless(&Matrix::<f64>::identity(p), count, 3);
        assert_eq!(real.entries(), &plain.entries()[..real.entries().len()]);
    }

    #[test]
    fn traceless_test_matrices_are_transformed_by_the_frame() {
        for p in [1, 2, 5, 20] {
            assert_congruent::<f64>(p);
            assert_congruent::<c64>(p);
        }
    }

    #[test]
    fn rademacher_matrices_are_hermitian() {
        let test_matrices = rademacher::<c64>(4, 5, 0);
        for k in 0..MAX_COMBINATIONS {
            let s = test_matrices.matrix(k);
            for a in 0..4 {
                assert_eq!(s[(a, a)].im, 0.0);
                assert_eq!(s[(a, a)].re.abs(), f64::from(u8::from(k < 5)));
            }
        }
    }
}
