//! The enums of the C interface, and the names of their values.
//!
//! C passes enums as `int`, which may hold any value, so every value is looked up in a table.

use std::ffi::{CStr, c_char, c_int};

use codiag::{Criterion, Method, SortBy, Stage, Status, StepKind};

use crate::arrays::Layout;
use crate::ffi_guard::{Failure, codiag_error};

/// Memory layout of matrices and recordings. Matrices are always stored one after the other.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_layout {
    /// Row by row, as in C: entry (a, b) of the p x p matrix i is at index i*p*p + a*p + b. A
    /// recording is stored channel by channel.
    RowMajor = 0,
    /// Column by column, as in Fortran, MATLAB, R and Julia: entry (a, b) of the p x p matrix i is
    /// at index i*p*p + a + b*p. A recording is stored sample by sample.
    ColumnMajor = 1,
}

/// Criterion that is minimized.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_criterion {
    /// Pham's likelihood criterion 1/2 sum_i w_i (sum_a log Di_aa - log det Di), for positive
    /// definite matrices.
    Likelihood = 0,
    /// Fraction of the energy sum_i w_i |Ci|^2 outside the diagonals of Di, minimized over
    /// orthogonal (unitary) B, for symmetric (Hermitian) matrices.
    Frobenius = 1,
    /// Fraction of the energy sum_i w_i |Ci|^2 not explained by the fit A Li A^H with the best
    /// diagonal Li, for symmetric (Hermitian) matrices.
    LeastSquares = 2,
}

/// Method by which a criterion is minimized.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_method {
    /// Newton's method, for all criteria.
    Newton = 0,
    /// Quasi-Newton method of Ablin, Cardoso & Gramfort (2019), Algorithm 1, for the likelihood and
    /// the Frobenius criterion.
    QuasiNewton = 1,
    /// Pham's algorithm (2001), for the likelihood.
    Pham = 2,
    /// Jacobi rotations (Cardoso & Souloumiac 1996), for the Frobenius criterion.
    Jacobi = 3,
    /// AC-DC (Yeredor 2002), for least squares.
    Acdc = 4,
    /// U-WEDGE (Tichavsky & Yeredor), for least squares.
    Uwedge = 5,
    /// FFDIAG (Ziehe et al.), for least squares.
    Ffdiag = 6,
    /// Alternating minimization over the rows of B, for the likelihood. Slower; for comparison
    /// only.
    RowWise = 7,
}

/// Starting point of the iteration.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_init {
    /// Whitener, rotated to jointly diagonalize a few principal combinations of the whitened
    /// matrices.
    Spectral = 0,
    /// Whitener of the mean matrix.
    Whitener = 1,
    /// Identity matrix.
    Identity = 2,
    /// The matrix codiag_settings.b.
    Given = 3,
}

/// Order of the components.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_sort_by {
    /// By decreasing contrast: for the likelihood, the variation of the power of a component over
    /// the matrices; for the other criteria, the energy of the component.
    Contrast = 0,
    /// By decreasing stability, as codiag_result_stability returns it. Requires n_resamples or
    /// n_restarts above 0.
    Stability = 1,
}

/// Reason why a solve ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_status {
    /// The gradient norm reached the tolerance.
    Converged = 0,
    /// The iteration limit was reached.
    MaxIter = 1,
    /// No step decreases the loss any further, for example because of rounding errors. The best
    /// point is returned.
    Stalled = 2,
    /// The callback stopped the solve.
    Interrupted = 3,
    /// Columns of A became linearly dependent, where the least-squares criterion has no minimum.
    Collinear = 4,
    /// A reason that this version of the header does not name.
    Other = 5,
}

/// Stage of a solve.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_stage {
    /// Improves the starting point on a sample, or on a few linear combinations, of the matrices.
    Sample = 0,
    /// Uses all matrices, in single precision.
    Single = 1,
    /// Uses all matrices, in double precision.
    Full = 2,
    /// A stage that this version of the header does not name.
    Other = 3,
}

/// Kind of step that led to an iterate.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum codiag_step {
    /// No step: the iterate is the starting point.
    Init = 0,
    /// Quasi-Newton step.
    QuasiNewton = 1,
    /// Newton step.
    Newton = 2,
    /// Sweep over all pairs of components or all columns.
    Sweep = 3,
    /// Step of U-WEDGE or FFDIAG.
    Wedge = 4,
    /// A kind of step that this version of the header does not name.
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

const INITS: [(codiag_init, &CStr); 3] = [
    (codiag_init::Spectral, c"spectral"),
    (codiag_init::Whitener, c"whitener"),
    (codiag_init::Identity, c"identity"),
];

