//! Solves and their results.

use std::ffi::c_int;
use std::ptr;

use codiag::{Diagonalization, Matrix, MatrixSet, Scalar, c64, diagonalize_with};

use crate::arrays::{Layout, handle};
use crate::choices::{codiag_layout, codiag_status, criterion_code};
use crate::ffi_guard::{Failure, guard};
use crate::observer::{CallbackObserver, codiag_record};
use crate::options::{self, CODIAG_NONE, VersionedStruct, codiag_settings, end_of};
use crate::set::{AnySet, codiag_set};

/// Result of a solve.
pub struct codiag_result {
    solution: AnySolution,
    layout: Layout,
}

/// Real or complex solution.
enum AnySolution {
    Real(Solution<f64>),
    Complex(Solution<c64>),
}

/// Result of the Rust library, with column-major copies of its matrices for a column-major set.
struct Solution<T> {
    solved: Diagonalization<T>,
    column_major: Option<ColumnMajor<T>>,
    constant: f64,
}

/// Column-major copies of the matrices of a solution.
struct ColumnMajor<T> {
    b: Vec<T>,
    a: Vec<T>,
    powers: Vec<f64>,
    matches: Vec<f64>,
}

fn column_major<T: Scalar>(matrix: &Matrix<T>) -> Vec<T> {
    let mut out = vec![T::ZERO; matrix.as_slice().len()];
    let shape = (matrix.rows(), matrix.columns());
    if !out.is_empty() {
        Layout::Column.write(matrix.as_slice(), shape, &mut out);
    }
    out
}

impl<T: Scalar> Solution<T> {
    fn new(solved: Diagonalization<T>, layout: Layout, constant: f64) -> Self {
        let column_major = (layout == Layout::Column).then(|| ColumnMajor {
            b: column_major(&solved.b),
            a: column_major(&solved.a),
            powers: column_major(&solved.powers),
            matches: solved
                .stability
                .as_ref()
                .map_or(Vec::new(), |stability| column_major(&stability.matches)),
        });
        Self {
            solved,
            column_major,
            constant,
        }
    }

    fn b(&self) -> *const f64 {
        let copy = self.column_major.as_ref().map(|copy| &copy.b[..]);
        copy.unwrap_or(self.solved.b.as_slice()).as_ptr().cast()
    }

    fn a(&self) -> *const f64 {
        let copy = self.column_major.as_ref().map(|copy| &copy.a[..]);
        copy.unwrap_or(self.solved.a.as_slice()).as_ptr().cast()
    }

    fn powers(&self) -> *const f64 {
        let copy = self.column_major.as_ref().map(|copy| &copy.powers[..]);
        copy.unwrap_or(self.solved.powers.as_slice()).as_ptr()
    }

    fn stability(&self) -> *const f64 {
        let stability = self.solved.stability.as_ref();
        stability.map_or(ptr::null(), |stability| stability.values.as_ptr())
    }

    fn matches(&self) -> *const f64 {
        let Some(stability) = &self.solved.stability else {
            return ptr::null();
        };
        let copy = self.column_major.as_ref().map(|copy| &copy.matches[..]);
        copy.unwrap_or(stability.matches.as_slice()).as_ptr()
    }

    fn info(&self, layout: Layout) -> codiag_info {
        let solved = &self.solved;
        let weakest = solved.identifiability;
        let pair = weakest.map_or((CODIAG_NONE, CODIAG_NONE), |weakest| weakest.pair);
        codiag_info {
            size: size_of::<codiag_info>(),
            n_matrices: solved.residuals.len(),
            n_components: solved.b.rows(),
            n_channels: solved.b.columns(),
            is_complex: c_int::from(T::PLANES == 2),
            layout: match layout {
                Layout::Row => codiag_layout::RowMajor as c_int,
                Layout::Column => codiag_layout::ColumnMajor as c_int,
            },
            criterion: criterion_code(solved.criterion),
            status: codiag_status::from(solved.status) as c_int,
            n_iter: solved.n_iter,
            loss: solved.loss,
            gradient_norm: solved.gradient_norm,
            constant: self.constant,
            margin: weakest.map_or(0.0, |weakest| weakest.margin),
            pair: [pair.0, pair.1],
            n_records: solved.history.len(),
            n_starts: solved.start_losses.len(),
            n_trials: solved
                .stability
                .as_ref()
                .map_or(0, |stability| stability.matches.rows()),
            n_trial_starts: solved
                .stability
                .as_ref()
                .map_or(0, |stability| stability.starts),
        }
    }
}

