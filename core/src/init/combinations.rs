//! The principal combinations of a set: the principal components of its matrices as vectors.
//!
//! The energy on the diagonals of B Cⁱ Bᴴ and the residual of a fit A Λⁱ Aᴴ depend on the matrices
//! only through M = Σ_i w_i Cⁱ ⊗ Cⁱ. So they do not change if the matrices are replaced by
//! orthonormal combinations of them, each multiplied by its singular value. The few combinations
//! with most of the energy are a small set whose minimizers are close to those of the whole set.

use super::{SplitMix, eigen, frame};
use crate::Error;
use crate::backend::{Backend, COMBINATIONS_AT_ONCE, Request, Sums};
use crate::data::Criterion;
use crate::data::{MatrixSet, SetOptions};
use crate::linalg::kernels::LANES;
use crate::linalg::{self, Matrix, Scalar, Triangle, unpacked};

/// Energy of a combination, relative to the largest, below which it is rounding.
const MIN_ENERGY: f64 = 1e-20;

/// Computes at most `max_count` principal combinations of the matrices, each multiplied by its
/// singular value, by decreasing energy.
pub(crate) fn combinations<T: Scalar>(
    set: &mut dyn Backend<T>,
    max_count: usize,
) -> Result<Vec<Matrix<T>>, Error> {
    let (n, p) = (set.summary().len, set.summary().dimension());
    let scale = entry_scale::<T>(p);
    let count = max_count.min(n);
    let mut random = SplitMix(0);
    // Each row is a combination with off-diagonal entries multiplied by √2, so that inner products
    // of rows are those of matrices. The rows are random in intrinsic coordinates. (The first
    // application of the operator removes imaginary parts on the diagonal.)
    let frame = frame::rotation(set)?.adjoint();
    let mut first = Matrix::zeros(count, scale.len());
    for k in 0..count {
        let numbers: Vec<f64> = scale.iter().map(|scale| random.next() * scale).collect();
        let half = linalg::product(&frame, &unpacked(p, &numbers));
        let rotated: Matrix<T> = linalg::product_adjoint(&half, &frame);
        let row = first.row_mut(k).iter_mut().zip(&scale);
        row.zip(packed(&rotated))
            .for_each(|((x, scale), entry)| *x = entry / scale);
    }
    let basis = orthonormal(&apply_operator(set, &first)?)?;
    if basis.rows() == 0 {
        return Ok(Vec::new());
    }
    // Rayleigh–Ritz: with the basis S, Y = M S for M = Σ_i w_i Cⁱ ⊗ Cⁱ, and the eigenvectors V and
    // eigenvalues θ of SᵀY, the combinations are Y V, with squared norms θ².
    let images = apply_operator(set, &basis)?;
    let (values, vectors) = eigen(&linalg::product_transposed(&basis, &images))?;
    let rows = linalg::product(&vectors, &images);
    let largest = values.last().copied().unwrap_or(0.0);
    let kept = (0..values.len()).rev();
    let kept = kept.filter(|k| values[*k] > MIN_ENERGY * largest);
    let matrix = |k: usize| {
        // The sign of an eigenvector is arbitrary; the sign of the trace does not depend on
        // coordinates.
        let traces = Triangle::new(p).pairs().zip(rows.row(k));
        let trace: f64 = traces
            .map(|((a, b), x)| if a == b { *x } else { 0.0 })
            .sum();
        let root = values[k].sqrt().copysign(trace);
        let entries = rows.row(k).iter().zip(&scale);
        let entries: Vec<f64> = entries.map(|(x, scale)| x / root * scale).collect();
        unpacked(p, &entries)
    };
    Ok(kept.map(matrix).collect())
}

/// Returns the factors that convert the row of a combination to its packed entries.
fn entry_scale<T: Scalar>(p: usize) -> Vec<f64> {
    let triangle = Triangle::new(p);
    // Real parts, then imaginary parts.
    let pairs = triangle.pairs().cycle().take(T::PLANES * triangle.len());
    pairs
        .map(|(a, b)| if a == b { 1.0 } else { 0.5_f64.sqrt() })
        .collect()
}

/// Returns the packed entries of a Hermitian matrix: the lower triangle in row-major order, first
/// all real parts, then all imaginary parts.
fn packed<T: Scalar>(matrix: &Matrix<T>) -> impl Iterator<Item = f64> {
    let triangle = Triangle::new(matrix.rows());
    (0..T::PLANES).flat_map(move |plane| {
        let part = move |x: T| if plane == 0 { x.real() } else { x.imaginary() };
        triangle.pairs().map(move |(a, b)| part(matrix[(a, b)]))
    })
}

