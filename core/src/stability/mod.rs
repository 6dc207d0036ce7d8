//! Stability of components: how reproducible they are from other starting points and from resampled
//! matrices.
//!
//! If the data do not determine a component, other local minima have nearly the same loss, and the
//! minimum varies with the sample of matrices. Two kinds of trials measure this: restarts
//! ([`Settings::n_restarts`]) whose loss is close to that of the result, and bootstrap resamples
//! ([`Settings::n_resamples`]), which draw n matrices with replacement (that is, change the
//! weights) and start from the result. The match of a component in a trial is the absolute
//! correlation of its output, under the mean matrix, with that of the most similar component of the
//! trial. The stability of a component is the median of its matches.

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
use crate::solver::LOSS_ROUNDING;
use crate::{Error, Memory};

pub(crate) use outputs::Outputs;
pub use trials::{Resample, resample};
#[cfg(feature = "signals")]
pub(crate) use trials::{settings_from, solve_all};

/// Smallest tolerance of the solves of resamples. Their remaining error is far below the variation
/// between resamples.
const MIN_TOLERANCE: f64 = 1e-6;

/// Returns an error if the draws and results of this number of resamples of n p×p matrices do not
/// fit into memory.
pub(crate) fn check_memory(resamples: usize, n: usize, p: usize) -> Result<(), Error> {
    // Per matrix: counts, powers, residuals and constants. Per resample: filters, patterns and
    // temporaries.
    let numbers = |count: usize| {
        let of_matrices = Memory::of_numbers(&[count, n, p.saturating_add(3)]);
        of_matrices.plus(Memory::of_numbers(&[count, 4, p, p]))
    };
    let what = || format!("the stability from {resamples} resamples of {n} matrices");
    numbers(resamples).check(what, |available| {
        MemoryRemedy::largest(Setting::NResamples, resamples, available, numbers)
    })
}

/// Computes the stability of a result from restarts (loss and B in the coordinates of the set) and
/// from the resamples that the settings request, and sorts the components by stability if
/// requested.
pub(crate) fn assess<T: Scalar>(
    set: &MatrixSet<T>,
    settings: &Settings,
    result: &mut Diagonalization<T>,
    starts: &[(f64, Matrix<T>)],
    observer: &mut dyn Observer<T>,
) -> Result<(), Error> {
    let near = restart_matches(set.summary(), result, starts);
    result.stability = Stability::from_matches(&near, near.len());
    let draws = draws(set.weights(), 1, settings.n_resamples);
    add_draws(set, settings, result, &draws, observer)?;
    if settings.sort_by == SortBy::Stability {
        result.sort_by_stability();
    }
    Ok(())
}

/// Adds solves of the given draws of the matrices to the trials of a result.
pub(crate) fn add_draws<T: Scalar>(
    set: &MatrixSet<T>,
    settings: &Settings,
    result: &mut Diagonalization<T>,
    draws: &[Vec<f64>],
    observer: &mut dyn Observer<T>,
) -> Result<(), Error> {
    let b = result.b.clone();
    add_trials(
        result,
        settings,
        draws.len(),
        observer,
        |settings, observer| resample(set, &b, draws, settings, observer),
    )
}

/// Adds `count` trials to the stability of a result. `solve` runs them with the settings that it
/// receives. If it is interrupted, the status of the result becomes `Interrupted`.
pub(crate) fn add_trials<T: Scalar>(
    result: &mut Diagonalization<T>,
    settings: &Settings,
    count: usize,
    observer: &mut dyn Observer<T>,
    solve: impl FnOnce(&Settings, &mut dyn Observer<T>) -> Result<Vec<Resample<T>>, Error>,
) -> Result<(), Error> {
    if count == 0 || result.status == Status::Interrupted {
        return Ok(());
    }
    let before = result.history.last().map_or(0.0, |record| record.seconds);
    let starts = result.start_losses.len() - 1;
    let mut forward = |record: &Record, b: &Matrix<T>| {
        let mut record = record.clone();
        record.start += starts;
        record.seconds += before;
        observer.observe(&record, b)
    };
    let tolerance = settings.tol.max(MIN_TOLERANCE);
    let resamples = solve(&settings.clone().tol(tolerance), &mut forward)?;
    if resamples.len() < count {
        result.status = Status::Interrupted;
    }
    let previous = result.stability.as_ref();
    let starts = previous.map_or(0, |stability| stability.starts);
    let mut trials: Vec<Vec<f64>> = previous.map_or_else(Vec::new, |stability| {
        let rows = 0..stability.matches.rows();
        rows.map(|k| stability.matches.row(k).to_vec()).collect()
    });
    trials.extend(resamples.into_iter().map(|resample| resample.matches));
    result.stability = Stability::from_matches(&trials, starts);
    Ok(())
}

