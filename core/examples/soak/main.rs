//! Solves small sets of all sorts, by all criteria and methods, for as long as it is told, and says
//! which of them come out as they should not: a panic, a NaN, a loss that rises, a hang.
//!
//! ```text
//! cargo run --release --example soak -- --seconds 60
//! cargo run --release --example soak -- --first 123456 --count 1    # one set again
//! ```
//!
//! The set of a number is always the same one. Numbers go up from `--first`, by default from the time
//! of day, so that every run has sets of its own.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cases;
mod exact;
mod judge;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use judge::Verdict;

/// A set of at most 12 matrices of 7 × 7 that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// After so many failures there is no need to look for more.
const ENOUGH: usize = 20;

struct Run {
    first: u64,
    count: u64,
    seconds: f64,
    threads: usize,
}

fn arguments() -> Result<Run, String> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut run = Run {
        first: since.map_or(0, |time| time.as_nanos() as u64),
        count: u64::MAX,
        seconds: 60.0,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let wrong = || format!("{name} needs a number, got {value:?}");
        match name.as_str() {
            "--first" => run.first = value.parse().map_err(|_| wrong())?,
            "--count" => run.count = value.parse().map_err(|_| wrong())?,
            "--seconds" => run.seconds = value.parse().map_err(|_| wrong())?,
            "--threads" => run.threads = value.parse().map_err(|_| wrong())?,
            _ => {
                return Err(format!(
                    "expected --first, --count, --seconds or --threads, got {name}"
                ));
            }
        }
    }
    Ok(run)
}

/// What all threads tell.
#[derive(Default)]
struct Told {
    outcomes: BTreeMap<(&'static str, &'static str), u64>,
    failures: Vec<(u64, String)>,
}

/// Solves one case; what comes out is a failure unless it is a verdict.
fn solve(seed: u64) -> (judge::Case, Result<Verdict, String>) {
    let case = cases::case(seed);
    let judged = catch_unwind(AssertUnwindSafe(|| judge::judge(&case)));
    let judged = judged.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("without a word")))
    });
    (case, judged)
}

fn work(run: &Run, clock: Instant, next: &AtomicU64, busy: &Busy, told: &Mutex<Told>) {
    let mut outcomes = BTreeMap::new();
    loop {
        let k = next.fetch_add(1, Ordering::Relaxed);
        if k >= run.count || clock.elapsed().as_secs_f64() > run.seconds {
            break;
        }
        let seed = run.first.wrapping_add(k);
        busy.begin(seed);
        let (case, judged) = solve(seed);
        match judged {
            Ok(verdict) => {
                let outcome = match verdict {
                    Verdict::Solved(status) => status.name(),
                    Verdict::Refused => "refused",
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
                if run.count == 1 {
                    println!("{case:#?}");
                }
                let mut told = told.lock().expect("no thread panics with it");
                told.failures.push((seed, problem));
                if told.failures.len() >= ENOUGH {
                    break;
                }
            }
        }
    }
    busy.end();
    let mut told = told.lock().expect("no thread panics with it");
    for (key, count) in outcomes {
        *told.outcomes.entry(key).or_insert(0) += count;
    }
}

/// What a thread is at, and since when.
struct Busy(Mutex<Option<(u64, Instant)>>);

impl Busy {
    fn begin(&self, seed: u64) {
        *self.0.lock().expect("no thread panics with it") = Some((seed, Instant::now()));
    }

    fn end(&self) {
        *self.0.lock().expect("no thread panics with it") = None;
    }

    fn hangs(&self) -> Option<u64> {
        let busy = self.0.lock().expect("no thread panics with it");
        busy.and_then(|(seed, since)| (since.elapsed() > PATIENCE).then_some(seed))
    }
}

fn main() -> ExitCode {
    let run = match arguments() {
        Ok(run) => run,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    // Panics are told with their case.
    std::panic::set_hook(Box::new(|_| {}));
    let (clock, next, told) = (
        Instant::now(),
        AtomicU64::new(0),
        Mutex::new(Told::default()),
    );
    let all: Vec<Busy> = (0..run.threads).map(|_| Busy(Mutex::new(None))).collect();
    std::thread::scope(|scope| {
        let workers: Vec<_> = all
            .iter()
            .map(|busy| {
                let (run, next, told) = (&run, &next, &told);
                scope.spawn(move || work(run, clock, next, busy, told))
            })
            .collect();
        while !workers
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            if let Some(seed) = all.iter().find_map(Busy::hangs) {
                println!(
                    "--first {seed} --count 1: still not done after {} s",
                    PATIENCE.as_secs()
                );
                // It cannot be ended otherwise.
                std::process::exit(1);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let told = told.into_inner().expect("all threads have ended");
    let solved: u64 = told.outcomes.values().sum();
    println!(
        "{solved} sets in {:.0} s, from {} on",
        clock.elapsed().as_secs_f64(),
        run.first
    );
    for ((criterion, outcome), count) in &told.outcomes {
        println!("{count:>10}  {criterion:<14} {outcome}");
    }
    if told.failures.is_empty() {
        println!("none of them failed");
        return ExitCode::SUCCESS;
    }
    println!("{} failed", told.failures.len());
    ExitCode::FAILURE
}
