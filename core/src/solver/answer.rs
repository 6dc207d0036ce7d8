//! From the last B to the answer: canonical form, patterns, diagnostics.

use super::Outcome;
use crate::Error;
use crate::linalg::{self, Matrix};
use crate::matrices::{Tables, WorkingSet};
use crate::report::{Diagonalization, Identifiability};
use crate::settings::Settings;
use crate::update;

/// Assembles the answer.
pub(super) fn assemble<S: WorkingSet>(
    set: &mut S,
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
    let p = b.rows();
    let statistics = if let Some(statistics) = statistics {
        statistics
    } else {
        set.reset(&b)?;
        set.statistics()?
    };
    // The matrices are in the gauge of B, whichever that is.
    let normalizing = update::normalizing_scale(&b, &set.summary().mean);
    let mean_powers: Vec<f64> = normalizing.iter().map(|s| 1.0 / (s * s)).collect();
    let ending = set.ending(&mean_powers)?;
    let log_det = linalg::log_abs_det(&b);
    let scale = if settings.orthogonal || !settings.canonical {
        vec![1.0; p]
    } else {
        normalizing
    };
    let order = if settings.canonical {
        descending(&ending.variations)
    } else {
        (0..p).collect()
    };
    let tables = ending.tables.as_ref();
    let residuals = tables.map_or(Vec::new(), |t| residuals(t, log_det));
    let powers = tables.map_or(Matrix::zeros(0, p), |tables| {
        Matrix::from_fn(tables.log_dets.len(), p, |i, c| {
            tables.powers[i * p + order[c]] * scale[order[c]].powi(2)
        })
    });
    let mut b = Matrix::from_fn(p, p, |a, c| b[(order[a], c)] * scale[order[a]]);
    let mut a = linalg::inverse(&b);
    let summary = set.summary();
    if let Some(reduction) = &summary.reduction {
        b = linalg::product(&b, reduction.filters());
        a = linalg::product(reduction.patterns(), &a);
    }
    if settings.canonical {
        make_largest_positive(&mut b, &mut a);
    }
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
        loss: 0.5 * (ending.log_powers - summary.mean_log_det) - log_det,
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

/// Each matrix's share of the loss, at a B of that log |det|.
fn residuals(tables: &Tables, log_det: f64) -> Vec<f64> {
    let p = tables.powers.len() / tables.log_dets.len();
    let matrices = tables.powers.chunks_exact(p).zip(&tables.log_dets);
    matrices
        .map(|(powers, log_det_c)| {
            let logs: f64 = powers.iter().map(|x| x.ln()).sum();
            0.5 * (logs - log_det_c) - log_det
        })
        .collect()
}

/// The indices of numbers in descending order.
fn descending(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|x, y| numbers[*y].total_cmp(&numbers[*x]));
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
