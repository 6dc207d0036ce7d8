//! What can be wrong with the input. Not converging is no error: see [`Status`](crate::Status).

use thiserror::Error;

use crate::Memory;

/// Bad input. Every variant carries the numbers that a message needs.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The data do not have the shape (n, p, p) with n, p > 0.
    #[error("expected n matrices of size p x p with n, p > 0, got shape {shape:?}")]
    Shape {
        /// The shape received.
        shape: Vec<usize>,
    },
    /// A slice does not hold as many numbers as its shape says.
    #[error("shape {shape:?} needs {expected} numbers, got {actual}")]
    Length {
        /// The shape announced.
        shape: Vec<usize>,
        /// How many numbers that is.
        expected: usize,
        /// How many there are.
        actual: usize,
    },
    /// An entry is NaN or infinite.
    #[error("matrix {matrix}: entry ({row}, {column}) is {value}, not a finite number")]
    NotFinite {
        /// The matrix, counted from 0.
        matrix: usize,
        /// The entry's row.
        row: usize,
        /// The entry's column.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// The matrices are so small or large that products of their entries leave the range of `f64`.
    #[error(
        "the mean of the matrices has a diagonal entry of {power:.3e}: change the unit, so that it lies \
         between 1e-250 and 1e250"
    )]
    Range {
        /// The entry.
        power: f64,
    },
    /// A matrix is not symmetric.
    #[error(
        "matrix {matrix} is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ by \
         {asymmetry:.3e} of the largest entry (at most 1e-8 is taken as rounding)"
    )]
    Asymmetric {
        /// The matrix, counted from 0.
        matrix: usize,
        /// The entry's row.
        row: usize,
        /// The entry's column.
        column: usize,
        /// |C_ab − C_ba| / max |C|.
        asymmetry: f64,
    },
    /// A matrix is not positive definite.
    #[error("matrix {matrix} is not positive definite: its smallest eigenvalue is {eigenvalue:.3e}; {}",
        singular_advice(*shared_rank))]
    NotPositiveDefinite {
        /// The matrix, counted from 0.
        matrix: usize,
        /// Its smallest eigenvalue.
        eigenvalue: f64,
        /// The rank of the mean, if the whole set shares a null space.
        shared_rank: Option<usize>,
    },
    /// The weights are not one number a matrix.
    #[error("expected {expected} weights, one a matrix, got {actual}")]
    WeightsLength {
        /// The number of matrices.
        expected: usize,
        /// The number of weights.
        actual: usize,
    },
    /// A weight is negative or not finite.
    #[error("weight {index} is {value}: weights must be finite and not negative")]
    Weight {
        /// The weight, counted from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// All weights are zero.
    #[error("all weights are zero: at least one must be positive")]
    WeightsZero,
    /// The start has the wrong shape.
    #[error("the start must be {} x {}, got {rows} x {columns}", expected.0, expected.1)]
    StartShape {
        /// The dimension of the set and the number of its channels.
        expected: (usize, usize),
        /// The rows of the start.
        rows: usize,
        /// The columns of the start.
        columns: usize,
    },
    /// The start is singular or not finite.
    #[error("the start must be finite and invertible, but it is {problem}")]
    StartSingular {
        /// "singular", "not finite" or "not orthogonal".
        problem: &'static str,
    },
    /// A setting is out of its range.
    #[error("{name} must be {expected}, got {value}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it was.
        value: String,
    },
    /// A recording has no channels or no samples, or epochs none of one of the three.
    #[error("expected {expected}, none of them 0, got shape {shape:?}")]
    RecordingShape {
        /// "channels x samples" or "epochs x channels x samples".
        expected: &'static str,
        /// The shape received.
        shape: Vec<usize>,
    },
    /// A recording has another number of channels than it should.
    #[error("expected {expected} channels, got {actual}")]
    Channels {
        /// How many it should have.
        expected: usize,
        /// How many it has.
        actual: usize,
    },
    /// A sample is NaN or infinite.
    #[error(
        "channel {channel}, sample {sample} is {value}, not a finite number: mend it, or exclude the \
         span it lies in"
    )]
    SampleNotFinite {
        /// The channel, counted from 0.
        channel: usize,
        /// The sample, counted from 0.
        sample: usize,
        /// The number found.
        value: f64,
    },
    /// A covariance would be singular for want of samples.
    #[error(
        "{what} has {samples} {unit}, but a {dimension} x {dimension} matrix needs at least {needed}: \
         {advice}, ask for at most {} components, or for shrinkage",
        dimension.saturating_sub(needed - samples)
    )]
    TooFewSamples {
        /// What is too short: a segment, an epoch, a class or a band.
        what: String,
        /// How many samples it has.
        samples: usize,
        /// What they are.
        unit: &'static str,
        /// The size of the matrix.
        dimension: usize,
        /// How many samples would do.
        needed: usize,
        /// What helps.
        advice: &'static str,
    },
    /// A budget of memory within which not even one block could be worked on.
    #[error("memory must be at least {smallest} for matrices of this size, got {given}")]
    Memory {
        /// The smallest budget that works.
        smallest: Memory,
        /// The budget.
        given: Memory,
    },
    /// The matrices cannot be read, be it from the beginning or long after the input was accepted.
    #[error("{0}")]
    Source(String),
    /// What is wrong with the matrices of a file.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// What is wrong.
        error: Box<Error>,
    },
    /// Whoever watches the reading of a file asked to stop, before there was anything to return.
    #[error("interrupted")]
    Interrupted,
}

fn singular_advice(shared_rank: Option<usize>) -> String {
    match shared_rank {
        Some(rank) => format!(
            "all matrices share a null space (the mean has rank {rank}): reduce the set to its range \
             with rank=\"auto\" or rank={rank}"
        ),
        None => "its companions do not share its null space: lift it with shrinkage, for instance \
                 shrinkage=1e-3"
            .to_owned(),
    }
}
