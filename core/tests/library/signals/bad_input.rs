//! Errors in recordings and in the options of covariances, with the remedies that they suggest.

use codiag::signals::{
    Bands, Components, Contrast, CovarianceOptions, Lags, RecordingView, SegmentLength, Segments,
    Separation, Shrinkage, cospectra, cumulants, lagged_covariances, segment_covariances,
};
use codiag::{Error, SetOptions, Settings};

use super::recording;

#[test]
fn too_few_samples_are_an_error_with_the_number_needed() {
    let data = recording(10, 100);
    let view = RecordingView::new(&data, 10, 100).unwrap();
    let segments = Segments::default().length(SegmentLength::Count(10));
    let options = CovarianceOptions::default();
    let error = segment_covariances(&view, &segments, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "segment 0 has 10 samples, but a 10 x 10 matrix needs at least 11; use fewer or longer segments \
         (n_segments or segment_length), at most 9 components (n_components), or shrinkage"
    );
    // The remedies of the message work.
    let shrunk = options.shrinkage(Shrinkage::Fixed(0.1));
    let covariances = segment_covariances(&view, &segments, &shrunk).unwrap();
    assert!(covariances.set(&SetOptions::default()).is_ok());
    let fewer = Separation::default()
        .n_components(Components::Count(9))
        .contrast(Contrast::Segments(segments));
    assert_eq!(fewer.fit(&view).unwrap().n_components(), 9);
    let bands = Bands::new(vec![(10.0, 14.0)], 100.0)
        .window_length(50)
        .overlap(0.0);
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
fn non_finite_samples_are_located_and_can_be_excluded() {
    let mut data = recording(3, 600);
    data[600 + 123] = f64::NAN;
    let view = RecordingView::new(&data, 3, 600).unwrap();
    let segments = Segments::default().length(SegmentLength::Count(10));
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
    let without = segments.bad_spans(vec![120..130]);
    assert!(segment_covariances(&view, &without, &options).is_ok());
    let large: Vec<f64> = data
        .iter()
        .map(|x| if x.is_nan() { 1e200 } else { *x })
        .collect();
    let view = RecordingView::new(&large, 3, 600).unwrap();
    assert!(segment_covariances(&view, &without, &options).is_ok());
}

#[test]
fn invalid_bands_are_errors() {
    let data = recording(2, 500);
    let view = RecordingView::new(&data, 2, 500).unwrap();
    for (bands, sfreq, window_length, overlap) in [
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
        let bands = Bands::new(bands, sfreq)
            .window_length(window_length)
            .overlap(overlap);
        let error = cospectra(&view, &bands, &CovarianceOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Setting { .. }), "{error}");
    }
}

#[test]
fn huge_sizes_are_errors_before_anything_is_allocated() {
    let data = recording(2, 500);
    let view = RecordingView::new(&data, 2, 500).unwrap();
    let options = CovarianceOptions::default();
    for length in [501, 1_000_000_000_000, 1 << 62, usize::MAX] {
        let bands = Bands::new(vec![(10.0, 20.0)], 100.0).window_length(length);
        for bands in [bands.clone(), bands.segment_length(SegmentLength::Auto)] {
            let error = cospectra(&view, &bands, &options).unwrap_err();
            assert!(matches!(error, Error::Setting { .. }), "{error}");
        }
    }
    for lag in [500, 99_999_999_999, usize::MAX] {
        let error = lagged_covariances(&view, &Lags::new([1, lag]), &options).unwrap_err();
        assert!(matches!(error, Error::Setting { .. }), "{error}");
    }
    assert!(Bands::try_even(1.0, 50.0, 1_000_000_000, 100.0).is_err());
    let solver = Settings::default().n_resamples(1_000_000_000_000);
    let error = Separation::default().solver(solver).fit(&view).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("n_resamples must be at most 1000000")
    );
}

#[test]
fn overlap_of_nearly_one_gives_at_most_one_segment_per_sample() {
    let segments = Segments::default().overlap(0.999_999_999_999_99);
    let pieces = segments.spans(500, 2).unwrap();
    assert!(pieces.len() <= 500);
    assert_eq!(pieces[pieces.len() - 1][0].end, 500);
    for count in [501, 1 << 40, usize::MAX] {
        let segments = segments.clone().length(SegmentLength::Count(count));
        assert!(segments.spans(500, 2).is_err(), "{count}");
    }
}

/// Cumulants of 700 components need about a terabyte.
#[test]
fn out_of_memory_cumulants_suggest_a_number_of_components() {
    let data = recording(700, 720);
    let view = RecordingView::new(&data, 700, 720).unwrap();
    let found = cumulants(&view, Components::All, &[], &CovarianceOptions::default());
    let jade = Contrast::Cumulants {
        bad_spans: Vec::new(),
    };
    let separated = Separation::default().contrast(jade).fit(&view);
    for (what, error) in [
        ("a set of cumulant matrices of", found.unwrap_err()),
        ("JADE of", separated.unwrap_err()),
    ] {
        let text = error.to_string();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{text}");
        assert!(
            text.starts_with(what) && text.contains("; Components::Count(40) needs"),
            "{text}"
        );
    }
}
