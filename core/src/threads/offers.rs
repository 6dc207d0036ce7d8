//! Work that is offered to threads, and withdrawn if they do not come.
//!
//! A pass over a set is often shorter than the time that a thread takes to wake, or to be let in by the system where
//! another process has its core. So whoever has work does it, and offers it meanwhile: a thread that comes in time
//! helps, and one that does not is not waited for. Threads stay awake for a moment once they have helped, since the
//! next pass follows soon.
//!
//! Threads that come when they can outlive what an offer borrows, as the compiler sees it. Hence the only `unsafe`
//! outside [`linalg`](crate::linalg).
#![allow(unsafe_code)]

use std::any::Any;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// So long a thread that has nothing to do waits for more, before it goes to sleep.
const AWAKE: Duration = Duration::from_micros(300);

/// So long a thread attends to a board at a time, before it looks for what else there is to do in its pool.
const TURN: Duration = Duration::from_millis(10);

/// Where work is offered to a team of threads.
#[derive(Debug, Default)]
pub struct Board {
    posted: Mutex<Posted>,
    /// How many offers there are: what threads look at while they wait.
    open: AtomicUsize,
}

#[derive(Debug, Default)]
struct Posted {
    /// Each with how many more may help, at least one.
    offers: Vec<(Arc<Offer>, usize)>,
    /// How many threads attend to the board, or have been called to it.
    called: usize,
    /// How many of these have no work.
    free: usize,
}

/// Work that one thread does and others may help with.
#[derive(Debug)]
struct Offer {
    help: Help,
    /// How many help.
    helping: AtomicUsize,
    owner: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Does what is left to do, and returns when nothing is. To be called by those who are counted as helping, while they are.
struct Help(*const (dyn Fn() + Sync));

// SAFETY: what it points to is `Sync`, and called by reference only.
unsafe impl Send for Help {}
// SAFETY: as above.
unsafe impl Sync for Help {}

impl std::fmt::Debug for Help {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Help")
    }
}

