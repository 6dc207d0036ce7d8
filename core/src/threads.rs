//! Loops over blocks on one thread, or on the threads of a rayon pool.
//!
//! The calling thread takes items from the queue that it shares with its helpers, so nested loops
//! cannot deadlock.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

/// Runs loops over blocks with results that do not depend on the number of threads.
#[derive(Clone, Debug, Default)]
pub(crate) enum Workers {
    /// The calling thread.
    #[default]
    One,
    /// The calling thread and helpers of a pool; at most this many threads together.
    Many(Pool, usize),
}

/// A thread pool: the one kept between solves, or (None) rayon's global pool.
type Pool = Option<Arc<ThreadPool>>;

/// Loops with fewer multiply-adds run on one thread.
const MIN_PARALLEL_MULTIPLY_ADDS: usize = 500_000;

/// Sets are summed in at most 32 groups: more threads would be idle.
const MAX_THREADS: usize = 32;

impl Workers {
    /// At most `threads` threads (default: those of the global pool) for passes over n matrices of
    /// size p×p; one thread if the passes are short.
    pub fn new(threads: Option<usize>, n: usize, p: usize) -> Self {
        Self::for_work(threads, n * p * p * p)
    }

    /// At most `threads` threads (default: those of the global pool) for loops with that many
    /// multiply-adds; one thread if the loops are short.
    pub fn for_work(threads: Option<usize>, multiply_adds: usize) -> Self {
        if multiply_adds < MIN_PARALLEL_MULTIPLY_ADDS || pools_are_lost() {
            return Self::One;
        }
        let count = threads.unwrap_or_else(rayon::current_num_threads);
        match (count.min(MAX_THREADS), threads) {
            (0 | 1, _) => Self::One,
            (count, None) => Self::Many(None, count),
            (count, Some(_)) => {
                kept_pool(count - 1).map_or(Self::One, |pool| Self::Many(Some(pool), count))
            }
        }
    }

    /// These workers, or one thread if a loop with that many multiply-adds is short.
    pub fn if_worthwhile(&self, multiply_adds: usize) -> &Self {
        if multiply_adds < MIN_PARALLEL_MULTIPLY_ADDS {
            &Self::One
        } else {
            self
        }
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        match self {
            Self::One => 1,
            Self::Many(_, count) => *count,
        }
    }

    /// Calls `work` on every item, in any order.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Sync + Send) {
        let (pool, count) = match self {
            Self::Many(pool, count) if items.len() > 1 && !pools_are_lost() => (pool, *count),
            _ => return items.iter_mut().for_each(work),
        };
        let helpers = count.min(items.len()) - 1;
        let queue = Mutex::new(items.iter_mut());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let drain = || {
            while let Some(item) = next() {
                work(item);
            }
        };
        in_place_scope(pool, |scope| {
            (0..helpers).for_each(|_| scope.spawn(|_| drain()));
            drain();
        });
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

fn in_place_scope<'a, R>(pool: &Pool, run: impl FnOnce(&Scope<'a>) -> R) -> R {
    match pool {
        Some(pool) => pool.in_place_scope(run),
        None => rayon::in_place_scope(run),
    }
}

/// The pool kept between solves, with as many threads as were ever needed at once.
static KEPT: Mutex<Pool> = Mutex::new(None);

/// A pool of at least that many threads, or None if the system cannot start them. A larger pool
/// replaces the kept one, whose threads end with the last solve that uses them.
fn kept_pool(threads: usize) -> Pool {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept
        .as_ref()
        .is_none_or(|pool| pool.current_num_threads() < threads)
    {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
        *kept = Some(Arc::new(pool));
    }
    kept.clone()
}

/// Whether this process was forked from the one that started the pools: it has their data, but not
/// their threads, and waiting for these would never end.
fn pools_are_lost() -> bool {
    static OWNER: OnceLock<u32> = OnceLock::new();
    *OWNER.get_or_init(std::process::id) != std::process::id()
}

/// Ends the threads that are kept for the next solve.
///
/// Solves with a given number of threads ([`SetOptions::threads`](crate::SetOptions::threads))
/// share one pool of at most 31 helpers, which stays asleep between solves. This releases it;
/// solves under way keep theirs until they end. Without a given number, the threads are those of
/// rayon's global pool, which cannot be released.
///
/// ```
/// use codiag::{Settings, diagonalize, release_threads, synthetic};
/// let set = synthetic::noisy(200, 30, 0.1, 0).with_n_jobs(4);
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
            assert_eq!(workers.count(), count.min(MAX_THREADS));
            let mut items: Vec<usize> = (0..100).collect();
            workers.each(&mut items, |x| *x += 1);
            assert_eq!(items, (1..=100).collect::<Vec<_>>());
        }
        let kept = || KEPT.lock().unwrap().clone();
        let pool = kept().expect("a pool is kept");
        assert_eq!(pool.current_num_threads(), MAX_THREADS - 1);
        release_threads();
        // Another test may have started a pool meanwhile.
        assert!(kept().is_none_or(|other| !Arc::ptr_eq(&other, &pool)));
    }

    #[test]
    fn concurrent_and_nested_loops_complete() {
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
        let outer: Vec<usize> = (0..8).collect();
        for workers in &workers {
            workers.map(&outer, |_, k| (0..20).for_each(|_| work(workers, *k)));
        }
    }

    #[test]
    fn panics_propagate_and_leave_the_pool_usable() {
        let workers = Workers::for_work(Some(3), usize::MAX);
        let mut items: Vec<usize> = (0..100).collect();
        let panicking = || workers.each(&mut items, |x| assert_ne!(*x, 50));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
        assert_eq!(
            workers.map(&items, |_, x| x + 1),
            (1..=100).collect::<Vec<_>>()
        );
    }
}