/// Returns the matches of the components of a result in the restarts whose losses are close to its
/// own.
pub(crate) fn restart_matches<T: Scalar>(
    summary: &Summary<T>,
    result: &Diagonalization<T>,
    starts: &[(f64, Matrix<T>)],
) -> Vec<Vec<f64>> {
    if starts.is_empty() {
        return Vec::new();
    }
    let reference = Outputs::of(summary, &summary.to_reduced(&result.b));
    let lowest = result
        .start_losses
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    let margin = Stability::LOSS_MARGIN * lowest.abs() + LOSS_ROUNDING * (1.0 + lowest.abs());
    let near = starts.iter().filter(|(loss, _)| *loss <= lowest + margin);
    near.map(|(_, b)| reference.matches(&Outputs::of(summary, b)))
        .collect()
}

/// Returns `count` deterministic bootstrap draws with replacement: how often each matrix is drawn.
/// Consecutive groups of `group_size` matrices are drawn together. There are no draws if fewer than
/// two groups have a positive weight, since all draws would be equal.
pub(crate) fn draws(weights: &[f64], group_size: usize, count: usize) -> Vec<Vec<f64>> {
    let groups = weights.len() / group_size;
    let group_weights = weights.chunks_exact(group_size);
    if group_weights
        .filter(|group| group.iter().any(|w| *w > 0.0))
        .count()
        < 2
    {
        return Vec::new();
    }
    let mut random = SplitMix::new(0x5747_4142);
    let mut draw = || loop {
        let mut draw = vec![0.0; weights.len()];
        for _ in 0..groups {
            let place = (((random.next() + 0.5) * groups as f64) as usize).min(groups - 1);
            let group = &mut draw[place * group_size..][..group_size];
            group.iter_mut().for_each(|count| *count += 1.0);
        }
        // Reject draws in which all matrices have weight zero.
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
    fn excessive_numbers_of_resamples_are_errors() {
        let set = synthetic::noisy(20, 3, 0.1, 0);
        let settings = Settings::default().n_resamples(1_000_000_000_000_000);
        let error = diagonalize(&set, &settings).unwrap_err();
        assert!(matches!(error, Error::Setting { .. }), "{error}");
        let error = check_memory(1_000_000, 1_000_000, 10).unwrap_err();
        let remedy = MemoryRemedy::None;
        assert!(matches!(&error, Error::OutOfMemory { remedy: other, .. } if *other != remedy));
    }

    #[test]
    fn draws_have_n_matrices_and_a_positive_weight() {
        let weights = [0.0, 0.0, 1.0, 1.0];
        let all = draws(&weights, 1, 50);
        assert!(
            all.iter()
                .all(|draw| draw.iter().sum::<f64>() == 4.0 && draw[2] + draw[3] > 0.0)
        );
        assert_ne!(draws(&[1.0; 20], 1, 2)[0], draws(&[1.0; 20], 1, 2)[1]);
        // Each matrix is drawn once on average.
        let many = draws(&[1.0; 10], 1, 2000);
        for i in 0..10 {
            let mean = many.iter().map(|draw| draw[i]).sum::<f64>() / 2000.0;
            assert!((mean - 1.0).abs() < 0.1, "{mean}");
        }
        assert!(draws(&[0.0, 0.0, 1.0], 1, 5).is_empty()); // a single matrix
        // The matrices of a group are drawn together.
        for draw in draws(&[1.0; 12], 3, 20) {
            assert_eq!(draw.iter().sum::<f64>(), 12.0);
            assert!(
                draw.chunks(3)
                    .all(|group| group.iter().all(|x| *x == group[0]))
            );
        }
    }

    #[test]
    fn stability_of_every_criterion_is_independent_of_threads() {
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
