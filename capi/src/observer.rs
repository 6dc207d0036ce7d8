//! Callbacks from a solve into C, and the records passed to them.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;

use codiag::{Matrix, Observer, Record, Scalar};

use crate::arrays::Layout;
use crate::choices::{codiag_stage, codiag_step};
use crate::options::{self, VersionedStruct, end_of};

/// One iterate of a solve. Initialize it with codiag_record_init before a call of
/// codiag_result_history.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_record {
    /// sizeof(codiag_record), set by codiag_record_init. In callbacks, the size set by the library.
    pub size: usize,
    /// Index of the starting point: 0 for codiag_settings.init, from 1 on for restarts.
    pub start: usize,
    /// Whether the stage is CODIAG_STAGE_SAMPLE: 0 or 1. Such records are passed to the callback
    /// only, not stored in the history, and their losses differ from others by a constant.
    pub sample: c_int,
    /// Number of the iteration; 0 for the starting point.
    pub iteration: usize,
    /// Time since the beginning of the solve, in seconds.
    pub seconds: f64,
    /// Loss at the iterate.
    pub loss: f64,
    /// Norm of the relative gradient at the iterate.
    pub gradient_norm: f64,
    /// Decrease of the loss that the quadratic model predicts for the next step. For Pham's method,
    /// the sum of the decreases predicted for the pairs of the last sweep.
    pub decrement: f64,
    /// Kind of the step that led to the iterate, a codiag_step.
    pub kind: c_int,
    /// Length of the step, as a fraction of its direction. For a sweep of rotations, the largest
    /// sine of their angles. For the starting point, 0.
    pub step: f64,
    /// Number of conjugate gradient iterations of the step.
    pub cg_iterations: usize,
    /// Cumulative cost in data passes: transforms B Ci B^H of all matrices.
    pub passes: f64,
    /// Stage of the solve, a codiag_stage.
    pub stage: c_int,
}

/// Function that codiag_diagonalize calls, on the thread of its caller, at the starting point and
/// after each iteration. `b` is the current B in the layout of the set; `record` and `b` are valid
/// during the call only. `user_data` is codiag_settings.user_data. A return value other than 0
/// stops the solve with status CODIAG_STATUS_INTERRUPTED and the best iterate so far. The function
/// must return normally: C++ exceptions and longjmp are not allowed.
pub type codiag_callback = Option<
    unsafe extern "C" fn(
        record: *const codiag_record,
        b: *const f64,
        user_data: *mut c_void,
    ) -> c_int,
>;

// SAFETY: repr(C), its first field is its size; any bytes are valid numbers.
unsafe impl VersionedStruct for codiag_record {
    const FIRST_SIZE: usize = end_of!(codiag_record, passes: f64);
    const NAME: &'static str = "codiag_record";
}

/// Sets all fields but `size` to 0. `size` is sizeof(codiag_record). Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_record_init(record: *mut codiag_record, size: usize) -> c_int {
    // SAFETY: any bytes are a valid value.
    let zeros = unsafe { std::mem::zeroed() };
    // SAFETY: null or a struct of `size` bytes, as the caller guarantees.
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

/// Observer that calls the callback of C.
pub(crate) struct CallbackObserver<T> {
    callback: codiag_callback,
    user_data: *mut c_void,
    layout: Layout,
    /// Column-major copy of B, for a column-major set.
    column_major: Vec<T>,
}

impl<T: Scalar> CallbackObserver<T> {
    /// # Safety
    /// The callback may be called with `user_data` until the solve ends.
    pub unsafe fn new(callback: codiag_callback, user_data: *mut c_void, layout: Layout) -> Self {
        Self {
            callback,
            user_data,
            layout,
            column_major: Vec::new(),
        }
    }
}

impl<T: Scalar> Observer<T> for CallbackObserver<T> {
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        let Some(callback) = self.callback else {
            return ControlFlow::Continue(());
        };
        let record = codiag_record::from(record);
        let numbers = match self.layout {
            Layout::Row => b.as_slice(),
            Layout::Column => {
                self.column_major.resize(b.as_slice().len(), T::ZERO);
                let shape = (b.rows(), b.columns());
                self.layout
                    .write(b.as_slice(), shape, &mut self.column_major);
                &self.column_major
            }
        };
        // SAFETY: the caller of `new` guarantees that the callback may be called. The record and B,
        // whose complex numbers are pairs of f64, outlive the call.
        let stop = unsafe { callback(&raw const record, numbers.as_ptr().cast(), self.user_data) };
        if stop == 0 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}
