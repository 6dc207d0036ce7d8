//! Cost of a tracker update per matrix, compared with a batch solve of the window.
//!
//! ```text
//! cargo run --release --example tracking [p] [window] [matrices]
//! ```
#![allow(clippy::print_stdout)]

use std::time::Instant;

use codiag::synthetic::Synthetic;
use codiag::{MatrixSet, SetOptions, Settings, Tracker, TrackerSettings, diagonalize};

fn main() -> Result<(), codiag::Error> {
    let mut arguments = std::env::args().skip(1).filter_map(|x| x.parse().ok());
    let mut next = |default: usize| arguments.next().unwrap_or(default);
    let (p, window, n) = (next(20), next(200), next(1000));
    let generated = Synthetic::new(n, p, 0.1, 0);
    let settings = TrackerSettings {
        window,
        ..TrackerSettings::default()
    };
    let mut tracker = Tracker::new(p, settings.clone())?;
    println!(
        "p = {p}, window of {window}, forgetting {}",
        settings.forgetting
    );
    println!("matrices   ms each (best)   iterations   passes   ms per batch solve");
    for (k, part) in generated.data.chunks(window * p * p).enumerate() {
        let (mut best, mut total, mut iterations, mut passes) = (f64::INFINITY, 0.0, 0, 0.0);
        let count = part.len() / (p * p);
        for matrix in part.chunks_exact(p * p) {
            let clock = Instant::now();
            let result = tracker.push(matrix)?;
            let seconds = clock.elapsed().as_secs_f64();
            best = f64::min(best, seconds);
            total += seconds;
            iterations += result.n_iter;
            passes += result.history.last().map_or(0.0, |r| r.passes);
        }
        let mut batch = f64::INFINITY;
        for _ in 0..5 {
            let clock = Instant::now();
            let options = SetOptions::default().weights(Some(tracker.decayed_weights()));
            let set = MatrixSet::with_options(&tracker.matrices(), tracker.len(), p, &options)?;
            let tolerance = settings.solve.tol;
            diagonalize(&set, &Settings::default().tol(tolerance))?;
            batch = batch.min(clock.elapsed().as_secs_f64());
        }
        println!(
            "{:8}   {:7.3} ({:.3})   {:10.2}   {:6.2}   {:8.3}",
            k * window + count,
            1e3 * total / count as f64,
            1e3 * best,
            iterations as f64 / count as f64,
            passes / count as f64,
            1e3 * batch
        );
    }
    Ok(())
}
