//! What is seen of a solve while it runs: a bar on a terminal, plain lines otherwise; checkpoints;
//! and the ear for Ctrl-C.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codiag::{Checkpoint, Matrix, Observer, ReadProgress, Record, Scalar, Stage};
use indicatif::{ProgressBar, ProgressStyle};

use crate::export;
use crate::session::Session;
use crate::words;

/// Seconds between plain lines.
const PLAIN_INTERVAL: f64 = 2.0;
/// The iterations from which the time left is guessed.
const WINDOW: usize = 12;

/// Where progress is shown: a bar, plain lines, or nowhere.
pub struct Display<'a> {
    err: Mutex<&'a mut (dyn Write + Send)>,
    bar: Option<ProgressBar>,
    plain: bool,
    last_line: Mutex<Instant>,
    /// Where the iteration stands.
    text: Mutex<String>,
    interrupted: &'a AtomicBool,
}

impl<'a> Display<'a> {
    /// On the session's standard error.
    pub fn new(session: &'a mut Session<'_>) -> Self {
        let interrupted = session.interruption();
        let live = session.live && !session.quiet;
        Self {
            bar: live.then(bar),
            plain: !live && !session.quiet,
            err: Mutex::new(session.err),
            last_line: Mutex::new(Instant::now()),
            text: Mutex::default(),
            interrupted,
        }
    }

    /// Shows where a pass over a file stands; breaks after Ctrl-C.
    pub fn reading(&self, reading: &ReadProgress) -> ControlFlow<()> {
        let text = held(&self.text);
        let before = if text.is_empty() {
            "checking the matrices"
        } else {
            &text
        };
        if reading.total > 0 {
            self.show(|| format!("{before}  {}", words::reading(reading)));
        }
        self.stop()
    }

    fn stop(&self) -> ControlFlow<()> {
        if self.interrupted.load(Ordering::SeqCst) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn show(&self, text: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text());
        } else if self.plain && held(&self.last_line).elapsed().as_secs_f64() >= PLAIN_INTERVAL {
            *held(&self.last_line) = Instant::now();
            // Progress that cannot be shown is no reason to stop the work.
            let _ = writeln!(held(&self.err), "{}", text());
        }
    }
}

/// What a lock keeps, also after a panic.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Display<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Follows one solve.
pub struct Follower<'a, 'b, T> {
    display: &'a Display<'b>,
    tol: f64,
    recent: VecDeque<(f64, f64)>,
    /// The best B so far, and the file that it is saved to.
    checkpoint: Option<(&'a Path, Checkpoint<T>)>,
    /// What went wrong with the checkpoint, if anything did.
    failure: Option<anyhow::Error>,
}

impl<'a, 'b, T: Scalar> Follower<'a, 'b, T> {
    /// For a solve to `tolerance`.
    pub fn new(
        display: &'a Display<'b>,
        tolerance: f64,
        checkpoint: Option<(&'a Path, Checkpoint<T>)>,
    ) -> Self {
        Self {
            display,
            tol: tolerance,
            recent: VecDeque::new(),
            checkpoint,
            failure: None,
        }
    }

    /// Saves the best B if it was not saved yet; says if a checkpoint could not be written.
    pub fn finish(self) -> anyhow::Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let Some((path, checkpoint)) = self.checkpoint else {
            return Ok(());
        };
        checkpoint.last().map_or(Ok(()), |b| save(path, &b))
    }

    fn show(&mut self, record: &Record) {
        if record.iteration == 0 {
            // Another start begins, or another stage of it.
            self.recent.clear();
        }
        self.recent
            .push_back((record.seconds, record.gradient_norm.max(1e-300).ln()));
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        let left = self.time_left().map(words::roughly);
        let left = left.map_or(String::new(), |left| format!("  about {left} left"));
        let text = if record.stage == Stage::Sample && record.start > 0 {
            // A further start on some of the matrices, or a resample of them.
            format!("trial {}, iteration {}", record.start, record.iteration)
        } else if record.stage == Stage::Sample {
            // Its loss compares with no other.
            format!(
                "start, iteration {}  gradient {:.1e}",
                record.iteration, record.gradient_norm
            )
        } else {
            format!(
                "iteration {}  loss {:.6}  gradient {:.1e}",
                record.iteration, record.loss, record.gradient_norm
            )
        };
        let live = self.display.bar.is_some();
        let shown = if live { text + &left } else { text };
        self.display.show(|| shown.clone());
        *held(&self.display.text) = shown;
    }

    /// Guessed from the rate at which log ĝ has fallen lately; None while it does not fall.
    fn time_left(&self) -> Option<f64> {
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let rate = (first.1 - last.1) / (last.0 - first.0);
        let left = (last.1 - self.tol.ln()) / rate;
        (left.is_finite() && left > 0.0).then_some(left)
    }
}

/// Writes a checkpoint.
fn save<T: Scalar>(path: &Path, b: &Matrix<T>) -> anyhow::Result<()> {
    export::write_file(path, |out| export::npy::matrix(out, b))
}

impl<T: Scalar> Observer<T> for Follower<'_, '_, T> {
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        self.show(record);
        if let Some((path, checkpoint)) = &mut self.checkpoint
            && let Some(best) = checkpoint.update(record, b)
            && let Err(failure) = save(path, best)
        {
            // A checkpoint that cannot be written is said now, not after hours of work.
            self.failure = Some(failure);
            return ControlFlow::Break(());
        }
        self.display.stop()
    }
}

/// A spinner with the elapsed time, drawn on standard error.
pub fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner:.cyan} {elapsed:>4}  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
