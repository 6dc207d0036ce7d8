//! Detection of artifacts.

use codiag::signals::{
    ArtifactDetector, ArtifactKind, Evidence, ReferenceChannel, Thresholds, find_artifacts,
    simulate,
};
/// Sampling frequency in hertz.
const SFREQ: f64 = 250.0;

fn noise(samples: usize, seed: u64) -> Vec<f64> {
    simulate::nonstationary(1, 1, samples, seed)
        .sources
        .into_vec()
}

fn kinds(source: &[f64], references: &[ReferenceChannel<'_>]) -> Vec<ArtifactKind> {
    let found = find_artifacts(source, SFREQ, references);
    found.into_iter().map(|artifact| artifact.kind).collect()
}

/// Heartbeats with a period that varies by a few percent, in noise.
fn beats(samples: usize, period: f64) -> Vec<f64> {
    let mut signal = noise(samples, 1);
    signal.iter_mut().for_each(|x| *x *= 0.3);
    let mut next = 0.3;
    for k in 0.. {
        let first = (next * SFREQ) as usize;
        if first + 10 > samples {
            break;
        }
        for (x, height) in signal[first..]
            .iter_mut()
            .zip([-1.0, 4.0, 10.0, 3.0, -3.0, -1.0])
        {
            *x += height;
        }
        next += period * (1.0 + 0.03 * f64::from(k).sin());
    }
    signal
}

#[test]
fn each_kind_of_artifact_is_recognized() {
    let samples = 60 * 250;
    let blinks = simulate::eeg_with_blinks(2, 2, 60.0, 0);
    assert_eq!(kinds(blinks.sources.row(0), &[]), [ArtifactKind::Blink]);
    let found = find_artifacts(&beats(samples, 0.85), SFREQ, &[]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, ArtifactKind::Heartbeat);
    assert!(
        found[0].reason.contains("sharp peaks 7"),
        "{}",
        found[0].reason
    );
    let hum: Vec<f64> = (0..samples)
        .zip(noise(samples, 2))
        .map(|(t, x)| 2.0 * (std::f64::consts::TAU * 60.0 * t as f64 / SFREQ).sin() + x)
        .collect();
    let found = find_artifacts(&hum, SFREQ, &[]);
    assert_eq!(found[0].kind, ArtifactKind::LineNoise);
    assert!(found[0].reason.contains("at 60 Hz"), "{}", found[0].reason);
    let modulated: Vec<f64> = (0..samples)
        .zip(&hum)
        .map(|(t, x)| (1.0 + 0.8 * (t as f64 / SFREQ).sin()) * x)
        .collect();
    assert_eq!(kinds(&modulated, &[]), [ArtifactKind::LineNoise]);
    // High-pass noise in bursts of a few seconds.
    let white = noise(samples, 3);
    let bursts: Vec<f64> = (1..samples)
        .map(|t| (white[t] - white[t - 1]) * if t / 800 % 3 == 0 { 5.0 } else { 1.0 })
        .collect();
    assert_eq!(kinds(&bursts, &[]), [ArtifactKind::Muscle]);
}

#[test]
fn other_sources_are_not_flagged() {
    let samples = 60 * 250;
    assert_eq!(kinds(&noise(samples, 4), &[]), []);
    let eeg = simulate::eeg_with_blinks(6, 6, 60.0, 1);
    for k in 1..6 {
        assert_eq!(kinds(eeg.sources.row(k), &[]), [], "rhythm {k}");
    }
    assert_eq!(kinds(&vec![0.0; samples], &[]), []);
    assert_eq!(kinds(&[f64::NAN; 1000], &[]), []);
    assert_eq!(kinds(&[1.0, 2.0], &[]), []);
}

#[test]
fn drift_of_a_reference_channel_has_no_effect() {
    let samples = 60 * 250;
    let source = noise(samples, 5);
    let drifting: Vec<f64> = source
        .iter()
        .enumerate()
        .map(|(t, x)| 1000.0 + 0.01 * t as f64 - 2.0 * x)
        .collect();
    let reference = ReferenceChannel::new("EOG 061", ArtifactKind::Blink, &drifting);
    let found = find_artifacts(&source, SFREQ, &[reference]);
    assert_eq!(found[0].kind, ArtifactKind::Blink);
    assert!(
        found[0]
            .reason
            .starts_with("its correlation with EOG 061 is -1.00"),
        "{}",
        found[0].reason
    );
    let other = noise(samples, 6);
    let unrelated = ReferenceChannel::new("ECG", ArtifactKind::Heartbeat, &other);
    assert_eq!(kinds(&source, &[unrelated]), []);
}

/// Each heartbeat has a weaker one at half its rate, like a fetal heart with a residue of the
/// maternal one.
#[test]
fn heart_rate_counts_every_beat() {
    let samples = 60 * 250;
    for (rate, period) in [
        (132.0, 60.0 / 132.0),
        (66.0, 60.0 / 66.0),
        (180.0, 60.0 / 180.0),
    ] {
        let mut source = beats(samples, period);
        let slower = beats(samples, 2.0 * period);
        source
            .iter_mut()
            .zip(&slower)
            .for_each(|(x, y)| *x += 0.4 * y);
        let found = find_artifacts(&source, SFREQ, &[]);
        assert_eq!(found[0].kind, ArtifactKind::Heartbeat, "{rate}");
        let reported = found[0].reason.split_whitespace().nth(2).unwrap();
        let reported: f64 = reported.parse().unwrap();
        assert!(
            (reported / rate - 1.0).abs() < 0.05,
            "{reported} beats per minute, expected {rate}"
        );
    }
}

/// A source with a weak heartbeat has a small correlation with the ECG, but a constant phase at the
/// beats.
#[test]
fn weak_heartbeat_is_detected_by_its_phase() {
    let samples = 60 * 250;
    let ecg = beats(samples, 0.85);
    // The heartbeat in the source is delayed and has another shape.
    let mut filtered = vec![0.0; samples];
    for t in 20..samples {
        filtered[t] =
            ecg[t - 12..t - 4].iter().sum::<f64>() - ecg[t - 20..t - 12].iter().sum::<f64>();
    }
    let (weak, none) = (noise(samples, 7), noise(samples, 8));
    let weak: Vec<f64> = weak
        .iter()
        .zip(&filtered)
        .map(|(x, y)| 6.0 * x + y)
        .collect();
    let reference = ReferenceChannel::new("ECG", ArtifactKind::Heartbeat, &ecg);
    let detector = ArtifactDetector::new(SFREQ, &[reference]);
    let score = |source: &[f64], wanted: &Evidence| {
        let scores = detector.scores(source);
        scores
            .into_iter()
            .find(|s| s.evidence == *wanted)
            .unwrap()
            .score
    };
    let (phase, correlation) = (
        Evidence::Phase("ECG".to_owned()),
        Evidence::Correlation("ECG".to_owned()),
    );
    assert!(score(&weak, &correlation) < Thresholds::default().correlation);
    assert!(score(&weak, &phase) > Thresholds::default().phase);
    let found = Thresholds::default().flagged(&detector.scores(&weak));
    assert_eq!(found[0].evidence, phase);
    assert!(
        found[0].reason.contains("peaks of ECG"),
        "{}",
        found[0].reason
    );
    assert_eq!(score(&none, &phase), 0.0);
    assert!(score(&ecg, &phase) > 0.7);
}

/// A reference channel replaces the detection by waveform for artifacts of its kind.
#[test]
fn flags_depend_on_thresholds_and_references() {
    let samples = 60 * 250;
    let generated = simulate::eeg_with_blinks(3, 3, 60.0, 0);
    let (eye, other) = (generated.sources.row(0), noise(samples, 9));
    let scores = ArtifactDetector::new(SFREQ, &[]).scores(eye);
    assert_eq!(scores.len(), 4);
    assert!(
        scores
            .iter()
            .all(|s| (0.0..=1.0).contains(&s.score) && !s.reason.is_empty())
    );
    let strict = Thresholds::default().blink(0.999_999);
    assert!(strict.flagged(&scores).is_empty());
    let unrelated = ReferenceChannel::new("EOG", ArtifactKind::Blink, &other);
    let scores = ArtifactDetector::new(SFREQ, &[unrelated]).scores(eye);
    assert!(scores[0].score > 0.7 && scores[4].score < 0.4);
    assert!(Thresholds::default().flagged(&scores).is_empty());
    // A channel without a signal has no effect.
    let flat = vec![0.0; samples];
    let scores = ArtifactDetector::new(
        SFREQ,
        &[ReferenceChannel::new("EOG", ArtifactKind::Blink, &flat)],
    )
    .scores(eye);
    assert_eq!(
        Thresholds::default().flagged(&scores)[0].kind,
        ArtifactKind::Blink
    );
}
