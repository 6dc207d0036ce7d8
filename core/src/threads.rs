//! Threads: how many, and whether they pay.
//!
//! The caller's thread works too, and takes what is left to do from the same queue as its helpers:
//! it neither sleeps through a pass nor waits for one that wakes late ([`offers`]).

mod offers;

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use offers::Board;

/// Runs loops over blocks, on one thread or many, always with the same result.
#[derive(Clone, Debug, Default)]
pub(crate) enum Workers {
    /// The caller's thread.
    #[default]
    One,
    /// The caller's thread, and so many helpers.
    Some(Arc<Team>, usize),
}

/// Threads that help.
#[derive(Debug)]
pub(crate) struct Team {
    members: Members,
    board: Arc<Board>,
}

#[derive(Debug)]
enum Members {
    /// The threads of the process.
    Process,
    /// Those kept between solves.
    Kept(ThreadPool),
    /// Whoever comes ([`Workers::volunteer`]).
    Volunteers,
}

/// Multiply-adds of one pass below which a second thread costs more than it brings, even if it is awake.
const WORTHWHILE: usize = 500_000;

/// A set is summed in at most 32 groups: more threads would have nothing to do.
const MOST: usize = 32;

impl Workers {
    /// At most as many as asked for, and one alone where more would not pay for n matrices of size
    /// p×p.
    pub fn new(threads: Option<usize>, n: usize, p: usize) -> Self {
        Self::for_work(threads, n * p * p * p)
    }

    /// At most as many as asked for, and one alone where more would not pay for so many
    /// multiply-adds.
    pub fn for_work(threads: Option<usize>, multiply_adds: usize) -> Self {
        if multiply_adds < WORTHWHILE {
            return Self::One;
        }
        match threads {
            Some(0 | 1) => Self::One,
            Some(count) => {
                let helpers = count.min(MOST) - 1;
                kept_team(helpers).map_or(Self::One, |team| Self::Some(team, helpers))
            }
            None => match rayon::current_num_threads().min(MOST) - 1 {
                0 => Self::One,
                helpers => Self::Some(Arc::clone(&PROCESS), helpers),
            },
        }
    }

    /// These, or one alone where more would not pay for so many multiply-adds.
    pub fn if_worthwhile(&self, multiply_adds: usize) -> &Self {
        if multiply_adds < WORTHWHILE {
            &Self::One
        } else {
            self
        }
    }

    /// The caller's thread, and others, so many at most, that volunteer.
    pub fn with_volunteers(most: usize) -> Self {
        Self::Some(Team::of(Members::Volunteers), most)
    }

    /// Has this thread help others that share these volunteers, as long as there may be `more` to do.
    pub fn volunteer(&self, more: &dyn Fn() -> bool) {
        if let Self::Some(team, _) = self {
            team.board.volunteer(more);
        }
    }

    /// How many threads work at once.
    pub fn count(&self) -> usize {
        match self {
            Self::One => 1,
            Self::Some(_, helpers) => helpers + 1,
        }
    }

    /// Calls `work` on every item, in any order.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Sync + Send) {
        let helpers = self.count().min(items.len()).saturating_sub(1);
        if helpers == 0 {
            return items.iter_mut().for_each(work);
        }
        let queue = Mutex::new(items.iter_mut());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.share(helpers, &|| {
            while let Some(item) = next() {
                work(item);
            }
        });
    }

    /// Has the work done by the caller and so many helpers. Compiled once, and not for every kind of work.
    fn share(&self, helpers: usize, help: &(dyn Fn() + Sync)) {
        match self {
            Self::One => help(),
            Self::Some(team, _) => team.share(helpers, help),
        }
    }

    /// The results of `work` on every item, in the items' order.
    pub fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(usize, &T) -> R + Sync + Send,
    ) -> Vec<R> {
        let slots = items.iter().enumerate().map(|(k, item)| (k, item, None));
        let mut slots: Vec<(usize, &T, Option<R>)> = slots.collect();
        self.each(&mut slots, |(k, item, result)| {
            *result = Some(work(*k, item));
        });
        let results = slots.into_iter().map(|(_, _, result)| result);
        results
            .map(|r| r.expect("each item is worked on"))
            .collect()
    }
}

impl Team {
    fn of(members: Members) -> Arc<Self> {
        let board = Arc::default();
        Arc::new(Self { members, board })
    }

    fn share(&self, helpers: usize, help: &(dyn Fn() + Sync)) {
        let threads = self.threads();
        let call = |attend: Box<dyn FnOnce() + Send>| match &self.members {
            Members::Process => rayon::spawn(attend),
            Members::Kept(pool) => pool.spawn(attend),
            Members::Volunteers => {}
        };
        self.board.share(helpers, threads, help, &call);
    }

    /// How many threads can be called.
    fn threads(&self) -> usize {
        match &self.members {
            Members::Process => rayon::current_num_threads(),
            Members::Kept(pool) => pool.current_num_threads(),
            Members::Volunteers => 0,
        }
    }
}

/// The threads of the process.
static PROCESS: LazyLock<Arc<Team>> = LazyLock::new(|| Team::of(Members::Process));

