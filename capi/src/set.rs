//! Sets of matrices to be diagonalized jointly.

use std::ffi::c_int;

use codiag::{Error, Evaluation, Matrix, MatrixSet, Scalar, SetOptions, c64};

use crate::arrays::{Layout, handle, slice, slice_mut};
use crate::choices;
use crate::ffi_guard::{Failure, guard};
use crate::options::{self, codiag_set_options};

/// Validated set of matrices. It owns a copy of the data.
pub struct codiag_set {
    pub(crate) matrices: AnySet,
    pub(crate) layout: Layout,
}

/// Real or complex matrices.
pub(crate) enum AnySet {
    Real(MatrixSet),
    Complex(MatrixSet<c64>),
}

impl AnySet {
    /// Returns the numbers of matrices, components and channels.
    fn shape(&self) -> (usize, usize, usize) {
        match self {
            Self::Real(set) => (set.len(), set.dimension(), set.channels()),
            Self::Complex(set) => (set.len(), set.dimension(), set.channels()),
        }
    }
}

/// Returns n*p*p. Fails if it is 0 or exceeds the address space.
fn count(n: usize, p: usize) -> Result<usize, Failure> {
    let shape = || vec![n, p, p];
    if n == 0 || p == 0 {
        return Err(Error::Shape { shape: shape() }.into());
    }
    let numbers = p.checked_mul(p).and_then(|square| square.checked_mul(n));
    let addressable = numbers.filter(|count| *count <= isize::MAX as usize / size_of::<c64>());
    Ok(addressable.ok_or_else(|| Error::TooLarge { shape: shape() })?)
}

/// Creates a real or complex set by the function `build`.
///
/// # Safety
/// `data` is null or n matrices of size p x p of type T; `given` is null or options whose weights
/// are null or n numbers; `set` is null or a writable pointer.
unsafe fn make<T: Scalar>(
    data: *const T,
    (n, p): (usize, usize),
    layout: c_int,
    given: *const codiag_set_options,
    build: impl FnOnce(&[T], Layout, &SetOptions) -> Result<AnySet, Error>,
    set: *mut *mut codiag_set,
) -> c_int {
    guard(|| {
        // SAFETY: null or a writable pointer, as the caller guarantees.
        let set = unsafe { set.as_mut() };
        let set = set.ok_or_else(|| {
            Failure::argument(
                "the pointer to the new codiag_set is NULL; pass the address of a codiag_set *",
            )
        })?;
        *set = std::ptr::null_mut();
        let layout = choices::layout(layout)?;
        let numbers = count(n, p)?;
        // SAFETY: null or `numbers` numbers, as the caller guarantees.
        let data = unsafe { slice(data, numbers, "data") }?;
        // SAFETY: null or options whose first field is their size, with n weights if any.
        let options =
            unsafe { options::read(given, codiag_set_options::defaults())?.to_library(n) }?;
        let matrices = build(data, layout, &options)?;
        *set = Box::into_raw(Box::new(codiag_set { matrices, layout }));
        Ok(())
    })
}

/// Creates a set of n real symmetric matrices of size p x p in the given layout, a codiag_layout.
/// NULL as `options` selects the defaults. Free the set with codiag_set_free. Returns 0, or a
/// codiag_error and NULL as `*set`.
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
        // Symmetric matrices are equal in both layouts, so they are read without a transpose.
        let set = MatrixSet::with_options(data, n, p, options);
        set.map(AnySet::Real)
            .map_err(|error| in_layout(error, layout))
    };
    // SAFETY: this function has the same requirements as `make`.
    unsafe { make(data, (n, p), layout, options, build, set) }
}

/// Creates a set of n complex Hermitian matrices of size p x p in the given layout, a
/// codiag_layout. `data` has n*p*p pairs of double, the real part first. NULL as `options` selects
/// the defaults. Free the set with codiag_set_free. Returns 0, or a codiag_error and NULL as
/// `*set`.
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
        Layout::Row => MatrixSet::with_options(data, n, p, options).map(AnySet::Complex),
        Layout::Column => {
            // The transpose of a Hermitian matrix is its conjugate, so each matrix is transposed
            // when it is copied.
            let matrices = data.chunks_exact(p * p);
            let row_major = matrices.map(|matrix| layout.matrix(matrix, p, p).into_vec());
            MatrixSet::from_matrices(p, row_major, options).map(AnySet::Complex)
        }
    };
    // SAFETY: this function has the same requirements as `make`; a pair of f64 is a c64.
    unsafe { make(data.cast::<c64>(), (n, p), layout, options, build, set) }
}

/// Swaps row and column in an error of column-major matrices that were read as row-major.
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

