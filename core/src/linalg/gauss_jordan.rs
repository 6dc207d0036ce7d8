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
    let determinant = if (1..=small::WIDEST).contains(&p) {
        small::of_width!(p, eliminate_width(numbers))
    } else {
        eliminate_pieces(numbers, p)
    };
    (determinant.0, determinant.1, inverse)
}

/// For rows of so many numbers.
fn eliminate_width<T: Scalar, const P: usize>(m: &mut [T]) -> (f64, bool) {
    let (rows, _) = m.as_chunks_mut::<P>();
    eliminate(rows, P, &mut [0; P], &mut [[T::ZERO; P]])
}

/// For rows of any length, in pieces of a fixed one: loops over these become vectors without a remainder.
fn eliminate_pieces<T: Scalar>(m: &mut [T], p: usize) -> (f64, bool) {
    const PIECE: usize = 8;
    let pieces = p.div_ceil(PIECE);
    let len = (p + 1) * pieces * PIECE;
    let mut room = vec![T::ZERO; len + PIECE];
    // From where a line of a cache begins. An address that cannot be told is no reason to fail: only speed depends on it.
    let from = room.as_ptr().align_offset(64).min(PIECE);
    let (room, _) = room[from..from + len].as_chunks_mut::<PIECE>();
    let (rows, pivot_row) = room.split_at_mut(p * pieces);
    for (row, numbers) in rows.chunks_exact_mut(pieces).zip(m.chunks_exact(p)) {
        row.as_flattened_mut()[..p].copy_from_slice(numbers);
    }
    let (swaps, mut determinant) = (&mut vec![0; p], (0.0, false));
    kernels::dispatch(
        #[inline(always)]
        || determinant = eliminate(rows, p, swaps, pivot_row),
    );
    for (row, numbers) in rows.chunks_exact(pieces).zip(m.chunks_exact_mut(p)) {
        numbers.copy_from_slice(&row.as_flattened()[..p]);
    }
    determinant
}

/// Replaces a p×p matrix, whose rows are one or more pieces each, by its inverse; returns the logarithm of the size of
/// its determinant, −∞ (with the matrix in disorder) if that is zero, and whether, if real, it is negative. `swaps` and
/// `pivot_row` are room for p numbers and for a row.
#[inline(always)]
fn eliminate<T: Scalar, const W: usize>(
    m: &mut [[T; W]],
    p: usize,
    swaps: &mut [usize],
    pivot_row: &mut [[T; W]],
) -> (f64, bool) {
    let pieces = pivot_row.len();
    let (mut log_det, mut negative) = (0.0, false);
    for k in 0..p {
        let (piece, place) = (k / W, k % W);
        let size = |row: usize| m[row * pieces + piece][place].abs();
        let (mut chosen, mut largest) = (k, size(k));
        for row in k + 1..p {
            let size = size(row);
            if size > largest {
                (chosen, largest) = (row, size);
            }
        }
        swaps[k] = chosen;
        let pivot = m[chosen * pieces + piece][place];
        if !(largest > 0.0 && largest.is_finite()) {
            return (f64::NEG_INFINITY, false);
        }
        log_det += largest.ln();
        negative ^= T::PLANES == 1 && (pivot.real() < 0.0) ^ (chosen != k);
        pivot_row.copy_from_slice(&m[chosen * pieces..][..pieces]);
        m.copy_within(k * pieces..(k + 1) * pieces, chosen * pieces);
        pivot_row[piece][place] = T::ONE;
        for x in pivot_row.as_flattened_mut() {
            *x /= pivot;
        }
        m[k * pieces..][..pieces].copy_from_slice(pivot_row);
        let (before, after) = m.split_at_mut(k * pieces);
        for rows in [before, &mut after[pieces..]] {
            let mut groups = rows.chunks_exact_mut(4 * pieces);
            for group in &mut groups {
                subtract_from_four(group, pivot_row, (piece, place));
            }
            for row in groups.into_remainder().chunks_exact_mut(pieces) {
                let factor = -std::mem::take(&mut row[piece][place]);
                for (x, y) in row.iter_mut().zip(&*pivot_row) {
                    *x = plus(*x, factor, y);
                }
            }
        }
    }
    // Rows were swapped on the way: the inverse has its columns swapped, the last first.
    for (k, &chosen) in swaps.iter().enumerate().rev() {
        if chosen != k {
            let rows = m.chunks_exact_mut(pieces);
            rows.for_each(|row| row.as_flattened_mut().swap(k, chosen));
        }
    }
    (log_det, negative)
}

/// Takes the pivot's row from four others, as often as their entries in its column say: it is read once for all.
#[inline(always)]
fn subtract_from_four<T: Scalar, const W: usize>(
    rows: &mut [[T; W]],
    pivot_row: &[[T; W]],
    (piece, place): (usize, usize),
) {
    let pieces = pivot_row.len();
    let (first, second) = rows.split_at_mut(2 * pieces);
    let ((a, b), (c, d)) = (first.split_at_mut(pieces), second.split_at_mut(pieces));
    let factor = |row: &mut [[T; W]]| -std::mem::take(&mut row[piece][place]);
    let factors = [factor(a), factor(b), factor(c), factor(d)];
    let others = b.iter_mut().zip(c).zip(d);
    for ((y, a), ((b, c), d)) in pivot_row.iter().zip(a).zip(others) {
        for (x, factor) in [a, b, c, d].into_iter().zip(factors) {
            *x = plus(*x, factor, y);
        }
    }
}

/// x + factor·y, by wholes: no number of one can be taken for one of the other.
#[inline(always)]
fn plus<T: Scalar, const W: usize>(mut x: [T; W], factor: T, y: &[T; W]) -> [T; W] {
    for l in 0..W {
        x[l] += factor * y[l];
    }
    x
}