/// The one team that is kept between solves, of as many threads as were ever asked for at once.
static KEPT: Mutex<Option<Arc<Team>>> = Mutex::new(None);

/// A team of at least that many threads; None if the system gives no threads. A larger one replaces
/// the one kept, whose threads end with the last solve that uses them.
fn kept_team(threads: usize) -> Option<Arc<Team>> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match &*kept {
        Some(team) if team.threads() >= threads => Some(Arc::clone(team)),
        _ => {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
            let team = Team::of(Members::Kept(pool));
            Some(Arc::clone(kept.insert(team)))
        }
    }
}

/// What a thread of the pool does for one that works itself.
pub type Helper<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Runs `own` on this thread while those that solves share run the helpers; returns when all have ended.
///
/// Helpers may come late, and where the system gives no threads they do not come at all: what there is to do is
/// taken from a queue, of which `own` does what is left. Kept threads hand memory on from solve to solve.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use codiag::working::{Helper, with_helpers};
/// let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
/// let work = || loop {
///     match next.fetch_add(1, Ordering::Relaxed) {
///         k if k < 10 => drop(sum.fetch_add(k, Ordering::Relaxed)),
///         _ => break,
///     }
/// };
/// let helpers: Vec<Helper> = (0..3).map(|_| -> Helper { Box::new(work) }).collect();
/// with_helpers(helpers, work);
/// assert_eq!(sum.into_inner(), 45);
/// ```
pub fn with_helpers<R>(helpers: Vec<Helper<'_>>, own: impl FnOnce() -> R) -> R {
    if helpers.is_empty() {
        return own();
    }
    // More than are kept are those of the process.
    let team = if helpers.len() < MOST {
        kept_team(helpers.len())
    } else {
        Some(Arc::clone(&PROCESS))
    };
    let Some(team) = team else {
        drop(helpers);
        return own();
    };
    match &team.members {
        Members::Kept(pool) => pool.in_place_scope(|scope| {
            call(scope, helpers);
            own()
        }),
        _ => rayon::in_place_scope(|scope| {
            call(scope, helpers);
            own()
        }),
    }
}

fn call<'a>(scope: &Scope<'a>, helpers: Vec<Helper<'a>>) {
    let helpers = helpers.into_iter();
    helpers.for_each(|helper| scope.spawn(move |_| helper()));
}

/// Ends the threads that are kept for the next solve.
///
/// Solves with a given number of threads ([`SetOptions::threads`](crate::SetOptions::threads)) share
/// one pool of helpers, which stays, asleep, once they are done: at most 31 threads. This releases
/// it; solves under way keep theirs until they end. Without a given number, the threads are those of
/// rayon's global pool, which no one can release.
///
/// ```
/// use codiag::{Settings, diagonalize, release_threads, synthetic};
/// let set = synthetic::noisy(200, 30, 0.1, 0).with_threads(4);
/// diagonalize(&set, &Settings::default())?;
/// release_threads();
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn release_threads() {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pool_serves_every_number_of_threads() {
        for count in [2, 5, 3, 40] {
            let workers = Workers::for_work(Some(count), usize::MAX);
            assert_eq!(workers.count(), count.min(MOST));
            let mut items: Vec<usize> = (0..100).collect();
            workers.each(&mut items, |x| *x += 1);
            assert_eq!(items, (1..=100).collect::<Vec<_>>());
        }
        let kept = || KEPT.lock().unwrap().clone();
        let team = kept().expect("a team is kept");
        assert_eq!(team.threads(), MOST - 1);
        release_threads();
        // Other tests may have made one of their own meanwhile.
        assert!(kept().is_none_or(|other| !Arc::ptr_eq(&other, &team)));
    }

    #[test]
    fn threads_serve_all_callers() {
        let workers = [Some(3), None].map(|count| Workers::for_work(count, usize::MAX));
        let work = |workers: &Workers, k: usize| {
            let items: Vec<usize> = (0..20).collect();
            let expected: Vec<usize> = items.iter().map(|x| x * k).collect();
            assert_eq!(workers.map(&items, |_, x| x * k), expected);
        };
        std::thread::scope(|scope| {
            for k in 0..4 {
                let workers = &workers[k % 2];
                scope.spawn(move || (0..200).for_each(|_| work(workers, k)));
            }
        });
        // Within each other, too.
        let outer: Vec<usize> = (0..8).collect();
        for workers in &workers {
            workers.map(&outer, |_, k| (0..20).for_each(|_| work(workers, *k)));
        }
    }

    #[test]
    fn a_helper_that_panics_is_heard() {
        let workers = Workers::for_work(Some(2), usize::MAX);
        let (caller, both) = (std::thread::current().id(), std::sync::Barrier::new(2));
        let panicking = || {
            workers.each(&mut [(); 2], |()| {
                // One item each.
                both.wait();
                assert!(std::thread::current().id() == caller, "a helper");
            });
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
        // It helps again.
        workers.each(&mut [(); 2], |()| {
            both.wait();
        });
    }
}
