//! Data types of arrays, and their conversion to `f64` and complex numbers.

use super::{NpyError, Result};
use crate::Error;
use crate::linalg::{Scalar, reals_mut};

/// The data type of the numbers of an array: kind, size and byte order.
///
/// ```
/// use codiag::npy::Numbers;
/// // Big-endian 16-bit integers, as written by some amplifiers.
/// let numbers = Numbers::parse(">i2")?;
/// let bytes = [0x00, 0x05, 0xff, 0xfe];
/// let mut samples = vec![0.0; bytes.len() / numbers.width()];
/// numbers.convert(&bytes, &mut samples);
/// assert_eq!(samples, [5.0, -2.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    kind: Kind,
    big_endian: bool,
    /// Whether each number consists of a real and an imaginary part of this kind.
    complex: bool,
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

impl Numbers {
    /// Parses NumPy's name of a data type, such as `<f8` or `>i4`.
    ///
    /// # Errors
    /// If the data type is not a supported integer, floating-point, complex or Boolean type.
    pub fn parse(name: &str) -> Result<Self> {
        let code = name.trim_start_matches(['<', '>', '=', '|']);
        let (part, complex) = match code {
            "c8" => ("f4", true),
            "c16" => ("f8", true),
            real => (real, false),
        };
        let kind = Kind::parse(part).ok_or_else(|| {
            let name = name.to_owned();
            Error::Npy(NpyError::UnknownNumbers { name })
        })?;
        Ok(Self {
            kind,
            complex,
            big_endian: name.starts_with('>')
                || name.starts_with('=') && cfg!(target_endian = "big"),
        })
    }

    /// Size of one number in bytes.
    pub fn width(self) -> usize {
        self.planes() * self.kind.bytes()
    }

    /// Whether the numbers are complex.
    ///
    /// ```
    /// use codiag::npy::Numbers;
    /// assert!(Numbers::parse("<c16")?.is_complex() && !Numbers::parse("<f8")?.is_complex());
    /// # Ok::<(), codiag::Error>(())
    /// ```
    pub fn is_complex(self) -> bool {
        self.complex
    }

    fn planes(self) -> usize {
        if self.complex { 2 } else { 1 }
    }

    /// Fails if the numbers are complex and T is real.
    pub(crate) fn check<T: Scalar>(self) -> Result<()> {
        if self.planes() <= T::PLANES {
            return Ok(());
        }
        let name = format!("c{}", self.width());
        Err(Error::Npy(NpyError::Complex { name }))
    }

    /// Whether the bytes are the native representation of T, so that no conversion is needed.
    pub(crate) fn is_native<T: Scalar>(self) -> bool {
        self.planes() == T::PLANES
            && self.kind == Kind::Float(8)
            && self.big_endian == cfg!(target_endian = "big")
    }

    /// Whether the bytes are the native representation of `f32`.
    fn is_native_single(self) -> bool {
        self.kind == Kind::Float(4) && self.big_endian == cfg!(target_endian = "big")
    }

    /// Converts the numbers in `bytes` and writes them to `out`. Real numbers can be converted to
    /// complex numbers.
    ///
    /// # Panics
    /// If the numbers are complex and T is real.
    pub fn convert<T: Scalar>(self, bytes: &[u8], out: &mut [T]) {
        assert!(
            self.planes() <= T::PLANES,
            "complex numbers cannot be converted to real numbers"
        );
        if self.planes() == T::PLANES {
            return self.convert_parts(bytes, reals_mut(out));
        }
        for (x, bytes) in out.iter_mut().zip(bytes.chunks_exact(self.width())) {
            *x = T::from_real(self.number(bytes));
        }
    }

    /// Converts real numbers, or the real and imaginary parts of complex numbers.
    fn convert_parts(self, bytes: &[u8], out: &mut [f64]) {
        let width = self.kind.bytes();
        // Fast paths without a loop over bytes, for the most common data types.
        if self.kind == Kind::Float(8) && self.big_endian == cfg!(target_endian = "big") {
            for (x, bytes) in out.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *x = f64::from_ne_bytes(*bytes);
            }
            return;
        }
        if self.is_native_single() {
            for (x, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *x = f64::from(f32::from_ne_bytes(*bytes));
            }
            return;
        }
        for (x, bytes) in out.iter_mut().zip(bytes.chunks_exact(width)) {
            *x = self.number(bytes);
        }
    }

    /// Converts one real number.
    fn number(self, bytes: &[u8]) -> f64 {
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
