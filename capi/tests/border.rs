//! The functions that C calls, called from Rust: the same answers as the library's own, in both layouts,
//! for real and complex sets, and every mistake told apart.

#![allow(unsafe_code)] // what C does, done here
#![allow(clippy::undocumented_unsafe_blocks)] // pointers of slices that outlive the calls, throughout
#![allow(clippy::wildcard_imports)] // all that the header has

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use codiag::synthetic::{Synthetic, indefinite};
use codiag::{Criterion, MatrixSet, Method, SetOptions, Settings, c64, diagonalize};
use codiag_c::*;

const ROW: c_int = codiag_layout::RowMajor as c_int;
const COLUMN: c_int = codiag_layout::ColumnMajor as c_int;

fn message() -> String {
    let text = unsafe { CStr::from_ptr(codiag_last_error()) };
    text.to_str().unwrap().to_owned()
}

fn details() -> codiag_error_details {
    let mut details: codiag_error_details = unsafe { std::mem::zeroed() };
    details.size = size_of::<codiag_error_details>();
    assert_eq!(unsafe { codiag_last_error_details(&raw mut details) }, 0);
    details
}

fn options() -> codiag_set_options {
    let mut options: codiag_set_options = unsafe { std::mem::zeroed() };
    assert_eq!(
        unsafe { codiag_set_options_init(&raw mut options, size_of_val(&options)) },
        0
    );
    options
}

fn settings() -> codiag_settings {
    let mut settings: codiag_settings = unsafe { std::mem::zeroed() };
    assert_eq!(
        unsafe { codiag_settings_init(&raw mut settings, size_of_val(&settings)) },
        0
    );
    settings
}

fn info(answer: *const codiag_answer) -> codiag_info {
    let mut info: codiag_info = unsafe { std::mem::zeroed() };
    info.size = size_of::<codiag_info>();
    assert_eq!(unsafe { codiag_answer_info(answer, &raw mut info) }, 0);
    info
}

fn set(
    data: &[f64],
    n: usize,
    p: usize,
    layout: c_int,
    options: &codiag_set_options,
) -> Result<*mut codiag_set, c_int> {
    let mut set = ptr::dangling_mut();
    let code = unsafe { codiag_set_new(data.as_ptr(), n, p, layout, options, &raw mut set) };
    if code == 0 {
        Ok(set)
    } else {
        assert!(set.is_null());
        Err(code)
    }
}

fn complex_set(data: &[c64], n: usize, p: usize, layout: c_int) -> Result<*mut codiag_set, c_int> {
    let mut set = ptr::null_mut();
    let numbers = data.as_ptr().cast();
    let code = unsafe { codiag_set_new_complex(numbers, n, p, layout, &options(), &raw mut set) };
    if code == 0 { Ok(set) } else { Err(code) }
}

fn solve(set: *const codiag_set, settings: &codiag_settings) -> Result<*mut codiag_answer, c_int> {
    let mut answer = ptr::dangling_mut();
    let code = unsafe { codiag_diagonalize(set, settings, &raw mut answer) };
    if code == 0 {
        Ok(answer)
    } else {
        assert!(answer.is_null());
        Err(code)
    }
}

fn numbers<'a, T>(data: *const f64, length: usize) -> &'a [T] {
    unsafe { std::slice::from_raw_parts(data.cast(), length) }
}

/// Matrices one after the other, each turned.
fn turned<T: Copy>(data: &[T], rows: usize, columns: usize) -> Vec<T> {
    let each = data.chunks_exact(rows * columns);
    let entry = |matrix: &[T], k: usize| matrix[k % rows * columns + k / rows];
    each.flat_map(|matrix| {
        (0..rows * columns)
            .map(|k| entry(matrix, k))
            .collect::<Vec<T>>()
    })
    .collect()
}

