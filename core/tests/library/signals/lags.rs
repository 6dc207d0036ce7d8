//! Lagged covariances against naive sums.

use codiag::signals::{
    CovarianceOptions, Epochs, Lags, RecordingView, Scale, SegmentLength, Segments, Shrinkage,
    epoch_lagged_covariances, lagged_covariances, segment_covariances,
};

use super::{assert_close, recording};

/// The lagged covariance (R + Rᵀ) / 2 over the spans of some pieces, each centered by its own mean,
/// by a naive loop.
fn naive_lagged(
    data: &[f64],
    samples: usize,
    pieces: &[Vec<std::ops::Range<usize>>],
    lag: usize,
    center: bool,
) -> Vec<f64> {
    let p = data.len() / samples;
    let (mut sums, mut products) = (vec![0.0; p * p], 0.0);
    for piece in pieces {
        let count = piece.iter().map(ExactSizeIterator::len).sum::<usize>() as f64;
        let mean = |c: usize| {
            let all = piece.iter().cloned().flatten();
            let sum: f64 = all.map(|t| data[c * samples + t]).sum();
            if center { sum / count } else { 0.0 }
        };
        let means: Vec<f64> = (0..p).map(mean).collect();
        let x = |c: usize, t: usize| data[c * samples + t] - means[c];
        for span in piece {
            for t in span.start..span.end.saturating_sub(lag) {
                products += 1.0;
                for a in 0..p {
                    for b in 0..p {
                        sums[a * p + b] += x(a, t) * x(b, t + lag);
                    }
                }
            }
        }
    }
    let entry = |k: usize| 0.5 * (sums[k] + sums[k % p * p + k / p]) / products;
    (0..p * p).map(entry).collect()
}

#[test]
fn lagged_covariances_match_naive_sums() {
    let (p, samples) = (5, 900);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    let chosen = [0, 1, 2, 3, 7, 50, 4];
    for (center, count) in [(true, 1), (false, 1), (true, 3)] {
        let segments = Segments::default()
            .length(SegmentLength::Count(count))
            .bad_spans(vec![301..317, 0..3]);
        let lags = Lags::new(chosen).segments(segments.clone());
        let options = CovarianceOptions::default().center(center);
        let found = lagged_covariances(&view, &lags, &options).unwrap();
        assert_eq!((found.n, found.p), (count * chosen.len(), p));
        let pieces = segments.spans(samples, 3).unwrap();
        let sets = found.data.chunks_exact(chosen.len() * p * p);
        for (set, piece) in sets.zip(pieces) {
            for (matrix, lag) in set.chunks_exact(p * p).zip(chosen) {
                let pieces = [piece.clone()];
                let expected = naive_lagged(&data, samples, &pieces, lag, center);
                assert_close(matrix, &expected, 1e-12);
            }
        }
    }
}

#[test]
fn long_recording_matches_naive_sum() {
    // Lags longer than an internal chunk, and a number of lags that is no multiple of the block
    // size.
    let (p, samples) = (3, 40_000);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    let options = CovarianceOptions::default();
    for lags in [vec![1, 5000], (1..60).collect()] {
        let found = lagged_covariances(&view, &Lags::new(lags.clone()), &options).unwrap();
        for (matrix, lag) in found.data.chunks_exact(p * p).zip(lags) {
            let expected = naive_lagged(&data, samples, &[vec![0..samples]], lag, true);
            assert_close(matrix, &expected, 1e-11);
        }
    }
}

#[test]
fn products_do_not_cross_epochs() {
    let (n, p, samples) = (6, 3, 40);
    let data = recording(p, n * samples);
    let epochs = Epochs::with_strides(&data, [n, p, samples], [samples, n * samples, 1]).unwrap();
    let options = CovarianceOptions::default();
    let piece = |e: usize| vec![e * samples..(e + 1) * samples];
    let all = epoch_lagged_covariances(&epochs, None, &[3, 39], &options).unwrap();
    let pieces: Vec<_> = (0..n).map(piece).collect();
    for (matrix, lag) in all.data.chunks_exact(p * p).zip([3, 39]) {
        let expected = naive_lagged(&data, n * samples, &pieces, lag, true);
        assert_close(matrix, &expected, 1e-12);
    }
    let labels = [0, 1, 1, 0, 1, 1];
    let classes = epoch_lagged_covariances(&epochs, Some(&labels), &[3], &options).unwrap();
    for (class, matrix) in classes.data.chunks_exact(p * p).enumerate() {
        let own = (0..n).filter(|e| labels[*e] == class).map(piece);
        let pieces: Vec<_> = own.collect();
        let expected = naive_lagged(&data, n * samples, &pieces, 3, true);
        assert_close(matrix, &expected, 1e-12);
    }
}

#[test]
fn lag_zero_is_the_covariance() {
    let (p, samples) = (4, 300);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    for scale in [Scale::Unchanged, Scale::UnitRms] {
        let options = CovarianceOptions::default().scale(scale);
        let segments = Segments::default().length(SegmentLength::Count(1));
        let lagged = lagged_covariances(&view, &Lags::new([0]), &options).unwrap();
        let covariance = segment_covariances(&view, &segments, &options).unwrap();
        assert_close(&lagged.data, &covariance.data, 1e-13);
    }
}

#[test]
fn lags_without_products_are_errors() {
    let data = recording(2, 100);
    let view = RecordingView::new(&data, 2, 100).unwrap();
    let options = CovarianceOptions::default();
    let error = lagged_covariances(&view, &Lags::new([1, 100]), &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "lags must be shorter than the recording and its segments, got 100 for 100 samples without a gap"
    );
    let gap = Lags::new([60]).segments(
        Segments::default()
            .length(SegmentLength::Count(1))
            .bad_spans(vec![50..51]),
    );
    assert!(lagged_covariances(&view, &gap, &options).is_err());
    assert!(lagged_covariances(&view, &Lags::new([]), &options).is_err());
    let shrunk = options.shrinkage(Shrinkage::Fixed(0.1));
    assert!(lagged_covariances(&view, &Lags::new([1]), &shrunk).is_err());
}
