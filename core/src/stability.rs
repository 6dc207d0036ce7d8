//! How surely a component comes again: from another start, and from other matrices of the same kind.
//!
//! A solve that has converged stands in a minimum, but where the data do not determine a component, there
//! are others that are nearly as low, and the minimum itself moves with the matrices that happened to be
//! there. So two kinds of trials are made: the further starts of [`Settings::restarts`], those of which the
//! loss comes near that of the answer, and solves of as many matrices drawn with replacement
//! ([`Settings::stability`]), which is to weigh the set anew; these start from the answer. A component's
//! match in a trial is the |correlation| of its output, under the mean matrix, with that of the trial's component
//! most like it; its stability is the median of its matches.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use crate::Error;
use crate::linalg::{self, Matrix, Scalar};
use crate::matrices::{MatrixSet, Summary};
use crate::report::{Diagonalization, Observer, Record, Status};
use crate::settings::{Order, Settings, Start};
use crate::solver::{SAME_LOSS, diagonalize_with};
use crate::start::{self, SplitMix};
use crate::threads::Workers;

/// ĝ to which resamples are solved, unless a larger one was asked for: what is left is far below what resampling
/// moves.
const TOLERANCE: f64 = 1e-6;

/// How surely each component of an answer comes again.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(100, 5, 0.01, 0);
/// let answer = diagonalize(&set, &Settings::default().stability(20))?;
/// let stability = answer.stability.expect("20 resamples were solved");
/// assert_eq!((stability.matches.rows(), stability.starts), (20, 0));
/// assert!(stability.values.iter().all(|x| *x > 0.99)); // all are determined by these matrices
///
/// // Nothing was tried, nothing is known.
/// assert!(diagonalize(&set, &Settings::default())?.stability.is_none());
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stability {
    /// One number per component, from 0 to 1: the median of its matches.
    pub values: Vec<f64>,
    /// One row per trial, one column per component: how much the trial's component that matches it is like
    /// it, from 0 to 1.
    pub matches: Matrix,
    /// How many of the trials are further starts whose loss is within [`Stability::LOSS_MARGIN`] of the lowest;
    /// they come first. The others are resamples.
    pub starts: usize,
}

impl Stability {
    /// Starts whose loss exceeds the lowest by at most this share of it are trials: the data hardly prefer one of
    /// these answers to another. Worse ones are failures of the start, and say nothing of the data.
    pub const LOSS_MARGIN: f64 = 1e-3;

    /// Components of at least this stability are said to come again.
    pub const STABLE: f64 = 0.9;

    /// From the matches of all trials; None if there were none.
    pub(crate) fn of(trials: &[Vec<f64>], starts: usize) -> Option<Self> {
        let components = trials.first()?.len();
        let matches = Matrix::from_fn(trials.len(), components, |k, a| trials[k][a]);
        let column = |a: usize| (0..trials.len()).map(|k| trials[k][a]).collect();
        Some(Self {
            values: (0..components).map(|a| median(column(a))).collect(),
            matches,
            starts,
        })
    }

    /// How many of the trials are resamples.
    pub fn resamples(&self) -> usize {
        self.matches.rows() - self.starts
    }

    /// Component `order[a]` becomes component a.
    pub(crate) fn rearrange(&mut self, order: &[usize]) {
        let (values, matches) = (&self.values, &self.matches);
        let (rows, columns) = (matches.rows(), matches.columns());
        self.values = order.iter().map(|a| values[*a]).collect();
        self.matches = Matrix::from_fn(rows, columns, |k, a| matches[(k, order[a])]);
    }

    /// The components, the most stable first; those that tie stay in their order.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|x, y| self.values[*y].total_cmp(&self.values[*x]));
        order
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        numbers[half]
    } else {
        0.5 * (numbers[half - 1] + numbers[half])
    }
}

