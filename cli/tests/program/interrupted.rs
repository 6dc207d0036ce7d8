//! Solves that are killed or interrupted: no half file, and on from the checkpoint.

#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Place, largest_difference};

/// A solve that does not end by itself while a test waits for it.
const ENDLESS: &str =
    "diagonalize set.npy --method quasi-newton --init whitener --tol 1e-300 --n-restarts 5000";

/// A place with a set that has one clear minimum.
fn place() -> Place {
    let place = Place::new();
    place
        .codiag("generate -n 100 -p 40 --sigma 0.01 --seed 1 -o set.npy")
        .assert()
        .success();
    place
}

/// Starts the program, and waits until it has made `sign`.
fn start(place: &Place, args: &str, sign: &str) -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_codiag"))
        .current_dir(place.folder.path())
        .args(args.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let clock = Instant::now();
    while !place.path(sign).exists() {
        assert!(clock.elapsed() < Duration::from_secs(250), "no {sign}");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Starts the endless solve, and waits until it has saved its first checkpoint.
fn start_solve(place: &Place, output: &str) -> Child {
    let args = format!("{ENDLESS} --checkpoint b.npy --checkpoint-every 0 -o {output}");
    start(place, &args, "b.npy")
}

/// Presses Ctrl-C, expects exit code 130, and returns what the program said to it.
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
fn a_killed_solve_leaves_no_half_file_and_resumes_to_the_same_answer() {
    let place = place();
    let run = "diagonalize set.npy --tol 1e-10";
    place.codiag(&format!("{run} -o whole")).assert().success();
    for delay in [0, 20, 60] {
        let _ = std::fs::remove_file(place.path("b.npy"));
        let mut child = start_solve(&place, "killed");
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        assert_eq!(
            child.wait().unwrap().code(),
            None,
            "ended before it was killed"
        );
        assert_eq!(place.files("killed"), [""; 0]);
        // ReadProgress it checks that it is whole.
        assert_eq!(place.array("b.npy").shape, [40, 40]);
    }
    place
        .codiag(&format!("{run} --init b.npy -o resumed"))
        .assert()
        .success();
    let (whole, resumed) = (
        place.json("whole/report.json"),
        place.json("resumed/report.json"),
    );
    let loss = |report: &serde_json::Value| report["loss"].as_f64().unwrap();
    assert!((loss(&whole) - loss(&resumed)).abs() < 1e-9);
    let (b, again) = (place.array("whole/B.npy"), place.array("resumed/B.npy"));
    let scale = b.data.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(largest_difference(&b.data, &again.data) < 1e-6 * scale);
}

#[test]
fn the_next_run_into_a_folder_removes_what_a_killed_one_left() {
    let place = place();
    // Whichever file it is writing then stays behind, and those that wait for their place.
    let left = [
        "r/.codiag-Ab3xYz.tmp",
        "b/.codiag-000000.tmp",
        ".codiag-zzzzzz.tmp",
    ];
    for folder in ["r", "b"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    for name in left {
        place.write(name, "half");
    }
    place.write("r/.codiag-notes.txt", "kept");
    place
        .codiag("diagonalize set.npy --checkpoint b/b.npy -o r")
        .assert()
        .success();
    place
        .codiag("generate -n 4 -p 3 -o small.npy")
        .assert()
        .success();
    for name in left {
        assert!(!place.path(name).exists(), "{name}");
    }
    assert_eq!(place.files("b"), ["b.npy"]);
    assert!(place.path("r/.codiag-notes.txt").exists());
}

#[test]
fn ctrl_c_writes_the_best_b_so_far_and_exits_with_130() {
    let place = place();
    let text = interrupt(start_solve(&place, "stopped"));
    assert!(
        text.contains("interrupted") && text.contains("stopped"),
        "{text}"
    );
    assert_eq!(place.files("stopped").len(), 6);
    let report = place.json("stopped/report.json");
    assert_eq!(report["status"], "stopped");
    assert_eq!(report["converged"], false);
    // The best B is better than the start, and finishing from it is quick.
    let losses = report["history"].as_array().unwrap();
    let first = losses[0]["loss"].as_f64().unwrap();
    assert!(report["loss"].as_f64().unwrap() <= first);
    place
        .codiag("diagonalize set.npy --init stopped/B.npy -o done")
        .assert()
        .success();
}

#[test]
fn ctrl_c_during_the_experiments_writes_nothing() {
    let place = Place::new();
    // The folder is made first: by then the handler is in its place.
    let child = start(&place, "reproduce -o r --seeds 50 --max-iter 1000000", "r");
    assert!(interrupt(child).contains("nothing was written"));
    assert_eq!(place.files("r"), [""; 0]);
}
