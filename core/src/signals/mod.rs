//! From a recording to its sources, and back.
//!
//! A recording is channels × samples x_t = A s_t: sensors record mixtures of sources. Where the
//! powers of the sources change over time, each in its own way, the covariances of segments have one
//! joint diagonalizer B = A⁻¹, and s = B x; where their spectra differ, cospectra in frequency bands
//! and lagged covariances have it too; where they are not Gaussian, cumulants have it. [`Separation`]
//! does all of it; each step is also a function of its own:
//!
//! - [`Recording`] is the trait of what can be read; [`View`] and [`Epochs`] are recordings in memory.
//! - [`segment_covariances`], [`epoch_covariances`], [`cospectra`], [`cross_spectra`] (which are complex),
//!   [`lagged_covariances`] and [`cumulants`] make matrices from it.
//! - [`artefacts`] says which sources look like blinks, heartbeats, line noise or muscles, and why;
//!   [`Detector`] scores all of them.
//! - [`Separated::sources`] and [`Separated::remove`] apply what was found, to any recording.
//!
//! A recording is read some thousand samples at a time and never copied as a whole, unless a whole
//! recording is the answer.
//!
//! ```
//! use codiag::signals::{ArtefactKind, Separation, View, artefacts, simulate};
//!
//! let made = simulate::eeg_with_blinks(8, 4, 60.0, 0); // 8 channels, 60 s
//! let recording = View::new(&made.data, made.channels, made.samples)?;
//! let found = Separation::default().fit(&recording)?;
//! let sources = found.sources(&recording)?;
//! let blinks: Vec<usize> = (0..found.components())
//!     .filter(|k| {
//!         let likely = artefacts(sources.row(*k), made.rate, &[]);
//!         likely.iter().any(|artefact| artefact.kind == ArtefactKind::Blink)
//!     })
//!     .collect();
//! assert_eq!(blinks.len(), 1);
//! let clean = found.remove(&recording, &blinks)?; // 8 channels again
//! # Ok::<(), codiag::Error>(())
//! ```

mod artefacts;
mod bands;
mod basis;
mod blocks;
mod centered;
mod cospectra;
mod covariance;
mod cumulants;
mod drift;
mod estimation;
mod fitting;
mod lags;
mod measures;
mod principal;
mod reader;
mod recording;
mod scale;
mod segments;
mod separated;
mod separation;
mod shrinkage;
#[cfg(feature = "synthetic")]
pub mod simulate;
mod streaming;
#[cfg(test)]
mod tests;
mod welch;

pub use artefacts::{Artefact, ArtefactKind, Detector, Evidence, Reference, Thresholds, artefacts};
pub use bands::Bands;
pub use cospectra::{cospectra, cross_spectra};
pub use covariance::{CovarianceOptions, Covariances, epoch_covariances, segment_covariances};
pub use cumulants::{Cumulants, cumulants, epoch_cumulants};
pub use drift::drift_share;
pub use lags::{Lags, epoch_lagged_covariances, lagged_covariances};
pub use principal::Components;
pub use recording::{Epochs, Recording, View};
pub use scale::Scale;
pub use segments::{Cut, Piece, Segments};
pub use separated::{Rival, Separated};
pub use separation::{Contrast, Separation};
pub use shrinkage::Shrinkage;
pub use streaming::{Sink, apply, remove};
pub use welch::{Spectrum, Window, spectrum};
