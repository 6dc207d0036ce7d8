//! How surely components come again, as the program tells it.

use codiag::signals::simulate::nonstationary;
use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, Place};

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    let values = value.as_array().expect("an array").iter();
    values.map(|x| x.as_f64().expect("a number")).collect()
}

#[test]
fn sources_have_a_column_an_order_and_a_summary() {
    let made = nonstationary(5, 60, 200, 1);
    let place = Place::new();
    place.write("recording.npy", Array::of("(5, 12000)", &made.data));
    place
        .codiag("separate recording.npy --n-segments 60 --n-resamples 7 --sort-by stability -o r")
        .assert()
        .success()
        .stdout(contains("stability").and(contains("of 5 at least 0.9")));
    let report = place.json("r/report.json");
    let stability = numbers(&report["stability"]);
    assert_eq!(stability.len(), 5);
    assert!(stability.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(stability[4] > 0.9, "{stability:?}");
    assert_eq!(report["stability_trials"]["resamples"], 7);
    assert_eq!(report["stability_trials"]["starts"], 0);
    assert_eq!(report["settings"]["stability"], 7);
    assert_eq!(report["settings"]["order"], "stability");
    assert_eq!(report["sources"][1]["stability"], report["stability"][1]);
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    assert!(page.contains("<th scope=\"col\">stability</th>"));
    let told = "over 7 resamples of the segments, drawn with replacement";
    assert!(page.contains(told));
    let methods = report["methods"].as_str().unwrap();
    assert!(methods.contains(told), "{methods}");
    assert!(page.contains("in the order of their stability"));

    // All matrices are of the whole recording: it is time that is drawn.
    for road in ["--sobi --lags 1:5", "--jade", "--amuse", "--bands 8"] {
        let command = "separate recording.npy --sfreq 100 --n-resamples 3 --sort-by stability";
        place
            .codiag(&format!("{command} {road} -o time"))
            .assert()
            .success();
        let report = place.json("time/report.json");
        assert_eq!(report["stability_trials"]["resamples"], 3, "{road}");
        let page = std::fs::read_to_string(place.path("time/report.html")).unwrap();
        assert!(page.contains("its blocks of time weighed anew"), "{road}");
    }

    // Nothing was tried, nothing is said.
    place
        .codiag("separate recording.npy --n-segments 60 -o plain")
        .assert()
        .success()
        .stdout(contains("stability").not());
    let report = place.json("plain/report.json");
    assert!(report["stability"].is_null() && report["sources"][0]["stability"].is_null());
    let page = std::fs::read_to_string(place.path("plain/report.html")).unwrap();
    assert!(!page.contains("stability</th>"));
}

#[test]
fn components_of_matrices_too() {
    let place = Place::new();
    place
        .codiag("generate -n 30 -p 4 --sigma 0.3 -o c.npy")
        .assert()
        .success();
    place
        .codiag("diagonalize c.npy --n-resamples 5 --n-restarts 2 -o r")
        .assert()
        .success();
    let report = place.json("r/report.json");
    assert_eq!(numbers(&report["stability"]).len(), 4);
    assert_eq!(report["stability_trials"]["resamples"], 5);
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    assert!(page.contains("<th scope=\"col\">stability</th>"));
    place
        .codiag("diagonalize c.npy --sort-by stability")
        .assert()
        .code(2)
        .stderr(contains("--n-resamples 20"));
    place
        .codiag("diagonalize c.npy --n-resamples 5 --memory 1kB")
        .assert()
        .code(2)
        .stderr(contains("--n-resamples requires all matrices in memory"));
}
