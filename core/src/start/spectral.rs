//! The spectral start.
//!
//! After whitening by the mean, all matrices of an exactly diagonalizable set share one orthogonal
//! diagonalizer, and so do all their combinations. Taken are the few combinations of largest
//! variance over the set, whose eigenvalues are well spread: the eigenvectors of the first, then
//! refined by Jacobi rotations that diagonalize all of them together. It costs about as much as
//! one transform of the set, and saves many.
//!
//! The criterion does not depend on the scale of single matrices, so each is weighed down by its
//! size s_i = tr(C̄⁻¹Cⁱ)/p. Whitening by a Cholesky factor makes the start free of channels' units.

use super::{SplitMix, eigen};
use crate::Error;
use crate::criterion::Criterion;
use crate::linalg::kernels::{Congruence, LANES, congruence, dispatch};
use crate::linalg::{self, Matrix, Recycled, Scalar, Scratch, SymmetricBatch, Triangle};
use crate::matrices::{InMemory, WorkingSet};
use crate::pairwise::jacobi;

/// Subspace iterations: the combinations need not be exact.
const ITERATIONS: usize = 2;
/// Sweeps of Jacobi rotations at most, and the smallest angle worth a rotation.
const SWEEPS: usize = 3;
const ANGLE: f64 = 0.01;

/// The start; other seeds end in other combinations.
pub(super) fn start<T: Scalar>(set: &mut dyn WorkingSet<T>, seed: u64) -> Result<Matrix<T>, Error> {
    let factor = linalg::cholesky(&set.summary().mean).ok_or(Error::NoEigenvalues)?;
    let whitener = linalg::lower_inverse(&factor);
    let inverse_mean = linalg::product(&whitener.adjoint(), &whitener);
    let balanced_mean = set.balance(&inverse_mean)?;
    let factor = linalg::cholesky(&balanced_mean).ok_or(Error::NoEigenvalues)?;
    let whitener = linalg::lower_inverse(&factor);
    let (rotation, _) = common_rotation(set, Some(&whitener), seed)?;
    Ok(linalg::product(&rotation, &whitener))
}

/// The start over rotations: the same without whitening, for sets that need not be positive definite. With
/// it comes the share of the set's energy that eight combinations hold, or a little less.
pub(super) fn rotation<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    seed: u64,
) -> Result<(Matrix<T>, f64), Error> {
    let (rotation, energy) = common_rotation(set, None, seed)?;
    let whole = set.summary().constant;
    let share = if whole > 0.0 { energy / whole } else { 1.0 };
    Ok((rotation, share))
}

/// The rotation that makes a few principal combinations of the (whitened) matrices most diagonal
/// together, and the energy of the matrices that the combinations held before the last iteration.
fn common_rotation<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    whitener: Option<&Matrix<T>>,
    seed: u64,
) -> Result<(Matrix<T>, f64), Error> {
    let (n, p) = (set.summary().len, set.summary().dimension());
    // No more than there are, less one where their mean is taken away: the others would be rounding.
    let independent = n - usize::from(whitener.is_some());
    let count = LANES.min(p).min(independent).max(1);
    let mut random = SplitMix(seed);
    let mut combinations = Eight::<T>::zeros(p, LANES);
    for row in combinations.rows_mut() {
        row[..count].fill_with(|| random.next());
    }
    clear_imaginary_diagonal(&mut combinations);
    let scratch = &mut Scratch::new();
    let mut energy = 0.0;
    for _ in 0..ITERATIONS {
        if let Some(whitener) = whitener {
            // S_k ← Σ_i w_i ⟨Dⁱ − I, S_k⟩ (Dⁱ − I), where Dⁱ = W Cⁱ Wᴴ / s_i has the mean I. The Dⁱ
            // are never formed: ⟨Dⁱ, S⟩ = ⟨Cⁱ, Wᴴ S W⟩ / s_i.
            let traces = traces(&combinations);
            let pulled = congruent(&combinations, &whitener.adjoint(), scratch);
            let sums = set.correlate(pulled.entries())?;
            let sums = Eight::from_parts(p, LANES, Recycled::from(&sums[..]));
            combinations = congruent(&sums, whitener, scratch);
            subtract_from_diagonal(&mut combinations, &traces);
        } else {
            // S_k ← Σ_i w_i ⟨Cⁱ, S_k⟩ Cⁱ.
            let sums = set.correlate(combinations.entries())?;
            let sums = Eight::from_parts(p, LANES, Recycled::from(&sums[..]));
            // Σ_k ⟨S_k, Σ_i w_i ⟨Cⁱ, S_k⟩ Cⁱ⟩, once the S_k are orthonormal.
            energy = inner_product(&combinations, &sums);
            combinations = sums;
        }
        orthonormalize(&mut combinations);
    }
    let (_, vectors) = eigen(&combinations.matrix(0))?;
    if count == 1 {
        // They make it diagonal, and there are no others.
        return Ok((vectors, energy));
    }
    let combinations = congruent(&combinations, &vectors, scratch);
    Ok((rotated(combinations, vectors), energy))
}

