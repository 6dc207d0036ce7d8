//! A file of matrices, read in pieces by position.
//!
//! Not mapped into memory: mapped pages count as resident, so no budget would hold, and a mapped
//! file that shrinks ends the process instead of the solve.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::linalg::kernels::{hessian_len, packed_len};
use crate::npy::{Header, Numbers};
use crate::{Error, MatrixSet, Memory, SetOptions};

/// Matrices smaller than this are read with those between them; larger ones one by one.
const WORTH_A_CALL: usize = 4096;

/// n matrices of p×p numbers in a file, one after the other, each row after row.
#[derive(Debug)]
pub struct MatrixFile {
    path: PathBuf,
    file: File,
    /// Where the first matrix begins.
    offset: u64,
    numbers: Numbers,
    n: usize,
    p: usize,
}

impl MatrixFile {
    /// Opens a .npy of shape (n, p, p) in C order, of any real type.
    ///
    /// # Errors
    /// If it cannot be read, is no such .npy, or is truncated; the error names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let opened = || {
            let mut file = File::open(path).map_err(|e| unreadable(&e))?;
            let header = Header::read(&mut file)?;
            let (n, p) = header.matrices()?;
            header.bytes()?;
            if header.fortran_order {
                return Err(Error::Source(
                    "the array is in Fortran order, in which no matrix is in one place: save it in C \
                     order, by numpy.save(file, numpy.ascontiguousarray(C)), or solve it in memory"
                        .to_owned(),
                ));
            }
            let offset = io::Seek::stream_position(&mut file).map_err(|e| unreadable(&e))?;
            Ok((file, offset, header.numbers, n, p))
        };
        let (file, offset, numbers, n, p) = opened().map_err(|e| named(path, e))?;
        Self::checked(path, file, offset, numbers, n, p)
    }

    /// Opens n·p·p numbers that begin at byte `offset` of any file.
    ///
    /// # Errors
    /// If the file cannot be read or is too short; the error names it.
    pub fn raw(
        path: impl AsRef<Path>,
        offset: u64,
        numbers: Numbers,
        n: usize,
        p: usize,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        if n == 0 || p == 0 {
            return Err(Error::Shape {
                shape: vec![n, p, p],
            });
        }
        let file = File::open(path).map_err(|e| named(path, unreadable(&e)))?;
        Self::checked(path, file, offset, numbers, n, p)
    }

    fn checked(
        path: &Path,
        file: File,
        offset: u64,
        numbers: Numbers,
        n: usize,
        p: usize,
    ) -> Result<Self, Error> {
        let opened = Self {
            path: path.to_owned(),
            file,
            offset,
            numbers,
            n,
            p,
        };
        opened.check_length().map_err(|e| opened.named(e))?;
        Ok(opened)
    }

    /// The number of matrices.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.n
    }

    /// Their size p.
    pub fn size(&self) -> usize {
        self.p
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that all matrices take in the file.
    pub fn bytes(&self) -> u64 {
        self.n as u64 * self.matrix_bytes() as u64
    }

    /// Reads all matrices into memory.
    ///
    /// # Errors
    /// If the matrices or the options are not as they should be; the error names the file.
    pub fn read_set(&self, options: &SetOptions) -> Result<MatrixSet, Error> {
        let mut failure = None;
        let matrices = (0..self.n).map_while(|i| {
            let mut matrix = vec![0.0; self.p * self.p];
            match self.read(i, 1, &mut matrix, &mut Vec::new()) {
                Ok(()) => Some(matrix),
                Err(error) => {
                    failure = Some(error);
                    None
                }
            }
        });
        let set = MatrixSet::from_matrices(self.p, matrices, options);
        failure.map_or(set, Err).map_err(|e| self.named(e))
    }

    /// About what a solve of these matrices takes if they are all in memory.
    pub fn in_memory(&self) -> Memory {
        // The matrices and, in three parts, where they move; their diagonals; the groups' Hessians.
        let matrices = self.n * (4 * packed_len(self.p) + self.p + 4);
        let hessians = 32 * hessian_len(self.p);
        Memory(8 * (matrices + hessians.min(matrices.max(8 << 20))) as u64)
    }

    /// The bytes of one matrix in the file.
    pub(super) fn matrix_bytes(&self) -> usize {
        self.p * self.p * self.numbers.width()
    }

    /// Whether numbers can be read as they are.
    pub(super) fn is_native(&self) -> bool {
        self.numbers.is_native()
    }

    /// How many bytes are read at once for each matrix when every `step`-th is wanted.
    pub(super) fn span(&self, step: usize) -> usize {
        if self.matrix_bytes() < WORTH_A_CALL {
            step * self.matrix_bytes()
        } else {
            self.matrix_bytes()
        }
    }

    /// Reads every `step`-th matrix from `first` on, as many as `out` holds.
    pub(super) fn read(
        &self,
        first: usize,
        step: usize,
        out: &mut [f64],
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (square, width) = (self.p * self.p, self.matrix_bytes());
        if step == 1 && self.is_native() {
            return self.fill(first, bytemuck::cast_slice_mut(out));
        }
        if step == 1 || self.span(step) > width {
            let matrices = (out.len() / square - 1) * step + 1;
            bytes.resize(matrices * width, 0);
            self.fill(first, bytes)?;
            let wanted = bytes.chunks(step * width).map(|x| &x[..width]);
            let places = out.chunks_exact_mut(square).zip(wanted);
            places.for_each(|(out, bytes)| self.numbers.convert(bytes, out));
            return Ok(());
        }
        for (k, out) in out.chunks_exact_mut(square).enumerate() {
            let matrix = first + k * step;
            if self.is_native() {
                self.fill(matrix, bytemuck::cast_slice_mut(out))?;
            } else {
                bytes.resize(width, 0);
                self.fill(matrix, bytes)?;
                self.numbers.convert(bytes, out);
            }
        }
        Ok(())
    }

    /// Fills `bytes` from the beginning of matrix `first` on.
    fn fill(&self, first: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let start = self.offset + first as u64 * self.matrix_bytes() as u64;
        let mut done = 0;
        while done < bytes.len() {
            let matrix = || first + done / self.matrix_bytes();
            match read_at(&self.file, &mut bytes[done..], start + done as u64) {
                Ok(0) => return Err(self.missing(matrix())),
                Ok(count) => done += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    return Err(Error::Source(format!(
                        "matrix {} cannot be read: {e}",
                        matrix()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Whether the file is still as long as it must be.
    pub(super) fn check_length(&self) -> Result<(), Error> {
        let there = self.file.metadata().map_err(|e| unreadable(&e))?.len();
        if there >= self.offset + self.bytes() {
            return Ok(());
        }
        let whole = there.saturating_sub(self.offset) / self.matrix_bytes() as u64;
        Err(self.missing(whole as usize))
    }

    fn missing(&self, matrix: usize) -> Error {
        Error::Source(format!(
            "the file is truncated: its {} matrices of {p} x {p} need {} bytes, but it ends within matrix \
             {matrix}",
            self.n,
            self.offset + self.bytes(),
            p = self.p
        ))
    }

    /// An error with the file's name.
    pub(super) fn named(&self, error: Error) -> Error {
        named(&self.path, error)
    }
}

fn named(path: &Path, error: Error) -> Error {
    match error {
        Error::Interrupted | Error::File { .. } => error,
        error => Error::File {
            file: path.display().to_string(),
            error: Box::new(error),
        },
    }
}

fn unreadable(error: &io::Error) -> Error {
    Error::Source(format!("cannot be read: {error}"))
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}
