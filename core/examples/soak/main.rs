//! Soak test: solves small random sets by all criteria and methods for a given time, and reports
//! the failures, e.g. a panic, a NaN, a rising loss or a hang.
//!
//! ```text
//! cargo run --release --example soak -- --seconds 60
//! cargo run --release --example soak -- --first 123456 --count 1    # repeat one set
//! ```
//!
//! Each set is determined by its seed. Seeds count up from `--first`, by default from the current
//! time, so that every run solves new sets.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cases;
mod checks;
mod exact_gradient;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use checks::Outcome;

/// Longest time for a set, of at most 60 matrices of size 38 × 38; a longer solve counts as a hang.
const MAX_SOLVE_TIME: Duration = Duration::from_secs(60);
/// Number of failures after which the run ends.
const MAX_FAILURES: usize = 20;

/// The command-line options.
struct Options {
    first: u64,
    count: u64,
    seconds: f64,
    n_jobs: usize,
}

fn parse_options() -> Result<Options, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut options = Options {
        first: now.map_or(0, |time| time.as_nanos() as u64),
        count: u64::MAX,
        seconds: 60.0,
        n_jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let message = || format!("{name} needs a number, got {value:?}");
        match name.as_str() {
            "--first" => options.first = value.parse().map_err(|_| message())?,
            "--count" => options.count = value.parse().map_err(|_| message())?,
            "--seconds" => options.seconds = value.parse().map_err(|_| message())?,
            "--n-jobs" => options.n_jobs = value.parse().map_err(|_| message())?,
            _ => {
                return Err(format!(
                    "expected --first, --count, --seconds or --n-jobs, got {name}"
                ));
            }
        }
    }
    Ok(options)
}

/// Outcomes of the cases of all threads.
#[derive(Default)]
struct Report {
    /// Number of cases by criterion and outcome.
    outcomes: BTreeMap<(&'static str, &'static str), u64>,
    failures: Vec<(u64, String)>,
}

/// Solves and checks the case of a seed; a panic counts as a failure.
fn solve(seed: u64) -> (checks::Case, Result<Outcome, String>) {
    let case = cases::case(seed);
    let checked = catch_unwind(AssertUnwindSafe(|| checks::check_case(&case)));
    let checked = checked.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("(no message)")))
    });
    (case, checked)
}

/// Solves cases until the time or the number of cases is used up.
fn work(
    options: &Options,
    clock: Instant,
    next: &AtomicU64,
    current: &CurrentCase,
    report: &Mutex<Report>,
) {
    let mut outcomes = BTreeMap::new();
    loop {
        let k = next.fetch_add(1, Ordering::Relaxed);
        if k >= options.count || clock.elapsed().as_secs_f64() > options.seconds {
            break;
        }
        let seed = options.first.wrapping_add(k);
        current.begin(seed);
        let (case, checked) = solve(seed);
        match checked {
            Ok(outcome) => {
                let outcome = match outcome {
                    Outcome::Solved(status) => status.name(),
                    Outcome::InvalidInput => "invalid input",
                };
                *outcomes
                    .entry((case.options.criterion.name(), outcome))
                    .or_insert(0) += 1;
            }
            Err(problem) => {
                let (n, p) = (case.n, case.p);
                let kind = if case.complex { "complex " } else { "" };
                println!(
                    "--first {seed} --count 1: {n} {kind}matrices of {p} x {p} ({}), {}, {}: {problem}",
                    case.kind,
                    case.options.criterion.name(),
                    case.settings.method.name(),
                );
                if options.count == 1 {
                    println!("{case:#?}");
                }
                let mut report = report.lock().expect(NOT_POISONED);
                report.failures.push((seed, problem));
                if report.failures.len() >= MAX_FAILURES {
                    break;
                }
            }
        }
    }
    current.end();
    let mut report = report.lock().expect(NOT_POISONED);
    for (key, count) in outcomes {
        *report.outcomes.entry(key).or_insert(0) += count;
    }
}

const NOT_POISONED: &str = "no thread panics while holding the lock";

/// The seed that a thread is working on, and the time at which it started.
struct CurrentCase(Mutex<Option<(u64, Instant)>>);

impl CurrentCase {
    fn begin(&self, seed: u64) {
        *self.0.lock().expect(NOT_POISONED) = Some((seed, Instant::now()));
    }

    fn end(&self) {
        *self.0.lock().expect(NOT_POISONED) = None;
    }

    /// The seed, if its solve takes too long.
    fn hanging_seed(&self) -> Option<u64> {
        let current = self.0.lock().expect(NOT_POISONED);
        current.and_then(|(seed, start)| (start.elapsed() > MAX_SOLVE_TIME).then_some(seed))
    }
}

fn main() -> ExitCode {
    let options = match parse_options() {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    // Panics are reported with their case.
    std::panic::set_hook(Box::new(|_| {}));
    let (clock, next, report) = (
        Instant::now(),
        AtomicU64::new(0),
        Mutex::new(Report::default()),
    );
    let threads: Vec<CurrentCase> = (0..options.n_jobs)
        .map(|_| CurrentCase(Mutex::new(None)))
        .collect();
    std::thread::scope(|scope| {
        let workers: Vec<_> = threads
            .iter()
            .map(|current| {
                let (options, next, report) = (&options, &next, &report);
                scope.spawn(move || work(options, clock, next, current, report))
            })
            .collect();
        while !workers
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            if let Some(seed) = threads.iter().find_map(CurrentCase::hanging_seed) {
                println!(
                    "--first {seed} --count 1: not solved after {} s",
                    MAX_SOLVE_TIME.as_secs()
                );
                // A hanging thread can only be ended with the process.
                std::process::exit(1);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let report = report.into_inner().expect(NOT_POISONED);
    let passed: u64 = report.outcomes.values().sum();
    println!(
        "{passed} sets in {:.0} s, first seed {}",
        clock.elapsed().as_secs_f64(),
        options.first
    );
    for ((criterion, outcome), count) in &report.outcomes {
        println!("{count:>10}  {criterion:<14} {outcome}");
    }
    if report.failures.is_empty() {
        println!("no failures");
        return ExitCode::SUCCESS;
    }
    println!("{} failures", report.failures.len());
    ExitCode::FAILURE
}
