//! Byte format of messages: a header of 16 bytes, followed by numbers.

use crate::linalg::{Matrix, Scalar, reals, scalars};

/// Version of the format.
const VERSION: u8 = 4;
/// Length of the header in bytes.
const HEADER: usize = 16;

/// Returns the first bytes of a message: as in LAPACK, `d` is for real and `z` for complex
/// matrices.
fn magic(complex: bool) -> [u8; 3] {
    [b'c', if complex { b'z' } else { b'd' }, VERSION]
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether the matrices are complex.
    pub complex: bool,
    /// Kind of the message.
    pub kind: u8,
    /// Dimension of the set.
    pub dimension: usize,
    /// In a request, the step of a sample; in other messages, the number of numbers that follow.
    pub count: u64,
}

/// A message that is being written.
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn new(header: Header) -> Self {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend(magic(header.complex));
        bytes.push(header.kind);
        bytes.extend((header.dimension as u32).to_le_bytes());
        bytes.extend(header.count.to_le_bytes());
        Self(bytes)
    }

    /// Appends numbers. The real and imaginary parts of complex numbers alternate.
    pub fn numbers<T: Scalar>(mut self, numbers: &[T]) -> Self {
        let numbers = reals(numbers);
        self.0.reserve(8 * numbers.len());
        self.0.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        self
    }

    /// Appends a boolean as a number.
    pub fn flag(self, value: bool) -> Self {
        self.numbers(&[f64::from(u8::from(value))])
    }

    pub fn text(mut self, text: &str) -> Self {
        self.0.extend(text.as_bytes());
        self
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads the header of a message. Returns it with the bytes after it, or None if it is not a
/// message of this version.
pub fn read(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let (beginning, header) = header.split_at(magic(false).len());
    let complex = beginning == magic(true);
    if !complex && beginning != magic(false) {
        return None;
    }
    let (kind, header) = header.split_first()?;
    let (dimension, count) = header.split_at(4);
    let header = Header {
        complex,
        kind: *kind,
        dimension: u32::from_le_bytes(dimension.try_into().ok()?) as usize,
        count: u64::from_le_bytes(count.try_into().ok()?),
    };
    Some((header, rest))
}

/// Converts bytes to numbers. None if their length is not a multiple of eight.
pub fn numbers(bytes: &[u8]) -> Option<Vec<f64>> {
    let (numbers, []) = bytes.as_chunks() else {
        return None;
    };
    Some(numbers.iter().map(|x| f64::from_le_bytes(*x)).collect())
}

/// Creates a p×p matrix from numbers written by [`Writer::numbers`].
pub fn matrix<T: Scalar>(p: usize, numbers: &[f64]) -> Matrix<T> {
    Matrix::from_rows(p, p, scalars(numbers).to_vec())
}
