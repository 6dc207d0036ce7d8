//! What is seen of a solve while it runs: a bar on a terminal, plain lines otherwise; checkpoints;
//! and the ear for Ctrl-C.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use codiag::{Matrix, MatrixSet, Observer, Record};
use indicatif::{ProgressBar, ProgressStyle};

use crate::export;
use crate::session::Session;
use crate::words;

/// Seconds between plain lines.
const PLAIN_INTERVAL: f64 = 2.0;
/// Losses nearer than this are equal: the last steps of a solve only move within rounding.
const SAME_LOSS: f64 = 1e-9;
/// The iterations from which the time left is guessed.
const WINDOW: usize = 12;

/// B saved every few seconds.
pub struct Checkpoint {
    pub path: PathBuf,
    pub every: f64,
}

/// Follows one solve.
pub struct Follower<'a> {
    err: &'a mut dyn Write,
    bar: Option<ProgressBar>,
    plain: bool,
    tolerance: f64,
    recent: VecDeque<(f64, f64)>,
    last_line: f64,
    set: Option<&'a MatrixSet>,
    checkpoint: Option<Checkpoint>,
    last_checkpoint: Instant,
    lowest_loss: f64,
    interrupted: &'a AtomicBool,
    /// What went wrong with the checkpoint, if anything did.
    pub failure: Option<anyhow::Error>,
}

impl<'a> Follower<'a> {
    /// For a solve to `tolerance`. A checkpoint needs to know the set, whose B may be reduced.
    pub fn new(
        session: &'a mut Session<'_>,
        set: Option<&'a MatrixSet>,
        tolerance: f64,
        checkpoint: Option<Checkpoint>,
    ) -> Self {
        let interrupted = session.interruption();
        let live = session.live && !session.quiet;
        Self {
            bar: live.then(bar),
            plain: !live && !session.quiet,
            err: session.err,
            tolerance,
            recent: VecDeque::new(),
            last_line: 0.0,
            set,
            checkpoint,
            last_checkpoint: Instant::now(),
            lowest_loss: f64::INFINITY,
            interrupted,
            failure: None,
        }
    }

    /// Clears the bar.
    pub fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&mut self, record: &Record) {
        if record.iteration == 0 {
            // A further start begins.
            self.recent.clear();
        }
        self.recent
            .push_back((record.seconds, record.gradient_norm.max(1e-300).ln()));
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        let text = || {
            format!(
                "iteration {}  loss {:.6}  gradient {:.1e}",
                record.iteration, record.loss, record.gradient_norm
            )
        };
        if let Some(bar) = &self.bar {
            let left = self
                .time_left()
                .map(|s| format!("  about {} left", words::roughly(s)))
                .unwrap_or_default();
            bar.set_message(format!("{}{left}", text()));
        } else if self.plain && record.seconds - self.last_line >= PLAIN_INTERVAL {
            self.last_line = record.seconds;
            // Progress that cannot be shown is no reason to stop the work.
            let _ = writeln!(self.err, "{}", text());
        }
    }

    /// Guessed from the rate at which log ĝ has fallen lately; None while it does not fall.
    fn time_left(&self) -> Option<f64> {
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let rate = (first.1 - last.1) / (last.0 - first.0);
        let left = (last.1 - self.tolerance.ln()) / rate;
        (left.is_finite() && left > 0.0).then_some(left)
    }

    /// Saves B when it is time. With several starts, a later one does not replace the B of an
    /// earlier one before it is better.
    fn save(&mut self, record: &Record, b: &Matrix) {
        let Some(checkpoint) = &self.checkpoint else {
            return;
        };
        if record.loss > self.lowest_loss + SAME_LOSS {
            return;
        }
        self.lowest_loss = self.lowest_loss.min(record.loss);
        if self.last_checkpoint.elapsed().as_secs_f64() < checkpoint.every {
            return;
        }
        self.last_checkpoint = Instant::now();
        let b = match self.set.and_then(MatrixSet::reduction) {
            Some(reduction) => crate::commands::product(b, reduction.filters()),
            None => b.clone(),
        };
        let written = export::write_file(&checkpoint.path, |out| export::npy::matrix(out, &b));
        self.failure = written.err();
    }
}

impl Observer for Follower<'_> {
    fn observe(&mut self, record: &Record, b: &Matrix) -> ControlFlow<()> {
        self.show(record);
        self.save(record, b);
        // A checkpoint that cannot be written is said now, not after hours of work.
        if self.failure.is_some() || self.interrupted.load(Ordering::SeqCst) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
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
