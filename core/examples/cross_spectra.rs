//! Separation of sources that reach the sensors with delays, by complex cross-spectra.
//!
//! The cospectra, which are the real parts of the cross-spectra, do not separate them.
//!
//! ```text
//! cargo run --release --example cross_spectra
//! ```
#![allow(clippy::print_stdout)]

use std::f64::consts::TAU;

use codiag::synthetic::amari_distance;
use codiag::{Error, Matrix, MatrixSet, Settings, c64, diagonalize};

const SOURCES: usize = 4;
const SEGMENTS: usize = 60;
/// Frequency of the sources in hertz.
const FREQUENCY: f64 = 10.0;

/// Separates the sources by cross-spectra and by cospectra. The tests run this function, too.
pub fn main() -> Result<(), Error> {
    // Source k reaches sensor c after a few milliseconds; longer delays attenuate it more. At a
    // single frequency, a delay is a phase.
    let mixing = Matrix::from_fn(SOURCES, SOURCES, |c, k| {
        let delay = 0.002 + 0.03 * number(10 * c + k);
        c64::from_polar(1.0 / (1.0 + 20.0 * delay), -TAU * FREQUENCY * delay)
    });
    // Cross-spectra A Λⁱ Aᴴ plus noise of segments with different powers of the sources.
    let mut cross_spectra = Vec::new();
    for i in 0..SEGMENTS {
        let powers: Vec<f64> = (0..SOURCES).map(|k| number(7 * i + 31 * k + 3)).collect();
        let scaled = mixing.adjoint().scale_rows(&powers);
        let mut spectrum = &mixing * &scaled;
        for a in 0..SOURCES {
            for b in 0..a {
                spectrum[(b, a)] = spectrum[(a, b)].conj();
            }
            spectrum[(a, a)] = c64::new(spectrum[(a, a)].re + 1e-4, 0.0);
        }
        cross_spectra.extend(spectrum.into_vec());
    }

    let set = MatrixSet::new(&cross_spectra, SEGMENTS, SOURCES)?;
    let result = diagonalize(&set, &Settings::default())?;
    let distance = amari_distance(&result.b, &mixing);
    println!(
        "cross-spectra: loss {:.4}, Amari distance {distance:.4}",
        result.loss
    );

    // The cospectra are real symmetric matrices and do not contain the delays.
    let cospectra: Vec<f64> = cross_spectra.iter().map(|z| z.re).collect();
    let real = diagonalize(
        &MatrixSet::new(&cospectra, SEGMENTS, SOURCES)?,
        &Settings::default(),
    )?;
    let b = Matrix::from_fn(SOURCES, SOURCES, |a, c| c64::new(real.b[(a, c)], 0.0));
    let real_distance = amari_distance(&b, &mixing);
    println!(
        "cospectra:     loss {:.4}, Amari distance {real_distance:.4}",
        real.loss
    );

    assert!(
        distance < 0.02 && real_distance > 0.2,
        "only cross-spectra should separate the sources"
    );
    Ok(())
}

/// A reproducible pseudo-random number in (0, 1).
fn number(k: usize) -> f64 {
    (43_758.545_3 * (k as f64 * 0.754_877_666 + 0.3).sin()).rem_euclid(1.0)
}
