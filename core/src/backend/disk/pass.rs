//! One data pass over the blocks of a file. Reading and computing overlap.
//!
//! Each computing thread has another thread that reads for it, a few pieces ahead. The calling
//! thread reports the progress to the observer, which can stop the pass. A signal is therefore
//! handled during a pass of any length.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use super::blocks::Blocks;
use super::ordered_sum::OrderedSum;
use super::plan::PIECES_PER_THREAD;
use crate::Error;
use crate::backend::block_state::BlockState;
use crate::data::Block;
use crate::linalg::Scalar;
use crate::linalg::kernels::LANES;

/// Interval between calls of the observer.
const INTERVAL: Duration = Duration::from_millis(50);

/// Progress of one data pass over a file.
///
/// ```
/// use codiag::ReadProgress;
/// let reading = ReadProgress { bytes: 300_000_000, total: 1_200_000_000, seconds: 0.5 };
/// let fraction = reading.bytes as f64 / reading.total as f64;
/// let remaining = reading.seconds * (1.0 / fraction - 1.0);
/// assert_eq!(format!("{:.0} %, {remaining:.0} s remaining", 100.0 * fraction), "25 %, 2 s remaining");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadProgress {
    /// Number of bytes read in this pass so far.
    pub bytes: u64,
    /// Number of bytes that this pass reads: those of the file, without the blocks kept in memory.
    pub total: u64,
    /// Seconds since the start of this pass.
    pub seconds: f64,
}

/// Observes data passes over a file. Closures and references to them implement it.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use codiag::diagonalize_with_backend;
/// use codiag::{Error, Matrix, MatrixFile, Memory, OnDisk, ReadProgress, Record, SetOptions, Settings, npy, synthetic};
/// # let path = std::env::temp_dir().join(format!("codiag-observer-{}.f64", std::process::id()));
/// # let generated = synthetic::Synthetic::new(200, 4, 0.1, 0);
/// # std::fs::write(&path, generated.data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
/// let file = MatrixFile::raw(&path, 0, npy::Numbers::parse("<f8")?, 200, 4)?;
/// let set = OnDisk::new(file, Memory(1_000_000), &SetOptions::default())?;
///
/// // Set elsewhere, for example by a signal handler.
/// let interrupted = AtomicBool::new(true);
/// let read_observer = |_: &ReadProgress| match interrupted.load(Ordering::Relaxed) {
///     true => ControlFlow::Break(()),
///     false => ControlFlow::Continue(()),
/// };
/// let mut set = set.with_observer(&read_observer);
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let result = diagonalize_with_backend(&mut set, &Settings::default(), &mut observer);
/// assert_eq!(result.err(), Some(Error::Interrupted)); // before the first iterate
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReadObserver {
    /// Called at the start of a data pass and about twenty times a second during it, by the thread
    /// that called the solver. `Break` stops the data pass.
    fn observe(&self, reading: &ReadProgress) -> ControlFlow<()>;
}

impl<F: Fn(&ReadProgress) -> ControlFlow<()>> ReadObserver for F {
    fn observe(&self, reading: &ReadProgress) -> ControlFlow<()> {
        self(reading)
    }
}

/// Functions that compute the sums of a data pass.
pub struct Summation<'a, Z, W, R> {
    /// Returns sums initialized to zero.
    pub zero: Z,
    /// Adds one block to the sums, given its number. The block is None if it is not needed.
    pub work: W,
    /// Adds the sums of one group to the total.
    pub add: &'a (dyn Fn(&mut R, &R) + Sync),
}

/// Sums of any type. The type is erased so that the code of a data pass is compiled only twice: for
/// real and for complex numbers.
type ErasedSums = Box<dyn Any + Send>;

/// Adds a block, given its number, to sums of any type.
type Work<'a, T> = dyn Fn(&mut ErasedSums, usize, Option<&Block<T>>, &mut BlockState) + Sync + 'a;

