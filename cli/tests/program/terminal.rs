//! Help, silence, colors, completions, the manual, the bench.

use std::process::Command;

use predicates::prelude::*;
use predicates::str::{contains, is_empty};

use crate::Place;

const COMMANDS: [&str; 8] = [
    "reproduce",
    "diagonalize",
    "separate",
    "check",
    "generate",
    "bench",
    "completions",
    "man",
];

#[test]
fn help_has_examples_everywhere() {
    let place = Place::new();
    for command in COMMANDS {
        let assert = place
            .codiag(&format!("{command} --help"))
            .assert()
            .success()
            .stderr(is_empty());
        let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
        assert!(text.contains("Example"), "{command}");
        assert!(text.contains(&format!("codiag {command}")), "{command}");
    }
    place
        .codiag("--help")
        .assert()
        .success()
        .stdout(COMMANDS.iter().fold(
            contains("Examples").and(contains("130")).boxed(),
            |all, c| all.and(contains(*c)).boxed(),
        ));
    place
        .codiag("--version")
        .assert()
        .success()
        .stdout(contains(env!("CARGO_PKG_VERSION")));
    place.codiag("").assert().code(2).stderr(contains("Usage"));
}

#[test]
fn quiet_is_quiet_and_results_are_alone_on_standard_output() {
    let place = Place::with_set();
    place
        .codiag("--quiet diagonalize covs.npy -o r")
        .assert()
        .success()
        .stdout(is_empty())
        .stderr(is_empty());
    place
        .codiag("generate -q -n 3 -p 2 -o c.npy")
        .assert()
        .success()
        .stderr(is_empty());
    let out = place
        .codiag("diagonalize covs.npy --json")
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    place
        .codiag("diagonalize covs.npy")
        .assert()
        .success()
        .stdout(contains("nothing written"));
    // Not converging is said all the same.
    place
        .codiag("-q diagonalize covs.npy --method pham --init identity --max-iter 1")
        .assert()
        .code(1)
        .stdout(is_empty())
        .stderr(contains("not converged"));
}

#[test]
fn plain_lines_without_a_terminal() {
    let place = Place::with_set();
    let assert = place.codiag("diagonalize covs.npy -o r").assert().success();
    let output = assert.get_output();
    assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b));
}

/// Runs the program on a pseudo-terminal by way of script(1).
fn on_a_terminal(place: &Place, command: &str, environment: &[(&str, &str)]) -> Option<String> {
    let line = format!("{} {command}", env!("CARGO_BIN_EXE_codiag"));
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(place.folder.path())
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .envs(environment.iter().copied())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn colors_on_a_terminal_unless_no_color_is_set() {
    let place = Place::with_set();
    let Some(colored) = on_a_terminal(&place, "check covs.npy", &[]) else {
        crate::skip("there is no script(1) to make a terminal");
        return;
    };
    assert!(colored.contains("\x1b[32m"), "{colored:?}");
    let plain = on_a_terminal(&place, "check covs.npy", &[("NO_COLOR", "1")]).unwrap();
    assert!(
        !plain.contains("\x1b[3") && plain.contains("can be diagonalized"),
        "{plain:?}"
    );
    // Bytes are not thrown on a screen.
    let refused = on_a_terminal(&place, "generate", &[]).unwrap();
    assert!(
        refused.contains("standard output is a terminal"),
        "{refused:?}"
    );
    let bar = on_a_terminal(&place, "diagonalize covs.npy --checkpoint b.npy", &[]).unwrap();
    assert!(bar.contains("converged"), "{bar:?}");
}

#[test]
fn completions_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        place
            .codiag(&format!("completions {shell}"))
            .assert()
            .success()
            .stdout(contains("diagonalize").and(contains("checkpoint")));
    }
}

#[test]
fn the_manual() {
    let place = Place::new();
    place.codiag("man").assert().success().stdout(
        contains(".TH codiag 1")
            .and(contains("reproduce"))
            .and(contains("Exit codes")),
    );
    place.codiag("man -o pages").assert().success();
    let mut names: Vec<String> = COMMANDS.iter().map(|c| format!("codiag-{c}.1")).collect();
    names.push("codiag.1".to_owned());
    names.sort();
    assert_eq!(place.files("pages"), names);
    let page = std::fs::read_to_string(place.path("pages/codiag-diagonalize.1")).unwrap();
    assert!(page.contains(".TH codiag-diagonalize") && page.contains("shrinkage"));
}

#[test]
fn the_bench_measures() {
    let place = Place::new();
    let out = place
        .codiag("bench --seconds 0 --n-jobs 1 --json")
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let results: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert!(results["peak_gigaflops"].as_f64().unwrap() > 0.0);
    let sizes = results["sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 4);
    for size in sizes {
        // How large it is depends on what else the machine does.
        assert!(size["share_of_peak"].as_f64().unwrap() > 0.0, "{size}");
        assert!(size["seconds"].as_f64().unwrap() > 0.0);
    }
    place
        .codiag("bench --seconds 0")
        .assert()
        .success()
        .stdout(contains("share of peak").and(contains("Gflop/s")));
}
