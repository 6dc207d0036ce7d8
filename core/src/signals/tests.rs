//! Matrices made from signals, against sums written out.
#![allow(clippy::single_range_in_vec_init)] // a list of one span

use super::*;
use crate::{Error, SetOptions};

/// Numbers that look random, the same everywhere, with a different level a channel.
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

fn naive(data: &[f64], samples: usize, chosen: &[usize], center: bool) -> Vec<f64> {
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

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= tolerance * largest, "{x} is not {y}");
    }
}

#[test]
fn covariances_are_the_sums_that_define_them() {
    let (p, samples) = (5, 90);
    let data = recording(p, samples);
    let view = View::new(&data, p, samples).unwrap();
    for center in [true, false] {
        let segments = Segments {
            cut: Cut::Count(4),
            overlap: 0.5,
            exclude: vec![30..37],
        };
        let options = CovarianceOptions {
            center,
            ..CovarianceOptions::default()
        };
        let found = segment_covariances(&view, &segments, &options).unwrap();
        let pieces = segments.pieces(samples).unwrap();
        for (matrix, piece) in found.data.chunks_exact(p * p).zip(pieces) {
            let chosen: Vec<usize> = piece.into_iter().flatten().collect();
            assert_close(matrix, &naive(&data, samples, &chosen, center), 1e-13);
        }
    }
}

#[test]
fn a_segment_longer_than_a_chunk_is_no_different() {
    let (p, samples) = (3, 40_000);
    let data = recording(p, samples);
    let view = View::new(&data, p, samples).unwrap();
    let whole = Segments {
        cut: Cut::Count(1),
        ..Segments::default()
    };
    let found = segment_covariances(&view, &whole, &CovarianceOptions::default()).unwrap();
    let chosen: Vec<usize> = (0..samples).collect();
    assert_close(&found.data, &naive(&data, samples, &chosen, true), 1e-12);
}

