//! The enums of the border, and the names of their values.
//!
//! C passes enums as numbers, which may be any: they are looked up, never taken at their word.

use std::ffi::{CStr, c_char, c_int};

use codiag::{Criterion, Method, Stage, Status, StepKind};

use crate::arrays::Layout;
use crate::border::{Failure, codiag_error};

/// How the numbers of matrices follow each other. Several matrices always lie one after the other.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_layout {
    /// Row after row, as in C: entry (a, b) of matrix i of size p x p is number i*p*p + a*p + b. Of a
    /// recording, channel after channel.
    RowMajor = 0,
    /// Column after column, as in Fortran, MATLAB, R and Julia: it is number i*p*p + a + b*p. Of a
    /// recording, sample after sample.
    ColumnMajor = 1,
}

/// What is minimized.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_criterion {
    /// Pham's likelihood, for positive definite matrices:
    /// 1/2 sum_i w_i (sum_a log Di_aa - log det Di).
    Likelihood = 0,
    /// The share of the energy sum_i w_i |Ci|^2 that is off the diagonals of Di, B being orthogonal
    /// (unitary), for any symmetric (Hermitian) matrices.
    Frobenius = 1,
    /// The share of that energy that the fit A Li A^H, with the best diagonal Li, leaves, for any
    /// symmetric (Hermitian) matrices.
    LeastSquares = 2,
}

/// How it is minimized.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_method {
    /// Newton's method, for every criterion.
    Newton = 0,
    /// Algorithm 1 of Ablin, Cardoso & Gramfort (2019), for the likelihood and the Frobenius criterion.
    QuasiNewton = 1,
    /// Pham's algorithm, for the likelihood.
    Pham = 2,
    /// Jacobi rotations (Cardoso & Souloumiac), for the Frobenius criterion.
    Jacobi = 3,
    /// AC-DC (Yeredor), for least squares.
    Acdc = 4,
    /// U-WEDGE (Tichavsky & Yeredor), for least squares.
    Uwedge = 5,
    /// FFDIAG (Ziehe et al.), for least squares.
    Ffdiag = 6,
    /// Alternating minimization over the rows of B, for the likelihood: slower, for comparison.
    RowWise = 7,
}

/// Where the iteration starts.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_init {
    /// The rotation that makes a few principal combinations of the whitened set most diagonal.
    Spectral = 0,
    /// The whitener of the mean.
    Whitener = 1,
    /// The identity.
    Identity = 2,
    /// codiag_settings.b.
    Given = 3,
}

/// Why a solve ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_status {
    /// The gradient norm fell to the tolerance.
    Converged = 0,
    /// The iteration limit came first.
    MaxIter = 1,
    /// No step decreases the loss any more, be it for rounding; the best point is returned.
    Stalled = 2,
    /// The callback asked to stop.
    Stopped = 3,
    /// Columns of A have become collinear, or otherwise dependent: least squares has no minimum there.
    Collinear = 4,
    /// For a reason that this version of the header has no name for.
    Other = 5,
}

/// A stage of a solve.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_stage {
    /// On a sample of the matrices, or on a few combinations of them.
    Sample = 0,
    /// On all matrices, in single precision.
    Single = 1,
    /// On all matrices, in double precision.
    Full = 2,
    /// One that this version of the header has no name for.
    Other = 3,
}

/// What kind of step led to a point.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_step {
    /// None: this is the start.
    Start = 0,
    /// A quasi-Newton step.
    QuasiNewton = 1,
    /// A Newton step.
    Newton = 2,
    /// A sweep over all pairs or columns.
    Sweep = 3,
    /// A step of U-WEDGE or FFDIAG.
    Wedge = 4,
    /// One that this version of the header has no name for.
    Other = 5,
}

