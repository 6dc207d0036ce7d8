//! Channels of `codiag separate`: names, picks, reference channels, filters and the file of
//! `--info`.

use codiag::signals::simulate::{eeg_with_blinks, nonstationary};
use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir};

#[test]
fn eog_channels_are_compared_and_not_separated() {
    let generated = eeg_with_blinks(8, 5, 60.0, 4);
    let dir = TestDir::new();
    // A ninth channel with the blinks and a drift.
    let mut data = generated.data.clone();
    let eog = generated.sources.row(0).iter().enumerate();
    data.extend(eog.map(|(t, x)| 300.0 * x + 0.01 * t as f64));
    dir.write(
        "recording.npy",
        Array::of(&format!("(9, {})", generated.samples), &data),
    );
    let names: Vec<String> = (0..8)
        .map(|c| format!("EEG {c}"))
        .chain(["veog".to_owned()])
        .collect();
    dir.write("names.txt", names.join("\n"));
    dir.codiag("separate recording.npy --sfreq 250 --names names.txt --exclude 0 -o r")
        .assert()
        .success()
        .stdout(contains("its correlation with veog is"));
    let report = dir.json("r/report.json");
    assert_eq!(report["input"]["channels"], 8);
    assert_eq!(report["input"]["names"][3], "EEG 3");
    let cleaned = dir.array("r/cleaned.npy");
    assert_eq!(cleaned.shape, [9, generated.samples]);
    assert_eq!(
        cleaned.data[8 * generated.samples..],
        data[8 * generated.samples..]
    );
}

#[test]
fn picks_filters_and_reference_channels_are_reported() {
    let generated = eeg_with_blinks(12, 6, 60.0, 2);
    let dir = TestDir::new();
    let drifting: Vec<f64> = generated
        .data
        .iter()
        .enumerate()
        .map(|(t, x)| x + 200.0 * (t as f64 / 2000.0).sin())
        .collect();
    dir.write(
        "recording.npy",
        Array::of(&format!("(12, {})", generated.samples), &drifting),
    );
    let names: Vec<String> = (0..12).map(|c| format!("E{c}")).collect();
    dir.write("names.txt", names.join("\n"));
    let run = |options: &str| {
        let all = format!("separate recording.npy --sfreq 250 --n-components 6 {options} -o r");
        dir.codiag(&all).assert().success()
    };
    run("").stderr(contains("slow drifts are").and(contains("--highpass 1")));
    run("--highpass 1 --lowpass 60 --names names.txt --bads E11 --eog E0 --exclude 0")
        .stderr(contains("drifts").not())
        .stdout(contains("its correlation with E0 is"));
    let report = dir.json("r/report.json");
    assert_eq!(report["input"]["channels"], 11);
    assert_eq!(report["settings"]["highpass"], 1.0);
    assert_eq!(report["settings"]["n_segments"], "auto");
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
    // The cleaned recording is not filtered, and the bad channel is unchanged.
    let cleaned = dir.array("r/cleaned.npy");
    let last = 11 * generated.samples;
    assert_eq!(cleaned.data[last..], drifting[last..]);
    let mean = |x: &[f64]| x[..1000].iter().sum::<f64>() / 1000.0;
    assert!(
        (mean(&cleaned.data[last - generated.samples..])
            / mean(&drifting[last - generated.samples..])
            - 1.0)
            .abs()
            < 0.2
    );
    run("--picks 0,1,2,3,4,5,6 --segment-length 500ms --thresholds blink=1.1");
    let report = dir.json("r/report.json");
    assert_eq!(report["input"]["channels"], 7);
    assert_eq!(report["segments"][1][0], serde_json::json!([125, 250]));
    assert!(
        !report
            .to_string()
            .contains("\"artifacts\":[{\"evidence\":\"waveform\",\"kind\":\"blink\"")
    );
    run("--bands 1-8,8-20,20-60 --segment-length 15s");
    assert_eq!(dir.array("r/diagonals.npy").shape, [12, 6]);
}

#[test]
fn flagged_sources_always_have_figures() {
    let generated = nonstationary(30, 100, 200, 4);
    let dir = TestDir::new();
    let mut data = generated.data.clone();
    // Line noise of constant power is the source that varies least.
    for (c, row) in data.chunks_exact_mut(generated.samples).enumerate() {
        for (t, x) in row.iter_mut().enumerate() {
            *x += (c as f64 - 9.0) * (std::f64::consts::TAU * 0.2 * t as f64).sin();
        }
    }
    dir.write(
        "recording.npy",
        Array::of(&format!("(30, {})", generated.samples), &data),
    );
    dir
        // Nonstationary white sources look like muscle activity.
        .codiag("separate recording.npy --sfreq 250 --n-segments 100 --thresholds muscle=1.1 -o r")
        .assert()
        .success()
        .stdout(contains("looks like line noise"));
    let report = dir.json("r/report.json");
    let sources = report["sources"].as_array().unwrap();
    let hum = sources
        .iter()
        .position(|source| source["artifacts"][0]["kind"] == "line noise")
        .unwrap();
    assert!(hum > 24, "{hum}");
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    // Figures of the first 24 sources, and of the flagged one.
    let shown = |k: usize| page.contains(&format!("id=\"S{k:02}\""));
    assert!((0..30).all(|k| shown(k) == (k < 24 || k == hum)));
    assert!(page.contains("The other 5 sources are not shown; they are in sources.npy"));
}

#[test]
fn info_file_gives_names_positions_and_bad_spans() {
    let generated = nonstationary(6, 50, 200, 6);
    let mut data = generated.data.clone();
    data[2 * generated.samples + 5000] = f64::NAN;
    let dir = TestDir::new();
    dir.write(
        "recording.npy",
        Array::of(&format!("(6, {})", generated.samples), &data),
    );
    dir.write(
        "eog.npy",
        Array::of(
            &format!("(1, {})", generated.samples),
            generated.sources.row(2),
        ),
    );
    let info = serde_json::json!({
        "name": "subject <1>",
        "names": ["Fp1", "Fp2", "Cz", "O1", "O2", "Fz"],
        "positions": [[-0.3, 0.9], [0.3, 0.9], [0.0, 0.0], [-0.3, -0.9], [0.3, -0.9], null],
        "groups": [0, 0, 0, 1, 1, 1],
        "bad_spans": [[4990, 5010]],
        "reference_channels": [{"name": "EOG 061", "kind": "blink"}],
        "reference_file": "eog.npy",
    });
    dir.write("info.json", info.to_string());
    dir.codiag("separate recording.npy --sfreq 100 --info info.json -o r")
        .assert()
        .success()
        .stdout(contains("subject <1>").and(contains("its correlation with EOG 061 is")));
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    assert!(page.contains("class=\"topography\""));
    assert!(page.contains("with EOG 061") && page.contains("<h2>Methods</h2>"));
    let report = dir.json("r/report.json");
    assert_eq!(report["settings"]["scale"], "types");
    assert!(
        page.contains("Sources of subject &lt;1&gt;") && page.contains("strongest at channels")
    );
    assert!(!page.contains("NaN"));
    dir.write("info.json", "{\"names\": [\"Cz\"]}");
    dir.codiag("separate recording.npy --info info.json")
        .assert()
        .code(2)
        .stderr("error: recording.npy: expected 6 names, one per channel, got 1\n");
    dir.write("info.json", "{\"color\": 3}");
    let wrong = dir
        .codiag("separate recording.npy --info info.json")
        .assert();
    wrong
        .code(2)
        .stderr(contains("error: info.json: unknown field `color`"));
}
