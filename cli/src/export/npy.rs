//! Writer of .npy files: float64 or complex128, little endian, C order.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use codiag::{Matrix, Scalar};

/// Writes an array; `data` is in C order.
pub fn write<T: Scalar>(out: &mut dyn Write, shape: &[usize], data: &[T]) -> io::Result<()> {
    debug_assert_eq!(shape.iter().product::<usize>(), data.len());
    out.write_all(&header::<T>(shape))?;
    for numbers in data.chunks(1 << 13) {
        let parts = numbers
            .iter()
            .flat_map(|x| [x.real(), x.imaginary()].into_iter().take(T::PLANES));
        let bytes: Vec<u8> = parts.flat_map(f64::to_le_bytes).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}

fn header<T: Scalar>(shape: &[usize]) -> Vec<u8> {
    let numbers = if T::PLANES == 2 { "<c16" } else { "<f8" };
    let mut header = format!(
        "{{'descr': '{numbers}', 'fortran_order': False, 'shape': {}, }}",
        codiag::npy::tuple(shape)
    );
    // The data begin at a multiple of 64 bytes, as the format requires for memory mapping.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes
}

/// A .npy matrix in a file that is read and written in parts (rows or blocks of columns), so that
/// it is never in memory as a whole.
pub struct RowFile<'a> {
    file: &'a mut File,
    first: u64,
    columns: usize,
}

impl<'a> RowFile<'a> {
    /// Writes the header and reserves space for the data.
    pub fn new(file: &'a mut File, shape: (usize, usize)) -> io::Result<Self> {
        let header = header::<f64>(&[shape.0, shape.1]);
        file.write_all(&header)?;
        let first = header.len() as u64;
        file.set_len(first + (shape.0 * shape.1 * 8) as u64)?;
        Ok(Self {
            file,
            first,
            columns: shape.1,
        })
    }

    fn seek(&mut self, row: usize, column: usize) -> io::Result<()> {
        let offset = self.first + ((row * self.columns + column) * 8) as u64;
        self.file.seek(SeekFrom::Start(offset)).map(|_| ())
    }

    /// Writes a block of columns of all rows, beginning at `column`.
    pub fn write(&mut self, column: usize, part: &Matrix) -> io::Result<()> {
        for a in 0..part.rows() {
            let bytes: Vec<u8> = part.row(a).iter().flat_map(|x| x.to_le_bytes()).collect();
            self.seek(a, column)?;
            self.file.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Wraps a file that already contains a matrix of this shape, to read or change it.
    pub fn reopen(file: &'a mut File, shape: (usize, usize)) -> Self {
        Self {
            file,
            first: header::<f64>(&[shape.0, shape.1]).len() as u64,
            columns: shape.1,
        }
    }

    /// Writes a row.
    pub fn write_row(&mut self, row: usize, numbers: &[f64]) -> io::Result<()> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.seek(row, 0)?;
        self.file.write_all(&bytes)
    }

    /// Reads a part of a row, beginning at `column`.
    pub fn read_part(&mut self, row: usize, column: usize, out: &mut [f64]) -> io::Result<()> {
        let mut bytes = vec![0; out.len() * 8];
        self.seek(row, column)?;
        self.file.read_exact(&mut bytes)?;
        let (eights, _) = bytes.as_chunks::<8>();
        let numbers = eights.iter().map(|x| f64::from_le_bytes(*x));
        out.iter_mut().zip(numbers).for_each(|(out, x)| *out = x);
        Ok(())
    }

    /// Reads a row.
    pub fn row(&mut self, a: usize) -> io::Result<Vec<f64>> {
        let mut bytes = vec![0; self.columns * 8];
        self.seek(a, 0)?;
        self.file.read_exact(&mut bytes)?;
        let (eights, _) = bytes.as_chunks::<8>();
        Ok(eights.iter().map(|x| f64::from_le_bytes(*x)).collect())
    }
}

/// Writes a matrix.
pub fn matrix<T: Scalar>(out: &mut dyn Write, matrix: &Matrix<T>) -> io::Result<()> {
    write(out, &[matrix.rows(), matrix.columns()], matrix.as_slice())
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use codiag::npy::Header;

    #[test]
    fn matrix_written_in_column_blocks_is_read_back() {
        let whole = codiag::Matrix::from_fn(3, 7, |a, b| (10 * a + b) as f64);
        let mut file = tempfile::tempfile().unwrap();
        let mut rows = super::RowFile::new(&mut file, (3, 7)).unwrap();
        for (start, end) in [(4, 7), (0, 4)] {
            let part = codiag::Matrix::from_fn(3, end - start, |a, b| whole[(a, start + b)]);
            rows.write(start, &part).unwrap();
        }
        assert_eq!(rows.row(1).unwrap(), whole.row(1));
        file.rewind().unwrap();
        let header = Header::read(&mut file).unwrap();
        assert_eq!(header.shape, [3, 7]);
        let read = header.read_numbers(&mut file, 21, 0).unwrap();
        assert_eq!(read, whole.as_slice());
    }

    #[test]
    fn written_array_is_read_back() {
        let numbers: Vec<f64> = (0..24).map(|k| f64::from(k) / 7.0).collect();
        let mut bytes = Vec::new();
        super::write(&mut bytes, &[2, 3, 4], &numbers).unwrap();
        assert_eq!(bytes.len() % 64, 0);
        let mut reader = &bytes[..];
        let header = Header::read(&mut reader).unwrap();
        assert_eq!(header.shape, [2, 3, 4]);
        assert_eq!(header.read_numbers(&mut reader, 24, 0).unwrap(), numbers);
    }

    #[test]
    fn complex_array_is_read_back() {
        let numbers = [codiag::c64::new(1.5, -2.0), codiag::c64::new(0.0, 3.0)];
        let mut bytes = Vec::new();
        super::write(&mut bytes, &[2], &numbers).unwrap();
        let mut reader = &bytes[..];
        let header = Header::read(&mut reader).unwrap();
        assert!(header.numbers.is_complex());
        assert_eq!(header.read_complex(&mut reader, 2, 0).unwrap(), numbers);
    }
}