/// A solve of matrices drawn from a set.
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::{Matrix, Record, Settings, diagonalize, resample, synthetic};
/// let set = synthetic::noisy(10, 3, 0.1, 0);
/// let answer = diagonalize(&set, &Settings::default())?;
/// // The first half of the matrices, each of them twice.
/// let draws = vec![(0..10).map(|i| if i < 5 { 2.0 } else { 0.0 }).collect()];
/// let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let resamples = resample(&set, &answer.b, &draws, &Settings::default(), &mut silent)?;
/// assert!(resamples[0].diagonalization.status.converged());
/// assert!(resamples[0].matches.iter().all(|x| (0.0..=1.0).contains(x)));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resample<T = f64> {
    /// Its answer, in the order and signs of the one that it started from, as far as it goes.
    pub diagonalization: Diagonalization<T>,
    /// For each component of the answer that it started from, how much the one that matches it is like it, from
    /// 0 to 1.
    pub matches: Vec<f64>,
}

/// Solves sets drawn from a set, each from `b`, the answer of the whole, several at a time.
///
/// Each of `draws` says how often every matrix was drawn; its own weight counts too. Components are
/// compared by the correlation of their outputs under the mean matrix; for criteria whose matrices need not be
/// positive definite, by the cosine of their patterns. Each solve runs on one thread, so that no answer depends on
/// how many run at a time. The observer hears of their iterations, as records of a sample; if it asks to stop,
/// what has been solved until then is returned.
///
/// # Errors
/// If the settings are out of their ranges, or a draw has no weight.
#[inline(never)] // see instances.rs
pub fn resample<T: Scalar>(
    set: &MatrixSet<T>,
    b: &Matrix<T>,
    draws: &[Vec<f64>],
    settings: &Settings,
    observer: &mut dyn Observer<T>,
) -> Result<Vec<Resample<T>>, Error> {
    let settings = settings
        .clone()
        .start(Start::given(b))
        .restarts(0)
        .stability(0)
        .order(Order::Contrast)
        .canonical(false);
    let summary = set.summary();
    // A start that will not do is said before it is compared with.
    start::given(summary, b, false)?;
    let reference = Outputs::of(summary, &summary.to_reduced(b));
    let solve = |k: usize, observer: &mut dyn Observer<T>| -> Result<Resample<T>, Error> {
        crate::SetOptions::check_weights(&draws[k], set.len())?;
        let drawn = set.resampled(&draws[k]).ok_or(Error::WeightsZero)?;
        let diagonalization = diagonalize_with(&drawn, &settings, observer)?;
        let other = Outputs::of(summary, &summary.to_reduced(&diagonalization.b));
        Ok(Resample {
            matches: reference.matches(&other),
            diagonalization,
        })
    };
    let p = set.dimension();
    let work = draws.len() * set.len() * p * p * p;
    let threads = Workers::for_work(set.threads(), work).count();
    let clock = Instant::now();
    let told = |k: usize, record: &Record| Record {
        start: 1 + k,
        sample: true,
        seconds: clock.elapsed().as_secs_f64(),
        ..record.clone()
    };
    let solved = if threads.min(draws.len()) < 2 {
        one_by_one(draws.len(), &solve, &told, observer)?
    } else {
        together(draws.len(), threads, &solve, &told, observer)?
    };
    // What was stopped on the way is no resample.
    let ended = |resample: &Resample<T>| resample.diagonalization.status != Status::Stopped;
    Ok(solved.into_iter().filter(ended).collect())
}

/// The solve of one of several draws, which an observer follows.
type Solve<'a, T> = dyn Fn(usize, &mut dyn Observer<T>) -> Outcome<T> + Sync + 'a;
/// How it ended.
type Outcome<T> = Result<Resample<T>, Error>;

fn one_by_one<T: Scalar>(
    count: usize,
    solve: &Solve<'_, T>,
    told: &dyn Fn(usize, &Record) -> Record,
    observer: &mut dyn Observer<T>,
) -> Result<Vec<Resample<T>>, Error> {
    let mut solved = Vec::new();
    for k in 0..count {
        let mut stopped = false;
        solved.push(solve(k, &mut |record: &Record, b: &Matrix<T>| {
            let flow = observer.observe(&told(k, record), b);
            stopped = flow.is_break();
            flow
        })?);
        if stopped {
            break;
        }
    }
    Ok(solved)
}