/// The sum of the inner products of eight matrices with eight others.
fn inner_product<T: Scalar>(x: &Eight<T>, y: &Eight<T>) -> f64 {
    // One plane of entries after the other; those off the diagonal count twice.
    let pairs = Triangle::new(x.size()).pairs().cycle();
    let rows = pairs.zip(x.rows().zip(y.rows()));
    rows.map(|((a, b), (x, y))| {
        let dot: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
        if a == b { dot } else { 2.0 * dot }
    })
    .sum()
}

/// Continues `rotation` by the Jacobi rotations that make the matrices, already rotated by it, most
/// diagonal together.
fn rotated<T: Scalar>(matrices: Eight<T>, mut rotation: Matrix<T>) -> Matrix<T> {
    let mut set = InMemory::of_batch(Criterion::Frobenius, matrices);
    for _ in 0..SWEEPS {
        if jacobi::sweep(&mut set, &mut rotation, ANGLE) == 0.0 {
            break;
        }
    }
    rotation
}

/// Eight matrices of equal weight.
type Eight<T> = SymmetricBatch<Recycled, T>;

/// M S Mᴴ of each. `scratch` grows as needed and is worth keeping between calls.
fn congruent<T: Scalar>(batch: &Eight<T>, m: &Matrix<T>, scratch: &mut Vec<f64>) -> Eight<T> {
    let mut result = Eight::zeros(batch.size(), LANES);
    let task = Congruence {
        transform: m,
        input: batch.entries(),
        lanes: LANES,
        square: result.entries_mut(),
        cross: None,
    };
    congruence(task, scratch);
    result
}

fn traces<T: Scalar>(batch: &Eight<T>) -> [f64; LANES] {
    let mut traces = [0.0; LANES];
    for a in 0..batch.size() {
        let row = traces.iter_mut().zip(batch.diagonal(a));
        row.for_each(|(trace, x)| *trace += x);
    }
    traces
}

fn subtract_from_diagonal<T: Scalar>(batch: &mut Eight<T>, numbers: &[f64; LANES]) {
    for a in 0..batch.size() {
        let row = batch.diagonal_mut(a).iter_mut().zip(numbers);
        row.for_each(|(x, y)| *x -= y);
    }
}

/// Sets the diagonal of the imaginary parts to zero, if there are any.
fn clear_imaginary_diagonal<T: Scalar>(batch: &mut Eight<T>) {
    let triangle = Triangle::new(batch.size());
    let imaginary = batch.rows_mut().skip(triangle.len());
    for ((a, b), row) in triangle.pairs().zip(imaginary) {
        if a == b {
            row.fill(0.0);
        }
    }
}

/// Makes the eight orthonormal, by the Cholesky factor of their inner products. What depends on
/// those before it (as all do if all matrices are alike) becomes zero.
fn orthonormalize<T: Scalar>(batch: &mut Eight<T>) {
    let p = batch.size();
    let (rows, _) = batch.entries_mut().as_chunks_mut();
    dispatch(
        #[inline(always)]
        || {
            let factor = inverse_factor(&gram(p, rows));
            for row in rows.iter_mut() {
                *row = times(row, &factor);
            }
        },
    );
}

/// A row vector, or a square matrix, of eight.
type Row = [f64; LANES];
type Square = [Row; LANES];

/// The inner products of eight matrices; entries off the diagonal count twice.
#[inline(always)]
fn gram(p: usize, rows: &[Row]) -> Square {
    let mut gram = [[0.0; LANES]; LANES];
    // One plane of entries after the other.
    let pairs = Triangle::new(p).pairs().cycle();
    for ((a, b), row) in pairs.zip(rows) {
        let count = if a == b { 1.0 } else { 2.0 };
        for j in 0..LANES {
            for k in 0..LANES {
                gram[j][k] += count * row[j] * row[k];
            }
        }
    }
    gram
}

/// L⁻ᵀ for gram = L Lᵀ, with columns of zeros where a pivot vanishes.
fn inverse_factor(gram: &Square) -> Square {
    let (mut factor, mut inverse) = ([[0.0; LANES]; LANES], [[0.0; LANES]; LANES]);
    for k in 0..LANES {
        let squares: f64 = factor[k][..k].iter().map(|x| x * x).sum();
        let pivot = gram[k][k] - squares;
        if pivot <= 1e-14 * gram[k][k] {
            continue;
        }
        factor[k][k] = pivot.sqrt();
        for j in k + 1..LANES {
            let dot: f64 = (0..k).map(|l| factor[j][l] * factor[k][l]).sum();
            factor[j][k] = (gram[j][k] - dot) / factor[k][k];
        }
        for j in 0..=k {
            let dot: f64 = (j..k).map(|l| inverse[j][l] * factor[k][l]).sum();
            inverse[j][k] = (f64::from(u8::from(j == k)) - dot) / factor[k][k];
        }
    }
    inverse
}

