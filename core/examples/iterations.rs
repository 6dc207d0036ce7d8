//! Iterations and data passes of the methods on the paper's data, to a gradient norm ĝ ≤ 1e-6.
//!
//! ```text
//! cargo run --release --example iterations
//! ```
//!
//! A transform of the set counts as one data pass, and an exact Hessian as two thirds of one.
#![allow(clippy::print_stdout)]

use codiag::synthetic::{Sensors, hermitian, indefinite, indefinite_complex, meg, mixed, noisy};
use codiag::{
    Criterion, Diagonalization, Error, Init, MatrixSet, Method, Scalar, SetOptions, Settings,
    diagonalize,
};

fn main() -> Result<(), Error> {
    let (n, p) = (100, 40);
    let mut sets = vec![
        ("(a) exact", noisy(n, p, 0.0, 0)),
        ("(b) sigma 0.1", noisy(n, p, 0.1, 0)),
        ("sigma 0.3", noisy(n, p, 0.3, 0)),
    ];
    for (name, sensors) in [
        ("(c) magnetometers", Sensors::Magnetometers),
        ("(c) gradiometers", Sensors::Gradiometers),
    ] {
        sets.push((name, MatrixSet::new(&meg(sensors), n, p)?));
    }
    println!("n = {n}, p = {p}, to a gradient norm of 1e-6:");
    println!(
        "{:18} {:13} {:>10} {:>8} {:>9} {:>11}  status",
        "set", "method", "iterations", "passes", "gradient", "loss"
    );
    for (name, set) in &sets {
        for method in [Method::QuasiNewton, Method::Newton] {
            let result = solve(set, method)?;
            println!(
                "{name:18} {:13} {:10} {:8.1} {:9.1e} {:11.6}  {}",
                method.name(),
                result.n_iter,
                passes(&result),
                result.gradient_norm,
                result.loss,
                result.status,
            );
        }
    }

    println!("\n20 seeds of the synthetic sets:");
    print_header();
    for (name, sigma) in [("(b) sigma 0.1", 0.1), ("sigma 0.3", 0.3)] {
        let sets: Vec<MatrixSet> = (0..20).map(|seed| noisy(n, p, sigma, seed)).collect();
        for method in [Method::QuasiNewton, Method::Newton] {
            print_row(name, &sets, method)?;
        }
    }
    println!("\n24 subsets of each MEG set, each without every 24th matrix:");
    print_header();
    for (name, sensors) in [
        ("(c) magnetometers", Sensors::Magnetometers),
        ("(c) gradiometers", Sensors::Gradiometers),
    ] {
        let data = meg(sensors);
        let sets: Result<Vec<_>, _> = (0..24).map(|k| subset(&data, p, |i| i % 24 != k)).collect();
        print_row(name, &sets?, Method::Newton)?;
    }
    few_matrices()?;
    println!("\nHermitian matrices, 10 seeds:");
    print_header();
    for (name, sigma) in [("sigma 0.1", 0.1), ("sigma 0.3", 0.3)] {
        let sets: Vec<_> = (0..10).map(|seed| hermitian(n, p, sigma, seed)).collect();
        for method in [Method::QuasiNewton, Method::Newton] {
            print_row(name, &sets, method)?;
        }
    }
    println!("\nFrobenius criterion over rotations, 10 seeds of symmetric matrices:");
    print_header();
    let options = SetOptions::default().criterion(Criterion::Frobenius);
    for (name, sigma) in [("noise 0.1", 0.1), ("noise 0.3", 0.3), ("noise 0.6", 0.6)] {
        let make = |seed| MatrixSet::with_options(&indefinite(n, p, sigma, seed).0, n, p, &options);
        let sets: Result<Vec<_>, _> = (0..10).map(make).collect();
        let sets = sets?;
        for method in [Method::Jacobi, Method::QuasiNewton, Method::Newton] {
            print_row(name, &sets, method)?;
        }
    }
    println!("\nFrobenius criterion over unitary matrices, 10 seeds of Hermitian matrices:");
    print_header();
    for (name, sigma) in [("noise 0.1", 0.1), ("noise 0.3", 0.3)] {
        let make = |seed| {
            let (data, _) = indefinite_complex(n, p, sigma, seed);
            MatrixSet::with_options(&data, n, p, &options)
        };
        let sets: Result<Vec<_>, _> = (0..10).map(make).collect();
        let sets = sets?;
        for method in [Method::Jacobi, Method::QuasiNewton, Method::Newton] {
            print_row(name, &sets, method)?;
        }
    }
    least_squares()
}

/// Sets of 20 matrices, of size 20 to 160.
fn few_matrices() -> Result<(), Error> {
    println!(
        "\n20 matrices: 10 seeds with sigma 0.1, and 5 subsets of each MEG set with every fifth matrix:"
    );
    print_header();
    for p in [20, 40, 80, 160] {
        let sets: Vec<MatrixSet> = (0..10).map(|seed| noisy(20, p, 0.1, seed)).collect();
        print_row(&format!("p = {p}"), &sets, Method::Newton)?;
    }
    for (name, sensors) in [
        ("magnetometers", Sensors::Magnetometers),
        ("gradiometers", Sensors::Gradiometers),
    ] {
        let data = meg(sensors);
        let sets: Result<Vec<_>, _> = (0..5).map(|k| subset(&data, 40, |i| i % 5 == k)).collect();
        print_row(name, &sets?, Method::Newton)?;
    }
    Ok(())
}

