//! Covariance matrices of segments, epochs and classes.

use super::options::{CovarianceOptions, Shrinkage};
use super::reader::{Buffers, Coordinates, Reader, add_powers, mirror, sum_symmetric};
use super::{Epochs, Recording, Segments, Spans, invalid};
use crate::error::{MemoryRemedy, Portion, Setting};
use crate::linalg::{self, Matrix, Scalar};
use crate::threads::Workers;
use crate::{Error, MatrixSet, Memory, SetOptions};

/// Matrices estimated from signals, to be converted to a [`MatrixSet`]. They are complex if they
/// come from [`cross_spectra`](super::cross_spectra), otherwise real.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Covariances<T = f64> {
    /// The entries as n × p × p numbers, in row-major order.
    pub data: Vec<T>,
    /// Number of matrices.
    pub n: usize,
    /// Size of the matrices, which is the number of channels.
    pub p: usize,
    /// Amount of shrinkage of each matrix, from 0 to 1.
    pub shrinkages: Vec<f64>,
}

impl<T: Scalar> Covariances<T> {
    /// Converts the matrices to a set that can be diagonalized.
    ///
    /// # Errors
    /// If a matrix is not positive definite, or an option is out of its range.
    pub fn set(&self, options: &SetOptions) -> Result<MatrixSet<T>, Error> {
        MatrixSet::with_options(&self.data, self.n, self.p, options)
    }

    /// Matrices of size p without shrinkage.
    pub(super) fn without_shrinkage(data: Vec<T>, p: usize) -> Self {
        let n = data.len() / (p * p).max(1);
        Self {
            data,
            n,
            p,
            shrinkages: vec![0.0; n],
        }
    }
}

/// Estimates the covariance Σ_t x_t x_tᵀ / L of each segment of L samples.
///
/// ```
/// use codiag::SetOptions;
/// use codiag::signals::{
///     CovarianceOptions, RecordingView, SegmentLength, Segments, segment_covariances, simulate,
/// };
///
/// let simulated = simulate::nonstationary(4, 50, 200, 0); // 4 channels, 50 × 200 samples
/// let recording = RecordingView::new(&simulated.data, 4, 50 * 200)?;
/// let segments = Segments::default().length(SegmentLength::Count(50));
/// let covariances = segment_covariances(&recording, &segments, &CovarianceOptions::default())?;
/// assert_eq!((covariances.n, covariances.p), (50, 4));
/// let set = covariances.set(&SetOptions::default())?;
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If a segment has too few samples ([`Error::TooFewSamples`]), a sample is not finite, or an
/// option is out of range.
pub fn segment_covariances(
    recording: &dyn Recording,
    segments: &Segments,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let pieces = segments.spans(recording.samples(), recording.channels())?;
    covariances(
        recording,
        one_matrix_per_piece(pieces),
        Portion::Segment,
        options,
    )
}

/// Estimates the covariance of each epoch or, if labels are given, of all epochs of each class.
/// Every epoch is centered by its own mean. Labels are class numbers from 0 on; matrix k is the
/// covariance of class k.
///
/// ```
/// use codiag::signals::{CovarianceOptions, Epochs, epoch_covariances, simulate};
///
/// let simulated = simulate::nonstationary(1, 6, 50, 0);
/// let epochs = Epochs::new(&simulated.data, 6, 1, 50)?; // 6 epochs of one channel and 50 samples
/// let options = CovarianceOptions::default();
/// assert_eq!(epoch_covariances(&epochs, None, &options)?.n, 6);
/// let labels = [0, 1, 0, 1, 2, 2];
/// assert_eq!(epoch_covariances(&epochs, Some(&labels), &options)?.n, 3);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If an epoch or class has too few samples, a sample is not finite, the number of labels differs
/// from the number of epochs, or a class has no epochs.
pub fn epoch_covariances(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let (matrices, portion) = epoch_pieces(epochs, labels)?;
    covariances(epochs, matrices, portion, options)
}

fn covariances(
    recording: &dyn Recording,
    matrices: Vec<Vec<Spans>>,
    portion: PortionOf,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let (n, p) = (matrices.len(), recording.channels());
    let mut estimator = CovarianceEstimator::new(recording, matrices, portion, options)?;
    estimator.check_samples(p)?;
    check_memory(n, p, portion)?;
    if let Some(factors) = options.scale.factors(p, || estimator.mean_powers())? {
        estimator.reader.coordinates = Coordinates::Scaled(factors);
    }
    let mut data = vec![0.0; n * p * p];
    let shrinkages = estimator.estimate(&estimator.matrices, &mut data)?;
    Ok(Covariances {
        data,
        n,
        p,
        shrinkages,
    })
}

