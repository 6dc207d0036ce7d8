//! Cospectra.

use super::*;
use crate::linalg::{self, c64};
use crate::{Error, SetOptions};

/// Bands that cover all frequencies: Parseval's theorem.
#[test]
fn cospectra_of_all_bands_sum_to_the_covariance() {
    let (p, length) = (3, 64);
    let samples = 5 * length;
    let data = recording(p, samples);
    let view = View::new(&data, p, samples).unwrap();
    let bands = Bands::new(vec![(0.0, 7.0), (7.0, 30.0), (30.0, 50.0)], 100.0)
        .window_length(length)
        .window(Window::Rectangular)
        .overlap(0.0);
    let options = CovarianceOptions::default().center(false);
    let found = cospectra(&view, &bands, &options).unwrap();
    let sum: Vec<f64> = (0..p * p)
        .map(|k| found.data.chunks_exact(p * p).map(|m| m[k]).sum())
        .collect();
    let chosen: Vec<usize> = (0..samples).collect();
    assert_close(&sum, &naive(&data, samples, &chosen, false), 1e-13);
}

/// Against sums of cosines and sines, with a taper, overlap, and a span left out.
#[test]
fn cospectra_are_the_sums_that_define_them() {
    let (p, samples, length, rate) = (3, 300, 50, 100.0);
    let data = recording(p, samples);
    let view = View::new(&data, p, samples).unwrap();
    let bands = Bands::new(vec![(4.0, 12.0), (20.0, 50.0)], rate)
        .window_length(length)
        .exclude(vec![130..140]);
    let found = cospectra(&view, &bands, &CovarianceOptions::default()).unwrap();
    let starts: Vec<usize> = (0..=80)
        .step_by(25)
        .chain((140..=250).step_by(25))
        .collect();
    let taper: Vec<f64> = (0..length)
        .map(|t| 0.5 - 0.5 * (std::f64::consts::TAU * t as f64 / length as f64).cos())
        .collect();
    let energy: f64 = taper.iter().map(|w| w * w).sum();
    let coefficient = |c: usize, start: usize, k: usize| {
        let x = &data[c * samples + start..][..length];
        let mean = x.iter().sum::<f64>() / length as f64;
        let (mut re, mut im) = (0.0, 0.0);
        for t in 0..length {
            let angle = std::f64::consts::TAU * (k * t) as f64 / length as f64;
            re += (x[t] - mean) * taper[t] * angle.cos();
            im -= (x[t] - mean) * taper[t] * angle.sin();
        }
        (re, im)
    };
    for (band, bins) in [(0, 2..6), (1, 10..26)] {
        let mut expected = vec![0.0; p * p];
        for (k, start) in bins.flat_map(|k| starts.iter().map(move |s| (k, *s))) {
            let images = if k == 25 { 1.0 } else { 2.0 };
            for a in 0..p {
                for b in 0..p {
                    let (x, y) = (coefficient(a, start, k), coefficient(b, start, k));
                    let real = x.0 * y.0 + x.1 * y.1;
                    expected[a * p + b] +=
                        images * real / (length as f64 * energy * starts.len() as f64);
                }
            }
        }
        assert_close(&found.data[band * p * p..][..p * p], &expected, 1e-12);
    }
}

/// Against sums written out, of the whole product this time.
#[test]
fn cross_spectra_are_the_sums_that_define_them() {
    let (p, samples, length, rate) = (3, 300, 50, 100.0);
    let data = recording(p, samples);
    let view = View::new(&data, p, samples).unwrap();
    let bands = Bands::new(vec![(0.0, 12.0), (20.0, 50.0)], rate)
        .window_length(length)
        .window(Window::Rectangular)
        .overlap(0.5);
    let options = CovarianceOptions::default();
    let found = cross_spectra(&view, &bands, &options).unwrap();
    let starts: Vec<usize> = (0..=250).step_by(25).collect();
    let coefficient = |c: usize, start: usize, k: usize| {
        let x = &data[c * samples + start..][..length];
        let mean = x.iter().sum::<f64>() / length as f64;
        let angle = |t: usize| std::f64::consts::TAU * (k * t) as f64 / length as f64;
        (0..length)
            .map(|t| c64::from_polar(x[t] - mean, -angle(t)))
            .sum::<c64>()
    };
    for (band, bins) in [(0, 0..6), (1, 10..26)] {
        let mut expected = vec![c64::ZERO; p * p];
        for (k, start) in bins.flat_map(|k| starts.iter().map(move |s| (k, *s))) {
            let images = if k == 25 || k == 0 { 1.0 } else { 2.0 };
            let factor = images / (length * length * starts.len()) as f64;
            for a in 0..p {
                for b in 0..p {
                    let product = coefficient(a, start, k) * coefficient(b, start, k).conj();
                    expected[a * p + b] += product * factor;
                }
            }
        }
        let found = &found.data[band * p * p..][..p * p];
        assert_close(linalg::reals(found), linalg::reals(&expected), 1e-12);
        (0..p).for_each(|a| assert_eq!(found[a * p + a].im, 0.0));
    }
    // Their real parts are the cospectra, on any number of threads and in any unit.
    for options in [
        options.clone().threads(2),
        options.clone().scale(Scale::UnitRms),
        options.shrinkage(Shrinkage::Fixed(0.2)),
    ] {
        let complex = cross_spectra(&view, &bands, &options).unwrap();
        let real: Vec<f64> = complex.data.iter().map(|z| z.re).collect();
        let expected = cospectra(&view, &bands, &options).unwrap();
        assert_close(&real, &expected.data, 1e-12);
        assert_eq!(complex.set(&SetOptions::default()).unwrap().len(), 2);
    }
}

#[test]
fn cross_spectra_need_one_coefficient_per_channel() {
    // One window and four frequencies: eight real numbers, but four complex ones.
    let data = recording(5, 50);
    let view = View::new(&data, 5, 50).unwrap();
    let bands = Bands::new(vec![(4.0, 12.0)], 100.0).window_length(50);
    let options = CovarianceOptions::default();
    assert!(cospectra(&view, &bands, &options).is_ok());
    let error = cross_spectra(&view, &bands, &options).unwrap_err();
    let Error::TooFewSamples { samples, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(samples, 4);
    let shrunk = options.shrinkage(Shrinkage::LedoitWolf);
    let found = cross_spectra(&view, &bands, &shrunk).unwrap();
    assert!(found.shrinkages[0] > 0.0);
    assert!(found.set(&SetOptions::default()).is_ok());
}