pub(crate) const CRITERIA: [(codiag_criterion, Criterion, &CStr); 3] = [
    (
        codiag_criterion::Likelihood,
        Criterion::Likelihood,
        c"likelihood",
    ),
    (
        codiag_criterion::Frobenius,
        Criterion::Frobenius,
        c"frobenius",
    ),
    (
        codiag_criterion::LeastSquares,
        Criterion::LeastSquares,
        c"least-squares",
    ),
];

pub(crate) const METHODS: [(codiag_method, Method, &CStr); 8] = [
    (codiag_method::Newton, Method::Newton, c"newton"),
    (
        codiag_method::QuasiNewton,
        Method::QuasiNewton,
        c"quasi-newton",
    ),
    (codiag_method::Pham, Method::Pham, c"pham"),
    (codiag_method::Jacobi, Method::Jacobi, c"jacobi"),
    (codiag_method::Acdc, Method::Acdc, c"acdc"),
    (codiag_method::Uwedge, Method::Uwedge, c"uwedge"),
    (codiag_method::Ffdiag, Method::Ffdiag, c"ffdiag"),
    (codiag_method::RowWise, Method::RowWise, c"row-wise"),
];

const STARTS: [(codiag_init, &CStr); 3] = [
    (codiag_init::Spectral, c"spectral"),
    (codiag_init::Whitener, c"whitener"),
    (codiag_init::Identity, c"identity"),
];

const ERRORS: [(codiag_error, &CStr); 13] = [
    (codiag_error::None, c"none"),
    (codiag_error::Argument, c"argument"),
    (codiag_error::Shape, c"shape"),
    (codiag_error::NotFinite, c"not-finite"),
    (codiag_error::Asymmetric, c"asymmetric"),
    (codiag_error::NotPositiveDefinite, c"not-positive-definite"),
    (codiag_error::Weights, c"weights"),
    (codiag_error::Start, c"start"),
    (codiag_error::Setting, c"setting"),
    (codiag_error::Conflict, c"conflict"),
    (codiag_error::Recording, c"recording"),
    (codiag_error::Internal, c"internal"),
    (codiag_error::Memory, c"memory"),
];

const STATUSES: [(codiag_status, Option<Status>, &CStr); 6] = [
    (
        codiag_status::Converged,
        Some(Status::Converged),
        c"converged",
    ),
    (
        codiag_status::MaxIter,
        Some(Status::MaxIter),
        c"iteration limit",
    ),
    (
        codiag_status::Stalled,
        Some(Status::Stalled),
        c"no further decrease",
    ),
    (
        codiag_status::Stopped,
        Some(Status::Interrupted),
        c"stopped",
    ),
    (
        codiag_status::Collinear,
        Some(Status::Collinear),
        c"collinear columns",
    ),
    (codiag_status::Other, None, c"other"),
];

const STAGES: [(codiag_stage, Option<Stage>, &CStr); 4] = [
    (codiag_stage::Sample, Some(Stage::Sample), c"sample"),
    (
        codiag_stage::Single,
        Some(Stage::Single),
        c"single precision",
    ),
    (codiag_stage::Full, Some(Stage::Full), c"full"),
    (codiag_stage::Other, None, c"other"),
];

const STEPS: [(codiag_step, Option<StepKind>, &CStr); 6] = [
    (codiag_step::Start, Some(StepKind::Init), c"start"),
    (
        codiag_step::QuasiNewton,
        Some(StepKind::QuasiNewton),
        c"quasi-newton",
    ),
    (codiag_step::Newton, Some(StepKind::Newton), c"newton"),
    (codiag_step::Sweep, Some(StepKind::Sweep), c"sweep"),
    (codiag_step::Wedge, Some(StepKind::Wedge), c"wedge"),
    (codiag_step::Other, None, c"other"),
];

fn unknown(name: &str, value: c_int) -> Failure {
    Failure::argument(format!("{name} is {value}, which is no codiag_{name}"))
}

pub(crate) fn criterion(value: c_int) -> Result<Criterion, Failure> {
    let found = CRITERIA.iter().find(|(code, ..)| *code as c_int == value);
    let found = found.ok_or_else(|| unknown("criterion", value))?;
    Ok(found.1)
}

