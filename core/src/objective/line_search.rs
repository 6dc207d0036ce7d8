//! Line searches: backtracking, and a safeguarded Newton search for the minimizer along a line.
//!
//! Along B(α) = (I + αE)B every Dⁱ_aa(α) is a quadratic polynomial in α, whose coefficients one
//! data pass computes. Each evaluation of the loss and its derivatives then costs O(np) and one p×p
//! determinant. See Nocedal & Wright, Numerical Optimization, chapter 3.

use crate::Error;
use crate::backend::{Backend, LinePoint, Request, Sums};
use crate::data::Criterion;
use crate::linalg::{self, Matrix, Scalar};
use crate::tuning::TUNING;

/// Change of the loss from α = 0 to a trial α, and its derivatives there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub alpha: f64,
    /// The loss here minus the loss at 0.
    pub change: f64,
    pub first: f64,
    pub second: f64,
}

/// Maximum number of evaluations of a search.
const MAX_EVALUATIONS: usize = 40;
/// Relative width of a bracket at which a search ends.
const MIN_BRACKET: f64 = 1e-10;
/// Largest α.
const MAX_ALPHA: f64 = 1e3;

/// The loss along a line.
pub(crate) struct Line<'a, T: Scalar> {
    backend: &'a mut dyn Backend<T>,
    sums: &'a mut Sums<T>,
    b: &'a Matrix<T>,
    e: &'a Matrix<T>,
    criterion: Criterion,
    determinant: Determinant,
    start: Trial,
    /// Σ_i w_i Σ_a φ(Dⁱ_aa) at α = 0.
    diagonal_sum: f64,
    full_step: LinePoint,
    /// Linear coefficients, then quadratic coefficients, of the mean powers as polynomials in α.
    power_changes: Vec<f64>,
    /// Bound of the rounding error of changes of the loss.
    pub rounding: f64,
}

impl<'a, T: Scalar> Line<'a, T> {
    /// Returns the line through B along E, at the cost of one data pass.
    pub fn new(
        backend: &'a mut dyn Backend<T>,
        b: &'a Matrix<T>,
        e: &'a Matrix<T>,
        sums: &'a mut Sums<T>,
    ) -> Result<Self, Error> {
        let (request, p) = (
            Request::Line {
                b: b.clone(),
                e: e.clone(),
            },
            e.rows(),
        );
        backend.evaluate(&request, sums)?;
        let (point, full_step) = (sums.line_point(2 * p), sums.line_point(2 * p + 3));
        let summary = backend.summary();
        let criterion = summary.criterion;
        let determinant = Determinant::new(e);
        let rounding = criterion.rounding(p, point.sum);
        let rounding = rounding * backend.capabilities().epsilon / f64::EPSILON;
        let at_start = determinant.at(e, 0.0, rounding);
        let (_, first, second) = criterion.along(summary, point.sum, point, at_start);
        Ok(Self {
            criterion,
            determinant,
            start: Trial {
                alpha: 0.0,
                change: 0.0,
                first,
                second,
            },
            diagonal_sum: point.sum,
            full_step,
            power_changes: sums.numbers[..2 * p].to_vec(),
            rounding,
            backend,
            sums,
            b,
            e,
        })
    }

    /// Evaluates the loss at α.
    pub fn at(&mut self, alpha: f64) -> Result<Trial, Error> {
        let determinant = self.determinant.at(self.e, alpha, self.rounding);
        if !determinant.value.is_finite() {
            return Ok(Trial {
                alpha,
                change: f64::INFINITY,
                first: f64::INFINITY,
                second: 0.0,
            });
        }
        let point = if alpha == 1.0 {
            self.full_step
        } else {
            let (b, e) = (self.b.clone(), self.e.clone());
            let request = Request::LinePoint { b, e, alpha };
            self.backend.evaluate(&request, self.sums)?;
            self.sums.line_point(0)
        };
        let summary = self.backend.summary();
        let (change, first, second) =
            self.criterion
                .along(summary, self.diagonal_sum, point, determinant);
        Ok(Trial {
            alpha,
            change,
            first,
            second,
        })
    }

    /// Returns the factors of the rows that restore mean powers of 1 after a step of length α.
    pub fn scale(&self, alpha: f64) -> Vec<f64> {
        let (linear, quadratic) = self.power_changes.split_at(self.e.rows());
        let powers = linear.iter().zip(quadratic);
        powers
            .map(|(x, y)| self.criterion.row_scale_after(alpha * (x + alpha * y)))
            .collect()
    }

