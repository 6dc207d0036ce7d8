//! Reading .npy: little or big endian, integers or floats, C or Fortran order.
//!
//! The file may be truncated or lie about its size: memory is only taken for bytes that are there.

mod file;
mod numbers;

pub use file::ArrayFile;
pub use numbers::Numbers;

use std::io::{self, Read};

use thiserror::Error;

use crate::Error;
use crate::linalg::{Scalar, c64};

type Result<T> = std::result::Result<T, Error>;

/// Why a file is no .npy that can be used.
///
/// ```
/// use codiag::Error;
/// use codiag::npy::{Header, NpyError};
/// let error = Header::read(&mut &b"channel,time,value"[..]).unwrap_err();
/// assert_eq!(error, Error::Npy(NpyError::NotNpy));
/// let words = match error {
///     Error::Npy(NpyError::NotNpy) => "is this a table? Read it as CSV".to_owned(),
///     other => other.to_string(),
/// };
/// assert_eq!(words, "is this a table? Read it as CSV");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NpyError {
    /// It does not begin as a .npy does.
    #[error("this is not a .npy file")]
    NotNpy,
    /// It ends before its first number.
    #[error("the .npy file ends within its header")]
    HeaderTruncated,
    /// Its header cannot be understood.
    #[error("the .npy header is damaged")]
    HeaderDamaged,
    /// It is an array of records.
    #[error("this is an array of records, not of numbers")]
    Records,
    /// Its numbers are complex, where real ones are needed.
    #[error("the numbers are complex ({name}), where real ones are needed")]
    Complex {
        /// NumPy's name for them.
        name: String,
    },
    /// Its numbers are of a type that is not known.
    #[error("numbers of type {name} cannot be read: save them as float64")]
    UnknownNumbers {
        /// NumPy's name for them.
        name: String,
    },
    /// It is in Fortran order, in which no matrix is in one place.
    #[error(
        "the array is in Fortran order, in which no matrix is in one place: save it in C order, by \
         numpy.save(file, numpy.ascontiguousarray(C)), or solve it in memory"
    )]
    FortranOrder,
    /// Its array has another shape than (n, p, p).
    #[error(
        "expected an array of shape (n, p, p) with n, p > 0, got {}",
        tuple(shape)
    )]
    Shape {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Its shape has more numbers than can be addressed.
    #[error("the shape {} is impossible", tuple(shape))]
    Impossible {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// It ends before its last number.
    #[error(
        "the file is truncated: its shape {} needs {} numbers, but only {there} are there",
        tuple(shape), shape.iter().product::<usize>()
    )]
    Truncated {
        /// Its shape.
        shape: Vec<usize>,
        /// How many numbers are there.
        there: usize,
    },
}

/// The longest header that is taken for one; NumPy's own are about a hundred bytes.
const LONGEST_HEADER: usize = 1 << 20;

/// What the header of a .npy says.
///
/// ```
/// use codiag::npy::Header;
/// // What numpy.save writes: magic, version, the length of the header, the header, the numbers.
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
    /// Whether the first index runs fastest.
    pub fortran_order: bool,
    /// What the numbers are.
    pub numbers: Numbers,
}

impl Header {
    /// Reads a header, and leaves the reader at the first number.
    ///
    /// # Errors
    /// If there is none, or it is damaged, or its numbers are of no known type.
    pub fn read(reader: &mut dyn Read) -> Result<Self> {
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Npy(NpyError::HeaderTruncated),
            _ => error.into(),
        };
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(cut)?;
        if !start.starts_with(b"\x93NUMPY") {
            return Err(Error::Npy(NpyError::NotNpy));
        }
        let mut length = [0; 4];
        let digits = if start[6] == 1 { 2 } else { 4 };
        reader.read_exact(&mut length[..digits]).map_err(cut)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST_HEADER {
            return Err(Error::Npy(NpyError::HeaderDamaged));
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text).map_err(cut)?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// `{'descr': '<f8', 'fortran_order': False, 'shape': (100, 40, 40), }`
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

    /// n and p of an array of shape (n, p, p).
    ///
    /// # Errors
    /// If it has another shape.
    pub fn matrices(&self) -> Result<(usize, usize)> {
        match self.shape[..] {
            [n, p, q] if p == q && n > 0 && p > 0 => Ok((n, p)),
            _ => Err(Error::Npy(NpyError::Shape {
                shape: self.shape.clone(),
            })),
        }
    }

    /// How many numbers the shape asks for.
    ///
    /// # Errors
    /// If that is more than a computer can address.
    pub fn count(&self) -> Result<usize> {
        let mut factors = self.shape.iter();
        let count = factors.try_fold(1_usize, |product, x| product.checked_mul(*x));
        count
            .filter(|count| count.checked_mul(16).is_some())
            .ok_or_else(|| {
                let shape = self.shape.clone();
                Error::Npy(NpyError::Impossible { shape })
            })
    }

    /// How many bytes the shape asks for.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn bytes(&self) -> Result<u64> {
        Ok(self.count()? as u64 * self.numbers.width() as u64)
    }

    /// Reads `count` real numbers; `done` have been read before.
    ///
    /// # Errors
    /// If the file ends before, or if they are complex.
    pub fn read_numbers(
        &self,
        reader: &mut dyn Read,
        count: usize,
        done: usize,
    ) -> Result<Vec<f64>> {
        self.read_scalars(reader, count, done)
    }

    /// The same as complex numbers, which they may but need not be.
    ///
    /// # Errors
    /// If the file ends before.
    pub fn read_complex(
        &self,
        reader: &mut dyn Read,
        count: usize,
        done: usize,
    ) -> Result<Vec<c64>> {
        self.read_scalars(reader, count, done)
    }

    /// The same as numbers of any type that can hold them.
    ///
    /// # Errors
    /// If the file ends before, or if they are complex and the type is not.
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

    /// The complaint about a file that ends too early.
    pub fn truncated(&self, there: usize) -> Error {
        Error::Npy(NpyError::Truncated {
            shape: self.shape.clone(),
            there,
        })
    }
}

/// A shape as Python writes it: (100, 40, 40).
///
/// ```
/// use codiag::npy::tuple;
/// assert_eq!(format!("the array has shape {}", tuple(&[100, 40, 40])), "the array has shape (100, 40, 40)");
/// assert_eq!(tuple(&[7]), "(7,)");
/// ```
pub fn tuple(shape: &[usize]) -> String {
    let numbers: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("({}{comma})", numbers.join(", "))
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
    fn every_kind_of_number_is_read() {
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
    fn damage_is_an_error_and_never_a_crash() {
        let whole = file("<f8", "False", "(2, 2)", &[0; 32]);
        assert_eq!(numbers(&whole).unwrap(), [0.0; 4]);
        for end in 0..whole.len() {
            assert!(numbers(&whole[..end]).is_err(), "cut at {end}");
        }
        let huge = file("<f8", "False", "(99999999999, 99999999999)", &[]);
        assert!(
            numbers(&huge)
                .unwrap_err()
                .to_string()
                .contains("impossible")
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
        // Real ones are complex ones without imaginary parts.
        let bytes = file("<i2", "False", "(1,)", &(-7_i16).to_le_bytes());
        let mut reader = &bytes[..];
        let header = Header::read(&mut reader).unwrap();
        let read = header.read_complex(&mut reader, 1, 0).unwrap();
        assert_eq!(read, [c64::new(-7.0, 0.0)]);
    }
}
