//! The spectral starting point of least squares.
//!
//! The principal combinations of the matrices are a small set whose fit is close to that of the
//! whole set. The candidates are generalized eigenvectors of two combinations, which are the
//! solution if the set can be diagonalized exactly. They are refined by U-WEDGE on the small set,
//! and the one of lowest loss is used.

use super::combinations::{combinations, small_set};
use super::{SplitMix, eigen};
use crate::Error;
use crate::backend::{Backend, InMemory, Request, Sums};
use crate::data::MatrixSet;
use crate::linalg::{self, Matrix, Scalar};
use crate::objective::least_squares::{diagonalizer, wedge};

/// Maximum number of principal combinations.
const MAX_COMBINATIONS: usize = 64;
/// Number of U-WEDGE steps from each candidate.
const CANDIDATE_STEPS: usize = 2;
/// Maximum number of further U-WEDGE steps from the best candidate.
const MAX_STEPS: usize = 8;
/// Relative decrease of the loss below which the refinement ends.
const MIN_LOSS_DECREASE: f64 = 0.1;

/// Computes the starting point, and the small set. Seeds other than 0 use random mixtures of the
/// combinations.
pub(super) fn start<T: Scalar>(
    set: &mut dyn Backend<T>,
    seed: u64,
) -> Result<(Matrix<T>, Option<MatrixSet<T>>), Error> {
    let p = set.summary().dimension();
    let combinations = combinations(set, p.min(MAX_COMBINATIONS))?;
    let mut best: Option<(f64, Matrix<T>)> = None;
    if combinations.is_empty() {
        return Ok((Matrix::identity(p), None));
    }
    let small_set = small_set(set.summary().criterion, &combinations)?;
    let mut small = InMemory::new(&small_set);
    for b in candidates(&combinations, &set.summary().mean, seed)? {
        let (loss, b) = refine(&mut small, b, CANDIDATE_STEPS)?;
        if best.as_ref().is_none_or(|(lowest, _)| loss < *lowest) {
            best = Some((loss, b));
        }
    }
    let (_, b) = best.expect("the eigenvectors of one combination are always a candidate");
    let (_, b) = refine(&mut small, b, MAX_STEPS)?;
    let b = diagonalizer(&linalg::inverse_by_elimination(&b)).unwrap_or(b);
    Ok((b, Some(small_set)))
}

/// Returns the candidates: generalized eigenvectors of two combinations; of the mean and a
/// combination if the mean is positive definite; and the eigenvectors of one combination.
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

/// Takes at most `steps` steps of U-WEDGE. Returns the lowest loss, and the B where it was reached.
fn refine<T: Scalar>(
    set: &mut InMemory<T>,
    b: Matrix<T>,
    steps: usize,
) -> Result<(f64, Matrix<T>), Error> {
    let criterion = set.summary().criterion;
    let (mut current, mut sums) = (b, Sums::default());
    let mut best = (f64::INFINITY, current.clone());
    for step in 0..=steps {
        let request = Request::Point {
            b: current.clone(),
            update: None,
            hessian: false,
        };
        set.evaluate(&request, &mut sums)?;
        let loss = criterion.loss(set.summary(), sums.numbers[0], 0.0);
        let improves = loss < (1.0 - MIN_LOSS_DECREASE) * best.0 && loss > f64::EPSILON;
        if loss < best.0 {
            best = (loss, current.clone());
        }
        if step == steps || step > CANDIDATE_STEPS && !improves {
            break;
        }
        set.evaluate(&Request::Wedge { b: current.clone() }, &mut sums)?;
        let e = wedge::direction(&wedge::sums(&sums.moments));
        let next = wedge::uwedge(&current, &e).map(|b| linalg::inverse_by_elimination(&b));
        let Some(next) = next.and_then(|a| diagonalizer(&a)) else {
            break;
        };
        current = next;
    }
    Ok(best)
}
