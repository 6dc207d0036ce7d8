//! From the last B to the result: canonical form, patterns, diagnostics.

use super::state::Outcome;
use crate::Error;
use crate::backend::{Backend, Request, Summary, Sums, Tables};
use crate::linalg::{self, Matrix, Scalar};
use crate::objective::{Point, identifiability, in_gauge, singular};
use crate::report::{Diagonalization, Identifiability};
use crate::settings::Settings;

/// Assembles the result.
pub(super) fn assemble<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    outcome: Outcome<T>,
    start_losses: Vec<f64>,
) -> Result<Diagonalization<T>, Error> {
    let Outcome {
        b,
        point,
        status,
        history,
        ..
    } = outcome;
    let p = b.rows();
    let last = history.last().expect("a solve records its start");
    let is_last_point = point.is_some();
    let mut sums = Sums::default();
    let (b, point) = if is_last_point {
        (b, point)
    } else {
        // Sweeps over pairs do not scale rows as ĝ has them.
        let b = in_gauge(backend.summary(), settings, b);
        let point = Point::at(backend, settings, b.clone(), &mut sums, false);
        (b, unless_interrupted(point)?)
    };
    let criterion = backend.summary().criterion;
    let normalizing = criterion.gauge(&b, &backend.summary().mean);
    let mean_powers: Vec<f64> = normalizing.iter().map(|s| 1.0 / (s * s)).collect();
    let log_det = linalg::log_abs_det(&b);
    // Without another pass, the loss is that of the last record, and the order as it was.
    let request = Request::Components {
        b: b.clone(),
        mean_powers,
        tables: true,
    };
    let evaluated = backend.evaluate(&request, &mut sums);
    let (loss, variations, tables) = match unless_interrupted(evaluated)? {
        Some(()) => (
            criterion.loss(backend.summary(), sums.numbers[0], log_det),
            sums.numbers[1..].to_vec(),
            sums.tables,
        ),
        None => (last.loss, vec![0.0; p], None),
    };
    let scale = if settings.orthogonal || !settings.canonical {
        vec![1.0; p]
    } else {
        normalizing
    };
    let order = if settings.canonical {
        linalg::argsort_descending(&variations)
    } else {
        (0..p).collect()
    };
    let residuals = tables
        .as_ref()
        .map_or(Vec::new(), |t| residuals(backend.summary(), t, log_det));
    let powers = tables.map_or(Matrix::zeros(0, p), |tables| {
        arranged(tables, &order, &scale)
    });
    let mut b = Matrix::from_fn(p, p, |a, c| b[(order[a], c)] * scale[order[a]]);
    let mut a = linalg::inverse(&b);
    let summary = backend.summary();
    if let Some(reduction) = &summary.reduction {
        b = linalg::product(&b, reduction.filters());
        a = linalg::product(reduction.patterns(), &a);
    }
    if settings.canonical {
        make_largest_positive(&mut b, &mut a);
    }
    // Powers that rounding has made negative leave no answer.
    if !(b.is_finite() && a.is_finite() && residuals.iter().all(|x| x.is_finite())) {
        return Err(singular(summary));
    }
    let place = |component: usize| {
        order
            .iter()
            .position(|o| *o == component)
            .unwrap_or(component)
    };
    Ok(Diagonalization {
        identifiability: point
            .as_ref()
            .and_then(|point| identifiability(criterion, &point.statistics.gamma))
            .map(|(margin, (x, y))| {
                let (x, y) = (place(x), place(y));
                Identifiability {
                    margin,
                    pair: (x.min(y), x.max(y)),
                }
            }),
        criterion,
        status,
        n_iter: last.iteration,
        loss,
        gradient_norm: point
            .filter(|_| !is_last_point)
            .map_or(last.gradient_norm, |point| {
                point.gradient_norm(summary, settings)
            }),
        history,
        residuals,
        powers,
        b,
        a,
        start_losses,
        stability: None,
    })
}

/// A solve that is interrupted takes no further pass, and keeps the point that was reached.
fn unless_interrupted<T>(asked: Result<T, Error>) -> Result<Option<T>, Error> {
    match asked {
        Err(Error::Interrupted) => Ok(None),
        asked => asked.map(Some),
    }
}

/// The powers of the components in their order and scale; in place, for there may be many.
fn arranged(tables: Tables, order: &[usize], scale: &[f64]) -> Matrix {
    let (n, mut powers) = (tables.constants.len(), tables.powers);
    let mut row = vec![0.0; order.len()];
    for out in powers.chunks_exact_mut(order.len()) {
        row.copy_from_slice(out);
        let places = out.iter_mut().zip(order);
        places.for_each(|(x, k)| *x = row[*k] * scale[*k].powi(2));
    }
    Matrix::from_rows(n, order.len(), powers)
}

/// Each matrix's share of the loss, at a B of that log |det|.
fn residuals<T>(summary: &Summary<T>, tables: &Tables, log_det: f64) -> Vec<f64> {
    let p = tables.powers.len() / tables.constants.len();
    let matrices = tables.powers.chunks_exact(p).zip(&tables.constants);
    matrices
        .map(|(powers, constant)| {
            let criterion = summary.criterion;
            criterion.residual(summary, powers, *constant, log_det)
        })
        .collect()
}

/// Flips components (if they are complex, turns their phases) so that the largest entry of each pattern,
/// the first of those that tie, is real and positive.
fn make_largest_positive<T: Scalar>(b: &mut Matrix<T>, a: &mut Matrix<T>) {
    for component in 0..b.rows() {
        let pattern = (0..a.rows()).map(|c| a[(c, component)]);
        let Some(phase) = linalg::phase_of_largest(pattern) else {
            continue;
        };
        b.row_mut(component).iter_mut().for_each(|x| *x *= phase);
        for c in 0..a.rows() {
            let turned = a[(c, component)] * phase.conj();
            // What makes the largest entry real leaves rounding in its imaginary part.
            let rounding = turned.imaginary().abs() <= f64::EPSILON * turned.abs();
            a[(c, component)] = if rounding {
                T::from_real(turned.real())
            } else {
                turned
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern such as (1, 1, −1), which a shared reference gives, keeps its sign when rounding makes
    /// another of its entries the largest.
    #[test]
    fn rounding_does_not_decide_the_sign() {
        for nudge in [1.0 - 1e-12, 1.0, 1.0 + 1e-12] {
            for sign in [1.0, -1.0] {
                let column = [1.0, 1.0 / nudge, -nudge].map(|x| sign * x);
                let mut a = Matrix::from_rows(3, 1, column.to_vec());
                let mut b = Matrix::from_rows(1, 3, column.to_vec());
                make_largest_positive(&mut b, &mut a);
                assert_eq!(a.as_slice(), [1.0, 1.0 / nudge, -nudge]);
                assert_eq!(b.as_slice(), a.as_slice());
            }
        }
        let mut a = Matrix::from_rows(2, 1, vec![0.5, -2.0]);
        let mut b = a.transpose();
        make_largest_positive(&mut b, &mut a);
        assert_eq!(a.as_slice(), [-0.5, 2.0]);
    }
}