/// Summary of a solve and sizes of the arrays of its result. Initialize it with codiag_info_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_info {
    /// sizeof(codiag_info), set by codiag_info_init.
    pub size: usize,
    /// Number of matrices.
    pub n_matrices: usize,
    /// Number of components, that is of rows of B.
    pub n_components: usize,
    /// Number of channels, that is of columns of B.
    pub n_channels: usize,
    /// Whether B and A are complex: 0 or 1.
    pub is_complex: c_int,
    /// Layout of all matrices of the result, a codiag_layout: the layout of the set.
    pub layout: c_int,
    /// Criterion that was minimized, a codiag_criterion.
    pub criterion: c_int,
    /// Reason why the solve ended, a codiag_status.
    pub status: c_int,
    /// Number of iterations.
    pub n_iter: usize,
    /// Loss at B; 0 if all Di are diagonal.
    pub loss: f64,
    /// Norm of the relative gradient at B.
    pub gradient_norm: f64,
    /// Weighted mean over the matrices of log det Ci for the likelihood, of |Ci|^2 for the other
    /// criteria.
    pub constant: f64,
    /// Identifiability margin of the least separable pair of components. It is 0 if every mixture
    /// of the two has the same loss, or if there is only one component.
    pub margin: f64,
    /// Indices of the least separable pair of components; CODIAG_NONE if there is only one
    /// component.
    pub pair: [usize; 2],
    /// Number of records in the history: one for the starting point and one per iteration.
    pub n_records: usize,
    /// Number of starting points that were solved.
    pub n_starts: usize,
    /// Number of trials from which the stability of the components was estimated: restarts that
    /// came near the lowest loss, followed by resamples. 0 if stability was not estimated.
    pub n_trials: usize,
    /// Number of trials that are restarts. They precede the resamples.
    pub n_trial_starts: usize,
}

// SAFETY: repr(C), its first field is its size; any bytes are valid numbers.
unsafe impl VersionedStruct for codiag_info {
    const FIRST_SIZE: usize = end_of!(codiag_info, n_starts: usize);
    const NAME: &'static str = "codiag_info";
}

/// Computes the B that minimizes the criterion of a set, so that all B Ci B^H are as diagonal as
/// possible. NULL as `settings` selects the defaults. Free the result with codiag_result_free.
/// Returns 0, or a codiag_error and NULL as `*result`. A solve that does not converge is not an
/// error: check codiag_info.status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_diagonalize(
    set: *const codiag_set,
    settings: *const codiag_settings,
    result: *mut *mut codiag_result,
) -> c_int {
    guard(|| {
        // SAFETY: null or a writable pointer, as the caller guarantees.
        let result = unsafe { result.as_mut() };
        let result = result
            .ok_or_else(|| Failure::argument("the pointer to the new codiag_result is NULL; pass the address of a codiag_result *"))?;
        *result = ptr::null_mut();
        // SAFETY: null or a valid set, as the caller guarantees.
        let set = unsafe { handle(set, "set") }?;
        // SAFETY: null or settings whose first field is their size, as the caller guarantees.
        let settings = unsafe { options::read(settings, codiag_settings::defaults()) }?;
        let solution = match &set.matrices {
            AnySet::Real(matrices) => {
                // SAFETY: `b` and the callback are valid, as the caller guarantees.
                AnySolution::Real(unsafe { solve(matrices, set.layout, settings) }?)
            }
            AnySet::Complex(matrices) => {
                // SAFETY: `b` and the callback are valid, as the caller guarantees.
                AnySolution::Complex(unsafe { solve(matrices, set.layout, settings) }?)
            }
        };
        let layout = set.layout;
        *result = Box::into_raw(Box::new(codiag_result { solution, layout }));
        Ok(())
    })
}

/// Solves a real or complex set.
///
/// # Safety
/// `settings.b` is null or has components x channels numbers, and the callback may be called.
unsafe fn solve<T: Scalar>(
    set: &MatrixSet<T>,
    layout: Layout,
    settings: codiag_settings,
) -> Result<Solution<T>, Failure> {
    let shape = (set.dimension(), set.channels());
    // SAFETY: the callback may be called, as the caller guarantees.
    let mut observer =
        unsafe { CallbackObserver::new(settings.callback, settings.user_data, layout) };
    // SAFETY: `b` has the shape of B, as the caller guarantees.
    let settings = unsafe { settings.to_library::<T>(shape, layout) }?;
    let solved = diagonalize_with(set, &settings, &mut observer)?;
    Ok(Solution::new(solved, layout, set.constant()))
}

/// Frees a result and all its arrays. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_free(result: *mut codiag_result) {
    if !result.is_null() {
        // SAFETY: created by `Box::into_raw`, and not used afterwards, as the caller guarantees.
        let result = unsafe { Box::from_raw(result) };
        guard(|| {
            drop(result);
            Ok(())
        });
    }
}

/// Sets all fields but `size` to 0. `size` is sizeof(codiag_info). Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_info_init(info: *mut codiag_info, size: usize) -> c_int {
    // SAFETY: any bytes are a valid value.
    let zeros = unsafe { std::mem::zeroed() };
    // SAFETY: null or a struct of `size` bytes, as the caller guarantees.
    unsafe { options::init(info, size, zeros) }
}

/// Fills in the summary of a solve. Initialize `info` with codiag_info_init. Returns 0 or a
/// codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_info(
    result: *const codiag_result,
    info: *mut codiag_info,
) -> c_int {
    guard(|| {
        // SAFETY: null or a valid result, as the caller guarantees.
        let result = unsafe { handle(result, "result") }?;
        let summary = match &result.solution {
            AnySolution::Real(solution) => solution.info(result.layout),
            AnySolution::Complex(solution) => solution.info(result.layout),
        };
        // SAFETY: null or a struct whose first field is its size, as the caller guarantees.
        unsafe { options::write(info, summary) }
    })
}

