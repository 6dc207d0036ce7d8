//! The least-squares criterion, Cⁱ ≈ A Λⁱ Aᴴ, for matrices that need not be positive definite.
//!
//! Each generic test runs for real symmetric and for complex Hermitian matrices.

mod backends;
mod convergence;
mod few_matrices;
mod naive;
mod rank_reduction;
mod scaling;

use std::ops::ControlFlow;

use codiag::backend::{Backend, Request, Sums};
use codiag::cluster::{ClusterSet, Worker};
use codiag::synthetic::{mixed, mixed_complex};
use codiag::{
    Criterion, Diagonalization, Matrix, MatrixSet, Memory, Method, OnDisk, Record, Reduction,
    Scalar, SetOptions, Settings, c64, diagonalize,
};

use crate::on_disk::Npy;

const METHODS: [Method; 4] = [Method::Newton, Method::Acdc, Method::Uwedge, Method::Ffdiag];

/// Generates a real and a complex test from each generic function.
macro_rules! real_and_complex {
    ($($name:ident),* $(,)?) => {
        mod real {
            $(#[test] fn $name() { super::$name::<f64>(); })*
        }
        mod complex {
            $(#[test] fn $name() { super::$name::<codiag::c64>(); })*
        }
    };
}
use real_and_complex;

/// Functions of the library that have a real and a complex version.
trait Number: Scalar {
    /// Matrices A Λⁱ Aᴴ with noise, and A.
    fn mixed(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<Self>, Matrix<Self>);
    fn file(data: &[Self], n: usize, p: usize) -> Npy;
    /// Solves from a file.
    fn from_disk(npy: &Npy, options: &SetOptions, settings: &Settings) -> Diagonalization<Self>;
    /// The product of the exact Hessian at B with E, computed from a file.
    fn hessian_from_disk(npy: &Npy, b: &Matrix<Self>, e: &Matrix<Self>) -> Matrix<Self>;
    /// Solves with a cluster of workers, whose set may be reduced.
    fn from_workers(
        workers: &[Worker<Self>],
        reduction: Option<Reduction<Self>>,
        settings: &Settings,
    ) -> Diagonalization<Self>;
}

macro_rules! number {
    ($number:ty, $mixed:ident, $file:ident, $set:ident) => {
        impl Number for $number {
            fn mixed(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<Self>, Matrix<Self>) {
                $mixed(n, p, sigma, seed)
            }

            fn file(data: &[Self], n: usize, p: usize) -> Npy {
                Npy::$file(data, n, p)
            }

            fn from_disk(
                npy: &Npy,
                options: &SetOptions,
                settings: &Settings,
            ) -> Diagonalization<Self> {
                let mut disk = OnDisk::$set(npy.open(), Memory(40_000_000), options).unwrap();
                codiag::diagonalize_with_backend(&mut disk, settings, &mut silent).unwrap()
            }

            fn hessian_from_disk(npy: &Npy, b: &Matrix<Self>, e: &Matrix<Self>) -> Matrix<Self> {
                let mut disk = OnDisk::$set(npy.open(), Memory(8_000_000), &options()).unwrap();
                hessian_product(&mut disk, b, e)
            }

            fn from_workers(
                workers: &[Worker<Self>],
                reduction: Option<Reduction<Self>>,
                settings: &Settings,
            ) -> Diagonalization<Self> {
                let descriptions: Vec<Vec<u8>> = workers.iter().map(Worker::describe).collect();
                let send = |request: &[u8]| workers.iter().map(|w| w.respond(request)).collect();
                let mut cluster = ClusterSet::$set(&send, &descriptions, reduction).unwrap();
                codiag::diagonalize_with_backend(&mut cluster, settings, &mut silent).unwrap()
            }
        }
    };
}
number!(f64, mixed, double, new);
number!(c64, mixed_complex, complex, complex);

/// The product of the exact Hessian at B with E, computed by a data pass.
fn hessian_product<T: Scalar>(set: &mut dyn Backend<T>, b: &Matrix<T>, e: &Matrix<T>) -> Matrix<T> {
    let request = Request::HessianProduct {
        b: b.clone(),
        e: e.clone(),
    };
    let mut sums = Sums::default();
    set.evaluate(&request, &mut sums).unwrap();
    sums.moments_mut().0.clone()
}

fn silent<T>(_: &Record, _: &Matrix<T>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn options() -> SetOptions {
    SetOptions::default().criterion(Criterion::LeastSquares)
}

fn set_of<T: Scalar>(data: &[T], p: usize) -> MatrixSet<T> {
    MatrixSet::with_options(data, data.len() / (p * p), p, &options()).unwrap()
}

fn set<T: Number>(n: usize, p: usize, sigma: f64, seed: u64) -> MatrixSet<T> {
    set_of(&T::mixed(n, p, sigma, seed).0, p)
}

fn solve<T: Scalar>(set: &MatrixSet<T>, method: Method) -> Diagonalization<T> {
    diagonalize(set, &Settings::default().method(method)).unwrap()
}

/// A reproducible nonzero number with parts in (−1, 1).
fn number<T: Scalar>(k: usize) -> T {
    let part = |k: usize| ((k * 37 + 11) % 23) as f64 / 11.5 - 1.0;
    T::from_parts(part(k), part(k + 7))
}

/// The Kronecker delta.
fn delta<T: Scalar>(a: usize, b: usize) -> T {
    if a == b { T::ONE } else { T::ZERO }
}

fn near_identity<T: Scalar>(p: usize, seed: usize) -> Matrix<T> {
    Matrix::from_fn(p, p, |a, b| {
        number::<T>(seed + a * p + b) * 0.2 + delta::<T>(a, b)
    })
}

/// The largest absolute difference of entries.
fn distance<T: Scalar>(x: &Matrix<T>, y: &Matrix<T>) -> f64 {
    let pairs = x.as_slice().iter().zip(y.as_slice());
    pairs.fold(0.0, |largest, (x, y)| f64::max(largest, (*x - *y).abs()))
}
