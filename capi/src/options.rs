//! Options and settings as plain structs whose first field is their size.
//!
//! A struct from a program that was compiled with an older header is shorter; its missing fields
//! get their defaults.

use std::ffi::{c_int, c_void};
use std::ptr;

use codiag::{Init, Rank, Scalar, SetOptions, Settings};

use crate::arrays::{Layout, slice};
use crate::choices::{codiag_init, codiag_sort_by, criterion, flag, method, sort_by};
use crate::ffi_guard::{Failure, guard};
use crate::observer::codiag_callback;

/// Value of an index that does not apply.
pub const CODIAG_NONE: usize = usize::MAX;

/// Value of codiag_set_options.n_components that selects the rank of the mean matrix.
pub const CODIAG_N_COMPONENTS_AUTO: usize = usize::MAX;

/// Options of codiag_set_new. Initialize it with codiag_set_options_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_set_options {
    /// sizeof(codiag_set_options), set by codiag_set_options_init.
    pub size: usize,
    /// Criterion that will be minimized, a codiag_criterion. The likelihood requires positive
    /// definite matrices. Default: CODIAG_CRITERION_LIKELIHOOD.
    pub criterion: c_int,
    /// Weights of the n matrices, nonnegative and not all zero. Default: NULL (equal weights).
    pub weights: *const f64,
    /// Number of components, from 1 to p: the matrices are first projected on this number of
    /// leading eigenvectors of their mean, scaled to unit diagonal. CODIAG_N_COMPONENTS_AUTO
    /// selects the rank of the mean. Default: 0 (p components, no projection).
    pub n_components: usize,
    /// Shrinkage s from 0 to 1: each matrix C is replaced by (1 - s) C + s trace(C)/p I. Default:
    /// 0.
    pub shrinkage: f64,
    /// Whether each matrix is replaced by its symmetric (if complex, Hermitian) part: 0 or 1. If it
    /// is 0, a relative asymmetry beyond 1e-8 is an error. Default: 0.
    pub symmetrize: c_int,
    /// Number of threads that prepare and solve the set; the result does not depend on it. Default:
    /// 0 (chosen automatically).
    pub n_jobs: usize,
}

/// Settings of codiag_diagonalize. Initialize it with codiag_settings_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_settings {
    /// sizeof(codiag_settings), set by codiag_settings_init.
    pub size: usize,
    /// Method by which the loss is minimized, a codiag_method. Default: CODIAG_METHOD_NEWTON.
    pub method: c_int,
    /// Starting point of the iteration, a codiag_init. Default: CODIAG_INIT_SPECTRAL.
    pub init: c_int,
    /// Starting point B for CODIAG_INIT_GIVEN, codiag_set_n_components x codiag_set_n_channels
    /// numbers in the layout of the set, complex for a complex set. It must be NULL for
    /// every other init. Default: NULL.
    pub b: *const f64,
    /// Whether B is constrained to be orthogonal (unitary): 0 or 1. Default: 0.
    pub orthogonal: c_int,
    /// Tolerance: the solve has converged when the gradient norm is at most this. Default: 1e-8.
    pub tol: f64,
    /// Maximum number of iterations or sweeps. Default: 1000.
    pub max_iter: usize,
    /// Lower bound of the determinants of the 2 x 2 blocks of the quasi-Newton Hessian. Default:
    /// 1e-4.
    pub lambda_min: f64,
    /// Maximum number of step halvings in a line search of the quasi-Newton method. Default: 10.
    pub max_halvings: usize,
    /// Number of additional, deterministic starting points; the result with the lowest loss is
    /// returned. Default: 0.
    pub n_restarts: usize,
    /// Whether the components are normalized and sorted: 0 or 1. For the likelihood, mean powers
    /// are 1; for the Frobenius criterion, rows of B have unit norm; for least squares, columns of
    /// A have unit norm. The largest entry of each column of A is positive. The order is that of
    /// `sort_by`. Default: 1.
    pub canonical: c_int,
    /// Whether rows of B are rescaled to unit mean powers at every iteration: 0 or 1. If it is 0,
    /// the gradient norm depends on the units of the data. Default: 1.
    pub rescale: c_int,
    /// Maximum size in bytes of the stored Hessian. A larger Hessian is not stored; its products
    /// are computed by data passes. Default: 1 GiB.
    pub hessian_memory: usize,
    /// Function called at the starting point and after each iteration; it can stop the solve.
    /// Default: NULL (none).
    pub callback: codiag_callback,
    /// Last argument of the callback. Default: NULL.
    pub user_data: *mut c_void,
    /// Number of bootstrap resamples of the matrices used to estimate how reproducible each
    /// component is; see codiag_result_stability. Default: 0 (not estimated).
    pub n_resamples: usize,
    /// Order of the components, a codiag_sort_by. CODIAG_SORT_BY_CONTRAST has no effect if
    /// `canonical` is 0. Default: CODIAG_SORT_BY_CONTRAST.
    pub sort_by: c_int,
}

