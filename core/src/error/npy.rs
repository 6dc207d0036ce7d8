//! What is wrong with a .npy file.

use thiserror::Error;

/// The reason why a .npy file cannot be read.
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
    /// It does not begin like a .npy file.
    #[error("this is not a .npy file")]
    NotNpy,
    /// It ends before its first number.
    #[error("the .npy file ends within its header")]
    HeaderTruncated,
    /// Its header cannot be parsed.
    #[error("the .npy header is damaged")]
    HeaderDamaged,
    /// It is an array of records.
    #[error("this is an array of records, not of numbers")]
    Records,
    /// Its numbers are complex, but real ones are needed.
    #[error("the numbers are complex ({name}), where real ones are needed")]
    Complex {
        /// NumPy's name for them.
        name: String,
    },
    /// Its numbers are of an unknown type.
    #[error("numbers of type {name} cannot be read: save them as float64")]
    UnknownNumbers {
        /// NumPy's name for them.
        name: String,
    },
    /// It is in Fortran order, in which the numbers of a matrix are not contiguous.
    #[error(
        "the array is in Fortran order, which cannot be read in parts; save it in C order by \
         numpy.save(file, numpy.ascontiguousarray(C))"
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
        /// Number of numbers in the file.
        there: usize,
    },
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
