//! What the border costs: the time of a solve from C, as a ratio to that of the same call from
//! Rust.
//!
//! `cargo bench -p codiag-c` compiles a C program, and has it and itself, both as new processes,
//! solve the same sets in turns, on one thread: the fastest of all solves of each, which are least
//! at the mercy of what else the machine does, and their ratio; then the ratio of the medians.

#![allow(clippy::print_stdout)] // it prints figures

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use codiag::synthetic::Synthetic;
use codiag::{MatrixSet, SetOptions, Settings, diagonalize};

const ROUNDS: usize = 20;
/// Of each round; the first are for the caches to warm up.
const SKIPPED: usize = 3;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, file, n, p, times] = &words[..] {
        let number = |word: &String| word.parse().expect("a number");
        return solve(Path::new(file), number(n), number(p), number(times));
    }
    let folder = tempfile::tempdir().expect("a folder for a while");
    let Some(program) = compile(folder.path()) else {
        println!("there is no C compiler: nothing was measured");
        return;
    };
    let itself = std::env::current_exe().expect("a program has a path");
    println!(
        "{:>5} {:>4} {:>12} {:>12} {:>8} {:>12}",
        "n", "p", "C", "Rust", "ratio", "of medians"
    );
    for (n, p, times) in [(10, 3, 1000), (100, 5, 500), (100, 20, 50), (100, 40, 10)] {
        let data = Synthetic::new(n, p, 0.1, 0).data;
        let file = folder.path().join("set");
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_ne_bytes()).collect();
        std::fs::write(&file, bytes).expect("a file for a while");
        let (mut c, mut rust) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            c.extend(run(&program, &file, n, p, times));
            rust.extend(run(&itself, &file, n, p, times));
        }
        c.sort_by(f64::total_cmp);
        rust.sort_by(f64::total_cmp);
        let median = |seconds: &[f64]| seconds[seconds.len() / 2];
        println!(
            "{n:5} {p:4} {:9.1} µs {:9.1} µs {:8.3} {:12.3}",
            c[0] * 1e6,
            rust[0] * 1e6,
            c[0] / rust[0],
            median(&c) / median(&rust)
        );
    }
}

/// What benches/border.c does, from Rust.
fn solve(file: &Path, n: usize, p: usize, times: usize) {
    let bytes = std::fs::read(file).expect("the set is there");
    let numbers = bytes.chunks_exact(8);
    let data: Vec<f64> = numbers
        .map(|eight| f64::from_ne_bytes(eight.try_into().expect("eight bytes")))
        .collect();
    let options = SetOptions::default().n_jobs(1);
    for _ in 0..times {
        let before = Instant::now();
        let set = MatrixSet::with_options(&data, n, p, &options).expect("a good set");
        let answer = diagonalize(&set, &Settings::default()).expect("good settings");
        let first = answer.b[(0, 0)];
        drop((answer, set));
        println!("{:.9} {first}", before.elapsed().as_secs_f64());
    }
}

fn run(program: &Path, file: &Path, n: usize, p: usize, times: usize) -> Vec<f64> {
    let output = Command::new(program)
        .arg(file)
        .args([n, p, times + SKIPPED].map(|number| number.to_string()))
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let seconds = text.lines().map(|line| {
        let first = line.split(' ').next().unwrap_or_default();
        first.parse().expect("a number")
    });
    seconds.skip(SKIPPED).collect()
}

#[cfg(not(unix))] // elsewhere compilers are not called `cc`
fn compile(_: &Path) -> Option<PathBuf> {
    None
}

#[cfg(unix)]
fn compile(folder: &Path) -> Option<PathBuf> {
    let libraries = std::env::current_exe().ok()?.parent()?.to_owned();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (built, names) = if cfg!(target_os = "macos") {
        (
            "libcodiag_c.dylib",
            ["libcodiag.dylib", "libcodiag.0.1.dylib"],
        )
    } else {
        ("libcodiag_c.so", ["libcodiag.so", "libcodiag.so.0.1"])
    };
    for name in names {
        std::os::unix::fs::symlink(libraries.join(built), folder.join(name)).ok()?;
    }
    let program = folder.join("border");
    let output = Command::new("cc")
        .args(["-std=c99", "-O2", "-I"])
        .arg(here.join("include"))
        .arg(here.join("benches/border.c"))
        .arg(format!("-L{}", folder.display()))
        .args(["-lcodiag", "-o"])
        .arg(&program)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(program)
}
