//! How surely a component comes again: from another start, and from other matrices of the same kind.
//!
//! A solve that has converged stands in a minimum, but where the data do not determine a component, there
//! are others that are nearly as low, and the minimum itself moves with the matrices that happened to be
//! there. So two kinds of trials are made: the further starts of [`Settings::restarts`], those of which the
//! loss comes near that of the answer, and solves of as many matrices drawn with replacement
//! ([`Settings::stability`]), which is to weigh the set anew; these start from the answer. A component's
//! match in a trial is the |correlation| of its output, under the mean matrix, with that of the trial's component
//! most like it; its stability is the median of its matches.

mod outputs;
mod trials;

use crate::choices::SortBy;
use crate::data::{MatrixSet, Summary};
use crate::error::{MemoryRemedy, Setting};
use crate::init::SplitMix;
use crate::linalg::{Matrix, Scalar};
pub use crate::report::Stability;
use crate::report::{Diagonalization, Observer, Record, Status};
use crate::settings::Settings;
use crate::solver::SAME_LOSS;
use crate::{Error, Memory};

pub(crate) use outputs::Outputs;
pub use trials::{Resample, resample};
#[cfg(feature = "signals")]
pub(crate) use trials::{settings_from, solve_all};

/// ĝ to which resamples are solved, unless a larger one was asked for: what is left is far below what resampling
/// moves.
const TOLERANCE: f64 = 1e-6;

/// Fails if the draws and the results of that number of resamples of n p×p matrices do not fit into memory.
pub(crate) fn check_memory(resamples: usize, n: usize, p: usize) -> Result<(), Error> {
    // Counts, powers, residuals and constants, one per matrix; filters, patterns and their like.
    let numbers = |count: usize| {
        let of_matrices = Memory::of_numbers(&[count, n, p.saturating_add(3)]);
        of_matrices.plus(Memory::of_numbers(&[count, 4, p, p]))
    };
    let what = || format!("the stability from {resamples} resamples of {n} matrices");
    numbers(resamples).check(what, |available| {
        MemoryRemedy::largest(Setting::NResamples, resamples, available, numbers)
    })
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
    let near = of_starts(set.summary(), answer, starts);
    answer.stability = Stability::of(&near, near.len());
    let draws = draws(set.weights(), 1, settings.n_resamples);
    add_draws(set, settings, answer, &draws, observer)?;
    if settings.sort_by == SortBy::Stability {
        answer.order_by_stability();
    }
    Ok(())
}

/// Adds trials to the stability of an answer: solves of some draws of the matrices.
pub(crate) fn add_draws<T: Scalar>(
    set: &MatrixSet<T>,
    settings: &Settings,
    answer: &mut Diagonalization<T>,
    draws: &[Vec<f64>],
    observer: &mut dyn Observer<T>,
) -> Result<(), Error> {
    let b = answer.b.clone();
    add_trials(answer, settings, draws.len(), observer, |settings, seen| {
        resample(set, &b, draws, settings, seen)
    })
}

