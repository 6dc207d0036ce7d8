//! Zero-phase band-pass filters by Fourier transforms.

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

use super::thresholds::DETECTION;

/// Returns the signal minus its moving average.
fn without_drift(signal: &[f64], sfreq: f64) -> Vec<f64> {
    let half = ((0.5 * DETECTION.drift_window_s * sfreq) as usize).max(1);
    let mut sums = vec![0.0; signal.len() + 1];
    for (t, x) in signal.iter().enumerate() {
        sums[t + 1] = sums[t] + x;
    }
    (0..signal.len())
        .map(|t| {
            let (from, to) = (t.saturating_sub(half), (t + half + 1).min(signal.len()));
            signal[t] - (sums[to] - sums[from]) / (to - from) as f64
        })
        .collect()
}

/// A band-pass filtered signal.
pub struct FilteredSignal {
    pub signal: Vec<f64>,
    /// The Hilbert transform of the filtered signal, which delays it by a quarter of a cycle.
    pub quadrature: Vec<f64>,
}

impl FilteredSignal {
    /// Removes the drift of a signal, and filters it to a band in hertz.
    pub fn new(signal: &[f64], sfreq: f64, low: f64, high: f64) -> Self {
        let (samples, length) = (signal.len(), signal.len().next_power_of_two().max(2));
        let mut planner = RealFftPlanner::new();
        let (forward, inverse) = (
            planner.plan_fft_forward(length),
            planner.plan_fft_inverse(length),
        );
        let mut time = without_drift(signal, sfreq);
        time.resize(length, 0.0);
        let mut spectrum = forward.make_output_vec();
        // The buffers have the lengths of the plans, so that the transforms cannot fail.
        let _ = forward.process(&mut time, &mut spectrum);
        for (k, x) in spectrum.iter_mut().enumerate() {
            *x *= response(k as f64 * sfreq / length as f64, low, high) / length as f64;
        }
        let mut quadrature: Vec<Complex<f64>> =
            spectrum.iter().map(|x| Complex::new(x.im, -x.re)).collect();
        let inverse_transform = |spectrum: &mut [Complex<f64>]| {
            // Frequencies without a negative counterpart have real coefficients.
            spectrum[0].im = 0.0;
            spectrum[length / 2].im = 0.0;
            let mut out = inverse.make_output_vec();
            let _ = inverse.process(spectrum, &mut out);
            out.truncate(samples);
            out
        };
        Self {
            signal: inverse_transform(&mut spectrum),
            quadrature: inverse_transform(&mut quadrature),
        }
    }
}

/// Frequency response: 1 within the band, with cosine transitions to 0 beyond its edges.
fn response(frequency: f64, low: f64, high: f64) -> f64 {
    let beyond = if frequency < low {
        (low - frequency) / (DETECTION.filter_edge * low)
    } else if frequency > high {
        (frequency - high) / (DETECTION.filter_edge * high)
    } else {
        0.0
    };
    if beyond >= 1.0 {
        0.0
    } else {
        0.5 + 0.5 * (std::f64::consts::PI * beyond).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_keeps_amplitude_and_phase_in_the_band() {
        let sfreq = 200.0;
        let wave =
            |frequency: f64, t: usize| (std::f64::consts::TAU * frequency * t as f64 / sfreq).sin();
        let mixture: Vec<f64> = (0..4096)
            .map(|t| wave(10.0, t) + wave(40.0, t) + wave(3.0, t) + 0.01 * t as f64)
            .collect();
        let found = FilteredSignal::new(&mixture, sfreq, 8.0, 16.0);
        for t in 500..3500 {
            let (x, y) = (found.signal[t], found.quadrature[t]);
            assert!((x - wave(10.0, t)).abs() < 0.05, "{t}: {x}");
            // A delay of a quarter of the cycle of 20 samples.
            assert!((y - wave(10.0, t - 5)).abs() < 0.05, "{t}: {y}");
        }
        assert_eq!(response(8.0, 8.0, 16.0), 1.0);
        assert_eq!(response(21.0, 8.0, 16.0), 0.0);
    }
}
