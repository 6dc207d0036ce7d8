//! Sums of groups that come in any order, added in theirs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// Deals out groups in order, and adds their sums in order. So that few sums wait, no group is dealt
/// out that is `window` or more ahead of the first one not added yet.
pub struct Ordered<'a, R> {
    state: Mutex<State<R>>,
    changed: Condvar,
    groups: usize,
    window: usize,
    add: &'a (dyn Fn(&mut R, &R) + Sync),
    /// The first group that failed; those after it need not go on.
    failed: AtomicUsize,
}

struct State<R> {
    dealt: usize,
    added: usize,
    total: Option<R>,
    waiting: BTreeMap<usize, R>,
    failure: Option<Error>,
    abandoned: bool,
}

impl<'a, R> Ordered<'a, R> {
    pub fn new(groups: usize, window: usize, add: &'a (dyn Fn(&mut R, &R) + Sync)) -> Self {
        Self {
            state: Mutex::new(State {
                dealt: 0,
                added: 0,
                total: None,
                waiting: BTreeMap::new(),
                failure: None,
                abandoned: false,
            }),
            changed: Condvar::new(),
            groups,
            window,
            add,
            failed: AtomicUsize::new(usize::MAX),
        }
    }

    /// The next group; None if there is none, or no use in going on.
    pub fn take(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.abandoned || state.failure.is_some() || state.dealt == self.groups {
                return None;
            }
            if state.dealt < state.added + self.window {
                state.dealt += 1;
                return Some(state.dealt - 1);
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether an earlier group has failed.
    pub fn is_beaten(&self, group: usize) -> bool {
        self.failed.load(Ordering::Relaxed) < group
    }

    /// Adds the sums of a group, once it is its turn.
    pub fn finish(&self, group: usize, sums: Result<R, Error>) {
        let mut state = self.lock();
        match sums {
            Ok(sums) => {
                state.waiting.insert(group, sums);
                loop {
                    let next = state.added;
                    let Some(sums) = state.waiting.remove(&next) else {
                        break;
                    };
                    match &mut state.total {
                        Some(total) => (self.add)(total, &sums),
                        total => *total = Some(sums),
                    }
                    state.added += 1;
                }
            }
            // Whoever finds them, the first of the errors is reported.
            Err(error) => {
                if group < self.failed.load(Ordering::Relaxed) {
                    self.failed.store(group, Ordering::Relaxed);
                    state.failure = Some(error);
                }
            }
        }
        self.changed.notify_all();
    }

    /// Lets nobody wait for a thread that has panicked.
    pub fn abandon(&self) {
        self.lock().abandoned = true;
        self.changed.notify_all();
    }

    /// The total.
    pub fn total(self) -> Result<R, Error> {
        let state = self.state.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        match state.failure {
            Some(error) => Err(error),
            None => Ok(state.total.expect("a set has at least one group")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(window: usize) -> Ordered<'static, String> {
        Ordered::new(4, window, &|total, part| total.push_str(part))
    }

    #[test]
    fn sums_are_added_in_order() {
        let sums = ordered(3);
        let taken: Vec<usize> = (0..3).filter_map(|_| sums.take()).collect();
        assert_eq!(taken, [0, 1, 2]);
        for group in [2, 0, 1] {
            sums.finish(group, Ok(group.to_string()));
        }
        assert_eq!(sums.take(), Some(3));
        sums.finish(3, Ok("3".to_owned()));
        assert_eq!(sums.take(), None);
        assert_eq!(sums.total().unwrap(), "0123");
    }

    #[test]
    fn the_first_failure_counts() {
        let sums = ordered(4);
        (0..3).for_each(|_| assert!(sums.take().is_some()));
        sums.finish(2, Err(Error::external("late")));
        assert!(sums.is_beaten(3) && !sums.is_beaten(1));
        assert_eq!(sums.take(), None);
        sums.finish(1, Err(Error::external("early")));
        sums.finish(0, Ok("0".to_owned()));
        assert_eq!(sums.total().unwrap_err().to_string(), "early");
    }
}
