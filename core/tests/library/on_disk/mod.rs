//! Sets that stay in a file: agreement with sets in memory for any memory limit, errors, and
//! interruption.

mod agreement;
mod errors;
mod interruption;

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use codiag::synthetic::Synthetic;
use codiag::{
    Diagonalization, Error, Init, Matrix, MatrixFile, MatrixSet, Memory, Method, OnDisk, Rank,
    ReadProgress, Record, SetOptions, Settings, Status, c64, diagonalize,
};

/// A temporary .npy file.
pub(crate) struct Npy(PathBuf);

impl Npy {
    fn new(descr: &str, shape: (usize, usize), bytes: &[u8]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("codiag-on-disk-{}-{number}.npy", std::process::id());
        let path = std::env::temp_dir().join(name);
        let (n, p) = shape;
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({n}, {p}, {p}), }}\n");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"\x93NUMPY\x01\x00").unwrap();
        file.write_all(&(header.len() as u16).to_le_bytes())
            .unwrap();
        file.write_all(header.as_bytes()).unwrap();
        file.write_all(bytes).unwrap();
        Self(path)
    }

    pub(crate) fn double(data: &[f64], n: usize, p: usize) -> Self {
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        Self::new("<f8", (n, p), &bytes)
    }

    pub(crate) fn complex(data: &[c64], n: usize, p: usize) -> Self {
        let parts = data.iter().flat_map(|z| [z.re, z.im]);
        let bytes: Vec<u8> = parts.flat_map(f64::to_le_bytes).collect();
        Self::new("<c16", (n, p), &bytes)
    }

    pub(crate) fn open(&self) -> MatrixFile {
        MatrixFile::open(&self.0).unwrap()
    }
}

impl Drop for Npy {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn silent(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The smallest memory limit that suffices for a file.
fn smallest_memory_limit(file: MatrixFile, options: &SetOptions) -> Memory {
    match OnDisk::new(file, Memory(1), options).err() {
        Some(Error::File { error, .. }) => match *error {
            Error::Memory { smallest, .. } => smallest,
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

fn solve(npy: &Npy, memory: Memory, options: &SetOptions, settings: &Settings) -> Diagonalization {
    let mut set = OnDisk::new(npy.open(), memory, options).unwrap();
    codiag::diagonalize_with_backend(&mut set, settings, &mut silent).unwrap()
}

fn assert_close(actual: &Matrix, expected: &Matrix, tolerance: f64, case: &str) {
    let scale = expected.norm();
    for (x, y) in actual.as_slice().iter().zip(expected.as_slice()) {
        assert!((x - y).abs() <= tolerance * scale, "{case}: {x} {y}");
    }
}

/// Tolerance of the solves that are compared. It is so small that another iteration hardly changes
/// B.
const TOLERANCE: f64 = 1e-11;
/// Relative difference of two matrices B at one minimum, both solved to `TOLERANCE`.
const SAME_MINIMUM: f64 = 1e-8;
/// Relative difference of losses in the first iterations if only the order of summation differs.
const ROUNDING: f64 = 1e-11;
/// Relative difference of losses in the first iterations if one of the solves starts in single
/// precision.
const SINGLE_PRECISION: f64 = 1e-4;

/// The settings without memory for the Hessian, so that its products take data passes.
fn without_hessian_memory(settings: &Settings) -> Settings {
    settings.clone().hessian_memory(0)
}

/// Asserts that two solves reach one minimum and take equal first steps: `first_steps` bounds the
/// relative difference of the losses in the first three iterations.
fn assert_results_agree(
    actual: &Diagonalization,
    expected: &Diagonalization,
    first_steps: f64,
    case: &str,
) {
    assert_eq!(actual.status, expected.status, "{case}");
    let difference = (actual.loss - expected.loss).abs();
    assert!(difference < 1e-11, "{case}: {difference:e}");
    assert_close(&actual.b, &expected.b, SAME_MINIMUM, case);
    assert_close(&actual.a, &expected.a, SAME_MINIMUM, case);
    // With several starts, the history is that of the best one, and starts may tie.
    let one_start = expected.start_losses.len() == 1;
    let histories = actual.history.iter().zip(&expected.history).take(3);
    for (x, y) in histories.filter(|_| one_start) {
        let (difference, iteration) = ((x.loss - y.loss).abs(), y.iteration);
        assert!(
            difference < first_steps * (1.0 + y.loss.abs()),
            "{case}: the losses differ by {difference:e} at iteration {iteration}"
        );
    }
    if actual.powers.rows() > 0 {
        assert_close(&actual.powers, &expected.powers, SAME_MINIMUM, case);
        for (x, y) in actual.residuals.iter().zip(&expected.residuals) {
            assert!((x - y).abs() < 10.0 * SAME_MINIMUM, "{case}: {x} {y}");
        }
    }
}
