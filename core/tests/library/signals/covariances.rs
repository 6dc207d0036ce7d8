//! Covariances of segments and epochs.

use codiag::signals::{
    Bands, Components, CovarianceOptions, Covariances, Epochs, RecordingView, Scale, SegmentLength,
    Segments, Separation, Shrinkage, cospectra, epoch_covariances, segment_covariances,
};

use super::{assert_close, naive_covariance, recording};

#[test]
fn segment_covariances_match_naive_sums() {
    let (p, samples) = (5, 90);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    for center in [true, false] {
        let segments = Segments::default()
            .length(SegmentLength::Count(4))
            .overlap(0.5)
            .bad_spans(vec![30..37]);
        let options = CovarianceOptions::default().center(center);
        let found = segment_covariances(&view, &segments, &options).unwrap();
        let pieces = segments.spans(samples, 3).unwrap();
        for (matrix, piece) in found.data.chunks_exact(p * p).zip(pieces) {
            let chosen: Vec<usize> = piece.into_iter().flatten().collect();
            assert_close(
                matrix,
                &naive_covariance(&data, samples, &chosen, center),
                1e-13,
            );
        }
    }
}

#[test]
fn long_segment_matches_naive_sum() {
    let (p, samples) = (3, 40_000);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    let segments = Segments::default().length(SegmentLength::Count(1));
    let found = segment_covariances(&view, &segments, &CovarianceOptions::default()).unwrap();
    let chosen: Vec<usize> = (0..samples).collect();
    assert_close(
        &found.data,
        &naive_covariance(&data, samples, &chosen, true),
        1e-12,
    );
}

#[test]
fn results_are_bitwise_equal_for_all_thread_counts() {
    let (p, samples) = (30, 20_000);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    let compute = |threads| {
        let options = CovarianceOptions::default()
            .shrinkage(Shrinkage::LedoitWolf)
            .n_jobs(threads);
        let segments = segment_covariances(&view, &Segments::default(), &options).unwrap();
        let bands = Bands::even(1.0, 50.0, 7, 100.0);
        let cospectra = cospectra(&view, &bands, &options).unwrap();
        let separation = Separation::default()
            .n_components(Components::Count(6))
            .n_jobs(threads);
        let separated = separation.fit(&view).unwrap();
        let sources = separated.sources(&view).unwrap();
        (segments.data, cospectra.data, sources)
    };
    assert_eq!(compute(1), compute(3));
}

#[test]
fn class_covariances_are_means_over_epochs() {
    let (n, p, samples) = (6, 3, 20);
    let data = recording(n, p * samples);
    let epochs = Epochs::new(&data, n, p, samples).unwrap();
    let options = CovarianceOptions::default();
    let single = epoch_covariances(&epochs, None, &options).unwrap();
    let chosen: Vec<usize> = (0..samples).collect();
    for (e, matrix) in single.data.chunks_exact(p * p).enumerate() {
        let epoch = &data[e * p * samples..][..p * samples];
        assert_close(
            matrix,
            &naive_covariance(epoch, samples, &chosen, true),
            1e-13,
        );
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
fn scales_normalize_the_mean_diagonal() {
    let (p, samples) = (4, 400);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    let scaled = |scale| {
        let options = CovarianceOptions::default().scale(scale);
        let segments = Segments::default().length(SegmentLength::Count(5));
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

/// The expected values are `ledoit_wolf(X)[1]` and `oas(X)[1]` of sklearn.covariance 1.9.1. The
/// transpose of X is `recording(p, samples)` with channel a multiplied by a + 1, and four times the
/// first channel added to all others.
#[test]
fn automatic_shrinkage_agrees_with_scikit_learn() {
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
        let view = RecordingView::new(&data, p, samples).unwrap();
        for (shrinkage, expected) in [(Shrinkage::LedoitWolf, ledoit_wolf), (Shrinkage::Oas, oas)] {
            let options = CovarianceOptions::default().shrinkage(shrinkage);
            let segments = Segments::default().length(SegmentLength::Count(1));
            let found = segment_covariances(&view, &segments, &options).unwrap();
            assert!(
                (found.shrinkages[0] - expected).abs() < 1e-12,
                "{shrinkage:?}"
            );
            let chosen: Vec<usize> = (0..samples).collect();
            let mut plain = naive_covariance(&data, samples, &chosen, true);
            let trace: f64 = (0..p).map(|a| plain[a * p + a]).sum();
            plain.iter_mut().for_each(|x| *x *= 1.0 - expected);
            (0..p).for_each(|a| plain[a * p + a] += expected * trace / p as f64);
            assert_close(&found.data, &plain, 1e-12);
        }
    }
}
