//! Readers of matrices. They yield one matrix at a time, so that a large file is read once and is
//! not in memory in addition to the set.

mod file;
pub mod filter;
mod folder;
mod mat;
pub mod recording;
mod text;

pub use file::{init_file, list_file, matrix_file};

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail, ensure};
use codiag::{Matrix, MatrixSet, Rank, Scalar, SetOptions, c64};

use crate::args::InputArgs;
use crate::number::Either;
use crate::session::{Interrupted, Session};
use codiag::npy::Header;

/// An open input of real or complex matrices.
pub type Input<'a> = Either<Matrices<'a>, Matrices<'a, c64>>;

/// Opens the input that the arguments name; `-` is the input of the session. Ctrl-C ends the
/// reading.
pub fn open_in_session<'a>(source: &InputArgs, session: &'a mut Session<'_>) -> Result<Input<'a>> {
    let interrupted = session.interrupt_flag();
    let mut input = open(source, &mut session.input)?;
    match &mut input {
        Either::Real(matrices) => matrices.interrupted = Some(interrupted),
        Either::Complex(matrices) => matrices.interrupted = Some(interrupted),
    }
    Ok(input)
}

/// Opens the input that the arguments name; `-` is `stdin`.
pub fn open<'a>(source: &InputArgs, stdin: &'a mut dyn Read) -> Result<Input<'a>> {
    let [path] = &source.input[..] else {
        return open_files("the list of files".to_owned(), source.input.clone());
    };
    let name = path.display().to_string();
    if path.as_os_str() == "-" {
        return open_stream("standard input".to_owned(), stdin, source.key.as_deref());
    }
    let metadata = std::fs::metadata(path).map_err(|e| file_error("read", path, e))?;
    if metadata.is_dir() {
        let files = folder::matrix_files(path)?;
        return open_files(name, files);
    }
    match extension(path).as_str() {
        "npy" => {
            let file = BufReader::with_capacity(1 << 20, open_file(path)?);
            open_npy(name.clone(), Box::new(file), Some(metadata.len())).context(name)
        }
        "npz" => open_npz(&name, open_file(path)?, source.key.as_deref()).context(name),
        "mat" => {
            let mut bytes = Vec::new();
            let read = open_bounded(path)
                .and_then(|mut file| file.read_to_end(&mut bytes).map_err(unreadable));
            read.with_context(|| name.clone())?;
            open_mat(&name, &bytes, source.key.as_deref()).context(name)
        }
        "csv" | "txt" | "tsv" => open_files(name, vec![path.clone()]),
        _ => bail!("{name}: expected a .npy, .npz, .mat or .csv file, a folder of them, or -"),
    }
}

/// Function that reads matrix i, or returns None after the last one.
type Stream<'a, T> = Box<dyn FnMut(usize) -> Option<Result<Vec<T>>> + 'a>;

/// Iterator over the matrices of an input.
pub struct Matrices<'a, T = f64> {
    /// Name of the file or folder, for messages.
    pub name: String,
    /// Number of matrices.
    pub n: usize,
    /// Number of rows of each matrix.
    pub p: usize,
    files: Vec<PathBuf>,
    next: usize,
    stream: Stream<'a, T>,
    interrupted: Option<&'a AtomicBool>,
}

impl<T: Scalar> Iterator for Matrices<'_, T> {
    type Item = Result<Vec<T>>;

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

impl<T: Scalar> Matrices<'_, T> {
    /// Returns the name of the file or array that has matrix `index`.
    pub fn name_of(&self, index: usize) -> String {
        match self.files.get(index) {
            Some(path) => path.display().to_string(),
            None => self.name.clone(),
        }
    }

    /// Reads the set. Errors about a matrix name its file. A set whose solve does not fit into
    /// memory is not read.
    pub fn into_set(mut self, options: &SetOptions) -> Result<(MatrixSet<T>, String)> {
        // The memory of a reduced set is checked once its rank is known.
        if options.n_components == Rank::Full {
            let fits = MatrixSet::<T>::check_memory(self.n, self.p);
            fits.map_err(|error| anyhow::Error::from(error).context(self.name.clone()))?;
        }
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
}

