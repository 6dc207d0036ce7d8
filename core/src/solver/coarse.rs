//! From coarse to fine: for large sets, the start is improved on a sample of the matrices.
//!
//! A minimiser of every k-th matrix is within Newton's reach of that of all of them, and costs 1/k a
//! pass. Averages of neighbours would share the diagonaliser too, but even out the very differences
//! that tell components apart; measured, they bring nothing beyond the spectral start, which has
//! seen all matrices, while a sample saves a fifth to two fifths of the passes.

use std::ops::ControlFlow;
use std::time::Instant;

use super::{Begin, solve};
use crate::Error;
use crate::linalg::Matrix;
use crate::matrices::WorkingSet;
use crate::report::Record;
use crate::settings::{Method, Settings, Start};
use crate::start;

/// The sample holds at least this many matrices, and at least `PER_DIMENSION` times p.
const SAMPLE: usize = 200;
const PER_DIMENSION: usize = 5;
/// Every k-th matrix is taken, for k between these.
const STEPS: (usize, usize) = (4, 8);
/// ĝ on the sample: beyond it, the sample's own noise would be fitted.
const TOLERANCE: f64 = 1e-2;

/// The start asked for; the spectral start of Newton's method is improved on a sample, if the set is
/// large enough.
pub(super) fn start<S: WorkingSet>(
    set: &mut S,
    settings: &Settings,
    clock: Instant,
) -> Result<Begin, Error> {
    let b = start::start(set, &settings.start, settings.orthogonal)?;
    let begin = |b, passes| Begin { b, passes, clock };
    let applies = settings.method == Method::Newton
        && settings.start == Start::Spectral
        && !settings.orthogonal
        && settings.tolerance < TOLERANCE;
    let (n, p) = (set.summary().len, set.summary().dimension());
    let step = n / SAMPLE.max(PER_DIMENSION * p);
    if !applies || step < STEPS.0 {
        return Ok(begin(b, 0.0));
    }
    let step = step.min(STEPS.1);
    let Some(mut sample) = set.sample(step)? else {
        return Ok(begin(b, 0.0));
    };
    let loose = settings.clone().tolerance(TOLERANCE);
    let mut unobserved = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let outcome = solve(&mut sample, &loose, begin(b, 0.0), &mut unobserved)?;
    let passes = outcome.history.last().map_or(0.0, |record| record.passes);
    Ok(begin(outcome.b, passes / step as f64))
}
