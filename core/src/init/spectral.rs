//! The spectral start.
//!
//! After whitening by the mean, all matrices of an exactly diagonalizable set share one orthogonal
//! diagonalizer, and so do all their combinations. Taken are sixteen combinations that hold most of
//! the variance over the set: the eigenvectors of the first, whose eigenvalues are well spread,
//! then refined by Jacobi rotations that diagonalize all of them together. It costs about as much
//! as one transform of the set, and saves many.
//!
//! The combinations are those of Nyström's method. With A = Σ_i w_i Dⁱ ⊗ Dⁱ, which maps a symmetric
//! S to Σ_i w_i ⟨Dⁱ, S⟩ Dⁱ, and sixteen random S side by side, A ≈ (A S)(Sᵀ A S)⁻¹(A S)ᵀ: the
//! combinations T = (A S) L⁻ᵀ for L Lᵀ = Sᵀ A S have Σ_k T_k ⊗ T_k ≈ A, so that what is left off
//! their diagonals is about what is left off those of all matrices, each combination having the
//! weight that is its own.
//!
//! The criterion does not depend on the scale of single matrices, so each is weighed down by its
//! size s_i = tr(C̄⁻¹Cⁱ)/p. The random S are drawn in intrinsic coordinates ([`frame`]), so that
//! the start depends neither on the units and the order of the channels nor on how they are mixed.

use super::jacobi::Few;
use super::{eigen, frame, sketch};
use crate::Error;
use crate::backend::{Backend, COMBINATIONS_AT_ONCE, Request, Sums};
use crate::linalg::kernels::{Congruence, column_products, congruence, dispatch};
use crate::linalg::{self, AlignedBuffer, Matrix, Scalar, SymmetricBatch, Triangle};

/// Combinations at most.
pub(super) const MOST: usize = COMBINATIONS_AT_ONCE;
/// Angles below this are not worth a rotation.
const LEAST_ANGLE: f64 = 0.003;
/// A sweep without a larger sine is the last: the next would have its square.
const LAST: f64 = 0.05;
/// Sweeps of Jacobi rotations at most.
const SWEEPS: usize = 6;

/// Matrices of this size and more take more sweeps than that to become diagonal, and a few pairs
/// that are left unturned cost the solve further iterations.
const LARGE: usize = 64;
const SWEEPS_OF_LARGE: usize = 10;
const LAST_OF_LARGE: f64 = 0.03;
/// The first sweep over large matrices leaves smaller angles alone: what they would gain is lost
/// again beside larger ones. The smallest angle of each further sweep is this share of that of the
/// sweep before.
const FIRST_ANGLE: f64 = 0.1;
const SHARE: f64 = 0.3;

/// The start; other seeds end in other combinations.
pub(super) fn start<T: Scalar>(set: &mut dyn Backend<T>, seed: u64) -> Result<Matrix<T>, Error> {
    let (frame, metric) = frame::whitening(set)?;
    let (rotation, _) = common_rotation(set, &frame, Some(metric), seed)?;
    Ok(linalg::product(&rotation, &frame))
}

/// The start over rotations: the same without whitening, for sets that need not be positive
/// definite. With it comes the share of the set's energy that the combinations hold.
pub(super) fn rotation<T: Scalar>(
    set: &mut dyn Backend<T>,
    seed: u64,
) -> Result<(Matrix<T>, f64), Error> {
    let frame = frame::rotation(set)?;
    let (rotation, energy) = common_rotation(set, &frame, None, seed)?;
    let rotation = linalg::product(&rotation, &frame);
    let whole = set.summary().constant;
    let share = if whole > 0.0 { energy / whole } else { 1.0 };
    Ok((rotation, share))
}

