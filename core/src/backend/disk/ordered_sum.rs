//! Addition of the sums of groups in the order of the groups, independent of the order of
//! completion.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// Assigns groups to threads in order, and adds their sums in order. To limit the number of waiting
/// sums, no group is assigned that is `window` or more ahead of the first group that is not added
/// yet.
pub struct OrderedSum<'a, R> {
    state: Mutex<State<R>>,
    changed: Condvar,
    groups: usize,
    window: usize,
    add: &'a (dyn Fn(&mut R, &R) + Sync),
    /// First group that failed. Later groups need not be completed.
    failed: AtomicUsize,
}

struct State<R> {
    assigned: usize,
    added: usize,
    total: Option<R>,
    waiting: BTreeMap<usize, R>,
    failure: Option<Error>,
    abandoned: bool,
}

impl<'a, R> OrderedSum<'a, R> {
    pub fn new(groups: usize, window: usize, add: &'a (dyn Fn(&mut R, &R) + Sync)) -> Self {
        Self {
            state: Mutex::new(State {
                assigned: 0,
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

    /// Returns the next group. None if all are assigned, or if the data pass has failed.
    pub fn take(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.abandoned || state.failure.is_some() || state.assigned == self.groups {
                return None;
            }
            if state.assigned < state.added + self.window {
                state.assigned += 1;
                return Some(state.assigned - 1);
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether an earlier group has failed.
    pub fn is_superseded(&self, group: usize) -> bool {
        self.failed.load(Ordering::Relaxed) < group
    }

    /// Adds the sums of a group as soon as those of all earlier groups are added.
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
            // The error of the first group is reported, independent of the order of completion.
            Err(error) => {
                if group < self.failed.load(Ordering::Relaxed) {
                    self.failed.store(group, Ordering::Relaxed);
                    state.failure = Some(error);
                }
            }
        }
        self.changed.notify_all();
    }

    /// Wakes all waiting threads after a thread has panicked.
    pub fn abandon(&self) {
        self.lock().abandoned = true;
        self.changed.notify_all();
    }

    /// Returns the total, or the error of the first group that failed.
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

    fn ordered_sum(window: usize) -> OrderedSum<'static, String> {
        OrderedSum::new(4, window, &|total, part| total.push_str(part))
    }

    #[test]
    fn sums_are_added_in_order() {
        let sums = ordered_sum(3);
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
    fn error_of_the_first_failed_group_is_reported() {
        let sums = ordered_sum(4);
        (0..3).for_each(|_| assert!(sums.take().is_some()));
        sums.finish(2, Err(Error::external("late")));
        assert!(sums.is_superseded(3) && !sums.is_superseded(1));
        assert_eq!(sums.take(), None);
        sums.finish(1, Err(Error::external("early")));
        sums.finish(0, Ok("0".to_owned()));
        assert_eq!(sums.total().unwrap_err().to_string(), "early");
    }
}