/// A [`Summation`] with sums of any type.
struct AnySums<'a, T> {
    zero: &'a (dyn Fn() -> ErasedSums + Sync),
    work: &'a Work<'a, T>,
    add: &'a (dyn Fn(&mut ErasedSums, &ErasedSums) + Sync),
}

const ONE_TYPE: &str = "a pass has sums of one type";

/// Message of a reading thread to its computing thread.
enum Message<T> {
    Group(usize),
    Piece(Vec<T>),
    Failed(Error),
}

/// State that all threads of a pass share.
struct PassState<'a, T> {
    blocks: &'a Blocks<T>,
    /// Whether each block is needed.
    needed: Vec<bool>,
    /// Whether each block is read from the file.
    read: Vec<bool>,
    ordered: OrderedSum<'a, ErasedSums>,
    stop: AtomicBool,
    bytes: AtomicU64,
}

/// Sums over all blocks. Blocks that are not `needed` are not read.
pub fn pass<T: Scalar, R: Send + 'static>(
    blocks: &Blocks<T>,
    observer: &dyn ReadObserver,
    needed: impl Fn(usize) -> bool,
    sums: &Summation<
        '_,
        impl Fn() -> R + Sync,
        impl Fn(&mut R, usize, Option<&Block<T>>, &mut BlockState) + Sync,
        R,
    >,
) -> Result<R, Error> {
    let any = AnySums {
        zero: &|| Box::new((sums.zero)()),
        work: &|total, k, block, workspace| {
            (sums.work)(total.downcast_mut().expect(ONE_TYPE), k, block, workspace);
        },
        add: &|total, part| {
            let total = total.downcast_mut().expect(ONE_TYPE);
            (sums.add)(total, part.downcast_ref().expect(ONE_TYPE));
        },
    };
    let needed = (0..blocks.count()).map(needed).collect();
    let total = pass_any(blocks, observer, needed, &any)?;
    Ok(*total.downcast().expect(ONE_TYPE))
}

fn pass_any<T: Scalar>(
    blocks: &Blocks<T>,
    observer: &dyn ReadObserver,
    needed: Vec<bool>,
    sums: &AnySums<'_, T>,
) -> Result<ErasedSums, Error> {
    let count = blocks.count();
    let read: Vec<bool> = (0..count)
        .map(|k| needed[k] && !blocks.is_kept(k))
        .collect();
    let total: usize = (0..count)
        .filter(|k| read[*k])
        .map(|k| blocks.block_bytes(k))
        .sum();
    if total > 0 {
        blocks
            .file
            .check_length()
            .map_err(|e| blocks.file.with_path(e))?;
    }
    let plan = &blocks.plan;
    let shared = PassState {
        blocks,
        needed,
        read,
        ordered: OrderedSum::new(blocks.groups.len(), plan.window, sums.add),
        stop: AtomicBool::new(false),
        bytes: AtomicU64::new(0),
    };
    let began = Instant::now();
    std::thread::scope(|scope| {
        let shared = &shared;
        let (running, ended) = channel::<()>();
        for _ in 0..plan.threads.min(blocks.groups.len()) {
            let (full, pieces) = sync_channel(PIECES_PER_THREAD - 2);
            let (free, empty) = channel();
            (0..PIECES_PER_THREAD).for_each(|_| drop(free.send(Vec::new())));
            scope.spawn(move || shared.read_ahead(&full, &empty));
            let running = running.clone();
            scope.spawn(move || {
                // Dropped when the thread ends for any reason, which the receiver notices.
                let _running = running;
                shared.compute(sums, &pieces, &free);
            });
        }
        drop(running);
        // At the start, and then at every interval.
        loop {
            let reading = ReadProgress {
                bytes: shared.bytes.load(Ordering::Relaxed),
                total: total as u64,
                seconds: began.elapsed().as_secs_f64(),
            };
            if observer.observe(&reading).is_break() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            if ended.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
    });
    shared.ordered.total().map_err(|e| blocks.file.with_path(e))
}

/// Wakes the waiting threads if this thread panics.
struct AbandonOnPanic<'a>(&'a OrderedSum<'a, ErasedSums>);

impl Drop for AbandonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}

