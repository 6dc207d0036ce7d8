//! Speed of the kernels, relative to a large matrix product in the same run.
//!
//! ```text
//! cargo bench -p codiag --features internals
//! ```
//!
//! On one thread. The percentage printed for each size compares the flops per second of the kernel
//! with those of a 500 × 500 product, both the best of several alternating runs. The flops of a
//! kernel are 3p³ per matrix for a transform and 2p³ for a Hessian; for complex matrices, 12p³ and
//! 8p³.
#![allow(missing_docs, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use codiag::internals::Triangle;
use codiag::internals::kernels::DiagonalFunction::Log;
use codiag::internals::kernels::{
    Congruence, MomentSums, Real, accumulate_hessian, accumulate_moments, advance, cholesky_pivots,
    congruence, hessian_len, hessian_len_in, hessian_times, line_point,
};
use codiag::internals::product;
use codiag::synthetic::{hermitian, noisy};
use codiag::{Init, Matrix, MatrixSet, Method, Scalar, Settings, c64, diagonalize};
use criterion::{Criterion, criterion_group, criterion_main};

/// Returns the seconds of a call and the flops per second of a large product, the best of several
/// runs.
///
/// The runs alternate, because the speed of shared machines varies over time.
fn best(mut work: impl FnMut()) -> (f64, f64) {
    let m = Matrix::from_fn(500, 500, |a, b| ((a * 7 + b) % 13) as f64);
    let (mut fastest, mut peak) = (f64::INFINITY, 0.0_f64);
    for _ in 0..12 {
        let clock = Instant::now();
        black_box(product(&m, &m));
        peak = peak.max(2.0 * 500_f64.powi(3) / clock.elapsed().as_secs_f64());
        for _ in 0..3 {
            let clock = Instant::now();
            work();
            fastest = fastest.min(clock.elapsed().as_secs_f64());
        }
    }
    (fastest, peak)
}

/// Prints the speed of `work`, which takes `flops` operations, and its fraction of the peak.
fn print_speed(name: &str, flops: f64, work: impl FnMut()) {
    let (seconds, peak) = best(work);
    println!(
        "{name}: {:.1} of {:.1} Gflop/s, {:.0} %",
        flops / seconds / 1e9,
        peak / 1e9,
        100.0 * flops / seconds / peak
    );
}

/// A block of matrices and the operands of the kernels.
struct Example<T = f64> {
    p: usize,
    lanes: usize,
    block: Vec<f64>,
    weights: Vec<f64>,
    e: Matrix<T>,
}

impl<T: Scalar> Example<T> {
    fn new(p: usize, lanes: usize) -> Self {
        let mut block = Vec::new();
        for plane in 0..T::PLANES {
            for (a, b) in Triangle::new(p).pairs() {
                block.extend((0..lanes).map(|i| match (a == b, plane) {
                    (true, 0) => 1.0 + (i % 3) as f64,
                    (true, _) => 0.0,
                    (false, _) => 0.01 * ((a + b + i) % 5) as f64,
                }));
            }
        }
        Self {
            p,
            lanes,
            block,
            weights: vec![1.0 / lanes as f64; lanes],
            e: Matrix::from_fn(p, p, |a, b| {
                let x = 1e-3 * ((a * 3 + b) % 7) as f64;
                if a == b {
                    T::ZERO
                } else {
                    T::from_parts(x, -x)
                }
            }),
        }
    }
}

fn kernels(c: &mut Criterion) {
    for (p, lanes) in [
        (5, 104),
        (10, 104),
        (20, 104),
        (40, 56),
        (100, 24),
        (200, 24),
    ] {
        let x = Example::<f64>::new(p, lanes);
        let cube = lanes as f64 * (p as f64).powi(3);
        let (mut square, mut cross) = (x.block.clone(), x.block.clone());
        let mut transform = || {
            let task = Congruence {
                transform: &x.e,
                input: &x.block,
                lanes,
                matrices: lanes,
                square: &mut square,
                cross: Some(&mut cross),
            };
            congruence(task);
        };
        print_speed(&format!("transform, p = {p}"), 3.0 * cube, &mut transform);
        let id = |name: &str| format!("{name}, p = {p}, {lanes} matrices");
        c.bench_function(&id("transform"), |b| b.iter(&mut transform));

        let mut rows = vec![0.0; hessian_len(p, 1)];
        let mut hessian = || {
            accumulate_hessian(Log, p, &x.block, &x.weights, &mut rows, false);
        };
        print_speed(&format!("hessian, p = {p}"), 2.0 * cube, &mut hessian);
        c.bench_function(&id("hessian"), |b| b.iter(&mut hessian));

        let operand = vec![0.1; p.next_multiple_of(8) * p];
        let mut result = operand.clone();
        c.bench_function(&id("hessian product"), |b| {
            b.iter(|| hessian_times(p, &rows, &operand, &mut result));
        });
        let mut sums = MomentSums::<f64>::new(p);
        c.bench_function(&id("statistics"), |b| {
            b.iter(|| {
                accumulate_moments(Log, p, &x.block, &x.weights, &mut sums);
            });
        });
        let mut moved = x.block.clone();
        let scale = vec![1.0; p];
        c.bench_function(&id("advance"), |b| {
            b.iter(|| advance(&mut moved, &cross, &square, x.lanes, 1e-9, &scale));
        });
        c.bench_function(&id("slope"), |b| {
            b.iter(|| {
                black_box(line_point(
                    Log, x.p, &x.block, &cross, &square, &x.weights, 0.1,
                ))
            });
        });
        let (mut pivots, mut smallest) = (vec![0.0; p * lanes], vec![0.0; lanes]);
        c.bench_function(&id("cholesky"), |b| {
            b.iter(|| cholesky_pivots(p, &x.block, lanes, 1e-15, &mut pivots, &mut smallest));
        });
    }
}

