//! SOBI, AMUSE and JADE on simulated recordings with known sources.

use codiag::signals::simulate::{Simulation, nonstationary};
use codiag::signals::{
    Components, Contrast, Epochs, Lags, RecordingView, SegmentLength, Segments, Separation,
    SeparationResult,
};
use codiag::synthetic::amari_distance;
use codiag::{Error, Init, Matrix, Record};
use std::ops::ControlFlow;

const SAMPLES: usize = 20_000;

/// Simulates sources that a function computes in place from standard normal samples, and mixes
/// them.
fn simulate(p: usize, seed: u64, source: impl Fn(usize, &mut [f64])) -> Simulation {
    let mut generated = nonstationary(p, 1, SAMPLES, seed);
    for k in 0..p {
        let row = generated.sources.row_mut(k);
        let power = row.iter().map(|x| x * x).sum::<f64>() / SAMPLES as f64;
        row.iter_mut().for_each(|x| *x /= power.sqrt());
        source(k, row);
    }
    generated.data = (&generated.mixing * &generated.sources).into_vec();
    generated
}

/// x_t ← pole x_{t−1} + x_t.
fn autoregressive(pole: f64, row: &mut [f64]) {
    let mut last = 0.0;
    for x in row {
        last = pole * last + *x;
        *x = last;
    }
}

/// Autoregressive sources with well-separated poles.
fn autoregressive_sources(seed: u64) -> Simulation {
    let poles = [0.95, 0.7, 0.3, -0.4, -0.8];
    simulate(5, seed, |k, row| autoregressive(poles[k], row))
}

/// White sources with uniform and Laplace distributions in turn.
fn non_gaussian(seed: u64) -> Simulation {
    simulate(6, seed, |k, row| {
        for x in row {
            // The normal distribution function maps normal to uniform samples.
            let (t, sign) = (x.abs() / std::f64::consts::SQRT_2, x.signum());
            let uniform = sign * error_function(t);
            *x = if k % 2 == 0 {
                uniform
            } else {
                -sign * (1.0 - uniform.abs()).max(1e-12).ln()
            };
        }
    })
}

/// The error function by Abramowitz and Stegun's formula 7.1.26, to 1e-7.
fn error_function(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [
        1.061_405_429,
        -1.453_152_027,
        1.421_413_741,
        -0.284_496_736,
        0.254_829_592,
    ];
    let sum = terms.iter().fold(0.0, |sum, term| (sum + term) * t);
    1.0 - sum * (-x * x).exp()
}

fn view(generated: &Simulation) -> RecordingView<'_> {
    RecordingView::new(&generated.data, generated.channels, generated.samples).unwrap()
}

fn lags(lags: impl IntoIterator<Item = usize>) -> Separation {
    Separation::default().contrast(Contrast::Lags(Lags::new(lags)))
}

fn cumulants() -> Separation {
    Separation::default().contrast(Contrast::Cumulants {
        bad_spans: Vec::new(),
    })
}

fn fit(generated: &Simulation, separation: &Separation) -> SeparationResult {
    let found = separation.fit(&view(generated)).unwrap();
    assert!(found.diagonalization.status.is_converged());
    found
}

