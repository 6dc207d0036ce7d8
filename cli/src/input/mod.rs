//! From files to matrices. They come one after the other, so that a large file is read once and is
//! never in memory beside the set made from it.

pub mod filter;
mod order;
pub mod recording;
mod text;

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail, ensure};
use codiag::{Matrix, MatrixSet, SetOptions};

use crate::args::Source;
use crate::session::{Interrupted, Session};
use codiag::npy::{self, Header};

/// Matrices about to be read.
pub struct Matrices<'a> {
    /// The file or folder, for messages.
    pub name: String,
    /// The size p.
    pub p: usize,
    files: Vec<PathBuf>,
    next: usize,
    stream: Box<dyn FnMut(usize) -> Option<Result<Vec<f64>>> + 'a>,
    interrupted: Option<&'a AtomicBool>,
}

impl Iterator for Matrices<'_> {
    type Item = Result<Vec<f64>>;

    fn next(&mut self) -> Option<Self::Item> {
        let interrupted = |flag: &AtomicBool| flag.load(Ordering::SeqCst);
        if self.interrupted.is_some_and(interrupted) {
            return Some(Err(Interrupted.into()));
        }
        let index = self.next;
        self.next += 1;
        let matrix = (self.stream)(index)?;
        Some(matrix.with_context(|| self.name_of(index)))
    }
}

impl<'a> Matrices<'a> {
    /// Opens what the arguments name, `-` being the session's input; Ctrl-C ends the reading.
    pub fn of_session(source: &Source, session: &'a mut Session<'_>) -> Result<Self> {
        let interrupted = session.interruption();
        let mut matrices = Self::open(source, &mut session.input)?;
        matrices.interrupted = Some(interrupted);
        Ok(matrices)
    }

    /// Opens what the arguments name; `stdin` is what `-` means.
    pub fn open(source: &Source, stdin: &'a mut dyn Read) -> Result<Self> {
        let [path] = &source.input[..] else {
            return Self::from_files("the list of files".to_owned(), source.input.clone());
        };
        let name = path.display().to_string();
        if path.as_os_str() == "-" {
            return Self::from_stream("standard input".to_owned(), stdin, source.key.as_deref());
        }
        let place = std::fs::metadata(path).map_err(|e| cannot("read", path, e))?;
        if place.is_dir() {
            let files = order::matrices_in(path)?;
            return Self::from_files(name, files);
        }
        match extension(path).as_str() {
            "npy" => {
                let file = BufReader::with_capacity(1 << 20, open(path)?);
                Self::from_npy(name.clone(), Box::new(file), Some(place.len())).context(name)
            }
            "npz" => Self::from_npz(&name, open(path)?, source.key.as_deref()).context(name),
            "csv" | "txt" | "tsv" => Self::from_files(name, vec![path.clone()]),
            _ => bail!("{name}: expected a .npy, .npz or .csv file, a folder of them, or -"),
        }
    }

    /// The file or the array in which matrix `index` is.
    pub fn name_of(&self, index: usize) -> String {
        match self.files.get(index) {
            Some(path) => path.display().to_string(),
            None => self.name.clone(),
        }
    }

    /// The set. Bad matrices are named by their file.
    pub fn into_set(mut self, options: &SetOptions) -> Result<(MatrixSet, String)> {
        let mut failure = None;
        let p = self.p;
        let matrices = std::iter::from_fn(|| match self.next()? {
            Ok(matrix) => Some(matrix),
            Err(error) => {
                failure = Some(error);
                None
            }
        });
        let set = MatrixSet::from_matrices(p, matrices, options);
        if let Some(error) = failure {
            return Err(error);
        }
        let set = set.map_err(|error| {
            let name = match &error {
                codiag::Error::NotFinite { matrix, .. }
                | codiag::Error::Asymmetric { matrix, .. }
                | codiag::Error::NotPositiveDefinite {
                    matrix: Some(matrix),
                    ..
                } => self.name_of(*matrix),
                _ => self.name.clone(),
            };
            anyhow::Error::from(error).context(name)
        })?;
        Ok((set, self.name))
    }

    fn from_stream(name: String, stdin: &'a mut dyn Read, key: Option<&str>) -> Result<Self> {
        let mut magic = Vec::new();
        (&mut *stdin).take(6).read_to_end(&mut magic)?;
        ensure!(!magic.is_empty(), "{name}: there is nothing in it");
        let zipped = magic.starts_with(b"PK");
        let array = magic == b"\x93NUMPY";
        let mut whole = Cursor::new(magic).chain(stdin);
        if array {
            return Self::from_npy(name.clone(), Box::new(whole), None).context(name);
        }
        if zipped {
            let mut bytes = Vec::new();
            whole.read_to_end(&mut bytes)?;
            return Self::from_npz(&name, Cursor::new(bytes), key).context(name);
        }
        bail!("{name}: expected the bytes of a .npy or .npz file")
    }

