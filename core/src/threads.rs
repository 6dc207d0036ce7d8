//! Threads: how many, and whether they pay.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Runs loops over blocks, on one thread or many, always with the same result.
#[derive(Clone, Debug)]
pub(crate) enum Workers {
    /// The caller's thread.
    One,
    /// The threads of the process.
    All,
    /// A pool of a chosen size.
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
            Some(1) => Self::One,
            Some(count) => pool(count.min(MOST)).map_or(Self::One, Self::Some),
            None if rayon::current_num_threads() > 1 => Self::All,
            None => Self::One,
        }
    }

    /// How many threads work at once.
    pub fn count(&self) -> usize {
        match self {
            Self::One => 1,
            Self::All => rayon::current_num_threads().min(MOST),
            Self::Some(pool) => pool.current_num_threads(),
        }
    }

    /// Calls `work` on every item, in any order.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Sync + Send) {
        match self {
            _ if items.len() == 1 => work(&mut items[0]),
            Self::One => items.iter_mut().for_each(work),
            Self::All => items.par_iter_mut().for_each(work),
            Self::Some(pool) => pool.install(|| items.par_iter_mut().for_each(work)),
        }
    }

    /// The results of `work` on every item, in the items' order.
    pub fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(usize, &T) -> R + Sync + Send,
    ) -> Vec<R> {
        let work = |(k, item)| work(k, item);
        match self {
            Self::One => items.iter().enumerate().map(work).collect(),
            Self::All => items.par_iter().enumerate().map(work).collect(),
            Self::Some(pool) => pool.install(|| items.par_iter().enumerate().map(work).collect()),
        }
    }
}

/// A pool of that many threads, made once and kept; None if the system gives no threads.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    static POOLS: LazyLock<Mutex<HashMap<usize, Arc<ThreadPool>>>> = LazyLock::new(Mutex::default);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Some(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
    pools.insert(threads, Arc::clone(&pool));
    Some(pool)
}