#[test]
fn every_criterion_and_method_gives_the_answer_of_the_library() {
    let (n, p) = (30, 4);
    let definite = Synthetic::new(n, p, 0.1, 3).data;
    let (any, _) = indefinite(n, p, 0.1, 3);
    for criterion in Criterion::ALL {
        let data = if criterion.requires_definite() {
            &definite
        } else {
            &any
        };
        let code = unsafe { codiag_criterion_from_name(c_string(criterion.name()).as_ptr()) };
        let chosen = codiag_set_options {
            criterion: code,
            ..options()
        };
        let own = MatrixSet::with_options(data, n, p, &SetOptions::default().criterion(criterion))
            .unwrap();
        let set = set(data, n, p, ROW, &chosen).unwrap();
        for method in Method::ALL {
            let code = unsafe { codiag_method_from_name(c_string(method.name()).as_ptr()) };
            let given = codiag_settings {
                method: code,
                max_iterations: 40,
                ..settings()
            };
            let expected =
                diagonalize(&own, &Settings::default().method(method).max_iterations(40));
            let Ok(expected) = expected else {
                assert_eq!(solve(set, &given), Err(codiag_error::Conflict as c_int));
                assert!(message().contains("CODIAG_METHOD_"), "{}", message());
                continue;
            };
            let answer = solve(set, &given).unwrap();
            let found = info(answer);
            assert_eq!(
                found.loss,
                expected.loss,
                "{} {}",
                criterion.name(),
                method.name()
            );
            assert_eq!(
                (found.iterations, found.records),
                (expected.iterations, expected.history.len())
            );
            let status = unsafe { CStr::from_ptr(codiag_status_name(found.status)) };
            assert_eq!(status.to_str(), Ok(expected.status.name()));
            unsafe {
                assert_eq!(
                    numbers::<f64>(codiag_answer_b(answer), p * p),
                    expected.b.as_slice()
                );
                assert_eq!(
                    numbers::<f64>(codiag_answer_a(answer), p * p),
                    expected.a.as_slice()
                );
                assert_eq!(
                    numbers::<f64>(codiag_answer_powers(answer), n * p),
                    expected.powers.as_slice()
                );
                assert_eq!(
                    numbers::<f64>(codiag_answer_residuals(answer), n),
                    expected.residuals
                );
                assert_eq!(
                    numbers::<f64>(codiag_answer_start_losses(answer), 1),
                    expected.start_losses
                );
                assert_eq!(
                    codiag_answer_condition_number(answer),
                    expected.condition_number()
                );
                codiag_answer_free(answer);
            }
        }
        unsafe { codiag_set_free(set) };
    }
}

fn c_string(text: &str) -> std::ffi::CString {
    std::ffi::CString::new(text).unwrap()
}

#[test]
fn column_major_arrays_give_the_same_matrices_by_columns() {
    let (n, p) = (25, 5);
    let real = Synthetic::new(n, p, 0.1, 1).data;
    let by_rows = set(&real, n, p, ROW, &options()).unwrap();
    let by_columns = set(&turned(&real, p, p), n, p, COLUMN, &options()).unwrap();
    let answers = [by_rows, by_columns].map(|set| solve(set, &settings()).unwrap());
    assert_eq!(info(answers[1]).layout, COLUMN);
    let parts = |answer: *mut codiag_answer| unsafe {
        (
            numbers::<f64>(codiag_answer_b(answer), p * p).to_vec(),
            numbers::<f64>(codiag_answer_a(answer), p * p).to_vec(),
            numbers::<f64>(codiag_answer_powers(answer), n * p).to_vec(),
        )
    };
    let (rows, columns) = (parts(answers[0]), parts(answers[1]));
    assert_eq!(turned(&rows.0, p, p), columns.0);
    assert_eq!(turned(&rows.1, p, p), columns.1);
    assert_eq!(turned(&rows.2, n, p), columns.2);
    // What comes out can go in again: the start is the answer.
    let again = codiag_settings {
        start: codiag_start::Given as c_int,
        b: columns.0.as_ptr(),
        ..settings()
    };
    let second = solve(by_columns, &again).unwrap();
    assert_eq!(info(second).iterations, 0);
    unsafe {
        answers
            .into_iter()
            .chain([second])
            .for_each(|answer| codiag_answer_free(answer));
        [by_rows, by_columns]
            .into_iter()
            .for_each(|set| codiag_set_free(set));
    }
}

/// By columns a Hermitian matrix lies as its conjugate: B must not be the conjugate of the right one.
#[test]
fn complex_matrices_by_columns_are_not_conjugated() {
    let (n, p) = (25, 4);
    let made = Synthetic::complex(n, p, 0.1, 1);
    let expected = diagonalize(
        &MatrixSet::new(&made.data, n, p).unwrap(),
        &Settings::default(),
    )
    .unwrap();
    for (layout, data) in [(ROW, made.data.clone()), (COLUMN, turned(&made.data, p, p))] {
        let set = complex_set(&data, n, p, layout).unwrap();
        let answer = solve(set, &settings()).unwrap();
        assert_eq!(
            (info(answer).is_complex, info(answer).loss),
            (1, expected.loss)
        );
        let b = numbers::<c64>(unsafe { codiag_answer_b(answer) }, p * p);
        let by_rows = if layout == ROW {
            b.to_vec()
        } else {
            turned(b, p, p)
        };
        assert_eq!(by_rows, expected.b.as_slice());
        // D of the transform, and the loss there.
        let mut d = vec![c64::default(); n * p * p];
        let (mut loss, mut gradient) = (0.0, vec![c64::default(); p * p]);
        unsafe {
            let b = b.as_ptr().cast();
            assert_eq!(codiag_set_transform(set, b, p, d.as_mut_ptr().cast()), 0);
            assert_eq!(
                codiag_set_evaluate(set, b, &raw mut loss, gradient.as_mut_ptr().cast()),
                0
            );
        }
        let own = expected.transform(&MatrixSet::new(&made.data, n, p).unwrap());
        let by_rows = if layout == ROW { d } else { turned(&d, p, p) };
        assert_eq!(by_rows, own);
        assert!((loss - expected.loss).abs() < 1e-12);
        assert!(gradient.iter().all(|g| g.norm() < 1e-6));
        unsafe {
            codiag_answer_free(answer);
            codiag_set_free(set);
        }
    }
}

