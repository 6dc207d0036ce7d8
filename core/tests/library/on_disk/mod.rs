//! Sets that stay in a file give the answers of sets in memory, within any budget.

mod answers;
mod refusals;

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use codiag::synthetic::{self, Synthetic};
use codiag::{
    Diagonalization, Error, Init, Matrix, MatrixFile, MatrixSet, Memory, Method, OnDisk, Rank,
    ReadProgress, Record, SetOptions, Settings, Status, c64, diagonalize,
};

/// A .npy that goes away with the test.
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

fn smallest(file: MatrixFile, options: &SetOptions) -> Memory {
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

fn assert_same(left: &Matrix, right: &Matrix, tolerance: f64, what: &str) {
    let scale = right.norm();
    for (x, y) in left.as_slice().iter().zip(right.as_slice()) {
        assert!((x - y).abs() <= tolerance * scale, "{what}: {x} {y}");
    }
}

/// Tolerance of the solves that are compared. It is small, so that one iteration more or less hardly changes B.
const TOLERANCE: f64 = 1e-11;
/// Relative difference of two B at the same minimum, both solved to `TOLERANCE`.
const SAME_MINIMUM: f64 = 1e-8;
/// Relative difference of losses at the first iterations, where only the order of sums differs.
const ROUNDING: f64 = 1e-11;
/// Relative difference of losses at the first iterations if one of the two solves begins in single precision.
const SINGLE_PRECISION: f64 = 1e-4;

/// The same settings with Newton's products by passes.
fn swept(settings: &Settings) -> Settings {
    settings.clone().hessian_memory(0)
}

/// Checks that two solves end at the same minimum and begin alike: `first_steps` bounds the relative difference of losses at the
/// first three iterations.
fn assert_alike(there: &Diagonalization, here: &Diagonalization, first_steps: f64, what: &str) {
    assert_eq!(there.status, here.status, "{what}");
    let difference = (there.loss - here.loss).abs();
    assert!(difference < 1e-11, "{what}: {difference:e}");
    assert_same(&there.b, &here.b, SAME_MINIMUM, what);
    assert_same(&there.a, &here.a, SAME_MINIMUM, what);
    // With several starts, the history is that of the best one, and starts may tie.
    let one_start = here.start_losses.len() == 1;
    let histories = there.history.iter().zip(&here.history).take(3);
    for (x, y) in histories.filter(|_| one_start) {
        let (difference, at) = ((x.loss - y.loss).abs(), y.iteration);
        assert!(
            difference < first_steps * (1.0 + y.loss.abs()),
            "{what}: {at} {difference:e}"
        );
    }
    if there.powers.rows() > 0 {
        assert_same(&there.powers, &here.powers, SAME_MINIMUM, what);
        for (x, y) in there.residuals.iter().zip(&here.residuals) {
            assert!((x - y).abs() < 10.0 * SAME_MINIMUM, "{what}: {x} {y}");
        }
    }
}
