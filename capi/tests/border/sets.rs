//! Options of sets, recordings and threads.

use codiag::synthetic::Synthetic;
use codiag::{MatrixSet, Settings, diagonalize};

use super::*;

#[test]
fn rank_weights_and_threads_reach_the_library() {
    let (n, p) = (40, 6);
    let made = Synthetic::new(n, p, 0.1, 2).data;
    // A seventh channel that is the sum of the others.
    let lift = |matrix: &[f64]| -> Vec<f64> {
        let entry = |a: usize, b: usize| -> f64 {
            let range = |k: usize| if k < p { k..k + 1 } else { 0..p };
            range(a)
                .flat_map(|x| range(b).map(move |y| (x, y)))
                .map(|(x, y)| matrix[x * p + y])
                .sum()
        };
        (0..(p + 1) * (p + 1))
            .map(|k| entry(k / (p + 1), k % (p + 1)))
            .collect()
    };
    let data: Vec<f64> = made.chunks_exact(p * p).flat_map(lift).collect();
    assert_eq!(
        set(&data, n, p + 1, ROW, &options()),
        Err(codiag_error::NotPositiveDefinite as c_int)
    );
    let found = details();
    assert_eq!(
        (found.remedy, found.rank),
        (codiag_remedy::Reduce as c_int, p)
    );
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
    let chosen = codiag_set_options {
        n_components: CODIAG_N_COMPONENTS_AUTO,
        weights: weights.as_ptr(),
        n_jobs: 2,
        ..options()
    };
    let set = set(&data, n, p + 1, COLUMN, &chosen).unwrap();
    unsafe {
        assert_eq!(
            (codiag_set_dimension(set), codiag_set_channels(set)),
            (p, p + 1)
        );
        let answer = solve(set, &settings()).unwrap();
        let found = info(answer);
        assert_eq!((found.components, found.channels), (p, p + 1));
        let residuals = numbers::<f64>(codiag_answer_residuals(answer), n);
        let total: f64 = weights.iter().sum();
        let mean: f64 = residuals
            .iter()
            .zip(&weights)
            .map(|(r, w)| r * w / total)
            .sum();
        assert!((mean - found.loss).abs() < 1e-10);
        // Answers outlive their sets.
        codiag_set_free(set);
        assert!(
            numbers::<f64>(codiag_answer_b(answer), p * (p + 1))
                .iter()
                .all(|x| x.is_finite())
        );
        codiag_answer_free(answer);
        assert_eq!(codiag_release_threads(), 0);
    }
}

#[test]
fn recordings_become_matrices() {
    let made = codiag::signals::simulate::nonstationary(3, 10, 200, 0);
    let (channels, samples) = (made.channels, made.samples);
    let turned = turned(&made.data, channels, samples);
    for (layout, data) in [(ROW, &made.data), (COLUMN, &turned)] {
        let mut recording: codiag_recording = unsafe { std::mem::zeroed() };
        unsafe { codiag_recording_init(&raw mut recording, size_of_val(&recording)) };
        (recording.data, recording.channels, recording.samples) =
            (data.as_ptr(), channels, samples);
        recording.layout = layout;
        let view = codiag::signals::RecordingView::new(&made.data, channels, samples).unwrap();
        let plain = codiag::signals::CovarianceOptions::default();
        let mut covariances = vec![0.0; 10 * 9];
        let code = unsafe {
            codiag_segment_covariances(&raw const recording, 10, covariances.as_mut_ptr())
        };
        assert_eq!(code, 0);
        let segments =
            codiag::signals::Segments::default().length(codiag::signals::SegmentLength::Count(10));
        let own = codiag::signals::segment_covariances(&view, &segments, &plain).unwrap();
        assert_eq!(covariances, own.data);
        let lags = [1_usize, 2, 5];
        let mut lagged = vec![0.0; 3 * 9];
        let out = lagged.as_mut_ptr();
        assert_eq!(
            unsafe { codiag_lagged_covariances(&raw const recording, lags.as_ptr(), 3, out) },
            0
        );
        let own =
            codiag::signals::lagged_covariances(&view, &codiag::signals::Lags::new(lags), &plain);
        assert_eq!(lagged, own.unwrap().data);
        let (mut matrices, mut whitener) = (vec![0.0; 3 * 4], vec![0.0; 2 * 3]);
        let code = unsafe {
            codiag_cumulants(
                &raw const recording,
                2,
                matrices.as_mut_ptr(),
                whitener.as_mut_ptr(),
            )
        };
        assert_eq!(code, 0);
        let number = codiag::signals::Components::Count(2);
        let own = codiag::signals::cumulants(&view, number, &[], &plain).unwrap();
        assert_eq!(matrices, own.matrices.data);
        let by_rows = if layout == ROW {
            whitener
        } else {
            self::turned(&whitener, 3, 2)
        };
        assert_eq!(by_rows, own.whitener.as_slice());
        let out = lagged.as_mut_ptr();
        assert_eq!(
            unsafe { codiag_lagged_covariances(&raw const recording, lags.as_ptr(), 0, out) },
            8
        );
        recording.samples = 0;
        let code = unsafe { codiag_segment_covariances(&raw const recording, 10, out) };
        assert_eq!(code, codiag_error::Recording as c_int);
    }
}

