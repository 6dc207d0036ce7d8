//! Messages as bytes: a header of sixteen, then numbers.

/// What every message begins with; the last byte is the version of the format.
const MAGIC: [u8; 3] = [b'c', b'd', 1];
const HEADER: usize = 16;

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
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
        bytes.extend(MAGIC);
        bytes.push(header.kind);
        bytes.extend((header.dimension as u32).to_le_bytes());
        bytes.extend(header.count.to_le_bytes());
        Self(bytes)
    }

    pub fn numbers(mut self, numbers: &[f64]) -> Self {
        self.0.reserve(8 * numbers.len());
        self.0.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        self
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
    let (magic, header) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return None;
    }
    let (kind, header) = header.split_first()?;
    let (dimension, count) = header.split_at(4);
    let header = Header {
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
