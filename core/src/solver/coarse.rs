//! From coarse to fine: the start is improved on a small set, on which a pass costs little.
//!
//! For large sets of the likelihood that is a sample of the matrices. A minimizer of every k-th matrix is within
//! Newton's reach of that of all of them, and costs 1/k per pass. Averages of neighbours would share the
//! diagonalizer too, but even out the very differences that tell components apart; measured, they bring nothing
//! beyond the spectral start, which has seen all matrices, while a sample saves a fifth to two fifths of the passes.
//!
//! For the Frobenius criterion it is the principal combinations of the matrices, where a few of them hold most of the
//! energy, as they do for lagged covariances. (The start of a least-squares fit has been fitted to them already.)

use super::iteration::Beginning;
use super::progress::Progress;
use super::solve;
use crate::linalg::{Matrix, Scalar};
use crate::matrices::WorkingSet;
use crate::report::Status;
use crate::settings::{Method, Settings, Start};
use crate::{Criterion, Error, start};

/// The sample holds at least this many matrices, and at least `PER_DIMENSION` times p.
const SAMPLE: usize = 200;
const PER_DIMENSION: usize = 2;
/// Every k-th matrix is taken, for k between these, or beyond where that leaves this many matrices, and this many times p:
/// more would not make a better start.
const STEPS: (usize, usize) = (4, 8);
const PLENTY: usize = 2400;
const PLENTY_PER_DIMENSION: usize = 60;
/// ĝ on the sample: beyond it, the sample's own noise would be fitted.
const TOLERANCE: f64 = 1e-2;

/// How many principal combinations are taken, of a set of at least so many times as many matrices.
const COMBINATIONS: usize = 16;
const TIMES: usize = 4;
/// They are made by O(np²) flops: below this p, no less than they save.
const SMALLEST: usize = 16;
/// The share of the energy that those of the start must hold.
const HELD: f64 = 0.95;
/// ĝ on the combinations: what they leave out moves the minimizer by about as much.
const COMBINATIONS_TOLERANCE: f64 = 1e-3;

/// Where the solve of the whole set begins.
pub(super) enum Coarse<T> {
    Start(Beginning<T>),
    /// The observer asked to stop on the way there.
    Stopped(Beginning<T>),
}

/// The start asked for; the spectral start of Newton's method is improved on a small set, if the set allows
/// for one.
pub(super) fn start<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    progress: &mut Progress<'_, T>,
) -> Result<Coarse<T>, Error> {
    let newton = settings.method == Method::Newton && settings.start == Start::Spectral;
    if newton && set.summary().criterion == Criterion::Frobenius {
        return rotation(set, settings, progress);
    }
    let b = start::start(set, &settings.start, settings.orthogonal)?;
    let applies = newton
        && !settings.orthogonal
        // Whose start has seen all matrices already.
        && !set.summary().criterion.fits_originals()
        && settings.tolerance < TOLERANCE;
    let (n, p) = (set.summary().len, set.summary().dimension());
    let step = n / SAMPLE.max(PER_DIMENSION * p);
    if !applies || step < STEPS.0 {
        return Ok(Coarse::Start(Beginning::at(b)));
    }
    let most = STEPS.1.max(n / PLENTY.max(PLENTY_PER_DIMENSION * p));
    let step = step.min(most);
    let Some(mut sample) = set.sample(step)? else {
        return Ok(Coarse::Start(Beginning::at(b)));
    };
    let share = 1.0 / step as f64;
    improved(&mut *sample, share, b, settings, TOLERANCE, progress)
}

/// A further start; as the first, it may be improved on a small set.
pub(super) fn restart<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    best: &Matrix<T>,
    progress: &mut Progress<'_, T>,
) -> Result<Coarse<T>, Error> {
    if settings.method == Method::Newton && set.summary().criterion == Criterion::Frobenius {
        return rotation(set, settings, progress);
    }
    let b = start::restart(set, progress.start, settings.orthogonal, best)?;
    Ok(Coarse::Start(Beginning::at(b)))
}

/// The spectral start over rotations, improved on the principal combinations of the matrices.
fn rotation<T: Scalar>(
    set: &mut dyn WorkingSet<T>,
    settings: &Settings,
    progress: &mut Progress<'_, T>,
) -> Result<Coarse<T>, Error> {
    let (b, held) = start::rotation(set, progress.start as u64)?;
    let (n, p) = (set.summary().len, set.summary().dimension());
    let applies = n >= TIMES * COMBINATIONS
        && p >= SMALLEST
        && held >= HELD
        && settings.tolerance < COMBINATIONS_TOLERANCE;
    if !applies {
        return Ok(Coarse::Start(Beginning::at(b)));
    }
    let combinations = start::combinations(set, COMBINATIONS)?;
    if combinations.is_empty() {
        return Ok(Coarse::Start(Beginning::at(b)));
    }
    let mut small = start::small_set(Criterion::Frobenius, &combinations)?;
    let share = combinations.len() as f64 / n as f64;
    let tolerance = COMBINATIONS_TOLERANCE;
    improved(&mut small, share, b, settings, tolerance, progress)
}

/// A start improved on a small set, a pass over which costs that share of one over the whole set.
pub(super) fn improved<T: Scalar>(
    small: &mut dyn WorkingSet<T>,
    share: f64,
    b: Matrix<T>,
    settings: &Settings,
    tolerance: f64,
    progress: &mut Progress<'_, T>,
) -> Result<Coarse<T>, Error> {
    let loose = settings.clone().tolerance(tolerance);
    let provisional = std::mem::replace(&mut progress.provisional, true);
    progress.sample = true;
    let outcome = solve(small, &loose, Beginning::at(b), progress)?;
    progress.sample = false;
    progress.provisional = provisional;
    let passes = outcome.history.last().map_or(0.0, |record| record.passes);
    let beginning = Beginning {
        b: outcome.b,
        passes: share * passes,
        earlier: Vec::new(),
    };
    Ok(if outcome.status == Status::Stopped {
        Coarse::Stopped(beginning)
    } else {
        Coarse::Start(beginning)
    })
}