/// Frees a set. Results of codiag_diagonalize remain valid. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_free(set: *mut codiag_set) {
    if !set.is_null() {
        // SAFETY: created by `Box::into_raw`, and not used afterwards, as the caller guarantees.
        let set = unsafe { Box::from_raw(set) };
        guard(|| {
            drop(set);
            Ok(())
        });
    }
}

/// Returns the number of matrices of a set; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_n_matrices(set: *const codiag_set) -> usize {
    // SAFETY: null or a valid set, as the caller guarantees.
    unsafe { set.as_ref() }.map_or(0, |set| set.matrices.shape().0)
}

/// Returns the number of components, that is of rows of B: p, or the dimension to which the set was
/// reduced by codiag_set_options.n_components; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_n_components(set: *const codiag_set) -> usize {
    // SAFETY: null or a valid set, as the caller guarantees.
    unsafe { set.as_ref() }.map_or(0, |set| set.matrices.shape().1)
}

/// Returns the size p of the given matrices, that is the number of columns of B; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_n_channels(set: *const codiag_set) -> usize {
    // SAFETY: null or a valid set, as the caller guarantees.
    unsafe { set.as_ref() }.map_or(0, |set| set.matrices.shape().2)
}

/// Writes the transformed matrices B Ci B^H of a set to `out`, one after the other. `b` is a matrix
/// of n_rows x codiag_set_n_channels, and `out` has room for codiag_set_n_matrices*n_rows*n_rows
/// numbers. Both are in the layout of the set, and complex for a complex set. Returns 0 or a
/// codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_transform(
    set: *const codiag_set,
    b: *const f64,
    n_rows: usize,
    out: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: null or a valid set, as the caller guarantees.
        let set = unsafe { handle(set, "set") }?;
        let (n, _, channels) = set.matrices.shape();
        count(n, n_rows)?;
        count(1, channels.max(n_rows))?;
        match &set.matrices {
            // SAFETY: null or arrays of the required sizes, as the caller guarantees.
            AnySet::Real(matrices) => unsafe { transform(matrices, set.layout, b, n_rows, out) },
            // SAFETY: null or arrays of the required sizes in pairs of f64, as the caller
            // guarantees.
            AnySet::Complex(matrices) => unsafe {
                transform(matrices, set.layout, b.cast(), n_rows, out.cast())
            },
        }
    })
}

/// Writes B Ci B^H for all matrices to `out`.
///
/// # Safety
/// `b` is null or rows x channels numbers, `out` is null or an array of n x rows x rows numbers.
unsafe fn transform<T: Scalar>(
    set: &MatrixSet<T>,
    layout: Layout,
    b: *const T,
    rows: usize,
    out: *mut T,
) -> Result<(), Failure> {
    // SAFETY: null or of these sizes, as the caller guarantees.
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

/// Evaluates the criterion of a set at `b`, a matrix of codiag_set_n_components x
/// codiag_set_n_channels: the loss and, if `gradient` is not NULL, the relative gradient, a square
/// matrix with as many rows as `b`. Matrices are in the layout of the set, and complex for a
/// complex set. Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_evaluate(
    set: *const codiag_set,
    b: *const f64,
    loss: *mut f64,
    gradient: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: null or a valid set, as the caller guarantees.
        let set = unsafe { handle(set, "set") }?;
        // SAFETY: null or a writable number, as the caller guarantees.
        let loss = unsafe { loss.as_mut() };
        let loss =
            loss.ok_or_else(|| Failure::argument("loss is NULL; pass a pointer to a double"))?;
        *loss = match &set.matrices {
            // SAFETY: null or arrays of the required sizes, as the caller guarantees.
            AnySet::Real(matrices) => unsafe { evaluate(matrices, set.layout, b, gradient) },
            // SAFETY: null or arrays of the required sizes in pairs of f64, as the caller
            // guarantees.
            AnySet::Complex(matrices) => unsafe {
                evaluate(matrices, set.layout, b.cast(), gradient.cast())
            },
        }?;
        Ok(())
    })
}

/// Returns the loss at B, and writes the gradient unless it is null.
///
/// # Safety
/// `b` is null or components x channels numbers; `gradient` is null or an array of
/// components x components numbers.
unsafe fn evaluate<T: Scalar>(
    set: &MatrixSet<T>,
    layout: Layout,
    b: *const T,
    gradient: *mut T,
) -> Result<f64, Failure> {
    let (rows, columns) = (set.dimension(), set.channels());
    // SAFETY: null or of this size, as the caller guarantees.
    let b: Matrix<T> = layout.matrix(unsafe { slice(b, rows * columns, "B") }?, rows, columns);
    let evaluation = Evaluation::at(set, &b)?;
    if !gradient.is_null() {
        // SAFETY: of this size, as the caller guarantees.
        let out = unsafe { slice_mut(gradient, rows * rows, "gradient") }?;
        layout.write(evaluation.gradient.as_slice(), (rows, rows), out);
    }
    Ok(evaluation.loss)
}
