//! `codiag separate`: from a recording to its sources, and back.

use codiag::Matrix;
use codiag::signals::simulate::{Simulation, eeg_with_blinks, nonstationary};
use codiag::synthetic::amari_distance;
use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, Place, largest_difference};

/// A place with a recording in it.
fn place(made: &Simulation) -> Place {
    let place = Place::new();
    let shape = format!("({}, {})", made.channels, made.samples);
    place.write("recording.npy", Array::of(&shape, &made.data));
    place
}

fn matrix(array: &Array) -> Matrix {
    Matrix::from_rows(array.shape[0], array.shape[1], array.data.clone())
}

fn product(x: &Array, y: &Array) -> Vec<f64> {
    let (rows, inner, columns) = (x.shape[0], x.shape[1], y.shape[1]);
    let mut out = vec![0.0; rows * columns];
    for a in 0..rows {
        for k in 0..inner {
            for b in 0..columns {
                out[a * columns + b] += x.data[a * inner + k] * y.data[k * columns + b];
            }
        }
    }
    out
}

#[test]
fn writes_everything_and_it_fits_together() {
    let made = nonstationary(5, 60, 200, 1);
    let place = place(&made);
    place
        .codiag("separate recording.npy --rate 100 --segments 60 -o r")
        .assert()
        .success()
        .stdout(contains("5 channels of 12000 samples").and(contains("converged")));
    assert_eq!(
        place.files("r"),
        [
            "diagonals.npy",
            "filters.npy",
            "history.csv",
            "patterns.npy",
            "report.html",
            "report.json",
            "sources.npy"
        ]
    );
    let (filters, patterns) = (place.array("r/filters.npy"), place.array("r/patterns.npy"));
    assert!(amari_distance(&matrix(&filters), &made.mixing) < 0.05);
    let identity: Vec<f64> = (0..25).map(|k| f64::from(u8::from(k % 6 == 0))).collect();
    assert!(largest_difference(&product(&filters, &patterns), &identity) < 1e-10);
    let sources = place.array("r/sources.npy");
    assert_eq!(sources.shape, [5, 12_000]);
    let expected = product(&filters, &place.array("recording.npy"));
    assert!(largest_difference(&sources.data, &expected) < 1e-9);
    assert_eq!(place.array("r/diagonals.npy").shape, [60, 5]);
    let report = place.json("r/report.json");
    assert_eq!(report["converged"], true);
    assert_eq!(report["components"], 5);
    assert_eq!(report["input"]["rate"], 100.0);
    assert_eq!(report["segments"][1][0], serde_json::json!([200, 400]));
    assert_eq!(report["sources"].as_array().unwrap().len(), 5);
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    for heading in [
        "artefact",
        "All sources",
        "One by one",
        "Convergence",
        "Spectrum",
    ] {
        assert!(page.contains(heading), "{heading}");
    }
}

/// SOBI, AMUSE and JADE: the files fit together, and the page shows what tells sources apart.
#[test]
fn other_roads_write_the_same_files() {
    let made = eeg_with_blinks(8, 4, 60.0, 2);
    let place = place(&made);
    for (options, by, rows, shown) in [
        ("--sobi --lags 1:30,40", "lags", 31, "Autocorrelation"),
        (
            "--sobi --lags 1:10 --segments 3",
            "lags",
            30,
            "Autocorrelation",
        ),
        ("--amuse", "lags", 1, "Autocorrelation"),
        ("--jade", "cumulants", 10, "Distribution"),
    ] {
        let all = format!("separate recording.npy --rate 250 --components 4 {options} -o r");
        place.codiag(&all).assert().success();
        let (filters, patterns) = (place.array("r/filters.npy"), place.array("r/patterns.npy"));
        let identity: Vec<f64> = (0..16).map(|k| f64::from(u8::from(k % 5 == 0))).collect();
        assert!(largest_difference(&product(&filters, &patterns), &identity) < 1e-10);
        assert_eq!(place.array("r/diagonals.npy").shape, [rows, 4], "{options}");
        let report = place.json("r/report.json");
        assert_eq!(report["settings"]["by"], by, "{options}");
        let kurtosis = &report["sources"][0]["kurtosis"];
        assert_eq!(kurtosis.is_number(), by == "cumulants", "{options}");
        // Sources have unit variance.
        let sources = place.array("r/sources.npy");
        for row in sources.data.chunks_exact(made.samples) {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance: f64 = row.iter().map(|x| (x - mean).powi(2)).sum();
            // That of segments is about their own means.
            assert!((variance / row.len() as f64 - 1.0).abs() < 0.2, "{options}");
        }
        let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
        assert!(
            page.contains(shown) && !page.contains("Power over time"),
            "{options}"
        );
    }
}

