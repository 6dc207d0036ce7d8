//! Options of sets, recordings and threads.

use codiag::synthetic::Synthetic;
use codiag::{MatrixSet, Settings, diagonalize};

use super::*;

#[test]
fn n_components_weights_and_n_jobs_reach_the_rust_library() {
    let (n, p) = (40, 6);
    let generated = Synthetic::new(n, p, 0.1, 2).data;
    // A seventh channel is the sum of the others.
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
    let data: Vec<f64> = generated.chunks_exact(p * p).flat_map(lift).collect();
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
            (codiag_set_n_components(set), codiag_set_n_channels(set)),
            (p, p + 1)
        );
        let result = solve(set, &settings()).unwrap();
        let found = info(result);
        assert_eq!((found.n_components, found.n_channels), (p, p + 1));
        let residuals = numbers::<f64>(codiag_result_residuals(result), n);
        let total: f64 = weights.iter().sum();
        let mean: f64 = residuals
            .iter()
            .zip(&weights)
            .map(|(r, w)| r * w / total)
            .sum();
        assert!((mean - found.loss).abs() < 1e-10);
        // A result outlives its set.
        codiag_set_free(set);
        assert!(
            numbers::<f64>(codiag_result_b(result), p * (p + 1))
                .iter()
                .all(|x| x.is_finite())
        );
        codiag_result_free(result);
        assert_eq!(codiag_release_threads(), 0);
    }
}

#[test]
fn matrices_of_recordings_match_the_rust_library() {
    let simulated = codiag::signals::simulate::nonstationary(3, 10, 200, 0);
    let (channels, samples) = (simulated.channels, simulated.samples);
    let column_major = transposed(&simulated.data, channels, samples);
    for (layout, data) in [(ROW, &simulated.data), (COLUMN, &column_major)] {
        let mut recording: codiag_recording = unsafe { std::mem::zeroed() };
        unsafe { codiag_recording_init(&raw mut recording, size_of_val(&recording)) };
        (recording.data, recording.n_channels, recording.n_samples) =
            (data.as_ptr(), channels, samples);
        recording.layout = layout;
        let view = codiag::signals::RecordingView::new(&simulated.data, channels, samples).unwrap();
        let plain = codiag::signals::CovarianceOptions::default();
        let mut covariances = vec![0.0; 10 * 9];
        let code = unsafe {
            codiag_segment_covariances(&raw const recording, 10, covariances.as_mut_ptr())
        };
        assert_eq!(code, 0);
        let segments =
            codiag::signals::Segments::default().length(codiag::signals::SegmentLength::Count(10));
        let expected = codiag::signals::segment_covariances(&view, &segments, &plain).unwrap();
        assert_eq!(covariances, expected.data);
        let lags = [1_usize, 2, 5];
        let mut lagged = vec![0.0; 3 * 9];
        let out = lagged.as_mut_ptr();
        assert_eq!(
            unsafe { codiag_lagged_covariances(&raw const recording, lags.as_ptr(), 3, out) },
            0
        );
        let expected =
            codiag::signals::lagged_covariances(&view, &codiag::signals::Lags::new(lags), &plain);
        assert_eq!(lagged, expected.unwrap().data);
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
        let expected = codiag::signals::cumulants(&view, number, &[], &plain).unwrap();
        assert_eq!(matrices, expected.matrices.data);
        let row_major = if layout == ROW {
            whitener
        } else {
            transposed(&whitener, 3, 2)
        };
        assert_eq!(row_major, expected.whitener.as_slice());
        let out = lagged.as_mut_ptr();
        assert_eq!(
            unsafe { codiag_lagged_covariances(&raw const recording, lags.as_ptr(), 0, out) },
            8
        );
        recording.n_samples = 0;
        let code = unsafe { codiag_segment_covariances(&raw const recording, 10, out) };
        assert_eq!(code, codiag_error::Recording as c_int);
    }
}

#[test]
fn several_threads_can_solve_one_set() {
    struct Shared(*mut codiag_set);
    unsafe impl Sync for Shared {}
    let data = Synthetic::new(30, 5, 0.1, 0).data;
    let shared = Shared(set(&data, 30, 5, ROW, &options()).unwrap());
    let losses: Vec<f64> = std::thread::scope(|scope| {
        let shared = &shared;
        let one = || {
            scope.spawn(move || {
                let result = solve(shared.0, &settings()).unwrap();
                let loss = info(result).loss;
                unsafe { codiag_result_free(result) };
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
fn stability_matches_the_rust_library_in_both_layouts() {
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
        let result = solve(set, &asked).unwrap();
        let summary = info(result);
        assert_eq!(summary.n_trials, expected.matches.rows());
        assert_eq!(summary.n_trial_starts, expected.starts);
        let values: &[f64] = numbers(unsafe { codiag_result_stability(result) }, p);
        assert_eq!(values, expected.values);
        let matches: &[f64] = numbers(
            unsafe { codiag_result_matches(result) },
            summary.n_trials * p,
        );
        let row_major = match layout {
            ROW => matches.to_vec(),
            _ => transposed(matches, p, summary.n_trials),
        };
        assert_eq!(row_major, expected.matches.as_slice());
        unsafe { codiag_result_free(result) };

        asked.sort_by = codiag_sort_by::Stability as c_int;
        let sorted = solve(set, &asked).unwrap();
        let values: &[f64] = numbers(unsafe { codiag_result_stability(sorted) }, p);
        assert!(values.windows(2).all(|pair| pair[0] >= pair[1]));
        unsafe { codiag_result_free(sorted) };

        // Settings of a program that was compiled with a header without these fields.
        asked.size = std::mem::offset_of!(codiag_settings, n_resamples);
        asked.n_restarts = 0;
        let result = solve(set, &asked).unwrap();
        assert_eq!(info(result).n_trials, 0);
        assert!(unsafe { codiag_result_stability(result) }.is_null());
        assert!(unsafe { codiag_result_matches(result) }.is_null());
        unsafe {
            codiag_result_free(result);
            codiag_set_free(set);
        }
    }
}
