//! What is compiled here, once, for real and for complex numbers.
//!
//! The library is generic over [`Scalar`], and a generic function is compiled wherever it is called for a type: the
//! program, the Python extension, every test and every example would each compile the whole solver again, twice. But one
//! that is marked `#[inline(never)]` is taken from the crate that has compiled it already, if one has, at every
//! level of optimization. So the large functions of the interface are marked so, and named here for both kinds of numbers. Nothing
//! but the time that a build takes depends on it: a function that is not named is compiled where it is called.

use crate::cluster::Part;
use crate::linalg::{Scalar, c64};
use crate::matrices::{Block, Chunk, InMemory, MatrixSet, OnDisk, Reduction, WorkingSet};
use crate::{Diagonalization, Evaluation, Hessian, Inspector, Tracker, npy, solver, stability};

type Addresses = Vec<*const ()>;

/// Never called: what it names is compiled.
fn addresses<T: Scalar>() -> Addresses {
    vec![
        solver::diagonalize_with::<T> as *const (),
        solver::diagonalize_working::<T> as *const (),
        stability::resample::<T> as *const (),
        MatrixSet::<T>::with_options as *const (),
        MatrixSet::<T>::from_blocks as *const (),
        MatrixSet::<T>::transform as *const (),
        Block::<T>::gather as *const (),
        InMemory::<T>::new as *const (),
        in_memory::<T> as *const (),
        OnDisk::<T>::build as *const (),
        on_disk::<T> as *const (),
        Chunk::<T>::new as *const (),
        Chunk::<T>::range_sum as *const (),
        InMemory::<T>::of_chunks as *const (),
        Part::<T>::of_chunks as *const (),
        Part::<T>::answer as *const (),
        Part::<T>::chunks as *const (),
        Reduction::<T>::of_sum as *const (),
        Reduction::<T>::of_energy as *const (),
        Reduction::<T>::of_mean as *const (),
        Evaluation::<T>::at as *const (),
        Hessian::<T>::at as *const (),
        Inspector::<T>::add as *const (),
        Inspector::<T>::finish as *const (),
        Tracker::<T>::resume as *const (),
        Tracker::<T>::push_with as *const (),
        Diagonalization::<T>::condition_number as *const (),
        npy::Header::read_scalars::<T> as *const (),
    ]
}

/// All answers of a set in memory.
fn in_memory<T: Scalar>(set: &mut InMemory<T>) -> &mut dyn WorkingSet<T> {
    set
}

/// All answers of a set on disk.
fn on_disk<'a, T: Scalar>(set: &'a mut OnDisk<'_, T>) -> &'a mut dyn WorkingSet<T> {
    set
}

#[used]
static REAL: fn() -> Addresses = addresses::<f64>;
#[used]
static COMPLEX: fn() -> Addresses = addresses::<c64>;
