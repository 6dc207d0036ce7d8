//! Which channels are separated, and what is known of them.

use codiag::signals::simulate::{eeg_with_blinks, nonstationary};
use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, Place};

#[test]
fn channels_named_for_the_eyes_are_compared_and_left_alone() {
    let made = eeg_with_blinks(8, 5, 60.0, 4);
    let place = Place::new();
    // A ninth channel: the blinks themselves, on a drift.
    let mut data = made.data.clone();
    let eog = made.sources.row(0).iter().enumerate();
    data.extend(eog.map(|(t, x)| 300.0 * x + 0.01 * t as f64));
    place.write(
        "recording.npy",
        Array::of(&format!("(9, {})", made.samples), &data),
    );
    let names: Vec<String> = (0..8)
        .map(|c| format!("EEG {c}"))
        .chain(["veog".to_owned()])
        .collect();
    place.write("names.txt", names.join("\n"));
    place
        .codiag("separate recording.npy --sfreq 250 --names names.txt --exclude 0 -o r")
        .assert()
        .success()
        .stdout(contains("its correlation with veog is"));
    let report = place.json("r/report.json");
    assert_eq!(report["input"]["channels"], 8);
    assert_eq!(report["input"]["names"][3], "EEG 3");
    let cleaned = place.array("r/cleaned.npy");
    assert_eq!(cleaned.shape, [9, made.samples]);
    assert_eq!(cleaned.data[8 * made.samples..], data[8 * made.samples..]);
}

/// Channels that are picked, filtered and named as references, and what the report says of it.
#[test]
fn a_recording_is_picked_filtered_and_compared() {
    let made = eeg_with_blinks(12, 6, 60.0, 2);
    let place = Place::new();
    let drifting: Vec<f64> = made
        .data
        .iter()
        .enumerate()
        .map(|(t, x)| x + 200.0 * (t as f64 / 2000.0).sin())
        .collect();
    place.write(
        "recording.npy",
        Array::of(&format!("(12, {})", made.samples), &drifting),
    );
    let names: Vec<String> = (0..12).map(|c| format!("E{c}")).collect();
    place.write("names.txt", names.join("\n"));
    let run = |options: &str| {
        let all = format!("separate recording.npy --sfreq 250 --n-components 6 {options} -o r");
        place.codiag(&all).assert().success()
    };
    run("").stderr(contains("drifts over several seconds are").and(contains("--highpass 1")));
    run("--highpass 1 --lowpass 60 --names names.txt --bads E11 --eog E0 --exclude 0")
        .stderr(contains("drifts").not())
        .stdout(contains("its correlation with E0 is"));
    let report = place.json("r/report.json");
    assert_eq!(report["input"]["channels"], 11);
    assert_eq!(report["settings"]["highpass"], 1.0);
    assert_eq!(report["settings"]["segments"], "auto");
    assert_eq!(report["settings"]["scale"], "none");
    assert_eq!(report["settings"]["thresholds"]["correlation"], 0.4);
    let scores = report["sources"][0]["scores"].as_array().unwrap();
    assert_eq!((scores.len(), &scores[4]["reference"]), (5, &"E0".into()));
    let methods = report["methods"].as_str().unwrap();
    for words in [
        "11 channels",
        "between 1 and 60 Hz",
        "Pham & Cardoso 2001",
        "with E0",
        "0 was removed",
    ] {
        assert!(methods.contains(words), "{words}: {methods}");
    }
    let cited = report["references"].as_array().unwrap();
    assert!(
        cited
            .iter()
            .any(|r| r.as_str().unwrap().contains("nonstationary sources"))
    );
    // The recording itself is not filtered, and the channel that is bad is as it was.
    let cleaned = place.array("r/cleaned.npy");
    let last = 11 * made.samples;
    assert_eq!(cleaned.data[last..], drifting[last..]);
    let mean = |x: &[f64]| x[..1000].iter().sum::<f64>() / 1000.0;
    assert!(
        (mean(&cleaned.data[last - made.samples..]) / mean(&drifting[last - made.samples..]) - 1.0)
            .abs()
            < 0.2
    );
    run("--picks 0,1,2,3,4,5,6 --segment-length 500ms --thresholds blink=1.1");
    let report = place.json("r/report.json");
    assert_eq!(report["input"]["channels"], 7);
    assert_eq!(report["segments"][1][0], serde_json::json!([125, 250]));
    assert!(
        !report
            .to_string()
            .contains("\"artifacts\":[{\"by\":\"form\",\"kind\":\"blink\"")
    );
    run("--bands 1-8,8-20,20-60 --segment-length 15s");
    assert_eq!(place.array("r/diagonals.npy").shape, [12, 6]);
}

