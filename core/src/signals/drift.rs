//! Slow drifts, which hide what tells sources apart.

use std::ops::Range;

use super::Recording;
use super::segments::usable_spans;
use crate::{Error, linalg};

/// Seconds over which a drift is seen.
const SECONDS: f64 = 2.0;
/// Of more blocks than this, some are looked at.
const BLOCKS: usize = 500;

/// The share of a channel's variance that is of its means over two seconds, and so of frequencies far below
/// 1 Hz: the median over the channels. A recording in which it is large is better filtered before it is separated.
/// 0 where there are too few samples to tell.
///
/// ```
/// use codiag::signals::{View, drift_share};
/// let steady: Vec<f64> = (0..10_000).map(|t| (0.7 * t as f64).sin()).collect();
/// let drifting: Vec<f64> = steady.iter().enumerate().map(|(t, x)| x + 1e-3 * t as f64).collect();
/// let share = |data: &[f64]| drift_share(&View::new(data, 1, 10_000)?, 100.0, &[]);
/// assert!(share(&steady)? < 0.01);
/// assert!(share(&drifting)? > 0.9);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If the recording cannot be read, or the spans to leave out are not within it.
pub fn drift_share(
    recording: &dyn Recording,
    rate: f64,
    exclude: &[Range<usize>],
) -> Result<f64, Error> {
    let (channels, length) = (recording.channels(), (SECONDS * rate) as usize);
    if length < 2 || length > recording.samples() {
        return Ok(0.0);
    }
    let usable = usable_spans(recording.samples(), exclude)?;
    let starts: Vec<usize> = usable
        .iter()
        .flat_map(|span| {
            let blocks = span.len() / length;
            (0..blocks).map(move |k| span.start + k * length)
        })
        .collect();
    let chosen: Vec<usize> = starts
        .iter()
        .step_by(starts.len().div_ceil(BLOCKS).max(1))
        .copied()
        .collect();
    let n = chosen.len() as f64;
    if chosen.len() < 4 {
        return Ok(0.0);
    }
    let mut block = vec![0.0; channels * length];
    let (mut means, mut within) = (vec![Vec::new(); channels], vec![0.0; channels]);
    for start in chosen {
        recording.read(start..start + length, &mut block)?;
        for (c, x) in block.chunks_exact(length).enumerate() {
            let mean = linalg::sum(x) / length as f64;
            let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
            means[c].push(mean);
            within[c] += squares / (length as f64 * n);
        }
    }
    let mut shares: Vec<f64> = means
        .iter()
        .zip(&within)
        .filter_map(|(means, within)| {
            let mean = linalg::sum(means) / n;
            let between: f64 = means.iter().map(|m| (m - mean).powi(2) / n).sum();
            let share = between / (between + within);
            share.is_finite().then_some(share)
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    Ok(shares.get(shares.len() / 2).copied().unwrap_or(0.0))
}
