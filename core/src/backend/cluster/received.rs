//! Responses and descriptions of workers, which may be damaged, truncated, or of another version.

use super::wire;
use super::worker::DESCRIPTION;
use crate::Error;
use crate::data::{Criterion, Summary};
use crate::linalg::Scalar;

/// Largest plausible number of a matrix in a description.
const MAX_MATRIX_NUMBER: f64 = (1_u64 << 48) as f64;

/// Response of one worker.
pub struct Response {
    /// Kind of the request.
    pub kind: u8,
    pub bytes: Vec<u8>,
}

impl Response {
    /// Reads the numbers. Fails if their number is not the expected one.
    pub fn numbers(&self, expected: usize) -> Result<Vec<f64>, Error> {
        let wrong = |actual| Error::InvalidResponse { expected, actual };
        let (header, rest) = wire::read(&self.bytes).ok_or(wrong(0))?;
        let actual = rest.len() / 8;
        let as_announced = header.kind == self.kind && header.count == actual as u64;
        wire::numbers(rest)
            .filter(|_| as_announced && actual == expected)
            .ok_or(wrong(actual))
    }

    /// Whether there are no numbers, because the worker has no matrix of the sample.
    pub fn is_empty(&self) -> bool {
        self.numbers(0).is_ok()
    }
}

/// Description of a worker.
pub struct Description<T> {
    pub weight: f64,
    pub summary: Summary<T>,
    /// First number and length of each run of consecutive matrices.
    pub runs: Vec<(usize, usize)>,
}

/// Reads a description.
pub fn read_description<T: Scalar>(bytes: &[u8]) -> Result<Description<T>, Error> {
    let damaged = |expected, actual| Error::InvalidResponse { expected, actual };
    let (header, rest) = wire::read(bytes).ok_or(damaged(1, 0))?;
    let p = header.dimension;
    let square = p.saturating_mul(p).saturating_mul(T::PLANES);
    // Weight, mean of log det, mean, and at least one run of matrices.
    let least = square.saturating_add(4);
    let count = usize::try_from(header.count).unwrap_or(usize::MAX);
    let actual = rest.len() / 8;
    let body = rest.split_at_checked(count.saturating_mul(8));
    let as_expected = header.kind == DESCRIPTION && header.complex == (T::PLANES == 2) && p > 0;
    let (Some((body, name)), true) = (body, as_expected) else {
        return Err(damaged(count, actual));
    };
    let numbers = wire::numbers(body).filter(|_| count >= least && (count - least) % 2 == 0);
    let numbers = numbers.ok_or(damaged(least, count))?;
    let (_, places) = numbers.split_at(2 + square);
    if places
        .iter()
        .any(|x| !(0.0..=MAX_MATRIX_NUMBER).contains(x))
    {
        return Err(damaged(least, count));
    }
    let criterion: Criterion = std::str::from_utf8(name)
        .ok()
        .and_then(|name| name.parse().ok())
        .ok_or(damaged(least, count))?;
    let (figures, rest) = numbers.split_at(2);
    let (mean, runs) = rest.split_at(square);
    let runs: Vec<(usize, usize)> = runs
        .chunks_exact(2)
        .map(|run| (run[0] as usize, run[1] as usize))
        .collect();
    Ok(Description {
        weight: figures[0],
        summary: Summary {
            criterion,
            len: runs.iter().map(|(_, len)| len).sum(),
            mean: wire::matrix(p, mean),
            constant: figures[1],
            reduction: None,
        },
        runs,
    })
}
