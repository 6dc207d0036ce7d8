//! From coarse to fine: for large sets, the start is improved on a sample of the matrices.
//!
//! A minimizer of every k-th matrix is within Newton's reach of that of all of them, and costs 1/k
//! per pass. Averages of neighbours would share the diagonalizer too, but even out the very
//! differences that tell components apart; measured, they bring nothing beyond the spectral start,
//! which has seen all matrices, while a sample saves a fifth to two fifths of the passes.

use super::iteration::Beginning;
use super::progress::Progress;
use super::solve;
use crate::Error;
use crate::linalg::Scalar;
use crate::matrices::WorkingSet;
use crate::report::Status;
use crate::settings::{Method, Settings, Start};
use crate::start;

/// The sample holds at least this many matrices, and at least `PER_DIMENSION` times p.
const SAMPLE: usize = 200;
const PER_DIMENSION: usize = 5;
/// Every k-th matrix is taken, for k between these.
const STEPS: (usize, usize) = (4, 8);
/// ĝ on the sample: beyond it, the sample's own noise would be fitted.
const TOLERANCE: f64 = 1e-2;

/// Where the solve of the whole set begins.
pub(super) enum Coarse<T> {
    Start(Beginning<T>),
    /// The observer asked to stop on the way there.
    Stopped(Beginning<T>),
}

/// The start asked for; the spectral start of Newton's method is improved on a sample, if the set is
/// large enough.
pub(super) fn start<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    progress: &mut Progress<'_, T>,
) -> Result<Coarse<T>, Error> {
    let b = start::start(set, &settings.start, settings.orthogonal)?;
    let beginning = |b, passes| Beginning { b, passes };
    let applies = settings.method == Method::Newton
        && settings.start == Start::Spectral
        && !settings.orthogonal
        // Whose start has seen all matrices already.
        && !set.summary().criterion.fits_originals()
        && settings.tolerance < TOLERANCE;
    let (n, p) = (set.summary().len, set.summary().dimension());
    let step = n / SAMPLE.max(PER_DIMENSION * p);
    if !applies || step < STEPS.0 {
        return Ok(Coarse::Start(beginning(b, 0.0)));
    }
    let step = step.min(STEPS.1);
    let Some(mut sample) = set.sample(step)? else {
        return Ok(Coarse::Start(beginning(b, 0.0)));
    };
    let loose = settings.clone().tolerance(TOLERANCE);
    progress.sample = true;
    let outcome = solve(&mut *sample, &loose, beginning(b, 0.0), progress)?;
    progress.sample = false;
    let passes = outcome.history.last().map_or(0.0, |record| record.passes);
    let beginning = beginning(outcome.b, passes / step as f64);
    Ok(if outcome.status == Status::Stopped {
        Coarse::Stopped(beginning)
    } else {
        Coarse::Start(beginning)
    })
}
