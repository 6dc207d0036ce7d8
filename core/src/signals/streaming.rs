//! Matrices applied to recordings, some samples at a time.

use super::Recording;
use super::sweep::chunk_samples;
use crate::Error;
use crate::error::{Expected, Setting};
use crate::linalg::{self, Matrix};
use crate::threads::Workers;

/// Gets the number of the first sample, and rows of some samples.
pub type Sink<'a> = &'a mut dyn FnMut(usize, &Matrix) -> Result<(), Error>;

/// Passes M x to the sink, some samples at a time and in order, for a matrix of one column a channel:
/// sources, if these are filters.
///
/// # Errors
/// If the recording does not have as many channels, cannot be read, or the sink fails.
pub fn apply(
    matrix: &Matrix,
    recording: &dyn Recording,
    threads: Option<usize>,
    sink: Sink<'_>,
) -> Result<(), Error> {
    let work = matrix.rows() * matrix.columns();
    stream(
        matrix.columns(),
        work,
        recording,
        threads,
        sink,
        |x, length| {
            let mut part = Matrix::zeros(matrix.rows(), length);
            linalg::product_into(matrix, &x, length, part.as_mut_slice());
            part
        },
    )
}

/// Passes x − A_e B_e x to the sink, some samples at a time and in order, for the sources to be
/// excluded, by filters B and patterns A.
///
/// # Errors
/// If there is no such source, the recording does not have one channel a column of B, cannot be read,
/// or the sink fails.
pub fn remove(
    filters: &Matrix,
    patterns: &Matrix,
    exclude: &[usize],
    recording: &dyn Recording,
    threads: Option<usize>,
    sink: Sink<'_>,
) -> Result<(), Error> {
    let (r, p) = (filters.rows(), filters.columns());
    if let Some(beyond) = exclude.iter().find(|e| **e >= r) {
        let expected = Expected::Words("numbers of sources, counted from 0");
        let value = format!("{beyond} of {r} sources");
        return Err(Error::setting(Setting::Exclude, expected, value));
    }
    let mut chosen = exclude.to_vec();
    chosen.sort_unstable();
    chosen.dedup();
    let filters = Matrix::from_fn(chosen.len(), p, |e, c| filters[(chosen[e], c)]);
    let negated = Matrix::from_fn(p, chosen.len(), |c, e| -patterns[(c, chosen[e])]);
    stream(
        p,
        2 * p * chosen.len(),
        recording,
        threads,
        sink,
        |x, length| {
            let mut sources = vec![0.0; chosen.len() * length];
            linalg::product_into(&filters, &x, length, &mut sources);
            let mut part = Matrix::from_rows(p, length, x);
            linalg::add_product(&negated, &sources, length, part.as_mut_slice());
            part
        },
    )
}

/// Passes what `compute` makes of some samples at a time to the sink, in order.
fn stream(
    channels: usize,
    multiply_adds: usize,
    recording: &dyn Recording,
    threads: Option<usize>,
    sink: Sink<'_>,
    compute: impl Fn(Vec<f64>, usize) -> Matrix + Sync + Send,
) -> Result<(), Error> {
    // Chunks that are computed at once; their results are in memory together.
    const BATCH: usize = 8;
    let (p, samples) = (recording.channels(), recording.samples());
    if p != channels {
        return Err(Error::Channels {
            expected: channels,
            actual: p,
        });
    }
    let workers = Workers::for_work(threads, samples.saturating_mul(multiply_adds));
    let step = chunk_samples(p);
    let starts: Vec<usize> = (0..samples).step_by(step).collect();
    for batch in starts.chunks(BATCH) {
        let parts = workers.map(batch, |_, &start| -> Result<Matrix, Error> {
            let length = step.min(samples - start);
            let mut x = vec![0.0; p * length];
            recording.read(start..start + length, &mut x)?;
            Ok(compute(x, length))
        });
        for (start, part) in batch.iter().zip(parts) {
            sink(*start, &part?)?;
        }
    }
    Ok(())
}

/// Gathers what a sink gets.
pub(super) fn collect(
    rows: usize,
    recording: &dyn Recording,
    compute: impl FnOnce(Sink<'_>) -> Result<(), Error>,
) -> Result<Matrix, Error> {
    let mut out = Matrix::zeros(rows, recording.samples());
    compute(&mut |start, part| {
        for a in 0..rows {
            out.row_mut(a)[start..start + part.columns()].copy_from_slice(part.row(a));
        }
        Ok(())
    })?;
    Ok(out)
}
