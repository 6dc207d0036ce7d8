//! What the paper claims, and what was measured: in words.

use codiag::Record;
use serde::{Serialize, Serializer};

use super::Results;
use super::experiments::{Ratio, Run};
use crate::format::median;

/// Below this, ĝ is rounding and says nothing about convergence.
const ROUNDING: f64 = 1e-13;
/// Convergence is looked at from where ĝ is below this: before, the method is still on its way.
const NEAR: f64 = 2e-2;

/// Whether a claim holds here.
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
            Self::Partly => "holds in part",
            Self::DoesNotHold => "does not hold here",
            Self::NotMeasured => "cannot be said",
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A claim and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    #[serde(rename = "claim")]
    pub statement: String,
    pub measured: String,
    pub verdict: Verdict,
}

/// All claims.
pub fn claims(results: &Results) -> Vec<Claim> {
    vec![
        quadratic(&results.runs_of("a", "quasi-newton")),
        linear(results),
        faster_than_pham(results),
        ours(results),
    ]
}

/// The order q of convergence, ĝ₊ ≈ ĝ^q, from the last steps above rounding.
pub fn order(history: &[Record]) -> Option<f64> {
    let orders: Vec<f64> = history
        .windows(2)
        .map(|pair| (pair[0].gradient_norm, pair[1].gradient_norm))
        .filter(|(before, after)| *before < NEAR && *after > ROUNDING)
        .map(|(before, after)| after.ln() / before.ln())
        .collect();
    let last = orders.len().saturating_sub(3);
    (!orders.is_empty()).then(|| median(&orders[last..]))
}

/// The factor by which ĝ shrinks in one iteration, over the last half of the way.
pub fn rate(history: &[Record]) -> Option<f64> {
    let norms: Vec<f64> = history.iter().map(|record| record.gradient_norm).collect();
    let end = norms.len().checked_sub(1)?;
    let middle = norms.len() / 2;
    (end > middle).then(|| (norms[end] / norms[middle]).powf(1.0 / (end - middle) as f64))
}

fn quadratic(runs: &[&Run]) -> Claim {
    let orders: Vec<f64> = runs.iter().filter_map(|run| order(&run.history)).collect();
    let q = median(&orders);
    let (verdict, measured) = if q.is_nan() {
        (
            Verdict::NotMeasured,
            "There were too few iterations to see an order.".to_owned(),
        )
    } else {
        let iterations = median(&runs.iter().map(|run| run.n_iter as f64).collect::<Vec<_>>());
        let verdict = if q >= 1.6 {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        };
        (
            verdict,
            format!(
                "Near the end each ĝ is the one before to the power of {q:.1} (2 is quadratic); it took \
                 {iterations:.0} iterations."
            ),
        )
    };
    Claim {
        statement:
            "Without noise, experiment (a), the quasi-Newton method converges quadratically."
                .to_owned(),
        measured,
        verdict,
    }
}

fn linear(results: &Results) -> Claim {
    let mut sentences = Vec::new();
    let mut holds = true;
    for key in ["b", "c"] {
        let runs = results.runs_of(key, "quasi-newton");
        let rates: Vec<f64> = runs.iter().filter_map(|run| rate(&run.history)).collect();
        let factor = median(&rates);
        let reached = runs.iter().all(|run| run.seconds_to_goal.is_some());
        let iterations = median(&runs.iter().map(|run| run.n_iter as f64).collect::<Vec<_>>());
        holds &= factor < 1.0 && factor > 0.3;
        let end = if reached {
            ""
        } else {
            ", and did not reach 1e-6"
        };
        sentences.push(format!(
            "In ({key}) ĝ shrinks by a factor of {factor:.3} per iteration: it took {iterations:.0}{end}."
        ));
    }
    Claim {
        statement: "With noise and on real data, (b) and (c), its convergence is linear."
            .to_owned(),
        measured: sentences.join(" "),
        verdict: if holds {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        },
    }
}

fn faster_than_pham(results: &Results) -> Claim {
    let mut sentences = Vec::new();
    let (mut faster, mut slower) = (0, 0);
    for experiment in &results.experiments {
        let key = experiment.key;
        let pham = results.runs_of(key, "pham");
        let ratio = Ratio::of(&results.runs_of(key, "quasi-newton"), &pham);
        match ratio {
            Ratio::Exactly(times) | Ratio::MoreThan(times) if times > 1.05 => faster += 1,
            Ratio::Exactly(times) | Ratio::LessThan(times) if times < 0.95 => slower += 1,
            _ => {}
        }
        sentences.push(format!("({key}) {}", ratio.describe()));
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
            "To ĝ ≤ 1e-6: {}. Here both are compiled and share their kernels. The authors' package is \
             written in Python, where Pham's loop over pairs of components costs far more than its \
             arithmetic: a lead won there need not last here.",
            sentences.join(", ")
        ),
        verdict,
    }
}

/// What the program does by default, against both.
fn ours(results: &Results) -> Claim {
    let (mut sentences, mut losses) = (Vec::new(), String::new());
    let mut all = true;
    for experiment in &results.experiments {
        let key = experiment.key;
        let own = results.runs_of(key, "newton");
        let against = |solver| Ratio::of(&own, &results.runs_of(key, solver));
        let (pham, paper) = (against("pham"), against("quasi-newton"));
        for ratio in [pham, paper] {
            all &= matches!(ratio, Ratio::Exactly(t) | Ratio::MoreThan(t) if t > 1.0);
        }
        sentences.push(format!(
            "({key}) {} than Pham's algorithm and {} than the paper's method",
            pham.describe(),
            paper.describe()
        ));
        losses.extend(worse_minimum(results, key));
    }
    Claim {
        statement:
            "Ours, not the paper's: Newton's method from the spectral start is faster than both."
                .to_owned(),
        measured: format!("To ĝ ≤ 1e-6: {}.{losses}", sentences.join("; ")),
        verdict: if all {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        },
    }
}

/// Speed is not all: where another method found a lower minimum, it is said.
fn worse_minimum(results: &Results, experiment: &str) -> Option<String> {
    let loss = |solver| {
        let runs = results.runs_of(experiment, solver);
        median(&runs.iter().map(|run| run.loss).collect::<Vec<_>>())
    };
    let own = loss("newton");
    let (name, best) = [
        ("Pham's algorithm", loss("pham")),
        ("the paper's method", loss("quasi-newton")),
    ]
    .into_iter()
    .min_by(|x, y| x.1.total_cmp(&y.1))?;
    (own > best + 1e-6).then(|| {
        format!(
            " In ({experiment}) {name} ended in a lower minimum, {best:.4} against {own:.4}: --restarts \
             tries several."
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
    fn orders_and_rates_are_recognized() {
        let quadratic = history(&[1.0, 0.5, 1e-1, 1e-2, 1e-4, 1e-8, 1e-16]);
        assert!((order(&quadratic).unwrap() - 2.0).abs() < 0.1);
        let linear: Vec<f64> = (0..40).map(|k| 0.5_f64.powi(k)).collect();
        assert!(order(&history(&linear)).unwrap() < 1.1);
        assert!((rate(&history(&linear)).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(order(&history(&[1.0])), None);
        assert_eq!(rate(&history(&[1.0])), None);
    }
}
