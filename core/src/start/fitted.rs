//! The start of a least-squares fit.
//!
//! What a fit leaves does not change if the matrices are replaced by orthonormal combinations of them, each
//! times its singular value: the principal ones make a small set whose fit is close to that of all.
//! Generalised eigenvectors of two of them, the answer if the set is exact, are refined by U-WEDGE;
//! of several such pairs the one of lowest loss is taken, and fitted to the small set.

use super::{SplitMix, eigen};
use crate::Error;
use crate::criterion::Criterion;
use crate::least_squares::{Levenberg, Point, diagonalizer, stopping_measure, wedge};
use crate::linalg::kernels::LANES;
use crate::linalg::{self, Matrix, Scalar, Triangle, unpacked};
use crate::matrices::{InMemory, MatrixSet, SetOptions, WorkingSet};

/// Combinations at most.
const MOST: usize = 64;
/// Combinations whose energy is below this share of the largest are rounding.
const SMALLEST: f64 = 1e-20;
/// Steps of U-WEDGE: from each pair, and from the best of them, at most.
const FIRST_WEDGES: usize = 2;
const WEDGES: usize = 8;
/// Once a step brings the loss down by less than this share, the next ones will hardly bring more.
const WORTHWHILE: f64 = 0.1;
/// Gauss–Newton steps on the small set at most.
const STEPS: usize = 30;
/// ĝ on the small set: beyond it, the start gains nothing.
const TOLERANCE: f64 = 1e-3;

/// The start; other seeds begin with other pairs of combinations.
pub(super) fn start<T: Scalar>(set: &mut dyn WorkingSet<T>, seed: u64) -> Result<Matrix<T>, Error> {
    let p = set.summary().dimension();
    let combinations = combinations(set)?;
    let mut best: Option<(f64, Matrix<T>)> = None;
    if combinations.is_empty() {
        return Ok(Matrix::identity(p));
    }
    let data: Vec<T> = combinations
        .iter()
        .flat_map(Matrix::as_slice)
        .copied()
        .collect();
    let options = SetOptions::default()
        .criterion(Criterion::LeastSquares)
        .threads(1);
    let small = MatrixSet::<T>::with_options(&data, combinations.len(), p, &options)?;
    let mut small = InMemory::new(&small);
    for b in candidates(&combinations, &set.summary().mean, seed)? {
        let (loss, b) = refined(&mut small, b, FIRST_WEDGES)?;
        if best.as_ref().is_none_or(|(lowest, _)| loss < *lowest) {
            best = Some((loss, b));
        }
    }
    let (_, b) = best.expect("the eigenvectors of one combination are always a candidate");
    let (_, b) = refined(&mut small, b, WEDGES)?;
    fitted(&mut small, b)
}

/// The principal combinations of the matrices, each times its singular value, in descending order.
fn combinations<T: Scalar>(set: &mut dyn WorkingSet<T>) -> Result<Vec<Matrix<T>>, Error> {
    let (n, p) = (set.summary().len, set.summary().dimension());
    let scale = entry_scale::<T>(p);
    let count = p.min(n).min(MOST);
    let mut random = SplitMix(0);
    // One combination per row, its entries off the diagonal times √2: inner products are those of matrices.
    // (Imaginary parts on the diagonal are left out by the first round.)
    let first = Matrix::from_fn(count, scale.len(), |_, _| random.next());
    let basis = orthonormal(&operate(set, &first)?)?;
    if basis.rows() == 0 {
        return Ok(Vec::new());
    }
    // Rayleigh and Ritz: with S the basis and Y = M S for M = Σ_i w_i Cⁱ ⊗ Cⁱ, the eigenvectors V and values θ
    // of SᵀY make combinations Y V of squared norm θ².
    let images = operate(set, &basis)?;
    let (values, vectors) = eigen(&linalg::product_transposed(&basis, &images))?;
    let rows = linalg::product(&vectors, &images);
    let largest = values.last().copied().unwrap_or(0.0);
    let kept = (0..values.len()).rev();
    let kept = kept.filter(|k| values[*k] > SMALLEST * largest);
    let matrix = |k: usize| {
        let root = values[k].sqrt();
        let entries = rows.row(k).iter().zip(&scale);
        let entries: Vec<f64> = entries.map(|(x, scale)| x / root * scale).collect();
        unpacked(p, &entries)
    };
    Ok(kept.map(matrix).collect())
}

/// What the numbers of a combination's row are to be multiplied by to be its packed entries.
fn entry_scale<T: Scalar>(p: usize) -> Vec<f64> {
    let triangle = Triangle::new(p);
    // One plane of entries after the other.
    let pairs = triangle.pairs().cycle().take(T::PLANES * triangle.len());
    pairs
        .map(|(a, b)| if a == b { 1.0 } else { 0.5_f64.sqrt() })
        .collect()
}

