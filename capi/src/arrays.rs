//! Checked access to C arrays, and conversion between row-major and column-major matrices.

use std::slice;

use codiag::{Matrix, Scalar};

use crate::ffi_guard::Failure;

/// Memory layout of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Row-major.
    Row,
    /// Column-major.
    Column,
}

impl Layout {
    /// Creates a matrix from numbers in this layout.
    pub fn matrix<T: Scalar>(self, numbers: &[T], rows: usize, columns: usize) -> Matrix<T> {
        match self {
            Self::Row => Matrix::from_rows(rows, columns, numbers.to_vec()),
            Self::Column => Matrix::from_fn(rows, columns, |a, b| numbers[a + rows * b]),
        }
    }

    /// Copies consecutive row-major matrices to `out` in this layout.
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

/// Returns the `length` numbers at a C pointer.
///
/// # Safety
/// If `data` is not null and aligned, it points to `length` numbers that are not modified during
/// 'a.
pub(crate) unsafe fn slice<'a, T>(
    data: *const T,
    length: usize,
    name: &str,
) -> Result<&'a [T], Failure> {
    check(data, length, name)?;
    // SAFETY: `check` found the pointer not null and aligned, and the size addressable; validity is
    // guaranteed by the caller.
    Ok(unsafe { slice::from_raw_parts(data, length) })
}

/// Returns the `length` numbers at a C pointer, for writing.
///
/// # Safety
/// If `data` is not null and aligned, it points to `length` numbers that are not accessed otherwise
/// during 'a.
pub(crate) unsafe fn slice_mut<'a, T>(
    data: *mut T,
    length: usize,
    name: &str,
) -> Result<&'a mut [T], Failure> {
    check(data, length, name)?;
    // SAFETY: `check` found the pointer not null and aligned, and the size addressable; exclusive
    // access is guaranteed by the caller.
    Ok(unsafe { slice::from_raw_parts_mut(data, length) })
}

fn check<T>(data: *const T, length: usize, name: &str) -> Result<(), Failure> {
    if data.is_null() {
        return Err(Failure::argument(format!("{name} is NULL")));
    }
    if !data.is_aligned() {
        return Err(Failure::argument(format!(
            "{name} is misaligned: its address is not a multiple of {}",
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

/// Returns the object behind a C handle; an error if it is null.
///
/// # Safety
/// `handle` is null, or points to a T that is not modified during 'a.
pub(crate) unsafe fn handle<'a, T>(handle: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: null or valid, as the caller guarantees.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::argument(format!("the {name} is NULL")))
}
