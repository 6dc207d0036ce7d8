//! End-to-end tests of the program: commands, options, output files, errors and exit codes.

mod browser;
mod check;
mod complex;
mod corrupted_files;
mod diagonalize;
mod errors;
mod from_disk;
mod inputs;
mod interrupted;
mod memory;
mod option_values;
#[cfg(unix)]
mod outputs;
mod readme;
mod reproduce;
mod separate;
mod stability;
mod terminal;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

/// A temporary folder in which the program runs.
struct TestDir {
    folder: TempDir,
}

impl TestDir {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    /// Returns a folder with covs.npy: 20 matrices of 5 × 5.
    fn with_set() -> Self {
        let dir = Self::new();
        dir.codiag("generate -n 20 -p 5 --seed 1 --mixing A.npy -o covs.npy")
            .assert()
            .success();
        dir
    }

    /// Returns the command `codiag` with arguments that are separated by spaces.
    fn codiag(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codiag"));
        command
            .current_dir(self.folder.path())
            .args(args.split_whitespace())
            .timeout(std::time::Duration::from_secs(900));
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// Returns the names of the files in a folder, including hidden ones.
    fn files(&self, name: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(name))
            .map(|entries| {
                entries
                    .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }

    fn array(&self, name: &str) -> Array {
        Array::read(&self.path(name))
    }
}

/// A .npy array of float64, read independently of the code of the program.
struct Array {
    shape: Vec<usize>,
    data: Vec<f64>,
}

impl Array {
    fn read(path: &Path) -> Self {
        Self::parse(&std::fs::read(path).unwrap())
    }

    fn parse(bytes: &[u8]) -> Self {
        assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
        assert!(header.contains("'descr': '<f8', 'fortran_order': False"));
        let shape = header.split_once('(').unwrap().1.split_once(')').unwrap().0;
        let shape: Vec<usize> = shape
            .split(',')
            .filter_map(|x| x.trim().parse().ok())
            .collect();
        let data: Vec<f64> = bytes[10 + length..]
            .chunks_exact(8)
            .map(|x| f64::from_le_bytes(x.try_into().unwrap()))
            .collect();
        assert_eq!(data.len(), shape.iter().product::<usize>(), "complete file");
        Self { shape, data }
    }

    /// Returns the bytes of a .npy file with any header.
    fn bytes(description: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let text =
            format!("{{'descr': '{description}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    /// Returns the bytes of a .npy file of float64.
    fn of(shape: &str, data: &[f64]) -> Vec<u8> {
        let data: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        Self::bytes("<f8", false, shape, &data)
    }
}

/// Reports a skipped test on standard error, without capture by the test harness.
fn skip(reason: &str) {
    let line = format!("skipped: {reason}\n");
    std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
}

/// Checks that all links inside of a report lead to an element.
fn check_links(page: &str) {
    let links = page.split("href=\"#").skip(1);
    let targets: Vec<&str> = links.filter_map(|rest| rest.split('"').next()).collect();
    assert!(!targets.is_empty(), "there are no links");
    for target in targets {
        let count = page.matches(&format!("id=\"{target}\"")).count();
        assert_eq!(count, 1, "#{target}");
    }
}

/// Largest difference of two arrays.
fn largest_difference(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    x.iter().zip(y).fold(0.0, |m, (x, y)| m.max((x - y).abs()))
}
