//! Callbacks: C follows a solve, and may stop it.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;

use codiag::{Matrix, Observer, Record, Scalar};

use crate::arrays::Layout;
use crate::choices::{codiag_stage, codiag_step};
use crate::options::{self, Growing, end_of};

/// One iterate of a solve. Set it up with codiag_record_init to pass it to codiag_answer_history.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_record {
    /// sizeof(codiag_record); the init function sets it, and for callbacks the library.
    pub size: usize,
    /// Which start it belongs to: 0 for the one asked for, then those of codiag_settings.n_restarts.
    pub start: usize,
    /// Whether only a sample of the matrices, or combinations of them, are looked at, to improve the start: 0 or 1. Such points are
    /// not in the history, and their losses lack a constant.
    pub sample: c_int,
    /// 0 for the start.
    pub iteration: usize,
    /// Seconds since the solve began.
    pub seconds: f64,
    /// The loss here.
    pub loss: f64,
    /// The gradient norm here.
    pub gradient_norm: f64,
    /// The decrease of the loss that the quadratic model predicts from here; for Pham's method what the
    /// pairs of the sweep that led here predicted together.
    pub decrement: f64,
    /// The kind of step that led here, a codiag_step.
    pub kind: c_int,
    /// Its length, the share of its direction that was taken; the largest sine of the angles of a sweep of rotations; 0 for the start.
    pub step: f64,
    /// The conjugate gradient iterations it took.
    pub cg_iterations: usize,
    /// What it cost, and all steps before it, in transforms of the whole set.
    pub passes: f64,
    /// The stage of the solve, a codiag_stage.
    pub stage: c_int,
}

/// Called on the thread of the solve with B as it stands, in the layout of the set, which is valid for
/// the call only, and with codiag_settings.user_data. Anything but 0 stops the solve, with the best
/// point so far and CODIAG_STATUS_STOPPED. It must return: no exception, no longjmp.
pub type codiag_callback = Option<
    unsafe extern "C" fn(
        record: *const codiag_record,
        b: *const f64,
        user_data: *mut c_void,
    ) -> c_int,
>;

// SAFETY: repr(C), begins with its size; numbers may have any bytes.
unsafe impl Growing for codiag_record {
    const FIRST_SIZE: usize = end_of!(codiag_record, passes: f64);
    const NAME: &'static str = "codiag_record";
}

/// Sets a record to zeros, for codiag_answer_history to fill in. `size` is sizeof(codiag_record).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_record_init(record: *mut codiag_record, size: usize) -> c_int {
    // SAFETY: any bytes are a value of it.
    let zeros = unsafe { std::mem::zeroed() };
    // SAFETY: the caller passes a struct of that size.
    unsafe { options::init(record, size, zeros) }
}

impl From<&Record> for codiag_record {
    fn from(record: &Record) -> Self {
        Self {
            size: size_of::<Self>(),
            start: record.start,
            sample: c_int::from(record.stage == codiag::Stage::Sample),
            iteration: record.iteration,
            seconds: record.seconds,
            loss: record.loss,
            gradient_norm: record.gradient_norm,
            decrement: record.decrement,
            kind: codiag_step::from(record.kind) as c_int,
            step: record.step,
            cg_iterations: record.cg_iterations,
            passes: record.passes,
            stage: codiag_stage::from(record.stage) as c_int,
        }
    }
}

/// Follows a solve on behalf of C.
pub(crate) struct Watch<T> {
    callback: codiag_callback,
    user_data: *mut c_void,
    layout: Layout,
    /// B in the layout of the set, if it is not row-major.
    turned: Vec<T>,
}

impl<T: Scalar> Watch<T> {
    /// # Safety
    /// The callback may be called with that pointer until the solve ends.
    pub unsafe fn new(callback: codiag_callback, user_data: *mut c_void, layout: Layout) -> Self {
        Self {
            callback,
            user_data,
            layout,
            turned: Vec::new(),
        }
    }
}

impl<T: Scalar> Observer<T> for Watch<T> {
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        let Some(callback) = self.callback else {
            return ControlFlow::Continue(());
        };
        let record = codiag_record::from(record);
        let numbers = match self.layout {
            Layout::Row => b.as_slice(),
            Layout::Column => {
                self.turned.resize(b.as_slice().len(), T::ZERO);
                let shape = (b.rows(), b.columns());
                self.layout.write(b.as_slice(), shape, &mut self.turned);
                &self.turned
            }
        };
        // SAFETY: whoever made the watch promised that it may be called; the record and B, whose
        // complex numbers are pairs of f64, outlive the call.
        let asked = unsafe { callback(&raw const record, numbers.as_ptr().cast(), self.user_data) };
        if asked == 0 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}
