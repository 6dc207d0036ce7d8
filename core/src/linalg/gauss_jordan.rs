//! Inverses of small matrices, by elimination with pivots.

use super::{Matrix, Scalar, kernels, small};

/// log det m, −∞ unless the determinant is positive, and m⁻¹; for complex matrices log |det m|.
pub fn log_det_and_inverse<T: Scalar>(m: &Matrix<T>) -> (f64, Matrix<T>) {
    let (log_det, negative, inverse) = inverse(m);
    if negative || log_det == f64::NEG_INFINITY {
        let p = m.rows();
        return (f64::NEG_INFINITY, Matrix::zeros(p, p));
    }
    (log_det, inverse)
}

/// log |det m|, −∞ (and then no inverse) if that is zero; whether a real determinant is negative; and m⁻¹.
pub fn inverse<T: Scalar>(m: &Matrix<T>) -> (f64, bool, Matrix<T>) {
    let p = m.rows();
    let mut inverse = m.clone();
    let numbers = inverse.as_mut_slice();
    let mut determinant = (0.0, false);
    if (1..=small::WIDEST).contains(&p) {
        determinant = small::of_width!(p, eliminate_width(numbers));
    } else {
        let (swaps, pivot_row) = (&mut vec![0; p], &mut vec![T::ZERO; p]);
        kernels::dispatch(
            #[inline(always)]
            || determinant = eliminate(numbers, p, swaps, pivot_row),
        );
    }
    (determinant.0, determinant.1, inverse)
}

fn eliminate_width<T: Scalar, const P: usize>(m: &mut [T]) -> (f64, bool) {
    eliminate(m, P, &mut [0; P], &mut [T::ZERO; P])
}

/// Replaces a row-major p×p matrix by its inverse; returns the logarithm of the size of its determinant,
/// −∞ (with the matrix in disorder) if that is zero, and whether, if real, it is negative. `swaps` and `pivot_row` are
/// room for p numbers each.
#[inline(always)]
fn eliminate<T: Scalar>(
    m: &mut [T],
    p: usize,
    swaps: &mut [usize],
    pivot_row: &mut [T],
) -> (f64, bool) {
    let (mut log_det, mut negative) = (0.0, false);
    for k in 0..p {
        let size = |row: usize| m[row * p + k].abs();
        let mut chosen = k;
        for row in k + 1..p {
            if size(row) > size(chosen) {
                chosen = row;
            }
        }
        swaps[k] = chosen;
        let pivot = m[chosen * p + k];
        if !(pivot.abs() > 0.0 && pivot.abs().is_finite()) {
            return (f64::NEG_INFINITY, false);
        }
        log_det += pivot.abs().ln();
        negative ^= T::PLANES == 1 && (pivot.real() < 0.0) ^ (chosen != k);
        pivot_row.copy_from_slice(&m[chosen * p..][..p]);
        m.copy_within(k * p..(k + 1) * p, chosen * p);
        pivot_row[k] = T::ONE;
        pivot_row.iter_mut().for_each(|x| *x /= pivot);
        m[k * p..][..p].copy_from_slice(pivot_row);
        for (row, numbers) in m.chunks_exact_mut(p).enumerate() {
            if row == k {
                continue;
            }
            let factor = -std::mem::take(&mut numbers[k]);
            for (x, y) in numbers.iter_mut().zip(&*pivot_row) {
                *x += factor * *y;
            }
        }
    }
    // Rows were swapped on the way: the inverse has its columns swapped, the last first.
    for (k, &chosen) in swaps.iter().enumerate().rev() {
        if chosen != k {
            m.chunks_exact_mut(p).for_each(|row| row.swap(k, chosen));
        }
    }
    (log_det, negative)
}