fn unobserved(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn sobi_separates_sources_with_different_poles() {
    for seed in 0..3 {
        let generated = autoregressive_sources(seed);
        let found = fit(&generated, &lags(1..=20));
        let distance = amari_distance(found.filters(), &generated.mixing);
        assert!(distance < 0.03, "seed {seed}: {distance}");
        // A pole ρ has the autocorrelations ρ^τ. Components are sorted by the strength of theirs.
        let expected = [0.95, -0.8, 0.7, -0.4, 0.3_f64];
        for (k, pole) in expected.iter().enumerate() {
            for lag in 1..=4 {
                let value = found.diagonalization.powers[(lag - 1, k)];
                assert!(
                    (value - pole.powi(lag as i32)).abs() < 0.05,
                    "{k}, {lag}: {value}"
                );
            }
        }
    }
}

#[test]
fn sources_have_unit_variance_and_are_uncorrelated() {
    let generated = autoregressive_sources(1);
    for separation in [lags(1..=20), cumulants()] {
        let found = separation.fit(&view(&generated)).unwrap();
        let sources = found.sources(&view(&generated)).unwrap();
        for a in 0..5 {
            for b in 0..5 {
                let mean = |k: usize| sources.row(k).iter().sum::<f64>() / SAMPLES as f64;
                let products = sources
                    .row(a)
                    .iter()
                    .zip(sources.row(b))
                    .map(|(x, y)| x * y);
                let covariance = products.sum::<f64>() / SAMPLES as f64 - mean(a) * mean(b);
                let expected = f64::from(u8::from(a == b));
                assert!(
                    (covariance - expected).abs() < 1e-10,
                    "{a}, {b}: {covariance}"
                );
            }
        }
    }
}

/// White sensor noise biases the whitening and therefore all methods over rotations. A
/// least-squares fit to the lagged covariances, which the noise does not enter, is not biased.
#[test]
fn least_squares_is_more_robust_to_white_noise_than_rotations() {
    let (mut rotated, mut fitted) = (0.0, 0.0);
    for seed in 0..4 {
        let mut generated = autoregressive_sources(seed);
        let noise = nonstationary(5, 1, SAMPLES, 100 + seed);
        let power = noise.sources.row(0).iter().map(|x| x * x).sum::<f64>() / SAMPLES as f64;
        for c in 0..5 {
            let size = 1.5 / power.sqrt();
            for t in 0..SAMPLES {
                generated.data[c * SAMPLES + t] += if c == 0 {
                    size * noise.sources[(0, t)]
                } else {
                    0.0
                };
            }
        }
        let least_squares =
            Separation::default().contrast(Contrast::Lags(Lags::new(1..=10).orthogonal(false)));
        let found = fit(&generated, &least_squares);
        let sources = found.sources(&view(&generated)).unwrap();
        for k in 0..5 {
            let row = sources.row(k);
            let mean = row.iter().sum::<f64>() / SAMPLES as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / SAMPLES as f64;
            assert!((variance - 1.0).abs() < 1e-9, "{variance}");
        }
        fitted += amari_distance(found.filters(), &generated.mixing);
        rotated += amari_distance(fit(&generated, &lags(1..=10)).filters(), &generated.mixing);
    }
    assert!(fitted < 0.5 * rotated, "{fitted} {rotated}");
}

/// Two sources with equal autocorrelations at lag 1 only.
fn equal_at_lag_1(seed: u64) -> Simulation {
    simulate(2, seed, |k, row| {
        if k == 0 {
            autoregressive(0.5, row);
        } else {
            // s_t = a s_{t−1} + b s_{t−2} + e_t has the autocorrelation a / (1 − b) = 0.5 at lag 1.
            let (mut before, mut last) = (0.0, 0.0);
            for x in row {
                let next = 0.9 * last - 0.8 * before + *x;
                (before, last) = (last, next);
                *x = next;
            }
        }
    })
}

#[test]
fn amuse_fails_for_equal_autocorrelations_at_lag_1_and_sobi_does_not() {
    let mut mean_amuse_distance = 0.0;
    for seed in 0..6 {
        let generated = equal_at_lag_1(seed);
        let amuse = lags([1]).fit(&view(&generated)).unwrap();
        let sobi = fit(&generated, &lags(1..=10));
        let distance =
            |result: &SeparationResult| amari_distance(result.filters(), &generated.mixing);
        assert!(distance(&sobi) < 0.02, "{}", distance(&sobi));
        // The autocorrelations differ at lag 2, so this lag alone suffices.
        assert!(distance(&fit(&generated, &lags([2]))) < 0.05);
        // The separability margin of AMUSE is small.
        let margin = |result: &SeparationResult| result.least_separable[0].unwrap().margin;
        assert!(margin(&amuse) < 1e-2 && margin(&sobi) > 0.1);
        mean_amuse_distance += distance(&amuse) / 6.0;
    }
    // AMUSE cannot determine the rotation of the two sources.
    assert!(mean_amuse_distance > 0.2, "{mean_amuse_distance}");
}

#[test]
fn amuse_sorts_by_autocovariance() {
    let generated = autoregressive_sources(3);
    let found = fit(&generated, &lags([1]));
    let values = found.diagonalization.powers.row(0);
    for (value, pole) in values.iter().zip([0.95, 0.7, 0.3, -0.4, -0.8]) {
        assert!((value - pole).abs() < 0.05, "{values:?}");
    }
}

#[test]
fn jade_separates_uniform_and_laplace_sources() {
    for seed in 0..3 {
        let generated = non_gaussian(seed);
        let found = fit(&generated, &cumulants());
        let distance = amari_distance(found.filters(), &generated.mixing);
        assert!(distance < 0.05, "seed {seed}: {distance}");
        // Laplace sources have excess kurtosis 3 and come first; uniform ones have −1.2.
        for (k, value) in found.kurtosis.iter().enumerate() {
            let expected = if k < 3 { 3.0 } else { -1.2 };
            assert!((value - expected).abs() < 0.1 * 3.0, "{:?}", found.kurtosis);
        }
        // The reported kurtosis matches that of the sources.
        let sources = found.sources(&view(&generated)).unwrap();
        for (k, value) in found.kurtosis.iter().enumerate() {
            let row = sources.row(k);
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let fourth: f64 = row.iter().map(|x| (x - mean).powi(4)).sum();
            assert!(
                (fourth / row.len() as f64 - 3.0 - value).abs() < 1e-9,
                "{k}"
            );
        }
    }
}

#[test]
fn component_and_segment_counts_are_respected() {
    let generated = autoregressive_sources(2);
    let three = fit(&generated, &lags(1..=20).n_components(Components::Count(3)));
    assert_eq!((three.n_components(), three.n_channels()), (3, 5));
    assert!(three.explained_variance_ratio_total < 1.0);
    let segments = Segments::default().length(SegmentLength::Count(4));
    let contrast = Contrast::Lags(Lags::new(0..=10).segments(segments));
    let found = fit(&generated, &Separation::default().contrast(contrast));
    assert_eq!(found.diagonalization.powers.rows(), 4 * 11);
    assert_eq!(found.segments.len(), 4);
    assert!(amari_distance(found.filters(), &generated.mixing) < 0.03);
}

#[test]
fn epochs_are_averaged_per_class() {
    let generated = autoregressive_sources(4);
    let epochs = Epochs::with_strides(&generated.data, [40, 5, 500], [500, SAMPLES, 1]).unwrap();
    let labels: Vec<usize> = (0..40).map(|e| e % 2).collect();
    for (labels, rows) in [(None, 20), (Some(&labels[..]), 40)] {
        let found = lags(1..=20)
            .fit_epochs(&epochs, labels, &mut unobserved)
            .unwrap();
        assert_eq!(found.diagonalization.powers.rows(), rows);
        assert!(amari_distance(found.filters(), &generated.mixing) < 0.05);
    }
    let found = cumulants()
        .fit_epochs(&epochs, None, &mut unobserved)
        .unwrap();
    assert_eq!(found.kurtosis.len(), 5);
}

/// The filters of one recording are a start for the next, although they do not whiten it exactly.
#[test]
fn given_start_is_projected_to_the_nearest_rotation() {
    let (first, second) = (non_gaussian(7), non_gaussian(8));
    let mut later = second.clone();
    later.data = (&first.mixing * &second.sources).into_vec();
    let trained = fit(&first, &cumulants());
    let mut warm_started = cumulants();
    warm_started.solver.init = Init::Given(trained.filters().clone());
    let (warm, cold) = (fit(&later, &warm_started), fit(&later, &cumulants()));
    assert!((warm.diagonalization.loss - cold.diagonalization.loss).abs() < 1e-10);
    assert!(amari_distance(warm.filters(), &first.mixing) < 0.05);
    warm_started.solver.init = Init::Given(Matrix::zeros(6, 6));
    assert!(matches!(
        warm_started.fit(&view(&later)),
        Err(Error::Init { .. })
    ));
    warm_started.solver.init = Init::Given(Matrix::identity(5));
    let result = warm_started.fit(&view(&later));
    assert!(matches!(result, Err(Error::InitShape { .. })));
}
