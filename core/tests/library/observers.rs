//! Observers: the records they receive, and interruption by them.

use std::ops::ControlFlow;

use codiag::backend::InMemory;
use codiag::synthetic::{Sensors, Synthetic, meg, noisy};
use codiag::{
    Diagonalization, Evaluation, Init, Matrix, MatrixSet, OnDisk, Rank, Record, SetOptions,
    Settings, Status, StepKind, diagonalize, diagonalize_with,
};

/// Channel 3 is the sum of channels 0 and 1.
fn set_of_rank_3() -> MatrixSet {
    let generated = Synthetic::new(60, 3, 0.3, 5);
    let embedding = Matrix::from_fn(4, 3, |a, b| f64::from(u8::from(a == b || a == 3 && b < 2)));
    let mut data = Vec::new();
    for matrix in generated.data.chunks_exact(9) {
        let c = Matrix::from_rows(3, 3, matrix.to_vec());
        data.extend((&(&embedding * &c) * &embedding.transpose()).into_vec());
    }
    MatrixSet::with_options(
        &data,
        60,
        4,
        &SetOptions::default().n_components(Rank::Auto),
    )
    .unwrap()
}

#[test]
fn observed_b_is_a_start_with_the_recorded_loss() {
    // A set of full rank and a rank-deficient one, both in reduced coordinates.
    let full = Synthetic::new(60, 4, 0.3, 5);
    let auto = SetOptions::default().n_components(Rank::Auto);
    let full = MatrixSet::with_options(&full.data, 60, 4, &auto).unwrap();
    assert!(full.reduction().is_some() && full.dimension() == 4);
    for set in [full, set_of_rank_3()] {
        let mut seen: Vec<(Record, Matrix)> = Vec::new();
        let mut observer = |record: &Record, b: &Matrix| {
            seen.push((record.clone(), b.clone()));
            ControlFlow::Continue(())
        };
        let result = diagonalize_with(&set, &Settings::default(), &mut observer).unwrap();
        assert!(result.status.is_converged() && seen.len() > 2);
        for (record, b) in seen {
            assert_eq!((b.rows(), b.columns()), (set.dimension(), 4));
            let here = Evaluation::at(&set, &b).unwrap();
            assert!((here.loss - record.loss).abs() < 1e-10);
            let warm = Settings::default().init(Init::Given(b));
            let first = &diagonalize(&set, &warm).unwrap().history[0];
            assert!((first.loss - record.loss).abs() < 1e-10);
        }
    }
}

#[test]
fn records_carry_the_index_of_their_start() {
    let set = noisy(40, 8, 0.5, 1);
    let mut starts = Vec::new();
    let mut observer = |record: &Record, _: &Matrix| {
        // Only further starts have a stage on a sample of the matrices.
        assert!(record.stage != codiag::Stage::Sample || record.start > 0);
        if record.stage != codiag::Stage::Sample {
            starts.push((record.start, record.iteration));
        }
        ControlFlow::Continue(())
    };
    let settings = Settings::default().n_restarts(2);
    let result = diagonalize_with(&set, &settings, &mut observer).unwrap();
    assert_eq!(result.start_losses.len(), 3);
    let zeros: Vec<usize> = starts.iter().filter(|s| s.1 == 0).map(|s| s.0).collect();
    assert_eq!(zeros, [0, 1, 2]);
    let own = result.history[0].start;
    assert!(result.history.iter().all(|record| record.start == own));
    let best = result
        .start_losses
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    assert!((result.start_losses[own] - best).abs() < 1e-9);
}

/// Returns the records that an observer receives, and the result; both with times set to 0.
fn solve_observed(set: &MatrixSet, settings: &Settings) -> (Vec<Record>, Diagonalization) {
    let timeless = |record: &Record| {
        let mut record = record.clone();
        record.seconds = 0.0;
        record
    };
    let mut records = Vec::new();
    let mut observer = |record: &Record, _: &Matrix| {
        records.push(timeless(record));
        ControlFlow::Continue(())
    };
    let mut result = diagonalize_with(set, settings, &mut observer).unwrap();
    result.history = result.history.iter().map(timeless).collect();
    (records, result)
}