/// The rotation that makes a few combinations of the matrices, in the coordinates of a frame T,
/// most diagonal together, and the energy of the matrices that they hold if T is a rotation.
fn common_rotation<T: Scalar>(
    set: &mut dyn Backend<T>,
    frame: &Matrix<T>,
    metric: Option<Matrix<T>>,
    seed: u64,
) -> Result<(Matrix<T>, f64), Error> {
    let (n, p) = (set.summary().len, set.summary().dimension());
    // No more than there are, less one where their mean is taken away: the others would be
    // rounding.
    let numbers = T::PLANES * Triangle::new(p).len() - (T::PLANES - 1) * p;
    let independent = n.min(numbers) - usize::from(metric.is_some());
    let count = MOST.min(independent).max(1);
    // Σ_i w_i ⟨Dⁱ − I, S_k⟩ (Dⁱ − I), where whitened Dⁱ = T Cⁱ Tᴴ / s_i have the mean I: as the S
    // have no trace then, the sum is that without I. The Dⁱ are never formed, for ⟨Dⁱ, S⟩ = ⟨Cⁱ, Tᴴ
    // S T⟩ / s_i, and the combinations are transformed last, together with their first rotation.
    let probes = if metric.is_some() {
        sketch::traceless(frame, count, seed)
    } else {
        sketch::any(frame, count, seed)
    };
    let matrices = probes.entries().to_vec();
    let mut sums = Sums::default();
    set.evaluate(&Request::Correlate { metric, matrices }, &mut sums)?;
    let mut combinations = Combinations::<T>::unwritten(p, MOST);
    combinations.entries_mut().copy_from_slice(&sums.numbers);
    weigh(&probes, &mut combinations);
    let energy = energy(&combinations);
    let half = linalg::product(frame, &combinations.matrix(0));
    let (_, vectors) = eigen(&linalg::product_adjoint(&half, frame))?;
    if count == 1 {
        // They make it diagonal, and there are no others.
        return Ok((vectors, energy));
    }
    let combinations = congruent(&combinations, &linalg::product(&vectors, frame));
    Ok((rotated(&combinations, vectors), energy))
}

/// The sum of the squares of all entries of all matrices.
fn energy<T: Scalar>(batch: &Combinations<T>) -> f64 {
    let squares = |numbers: &[f64]| linalg::dot(numbers, numbers);
    let diagonals = (0..batch.size()).map(|a| squares(batch.diagonal(a)));
    // Entries off the diagonal count twice.
    2.0 * squares(batch.entries()) - diagonals.sum::<f64>()
}

/// Continues `rotation` by the Jacobi rotations that make the matrices, already rotated by it, most
/// diagonal together.
fn rotated<T: Scalar>(matrices: &Combinations<T>, mut rotation: Matrix<T>) -> Matrix<T> {
    let mut few = Few::new(matrices);
    let (sweeps, last, mut smallest) = if matrices.size() < LARGE {
        (SWEEPS, LAST, LEAST_ANGLE)
    } else {
        (SWEEPS_OF_LARGE, LAST_OF_LARGE, FIRST_ANGLE)
    };
    for _ in 0..sweeps {
        let largest = few.sweep(&mut rotation, smallest);
        if largest > last {
            smallest = (SHARE * smallest).max(LEAST_ANGLE);
        } else if smallest > LEAST_ANGLE {
            smallest = LEAST_ANGLE;
        } else {
            break;
        }
    }
    rotation
}

/// Sixteen matrices of equal weight.
pub(super) type Combinations<T> = SymmetricBatch<AlignedBuffer, T>;

/// M S Mᴴ of each.
pub(super) fn congruent<T: Scalar>(batch: &Combinations<T>, m: &Matrix<T>) -> Combinations<T> {
    let mut result = Combinations::unwritten(batch.size(), MOST);
    let task = Congruence {
        transform: m,
        input: batch.entries(),
        lanes: MOST,
        matrices: MOST,
        square: result.entries_mut(),
        cross: None,
    };
    congruence(task);
    result
}

