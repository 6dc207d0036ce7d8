//! Line searches: backtracking, and the minimizer along a line.
//!
//! Along B(α) = (I + αE)B every Dⁱ_aa(α) is a quadratic in α, known once the direction has been
//! evaluated. The loss along the line and its derivatives then cost O(np) and one p×p determinant.
//! See Nocedal & Wright, Numerical Optimization, chapter 3.

use crate::Error;
use crate::backend::{Backend, LinePoint, Request, Sums};
use crate::data::Criterion;
use crate::linalg::{self, Matrix, Scalar};
use crate::tuning::TUNING;

/// The loss at one α, relative to that at α = 0, and its derivatives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub alpha: f64,
    /// The loss here minus the loss at 0.
    pub change: f64,
    pub first: f64,
    pub second: f64,
}

/// Safeguards of the search for a minimizer: maximum number of evaluations, relative width at which a
/// bracket counts as a point, and the largest α.
const MAX_EVALUATIONS: usize = 40;
const MIN_BRACKET: f64 = 1e-10;
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
    /// How the mean powers change with α: linearly, and quadratically.
    power_changes: Vec<f64>,
    /// Changes of the loss smaller than this are rounding.
    pub noise: f64,
}

impl<'a, T: Scalar> Line<'a, T> {
    /// The line through B along E: one pass over the set.
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
        let noise = criterion.rounding(p, point.sum);
        let noise = noise * backend.capabilities().epsilon / f64::EPSILON;
        let at_start = determinant.at(e, 0.0, noise);
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
            noise,
            backend,
            sums,
            b,
            e,
        })
    }

    /// The loss at α.
    pub fn at(&mut self, alpha: f64) -> Result<Trial, Error> {
        let determinant = self.determinant.at(self.e, alpha, self.noise);
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

    /// The factors of the rows that keep the mean powers at 1 after a step of length α.
    pub fn scale(&self, alpha: f64) -> Vec<f64> {
        let (linear, quadratic) = self.power_changes.split_at(self.e.rows());
        let powers = linear.iter().zip(quadratic);
        powers
            .map(|(x, y)| self.criterion.gauge_after(alpha * (x + alpha * y)))
            .collect()
    }

    /// Whether a trial is lower than the start, or, where rounding hides the difference, flatter.
    fn is_descent(&self, trial: &Trial) -> bool {
        let flatter = trial.first.abs() < self.start.first.abs();
        trial.change < -self.noise || trial.change <= self.noise && flatter
    }

    /// Backtracking: α = 1, ½, ¼ … until the loss decreases.
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

    /// A minimizer along the line, to a slope of `accuracy` times that at 0: Newton's method from
    /// α = `guess`, kept within a bracket, and on this side of the first α at which I + αE is
    /// singular.
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
            // Left of a minimizer the loss is falling, and lower than at 0.
            if point.first < 0.0 && point.change <= self.noise {
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

/// log det(I + αE) and its derivatives in α; the value is −∞ where the determinant is not positive. For
/// complex E it is the real part of all three, log |det(I + αE)|.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogDeterminant {
    pub value: f64,
    /// tr X, with X = (I + αE)⁻¹E.
    pub first: f64,
    /// −tr X².
    pub second: f64,
}

/// log det(I + αE) for many α.
struct Determinant {
    /// tr E, tr E² … tr E⁶.
    traces: [f64; 6],
    /// The larger one of √‖E²‖ and ∛‖E³‖. Any longer power is a product of these, so that |tr Eᵏ| is at most the kth power of it.
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

    fn at<T: Scalar>(&self, e: &Matrix<T>, alpha: f64, noise: f64) -> LogDeterminant {
        // Near a solution E is small, and six terms of the series of the logarithm are enough.
        if (alpha * self.radius).abs().powi(7) <= TUNING.series_remainder * noise {
            let [t1, t2, t3, t4, t5, t6] = self.traces;
            // By Horner's scheme in −α.
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
        // X = (I + αE)⁻¹E = (I − (I + αE)⁻¹) / α; traces of X and of X².
        let (mut trace, mut trace_of_square) = (0.0, 0.0);
        for a in 0..p {
            let own = T::ONE - inverse[(a, a)];
            trace += own.real();
            trace_of_square += (own * own).real();
            let column = inverse.as_slice()[a..].iter().step_by(p);
            let twins = inverse.row(a)[..a].iter().zip(column);
            trace_of_square += 2.0 * twins.map(|(x, y)| (*x * *y).real()).sum::<f64>();
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
    fn determinant_series_meets_the_factorization() {
        // As far as it goes in double precision, and in single precision.
        for (size, noise) in [(2e-4, 1e-14), (4e-3, 1e-7)] {
            let e = direction(6, size);
            let determinant = Determinant::new(&e);
            let series = determinant.at(&e, 0.9, noise);
            let direct = determinant.at(&e, 0.9, 0.0);
            assert_ne!(series.value, direct.value);
            assert!((series.value - direct.value).abs() < noise);
            assert!((series.first - direct.first).abs() < 1e-12 + noise);
            let size = direct.second.abs();
            assert!((series.second - direct.second).abs() < 1e-9 * size + 10.0 * noise);
            // Farther away it is not asked.
            let far = determinant.at(&e, 90.0, noise);
            assert_eq!(far.value, determinant.at(&e, 90.0, 0.0).value);
        }
    }

    #[test]
    fn powers_have_no_larger_traces_than_the_radius_says() {
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
    fn derivatives_along_the_line_are_those_of_finite_differences() {
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
    fn the_minimizer_is_stationary_and_lower() {
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
