//! From a recording to its sources, and back.
//!
//! A recording is channels × samples x_t = A s_t: sensors record mixtures of sources. If the powers
//! of the sources change over time, differently for each source, the joint diagonalizer of the
//! covariances of segments is B = A⁻¹, and s = B x. If their spectra differ, so is that of
//! cospectra in frequency bands and of lagged covariances; if they are not Gaussian, that of
//! cumulants. [`Separation`] performs all steps; each step is also a function:
//!
//! - [`Recording`] is the trait of recordings; [`RecordingView`] and [`Epochs`] are recordings in memory.
//! - [`segment_covariances`], [`epoch_covariances`], [`cospectra`], [`cross_spectra`] (complex),
//!   [`lagged_covariances`] and [`cumulants`] estimate matrices.
//! - [`find_artifacts`] lists which sources look like blinks, heartbeats, line noise or muscles, and
//!   why; [`ArtifactDetector`] computes all scores.
//! - [`SeparationResult::sources`] and [`SeparationResult::remove`] apply the result to any recording.
//!
//! Recordings are read a few thousand samples at a time and not copied as a whole, unless the
//! result is a whole recording.
//!
//! ```
//! use codiag::signals::{ArtifactKind, Separation, RecordingView, find_artifacts, simulate};
//!
//! let made = simulate::eeg_with_blinks(8, 4, 60.0, 0); // 8 channels, 60 s
//! let recording = RecordingView::new(&made.data, made.channels, made.samples)?;
//! let found = Separation::default().fit(&recording)?;
//! let sources = found.sources(&recording)?;
//! let blinks: Vec<usize> = (0..found.components())
//!     .filter(|k| {
//!         let likely = find_artifacts(sources.row(*k), made.rate, &[]);
//!         likely.iter().any(|artifact| artifact.kind == ArtifactKind::Blink)
//!     })
//!     .collect();
//! assert_eq!(blinks.len(), 1);
//! let clean = found.remove(&recording, &blinks)?; // 8 channels again
//! # Ok::<(), codiag::Error>(())
//! ```

mod artifacts;
mod bands;
mod basis;
mod bootstrap;
mod cospectra;
mod covariance;
mod cumulants;
mod fitting;
mod lags;
mod options;
mod reader;
mod recording;
mod segments;
mod separated;
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
pub use recording::{Epochs, Recording, RecordingView, drift_share};
pub use segments::{SegmentLength, Segments, Spans};
pub use separated::{SampleSink, SeparabilityMargin, SeparationResult, apply, remove};
pub use separation::{Contrast, Separation};

/// An error about a setting that must be as described.
fn invalid(setting: Setting, expected: &'static str, value: impl ToString) -> Error {
    Error::setting(setting, Expected::Words(expected), value)
}
