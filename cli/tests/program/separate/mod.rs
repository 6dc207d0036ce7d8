//! `codiag separate`: sources, cleaned recordings and options.

mod channels;
mod errors;

use codiag::Matrix;
use codiag::signals::simulate::{Simulation, eeg_with_blinks, nonstationary};
use codiag::synthetic::amari_distance;
use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir, check_links, largest_difference};

/// Returns a folder with a recording.
fn dir(made: &Simulation) -> TestDir {
    let dir = TestDir::new();
    let shape = format!("({}, {})", made.channels, made.samples);
    dir.write("recording.npy", Array::of(&shape, &made.data));
    dir
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
fn output_files_are_consistent() {
    let made = nonstationary(5, 60, 200, 1);
    let dir = dir(&made);
    dir.codiag("separate recording.npy --sfreq 100 --n-segments 60 -o r")
        .assert()
        .success()
        .stdout(contains("5 channels of 12000 samples").and(contains("converged")));
    assert_eq!(
        dir.files("r"),
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
    let (filters, patterns) = (dir.array("r/filters.npy"), dir.array("r/patterns.npy"));
    assert!(amari_distance(&matrix(&filters), &made.mixing) < 0.05);
    let identity: Vec<f64> = (0..25).map(|k| f64::from(u8::from(k % 6 == 0))).collect();
    assert!(largest_difference(&product(&filters, &patterns), &identity) < 1e-10);
    let sources = dir.array("r/sources.npy");
    assert_eq!(sources.shape, [5, 12_000]);
    let expected = product(&filters, &dir.array("recording.npy"));
    assert!(largest_difference(&sources.data, &expected) < 1e-9);
    assert_eq!(dir.array("r/diagonals.npy").shape, [60, 5]);
    let report = dir.json("r/report.json");
    assert_eq!(report["converged"], true);
    assert_eq!(report["n_components"], 5);
    assert_eq!(report["input"]["sfreq"], 100.0);
    assert_eq!(report["segments"][1][0], serde_json::json!([200, 400]));
    assert_eq!(report["sources"].as_array().unwrap().len(), 5);
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    for heading in [
        "Suspected artifacts",
        "Artifact scores",
        "All sources",
        "Individual sources",
        "Convergence",
        "Methods",
        "Files",
    ] {
        assert!(page.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
    check_links(&page);
    assert!(page.contains("Spectrum") && !page.contains("Before and after"));
    let (top, _) = page.split_once("<h2>").unwrap();
    for words in [
        "<details",
        env!("CARGO_PKG_VERSION"),
        "<code>codiag separate recording.npy",
        "<code>sfreq</code>",
        " UTC",
    ] {
        assert!(top.contains(words), "{words}");
    }
}

#[test]
fn sound_has_no_artifact_sections() {
    let made = nonstationary(3, 20, 400, 5);
    let dir = dir(&made);
    dir.codiag("separate recording.npy --sfreq 8000 -o r")
        .assert()
        .success()
        .stdout(contains("looks like").not());
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    assert!(page.contains("Spectrum") && !page.contains("artifact"));
    check_links(&page);
}

#[test]
fn sobi_amuse_and_jade_write_consistent_files() {
    let made = eeg_with_blinks(8, 4, 60.0, 2);
    let dir = dir(&made);
    for (options, contrast, rows, figure) in [
        ("--sobi --lags 1:30,40", "lags", 31, "Autocorrelation"),
        (
            "--sobi --lags 1:10 --n-segments 3",
            "lags",
            30,
            "Autocorrelation",
        ),
        ("--amuse", "lags", 1, "Autocorrelation"),
        ("--jade", "cumulants", 10, "Distribution"),
    ] {
        let all = format!("separate recording.npy --sfreq 250 --n-components 4 {options} -o r");
        dir.codiag(&all).assert().success();
        let (filters, patterns) = (dir.array("r/filters.npy"), dir.array("r/patterns.npy"));
        let identity: Vec<f64> = (0..16).map(|k| f64::from(u8::from(k % 5 == 0))).collect();
        assert!(largest_difference(&product(&filters, &patterns), &identity) < 1e-10);
        assert_eq!(dir.array("r/diagonals.npy").shape, [rows, 4], "{options}");
        let report = dir.json("r/report.json");
        assert_eq!(report["settings"]["contrast"], contrast, "{options}");
        let kurtosis = &report["sources"][0]["kurtosis"];
        assert_eq!(kurtosis.is_number(), contrast == "cumulants", "{options}");
        // Sources have unit variance.
        let sources = dir.array("r/sources.npy");
        for row in sources.data.chunks_exact(made.samples) {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance: f64 = row.iter().map(|x| (x - mean).powi(2)).sum();
            // The variance of segments is taken around the mean of each segment.
            assert!((variance / row.len() as f64 - 1.0).abs() < 0.2, "{options}");
        }
        let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
        assert!(
            page.contains(figure) && !page.contains("Power over time"),
            "{options}"
        );
    }
}

#[test]
fn unidentifiable_sources_give_a_warning() {
    // White Gaussian sources of constant power cannot be identified.
    let dir = dir(&nonstationary(2, 1, 5000, 3));
    for options in ["--sobi", "--amuse", "--jade"] {
        let stderr = contains("are nearly unidentifiable").and(contains("only one matrix").not());
        let all = format!("separate recording.npy {options}");
        dir.codiag(&all).assert().success().stderr(stderr);
    }
}

#[test]
fn blinks_are_detected_and_removed() {
    let made = eeg_with_blinks(12, 6, 80.0, 2);
    let dir = dir(&made);
    dir.codiag("separate recording.npy --sfreq 250 -o r")
        .assert()
        .success()
        .stdout(contains("looks like blinks: rare one-sided bumps"));
    let report = dir.json("r/report.json");
    let blink = report["sources"]
        .as_array()
        .unwrap()
        .iter()
        .position(|source| source["artifacts"][0]["kind"] == "blink")
        .unwrap();
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    assert!(page.contains(&format!("--exclude S{blink:02}")));
    let again = format!("separate recording.npy --sfreq 250 --exclude S{blink:02} -o clean");
    dir.codiag(&again).assert().success();
    let cleaned = dir.array("clean/cleaned.npy");
    assert_eq!(cleaned.shape, [12, made.samples]);
    let page = std::fs::read_to_string(dir.path("clean/report.html")).unwrap();
    check_links(&page);
    let (_, removal) = page.split_once("<h2>Before and after</h2>").unwrap();
    let (removal, _) = removal.split_once("</section>").unwrap();
    for words in [
        format!("without S{blink:02}"),
        "<title>before</title>".to_owned(),
        "<title>after</title>".to_owned(),
        "Spectrum, mean over channels".to_owned(),
    ] {
        assert!(removal.contains(&words), "{words}");
    }
    assert!(!page.contains("NaN"));
    // The true first channel without blinks.
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
    // The cleaned recording is x − A_e B_e x for the excluded sources e.
    let (b, a) = (
        dir.array("clean/filters.npy"),
        dir.array("clean/patterns.npy"),
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
fn array_layout_and_text_do_not_change_the_sources() {
    let made = nonstationary(3, 40, 100, 5);
    let dir = dir(&made);
    let run = |input: &str, output: &str| {
        let args = format!("-q separate {input} --n-segments 40 --n-jobs 1 -o {output}");
        dir.codiag(&args).assert().success();
        dir.array(&format!("{output}/sources.npy")).data
    };
    let expected = run("recording.npy", "c");
    let mut columns = Vec::new();
    for t in 0..made.samples {
        for c in 0..3 {
            columns.extend(made.data[c * made.samples + t].to_le_bytes());
        }
    }
    dir.write("f.npy", Array::bytes("<f8", true, "(3, 4000)", &columns));
    assert_eq!(run("f.npy", "f"), expected);
    let big: Vec<u8> = made.data.iter().flat_map(|x| x.to_be_bytes()).collect();
    dir.write("big.npy", Array::bytes(">f8", false, "(3, 4000)", &big));
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
    dir.write("text.csv", text.join("\n"));
    assert_eq!(run("text.csv", "t"), expected);
}

#[test]
fn options_are_applied() {
    let made = nonstationary(6, 50, 200, 3);
    let dir = dir(&made);
    let report = |options: &str| {
        let args = format!("separate recording.npy --json {options}");
        let output = dir
            .codiag(&args)
            .assert()
            .success()
            .get_output()
            .stdout
            .clone();
        serde_json::from_slice::<serde_json::Value>(&output).unwrap()
    };
    assert_eq!(report("--n-components 4")["n_components"], 4);
    let fraction = report("--n-components 0.8");
    assert!(fraction["explained_variance_ratio_total"].as_f64().unwrap() >= 0.8);
    assert!(fraction["n_components"].as_u64().unwrap() < 6);
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
        report("--sfreq 100 --bands 1-10,10-20,20-35,35-50 --window-length 100 --max-iter 3000");
    assert_eq!(bands["settings"]["bands"].as_array().unwrap().len(), 4);
    assert_eq!(bands["residuals"].as_array().unwrap().len(), 4);
    assert_eq!(
        report("--sfreq 100 --bands 8")["residuals"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
    assert_eq!(report("--scale rms --n-components 3")["n_components"], 3);
    // A warm start from the filters of an earlier run converges without iterations.
    dir.codiag("separate recording.npy -o first")
        .assert()
        .success();
    let again = report("--init first/filters.npy --tol 1e-5");
    assert_eq!(again["n_iter"], 0);
}
