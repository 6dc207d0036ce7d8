//! Reading .npy: little or big endian, integers or floats, C or Fortran order.
//!
//! The file may be truncated or lie about its size: memory is only taken for bytes that are there.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};

/// The longest header that is taken for one; NumPy's own are about a hundred bytes.
const LONGEST_HEADER: usize = 1 << 20;

/// What the header of a .npy says.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub shape: Vec<usize>,
    pub fortran_order: bool,
    kind: Kind,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bool,
    Int(usize),
    Uint(usize),
    Float(usize),
}

impl Kind {
    fn parse(code: &str) -> Option<Self> {
        Some(match code {
            "b1" => Self::Bool,
            "i1" => Self::Int(1),
            "i2" => Self::Int(2),
            "i4" => Self::Int(4),
            "i8" => Self::Int(8),
            "u1" => Self::Uint(1),
            "u2" => Self::Uint(2),
            "u4" => Self::Uint(4),
            "u8" => Self::Uint(8),
            "f4" => Self::Float(4),
            "f8" => Self::Float(8),
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Int(bytes) | Self::Uint(bytes) | Self::Float(bytes) => bytes,
        }
    }
}

impl Header {
    /// Reads a header, and leaves the reader at the first number.
    pub fn read(reader: &mut dyn Read) -> Result<Self> {
        let mut start = [0; 8];
        reader
            .read_exact(&mut start)
            .ok()
            .context("the file is too short for a .npy")?;
        ensure!(start.starts_with(b"\x93NUMPY"), "this is not a .npy file");
        let short = start[6] == 1;
        let mut length = [0; 4];
        let digits = if short { 2 } else { 4 };
        reader
            .read_exact(&mut length[..digits])
            .ok()
            .context("the .npy file ends within its header")?;
        let length = u32::from_le_bytes(length) as usize;
        ensure!(length <= LONGEST_HEADER, "the .npy header is damaged");
        let mut text = vec![0; length];
        reader
            .read_exact(&mut text)
            .ok()
            .context("the .npy file ends within its header")?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// `{'descr': '<f8', 'fortran_order': False, 'shape': (100, 40, 40), }`
    fn parse(text: &str) -> Result<Self> {
        let after = |key: &str| {
            let (_, rest) = text
                .split_once(&format!("'{key}':"))
                .with_context(|| format!("the .npy header has no {key}"))?;
            anyhow::Ok(rest.trim_start())
        };
        let fortran_order = after("fortran_order")?.starts_with("True");
        let description = after("descr")?;
        let Some((name, _)) = description
            .strip_prefix('\'')
            .and_then(|rest| rest.split_once('\''))
        else {
            bail!("this is an array of records, not of numbers");
        };
        ensure!(
            !name.contains('c'),
            "the numbers are complex ({name}): Hermitian sets are not supported yet"
        );
        let kind =
            Kind::parse(name.trim_start_matches(['<', '>', '=', '|'])).with_context(|| {
                format!("numbers of type {name} cannot be read: save them as float64")
            })?;
        let inner = after("shape")?
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .context("the .npy header has a damaged shape")?
            .0;
        let shape = inner
            .split(',')
            .map(str::trim)
            .filter(|number| !number.is_empty())
            .map(|number| number.trim_end_matches('L').parse())
            .collect::<Result<Vec<usize>, _>>()
            .context("the .npy header has a damaged shape")?;
        Ok(Self {
            shape,
            fortran_order,
            kind,
            big_endian: name.starts_with('>'),
        })
    }

    /// How many numbers the shape asks for.
    pub fn count(&self) -> Result<usize> {
        self.shape
            .iter()
            .try_fold(1_usize, |product, x| product.checked_mul(*x))
            .filter(|count| count.checked_mul(8).is_some())
            .with_context(|| format!("the shape {} is impossible", super::shape(&self.shape)))
    }

    /// How many bytes the shape asks for.
    pub fn bytes(&self) -> Result<u64> {
        Ok(self.count()? as u64 * self.kind.bytes() as u64)
    }

    /// Reads `count` numbers; `done` have been read before.
    pub fn read_numbers(
        &self,
        reader: &mut dyn Read,
        count: usize,
        done: usize,
    ) -> Result<Vec<f64>> {
        let width = self.kind.bytes();
        let mut bytes = Vec::new();
        reader
            .take((count * width) as u64)
            .read_to_end(&mut bytes)
            .context("cannot be read")?;
        if bytes.len() < count * width {
            return Err(self.truncated(done + bytes.len() / width));
        }
        Ok(bytes.chunks_exact(width).map(|x| self.number(x)).collect())
    }

    /// The complaint about a file that ends too early.
    pub fn truncated(&self, there: usize) -> anyhow::Error {
        anyhow::anyhow!(
            "the file is truncated: its shape {} needs {} numbers, but only {there} are there",
            super::shape(&self.shape),
            self.shape.iter().product::<usize>()
        )
    }

    fn number(&self, bytes: &[u8]) -> f64 {
        let mut padded = [0_u8; 8];
        for (k, byte) in bytes.iter().enumerate() {
            let place = if self.big_endian {
                bytes.len() - 1 - k
            } else {
                k
            };
            padded[place] = *byte;
        }
        let bits = u64::from_le_bytes(padded);
        match self.kind {
            Kind::Bool => f64::from(u8::from(bits != 0)),
            Kind::Uint(_) => bits as f64,
            Kind::Int(width) => {
                let unused = 64 - 8 * width as u32;
                (((bits << unused) as i64) >> unused) as f64
            }
            Kind::Float(4) => f64::from(f32::from_bits(bits as u32)),
            Kind::Float(_) => f64::from_bits(bits),
        }
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
}
