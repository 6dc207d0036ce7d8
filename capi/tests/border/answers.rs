//! Answers are those of the library.

use std::ffi::c_void;

use codiag::synthetic::{Synthetic, indefinite};
use codiag::{Criterion, MatrixSet, Method, SetOptions, Settings, c64, diagonalize};

use super::*;

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
                max_iter: 40,
                ..settings()
            };
            let expected = diagonalize(&own, &Settings::default().method(method).max_iter(40));
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
                (found.n_iter, found.records),
                (expected.n_iter, expected.history.len())
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
        init: codiag_init::Given as c_int,
        b: columns.0.as_ptr(),
        tol: 1e-7,
        ..settings()
    };
    let second = solve(by_columns, &again).unwrap();
    assert_eq!(info(second).n_iter, 0);
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
        tol: 1e-14,
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
            (record.iteration, record.stage, record.kind),
            (2, codiag_stage::Full as c_int, codiag_step::Sweep as c_int)
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
