//! Progress of a solve: a bar on a terminal or plain lines, checkpoints, and the reaction to
//! Ctrl-C.

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
use crate::format;
use crate::session::Session;

/// Minimum time between plain lines, in seconds.
const PLAIN_LINE_SECONDS: f64 = 2.0;
/// Number of recent iterations from which the remaining time is estimated.
const RATE_WINDOW: usize = 12;

/// Display of progress: a bar, plain lines, or nothing.
pub struct Display<'a> {
    err: Mutex<&'a mut (dyn Write + Send)>,
    bar: Option<ProgressBar>,
    plain: bool,
    last_line: Mutex<Instant>,
    /// Description of the last iteration.
    text: Mutex<String>,
    interrupted: &'a AtomicBool,
}

impl<'a> Display<'a> {
    /// Shows progress on the standard error of the session.
    pub fn new(session: &'a mut Session<'_>) -> Self {
        let interrupted = session.interrupt_flag();
        let live = session.live && !session.quiet;
        Self {
            bar: live.then(spinner),
            plain: !live && !session.quiet,
            err: Mutex::new(session.err),
            last_line: Mutex::new(Instant::now()),
            text: Mutex::default(),
            interrupted,
        }
    }

    /// Shows the progress of a data pass over a file; breaks after Ctrl-C.
    pub fn reading(&self, progress: &ReadProgress) -> ControlFlow<()> {
        let text = lock_ignoring_poison(&self.text);
        let before = if text.is_empty() {
            "checking the matrices"
        } else {
            &text
        };
        if progress.total > 0 {
            self.show(|| format!("{before}  {}", format::read_progress(progress)));
        }
        self.check_interrupted()
    }

    fn check_interrupted(&self) -> ControlFlow<()> {
        if self.interrupted.load(Ordering::SeqCst) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn show(&self, text: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text());
        } else if self.plain
            && lock_ignoring_poison(&self.last_line)
                .elapsed()
                .as_secs_f64()
                >= PLAIN_LINE_SECONDS
        {
            *lock_ignoring_poison(&self.last_line) = Instant::now();
            // Failures to show progress are ignored.
            let _ = writeln!(lock_ignoring_poison(&self.err), "{}", text());
        }
    }
}

/// Locks a mutex, even if another thread panicked while it held the lock.
fn lock_ignoring_poison<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Display<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Observes one solve: shows its progress and writes checkpoints.
pub struct ProgressObserver<'a, 'b, T> {
    display: &'a Display<'b>,
    tol: f64,
    recent: VecDeque<(f64, f64)>,
    /// The best B so far, and the file that it is saved to.
    checkpoint: Option<(&'a Path, Checkpoint<T>)>,
    /// Error of the last checkpoint, if it could not be written.
    failure: Option<anyhow::Error>,
}

impl<'a, 'b, T: Scalar> ProgressObserver<'a, 'b, T> {
    /// Returns an observer of a solve with tolerance `tol`.
    pub fn new(
        display: &'a Display<'b>,
        tol: f64,
        checkpoint: Option<(&'a Path, Checkpoint<T>)>,
    ) -> Self {
        Self {
            display,
            tol,
            recent: VecDeque::new(),
            checkpoint,
            failure: None,
        }
    }

    /// Saves the best B if it was not saved yet. Returns the error of a checkpoint that could not
    /// be written.
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
            // A new start or a new stage begins.
            self.recent.clear();
        }
        self.recent
            .push_back((record.seconds, record.gradient_norm.max(1e-300).ln()));
        if self.recent.len() > RATE_WINDOW {
            self.recent.pop_front();
        }
        let left = self.time_left().map(format::rough_seconds);
        let left = left.map_or(String::new(), |left| format!("  about {left} left"));
        let text = if record.stage == Stage::Sample && record.start > 0 {
            // A further start on a subset of the matrices, or a bootstrap resample.
            format!(
                "additional solve {}, iteration {}",
                record.start, record.iteration
            )
        } else if record.stage == Stage::Sample {
            // The loss of a subset is not comparable, so it is not shown.
            format!(
                "starting point, iteration {}  gradient norm {:.1e}",
                record.iteration, record.gradient_norm
            )
        } else {
            format!(
                "iteration {}  loss {:.6}  gradient norm {:.1e}",
                record.iteration, record.loss, record.gradient_norm
            )
        };
        let live = self.display.bar.is_some();
        let shown = if live { text + &left } else { text };
        self.display.show(|| shown.clone());
        *lock_ignoring_poison(&self.display.text) = shown;
    }

    /// Estimates the remaining time from the recent decrease of log ĝ; None if it does not
    /// decrease.
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

impl<T: Scalar> Observer<T> for ProgressObserver<'_, '_, T> {
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        self.show(record);
        if let Some((path, checkpoint)) = &mut self.checkpoint
            && let Some(best) = checkpoint.update(record, b)
            && let Err(failure) = save(path, best)
        {
            // Stop now: a checkpoint that cannot be written must not be reported only after hours.
            self.failure = Some(failure);
            return ControlFlow::Break(());
        }
        self.display.check_interrupted()
    }
}

/// Returns a spinner with the elapsed time, drawn on standard error.
pub fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner:.cyan} {elapsed:>4}  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
