//! Cost and benefit of ten restarts on MEG covariances.
//!
//! ```text
//! cargo run --release --example restarts [seeds [repeats]]
//! ```
//!
//! The sets are the two MEG sets of the library and, for each of them and each seed, a random
//! subset of 60 matrices and a random subset of 20 to 30 of the 40 components. Times are measured
//! alternately with and without restarts, on one thread and on the default number of threads.
#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;
use std::time::Instant;

use codiag::synthetic::{Sensors, meg};
use codiag::{Error, Matrix, MatrixSet, Record, Settings, diagonalize, diagonalize_with};

const RESTARTS: usize = 10;

fn main() -> Result<(), Error> {
    let mut numbers = std::env::args().skip(1).filter_map(|x| x.parse().ok());
    let seeds = numbers.next().unwrap_or(8);
    let repeats = numbers.next().unwrap_or(15).max(1);
    let data = [Sensors::Magnetometers, Sensors::Gradiometers].map(meg);
    let full = [
        ("magnetometers", MatrixSet::new(&data[0], 100, 40)?),
        ("gradiometers", MatrixSet::new(&data[1], 100, 40)?),
    ];
    println!(
        "time with {RESTARTS} restarts relative to none, {repeats} repeats: ratio of the best times; \
         median (range) of the ratios"
    );
    for (name, set) in &full {
        for (threads, label) in [(Some(1), "one thread"), (None, "all threads")] {
            let set = set.clone().with_n_jobs(threads);
            let pair =
                |_| -> Result<_, Error> { Ok([seconds(&set, 0)?, seconds(&set, RESTARTS)?]) };
            let times: Result<Vec<[f64; 2]>, Error> = (0..repeats).map(pair).collect();
            let times = times?;
            let best = |k: usize| {
                times
                    .iter()
                    .map(|pair| pair[k])
                    .fold(f64::INFINITY, f64::min)
            };
            let ratios = times.iter().map(|[one, many]| many / one).collect();
            println!(
                "  {name:13} {label:11} {:.2}; {}",
                best(1) / best(0),
                spread(ratios)
            );
        }
    }

    let mut sets: Vec<MatrixSet> = full.into_iter().map(|(_, set)| set).collect();
    let mut random = SplitMix(1);
    for seed in 0..seeds {
        for data in &data {
            sets.push(select_matrices(data, &random.shuffled(100)[..60])?);
            let components = 20 + (3 * seed) % 11;
            sets.push(select_components(data, &random.shuffled(40)[..components])?);
        }
    }
    let one: Result<Vec<_>, Error> = sets.iter().map(|set| solve(set, 0)).collect();
    let many: Result<Vec<_>, Error> = sets.iter().map(|set| solve(set, RESTARTS)).collect();
    let pairs: Vec<_> = one?.into_iter().zip(many?).collect();
    let gains = pairs.iter().map(|(one, many)| one.0 - many.0);
    let lower = gains.clone().filter(|gain| *gain > 1e-7).count();
    println!(
        "{} sets, data passes with restarts relative to none, median (range): {}",
        sets.len(),
        spread(pairs.iter().map(|(one, many)| many.1 / one.1).collect())
    );
    println!(
        "  on the full sets: {:.2} and {:.2}; losses {:.5} and {:.5}, without restarts {:.5} and {:.5}",
        pairs[0].1.1 / pairs[0].0.1,
        pairs[1].1.1 / pairs[1].0.1,
        pairs[0].1.0,
        pairs[1].1.0,
        pairs[0].0.0,
        pairs[1].0.0,
    );
    let count = sets.len() as f64;
    println!(
        "  mean loss {:.5}, lower by {:.5} than without restarts; lower on {lower} sets",
        pairs.iter().map(|(_, many)| many.0).sum::<f64>() / count,
        gains.sum::<f64>() / count
    );
    Ok(())
}

/// Seconds of a solve.
fn seconds(set: &MatrixSet, restarts: usize) -> Result<f64, Error> {
    let clock = Instant::now();
    diagonalize(set, &Settings::default().n_restarts(restarts))?;
    Ok(clock.elapsed().as_secs_f64())
}

/// The loss, and the number of data passes of all starts.
fn solve(set: &MatrixSet, restarts: usize) -> Result<(f64, f64), Error> {
    let mut passes = vec![0.0; restarts + 1];
    // The records of a start count its data passes; the stages on all matrices include those on a
    // sample.
    let mut count = |record: &Record, _: &Matrix| {
        if record.stage != codiag::Stage::Sample {
            passes[record.start] = record.passes;
        }
        ControlFlow::Continue(())
    };
    let settings = Settings::default().n_restarts(restarts);
    let result = diagonalize_with(set, &settings, &mut count)?;
    Ok((result.loss, passes.iter().sum()))
}

fn select_matrices(data: &[f64], chosen: &[usize]) -> Result<MatrixSet, Error> {
    let matrix = |i: &usize| data[i * 1600..][..1600].to_vec();
    let data: Vec<f64> = chosen.iter().flat_map(matrix).collect();
    MatrixSet::new(&data, chosen.len(), 40)
}

fn select_components(data: &[f64], chosen: &[usize]) -> Result<MatrixSet, Error> {
    let mut kept = Vec::new();
    for matrix in data.chunks_exact(1600) {
        for a in chosen {
            kept.extend(chosen.iter().map(|b| matrix[a * 40 + b]));
        }
    }
    MatrixSet::new(&kept, data.len() / 1600, chosen.len())
}

/// Formats the median and the range of some numbers.
fn spread(mut numbers: Vec<f64>) -> String {
    numbers.sort_by(f64::total_cmp);
    let count = numbers.len();
    let median = 0.5 * (numbers[(count - 1) / 2] + numbers[count / 2]);
    format!("{median:.2} ({:.2}-{:.2})", numbers[0], numbers[count - 1])
}

/// Pseudo-random numbers in (−½, ½) from the generator `SplitMix64` (Steele et al. 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = ((self.next() + 0.5) * (last + 1) as f64) as usize;
            order.swap(last, other.min(last));
        }
        order
    }
}