#[test]
fn sources_that_cannot_be_told_apart_are_named() {
    // White and Gaussian, of constant power: nothing tells them apart.
    let place = place(&nonstationary(2, 1, 5000, 3));
    for options in ["--sobi", "--amuse", "--jade"] {
        let stderr = contains("can hardly be told apart").and(contains("only one matrix").not());
        let all = format!("separate recording.npy {options}");
        place.codiag(&all).assert().success().stderr(stderr);
    }
}

#[test]
fn blinks_are_named_with_a_reason_and_taken_out() {
    let made = eeg_with_blinks(12, 6, 80.0, 2);
    let place = place(&made);
    place
        .codiag("separate recording.npy --rate 250 -o r")
        .assert()
        .success()
        .stdout(contains("looks like blinks: rare one-sided bumps"));
    let report = place.json("r/report.json");
    let blink = report["sources"]
        .as_array()
        .unwrap()
        .iter()
        .position(|source| source["artefacts"][0]["kind"] == "blink")
        .unwrap();
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    assert!(page.contains(&format!("--exclude {blink}")));
    let again = format!("separate recording.npy --rate 250 --exclude {blink} -o clean");
    place.codiag(&again).assert().success();
    let cleaned = place.array("clean/cleaned.npy");
    assert_eq!(cleaned.shape, [12, made.samples]);
    // The first channel without its blinks, as it was made.
    let blinks = made.sources.row(0).iter();
    let truth = made
        .data
        .iter()
        .zip(blinks)
        .map(|(x, blink)| x - made.mixing[(0, 0)] * blink);
    let (mut error, mut power) = (0.0, 0.0);
    for (x, truth) in cleaned.data.iter().zip(truth) {
        error += (x - truth).powi(2);
        power += truth.powi(2);
    }
    assert!(error < 0.05 * power, "{error} of {power}");
    // What is written is x − A_e B_e x.
    let (b, a) = (
        place.array("clean/filters.npy"),
        place.array("clean/patterns.npy"),
    );
    let t = 777;
    let source: f64 = (0..12)
        .map(|c| b.data[blink * 12 + c] * made.data[c * made.samples + t])
        .sum();
    for c in 0..12 {
        let expected = made.data[c * made.samples + t] - a.data[c * a.shape[1] + blink] * source;
        assert!((cleaned.data[c * made.samples + t] - expected).abs() < 1e-9);
    }
}

#[test]
fn any_order_type_and_text_give_the_same_sources() {
    let made = nonstationary(3, 40, 100, 5);
    let place = place(&made);
    let run = |input: &str, output: &str| {
        let args = format!("-q separate {input} --segments 40 --threads 1 -o {output}");
        place.codiag(&args).assert().success();
        place.array(&format!("{output}/sources.npy")).data
    };
    let expected = run("recording.npy", "c");
    let mut columns = Vec::new();
    for t in 0..made.samples {
        for c in 0..3 {
            columns.extend(made.data[c * made.samples + t].to_le_bytes());
        }
    }
    place.write("f.npy", Array::bytes("<f8", true, "(3, 4000)", &columns));
    assert_eq!(run("f.npy", "f"), expected);
    let big: Vec<u8> = made.data.iter().flat_map(|x| x.to_be_bytes()).collect();
    place.write("big.npy", Array::bytes(">f8", false, "(3, 4000)", &big));
    assert_eq!(run("big.npy", "b"), expected);
    let text: Vec<String> = made
        .data
        .chunks_exact(made.samples)
        .map(|row| {
            row.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(",")
        })
        .collect();
    place.write("text.csv", text.join("\n"));
    assert_eq!(run("text.csv", "t"), expected);
}

