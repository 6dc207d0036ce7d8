//! Killed and interrupted solves: no incomplete files, and continuation from the checkpoint.

#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{TestDir, largest_difference};

/// A solve that does not finish during a test.
const ENDLESS: &str =
    "diagonalize set.npy --method quasi-newton --init whitener --tol 1e-300 --n-restarts 5000";

/// Returns a folder with a set that has a unique minimum.
fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.codiag("generate -n 100 -p 40 --sigma 0.01 --seed 1 -o set.npy")
        .assert()
        .success();
    dir
}

/// Starts the program and waits until the file `sign` exists.
fn start(dir: &TestDir, args: &str, sign: &str) -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_codiag"))
        .current_dir(dir.folder.path())
        .args(args.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let clock = Instant::now();
    while !dir.path(sign).exists() {
        assert!(clock.elapsed() < Duration::from_secs(250), "no {sign}");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Starts the endless solve and waits for its first checkpoint.
fn start_solve(dir: &TestDir, output: &str) -> Child {
    let args = format!("{ENDLESS} --checkpoint b.npy --checkpoint-every 0 -o {output}");
    start(dir, &args, "b.npy")
}

/// Sends SIGINT, expects exit code 130, and returns standard error.
fn interrupt(child: Child) -> String {
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{text}");
    text
}

#[test]
fn killed_solve_leaves_no_incomplete_file_and_can_be_resumed() {
    let dir = dir();
    let run = "diagonalize set.npy --tol 1e-10";
    dir.codiag(&format!("{run} -o whole")).assert().success();
    for delay in [0, 20, 60] {
        let _ = std::fs::remove_file(dir.path("b.npy"));
        let mut child = start_solve(&dir, "killed");
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        assert_eq!(
            child.wait().unwrap().code(),
            None,
            "ended before it was killed"
        );
        assert_eq!(dir.files("killed"), [""; 0]);
        // Reading checks that the file is complete.
        assert_eq!(dir.array("b.npy").shape, [40, 40]);
    }
    dir.codiag(&format!("{run} --init b.npy -o resumed"))
        .assert()
        .success();
    let (whole, resumed) = (
        dir.json("whole/report.json"),
        dir.json("resumed/report.json"),
    );
    let loss = |report: &serde_json::Value| report["loss"].as_f64().unwrap();
    assert!((loss(&whole) - loss(&resumed)).abs() < 1e-9);
    let (b, again) = (dir.array("whole/B.npy"), dir.array("resumed/B.npy"));
    let scale = b.data.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(largest_difference(&b.data, &again.data) < 1e-6 * scale);
}

#[test]
fn temporary_files_of_killed_runs_are_removed() {
    let dir = dir();
    let left = [
        "r/.codiag-Ab3xYz.tmp",
        "b/.codiag-000000.tmp",
        ".codiag-zzzzzz.tmp",
    ];
    for folder in ["r", "b"] {
        std::fs::create_dir(dir.path(folder)).unwrap();
    }
    for name in left {
        dir.write(name, "incomplete");
    }
    dir.write("r/.codiag-notes.txt", "kept");
    dir.codiag("diagonalize set.npy --checkpoint b/b.npy -o r")
        .assert()
        .success();
    dir.codiag("generate -n 4 -p 3 -o small.npy")
        .assert()
        .success();
    for name in left {
        assert!(!dir.path(name).exists(), "{name}");
    }
    assert_eq!(dir.files("b"), ["b.npy"]);
    assert!(dir.path("r/.codiag-notes.txt").exists());
}

#[test]
fn ctrl_c_writes_the_best_b_and_exits_with_130() {
    let dir = dir();
    let text = interrupt(start_solve(&dir, "stopped"));
    assert!(
        text.contains("interrupted") && text.contains("stopped"),
        "{text}"
    );
    assert_eq!(dir.files("stopped").len(), 6);
    let report = dir.json("stopped/report.json");
    assert_eq!(report["status"], "interrupted");
    assert_eq!(report["converged"], false);
    // The best B is not worse than the starting point, and a solve from it converges.
    let losses = report["history"].as_array().unwrap();
    let first = losses[0]["loss"].as_f64().unwrap();
    assert!(report["loss"].as_f64().unwrap() <= first);
    dir.codiag("diagonalize set.npy --init stopped/B.npy -o done")
        .assert()
        .success();
}

#[test]
fn ctrl_c_during_the_experiments_writes_nothing() {
    let dir = TestDir::new();
    // The signal handler is installed before the folder is created.
    let child = start(&dir, "reproduce -o r --seeds 50 --max-iter 1000000", "r");
    assert!(interrupt(child).contains("nothing was written"));
    assert_eq!(dir.files("r"), [""; 0]);
}
