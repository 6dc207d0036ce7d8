//! Assembly of the result from the final B: canonical form, patterns and diagnostics.

use super::state::Outcome;
use crate::Error;
use crate::backend::{Backend, Request, Summary, Sums, Tables};
use crate::linalg::{self, Matrix, Scalar};
use crate::objective::{Point, identifiability, normalized, singular};
use crate::report::{Diagonalization, Identifiability};
use crate::settings::Settings;

/// Assembles the result of a solve.
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
        // Sweeps over pairs do not normalize the rows, on whose scale ĝ depends.
        let b = normalized(backend.summary(), settings, b);
        let point = Point::at(backend, settings, b.clone(), &mut sums, false);
        (b, unless_interrupted(point)?)
    };
    let criterion = backend.summary().criterion;
    let normalization = criterion.row_scale(&b, &backend.summary().mean);
    let mean_powers: Vec<f64> = normalization.iter().map(|s| 1.0 / (s * s)).collect();
    let log_det = linalg::log_abs_det(&b);
    // If this pass is interrupted, the loss is that of the last record, and components are not
    // sorted.
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
        normalization
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
        sorted_powers(tables, &order, &scale)
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
    // Rounding may have made powers negative, so that the result contains NaN.
    if !(b.is_finite() && a.is_finite() && residuals.iter().all(|x| x.is_finite())) {
        return Err(singular(summary));
    }
    let position = |component: usize| {
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
                let (x, y) = (position(x), position(y));
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

/// Returns None if the request was interrupted. An interrupted solve takes no further data pass,
/// and returns the point that was reached.
fn unless_interrupted<T>(response: Result<T, Error>) -> Result<Option<T>, Error> {
    match response {
        Err(Error::Interrupted) => Ok(None),
        response => response.map(Some),
    }
}

/// Returns the powers of the components in their order and scale. The table is modified in place
/// because it may be large.
fn sorted_powers(tables: Tables, order: &[usize], scale: &[f64]) -> Matrix {
    let (n, mut powers) = (tables.constants.len(), tables.powers);
    let mut row = vec![0.0; order.len()];
    for out in powers.chunks_exact_mut(order.len()) {
        row.copy_from_slice(out);
        let places = out.iter_mut().zip(order);
        places.for_each(|(x, k)| *x = row[*k] * scale[*k].powi(2));
    }
    Matrix::from_rows(n, order.len(), powers)
}

/// Returns the contribution of each matrix to the loss; `log_det` is log |det B|.
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

/// Changes the sign (if complex, the phase) of each component so that the largest entry of its
/// pattern, or the first one among equals, is real and positive.
fn make_largest_positive<T: Scalar>(b: &mut Matrix<T>, a: &mut Matrix<T>) {
    for component in 0..b.rows() {
        let pattern = (0..a.rows()).map(|c| a[(c, component)]);
        let Some(phase) = linalg::phase_of_largest(pattern) else {
            continue;
        };
        b.row_mut(component).iter_mut().for_each(|x| *x *= phase);
        for c in 0..a.rows() {
            let rotated = a[(c, component)] * phase.conj();
            // Remove the rounding error in the imaginary part of the largest entry.
            let rounding = rotated.imaginary().abs() <= f64::EPSILON * rotated.abs();
            a[(c, component)] = if rounding {
                T::from_real(rotated.real())
            } else {
                rotated
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern such as (1, 1, −1), which results from a common reference electrode, keeps its
    /// sign when rounding makes another entry the largest.
    #[test]
    fn sign_of_component_is_robust_to_rounding() {
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
