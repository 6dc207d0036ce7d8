//! Reader of .mat files of version 5, which MATLAB and Octave write with `-v7` or `-v6`: named
//! arrays of numbers, in either byte order, with or without compression.
//!
//! A file is a header of 128 bytes, followed by elements. Each element is a tag (type, length) and
//! its bytes, padded to a multiple of eight. A variable is an element that contains elements:
//! flags, dimensions, name, real parts, imaginary parts. Its numbers may be stored in a smaller
//! type. A compressed element contains a deflated element. Lengths are checked against the size of
//! the file.

mod stack;

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};

pub use stack::MatrixStack;

/// A variable that is an array of numbers.
#[derive(Debug)]
pub struct Array {
    pub dims: Vec<usize>,
    /// Real parts in Fortran order.
    pub real: Vec<f64>,
    pub imaginary: Option<Vec<f64>>,
}

/// Value of a variable.
#[derive(Debug)]
pub enum Variable {
    Numbers(Array),
    /// The cells of a cell array.
    Cells(Vec<Variable>),
    /// Description of an unsupported type: text, a struct, a sparse matrix.
    Other(&'static str),
}

/// Reads the variables of a file and their names, in the order of the file.
pub fn read(bytes: &[u8]) -> Result<Vec<(String, Variable)>> {
    let big_endian = header(bytes)?;
    let mut variables = Vec::new();
    let mut rest = Bytes {
        bytes: &bytes[HEADER..],
        big_endian,
    };
    while !rest.bytes.is_empty() {
        let element = rest.element(true)?;
        match element.kind {
            MATRIX => variables.extend(variable(element.content)?),
            COMPRESSED => {
                let inflated = inflate(element.content)?;
                let mut inner = Bytes {
                    bytes: &inflated,
                    big_endian,
                };
                let element = inner.element(false)?;
                ensure!(
                    element.kind == MATRIX,
                    "{DAMAGED}: a compressed element is not a variable"
                );
                variables.extend(variable(element.content)?);
            }
            _ => {}
        }
    }
    Ok(variables)
}

const HEADER: usize = 128;
// Types of elements.
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
const INT8: u32 = 1;
const INT32: u32 = 5;
const UINT32: u32 = 6;
// Bits of the flags of a variable.
const COMPLEX: u32 = 0x0800;
const LOGICAL: u32 = 0x0200;
/// Maximum depth of nested cells.
const MAX_DEPTH: usize = 8;
const DAMAGED: &str = "the file is damaged";

/// Checks the header and returns whether the file is big-endian. Errors name other formats.
fn header(bytes: &[u8]) -> Result<bool> {
    const ADVICE: &str = "save it with -v7, for example save('x.mat', 'C', '-v7')";
    const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
    if bytes.starts_with(HDF5) || bytes.get(512..).is_some_and(|rest| rest.starts_with(HDF5)) {
        bail!("this is a .mat file of version 7.3 (HDF5), which is not supported; {ADVICE}");
    }
    if bytes.starts_with(b"# Created by Octave") {
        bail!("this is Octave's text format; save it with -v7, for example save -v7 x.mat C");
    }
    if bytes.starts_with(b"Octave-1") {
        bail!("this is Octave's binary format; save it with -v7, for example save -v7 x.mat C");
    }
    ensure!(
        bytes.len() >= HEADER,
        "the file is too short for a .mat file: it ends within its header"
    );
    let big_endian = match &bytes[126..128] {
        b"IM" => false,
        b"MI" => true,
        _ => bail!("this is not a .mat file of version 5; {ADVICE}"),
    };
    let version = [bytes[124], bytes[125]];
    let version = if big_endian {
        u16::from_be_bytes(version)
    } else {
        u16::from_le_bytes(version)
    };
    match version {
        0x0100 => Ok(big_endian),
        0x0200 => {
            bail!("this is a .mat file of version 7.3 (HDF5), which is not supported; {ADVICE}")
        }
        other => bail!("this is a .mat file of the unknown version {other:#06x}; {ADVICE}"),
    }
}

fn inflate(content: Bytes<'_>) -> Result<Vec<u8>> {
    let mut reader = flate2::read::ZlibDecoder::new(content.bytes);
    let mut inflated = Vec::new();
    reader
        .read_to_end(&mut inflated)
        .with_context(|| format!("{DAMAGED}: a variable cannot be unpacked"))?;
    Ok(inflated)
}

/// A part of a file.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

#[derive(Clone, Copy)]
struct Element<'a> {
    kind: u32,
    content: Bytes<'a>,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let split = self.bytes.split_at_checked(count);
        let (taken, rest) = split.with_context(|| format!("{DAMAGED}: it ends too early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32> {
        let taken = self.take(4)?;
        let four = [taken[0], taken[1], taken[2], taken[3]];
        Ok(if self.big_endian {
            u32::from_be_bytes(four)
        } else {
            u32::from_le_bytes(four)
        })
    }

    /// Reads the next element. Compressed elements at the outer level have no padding.
    fn element(&mut self, outer: bool) -> Result<Element<'a>> {
        let first = self.number()?;
        let big_endian = self.big_endian;
        if first >> 16 != 0 {
            // A small element: type and length in one number, then at most four bytes.
            let length = (first >> 16) as usize;
            ensure!(length <= 4, "{DAMAGED}: a small element of {length} bytes");
            let bytes = &self.take(4)?[..length];
            let content = Bytes { bytes, big_endian };
            return Ok(Element {
                kind: first & 0xffff,
                content,
            });
        }
        let length = self.number()? as usize;
        let bytes = self.take(length)?;
        if !(outer && first == COMPRESSED) {
            // The padding of the last element of a file may be missing.
            let padding = (length.next_multiple_of(8) - length).min(self.bytes.len());
            self.take(padding)?;
        }
        let content = Bytes { bytes, big_endian };
        Ok(Element {
            kind: first,
            content,
        })
    }

