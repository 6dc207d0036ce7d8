//! Solves, and what they return.

use std::ffi::c_int;
use std::ptr;

use codiag::{Diagonalization, Matrix, MatrixSet, Scalar, c64, diagonalize_with};

use crate::arrays::{Layout, handle};
use crate::border::{Failure, guard};
use crate::choices::{codiag_layout, codiag_status, criterion_code};
use crate::observer::{Watch, codiag_record};
use crate::options::{self, CODIAG_NONE, Growing, codiag_settings, end_of};
use crate::set::{Numbers, codiag_set};

/// The answer of a solve.
pub struct codiag_answer {
    numbers: AnyAnswer,
    layout: Layout,
}

enum AnyAnswer {
    Real(Answer<f64>),
    Complex(Answer<c64>),
}

/// An answer, and its matrices as C sees them where that is not how they are.
struct Answer<T> {
    solved: Diagonalization<T>,
    by_columns: Option<ByColumns<T>>,
    constant: f64,
}

struct ByColumns<T> {
    b: Vec<T>,
    a: Vec<T>,
    powers: Vec<f64>,
    matches: Vec<f64>,
}

fn by_columns<T: Scalar>(matrix: &Matrix<T>) -> Vec<T> {
    let mut out = vec![T::ZERO; matrix.as_slice().len()];
    let shape = (matrix.rows(), matrix.columns());
    if !out.is_empty() {
        Layout::Column.write(matrix.as_slice(), shape, &mut out);
    }
    out
}

impl<T: Scalar> Answer<T> {
    fn new(solved: Diagonalization<T>, layout: Layout, constant: f64) -> Self {
        let by_columns = (layout == Layout::Column).then(|| ByColumns {
            b: by_columns(&solved.b),
            a: by_columns(&solved.a),
            powers: by_columns(&solved.powers),
            matches: solved
                .stability
                .as_ref()
                .map_or(Vec::new(), |stability| by_columns(&stability.matches)),
        });
        Self {
            solved,
            by_columns,
            constant,
        }
    }

    fn b(&self) -> *const f64 {
        let turned = self.by_columns.as_ref().map(|turned| &turned.b[..]);
        turned.unwrap_or(self.solved.b.as_slice()).as_ptr().cast()
    }

    fn a(&self) -> *const f64 {
        let turned = self.by_columns.as_ref().map(|turned| &turned.a[..]);
        turned.unwrap_or(self.solved.a.as_slice()).as_ptr().cast()
    }

    fn powers(&self) -> *const f64 {
        let turned = self.by_columns.as_ref().map(|turned| &turned.powers[..]);
        turned.unwrap_or(self.solved.powers.as_slice()).as_ptr()
    }

    fn stability(&self) -> *const f64 {
        let known = self.solved.stability.as_ref();
        known.map_or(ptr::null(), |known| known.values.as_ptr())
    }

    fn matches(&self) -> *const f64 {
        let Some(known) = &self.solved.stability else {
            return ptr::null();
        };
        let turned = self.by_columns.as_ref().map(|turned| &turned.matches[..]);
        turned.unwrap_or(known.matches.as_slice()).as_ptr()
    }

    fn info(&self, layout: Layout) -> codiag_info {
        let solved = &self.solved;
        let hardest = solved.identifiability;
        let pair = hardest.map_or((CODIAG_NONE, CODIAG_NONE), |hardest| hardest.pair);
        codiag_info {
            size: size_of::<codiag_info>(),
            length: solved.residuals.len(),
            components: solved.b.rows(),
            channels: solved.b.columns(),
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
            margin: hardest.map_or(0.0, |hardest| hardest.margin),
            first: pair.0,
            second: pair.1,
            records: solved.history.len(),
            starts: solved.start_losses.len(),
            trials: solved
                .stability
                .as_ref()
                .map_or(0, |stability| stability.matches.rows()),
            trial_starts: solved
                .stability
                .as_ref()
                .map_or(0, |stability| stability.starts),
        }
    }
}