impl<T: Scalar> PassState<'_, T> {
    /// Reads the blocks of one group after the other, a few pieces ahead of the computing thread.
    fn read_ahead(&self, full: &SyncSender<Message<T>>, empty: &Receiver<Vec<T>>) {
        let _guard = AbandonOnPanic(&self.ordered);
        let mut bytes = Vec::new();
        while let Some(group) = self.ordered.take() {
            if full.send(Message::Group(group)).is_err() {
                return;
            }
            let range = self.blocks.groups[group].clone();
            for block in range.filter(|k| self.read[*k]) {
                for piece in self.blocks.pieces(block) {
                    // The computing thread has ended and reported the reason.
                    let Ok(mut rows) = empty.recv() else { return };
                    let result = if self.is_over(group) {
                        Err(Error::Interrupted)
                    } else {
                        self.blocks.read(block, piece, &mut rows, &mut bytes)
                    };
                    let message = match result {
                        Ok(count) => {
                            self.bytes.fetch_add(count as u64, Ordering::Relaxed);
                            Message::Piece(rows)
                        }
                        Err(error) => Message::Failed(error),
                    };
                    let failed = matches!(message, Message::Failed(_));
                    if full.send(message).is_err() || failed {
                        return;
                    }
                }
            }
        }
    }

    /// Sums over the blocks of one group after the other.
    fn compute(&self, sums: &AnySums<'_, T>, pieces: &Receiver<Message<T>>, free: &Sender<Vec<T>>) {
        let _guard = AbandonOnPanic(&self.ordered);
        let mut workspace = BlockState::default();
        while let Ok(Message::Group(group)) = pieces.recv() {
            let mut total = (sums.zero)();
            let mut failure = None;
            for k in self.blocks.groups[group].clone() {
                let done = self.block(
                    group,
                    k,
                    pieces,
                    free,
                    &mut workspace,
                    |block, workspace| {
                        (sums.work)(&mut total, k, block, workspace);
                    },
                );
                if let Err(error) = done {
                    failure = Some(error);
                    break;
                }
            }
            let failed = failure.is_some();
            self.ordered.finish(group, failure.map_or(Ok(total), Err));
            if failed {
                return;
            }
        }
    }

    /// Calls `work` on one block: kept, read, or not needed.
    fn block(
        &self,
        group: usize,
        k: usize,
        pieces: &Receiver<Message<T>>,
        free: &Sender<Vec<T>>,
        workspace: &mut BlockState,
        mut work: impl FnMut(Option<&Block<T>>, &mut BlockState),
    ) -> Result<(), Error> {
        if self.is_over(group) {
            return Err(Error::Interrupted);
        }
        if !self.needed[k] {
            work(None, workspace);
            return Ok(());
        }
        if let Some(block) = self.blocks.kept(k).filter(|_| !self.read[k]) {
            work(Some(block), workspace);
            return Ok(());
        }
        let mut gathering = self.blocks.begin(k);
        let square = self.blocks.file.size().pow(2);
        let mut at = 0;
        for _ in self.blocks.pieces(k) {
            let rows = match pieces.recv() {
                Ok(Message::Piece(rows)) => rows,
                Ok(Message::Failed(error)) => return Err(error),
                _ => return Err(Error::Interrupted),
            };
            for eight in rows.chunks(LANES * square) {
                self.blocks.gather(k, &mut gathering, eight, at)?;
                at += LANES;
            }
            // The reading thread may have ended, if there is nothing left to read.
            drop(free.send(rows));
        }
        let block = self.blocks.complete(k, gathering)?;
        work(Some(self.blocks.keep(k, block).get()), workspace);
        Ok(())
    }

    /// Whether the group need not be completed.
    fn is_over(&self, group: usize) -> bool {
        self.stop.load(Ordering::Relaxed) || self.ordered.is_superseded(group)
    }
}
