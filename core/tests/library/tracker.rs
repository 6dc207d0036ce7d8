//! Tracking of real matrices.

use std::ops::ControlFlow;

use codiag::error::Setting;
use codiag::synthetic::{Sensors, Synthetic, amari_distance, meg};
use codiag::{
    Diagonalization, Error, Matrix, MatrixSet, Rank, Record, SetOptions, Settings, Status, Tracker,
    TrackerSettings, diagonalize,
};

fn product(x: &Matrix, y: &Matrix) -> Matrix {
    Matrix::from_fn(x.rows(), y.columns(), |a, b| {
        (0..x.columns()).map(|k| x[(a, k)] * y[(k, b)]).sum()
    })
}

/// A product of rotations of adjacent channels, all by the same angle.
fn rotation(p: usize, angle: f64) -> Matrix {
    let mut all = Matrix::identity(p);
    for a in 0..p - 1 {
        let mut one = Matrix::identity(p);
        (one[(a, a)], one[(a + 1, a + 1)]) = (angle.cos(), angle.cos());
        (one[(a, a + 1)], one[(a + 1, a)]) = (angle.sin(), -angle.sin());
        all = product(&one, &all);
    }
    all
}

/// Noisy matrices whose mixing rotates by 90 degrees over time, and the mixing of each.
fn drifting(n: usize, p: usize) -> (Vec<Vec<f64>>, Vec<Matrix>) {
    let generated = Synthetic::new(n, p, 0.05, 3);
    let rotations = (0..n).map(|t| rotation(p, std::f64::consts::FRAC_PI_2 * t as f64 / n as f64));
    let matrices = generated.data.chunks_exact(p * p);
    rotations
        .zip(matrices)
        .map(|(rotation, c)| {
            let c = Matrix::from_rows(p, p, c.to_vec());
            let moved = product(&product(&rotation, &c), &rotation.transpose());
            (moved.into_vec(), product(&rotation, &generated.mixing))
        })
        .unzip()
}

fn settings_with(window: usize, forgetting: f64) -> TrackerSettings {
    TrackerSettings {
        window,
        forgetting,
        ..TrackerSettings::default()
    }
}

/// Pushes the matrices one at a time and returns the results.
fn push_each(tracker: &mut Tracker, matrices: &[Vec<f64>]) -> Vec<Diagonalization> {
    let push = |c: &Vec<f64>| tracker.push(c).unwrap();
    matrices.iter().map(push).collect()
}

#[test]
fn tracker_follows_a_drifting_mixing_that_batch_solve_cannot() {
    let (n, p) = (1200, 6);
    let (matrices, mixings) = drifting(n, p);
    let mut tracker = Tracker::new(p, settings_with(120, 0.96)).unwrap();
    let results = push_each(&mut tracker, &matrices);
    let distances = |of: &dyn Fn(usize) -> Matrix| -> Vec<f64> {
        (120..n)
            .map(|t| amari_distance(&of(t), &mixings[t]))
            .collect()
    };
    let tracked = distances(&|t| results[t].b.clone());
    assert!(
        tracked.iter().all(|d| *d < 0.06),
        "{:?}",
        tracked.iter().fold(0.0_f64, |m, x| m.max(*x))
    );
    let everything = MatrixSet::new(&matrices.concat(), n, p).unwrap();
    let batch = diagonalize(&everything, &Settings::default()).unwrap().b;
    let batch = distances(&|_| batch.clone());
    assert!(
        batch.iter().all(|d| *d > 0.06),
        "{:?}",
        batch.iter().fold(1.0_f64, |m, x| m.min(*x))
    );
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    assert!(
        mean(&batch) > 8.0 * mean(&tracked),
        "{} {}",
        mean(&batch),
        mean(&tracked)
    );
}

#[test]
fn update_cost_does_not_grow_with_time() {
    let (n, p) = (1200, 6);
    let (matrices, _) = drifting(n, p);
    let mut tracker = Tracker::new(p, settings_with(120, 0.96)).unwrap();
    let results = push_each(&mut tracker, &matrices);
    assert_eq!(
        (tracker.len(), tracker.matrices().len()),
        (120, 120 * p * p)
    );
    let passes = |result: &Diagonalization| result.history.last().map_or(0.0, |r| r.passes);
    let mean =
        |range: &[Diagonalization]| range.iter().map(passes).sum::<f64>() / range.len() as f64;
    assert!(
        results
            .iter()
            .all(|a| a.status.is_converged() && a.powers.rows() <= 120)
    );
    // In data passes over the window: one for the start and 5/3 per iteration.
    assert!(mean(&results[120..]) < 1.0 + 5.0 * 5.0 / 3.0);
    let (early, late) = (mean(&results[120..360]), mean(&results[n - 240..]));
    assert!(late < 1.25 * early, "{early} {late}");
}

