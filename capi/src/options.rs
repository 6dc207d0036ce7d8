//! What a caller can choose, as plain structs that begin with their size: one that has grown since a
//! program was compiled is filled up with defaults.

use std::ffi::{c_int, c_void};
use std::ptr;

use codiag::{Init, Rank, Scalar, SetOptions, Settings};

use crate::arrays::{Layout, slice};
use crate::border::{Failure, guard};
use crate::choices::{codiag_init, criterion, flag, method};
use crate::observer::codiag_callback;

/// No such number.
pub const CODIAG_NONE: usize = usize::MAX;

/// A rank that is found from the matrices: that of their mean.
pub const CODIAG_N_COMPONENTS_AUTO: usize = usize::MAX;

/// How a set is made from matrices, and worked on. Set it up with codiag_set_options_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_set_options {
    /// sizeof(codiag_set_options); the init function sets it.
    pub size: usize,
    /// What the set will be diagonalized by, a codiag_criterion: it decides what is required of the
    /// matrices. Default: CODIAG_CRITERION_LIKELIHOOD.
    pub criterion: c_int,
    /// One weight per matrix, not negative, not all zero; NULL (the default) for equal ones.
    pub weights: *const f64,
    /// To how many dimensions the set is reduced before it is diagonalized: 0 (the default) for not at
    /// all, CODIAG_N_COMPONENTS_AUTO for the rank of the mean, or a number from 1 to p.
    pub n_components: usize,
    /// From 0 (the default) to 1: each matrix becomes (1 - s) C + s trace(C)/p I.
    pub shrinkage: f64,
    /// Whether matrices that are not symmetric are replaced by their symmetric (if complex, Hermitian)
    /// parts: 0 (the default) or 1.
    pub symmetrize: c_int,
    /// How many threads prepare and solve the set; 0 (the default) for as many as pay. The answer does
    /// not depend on it.
    pub n_jobs: usize,
}

/// The settings of a solve. Set it up with codiag_settings_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_settings {
    /// sizeof(codiag_settings); the init function sets it.
    pub size: usize,
    /// How the loss is minimized, a codiag_method. Default: CODIAG_METHOD_NEWTON.
    pub method: c_int,
    /// Where the iteration starts, a codiag_init. Default: CODIAG_INIT_SPECTRAL.
    pub init: c_int,
    /// The B of CODIAG_INIT_GIVEN, as many rows as the set has dimensions and one column per channel,
    /// in the layout of the set; complex for a complex set. NULL otherwise.
    pub b: *const f64,
    /// Whether B stays orthogonal (unitary): 0 (the default) or 1.
    pub orthogonal: c_int,
    /// Stops when the gradient norm is at most this. Default: 1e-8.
    pub tol: f64,
    /// Stops after this many iterations or sweeps. Default: 1000.
    pub max_iter: usize,
    /// The floor of the determinants of the quasi-Newton blocks. Default: 1e-4.
    pub lambda_min: f64,
    /// How often the quasi-Newton method halves a step before it gives up. Default: 10.
    pub max_halvings: usize,
    /// How many further, deterministic starts are tried; the answer of lowest loss is kept. Default: 0.
    pub n_restarts: usize,
    /// Whether B is brought to its canonical form: 0 or 1 (the default). That is unit mean powers,
    /// components ordered by how much their power varies over the set, the largest entry of each
    /// pattern positive. For the other criteria components are ordered by their energy, and rows of B
    /// (Frobenius) or columns of A (least squares) have unit norm.
    pub canonical: c_int,
    /// Whether rows of B are rescaled to unit mean powers at every iteration: 0 or 1 (the default).
    /// Without it the tolerance is not free of units.
    pub rescale: c_int,
    /// The exact Hessian is not stored, but applied by passes over the set, if it would take more bytes
    /// than this. Default: 1 GiB.
    pub hessian_memory: usize,
    /// Called at the start and after each iteration, may stop the solve; NULL (the default) for none.
    pub callback: codiag_callback,
    /// What the callback is given as its last argument.
    pub user_data: *mut c_void,
    /// How many sets of as many matrices, drawn from the set with replacement, are solved too, to tell which
    /// components would come again: see codiag_answer_stability. Default: 0.
    pub n_resamples: usize,
}

/// A struct of the C interface that begins with its size. The function `NAME_init` sets it up.
///
/// # Safety
/// It is `repr(C)`, its first field is `size: usize`, and any bytes are a value of it.
pub(crate) unsafe trait Growing: Copy {
    /// Its size in the first version that had it.
    const FIRST_SIZE: usize;
    const NAME: &'static str;
}

/// Where the last field that the first version had ends.
macro_rules! end_of {
    ($struct:ty, $last:ident: $type:ty) => {
        std::mem::offset_of!($struct, $last) + size_of::<$type>()
    };
}
pub(crate) use end_of;

/// A size that this version of the library can read.
fn check_size<T: Growing>(size: usize) -> Result<(), Failure> {
    if size > size_of::<T>() {
        return Err(Failure::argument(format!(
            "{} has size {size}, but this version of the library knows only {}: the program was compiled with \
             a newer codiag.h",
            T::NAME,
            size_of::<T>()
        )));
    }
    if size < T::FIRST_SIZE {
        return Err(Failure::argument(format!(
            "{name} has size {size}, which no version of the library had: set it up with {name}_init",
            name = T::NAME
        )));
    }
    Ok(())
}

