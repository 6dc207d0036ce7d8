//! Claims of the paper, compared with the measurements.

use codiag::Record;
use serde::{Serialize, Serializer};

use super::Results;
use super::experiments::Experiment;
use super::run::Run;
use super::summary::{Cell, Range, Ratio, Speedup, TimeToGoal};
use crate::format::median;

/// Values of ĝ below this are rounding errors.
const GRADIENT_ROUNDING: f64 = 1e-13;
/// The order of convergence is estimated from iterations with ĝ below this.
const ASYMPTOTIC_BELOW: f64 = 2e-2;
/// Losses that differ by less belong to the same minimum.
const SAME_LOSS: f64 = 1e-6;

/// Whether the measurements confirm a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    Partly,
    DoesNotHold,
    NotMeasured,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Partly => "partly holds",
            Self::DoesNotHold => "does not hold here",
            Self::NotMeasured => "not determined",
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A claim, its measurement and the verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    #[serde(rename = "claim")]
    pub statement: String,
    pub measured: String,
    pub verdict: Verdict,
}

/// Evaluates all claims.
pub fn claims(results: &Results) -> Vec<Claim> {
    vec![
        quadratic_convergence(&results.runs_of("a", "quasi-newton")),
        linear_convergence(results),
        faster_than_pham(results),
        newton_is_faster(results),
    ]
}

/// Estimates the order q of convergence, ĝ₊ ≈ ĝ^q, from the last steps above rounding.
pub fn convergence_order(history: &[Record]) -> Option<f64> {
    let orders: Vec<f64> = history
        .windows(2)
        .map(|pair| (pair[0].gradient_norm, pair[1].gradient_norm))
        .filter(|(before, after)| *before < ASYMPTOTIC_BELOW && *after > GRADIENT_ROUNDING)
        .map(|(before, after)| after.ln() / before.ln())
        .collect();
    let last = orders.len().saturating_sub(3);
    (!orders.is_empty()).then(|| median(&orders[last..]))
}

/// Estimates the factor by which ĝ is multiplied per iteration, from the second half of the
/// iterations.
pub fn convergence_rate(history: &[Record]) -> Option<f64> {
    let norms: Vec<f64> = history.iter().map(|record| record.gradient_norm).collect();
    let end = norms.len().checked_sub(1)?;
    let middle = norms.len() / 2;
    (end > middle).then(|| (norms[end] / norms[middle]).powf(1.0 / (end - middle) as f64))
}

/// Checks the order of convergence without noise.
fn quadratic_convergence(runs: &[&Run]) -> Claim {
    let orders: Vec<f64> = runs
        .iter()
        .filter_map(|run| convergence_order(&run.history))
        .collect();
    let (verdict, measured) = if orders.is_empty() {
        (
            Verdict::NotMeasured,
            "There were too few iterations to estimate an order of convergence.".to_owned(),
        )
    } else {
        let order = Range::of(&orders);
        let verdict = if order.median >= 1.6 {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        };
        (
            verdict,
            format!(
                "Estimated order of convergence: {} (2 = quadratic). Iterations: {}.",
                order.show(|q| format!("{q:.1}")),
                iterations(runs)
            ),
        )
    };
    Claim {
        statement: "Without noise (experiment a), the quasi-Newton method converges quadratically."
            .to_owned(),
        measured,
        verdict,
    }
}

/// Checks the rate of convergence with noise and on real data.
fn linear_convergence(results: &Results) -> Claim {
    let mut sentences = Vec::new();
    let mut holds = true;
    for key in ["b", "c"] {
        let runs = results.runs_of(key, "quasi-newton");
        let rates: Vec<f64> = runs
            .iter()
            .filter_map(|run| convergence_rate(&run.history))
            .collect();
        let factor = Range::of(&rates);
        holds &= factor.median < 1.0 && factor.median > 0.3;
        let reached = TimeToGoal::of(&runs).reached;
        sentences.push(format!(
            "In ({key}), ĝ is multiplied by {} per iteration; the runs took {} iterations, and {reached} of {} \
             reached ĝ = 1e-6.",
            factor.show(|x| format!("{x:.3}")),
            iterations(&runs),
            runs.len()
        ));
    }
    Claim {
        statement: "With noise and on real data (experiments b and c), its convergence is linear."
            .to_owned(),
        measured: sentences.join(" "),
        verdict: if holds {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        },
    }
}

/// Formats the median and range of the number of iterations.
fn iterations(runs: &[&Run]) -> Cell {
    let counts: Vec<f64> = runs.iter().map(|run| run.n_iter as f64).collect();
    Range::of(&counts).show(|x| format!("{x:.0}"))
}