/// Struct of the C interface whose first field is its size. The function `NAME_init` initializes
/// it.
///
/// # Safety
/// It is `repr(C)`, its first field is `size: usize`, and any bytes are a valid value.
pub(crate) unsafe trait VersionedStruct: Copy {
    /// Size of the struct in the first version of the library.
    const FIRST_SIZE: usize;
    /// Name of the struct in C.
    const NAME: &'static str;
}

/// Offset of the end of a field: the size of a struct whose last field it is.
macro_rules! end_of {
    ($struct:ty, $last:ident: $type:ty) => {
        std::mem::offset_of!($struct, $last) + size_of::<$type>()
    };
}
pub(crate) use end_of;

/// Returns an error if this version of the library does not support the size.
fn check_size<T: VersionedStruct>(size: usize) -> Result<(), Failure> {
    if size > size_of::<T>() {
        return Err(Failure::argument(format!(
            "{} has size {size}, but this version of the library supports at most {}; the program was compiled \
             with a newer codiag.h",
            T::NAME,
            size_of::<T>()
        )));
    }
    if size < T::FIRST_SIZE {
        return Err(Failure::argument(format!(
            "{name} has size {size}, which is too small; initialize it with {name}_init",
            name = T::NAME
        )));
    }
    Ok(())
}

/// Reads a struct passed by C. Fields that it lacks, or all fields for null, have their defaults.
///
/// # Safety
/// `given` is null, or points to as many readable bytes as its first field states.
pub(crate) unsafe fn read<T: VersionedStruct>(given: *const T, defaults: T) -> Result<T, Failure> {
    if given.is_null() {
        return Ok(defaults);
    }
    // SAFETY: the first field is readable, as the caller guarantees; the read does not need
    // alignment.
    let size = unsafe { given.cast::<usize>().read_unaligned() };
    check_size::<T>(size)?;
    let mut whole = defaults;
    // SAFETY: `size` bytes are readable, as the caller guarantees. They fit into T, for which any
    // bytes are a valid value.
    unsafe { ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut whole).cast(), size) };
    Ok(whole)
}

/// Fills in the fields that the struct of C has, and sets its size to the number of bytes written.
///
/// # Safety
/// `out` is null, or points to as many writable bytes as its first field states.
pub(crate) unsafe fn write<T: VersionedStruct>(out: *mut T, value: T) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::argument(format!(
            "the pointer to the {} is NULL; pass the address of a struct",
            T::NAME
        )));
    }
    // SAFETY: the first field is readable, as the caller guarantees; the read does not need
    // alignment.
    let given = unsafe { out.cast::<usize>().read_unaligned() };
    if given < T::FIRST_SIZE {
        check_size::<T>(given)?;
    }
    // Fields of a newer header than this library are left unchanged.
    let size = given.min(size_of::<T>());
    // SAFETY: `size` bytes are readable in `value` and writable in `out`.
    unsafe {
        ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), out.cast(), size);
        out.cast::<usize>().write_unaligned(size);
    }
    Ok(())
}

/// Sets a struct, whose size in C is `size`, to its defaults.
///
/// # Safety
/// `out` is null, or points to `size` writable bytes.
pub(crate) unsafe fn init<T: VersionedStruct>(out: *mut T, size: usize, defaults: T) -> c_int {
    guard(|| {
        if out.is_null() {
            return Err(Failure::argument(format!(
                "the pointer to the {} is NULL; pass the address of a struct",
                T::NAME
            )));
        }
        check_size::<T>(size)?;
        // SAFETY: `size` bytes are readable in `defaults` and writable in `out`.
        unsafe {
            ptr::copy_nonoverlapping((&raw const defaults).cast::<u8>(), out.cast(), size);
            out.cast::<usize>().write_unaligned(size);
        }
        Ok(())
    })
}

// SAFETY: repr(C), its first field is its size; any bytes are valid numbers and pointers.
unsafe impl VersionedStruct for codiag_set_options {
    const FIRST_SIZE: usize = end_of!(codiag_set_options, n_jobs: usize);
    const NAME: &'static str = "codiag_set_options";
}

// SAFETY: repr(C), its first field is its size; any bytes are valid numbers and pointers, and the
// callback is a pointer or NULL.
unsafe impl VersionedStruct for codiag_settings {
    const FIRST_SIZE: usize = end_of!(codiag_settings, user_data: *mut c_void);
    const NAME: &'static str = "codiag_settings";
}

