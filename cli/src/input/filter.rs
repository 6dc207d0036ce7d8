//! Filters of recordings: Butterworth, forward and backward, one channel after the other into a scratch file.

use std::f64::consts::{FRAC_PI_8, PI};
use std::fs::File;
use std::ops::Range;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use codiag::Error;
use codiag::signals::Recording;

use crate::export::npy;

/// A recording without what is below or above some frequencies.
pub struct FilteredRecording {
    /// ReadProgress moves its place.
    scratch: Mutex<File>,
    channels: usize,
    samples: usize,
}

impl FilteredRecording {
    /// Filters a recording of so many samples per second, of which one channel at a time is in memory.
    pub fn new(
        recording: &dyn Recording,
        rate: f64,
        highpass: Option<f64>,
        lowpass: Option<f64>,
    ) -> Result<Self> {
        for (option, frequency) in [("--highpass", highpass), ("--lowpass", lowpass)] {
            ensure!(
                frequency.is_none_or(|f| f > 0.0 && f < 0.5 * rate),
                "{option} must be above 0 and below half the rate, {} Hz, got {}",
                0.5 * rate,
                frequency.unwrap_or_default()
            );
        }
        if let (Some(low), Some(high)) = (highpass, lowpass) {
            ensure!(
                low < high,
                "--highpass must be below --lowpass, got {low} and {high}: nothing would be left"
            );
        }
        let sections: Vec<Section> = highpass
            .into_iter()
            .flat_map(|f| Section::pair(f / rate, true))
            .chain(
                lowpass
                    .into_iter()
                    .flat_map(|f| Section::pair(f / rate, false)),
            )
            .collect();
        let slowest = highpass.or(lowpass).unwrap_or(rate);
        let (channels, samples) = (recording.channels(), recording.samples());
        let file = || tempfile::tempfile().context("there is no place for temporary files");
        let (mut scratch, mut all) = (file()?, vec![0.0; samples]);
        let mut rows = npy::RowFile::new(&mut scratch, (channels, samples))?;
        let written = "the filtered recording cannot be written";
        for c in 0..channels {
            let one = super::recording::PickedChannels {
                recording,
                channels: vec![c],
            };
            one.read(0..samples, &mut all)?;
            let reach = ((3.0 * rate / slowest) as usize).min(samples - 1);
            let filtered = around_gaps(&all, |signal| both_ways(&sections, signal, reach));
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

/// A filter of second order: y = (b₀ + b₁z⁻¹ + b₂z⁻²) / (1 + a₁z⁻¹ + a₂z⁻²) x.
#[derive(Clone, Copy)]
struct Section {
    b: [f64; 3],
    a: [f64; 2],
}

impl Section {
    /// A Butterworth filter of fourth order, by the bilinear transform; the frequency is in cycles per sample.
    fn pair(frequency: f64, high: bool) -> [Self; 2] {
        [FRAC_PI_8, 3.0 * FRAC_PI_8].map(|angle| {
            let (sine, cosine) = (2.0 * PI * frequency).sin_cos();
            // 1 / 2Q, with the poles of the analogue filter at this angle from the axis.
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

    /// Filters in place, beginning as if the first sample had been there for ever.
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

/// Filters a signal of which some samples may be none: they stay so, and do not reach the others.
fn around_gaps(signal: &[f64], filter: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
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

/// All sections forward, then backward: no frequency is delayed. The ends are continued by what they
/// look like turned about the last sample.
fn both_ways(sections: &[Section], signal: &[f64], reach: usize) -> Vec<f64> {
    let n = signal.len();
    let (first, last) = (signal[0], signal[n - 1]);
    let before = (1..=reach).rev().map(|t| 2.0 * first - signal[t]);
    let after = (1..=reach).map(|t| 2.0 * last - signal[n - 1 - t]);
    let mut padded: Vec<f64> = before.chain(signal.iter().copied()).chain(after).collect();
    for _ in 0..2 {
        sections.iter().for_each(|section| section.run(&mut padded));
        padded.reverse();
    }
    padded[reach..reach + n].to_vec()
}

#[cfg(test)]
mod tests {
    use codiag::signals::RecordingView;

    use super::*;

    /// Each frequency comes through as |H|⁴ of a Butterworth filter says, and is not delayed.
    #[test]
    fn frequencies_are_kept_or_not() {
        let (rate, samples) = (200.0, 8000);
        for (highpass, lowpass, frequency, kept) in [
            (Some(1.0), None, 10.0, 1.0),
            (Some(1.0), None, 0.1, 0.0),
            (None, Some(40.0), 10.0, 1.0),
            (None, Some(40.0), 90.0, 0.0),
            (Some(5.0), None, 5.0, 0.5),
            (Some(1.0), Some(40.0), 40.0, 0.5),
        ] {
            let wave = |t: usize| (2.0 * PI * frequency * t as f64 / rate).sin();
            let data: Vec<f64> = (0..samples).map(|t| 100.0 + wave(t)).collect();
            let view = RecordingView::new(&data, 1, samples).unwrap();
            let filtered = FilteredRecording::new(&view, rate, highpass, lowpass).unwrap();
            let mut out = vec![0.0; 4000];
            filtered.read(2000..6000, &mut out).unwrap();
            let mean = if highpass.is_some() { 0.0 } else { 100.0 };
            for (t, x) in out.iter().enumerate() {
                let wanted = mean + kept * wave(2000 + t);
                assert!(
                    (x - wanted).abs() < 0.01,
                    "{highpass:?} {lowpass:?} {frequency}: {x}"
                );
            }
        }
    }

    #[test]
    fn nothing_must_be_left_out_altogether() {
        let view = RecordingView::new(&[1.0, 2.0, 3.0, 4.0], 1, 4).unwrap();
        for (highpass, lowpass) in [
            (Some(60.0), None),
            (Some(0.0), None),
            (Some(30.0), Some(20.0)),
        ] {
            let refused = FilteredRecording::new(&view, 100.0, highpass, lowpass);
            assert!(refused.is_err_and(|e| e.to_string().starts_with("--highpass must be")));
        }
    }
}
