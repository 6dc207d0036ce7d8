//! Reads .npy files: integers or floats, little or big endian, in C or Fortran order.
//!
//! A file may be truncated, or its header may state a wrong shape. Memory is therefore allocated
//! only for bytes that have been read.

mod file;
mod numbers;

pub use file::ArrayFile;
pub use numbers::Numbers;

use std::io::{self, Read};

use crate::Error;
pub use crate::error::{NpyError, tuple};
use crate::linalg::{Scalar, c64};

type Result<T> = std::result::Result<T, Error>;

/// Maximum length of a header in bytes. Headers written by NumPy have about a hundred.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// The header of a .npy file.
///
/// ```
/// use codiag::npy::Header;
/// // The format of numpy.save: magic string, version, header length, header, numbers.
/// let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 2), }\n";
/// let mut file = b"\x93NUMPY\x01\x00".to_vec();
/// file.extend((text.len() as u16).to_le_bytes());
/// file.extend(text.as_bytes());
/// file.extend([2.0_f64, 0.5, 0.5, 1.0].map(f64::to_le_bytes).concat());
///
/// let mut reader = &file[..];
/// let header = Header::read(&mut reader)?;
/// let (n, p) = header.matrices()?;
/// let data = header.read_numbers(&mut reader, header.count()?, 0)?;
/// assert_eq!(codiag::MatrixSet::new(&data, n, p)?.len(), 1);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// Whether the array is in Fortran order.
    pub fortran_order: bool,
    /// The data type of the numbers.
    pub numbers: Numbers,
}

impl Header {
    /// Reads a header. The reader is then at the first number.
    ///
    /// # Errors
    /// If the file is not a .npy file, the header is damaged, or the data type is not supported.
    pub fn read(reader: &mut dyn Read) -> Result<Self> {
        let truncated = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Npy(NpyError::HeaderTruncated),
            _ => error.into(),
        };
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(truncated)?;
        if !start.starts_with(b"\x93NUMPY") {
            return Err(Error::Npy(NpyError::NotNpy));
        }
        let mut length = [0; 4];
        let length_bytes = if start[6] == 1 { 2 } else { 4 };
        reader
            .read_exact(&mut length[..length_bytes])
            .map_err(truncated)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER_BYTES {
            return Err(Error::Npy(NpyError::HeaderDamaged));
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text).map_err(truncated)?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// Parses a header such as `{'descr': '<f8', 'fortran_order': False, 'shape': (100, 40, 40),
    /// }`.
    fn parse(text: &str) -> Result<Self> {
        let damaged = || Error::Npy(NpyError::HeaderDamaged);
        let after = |key: &str| -> Result<&str> {
            let found = text.split_once(&format!("'{key}':"));
            let (_, rest) = found.ok_or_else(damaged)?;
            Ok(rest.trim_start())
        };
        let fortran_order = after("fortran_order")?.starts_with("True");
        let Some((name, _)) = after("descr")?
            .strip_prefix('\'')
            .and_then(|rest| rest.split_once('\''))
        else {
            return Err(Error::Npy(NpyError::Records));
        };
        let numbers = Numbers::parse(name)?;
        let inner = after("shape")?
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .ok_or_else(damaged)?
            .0;
        let shape = inner
            .split(',')
            .map(str::trim)
            .filter(|number| !number.is_empty())
            .map(|number| number.trim_end_matches('L').parse())
            .collect::<std::result::Result<Vec<usize>, _>>()
            .map_err(|_| damaged())?;
        Ok(Self {
            shape,
            fortran_order,
            numbers,
        })
    }

    /// Returns n and p of an array of shape (n, p, p).
    ///
    /// # Errors
    /// If the array has another shape.
    pub fn matrices(&self) -> Result<(usize, usize)> {
        match self.shape[..] {
            [n, p, q] if p == q && n > 0 && p > 0 => Ok((n, p)),
            _ => Err(Error::Npy(NpyError::Shape {
                shape: self.shape.clone(),
            })),
        }
    }

    /// Returns the number of entries of the array.
    ///
    /// # Errors
    /// If the array is larger than the address space.
    pub fn count(&self) -> Result<usize> {
        let mut factors = self.shape.iter();
        let count = factors.try_fold(1_usize, |product, x| product.checked_mul(*x));
        count
            .filter(|count| count.checked_mul(16).is_some())
            .ok_or_else(|| {
                let shape = self.shape.clone();
                Error::Npy(NpyError::TooLarge { shape })
            })
    }

    /// Returns the size of the array in bytes.
    ///
    /// # Errors
    /// The errors of [`count`](Self::count).
    pub fn bytes(&self) -> Result<u64> {
        Ok(self.count()? as u64 * self.numbers.width() as u64)
    }

    /// Reads the next `count` real numbers. `done` is the number of entries read before, for error
    /// messages.
    ///
    /// # Errors
    /// If the file is truncated, or the numbers are complex.
    pub fn read_numbers(
        &self,
        reader: &mut dyn Read,
        count: usize,
        done: usize,
    ) -> Result<Vec<f64>> {
        self.read_scalars(reader, count, done)
    }