/// How a solve went, and how large its arrays are. Set it up with codiag_info_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_info {
    /// sizeof(codiag_info); the init function sets it.
    pub size: usize,
    /// The number of matrices.
    pub length: usize,
    /// The rows of B: p, or the rank of the set.
    pub components: usize,
    /// The columns of B: p.
    pub channels: usize,
    /// Whether B and A are complex: 0 or 1.
    pub is_complex: c_int,
    /// The layout of all matrices, a codiag_layout: that of the set.
    pub layout: c_int,
    /// What was minimized, a codiag_criterion.
    pub criterion: c_int,
    /// Why the solve ended, a codiag_status.
    pub status: c_int,
    /// How many iterations it took.
    pub n_iter: usize,
    /// The loss at B: zero if all Di are diagonal.
    pub loss: f64,
    /// The gradient norm at B.
    pub gradient_norm: f64,
    /// What the criterion takes from the matrices themselves: the weighted mean of log det Ci for the
    /// likelihood, of |Ci|^2 for the others.
    pub constant: f64,
    /// How well the two components that are hardest to tell apart are told apart: 0 if any mixture of
    /// the two serves as well, or if there is only one component.
    pub margin: f64,
    /// The one of the two; CODIAG_NONE if there is only one component.
    pub first: usize,
    /// The other.
    pub second: usize,
    /// How many records the history has: one for the start and one per iteration.
    pub records: usize,
    /// How many starts were tried.
    pub starts: usize,
    /// How many trials the stability of components was found from: further starts that came near the lowest loss,
    /// and sets drawn from the set. 0 if none were asked for.
    pub trials: usize,
    /// How many of these, the first ones, are further starts.
    pub trial_starts: usize,
}

// SAFETY: repr(C), begins with its size; numbers may have any bytes.
unsafe impl Growing for codiag_info {
    const FIRST_SIZE: usize = end_of!(codiag_info, starts: usize);
    const NAME: &'static str = "codiag_info";
}

/// Finds the B for which all B Ci B^H are as diagonal as can be. `settings` may be NULL. The answer is to
/// be freed with codiag_answer_free; it is NULL after a failure. Not converging is no failure: see
/// codiag_info.status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_diagonalize(
    set: *const codiag_set,
    settings: *const codiag_settings,
    answer: *mut *mut codiag_answer,
) -> c_int {
    guard(|| {
        // SAFETY: a place for a pointer, as the caller promises, or null.
        let answer = unsafe { answer.as_mut() };
        let answer =
            answer.ok_or_else(|| Failure::argument("the place for the codiag_answer is NULL"))?;
        *answer = ptr::null_mut();
        // SAFETY: a set or null, as the caller promises.
        let set = unsafe { handle(set, "set") }?;
        // SAFETY: settings of the size that they begin with, as the caller promises.
        let settings = unsafe { options::read(settings, codiag_settings::defaults()) }?;
        let numbers = match &set.numbers {
            Numbers::Real(matrices) => {
                // SAFETY: a given B and a callback are as the caller promises.
                AnyAnswer::Real(unsafe { solve(matrices, set.layout, settings) }?)
            }
            Numbers::Complex(matrices) => {
                // SAFETY: the same.
                AnyAnswer::Complex(unsafe { solve(matrices, set.layout, settings) }?)
            }
        };
        let layout = set.layout;
        *answer = Box::into_raw(Box::new(codiag_answer { numbers, layout }));
        Ok(())
    })
}

/// # Safety
/// A given B has so many numbers, and the callback may be called.
unsafe fn solve<T: Scalar>(
    set: &MatrixSet<T>,
    layout: Layout,
    given: codiag_settings,
) -> Result<Answer<T>, Failure> {
    let shape = (set.dimension(), set.channels());
    // SAFETY: as the caller promises.
    let settings = unsafe { given.to_library::<T>(shape, layout) }?;
    // SAFETY: as the caller promises.
    let mut watch = unsafe { Watch::new(given.callback, given.user_data, layout) };
    let solved = diagonalize_with(set, &settings, &mut watch)?;
    Ok(Answer::new(solved, layout, set.constant()))
}

/// Frees an answer and all its arrays. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_free(answer: *mut codiag_answer) {
    if !answer.is_null() {
        // SAFETY: it came from `Box::into_raw`, and is not used any more, as the caller promises.
        let answer = unsafe { Box::from_raw(answer) };
        guard(|| {
            drop(answer);
            Ok(())
        });
    }
}

/// Sets an info to zeros, for codiag_answer_info to fill in. `size` is sizeof(codiag_info).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_info_init(info: *mut codiag_info, size: usize) -> c_int {
    // SAFETY: any bytes are a value of it.
    let zeros = unsafe { std::mem::zeroed() };
    // SAFETY: the caller passes a struct of that size.
    unsafe { options::init(info, size, zeros) }
}

/// Tells how a solve went. Set `info` up with codiag_info_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_info(
    answer: *const codiag_answer,
    info: *mut codiag_info,
) -> c_int {
    guard(|| {
        // SAFETY: an answer or null, as the caller promises.
        let answer = unsafe { handle(answer, "answer") }?;
        let known = match &answer.numbers {
            AnyAnswer::Real(own) => own.info(answer.layout),
            AnyAnswer::Complex(own) => own.info(answer.layout),
        };
        // SAFETY: a struct of the size that it begins with, as the caller promises.
        unsafe { options::write(info, known) }
    })
}

