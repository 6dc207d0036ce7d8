//! Independent jobs on several threads, whose events are passed to an observer in order.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// Interval at which the observer is called while no job sends an event.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A job. It receives its number and a function `emit`, which it calls with its events, and
/// regularly with None. It must end early if `emit` returns `Break`.
pub type Job<'a, E, R> =
    dyn Fn(usize, &mut dyn FnMut(Option<E>) -> ControlFlow<()>) -> R + Sync + 'a;

/// Runs jobs 0 to `count` − 1 on at most `threads` threads. Returns their results in order, and
/// whether the observer stopped them.
///
/// The observer is called on the caller's thread: with all events of the first job, then with those
/// of the second, and so on, and regularly with None. If it returns `Break`, running jobs are asked
/// to end, and jobs that have not begun are skipped: their results are missing.
///
/// ```
/// use std::ops::ControlFlow;
/// use codiag::jobs;
/// let square = |k: usize, emit: &mut dyn FnMut(Option<String>) -> ControlFlow<()>| {
///     let _ = emit(Some(format!("job {k}")));
///     k * k
/// };
/// let mut events = Vec::new();
/// let mut observer = |event: Option<String>| {
///     events.extend(event);
///     ControlFlow::Continue(())
/// };
/// let (results, stopped) = jobs::run(3, 2, &square, &mut observer);
/// assert_eq!((results, stopped), (vec![0, 1, 4], false));
/// assert_eq!(events, ["job 0", "job 1", "job 2"]);
/// ```
pub fn run<E: Send, R: Send>(
    count: usize,
    threads: usize,
    job: &Job<'_, E, R>,
    observer: &mut dyn FnMut(Option<E>) -> ControlFlow<()>,
) -> (Vec<R>, bool) {
    if threads.min(count) < 2 {
        let (mut results, mut stopped) = (Vec::new(), false);
        for k in 0..count {
            results.push(job(k, &mut |event| {
                stopped |= observer(event).is_break();
                flow(stopped)
            }));
            if stopped {
                break;
            }
        }
        return (results, stopped);
    }
    let (next, stop) = (&AtomicUsize::new(0), &AtomicBool::new(false));
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| channel::<E>()).unzip();
    let senders = &std::sync::Mutex::new(senders.into_iter().map(Some).collect::<Vec<_>>());
    let work = || {
        let mut results = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count || stop.load(Ordering::Relaxed) {
                return results;
            }
            let sender = senders
                .lock()
                .ok()
                .and_then(|mut senders| senders[k].take());
            let result = job(k, &mut |event| {
                if let (Some(event), Some(sender)) = (event, &sender) {
                    // After a stop the receiver may have been dropped.
                    let _ = sender.send(event);
                }
                flow(stop.load(Ordering::Relaxed))
            });
            results.push((k, result));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(count)).map(|_| scope.spawn(work)).collect();
        let mut notify = |event| {
            if !stop.load(Ordering::Relaxed) && observer(event).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        };
        for receiver in receivers {
            while !(stop.load(Ordering::Relaxed)
                || workers.iter().all(ScopedJoinHandle::is_finished))
            {
                match receiver.recv_timeout(POLL_INTERVAL) {
                    Ok(event) => notify(Some(event)),
                    Err(RecvTimeoutError::Timeout) => notify(None),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            receiver.try_iter().for_each(|event| notify(Some(event)));
        }
        let join = |worker: ScopedJoinHandle<'_, Vec<(usize, R)>>| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    results.sort_by_key(|(k, _)| *k);
    let stopped = stop.load(Ordering::Relaxed);
    (
        results.into_iter().map(|(_, result)| result).collect(),
        stopped,
    )
}

fn flow(stopped: bool) -> ControlFlow<()> {
    if stopped {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn break_from_observer_ends_all_jobs() {
        for threads in [1, 3] {
            let endless = |k: usize, emit: &mut dyn FnMut(Option<usize>) -> ControlFlow<()>| {
                while emit(Some(k)).is_continue() {}
                k
            };
            let mut events = 0;
            let mut observer = |_: Option<usize>| {
                events += 1;
                flow(events == 10)
            };
            let (results, stopped) = run(5, threads, &endless, &mut observer);
            assert!(stopped && !results.is_empty() && results.len() <= threads);
        }
    }

    #[test]
    fn panic_of_a_job_propagates() {
        let job = |k: usize, _: &mut dyn FnMut(Option<()>) -> ControlFlow<()>| assert!(k != 2);
        let run = || run(4, 2, &job, &mut |_| ControlFlow::Continue(()));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    }
}