#[test]
fn threads_change_no_bit() {
    let (p, samples) = (30, 20_000);
    let data = recording(p, samples);
    let view = View::new(&data, p, samples).unwrap();
    let on = |threads| {
        let options = CovarianceOptions {
            threads: Some(threads),
            shrinkage: Shrinkage::LedoitWolf,
            ..CovarianceOptions::default()
        };
        let segments = segment_covariances(&view, &Segments::default(), &options).unwrap();
        let bands = Bands::even(1.0, 50.0, 7, 100.0);
        let cospectra = cospectra(&view, &bands, &options).unwrap();
        let mut separation = Separation {
            components: Components::Number(6),
            ..Separation::default()
        };
        separation.threads = Some(threads);
        let separated = separation.fit(&view).unwrap();
        let sources = separated.sources(&view).unwrap();
        (segments.data, cospectra.data, sources)
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn classes_are_the_means_of_their_epochs() {
    let (n, p, samples) = (6, 3, 20);
    let data = recording(n, p * samples);
    let epochs = Epochs::new(&data, n, p, samples).unwrap();
    let options = CovarianceOptions::default();
    let single = epoch_covariances(&epochs, None, &options).unwrap();
    let chosen: Vec<usize> = (0..samples).collect();
    for (e, matrix) in single.data.chunks_exact(p * p).enumerate() {
        let epoch = &data[e * p * samples..][..p * samples];
        assert_close(matrix, &naive(epoch, samples, &chosen, true), 1e-13);
    }
    let labels = [0, 1, 0, 1, 1, 0];
    let classes = epoch_covariances(&epochs, Some(&labels), &options).unwrap();
    for (class, matrix) in classes.data.chunks_exact(p * p).enumerate() {
        let own = |e: &usize| labels[*e] == class;
        let mean: Vec<f64> = (0..p * p)
            .map(|k| {
                (0..n)
                    .filter(own)
                    .map(|e| single.data[e * p * p + k] / 3.0)
                    .sum()
            })
            .collect();
        assert_close(matrix, &mean, 1e-13);
    }
    assert!(epoch_covariances(&epochs, Some(&labels[1..]), &options).is_err());
    assert!(epoch_covariances(&epochs, Some(&[0, 2, 2, 2, 0, 0]), &options).is_err());
}

#[test]
fn scales_are_those_asked_for() {
    let (p, samples) = (4, 400);
    let data = recording(p, samples);
    let view = View::new(&data, p, samples).unwrap();
    let scaled = |scale| {
        let options = CovarianceOptions {
            scale,
            ..CovarianceOptions::default()
        };
        let segments = Segments {
            cut: Cut::Count(5),
            ..Segments::default()
        };
        segment_covariances(&view, &segments, &options).unwrap()
    };
    let mean_diagonal = |c: &Covariances, a: usize| -> f64 {
        c.data.chunks_exact(p * p).map(|m| m[a * p + a] / 5.0).sum()
    };
    let unit = scaled(Scale::UnitRms);
    assert!((0..p).all(|a| (mean_diagonal(&unit, a) - 1.0).abs() < 1e-12));
    let groups = scaled(Scale::Groups(vec![7, 7, 1, 7]));
    let seven = [0, 1, 3]
        .map(|a| mean_diagonal(&groups, a))
        .iter()
        .sum::<f64>();
    assert!((seven - 3.0).abs() < 1e-12 && (mean_diagonal(&groups, 2) - 1.0).abs() < 1e-12);
    let plain = scaled(Scale::Unchanged);
    let given = scaled(Scale::Given(vec![1.0, 2.0, 3.0, 4.0]));
    assert!((given.data[6] / plain.data[6] - 6.0).abs() < 1e-12);
}

/// The amounts of scikit-learn 1.9.1: `ledoit_wolf(X)[1]` and `oas(X)[1]` of sklearn.covariance, for an
/// X of shape (samples, channels) whose transpose is `recording(p, samples)` with channel a multiplied
/// by a + 1, and four times the first added to all others.
#[test]
fn automatic_shrinkage_is_that_of_scikit_learn() {
    for (p, samples, ledoit_wolf, oas) in [
        (5, 12, 0.230_502_552_992_306_76, 0.413_508_473_033_210_53),
        (6, 50, 0.108_853_950_200_815_65, 0.140_961_188_387_046_8),
    ] {
        let mut data = recording(p, samples);
        for a in 0..p {
            for t in 0..samples {
                data[a * samples + t] *= (a + 1) as f64;
                if a > 0 {
                    data[a * samples + t] += 4.0 * data[t];
                }
            }
        }
        let view = View::new(&data, p, samples).unwrap();
        for (shrinkage, expected) in [(Shrinkage::LedoitWolf, ledoit_wolf), (Shrinkage::Oas, oas)] {
            let options = CovarianceOptions {
                shrinkage,
                ..CovarianceOptions::default()
            };
            let whole = Segments {
                cut: Cut::Count(1),
                ..Segments::default()
            };
            let found = segment_covariances(&view, &whole, &options).unwrap();
            assert!(
                (found.shrinkages[0] - expected).abs() < 1e-12,
                "{shrinkage:?}"
            );
            let chosen: Vec<usize> = (0..samples).collect();
            let mut plain = naive(&data, samples, &chosen, true);
            let trace: f64 = (0..p).map(|a| plain[a * p + a]).sum();
            plain.iter_mut().for_each(|x| *x *= 1.0 - expected);
            (0..p).for_each(|a| plain[a * p + a] += expected * trace / p as f64);
            assert_close(&found.data, &plain, 1e-12);
        }
    }
}

/// Bands that cover all frequencies: Parseval's theorem.
#[test]
fn cospectra_of_all_bands_sum_to_the_covariance() {
    let (p, length) = (3, 64);
    let samples = 5 * length;
    let data = recording(p, samples);
    let view = View::new(&data, p, samples).unwrap();
    let bands = Bands {
        window_length: Some(length),
        window: Window::Rectangular,
        overlap: 0.0,
        ..Bands::new(vec![(0.0, 7.0), (7.0, 30.0), (30.0, 50.0)], 100.0)
    };
    let options = CovarianceOptions {
        center: false,
        ..CovarianceOptions::default()
    };
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
    let bands = Bands {
        window_length: Some(length),
        exclude: vec![130..140],
        ..Bands::new(vec![(4.0, 12.0), (20.0, 50.0)], rate)
    };
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

#[test]
fn too_few_samples_are_refused_with_the_number_needed() {
    let data = recording(10, 100);
    let view = View::new(&data, 10, 100).unwrap();
    let segments = Segments {
        cut: Cut::Count(10),
        ..Segments::default()
    };
    let options = CovarianceOptions::default();
    let error = segment_covariances(&view, &segments, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "segment 0 has 10 samples, but a 10 x 10 matrix needs at least 11: take fewer or longer \
         segments, ask for at most 9 components, or for shrinkage"
    );
    // What the message advises, helps.
    let shrunk = CovarianceOptions {
        shrinkage: Shrinkage::Fixed(0.1),
        ..options
    };
    let covariances = segment_covariances(&view, &segments, &shrunk).unwrap();
    assert!(covariances.set(&SetOptions::default()).is_ok());
    let fewer = Separation {
        components: Components::Number(9),
        contrast: Contrast::Segments(segments),
        ..Separation::default()
    };
    assert_eq!(fewer.fit(&view).unwrap().components(), 9);
    let bands = Bands {
        window_length: Some(50),
        overlap: 0.0,
        ..Bands::new(vec![(10.0, 14.0)], 100.0)
    };
    let error = cospectra(&view, &bands, &CovarianceOptions::default()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::TooFewSamples {
                samples: 8,
                needed: 10,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn samples_that_are_not_finite_are_named_and_may_be_excluded() {
    let mut data = recording(3, 600);
    data[600 + 123] = f64::NAN;
    let view = View::new(&data, 3, 600).unwrap();
    let segments = Segments {
        cut: Cut::Count(10),
        ..Segments::default()
    };
    let options = CovarianceOptions::default();
    let error = segment_covariances(&view, &segments, &options).unwrap_err();
    assert!(matches!(
        error,
        Error::SampleNotFinite {
            channel: 1,
            sample: 123,
            ..
        }
    ));
    let without = Segments {
        exclude: vec![120..130],
        ..segments
    };
    assert!(segment_covariances(&view, &without, &options).is_ok());
    let large: Vec<f64> = data
        .iter()
        .map(|x| if x.is_nan() { 1e200 } else { *x })
        .collect();
    let view = View::new(&large, 3, 600).unwrap();
    assert!(segment_covariances(&view, &without, &options).is_ok());
}

#[test]
fn bands_that_hold_nothing_are_refused() {
    let data = recording(2, 500);
    let view = View::new(&data, 2, 500).unwrap();
    for (bands, rate, window_length, overlap) in [
        (vec![], 100.0, None, 0.5),
        (vec![(10.0, 8.0)], 100.0, None, 0.5),
        (vec![(10.0, 60.0)], 100.0, None, 0.5),
        (vec![(10.2, 10.3)], 100.0, None, 0.5),
        (vec![(10.0, 20.0)], 0.0, None, 0.5),
        (vec![(10.0, 20.0)], f64::NAN, None, 0.5),
        (vec![(f64::NAN, 20.0)], 100.0, None, 0.5),
        (vec![(10.0, 20.0)], 100.0, Some(0), 0.5),
        (vec![(10.0, 20.0)], 100.0, Some(501), 0.5),
        (vec![(10.0, 20.0)], 100.0, None, 1.0),
    ] {
        let bands = Bands {
            window_length,
            overlap,
            ..Bands::new(bands, rate)
        };
        let error = cospectra(&view, &bands, &CovarianceOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Setting { .. }), "{error}");
    }
}
