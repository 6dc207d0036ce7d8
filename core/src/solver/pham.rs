//! Pham's algorithm (2001), "Joint approximate diagonalization of positive definite Hermitian
//! matrices": sweeps over all pairs of components, each transformed by the 2×2 matrix that decreases
//! a bound of the loss.

use super::course::Course;
use crate::Error;
use crate::error::Conflict;
use crate::linalg;
use crate::linalg::kernels::PairSums;
use crate::matrices::WorkingSet;
use crate::report::{Status, StepKind};
use crate::statistics::Statistics;
use crate::update;

/// The smallest Γ − 1 of a pair, as in the original program.
const FLOOR: f64 = 1e-9;

/// Runs to the end.
pub(crate) fn run<S: WorkingSet>(course: &mut Course<'_, S>) -> Result<Status, Error> {
    let summary = course.set.summary().clone();
    let p = summary.dimension();
    let mut arrived = course.arrive(StepKind::Start, 0.0, 0)?;
    loop {
        if let Some(status) = arrived {
            return Ok(status);
        }
        let mut b = course.b.clone();
        let mut decrement = 0.0;
        let Some(pairs) = course.set.pairs() else {
            return Err(Error::Conflict(Conflict::PhamNotInMemory));
        };
        for first in 1..p {
            for second in 0..first {
                let ((e_ab, e_ba), predicted) = pair_step(pairs.pair_sums(first, second));
                decrement += predicted;
                pairs.rotate_pair((first, second), (e_ab, e_ba));
                for c in 0..p {
                    let (x, y) = (b[(first, c)], b[(second, c)]);
                    b[(first, c)] = x + e_ab * y;
                    b[(second, c)] = y + e_ba * x;
                }
            }
        }
        let log_powers = pairs.log_powers();
        course.count(4.0 / 3.0);
        let loss = 0.5 * (log_powers - summary.mean_log_det) - linalg::log_abs_det(&b);
        let noise = 4.0 * f64::EPSILON * (p as f64 + log_powers.abs());
        let mut statistics = course.set.statistics()?;
        if course.settings.rescale {
            in_gauge(
                &mut statistics,
                &update::normalizing_scale(&b, &summary.mean),
            );
        }
        let change = loss - course.loss;
        course.replace(b, statistics, change, noise);
        arrived = course.arrive_with(decrement, StepKind::Sweep, 1.0, 0)?;
    }
}

/// The transform of one pair: with ω = √(Γ_ab Γ_ba) and τ = √(Γ_ba / Γ_ab), the 2×2 block
/// [[Γ_ab, 1], [1, Γ_ba]] is solved for h, and I − 2h / (1 + √(1 − 4 h_ab h_ba)) is applied, which
/// keeps the determinant's part of the loss exact. Also the decrease this predicts.
fn pair_step(sums: PairSums) -> ((f64, f64), f64) {
    let PairSums {
        gradient_ab,
        gradient_ba,
        gamma_ab,
        gamma_ba,
    } = sums;
    let omega = (gamma_ab * gamma_ba).sqrt();
    let tau = (gamma_ba / gamma_ab).sqrt();
    let plus = (tau * gradient_ab + gradient_ba) / (omega + 1.0);
    let minus = (tau * gradient_ab - gradient_ba) / (omega - 1.0).max(FLOOR);
    let (h_ab, h_ba) = (plus + minus, (plus - minus) / tau);
    let divisor = 1.0 + (1.0 - h_ab * h_ba).max(0.0).sqrt();
    let decrement = 0.5 * (gradient_ab * h_ab + gradient_ba * h_ba);
    ((-h_ab / divisor, -h_ba / divisor), decrement)
}

/// The statistics as they are once rows are multiplied by `scale`: the matrices themselves need
/// not be touched, since the pairs' steps do not depend on it.
fn in_gauge(statistics: &mut Statistics, scale: &[f64]) {
    for (a, by) in scale.iter().enumerate() {
        for (b, to) in scale.iter().enumerate() {
            let ratio = to / by;
            statistics.gradient[(a, b)] *= ratio;
            statistics.gamma[(a, b)] *= ratio * ratio;
        }
    }
}
