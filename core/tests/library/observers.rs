//! What observers hear, and what can be done with it.

use std::ops::ControlFlow;

use codiag::backend::InMemory;
use codiag::synthetic::{Sensors, Synthetic, meg, noisy};
use codiag::{
    Diagonalization, Evaluation, Init, Matrix, MatrixSet, OnDisk, Rank, Record, SetOptions,
    Settings, Status, StepKind, diagonalize, diagonalize_with,
};

/// Channel 3 is the sum of channels 0 and 1.
fn of_rank_3() -> MatrixSet {
    let made = Synthetic::new(60, 3, 0.3, 5);
    let lift = Matrix::from_fn(4, 3, |a, b| f64::from(u8::from(a == b || a == 3 && b < 2)));
    let mut data = Vec::new();
    for matrix in made.data.chunks_exact(9) {
        let c = Matrix::from_rows(3, 3, matrix.to_vec());
        data.extend((&(&lift * &c) * &lift.transpose()).into_vec());
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
fn an_observed_b_restarts_where_it_was() {
    // Of full rank, where other coordinates would pass unnoticed, and reduced.
    let full = Synthetic::new(60, 4, 0.3, 5);
    let auto = SetOptions::default().n_components(Rank::Auto);
    let full = MatrixSet::with_options(&full.data, 60, 4, &auto).unwrap();
    assert!(full.reduction().is_some() && full.dimension() == 4);
    for set in [full, of_rank_3()] {
        let mut seen: Vec<(Record, Matrix)> = Vec::new();
        let mut observer = |record: &Record, b: &Matrix| {
            seen.push((record.clone(), b.clone()));
            ControlFlow::Continue(())
        };
        let answer = diagonalize_with(&set, &Settings::default(), &mut observer).unwrap();
        assert!(answer.status.is_converged() && seen.len() > 2);
        for (record, b) in seen {
            assert_eq!((b.rows(), b.columns()), (set.dimension(), 4));
            let here = Evaluation::at(&set, &b).unwrap();
            assert!((here.loss - record.loss).abs() < 1e-10);
            let again = Settings::default().init(Init::Given(b));
            let first = &diagonalize(&set, &again).unwrap().history[0];
            assert!((first.loss - record.loss).abs() < 1e-10);
        }
    }
}

#[test]
fn records_say_which_start_they_belong_to() {
    let set = noisy(40, 8, 0.5, 1);
    let mut starts = Vec::new();
    let mut observer = |record: &Record, _: &Matrix| {
        // A further start is found on some of the matrices.
        assert!(record.stage != codiag::Stage::Sample || record.start > 0);
        if record.stage != codiag::Stage::Sample {
            starts.push((record.start, record.iteration));
        }
        ControlFlow::Continue(())
    };
    let settings = Settings::default().n_restarts(2);
    let answer = diagonalize_with(&set, &settings, &mut observer).unwrap();
    assert_eq!(answer.start_losses.len(), 3);
    let zeros: Vec<usize> = starts.iter().filter(|s| s.1 == 0).map(|s| s.0).collect();
    assert_eq!(zeros, [0, 1, 2]);
    let own = answer.history[0].start;
    assert!(answer.history.iter().all(|record| record.start == own));
    let best = answer
        .start_losses
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    assert!((answer.start_losses[own] - best).abs() < 1e-9);
}

/// What an observer hears of a solve, but for the time, and the answer.
fn followed(set: &MatrixSet, settings: &Settings) -> (Vec<Record>, Diagonalization) {
    let timeless = |record: &Record| {
        let mut record = record.clone();
        record.seconds = 0.0;
        record
    };
    let mut heard = Vec::new();
    let mut observer = |record: &Record, _: &Matrix| {
        heard.push(timeless(record));
        ControlFlow::Continue(())
    };
    let mut answer = diagonalize_with(set, settings, &mut observer).unwrap();
    answer.history = answer.history.iter().map(timeless).collect();
    (heard, answer)
}

#[test]
fn starts_that_are_solved_at_a_time_are_those_solved_one_by_one() {
    // Passes long enough for threads.
    let set = MatrixSet::new(&meg(Sensors::Gradiometers), 100, 40).unwrap();
    let settings = Settings::default().n_restarts(5);
    let (heard, answer) = followed(&set.clone().with_n_jobs(1), &settings);
    for threads in [2, 3] {
        let (heard_too, same) = followed(&set.clone().with_n_jobs(threads), &settings);
        assert!(heard == heard_too, "{threads} threads");
        assert_eq!((&same.b, same.loss), (&answer.b, answer.loss));
        assert_eq!(same.start_losses, answer.start_losses);
        assert_eq!(same.history, answer.history);
    }
    assert!(answer.status.is_converged() && answer.gradient_norm <= 1e-8);
    let alone = diagonalize(&set, &Settings::default()).unwrap();
    assert!(answer.loss <= alone.loss + 1e-9);
    // The history of the best is one, though it was left for others in between.
    let own = answer.history[0].start;
    for (k, record) in answer.history.iter().enumerate() {
        assert_eq!((record.start, record.iteration), (own, k));
        assert_eq!(record.kind == StepKind::Init, k == 0);
    }
    assert!(answer.history.is_sorted_by(|x, y| x.passes < y.passes));
    // Starts come one after the other; of these some are then solved to the tolerance.
    let mut turns: Vec<usize> = Vec::new();
    for record in &heard {
        if !turns.contains(&record.start) {
            turns.push(record.start);
        }
    }
    assert_eq!(turns, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn further_starts_can_be_stopped_and_leave_the_best_so_far() {
    let set = MatrixSet::new(&meg(Sensors::Gradiometers), 100, 40).unwrap();
    let settings = Settings::default().n_restarts(8);
    for threads in [1, 2] {
        let mut first = f64::INFINITY;
        let mut deadline = |record: &Record, _: &Matrix| {
            assert!(record.start <= 2, "that was to be the last");
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
        let answer = diagonalize_with(&set, &settings, &mut deadline).unwrap();
        assert_eq!(answer.status, Status::Interrupted);
        assert!(answer.loss <= first + 1e-5);
    }
}

#[test]
fn the_stage_on_a_sample_is_heard_and_can_be_stopped() {
    let set = noisy(1200, 4, 0.5, 2);
    let mut heard = Vec::new();
    let mut observer = |record: &Record, _: &Matrix| {
        heard.push(record.clone());
        ControlFlow::Continue(())
    };
    let answer = diagonalize_with(&set, &Settings::default(), &mut observer).unwrap();
    let sampled = heard
        .iter()
        .take_while(|record| record.stage == codiag::Stage::Sample)
        .count();
    assert!(
        sampled > 0
            && heard[sampled..]
                .iter()
                .all(|record| record.stage != codiag::Stage::Sample)
    );
    assert_eq!(answer.history.len(), heard.len() - sampled);

    let mut deadline = |record: &Record, _: &Matrix| {
        assert!(
            record.stage == codiag::Stage::Sample,
            "the first one was to be the last"
        );
        ControlFlow::Break(())
    };
    let stopped = diagonalize_with(&set, &Settings::default(), &mut deadline).unwrap();
    assert_eq!(
        (stopped.status, stopped.history.len()),
        (Status::Interrupted, 1)
    );
    assert!(stopped.loss > answer.loss && stopped.b.is_finite());
}

#[test]
fn sets_can_be_sent_to_other_threads() {
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
fn further_starts_never_end_higher_than_the_first() {
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
