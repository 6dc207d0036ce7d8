//! Instantiates generic functions in this crate, for real and complex numbers, to save build time.
//!
//! A generic function is otherwise compiled in every crate that calls it, so the program and every
//! binding, test and example would compile the whole solver again. Functions that are marked
//! `#[inline(never)]` and referenced here are compiled once. This does not affect results.

use crate::backend::{Backend, Chunk, OnDisk};
use crate::cluster::Worker;
use crate::linalg::{Scalar, c64};
use crate::{Evaluation, Hessian, Inspector, MatrixSet, Tracker, diagonalize, stability};

type Addresses = Vec<*const ()>;

/// Never called; the functions that it references are compiled.
fn addresses<T: Scalar>() -> Addresses {
    vec![
        diagonalize::diagonalize_with::<T> as *const (),
        diagonalize::diagonalize_with_backend::<T> as *const (),
        stability::resample::<T> as *const (),
        MatrixSet::<T>::with_options as *const (),
        MatrixSet::<T>::from_blocks as *const (),
        MatrixSet::<T>::transform as *const (),
        MatrixSet::<T>::of_chunks as *const (),
        Chunk::<T>::new as *const (),
        Worker::<T>::of_chunks as *const (),
        Worker::<T>::respond as *const (),
        OnDisk::<T>::build as *const (),
        on_disk::<T> as *const (),
        Evaluation::<T>::at as *const (),
        Hessian::<T>::at as *const (),
        Inspector::<T>::finish as *const (),
        Tracker::<T>::push_with as *const (),
    ]
}

/// Instantiates the backend trait of a set on disk.
fn on_disk<'a, T: Scalar>(set: &'a mut OnDisk<'_, T>) -> &'a mut dyn Backend<T> {
    set
}

#[used]
static REAL: fn() -> Addresses = addresses::<f64>;
#[used]
static COMPLEX: fn() -> Addresses = addresses::<c64>;
