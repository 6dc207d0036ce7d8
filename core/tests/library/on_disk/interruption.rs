//! Interruption by the observer of reads from a file.

use super::*;

#[test]
fn read_observer_sees_the_bytes_read_and_can_stop_the_solve() {
    let (n, p) = (6000, 24);
    let generated = Synthetic::new(n, p, 0.1, 1);
    let npy = Npy::double(&generated.data, n, p);
    let file_bytes = (n * p * p * 8) as u64;
    let seen = std::sync::Mutex::new(Vec::new());
    let stop = AtomicUsize::new(0);
    let read_observer = |reading: &ReadProgress| {
        seen.lock().unwrap().push(*reading);
        if stop.load(Ordering::Relaxed) > 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = SetOptions::default().n_jobs(Some(1));
    let memory = smallest_memory_limit(npy.open(), &options);
    let mut set = OnDisk::new_with_observer(npy.open(), memory, &options, read_observer).unwrap();
    // Enough data passes for the read observer to be called.
    let settings = Settings::default().hessian_memory(0).tol(1e-14);
    let mut observer = |record: &Record, _: &Matrix| {
        if record.iteration == 1 && record.stage != codiag::Stage::Sample {
            stop.store(1, Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    };
    let result = codiag::diagonalize_with_backend(&mut set, &settings, &mut observer).unwrap();
    drop(set);
    let seen = seen.into_inner().unwrap();
    assert!(
        seen.iter()
            .all(|r| r.bytes <= r.total && r.total <= file_bytes)
    );
    assert_eq!((result.status, result.n_iter), (Status::Interrupted, 1));
    assert!(result.b.is_finite());
    let record = result.history.last().unwrap();
    assert!((result.loss - record.loss).abs() < 1e-12);
}

#[test]
fn read_observer_that_stops_after_convergence_keeps_the_result() {
    let generated = Synthetic::new(500, 6, 0.2, 3);
    let npy = Npy::double(&generated.data, 500, 6);
    let converged = AtomicUsize::new(0);
    let read_observer = |_: &ReadProgress| {
        if converged.load(Ordering::Relaxed) == 1 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let (memory, options) = (Memory(8_000_000), SetOptions::default());
    let mut set = OnDisk::new_with_observer(npy.open(), memory, &options, read_observer).unwrap();
    let settings = Settings::default();
    let mut observer = |record: &Record, _: &Matrix| {
        if record.gradient_norm <= settings.tol {
            converged.store(1, Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    };
    let result = codiag::diagonalize_with_backend(&mut set, &settings, &mut observer).unwrap();
    assert_eq!(result.status, Status::Converged);
    // Powers and residuals need another data pass, which was stopped.
    assert!(result.powers.rows() == 0 && result.residuals.is_empty());
    let expected = diagonalize(&generated.set().unwrap(), &settings).unwrap();
    assert!((result.loss - expected.loss).abs() < 1e-10);
}
