//! The start of a least-squares fit.
//!
//! The principal combinations of the matrices make a small set whose fit is close to that of all.
//! Generalized eigenvectors of two of them, the answer if the set is exact, are refined by U-WEDGE;
//! of several such pairs the one of lowest loss is taken.

use super::combinations::{combinations, small_set};
use super::{SplitMix, eigen};
use crate::Error;
use crate::backend::{Backend, InMemory, Request, Sums};
use crate::data::MatrixSet;
use crate::linalg::{self, Matrix, Scalar};
use crate::objective::least_squares::{diagonalizer, wedge};

/// Combinations at most.
const MOST: usize = 64;
/// Steps of U-WEDGE: from each pair, and from the best of them, at most.
const FIRST_WEDGES: usize = 2;
const WEDGES: usize = 8;
/// Once a step brings the loss down by less than this share, the next ones will hardly bring more.
const WORTHWHILE: f64 = 0.1;

/// The start; other seeds begin with other pairs of combinations.
pub(super) fn start<T: Scalar>(
    set: &mut dyn Backend<T>,
    seed: u64,
) -> Result<(Matrix<T>, Option<MatrixSet<T>>), Error> {
    let p = set.summary().dimension();
    let combinations = combinations(set, p.min(MOST))?;
    let mut best: Option<(f64, Matrix<T>)> = None;
    if combinations.is_empty() {
        return Ok((Matrix::identity(p), None));
    }
    let small_set = small_set(set.summary().criterion, &combinations)?;
    let mut small = InMemory::new(&small_set);
    for b in candidates(&combinations, &set.summary().mean, seed)? {
        let (loss, b) = refined(&mut small, b, FIRST_WEDGES)?;
        if best.as_ref().is_none_or(|(lowest, _)| loss < *lowest) {
            best = Some((loss, b));
        }
    }
    let (_, b) = best.expect("the eigenvectors of one combination are always a candidate");
    let (_, b) = refined(&mut small, b, WEDGES)?;
    let b = diagonalizer(&linalg::inverse_by_elimination(&b)).unwrap_or(b);
    Ok((b, Some(small_set)))
}

/// Bs to try: generalized eigenvectors of two combinations, of the mean and one if the mean is
/// positive definite, and the eigenvectors of one.
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
    let (mut here, mut sums) = (b, Sums::default());
    let mut best = (f64::INFINITY, here.clone());
    for step in 0..=steps {
        let request = Request::Point {
            b: here.clone(),
            update: None,
            hessian: false,
        };
        set.evaluate(&request, &mut sums)?;
        let loss = criterion.loss(set.summary(), sums.numbers[0], 0.0);
        let worthwhile = loss < (1.0 - WORTHWHILE) * best.0 && loss > f64::EPSILON;
        if loss < best.0 {
            best = (loss, here.clone());
        }
        if step == steps || step > FIRST_WEDGES && !worthwhile {
            break;
        }
        set.evaluate(&Request::Wedge { b: here.clone() }, &mut sums)?;
        let e = wedge::direction(&wedge::sums(&sums.moments));
        let next = wedge::uwedge(&here, &e).map(|b| linalg::inverse_by_elimination(&b));
        let Some(next) = next.and_then(|a| diagonalizer(&a)) else {
            break;
        };
        here = next;
    }
    Ok(best)
}