impl Board {
    /// Has the work done by this thread and at most `helpers` of a team of so many threads. Where too few attend to the
    /// board, `call` is given what a thread of the team is to run.
    pub fn share(
        self: &Arc<Self>,
        helpers: usize,
        team: usize,
        help: &(dyn Fn() + Sync),
        call: &dyn Fn(Box<dyn FnOnce() + Send>),
    ) {
        // SAFETY: only the lifetime changes. What is borrowed is used until `withdraw` has returned and no longer, and
        // nothing below returns or unwinds before that.
        let help_while_offered: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(help) };
        let offer = Arc::new(Offer {
            help: Help(help_while_offered),
            helping: AtomicUsize::new(0),
            owner: thread::current(),
            panic: Mutex::new(None),
        });
        let missing = self.post(&offer, helpers, team);
        let own = catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..missing {
                let board = Arc::clone(self);
                call(Box::new(move || board.attend()));
            }
            help();
        }));
        self.withdraw(&offer);
        let theirs = offer
            .panic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(panic) = own.err().or(theirs) {
            resume_unwind(panic);
        }
    }

    /// Puts an offer up; how many threads are to be called to it.
    fn post(&self, offer: &Arc<Offer>, helpers: usize, team: usize) -> usize {
        debug_assert!(helpers > 0);
        let mut posted = self.posted();
        posted.offers.push((Arc::clone(offer), helpers));
        self.open.store(posted.offers.len(), Ordering::Relaxed);
        let wanted: usize = posted.offers.iter().map(|(_, wanted)| wanted).sum();
        let missing = wanted.saturating_sub(posted.free);
        let missing = missing.min(team.saturating_sub(posted.called));
        posted.called += missing;
        posted.free += missing;
        missing
    }

    /// Takes an offer down, and waits for those who help.
    fn withdraw(&self, offer: &Arc<Offer>) {
        self.take_down(&mut self.posted(), offer);
        let since = Instant::now();
        while offer.helping.load(Ordering::Acquire) > 0 {
            // The last of them is about to be done: going to sleep and being woken would take longer.
            if since.elapsed() < AWAKE {
                spin_loop();
            } else {
                thread::park();
            }
        }
    }

    fn take_down(&self, posted: &mut Posted, offer: &Arc<Offer>) {
        posted
            .offers
            .retain(|(other, _)| !Arc::ptr_eq(other, offer));
        self.open.store(posted.offers.len(), Ordering::Relaxed);
    }

    /// Helps with all that is offered, until nothing has been for a moment, or others have waited for long.
    fn attend(&self) {
        let came = Instant::now();
        let mut since = came;
        loop {
            if self.help_with_one() {
                since = Instant::now();
            } else if since.elapsed() >= AWAKE && self.go(false) {
                return;
            }
            if since.duration_since(came) >= TURN {
                self.go(true);
                return;
            }
            spin_loop();
        }
    }

    /// Helps with all that is offered, uncalled, as long as there may be `more`.
    pub fn volunteer(&self, more: &dyn Fn() -> bool) {
        let mut posted = self.posted();
        (posted.called, posted.free) = (posted.called + 1, posted.free + 1);
        drop(posted);
        let mut since = Instant::now();
        while more() {
            if self.help_with_one() {
                since = Instant::now();
            } else if since.elapsed() >= AWAKE {
                thread::sleep(AWAKE);
            }
            spin_loop();
        }
        let mut posted = self.posted();
        (posted.called, posted.free) = (posted.called - 1, posted.free - 1);
    }

    /// Helps with what is offered first, if anything is.
    fn help_with_one(&self) -> bool {
        if self.open.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let Some(offer) = self.accept() else {
            return false;
        };
        offer.help();
        self.leave(&offer);
        true
    }

    /// An offer to help with.
    fn accept(&self) -> Option<Arc<Offer>> {
        let mut posted = self.posted();
        let (offer, wanted) = posted.offers.first_mut()?;
        let offer = Arc::clone(offer);
        // Before the offer can be taken down, after which none are added.
        offer.helping.fetch_add(1, Ordering::Relaxed);
        *wanted -= 1;
        if *wanted == 0 {
            self.take_down(&mut posted, &offer);
        }
        posted.free -= 1;
        Some(offer)
    }

    /// Ends one's help, since nothing is left to do.
    fn leave(&self, offer: &Arc<Offer>) {
        let mut posted = self.posted();
        self.take_down(&mut posted, offer);
        posted.free += 1;
        drop(posted);
        if offer.helping.fetch_sub(1, Ordering::Release) == 1 {
            offer.owner.unpark();
        }
    }

    /// Stops attending to the board, unless there is an offer, or even then: whoever offers work next calls again.
    fn go(&self, even_then: bool) -> bool {
        let mut posted = self.posted();
        let goes = even_then || posted.offers.is_empty();
        if goes {
            posted.free -= 1;
            posted.called -= 1;
        }
        goes
    }

    fn posted(&self) -> MutexGuard<'_, Posted> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Offer {
    /// Helps; the owner hears of a panic.
    fn help(&self) {
        // SAFETY: whoever is counted in `helping` was so while the offer stood, and the owner waits for them.
        let help = unsafe { &*self.help.0 };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(help)) {
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            if first.is_none() {
                *first = Some(panic);
            } else {
                // Whatever it is, to drop it may panic, too.
                std::mem::forget(panic);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Counts to a hundred, together.
    fn count(board: &Arc<Board>, call: &dyn Fn(Box<dyn FnOnce() + Send>)) {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let help = || {
            while next.fetch_add(1, Ordering::Relaxed) < 100 {
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        board.share(3, 5, &help, call);
        assert_eq!(done.into_inner(), 100);
    }

    #[test]
    fn threads_that_do_not_come_are_not_waited_for() {
        let (board, called) = (Arc::new(Board::default()), RefCell::new(Vec::new()));
        // Those called are called once, and no more than are wanted: others have not come yet.
        for _ in 0..3 {
            count(&board, &|attend| called.borrow_mut().push(attend));
            assert_eq!(called.borrow().len(), 3);
            assert!(board.posted().offers.is_empty());
        }
        // When they come there is nothing to do, and they go.
        called.into_inner().into_iter().for_each(|attend| attend());
        let posted = board.posted();
        assert_eq!((posted.called, posted.free), (0, 0));
    }

    #[test]
    fn threads_come_and_go_as_they_like() {
        let board = Arc::new(Board::default());
        let threads = Mutex::new(Vec::new());
        let call = |attend: Box<dyn FnOnce() + Send>| {
            let late = move || {
                thread::sleep(Duration::from_micros(50));
                attend();
            };
            threads.lock().unwrap().push(thread::spawn(late));
        };
        for round in 0..200 {
            count(&board, &call);
            if round % 20 == 0 {
                thread::sleep(2 * AWAKE);
            }
        }
        for thread in threads.into_inner().unwrap() {
            thread.join().unwrap();
        }
        let posted = board.posted();
        assert_eq!((posted.called, posted.free), (0, 0));
    }

    #[test]
    fn volunteers_help_until_there_is_no_more() {
        let (board, helped) = (Arc::new(Board::default()), AtomicUsize::new(0));
        let over = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| board.volunteer(&|| !over.load(Ordering::Relaxed)));
            let owner = thread::current().id();
            let help = || {
                if thread::current().id() != owner {
                    helped.fetch_add(1, Ordering::Relaxed);
                }
                while helped.load(Ordering::Relaxed) == 0 {
                    spin_loop();
                }
            };
            // No one is called.
            board.share(1, 0, &help, &|_| unreachable!());
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(helped.into_inner(), 1);
        let posted = board.posted();
        assert_eq!((posted.called, posted.free), (0, 0));
    }

    #[test]
    fn a_panic_of_the_owner_waits_for_those_who_help() {
        let (board, helping) = (Arc::new(Board::default()), AtomicUsize::new(0));
        let owner = thread::current().id();
        let help = || {
            if thread::current().id() == owner {
                while helping.load(Ordering::Relaxed) == 0 {
                    spin_loop();
                }
                panic!("the owner");
            }
            helping.store(1, Ordering::Relaxed);
            thread::sleep(2 * AWAKE);
            helping.store(2, Ordering::Relaxed);
        };
        let call = |attend: Box<dyn FnOnce() + Send>| drop(thread::spawn(attend));
        let shared = catch_unwind(AssertUnwindSafe(|| board.share(1, 1, &help, &call)));
        assert_eq!(shared.unwrap_err().downcast_ref(), Some(&"the owner"));
        assert_eq!(helping.into_inner(), 2);
    }
}