/// A set is read by several threads at once.
#[test]
fn sets_are_shared_by_threads() {
    struct Shared(*mut codiag_set);
    unsafe impl Sync for Shared {}
    let data = Synthetic::new(30, 5, 0.1, 0).data;
    let shared = Shared(set(&data, 30, 5, ROW, &options()).unwrap());
    let losses: Vec<f64> = std::thread::scope(|scope| {
        let shared = &shared;
        let one = || {
            scope.spawn(move || {
                let answer = solve(shared.0, &settings()).unwrap();
                let loss = info(answer).loss;
                unsafe { codiag_answer_free(answer) };
                loss
            })
        };
        let workers: Vec<_> = (0..4).map(|_| one()).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    assert!(losses.iter().all(|loss| *loss == losses[0]));
    unsafe { codiag_set_free(shared.0) };
}

#[test]
fn stability_is_that_of_the_library_in_both_layouts() {
    let (n, p) = (40, 4);
    let data = Synthetic::new(n, p, 0.1, 3).data;
    let library = MatrixSet::new(&data, n, p).unwrap();
    let expected =
        diagonalize(&library, &Settings::default().n_restarts(1).n_resamples(5)).unwrap();
    let expected = expected.stability.unwrap();
    for layout in [ROW, COLUMN] {
        let set = set(&data, n, p, layout, &options()).unwrap();
        let mut asked = settings();
        (asked.n_restarts, asked.n_resamples) = (1, 5);
        let answer = solve(set, &asked).unwrap();
        let known = info(answer);
        assert_eq!(known.trials, expected.matches.rows());
        assert_eq!(known.trial_starts, expected.starts);
        let values: &[f64] = numbers(unsafe { codiag_answer_stability(answer) }, p);
        assert_eq!(values, expected.values);
        let matches: &[f64] = numbers(unsafe { codiag_answer_matches(answer) }, known.trials * p);
        let by_rows = match layout {
            ROW => matches.to_vec(),
            _ => turned(matches, p, known.trials),
        };
        assert_eq!(by_rows, expected.matches.as_slice());
        unsafe { codiag_answer_free(answer) };

        // Settings of a program that was compiled before the field was there.
        asked.size = std::mem::offset_of!(codiag_settings, n_resamples);
        asked.n_restarts = 0;
        let answer = solve(set, &asked).unwrap();
        assert_eq!(info(answer).trials, 0);
        assert!(unsafe { codiag_answer_stability(answer) }.is_null());
        assert!(unsafe { codiag_answer_matches(answer) }.is_null());
        unsafe {
            codiag_answer_free(answer);
            codiag_set_free(set);
        }
    }
}