/// Computes Σ_i w_i ⟨Cⁱ, S⟩ Cⁱ for each row S.
fn apply_operator<T: Scalar>(set: &mut dyn Backend<T>, rows: &Matrix) -> Result<Matrix, Error> {
    let scale = entry_scale::<T>(set.summary().dimension());
    let mut out = Matrix::zeros(rows.rows(), rows.columns());
    for first in (0..rows.rows()).step_by(COMBINATIONS_AT_ONCE) {
        let count = COMBINATIONS_AT_ONCE.min(rows.rows() - first);
        let lanes = count.next_multiple_of(LANES);
        let mut matrices = vec![0.0; scale.len() * lanes];
        for (entry, (numbers, scale)) in matrices.chunks_exact_mut(lanes).zip(&scale).enumerate() {
            let places = numbers.iter_mut().take(count).enumerate();
            places.for_each(|(k, x)| *x = rows[(first + k, entry)] * scale);
        }
        let metric = None;
        let mut sums = Sums::default();
        set.evaluate(&Request::Correlate { metric, matrices }, &mut sums)?;
        let sums = &sums.numbers;
        for k in 0..count {
            let places = out.row_mut(first + k).iter_mut().zip(&scale).enumerate();
            places.for_each(|(entry, (x, scale))| *x = sums[entry * lanes + k] / scale);
        }
    }
    Ok(out)
}

/// Returns an orthonormal basis of the span of the rows.
fn orthonormal(rows: &Matrix) -> Result<Matrix, Error> {
    let norm = rows.norm();
    if norm == 0.0 {
        return Ok(Matrix::zeros(0, rows.columns()));
    }
    let scaled = rows.clone().scale_rows(&vec![1.0 / norm; rows.rows()]);
    let (values, vectors) = eigen(&linalg::product_transposed(&scaled, &scaled))?;
    let largest = values.last().copied().unwrap_or(0.0);
    let significant: Vec<usize> = (0..values.len())
        .rev()
        .filter(|k| values[*k] > 1e-14 * largest)
        .collect();
    let factors = Matrix::from_fn(significant.len(), rows.rows(), |k, c| {
        vectors[(significant[k], c)] / values[significant[k]].sqrt()
    });
    Ok(linalg::product(&factors, &scaled))
}

/// Creates a set from at least one combination.
pub(crate) fn small_set<T: Scalar>(
    criterion: Criterion,
    combinations: &[Matrix<T>],
) -> Result<MatrixSet<T>, Error> {
    let entries = combinations.iter().flat_map(Matrix::as_slice);
    let data: Vec<T> = entries.copied().collect();
    let options = SetOptions::default().criterion(criterion).n_jobs(1);
    let (count, p) = (combinations.len(), combinations[0].rows());
    MatrixSet::with_options(&data, count, p, &options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::InMemory;
    use crate::linalg::c64;

    /// Returns n weighted matrices that are combinations of three.
    fn low_rank<T: Scalar>(n: usize, p: usize) -> MatrixSet<T> {
        let mut random = SplitMix(7);
        let mut basis: Vec<Matrix<T>> = Vec::new();
        for _ in 0..3 {
            let m = Matrix::from_fn(p, p, |_, _| T::from_parts(random.next(), random.next()));
            let adjoint = m.adjoint();
            basis.push(Matrix::from_fn(p, p, |a, b| m[(a, b)] + adjoint[(a, b)]));
        }
        let mut data = Vec::new();
        for _ in 0..n {
            let mut sum = Matrix::<T>::zeros(p, p);
            for matrix in &basis {
                linalg::add_multiple(sum.as_mut_slice(), random.next(), matrix.as_slice());
            }
            data.extend_from_slice(sum.as_slice());
        }
        let options = SetOptions::default()
            .criterion(Criterion::Frobenius)
            .weights((0..n).map(|i| 1.0 + i as f64).collect::<Vec<f64>>());
        MatrixSet::with_options(&data, n, p, &options).unwrap()
    }

    fn assert_same_criterion<T: Scalar>() {
        let (n, p) = (20, 4);
        let set = low_rank::<T>(n, p);
        let mut whole = InMemory::new(&set);
        let combinations = combinations(&mut whole, 8).unwrap();
        assert_eq!(combinations.len(), 3);
        let small = small_set(Criterion::Frobenius, &combinations).unwrap();
        // The small set averages over the combinations; the energy of the whole set is their sum.
        let count = combinations.len() as f64;
        let energy = count * small.constant() / whole.summary().constant;
        assert!((energy - 1.0).abs() < 1e-12, "{energy}");
        let mut small = InMemory::new(&small);
        let mut random = SplitMix(8);
        let (mut x, mut y) = (Sums::default(), Sums::default());
        for _ in 0..3 {
            let b = Matrix::from_fn(p, p, |_, _| T::from_parts(random.next(), random.next()));
            let request = Request::Point {
                b,
                update: None,
                hessian: false,
            };
            whole.evaluate(&request, &mut x).unwrap();
            small.evaluate(&request, &mut y).unwrap();
            let ratio = count * y.numbers[0] / x.numbers[0];
            assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
            let (expected, gradient) = (&x.moments.gradient, &y.moments.gradient);
            for (x, y) in gradient.as_slice().iter().zip(expected.as_slice()) {
                assert!((*x * count - *y).abs() < 1e-11 * expected.norm());
            }
        }
    }

    #[test]
    fn combinations_with_all_energy_preserve_the_criterion() {
        assert_same_criterion::<f64>();
        assert_same_criterion::<c64>();
    }

    #[test]
    fn zero_matrices_have_no_combinations() {
        let options = SetOptions::default().criterion(Criterion::Frobenius);
        let set = MatrixSet::with_options(&[0.0; 18], 2, 3, &options).unwrap();
        assert!(
            combinations(&mut InMemory::new(&set), 8)
                .unwrap()
                .is_empty()
        );
    }
}
