//! Iterations and set passes of the methods on the paper's data, to ĝ ≤ 1e-6.
//!
//! ```text
//! cargo run --release --example iterations
//! ```
//!
//! A transform of the whole set counts as one pass, a sweep for the exact Hessian as two thirds.
#![allow(clippy::print_stdout)]

use codiag::synthetic::{Sensors, meg, noisy};
use codiag::{Diagonalization, Error, MatrixSet, Method, Settings, Start, diagonalize};

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
    println!("n = {n}, p = {p}, to a gradient norm of 1e-6");
    println!(
        "{:18} {:13} {:>10} {:>8} {:>9} {:>11}  status",
        "set", "method", "iterations", "passes", "gradient", "loss"
    );
    for (name, set) in &sets {
        for method in [Method::QuasiNewton, Method::Newton] {
            let answer = solve(set, method)?;
            println!(
                "{name:18} {:13} {:10} {:8.1} {:9.1e} {:11.6}  {}",
                method.name(),
                answer.iterations,
                passes(&answer),
                answer.gradient_norm,
                answer.loss,
                answer.status,
            );
        }
    }

    println!("\nover 20 seeds of the synthetic sets:");
    println!(
        "{:18} {:13} {:>10} {:>8} {:>8} {:>11}",
        "set", "method", "converged", "passes", "most", "mean loss"
    );
    for (name, sigma) in [("(b) sigma 0.1", 0.1), ("sigma 0.3", 0.3)] {
        for method in [Method::QuasiNewton, Method::Newton] {
            let answers: Result<Vec<_>, _> = (0..20)
                .map(|seed| solve(&noisy(n, p, sigma, seed), method))
                .collect();
            let answers = answers?;
            let mean =
                |f: &dyn Fn(&Diagonalization) -> f64| answers.iter().map(f).sum::<f64>() / 20.0;
            println!(
                "{name:18} {:13} {:10} {:8.1} {:8.1} {:11.6}",
                method.name(),
                answers.iter().filter(|a| a.status.converged()).count(),
                mean(&passes),
                answers.iter().map(passes).fold(0.0, f64::max),
                mean(&|a| a.loss),
            );
        }
    }
    Ok(())
}

/// As the paper starts the quasi-Newton method, and as we would run Newton's.
fn solve(set: &MatrixSet, method: Method) -> Result<Diagonalization, Error> {
    let start = match method {
        Method::Newton => Start::Spectral,
        _ => Start::Whitener,
    };
    diagonalize(
        set,
        &Settings {
            method,
            start,
            tolerance: 1e-6,
            max_iterations: 5000,
            ..Settings::default()
        },
    )
}

fn passes(answer: &Diagonalization) -> f64 {
    answer.history.last().map_or(0.0, |record| record.passes)
}