#[test]
fn components_keep_their_order_and_sign() {
    let p = 6;
    let (matrices, _) = drifting(1200, p);
    let mut tracker = Tracker::new(p, settings_with(120, 0.96)).unwrap();
    let results = push_each(&mut tracker, &matrices);
    for pair in results[20..].windows(2) {
        // The new filters times the old patterns are nearly the identity.
        let relative = product(&pair[1].b, &pair[0].a);
        for a in 0..p {
            for b in 0..p {
                let expected = f64::from(u8::from(a == b));
                assert!((relative[(a, b)] - expected).abs() < 0.25, "{relative:?}");
            }
        }
    }
    // The first and the last B differ clearly.
    let relative = product(&results[1199].b, &results[120].a);
    assert!((0..p).any(|a| (0..p).any(|b| a != b && relative[(a, b)].abs() > 0.5)));
}

#[test]
fn poorly_separable_components_keep_their_order() {
    // With few matrices for 40 components, poorly separable components change much in each update.
    let p = 40;
    let data = meg(Sensors::Magnetometers);
    let mut tracker = Tracker::new(p, settings_with(60, 0.97)).unwrap();
    let mut before = tracker.push(&data[..40 * p * p]).unwrap().b;
    for c in data[40 * p * p..].chunks_exact(p * p) {
        let result = tracker.push(c).unwrap();
        assert!(result.status.is_converged());
        let options = SetOptions::default().weights(Some(tracker.decayed_weights()));
        let set = MatrixSet::with_options(&tracker.matrices(), tracker.len(), p, &options).unwrap();
        let half = product(&result.b, set.mean());
        let power = |row: &[f64]| -> f64 {
            let image = product(&Matrix::from_rows(1, p, row.to_vec()), set.mean());
            image.row(0).iter().zip(row).map(|(x, y)| x * y).sum()
        };
        let old = Matrix::from_fn(p, p, |a, c| before[(a, c)] / power(before.row(a)).sqrt());
        let correlations = product(&half, &old.transpose());
        for a in 0..p {
            assert!(correlations[(a, a)] > 0.0);
            for b in 0..a {
                let kept = correlations[(a, a)].max(correlations[(b, b)]);
                let exchanged = correlations[(a, b)].abs().max(correlations[(b, a)].abs());
                assert!(kept >= exchanged, "{a} {b}: {kept} {exchanged}");
            }
        }
        // Powers and patterns are in the order of the filters.
        let transformed = result.transform(&set);
        let identity = product(&result.b, &result.a);
        for a in 0..p {
            let last = &transformed[(tracker.len() - 1) * p * p..];
            let power = result.powers[(tracker.len() - 1, a)];
            assert!((last[a * p + a] - power).abs() < 1e-9 * power);
            assert!((identity[(a, a)] - 1.0).abs() < 1e-9);
        }
        before = result.b;
    }
}

#[test]
fn constant_mixing_gives_the_batch_result_of_the_window() {
    for seed in 0..3 {
        let (n, p, window) = (150, 5, 60);
        let generated = Synthetic::new(n, p, 0.1, seed);
        let mut tracker = Tracker::new(p, settings_with(window, 0.95)).unwrap();
        let mut last = None;
        for c in generated.data.chunks_exact(p * p) {
            last = Some(tracker.push(c).unwrap());
        }
        let tracked = last.unwrap();
        let weights: Vec<f64> = (0..window)
            .rev()
            .map(|age| 0.95_f64.powi(age as i32))
            .collect();
        for (w, v) in tracker.decayed_weights().iter().zip(&weights) {
            assert!((w - v).abs() < 1e-14);
        }
        let options = SetOptions::default().weights(Some(weights));
        let newest = &generated.data[(n - window) * p * p..];
        assert_eq!(tracker.matrices(), newest);
        let set = MatrixSet::with_options(newest, window, p, &options).unwrap();
        let batch = diagonalize(&set, &Settings::default()).unwrap();
        assert!((tracked.loss - batch.loss).abs() < 1e-10);
        assert!(amari_distance(&tracked.b, &batch.a) < 1e-6);
        // The weighted mean power in the window is 1.
        for a in 0..p {
            let power: f64 = (0..window)
                .map(|i| set.weights()[i] * tracked.powers[(i, a)])
                .sum();
            assert!((power - 1.0).abs() < 1e-10);
        }
    }
}