impl codiag_set_options {
    pub(crate) fn defaults() -> Self {
        let options = SetOptions::default();
        Self {
            size: size_of::<Self>(),
            criterion: 0,
            weights: ptr::null(),
            n_components: 0,
            shrinkage: options.shrinkage,
            symmetrize: c_int::from(options.symmetrize),
            n_jobs: 0,
        }
    }

    /// Converts to the options of the Rust library, for n matrices.
    ///
    /// # Safety
    /// The weights are null or n numbers.
    pub(crate) unsafe fn to_library(self, n: usize) -> Result<SetOptions, Failure> {
        let weights = if self.weights.is_null() {
            None
        } else {
            // SAFETY: n numbers, as the caller guarantees.
            Some(unsafe { slice(self.weights, n, "weights") }?.to_vec())
        };
        let rank = match self.n_components {
            0 => Rank::Full,
            CODIAG_N_COMPONENTS_AUTO => Rank::Auto,
            number => Rank::Exactly(number),
        };
        Ok(SetOptions::default()
            .criterion(criterion(self.criterion)?)
            .weights(weights)
            .n_components(rank)
            .shrinkage(self.shrinkage)
            .symmetrize(flag("symmetrize", self.symmetrize)?)
            .n_jobs((self.n_jobs > 0).then_some(self.n_jobs)))
    }
}

impl codiag_settings {
    pub(crate) fn defaults() -> Self {
        let settings = Settings::default();
        Self {
            size: size_of::<Self>(),
            method: 0,
            init: 0,
            b: ptr::null(),
            orthogonal: c_int::from(settings.orthogonal),
            tol: settings.tol,
            max_iter: settings.max_iter,
            lambda_min: settings.lambda_min,
            max_halvings: settings.max_halvings,
            n_restarts: settings.n_restarts,
            canonical: c_int::from(settings.canonical),
            rescale: c_int::from(settings.rescale),
            hessian_memory: settings.hessian_memory,
            callback: None,
            user_data: ptr::null_mut(),
            n_resamples: settings.n_resamples,
            sort_by: codiag_sort_by::Contrast as c_int,
        }
    }

    /// Converts to the settings of the Rust library, for a set with these numbers of components and
    /// channels.
    ///
    /// # Safety
    /// `b` is null, or points to n_components x n_channels numbers of type T.
    pub(crate) unsafe fn to_library<T: Scalar>(
        self,
        (n_components, n_channels): (usize, usize),
        layout: Layout,
    ) -> Result<Settings, Failure> {
        let init = match codiag_init::from_value(self.init)? {
            codiag_init::Spectral => Init::Spectral,
            codiag_init::Whitener => Init::Whitener,
            codiag_init::Identity => Init::Identity,
            codiag_init::Given => {
                // SAFETY: null or n_components x n_channels numbers, as the caller guarantees.
                let b = unsafe { slice(self.b.cast::<T>(), n_components * n_channels, "b") }?;
                Init::given(&layout.matrix(b, n_components, n_channels))
            }
        };
        if !matches!(init, Init::Given(_) | Init::GivenComplex(_)) && !self.b.is_null() {
            return Err(Failure::argument(
                "b is not NULL, but init is not CODIAG_INIT_GIVEN; set init to CODIAG_INIT_GIVEN, or b to NULL",
            ));
        }
        Ok(Settings::default()
            .method(method(self.method)?)
            .init(init)
            .orthogonal(flag("orthogonal", self.orthogonal)?)
            .tol(self.tol)
            .max_iter(self.max_iter)
            .lambda_min(self.lambda_min)
            .max_halvings(self.max_halvings)
            .n_restarts(self.n_restarts)
            .n_resamples(self.n_resamples)
            .sort_by(sort_by(self.sort_by)?)
            .canonical(flag("canonical", self.canonical)?)
            .rescale(flag("rescale", self.rescale)?)
            .hessian_memory(self.hessian_memory))
    }
}

/// Sets the options to their defaults. `size` is sizeof(codiag_set_options). Returns 0 or a
/// codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_options_init(
    options: *mut codiag_set_options,
    size: usize,
) -> c_int {
    // SAFETY: null or a struct of `size` bytes, as the caller guarantees.
    unsafe { init(options, size, codiag_set_options::defaults()) }
}

/// Sets the settings to their defaults. `size` is sizeof(codiag_settings). Returns 0 or a
/// codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_settings_init(
    settings: *mut codiag_settings,
    size: usize,
) -> c_int {
    // SAFETY: null or a struct of `size` bytes, as the caller guarantees.
    unsafe { init(settings, size, codiag_settings::defaults()) }
}