/// Fails if n covariances of size p do not fit into memory.
fn check_memory(n: usize, p: usize, portion: PortionOf) -> Result<(), Error> {
    let memory = |n: usize| Memory::of_numbers(&[n, p, p]);
    memory(n).check(
        || format!("a set of {n} covariances of {p} x {p}"),
        |available| match portion(0) {
            Portion::Segment(_) => MemoryRemedy::largest(Setting::NSegments, n, available, memory),
            _ => MemoryRemedy::None,
        },
    )
}

/// Assigns one matrix to each piece.
pub(super) fn one_matrix_per_piece(pieces: Vec<Spans>) -> Vec<Vec<Spans>> {
    pieces.into_iter().map(|piece| vec![piece]).collect()
}

/// Returns the pieces of each matrix, one per epoch or class.
pub(super) fn epoch_pieces(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
) -> Result<(Vec<Vec<Spans>>, PortionOf), Error> {
    let samples = epochs.epoch_samples();
    let pieces = (0..epochs.len())
        .map(|e| -> Spans { std::iter::once(e * samples..(e + 1) * samples).collect() });
    let Some(labels) = labels else {
        return Ok((one_matrix_per_piece(pieces.collect()), Portion::Epoch));
    };
    let error = |expected, value: String| Err(invalid(Setting::Labels, expected, value));
    if labels.len() != epochs.len() {
        let value = format!("{} for {} epochs", labels.len(), epochs.len());
        return error("one per epoch", value);
    }
    let classes = labels.iter().max().map_or(0, |last| last + 1);
    let mut matrices = vec![Vec::new(); classes];
    for (label, piece) in labels.iter().zip(pieces) {
        matrices[*label].push(piece);
    }
    if let Some(empty) = matrices.iter().position(Vec::is_empty) {
        let value = format!("no epoch of class {empty}");
        return error(
            "class numbers from 0 on with at least one epoch each",
            value,
        );
    }
    Ok((matrices, Portion::Class))
}

/// Returns the pieces of all epochs as one set or, if labels are given, one set per class.
pub(super) fn epoch_sets(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
) -> Result<Vec<Vec<Spans>>, Error> {
    let (sets, _) = epoch_pieces(epochs, labels)?;
    Ok(match labels {
        Some(_) => sets,
        None => vec![sets.into_iter().flatten().collect()],
    })
}

/// Describes the data from which the matrix of a given index is estimated, for error messages.
pub(super) type PortionOf = fn(usize) -> Portion;

/// Returns the total number of samples of pieces.
fn count(pieces: &[Spans]) -> usize {
    pieces.iter().flatten().map(ExactSizeIterator::len).sum()
}

/// Number of matrices per parallel job, which share buffers.
const MATRICES_PER_JOB: usize = 4;

/// Estimates covariances, each from a list of pieces.
pub(super) struct CovarianceEstimator<'a> {
    pub reader: Reader<'a>,
    pub matrices: Vec<Vec<Spans>>,
    portion: PortionOf,
    shrinkage: Shrinkage,
    workers: Workers,
}

impl<'a> CovarianceEstimator<'a> {
    pub fn new(
        recording: &'a dyn Recording,
        matrices: Vec<Vec<Spans>>,
        portion: PortionOf,
        options: &CovarianceOptions,
    ) -> Result<Self, Error> {
        options.shrinkage.check()?;
        let samples: usize = matrices.iter().map(|pieces| count(pieces)).sum();
        let p = recording.channels();
        Ok(Self {
            reader: Reader::new(recording, options.center),
            matrices,
            portion,
            shrinkage: options.shrinkage,
            workers: Workers::for_work(options.n_jobs, samples.saturating_mul(p * p / 2)),
        })
    }

    /// Fails if a matrix of size `dimension` has too few samples to be positive definite.
    pub fn check_samples(&self, dimension: usize) -> Result<(), Error> {
        if !self.shrinkage.is_none() {
            return Ok(());
        }
        for (i, pieces) in self.matrices.iter().enumerate() {
            let means = if self.reader.center { pieces.len() } else { 0 };
            let (samples, needed) = (count(pieces), dimension + means);
            if samples < needed {
                return Err(Error::TooFewSamples {
                    portion: (self.portion)(i),
                    samples,
                    dimension,
                    needed,
                });
            }
        }
        Ok(())
    }

