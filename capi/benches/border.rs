//! What the border costs: the time of a solve from C, as a ratio to that of the same call from Rust.
//!
//! `cargo bench -p codiag-c` compiles a C program, and has both solve the same sets in turns, on one
//! thread: medians of all solves, and the range of the rounds' ratios.

#![allow(clippy::print_stdout)] // it prints figures

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use codiag::synthetic::Synthetic;
use codiag::{MatrixSet, SetOptions, Settings, diagonalize};

const ROUNDS: usize = 11;
/// Of each round; the first are for the caches to warm up.
const SKIPPED: usize = 3;

fn main() {
    let folder = tempfile::tempdir().expect("a folder for a while");
    let Some(program) = compile(folder.path()) else {
        println!("there is no C compiler: nothing was measured");
        return;
    };
    println!(
        "{:>5} {:>4} {:>12} {:>12} {:>8}   rounds",
        "n", "p", "C", "Rust", "ratio"
    );
    for (n, p, times) in [(10, 3, 4000), (100, 5, 1000), (100, 20, 100), (100, 40, 20)] {
        let data = Synthetic::new(n, p, 0.1, 0).data;
        let file = folder.path().join("set");
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_ne_bytes()).collect();
        std::fs::write(&file, bytes).expect("a file for a while");
        let (mut from_c, mut from_rust, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            // Who begins changes from round to round.
            let mut c = Vec::new();
            if round % 2 == 0 {
                c = run(&program, &file, n, p, times);
            }
            let rust = solve(&data, n, p, times);
            if c.is_empty() {
                c = run(&program, &file, n, p, times);
            }
            ratios.push(median(&c) / median(&rust));
            from_c.extend(c);
            from_rust.extend(rust);
        }
        ratios.sort_by(f64::total_cmp);
        let (c, rust) = (median(&from_c), median(&from_rust));
        println!(
            "{n:5} {p:4} {:9.1} µs {:9.1} µs {:8.3}   {:.3} to {:.3}, median {:.3}",
            c * 1e6,
            rust * 1e6,
            c / rust,
            ratios[0],
            ratios[ROUNDS - 1],
            ratios[ROUNDS / 2]
        );
    }
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn solve(data: &[f64], n: usize, p: usize, times: usize) -> Vec<f64> {
    let options = SetOptions::default().threads(1);
    let one = |_| {
        let before = Instant::now();
        let set = MatrixSet::with_options(data, n, p, &options).expect("a good set");
        let answer = diagonalize(&set, &Settings::default()).expect("good settings");
        let first = answer.b[(0, 0)];
        drop((answer, set));
        assert!(first.is_finite());
        before.elapsed().as_secs_f64()
    };
    (0..times + SKIPPED).map(one).skip(SKIPPED).collect()
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
