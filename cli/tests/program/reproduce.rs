//! `codiag reproduce`: results and output files.

use std::sync::OnceLock;

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir};

/// Number of seeds of the shared run.
const SEEDS: u64 = 3;

/// One run shared by all tests. 400 iterations are enough for all experiments except the MEG data.
pub fn shared() -> &'static TestDir {
    static RUN: OnceLock<TestDir> = OnceLock::new();
    RUN.get_or_init(|| {
        let dir = TestDir::new();
        dir.codiag(&format!("reproduce --seeds {SEEDS} --max-iter 400 -o r"))
            .assert()
            .success()
            .stdout(contains("speedup over Pham").and(contains("holds")))
            .stdout(contains("(a) σ = 0").and(contains("(c) MEG magnetometers")))
            .stdout(contains("report.html"));
        dir
    })
}

fn runs(dir: &TestDir) -> Vec<serde_json::Value> {
    let results = dir.json("r/results.json");
    results["runs"].as_array().unwrap().clone()
}

fn row(dir: &TestDir, experiment: &str, solver: &str) -> serde_json::Value {
    let results = dir.json("r/results.json");
    let table = results["table"].as_array().unwrap().clone();
    table
        .into_iter()
        .find(|row| row["experiment"] == experiment && row["solver"] == solver)
        .unwrap()
}

#[test]
fn solvers_converge_to_known_minima() {
    let dir = shared();
    let median = |row: &serde_json::Value, name: &str| row[name]["median"].as_f64().unwrap();
    // (a) has a single minimum, at zero.
    for solver in ["quasi-newton", "pham", "newton", "newton-whitener"] {
        let row = row(dir, "a", solver);
        assert!(median(&row, "loss").abs() < 1e-9, "{row}");
        assert!(median(&row, "n_iter") < 40.0, "{row}");
        assert_eq!(row["status"], "converged");
    }
    // The spectral start of a noise-free set is its solution.
    assert!(median(&row(dir, "a", "newton"), "n_iter") <= 2.0);
    // (b): the sets have several local minima with similar losses. The tests of the library compare
    // means over seeds.
    for seed in 0..SEEDS {
        let losses: Vec<f64> = runs(dir)
            .iter()
            .filter(|run| run["experiment"] == "b" && run["seed"] == seed)
            .map(|run| run["loss"].as_f64().unwrap())
            .collect();
        let lowest = losses.iter().fold(f64::INFINITY, |low, x| low.min(*x));
        assert_eq!(losses.len(), 4);
        assert!(lowest > 0.0 && losses.iter().all(|loss| *loss < 1.2 * lowest));
    }
    for solver in ["quasi-newton", "pham", "newton", "newton-whitener"] {
        let row = row(dir, "b", solver);
        assert!(row["seconds_to_goal"]["median"].as_f64().unwrap() >= 0.0);
        assert!(row["seconds_to_goal"]["reached"].as_u64().unwrap() <= SEEDS);
    }
    for solver in ["newton", "newton-whitener"] {
        let row = row(dir, "b", solver);
        assert!(median(&row, "gradient_norm") < 1e-9, "{row}");
        assert!(median(&row, "n_iter") < 100.0, "{row}");
    }
}

#[test]
fn order_of_the_channels_does_not_change_the_whitener_start() {
    // Columns of history.csv: 0 experiment, 1 solver, 6 iteration, 8 loss. Rounding errors are
    // amplified by the condition of the mean.
    let history = std::fs::read_to_string(shared().path("r/history.csv")).unwrap();
    let losses: Vec<f64> = history
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| row[0] == "c" && row[1] == "quasi-newton" && row[6] == "0")
        .map(|row| row[8].parse().unwrap())
        .collect();
    assert_eq!(losses.len() as u64, SEEDS);
    assert!(
        losses
            .iter()
            .all(|x| (x - losses[0]).abs() < 1e-5 * losses[0].abs())
    );
}

