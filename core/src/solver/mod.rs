//! The solvers: one loop for all methods, preceding stages, and restarts.

mod acdc;
mod assemble;
mod newton;
mod pairwise;
mod precision;
mod progress;
mod quasi_newton;
mod restarts;
mod row_wise;
mod stages;
mod state;
mod wedge;

use crate::Error;
use crate::backend::Backend;
use crate::choices::Method;
use crate::error::Conflict;
use crate::linalg::{Matrix, Scalar};
use crate::objective::diagonal::DiagonalCriterion;
use crate::objective::least_squares::LeastSquares;
use crate::report::{Diagonalization, Observer, Status};
use crate::settings::Settings;
use newton::TruncatedNewton;
use progress::Progress;
use state::{InitialPoint, Iteration, Outcome, State, Step};

/// Relative difference of losses below which two starts count as equally good, so that rounding
/// does not decide which one is returned.
pub(crate) const LOSS_ROUNDING: f64 = 1e-12;

/// Best result, and the loss and B (in the coordinates of the set) of every other start.
pub(crate) type Results<T> = (Diagonalization<T>, Vec<(f64, Matrix<T>)>);

/// Solves from all starting points. Returns the best result, and the losses and B of the others.
pub(crate) fn solve_starts<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    observer: &mut dyn Observer<T>,
) -> Result<Results<T>, Error> {
    let criterion = backend.summary().criterion;
    settings.check(criterion)?;
    let orthogonal = settings.orthogonal || criterion.requires_rotations();
    let settings = &settings.clone().orthogonal(orthogonal);
    let reduction = backend.summary().reduction.as_ref();
    if orthogonal && reduction.is_some_and(|reduction| !reduction.allows_orthogonal()) {
        return Err(Error::Conflict(Conflict::OrthogonalReduced));
    }
    let progress = &mut Progress::new(backend.summary(), settings.tol, observer);
    let start = stages::start(backend, settings, progress)?;
    let first = solve_from(backend, settings, start, progress)?;
    let (best, losses, others) = restarts::solve(backend, settings, first, progress)?;
    Ok((assemble::assemble(backend, settings, best, losses)?, others))
}

/// Solves from a starting point, unless the observer has stopped the solve before.
fn solve_from<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    (initial, stopped): stages::PreparedStart<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    if stopped {
        let (mut state, _) = State::begin(backend, settings, initial, false, progress)?;
        state.stop();
        state.record(Step::START);
        return Ok(state.end(Status::Interrupted));
    }
    solve(backend, settings, initial, progress)
}

/// One iteration of an optimization method.
trait Stepper<T: Scalar> {
    /// Moves to a better point, or reports why it cannot.
    fn step(&mut self, state: &mut State<'_, '_, T>) -> Result<Iteration, Error>;

    /// Whether the Hessian at the starting point should be requested together with the gradient.
    fn wants_joint_hessian(&self) -> bool {
        false
    }
}

fn create_stepper<T: Scalar>(backend: &dyn Backend<T>, settings: &Settings) -> Box<dyn Stepper<T>> {
    match settings.method {
        Method::Newton if backend.summary().criterion.is_least_squares() => {
            let objective = Box::new(LeastSquares::new(backend, settings));
            Box::new(TruncatedNewton::new(objective, false, false))
        }
        Method::Newton => {
            let objective = DiagonalCriterion::new(backend, settings);
            let stores_hessian = objective.stores_hessian();
            let joint = stores_hessian && backend.capabilities().prefers_joint_requests;
            Box::new(TruncatedNewton::new(
                Box::new(objective),
                joint,
                stores_hessian,
            ))
        }
        Method::QuasiNewton => Box::new(quasi_newton::QuasiNewton),
        Method::Pham => Box::new(pairwise::Pairwise::Pham),
        Method::Jacobi => Box::new(pairwise::Pairwise::Jacobi),
        Method::RowWise => Box::new(row_wise::RowWise),
        Method::Acdc => Box::new(acdc::Acdc),
        Method::Uwedge | Method::Ffdiag => Box::new(wedge::Wedge),
    }
}

/// Solves from one starting point by one method.
fn solve<T: Scalar>(
    backend: &mut dyn Backend<T>,
    settings: &Settings,
    initial: InitialPoint<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Outcome<T>, Error> {
    let mut stepper = create_stepper(backend, settings);
    let joint = stepper.wants_joint_hessian();
    let (mut state, step) = State::begin(backend, settings, initial, joint, progress)?;
    let status = match iterate(&mut state, &mut *stepper, step) {
        // The solve was interrupted within a data pass; the last point is still valid.
        Err(Error::Interrupted) if !state.history.is_empty() => Status::Interrupted,
        status => status?,
    };
    Ok(state.end(status))
}

/// Runs iterations until the solve ends. All methods use this loop.
fn iterate<T: Scalar>(
    state: &mut State<'_, '_, T>,
    stepper: &mut dyn Stepper<T>,
    mut step: Option<Step>,
) -> Result<Status, Error> {
    loop {
        if let Some(step) = step {
            state.check_precision()?;
            if let Some(status) = state.record(step) {
                return Ok(status);
            }
        }
        step = match stepper.step(state)? {
            Iteration::Moved(step) => Some(step),
            Iteration::Stalled => return Ok(state.final_status(Status::Stalled)),
            Iteration::Ended(status) => return Ok(status),
        };
    }
}