#[test]
fn pushing_in_groups_gives_the_same_result() {
    let p = 5;
    let generated = Synthetic::new(90, p, 0.1, 1);
    let mut one_by_one = Tracker::new(p, settings_with(40, 0.97)).unwrap();
    let mut together = one_by_one.clone();
    for c in generated.data.chunks_exact(p * p) {
        one_by_one.push(c).unwrap();
    }
    for group in generated.data.chunks(7 * p * p) {
        together.push(group).unwrap();
    }
    assert_eq!(one_by_one.matrices(), together.matrices());
    let inverse = {
        let set = MatrixSet::new(&generated.data, 90, p).unwrap();
        let settings = Settings::default()
            .init(codiag::Init::Given(one_by_one.b().unwrap().clone()))
            .canonical(false)
            .max_iter(0)
            .rescale(false);
        diagonalize(&set, &settings).unwrap().a
    };
    assert!(amari_distance(together.b().unwrap(), &inverse) < 1e-6);
    // Of a group larger than the window, the last matrices are kept and solved as a batch.
    let mut at_once = Tracker::new(p, settings_with(40, 0.97)).unwrap();
    let result = at_once.push(&generated.data).unwrap();
    assert_eq!(at_once.matrices(), together.matrices());
    assert!(result.powers.rows() == 40 && amari_distance(&result.b, &inverse) < 1e-6);
}

#[test]
fn resumed_tracker_gives_bitwise_equal_results() {
    let (matrices, _) = drifting(90, 4);
    let weights = |t: usize| [0.5 + (t % 3) as f64];
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let mut tracker = Tracker::new(4, settings_with(30, 0.9)).unwrap();
    for (t, c) in matrices[..50].iter().enumerate() {
        tracker
            .push_with(c, Some(&weights(t)), &mut silent)
            .unwrap();
    }
    let b = tracker.b().cloned();
    let settings = settings_with(30, 0.9);
    let mut resumed =
        Tracker::resume(4, settings, &tracker.matrices(), &tracker.weights(), b).unwrap();
    for (t, c) in matrices.iter().enumerate().skip(50) {
        let one = tracker
            .push_with(c, Some(&weights(t)), &mut silent)
            .unwrap();
        let other = resumed
            .push_with(c, Some(&weights(t)), &mut silent)
            .unwrap();
        assert_eq!((one.b, one.loss.to_bits()), (other.b, other.loss.to_bits()));
    }
}

#[test]
fn matrix_of_weight_zero_has_no_effect() {
    let generated = Synthetic::new(30, 4, 0.1, 2);
    let set = MatrixSet::new(&generated.data[..20 * 16], 20, 4).unwrap();
    let alone = diagonalize(&set, &Settings::default()).unwrap();
    let mut tracker = Tracker::new(4, settings_with(30, 1.0)).unwrap();
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    tracker.push(&generated.data[..20 * 16]).unwrap();
    for c in generated.data[20 * 16..].chunks_exact(16) {
        tracker.push_with(c, Some(&[0.0]), &mut silent).unwrap();
    }
    assert_eq!(tracker.len(), 30);
    assert!(amari_distance(tracker.b().unwrap(), &alone.a) < 1e-6);
}

#[test]
fn rank_reduction_and_orthogonality_are_kept() {
    // Matrices of rank 5 in seven channels.
    let generated = Synthetic::new(40, 5, 0.1, 4);
    let embedding = Matrix::from_fn(7, 5, |a, b| ((a * 3 + b * 5) % 7) as f64 / 3.0 - 1.0);
    let embedded: Vec<Vec<f64>> = generated
        .data
        .chunks_exact(25)
        .map(|c| {
            let c = Matrix::from_rows(5, 5, c.to_vec());
            product(&product(&embedding, &c), &embedding.transpose()).into_vec()
        })
        .collect();
    let settings = TrackerSettings {
        n_components: Rank::Auto,
        ..settings_with(20, 0.95)
    };
    let mut tracker = Tracker::new(7, settings).unwrap();
    let results = push_each(&mut tracker, &embedded);
    assert!(
        results
            .iter()
            .all(|a| (a.b.rows(), a.b.columns()) == (5, 7))
    );
    let plain: Vec<Vec<f64>> = generated
        .data
        .chunks_exact(25)
        .map(<[f64]>::to_vec)
        .collect();
    let mut full_rank = Tracker::new(5, settings_with(20, 0.95)).unwrap();
    let expected = push_each(&mut full_rank, &plain);
    let reduced = product(tracker.b().unwrap(), &embedding);
    assert!(amari_distance(&reduced, &expected[39].a) < 1e-6);

    let settings = TrackerSettings {
        solve: Settings::default().orthogonal(true),
        ..settings_with(20, 0.95)
    };
    let mut tracker = Tracker::new(5, settings).unwrap();
    for c in generated.data.chunks_exact(25) {
        let b = tracker.push(c).unwrap().b;
        let gram = product(&b, &b.transpose());
        let identity = Matrix::<f64>::identity(5);
        for (x, y) in gram.as_slice().iter().zip(identity.as_slice()) {
            assert!((x - y).abs() < 1e-12);
        }
    }
}

