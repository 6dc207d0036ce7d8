//! Cheaper stages that precede the solve of the whole set in double precision and improve its
//! starting point.
//!
//! - A sample of a large set: the minimizer for every k-th matrix is close enough to that for all
//!   matrices for Newton's method to converge from it, and a data pass costs 1/k.
//! - Principal combinations of the matrices, for the Frobenius criterion and least squares, if a
//!   few combinations contain most of the energy, as is typical of lagged covariances.
//! - Single precision, in which SIMD vectors hold twice as many numbers.

use super::progress::Progress;
use super::solve;
use super::state::{InitialPoint, Outcome, State};
use crate::backend::{Backend, InMemory};
use crate::choices::Method;
use crate::init::{self, SmallSet};
use crate::linalg::{self, Matrix, Scalar};
use crate::report::{Stage, Status};
use crate::settings::{Init, Settings};
use crate::tuning::TUNING;
use crate::{Criterion, Error};

/// The beginning of the solve of the whole set, and whether the observer has stopped it.
pub(super) type PreparedStart<T> = (InitialPoint<T>, bool);

/// Computes the starting point given by the settings. For Newton's method, the spectral starting
/// point is improved on a sample or on principal combinations, if that is worthwhile.
pub(super) fn start<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    progress: &mut Progress<'_, T>,
) -> Result<PreparedStart<T>, Error> {
    let criterion = backend.summary().criterion;
    if settings.init == Init::Spectral && criterion != Criterion::Likelihood {
        let k = progress.start as u64;
        let (b, small) = init::principal_start(backend, k, settings.method == Method::Newton)?;
        return improve_on_combinations(backend, small, b, settings, progress);
    }
    let b = init::start(backend, &settings.init, settings.orthogonal)?;
    let newton = settings.method == Method::Newton && settings.init == Init::Spectral;
    let applies = newton
        && !settings.orthogonal
        && criterion == Criterion::Likelihood
        && settings.tol < TUNING.sample_tolerance;
    let (n, p) = (backend.summary().len, backend.summary().dimension());
    let step = n / TUNING.min_sample.max(2 * p);
    if !applies || step < TUNING.min_sample_step {
        return Ok((InitialPoint::at(b), false));
    }
    let step = step.min(TUNING.max_sample_step);
    let Some(mut sample) = backend.sample(step)? else {
        return Ok((InitialPoint::at(b), false));
    };
    let tolerance = TUNING.sample_tolerance;
    improve_on_small_set(
        &mut *sample,
        1.0 / step as f64,
        b,
        settings,
        tolerance,
        progress,
    )
}

/// Computes the starting point of a restart. For the likelihood without orthogonality it is the
/// best point so far with some components mixed; otherwise it is independent of earlier results.
pub(super) fn restart<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    best: &Matrix<T>,
    progress: &mut Progress<'_, T>,
) -> Result<PreparedStart<T>, Error> {
    if backend.summary().criterion != Criterion::Likelihood {
        let k = progress.start as u64;
        let (b, small) = init::principal_start(backend, k, settings.method == Method::Newton)?;
        return improve_on_combinations(backend, small, b, settings, progress);
    }
    let b = init::restart(backend, progress.start, settings.orthogonal, best)?;
    Ok((InitialPoint::at(b), false))
}

fn improve_on_combinations<T: Scalar>(
    backend: &mut dyn Backend<T>,
    small: Option<SmallSet<T>>,
    b: Matrix<T>,
    settings: &Settings,
    progress: &mut Progress<'_, T>,
) -> Result<PreparedStart<T>, Error> {
    let tolerance = TUNING.combinations_tolerance;
    let Some(small) = small.filter(|_| settings.tol < tolerance) else {
        return Ok((InitialPoint::at(b), false));
    };
    let fraction = small.set.len() as f64 / backend.summary().len as f64;
    let limited = settings.clone().method(Method::Newton);
    let limit = TUNING.max_combination_iterations.min(settings.max_iter);
    let limited = limited.max_iter(limit);
    let mut set = InMemory::new(&small.set);
    improve_on_small_set(&mut set, fraction, b, &limited, tolerance, progress)
}

/// Improves a starting point on a small set. A pass over this set costs `fraction` of a pass over
/// the whole set.
fn improve_on_small_set<T: Scalar>(
    small: &mut dyn Backend<T>,
    fraction: f64,
    b: Matrix<T>,
    settings: &Settings,
    tolerance: f64,
    progress: &mut Progress<'_, T>,
) -> Result<PreparedStart<T>, Error> {
    let loose = settings.clone().tol(tolerance);
    let sample = &mut progress.for_stage(Stage::Sample, None);
    // The sample has the coordinates of the whole set.
    let outcome = solve(small, &loose, InitialPoint::at(b), sample)?;
    let passes = outcome.history.last().map_or(0.0, |record| record.passes);
    let stopped = outcome.status == Status::Interrupted;
    let initial = InitialPoint {
        passes: fraction * passes,
        ..InitialPoint::at(outcome.b)
    };
    Ok((initial, stopped))
}

/// Runs a stage in single precision from the current point, until it reaches its tolerance or
/// stalls. Returns None if the stage does not apply.
pub(super) fn in_single_precision<T: Scalar>(
    state: &mut State<'_, '_, T>,
) -> Result<Option<Outcome<T>>, Error> {
    let settings = state.settings;
    let tolerance = TUNING.single_precision_tolerance.max(settings.tol);
    let newton = settings.method == Method::Newton;
    if !newton
        || state.is_single()
        || state.gradient_norm() <= TUNING.single_precision_above.max(tolerance)
    {
        return Ok(None);
    }
    let (b, history, passes) = (state.point.b.clone(), state.history.clone(), state.passes());
    let (backend, progress) = state.progress();
    let is_sample = progress.stage == Stage::Sample;
    let Some(mut single) = backend.in_single_precision(&b)? else {
        return Ok(None);
    };
    let stage = if is_sample {
        Stage::Sample
    } else {
        Stage::Single
    };
    let mut progress = progress.for_stage(stage, Some(&b));
    let settings = &settings.clone().tol(tolerance);
    let p = b.rows();
    let initial = InitialPoint {
        b: Matrix::identity(p),
        passes: passes - 1.0,
        history,
        record_again: false,
    };
    let mut outcome = solve(&mut *single, settings, initial, &mut progress)?;
    outcome.b = linalg::product(&outcome.b, &b);
    outcome.point = None;
    Ok(Some(outcome))
}
