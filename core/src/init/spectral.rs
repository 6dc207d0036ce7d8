//! The spectral starting point of the likelihood and the Frobenius criterion.
//!
//! After whitening by the mean, all matrices of an exactly diagonalizable set, and all their linear
//! combinations, share one orthogonal diagonalizer. The starting point is computed from sixteen
//! combinations with most of the variance over the set. The eigenvectors of the first one, whose
//! eigenvalues are well separated, are refined by Jacobi rotations that diagonalize all
//! combinations jointly. The cost is about that of one data pass.
//!
//! The combinations are a Nyström approximation. Let A = Σ_i w_i Dⁱ ⊗ Dⁱ, which maps a symmetric S
//! to Σ_i w_i ⟨Dⁱ, S⟩ Dⁱ. With sixteen random test matrices as columns of S,
//! A ≈ (A S)(Sᵀ A S)⁻¹(A S)ᵀ. The combinations T = (A S) L⁻ᵀ with L Lᵀ = Sᵀ A S satisfy
//! Σ_k T_k ⊗ T_k ≈ A, so that their off-diagonal energy approximates that of all matrices.
//!
//! The likelihood does not depend on the scale of single matrices, so each is divided by its size
//! s_i = tr(C̄⁻¹Cⁱ)/p. The random S are drawn in intrinsic coordinates ([`frame`]), so that the
//! starting point does not depend on the units, order or mixing of the channels.

use super::jacobi::F32Batch;
use super::{eigen, frame, sketch};
use crate::Error;
use crate::backend::{Backend, COMBINATIONS_AT_ONCE, Request, Sums};
use crate::linalg::kernels::{Congruence, column_products, congruence, dispatch};
use crate::linalg::{self, AlignedBuffer, Matrix, Scalar, SymmetricBatch, Triangle};

/// Maximum number of combinations.
pub(super) const MAX_COMBINATIONS: usize = COMBINATIONS_AT_ONCE;
/// Smallest angle of a Jacobi rotation in radians; smaller ones are skipped.
const MIN_ANGLE: f64 = 0.003;
/// Largest sine of the final sweep; convergence is quadratic, so another sweep would gain little.
const FINAL_SINE: f64 = 0.05;
/// Maximum number of sweeps of Jacobi rotations.
const MAX_SWEEPS: usize = 6;

/// Size p from which the constants for large matrices apply. Large matrices need more sweeps, and
/// pairs that are not rotated cost the solve additional iterations.
const LARGE_FROM_P: usize = 64;
/// `MAX_SWEEPS` for large matrices.
const MAX_SWEEPS_LARGE: usize = 10;
/// `FINAL_SINE` for large matrices.
const FINAL_SINE_LARGE: f64 = 0.03;
/// Smallest angle of the first sweep over large matrices. Rotations by smaller angles would be
/// undone by larger ones.
const INITIAL_MIN_ANGLE: f64 = 0.1;
/// Factor by which the smallest angle decreases from one sweep over large matrices to the next.
const ANGLE_DECREASE: f64 = 0.3;

/// Computes the starting point over invertible B. Other seeds use other combinations.
pub(super) fn start<T: Scalar>(set: &mut dyn Backend<T>, seed: u64) -> Result<Matrix<T>, Error> {
    let (frame, metric) = frame::whitening(set)?;
    let (rotation, _) = common_rotation(set, &frame, Some(metric), seed)?;
    Ok(linalg::product(&rotation, &frame))
}

/// Computes the starting point over orthogonal B, without whitening, for sets that need not be
/// positive definite. Also returns the fraction of the energy of the set that the combinations
/// contain.
pub(super) fn rotation<T: Scalar>(
    set: &mut dyn Backend<T>,
    seed: u64,
) -> Result<(Matrix<T>, f64), Error> {
    let frame = frame::rotation(set)?;
    let (rotation, energy) = common_rotation(set, &frame, None, seed)?;
    let rotation = linalg::product(&rotation, &frame);
    let total = set.summary().constant;
    let fraction = if total > 0.0 { energy / total } else { 1.0 };
    Ok((rotation, fraction))
}

