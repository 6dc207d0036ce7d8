//! A file of matrices, read in pieces by position.
//!
//! The file is not mapped into memory: mapped pages count as resident memory and would exceed the
//! memory limit, and a mapped file that is truncated during a solve would end the process.

use std::path::Path;

use crate::data::needs;
use crate::linalg::{Scalar, c64};
use crate::npy::{ArrayFile, NpyError, Numbers};
use crate::{Error, MatrixSet, Memory, SetOptions};

/// Size in bytes from which the matrices of a sample are read one by one. Smaller matrices are read
/// together with the unselected matrices between them.
const SEPARATE_READ_FROM: usize = 4096;

/// n matrices of p×p numbers in a file, one after the other in row-major order.
///
/// ```
/// use codiag::{MatrixFile, SetOptions, npy, synthetic};
///
/// let folder = std::env::temp_dir().join("codiag-example-of-matrix-file");
/// std::fs::create_dir_all(&folder)?;
/// let path = folder.join("covariances.f64");
/// let generated = synthetic::Synthetic::new(10, 3, 0.1, 0);
/// let bytes: Vec<u8> = generated.data.iter().flat_map(|x| x.to_le_bytes()).collect();
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
    /// Opens a .npy file of shape (n, p, p) in C order, of any real or complex type.
    ///
    /// # Errors
    /// If the file cannot be read, is not such an array, or is truncated. The error names the file.
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
        opened().map_err(|e| with_path(path, e))
    }

    /// Opens n·p·p numbers that start at byte `offset` of any file.
    ///
    /// # Errors
    /// If the file cannot be read or is truncated. The error names the file.
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
        opened().map_err(|e| with_path(path, e))
    }

    fn checked(self) -> Result<Self, Error> {
        self.check_length()?;
        Ok(self)
    }

    /// Returns the number of matrices.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.n
    }

    /// Returns the size p of the matrices.
    pub fn size(&self) -> usize {
        self.p
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the size of all matrices in the file, in bytes.
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
    /// If the matrices are complex, or if the matrices or the options are invalid. The error names
    /// the file.
    pub fn read_set(&self, options: &SetOptions) -> Result<MatrixSet, Error> {
        self.read_all(options)
    }

    /// Reads all matrices into memory as complex matrices.
    ///
    /// # Errors
    /// If the matrices or the options are invalid. The error names the file.
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
        failure.map_or(set, Err).map_err(|e| self.with_path(e))
    }

    /// Returns the approximate memory of a solve with all matrices in memory.
    pub fn in_memory(&self) -> Memory {
        if self.is_complex() {
            needs::of_blocks::<c64>(self.n, self.p).plus(needs::of_solve::<c64>(self.n, self.p))
        } else {
            needs::of_blocks::<f64>(self.n, self.p).plus(needs::of_solve::<f64>(self.n, self.p))
        }
    }

    /// Returns the number of bytes of one matrix in the file.
    pub(super) fn matrix_bytes(&self) -> usize {
        self.p * self.p * self.file.numbers().width()
    }

    /// Whether the numbers can be read without conversion.
    pub(super) fn is_native<T: Scalar>(&self) -> bool {
        self.file.numbers().is_native::<T>()
    }

    /// Returns the number of bytes read for each matrix of a sample of every `step`-th matrix.
    pub(super) fn span(&self, step: usize) -> usize {
        if self.matrix_bytes() < SEPARATE_READ_FROM {
            step * self.matrix_bytes()
        } else {
            self.matrix_bytes()
        }
    }

    /// Fills `out` with every `step`-th matrix from `first` on.
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
            // The matrices between the selected ones are read too, but not converted.
            let matrices = (out.len() / square - 1) * step + 1;
            bytes.resize(matrices * width, 0);
            let place = (first * square) as u64;
            let done = self.file.read_bytes(place, bytes)?;
            if done < bytes.len() {
                return Err(self.truncated(first + done / width));
            }
            let selected = bytes.chunks(step * width).map(|x| &x[..width]);
            let places = out.chunks_exact_mut(square).zip(selected);
            places.for_each(|(out, bytes)| self.file.numbers().convert(bytes, out));
            return Ok(());
        }
        for (k, out) in out.chunks_exact_mut(square).enumerate() {
            self.fill(first + k * step, out, bytes)?;
        }
        Ok(())
    }

    /// Fills `out` with consecutive matrices from `first` on.
    fn fill<T: Scalar>(
        &self,
        first: usize,
        out: &mut [T],
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let square = self.p * self.p;
        let done = self.file.read((first * square) as u64, out, bytes)?;
        if done < out.len() {
            return Err(self.truncated(first + done / square));
        }
        Ok(())
    }

    /// Checks that the file has not been truncated.
    pub(super) fn check_length(&self) -> Result<(), Error> {
        let actual = self.file.len()?;
        let needed = (self.n * self.p * self.p) as u64;
        if actual >= needed {
            return Ok(());
        }
        Err(self.truncated((actual / (self.p * self.p) as u64) as usize))
    }

    /// Returns the error about a file that ends within the given matrix.
    fn truncated(&self, matrix: usize) -> Error {
        Error::Truncated {
            matrices: self.n,
            size: self.p,
            bytes: self.file.offset() + self.bytes(),
            matrix,
        }
    }

    /// Adds the path of the file to an error.
    pub(super) fn with_path(&self, error: Error) -> Error {
        with_path(self.path(), error)
    }
}

fn with_path(path: &Path, error: Error) -> Error {
    match error {
        Error::Interrupted | Error::File { .. } => error,
        error => Error::File {
            path: path.to_owned(),
            error: Box::new(error),
        },
    }
}