pub(crate) const SORT_ORDERS: [(codiag_sort_by, SortBy, &CStr); 2] = [
    (codiag_sort_by::Contrast, SortBy::Contrast, c"contrast"),
    (codiag_sort_by::Stability, SortBy::Stability, c"stability"),
];

const ERRORS: [(codiag_error, &CStr); 13] = [
    (codiag_error::None, c"none"),
    (codiag_error::Argument, c"argument"),
    (codiag_error::Shape, c"shape"),
    (codiag_error::NotFinite, c"not-finite"),
    (codiag_error::Asymmetric, c"asymmetric"),
    (codiag_error::NotPositiveDefinite, c"not-positive-definite"),
    (codiag_error::Weights, c"weights"),
    (codiag_error::Init, c"init"),
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
    (codiag_status::MaxIter, Some(Status::MaxIter), c"max_iter"),
    (codiag_status::Stalled, Some(Status::Stalled), c"stalled"),
    (
        codiag_status::Interrupted,
        Some(Status::Interrupted),
        c"interrupted",
    ),
    (
        codiag_status::Collinear,
        Some(Status::Collinear),
        c"collinear",
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
    (codiag_step::Init, Some(StepKind::Init), c"init"),
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
    Failure::argument(format!(
        "{name} is {value}, which is not a value of codiag_{name}"
    ))
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

pub(crate) fn sort_by(value: c_int) -> Result<SortBy, Failure> {
    let found = SORT_ORDERS
        .iter()
        .find(|(code, ..)| *code as c_int == value);
    let found = found.ok_or_else(|| unknown("sort_by", value))?;
    Ok(found.1)
}

pub(crate) fn layout(value: c_int) -> Result<Layout, Failure> {
    match value {
        0 => Ok(Layout::Row),
        1 => Ok(Layout::Column),
        _ => Err(unknown("layout", value)),
    }
}

/// Converts a 0 or 1 to a bool; an error for other values.
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
    pub(crate) fn from_value(value: c_int) -> Result<Self, Failure> {
        let all = [Self::Spectral, Self::Whitener, Self::Identity, Self::Given];
        let found = all.into_iter().find(|init| *init as c_int == value);
        found.ok_or_else(|| unknown("init", value))
    }
}

/// Returns the value in C of a criterion.
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

/// Returns the name of an enum value, or null.
fn name_of<'a>(value: c_int, mut names: impl Iterator<Item = (c_int, &'a CStr)>) -> *const c_char {
    let found = names.find(|(code, _)| *code == value);
    found.map_or(std::ptr::null(), |(_, name)| name.as_ptr())
}

/// Returns the enum value of a name, or -1.
///
/// # Safety
/// `name` is null or a null-terminated string.
unsafe fn value_of<'a>(
    name: *const c_char,
    mut names: impl Iterator<Item = (c_int, &'a CStr)>,
) -> c_int {
    if name.is_null() {
        return -1;
    }
    // SAFETY: null-terminated, as the caller guarantees.
    let name = unsafe { CStr::from_ptr(name) };
    let found = names.find(|(_, known)| *known == name);
    found.map_or(-1, |(code, _)| code)
}

/// Returns the name of a codiag_criterion, such as "least-squares"; NULL for an invalid value.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_criterion_name(criterion: c_int) -> *const c_char {
    name_of(
        criterion,
        CRITERIA
            .iter()
            .map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// Returns the codiag_criterion with the given name; -1 for an unknown name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_criterion_from_name(name: *const c_char) -> c_int {
    // SAFETY: null or a null-terminated string, as the caller guarantees.
    unsafe {
        value_of(
            name,
            CRITERIA
                .iter()
                .map(|(code, _, name)| (*code as c_int, *name)),
        )
    }
}

/// Returns the name of a codiag_method, such as "quasi-newton"; NULL for an invalid value.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_method_name(method: c_int) -> *const c_char {
    name_of(
        method,
        METHODS
            .iter()
            .map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// Returns the codiag_method with the given name; -1 for an unknown name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_method_from_name(name: *const c_char) -> c_int {
    // SAFETY: null or a null-terminated string, as the caller guarantees.
    unsafe {
        value_of(
            name,
            METHODS
                .iter()
                .map(|(code, _, name)| (*code as c_int, *name)),
        )
    }
}

/// Returns the name of a codiag_init, such as "spectral"; NULL for an invalid value.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_init_name(init: c_int) -> *const c_char {
    let given = (codiag_init::Given as c_int, c"given");
    let named = INITS.iter().map(|(code, name)| (*code as c_int, *name));
    name_of(init, named.chain([given]))
}