    /// Reads the next `count` real or complex numbers as complex numbers. `done` is the number of
    /// entries read before, for error messages.
    ///
    /// # Errors
    /// If the file is truncated.
    pub fn read_complex(
        &self,
        reader: &mut dyn Read,
        count: usize,
        done: usize,
    ) -> Result<Vec<c64>> {
        self.read_scalars(reader, count, done)
    }

    /// Reads the next `count` numbers as real or complex scalars. `done` is the number of entries
    /// read before, for error messages.
    ///
    /// # Errors
    /// If the file is truncated, or the numbers are complex and T is real.
    pub fn read_scalars<T: Scalar>(
        &self,
        reader: &mut dyn Read,
        count: usize,
        done: usize,
    ) -> Result<Vec<T>> {
        self.numbers.check::<T>()?;
        let width = self.numbers.width();
        let mut bytes = Vec::new();
        reader
            .take((count * width) as u64)
            .read_to_end(&mut bytes)
            .map_err(Error::from)?;
        if bytes.len() < count * width {
            return Err(self.truncated(done + bytes.len() / width));
        }
        let mut numbers = vec![T::ZERO; count];
        self.numbers.convert(&bytes, &mut numbers);
        Ok(numbers)
    }

    /// Returns the error of a file that ends after `available` numbers.
    pub fn truncated(&self, available: usize) -> Error {
        Error::Npy(NpyError::Truncated {
            shape: self.shape.clone(),
            available,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn numbers(bytes: &[u8]) -> Result<Vec<f64>> {
        let mut reader = bytes;
        let header = Header::read(&mut reader)?;
        header.read_numbers(&mut reader, header.count()?, 0)
    }

    #[test]
    fn every_data_type_is_read() {
        let cases: [(&str, Vec<u8>); 10] = [
            ("<f8", (-2.0_f64).to_le_bytes().to_vec()),
            (">f8", (-2.0_f64).to_be_bytes().to_vec()),
            ("<f4", (-2.0_f32).to_le_bytes().to_vec()),
            (">f4", (-2.0_f32).to_be_bytes().to_vec()),
            ("|i1", (-2_i8).to_le_bytes().to_vec()),
            ("<i2", (-2_i16).to_le_bytes().to_vec()),
            (">i4", (-2_i32).to_be_bytes().to_vec()),
            ("<i8", (-2_i64).to_le_bytes().to_vec()),
            ("<u2", 65534_u16.to_le_bytes().to_vec()),
            ("|b1", vec![1]),
        ];
        for (descr, data) in cases {
            let expected = match descr {
                "<u2" => 65534.0,
                "|b1" => 1.0,
                _ => -2.0,
            };
            let read = numbers(&file(descr, "False", "(1,)", &data)).unwrap();
            assert_eq!(read, [expected], "{descr}");
        }
    }

    #[test]
    fn damaged_files_return_errors() {
        let whole = file("<f8", "False", "(2, 2)", &[0; 32]);
        assert_eq!(numbers(&whole).unwrap(), [0.0; 4]);
        for end in 0..whole.len() {
            assert!(numbers(&whole[..end]).is_err(), "truncated at {end}");
        }
        let huge = file("<f8", "False", "(99999999999, 99999999999)", &[]);
        assert!(
            numbers(&huge)
                .unwrap_err()
                .to_string()
                .contains("more numbers than can be addressed")
        );
        let complex = file("<c16", "False", "(1,)", &[0; 16]);
        assert!(
            numbers(&complex)
                .unwrap_err()
                .to_string()
                .contains("complex")
        );
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend(u32::MAX.to_le_bytes());
        assert!(numbers(&long).unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn complex_numbers_of_either_precision_and_order_are_read() {
        let expected = [c64::new(1.5, -2.0), c64::new(0.25, 3.0)];
        let parts = [1.5, -2.0, 0.25, 3.0];
        let single = parts.map(|x| x as f32);
        let cases: [(&str, Vec<u8>); 4] = [
            ("<c16", parts.map(f64::to_le_bytes).concat()),
            (">c16", parts.map(f64::to_be_bytes).concat()),
            ("<c8", single.map(f32::to_le_bytes).concat()),
            (">c8", single.map(f32::to_be_bytes).concat()),
        ];
        for (descr, data) in cases {
            let bytes = file(descr, "False", "(2,)", &data);
            let mut reader = &bytes[..];
            let header = Header::read(&mut reader).unwrap();
            assert!(header.numbers.is_complex());
            let read = header.read_complex(&mut reader, 2, 0).unwrap();
            assert_eq!(read, expected, "{descr}");
        }
        // Real numbers are read with imaginary parts of zero.
        let bytes = file("<i2", "False", "(1,)", &(-7_i16).to_le_bytes());
        let mut reader = &bytes[..];
        let header = Header::read(&mut reader).unwrap();
        let read = header.read_complex(&mut reader, 1, 0).unwrap();
        assert_eq!(read, [c64::new(-7.0, 0.0)]);
    }
}
