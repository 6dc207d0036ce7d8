//! Results equal those of the Rust library.

use std::ffi::c_void;

use codiag::synthetic::{Synthetic, indefinite};
use codiag::{Criterion, MatrixSet, Method, SetOptions, Settings, c64, diagonalize};

use super::*;

#[test]
fn results_match_the_rust_library_for_all_criteria_and_methods() {
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
        let rust_set =
            MatrixSet::with_options(data, n, p, &SetOptions::default().criterion(criterion))
                .unwrap();
        let set = set(data, n, p, ROW, &chosen).unwrap();
        for method in Method::ALL {
            let code = unsafe { codiag_method_from_name(c_string(method.name()).as_ptr()) };
            let given = codiag_settings {
                method: code,
                max_iter: 40,
                ..settings()
            };
            let expected = diagonalize(&rust_set, &Settings::default().method(method).max_iter(40));
            let Ok(expected) = expected else {
                assert_eq!(solve(set, &given), Err(codiag_error::Conflict as c_int));
                assert!(message().contains("CODIAG_METHOD_"), "{}", message());
                continue;
            };
            let result = solve(set, &given).unwrap();
            let found = info(result);
            assert_eq!(
                found.loss,
                expected.loss,
                "{} {}",
                criterion.name(),
                method.name()
            );
            assert_eq!(
                (found.n_iter, found.n_records),
                (expected.n_iter, expected.history.len())
            );
            let status = unsafe { CStr::from_ptr(codiag_status_name(found.status)) };
            assert_eq!(status.to_str(), Ok(expected.status.name()));
            unsafe {
                assert_eq!(
                    numbers::<f64>(codiag_result_b(result), p * p),
                    expected.b.as_slice()
                );
                assert_eq!(
                    numbers::<f64>(codiag_result_a(result), p * p),
                    expected.a.as_slice()
                );
                assert_eq!(
                    numbers::<f64>(codiag_result_powers(result), n * p),
                    expected.powers.as_slice()
                );
                assert_eq!(
                    numbers::<f64>(codiag_result_residuals(result), n),
                    expected.residuals
                );
                assert_eq!(
                    numbers::<f64>(codiag_result_start_losses(result), 1),
                    expected.start_losses
                );
                assert_eq!(
                    codiag_result_condition_number(result),
                    expected.condition_number()
                );
                codiag_result_free(result);
            }
        }
        unsafe { codiag_set_free(set) };
    }
}

fn c_string(text: &str) -> std::ffi::CString {
    std::ffi::CString::new(text).unwrap()
}

#[test]
fn column_major_input_gives_column_major_results() {
    let (n, p) = (25, 5);
    let real = Synthetic::new(n, p, 0.1, 1).data;
    let row_major = set(&real, n, p, ROW, &options()).unwrap();
    let column_major = set(&transposed(&real, p, p), n, p, COLUMN, &options()).unwrap();
    let results = [row_major, column_major].map(|set| solve(set, &settings()).unwrap());
    assert_eq!(info(results[1]).layout, COLUMN);
    let parts = |result: *mut codiag_result| unsafe {
        (
            numbers::<f64>(codiag_result_b(result), p * p).to_vec(),
            numbers::<f64>(codiag_result_a(result), p * p).to_vec(),
            numbers::<f64>(codiag_result_powers(result), n * p).to_vec(),
        )
    };
    let (rows, columns) = (parts(results[0]), parts(results[1]));
    assert_eq!(transposed(&rows.0, p, p), columns.0);
    assert_eq!(transposed(&rows.1, p, p), columns.1);
    assert_eq!(transposed(&rows.2, n, p), columns.2);
    // A result is accepted as a starting point, from which no iteration is needed.
    let again = codiag_settings {
        init: codiag_init::Given as c_int,
        b: columns.0.as_ptr(),
        tol: 1e-7,
        ..settings()
    };
    let second = solve(column_major, &again).unwrap();
    assert_eq!(info(second).n_iter, 0);
    unsafe {
        results
            .into_iter()
            .chain([second])
            .for_each(|result| codiag_result_free(result));
        [row_major, column_major]
            .into_iter()
            .for_each(|set| codiag_set_free(set));
    }
}

/// A column-major Hermitian matrix is the conjugate of the row-major one, but B must not be
/// conjugated.
#[test]
fn column_major_complex_results_are_not_conjugated() {
    let (n, p) = (25, 4);
    let synthetic = Synthetic::complex(n, p, 0.1, 1);
    let expected = diagonalize(
        &MatrixSet::new(&synthetic.data, n, p).unwrap(),
        &Settings::default(),
    )
    .unwrap();
    for (layout, data) in [
        (ROW, synthetic.data.clone()),
        (COLUMN, transposed(&synthetic.data, p, p)),
    ] {
        let set = complex_set(&data, n, p, layout).unwrap();
        let result = solve(set, &settings()).unwrap();
        assert_eq!(
            (info(result).is_complex, info(result).loss),
            (1, expected.loss)
        );
        let b = numbers::<c64>(unsafe { codiag_result_b(result) }, p * p);
        let row_major = if layout == ROW {
            b.to_vec()
        } else {
            transposed(b, p, p)
        };
        assert_eq!(row_major, expected.b.as_slice());
        // The transformed matrices, the loss and the gradient at B.
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
        let expected_d = expected.transform(&MatrixSet::new(&synthetic.data, n, p).unwrap());
        let row_major = if layout == ROW {
            d
        } else {
            transposed(&d, p, p)
        };
        assert_eq!(row_major, expected_d);
        assert!((loss - expected.loss).abs() < 1e-12);
        assert!(gradient.iter().all(|g| g.norm() < 1e-6));
        unsafe {
            codiag_result_free(result);
            codiag_set_free(set);
        }
    }
}

#[test]
fn callback_sees_each_iteration_and_can_stop_the_solve() {
    struct Seen {
        iterations: Vec<usize>,
        last: Vec<f64>,
        most: usize,
    }
    unsafe extern "C" fn record_iterate(
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
        callback: Some(record_iterate),
        user_data: (&raw mut seen).cast(),
        ..settings()
    };
    let result = solve(set, &given).unwrap();
    assert_eq!(seen.iterations, [0, 1, 2]);
    assert_eq!(info(result).status, codiag_status::Interrupted as c_int);
    // Without normalization, the last B passed to the callback is returned, in the same layout.
    let b = numbers::<f64>(unsafe { codiag_result_b(result) }, 9);
    assert!(b.iter().zip(&seen.last).all(|(x, y)| (x - y).abs() < 1e-12));
    let mut record: codiag_record = unsafe { std::mem::zeroed() };
    record.size = size_of::<codiag_record>();
    unsafe {
        assert_eq!(codiag_result_history(result, 2, &raw mut record), 0);
        assert_eq!(
            (record.iteration, record.stage, record.kind),
            (2, codiag_stage::Full as c_int, codiag_step::Sweep as c_int)
        );
        assert_eq!(
            codiag_result_history(result, 3, &raw mut record),
            codiag_error::Argument as c_int
        );
        assert_eq!(message(), "index is 3, but the history has 3 records");
        codiag_result_free(result);
        codiag_set_free(set);
    }
}
