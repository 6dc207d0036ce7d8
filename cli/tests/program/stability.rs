//! Stability of components in reports and summaries.

use codiag::signals::simulate::nonstationary;
use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir};

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    let values = value.as_array().expect("an array").iter();
    values.map(|x| x.as_f64().expect("a number")).collect()
}

#[test]
fn stability_of_sources_is_reported_and_sorts_them() {
    let generated = nonstationary(5, 60, 200, 1);
    let dir = TestDir::new();
    dir.write("recording.npy", Array::of("(5, 12000)", &generated.data));
    dir.codiag("separate recording.npy --n-segments 60 --n-resamples 7 --sort-by stability -o r")
        .assert()
        .success()
        .stdout(contains("stability").and(contains("of 5 at least 0.9")));
    let report = dir.json("r/report.json");
    let stability = numbers(&report["stability"]);
    assert_eq!(stability.len(), 5);
    assert!(stability.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(stability[4] > 0.9, "{stability:?}");
    assert_eq!(report["stability_trials"]["resamples"], 7);
    assert_eq!(report["stability_trials"]["starts"], 0);
    assert_eq!(report["settings"]["n_resamples"], 7);
    assert_eq!(report["settings"]["sort_by"], "stability");
    assert_eq!(report["sources"][1]["stability"], report["stability"][1]);
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    assert!(page.contains("<th scope=\"col\">stability</th>"));
    let definition = "over 7 resamples of the segments, drawn with replacement";
    assert!(page.contains(definition));
    let methods = report["methods"].as_str().unwrap();
    assert!(methods.contains(definition), "{methods}");
    assert!(page.contains("sorted by their stability"));

    // These matrices are computed from the whole recording, so blocks of time are resampled.
    for method in ["--sobi --lags 1:5", "--jade", "--amuse", "--bands 8"] {
        let command = "separate recording.npy --sfreq 100 --n-resamples 3 --sort-by stability";
        dir.codiag(&format!("{command} {method} -o time"))
            .assert()
            .success();
        let report = dir.json("time/report.json");
        assert_eq!(report["stability_trials"]["resamples"], 3, "{method}");
        let page = std::fs::read_to_string(dir.path("time/report.html")).unwrap();
        assert!(page.contains("blocks of the recording in time"), "{method}");
    }

    // Without resamples, stability is not reported.
    dir.codiag("separate recording.npy --n-segments 60 -o plain")
        .assert()
        .success()
        .stdout(contains("stability").not());
    let report = dir.json("plain/report.json");
    assert!(report["stability"].is_null() && report["sources"][0]["stability"].is_null());
    let page = std::fs::read_to_string(dir.path("plain/report.html")).unwrap();
    assert!(!page.contains("stability</th>"));
}

#[test]
fn stability_of_components_is_reported() {
    let dir = TestDir::new();
    dir.codiag("generate -n 30 -p 4 --sigma 0.3 -o c.npy")
        .assert()
        .success();
    dir.codiag("diagonalize c.npy --n-resamples 5 --n-restarts 2 -o r")
        .assert()
        .success();
    let report = dir.json("r/report.json");
    assert_eq!(numbers(&report["stability"]).len(), 4);
    assert_eq!(report["stability_trials"]["resamples"], 5);
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    assert!(page.contains("<th scope=\"col\">stability</th>"));
    dir.codiag("diagonalize c.npy --sort-by stability")
        .assert()
        .code(2)
        .stderr(contains("--n-resamples 20"));
    dir.codiag("diagonalize c.npy --n-resamples 5 --memory 1kB")
        .assert()
        .code(2)
        .stderr(contains("--n-resamples requires all matrices in memory"));
}