/// The struct that C passes, filled up with defaults; the defaults for NULL.
///
/// # Safety
/// `given` is null, or points to as many bytes as its first field says.
pub(crate) unsafe fn read<T: Growing>(given: *const T, defaults: T) -> Result<T, Failure> {
    if given.is_null() {
        return Ok(defaults);
    }
    // SAFETY: the first field is there, as the caller promises; it may be aligned in any way.
    let size = unsafe { given.cast::<usize>().read_unaligned() };
    check_size::<T>(size)?;
    let mut whole = defaults;
    // SAFETY: `size` bytes are there, as the caller promises, and fit into T, of which any bytes are
    // a value.
    unsafe { ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut whole).cast(), size) };
    Ok(whole)
}

/// Fills in as much of the struct that C passes as it has, and sets its size to what was filled in.
///
/// # Safety
/// `out` is null, or points to as many writable bytes as its first field says.
pub(crate) unsafe fn write<T: Growing>(out: *mut T, value: T) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::argument(format!("the {} is NULL", T::NAME)));
    }
    // SAFETY: as in `read`.
    let given = unsafe { out.cast::<usize>().read_unaligned() };
    if given < T::FIRST_SIZE {
        check_size::<T>(given)?;
    }
    // What a newer program has more, this library leaves as it is.
    let size = given.min(size_of::<T>());
    // SAFETY: so many bytes are there on both sides.
    unsafe {
        ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), out.cast(), size);
        out.cast::<usize>().write_unaligned(size);
    }
    Ok(())
}

/// Sets a struct of the size that C has for it to the defaults.
///
/// # Safety
/// `out` is null, or points to `size` writable bytes.
pub(crate) unsafe fn init<T: Growing>(out: *mut T, size: usize, defaults: T) -> c_int {
    guard(|| {
        if out.is_null() {
            return Err(Failure::argument(format!("the {} is NULL", T::NAME)));
        }
        check_size::<T>(size)?;
        // SAFETY: so many bytes are there on both sides.
        unsafe {
            ptr::copy_nonoverlapping((&raw const defaults).cast::<u8>(), out.cast(), size);
            out.cast::<usize>().write_unaligned(size);
        }
        Ok(())
    })
}

// SAFETY: repr(C), begins with its size; numbers and pointers may have any bytes.
unsafe impl Growing for codiag_set_options {
    const FIRST_SIZE: usize = end_of!(codiag_set_options, n_jobs: usize);
    const NAME: &'static str = "codiag_set_options";
}

// SAFETY: as above; a callback is a pointer or NULL.
unsafe impl Growing for codiag_settings {
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

    /// The library's own options, for n matrices.
    ///
    /// # Safety
    /// The weights are null, or n numbers.
    pub(crate) unsafe fn to_library(self, n: usize) -> Result<SetOptions, Failure> {
        let weights = if self.weights.is_null() {
            None
        } else {
            // SAFETY: n numbers, as the caller promises.
            Some(unsafe { slice(self.weights, n, "weights") }?.to_vec())
        };
        let rank = match self.n_components {
            0 => Rank::Full,
            CODIAG_N_COMPONENTS_AUTO => Rank::Auto,
            number => Rank::Exactly(number),
        };
        let threads = (self.n_jobs > 0).then_some(self.n_jobs);
        Ok(SetOptions::default()
            .criterion(criterion(self.criterion)?)
            .weights(weights)
            .n_components(rank)
            .shrinkage(self.shrinkage)
            .symmetrize(flag("symmetrize", self.symmetrize)?)
            .n_jobs(threads))
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
        }
    }

    /// The library's own settings, for a set of that dimension and so many channels.
    ///
    /// # Safety
    /// A given B is null, or dimension x channels numbers of type T.
    pub(crate) unsafe fn to_library<T: Scalar>(
        self,
        (dimension, channels): (usize, usize),
        layout: Layout,
    ) -> Result<Settings, Failure> {
        let start = match codiag_init::known(self.init)? {
            codiag_init::Spectral => Init::Spectral,
            codiag_init::Whitener => Init::Whitener,
            codiag_init::Identity => Init::Identity,
            codiag_init::Given => {
                // SAFETY: so many numbers, as the caller promises.
                let b = unsafe { slice(self.b.cast::<T>(), dimension * channels, "b") }?;
                Init::given(&layout.matrix(b, dimension, channels))
            }
        };
        if start_is_named(&start) && !self.b.is_null() {
            return Err(Failure::argument(
                "a b is given, but init is not CODIAG_INIT_GIVEN",
            ));
        }
        Ok(Settings::default()
            .method(method(self.method)?)
            .init(start)
            .orthogonal(flag("orthogonal", self.orthogonal)?)
            .tol(self.tol)
            .max_iter(self.max_iter)
            .lambda_min(self.lambda_min)
            .max_halvings(self.max_halvings)
            .n_restarts(self.n_restarts)
            .n_resamples(self.n_resamples)
            .canonical(flag("canonical", self.canonical)?)
            .rescale(flag("rescale", self.rescale)?)
            .hessian_memory(self.hessian_memory))
    }
}

fn start_is_named(start: &Init) -> bool {
    matches!(start, Init::Spectral | Init::Whitener | Init::Identity)
}

/// Sets the options to their defaults. `size` is sizeof(codiag_set_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_set_options_init(
    options: *mut codiag_set_options,
    size: usize,
) -> c_int {
    // SAFETY: the caller passes a struct of that size.
    unsafe { init(options, size, codiag_set_options::defaults()) }
}

/// Sets the settings to their defaults. `size` is sizeof(codiag_settings).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_settings_init(
    settings: *mut codiag_settings,
    size: usize,
) -> c_int {
    // SAFETY: the caller passes a struct of that size.
    unsafe { init(settings, size, codiag_settings::defaults()) }
}
