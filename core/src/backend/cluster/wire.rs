//! Messages as bytes: a header of sixteen, then numbers.

use crate::linalg::{Matrix, Scalar, reals, scalars};

/// The version of the format.
const VERSION: u8 = 4;
const HEADER: usize = 16;

/// What every message about matrices of these numbers begins with: as in LAPACK, `d` for real and `z`
/// for complex ones.
fn magic(complex: bool) -> [u8; 3] {
    [b'c', if complex { b'z' } else { b'd' }, VERSION]
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether the matrices are complex.
    pub complex: bool,
    /// What the message is about.
    pub kind: u8,
    /// The dimension of the set.
    pub dimension: usize,
    /// The step of a sample, or how many numbers follow.
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

    /// Numbers, of complex ones the real and the imaginary parts in turn.
    pub fn numbers<T: Scalar>(mut self, numbers: &[T]) -> Self {
        let numbers = reals(numbers);
        self.0.reserve(8 * numbers.len());
        self.0.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        self
    }

    /// Whether something is wanted, as a number.
    pub fn flag(self, wanted: bool) -> Self {
        self.numbers(&[f64::from(u8::from(wanted))])
    }

    pub fn text(mut self, text: &str) -> Self {
        self.0.extend(text.as_bytes());
        self
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// The header of a message and the bytes after it; None if it is none of this version.
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

/// The numbers that bytes hold; None if they are not whole numbers of eight bytes.
pub fn numbers(bytes: &[u8]) -> Option<Vec<f64>> {
    let (numbers, []) = bytes.as_chunks() else {
        return None;
    };
    Some(numbers.iter().map(|x| f64::from_le_bytes(*x)).collect())
}

/// A p×p matrix of numbers that came as [`Writer::numbers`] wrote them.
pub fn matrix<T: Scalar>(p: usize, numbers: &[f64]) -> Matrix<T> {
    Matrix::from_rows(p, p, scalars(numbers).to_vec())
}
