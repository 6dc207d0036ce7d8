//! Threads: how many, and whether they pay.
//!
//! The caller's thread works too, and takes what is left to do from the same queue as its helpers:
//! it neither sleeps through a sweep nor waits for one that wakes late.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

/// Runs loops over blocks, on one thread or many, always with the same result.
#[derive(Clone, Debug)]
pub(crate) enum Workers {
    /// The caller's thread.
    One,
    /// The threads of the process.
    All,
    /// The caller's thread, and helpers.
    Some(Arc<ThreadPool>),
}

/// Multiply-adds of one sweep below which waking a second thread costs more than it brings.
const WORTHWHILE: usize = 2_000_000;

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
            Some(count) => helpers(count.min(MOST) - 1).map_or(Self::One, Self::Some),
            None if rayon::current_num_threads() > 1 => Self::All,
            None => Self::One,
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

    /// How many threads work at once.
    pub fn count(&self) -> usize {
        match self {
            Self::One => 1,
            Self::All => rayon::current_num_threads().min(MOST),
            Self::Some(pool) => pool.current_num_threads() + 1,
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
        let help = || {
            while let Some(item) = next() {
                work(item);
            }
        };
        match self {
            Self::Some(pool) => pool.in_place_scope(|scope| share(scope, helpers, &help)),
            _ => rayon::in_place_scope(|scope| share(scope, helpers, &help)),
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

/// Has the work done by the caller and so many helpers.
fn share<'a>(scope: &Scope<'a>, helpers: usize, help: &'a (impl Fn() + Sync)) {
    (0..helpers).for_each(|_| scope.spawn(move |_| help()));
    help();
}

/// A pool of that many threads, made once and kept; None if the system gives no threads.
fn helpers(threads: usize) -> Option<Arc<ThreadPool>> {
    static POOLS: LazyLock<Mutex<HashMap<usize, Arc<ThreadPool>>>> = LazyLock::new(Mutex::default);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Some(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
    pools.insert(threads, Arc::clone(&pool));
    Some(pool)
}