#[test]
fn parallel_and_sequential_restarts_give_the_same_records() {
    // The set is large enough for several threads.
    let set = MatrixSet::new(&meg(Sensors::Gradiometers), 100, 40).unwrap();
    let settings = Settings::default().n_restarts(5);
    let (records, result) = solve_observed(&set.clone().with_n_jobs(1), &settings);
    for threads in [2, 3] {
        let (other_records, other) = solve_observed(&set.clone().with_n_jobs(threads), &settings);
        assert!(records == other_records, "{threads} threads");
        assert_eq!((&other.b, other.loss), (&result.b, result.loss));
        assert_eq!(other.start_losses, result.start_losses);
        assert_eq!(other.history, result.history);
    }
    assert!(result.status.is_converged() && result.gradient_norm <= 1e-8);
    let alone = diagonalize(&set, &Settings::default()).unwrap();
    assert!(result.loss <= alone.loss + 1e-9);
    // The history is that of one start without gaps, although other starts ran in between.
    let own = result.history[0].start;
    for (k, record) in result.history.iter().enumerate() {
        assert_eq!((record.start, record.iteration), (own, k));
        assert_eq!(record.kind == StepKind::Init, k == 0);
    }
    assert!(result.history.is_sorted_by(|x, y| x.passes < y.passes));
    // Starts are first observed in order; some of them are continued later.
    let mut order: Vec<usize> = Vec::new();
    for record in &records {
        if !order.contains(&record.start) {
            order.push(record.start);
        }
    }
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn stopping_restarts_returns_the_best_result_so_far() {
    let set = MatrixSet::new(&meg(Sensors::Gradiometers), 100, 40).unwrap();
    let settings = Settings::default().n_restarts(8);
    for threads in [1, 2] {
        let mut first = f64::INFINITY;
        let mut deadline = |record: &Record, _: &Matrix| {
            assert!(record.start <= 2, "a record after the stop");
            if record.start == 0 {
                first = record.loss;
            }
            if record.start < 2 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let set = set.clone().with_n_jobs(threads);
        let result = diagonalize_with(&set, &settings, &mut deadline).unwrap();
        assert_eq!(result.status, Status::Interrupted);
        assert!(result.loss <= first + 1e-5);
    }
}

#[test]
fn sample_stage_is_observed_and_can_be_stopped() {
    let set = noisy(1200, 4, 0.5, 2);
    let mut records = Vec::new();
    let mut observer = |record: &Record, _: &Matrix| {
        records.push(record.clone());
        ControlFlow::Continue(())
    };
    let result = diagonalize_with(&set, &Settings::default(), &mut observer).unwrap();
    let sampled = records
        .iter()
        .take_while(|record| record.stage == codiag::Stage::Sample)
        .count();
    assert!(
        sampled > 0
            && records[sampled..]
                .iter()
                .all(|record| record.stage != codiag::Stage::Sample)
    );
    assert_eq!(result.history.len(), records.len() - sampled);

    let mut deadline = |record: &Record, _: &Matrix| {
        assert!(
            record.stage == codiag::Stage::Sample,
            "a record after the stop"
        );
        ControlFlow::Break(())
    };
    let stopped = diagonalize_with(&set, &Settings::default(), &mut deadline).unwrap();
    assert_eq!(
        (stopped.status, stopped.history.len()),
        (Status::Interrupted, 1)
    );
    assert!(stopped.loss > result.loss && stopped.b.is_finite());
}

#[test]
fn sets_can_be_sent_to_threads() {
    fn is_send<T: Send>() {}
    is_send::<MatrixSet>();
    is_send::<InMemory>();
    is_send::<OnDisk>();
    let mut working = InMemory::new(&noisy(20, 3, 0.1, 0));
    let solved = std::thread::spawn(move || {
        let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
        codiag::diagonalize_with_backend(&mut working, &Settings::default(), &mut silent)
    });
    assert!(solved.join().unwrap().unwrap().status.is_converged());
}

#[test]
fn restarts_never_increase_the_loss() {
    for (n, p, seed, restarts) in [
        (68, 23, 25, 1),
        (209, 27, 4, 10),
        (40, 10, 1, 3),
        (40, 10, 2, 3),
        (20, 8, 3, 5),
    ] {
        let set = noisy(n, p, 1.0, seed);
        let alone = diagonalize(&set, &Settings::default()).unwrap();
        let best = diagonalize(&set, &Settings::default().n_restarts(restarts)).unwrap();
        assert!(best.loss <= alone.loss + 1e-10, "{n} x {p}, seed {seed}");
        assert_eq!(best.start_losses.len(), restarts + 1);
        assert!((best.start_losses[0] - alone.loss).abs() <= 1e-10);
    }
}
