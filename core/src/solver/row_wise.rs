//! Alternating minimization over the rows of B, for the likelihood.
//!
//! The family of Todros & Tabrikian ("Blind separation of independent sources using Gaussian
//! mixture model", IEEE Trans. Signal Process. 55, 2007) and of Ono's iterative projection ("Stable
//! and fast update rules for independent vector analysis", WASPAA 2011). With Q_a = Σ_i w_i Cⁱ /
//! (b_a Cⁱ b_aᴴ) and c_a column a of B⁻¹, the loss is majorized by a quadratic function of row a,
//! since log x ≤ log x₀ + x/x₀ − 1. Its minimizer is b_a ← (Q_a⁻¹ c_a)ᴴ / √(c_aᴴ Q_a⁻¹ c_a), so the
//! loss never increases. Q_a depends on row a only: one data pass computes the matrices Q_a of all
//! rows, and a sweep updates the rows in turn, at a cost of O(np³ + p⁴). The implementation uses
//! the coordinates Dⁱ = B Cⁱ Bᴴ, in which Q_a = Σ_i w_i Dⁱ / Dⁱ_aa and B is the identity.
//!
//! Convergence is linear, and slower than that of the other methods.

use super::Stepper;
use super::state::{Iteration, State, Step};
use crate::Error;
use crate::backend::Request;
use crate::linalg::{self, Matrix, Scalar};
use crate::objective::Point;
use crate::objective::least_squares::acdc::entry;
use crate::objective::normalized;
use crate::report::StepKind;

/// The row-wise method.
pub(super) struct RowWise;

/// Cost of a sweep in data passes: the transform of all matrices, and weighted sums over them.
const SWEEP_PASSES: f64 = 1.0 + 1.0 / 3.0;

impl<T: Scalar> Stepper<T> for RowWise {
    fn step(&mut self, state: &mut State<'_, '_, T>) -> Result<Iteration, Error> {
        let b = state.point.b.clone();
        let p = b.rows();
        state
            .backend
            .evaluate(&Request::Weighted { b: b.clone() }, &mut state.sums)?;
        let rows = state.sums.row_blocks();
        let q = |a: usize| Matrix::from_fn(p, p, |k, l| entry::<T>(rows, p, a, k, l));
        let Some(m) = sweep(p, q) else {
            return Ok(Iteration::Stalled);
        };
        state.add_passes(SWEEP_PASSES);
        let b = normalized(
            state.backend.summary(),
            state.settings,
            linalg::product(&m, &b),
        );
        let (context, point) = state.context();
        let before = point.loss;
        let next = Point::at(context.backend, context.settings, b, context.sums, false)?;
        let criterion = context.backend.summary().criterion;
        let rounding = criterion.rounding(p, context.sums.numbers()[0]);
        let change = next.loss - before;
        // NaN does not count as a descent.
        let descends = change <= rounding;
        if !descends {
            return Ok(Iteration::Stalled);
        }
        state.move_to(next, change, rounding);
        Ok(Iteration::Moved(Step::new(StepKind::Sweep, 1.0)))
    }
}

/// Runs one sweep from the identity with the matrices Q_a, and returns the rows; None if a Q_a is
/// singular.
fn sweep<T: Scalar>(p: usize, q: impl Fn(usize) -> Matrix<T>) -> Option<Matrix<T>> {
    let (mut rows, mut inverse) = (Matrix::<T>::identity(p), Matrix::<T>::identity(p));
    for a in 0..p {
        let factor = linalg::cholesky(&q(a))?;
        let half = linalg::lower_inverse(&factor);
        let column = Matrix::from_fn(p, 1, |k, _| inverse[(k, a)]);
        // L⁻¹c, and Q⁻¹c = L⁻ᴴ L⁻¹c.
        let whitened = linalg::product(&half, &column);
        let solution = linalg::product(&half.adjoint(), &whitened);
        let norm = whitened.norm();
        let row: Vec<T> = (0..p)
            .map(|k| solution[(k, 0)].conj() * (1.0 / norm))
            .collect();
        // If row a changes by δ, B⁻¹ changes by −(B⁻¹e_a)(δ B⁻¹) / (1 + δ B⁻¹ e_a)
        // (Sherman–Morrison).
        let change: Vec<T> = row.iter().zip(rows.row(a)).map(|(x, y)| *x - *y).collect();
        let change = Matrix::from_rows(1, p, change);
        let image = linalg::product(&change, &inverse);
        let divisor = T::ONE + image[(0, a)];
        for k in 0..p {
            let factor = column[(k, 0)] / divisor;
            let entries = inverse.row_mut(k).iter_mut().zip(image.as_slice());
            entries.for_each(|(x, y)| *x -= factor * *y);
        }
        rows.row_mut(a).copy_from_slice(&row);
    }
    rows.is_finite().then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::SplitMix;
    use crate::linalg::c64;

    /// The last updated row is b_a = (Q_a⁻¹ c_a)ᴴ / √(c_aᴴ Q_a⁻¹ c_a), so that B Q_a b_aᴴ is a unit
    /// vector.
    fn assert_last_row_is_optimal<T: Scalar>() {
        let p = 4;
        let q = |a: usize| {
            let mut random = SplitMix::new(a as u64);
            let root = Matrix::from_fn(p, p, |k, l| {
                let unit = T::from_real(f64::from(u8::from(k == l)));
                unit + T::from_parts(random.next(), random.next())
            });
            linalg::product_adjoint(&root, &root)
        };
        let rows = sweep::<T>(p, q).unwrap();
        let last = Matrix::from_rows(1, p, rows.row(p - 1).to_vec());
        let half = linalg::product(&rows, &q(p - 1));
        let products = linalg::product_adjoint(&half, &last);
        for (k, x) in products.as_slice().iter().enumerate() {
            let expected = T::from_real(f64::from(u8::from(k == p - 1)));
            assert!((*x - expected).abs() < 1e-12, "{x:?}");
        }
    }

    #[test]
    fn last_row_of_a_sweep_is_optimal() {
        assert_last_row_is_optimal::<f64>();
        assert_last_row_is_optimal::<c64>();
    }
}