#[test]
fn options_reach_the_library() {
    let made = nonstationary(6, 50, 200, 3);
    let place = place(&made);
    let report = |options: &str| {
        let args = format!("separate recording.npy --json {options}");
        let output = place
            .codiag(&args)
            .assert()
            .success()
            .get_output()
            .stdout
            .clone();
        serde_json::from_slice::<serde_json::Value>(&output).unwrap()
    };
    assert_eq!(report("--components 4")["components"], 4);
    let share = report("--components 0.8");
    assert!(share["kept_variance"].as_f64().unwrap() >= 0.8);
    assert!(share["components"].as_u64().unwrap() < 6);
    assert_eq!(
        report("--segment-length 500")["segments"]
            .as_array()
            .unwrap()
            .len(),
        20
    );
    let overlapping = report("--segment-length 500 --overlap 0.5");
    assert_eq!(overlapping["segments"].as_array().unwrap().len(), 39);
    let auto = report("--shrinkage auto");
    assert!(auto["shrinkages"][0].as_f64().unwrap() > 0.0);
    let bands =
        report("--rate 100 --bands 1-10,10-20,20-35,35-50 --window-length 100 --max-iter 3000");
    assert_eq!(bands["settings"]["bands"].as_array().unwrap().len(), 4);
    assert_eq!(bands["residuals"].as_array().unwrap().len(), 4);
    assert_eq!(
        report("--rate 100 --bands 8")["residuals"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
    assert_eq!(report("--scale rms --components 3")["components"], 3);
    // A warm start from filters of an earlier run is the answer already.
    place
        .codiag("separate recording.npy -o first")
        .assert()
        .success();
    assert_eq!(report("--start first/filters.npy")["iterations"], 0);
}

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
        .codiag("separate recording.npy --rate 250 --names names.txt --exclude 0 -o r")
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
        let all = format!("separate recording.npy --rate 250 --components 6 {options} -o r");
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
            .contains("\"artefacts\":[{\"by\":\"form\",\"kind\":\"blink\"")
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
        .codiag("separate recording.npy --rate 250 --segments 100 --thresholds muscle=1.1 -o r")
        .assert()
        .success()
        .stdout(contains("looks like line noise"));
    let report = place.json("r/report.json");
    let sources = report["sources"].as_array().unwrap();
    let hum = sources
        .iter()
        .position(|source| source["artefacts"][0]["kind"] == "line noise")
        .unwrap();
    assert!(hum > 24, "{hum}");
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    assert!(page.contains(&format!("id=\"source-{hum}\"")));
    assert_eq!(page.matches("id=\"source-").count(), 25);
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
        .codiag("separate recording.npy --rate 100 --info info.json -o r")
        .assert()
        .success()
        .stdout(contains("subject <1>").and(contains("its correlation with EOG 061 is")));
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    // Each at a glance, and one by one.
    assert_eq!(page.matches("class=\"topography\"").count(), 12);
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
    place.write("info.json", "{\"colour\": 3}");
    let wrong = place
        .codiag("separate recording.npy --info info.json")
        .assert();
    wrong
        .code(2)
        .stderr(contains("error: info.json: unknown field `colour`"));
}

/// What is asked for, and what is said of it.
const COMPLAINTS: [(&str, &str); 34] = [
    ("nowhere.npy", "nowhere.npy: cannot be read: no such file"),
    (
        "recording.fif",
        "recording.fif: expected a recording as .npy or .csv",
    ),
    (
        "recording.npy --segments 100",
        "segment 0 has 10 samples, but a 10 x 10 matrix needs at least 11: take fewer",
    ),
    (
        "recording.npy --segments 0",
        "recording.npy: --segments must be at least 1, got 0",
    ),
    (
        "recording.npy --segment-length 2000",
        "--segment-length must be",
    ),
    (
        "recording.npy --segments 5 --overlap 1",
        "--overlap must be at least 0 and below 1, got 1",
    ),
    (
        "recording.npy --segments 5 --components 11",
        "--components must be a number from 1",
    ),
    (
        "recording.npy --segments 5 --shrinkage much",
        "--shrinkage must be a number between 0 and 1",
    ),
    (
        "recording.npy --segments 5 --shrinkage 2",
        "--shrinkage must be a number between 0 and 1",
    ),
    ("recording.npy --bands 1-4", "--bands needs --rate"),
    (
        "recording.npy --segment-length 1.5",
        "expected a whole number of samples, or a time such as 0.25s",
    ),
    (
        "recording.npy --segment-length 0.25s",
        "--segment-length must be a number of samples where the rate",
    ),
    (
        "recording.npy --picks Cz",
        "--picks names the channel \"Cz\", which is not there: they have no names (--names), but numbers from 0 to 9",
    ),
    (
        "recording.npy --bads 10",
        "--bads names the channel \"10\", which is not there",
    ),
    (
        "recording.npy --rate 100 --highpass 50",
        "--highpass must be above 0 and below half the rate, 50 Hz, got 50",
    ),
    (
        "recording.npy --rate 100 --highpass 20 --lowpass 10",
        "--highpass must be below --lowpass",
    ),
    (
        "recording.npy --rate 100 --thresholds sneeze=1",
        "expected scores such as blink=0.7,heartbeat=0.3",
    ),
    (
        "recording.npy --bands 4-1 --rate 100",
        "--bands must be pairs of rising frequencies",
    ),
    (
        "recording.npy --bands high",
        "expected bands such as 1-4,4-8,8-13",
    ),
    (
        "recording.npy --rate 0",
        "--rate must be a positive number of samples per second, got 0",
    ),
    (
        "recording.npy --segments 5 --exclude 10",
        "--exclude names source 10, but there are 10",
    ),
    (
        "recording.npy --segments 5 --start recording.npy",
        "recording.npy: the start must be 10 x 10",
    ),
    (
        "recording.npy --segments 5 -o file",
        "file: cannot be written",
    ),
    (
        "recording.npy --segments 5 --names file",
        "file: there are no names in it",
    ),
    (
        "flat.npy",
        "flat.npy: expected an array of shape (channels, samples), got (7,)",
    ),
    (
        "tall.npy",
        "expected channels x samples, got 3 x 2, more channels than samples: is it transposed?",
    ),
    (
        "nan.npy --segments 2",
        "nan.npy: channel 1, sample 2 is NaN, not a finite number",
    ),
    (
        "cut.npy",
        "cut.npy: the file is truncated: its shape (2, 5) needs 10 numbers, but only 3",
    ),
    (
        "recording.npy --lags 1:3",
        "--lags is for --sobi and --amuse",
    ),
    (
        "recording.npy --sobi --lags 3:1",
        "expected lags in samples such as 1:100",
    ),
    (
        "recording.npy --amuse --lags 1:3",
        "--amuse is for a single lag, got 3",
    ),
    (
        "recording.npy --sobi --lags 1000",
        "--lags must be shorter than the recording and its segments",
    ),
    (
        "recording.npy --jade --shrinkage 0.1",
        "--shrinkage must be 0 for lags and cumulants",
    ),
    (
        "zero.npy --segments 2",
        "zero.npy: the recording must be more than constants",
    ),
];

#[test]
fn bad_input_is_one_line_that_says_what_helps() {
    let made = nonstationary(10, 10, 100, 7);
    let place = place(&made);
    place.write("file", "");
    place.write("recording.fif", "fif");
    place.write("flat.npy", Array::of("(7,)", &[0.0; 7]));
    place.write("tall.npy", Array::of("(3, 2)", &[0.0; 6]));
    let mut numbers = [1.0; 20];
    numbers[12] = f64::NAN;
    place.write("nan.npy", Array::of("(2, 10)", &numbers));
    place.write("cut.npy", Array::of("(2, 5)", &[0.0; 3]));
    place.write("zero.npy", Array::of("(2, 50)", &[0.0; 100]));
    for (args, expected) in COMPLAINTS {
        let assert = place.codiag(&format!("separate {args}")).assert().code(2);
        let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(text.contains(expected), "{args}: {text}");
        assert!(
            text.starts_with("error: ") && text.lines().count() == 1,
            "{args}: {text}"
        );
        assert!(assert.get_output().stdout.is_empty(), "{args}");
    }
}

#[test]
fn an_iteration_limit_is_said_and_leaves_the_best_so_far() {
    let place = place(&nonstationary(6, 50, 200, 8));
    place
        .codiag("-q separate recording.npy --method pham --start identity --max-iter 1 -o r")
        .assert()
        .code(1)
        .stdout("")
        .stderr(
            contains("start again from filters.npy with --start")
                .and(contains("--shrinkage auto make surer matrices")),
        );
    assert!(place.files("r").contains(&"sources.npy".to_owned()));
}

#[test]
fn an_interruption_before_the_solve_writes_nothing() {
    let place = place(&nonstationary(4, 50, 200, 9));
    let interrupted = std::sync::atomic::AtomicBool::new(true);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut session = codiag_cli::Session::new(&b""[..], &mut out, &mut err, &interrupted);
    let path = |name: &str| place.path(name).into_os_string();
    let args = [
        "codiag".into(),
        "separate".into(),
        path("recording.npy"),
        "-o".into(),
        path("r"),
    ];
    assert_eq!(codiag_cli::run(args, &mut session), codiag_cli::INTERRUPTED);
    drop(session);
    let said = String::from_utf8(err).unwrap();
    assert_eq!(said, "warning: interrupted: nothing was written\n");
    assert!(out.is_empty());
    assert_eq!(place.files("r"), [""; 0]);
}