#[test]
fn callbacks_see_the_solve_and_may_stop_it() {
    struct Seen {
        iterations: Vec<usize>,
        last: Vec<f64>,
        most: usize,
    }
    unsafe extern "C" fn follow(
        record: *const codiag_record,
        b: *const f64,
        data: *mut c_void,
    ) -> c_int {
        let (seen, record) = unsafe { (&mut *data.cast::<Seen>(), *record) };
        assert_eq!(record.size, size_of::<codiag_record>());
        seen.iterations.push(record.iteration);
        seen.last = numbers(b, 9).to_vec();
        c_int::from(record.iteration == seen.most)
    }
    let data = Synthetic::new(20, 3, 0.3, 0).data;
    let set = set(&data, 20, 3, COLUMN, &options()).unwrap();
    let mut seen = Seen {
        iterations: Vec::new(),
        last: Vec::new(),
        most: 2,
    };
    let given = codiag_settings {
        method: codiag_method::Pham as c_int,
        canonical: 0,
        tolerance: 1e-14,
        callback: Some(follow),
        user_data: (&raw mut seen).cast(),
        ..settings()
    };
    let answer = solve(set, &given).unwrap();
    assert_eq!(seen.iterations, [0, 1, 2]);
    assert_eq!(info(answer).status, codiag_status::Stopped as c_int);
    // Not canonical, so what was seen last is what is returned, in the same layout.
    let b = numbers::<f64>(unsafe { codiag_answer_b(answer) }, 9);
    assert!(b.iter().zip(&seen.last).all(|(x, y)| (x - y).abs() < 1e-12));
    let mut record: codiag_record = unsafe { std::mem::zeroed() };
    record.size = size_of::<codiag_record>();
    unsafe {
        assert_eq!(codiag_answer_history(answer, 2, &raw mut record), 0);
        assert_eq!(
            (record.iteration, record.kind),
            (2, codiag_step::Sweep as c_int)
        );
        assert_eq!(
            codiag_answer_history(answer, 3, &raw mut record),
            codiag_error::Argument as c_int
        );
        assert_eq!(message(), "there is no record 3: the history has 3");
        codiag_answer_free(answer);
        codiag_set_free(set);
    }
}

#[test]
fn every_mistake_has_its_code_and_its_place() {
    let good = [2.0, 0.5, 0.5, 1.0, 1.0, 0.1, 0.1, 3.0];
    let with = |k: usize, value: f64| {
        let mut data = good;
        data[k] = value;
        data
    };
    let refused = |data: &[f64], layout, options: &codiag_set_options| {
        (set(data, 2, 2, layout, options).unwrap_err(), details())
    };
    for (layout, row, column) in [(ROW, 0, 1), (COLUMN, 1, 0)] {
        let (code, found) = refused(&with(5, f64::NAN), layout, &options());
        assert_eq!(code, codiag_error::NotFinite as c_int);
        assert_eq!((found.matrix, found.row, found.column), (1, row, column));
        assert!(found.value.is_nan() && found.code == code);
    }
    let (code, found) = refused(&with(1, 0.4), ROW, &options());
    assert_eq!((code, found.matrix), (codiag_error::Asymmetric as c_int, 0));
    let (code, found) = refused(&with(0, 0.1), ROW, &options());
    assert_eq!(
        (code, found.matrix),
        (codiag_error::NotPositiveDefinite as c_int, 0)
    );
    assert!(found.value < 0.0);
    let weights = [1.0, -2.0];
    let (code, found) = refused(
        &good,
        ROW,
        &codiag_set_options {
            weights: weights.as_ptr(),
            ..options()
        },
    );
    assert_eq!(
        (code, found.matrix, found.value),
        (codiag_error::Weights as c_int, 1, -2.0)
    );
    let (code, _) = refused(
        &good,
        ROW,
        &codiag_set_options {
            shrinkage: 2.0,
            ..options()
        },
    );
    assert_eq!(
        (code, message().as_str()),
        (8, "shrinkage must be between 0 and 1, got 2")
    );
    let (code, found) = refused(&good, 7, &options());
    assert_eq!(
        (code, message().as_str()),
        (1, "layout is 7, which is no codiag_layout")
    );
    assert_eq!(found.matrix, CODIAG_NONE);
    let (code, _) = refused(
        &good,
        ROW,
        &codiag_set_options {
            criterion: -3,
            ..options()
        },
    );
    assert_eq!(
        (code, message().as_str()),
        (1, "criterion is -3, which is no codiag_criterion")
    );
    let (code, _) = refused(
        &good,
        ROW,
        &codiag_set_options {
            symmetrize: 2,
            ..options()
        },
    );
    assert_eq!(
        (code, message().as_str()),
        (1, "symmetrize must be 0 or 1, got 2")
    );
    assert_eq!(
        set(&good, 0, 2, ROW, &options()),
        Err(codiag_error::Shape as c_int)
    );
    assert_eq!(
        set(&good, usize::MAX / 2, 2, ROW, &options()),
        Err(codiag_error::Shape as c_int)
    );
    assert_eq!(
        message(),
        format!(
            "{} x 2 x 2 numbers are more than can be addressed",
            usize::MAX / 2
        )
    );
    let hermitian = [1.0, 1.0, 0.0, 1.0].map(|x| c64::new(x, 0.0));
    assert_eq!(
        complex_set(&hermitian, 1, 2, COLUMN),
        Err(codiag_error::Asymmetric as c_int)
    );
    assert_eq!((details().row, details().column), (1, 0));
}