/// Compares the quasi-Newton method with Pham's algorithm.
fn faster_than_pham(results: &Results) -> Claim {
    let mut sentences = Vec::new();
    let (mut faster, mut slower) = (0, 0);
    for experiment in &results.experiments {
        let key = experiment.key;
        let pham = results.runs_of(key, "pham");
        let speedup = Speedup::of(&results.runs_of(key, "quasi-newton"), &pham);
        match speedup.median {
            Ratio::Exactly(times) | Ratio::MoreThan(times) if times > 1.05 => faster += 1,
            Ratio::Exactly(times) | Ratio::LessThan(times) if times < 0.95 => slower += 1,
            _ => {}
        }
        sentences.push(format!("({key}) {}", speedup.describe()));
    }
    let verdict = match (faster, slower) {
        (0, 0) => Verdict::NotMeasured,
        (_, 0) if faster == results.experiments.len() => Verdict::Holds,
        (0, _) => Verdict::DoesNotHold,
        _ => Verdict::Partly,
    };
    Claim {
        statement: "The quasi-Newton method is faster than Pham's algorithm.".to_owned(),
        measured: format!(
            "Time to ĝ ≤ 1e-6: {}. Both methods are compiled and share their kernels here. The package of the authors is \
             written in Python, where the loop over pairs of components in Pham's algorithm costs far more than its \
             arithmetic, so the ratios can differ.",
            sentences.join(", ")
        ),
        verdict,
    }
}

/// Compares the default method of codiag with both methods of the paper.
fn newton_is_faster(results: &Results) -> Claim {
    let (mut sentences, mut minima) = (Vec::new(), String::new());
    let mut all = true;
    for experiment in &results.experiments {
        let key = experiment.key;
        let own = results.runs_of(key, "newton");
        let against = |solver| Speedup::of(&own, &results.runs_of(key, solver));
        let (pham, paper) = (against("pham"), against("quasi-newton"));
        for speedup in [pham, paper] {
            all &= matches!(speedup.median, Ratio::Exactly(t) | Ratio::MoreThan(t) if t > 1.0);
        }
        sentences.push(format!(
            "({key}) {} compared with Pham's algorithm, {} compared with the paper's method",
            pham.describe(),
            paper.describe()
        ));
        minima.extend(minima_of_others(results, experiment));
    }
    Claim {
        statement:
            "Not a claim of the paper: Newton's method from the spectral start is faster than both."
                .to_owned(),
        measured: format!("Time to ĝ ≤ 1e-6: {}.{minima}", sentences.join("; ")),
        verdict: if all {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        },
    }
}

/// Returns a sentence if other methods reached lower minima than Newton's method from the spectral
/// start in this experiment.
fn minima_of_others(results: &Results, experiment: &Experiment) -> Option<String> {
    let own = results.runs_of(experiment.key, "newton");
    let lower = |solver| {
        let others = results.runs_of(experiment.key, solver);
        let pairs = own.iter().zip(&others);
        pairs
            .filter(|(own, other)| own.local_minimum > other.local_minimum + SAME_LOSS)
            .count()
    };
    let (pham, paper) = (lower("pham"), lower("quasi-newton"));
    (pham.max(paper) > 0).then(|| {
        format!(
            " In ({}), of {}, Pham's algorithm reached a lower minimum in {pham}, the paper's method in {paper}; \
             --n-restarts tries several starting points.",
            experiment.key,
            experiment.count()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use codiag::{Settings, diagonalize, synthetic};

    fn history(norms: &[f64]) -> Vec<Record> {
        let set = synthetic::noisy(20, 2, 0.1, 0);
        let result = diagonalize(&set, &Settings::default()).unwrap();
        let point = |(iteration, norm): (usize, &f64)| {
            let mut record = result.history[0].clone();
            record.iteration = iteration;
            record.gradient_norm = *norm;
            record
        };
        norms.iter().enumerate().map(point).collect()
    }

    #[test]
    fn order_and_rate_of_sequences_are_estimated() {
        let quadratic = history(&[1.0, 0.5, 1e-1, 1e-2, 1e-4, 1e-8, 1e-16]);
        assert!((convergence_order(&quadratic).unwrap() - 2.0).abs() < 0.1);
        let linear: Vec<f64> = (0..40).map(|k| 0.5_f64.powi(k)).collect();
        assert!(convergence_order(&history(&linear)).unwrap() < 1.1);
        assert!((convergence_rate(&history(&linear)).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(convergence_order(&history(&[1.0])), None);
        assert_eq!(convergence_rate(&history(&[1.0])), None);
    }
}
