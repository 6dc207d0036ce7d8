//! The entry points of a solve.

use std::ops::ControlFlow;

use crate::Error;
use crate::backend::{Backend, InMemory};
use crate::choices::SortBy;
use crate::data::{MatrixSet, needs};
use crate::error::Conflict;
use crate::linalg::{Matrix, Scalar};
use crate::report::{Diagonalization, Observer, Record};
use crate::settings::Settings;
use crate::solver::solve_starts;
use crate::stability::{self, Stability};

/// Finds the matrix B that makes all B Cⁱ Bᴴ as diagonal as possible.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let generated = synthetic::Synthetic::new(50, 8, 0.0, 1);
/// let result = diagonalize(&generated.set()?, &Settings::default())?;
/// assert!(result.status.is_converged());
/// assert!(synthetic::amari_distance(&result.b, &generated.mixing) < 1e-8);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the settings are invalid. A solve that does not converge is not an error; see
/// [`Status`](crate::Status).
pub fn diagonalize<T: Scalar>(
    set: &MatrixSet<T>,
    settings: &Settings,
) -> Result<Diagonalization<T>, Error> {
    diagonalize_with(set, settings, &mut |_: &Record, _: &Matrix<T>| {
        ControlFlow::Continue(())
    })
}

/// Solves a set like [`diagonalize`], with an observer that is called after every iteration and may
/// stop the solve.
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::{Matrix, Record, Settings, Init, Status, diagonalize, diagonalize_with, synthetic};
/// let set = synthetic::noisy(50, 8, 0.3, 0);
/// let mut last = None;
/// let mut observer = |record: &Record, b: &Matrix| {
///     last = Some(b.clone());
///     if record.iteration == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// };
/// let result = diagonalize_with(&set, &Settings::default(), &mut observer)?;
/// assert_eq!(result.status, Status::Interrupted);
///
/// // The solve can be continued from the last point that the observer has seen.
/// let start = Init::Given(last.expect("the starting point is observed too"));
/// assert!(diagonalize(&set, &Settings::default().init(start))?.status.is_converged());
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the settings are invalid.
#[inline(never)] // compiled in this crate: see compiled.rs
pub fn diagonalize_with<T: Scalar>(
    set: &MatrixSet<T>,
    settings: &Settings,
    observer: &mut dyn Observer<T>,
) -> Result<Diagonalization<T>, Error> {
    let (n, p) = (set.len(), set.dimension());
    settings.check(set.criterion())?;
    needs::check_solve::<T>(n, p)?;
    stability::check_memory(settings.n_resamples, n, p)?;
    let (mut result, others) = solve_starts(&mut InMemory::new(set), settings, observer)?;
    stability::assess(set, settings, &mut result, &others, observer)?;
    Ok(result)
}

/// Solves the set of any [`Backend`] like [`diagonalize_with`].
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::backend::InMemory;
/// use codiag::{Matrix, Record, Settings, diagonalize_with_backend, synthetic};
/// let set = synthetic::noisy(50, 8, 0.3, 0);
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let mut backend = InMemory::new(&set);
/// let result = diagonalize_with_backend(&mut backend, &Settings::default(), &mut observer)?;
/// assert!(result.status.is_converged());
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the settings are invalid, or the backend fails, for example when it loses its connection.
#[inline(never)] // compiled in this crate: see compiled.rs
pub fn diagonalize_with_backend<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    observer: &mut dyn Observer<T>,
) -> Result<Diagonalization<T>, Error> {
    if settings.n_resamples > 0 {
        return Err(Error::Conflict(Conflict::StabilityNotInMemory));
    }
    let (mut result, others) = solve_starts(backend, settings, observer)?;
    let trials = stability::restart_matches(backend.summary(), &result, &others);
    result.stability = Stability::from_matches(&trials, trials.len());
    if settings.sort_by == SortBy::Stability {
        result.sort_by_stability();
    }
    Ok(result)
}
