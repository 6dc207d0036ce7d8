//! Code shared by real and complex matrices.

use codiag::{Error, MatrixFile, Memory, OnDisk, ReadObserver, Scalar, SetOptions, c64};
use serde::Serialize;

/// Type of the entries of a matrix: `f64` or `c64`.
pub trait Number: Scalar + Serialize {
    /// Opens a set of matrices that stays in its file and is read in parts.
    fn on_disk<'w>(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        observer: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<OnDisk<'w, Self>, Error>;
}

impl Number for f64 {
    fn on_disk<'w>(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        observer: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<OnDisk<'w>, Error> {
        OnDisk::new_with_observer(file, memory, options, observer)
    }
}

impl Number for c64 {
    fn on_disk<'w>(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        observer: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<OnDisk<'w, Self>, Error> {
        OnDisk::complex_with_observer(file, memory, options, observer)
    }
}

/// A value for real matrices or one for complex matrices.
pub enum Either<R, C> {
    Real(R),
    Complex(C),
}

/// Whether `T` is a complex type.
pub const fn is_complex<T: Scalar>() -> bool {
    T::PLANES == 2
}

/// Symbol of the transpose (real matrices) or of the conjugate transpose (complex matrices).
pub fn adjoint<T: Scalar>() -> char {
    if is_complex::<T>() { 'ᴴ' } else { 'ᵀ' }
}
