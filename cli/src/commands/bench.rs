//! `codiag bench`: measures the speed of solves on this computer and compares it with the peak
//! rate.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use codiag::{Init, Method, Settings, Status, diagonalize, synthetic};
use pulp::{Arch, Simd, WithSimd};
use serde::Serialize;

use crate::args::Bench;
use crate::cpu;
use crate::export;
use crate::format;
use crate::{ExitStatus, Session};

/// Sizes (n, p) of the sets.
const SIZES: [(usize, usize); 4] = [(100, 10), (100, 40), (1000, 40), (200, 120)];

#[derive(Serialize)]
struct Measurement {
    n: usize,
    p: usize,
    /// Time of one solve with default settings, to ĝ ≤ 1e-8, at noise σ = 0.1.
    seconds: f64,
    n_iter: usize,
    converged: bool,
    /// Rate of complete quasi-Newton iterations, 3np³ operations each.
    gigaflops: f64,
    fraction_of_peak: f64,
}

#[derive(Serialize)]
struct Results {
    machine: String,
    n_jobs: usize,
    /// Peak rate of multiplications and additions in registers of one thread, times the number of
    /// threads.
    peak_gigaflops: f64,
    sizes: Vec<Measurement>,
}

/// Runs the command.
pub fn run(args: &Bench, session: &mut Session<'_>) -> Result<ExitStatus> {
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let n_jobs = args.n_jobs.unwrap_or(available);
    let mut results = Results {
        machine: cpu::description(),
        n_jobs,
        peak_gigaflops: measure_peak(args.seconds) * n_jobs.min(available) as f64,
        sizes: Vec::new(),
    };
    for (n, p) in SIZES {
        if session.is_interrupted() {
            return Ok(ExitStatus::Interrupted);
        }
        session.info(&format!("measuring {n} matrices of {p} x {p}"))?;
        results
            .sizes
            .push(measure(n, p, args, results.peak_gigaflops)?);
    }
    if args.json {
        export::print_json(session.out, &results)?;
    } else {
        print(&results, session).context("standard output cannot be written")?;
    }
    Ok(ExitStatus::Done)
}

fn measure(n: usize, p: usize, args: &Bench, peak: f64) -> Result<Measurement> {
    let set = synthetic::noisy(n, p, 0.1, 0).with_n_jobs(args.n_jobs);
    let settings = Settings::default();
    // Use the fastest of several runs, because other programs only slow a run down.
    let mut best = f64::INFINITY;
    let mut result = None;
    let clock = Instant::now();
    while result.is_none() || clock.elapsed().as_secs_f64() < args.seconds / 2.0 {
        let start = Instant::now();
        result = Some(diagonalize(&set, &settings)?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    let ten_iterations = settings
        .method(Method::QuasiNewton)
        .init(Init::Whitener)
        .max_iter(10)
        .tol(1e-14);
    let mut rate = 0.0_f64;
    let clock = Instant::now();
    while rate == 0.0 || clock.elapsed().as_secs_f64() < args.seconds / 2.0 {
        let history = diagonalize(&set, &ten_iterations)?.history;
        if let [first, .., last] = &history[..] {
            let work = 3.0 * n as f64 * (p as f64).powi(3) * (last.passes - first.passes);
            rate = rate.max(work / (last.seconds - first.seconds) / 1e9);
        } else {
            break;
        }
    }
    let (n_iter, status) = result.map_or((0, Status::MaxIter), |a| (a.n_iter, a.status));
    Ok(Measurement {
        n,
        p,
        seconds: best,
        n_iter,
        converged: status.is_converged(),
        gigaflops: rate,
        fraction_of_peak: rate / peak,
    })
}

/// Measures the peak rate of multiplications and additions of one thread, in Gflop/s, without
/// memory accesses.
fn measure_peak(seconds: f64) -> f64 {
    if cpu::has_fma() {
        measure_peak_with::<true>(seconds)
    } else {
        measure_peak_with::<false>(seconds)
    }
}

/// Measures the peak rate with fused multiply-adds or, on processors without them, with separate
/// instructions. Emulated in software, a fused multiply-add would be about a hundred times slower.
fn measure_peak_with<const FUSED: bool>(seconds: f64) -> f64 {
    struct Kernel<const FUSED: bool>;
    const ROUNDS: usize = 20_000;
    const LANES: usize = 12;
    impl<const FUSED: bool> WithSimd for Kernel<FUSED> {
        type Output = f64;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let (x, y) = (
                simd.splat_f64s(black_box(0.999_999)),
                simd.splat_f64s(black_box(1e-9)),
            );
            // Use enough independent sums to hide the latency of each operation.
            let mut sums = [simd.splat_f64s(1.0); LANES];
            for _ in 0..ROUNDS {
                for sum in &mut sums {
                    *sum = if FUSED {
                        simd.mul_add_f64s(*sum, x, y)
                    } else {
                        simd.add_f64s(simd.mul_f64s(*sum, x), y)
                    };
                }
            }
            for sum in sums {
                black_box(simd.reduce_sum_f64s(sum));
            }
            let width = size_of::<S::f64s>() / 8;
            (2 * ROUNDS * LANES * width) as f64
        }
    }
    let arch = Arch::new();
    let clock = Instant::now();
    let mut best = 0.0_f64;
    while best == 0.0 || clock.elapsed().as_secs_f64() < seconds / 2.0 {
        let start = Instant::now();
        let work = arch.dispatch(Kernel::<FUSED>);
        best = best.max(work / start.elapsed().as_secs_f64() / 1e9);
    }
    best
}

fn print(results: &Results, session: &mut Session<'_>) -> Result<()> {
    let threads = format::count(results.n_jobs, "thread", "threads");
    let out = &mut *session.out;
    writeln!(out, "{}", results.machine)?;
    writeln!(
        out,
        "peak rate of {threads}: {:.1} Gflop/s (multiplications and additions in registers)\n",
        results.peak_gigaflops
    )?;
    writeln!(
        out,
        "{:>6} {:>5} {:>11} {:>11} {:>9} {:>14}",
        "n", "p", "solve", "iterations", "Gflop/s", "of peak"
    )?;
    for size in &results.sizes {
        let percentage = format!("{:.0} %", 100.0 * size.fraction_of_peak);
        writeln!(
            out,
            "{:>6} {:>5} {:>11} {:>11} {:>9.1} {percentage:>14}",
            size.n,
            size.p,
            format::seconds(size.seconds),
            size.n_iter,
            size.gigaflops
        )?;
    }
    writeln!(
        out,
        "\nsolve: time of a solve with default settings (Newton's method, gradient norm 1e-8) at noise 0.1.\nGflop/s: rate of \
         quasi-Newton iterations, 3np³ operations each. Small sets run on one thread."
    )?;
    Ok(())
}
