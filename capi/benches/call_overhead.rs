//! Overhead of the C interface: the ratio of the time of a solve from C to that from Rust.
//!
//! `cargo bench -p codiag-c` compiles a C program. That program and this one, each as new processes
//! in turn, solve the same sets on one thread. The table shows the fastest solve of each, which is
//! least affected by other load, their ratio, and the ratio of the medians.

#![allow(clippy::print_stdout)] // it prints measurements

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use codiag::synthetic::Synthetic;
use codiag::{MatrixSet, SetOptions, Settings, diagonalize};

const ROUNDS: usize = 20;
/// Number of warm-up solves of each round, which are not measured.
const WARM_UP: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, file, n, p, repeats] = &arguments[..] {
        let number = |word: &String| word.parse().expect("a number");
        return solve(Path::new(file), number(n), number(p), number(repeats));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(program) = compile(folder.path()) else {
        println!("no C compiler was found; nothing was measured");
        return;
    };
    let this_program = std::env::current_exe().expect("the path of this program");
    println!(
        "{:>5} {:>4} {:>12} {:>12} {:>8} {:>12}",
        "n", "p", "C", "Rust", "ratio", "median ratio"
    );
    for (n, p, repeats) in [(10, 3, 1000), (100, 5, 500), (100, 20, 50), (100, 40, 10)] {
        let data = Synthetic::new(n, p, 0.1, 0).data;
        let file = folder.path().join("set");
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_ne_bytes()).collect();
        std::fs::write(&file, bytes).expect("a temporary file");
        let (mut c, mut rust) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            c.extend(run(&program, &file, n, p, repeats));
            rust.extend(run(&this_program, &file, n, p, repeats));
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

/// Solves the set in a file as call_overhead.c does, from Rust.
fn solve(file: &Path, n: usize, p: usize, repeats: usize) {
    let bytes = std::fs::read(file).expect("the file of the set");
    let numbers = bytes.chunks_exact(8);
    let data: Vec<f64> = numbers
        .map(|eight| f64::from_ne_bytes(eight.try_into().expect("eight bytes")))
        .collect();
    let options = SetOptions::default().n_jobs(1);
    for _ in 0..repeats {
        let before = Instant::now();
        let set = MatrixSet::with_options(&data, n, p, &options).expect("a valid set");
        let result = diagonalize(&set, &Settings::default()).expect("valid settings");
        let first = result.b[(0, 0)];
        drop((result, set));
        println!("{:.9} {first}", before.elapsed().as_secs_f64());
    }
}

fn run(program: &Path, file: &Path, n: usize, p: usize, repeats: usize) -> Vec<f64> {
    let output = Command::new(program)
        .arg(file)
        .args([n, p, repeats + WARM_UP].map(|number| number.to_string()))
        .output()
        .expect("the program runs");
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
    seconds.skip(WARM_UP).collect()
}

#[cfg(not(unix))] // compilers of other systems are not called `cc`
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
    let program = folder.join("call_overhead");
    let output = Command::new("cc")
        .args(["-std=c99", "-O2", "-I"])
        .arg(here.join("include"))
        .arg(here.join("benches/call_overhead.c"))
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
