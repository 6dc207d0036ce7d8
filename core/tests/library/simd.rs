//! Agreement of results with and without AVX-512.

use std::path::Path;
use std::process::Command;

use codiag::synthetic::{Sensors, Synthetic, meg};
use codiag::{MatrixSet, Settings, diagonalize};

/// Environment variable that marks a child process; its value is the directory for the results.
const CHILD: &str = "CODIAG_TEST_CHILD";

/// Name, number of matrices, size and entries of the sets.
fn sets() -> Vec<(&'static str, usize, usize, Vec<f64>)> {
    vec![
        ("b", 100, 40, Synthetic::new(100, 40, 0.1, 0).data),
        ("sigma-0.3", 100, 40, Synthetic::new(100, 40, 0.3, 0).data),
        ("magnetometers", 100, 40, meg(Sensors::Magnetometers)),
        ("gradiometers", 100, 40, meg(Sensors::Gradiometers)),
        ("sigma-1", 300, 64, Synthetic::new(300, 64, 1.0, 0).data),
    ]
}

/// Solves every set in a child process and writes B and the loss of each to a file.
fn solve_all(folder: &Path) {
    for (name, n, p, data) in sets() {
        let set = MatrixSet::new(&data, n, p).unwrap();
        let found = diagonalize(&set, &Settings::default()).unwrap();
        assert!(found.status.is_converged(), "{name}");
        let numbers = found.b.as_slice().iter().chain([&found.loss]);
        let bytes: Vec<u8> = numbers.flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

/// Reads B, followed by the loss, from the file that a child process has written.
fn read(folder: &Path, name: &str) -> Vec<f64> {
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let (chunks, _) = bytes.as_chunks::<8>();
    chunks.iter().map(|x| f64::from_le_bytes(*x)).collect()
}

/// Runs itself in child processes, because the vector instructions are chosen once per process.
#[test]
fn avx2_and_avx512_find_the_same_minima() {
    if let Some(folder) = std::env::var_os(CHILD) {
        solve_all(Path::new(&folder));
        return;
    }
    let folder = std::env::temp_dir().join(format!("codiag-simd-{}", std::process::id()));
    let run = |simd: &str| {
        let folder = folder.join(simd);
        std::fs::create_dir_all(&folder).unwrap();
        let test = "simd::avx2_and_avx512_find_the_same_minima";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(CHILD, &folder)
            .env("CODIAG_SIMD", simd)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{simd}: {text}");
        folder
    };
    let (native, avx2) = (run("native"), run("avx2"));
    for (name, _, p, _) in sets() {
        let (one, other) = (read(&native, name), read(&avx2, name));
        assert_eq!(one.len(), p * p + 1);
        let (loss, b) = one.split_last().unwrap();
        let (other_loss, other_b) = other.split_last().unwrap();
        let difference = (loss - other_loss).abs();
        assert!(
            difference <= 1e-9 * loss,
            "{name}: the losses are {loss} and {other_loss}"
        );
        let largest = b.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        let differences = b.iter().zip(other_b).map(|(x, y)| (x - y).abs());
        let difference = differences.fold(0.0_f64, f64::max);
        assert!(
            difference <= 1e-5 * largest,
            "{name}: entries of B differ by up to {difference:e}; the largest is {largest:e}"
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
