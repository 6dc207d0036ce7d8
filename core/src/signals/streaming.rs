//! Matrices applied to recordings, a span at a time.

use super::Recording;
use super::reader::samples_per_span;
use crate::Error;
use crate::error::{Expected, Setting};
use crate::linalg::{self, Matrix};
use crate::threads::Workers;

/// Called with the number of a span's first sample, and with the span: one row per source or channel.
///
/// ```
/// use codiag::Matrix;
/// use codiag::signals::{Sink, View, apply};
///
/// let data = [1.0, 2.0, 3.0, 4.0]; // two channels of two samples
/// let recording = View::new(&data, 2, 2)?;
/// let mut sums = Vec::new();
/// let sink: Sink<'_> = &mut |_first, rows: &Matrix| {
///     sums.extend_from_slice(rows.row(0));
///     Ok(())
/// };
/// apply(&Matrix::from_rows(1, 2, vec![1.0, 1.0]), &recording, None, sink)?;
/// assert_eq!(sums, [4.0, 6.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
pub type Sink<'a> = &'a mut dyn FnMut(usize, &Matrix) -> Result<(), Error>;

/// Passes M x to the sink, a span at a time and in order, for a matrix M of one column
/// per channel. If its rows are filters, M x are sources.
///
/// ```
/// use codiag::Matrix;
/// use codiag::signals::{View, apply};
///
/// let data = [1.0, 2.0, 3.0, 4.0]; // two channels of two samples
/// let recording = View::new(&data, 2, 2)?;
/// let difference = Matrix::from_rows(1, 2, vec![1.0, -1.0]);
/// apply(&difference, &recording, None, &mut |first, rows| {
///     assert_eq!((first, rows.row(0)), (0, &[-2.0, -2.0][..]));
///     Ok(())
/// })?;
/// # Ok::<(), codiag::Error>(())
/// ```
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
            let mut image = Matrix::zeros(matrix.rows(), length);
            linalg::product_into(matrix, &x, length, image.as_mut_slice());
            image
        },
    )
}

/// Passes x − A_e B_e x to the sink, a span at a time and in order, for the sources to be
/// excluded, by filters B and patterns A.
///
/// ```
/// use codiag::Matrix;
/// use codiag::signals::{View, remove};
///
/// let data = [1.0, 2.0, 3.0, 4.0]; // two channels of two samples
/// let recording = View::new(&data, 2, 2)?;
/// let unmixed = Matrix::identity(2); // the sources are the channels
/// remove(&unmixed, &unmixed, &[1], &recording, None, &mut |_, rows| {
///     assert_eq!(rows.as_slice(), [1.0, 2.0, 0.0, 0.0]);
///     Ok(())
/// })?;
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If there is no such source, the recording does not have one channel per column of B, cannot be read,
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
            let mut rest = Matrix::from_rows(p, length, x);
            linalg::add_product(&negated, &sources, length, rest.as_mut_slice());
            rest
        },
    )
}

/// Passes what `compute` makes of each span to the sink, in order.
fn stream(
    channels: usize,
    multiply_adds: usize,
    recording: &dyn Recording,
    threads: Option<usize>,
    sink: Sink<'_>,
    compute: impl Fn(Vec<f64>, usize) -> Matrix + Sync + Send,
) -> Result<(), Error> {
    // Spans that are computed at once; their results are in memory together.
    const BATCH: usize = 8;
    let (p, samples) = (recording.channels(), recording.samples());
    if p != channels {
        return Err(Error::Channels {
            expected: channels,
            actual: p,
        });
    }
    let workers = Workers::for_work(threads, samples.saturating_mul(multiply_adds));
    let step = samples_per_span(p);
    let starts: Vec<usize> = (0..samples).step_by(step).collect();
    for batch in starts.chunks(BATCH) {
        let results = workers.map(batch, |_, &start| -> Result<Matrix, Error> {
            let length = step.min(samples - start);
            let mut x = vec![0.0; p * length];
            recording.read(start..start + length, &mut x)?;
            Ok(compute(x, length))
        });
        for (start, rows) in batch.iter().zip(results) {
            sink(*start, &rows?)?;
        }
    }
    Ok(())
}

/// Gathers what a sink gets.
pub(super) fn gather(
    rows: usize,
    recording: &dyn Recording,
    compute: impl FnOnce(Sink<'_>) -> Result<(), Error>,
) -> Result<Matrix, Error> {
    let mut out = Matrix::zeros(rows, recording.samples());
    compute(&mut |start, some| {
        for a in 0..rows {
            out.row_mut(a)[start..start + some.columns()].copy_from_slice(some.row(a));
        }
        Ok(())
    })?;
    Ok(out)
}
