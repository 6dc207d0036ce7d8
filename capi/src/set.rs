//! Sets of matrices.

use std::ffi::c_int;

use codiag::{Error, Evaluation, Matrix, MatrixSet, Scalar, SetOptions, c64};

use crate::arrays::{Layout, handle, slice, slice_mut};
use crate::border::{Failure, guard};
use crate::choices;
use crate::options::{self, codiag_set_options};

/// A set of matrices, checked once and for all. It holds a copy of them.
pub struct codiag_set {
    pub(crate) numbers: Numbers,
    pub(crate) layout: Layout,
}

/// Real or complex.
pub(crate) enum Numbers {
    Real(MatrixSet),
    Complex(MatrixSet<c64>),
}

impl Numbers {
    /// Matrices, dimension and channels.
    fn shape(&self) -> (usize, usize, usize) {
        match self {
            Self::Real(set) => (set.len(), set.dimension(), set.channels()),
            Self::Complex(set) => (set.len(), set.dimension(), set.channels()),
        }
    }
}

/// How many numbers n matrices of p x p have.
fn count(n: usize, p: usize) -> Result<usize, Failure> {
    let shape = || vec![n, p, p];
    if n == 0 || p == 0 {
        return Err(Error::Shape { shape: shape() }.into());
    }
    let numbers = p.checked_mul(p).and_then(|square| square.checked_mul(n));
    let addressable = numbers.filter(|count| *count <= isize::MAX as usize / size_of::<c64>());
    Ok(addressable.ok_or_else(|| Error::TooLarge { shape: shape() })?)
}

/// What is the same for real and complex matrices.
///
/// # Safety
/// As for [`codiag_set_new`], with numbers of type T.
unsafe fn make<T: Scalar>(
    data: *const T,
    (n, p): (usize, usize),
    layout: c_int,
    given: *const codiag_set_options,
    build: impl FnOnce(&[T], Layout, &SetOptions) -> Result<Numbers, Error>,
    set: *mut *mut codiag_set,
) -> c_int {
    guard(|| {
        // SAFETY: a place for a pointer, as the caller promises, or null.
        let set = unsafe { set.as_mut() };
        let set = set.ok_or_else(|| Failure::argument("the place for the codiag_set is NULL"))?;
        *set = std::ptr::null_mut();
        let layout = choices::layout(layout)?;
        let numbers = count(n, p)?;
        // SAFETY: so many numbers, as the caller promises.
        let data = unsafe { slice(data, numbers, "the data") }?;
        // SAFETY: options of the size that they begin with, with n weights if any.
        let options =
            unsafe { options::read(given, codiag_set_options::defaults())?.to_library(n) }?;
        let numbers = build(data, layout, &options)?;
        *set = Box::into_raw(Box::new(codiag_set { numbers, layout }));
        Ok(())
    })
}

/// Makes a set from n real matrices of size p x p, each laid out as `layout` (a codiag_layout) says.
/// `options` may be NULL. The set is to be freed with codiag_set_free; it is NULL after a failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_new(
    data: *const f64,
    n: usize,
    p: usize,
    layout: c_int,
    options: *const codiag_set_options,
    set: *mut *mut codiag_set,
) -> c_int {
    let build = |data: &[f64], layout: Layout, options: &SetOptions| {
        // A symmetric matrix is the same in both layouts, so it is read as it lies.
        let set = MatrixSet::with_options(data, n, p, options);
        set.map(Numbers::Real)
            .map_err(|error| in_layout(error, layout))
    };
    // SAFETY: as the caller promises.
    unsafe { make(data, (n, p), layout, options, build, set) }
}

/// Makes a set from n complex matrices of size p x p, whose numbers are pairs of double: 2*n*p*p of
/// them. The rest is as for codiag_set_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_new_complex(
    data: *const f64,
    n: usize,
    p: usize,
    layout: c_int,
    options: *const codiag_set_options,
    set: *mut *mut codiag_set,
) -> c_int {
    let build = |data: &[c64], layout: Layout, options: &SetOptions| match layout {
        Layout::Row => MatrixSet::with_options(data, n, p, options).map(Numbers::Complex),
        Layout::Column => {
            // By columns lies the transpose, which of a Hermitian matrix is the conjugate. It is turned
            // matrix by matrix, while it is gathered.
            let matrices = data.chunks_exact(p * p);
            let turned = matrices.map(|matrix| layout.matrix(matrix, p, p).into_vec());
            MatrixSet::from_matrices(p, turned, options).map(Numbers::Complex)
        }
    };
    // SAFETY: as the caller promises; a pair of f64 is a c64.
    unsafe { make(data.cast::<c64>(), (n, p), layout, options, build, set) }
}