fn open_stream<'a>(name: String, stdin: &'a mut dyn Read, key: Option<&str>) -> Result<Input<'a>> {
    let mut magic = Vec::new();
    (&mut *stdin).take(6).read_to_end(&mut magic)?;
    ensure!(!magic.is_empty(), "{name}: the input is empty");
    let zipped = magic.starts_with(b"PK");
    let array = magic == b"\x93NUMPY";
    let mat = magic == b"MATLAB";
    let mut whole = Cursor::new(magic).chain(stdin);
    if array {
        return open_npy(name.clone(), Box::new(whole), None).context(name);
    }
    if zipped {
        let mut bytes = Vec::new();
        whole.read_to_end(&mut bytes)?;
        return open_npz(&name, Cursor::new(bytes), key).context(name);
    }
    if mat {
        let mut bytes = Vec::new();
        whole.read_to_end(&mut bytes)?;
        return open_mat(&name, &bytes, key).context(name);
    }
    bail!("{name}: expected the content of a .npy, .npz or .mat file")
}

fn open_npy<'a>(
    name: String,
    mut reader: Box<dyn Read + 'a>,
    size: Option<u64>,
) -> Result<Input<'a>> {
    let header = Header::read(&mut reader)?;
    let (n, p) = header.matrices()?;
    let bytes = header.bytes()?;
    // Report a truncated file before reading it.
    if let Some(size) = size
        && size < bytes
    {
        let width = bytes / (n * p * p) as u64;
        return Err(header.truncated((size / width) as usize).into());
    }
    matrices_of_header(name, header, reader)
}

fn matrices_of_header<'a>(
    name: String,
    header: Header,
    reader: Box<dyn Read + 'a>,
) -> Result<Input<'a>> {
    Ok(if header.numbers.is_complex() {
        Either::Complex(matrices_of_array(name, header, reader)?)
    } else {
        Either::Real(matrices_of_array(name, header, reader)?)
    })
}

/// Returns the matrices of an array whose header has been read and checked.
fn matrices_of_array<'a, T: Scalar>(
    name: String,
    header: Header,
    mut reader: Box<dyn Read + 'a>,
) -> Result<Matrices<'a, T>> {
    let (n, p) = header.matrices()?;
    let square = p * p;
    let stream: Stream<'a, T> = if header.fortran_order {
        // In Fortran order, no matrix is complete before the whole array has been read.
        let all: Vec<T> = header.read_scalars(&mut reader, n * square, 0)?;
        Box::new(move |i| {
            let entry = |k: usize| all[i + n * (k / p + p * (k % p))];
            (i < n).then(|| Ok((0..square).map(entry).collect()))
        })
    } else {
        Box::new(move |i| {
            (i < n).then(|| Ok(header.read_scalars(&mut reader, square, i * square)?))
        })
    };
    Ok(Matrices {
        name,
        n,
        p,
        files: Vec::new(),
        next: 0,
        interrupted: None,
        stream,
    })
}

fn open_npz<'a>(name: &str, file: impl Read + Seek, key: Option<&str>) -> Result<Input<'a>> {
    let mut archive = zip::ZipArchive::new(file).context("this is not an .npz file")?;
    let keys: Vec<String> = archive
        .file_names()
        .filter_map(|name| Some(name.ok()?.strip_suffix(".npy")?.to_owned()))
        .collect();
    let chosen = match (key, &keys[..]) {
        (Some(key), _) if keys.iter().any(|k| k == key) => key.to_owned(),
        (None, [only]) => only.clone(),
        (_, []) => bail!("the file has no array; save the matrices as an array of shape (n, p, p)"),
        (Some(key), _) => bail!(
            "the file has no array {key:?}; choose one of {}",
            keys.join(", ")
        ),
        (None, _) => bail!(
            "the file has several arrays; choose one with --key {}",
            keys.join("|")
        ),
    };
    let array = format!("{name}[{chosen}]");
    let unpacked = || format!("the array {chosen:?} cannot be unpacked");
    let mut entry = archive
        .by_name(&format!("{chosen}.npy"))
        .with_context(unpacked)?;
    let header = Header::read(&mut entry)?;
    header.matrices()?;
    // Unpack only as many bytes as the header announces, and one more to reach the end and its
    // checksum.
    let mut bytes = Vec::new();
    (&mut entry)
        .take(header.bytes()?.saturating_add(1))
        .read_to_end(&mut bytes)
        .with_context(unpacked)?;
    matrices_of_header(array, header, Box::new(Cursor::new(bytes)))
}

