//! From the last B to the answer: canonical form, patterns, diagnostics.

use super::Outcome;
use crate::Error;
use crate::linalg::{self, Matrix};
use crate::matrices::{InMemory, MatrixSet, WorkingSet};
use crate::report::{Diagonalization, Identifiability};
use crate::settings::Settings;
use crate::update;

/// Assembles the answer.
pub(super) fn assemble(
    set: &MatrixSet,
    working: &mut InMemory<'_>,
    settings: &Settings,
    outcome: Outcome,
    start_losses: Vec<f64>,
) -> Result<Diagonalization, Error> {
    let Outcome {
        b,
        statistics,
        status,
        history,
    } = outcome;
    let p = set.dimension();
    let statistics = if let Some(statistics) = statistics {
        statistics
    } else {
        working.reset(&b)?;
        working.statistics()?
    };
    // Pham's matrices are in a gauge of their own; so are all without `rescale`.
    let scale = if settings.orthogonal || !settings.canonical {
        vec![1.0; p]
    } else {
        update::normalizing_scale(&b, set.mean())
    };
    let b = b.scale_rows(&scale);
    let squares: Vec<f64> = scale.iter().map(|s| s * s).collect();
    let mut powers = Matrix::from_rows(set.len(), p, working.powers());
    for i in 0..set.len() {
        for (x, s) in powers.row_mut(i).iter_mut().zip(&squares) {
            *x *= s;
        }
    }
    let order = if settings.canonical {
        by_variation(&powers, set.weights())
    } else {
        (0..p).collect()
    };
    let mut b = Matrix::from_fn(p, p, |a, c| b[(order[a], c)]);
    let mut a = linalg::inverse(&b);
    if let Some(reduction) = set.reduction() {
        b = linalg::product(&b, reduction.filters());
        a = linalg::product(reduction.patterns(), &a);
    }
    if settings.canonical {
        make_largest_positive(&mut b, &mut a);
    }
    let powers = Matrix::from_fn(set.len(), p, |i, c| powers[(i, order[c])]);
    let twice_log_det = 2.0 * linalg::log_abs_det(&set.to_reduced(&b));
    let residuals: Vec<f64> = (0..set.len())
        .map(|i| {
            let logs: f64 = powers.row(i).iter().map(|x| x.ln()).sum();
            0.5 * (logs - set.log_dets()[i] - twice_log_det)
        })
        .collect();
    let last = history.last().expect("a solve records its start");
    let place = |component: usize| {
        order
            .iter()
            .position(|o| *o == component)
            .unwrap_or(component)
    };
    Ok(Diagonalization {
        condition_number: condition_number(&b),
        identifiability: statistics.identifiability().map(|(margin, (x, y))| {
            let (x, y) = (place(x), place(y));
            Identifiability {
                margin,
                pair: (x.min(y), x.max(y)),
            }
        }),
        status,
        iterations: last.iteration,
        loss: linalg::dot(&residuals, set.weights()),
        gradient_norm: if settings.orthogonal {
            statistics.rotation_gradient().norm() / (p as f64).sqrt()
        } else {
            statistics.gradient_norm()
        },
        history,
        residuals,
        powers,
        b,
        a,
        start_losses,
    })
}

/// Components in descending order of how much their power varies over the set, relative to its
/// mean.
fn by_variation(powers: &Matrix, weights: &[f64]) -> Vec<usize> {
    let variation = |c: usize| {
        let (mut mean, mut square) = (0.0, 0.0);
        for (i, w) in weights.iter().enumerate() {
            mean += w * powers[(i, c)];
        }
        for (i, w) in weights.iter().enumerate() {
            square += w * (powers[(i, c)] / mean - 1.0).powi(2);
        }
        square
    };
    let variations: Vec<f64> = (0..powers.columns()).map(variation).collect();
    let mut order: Vec<usize> = (0..powers.columns()).collect();
    order.sort_by(|x, y| variations[*y].total_cmp(&variations[*x]));
    order
}

/// Flips components so that the largest entry of each pattern is positive.
fn make_largest_positive(b: &mut Matrix, a: &mut Matrix) {
    for component in 0..b.rows() {
        let largest = (0..a.rows())
            .map(|c| a[(c, component)])
            .max_by(|x, y| x.abs().total_cmp(&y.abs()))
            .unwrap_or(0.0);
        if largest < 0.0 {
            b.row_mut(component).iter_mut().for_each(|x| *x = -*x);
            (0..a.rows()).for_each(|c| a[(c, component)] = -a[(c, component)]);
        }
    }
}

fn condition_number(b: &Matrix) -> f64 {
    linalg::singular_values(b).map_or(f64::NAN, |s| match (s.first(), s.last()) {
        (Some(largest), Some(smallest)) => largest / smallest,
        _ => f64::NAN,
    })
}
