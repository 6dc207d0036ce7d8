//! Recordings: matrices estimated from them, separation of sources, and artifacts.
#![allow(clippy::single_range_in_vec_init)] // a list of one span

mod artifacts;
mod bad_input;
mod covariances;
mod cumulants;
mod lags;
mod recordings;
mod segments;
mod separation;
mod spectra;

/// A recording of pseudo-random numbers with a different mean in each channel.
fn recording(channels: usize, samples: usize) -> Vec<f64> {
    let mut state = 12_345_u64;
    (0..channels * samples)
        .map(|k| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5 + (k / samples) as f64
        })
        .collect()
}

/// The covariance Σ_t x_t x_tᵀ / n over the chosen samples, by a naive loop.
fn naive_covariance(data: &[f64], samples: usize, chosen: &[usize], center: bool) -> Vec<f64> {
    let p = data.len() / samples;
    let n = chosen.len() as f64;
    let mean = |a: usize| {
        let sum: f64 = chosen.iter().map(|t| data[a * samples + t]).sum();
        if center { sum / n } else { 0.0 }
    };
    let means: Vec<f64> = (0..p).map(mean).collect();
    let entry = |a: usize, b: usize| -> f64 {
        let x = |c: usize, t: usize| data[c * samples + t] - means[c];
        chosen.iter().map(|&t| x(a, t) * x(b, t) / n).sum()
    };
    (0..p * p).map(|k| entry(k / p, k % p)).collect()
}

fn assert_close(actual: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(actual.len(), expected.len());
    let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (x, y) in actual.iter().zip(expected) {
        assert!(
            (x - y).abs() <= tolerance * largest,
            "got {x}, expected {y}"
        );
    }
}
