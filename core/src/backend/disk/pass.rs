//! One pass over the blocks of a file: reading runs ahead of computing.
//!
//! Each thread that computes has another one that reads for it, a few pieces ahead. The calling
//! thread does neither: it tells the watcher how far the pass has come, and hears whether it is to
//! stop, so that a signal is answered in the middle of a pass of any length.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use super::blocks::Blocks;
use super::ordered::Ordered;
use super::plan::PIECES;
use crate::Error;
use crate::backend::block_state::BlockState;
use crate::data::Block;
use crate::linalg::Scalar;
use crate::linalg::kernels::LANES;

/// How often the watcher is called.
const INTERVAL: Duration = Duration::from_millis(50);

/// How far one pass over a file has come.
///
/// ```
/// use codiag::ReadProgress;
/// let reading = ReadProgress { bytes: 300_000_000, total: 1_200_000_000, seconds: 0.5 };
/// let share = reading.bytes as f64 / reading.total as f64;
/// let words = format!("{:.0} %, {:.0} s to go", 100.0 * share, reading.seconds * (1.0 / share - 1.0));
/// assert_eq!(words, "25 %, 2 s to go");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadProgress {
    /// The bytes read in this pass so far.
    pub bytes: u64,
    /// The bytes this pass reads: those of the file, but for what is kept in memory.
    pub total: u64,
    /// Seconds since this pass began.
    pub seconds: f64,
}

/// Watches passes over a file. Any closure, or reference to one, will do.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use codiag::diagonalize_with_backend;
/// use codiag::{Error, Matrix, MatrixFile, Memory, OnDisk, ReadProgress, Record, SetOptions, Settings, npy, synthetic};
/// # let path = std::env::temp_dir().join(format!("codiag-watcher-{}.f64", std::process::id()));
/// # let made = synthetic::Synthetic::new(200, 4, 0.1, 0);
/// # std::fs::write(&path, made.data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
/// let file = MatrixFile::raw(&path, 0, npy::Numbers::parse("<f8")?, 200, 4)?;
/// let set = OnDisk::new(file, Memory(1_000_000), &SetOptions::default())?;
///
/// // Set elsewhere, for instance by a signal.
/// let interrupted = AtomicBool::new(true);
/// let watcher = |_: &ReadProgress| match interrupted.load(Ordering::Relaxed) {
///     true => ControlFlow::Break(()),
///     false => ControlFlow::Continue(()),
/// };
/// let mut set = set.watched(&watcher);
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let answer = diagonalize_with_backend(&mut set, &Settings::default(), &mut observer);
/// assert_eq!(answer.err(), Some(Error::Interrupted)); // before there was a point to return
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReadObserver {
    /// Called on the thread of the caller at the beginning of a pass, and some twenty times a second
    /// while it is under way; `Break` ends it.
    fn watch(&self, reading: &ReadProgress) -> ControlFlow<()>;
}

impl<F: Fn(&ReadProgress) -> ControlFlow<()>> ReadObserver for F {
    fn watch(&self, reading: &ReadProgress) -> ControlFlow<()> {
        self(reading)
    }
}

/// What is summed in a pass.
pub struct Summation<'a, Z, W, R> {
    /// The sums of no blocks.
    pub zero: Z,
    /// Adds one block, by its number; None for a block that was not asked for.
    pub work: W,
    /// Adds the sums of one group to those of the groups before.
    pub add: &'a (dyn Fn(&mut R, &R) + Sync),
}

/// Sums of any kind, so that passes are compiled once for real and for complex numbers, and not again for every
/// kind of sums.
type Part = Box<dyn Any + Send>;

/// A block, by its number, that is added to a part.
type Work<'a, T> = dyn Fn(&mut Part, usize, Option<&Block<T>>, &mut BlockState) + Sync + 'a;

/// [`Summation`] of any kind.
struct AnySums<'a, T> {
    zero: &'a (dyn Fn() -> Part + Sync),
    work: &'a Work<'a, T>,
    add: &'a (dyn Fn(&mut Part, &Part) + Sync),
}

const ONE_KIND: &str = "a pass has sums of one kind";

enum Message<T> {
    Group(usize),
    Spans(Vec<T>),
    Failed(Error),
}

/// What all threads of a pass share.
struct Shared<'a, T> {
    blocks: &'a Blocks<T>,
    /// Which blocks are needed, and which of them are to be read.
    needed: Vec<bool>,
    read: Vec<bool>,
    ordered: Ordered<'a, Part>,
    stop: AtomicBool,
    bytes: AtomicU64,
}