    /// Reads the next element, which must have this type.
    fn element_of(&mut self, kind: u32, name: &str) -> Result<Bytes<'a>> {
        let element = self.element(false)?;
        ensure!(element.kind == kind, "{DAMAGED}: a variable without {name}");
        Ok(element.content)
    }
}

/// Reads a variable and its name; None for elements without a name, such as subsystem data of
/// MATLAB.
fn variable(content: Bytes<'_>) -> Result<Option<(String, Variable)>> {
    let (name, found) = nested(content, 0)?;
    Ok((!name.is_empty()).then_some((name, found)))
}

/// Reads a variable, or a cell at this depth.
fn nested(mut content: Bytes<'_>, depth: usize) -> Result<(String, Variable)> {
    ensure!(depth < MAX_DEPTH, "{DAMAGED}: cells are nested too deeply");
    if content.bytes.is_empty() {
        // An empty cell.
        let (dims, real) = (vec![0, 0], Vec::new());
        let imaginary = None;
        return Ok((
            String::new(),
            Variable::Numbers(Array {
                dims,
                real,
                imaginary,
            }),
        ));
    }
    let mut flags = content.element_of(UINT32, "flags")?;
    let flags = flags.number()?;
    let mut dims = content.element_of(INT32, "dimensions")?;
    let mut sizes = Vec::new();
    while !dims.bytes.is_empty() {
        let size = i32::try_from(dims.number()?).ok();
        let size = size.with_context(|| format!("{DAMAGED}: a dimension is negative"))?;
        sizes.push(size as usize);
    }
    let name = content.element_of(INT8, "a name")?;
    let name = String::from_utf8_lossy(name.bytes).into_owned();
    let count = sizes
        .iter()
        .try_fold(1_usize, |n, size| n.checked_mul(*size));
    let count =
        count.with_context(|| format!("{DAMAGED}: {name:?} is too large to be addressed"))?;
    let found = match flags & 0xff {
        1 => {
            let mut cells = Vec::new();
            for _ in 0..count {
                let cell = content.element_of(MATRIX, "a cell")?;
                cells.push(nested(cell, depth + 1)?.1);
            }
            Variable::Cells(cells)
        }
        6..=15 if flags & LOGICAL != 0 => Variable::Other("a logical array"),
        6..=15 => {
            let real = numbers(content.element(false)?, count, &name)?;
            let imaginary = (flags & COMPLEX != 0)
                .then(|| numbers(content.element(false)?, count, &name))
                .transpose()?;
            Variable::Numbers(Array {
                dims: sizes,
                real,
                imaginary,
            })
        }
        2 => Variable::Other("a struct"),
        4 => Variable::Other("text"),
        5 => Variable::Other("a sparse matrix"),
        _ => Variable::Other("an object"),
    };
    Ok((name, found))
}

/// Converts the numbers of an element, of any type.
fn numbers(element: Element<'_>, count: usize, name: &str) -> Result<Vec<f64>> {
    macro_rules! read {
        ($type:ty) => {{
            const WIDTH: usize = size_of::<$type>();
            let Bytes { bytes, big_endian } = element.content;
            ensure!(
                bytes.len() == count.saturating_mul(WIDTH),
                "{DAMAGED}: {name:?} has {} numbers instead of {count}",
                bytes.len() / WIDTH
            );
            let number = |chunk: &[u8]| {
                let own: [u8; WIDTH] = chunk.try_into().unwrap_or([0; WIDTH]);
                if big_endian {
                    <$type>::from_be_bytes(own) as f64
                } else {
                    <$type>::from_le_bytes(own) as f64
                }
            };
            bytes.chunks_exact(WIDTH).map(number).collect()
        }};
    }
    #[allow(clippy::cast_lossless)] // one macro for all types
    let read = match element.kind {
        1 => read!(i8),
        2 => read!(u8),
        3 => read!(i16),
        4 => read!(u16),
        5 => read!(i32),
        6 => read!(u32),
        7 => read!(f32),
        9 => read!(f64),
        12 => read!(i64),
        13 => read!(u64),
        other => bail!("{DAMAGED}: {name:?} has numbers of the unknown type {other}"),
    };
    Ok(read)
}

#[cfg(test)]
mod tests;
