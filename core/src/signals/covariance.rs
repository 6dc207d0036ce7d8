//! Covariances of segments and of epochs.

use super::sweep::{Buffers, Coordinates, Sweep};
use super::{Epochs, Piece, Recording, Scale, Segments, Shrinkage};
use crate::error::{Expected, Portion, Setting};
use crate::linalg::{self, Matrix};
use crate::threads::Workers;
use crate::{Error, MatrixSet, SetOptions};

/// How covariances are estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct CovarianceOptions {
    /// Whether the mean of every segment or epoch is taken off, each channel's own.
    pub center: bool,
    /// The unit in which each channel counts.
    pub scale: Scale,
    /// How far each covariance is drawn towards a multiple of the identity.
    pub shrinkage: Shrinkage,
    /// The number of threads; as many as pay if None. The numbers do not depend on it.
    pub threads: Option<usize>,
}

impl Default for CovarianceOptions {
    fn default() -> Self {
        Self {
            center: true,
            scale: Scale::Unchanged,
            shrinkage: Shrinkage::default(),
            threads: None,
        }
    }
}

/// Matrices made from signals, before they are a checked [`MatrixSet`].
#[derive(Clone, Debug)]
pub struct Covariances {
    /// n·p·p numbers, one row-major matrix after the other.
    pub data: Vec<f64>,
    /// The number of matrices.
    pub n: usize,
    /// Their size: the number of channels.
    pub p: usize,
    /// By how much each was shrunk.
    pub shrinkages: Vec<f64>,
}

impl Covariances {
    /// The set, to be diagonalised.
    ///
    /// # Errors
    /// If a matrix is not positive definite, or the options are not as they should be.
    pub fn set(&self, options: &SetOptions) -> Result<MatrixSet, Error> {
        MatrixSet::with_options(&self.data, self.n, self.p, options)
    }
}

/// One covariance Σ_t x_t x_tᵀ / L for each segment of L samples.
///
/// ```
/// use codiag::SetOptions;
/// use codiag::signals::{CovarianceOptions, Cut, Segments, View, segment_covariances, simulate};
///
/// let made = simulate::nonstationary(4, 50, 200, 0); // 4 channels, 50 stretches of 200 samples
/// let recording = View::new(&made.data, 4, 50 * 200)?;
/// let segments = Segments { cut: Cut::Count(50), ..Segments::default() };
/// let covariances = segment_covariances(&recording, &segments, &CovarianceOptions::default())?;
/// assert_eq!((covariances.n, covariances.p), (50, 4));
/// let set = covariances.set(&SetOptions::default())?;
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If a segment has fewer samples than a covariance needs ([`Error::TooFewSamples`]), a sample is
/// not finite, or an option is out of its range.
pub fn segment_covariances(
    recording: &dyn Recording,
    segments: &Segments,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let pieces = segments.pieces(recording.samples())?;
    let matrices: Vec<Vec<Piece>> = pieces.into_iter().map(|piece| vec![piece]).collect();
    covariances(recording, &matrices, Portion::Segment, options)
}

/// One covariance for each epoch, or, with labels, one for each class: that of all its epochs, each
/// centred by itself. Labels are numbers from 0 on; matrix k is that of class k.
///
/// # Errors
/// If an epoch or class has fewer samples than a covariance needs, a sample is not finite, there is
/// not one label an epoch, or a class has no epochs.
pub fn epoch_covariances(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let (matrices, portion) = epoch_pieces(epochs, labels)?;
    covariances(epochs, &matrices, portion, options)
}

/// What the matrix of a number is made of, for errors.
pub(super) type PortionOf = fn(usize) -> Portion;

/// The pieces of every epoch or class.
pub(super) fn epoch_pieces(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
) -> Result<(Vec<Vec<Piece>>, PortionOf), Error> {
    let each = epochs.epoch_samples();
    let pieces =
        (0..epochs.len()).map(|e| -> Piece { std::iter::once(e * each..(e + 1) * each).collect() });
    let Some(labels) = labels else {
        return Ok((pieces.map(|piece| vec![piece]).collect(), Portion::Epoch));
    };
    let refused = |expected, value: String| {
        let expected = Expected::Words(expected);
        Err(Error::setting(Setting::Labels, expected, value))
    };
    if labels.len() != epochs.len() {
        let value = format!("{} for {} epochs", labels.len(), epochs.len());
        return refused("one per epoch", value);
    }
    let classes = labels.iter().max().map_or(0, |most| most + 1);
    let mut matrices = vec![Vec::new(); classes];
    for (label, piece) in labels.iter().zip(pieces) {
        matrices[*label].push(piece);
    }
    if let Some(empty) = matrices.iter().position(Vec::is_empty) {
        return refused("numbers from 0 on, none left out", format!("no {empty}"));
    }
    Ok((matrices, Portion::Class))
}