/// What a function of a real or a complex answer gives; null for null.
///
/// # Safety
/// `answer` is null, or an answer.
unsafe fn part(
    answer: *const codiag_answer,
    real: impl FnOnce(&Answer<f64>) -> *const f64,
    complex: impl FnOnce(&Answer<c64>) -> *const f64,
) -> *const f64 {
    // SAFETY: as the caller promises.
    match unsafe { answer.as_ref() }.map(|answer| &answer.numbers) {
        None => ptr::null(),
        Some(AnyAnswer::Real(own)) => real(own),
        Some(AnyAnswer::Complex(own)) => complex(own),
    }
}

/// B, the filters: components x channels numbers in the layout of the set, complex if it is. Valid until
/// the answer is freed, as are the arrays below; NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_b(answer: *const codiag_answer) -> *const f64 {
    // SAFETY: an answer or null, as the caller promises.
    unsafe { part(answer, Answer::b, Answer::b) }
}

/// A, the patterns: channels x components numbers, B A = I.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_a(answer: *const codiag_answer) -> *const f64 {
    // SAFETY: an answer or null, as the caller promises.
    unsafe { part(answer, Answer::a, Answer::a) }
}

/// The powers Di_aa (for least squares those of the fit): length x components real numbers, in the layout
/// of the set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_powers(answer: *const codiag_answer) -> *const f64 {
    // SAFETY: an answer or null, as the caller promises.
    unsafe { part(answer, Answer::powers, Answer::powers) }
}

/// Each matrix's own share of the loss, of which it is the weighted mean: codiag_info.length numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_residuals(answer: *const codiag_answer) -> *const f64 {
    let (real, complex) = (
        |own: &Answer<f64>| own.solved.residuals.as_ptr(),
        |own: &Answer<c64>| own.solved.residuals.as_ptr(),
    );
    // SAFETY: an answer or null, as the caller promises.
    unsafe { part(answer, real, complex) }
}

/// The losses of all starts that were tried: codiag_info.starts numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_start_losses(answer: *const codiag_answer) -> *const f64 {
    let (real, complex) = (
        |own: &Answer<f64>| own.solved.start_losses.as_ptr(),
        |own: &Answer<c64>| own.solved.start_losses.as_ptr(),
    );
    // SAFETY: an answer or null, as the caller promises.
    unsafe { part(answer, real, complex) }
}

/// How surely each component comes again, from 0 to 1, the median of its matches: codiag_info.components numbers;
/// NULL if codiag_settings.n_resamples was 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_stability(answer: *const codiag_answer) -> *const f64 {
    // SAFETY: an answer or null, as the caller promises.
    unsafe { part(answer, Answer::stability, Answer::stability) }
}

/// How much the component of a trial that is most like a component is like it, from 0 to 1: codiag_info.trials x
/// components numbers in the layout of the set; NULL as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_matches(answer: *const codiag_answer) -> *const f64 {
    // SAFETY: an answer or null, as the caller promises.
    unsafe { part(answer, Answer::matches, Answer::matches) }
}

/// The ratio of the largest to the smallest singular value of B; NaN for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_condition_number(answer: *const codiag_answer) -> f64 {
    let mut ratio = f64::NAN;
    guard(|| {
        // SAFETY: an answer or null, as the caller promises.
        ratio = match unsafe { &handle(answer, "answer")?.numbers } {
            AnyAnswer::Real(own) => own.solved.condition_number(),
            AnyAnswer::Complex(own) => own.solved.condition_number(),
        };
        Ok(())
    });
    ratio
}

/// Record `index` of the history, of which there are codiag_info.records. Set `record` up with
/// codiag_record_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_answer_history(
    answer: *const codiag_answer,
    index: usize,
    record: *mut codiag_record,
) -> c_int {
    guard(|| {
        // SAFETY: an answer or null, as the caller promises.
        let history = match unsafe { &handle(answer, "answer")?.numbers } {
            AnyAnswer::Real(own) => &own.solved.history,
            AnyAnswer::Complex(own) => &own.solved.history,
        };
        let found = history.get(index).ok_or_else(|| {
            Failure::argument(format!(
                "there is no record {index}: the history has {}",
                history.len()
            ))
        })?;
        // SAFETY: a struct of the size that it begins with, as the caller promises.
        unsafe { options::write(record, codiag_record::from(found)) }
    })
}