    /// Returns the mean of all covariances without shrinkage.
    pub fn mean(&self) -> Result<Matrix, Error> {
        let (p, n) = (self.reader.dimension(), self.matrices.len() as f64);
        sum_symmetric(&self.matrices, p, &self.workers, |pieces, buffers, sum| {
            let factor = 1.0 / (n * count(pieces) as f64);
            pieces.iter().try_for_each(|piece| {
                self.reader.for_each_span(piece, buffers, |x, length| {
                    linalg::add_gram(sum, p, factor, x, length, length);
                })
            })
        })
    }

    /// Returns the diagonal of the mean covariance.
    fn mean_powers(&self) -> Result<Vec<f64>, Error> {
        let mut powers = vec![0.0; self.reader.dimension()];
        let mut buffers = Buffers::default();
        for pieces in &self.matrices {
            let factor = 1.0 / (self.matrices.len() * count(pieces)) as f64;
            for piece in pieces {
                self.reader
                    .for_each_span(piece, &mut buffers, |x, length| {
                        add_powers(&mut powers, factor, x, length);
                    })?;
            }
        }
        Ok(powers)
    }

    /// Returns the set of the covariances in the coordinates of the reader, and the amounts of
    /// shrinkage. Only one batch of full matrices is in memory in addition to the set.
    pub fn set(&self, options: &SetOptions) -> Result<(MatrixSet, Vec<f64>), Error> {
        const BATCH: usize = 32;
        let p = self.reader.dimension();
        MatrixSet::<f64>::check_memory(self.matrices.len(), p)?;
        let mut failed = None;
        let mut shrinkages = Vec::with_capacity(self.matrices.len());
        let batches = self.matrices.chunks(BATCH).map_while(|batch| {
            let mut data = vec![0.0; batch.len() * p * p];
            match self.estimate(batch, &mut data) {
                Ok(amounts) => shrinkages.extend(amounts),
                Err(error) => {
                    failed = Some(error);
                    return None;
                }
            }
            let matrices = data.chunks_exact(p * p).map(<[f64]>::to_vec);
            Some(matrices.collect::<Vec<_>>())
        });
        let set = MatrixSet::from_matrices(p, batches.flatten(), options);
        match failed {
            Some(error) => Err(error),
            None => Ok((set?, shrinkages)),
        }
    }

    /// Writes the covariances of `matrices` in the coordinates of the reader, and returns the
    /// amounts of shrinkage.
    fn estimate(&self, matrices: &[Vec<Spans>], out: &mut [f64]) -> Result<Vec<f64>, Error> {
        let size = self.reader.dimension().pow(2);
        let mut jobs: Vec<_> = matrices
            .chunks(MATRICES_PER_JOB)
            .zip(out.chunks_mut(MATRICES_PER_JOB * size))
            .map(|(batch, out)| (batch, out, Ok(Vec::new())))
            .collect();
        self.workers.each(&mut jobs, |(batch, out, done)| {
            // Reused buffers stay in the caches.
            let (mut buffers, mut gram) = (Buffers::default(), vec![0.0; size]);
            let places = batch.iter().zip(out.chunks_exact_mut(size));
            *done = places
                .map(|(pieces, out)| self.estimate_one(pieces, &mut buffers, &mut gram, out))
                .collect();
        });
        let mut shrinkages = Vec::with_capacity(matrices.len());
        for (_, _, done) in jobs {
            shrinkages.extend(done?);
        }
        Ok(shrinkages)
    }

    fn estimate_one(
        &self,
        pieces: &[Spans],
        buffers: &mut Buffers,
        gram: &mut [f64],
        out: &mut [f64],
    ) -> Result<f64, Error> {
        let (p, samples) = (self.reader.dimension(), count(pieces));
        gram.fill(0.0);
        let mut fourth = 0.0;
        for piece in pieces {
            self.reader.for_each_span(piece, buffers, |x, length| {
                linalg::add_gram(gram, p, 1.0 / samples as f64, x, length, length);
                if self.shrinkage == Shrinkage::LedoitWolf {
                    fourth += fourth_powers(x.chunks_exact(length), length);
                }
            })?;
        }
        out.copy_from_slice(gram);
        mirror(out, p);
        Ok(self.shrinkage.apply(out, p, samples, fourth))
    }
}

/// Returns Σ_t ‖x_t‖⁴ over the columns x_t of a matrix given by rows.
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