/// Adds so many trials to the stability of an answer, which `solve` makes with the settings that it gets. If it is
/// stopped before that, so is the answer.
pub(crate) fn add_trials<T: Scalar>(
    answer: &mut Diagonalization<T>,
    settings: &Settings,
    count: usize,
    observer: &mut dyn Observer<T>,
    solve: impl FnOnce(&Settings, &mut dyn Observer<T>) -> Result<Vec<Resample<T>>, Error>,
) -> Result<(), Error> {
    if count == 0 || answer.status == Status::Interrupted {
        return Ok(());
    }
    let before = answer.history.last().map_or(0.0, |record| record.seconds);
    let starts = answer.start_losses.len() - 1;
    let mut following = |record: &Record, b: &Matrix<T>| {
        let mut record = record.clone();
        record.start += starts;
        record.seconds += before;
        observer.observe(&record, b)
    };
    let tolerance = settings.tol.max(TOLERANCE);
    let made = solve(&settings.clone().tol(tolerance), &mut following)?;
    if made.len() < count {
        answer.status = Status::Interrupted;
    }
    let known = answer.stability.as_ref();
    let starts = known.map_or(0, |stability| stability.starts);
    let mut trials: Vec<Vec<f64>> = known.map_or_else(Vec::new, |stability| {
        let rows = 0..stability.matches.rows();
        rows.map(|k| stability.matches.row(k).to_vec()).collect()
    });
    trials.extend(made.into_iter().map(|resample| resample.matches));
    answer.stability = Stability::of(&trials, starts);
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

/// How often each matrix is drawn in each of so many draws with replacement, always the same ones. As many
/// as are drawn `together` come one after the other. There are none if all draws would be alike.
pub(crate) fn draws(weights: &[f64], together: usize, count: usize) -> Vec<Vec<f64>> {
    let groups = weights.len() / together;
    let own = weights.chunks_exact(together);
    if own.filter(|own| own.iter().any(|w| *w > 0.0)).count() < 2 {
        return Vec::new();
    }
    let mut random = SplitMix::new(0x5747_4142);
    let mut draw = || loop {
        let mut draw = vec![0.0; weights.len()];
        for _ in 0..groups {
            let place = (((random.next() + 0.5) * groups as f64) as usize).min(groups - 1);
            let own = &mut draw[place * together..][..together];
            own.iter_mut().for_each(|times| *times += 1.0);
        }
        // One of nothing but matrices of weight zero is none.
        if draw.iter().zip(weights).any(|(d, w)| d * w > 0.0) {
            return draw;
        }
    };
    (0..count).map(|_| draw()).collect()
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::{Criterion, Rank, SetOptions, diagonalize, synthetic};

    #[test]
    fn absurd_numbers_of_resamples_are_errors() {
        let set = synthetic::noisy(20, 3, 0.1, 0);
        let settings = Settings::default().n_resamples(1_000_000_000_000_000);
        let error = diagonalize(&set, &settings).unwrap_err();
        assert!(matches!(error, Error::Setting { .. }), "{error}");
        let error = check_memory(1_000_000, 1_000_000, 10).unwrap_err();
        let remedy = MemoryRemedy::None;
        assert!(matches!(&error, Error::OutOfMemory { remedy: other, .. } if *other != remedy));
    }

    #[test]
    fn draws_are_as_many_as_matrices_and_never_empty() {
        let weights = [0.0, 0.0, 1.0, 1.0];
        let all = draws(&weights, 1, 50);
        assert!(
            all.iter()
                .all(|draw| draw.iter().sum::<f64>() == 4.0 && draw[2] + draw[3] > 0.0)
        );
        assert_ne!(draws(&[1.0; 20], 1, 2)[0], draws(&[1.0; 20], 1, 2)[1]);
        // On average each matrix is drawn once.
        let many = draws(&[1.0; 10], 1, 2000);
        for i in 0..10 {
            let mean = many.iter().map(|draw| draw[i]).sum::<f64>() / 2000.0;
            assert!((mean - 1.0).abs() < 0.1, "{mean}");
        }
        assert!(draws(&[0.0, 0.0, 1.0], 1, 5).is_empty()); // a single matrix
        // Those that belong together are drawn together.
        for draw in draws(&[1.0; 12], 3, 20) {
            assert_eq!(draw.iter().sum::<f64>(), 12.0);
            assert!(draw.chunks(3).all(|own| own.iter().all(|x| *x == own[0])));
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
            let options = SetOptions::default()
                .criterion(criterion)
                .n_components(rank);
            let set = MatrixSet::with_options(data, 60, 5, &options).unwrap();
            let settings = Settings::default().n_resamples(9).n_restarts(1);
            let one = diagonalize(&set.clone().with_n_jobs(1), &settings).unwrap();
            let many = diagonalize(&set.with_n_jobs(3), &settings).unwrap();
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
