//! From a recording to its sources, and back.
//!
//! A recording is channels × samples x_t = A s_t: sensors record mixtures of sources. Where the
//! powers of the sources change over time, each in its own way, the covariances of segments have one
//! joint diagonaliser B = A⁻¹, and s = B x; where their spectra differ, cospectra in frequency bands
//! have it too. [`Separation`] does all of it; the steps are functions of their own:
//!
//! - [`Recording`]: what is asked of a recording. [`View`] and [`Epochs`] are recordings in memory.
//! - [`segment_covariances`], [`epoch_covariances`] and [`cospectra`] make matrices from it.
//! - [`artefacts`] says which sources look like blinks, heartbeats, line noise or muscles, and why.
//! - [`Separated::sources`] and [`Separated::remove`] apply what was found, to any recording.
//!
//! Nothing here ever copies a recording as a whole, but where a whole recording is the answer.

mod artefacts;
mod cospectra;
mod covariance;
mod principal;
mod recording;
mod scale;
mod segments;
mod separated;
mod separation;
mod shrinkage;
#[cfg(feature = "synthetic")]
pub mod simulate;
mod streaming;
mod sweep;
#[cfg(test)]
mod tests;
mod welch;

pub use artefacts::{Artefact, ArtefactKind, Reference, artefacts};
pub use cospectra::{Bands, cospectra};
pub use covariance::{CovarianceOptions, Covariances, epoch_covariances, segment_covariances};
pub use principal::Components;
pub use recording::{Epochs, Recording, View};
pub use scale::Scale;
pub use segments::{Cut, Piece, Segments};
pub use separated::{Rival, Separated};
pub use separation::{Contrast, Separation};
pub use shrinkage::Shrinkage;
pub use streaming::{Sink, apply, remove};
pub use welch::{Spectrum, Window, spectrum};
