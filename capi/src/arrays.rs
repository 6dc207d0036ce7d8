//! Arrays of C: where they lie, and how their matrices are laid out.

use std::slice;

use codiag::{Matrix, Scalar};

use crate::border::Failure;

/// How the numbers of a matrix follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Row after row.
    Row,
    /// Column after column.
    Column,
}

impl Layout {
    /// A matrix from numbers in this layout.
    pub fn matrix<T: Scalar>(self, numbers: &[T], rows: usize, columns: usize) -> Matrix<T> {
        match self {
            Self::Row => Matrix::from_rows(rows, columns, numbers.to_vec()),
            Self::Column => Matrix::from_fn(rows, columns, |a, b| numbers[a + rows * b]),
        }
    }

    /// Writes row-major matrices, one after the other, in this layout.
    pub fn write<T: Scalar>(self, numbers: &[T], (rows, columns): (usize, usize), out: &mut [T]) {
        match self {
            Self::Row => out.copy_from_slice(numbers),
            Self::Column => {
                let places = out.chunks_exact_mut(rows * columns);
                for (matrix, out) in numbers.chunks_exact(rows * columns).zip(places) {
                    for (b, column) in out.chunks_exact_mut(rows).enumerate() {
                        for (a, out) in column.iter_mut().enumerate() {
                            *out = matrix[a * columns + b];
                        }
                    }
                }
            }
        }
    }
}

/// So many numbers from a pointer of C.
///
/// # Safety
/// `data` is null or not aligned, or points to so many numbers that nobody writes to.
pub(crate) unsafe fn slice<'a, T>(
    data: *const T,
    length: usize,
    name: &str,
) -> Result<&'a [T], Failure> {
    check(data, length, name)?;
    // SAFETY: not null, aligned, and of a size that can be addressed; the rest the caller promises.
    Ok(unsafe { slice::from_raw_parts(data, length) })
}

/// The same, to be written to.
///
/// # Safety
/// `data` is null or not aligned, or points to so many numbers that nobody else reads or writes.
pub(crate) unsafe fn slice_mut<'a, T>(
    data: *mut T,
    length: usize,
    name: &str,
) -> Result<&'a mut [T], Failure> {
    check(data, length, name)?;
    // SAFETY: as in `slice`.
    Ok(unsafe { slice::from_raw_parts_mut(data, length) })
}

fn check<T>(data: *const T, length: usize, name: &str) -> Result<(), Failure> {
    if data.is_null() {
        return Err(Failure::argument(format!("{name} is NULL")));
    }
    if !data.is_aligned() {
        return Err(Failure::argument(format!(
            "{name} is not aligned: its address is no multiple of {}",
            align_of::<T>()
        )));
    }
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::argument(format!(
            "{name} has more numbers than can be addressed"
        )));
    }
    Ok(())
}

/// A handle or a struct of C.
///
/// # Safety
/// `handle` is null, or points to a T that nobody writes to.
pub(crate) unsafe fn handle<'a, T>(handle: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::argument(format!("the {name} is NULL")))
}