/// Returns an array of a real or a complex solution; null for a null result.
///
/// # Safety
/// `result` is null or valid.
unsafe fn array(
    result: *const codiag_result,
    real: impl FnOnce(&Solution<f64>) -> *const f64,
    complex: impl FnOnce(&Solution<c64>) -> *const f64,
) -> *const f64 {
    // SAFETY: null or valid, as the caller guarantees.
    match unsafe { result.as_ref() }.map(|result| &result.solution) {
        None => ptr::null(),
        Some(AnySolution::Real(solution)) => real(solution),
        Some(AnySolution::Complex(solution)) => complex(solution),
    }
}

/// Returns B, whose rows are the filters: n_components x n_channels numbers in the layout of the
/// set, complex for a complex set. The array is valid until the result is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_b(result: *const codiag_result) -> *const f64 {
    // SAFETY: null or a valid result, as the caller guarantees.
    unsafe { array(result, Solution::b, Solution::b) }
}

/// Returns A, whose columns are the patterns, with B A = I: n_channels x n_components numbers in
/// the layout of the set, complex for a complex set. The array is valid until the result is freed.
/// NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_a(result: *const codiag_result) -> *const f64 {
    // SAFETY: null or a valid result, as the caller guarantees.
    unsafe { array(result, Solution::a, Solution::a) }
}

/// Returns the powers Di_aa of the components in each matrix (for least squares, those of the fit):
/// n_matrices x n_components real numbers in the layout of the set. The array is valid until the
/// result is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_powers(result: *const codiag_result) -> *const f64 {
    // SAFETY: null or a valid result, as the caller guarantees.
    unsafe { array(result, Solution::powers, Solution::powers) }
}

/// Returns the loss of each matrix: n_matrices numbers, whose weighted mean is the loss. The array
/// is valid until the result is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_residuals(result: *const codiag_result) -> *const f64 {
    let (real, complex) = (
        |solution: &Solution<f64>| solution.solved.residuals.as_ptr(),
        |solution: &Solution<c64>| solution.solved.residuals.as_ptr(),
    );
    // SAFETY: null or a valid result, as the caller guarantees.
    unsafe { array(result, real, complex) }
}

/// Returns the loss reached from each starting point: n_starts numbers. The array is valid until
/// the result is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_start_losses(result: *const codiag_result) -> *const f64 {
    let (real, complex) = (
        |solution: &Solution<f64>| solution.solved.start_losses.as_ptr(),
        |solution: &Solution<c64>| solution.solved.start_losses.as_ptr(),
    );
    // SAFETY: null or a valid result, as the caller guarantees.
    unsafe { array(result, real, complex) }
}

/// Returns the stability of each component, from 0 to 1: the median over the trials of
/// codiag_result_matches. The array has n_components numbers and is valid until the result is
/// freed. NULL for NULL, or if stability was not estimated (see codiag_settings.n_resamples).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_stability(result: *const codiag_result) -> *const f64 {
    // SAFETY: null or a valid result, as the caller guarantees.
    unsafe { array(result, Solution::stability, Solution::stability) }
}

/// Returns the similarity, from 0 to 1, of each component to the most similar component of each
/// trial: n_trials x n_components numbers in the layout of the set. The array is valid until the
/// result is freed. NULL for NULL, or if stability was not estimated (see
/// codiag_settings.n_resamples).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_matches(result: *const codiag_result) -> *const f64 {
    // SAFETY: null or a valid result, as the caller guarantees.
    unsafe { array(result, Solution::matches, Solution::matches) }
}

/// Returns the condition number of B, the ratio of its largest to its smallest singular value; NaN
/// for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_condition_number(result: *const codiag_result) -> f64 {
    let mut ratio = f64::NAN;
    guard(|| {
        // SAFETY: null or a valid result, as the caller guarantees.
        ratio = match unsafe { &handle(result, "result")?.solution } {
            AnySolution::Real(solution) => solution.solved.condition_number(),
            AnySolution::Complex(solution) => solution.solved.condition_number(),
        };
        Ok(())
    });
    ratio
}

/// Fills in the record with the given index of the history, from 0 to codiag_info.n_records - 1.
/// Initialize `record` with codiag_record_init. Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_result_history(
    result: *const codiag_result,
    index: usize,
    record: *mut codiag_record,
) -> c_int {
    guard(|| {
        // SAFETY: null or a valid result, as the caller guarantees.
        let history = match unsafe { &handle(result, "result")?.solution } {
            AnySolution::Real(solution) => &solution.solved.history,
            AnySolution::Complex(solution) => &solution.solved.history,
        };
        let found = history.get(index).ok_or_else(|| {
            Failure::argument(format!(
                "index is {index}, but the history has {} records",
                history.len()
            ))
        })?;
        // SAFETY: null or a struct whose first field is its size, as the caller guarantees.
        unsafe { options::write(record, codiag_record::from(found)) }
    })
}