#[test]
fn no_loss_is_below_the_minimum() {
    let history = std::fs::read_to_string(shared().path("r/history.csv")).unwrap();
    let mut lines = history
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    assert_eq!(
        header[..4],
        ["experiment", "solver", "seed", "loss_above_minimum"]
    );
    assert!(lines.all(|row| row[3].parse::<f64>().unwrap() > -1e-9));
}

#[test]
fn claims_have_verdicts() {
    let claims = shared().json("r/results.json")["claims"].clone();
    let claims = claims.as_array().unwrap();
    assert_eq!(claims.len(), 4);
    assert!(
        claims[0]["claim"]
            .as_str()
            .unwrap()
            .contains("quadratically")
    );
    assert_eq!(claims[0]["verdict"], "holds");
    // The rate of convergence on noisy and real data depends on the minimum, so its verdict is not
    // tested.
    assert!(claims[1]["claim"].as_str().unwrap().contains("linear"));
    let measured = claims[1]["measured"].as_str().unwrap();
    assert!(measured.contains("In (b)") && measured.contains("In (c)"));
    assert!(claims[2]["claim"].as_str().unwrap().contains("Pham"));
}

#[test]
fn all_files_are_written() {
    let dir = shared();
    let names = ["figure.svg", "history.csv", "report.html", "results.json"];
    assert_eq!(dir.files("r"), names);
    let svg = std::fs::read_to_string(dir.path("r/figure.svg")).unwrap();
    assert!(svg.contains("class=\"series\"") && svg.contains("class=\"band"));
    assert!(svg.contains("prefers-color-scheme: dark"));
    for words in [
        "gradient norm",
        "loss above minimum",
        "time",
        "quasi-Newton (the paper)",
        "Pham (2001)",
        "Newton, whitener start",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    let history = std::fs::read_to_string(dir.path("r/history.csv")).unwrap();
    let points: u64 = runs(dir)
        .iter()
        .map(|run| run["n_iter"].as_u64().unwrap() + 1)
        .sum();
    assert_eq!(history.lines().count() as u64, points + 1);
    let columns = history.lines().next().unwrap().split(',').count();
    assert!(
        history
            .lines()
            .all(|line| line.split(',').count() == columns)
    );
}

#[test]
fn seeds_give_medians_and_ranges_and_recording_is_used() {
    let dir = TestDir::new();
    let set: Vec<f64> = (0..12)
        .flat_map(|i| {
            let x = f64::from(i);
            [2.0 + x, 0.3, 0.3, 5.0 - 0.2 * x]
        })
        .collect();
    dir.write("mine.npy", Array::of("(12, 2, 2)", &set));
    dir.codiag("reproduce -n 20 -p 6 --recording mine.npy --n-jobs 2 -o r")
        .assert()
        .success()
        .stdout(contains("mine.npy").and(contains("[")));
    let results = dir.json("r/results.json");
    // Ten seeds or orders in three experiments, four solvers each.
    assert_eq!(results["runs"].as_array().unwrap().len(), 10 * 3 * 4);
    assert_eq!(results["experiments"][2]["matrices"], 12);
    for experiment in results["experiments"].as_array().unwrap() {
        assert_eq!(experiment["seeds"], 10);
    }
    let seconds = &row(&dir, "b", "pham")["seconds"];
    let part = |name: &str| seconds[name].as_f64().unwrap();
    assert!(part("low") <= part("median") && part("median") <= part("high"));
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    assert!(page.contains("medians") && page.contains("mine.npy"));
}

#[test]
fn single_seed_gives_plain_curves() {
    let dir = TestDir::new();
    dir.codiag("reproduce -n 20 -p 6 --seeds 1 --max-iter 50 -o r")
        .assert()
        .success()
        .stdout(contains("[").not());
    assert_eq!(runs(&dir).len(), 3 * 4);
    for name in ["r/figure.svg", "r/report.html"] {
        let text = std::fs::read_to_string(dir.path(name)).unwrap();
        assert!(!text.contains("class=\"band") && text.contains("class=\"series\""));
        assert!(!text.contains("quartile"));
    }
}
