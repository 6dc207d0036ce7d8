//! Writing .npy: float64, little endian, C order.

use std::io::{self, Write};

/// Writes an array, whose numbers come in C order.
pub fn write(out: &mut dyn Write, shape: &[usize], data: &[f64]) -> io::Result<()> {
    debug_assert_eq!(shape.iter().product::<usize>(), data.len());
    let mut header = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}",
        codiag::npy::shape(shape)
    );
    // The numbers begin at a multiple of 64 bytes, so that they can be mapped into memory.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for numbers in data.chunks(1 << 13) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Writes a matrix.
pub fn matrix(out: &mut dyn Write, matrix: &codiag::Matrix) -> io::Result<()> {
    write(out, &[matrix.rows(), matrix.columns()], matrix.as_slice())
}

#[cfg(test)]
mod tests {
    use codiag::npy::Header;

    #[test]
    fn what_is_written_is_read() {
        let numbers: Vec<f64> = (0..24).map(|k| f64::from(k) / 7.0).collect();
        let mut bytes = Vec::new();
        super::write(&mut bytes, &[2, 3, 4], &numbers).unwrap();
        assert_eq!(bytes.len() % 64, 0);
        let mut reader = &bytes[..];
        let header = Header::read(&mut reader).unwrap();
        assert_eq!(header.shape, [2, 3, 4]);
        assert_eq!(header.read_numbers(&mut reader, 24, 0).unwrap(), numbers);
    }
}