/// Returns the codiag_init with the given name: "spectral", "whitener" or "identity". Returns -1
/// for any other name, including "given", which requires a matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_init_from_name(name: *const c_char) -> c_int {
    // SAFETY: null or a null-terminated string, as the caller guarantees.
    unsafe {
        value_of(
            name,
            INITS.iter().map(|(code, name)| (*code as c_int, *name)),
        )
    }
}

/// Returns the name of a codiag_sort_by, such as "contrast"; NULL for an invalid value.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_sort_by_name(sort_by: c_int) -> *const c_char {
    name_of(
        sort_by,
        SORT_ORDERS
            .iter()
            .map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// Returns the codiag_sort_by with the given name; -1 for an unknown name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_sort_by_from_name(name: *const c_char) -> c_int {
    // SAFETY: null or a null-terminated string, as the caller guarantees.
    unsafe {
        value_of(
            name,
            SORT_ORDERS
                .iter()
                .map(|(code, _, name)| (*code as c_int, *name)),
        )
    }
}

/// Returns the name of a codiag_status, such as "max_iter"; NULL for an invalid value.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_status_name(status: c_int) -> *const c_char {
    name_of(
        status,
        STATUSES
            .iter()
            .map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// Returns the name of a codiag_error, such as "not-finite"; NULL for an invalid value.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_error_name(error: c_int) -> *const c_char {
    name_of(
        error,
        ERRORS.iter().map(|(code, name)| (*code as c_int, *name)),
    )
}

/// Returns the name of a codiag_stage, such as "single precision"; NULL for an invalid value.
#[unsafe(no_mangle)]
pub extern "C" fn codiag_stage_name(stage: c_int) -> *const c_char {
    name_of(
        stage,
        STAGES.iter().map(|(code, _, name)| (*code as c_int, *name)),
    )
}

/// Returns the name of a codiag_step, such as "sweep"; NULL for an invalid value.
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

    #[test]
    fn enums_and_names_match_the_rust_library() {
        for criterion in Criterion::ALL {
            let code = criterion_code(criterion);
            assert_ne!(code, -1, "{}", criterion.name());
            let (_, _, name) = CRITERIA[code as usize];
            assert_eq!(name.to_str(), Ok(criterion.name()));
        }
        for method in Method::ALL {
            let found = METHODS.iter().find(|(_, known, _)| *known == method);
            let (code, _, name) = found.expect("every method has a value in C");
            assert_eq!(name.to_str(), Ok(method.name()));
            assert_eq!(super::method(*code as c_int).ok(), Some(method));
        }
        for order in SortBy::ALL {
            let found = SORT_ORDERS.iter().find(|(_, known, _)| *known == order);
            let (code, _, name) = found.expect("every order has a value in C");
            assert_eq!(name.to_str(), Ok(order.name()));
            assert_eq!(sort_by(*code as c_int).ok(), Some(order));
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
    fn names_and_values_are_inverse() {
        // SAFETY: null-terminated strings.
        unsafe {
            assert_eq!(codiag_method_from_name(c"ffdiag".as_ptr()), 6);
            assert_eq!(codiag_method_from_name(c"row-wise".as_ptr()), 7);
            assert_eq!(CStr::from_ptr(codiag_stage_name(2)), c"full");
            assert_eq!(codiag_method_from_name(c"fastica".as_ptr()), -1);
            assert_eq!(codiag_criterion_from_name(c"least-squares".as_ptr()), 2);
            assert_eq!(codiag_sort_by_from_name(c"stability".as_ptr()), 1);
            assert_eq!(codiag_init_from_name(c"given".as_ptr()), -1);
            assert_eq!(codiag_init_from_name(std::ptr::null()), -1);
            assert_eq!(CStr::from_ptr(codiag_method_name(3)), c"jacobi");
            assert_eq!(CStr::from_ptr(codiag_init_name(0)), c"spectral");
            assert_eq!(CStr::from_ptr(codiag_init_name(3)), c"given");
            assert_eq!(CStr::from_ptr(codiag_error_name(3)), c"not-finite");
        }
        assert!(codiag_method_name(99).is_null() && codiag_status_name(-1).is_null());
        assert!(codiag_init_name(4).is_null() && codiag_error_name(13).is_null());
        // The table is indexed by the values of the enum.
        for (k, (error, _)) in ERRORS.iter().enumerate() {
            assert_eq!(*error as usize, k);
        }
    }
}
