//! Files of one matrix or of a list of numbers.

use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use codiag::npy::{Header, tuple};
use codiag::{Init, Matrix, Scalar, c64};

use super::{extension, open_bounded, text, unreadable};

/// Reads a real matrix from a .npy or a text file. Errors name the file.
pub fn matrix_file(path: &Path) -> Result<Matrix> {
    read_matrix(path).with_context(|| path.display().to_string())
}

/// Reads the matrix of `--init`, real or complex, from a .npy or a text file. Errors name the file.
pub fn init_file(path: &Path) -> Result<Init> {
    let read = || -> Result<Init> {
        Ok(if is_complex(path)? {
            Init::given(&read_matrix::<c64>(path)?)
        } else {
            Init::given(&read_matrix::<f64>(path)?)
        })
    };
    read().with_context(|| path.display().to_string())
}

/// Maximum number of bytes that are read from a FIFO, whose size is unknown.
pub const MAX_FIFO_BYTES: u64 = 64 << 20;

/// Reads a list of real numbers from a .npy or a text file. Errors name the file.
pub fn list_file(path: &Path) -> Result<Vec<f64>> {
    let read = || match extension(path).as_str() {
        "npy" => {
            let mut reader = BufReader::new(open_bounded(path)?);
            let header = Header::read(&mut reader)?;
            Ok(header.read_numbers(&mut reader, header.count()?, 0)?)
        }
        _ => text::list(&read_text(path)?),
    };
    read().with_context(|| path.display().to_string())
}

/// Whether a .npy or a text file has complex numbers. Invalid .npy headers are reported when the
/// file is read.
pub(super) fn is_complex(path: &Path) -> Result<bool> {
    if extension(path) != "npy" {
        return Ok(text::is_complex(
            &read_text(path).with_context(|| path.display().to_string())?,
        ));
    }
    let mut reader =
        BufReader::new(open_bounded(path).with_context(|| path.display().to_string())?);
    Ok(Header::read(&mut reader).is_ok_and(|header| header.numbers.is_complex()))
}

/// Reads a matrix from a .npy or a text file. The caller adds the name of the file to errors.
pub(super) fn read_matrix<T: Scalar>(path: &Path) -> Result<Matrix<T>> {
    if extension(path) != "npy" {
        return text::matrix(&read_text(path)?);
    }
    let mut reader = BufReader::new(open_bounded(path)?);
    let header = Header::read(&mut reader)?;
    let [rows, columns] = header.shape[..] else {
        bail!(
            "expected a matrix, got an array of shape {}",
            tuple(&header.shape)
        );
    };
    let data: Vec<T> = header.read_scalars(&mut reader, header.count()?, 0)?;
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

/// Reads a whole text file. The caller adds the name of the file to errors.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let mut file = open_bounded(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    ensure!(
        !file.is_fifo || bytes.len() as u64 <= MAX_FIFO_BYTES,
        "this FIFO has more than {} MiB; save its content in a regular file",
        MAX_FIFO_BYTES >> 20
    );
    String::from_utf8(bytes).map_err(|_| {
        let error = io::Error::new(
            io::ErrorKind::InvalidData,
            "stream did not contain valid UTF-8",
        );
        unreadable(error)
    })
}
