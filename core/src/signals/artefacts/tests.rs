//! Each kind of artefact is recognized, and nothing else is.

use super::*;
use crate::signals::simulate;

const RATE: f64 = 250.0;

fn noise(samples: usize, seed: u64) -> Vec<f64> {
    simulate::nonstationary(1, 1, samples, seed)
        .sources
        .into_vec()
}

fn kinds(source: &[f64], references: &[Reference<'_>]) -> Vec<ArtefactKind> {
    let found = artefacts(source, RATE, references);
    found.into_iter().map(|artefact| artefact.kind).collect()
}

/// Sharp beats at an interval that varies by a few percent, in noise.
fn beats(samples: usize, period: f64) -> Vec<f64> {
    let mut signal = noise(samples, 1);
    signal.iter_mut().for_each(|x| *x *= 0.3);
    let mut next = 0.3;
    for k in 0.. {
        let at = (next * RATE) as usize;
        if at + 10 > samples {
            break;
        }
        for (x, height) in signal[at..]
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
fn each_kind_is_seen_for_what_it_is() {
    let samples = 60 * 250;
    let blinks = simulate::eeg_with_blinks(2, 2, 60.0, 0);
    assert_eq!(kinds(blinks.sources.row(0), &[]), [ArtefactKind::Blink]);
    let found = artefacts(&beats(samples, 0.85), RATE, &[]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, ArtefactKind::Heartbeat);
    assert!(
        found[0].reason.contains("sharp peaks 7"),
        "{}",
        found[0].reason
    );
    let hum: Vec<f64> = (0..samples)
        .zip(noise(samples, 2))
        .map(|(t, x)| 2.0 * (std::f64::consts::TAU * 60.0 * t as f64 / RATE).sin() + x)
        .collect();
    let found = artefacts(&hum, RATE, &[]);
    assert_eq!(found[0].kind, ArtefactKind::LineNoise);
    assert!(found[0].reason.contains("at 60 Hz"), "{}", found[0].reason);
    let swelling: Vec<f64> = (0..samples)
        .zip(&hum)
        .map(|(t, x)| (1.0 + 0.8 * (t as f64 / RATE).sin()) * x)
        .collect();
    assert_eq!(kinds(&swelling, &[]), [ArtefactKind::LineNoise]);
    // Noise with its slow half taken off, in bursts of some seconds.
    let white = noise(samples, 3);
    let bursts: Vec<f64> = (1..samples)
        .map(|t| (white[t] - white[t - 1]) * if t / 800 % 3 == 0 { 5.0 } else { 1.0 })
        .collect();
    assert_eq!(kinds(&bursts, &[]), [ArtefactKind::Muscle]);
}

#[test]
fn what_is_none_of_these_is_called_none() {
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
fn a_reference_channel_is_believed_drift_or_not() {
    let samples = 60 * 250;
    let source = noise(samples, 5);
    let drifting: Vec<f64> = source
        .iter()
        .enumerate()
        .map(|(t, x)| 1000.0 + 0.01 * t as f64 - 2.0 * x)
        .collect();
    let reference = Reference::new("EOG 061", ArtefactKind::Blink, &drifting);
    let found = artefacts(&source, RATE, &[reference]);
    assert_eq!(found[0].kind, ArtefactKind::Blink);
    assert_eq!(found[0].reason, "its correlation with EOG 061 is -1.00");
    let other = noise(samples, 6);
    let unrelated = Reference::new("ECG", ArtefactKind::Heartbeat, &other);
    assert_eq!(kinds(&source, &[unrelated]), []);
}
