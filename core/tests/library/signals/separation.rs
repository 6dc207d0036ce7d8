//! Separation of simulated recordings with known sources.

use codiag::signals::simulate::{Simulation, eeg_with_blinks, nonstationary, voices};
use codiag::signals::{
    Bands, Components, Contrast, Epochs, RecordingView, Scale, SegmentLength, Segments, Separation,
    SeparationResult, Shrinkage,
};
use codiag::synthetic::amari_distance;
use codiag::{Error, Init, Matrix, Record};
use std::ops::ControlFlow;

fn view(generated: &Simulation) -> RecordingView<'_> {
    RecordingView::new(&generated.data, generated.channels, generated.samples).unwrap()
}

fn segments(count: usize) -> Contrast {
    Contrast::Segments(Segments::default().length(SegmentLength::Count(count)))
}

fn fit(generated: &Simulation, separation: &Separation) -> SeparationResult {
    let found = separation.fit(&view(generated)).unwrap();
    assert!(found.diagonalization.status.is_converged());
    found
}

fn unobserved(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn variance(row: &[f64]) -> f64 {
    let n = row.len() as f64;
    let mean = row.iter().sum::<f64>() / n;
    row.iter().map(|x| (x - mean).powi(2) / n).sum()
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let covariance: f64 = x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum();
    covariance / (x.len() as f64 * (variance(x) * variance(y)).sqrt())
}

/// The whitener of the covariance, i.e. the principal components scaled to unit variance.
fn principal_components(generated: &Simulation) -> Matrix {
    let p = generated.channels;
    let separation = Separation::default().contrast(segments(1));
    let found = separation.fit(&view(generated)).unwrap();
    assert_eq!(found.n_components(), p);
    found.filters().clone()
}

#[test]
fn nonstationary_sources_are_separated() {
    for seed in 0..5 {
        let generated = nonstationary(10, 100, 500, seed);
        let found = fit(&generated, &Separation::default());
        let distance = amari_distance(found.filters(), &generated.mixing);
        assert!(distance < 0.02, "seed {seed}: {distance}");
        let unmixed = amari_distance(&Matrix::identity(10), &generated.mixing);
        let whitened = amari_distance(&principal_components(&generated), &generated.mixing);
        assert!(
            unmixed > 20.0 * distance && whitened > 20.0 * distance,
            "seed {seed}"
        );
    }
}

#[test]
fn voices_are_separated() {
    for seed in 0..3 {
        let generated = voices(3, 10.0, seed);
        let found = fit(&generated, &Separation::default());
        let ratios = generated.interference_ratios(found.filters());
        assert!(
            ratios.iter().all(|ratio| *ratio > 20.0),
            "seed {seed}: {ratios:?}"
        );
        let before = generated.interference_ratios(&Matrix::identity(3));
        assert!(
            before.iter().all(|ratio| *ratio < 15.0),
            "seed {seed}: {before:?}"
        );
    }
}

#[test]
fn removing_the_blink_source_removes_only_blinks() {
    let generated = eeg_with_blinks(16, 8, 120.0, 4);
    let found = fit(&generated, &Separation::default());
    let sources = found.sources(&view(&generated)).unwrap();
    let blinks = generated.sources.row(0);
    let (source, largest_correlation) = (0..found.n_components())
        .map(|k| (k, correlation(sources.row(k), blinks).abs()))
        .max_by(|x, y| x.1.total_cmp(&y.1))
        .unwrap();
    assert!(largest_correlation > 0.99, "{largest_correlation}");
    let clean = found.remove(&view(&generated), &[source]).unwrap();
    for c in 0..generated.channels {
        let channel = &generated.data[c * generated.samples..][..generated.samples];
        let without_blinks: Vec<f64> = channel
            .iter()
            .zip(blinks)
            .map(|(x, blink)| x - generated.mixing[(c, 0)] * blink)
            .collect();
        let ratio = variance(clean.row(c)) / variance(&without_blinks);
        assert!((ratio - 1.0).abs() < 0.05, "channel {c}: {ratio}");
        assert!(correlation(clean.row(c), blinks).abs() < 0.1, "channel {c}");
    }
}

#[test]
fn spectra_separate_stationary_sources() {
    // Rhythms of constant power that differ in frequency.
    let (p, samples, sfreq) = (4, 30_000, 100.0);
    let mut generated = nonstationary(p, 1, samples, 3);
    for k in 0..p {
        let angle = std::f64::consts::TAU * (8.5 + 9.0 * k as f64) / sfreq;
        let (mut before, mut last) = (0.0, 0.0);
        for x in generated.sources.row_mut(k) {
            let next = 1.8 * angle.cos() * last - 0.81 * before + *x;
            (before, last) = (last, next);
            *x = next;
        }
    }
    for c in 0..p {
        for t in 0..samples {
            generated.data[c * samples + t] = (0..p)
                .map(|k| generated.mixing[(c, k)] * generated.sources[(k, t)])
                .sum();
        }
    }
    let separation =
        Separation::default().contrast(Contrast::Bands(Bands::even(1.0, 49.0, 16, sfreq)));
    let found = fit(&generated, &separation);
    let distance = amari_distance(found.filters(), &generated.mixing);
    assert!(distance < 0.02, "{distance}");
    assert_eq!(found.diagonalization.powers.rows(), 16);
    // The power of each source peaks in the band of its frequency.
    let mut peaks: Vec<usize> = (0..p)
        .map(|k| {
            let power = |band: &usize| found.diagonalization.powers[(*band, k)];
            (0..16)
                .max_by(|x, y| power(x).total_cmp(&power(y)))
                .unwrap()
        })
        .collect();
    peaks.sort_unstable();
    assert_eq!(peaks, [2, 5, 8, 11]);
}

#[test]
fn channel_units_only_scale_filters_and_patterns() {
    let generated = nonstationary(8, 60, 300, 7);
    let mut scaled = generated.clone();
    let units: Vec<f64> = (0..8)
        .map(|c| if c % 2 == 0 { 1e-12 } else { 1e3 })
        .collect();
    for (channel, unit) in scaled.data.chunks_exact_mut(generated.samples).zip(&units) {
        channel.iter_mut().for_each(|x| *x *= unit);
    }
    for components in [
        Components::All,
        Components::Count(5),
        Components::VarianceFraction(0.9),
    ] {
        let separation = Separation::default()
            .n_components(components)
            .contrast(segments(60))
            .scale(Scale::UnitRms);
        let (x, y) = (fit(&generated, &separation), fit(&scaled, &separation));
        assert_eq!(x.n_components(), y.n_components());
        for k in 0..x.n_components() {
            assert!((x.explained_variance_ratio[k] - y.explained_variance_ratio[k]).abs() < 1e-6);
            assert!((x.nonstationarity[k] - y.nonstationarity[k]).abs() < 1e-6);
            // The sign is that of the largest entry of a pattern, which depends on the units.
            let sign = (x.filters()[(k, 0)] * y.filters()[(k, 0)] * units[0]).signum();
            for c in 0..8 {
                let (b, a) = (x.filters()[(k, c)], x.patterns()[(c, k)]);
                assert!((sign * y.filters()[(k, c)] * units[c] - b).abs() < 1e-5);
                assert!((sign * y.patterns()[(c, k)] / units[c] - a).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn reduction_keeps_the_requested_components() {
    // 4 sources in 12 channels, and noise a thousand times weaker.
    let four = nonstationary(4, 50, 200, 1);
    let noise = nonstationary(12, 50, 200, 2);
    let wide = Matrix::from_fn(12, 4, |c, k| noise.mixing[(c, k)]);
    let samples = four.samples;
    let mut generated = noise.clone();
    for c in 0..12 {
        for t in 0..samples {
            let sum: f64 = (0..4).map(|k| wide[(c, k)] * four.sources[(k, t)]).sum();
            generated.data[c * samples + t] = sum + 1e-3 * noise.sources[(c, t)];
        }
    }
    for components in [Components::Count(4), Components::VarianceFraction(0.999)] {
        let separation = Separation::default()
            .n_components(components)
            .contrast(segments(50));
        let found = fit(&generated, &separation);
        assert_eq!((found.n_components(), found.n_channels()), (4, 12));
        assert!(found.explained_variance_ratio_total > 0.999);
        assert!(amari_distance(found.filters(), &wide) < 0.05);
        assert!((found.explained_variance_ratio.iter().sum::<f64>() - 1.0).abs() < 0.05);
        // B A = I for the rectangular B and A.
        for a in 0..4 {
            for b in 0..4 {
                let sum: f64 = (0..12)
                    .map(|c| found.filters()[(a, c)] * found.patterns()[(c, b)])
                    .sum();
                assert!((sum - f64::from(u8::from(a == b))).abs() < 1e-9);
            }
        }
        // Removing no source changes nothing; removing all sources leaves what the reduction left
        // out.
        assert_eq!(
            found.remove(&view(&generated), &[]).unwrap().as_slice(),
            generated.data
        );
        let rest = found.remove(&view(&generated), &[0, 1, 2, 3]).unwrap();
        for c in 0..12 {
            let before = &generated.data[c * samples..][..samples];
            assert!(variance(rest.row(c)) < 1e-4 * variance(before));
            assert!(variance(rest.row(c)) > 1e-8 * variance(before));
        }
    }
}

/// The average reference reduces the rank by one.
#[test]
fn rank_deficient_recording_is_separated_in_its_range() {
    let mut generated = nonstationary(6, 100, 200, 5);
    let samples = generated.samples;
    for t in 0..samples {
        let mean = (0..6).map(|c| generated.data[c * samples + t]).sum::<f64>() / 6.0;
        (0..6).for_each(|c| generated.data[c * samples + t] -= mean);
    }
    let found = fit(&generated, &Separation::default());
    assert_eq!((found.n_components(), found.n_channels()), (5, 6));
    let too_many = Separation::default().n_components(Components::Count(6));
    let error = too_many.fit(&view(&generated)).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("6 for") && message.contains("rank 5"),
        "{message}"
    );
}

#[test]
fn filters_of_one_recording_can_start_and_separate_another() {
    let generated = nonstationary(6, 100, 300, 11);
    let half = generated.samples / 2;
    let half_from = |from: usize| -> Vec<f64> {
        let channels = generated.data.chunks_exact(generated.samples);
        channels
            .flat_map(|c| c[from..from + half].to_vec())
            .collect()
    };
    let (first, second) = (half_from(0), half_from(half));
    let (first, second) = (
        RecordingView::new(&first, 6, half).unwrap(),
        RecordingView::new(&second, 6, half).unwrap(),
    );
    let mut separation = Separation::default().contrast(segments(50));
    let trained = separation.fit(&first).unwrap();
    let sources = trained.sources(&second).unwrap();
    assert_eq!((sources.rows(), sources.columns()), (6, half));
    let cold = separation.fit(&second).unwrap();
    separation.solver.init = Init::Given(trained.filters().clone());
    let warm = separation.fit(&second).unwrap();
    assert!(warm.diagonalization.status.is_converged());
    assert!((warm.diagonalization.loss - cold.diagonalization.loss).abs() < 1e-9);
    let first_gradient = |s: &SeparationResult| s.diagonalization.history[0].gradient_norm;
    assert!(first_gradient(&warm) < 0.2, "{}", first_gradient(&warm));
    // With fewer components than channels.
    separation.n_components = Components::Count(4);
    separation.solver.init = Init::Spectral;
    let reduced = separation.fit(&first).unwrap();
    separation.solver.init = Init::Given(reduced.filters().clone());
    separation.solver.tol *= 10.0;
    let warm_reduced = separation.fit(&first).unwrap();
    assert_eq!(warm_reduced.diagonalization.n_iter, 0);
    separation.solver.init = Init::Given(trained.filters().clone());
    assert!(matches!(
        separation.fit(&first),
        Err(Error::InitShape {
            expected: (4, 6),
            ..
        })
    ));
    let narrow = vec![0.0; 5 * 10];
    let narrow = RecordingView::new(&narrow, 5, 10).unwrap();
    assert!(matches!(
        trained.sources(&narrow),
        Err(Error::Channels {
            expected: 6,
            actual: 5
        })
    ));
}

#[test]
fn epochs_can_be_separated_by_epoch_class_and_frequency() {
    let (epochs, p, samples) = (60, 5, 200);
    let generated = nonstationary(p, epochs, samples, 9);
    let mut data = Vec::new();
    for e in 0..epochs {
        for c in 0..p {
            data.extend_from_slice(
                &generated.data[c * generated.samples + e * samples..][..samples],
            );
        }
    }
    let cut = Epochs::new(&data, epochs, p, samples).unwrap();
    let separation = Separation::default();
    let found = separation.fit_epochs(&cut, None, &mut unobserved).unwrap();
    // The result equals that of segments of the whole recording.
    let by_segments = Separation::default().contrast(segments(epochs));
    let expected = by_segments.fit(&view(&generated)).unwrap();
    let difference = amari_distance(found.filters(), expected.patterns());
    assert!(difference < 1e-7, "{difference:e}");
    assert_eq!(found.segments.len(), epochs);
    let labels: Vec<usize> = (0..epochs).map(|e| e % 10).collect();
    let classes = separation
        .fit_epochs(&cut, Some(&labels), &mut unobserved)
        .unwrap();
    assert_eq!(classes.diagonalization.powers.rows(), 10);
    assert_eq!(classes.segments[3].len(), 6);
    let bands = Separation::default().contrast(Contrast::Bands(Bands::even(1.0, 50.0, 8, 100.0)));
    let bands = bands.fit_epochs(&cut, None, &mut unobserved).unwrap();
    assert_eq!(bands.diagonalization.powers.rows(), 8);
}

#[test]
fn sources_with_equal_powers_are_each_other_s_least_separable_partner() {
    let generated = nonstationary(4, 100, 400, 2);
    let mut alike = generated.clone();
    // Scale source 1 so that its power equals that of source 0 in each stretch.
    let samples = generated.samples;
    for stretch in 0..100 {
        let power = |k: usize| variance(&generated.sources.row(k)[stretch * 400..][..400]);
        let factor = (power(0) / power(1)).sqrt();
        alike.sources.row_mut(1)[stretch * 400..][..400]
            .iter_mut()
            .for_each(|x| *x *= factor);
    }
    for c in 0..4 {
        for t in 0..samples {
            alike.data[c * samples + t] = (0..4)
                .map(|k| generated.mixing[(c, k)] * alike.sources[(k, t)])
                .sum();
        }
    }
    let found = fit(&alike, &Separation::default());
    let least = found.diagonalization.identifiability.unwrap();
    let (a, b) = least.pair;
    let (x, y) = (
        found.least_separable[a].unwrap(),
        found.least_separable[b].unwrap(),
    );
    assert_eq!((x.partner, y.partner), (b, a));
    assert!((x.margin - least.margin).abs() < 1e-9 && (y.margin - least.margin).abs() < 1e-9);
    assert!(
        found
            .least_separable
            .iter()
            .flatten()
            .filter(|r| r.margin > 10.0 * least.margin)
            .count()
            == 2
    );
    // Sources are sorted by descending nonstationarity.
    assert!(found.nonstationarity.windows(2).all(|w| w[0] >= w[1]));
    let alone = Separation::default().n_components(Components::Count(1));
    assert_eq!(fit(&generated, &alone).least_separable, [None]);
}

#[test]
fn nonstationarity_of_stationary_noise_is_at_chance_level() {
    let generated = nonstationary(3, 1, 50_000, 6);
    // Segments of 500 samples.
    let found = Separation::default().contrast(segments(100));
    let found = found.fit(&view(&generated)).unwrap();
    let chance = (2.0 / 500.0_f64).sqrt();
    for score in &found.nonstationarity {
        assert!((0.7..1.5).contains(&(score / chance)), "{score}");
    }
}

#[test]
fn automatic_shrinkage_makes_short_segments_work() {
    let generated = nonstationary(20, 100, 25, 8);
    let plain = Separation::default().contrast(segments(200));
    assert!(matches!(
        plain.fit(&view(&generated)),
        Err(Error::TooFewSamples {
            samples: 12,
            dimension: 20,
            needed: 21,
            ..
        })
    ));
    for shrinkage in [Shrinkage::LedoitWolf, Shrinkage::Oas, Shrinkage::Fixed(0.2)] {
        let found = fit(&generated, &plain.clone().shrinkage(shrinkage));
        assert!(found.shrinkages.iter().all(|s| *s > 0.0 && *s <= 1.0));
    }
}