#[test]
fn observer_stops_an_update_and_the_next_one_converges() {
    let generated = Synthetic::new(60, 6, 0.3, 0);
    let mut tracker = Tracker::new(6, TrackerSettings::default()).unwrap();
    let mut stop = |_: &Record, _: &Matrix| ControlFlow::Break(());
    let stopped = tracker
        .push_with(&generated.data[..59 * 36], None, &mut stop)
        .unwrap();
    assert_eq!(
        (stopped.status, stopped.n_iter, tracker.len()),
        (Status::Interrupted, 0, 59)
    );
    assert!(
        tracker
            .push(&generated.data[59 * 36..])
            .unwrap()
            .status
            .is_converged()
    );
}

#[test]
fn invalid_input_leaves_the_tracker_unchanged() {
    let generated = Synthetic::new(12, 3, 0.1, 0);
    let mut tracker = Tracker::new(3, TrackerSettings::default()).unwrap();
    tracker.push(&generated.data[..10 * 9]).unwrap();
    let before = (tracker.b().cloned(), tracker.matrices());
    let mut with_nan = generated.data[10 * 9..].to_vec();
    with_nan[9 + 4] = f64::NAN;
    let mut indefinite = generated.data[10 * 9..].to_vec();
    indefinite[9..].iter_mut().for_each(|x| *x = -*x);
    let asymmetric = [2.0, 0.1, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0];
    // Errors count matrices from the first one of the call.
    let nan = tracker.push(&with_nan).unwrap_err();
    assert!(matches!(
        nan,
        Error::NotFinite {
            matrix: 1,
            row: 1,
            column: 1,
            ..
        }
    ));
    let singular = tracker.push(&indefinite).unwrap_err();
    assert!(matches!(
        singular,
        Error::NotPositiveDefinite {
            matrix: Some(1),
            ..
        }
    ));
    let error = tracker.push(&asymmetric).unwrap_err();
    assert!(matches!(error, Error::Asymmetric { matrix: 0, .. }));
    assert!(matches!(tracker.push(&[]), Err(Error::Shape { .. })));
    assert!(matches!(
        tracker.push(&[1.0; 10]),
        Err(Error::Length { .. })
    ));
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let valid = &generated.data[10 * 9..];
    let mut weighted = |w: &[f64]| tracker.push_with(valid, Some(w), &mut silent).unwrap_err();
    assert!(matches!(
        weighted(&[1.0]),
        Error::WeightsLength {
            expected: 2,
            actual: 1
        }
    ));
    assert!(matches!(
        weighted(&[1.0, -1.0]),
        Error::Weight { index: 1, .. }
    ));
    assert!(matches!(
        weighted(&[f64::NAN, 1.0]),
        Error::Weight { index: 0, .. }
    ));
    assert_eq!(before, (tracker.b().cloned(), tracker.matrices()));
}

#[test]
fn settings_out_of_range_are_named() {
    let named = |settings: TrackerSettings| match Tracker::<f64>::new(3, settings) {
        Err(Error::Setting { setting, .. }) => setting,
        other => panic!("{other:?}"),
    };
    assert_eq!(named(settings_with(0, 0.9)), Setting::TrackerWindow);
    for forgetting in [0.0, -0.5, 1.01, f64::NAN] {
        assert_eq!(named(settings_with(10, forgetting)), Setting::Forgetting);
    }
    let solve = Settings::default().tol(0.0);
    assert_eq!(
        named(TrackerSettings {
            solve,
            ..settings_with(10, 0.9)
        }),
        Setting::Tol
    );
    let settings = TrackerSettings {
        shrinkage: 2.0,
        ..settings_with(10, 0.9)
    };
    assert_eq!(named(settings), Setting::Shrinkage);
    // An empty tracker, and one whose only matrix has weight zero.
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let mut tracker = Tracker::new(1, settings_with(10, 0.9)).unwrap();
    assert!(tracker.is_empty() && tracker.b().is_none());
    let none = tracker
        .push_with(&[1.0], Some(&[0.0]), &mut silent)
        .unwrap_err();
    assert_eq!(none, Error::WeightsZero);
    assert!(matches!(
        Tracker::<f64>::new(0, TrackerSettings::default()),
        Err(Error::Shape { .. })
    ));
}