/// Computes the rotation that jointly diagonalizes a few combinations of the matrices in the
/// coordinates of a frame T. Also returns the energy of the combinations, which is that of the
/// matrices they represent if T is a rotation.
fn common_rotation<T: Scalar>(
    set: &mut dyn Backend<T>,
    frame: &Matrix<T>,
    metric: Option<Matrix<T>>,
    seed: u64,
) -> Result<(Matrix<T>, f64), Error> {
    let (n, p) = (set.summary().len, set.summary().dimension());
    // The number of independent combinations, less one if the mean is subtracted.
    let numbers = T::PLANES * Triangle::new(p).len() - (T::PLANES - 1) * p;
    let independent = n.min(numbers) - usize::from(metric.is_some());
    let count = MAX_COMBINATIONS.min(independent).max(1);
    // Computes Σ_i w_i ⟨Dⁱ − I, S_k⟩ (Dⁱ − I), where the whitened Dⁱ = T Cⁱ Tᴴ / s_i have mean I.
    // Since S_k has trace zero, I can be omitted. The Dⁱ are never formed, because
    // ⟨Dⁱ, S⟩ = ⟨Cⁱ, Tᴴ S T⟩ / s_i; the combinations are transformed at the end, together with
    // their first rotation.
    let test_matrices = if metric.is_some() {
        sketch::traceless(frame, count, seed)
    } else {
        sketch::with_trace(frame, count, seed)
    };
    let matrices = test_matrices.entries().to_vec();
    let mut sums = Sums::default();
    set.evaluate(&Request::Correlate { metric, matrices }, &mut sums)?;
    let mut combinations = Combinations::<T>::unwritten(p, MAX_COMBINATIONS);
    combinations.entries_mut().copy_from_slice(&sums.numbers);
    to_combinations(&test_matrices, &mut combinations);
    let energy = energy(&combinations);
    let half = linalg::product(frame, &combinations.matrix(0));
    let (_, vectors) = eigen(&linalg::product_adjoint(&half, frame))?;
    if count == 1 {
        // The eigenvectors diagonalize the only combination.
        return Ok((vectors, energy));
    }
    let combinations = congruent(&combinations, &linalg::product(&vectors, frame));
    Ok((refine(&combinations, vectors), energy))
}

/// Returns the sum of the squares of all entries of all matrices.
fn energy<T: Scalar>(batch: &Combinations<T>) -> f64 {
    let squares = |numbers: &[f64]| linalg::dot(numbers, numbers);
    let diagonals = (0..batch.size()).map(|a| squares(batch.diagonal(a)));
    // Entries off the diagonal count twice.
    2.0 * squares(batch.entries()) - diagonals.sum::<f64>()
}

/// Multiplies `rotation` by Jacobi rotations that jointly diagonalize the matrices, to which it has
/// already been applied.
fn refine<T: Scalar>(matrices: &Combinations<T>, mut rotation: Matrix<T>) -> Matrix<T> {
    let mut batch = F32Batch::new(matrices);
    let (sweeps, last, mut smallest) = if matrices.size() < LARGE_FROM_P {
        (MAX_SWEEPS, FINAL_SINE, MIN_ANGLE)
    } else {
        (MAX_SWEEPS_LARGE, FINAL_SINE_LARGE, INITIAL_MIN_ANGLE)
    };
    for _ in 0..sweeps {
        let largest = batch.sweep(&mut rotation, smallest);
        if largest > last {
            smallest = (ANGLE_DECREASE * smallest).max(MIN_ANGLE);
        } else if smallest > MIN_ANGLE {
            smallest = MIN_ANGLE;
        } else {
            break;
        }
    }
    rotation
}

/// A batch of sixteen matrices of equal weight.
pub(super) type Combinations<T> = SymmetricBatch<AlignedBuffer, T>;

