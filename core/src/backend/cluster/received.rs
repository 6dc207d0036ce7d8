//! What parts have sent, which may be damaged, short, or of another version.

use super::part::DESCRIPTION;
use super::wire;
use crate::Error;
use crate::data::{Criterion, Summary};
use crate::linalg::Scalar;

/// The largest number of a matrix that a description is believed to mean.
const LARGEST_PLACE: f64 = (1_u64 << 48) as f64;

/// What one part said.
pub struct Answer {
    /// The kind of question that was put.
    pub kind: u8,
    pub bytes: Vec<u8>,
}

impl Answer {
    /// The numbers, of which there should be so many.
    pub fn numbers(&self, expected: usize) -> Result<Vec<f64>, Error> {
        let wrong = |actual| Error::InvalidResponse { expected, actual };
        let (header, rest) = wire::read(&self.bytes).ok_or(wrong(0))?;
        let actual = rest.len() / 8;
        let as_announced = header.kind == self.kind && header.count == actual as u64;
        wire::numbers(rest)
            .filter(|_| as_announced && actual == expected)
            .ok_or(wrong(actual))
    }

    /// Whether the part has nothing to say, having no matrix of the sample.
    pub fn is_empty(&self) -> bool {
        self.numbers(0).is_ok()
    }
}

/// What a part says of itself.
pub struct Described<T> {
    pub weight: f64,
    pub summary: Summary<T>,
    /// The first numbers and lengths of its runs of matrices.
    pub runs: Vec<(usize, usize)>,
}

/// Reads a description.
pub fn described<T: Scalar>(bytes: &[u8]) -> Result<Described<T>, Error> {
    let damaged = |expected, actual| Error::InvalidResponse { expected, actual };
    let (header, rest) = wire::read(bytes).ok_or(damaged(1, 0))?;
    let p = header.dimension;
    let square = p.saturating_mul(p).saturating_mul(T::PLANES);
    // Weight, mean of log det, mean, and at least one run of matrices.
    let least = square.saturating_add(4);
    let count = usize::try_from(header.count).unwrap_or(usize::MAX);
    let there = rest.len() / 8;
    let body = rest.split_at_checked(count.saturating_mul(8));
    let as_expected = header.kind == DESCRIPTION && header.complex == (T::PLANES == 2) && p > 0;
    let (Some((body, name)), true) = (body, as_expected) else {
        return Err(damaged(count, there));
    };
    let numbers = wire::numbers(body).filter(|_| count >= least && (count - least) % 2 == 0);
    let numbers = numbers.ok_or(damaged(least, count))?;
    let (_, places) = numbers.split_at(2 + square);
    if places.iter().any(|x| !(0.0..=LARGEST_PLACE).contains(x)) {
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
    Ok(Described {
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
