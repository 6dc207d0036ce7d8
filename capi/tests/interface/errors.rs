//! Each error has its own code, location and message.

use super::*;

#[test]
#[allow(clippy::too_many_lines)] // one case after the other
fn errors_have_code_and_location() {
    let good = [2.0, 0.5, 0.5, 1.0, 1.0, 0.1, 0.1, 3.0];
    let with = |k: usize, value: f64| {
        let mut data = good;
        data[k] = value;
        data
    };
    let failure = |data: &[f64], layout, options: &codiag_set_options| {
        (set(data, 2, 2, layout, options).unwrap_err(), details())
    };
    for (layout, row, column) in [(ROW, 0, 1), (COLUMN, 1, 0)] {
        let (code, found) = failure(&with(5, f64::NAN), layout, &options());
        assert_eq!(code, codiag_error::NotFinite as c_int);
        assert_eq!((found.matrix, found.row, found.column), (1, row, column));
        assert!(found.value.is_nan() && found.code == code);
    }
    let (code, found) = failure(&with(1, 0.4), ROW, &options());
    assert_eq!((code, found.matrix), (codiag_error::Asymmetric as c_int, 0));
    let (code, found) = failure(&with(0, 0.1), ROW, &options());
    assert_eq!(
        (code, found.matrix),
        (codiag_error::NotPositiveDefinite as c_int, 0)
    );
    assert!(found.value < 0.0);
    let weights = [1.0, -2.0];
    let (code, found) = failure(
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
    let (code, _) = failure(
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
    let (code, found) = failure(&good, 7, &options());
    assert_eq!(
        (code, message().as_str()),
        (1, "layout is 7, which is not a value of codiag_layout")
    );
    assert_eq!(found.matrix, CODIAG_NONE);
    let (code, _) = failure(
        &good,
        ROW,
        &codiag_set_options {
            criterion: -3,
            ..options()
        },
    );
    assert_eq!(
        (code, message().as_str()),
        (
            1,
            "criterion is -3, which is not a value of codiag_criterion"
        )
    );
    let (code, _) = failure(
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
            "shape ({}, 2, 2) has more numbers than can be addressed",
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
fn null_and_misaligned_pointers_and_invalid_sizes_are_errors() {
    let data = [1.0, 0.0, 0.0, 2.0];
    unsafe {
        let (mut set, mut result) = (ptr::null_mut(), ptr::null_mut());
        let new =
            |data: *const f64, options: *const codiag_set_options, set: *mut *mut codiag_set| {
                codiag_set_new(data, 1, 2, ROW, options, set)
            };
        assert_eq!(new(ptr::null(), ptr::null(), &raw mut set), 1);
        assert_eq!(message(), "data is NULL");
        assert_eq!(new(data.as_ptr().byte_add(1), ptr::null(), &raw mut set), 1);
        assert_eq!(
            message(),
            "data is misaligned: its address is not a multiple of 8"
        );
        assert_eq!(new(data.as_ptr(), ptr::null(), ptr::null_mut()), 1);
        let too_large = codiag_set_options {
            size: size_of::<codiag_set_options>() + 8,
            ..options()
        };
        assert_eq!(new(data.as_ptr(), &raw const too_large, &raw mut set), 1);
        assert!(message().ends_with("a newer codiag.h"), "{}", message());
        let uninitialized = codiag_set_options {
            size: 0,
            ..options()
        };
        assert_eq!(
            new(data.as_ptr(), &raw const uninitialized, &raw mut set),
            1
        );
        assert!(
            message().ends_with("initialize it with codiag_set_options_init"),
            "{}",
            message()
        );
        assert_eq!(new(data.as_ptr(), ptr::null(), &raw mut set), 0);
        let by_stability = codiag_settings {
            sort_by: codiag_sort_by::Stability as c_int,
            ..settings()
        };
        let code = codiag_diagonalize(set, &raw const by_stability, &raw mut result);
        assert_eq!(code, codiag_error::Conflict as c_int);
        assert!(
            message().contains("CODIAG_SORT_BY_STABILITY"),
            "{}",
            message()
        );
        let given = codiag_settings {
            init: codiag_init::Given as c_int,
            ..settings()
        };
        assert_eq!(
            codiag_diagonalize(set, &raw const given, &raw mut result),
            1
        );
        assert_eq!(message(), "b is NULL");
        let unused_b = codiag_settings {
            b: data.as_ptr(),
            ..settings()
        };
        assert_eq!(
            codiag_diagonalize(set, &raw const unused_b, &raw mut result),
            1
        );
        assert_eq!(
            codiag_diagonalize(ptr::null(), ptr::null(), &raw mut result),
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
        assert!(codiag_result_b(ptr::null()).is_null());
        assert!(codiag_result_condition_number(ptr::null()).is_nan());
        assert_eq!(
            (
                codiag_set_n_matrices(set),
                codiag_set_n_matrices(ptr::null())
            ),
            (1, 0)
        );
        codiag_set_free(set);
        codiag_set_free(ptr::null_mut());
        codiag_result_free(ptr::null_mut());
    }
}

/// The message about a size of 0 names a function that exists and sets the size.
#[test]
fn error_of_struct_of_size_zero_names_its_init_function() {
    let data = [1.0, 0.0, 0.0, 2.0];
    unsafe {
        let set = set(&data, 1, 2, ROW, &options()).unwrap();
        let mut result = ptr::null_mut();
        assert_eq!(codiag_diagonalize(set, ptr::null(), &raw mut result), 0);
        let mut info: codiag_info = std::mem::zeroed();
        let mut record: codiag_record = std::mem::zeroed();
        let mut details: codiag_error_details = std::mem::zeroed();
        assert_eq!(codiag_result_info(result, &raw mut info), 1);
        assert!(message().ends_with("initialize it with codiag_info_init"));
        assert_eq!(codiag_result_history(result, 0, &raw mut record), 1);
        assert!(message().ends_with("initialize it with codiag_record_init"));
        assert_eq!(codiag_last_error_details(&raw mut details), 1);
        assert!(message().ends_with("initialize it with codiag_error_details_init"));
        assert_eq!(codiag_info_init(&raw mut info, size_of_val(&info)), 0);
        assert_eq!(codiag_result_info(result, &raw mut info), 0);
        assert_eq!((info.n_matrices, info.n_channels), (1, 2));
        let size = size_of_val(&record);
        assert_eq!(codiag_record_init(&raw mut record, size), 0);
        assert_eq!(codiag_result_history(result, 0, &raw mut record), 0);
        assert_eq!(record.size, size);
        let size = size_of_val(&details);
        assert_eq!(codiag_error_details_init(&raw mut details, size), 0);
        assert_eq!((details.code, details.matrix), (0, CODIAG_NONE));
        assert_eq!(codiag_last_error_details(&raw mut details), 0);
        assert_eq!(details.code, codiag_error::Argument as c_int);
        codiag_result_free(result);
        codiag_set_free(set);
    }
}

/// Error messages about recordings name only parameters of the C functions.
#[test]
fn errors_of_recordings_name_parameters_of_c() {
    let mut data: Vec<f64> = (0..40).map(|t| f64::from(t * t % 7)).collect();
    let mut out = vec![0.0; 1000];
    unsafe {
        let mut recording: codiag_recording = std::mem::zeroed();
        codiag_recording_init(&raw mut recording, size_of::<codiag_recording>());
        recording.data = data.as_ptr();
        (recording.n_channels, recording.n_samples) = (4, 10);
        let code = codiag_segment_covariances(&raw const recording, 5, out.as_mut_ptr());
        assert_eq!(code, codiag_error::Recording as c_int);
        let expected = "segment 0 has 2 samples, but a 4 x 4 matrix needs at least 5; use fewer";
        assert!(message().starts_with(expected), "{}", message());
        data[12] = f64::NAN;
        recording.data = data.as_ptr();
        let code = codiag_segment_covariances(&raw const recording, 1, out.as_mut_ptr());
        assert_eq!(code, codiag_error::NotFinite as c_int);
        let expected = "channel 1, sample 2 is NaN, not a finite number";
        assert!(message().starts_with(expected), "{}", message());
    }
}

/// Matrices whose fourth powers overflow are invalid input, not an internal error.
#[test]
fn overflowing_energy_is_an_input_error() {
    let options = codiag_set_options {
        criterion: codiag_criterion::Frobenius as c_int,
        ..options()
    };
    let code = set(&[1e100, 0.0, 0.0, 2e100], 1, 2, ROW, &options);
    assert_eq!(code, Err(codiag_error::NotFinite as c_int), "{}", message());
}

/// The cumulants of 700 components need about a terabyte.
#[test]
fn insufficient_memory_has_its_own_error_code() {
    let (channels, samples) = (700, 720);
    let data: Vec<f64> = (0..channels * samples)
        .map(|k| ((k * 7919 + k * k % 104_729) % 1009) as f64)
        .collect();
    let mut recording: codiag_recording = unsafe { std::mem::zeroed() };
    let code = unsafe { codiag_recording_init(&raw mut recording, size_of_val(&recording)) };
    assert_eq!(code, 0);
    (recording.data, recording.n_channels, recording.n_samples) =
        (data.as_ptr(), channels, samples);
    let (mut matrices, mut whitener) = ([0.0], [0.0]);
    let code = unsafe {
        codiag_cumulants(
            &raw const recording,
            channels,
            matrices.as_mut_ptr(),
            whitener.as_mut_ptr(),
        )
    };
    assert_eq!(code, codiag_error::Memory as c_int, "{}", message());
    let text = message();
    assert!(
        text.contains("of 700 components needs about 1.0 TB"),
        "{text}"
    );
    assert!(text.contains("; n_components = 40 needs"), "{text}");
}