    /// Whether the loss of a trial is lower than at α = 0 or, if the difference is within rounding,
    /// its slope is smaller.
    fn is_descent(&self, trial: &Trial) -> bool {
        let flatter = trial.first.abs() < self.start.first.abs();
        trial.change < -self.rounding || trial.change <= self.rounding && flatter
    }

    /// Backtracks over α = 1, ½, ¼ … until the loss decreases; None if it does not.
    pub fn backtrack(&mut self, halvings: usize) -> Result<Option<Trial>, Error> {
        let mut alpha = 1.0;
        for _ in 0..halvings.max(1) {
            let point = self.at(alpha)?;
            if self.is_descent(&point) {
                return Ok(Some(point));
            }
            alpha *= 0.5;
        }
        Ok(None)
    }

    /// Finds a minimizer along the line, to a slope of `accuracy` times that at 0, by Newton's
    /// method from α = `guess`, safeguarded by a bracket. The minimizer is below the first α at
    /// which I + αE is singular. Returns None if no trial decreases the loss.
    pub fn minimize(&mut self, guess: f64, accuracy: f64) -> Result<Option<Trial>, Error> {
        let goal = accuracy * self.start.first.abs();
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut best: Option<Trial> = None;
        let mut alpha = guess;
        for _ in 0..MAX_EVALUATIONS {
            let point = self.at(alpha)?;
            let descends = self.is_descent(&point);
            if descends && best.is_none_or(|b| point.change < b.change) {
                best = Some(point);
            }
            if descends && point.second > 0.0 && point.first.abs() <= goal {
                return Ok(Some(point));
            }
            // Left of a minimizer the slope is negative, and the loss lower than at 0.
            if point.first < 0.0 && point.change <= self.rounding {
                low = alpha;
            } else {
                high = alpha;
            }
            let newton = alpha - point.first / point.second;
            alpha = if point.second > 0.0 && low < newton && newton < high.min(4.0 * alpha) {
                newton
            } else if high.is_finite() {
                0.5 * (low + high)
            } else {
                2.0 * alpha
            };
            if high - low <= MIN_BRACKET * alpha || alpha > MAX_ALPHA {
                break;
            }
        }
        Ok(best)
    }
}

/// Value and derivatives in α of log det(I + αE); the value is −∞ if the determinant is not
/// positive. For complex E these are the real parts, that is, of log |det(I + αE)|.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogDeterminant {
    pub value: f64,
    /// First derivative: tr X, with X = (I + αE)⁻¹E.
    pub first: f64,
    /// Second derivative: −tr X².
    pub second: f64,
}

/// Evaluates log det(I + αE) for many α.
struct Determinant {
    /// tr E, tr E² … tr E⁶.
    traces: [f64; 6],
    /// max(√‖E²‖, ∛‖E³‖). Higher powers of E are products of E² and E³, so |tr Eᵏ| is at most
    /// `radius`ᵏ for k ≥ 2.
    radius: f64,
}

impl Determinant {
    fn new<T: Scalar>(e: &Matrix<T>) -> Self {
        let square = linalg::product(e, e);
        let cube = linalg::product(&square, e);
        // tr(X Y) is the inner product of X and Yᴴ.
        let (square_adjoint, cube_adjoint) = (square.adjoint(), cube.adjoint());
        let trace = |x: &Matrix<T>| (0..e.rows()).map(|a| x[(a, a)].real()).sum();
        Self {
            traces: [
                trace(e),
                trace(&square),
                trace(&cube),
                square.dot(&square_adjoint),
                square.dot(&cube_adjoint),
                cube.dot(&cube_adjoint),
            ],
            radius: square.norm().sqrt().max(cube.norm().cbrt()),
        }
    }