/// An error of matrices that were read as their transposes.
fn in_layout(error: Error, layout: Layout) -> Error {
    match error {
        Error::NotFinite {
            matrix,
            row,
            column,
            value,
            imaginary,
        } if layout == Layout::Column => Error::NotFinite {
            matrix,
            row: column,
            column: row,
            value,
            imaginary,
        },
        other => other,
    }
}

/// Frees a set. Answers made from it stay. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_free(set: *mut codiag_set) {
    if !set.is_null() {
        // SAFETY: it came from `Box::into_raw`, and is not used any more, as the caller promises.
        let set = unsafe { Box::from_raw(set) };
        guard(|| {
            drop(set);
            Ok(())
        });
    }
}

/// The number of matrices; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_length(set: *const codiag_set) -> usize {
    // SAFETY: a set or null, as the caller promises.
    unsafe { set.as_ref() }.map_or(0, |set| set.numbers.shape().0)
}

/// The dimension in which the set is diagonalized, the number of rows of B: p, or the rank that it was
/// reduced to; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_dimension(set: *const codiag_set) -> usize {
    // SAFETY: a set or null, as the caller promises.
    unsafe { set.as_ref() }.map_or(0, |set| set.numbers.shape().1)
}

/// The size p of the matrices as they were given, the number of columns of B; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_channels(set: *const codiag_set) -> usize {
    // SAFETY: a set or null, as the caller promises.
    unsafe { set.as_ref() }.map_or(0, |set| set.numbers.shape().2)
}

/// Writes B Ci B^H for all matrices of a set to `out`, one after the other. B is rows x channels, `out`
/// has n*rows*rows numbers; both are in the layout of the set, and complex if it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_transform(
    set: *const codiag_set,
    b: *const f64,
    rows: usize,
    out: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: a set or null, as the caller promises.
        let set = unsafe { handle(set, "set") }?;
        let (n, _, channels) = set.numbers.shape();
        count(n, rows)?;
        count(1, channels.max(rows))?;
        match &set.numbers {
            // SAFETY: so many numbers each, as the caller promises.
            Numbers::Real(matrices) => unsafe { transform(matrices, set.layout, b, rows, out) },
            // SAFETY: the same in pairs.
            Numbers::Complex(matrices) => unsafe {
                transform(matrices, set.layout, b.cast(), rows, out.cast())
            },
        }
    })
}

/// # Safety
/// `b` is null or rows x channels numbers, `out` n times rows x rows.
unsafe fn transform<T: Scalar>(
    set: &MatrixSet<T>,
    layout: Layout,
    b: *const T,
    rows: usize,
    out: *mut T,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let (b, out) = unsafe {
        (
            slice(b, rows * set.channels(), "B")?,
            slice_mut(out, set.len() * rows * rows, "out")?,
        )
    };
    let b = layout.matrix(b, rows, set.channels());
    layout.write(&set.transform(&b), (rows, rows), out);
    Ok(())
}

/// The criterion of a set at B, which is dimension x channels: its loss and, if `gradient` is not NULL,
/// its relative gradient, dimension x dimension. B and gradient are in the layout of the set, and
/// complex if it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_evaluate(
    set: *const codiag_set,
    b: *const f64,
    loss: *mut f64,
    gradient: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: a set or null, as the caller promises.
        let set = unsafe { handle(set, "set") }?;
        // SAFETY: a number to write to, or null, as the caller promises.
        let loss = unsafe { loss.as_mut() };
        let loss = loss.ok_or_else(|| Failure::argument("the loss is NULL"))?;
        *loss = match &set.numbers {
            // SAFETY: so many numbers each, as the caller promises.
            Numbers::Real(matrices) => unsafe { evaluate(matrices, set.layout, b, gradient) },
            // SAFETY: the same in pairs.
            Numbers::Complex(matrices) => unsafe {
                evaluate(matrices, set.layout, b.cast(), gradient.cast())
            },
        }?;
        Ok(())
    })
}

/// # Safety
/// `b` is null or dimension x channels numbers, `gradient` null or dimension x dimension.
unsafe fn evaluate<T: Scalar>(
    set: &MatrixSet<T>,
    layout: Layout,
    b: *const T,
    gradient: *mut T,
) -> Result<f64, Failure> {
    let (rows, columns) = (set.dimension(), set.channels());
    // SAFETY: as the caller promises.
    let b: Matrix<T> = layout.matrix(unsafe { slice(b, rows * columns, "B") }?, rows, columns);
    let here = Evaluation::at(set, &b)?;
    if !gradient.is_null() {
        // SAFETY: as the caller promises.
        let out = unsafe { slice_mut(gradient, rows * rows, "the gradient") }?;
        layout.write(here.gradient.as_slice(), (rows, rows), out);
    }
    Ok(here.loss)
}
