//! Division of recordings into segments.

use codiag::Error;
use codiag::error::Setting;
use codiag::signals::{SegmentLength, Segments};

#[test]
fn segment_count_gives_equal_lengths_up_to_the_end() {
    for (count, samples, overlap) in [(7, 100, 0.0), (100, 14_400, 0.0), (9, 1000, 0.5)] {
        let segments = Segments::default().length(SegmentLength::Count(count));
        let pieces = segments.overlap(overlap).spans(samples, 4).unwrap();
        assert_eq!(pieces.len(), count);
        let length = pieces[0][0].len();
        assert!(pieces.iter().all(|p| p.len() == 1 && p[0].len() == length));
        assert_eq!(pieces[0][0].start, 0);
        assert_eq!(pieces[count - 1][0].end, samples);
        if overlap == 0.0 {
            assert!(pieces.windows(2).all(|p| p[0][0].end <= p[1][0].start));
            assert_eq!(length, samples / count);
        } else {
            assert_eq!(length, 200);
            assert!(
                pieces
                    .windows(2)
                    .all(|p| p[1][0].start - p[0][0].start == 100)
            );
        }
    }
}

#[test]
fn fixed_length_leaves_a_remainder() {
    let segments = Segments::default()
        .length(SegmentLength::Length(30))
        .overlap(0.5);
    let starts: Vec<usize> = segments
        .spans(100, 4)
        .unwrap()
        .iter()
        .map(|p| p[0].start)
        .collect();
    assert_eq!(starts, [0, 15, 30, 45, 60]);
}

#[test]
fn bad_spans_are_in_no_segment() {
    let four = Segments::default().length(SegmentLength::Count(4));
    let segments = four.bad_spans(vec![70..80, 0..10, 75..90]);
    let pieces = segments.spans(110, 4).unwrap();
    let all: Vec<usize> = pieces.iter().flatten().cloned().flatten().collect();
    let expected: Vec<usize> = (10..70).chain(90..110).collect();
    assert_eq!(all, expected);
    assert_eq!(pieces[3], [90..110]);
    let everything = segments.clone().bad_spans(vec![0..110]);
    assert!(everything.spans(110, 4).is_err());
    let beyond = segments.bad_spans(vec![100..111]);
    assert!(beyond.spans(110, 4).is_err());
}

#[test]
fn invalid_lengths_and_overlaps_are_errors() {
    for (length, overlap) in [
        (SegmentLength::Count(0), 0.0),
        (SegmentLength::Count(101), 0.0),
        (SegmentLength::Length(0), 0.0),
        (SegmentLength::Length(101), 0.0),
        (SegmentLength::Count(10), 1.0),
        (SegmentLength::Count(10), f64::NAN),
    ] {
        let segments = Segments::default().length(length).overlap(overlap);
        assert!(segments.spans(100, 4).is_err(), "{length:?} {overlap}");
    }
}

#[test]
fn lengths_in_seconds_need_a_sampling_frequency() {
    let quarter = Segments::default().length("0.25s".parse().unwrap());
    let error = quarter.spans(1000, 4).unwrap_err();
    let setting = Setting::SegmentLength;
    assert!(matches!(&error, Error::Setting { setting: s, .. } if *s == setting));
    assert!(error.to_string().contains("0.25 s"), "{error}");
    let pieces = quarter.sfreq(200.0).spans(1000, 4).unwrap();
    assert_eq!((pieces.len(), pieces[1][0].clone()), (20, 50..100));
    for text in ["", "s", "1.5", "-3", "quickly", "1 s s"] {
        let error = text.parse::<SegmentLength>().unwrap_err().to_string();
        assert!(error.contains("0.25s"), "{error}");
    }
    for text in ["0s", "-1s", "NaNs", "1h"] {
        let segments = text
            .parse::<SegmentLength>()
            .map(|length| Segments::default().length(length).sfreq(200.0));
        let pieces = segments.and_then(|s| s.spans(1000, 4));
        assert!(pieces.is_err(), "{text}");
    }
    assert_eq!(" 1.5 s".parse(), Ok(SegmentLength::Seconds(1.5)));
}

#[test]
fn automatic_length_covers_the_recording() {
    for (sfreq, components, samples, overlap, length) in [
        (Some(600.0), 40, 14_400, 0.0, 150),
        (Some(600.0), 306, 14_400, 0.0, 612),
        (Some(600.0), 40, 14_321, 0.5, 150),
        (None, 4, 20_000, 0.0, 40),
        (Some(600.0), 40, 60, 0.0, 60),
        (Some(1000.0), 300, 36_000_000, 0.0, 48_453),
    ] {
        let segments = Segments::default().sfreq(sfreq).overlap(overlap);
        assert_eq!(segments.automatic_length(samples, components), length);
        let pieces = segments.spans(samples, components).unwrap();
        assert!(pieces[0][0].len() >= length && pieces[0][0].len() < 2 * length);
        assert_eq!(
            (pieces[0][0].start, pieces[pieces.len() - 1][0].end),
            (0, samples)
        );
    }
}