/// Computes M S Mᴴ for each matrix S.
pub(super) fn congruent<T: Scalar>(batch: &Combinations<T>, m: &Matrix<T>) -> Combinations<T> {
    let mut result = Combinations::unwritten(batch.size(), MAX_COMBINATIONS);
    let task = Congruence {
        transform: m,
        input: batch.entries(),
        lanes: MAX_COMBINATIONS,
        matrices: MAX_COMBINATIONS,
        square: result.entries_mut(),
        cross: None,
    };
    congruence(task);
    result
}

/// Transforms the images A S to combinations (A S) L⁻ᵀ with L Lᵀ = Sᵀ A S. Linearly dependent
/// combinations (all but the first one, if all matrices are equal) become zero.
fn to_combinations<T: Scalar>(test_matrices: &Combinations<T>, images: &mut Combinations<T>) {
    let factor = inverse_factor(&inner_products(test_matrices, images));
    let (rows, _) = images.entries_mut().as_chunks_mut();
    dispatch(
        #[inline(always)]
        || {
            for row in rows.iter_mut() {
                *row = times(row, &factor);
            }
        },
    );
}

/// A row vector with one number per combination.
pub(super) type Row = [f64; MAX_COMBINATIONS];
/// A square matrix with one row and column per combination.
type Square = [Row; MAX_COMBINATIONS];

/// Returns the inner products of all pairs of matrices of two batches.
fn inner_products<T: Scalar>(left: &Combinations<T>, right: &Combinations<T>) -> Square {
    let mut gram = [[0.0; MAX_COMBINATIONS]; MAX_COMBINATIONS];
    let products = column_products(left.entries(), right.entries(), MAX_COMBINATIONS);
    for (row, products) in gram.iter_mut().zip(products.chunks_exact(MAX_COMBINATIONS)) {
        // Entries off the diagonal count twice.
        let pairs = row.iter_mut().zip(products);
        pairs.for_each(|(x, product)| *x = 2.0 * product);
    }
    for a in 0..left.size() {
        for (row, x) in gram.iter_mut().zip(left.diagonal(a)) {
            let pairs = row.iter_mut().zip(right.diagonal(a));
            pairs.for_each(|(product, y)| *product -= x * y);
        }
    }
    gram
}

