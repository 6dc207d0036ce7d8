//! Real and complex numbers, where the program treats them alike.

use codiag::{Error, MatrixFile, Memory, OnDisk, ReadObserver, Scalar, SetOptions, c64};
use serde::Serialize;

/// What matrices that the program works on are made of.
pub trait Number: Scalar + Serialize {
    /// A set that stays in its file.
    fn on_disk<'w>(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        watcher: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<OnDisk<'w, Self>, Error>;
}

impl Number for f64 {
    fn on_disk<'w>(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        watcher: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<OnDisk<'w>, Error> {
        OnDisk::new_with_observer(file, memory, options, watcher)
    }
}

impl Number for c64 {
    fn on_disk<'w>(
        file: MatrixFile,
        memory: Memory,
        options: &SetOptions,
        watcher: impl ReadObserver + Send + Sync + 'w,
    ) -> Result<OnDisk<'w, Self>, Error> {
        OnDisk::complex_with_observer(file, memory, options, watcher)
    }
}

/// One of two, as the matrices are real or complex.
pub enum Either<R, C> {
    Real(R),
    Complex(C),
}

/// Whether these numbers are complex.
pub const fn is_complex<T: Scalar>() -> bool {
    T::PLANES == 2
}

/// What is the mirror image of a matrix that can be diagonalized, as a letter above it.
pub fn adjoint<T: Scalar>() -> char {
    if is_complex::<T>() { 'ᴴ' } else { 'ᵀ' }
}