/// Σ_i w_i ⟨Cⁱ, S⟩ Cⁱ for each row S.
fn operate<T: Scalar>(set: &mut dyn WorkingSet<T>, rows: &Matrix) -> Result<Matrix, Error> {
    let scale = entry_scale::<T>(set.summary().dimension());
    let mut out = Matrix::zeros(rows.rows(), rows.columns());
    for group in (0..rows.rows()).step_by(LANES) {
        let own = group..(group + LANES).min(rows.rows());
        let mut eight = vec![0.0; scale.len() * LANES];
        for k in own.clone() {
            for (entry, (x, scale)) in rows.row(k).iter().zip(&scale).enumerate() {
                eight[entry * LANES + k - group] = x * scale;
            }
        }
        let sums = set.correlate(&eight)?;
        for k in own {
            for (entry, (x, scale)) in out.row_mut(k).iter_mut().zip(&scale).enumerate() {
                *x = sums[entry * LANES + k - group] / scale;
            }
        }
    }
    Ok(out)
}

/// An orthonormal basis of the span of the rows.
fn orthonormal(rows: &Matrix) -> Result<Matrix, Error> {
    let norm = rows.norm();
    if norm == 0.0 {
        return Ok(Matrix::zeros(0, rows.columns()));
    }
    let scaled = rows.clone().scale_rows(&vec![1.0 / norm; rows.rows()]);
    let (values, vectors) = eigen(&linalg::product_transposed(&scaled, &scaled))?;
    let largest = values.last().copied().unwrap_or(0.0);
    let kept: Vec<usize> = (0..values.len())
        .rev()
        .filter(|k| values[*k] > 1e-14 * largest)
        .collect();
    let factors = Matrix::from_fn(kept.len(), rows.rows(), |k, c| {
        vectors[(kept[k], c)] / values[kept[k]].sqrt()
    });
    Ok(linalg::product(&factors, &scaled))
}

/// Bs to try: generalised eigenvectors of two combinations, of the mean and one if the mean is positive
/// definite, and the eigenvectors of one.
fn candidates<T: Scalar>(
    combinations: &[Matrix<T>],
    mean: &Matrix<T>,
    seed: u64,
) -> Result<Vec<Matrix<T>>, Error> {
    let p = mean.rows();
    let mut random = SplitMix(seed);
    let mut mixture = |k: usize| {
        if seed == 0 {
            return combinations[k % combinations.len()].clone();
        }
        let mut sum = Matrix::zeros(p, p);
        for matrix in combinations {
            linalg::add_multiple(sum.as_mut_slice(), random.next(), matrix.as_slice());
        }
        sum
    };
    let (first, second) = (mixture(0), mixture(1));
    let mut found = Vec::new();
    // S₂ S₁⁻¹ = A Λ₂ Λ₁⁻¹ A⁻¹.
    let ratio = linalg::product(&second, &linalg::inverse(&first));
    let vectors = ratio.is_finite().then(|| linalg::eigenvectors(&ratio));
    if let Some(b) = vectors.flatten().and_then(|a| diagonalizer(&a)) {
        found.push(b);
    }
    if let Some(factor) = linalg::cholesky(mean) {
        let whitener = linalg::inverse(&factor);
        let half = linalg::product(&whitener, &second);
        let (_, vectors) = eigen(&linalg::product_adjoint(&half, &whitener))?;
        found.push(linalg::product(&vectors, &whitener));
    }
    found.push(eigen(&first)?.1);
    Ok(found)
}

/// A few steps of U-WEDGE: the B of lowest loss on the way, and that loss.
fn refined<T: Scalar>(
    set: &mut InMemory<T>,
    b: Matrix<T>,
    steps: usize,
) -> Result<(f64, Matrix<T>), Error> {
    let criterion = set.summary().criterion;
    let mut here = b;
    let mut best = (f64::INFINITY, here.clone());
    for step in 0..=steps {
        let captured = set.reset(&here)?;
        let loss = criterion.loss(set.summary(), captured, 0.0);
        let worthwhile = loss < (1.0 - WORTHWHILE) * best.0 && loss > f64::EPSILON;
        if loss < best.0 {
            best = (loss, here.clone());
        }
        if step == steps || step > FIRST_WEDGES && !worthwhile {
            break;
        }
        let e = wedge::direction(&set.wedge_sums()?);
        let next = wedge::uwedge(&here, &e).map(|b| linalg::inverse(&b));
        let Some(next) = next.and_then(|a| diagonalizer(&a)) else {
            break;
        };
        here = next;
    }
    Ok(best)
}

/// The fit of the small set.
fn fitted<T: Scalar>(set: &mut InMemory<T>, b: Matrix<T>) -> Result<Matrix<T>, Error> {
    let b = diagonalizer(&linalg::inverse(&b)).unwrap_or(b);
    let mut here = Point::at(set, b)?;
    let mut levenberg = Levenberg::new(true);
    for _ in 0..STEPS {
        if stopping_measure(&here.statistics, set.summary().constant) <= TOLERANCE {
            break;
        }
        match levenberg.step(set, &here)? {
            Some(taken) => here = taken.point,
            None => break,
        }
    }
    Ok(here.b)
}