/// Returns L⁻ᵀ for `gram` = L Lᵀ, with zero columns where a pivot vanishes.
fn inverse_factor(gram: &Square) -> Square {
    let (mut factor, mut inverse) = (
        [[0.0; MAX_COMBINATIONS]; MAX_COMBINATIONS],
        [[0.0; MAX_COMBINATIONS]; MAX_COMBINATIONS],
    );
    for k in 0..MAX_COMBINATIONS {
        let squares: f64 = factor[k][..k].iter().map(|x| x * x).sum();
        let pivot = gram[k][k] - squares;
        if pivot <= 1e-14 * gram[k][k] {
            continue;
        }
        factor[k][k] = pivot.sqrt();
        for j in k + 1..MAX_COMBINATIONS {
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
    let mut product = [0.0; MAX_COMBINATIONS];
    for (x, numbers) in row.iter().zip(matrix) {
        for k in 0..MAX_COMBINATIONS {
            product[k] += x * numbers[k];
        }
    }
    product
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::backend::InMemory;
    use crate::init::SplitMix;
    use crate::synthetic::{Synthetic, amari_distance};
    use crate::{Criterion, MatrixSet};

    #[test]
    fn exact_set_is_diagonalized_by_the_starting_point() {
        for (n, p) in [(5, 3), (40, 10), (100, 20)] {
            let generated = Synthetic::new(n, p, 0.0, 4);
            let mut set = InMemory::new(&generated.set().unwrap());
            let b = start(&mut set, 0).unwrap();
            assert!(amari_distance(&b, &generated.mixing) < 1e-7, "n {n} p {p}");
        }
    }

    #[test]
    fn starting_point_uses_all_independent_combinations_of_few_matrices() {
        // Ten combinations separate these components; one or two would not.
        for seed in 0..5 {
            let generated = Synthetic::new(10, 20, 0.01, seed);
            let b = start(&mut InMemory::new(&generated.set().unwrap()), 0).unwrap();
            let distance = amari_distance(&b, &generated.mixing);
            assert!(distance < 0.2, "seed {seed}: {distance}");
        }
    }

    #[test]
    fn combinations_contain_all_energy_of_low_rank_sets_only() {
        // The matrices are multiples of three or thirty different ones.
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
            let (_, fraction) = rotation(&mut InMemory::new(&set), 0).unwrap();
            assert!(fraction < most, "{fraction}");
            assert_eq!(fraction > 1.0 - 1e-9, count == 3, "{fraction}");
        }
    }

    #[test]
    fn jacobi_sweeps_find_a_common_rotation() {
        // Small and large matrices use different constants.
        for p in [5, LARGE_FROM_P + 6] {
            let mut random = SplitMix(p as u64);
            let mut e = Matrix::zeros(p, p);
            for (a, b) in Triangle::new(p).pairs().filter(|(a, b)| a != b) {
                e[(a, b)] = random.next();
                e[(b, a)] = -e[(a, b)];
            }
            let mut matrices = Combinations::zeros(p, MAX_COMBINATIONS);
            for a in 0..p {
                matrices.diagonal_mut(a).fill_with(|| random.next());
            }
            let mixed = congruent(&matrices, &linalg::unitary_exponential(&e));
            let off_diagonal_fraction = |batch: &Combinations<f64>| {
                let squares = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>();
                let diagonals: f64 = (0..p).map(|a| squares(batch.diagonal(a))).sum();
                1.0 - diagonals / energy(batch)
            };
            assert!(off_diagonal_fraction(&mixed) > 0.1, "p {p}");
            let rotation = refine(&mixed, Matrix::identity(p));
            let off = off_diagonal_fraction(&congruent(&mixed, &rotation));
            assert!(off < 1e-3, "p {p}: {off}");
        }
    }

    #[test]
    fn combinations_reproduce_low_rank_sets() {
        // A = Σ_i Dⁱ ⊗ Dⁱ of six matrices, one of which is a combination of two others, has rank
        // five.
        let p = 4;
        let mut random = SplitMix(3);
        let mut matrices = Combinations::<f64>::zeros(p, MAX_COMBINATIONS);
        for row in matrices.rows_mut() {
            row[..6].fill_with(|| random.next());
            row[5] = 2.0 * row[1] - row[2];
        }
        let matrices: Vec<Matrix> = (0..6).map(|k| matrices.matrix(k)).collect();
        let mut test_matrices = Combinations::<f64>::zeros(p, MAX_COMBINATIONS);
        for row in test_matrices.rows_mut() {
            row[..9].fill_with(|| random.next());
        }
        let mut combinations = Combinations::<f64>::zeros(p, MAX_COMBINATIONS);
        for k in 0..MAX_COMBINATIONS {
            let test_matrix = test_matrices.matrix(k);
            for d in &matrices {
                let product = d.dot(&test_matrix);
                for (a, b) in Triangle::new(p).pairs() {
                    combinations.row_mut(a, b)[k] += product * d[(a, b)];
                }
            }
        }
        to_combinations(&test_matrices, &mut combinations);
        let combinations: Vec<Matrix> = (0..MAX_COMBINATIONS)
            .map(|k| combinations.matrix(k))
            .collect();
        let zero = combinations.iter().filter(|t| t.norm() < 1e-6).count();
        assert_eq!(zero, MAX_COMBINATIONS - 5);
        for s in (0..5).map(|_| Matrix::from_fn(p, p, |_, _| random.next())) {
            let energy = |set: &[Matrix]| set.iter().map(|d| d.dot(&s).powi(2)).sum::<f64>();
            let (held, whole) = (energy(&combinations), energy(&matrices));
            assert!((held - whole).abs() < 1e-9 * whole, "{held} {whole}");
        }
    }

    #[test]
    fn equal_matrices_have_a_finite_starting_point() {
        let data: Vec<f64> = [2.0, 0.5, 0.5, 1.0].repeat(12);
        let set = MatrixSet::new(&data, 12, 2).unwrap();
        let mut set = InMemory::new(&set);
        assert!(start(&mut set, 0).unwrap().is_finite());
    }
}