fn covariances(
    recording: &dyn Recording,
    matrices: &[Vec<Piece>],
    portion: PortionOf,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let p = recording.channels();
    options.shrinkage.check()?;
    check_samples(matrices, portion, p, options.center, options.shrinkage)?;
    let workers = workers(matrices, p, options.threads);
    let mut sweep = Sweep {
        recording,
        coordinates: Coordinates::Channels,
        center: options.center,
    };
    let powers = || mean_powers(&sweep, matrices);
    if let Some(factors) = options.scale.factors(p, powers)? {
        sweep.coordinates = Coordinates::Scaled(factors);
    }
    let mut data = vec![0.0; matrices.len() * p * p];
    let mut jobs: Vec<_> = matrices
        .chunks(SHARE)
        .zip(data.chunks_mut(SHARE * p * p))
        .map(|(share, out)| (share, out, Ok(Vec::new())))
        .collect();
    workers.each(&mut jobs, |(share, out, done)| {
        let mut memory = Memory::default();
        let places = share.iter().zip(out.chunks_exact_mut(p * p));
        *done = places
            .map(|(pieces, out)| estimate(&sweep, pieces, options.shrinkage, &mut memory, out))
            .collect();
    });
    let mut shrinkages = Vec::with_capacity(matrices.len());
    for (_, _, done) in jobs {
        shrinkages.extend(done?);
    }
    Ok(Covariances {
        data,
        n: matrices.len(),
        p,
        shrinkages,
    })
}

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

/// How many matrices a thread makes with the same memory.
const SHARE: usize = 4;

/// Memory for one covariance after the other.
#[derive(Default)]
struct Memory {
    buffers: Buffers,
    /// Only its lower triangle is true. Sums are taken here, where memory is warm.
    gram: Vec<f64>,
}

/// Writes one covariance, and says by how much it was shrunk.
fn estimate(
    sweep: &Sweep<'_>,
    pieces: &[Piece],
    shrinkage: Shrinkage,
    memory: &mut Memory,
    out: &mut [f64],
) -> Result<f64, Error> {
    let (p, samples) = (sweep.dimension(), count(pieces));
    let Memory { buffers, gram } = memory;
    gram.clear();
    gram.resize(p * p, 0.0);
    let mut fourth = 0.0;
    for piece in pieces {
        sweep.chunks(piece, buffers, |x, length| {
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
pub(super) fn fourth_powers<'a>(rows: impl Iterator<Item = &'a [f64]>, columns: usize) -> f64 {
    let mut squares = vec![0.0; columns];
    for row in rows {
        squares.iter_mut().zip(row).for_each(|(s, x)| *s += x * x);
    }
    linalg::dot(&squares, &squares)
}

/// Copies the lower triangle to the upper.
pub(super) fn mirror(matrix: &mut [f64], p: usize) {
    // In tiles, so that what is read by columns is read by whole cache lines.
    const TILE: usize = 16;
    for rows in (0..p).step_by(TILE) {
        for columns in (0..=rows).step_by(TILE) {
            for b in columns..(columns + TILE).min(p) {
                for a in rows.max(b + 1)..(rows + TILE).min(p) {
                    matrix[b * p + a] = matrix[a * p + b];
                }
            }
        }
    }
}

/// The mean of the covariances of all matrices, none of which is kept.
pub(super) fn mean_covariance(
    sweep: &Sweep<'_>,
    matrices: &[Vec<Piece>],
    workers: &Workers,
) -> Result<Matrix, Error> {
    // By the number of matrices alone, and summed in order: the same bits on any number of threads.
    const GROUPS: usize = 16;
    let p = sweep.dimension();
    let n = matrices.len() as f64;
    let groups: Vec<&[Vec<Piece>]> = matrices.chunks(matrices.len().div_ceil(GROUPS)).collect();
    let parts = workers.map(&groups, |_, group| -> Result<Vec<f64>, Error> {
        let mut sum = vec![0.0; p * p];
        let mut buffers = Buffers::default();
        for pieces in *group {
            let factor = 1.0 / (n * count(pieces) as f64);
            for piece in pieces {
                sweep.chunks(piece, &mut buffers, |x, length| {
                    linalg::add_gram(&mut sum, p, factor, x, length, length);
                })?;
            }
        }
        Ok(sum)
    });
    let mut total = vec![0.0; p * p];
    for part in parts {
        linalg::add_multiple(&mut total, 1.0, &part?);
    }
    mirror(&mut total, p);
    Ok(Matrix::from_rows(p, p, total))
}

/// The mean power of every channel over the matrices.
fn mean_powers(sweep: &Sweep<'_>, matrices: &[Vec<Piece>]) -> Result<Vec<f64>, Error> {
    let mut powers = vec![0.0; sweep.dimension()];
    let mut buffers = Buffers::default();
    for pieces in matrices {
        let factor = 1.0 / (matrices.len() * count(pieces)) as f64;
        for piece in pieces {
            sweep.chunks(piece, &mut buffers, |x, length| {
                for (row, power) in x.chunks_exact(length).zip(&mut powers) {
                    *power += factor * linalg::dot(row, row);
                }
            })?;
        }
    }
    Ok(powers)
}

/// The set of the covariances in the sweep's coordinates. Only a block's worth of matrices is in
/// memory beside it.
pub(super) fn covariance_set(
    sweep: &Sweep<'_>,
    matrices: &[Vec<Piece>],
    shrinkage: Shrinkage,
    workers: &Workers,
    options: &SetOptions,
) -> Result<(MatrixSet, Vec<f64>), Error> {
    const BATCH: usize = 32;
    let p = sweep.dimension();
    let mut failed = None;
    let mut shrinkages = Vec::with_capacity(matrices.len());
    let estimated = matrices.chunks(BATCH).flat_map(|batch| {
        let shares: Vec<&[Vec<Piece>]> = batch.chunks(SHARE).collect();
        let made = workers.map(&shares, |_, share| {
            let mut memory = Memory::default();
            let one = |pieces: &Vec<Piece>| {
                let mut out = vec![0.0; p * p];
                let amount = estimate(sweep, pieces, shrinkage, &mut memory, &mut out)?;
                Ok((out, amount))
            };
            share.iter().map(one).collect::<Vec<Result<_, Error>>>()
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
