//! Loops over blocks on one thread, or on the threads of a rayon pool.
//!
//! The calling thread processes items of the same queue as its helper threads, so nested loops
//! cannot deadlock.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

/// Threads that run loops over blocks. Results do not depend on their number.
#[derive(Clone, Debug, Default)]
pub(crate) enum Workers {
    /// The calling thread only.
    #[default]
    One,
    /// The calling thread and helper threads of a pool, with the maximum number of threads in
    /// total.
    Many(Pool, usize),
}

/// A thread pool: the pool cached between solves, or rayon's global pool if None.
type Pool = Option<Arc<ThreadPool>>;

/// Minimum number of multiply-adds of a loop that runs on several threads.
const MIN_PARALLEL_MULTIPLY_ADDS: usize = 500_000;

/// Maximum number of threads. Sets are summed in at most 32 groups, so more threads would be idle.
const MAX_THREADS: usize = 32;

impl Workers {
    /// Returns at most `threads` threads (default: those of the global pool) for data passes over n
    /// matrices of size p×p, or one thread if the passes are short.
    pub fn new(threads: Option<usize>, n: usize, p: usize) -> Self {
        Self::for_work(threads, n * p * p * p)
    }

    /// Returns at most `threads` threads (default: those of the global pool) for loops with this
    /// number of multiply-adds, or one thread if the loops are short.
    pub fn for_work(threads: Option<usize>, multiply_adds: usize) -> Self {
        if multiply_adds < MIN_PARALLEL_MULTIPLY_ADDS || is_forked_child() {
            return Self::One;
        }
        let count = threads.unwrap_or_else(rayon::current_num_threads);
        match (count.min(MAX_THREADS), threads) {
            (0 | 1, _) => Self::One,
            (count, None) => Self::Many(None, count),
            (count, Some(_)) => {
                cached_pool(count - 1).map_or(Self::One, |pool| Self::Many(Some(pool), count))
            }
        }
    }

    /// Returns these workers, or one thread if a loop with this number of multiply-adds is short.
    pub fn if_worthwhile(&self, multiply_adds: usize) -> &Self {
        if multiply_adds < MIN_PARALLEL_MULTIPLY_ADDS {
            &Self::One
        } else {
            self
        }
    }

    /// Returns the number of threads.
    pub fn count(&self) -> usize {
        match self {
            Self::One => 1,
            Self::Many(_, count) => *count,
        }
    }

    /// Calls `work` on every item, in any order.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Sync + Send) {
        let (pool, count) = match self {
            Self::Many(pool, count) if items.len() > 1 && !is_forked_child() => (pool, *count),
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

    /// Returns the results of `work` on every item, in the order of the items.
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
            .map(|r| r.expect("every item is processed"))
            .collect()
    }
}

fn in_place_scope<'a, R>(pool: &Pool, run: impl FnOnce(&Scope<'a>) -> R) -> R {
    match pool {
        Some(pool) => pool.in_place_scope(run),
        None => rayon::in_place_scope(run),
    }
}

/// The pool cached between solves. Its size is the largest number of helper threads requested so
/// far.
static CACHED_POOL: Mutex<Pool> = Mutex::new(None);

/// Returns a pool of at least this number of threads, or None if the system cannot start them. A
/// larger pool replaces the cached one, whose threads end with the last solve that uses them.
fn cached_pool(threads: usize) -> Pool {
    let mut cached = CACHED_POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if cached
        .as_ref()
        .is_none_or(|pool| pool.current_num_threads() < threads)
    {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
        *cached = Some(Arc::new(pool));
    }
    cached.clone()
}

/// Whether this process was forked from the one that started the pools. It then has their data but
/// not their threads, so that waiting for them would block forever.
fn is_forked_child() -> bool {
    static OWNER: OnceLock<u32> = OnceLock::new();
    *OWNER.get_or_init(std::process::id) != std::process::id()
}

/// Ends the threads that are cached for the next solve.
///
/// Solves with a given number of threads ([`SetOptions::n_jobs`](crate::SetOptions::n_jobs)) share
/// one pool of at most 31 helper threads, which is idle between solves. This function releases the
/// pool; running solves use it until they end. Without a given number, solves use rayon's global
/// pool, which cannot be released.
///
/// ```
/// use codiag::{Settings, diagonalize, release_threads, synthetic};
/// let set = synthetic::noisy(200, 30, 0.1, 0).with_n_jobs(4);
/// diagonalize(&set, &Settings::default())?;
/// release_threads();
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn release_threads() {
    CACHED_POOL
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pool_serves_all_numbers_of_threads() {
        for count in [2, 5, 3, 40] {
            let workers = Workers::for_work(Some(count), usize::MAX);
            assert_eq!(workers.count(), count.min(MAX_THREADS));
            let mut items: Vec<usize> = (0..100).collect();
            workers.each(&mut items, |x| *x += 1);
            assert_eq!(items, (1..=100).collect::<Vec<_>>());
        }
        let cached = || CACHED_POOL.lock().unwrap().clone();
        let pool = cached().expect("a pool is cached");
        assert_eq!(pool.current_num_threads(), MAX_THREADS - 1);
        release_threads();
        // Another test may have started a pool meanwhile.
        assert!(cached().is_none_or(|other| !Arc::ptr_eq(&other, &pool)));
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