pub(crate) fn method(value: c_int) -> Result<Method, Failure> {
    let found = METHODS.iter().find(|(code, ..)| *code as c_int == value);
    let found = found.ok_or_else(|| unknown("method", value))?;
    Ok(found.1)
}

pub(crate) fn layout(value: c_int) -> Result<Layout, Failure> {
    match value {
        0 => Ok(Layout::Row),
        1 => Ok(Layout::Column),
        _ => Err(unknown("layout", value)),
    }
}

/// 0 or 1.
pub(crate) fn flag(name: &str, value: c_int) -> Result<bool, Failure> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Failure::argument(format!(
            "{name} must be 0 or 1, got {value}"
        ))),
    }
}

impl codiag_init {
    pub(crate) fn known(value: c_int) -> Result<Self, Failure> {
        let all = [Self::Spectral, Self::Whitener, Self::Identity, Self::Given];
        let found = all.into_iter().find(|start| *start as c_int == value);
        found.ok_or_else(|| unknown("start", value))
    }
}

/// The number of a criterion.
pub(crate) fn criterion_code(criterion: Criterion) -> c_int {
    let found = CRITERIA.iter().find(|(_, known, _)| *known == criterion);
    found.map_or(-1, |(code, ..)| *code as c_int)
}

impl From<Status> for codiag_status {
    fn from(status: Status) -> Self {
        let found = STATUSES.iter().find(|(_, known, _)| *known == Some(status));
        found.map_or(Self::Other, |(code, ..)| *code)
    }
}

impl From<Stage> for codiag_stage {
    fn from(stage: Stage) -> Self {
        let found = STAGES.iter().find(|(_, known, _)| *known == Some(stage));
        found.map_or(Self::Other, |(code, ..)| *code)
    }
}

impl From<StepKind> for codiag_step {
    fn from(kind: StepKind) -> Self {
        let found = STEPS.iter().find(|(_, known, _)| *known == Some(kind));
        found.map_or(Self::Other, |(code, ..)| *code)
    }
}

/// The name of a value, or NULL.
fn name_of<'a>(value: c_int, mut names: impl Iterator<Item = (c_int, &'a CStr)>) -> *const c_char {
    let found = names.find(|(code, _)| *code == value);
    found.map_or(std::ptr::null(), |(_, name)| name.as_ptr())
}

/// The value of a name, or -1.
///
/// # Safety
/// `name` is null, or a string that ends with a zero.
unsafe fn value_of<'a>(
    name: *const c_char,
    mut names: impl Iterator<Item = (c_int, &'a CStr)>,
) -> c_int {
    if name.is_null() {
        return -1;
    }
    // SAFETY: it ends with a zero, as the caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    let found = names.find(|(_, known)| *known == name);
    found.map_or(-1, |(code, _)| code)
}

/// The name of a codiag_criterion, such as "least-squares"; NULL if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_criterion_name(criterion: c_int) -> *const c_char {
    name_of(
        criterion,
        CRITERIA
            .iter()
            .map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// The codiag_criterion of a name; -1 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_criterion_from_name(name: *const c_char) -> c_int {
    // SAFETY: a string, as the caller promises.
    unsafe {
        value_of(
            name,
            CRITERIA
                .iter()
                .map(|(code, _, name)| (*code as c_int, *name)),
        )
    }
}

/// The name of a codiag_method, such as "quasi-newton"; NULL if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_method_name(method: c_int) -> *const c_char {
    name_of(
        method,
        METHODS
            .iter()
            .map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// The codiag_method of a name; -1 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_method_from_name(name: *const c_char) -> c_int {
    // SAFETY: a string, as the caller promises.
    unsafe {
        value_of(
            name,
            METHODS
                .iter()
                .map(|(code, _, name)| (*code as c_int, *name)),
        )
    }
}

