//! Tests that resamples with equal weights reproduce the matrices of the whole recording.

use super::*;
use crate::signals::reader::{Coordinates, Reader};
use crate::signals::{
    Bands, CovarianceOptions, Recording, RecordingView, Spans, cospectra, cumulants, lags, simulate,
};

/// Three channels that are neither white nor Gaussian.
fn recording(data: &mut Vec<f64>) -> RecordingView<'_> {
    let simulated = simulate::nonstationary(3, 20, 50, 5);
    let later = simulated.data.iter().skip(1).chain(&[0.0]);
    let pairs = simulated.data.iter().zip(later);
    *data = pairs.map(|(x, y)| x + 0.7 * y).collect();
    RecordingView::new(data, 3, 1000).unwrap()
}

fn centered<'a>(recording: &'a dyn Recording, sets: &[Vec<Spans>]) -> CenteredRecording<'a> {
    CenteredRecording::new(Reader::new(recording, true), sets).unwrap()
}

fn assert_close(x: &[f64], y: &[f64]) {
    assert_within(1e-10, x, y);
}

fn assert_within(tolerance: f64, x: &[f64], y: &[f64]) {
    assert_eq!(x.len(), y.len());
    let size = x.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (x, y) in x.iter().zip(y) {
        assert!((x - y).abs() < tolerance * size, "{x} {y} {tolerance:e}");
    }
}

/// Uses two segments and a gap.
#[test]
fn blocks_of_weight_one_reproduce_the_whole_recording() {
    let mut data = Vec::new();
    let recording = recording(&mut data);
    let sets = [vec![vec![0..310, 350..601]], vec![vec![601..1000]]];
    let centered = centered(&recording, &sets);
    let lagged_whole = lags::lagged(&centered, &[1, 7, 40], None).unwrap();
    let blocks = Blocks::from_lags(&centered, &[1, 7, 40], None).unwrap();
    assert_eq!(blocks.sizes(), [MAX_BLOCKS, MAX_BLOCKS]);
    let ones: Vec<Vec<f64>> = blocks.sizes().iter().map(|n| vec![1.0; *n]).collect();
    let ResampledMatrices { matrices, whitener } = blocks.resampled(&ones).unwrap();
    let w = whitener.unwrap().inverse;
    for (whole, resampled) in lagged_whole.data.chunks(9).zip(matrices.data.chunks(9)) {
        let resampled = Matrix::from_rows(3, 3, resampled.to_vec());
        assert_close(whole, (&(&w * &resampled) * &w).as_slice());
    }
    // The whitener is that of the whole recording.
    let covariance = centered.covariance(None).unwrap();
    assert_close((&w * &w).as_slice(), covariance.as_slice());

    let bands = Bands::new(vec![(5.0, 20.0), (20.0, 45.0)], 100.0);
    let options = CovarianceOptions::default();
    let whole = cospectra(&recording, &bands, &options).unwrap();
    let pieces = std::iter::once(0..1000).collect();
    let mut estimator = SpectraEstimator::new(&recording, &bands, &[pieces], &options).unwrap();
    let blocks = Blocks::from_spectra(&mut estimator, &[0.0; 2]).unwrap();
    let ones = vec![vec![1.0; blocks.sizes()[0]]];
    assert!(blocks.sizes()[0] > 1);
    assert_close(&whole.data, &blocks.resampled(&ones).unwrap().matrices.data);
}

#[test]
fn whitened_cumulants_agree_with_cumulants_of_the_whitened_recording() {
    let mut data = Vec::new();
    let recording = recording(&mut data);
    let sets = [vec![vec![0..1000]]];
    let mut centered = centered(&recording, &sets);
    let blocks = Blocks::from_cumulants(&centered, None).unwrap();
    let ones = vec![vec![1.0; blocks.sizes()[0]]];
    let ResampledMatrices { matrices, whitener } = blocks.resampled(&ones).unwrap();
    let w = whitener.unwrap().w;
    // Whitening in four indices amplifies rounding by the squared condition of the covariance.
    let (values, _) = linalg::symmetric_eigen(&w).unwrap();
    let condition = (values[2] / values[0]).powi(2);
    centered.reader.coordinates = Coordinates::Filtered(w);
    let moments = FourthMoments::means(&centered, None).unwrap();
    let white = cumulants::from_moments(&moments, &Matrix::identity(3));
    assert_within(1e-14 * condition.powi(2), &white.data, &matrices.data);
}

#[test]
fn weights_are_positive_with_mean_one() {
    for draw in draws(&[30, 8], 20) {
        assert_eq!((draw[0].len(), draw[1].len()), (30, 8));
        for weights in draw {
            assert!(weights.iter().all(|x| *x > 0.0));
            assert!((weights.iter().sum::<f64>() / weights.len() as f64 - 1.0).abs() < 1e-12);
        }
    }
    let (one, other) = (draws(&[30], 2), draws(&[30], 2));
    assert_eq!(one, other);
    assert_ne!(one[0], one[1]);
}
