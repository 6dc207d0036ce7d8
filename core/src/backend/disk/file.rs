//! A file of matrices, read in pieces by position.
//!
//! Not mapped into memory: mapped pages count as resident, so no budget would hold, and a mapped
//! file that shrinks ends the process instead of the solve.

use std::path::Path;

use crate::data::needs;
use crate::linalg::{Scalar, c64};
use crate::npy::{ArrayFile, NpyError, Numbers};
use crate::{Error, MatrixSet, Memory, SetOptions};

/// Matrices smaller than this are read with those between them; larger ones one by one.
const WORTH_A_CALL: usize = 4096;

/// n matrices of p×p numbers in a file, one after the other, each row after row.
///
/// ```
/// use codiag::{MatrixFile, SetOptions, npy, synthetic};
///
/// let folder = std::env::temp_dir().join("codiag-example-of-matrix-file");
/// std::fs::create_dir_all(&folder)?;
/// let path = folder.join("covariances.f64");
/// let made = synthetic::Synthetic::new(10, 3, 0.1, 0);
/// let bytes: Vec<u8> = made.data.iter().flat_map(|x| x.to_le_bytes()).collect();
/// std::fs::write(&path, bytes)?;
///
/// let file = MatrixFile::raw(&path, 0, npy::Numbers::parse("<f8")?, 10, 3)?;
/// assert_eq!((file.len(), file.size(), file.bytes()), (10, 3, 720));
/// let set = file.read_set(&SetOptions::default())?;
/// assert_eq!(set.len(), 10);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MatrixFile {
    file: ArrayFile,
    n: usize,
    p: usize,
}

impl MatrixFile {
    /// Opens a .npy of shape (n, p, p) in C order, of any real or complex type.
    ///
    /// # Errors
    /// If it cannot be read, is no such .npy, or is truncated; the error names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let opened = || {
            let (file, header) = ArrayFile::open(path)?;
            let (n, p) = header.matrices()?;
            header.bytes()?;
            if header.fortran_order {
                return Err(Error::Npy(NpyError::FortranOrder));
            }
            Self { file, n, p }.checked()
        };
        opened().map_err(|e| named(path, e))
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
        let opened = || {
            let shape = vec![n, p, p];
            if n == 0 || p == 0 {
                return Err(Error::Shape { shape });
            }
            let square = p.checked_mul(p).and_then(|square| square.checked_mul(n));
            let bytes = square.and_then(|count| count.checked_mul(numbers.width()));
            bytes.ok_or(Error::TooLarge { shape })?;
            let file = ArrayFile::raw(path, offset, numbers)?;
            Self { file, n, p }.checked()
        };
        opened().map_err(|e| named(path, e))
    }

    fn checked(self) -> Result<Self, Error> {
        self.check_length()?;
        Ok(self)
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
        self.file.path()
    }

    /// The bytes that all matrices take in the file.
    pub fn bytes(&self) -> u64 {
        self.n as u64 * self.matrix_bytes() as u64
    }

    /// Whether the numbers are complex.
    pub fn is_complex(&self) -> bool {
        self.file.numbers().is_complex()
    }

    /// Reads all matrices into memory.
    ///
    /// # Errors
    /// If the matrices, which must be real, or the options are not as they should be; the error names
    /// the file.
    pub fn read_set(&self, options: &SetOptions) -> Result<MatrixSet, Error> {
        self.read_all(options)
    }

    /// Reads all matrices into memory, as complex ones.
    ///
    /// # Errors
    /// If the matrices or the options are not as they should be; the error names the file.
    pub fn read_complex_set(&self, options: &SetOptions) -> Result<MatrixSet<c64>, Error> {
        self.read_all(options)
    }

    fn read_all<T: Scalar>(&self, options: &SetOptions) -> Result<MatrixSet<T>, Error> {
        let mut failure = None;
        let matrices = (0..self.n).map_while(|i| {
            let mut matrix = vec![T::ZERO; self.p * self.p];
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
        if self.is_complex() {
            needs::of_blocks::<c64>(self.n, self.p).plus(needs::of_solve::<c64>(self.n, self.p))
        } else {
            needs::of_blocks::<f64>(self.n, self.p).plus(needs::of_solve::<f64>(self.n, self.p))
        }
    }

    /// The bytes of one matrix in the file.
    pub(super) fn matrix_bytes(&self) -> usize {
        self.p * self.p * self.file.numbers().width()
    }

    /// Whether numbers can be read as they are.
    pub(super) fn is_native<T: Scalar>(&self) -> bool {
        self.file.numbers().is_native::<T>()
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
    pub(super) fn read<T: Scalar>(
        &self,
        first: usize,
        step: usize,
        out: &mut [T],
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.file.numbers().check::<T>()?;
        let (square, width) = (self.p * self.p, self.matrix_bytes());
        if step == 1 {
            return self.fill(first, out, bytes);
        }
        if self.span(step) > width {
            // With those between them, of which no more than the bytes are looked at.
            let matrices = (out.len() / square - 1) * step + 1;
            bytes.resize(matrices * width, 0);
            let place = (first * square) as u64;
            let done = self.file.read_bytes(place, bytes)?;
            if done < bytes.len() {
                return Err(self.missing(first + done / width));
            }
            let wanted = bytes.chunks(step * width).map(|x| &x[..width]);
            let places = out.chunks_exact_mut(square).zip(wanted);
            places.for_each(|(out, bytes)| self.file.numbers().convert(bytes, out));
            return Ok(());
        }
        for (k, out) in out.chunks_exact_mut(square).enumerate() {
            self.fill(first + k * step, out, bytes)?;
        }
        Ok(())
    }

    /// Fills `out` from the beginning of matrix `first` on.
    fn fill<T: Scalar>(
        &self,
        first: usize,
        out: &mut [T],
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let square = self.p * self.p;
        let done = self.file.read((first * square) as u64, out, bytes)?;
        if done < out.len() {
            return Err(self.missing(first + done / square));
        }
        Ok(())
    }

    /// Whether the file is still as long as it must be.
    pub(super) fn check_length(&self) -> Result<(), Error> {
        let there = self.file.len()?;
        let needed = (self.n * self.p * self.p) as u64;
        if there >= needed {
            return Ok(());
        }
        Err(self.missing((there / (self.p * self.p) as u64) as usize))
    }

    fn missing(&self, matrix: usize) -> Error {
        Error::Truncated {
            matrices: self.n,
            size: self.p,
            bytes: self.file.offset() + self.bytes(),
            matrix,
        }
    }

    /// An error with the file's name.
    pub(super) fn named(&self, error: Error) -> Error {
        named(self.path(), error)
    }
}

fn named(path: &Path, error: Error) -> Error {
    match error {
        Error::Interrupted | Error::File { .. } => error,
        error => Error::File {
            path: path.to_owned(),
            error: Box::new(error),
        },
    }
}