/// The name of a codiag_init, such as "spectral"; NULL if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_init_name(start: c_int) -> *const c_char {
    let given = (codiag_init::Given as c_int, c"given");
    let named = STARTS.iter().map(|(code, name)| (*code as c_int, *name));
    name_of(start, named.chain([given]))
}

/// The codiag_init of a name, "spectral", "whitener" or "identity"; -1 for any other, "given" among
/// them, because it needs a matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_init_from_name(name: *const c_char) -> c_int {
    // SAFETY: a string, as the caller promises.
    unsafe {
        value_of(
            name,
            STARTS.iter().map(|(code, name)| (*code as c_int, *name)),
        )
    }
}

/// The name of a codiag_status, such as "iteration limit"; NULL if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_status_name(status: c_int) -> *const c_char {
    name_of(
        status,
        STATUSES
            .iter()
            .map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// The name of a codiag_error, such as "not-finite"; NULL if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_error_name(error: c_int) -> *const c_char {
    name_of(
        error,
        ERRORS.iter().map(|(code, name)| (*code as c_int, *name)),
    )
}

/// The name of a codiag_stage, such as "single precision"; NULL if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_stage_name(stage: c_int) -> *const c_char {
    name_of(
        stage,
        STAGES.iter().map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// The name of a codiag_step, such as "sweep"; NULL if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_step_name(step: c_int) -> *const c_char {
    name_of(
        step,
        STEPS.iter().map(|(code, _, name)| (*code as c_int, *name)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the library has, the border has too, by the same names.
    #[test]
    fn every_criterion_and_method_has_a_number() {
        for criterion in Criterion::ALL {
            let code = criterion_code(criterion);
            assert_ne!(code, -1, "{}", criterion.name());
            let (_, _, name) = CRITERIA[code as usize];
            assert_eq!(name.to_str(), Ok(criterion.name()));
        }
        for method in Method::ALL {
            let found = METHODS.iter().find(|(_, known, _)| *known == method);
            let (code, _, name) = found.expect("every method has a number");
            assert_eq!(name.to_str(), Ok(method.name()));
            assert_eq!(super::method(*code as c_int).ok(), Some(method));
        }
        for (_, status, name) in STATUSES {
            assert!(status.is_none_or(|status| name.to_str() == Ok(status.name())));
        }
        for (_, stage, name) in STAGES {
            assert!(stage.is_none_or(|stage| name.to_str() == Ok(stage.name())));
        }
        for (_, kind, name) in STEPS {
            assert!(kind.is_none_or(|kind| name.to_str() == Ok(kind.name())));
        }
    }

    #[test]
    fn names_and_numbers_go_both_ways() {
        // SAFETY: strings that end with a zero.
        unsafe {
            assert_eq!(codiag_method_from_name(c"ffdiag".as_ptr()), 6);
            assert_eq!(codiag_method_from_name(c"row-wise".as_ptr()), 7);
            assert_eq!(CStr::from_ptr(codiag_stage_name(2)), c"full");
            assert_eq!(codiag_method_from_name(c"fastica".as_ptr()), -1);
            assert_eq!(codiag_criterion_from_name(c"least-squares".as_ptr()), 2);
            assert_eq!(codiag_init_from_name(c"given".as_ptr()), -1);
            assert_eq!(codiag_init_from_name(std::ptr::null()), -1);
            assert_eq!(CStr::from_ptr(codiag_method_name(3)), c"jacobi");
            assert_eq!(CStr::from_ptr(codiag_init_name(0)), c"spectral");
            assert_eq!(CStr::from_ptr(codiag_init_name(3)), c"given");
            assert_eq!(CStr::from_ptr(codiag_error_name(3)), c"not-finite");
        }
        assert!(codiag_method_name(99).is_null() && codiag_status_name(-1).is_null());
        assert!(codiag_init_name(4).is_null() && codiag_error_name(13).is_null());
        // Positions in the table are the values of the enum.
        for (k, (error, _)) in ERRORS.iter().enumerate() {
            assert_eq!(*error as usize, k);
        }
    }
}