/// Every source that is flagged has its figures, however many there are before it.
#[test]
fn flagged_sources_are_shown_wherever_they_stand() {
    let made = nonstationary(30, 100, 200, 4);
    let place = Place::new();
    let mut data = made.data.clone();
    // A steady hum on all channels is the source that varies least.
    for (c, row) in data.chunks_exact_mut(made.samples).enumerate() {
        for (t, x) in row.iter_mut().enumerate() {
            *x += (c as f64 - 9.0) * (std::f64::consts::TAU * 0.2 * t as f64).sin();
        }
    }
    place.write(
        "recording.npy",
        Array::of(&format!("(30, {})", made.samples), &data),
    );
    place
        // White sources that come and go are like muscles.
        .codiag("separate recording.npy --sfreq 250 --n-segments 100 --thresholds muscle=1.1 -o r")
        .assert()
        .success()
        .stdout(contains("looks like line noise"));
    let report = place.json("r/report.json");
    let sources = report["sources"].as_array().unwrap();
    let hum = sources
        .iter()
        .position(|source| source["artifacts"][0]["kind"] == "line noise")
        .unwrap();
    assert!(hum > 24, "{hum}");
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    // Figures of the first 24 sources, and of the flagged one.
    let shown = |k: usize| page.contains(&format!("id=\"source-{k}\""));
    assert!((0..30).all(|k| shown(k) == (k < 24 || k == hum)));
    assert!(page.contains("The other 5 are in sources.npy"));
}

/// What a caller that knows more than numbers hands over.
#[test]
fn names_places_and_bad_spans_come_from_the_info_file() {
    let made = nonstationary(6, 50, 200, 6);
    let mut data = made.data.clone();
    data[2 * made.samples + 5000] = f64::NAN;
    let place = Place::new();
    place.write(
        "recording.npy",
        Array::of(&format!("(6, {})", made.samples), &data),
    );
    place.write(
        "eog.npy",
        Array::of(&format!("(1, {})", made.samples), made.sources.row(2)),
    );
    let info = serde_json::json!({
        "name": "subject <1>",
        "names": ["Fp1", "Fp2", "Cz", "O1", "O2", "Fz"],
        "positions": [[-0.3, 0.9], [0.3, 0.9], [0.0, 0.0], [-0.3, -0.9], [0.3, -0.9], null],
        "groups": [0, 0, 0, 1, 1, 1],
        "bad": [[4990, 5010]],
        "references": [{"name": "EOG 061", "kind": "blink"}],
        "reference_file": "eog.npy",
    });
    place.write("info.json", info.to_string());
    place
        .codiag("separate recording.npy --sfreq 100 --info info.json -o r")
        .assert()
        .success()
        .stdout(contains("subject <1>").and(contains("its correlation with EOG 061 is")));
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    assert!(page.contains("class=\"topography\""));
    assert!(page.contains("with EOG 061") && page.contains("Methods, in words"));
    let report = place.json("r/report.json");
    assert_eq!(report["settings"]["scale"], "types");
    assert!(
        page.contains("Sources of subject &lt;1&gt;") && page.contains("strongest at channels")
    );
    assert!(!page.contains("NaN"));
    place.write("info.json", "{\"names\": [\"Cz\"]}");
    place
        .codiag("separate recording.npy --info info.json")
        .assert()
        .code(2)
        .stderr("error: recording.npy: expected 6 names, one per channel, got 1\n");
    place.write("info.json", "{\"color\": 3}");
    let wrong = place
        .codiag("separate recording.npy --info info.json")
        .assert();
    wrong
        .code(2)
        .stderr(contains("error: info.json: unknown field `color`"));
}