    fn at<T: Scalar>(&self, e: &Matrix<T>, alpha: f64, rounding: f64) -> LogDeterminant {
        // Near a solution E is small, and six terms of the series of the logarithm suffice.
        if (alpha * self.radius).abs().powi(7) <= TUNING.series_remainder * rounding {
            let [t1, t2, t3, t4, t5, t6] = self.traces;
            // Horner's scheme in −α.
            let series = |terms: [f64; 6]| terms.iter().rfold(0.0, |sum, term| term - alpha * sum);
            let value = [t1, t2 / 2.0, t3 / 3.0, t4 / 4.0, t5 / 5.0, t6 / 6.0];
            return LogDeterminant {
                value: alpha * series(value),
                first: series(self.traces),
                second: -series([t2, 2.0 * t3, 3.0 * t4, 4.0 * t5, 5.0 * t6, 0.0]),
            };
        }
        let p = e.rows();
        let mut m = e.scaled(alpha);
        (0..p).for_each(|a| m[(a, a)] += T::ONE);
        let (log_det, inverse) = linalg::log_det_and_inverse(&m);
        if log_det == f64::NEG_INFINITY {
            return LogDeterminant {
                value: log_det,
                first: 0.0,
                second: 0.0,
            };
        }
        // X = (I + αE)⁻¹E = (I − (I + αE)⁻¹) / α. Computes the traces of αX and of (αX)².
        let (mut trace, mut trace_of_square) = (0.0, 0.0);
        for a in 0..p {
            let own = T::ONE - inverse[(a, a)];
            trace += own.real();
            trace_of_square += (own * own).real();
            let column = inverse.as_slice()[a..].iter().step_by(p);
            let transposed_pairs = inverse.row(a)[..a].iter().zip(column);
            trace_of_square += 2.0 * transposed_pairs.map(|(x, y)| (*x * *y).real()).sum::<f64>();
        }
        LogDeterminant {
            value: log_det,
            first: trace / alpha,
            second: -trace_of_square / (alpha * alpha),
        }
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::backend::InMemory;
    use crate::{Evaluation, synthetic};

    fn direction(p: usize, size: f64) -> Matrix {
        Matrix::from_fn(p, p, |a, b| {
            if a == b {
                0.0
            } else {
                size * (((a * 5 + b * 3) % 7) as f64 - 3.0)
            }
        })
    }

    #[test]
    fn determinant_series_agrees_with_the_factorization() {
        // The largest directions for which double and single precision use the series.
        for (size, rounding) in [(2e-4, 1e-14), (4e-3, 1e-7)] {
            let e = direction(6, size);
            let determinant = Determinant::new(&e);
            let series = determinant.at(&e, 0.9, rounding);
            let direct = determinant.at(&e, 0.9, 0.0);
            assert_ne!(series.value, direct.value);
            assert!((series.value - direct.value).abs() < rounding);
            assert!((series.first - direct.first).abs() < 1e-12 + rounding);
            let size = direct.second.abs();
            assert!((series.second - direct.second).abs() < 1e-9 * size + 10.0 * rounding);
            // The series is not used for large α.
            let far = determinant.at(&e, 90.0, rounding);
            assert_eq!(far.value, determinant.at(&e, 90.0, 0.0).value);
        }
    }

    #[test]
    fn traces_of_powers_are_bounded_by_the_radius() {
        let e = direction(6, 0.1);
        let determinant = Determinant::new(&e);
        let mut power = Matrix::identity(6);
        for k in 1..=12 {
            power = linalg::product(&power, &e);
            let trace: f64 = (0..6).map(|a| power[(a, a)]).sum();
            if let Some(known) = determinant.traces.get(k - 1) {
                assert!((trace - known).abs() < 1e-12 * (1.0 + known.abs()));
            } else {
                assert!(trace.abs() <= determinant.radius.powi(k as i32));
            }
        }
    }

    #[test]
    fn line_derivatives_agree_with_finite_differences() {
        let set = synthetic::noisy(20, 6, 0.5, 3);
        let (mut set, mut sums) = (InMemory::new(&set), Sums::default());
        let b = Matrix::identity(6);
        for size in [0.03, 3e-6] {
            let e = direction(6, size);
            let mut line = Line::new(&mut set, &b, &e, &mut sums).unwrap();
            for alpha in [0.0, 0.7, 1.3] {
                let h = 1e-5;
                let (low, high) = (line.at(alpha - h).unwrap(), line.at(alpha + h).unwrap());
                let point = line.at(alpha).unwrap();
                let first = (high.change - low.change) / (2.0 * h);
                let second = (high.first - low.first) / (2.0 * h);
                assert!((point.first - first).abs() < 1e-7 * (1.0 + first.abs()));
                assert!((point.second - second).abs() < 1e-6 * (1.0 + second.abs()));
            }
        }
    }

    #[test]
    fn minimizer_is_stationary_and_lower() {
        let set = synthetic::noisy(20, 6, 0.5, 3);
        let b = Matrix::identity(6);
        let gradient = Evaluation::at(&set, &b).unwrap().gradient;
        let (mut set, mut sums) = (InMemory::new(&set), Sums::default());
        for factor in [-1e-3, -0.3, -30.0] {
            let e = Matrix::from_fn(6, 6, |a, b| {
                if a == b {
                    0.0
                } else {
                    factor * gradient[(a, b)]
                }
            });
            let mut line = Line::new(&mut set, &b, &e, &mut sums).unwrap();
            let point = line.minimize(1.0, 1e-6).unwrap().unwrap();
            assert!(point.change < 0.0, "{point:?}");
            assert!(
                point.first.abs() <= 1e-6 * line.start.first.abs(),
                "{point:?}"
            );
        }
    }
}
