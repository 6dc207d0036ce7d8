//! Blind source separation of recordings.
//!
//! Sensors record mixtures of sources: a recording of channels × samples is x_t = A s_t. The
//! sources are s = B x with B = A⁻¹. If the powers of the sources vary over time, differently for
//! each source, B is the joint diagonalizer of the covariances of segments. If the spectra of the
//! sources differ, B is the joint diagonalizer of cospectra in frequency bands and of lagged
//! covariances. If the sources are not Gaussian, it is that of fourth-order cumulants.
//! [`Separation`] performs all steps. Each step is also available as a function:
//!
//! - [`Recording`] is the trait of recordings. [`RecordingView`] and [`Epochs`] are recordings in
//!   memory.
//! - [`segment_covariances`], [`epoch_covariances`], [`cospectra`], [`cross_spectra`] (complex),
//!   [`lagged_covariances`] and [`cumulants`] estimate matrices.
//! - [`find_artifacts`] lists which sources look like blinks, heartbeats, line noise or muscles,
//!   and why. [`ArtifactDetector`] computes all scores.
//! - [`SeparationResult::sources`] and [`SeparationResult::remove`] apply the result to any
//!   recording.
//!
//! Recordings are read a few thousand samples at a time, so that they may be larger than memory.
//!
//! ```
//! use codiag::signals::{ArtifactKind, Separation, RecordingView, find_artifacts, simulate};
//!
//! let simulated = simulate::eeg_with_blinks(8, 4, 60.0, 0); // 8 channels, 60 s
//! let recording = RecordingView::new(&simulated.data, simulated.channels, simulated.samples)?;
//! let result = Separation::default().fit(&recording)?;
//! let sources = result.sources(&recording)?;
//! let blinks: Vec<usize> = (0..result.n_components())
//!     .filter(|k| {
//!         let artifacts = find_artifacts(sources.row(*k), simulated.sfreq, &[]);
//!         artifacts.iter().any(|artifact| artifact.kind == ArtifactKind::Blink)
//!     })
//!     .collect();
//! assert_eq!(blinks.len(), 1);
//! let cleaned = result.remove(&recording, &blinks)?; // 8 channels
//! # Ok::<(), codiag::Error>(())
//! ```

mod artifacts;
mod bands;
mod basis;
mod bootstrap;
mod cospectra;
mod covariance;
mod cumulants;
mod fit;
mod lags;
mod options;
mod reader;
mod recording;
mod result;
mod segments;
mod separation;
#[cfg(feature = "synthetic")]
pub mod simulate;

use crate::Error;
use crate::error::{Expected, Setting};

pub use artifacts::{
    Artifact, ArtifactDetector, ArtifactKind, Evidence, ReferenceChannel, Thresholds,
    find_artifacts,
};
pub use bands::{Bands, Spectrum, Window, spectrum};
pub use basis::Components;
pub use cospectra::{cospectra, cross_spectra};
pub use covariance::{Covariances, epoch_covariances, segment_covariances};
pub use cumulants::{Cumulants, cumulants, epoch_cumulants};
pub use lags::{Lags, epoch_lagged_covariances, lagged_covariances};
pub use options::{CovarianceOptions, Scale, Shrinkage};
pub use recording::{Epochs, Recording, RecordingView, drift_fraction};
pub use result::{SampleSink, SeparabilityMargin, SeparationResult, apply, remove};
pub use segments::{SegmentLength, Segments, Spans};
pub use separation::{Contrast, Separation};

/// Returns the error of a setting that is not as expected.
fn invalid(setting: Setting, expected: &'static str, value: impl ToString) -> Error {
    Error::setting(setting, Expected::Words(expected), value)
}