#[inline(always)]
fn times(row: &Row, matrix: &Square) -> Row {
    let mut product = [0.0; LANES];
    for (x, numbers) in row.iter().zip(matrix) {
        for k in 0..LANES {
            product[k] += x * numbers[k];
        }
    }
    product
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::MatrixSet;
    use crate::synthetic::{Synthetic, amari_distance};

    #[test]
    fn an_exact_set_is_diagonalized_by_the_start() {
        for (n, p) in [(5, 3), (40, 10), (100, 20)] {
            let made = Synthetic::new(n, p, 0.0, 4);
            let mut set = InMemory::new(&made.set().unwrap());
            let b = start(&mut set, 0).unwrap();
            assert!(amari_distance(&b, &made.mixing) < 1e-7, "n {n} p {p}");
        }
    }

    #[test]
    fn few_matrices_have_as_many_combinations_as_they_allow() {
        // Spectra of ten numbers tell these components apart, those of one or two do not.
        for seed in 0..5 {
            let made = Synthetic::new(10, 20, 0.01, seed);
            let b = start(&mut InMemory::new(&made.set().unwrap()), 0).unwrap();
            let distance = amari_distance(&b, &made.mixing);
            assert!(distance < 0.2, "seed {seed}: {distance}");
        }
    }

    #[test]
    fn the_energy_of_the_combinations_is_that_of_a_set_that_has_no_more() {
        // Multiples of three matrices, and of as many more than eight.
        for (count, most) in [(3, 1.0 + 1e-9), (30, 0.9)] {
            let p = 10;
            let mut random = SplitMix(5);
            let mut data = vec![0.0; 60 * p * p];
            for (i, matrix) in data.chunks_exact_mut(p * p).enumerate() {
                let mut entries = SplitMix((i % count) as u64);
                let size = random.next();
                for (a, b) in Triangle::new(p).pairs() {
                    let entry = size * entries.next();
                    (matrix[a * p + b], matrix[b * p + a]) = (entry, entry);
                }
            }
            let options = crate::SetOptions::default().criterion(Criterion::Frobenius);
            let set = MatrixSet::with_options(&data, 60, p, &options).unwrap();
            let (_, share) = rotation(&mut InMemory::new(&set), 0).unwrap();
            assert!(share < most, "{share}");
            assert_eq!(share > 1.0 - 1e-9, count == 3, "{share}");
        }
    }

    #[test]
    fn jacobi_finds_a_common_rotation() {
        let p = 5;
        let e = Matrix::from_fn(p, p, |a, b| 0.3 * (a as f64 - b as f64));
        let q = linalg::unitary_exponential(&e);
        let diagonals = [[1.0, 5.0, 2.0, -3.0, 4.0], [2.0, 2.0, -1.0, 0.5, 2.0]];
        let mut matrices = Eight::zeros(p, LANES);
        for (k, diagonal) in diagonals.iter().enumerate() {
            for a in 0..p {
                matrices.diagonal_mut(a)[k] = diagonal[a];
            }
        }
        let scratch = &mut Vec::new();
        let mixed = congruent(&matrices, &q.transpose(), scratch);
        let rotation = rotated(mixed.clone(), Matrix::identity(p));
        let unmixed = congruent(&mixed, &rotation, scratch);
        let mut off = 0.0;
        for a in 0..p {
            for b in 0..a {
                let squares = unmixed.row(a, b).iter().map(|x| 2.0 * x * x);
                off += squares.sum::<f64>();
            }
        }
        // Angles below 0.01 are left alone.
        assert!(off < 0.05, "{off}");
    }

    #[test]
    fn orthonormalized_matrices_are_orthonormal_or_zero() {
        let mut eight = Eight::<f64>::zeros(4, LANES);
        let mut random = SplitMix(3);
        for row in eight.rows_mut() {
            row.fill_with(|| random.next());
            row[5] = 2.0 * row[1] - row[2];
        }
        orthonormalize(&mut eight);
        let matrices: Vec<Matrix> = (0..LANES).map(|k| eight.matrix(k)).collect();
        for j in 0..LANES {
            for k in 0..LANES {
                let expected = f64::from(u8::from(j == k && k != 5));
                assert!((matrices[j].dot(&matrices[k]) - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn alike_matrices_have_a_start() {
        let data: Vec<f64> = [2.0, 0.5, 0.5, 1.0].repeat(12);
        let set = MatrixSet::new(&data, 12, 2).unwrap();
        let mut set = InMemory::new(&set);
        assert!(start(&mut set, 0).unwrap().is_finite());
    }
}
