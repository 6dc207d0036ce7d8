//! Covariances of segments and of epochs.

use super::estimation::{
    MATRICES_PER_JOB, PortionOf, Workspace, check_samples, estimate, mean_powers, workers,
};
use super::reader::{Coordinates, Reader};
use super::{Epochs, Piece, Recording, Scale, Segments, Shrinkage};
use crate::error::{Expected, MemoryRemedy, Portion, Setting};
use crate::linalg::Scalar;
use crate::setters::setters;
use crate::{Error, MatrixSet, Memory, SetOptions};

/// How covariances are estimated.
///
/// ```
/// use codiag::signals::{CovarianceOptions, Scale, Shrinkage};
/// let options = CovarianceOptions::default().scale(Scale::UnitRms).shrinkage(Shrinkage::Oas);
/// assert!(options.center);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CovarianceOptions {
    /// Whether each channel's mean over a segment or epoch is subtracted.
    pub center: bool,
    /// The unit in which each channel counts.
    pub scale: Scale,
    /// How far each covariance is drawn towards a multiple of the identity.
    pub shrinkage: Shrinkage,
    /// How many threads work; as many as pay if None. The numbers do not depend on it.
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

setters!(CovarianceOptions {
    center: bool,
    scale: Scale,
    shrinkage: Shrinkage,
});

impl CovarianceOptions {
    /// The same with another number of [`threads`](Self#structfield.threads), or as many as pay for
    /// None.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }
}

/// Matrices made from signals, before they are a checked [`MatrixSet`]; those of
/// [`cross_spectra`](super::cross_spectra) are complex.
///
/// ```
/// use codiag::SetOptions;
/// use codiag::signals::{CovarianceOptions, Epochs, epoch_covariances};
///
/// let data = [1.0, -1.0, 2.0, 0.0, 0.0, 3.0, 1.0, 1.0]; // two epochs of one channel
/// let epochs = Epochs::new(&data, 2, 1, 4)?;
/// let covariances = epoch_covariances(&epochs, None, &CovarianceOptions::default())?;
/// assert_eq!(covariances.data, [1.25, 1.1875]);
/// assert_eq!(covariances.set(&SetOptions::default())?.len(), 2);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Covariances<T = f64> {
    /// n·p·p numbers, one row-major matrix after the other.
    pub data: Vec<T>,
    /// The number of matrices.
    pub n: usize,
    /// Their size: the number of channels.
    pub p: usize,
    /// The amount of shrinkage of each, from 0 to 1.
    pub shrinkages: Vec<f64>,
}

impl<T: Scalar> Covariances<T> {
    /// The set, to be diagonalized.
    ///
    /// # Errors
    /// If a matrix is not positive definite, or the options are not as they should be.
    pub fn set(&self, options: &SetOptions) -> Result<MatrixSet<T>, Error> {
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
/// let segments = Segments::default().cut(Cut::Count(50));
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
    let pieces = segments.pieces(recording.samples(), recording.channels())?;
    let matrices: Vec<Vec<Piece>> = pieces.into_iter().map(|piece| vec![piece]).collect();
    covariances(recording, &matrices, Portion::Segment, options)
}

/// One covariance for each epoch, or, with labels, one for each class: that of all its epochs, each
/// centred by itself. Labels are numbers from 0 on; matrix k is that of class k.
///
/// ```
/// use codiag::signals::{CovarianceOptions, Epochs, epoch_covariances, simulate};
///
/// let made = simulate::nonstationary(1, 6, 50, 0);
/// let epochs = Epochs::new(&made.data, 6, 1, 50)?; // 6 epochs of one channel and 50 samples
/// let options = CovarianceOptions::default();
/// assert_eq!(epoch_covariances(&epochs, None, &options)?.n, 6);
/// let labels = [0, 1, 0, 1, 2, 2];
/// assert_eq!(epoch_covariances(&epochs, Some(&labels), &options)?.n, 3);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If an epoch or class has fewer samples than a covariance needs, a sample is not finite, there is
/// not one label per epoch, or a class has no epochs.
pub fn epoch_covariances(
    epochs: &Epochs<'_>,
    labels: Option<&[usize]>,
    options: &CovarianceOptions,
) -> Result<Covariances, Error> {
    let (matrices, portion) = epoch_pieces(epochs, labels)?;
    covariances(epochs, &matrices, portion, options)
}

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

/// Fails if that number of matrices does not fit into memory.
fn check_memory(n: usize, p: usize, portion: PortionOf) -> Result<(), Error> {
    let memory = |n: usize| Memory::of_numbers(&[n, p, p]);
    memory(n).check(
        || format!("a set of {n} covariances of {p} x {p}"),
        |available| match portion(0) {
            Portion::Segment(_) => MemoryRemedy::largest(Setting::Segments, n, available, memory),
            _ => MemoryRemedy::None,
        },
    )
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
    check_memory(matrices.len(), p, portion)?;
    let workers = workers(matrices, p, options.threads);
    let mut reader = Reader {
        recording,
        coordinates: Coordinates::Channels,
        center: options.center,
    };
    let powers = || mean_powers(&reader, matrices);
    if let Some(factors) = options.scale.factors(p, powers)? {
        reader.coordinates = Coordinates::Scaled(factors);
    }
    let mut data = vec![0.0; matrices.len() * p * p];
    let mut jobs: Vec<_> = matrices
        .chunks(MATRICES_PER_JOB)
        .zip(data.chunks_mut(MATRICES_PER_JOB * p * p))
        .map(|(own, out)| (own, out, Ok(Vec::new())))
        .collect();
    workers.each(&mut jobs, |(own, out, done)| {
        let mut workspace = Workspace::default();
        let places = own.iter().zip(out.chunks_exact_mut(p * p));
        *done = places
            .map(|(pieces, out)| estimate(&reader, pieces, options.shrinkage, &mut workspace, out))
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