fn open_mat<'a>(name: &str, bytes: &[u8], key: Option<&str>) -> Result<Input<'a>> {
    let (chosen, stack) = mat::MatrixStack::choose(mat::read(bytes)?, key)?;
    let name = format!("{name}[{chosen}]");
    Ok(if stack.is_complex() {
        Either::Complex(matrices_of_stack(name, stack))
    } else {
        Either::Real(matrices_of_stack(name, stack))
    })
}

fn matrices_of_stack<'a, T: Scalar>(name: String, stack: mat::MatrixStack) -> Matrices<'a, T> {
    let (n, p) = (stack.n, stack.p);
    let stream = move |i: usize| (i < n).then(|| Ok(stack.matrix(i)));
    Matrices {
        name,
        n,
        p,
        files: Vec::new(),
        next: 0,
        interrupted: None,
        stream: Box::new(stream),
    }
}

/// Opens files of one matrix each. All are read as complex if one of them is.
fn open_files<'a>(name: String, files: Vec<PathBuf>) -> Result<Input<'a>> {
    for path in &files {
        if file::is_complex(path)? {
            return Ok(Either::Complex(matrices_of_files(name, files)?));
        }
    }
    Ok(Either::Real(matrices_of_files(name, files)?))
}

fn matrices_of_files<'a, T: Scalar>(name: String, files: Vec<PathBuf>) -> Result<Matrices<'a, T>> {
    let first = read_square(&files[0])?;
    let p = first.rows();
    let (mut first, rest) = (Some(first), files.clone());
    let stream = move |i: usize| {
        let path = rest.get(i)?;
        let matrix = match first.take() {
            Some(first) => Ok(first),
            // The iterator adds the name of the file to errors.
            None => file::read_matrix(path).and_then(|m| check_square(m, Some(p))),
        };
        Some(matrix.map(Matrix::into_vec))
    };
    Ok(Matrices {
        name,
        n: files.len(),
        p,
        files,
        next: 0,
        interrupted: None,
        stream: Box::new(stream),
    })
}

/// Reads a square matrix; errors name the file.
fn read_square<T: Scalar>(path: &Path) -> Result<Matrix<T>> {
    file::read_matrix(path)
        .and_then(|matrix| check_square(matrix, None))
        .with_context(|| path.display().to_string())
}

fn check_square<T: Scalar>(matrix: Matrix<T>, p: Option<usize>) -> Result<Matrix<T>> {
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

fn open_file(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| file_error("read", path, e))
}

/// A file that is read completely, but not beyond its size at opening, or a FIFO that is read up to
/// [`file::MAX_FIFO_BYTES`] and one byte.
struct BoundedFile {
    file: io::Take<File>,
    is_fifo: bool,
}

impl Read for BoundedFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

/// Opens a file that is read completely. Devices, which may be endless, are an error.
fn open_bounded(path: &Path) -> Result<BoundedFile> {
    let found = std::fs::metadata(path).map_err(unreadable)?;
    ensure!(!is_device(&found), "expected a file, got a device");
    let is_fifo = !found.is_file();
    let file = File::open(path).map_err(unreadable)?;
    let max_bytes = if is_fifo {
        file::MAX_FIFO_BYTES + 1
    } else {
        found.len()
    };
    Ok(BoundedFile {
        file: file.take(max_bytes),
        is_fifo,
    })
}

fn is_device(found: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        kind.is_char_device() || kind.is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        false
    }
}

/// Returns an error such as `name: cannot be read: no such file`.
pub fn file_error(action: &'static str, path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error)
        .context(format!("cannot be {action}"))
        .context(path.display().to_string())
}

/// Returns an error such as `cannot be read: no such file`, to which the caller adds the name.
fn unreadable(error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error).context("cannot be read")
}