/// The two most expensive kernels in single precision, relative to the peak of double precision.
fn single_kernels(_: &mut Criterion) {
    for (p, lanes) in [(20, 112), (40, 64), (100, 48), (200, 48)] {
        let x = Example::<f64>::new(p, lanes);
        let cube = lanes as f64 * (p as f64).powi(3);
        let block: Vec<f32> = x.block.iter().map(|x| f32::rounded(*x)).collect();
        let (mut square, mut cross) = (block.clone(), block.clone());
        print_speed(&format!("single transform, p = {p}"), 3.0 * cube, || {
            let task = Congruence {
                transform: &x.e,
                input: &block,
                lanes,
                matrices: lanes,
                square: &mut square,
                cross: Some(&mut cross),
            };
            congruence(task);
        });
        let mut rows = vec![0.0; hessian_len_in::<f32>(p, 1)];
        print_speed(&format!("single hessian, p = {p}"), 2.0 * cube, || {
            let (rows, weights) = (&mut rows, &x.weights);
            accumulate_hessian(Log, p, &block, weights, rows, false);
        });
    }
}

/// The two most expensive kernels on complex matrices.
fn complex_kernels(_: &mut Criterion) {
    for (p, lanes) in [(10, 256), (20, 104), (40, 24), (80, 24)] {
        let x = Example::<c64>::new(p, lanes);
        let cube = lanes as f64 * (p as f64).powi(3);
        let (mut square, mut cross) = (x.block.clone(), x.block.clone());
        print_speed(&format!("complex transform, p = {p}"), 12.0 * cube, || {
            let task = Congruence {
                transform: &x.e,
                input: &x.block,
                lanes,
                matrices: lanes,
                square: &mut square,
                cross: Some(&mut cross),
            };
            congruence(task);
        });
        let mut rows = vec![0.0; hessian_len(p, 2)];
        print_speed(&format!("complex hessian, p = {p}"), 8.0 * cube, || {
            let (block, weights) = (&x.block, &x.weights);
            accumulate_hessian(Log, p, block, weights, &mut rows, false);
        });
    }
    let (n, p) = (100, 40);
    let settings = Settings::default().tol(1e-6);
    let (real, complex) = (noisy(n, p, 0.1, 0), hermitian(n, p, 0.1, 0));
    let (real, complex) = (real.with_n_jobs(1), complex.with_n_jobs(1));
    println!(
        "time per data pass of newton on (b), real: {:.2} ms",
        1e3 * time_of_pass(&real, &settings)
    );
    println!("complex: {:.2} ms", 1e3 * time_of_pass(&complex, &settings));
}

/// Seconds of a solve per data pass.
fn time_of_pass<T: Scalar>(set: &MatrixSet<T>, settings: &Settings) -> f64 {
    let mut passes = 1.0;
    let (seconds, _) = best(|| {
        let result = diagonalize(set, settings).expect("synthetic sets are valid");
        passes = result.history.last().map_or(1.0, |r| r.passes);
    });
    seconds / passes
}

/// Whole solves of experiment (b), with the flops of their data passes.
fn solves(c: &mut Criterion) {
    let (n, p) = (100, 40);
    let set = noisy(n, p, 0.1, 0).with_n_jobs(1);
    let pass = 3.0 * n as f64 * (p as f64).powi(3);
    for &method in codiag::Criterion::Likelihood.methods() {
        let settings = Settings::default()
            .method(method)
            .init(if method == Method::Newton {
                Init::Spectral
            } else {
                Init::Whitener
            })
            .tol(1e-6);
        let mut passes = 0.0;
        let (seconds, peak) = best(|| {
            let result = diagonalize(&set, &settings).expect("synthetic sets are valid");
            passes = result.history.last().map_or(0.0, |r| r.passes);
        });
        println!(
            "{} on (b): {:.2} ms, {passes:.1} passes, {:.0} % of the peak",
            method.name(),
            1e3 * seconds,
            100.0 * passes * pass / seconds / peak,
        );
        let one = settings.max_iter(1);
        c.bench_function(
            &format!("start and one iteration, {}", method.name()),
            |b| {
                b.iter(|| black_box(diagonalize(&set, &one)));
            },
        );
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_millis(700));
    targets = kernels, single_kernels, complex_kernels, solves
}
criterion_main!(benches);
