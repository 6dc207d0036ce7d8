//! Butterworth filters of recordings, applied forward and backward, one channel at a time, to a
//! temporary file.

use std::f64::consts::{FRAC_PI_8, PI};
use std::fs::File;
use std::ops::Range;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use codiag::Error;
use codiag::signals::Recording;

use crate::export::npy;

/// Filtered recording, stored in a temporary file.
pub struct FilteredRecording {
    /// Temporary file, in a mutex because reads change its position.
    scratch: Mutex<File>,
    channels: usize,
    samples: usize,
}

impl FilteredRecording {
    /// Filters a recording with sampling frequency `sfreq`. One channel at a time is in memory.
    pub fn new(
        recording: &dyn Recording,
        sfreq: f64,
        highpass: Option<f64>,
        lowpass: Option<f64>,
    ) -> Result<Self> {
        for (option, frequency) in [("--highpass", highpass), ("--lowpass", lowpass)] {
            ensure!(
                frequency.is_none_or(|f| f > 0.0 && f < 0.5 * sfreq),
                "{option} must be above 0 and below half of --sfreq ({} Hz), got {}",
                0.5 * sfreq,
                frequency.unwrap_or_default()
            );
        }
        if let (Some(low), Some(high)) = (highpass, lowpass) {
            ensure!(
                low < high,
                "--highpass must be below --lowpass, got {low} and {high}"
            );
        }
        let sections: Vec<Section> = highpass
            .into_iter()
            .flat_map(|f| Section::pair(f / sfreq, true))
            .chain(
                lowpass
                    .into_iter()
                    .flat_map(|f| Section::pair(f / sfreq, false)),
            )
            .collect();
        let lowest_cutoff = highpass.or(lowpass).unwrap_or(sfreq);
        let (channels, samples) = (recording.channels(), recording.samples());
        let file = || {
            tempfile::tempfile()
                .context("a temporary file cannot be created; set TMPDIR to a writable folder")
        };
        let (mut scratch, mut signal) = (file()?, vec![0.0; samples]);
        let mut rows = npy::RowFile::new(&mut scratch, (channels, samples))?;
        let written = "the filtered recording cannot be written";
        for c in 0..channels {
            let one = super::recording::PickedChannels {
                recording,
                channels: vec![c],
            };
            one.read(0..samples, &mut signal)?;
            let padding = ((3.0 * sfreq / lowest_cutoff) as usize).min(samples - 1);
            let filtered = filter_finite(&signal, |x| filter_both_ways(&sections, x, padding));
            rows.write_row(c, &filtered).context(written)?;
        }
        Ok(Self {
            scratch: Mutex::new(scratch),
            channels,
            samples,
        })
    }
}

impl Recording for FilteredRecording {
    fn channels(&self) -> usize {
        self.channels
    }

    fn samples(&self) -> usize {
        self.samples
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        let mut file = self.scratch.lock().map_err(|_| Error::Interrupted)?;
        let mut rows = npy::RowFile::reopen(&mut file, (self.channels, self.samples));
        for (c, out) in out.chunks_exact_mut(span.len().max(1)).enumerate() {
            rows.read_part(c, span.start, out)?;
        }
        Ok(())
    }
}

/// Second-order section of a filter: y = (b₀ + b₁z⁻¹ + b₂z⁻²) / (1 + a₁z⁻¹ + a₂z⁻²) x.
#[derive(Clone, Copy)]
struct Section {
    b: [f64; 3],
    a: [f64; 2],
}

impl Section {
    /// Returns the two sections of a fourth-order Butterworth filter, by the bilinear transform.
    /// The cutoff frequency is in cycles per sample.
    fn pair(frequency: f64, high: bool) -> [Self; 2] {
        [FRAC_PI_8, 3.0 * FRAC_PI_8].map(|angle| {
            let (sine, cosine) = (2.0 * PI * frequency).sin_cos();
            // alpha = sin(ω) / 2Q, with the poles of the analog filter at this angle from the
            // negative real axis.
            let alpha = sine * angle.cos();
            let b = if high {
                [0.5 * (1.0 + cosine), -(1.0 + cosine), 0.5 * (1.0 + cosine)]
            } else {
                [0.5 * (1.0 - cosine), 1.0 - cosine, 0.5 * (1.0 - cosine)]
            };
            let scale = 1.0 + alpha;
            Self {
                b: b.map(|x| x / scale),
                a: [-2.0 * cosine / scale, (1.0 - alpha) / scale],
            }
        })
    }

