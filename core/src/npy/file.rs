//! Positioned reads of the numbers in a file.

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use super::{Header, Numbers};
use crate::Error;
use crate::linalg::Scalar;

/// Contiguous numbers in a file. Reads are positioned, so that several threads can read at the same
/// time.
///
/// ```
/// use codiag::npy::{ArrayFile, Numbers};
///
/// let path = std::env::temp_dir().join("codiag-example-of-array-file.f32");
/// std::fs::write(&path, [1.0_f32, 2.0, 3.0].map(f32::to_le_bytes).concat())?;
/// let file = ArrayFile::raw(&path, 0, Numbers::parse("<f4")?)?;
/// let mut numbers = [0.0; 2];
/// assert_eq!(file.read(1, &mut numbers, &mut Vec::new())?, 2);
/// assert_eq!((file.len()?, numbers), (3, [2.0, 3.0]));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ArrayFile {
    path: PathBuf,
    file: File,
    /// Position of the first number in bytes.
    offset: u64,
    numbers: Numbers,
}

impl ArrayFile {
    /// Opens a .npy file and reads its header.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a .npy file of numbers.
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Header), Error> {
        let path = path.as_ref();
        let mut file = File::open(path)?;
        let header = Header::read(&mut file)?;
        let opened = Self {
            path: path.to_owned(),
            offset: file.stream_position()?,
            file,
            numbers: header.numbers,
        };
        Ok((opened, header))
    }

    /// Opens any file with numbers from byte `offset` on.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn raw(path: impl AsRef<Path>, offset: u64, numbers: Numbers) -> Result<Self, Error> {
        let path = path.as_ref();
        Ok(Self {
            path: path.to_owned(),
            file: File::open(path)?,
            offset,
            numbers,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the data type of the numbers.
    pub fn numbers(&self) -> Numbers {
        self.numbers
    }

    /// Returns the position of the first number in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of complete numbers that the file currently holds.
    ///
    /// # Errors
    /// If the size of the file cannot be read.
    #[allow(clippy::len_without_is_empty)] // `len` is fallible
    pub fn len(&self) -> Result<u64, Error> {
        let bytes = self.file.metadata()?.len();
        Ok(bytes.saturating_sub(self.offset) / self.numbers.width() as u64)
    }

    /// Reads numbers from index `first` on into `out`, and returns their count, which is smaller
    /// than the length of `out` at the end of the file. `bytes` is a reusable buffer for
    /// conversions.
    ///
    /// # Errors
    /// If the file cannot be read, or the numbers are complex and T is real.
    pub fn read<T: Scalar>(
        &self,
        first: u64,
        out: &mut [T],
        bytes: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        self.numbers.check::<T>()?;
        let width = self.numbers.width();
        if self.numbers.is_native::<T>() {
            let read = self.read_bytes(first, bytemuck::cast_slice_mut(out))?;
            return Ok(read / width);
        }
        bytes.resize(out.len() * width, 0);
        let count = self.read_bytes(first, bytes)? / width;
        self.numbers
            .convert(&bytes[..count * width], &mut out[..count]);
        Ok(count)
    }

    /// Reads the bytes of the file from number `first` on, and returns their count.
    pub(crate) fn read_bytes(&self, first: u64, bytes: &mut [u8]) -> Result<usize, Error> {
        let start = self.offset + first * self.numbers.width() as u64;
        let mut done = 0;
        while done < bytes.len() {
            match read_at(&self.file, &mut bytes[done..], start + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(done)
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}