/// Sums over all blocks what `work` makes of each; blocks that are not `needed` are not read for it.
pub fn pass<T: Scalar, R: Send + 'static>(
    blocks: &Blocks<T>,
    watcher: &dyn ReadObserver,
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
            (sums.work)(total.downcast_mut().expect(ONE_KIND), k, block, workspace);
        },
        add: &|total, part| {
            let total = total.downcast_mut().expect(ONE_KIND);
            (sums.add)(total, part.downcast_ref().expect(ONE_KIND));
        },
    };
    let needed = (0..blocks.count()).map(needed).collect();
    let total = pass_any(blocks, watcher, needed, &any)?;
    Ok(*total.downcast().expect(ONE_KIND))
}

fn pass_any<T: Scalar>(
    blocks: &Blocks<T>,
    watcher: &dyn ReadObserver,
    needed: Vec<bool>,
    sums: &AnySums<'_, T>,
) -> Result<Part, Error> {
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
            .map_err(|e| blocks.file.named(e))?;
    }
    let plan = &blocks.plan;
    let shared = Shared {
        blocks,
        needed,
        read,
        ordered: Ordered::new(blocks.groups.len(), plan.window, sums.add),
        stop: AtomicBool::new(false),
        bytes: AtomicU64::new(0),
    };
    let began = Instant::now();
    std::thread::scope(|scope| {
        let shared = &shared;
        let (running, ended) = channel::<()>();
        for _ in 0..plan.threads.min(blocks.groups.len()) {
            let (full, pieces) = sync_channel(PIECES - 2);
            let (free, empty) = channel();
            (0..PIECES).for_each(|_| drop(free.send(Vec::new())));
            scope.spawn(move || shared.read_ahead(&full, &empty));
            let running = running.clone();
            scope.spawn(move || {
                // Dropped at the end, whichever it is, and the receiver hears of it.
                let _running = running;
                shared.compute(sums, &pieces, &free);
            });
        }
        drop(running);
        // At the beginning, and then every so often.
        loop {
            let reading = ReadProgress {
                bytes: shared.bytes.load(Ordering::Relaxed),
                total: total as u64,
                seconds: began.elapsed().as_secs_f64(),
            };
            if watcher.watch(&reading).is_break() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            if ended.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
    });
    shared.ordered.total().map_err(|e| blocks.file.named(e))
}

/// Wakes those who wait for a thread that panics.
struct Guard<'a>(&'a Ordered<'a, Part>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}

impl<T: Scalar> Shared<'_, T> {
    /// Reads the blocks of group after group, a few pieces ahead of whoever computes.
    fn read_ahead(&self, full: &SyncSender<Message<T>>, empty: &Receiver<Vec<T>>) {
        let _guard = Guard(&self.ordered);
        let mut bytes = Vec::new();
        while let Some(group) = self.ordered.take() {
            if full.send(Message::Group(group)).is_err() {
                return;
            }
            let range = self.blocks.groups[group].clone();
            for block in range.filter(|k| self.read[*k]) {
                for piece in self.blocks.pieces(block) {
                    // If the other end is gone, it has said why.
                    let Ok(mut rows) = empty.recv() else { return };
                    let answer = if self.is_over(group) {
                        Err(Error::Interrupted)
                    } else {
                        self.blocks.read(block, piece, &mut rows, &mut bytes)
                    };
                    let message = match answer {
                        Ok(count) => {
                            self.bytes.fetch_add(count as u64, Ordering::Relaxed);
                            Message::Spans(rows)
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

    /// Sums over the blocks of group after group.
    fn compute(&self, sums: &AnySums<'_, T>, pieces: &Receiver<Message<T>>, free: &Sender<Vec<T>>) {
        let _guard = Guard(&self.ordered);
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
                Ok(Message::Spans(rows)) => rows,
                Ok(Message::Failed(error)) => return Err(error),
                _ => return Err(Error::Interrupted),
            };
            for eight in rows.chunks(LANES * square) {
                self.blocks.gather(k, &mut gathering, eight, at)?;
                at += LANES;
            }
            // The reader may have gone, with nothing left to read.
            drop(free.send(rows));
        }
        let block = self.blocks.complete(k, gathering)?;
        work(Some(self.blocks.keep(k, block).get()), workspace);
        Ok(())
    }

    /// Whether there is no use in going on with a group.
    fn is_over(&self, group: usize) -> bool {
        self.stop.load(Ordering::Relaxed) || self.ordered.is_beaten(group)
    }
}