    /// Filters in place, with the steady state for the first sample as initial state.
    fn run(&self, signal: &mut [f64]) {
        let Self { b, a } = self;
        let first = signal[0];
        let steady = first * (b[0] + b[1] + b[2]) / (1.0 + a[0] + a[1]);
        let mut state = [steady - b[0] * first, b[2] * first - a[1] * steady];
        for x in signal {
            let y = b[0] * *x + state[0];
            state = [b[1] * *x - a[0] * y + state[1], b[2] * *x - a[1] * y];
            *x = y;
        }
    }
}

/// Filters a signal that may have non-finite samples. These stay unchanged and do not affect other
/// samples.
fn filter_finite(signal: &[f64], filter: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut last = signal
        .iter()
        .copied()
        .find(|x| x.is_finite())
        .unwrap_or(0.0);
    let filled: Vec<f64> = signal
        .iter()
        .map(|x| {
            last = if x.is_finite() { *x } else { last };
            last
        })
        .collect();
    let mut filtered = filter(&filled);
    for (out, x) in filtered.iter_mut().zip(signal) {
        if !x.is_finite() {
            *out = *x;
        }
    }
    filtered
}

/// Applies all sections forward and backward, so that no frequency is delayed. The ends are
/// extended by odd reflection.
fn filter_both_ways(sections: &[Section], signal: &[f64], padding: usize) -> Vec<f64> {
    let n = signal.len();
    let (first, last) = (signal[0], signal[n - 1]);
    let before = (1..=padding).rev().map(|t| 2.0 * first - signal[t]);
    let after = (1..=padding).map(|t| 2.0 * last - signal[n - 1 - t]);
    let mut padded: Vec<f64> = before.chain(signal.iter().copied()).chain(after).collect();
    for _ in 0..2 {
        sections.iter().for_each(|section| section.run(&mut padded));
        padded.reverse();
    }
    padded[padding..padding + n].to_vec()
}

#[cfg(test)]
mod tests {
    use codiag::signals::RecordingView;

    use super::*;

    /// Each frequency has the squared gain of a Butterworth filter, because it is applied twice,
    /// and no delay.
    #[test]
    fn gain_is_that_of_a_butterworth_filter_without_delay() {
        let (sfreq, samples) = (200.0, 8000);
        for (highpass, lowpass, frequency, gain) in [
            (Some(1.0), None, 10.0, 1.0),
            (Some(1.0), None, 0.1, 0.0),
            (None, Some(40.0), 10.0, 1.0),
            (None, Some(40.0), 90.0, 0.0),
            (Some(5.0), None, 5.0, 0.5),
            (Some(1.0), Some(40.0), 40.0, 0.5),
        ] {
            let wave = |t: usize| (2.0 * PI * frequency * t as f64 / sfreq).sin();
            let data: Vec<f64> = (0..samples).map(|t| 100.0 + wave(t)).collect();
            let view = RecordingView::new(&data, 1, samples).unwrap();
            let filtered = FilteredRecording::new(&view, sfreq, highpass, lowpass).unwrap();
            let mut out = vec![0.0; 4000];
            filtered.read(2000..6000, &mut out).unwrap();
            let mean = if highpass.is_some() { 0.0 } else { 100.0 };
            for (t, x) in out.iter().enumerate() {
                let expected = mean + gain * wave(2000 + t);
                assert!(
                    (x - expected).abs() < 0.01,
                    "{highpass:?} {lowpass:?} {frequency}: {x}"
                );
            }
        }
    }

    #[test]
    fn invalid_cutoff_frequencies_are_rejected() {
        let view = RecordingView::new(&[1.0, 2.0, 3.0, 4.0], 1, 4).unwrap();
        for (highpass, lowpass) in [
            (Some(60.0), None),
            (Some(0.0), None),
            (Some(30.0), Some(20.0)),
        ] {
            let result = FilteredRecording::new(&view, 100.0, highpass, lowpass);
            assert!(result.is_err_and(|e| e.to_string().starts_with("--highpass must be")));
        }
    }
}