#[test]
fn null_misaligned_and_strange_sizes_are_refused() {
    let data = [1.0, 0.0, 0.0, 2.0];
    unsafe {
        let (mut set, mut answer) = (ptr::null_mut(), ptr::null_mut());
        let new =
            |data: *const f64, options: *const codiag_set_options, set: *mut *mut codiag_set| {
                codiag_set_new(data, 1, 2, ROW, options, set)
            };
        assert_eq!(new(ptr::null(), ptr::null(), &raw mut set), 1);
        assert_eq!(message(), "the data is NULL");
        assert_eq!(new(data.as_ptr().byte_add(1), ptr::null(), &raw mut set), 1);
        assert_eq!(
            message(),
            "the data is not aligned: its address is no multiple of 8"
        );
        assert_eq!(new(data.as_ptr(), ptr::null(), ptr::null_mut()), 1);
        let newer = codiag_set_options {
            size: size_of::<codiag_set_options>() + 8,
            ..options()
        };
        assert_eq!(new(data.as_ptr(), &raw const newer, &raw mut set), 1);
        assert!(message().ends_with("a newer codiag.h"), "{}", message());
        let forgotten = codiag_set_options {
            size: 0,
            ..options()
        };
        assert_eq!(new(data.as_ptr(), &raw const forgotten, &raw mut set), 1);
        assert!(message().ends_with("init function"), "{}", message());
        assert_eq!(new(data.as_ptr(), ptr::null(), &raw mut set), 0);
        let given = codiag_settings {
            start: codiag_start::Given as c_int,
            ..settings()
        };
        assert_eq!(
            codiag_diagonalize(set, &raw const given, &raw mut answer),
            1
        );
        assert_eq!(message(), "b is NULL");
        let forgotten = codiag_settings {
            b: data.as_ptr(),
            ..settings()
        };
        assert_eq!(
            codiag_diagonalize(set, &raw const forgotten, &raw mut answer),
            1
        );
        assert_eq!(
            codiag_diagonalize(ptr::null(), ptr::null(), &raw mut answer),
            1
        );
        assert_eq!(message(), "the set is NULL");
        assert_eq!(
            codiag_set_evaluate(set, data.as_ptr(), ptr::null_mut(), ptr::null_mut()),
            1
        );
        assert_eq!(
            codiag_set_transform(set, data.as_ptr(), 0, ptr::null_mut()),
            2
        );
        assert!(codiag_answer_b(ptr::null()).is_null());
        assert!(codiag_answer_condition_number(ptr::null()).is_nan());
        assert_eq!(
            (codiag_set_length(set), codiag_set_length(ptr::null())),
            (1, 0)
        );
        codiag_set_free(set);
        codiag_set_free(ptr::null_mut());
        codiag_answer_free(ptr::null_mut());
    }
}

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
        rank: CODIAG_RANK_AUTO,
        weights: weights.as_ptr(),
        threads: 2,
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
        let view = codiag::signals::View::new(&made.data, channels, samples).unwrap();
        let plain = codiag::signals::CovarianceOptions::default();
        let mut covariances = vec![0.0; 10 * 9];
        let code = unsafe {
            codiag_segment_covariances(&raw const recording, 10, covariances.as_mut_ptr())
        };
        assert_eq!(code, 0);
        let segments = codiag::signals::Segments::default().cut(codiag::signals::Cut::Count(10));
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
        let number = codiag::signals::Components::Number(2);
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