/// From random S to combinations: makes A S, in which they are given, (A S) L⁻ᵀ for L Lᵀ = Sᵀ A S.
/// What depends on those before it (as all do if all matrices are alike) becomes zero.
fn weigh<T: Scalar>(probes: &Combinations<T>, images: &mut Combinations<T>) {
    let factor = inverse_factor(&inner_products(probes, images));
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

/// A row vector, or a square matrix, of a number for each combination.
pub(super) type Row = [f64; MOST];
type Square = [Row; MOST];

/// The inner products of some matrices with as many others.
fn inner_products<T: Scalar>(left: &Combinations<T>, right: &Combinations<T>) -> Square {
    let mut gram = [[0.0; MOST]; MOST];
    let products = column_products(left.entries(), right.entries(), MOST);
    for (row, products) in gram.iter_mut().zip(products.chunks_exact(MOST)) {
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

/// L⁻ᵀ for gram = L Lᵀ, with columns of zeros where a pivot vanishes.
fn inverse_factor(gram: &Square) -> Square {
    let (mut factor, mut inverse) = ([[0.0; MOST]; MOST], [[0.0; MOST]; MOST]);
    for k in 0..MOST {
        let squares: f64 = factor[k][..k].iter().map(|x| x * x).sum();
        let pivot = gram[k][k] - squares;
        if pivot <= 1e-14 * gram[k][k] {
            continue;
        }
        factor[k][k] = pivot.sqrt();
        for j in k + 1..MOST {
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
    let mut product = [0.0; MOST];
    for (x, numbers) in row.iter().zip(matrix) {
        for k in 0..MOST {
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
        // Of matrices of either kind of sweeps.
        for p in [5, LARGE + 6] {
            let mut random = SplitMix(p as u64);
            let mut e = Matrix::zeros(p, p);
            for (a, b) in Triangle::new(p).pairs().filter(|(a, b)| a != b) {
                e[(a, b)] = random.next();
                e[(b, a)] = -e[(a, b)];
            }
            let mut matrices = Combinations::zeros(p, MOST);
            for a in 0..p {
                matrices.diagonal_mut(a).fill_with(|| random.next());
            }
            let mixed = congruent(&matrices, &linalg::unitary_exponential(&e));
            let off_share = |batch: &Combinations<f64>| {
                let squares = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>();
                let diagonals: f64 = (0..p).map(|a| squares(batch.diagonal(a))).sum();
                1.0 - diagonals / energy(batch)
            };
            assert!(off_share(&mixed) > 0.1, "p {p}");
            let rotation = rotated(&mixed, Matrix::identity(p));
            let off = off_share(&congruent(&mixed, &rotation));
            assert!(off < 1e-3, "p {p}: {off}");
        }
    }

    #[test]
    fn weighed_combinations_make_up_the_set() {
        // A = Σ_i Dⁱ ⊗ Dⁱ of six matrices, one of which depends on two others: five combinations
        // hold all of it.
        let p = 4;
        let mut random = SplitMix(3);
        let mut matrices = Combinations::<f64>::zeros(p, MOST);
        for row in matrices.rows_mut() {
            row[..6].fill_with(|| random.next());
            row[5] = 2.0 * row[1] - row[2];
        }
        let matrices: Vec<Matrix> = (0..6).map(|k| matrices.matrix(k)).collect();
        let mut probes = Combinations::<f64>::zeros(p, MOST);
        for row in probes.rows_mut() {
            row[..9].fill_with(|| random.next());
        }
        let mut combinations = Combinations::<f64>::zeros(p, MOST);
        for k in 0..MOST {
            let probe = probes.matrix(k);
            for d in &matrices {
                let product = d.dot(&probe);
                for (a, b) in Triangle::new(p).pairs() {
                    combinations.row_mut(a, b)[k] += product * d[(a, b)];
                }
            }
        }
        weigh(&probes, &mut combinations);
        let combinations: Vec<Matrix> = (0..MOST).map(|k| combinations.matrix(k)).collect();
        let zero = combinations.iter().filter(|t| t.norm() < 1e-6).count();
        assert_eq!(zero, MOST - 5);
        for s in (0..5).map(|_| Matrix::from_fn(p, p, |_, _| random.next())) {
            let energy = |set: &[Matrix]| set.iter().map(|d| d.dot(&s).powi(2)).sum::<f64>();
            let (held, whole) = (energy(&combinations), energy(&matrices));
            assert!((held - whole).abs() < 1e-9 * whole, "{held} {whole}");
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