/// Least squares, to ĝ ≤ 1e-6 on one thread, from the spectral start and from the identity.
fn least_squares() -> Result<(), Error> {
    let (n, p, seeds) = (100, 20, 20);
    println!("\nleast squares, n = {n}, p = {p}, median and range over {seeds} seeds:");
    println!(
        "{:10} {:7} {:9} {:>9} {:>15} {:>19} {:>19} {:>10}",
        "set", "method", "init", "converged", "iterations", "passes", "milliseconds", "mean loss"
    );
    let options = SetOptions::default()
        .criterion(Criterion::LeastSquares)
        .n_jobs(1);
    let runs = [
        (Method::Newton, "spectral"),
        (Method::Acdc, "spectral"),
        (Method::Newton, "identity"),
        (Method::Acdc, "identity"),
        (Method::Uwedge, "identity"),
        (Method::Ffdiag, "identity"),
    ];
    for (name, sigma) in [("noise 0.1", 0.1), ("noise 1", 1.0), ("noise 3", 3.0)] {
        let make = |seed| MatrixSet::with_options(&mixed(n, p, sigma, seed).0, n, p, &options);
        let sets: Result<Vec<_>, _> = (0..seeds).map(make).collect();
        let sets = sets?;
        for (method, init) in runs {
            let settings = Settings::default().method(method).init(init.parse()?);
            let settings = settings.tol(1e-6);
            let solve = |set| diagonalize(set, &settings);
            let results: Result<Vec<_>, _> = sets.iter().map(solve).collect();
            let results = results?;
            let seconds =
                |result: &Diagonalization| result.history.last().map_or(0.0, |r| r.seconds);
            println!(
                "{name:10} {:7} {init:9} {:9} {:>15} {:>19} {:>19} {:10.6}",
                method.name(),
                results.iter().filter(|a| a.status.is_converged()).count(),
                spread(results.iter().map(|a| a.n_iter as f64), 0),
                spread(results.iter().map(passes), 1),
                spread(results.iter().map(|a| 1e3 * seconds(a)), 1),
                results.iter().map(|a| a.loss).sum::<f64>() / results.len() as f64,
            );
        }
    }
    Ok(())
}

/// Formats the median and the range of some numbers.
fn spread(numbers: impl Iterator<Item = f64>, digits: usize) -> String {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let median = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
    let (minimum, maximum) = (sorted[0], sorted[count - 1]);
    format!("{median:.digits$} ({minimum:.digits$}-{maximum:.digits$})")
}

/// The set of the matrices whose indices satisfy a condition.
fn subset(data: &[f64], p: usize, keep: impl Fn(usize) -> bool) -> Result<MatrixSet, Error> {
    let matrices = data.chunks_exact(p * p).enumerate();
    let kept = matrices.filter(|(i, _)| keep(*i));
    let kept: Vec<f64> = kept.flat_map(|(_, matrix)| matrix.to_vec()).collect();
    MatrixSet::new(&kept, kept.len() / (p * p), p)
}

fn print_header() {
    println!(
        "{:18} {:13} {:>10} {:>8} {:>8} {:>8} {:>8} {:>11}",
        "set", "method", "converged", "passes", "median", "minimum", "maximum", "mean loss"
    );
}

fn print_row<T: Scalar>(name: &str, sets: &[MatrixSet<T>], method: Method) -> Result<(), Error> {
    let results: Result<Vec<_>, _> = sets.iter().map(|set| solve(set, method)).collect();
    let results = results?;
    let count = results.len() as f64;
    let mut passes: Vec<f64> = results.iter().map(passes).collect();
    passes.sort_by(f64::total_cmp);
    let middle = passes.len() / 2;
    println!(
        "{name:18} {:13} {:10} {:8.1} {:8.1} {:8.1} {:8.1} {:11.6}",
        method.name(),
        results.iter().filter(|a| a.status.is_converged()).count(),
        passes.iter().sum::<f64>() / count,
        0.5 * (passes[middle] + passes[(passes.len() - 1) / 2]),
        passes[0],
        passes[passes.len() - 1],
        results.iter().map(|a| a.loss).sum::<f64>() / count,
    );
    Ok(())
}

/// Solves from the spectral start, or from the paper's for other methods of the likelihood.
fn solve<T: Scalar>(set: &MatrixSet<T>, method: Method) -> Result<Diagonalization<T>, Error> {
    let init = match (method, set.criterion()) {
        (Method::Newton, _) | (_, Criterion::Frobenius) => Init::Spectral,
        _ => Init::Whitener,
    };
    diagonalize(
        set,
        &Settings::default()
            .method(method)
            .init(init)
            .tol(1e-6)
            .max_iter(5000),
    )
}

fn passes<T>(result: &Diagonalization<T>) -> f64 {
    result.history.last().map_or(0.0, |record| record.passes)
}