/// On threads of their own, while the caller's tells the observer what they say. (The threads of the pool would
/// keep the caller's at work, and Ctrl-C unheard.)
fn together<T: Scalar>(
    count: usize,
    threads: usize,
    solve: &Solve<'_, T>,
    told: &(dyn Fn(usize, &Record) -> Record + Sync),
    observer: &mut dyn Observer<T>,
) -> Result<Vec<Resample<T>>, Error> {
    let (next, stop) = (&AtomicUsize::new(0), &AtomicBool::new(false));
    let work = |said: Sender<(Record, Matrix<T>)>| {
        let mut solved = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count || stop.load(Ordering::Relaxed) {
                return solved;
            }
            let one = solve(k, &mut |record: &Record, b: &Matrix<T>| {
                // If no one listens any more, there is nothing to tell.
                let _ = said.send((told(k, record), b.clone()));
                if stop.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            // One that cannot be solved ends it all.
            stop.fetch_or(one.is_err(), Ordering::Relaxed);
            solved.push((k, one));
        }
    };
    let solved: Vec<Vec<(usize, Outcome<T>)>> = std::thread::scope(|scope| {
        let (saying, said) = channel();
        let work = &work;
        let workers: Vec<_> = (0..threads.min(count))
            .map(|_| saying.clone())
            .map(|saying| scope.spawn(move || work(saying)))
            .collect();
        drop(saying);
        for (record, b) in said {
            if observer.observe(&record, &b).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    });
    // In their order, whoever solved them.
    let solved: BTreeMap<usize, Outcome<T>> = solved.into_iter().flatten().collect();
    solved.into_values().collect()
}

/// Fills in the stability of an answer, from the further starts, B in the set's own coordinates with its loss, and
/// from as many resamples as were asked for; then orders the components, if that is how they are to come.
pub(crate) fn assess<T: Scalar>(
    set: &MatrixSet<T>,
    settings: &Settings,
    answer: &mut Diagonalization<T>,
    starts: &[(f64, Matrix<T>)],
    observer: &mut dyn Observer<T>,
) -> Result<(), Error> {
    let mut trials = of_starts(set.summary(), answer, starts);
    let near = trials.len();
    let several = set.weights().iter().filter(|w| **w > 0.0).count() > 1;
    // Of a single matrix, every draw is the same.
    if several && settings.stability > 0 && answer.status != Status::Stopped {
        let settings = settings
            .clone()
            .tolerance(settings.tolerance.max(TOLERANCE));
        let draws = draws(set.weights(), settings.stability);
        let before = answer.history.last().map_or(0.0, |record| record.seconds);
        let starts = answer.start_losses.len() - 1;
        let mut following = |record: &Record, b: &Matrix<T>| {
            let mut record = record.clone();
            record.start += starts;
            record.seconds += before;
            observer.observe(&record, b)
        };
        let resamples = resample(set, &answer.b, &draws, &settings, &mut following)?;
        if resamples.len() < draws.len() {
            answer.status = Status::Stopped;
        }
        trials.extend(resamples.into_iter().map(|resample| resample.matches));
    }
    answer.stability = Stability::of(&trials, near);
    if settings.order == Order::Stability {
        answer.order_by_stability();
    }
    Ok(())
}

/// The matches of an answer's components in those of the further starts whose losses come near its own.
pub(crate) fn of_starts<T: Scalar>(
    summary: &Summary<T>,
    answer: &Diagonalization<T>,
    starts: &[(f64, Matrix<T>)],
) -> Vec<Vec<f64>> {
    if starts.is_empty() {
        return Vec::new();
    }
    let reference = Outputs::of(summary, &summary.to_reduced(&answer.b));
    let lowest = answer
        .start_losses
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    let margin = Stability::LOSS_MARGIN * lowest.abs() + SAME_LOSS * (1.0 + lowest.abs());
    let near = starts.iter().filter(|(loss, _)| *loss <= lowest + margin);
    near.map(|(_, b)| reference.matches(&Outputs::of(summary, b)))
        .collect()
}

/// How often each matrix is drawn in each of so many draws with replacement, always the same ones.
fn draws(weights: &[f64], count: usize) -> Vec<Vec<f64>> {
    let n = weights.len();
    let mut random = SplitMix::new(0x5747_4142);
    let mut draw = || loop {
        let mut draw = vec![0.0; n];
        for _ in 0..n {
            let place = ((random.next() + 0.5) * n as f64) as usize;
            draw[place.min(n - 1)] += 1.0;
        }
        // One of nothing but matrices of weight zero is none.
        if draw.iter().zip(weights).any(|(d, w)| d * w > 0.0) {
            return draw;
        }
    };
    (0..count).map(|_| draw()).collect()
}

/// What the components of one B are compared by with those of another.
struct Outputs<T> {
    /// Rows of unit norm, one per component.
    rows: Matrix<T>,
    /// Their products with the mean; None if it is the rows themselves that are compared.
    weighed: Option<Matrix<T>>,
}

impl<T: Scalar> Outputs<T> {
    /// Of a B in the coordinates of the set.
    fn of(summary: &Summary<T>, b: &Matrix<T>) -> Self {
        if !summary.criterion.requires_definite() {
            let patterns = linalg::inverse(b).adjoint();
            let norms = |a: usize| linalg::dot(patterns.row(a), patterns.row(a)).sqrt();
            let scale: Vec<f64> = (0..b.rows()).map(|a| 1.0 / norms(a)).collect();
            return Self {
                rows: patterns.scale_rows(&scale),
                weighed: None,
            };
        }
        let weighed = linalg::product(b, &summary.mean);
        let power = |a: usize| linalg::dot(weighed.row(a), b.row(a));
        let scale: Vec<f64> = (0..b.rows()).map(|a| 1.0 / power(a).sqrt()).collect();
        Self {
            rows: b.clone().scale_rows(&scale),
            weighed: Some(weighed.scale_rows(&scale)),
        }
    }

    /// For each component, how much the other's component that matches it is like it. Each matches once: the pair
    /// that is most alike first, then the next of those that are left.
    fn matches(&self, other: &Self) -> Vec<f64> {
        let weighed = self.weighed.as_ref().unwrap_or(&self.rows);
        let likeness = linalg::product_adjoint(weighed, &other.rows);
        let p = likeness.rows();
        let size = |(a, b): (usize, usize)| likeness[(a, b)].abs();
        let mut pairs: Vec<(usize, usize)> = (0..p * p).map(|k| (k / p, k % p)).collect();
        pairs.sort_by(|x, y| size(*y).total_cmp(&size(*x)));
        let (mut found, mut taken) = (vec![None; p], vec![false; p]);
        for (a, b) in pairs {
            if found[a].is_none() && !taken[b] {
                found[a] = Some(size((a, b)).min(1.0));
                taken[b] = true;
            }
        }
        found.into_iter().map(Option::unwrap_or_default).collect()
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::{Criterion, Rank, SetOptions, diagonalize, synthetic};

    /// Likeness depends neither on order nor on sign nor on scale, nor on the units of the channels.
    #[test]
    fn matches_are_invariant() {
        let set = synthetic::noisy(30, 5, 0.3, 2);
        let b = diagonalize(&set, &Settings::default()).unwrap().b;
        let (order, factors) = ([3, 0, 4, 1, 2], [1.0, -2.0, 0.1, -1e5, 3.0]);
        let other = Matrix::from_fn(5, 5, |a, c| factors[a] * b[(order[a], c)]);
        let matches = Outputs::of(set.summary(), &b).matches(&Outputs::of(set.summary(), &other));
        assert!(
            matches.iter().all(|x| (x - 1.0).abs() < 1e-12),
            "{matches:?}"
        );

        // Two sources mixed by an angle of 30 degrees, one of them nearer to each.
        let (sine, cosine) = (0.5_f64, 0.75_f64.sqrt());
        let turned = Matrix::from_fn(5, 5, |a, c| match a {
            0 => cosine * b[(0, c)] + sine * b[(1, c)],
            1 => cosine * b[(1, c)] - sine * b[(0, c)],
            _ => b[(a, c)],
        });
        let units = [1.0, 1e-6, 1e3, 2.0, 1e-12];
        let mean = set.mean();
        let scaled = Matrix::from_fn(5, 5, |a, c| mean[(a, c)] * units[a] * units[c]);
        let scaled = Summary::new(1, scaled, 0.0);
        let in_units = |b: &Matrix| Matrix::from_fn(5, 5, |a, c| b[(a, c)] / units[c]);
        let one = Outputs::of(set.summary(), &b).matches(&Outputs::of(set.summary(), &turned));
        let other =
            Outputs::of(&scaled, &in_units(&b)).matches(&Outputs::of(&scaled, &in_units(&turned)));
        for (x, y) in one.iter().zip(&other) {
            assert!((x - y).abs() < 1e-9, "{one:?} {other:?}");
        }
        assert!((one[0] - cosine).abs() < 0.15 && one[2] > 0.999);
    }

    #[test]
    fn each_component_matches_once() {
        let summary = Summary::new(1, Matrix::identity(3), 0.0);
        // Both first components are most like the first of the reference.
        let other = Matrix::from_rows(3, 3, vec![1.0, 0.1, 0.0, 0.9, 0.5, 0.0, 0.0, 0.0, 1.0]);
        let matches =
            Outputs::of(&summary, &Matrix::identity(3)).matches(&Outputs::of(&summary, &other));
        assert!(
            matches[0] > 0.99 && matches[1] < 0.5 && matches[2] > 0.999,
            "{matches:?}"
        );
    }

    #[test]
    fn the_median_of_the_matches() {
        let trials = [vec![0.1, 1.0], vec![0.9, 1.0], vec![0.4, 0.0]];
        let stability = Stability::of(&trials, 1).unwrap();
        assert_eq!(stability.values, [0.4, 1.0]);
        assert_eq!((stability.starts, stability.resamples()), (1, 2));
        assert_eq!(stability.order(), [1, 0]);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 8.0]), 3.0);
        assert_eq!(Stability::of(&[], 0), None);
    }

    #[test]
    fn draws_are_as_many_as_matrices_and_never_empty() {
        let weights = [0.0, 0.0, 0.0, 1.0];
        let all = draws(&weights, 50);
        assert!(
            all.iter()
                .all(|draw| draw.iter().sum::<f64>() == 4.0 && draw[3] > 0.0)
        );
        assert_ne!(draws(&[1.0; 20], 2)[0], draws(&[1.0; 20], 2)[1]);
        // On average each matrix is drawn once.
        let many = draws(&[1.0; 10], 2000);
        for i in 0..10 {
            let mean = many.iter().map(|draw| draw[i]).sum::<f64>() / 2000.0;
            assert!((mean - 1.0).abs() < 0.1, "{mean}");
        }
    }

    /// Rotations, fits and reduced sets have it too, and threads change nothing.
    #[test]
    fn every_criterion_and_any_threads() {
        let (data, _) = synthetic::indefinite(60, 5, 0.05, 1);
        let (mixed, _) = synthetic::mixed(60, 5, 0.02, 1);
        let likelihood = synthetic::Synthetic::new(60, 5, 0.02, 1).data;
        for (data, criterion, rank) in [
            (&data, Criterion::Frobenius, Rank::Full),
            (&mixed, Criterion::LeastSquares, Rank::Full),
            (&likelihood, Criterion::Likelihood, Rank::Full),
            (&likelihood, Criterion::Likelihood, Rank::Exactly(3)),
        ] {
            let options = SetOptions::default().criterion(criterion).rank(rank);
            let set = MatrixSet::with_options(data, 60, 5, &options).unwrap();
            let settings = Settings::default().stability(9).restarts(1);
            let one = diagonalize(&set.clone().with_threads(1), &settings).unwrap();
            let many = diagonalize(&set.with_threads(3), &settings).unwrap();
            assert_eq!(one.stability, many.stability);
            let stability = one.stability.unwrap();
            assert_eq!(stability.resamples(), 9);
            assert!(
                stability.values.iter().all(|x| *x > 0.9),
                "{criterion:?} {stability:?}"
            );
        }
    }
}
