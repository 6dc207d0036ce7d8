//! Sums over the samples of a recording: covariances, their mean, powers of channels.

use super::reader::{Buffers, Reader};
use super::{Piece, Shrinkage};
use crate::error::Portion;
use crate::linalg::{self, Matrix, Scalar};
use crate::threads::Workers;
use crate::{Error, MatrixSet, SetOptions};

/// What the matrix of a number is made of, for errors.
pub(super) type PortionOf = fn(usize) -> Portion;

/// How many samples there are in the pieces of a matrix.
fn count(pieces: &[Piece]) -> usize {
    pieces.iter().flatten().map(ExactSizeIterator::len).sum()
}

/// The threads that pay for one covariance each.
pub(super) fn workers(matrices: &[Vec<Piece>], p: usize, threads: Option<usize>) -> Workers {
    let samples: usize = matrices.iter().map(|pieces| count(pieces)).sum();
    Workers::for_work(threads, samples.saturating_mul(p * p / 2))
}

/// Whether every matrix has the samples it needs to be positive definite.
pub(super) fn check_samples(
    matrices: &[Vec<Piece>],
    portion: PortionOf,
    dimension: usize,
    center: bool,
    shrinkage: Shrinkage,
) -> Result<(), Error> {
    if !shrinkage.is_none() {
        return Ok(());
    }
    for (i, pieces) in matrices.iter().enumerate() {
        let needed = dimension + if center { pieces.len() } else { 0 };
        let samples = count(pieces);
        if samples < needed {
            return Err(Error::TooFewSamples {
                portion: portion(i),
                samples,
                dimension,
                needed,
            });
        }
    }
    Ok(())
}

/// How many matrices a thread estimates in the same workspace.
pub(super) const MATRICES_PER_JOB: usize = 4;

/// Memory for one covariance after the other.
#[derive(Default)]
pub(super) struct Workspace {
    buffers: Buffers,
    /// Σ x_t x_tᵀ, of which only the lower triangle is filled. It stays in the caches from one matrix
    /// to the next, as the output would not.
    gram: Vec<f64>,
}

/// Writes one covariance, and returns the amount of its shrinkage.
pub(super) fn estimate(
    reader: &Reader<'_>,
    pieces: &[Piece],
    shrinkage: Shrinkage,
    workspace: &mut Workspace,
    out: &mut [f64],
) -> Result<f64, Error> {
    let (p, samples) = (reader.dimension(), count(pieces));
    let Workspace { buffers, gram } = workspace;
    gram.clear();
    gram.resize(p * p, 0.0);
    let mut fourth = 0.0;
    for piece in pieces {
        reader.for_each_span(piece, buffers, |x, length| {
            linalg::add_gram(gram, p, 1.0 / samples as f64, x, length, length);
            if shrinkage == Shrinkage::LedoitWolf {
                fourth += fourth_powers(x.chunks_exact(length), length);
            }
        })?;
    }
    out.copy_from_slice(gram);
    mirror(out, p);
    Ok(shrinkage.apply(out, p, samples, fourth))
}

/// Σ_t ‖x_t‖⁴ for the columns x_t of some rows.
pub(super) fn fourth_powers<'a, T: Scalar>(
    rows: impl Iterator<Item = &'a [T]>,
    columns: usize,
) -> f64 {
    let mut squares = vec![0.0; columns];
    for row in rows {
        let pairs = squares.iter_mut().zip(row);
        pairs.for_each(|(square, x)| *square += x.norm_sqr());
    }
    linalg::dot(&squares, &squares)
}

/// Copies the lower triangle to the upper, conjugated.
pub(super) fn mirror<T: Scalar>(matrix: &mut [T], p: usize) {
    // In tiles, so that what is read by columns is read by whole cache lines.
    const TILE: usize = 16;
    for rows in (0..p).step_by(TILE) {
        for columns in (0..=rows).step_by(TILE) {
            for b in columns..(columns + TILE).min(p) {
                for a in rows.max(b + 1)..(rows + TILE).min(p) {
                    matrix[b * p + a] = matrix[a * p + b].conj();
                }
            }
        }
    }
}

/// The mean of all covariances, none of which is kept.
pub(super) fn mean_covariance(
    reader: &Reader<'_>,
    matrices: &[Vec<Piece>],
    workers: &Workers,
) -> Result<Matrix, Error> {
    // The groups depend on the number of matrices alone and are added in order, so that the result
    // has the same bits on any number of threads.
    const GROUPS: usize = 16;
    let p = reader.dimension();
    let n = matrices.len() as f64;
    let groups: Vec<&[Vec<Piece>]> = matrices.chunks(matrices.len().div_ceil(GROUPS)).collect();
    let sums = workers.map(&groups, |_, group| -> Result<Vec<f64>, Error> {
        let mut sum = vec![0.0; p * p];
        let mut buffers = Buffers::default();
        for pieces in *group {
            let factor = 1.0 / (n * count(pieces) as f64);
            for piece in pieces {
                reader.for_each_span(piece, &mut buffers, |x, length| {
                    linalg::add_gram(&mut sum, p, factor, x, length, length);
                })?;
            }
        }
        Ok(sum)
    });
    let mut total = vec![0.0; p * p];
    for sum in sums {
        linalg::add_multiple(&mut total, 1.0, &sum?);
    }
    mirror(&mut total, p);
    Ok(Matrix::from_rows(p, p, total))
}

/// The mean power of every channel over the matrices.
pub(super) fn mean_powers(reader: &Reader<'_>, matrices: &[Vec<Piece>]) -> Result<Vec<f64>, Error> {
    let mut powers = vec![0.0; reader.dimension()];
    let mut buffers = Buffers::default();
    for pieces in matrices {
        let factor = 1.0 / (matrices.len() * count(pieces)) as f64;
        for piece in pieces {
            reader.for_each_span(piece, &mut buffers, |x, length| {
                for (row, power) in x.chunks_exact(length).zip(&mut powers) {
                    *power += factor * linalg::dot(row, row);
                }
            })?;
        }
    }
    Ok(powers)
}

/// The set of the covariances in the reader's coordinates, and the amounts of shrinkage. Only some
/// whole matrices are in memory beside it.
pub(super) fn covariance_set(
    reader: &Reader<'_>,
    matrices: &[Vec<Piece>],
    shrinkage: Shrinkage,
    workers: &Workers,
    options: &SetOptions,
) -> Result<(MatrixSet, Vec<f64>), Error> {
    const BATCH: usize = 32;
    let p = reader.dimension();
    MatrixSet::<f64>::check_memory(matrices.len(), p)?;
    let mut failed = None;
    let mut shrinkages = Vec::with_capacity(matrices.len());
    let estimated = matrices.chunks(BATCH).flat_map(|batch| {
        let jobs: Vec<&[Vec<Piece>]> = batch.chunks(MATRICES_PER_JOB).collect();
        let made = workers.map(&jobs, |_, own| {
            let mut workspace = Workspace::default();
            let one = |pieces: &Vec<Piece>| {
                let mut out = vec![0.0; p * p];
                let amount = estimate(reader, pieces, shrinkage, &mut workspace, &mut out)?;
                Ok((out, amount))
            };
            own.iter().map(one).collect::<Vec<Result<_, Error>>>()
        });
        made.into_iter().flatten()
    });
    let good = estimated.map_while(|result| match result {
        Ok((matrix, amount)) => {
            shrinkages.push(amount);
            Some(matrix)
        }
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    let set = MatrixSet::from_matrices(p, good, options);
    match failed {
        Some(error) => Err(error),
        None => Ok((set?, shrinkages)),
    }
}
