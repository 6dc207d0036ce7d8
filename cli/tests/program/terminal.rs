//! Help, quiet mode, colors, completions, manual pages and the benchmark.

use std::process::Command;

use predicates::prelude::*;
use predicates::str::{contains, is_empty};

use crate::TestDir;

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
    let dir = TestDir::new();
    for command in COMMANDS {
        let assert = dir
            .codiag(&format!("{command} --help"))
            .assert()
            .success()
            .stderr(is_empty());
        let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
        assert!(text.contains("Example"), "{command}");
        assert!(text.contains(&format!("codiag {command}")), "{command}");
    }
    dir.codiag("--help")
        .assert()
        .success()
        .stdout(COMMANDS.iter().fold(
            contains("Examples").and(contains("130")).boxed(),
            |all, c| all.and(contains(*c)).boxed(),
        ));
    dir.codiag("--version")
        .assert()
        .success()
        .stdout(contains(env!("CARGO_PKG_VERSION")));
    dir.codiag("").assert().code(2).stderr(contains("Usage"));
}

#[test]
fn quiet_mode_prints_only_results_and_warnings() {
    let dir = TestDir::with_set();
    dir.codiag("--quiet diagonalize covs.npy -o r")
        .assert()
        .success()
        .stdout(is_empty())
        .stderr(is_empty());
    dir.codiag("generate -q -n 3 -p 2 -o c.npy")
        .assert()
        .success()
        .stderr(is_empty());
    let out = dir
        .codiag("diagonalize covs.npy --json")
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    dir.codiag("diagonalize covs.npy")
        .assert()
        .success()
        .stdout(contains("Nothing was saved"));
    // Warnings are printed even in quiet mode.
    dir.codiag("-q diagonalize covs.npy --method pham --init identity --max-iter 1")
        .assert()
        .code(1)
        .stdout(is_empty())
        .stderr(contains("not converged"));
}

#[test]
fn output_has_no_escape_sequences_without_a_terminal() {
    let dir = TestDir::with_set();
    let assert = dir.codiag("diagonalize covs.npy -o r").assert().success();
    let output = assert.get_output();
    assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b));
}

/// Runs the program on a pseudo-terminal with script(1).
fn on_a_terminal(dir: &TestDir, command: &str, environment: &[(&str, &str)]) -> Option<String> {
    let line = format!("{} {command}", env!("CARGO_BIN_EXE_codiag"));
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(dir.folder.path())
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .envs(environment.iter().copied())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn terminal_has_colors_unless_no_color_is_set() {
    let dir = TestDir::with_set();
    let Some(colored) = on_a_terminal(&dir, "check covs.npy", &[]) else {
        crate::skip("there is no script(1) to make a terminal");
        return;
    };
    assert!(colored.contains("\x1b[32m"), "{colored:?}");
    let plain = on_a_terminal(&dir, "check covs.npy", &[("NO_COLOR", "1")]).unwrap();
    assert!(
        !plain.contains("\x1b[3") && plain.contains("can be diagonalized"),
        "{plain:?}"
    );
    // Binary data are not written to a terminal.
    let output = on_a_terminal(&dir, "generate", &[]).unwrap();
    assert!(
        output.contains("standard output is a terminal"),
        "{output:?}"
    );
    let bar = on_a_terminal(&dir, "diagonalize covs.npy --checkpoint b.npy", &[]).unwrap();
    assert!(bar.contains("converged"), "{bar:?}");
}

#[test]
fn completions_exist_for_every_shell() {
    let dir = TestDir::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        dir.codiag(&format!("completions {shell}"))
            .assert()
            .success()
            .stdout(contains("diagonalize").and(contains("checkpoint")));
    }
}

#[test]
fn manual_pages_are_written() {
    let dir = TestDir::new();
    dir.codiag("man").assert().success().stdout(
        contains(".TH codiag 1")
            .and(contains("reproduce"))
            .and(contains("Exit codes")),
    );
    dir.codiag("man -o pages").assert().success();
    let mut names: Vec<String> = COMMANDS.iter().map(|c| format!("codiag-{c}.1")).collect();
    names.push("codiag.1".to_owned());
    names.sort();
    assert_eq!(dir.files("pages"), names);
    let page = std::fs::read_to_string(dir.path("pages/codiag-diagonalize.1")).unwrap();
    assert!(page.contains(".TH codiag-diagonalize") && page.contains("shrinkage"));
}

#[test]
fn bench_reports_measurements() {
    let dir = TestDir::new();
    let out = dir
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
        assert!(size["fraction_of_peak"].as_f64().unwrap() > 0.0, "{size}");
        assert!(size["seconds"].as_f64().unwrap() > 0.0);
    }
    dir.codiag("bench --seconds 0")
        .assert()
        .success()
        .stdout(contains("of peak").and(contains("Gflop/s")));
}
