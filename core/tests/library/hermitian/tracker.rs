//! Tracking of complex matrices.

use codiag::synthetic::{Synthetic, amari_distance};
use codiag::{
    Error, Init, Matrix, MatrixSet, SetOptions, Settings, Tracker, TrackerSettings, c64,
    diagonalize,
};

use super::{antihermitian, distance, exponential, near_identity};

const P: usize = 5;

fn settings(window: usize, forgetting: f64) -> TrackerSettings {
    TrackerSettings {
        window,
        forgetting,
        solve: Settings::default().tol(1e-10),
        ..TrackerSettings::default()
    }
}

/// The matrices U(t) Cᵗ U(t)ᴴ with a slowly rotating unitary U(t), and the mixing at each time.
fn drifting(n: usize) -> (Vec<Vec<c64>>, Vec<Matrix<c64>>) {
    let generated = Synthetic::complex(n, P, 0.05, 4);
    let generator = antihermitian(P, 9);
    let matrices = generated.data.chunks_exact(P * P).enumerate();
    matrices
        .map(|(t, c)| {
            let u = exponential(&generator, 0.2 * t as f64 / n as f64);
            let c = Matrix::from_rows(P, P, c.to_vec());
            let moved = &(&u * &c) * &u.adjoint();
            (moved.into_vec(), &u * &generated.mixing)
        })
        .unzip()
}

#[test]
fn update_solves_the_window() {
    let generated = Synthetic::complex(60, P, 0.2, 1);
    let mut tracker = Tracker::new(P, settings(30, 0.9)).unwrap();
    for matrix in generated.data.chunks_exact(P * P) {
        assert!(tracker.push(matrix).unwrap().status.is_converged());
    }
    assert_eq!(tracker.len(), 30);
    let window = &generated.data[30 * P * P..];
    assert_eq!(tracker.matrices(), window);
    let options = SetOptions::default().weights(tracker.decayed_weights());
    let set = MatrixSet::with_options(window, 30, P, &options).unwrap();
    let b = tracker.b().unwrap();
    let start = Settings::default().init(Init::given(b)).tol(1e-9);
    assert_eq!(diagonalize(&set, &start).unwrap().n_iter, 0);
}

#[test]
fn components_keep_their_order_and_phases_while_the_mixing_drifts() {
    let (matrices, mixings) = drifting(400);
    let mut tracker = Tracker::new(P, settings(60, 0.95)).unwrap();
    tracker.push(&matrices[..60].concat()).unwrap();
    let mut before = tracker.b().unwrap().clone();
    for t in 60..400 {
        let result = tracker.push(&matrices[t]).unwrap();
        assert!(amari_distance(&result.b, &mixings[t]) < 0.1, "{t}");
        assert!(distance(&(&result.b * &result.a), &Matrix::identity(P)) < 1e-10);
        // A row with another position or phase would change by about its own norm.
        let moved = distance(&result.b, &before);
        assert!(moved < 0.3 * before.norm() / 5.0, "{t}: {moved}");
        before = result.b;
    }
}

#[test]
fn resumed_tracker_gives_equal_results() {
    let generated = Synthetic::complex(40, P, 0.2, 2);
    let (first, rest) = generated.data.split_at(25 * P * P);
    let mut tracker = Tracker::new(P, settings(20, 0.95)).unwrap();
    tracker.push(first).unwrap();
    let (matrices, weights) = (tracker.matrices(), tracker.weights());
    let (settings, b) = (settings(20, 0.95), tracker.b().cloned());
    let mut resumed = Tracker::resume(P, settings, &matrices, &weights, b).unwrap();
    let (x, y) = (tracker.push(rest).unwrap(), resumed.push(rest).unwrap());
    assert_eq!(x.b, y.b);
}

#[test]
fn given_start_sets_order_and_phases_and_must_match_the_matrices() {
    let generated = Synthetic::complex(40, P, 0.05, 3);
    let result = diagonalize(&generated.set().unwrap(), &Settings::default()).unwrap();
    // The rows of the result in another order and with other phases.
    let phase = |a: usize| c64::from_polar(1.0, 0.3 + a as f64);
    let b = Matrix::from_fn(P, P, |a, c| phase(a) * result.b[((a + 1) % P, c)]);
    let mut given = settings(40, 1.0);
    given.solve.init = Init::given(&b);
    let found = Tracker::new(P, given)
        .unwrap()
        .push(&generated.data)
        .unwrap();
    assert!(distance(&found.b, &b) < 1e-6 * b.norm());

    let mut complex = settings(40, 1.0);
    complex.solve.init = Init::given(&near_identity(P, 0.1));
    let real = Synthetic::new(40, P, 0.05, 3).data;
    let result = Tracker::new(P, complex).unwrap().push(&real);
    assert!(matches!(result, Err(Error::Init { .. })));
}
