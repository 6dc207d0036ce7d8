//! Cospectra and cross-spectra.

use std::f64::consts::TAU;

use codiag::signals::{
    Bands, CovarianceOptions, RecordingView, Scale, Shrinkage, Window, cospectra, cross_spectra,
};
use codiag::{Error, SetOptions, c64};

use super::{assert_close, naive_covariance, recording};

/// Parseval's theorem, with bands that cover all frequencies.
#[test]
fn cospectra_of_all_bands_sum_to_the_covariance() {
    let (p, length) = (3, 64);
    let samples = 5 * length;
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
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
    assert_close(
        &sum,
        &naive_covariance(&data, samples, &chosen, false),
        1e-13,
    );
}

/// Windows with tapers, overlap, an odd length and a bad span.
#[test]
fn cross_spectra_match_naive_sums() {
    let (p, samples, sfreq) = (3, 300, 100.0);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    let starts = [0, 25, 50, 75, 140, 165, 190, 215, 240];
    for (length, window, a, b) in [
        (50, Window::Rectangular, 1.0, 0.0),
        (50, Window::Hann, 0.5, 0.5),
        (49, Window::Hamming, 0.54, 0.46),
    ] {
        let bands = Bands::new(vec![(0.0, 12.0), (20.0, 50.0)], sfreq)
            .window_length(length)
            .window(window)
            .bad_spans(vec![130..140]);
        let angle = |k: usize, t: usize| TAU * (k * t) as f64 / length as f64;
        let taper: Vec<f64> = (0..length).map(|t| a - b * angle(1, t).cos()).collect();
        let energy: f64 = taper.iter().map(|w| w * w).sum();
        let coefficient = |c: usize, start: usize, k: usize| {
            let x = &data[c * samples + start..][..length];
            let mean = x.iter().sum::<f64>() / length as f64;
            let term = |t: usize| c64::from_polar((x[t] - mean) * taper[t], -angle(k, t));
            (0..length).map(term).sum::<c64>()
        };
        let options = CovarianceOptions::default();
        let found = cross_spectra(&view, &bands, &options).unwrap();
        for (band, bins) in [(0, 0..6), (1, 10..length / 2 + 1)] {
            let mut expected = vec![c64::ZERO; p * p];
            for (k, start) in bins.flat_map(|k| starts.map(|start| (k, start))) {
                let paired = k > 0 && 2 * k < length;
                let images = if paired { 2.0 } else { 1.0 };
                let factor = images / (length as f64 * energy * starts.len() as f64);
                let x: Vec<c64> = (0..p).map(|c| coefficient(c, start, k)).collect();
                for (entry, sum) in expected.iter_mut().enumerate() {
                    *sum += x[entry / p] * x[entry % p].conj() * factor;
                }
            }
            let found = &found.data[band * p * p..][..p * p];
            assert_close(&reals(found), &reals(&expected), 1e-12);
            (0..p).for_each(|a| assert_eq!(found[a * p + a].im, 0.0));
        }
        // The real parts are the cospectra, for all thread counts, scales and shrinkages.
        for options in [
            options.clone().n_jobs(2),
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
}

fn reals(x: &[c64]) -> Vec<f64> {
    x.iter().flat_map(|z| [z.re, z.im]).collect()
}

#[test]
fn cross_spectra_need_as_many_coefficients_as_channels() {
    // One window with four frequencies has eight real degrees of freedom, but four complex ones.
    let data = recording(5, 50);
    let view = RecordingView::new(&data, 5, 50).unwrap();
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
