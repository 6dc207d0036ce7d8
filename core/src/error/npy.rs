//! Errors in .npy files.

use thiserror::Error;

/// Reason why a .npy file cannot be used.
///
/// ```
/// use codiag::Error;
/// use codiag::npy::{Header, NpyError};
/// let error = Header::read(&mut &b"channel,time,value"[..]).unwrap_err();
/// assert_eq!(error, Error::Npy(NpyError::NotNpy));
/// assert_eq!(error.to_string(), "this is not a .npy file; save the array by numpy.save");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file does not begin with the magic bytes of the format.
    #[error("this is not a .npy file; save the array by numpy.save")]
    NotNpy,
    /// The file ends within its header.
    #[error("the .npy file is truncated: it ends within its header; copy or save it again")]
    HeaderTruncated,
    /// The header cannot be parsed.
    #[error("the .npy header is damaged; copy the file or save the array again")]
    HeaderDamaged,
    /// The array has a structured data type.
    #[error("the array has a structured data type; save its numbers as an array of float64")]
    Records,
    /// The numbers are complex, but real ones are needed.
    #[error("the numbers are complex ({name}), but real numbers are needed")]
    Complex {
        /// NumPy's name of the data type.
        name: String,
    },
    /// The data type of the numbers is not supported.
    #[error("numbers of type {name} cannot be read; save them as float64")]
    UnknownNumbers {
        /// NumPy's name of the data type.
        name: String,
    },
    /// The array is in Fortran order: the numbers of one matrix are not contiguous.
    #[error(
        "the array is in Fortran order, which cannot be read in parts; save it in C order by \
         numpy.save(file, numpy.ascontiguousarray(C))"
    )]
    FortranOrder,
    /// The shape of the array is not (n, p, p).
    #[error(
        "expected an array of shape (n, p, p) with n, p > 0, got {}{}",
        tuple(shape),
        shape_advice(shape)
    )]
    Shape {
        /// The shape.
        shape: Vec<usize>,
    },
    /// The shape has more numbers than the address space.
    #[error("the shape {} has more numbers than can be addressed", tuple(shape))]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// The file ends before its last number.
    #[error(
        "the file is truncated: its shape {} needs {} numbers, but the file has {available}; \
         write the file again",
        tuple(shape), shape.iter().product::<usize>()
    )]
    Truncated {
        /// The shape.
        shape: Vec<usize>,
        /// Number of numbers in the file.
        available: usize,
    },
}

/// Formats a shape as a Python tuple: (100, 40, 40).
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

/// Returns advice about a shape that is not (n, p, p), as the end of a sentence.
pub(super) fn shape_advice(shape: &[usize]) -> &'static str {
    match *shape {
        [p, q] if p == q && p > 0 => "; a single matrix needs the shape (1, p, p)",
        [p, q, n] if p == q && q != n && p > 0 && n > 0 => "; move the last axis to the front",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_errors_suggest_the_missing_or_moved_axis() {
        let message = |shape: &[usize]| {
            let shape = shape.to_vec();
            NpyError::Shape { shape }.to_string()
        };
        assert!(
            message(&[4, 4]).ends_with("got (4, 4); a single matrix needs the shape (1, p, p)")
        );
        assert!(message(&[4, 4, 90]).ends_with("got (4, 4, 90); move the last axis to the front"));
        for shape in [
            &[][..],
            &[4],
            &[4, 5],
            &[0, 0],
            &[90, 4, 5],
            &[0, 4, 4],
            &[4, 0, 0],
        ] {
            assert!(message(shape).ends_with(')'), "{shape:?}");
        }
    }
}