    fn from_npy(name: String, mut reader: Box<dyn Read + 'a>, size: Option<u64>) -> Result<Self> {
        let header = Header::read(&mut reader)?;
        let (n, p) = header.matrices()?;
        let (bytes, square) = (header.bytes()?, p * p);
        // Said before reading gigabytes in vain.
        if let Some(size) = size
            && size < bytes
        {
            let width = bytes / (n * square) as u64;
            return Err(header.truncated((size / width) as usize).into());
        }
        let stream: Box<dyn FnMut(usize) -> Option<Result<Vec<f64>>> + 'a> = if header.fortran_order
        {
            // The first index runs fastest: nothing is whole before all is read.
            let all = header.read_numbers(&mut reader, n * square, 0)?;
            Box::new(move |i| {
                let entry = |k: usize| all[i + n * (k / p + p * (k % p))];
                (i < n).then(|| Ok((0..square).map(entry).collect()))
            })
        } else {
            Box::new(move |i| {
                (i < n).then(|| Ok(header.read_numbers(&mut reader, square, i * square)?))
            })
        };
        Ok(Self {
            name,
            p,
            files: Vec::new(),
            next: 0,
            interrupted: None,
            stream,
        })
    }

    fn from_npz(name: &str, file: impl Read + Seek, key: Option<&str>) -> Result<Self> {
        let mut archive = zip::ZipArchive::new(file).context("this is not an .npz file")?;
        let keys: Vec<String> = archive
            .file_names()
            .filter_map(|name| Some(name.ok()?.strip_suffix(".npy")?.to_owned()))
            .collect();
        let chosen = match (key, &keys[..]) {
            (Some(key), _) if keys.iter().any(|k| k == key) => key.to_owned(),
            (None, [only]) => only.clone(),
            (_, []) => bail!("there is no array in it"),
            (Some(key), _) => bail!("there is no array {key:?}, only {}", keys.join(", ")),
            (None, _) => bail!(
                "there are several arrays: choose one by --key {}",
                keys.join("|")
            ),
        };
        // The archive lends its entries, so this one is unpacked whole.
        let mut bytes = Vec::new();
        archive
            .by_name(&format!("{chosen}.npy"))
            .and_then(|mut entry| Ok(entry.read_to_end(&mut bytes)?))
            .with_context(|| format!("the array {chosen:?} cannot be unpacked"))?;
        Self::from_npy(
            format!("{name}[{chosen}]"),
            Box::new(Cursor::new(bytes)),
            None,
        )
    }

    fn from_files(name: String, files: Vec<PathBuf>) -> Result<Self> {
        let first = square(&files[0])?;
        let p = first.rows();
        let (mut first, rest) = (Some(first), files.clone());
        let stream = move |i: usize| {
            let path = rest.get(i)?;
            let matrix = match first.take() {
                Some(first) => Ok(first),
                // The iterator adds the name of the file.
                None => read_matrix(path).and_then(|m| check_square(m, Some(p))),
            };
            Some(matrix.map(Matrix::into_vec))
        };
        Ok(Self {
            name,
            p,
            files,
            next: 0,
            interrupted: None,
            stream: Box::new(stream),
        })
    }
}

/// Reads a matrix from a .npy or a text file, and names the file in every error.
pub fn matrix_file(path: &Path) -> Result<Matrix> {
    read_matrix(path).with_context(|| path.display().to_string())
}

/// Reads a list of numbers from a .npy or a text file.
pub fn list_file(path: &Path) -> Result<Vec<f64>> {
    let read = || match extension(path).as_str() {
        "npy" => {
            let mut reader = BufReader::new(open_quietly(path)?);
            let header = Header::read(&mut reader)?;
            Ok(header.read_numbers(&mut reader, header.count()?, 0)?)
        }
        _ => text::list(&std::fs::read_to_string(path).map_err(unreadable)?),
    };
    read().with_context(|| path.display().to_string())
}

fn read_matrix(path: &Path) -> Result<Matrix> {
    if extension(path) != "npy" {
        return text::matrix(&std::fs::read_to_string(path).map_err(unreadable)?);
    }
    let mut reader = BufReader::new(open_quietly(path)?);
    let header = Header::read(&mut reader)?;
    let [rows, columns] = header.shape[..] else {
        bail!(
            "expected a matrix, got an array of shape {}",
            npy::tuple(&header.shape)
        );
    };
    let data = header.read_numbers(&mut reader, header.count()?, 0)?;
    let fortran = header.fortran_order;
    let entry = |a: usize, b: usize| {
        data[if fortran {
            a + rows * b
        } else {
            a * columns + b
        }]
    };
    Ok(Matrix::from_fn(rows, columns, entry))
}

fn square(path: &Path) -> Result<Matrix> {
    read_matrix(path)
        .and_then(|matrix| check_square(matrix, None))
        .with_context(|| path.display().to_string())
}

fn check_square(matrix: Matrix, p: Option<usize>) -> Result<Matrix> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    ensure!(
        rows == columns && rows > 0,
        "expected a square matrix, got {rows} x {columns}"
    );
    if let Some(p) = p {
        ensure!(
            rows == p,
            "expected a {p} x {p} matrix like the first, got {rows} x {columns}"
        );
    }
    Ok(matrix)
}

fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| cannot("read", path, e))
}

fn open_quietly(path: &Path) -> Result<File> {
    File::open(path).map_err(unreadable)
}

/// `name: cannot be read: no such file`
pub fn cannot(what: &'static str, path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error)
        .context(format!("cannot be {what}"))
        .context(path.display().to_string())
}

/// `cannot be read: no such file`, where the caller adds the name.
fn unreadable(error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error).context("cannot be read")
}
