//! Agreement of results from disk and in memory.

use super::*;

#[test]
fn every_method_and_option_agrees_with_memory() {
    let (n, p) = (700, 12);
    let generated = Synthetic::new(n, p, 0.1, 3);
    let npy = Npy::double(&generated.data, n, p);
    let weights: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
    let plain = SetOptions::default();
    let settings = Settings::default().tol(TOLERANCE);
    let cases = [
        ("newton", plain.clone(), settings.clone()),
        (
            "quasi-newton",
            plain.clone(),
            settings
                .clone()
                .method(Method::QuasiNewton)
                .init(Init::Whitener),
        ),
        (
            "orthogonal",
            plain.clone(),
            settings.clone().orthogonal(true),
        ),
        (
            "orthogonal quasi-newton",
            plain.clone(),
            settings
                .clone()
                .orthogonal(true)
                .method(Method::QuasiNewton)
                .max_iter(30),
        ),
        (
            "weights",
            plain.clone().weights(Some(weights)),
            settings.clone(),
        ),
        ("shrinkage", plain.clone().shrinkage(0.01), settings.clone()),
        (
            "rank",
            plain.clone().n_components(Rank::Exactly(7)),
            settings.clone(),
        ),
        ("restarts", plain, settings.clone().n_restarts(2)),
    ];
    for (name, options, settings) in cases {
        let set = MatrixSet::with_options(&generated.data, n, p, &options).unwrap();
        let smallest = smallest_memory_limit(npy.open(), &options);
        for settings in [settings.clone(), without_hessian_memory(&settings)] {
            let expected = diagonalize(&set, &settings).unwrap();
            for memory in [smallest, Memory(2 * smallest.0), Memory(1 << 30)] {
                let found = solve(&npy, memory, &options, &settings);
                assert_results_agree(&found, &expected, ROUNDING, &format!("{name} in {memory}"));
            }
        }
        let result = solve(&npy, Memory(1 << 30), &options, &settings);
        assert_eq!((result.powers.rows(), result.residuals.len()), (n, n));
    }
}

#[test]
fn rank_deficient_set_is_reduced_as_in_memory() {
    let (n, p, r) = (60, 9, 6);
    let generated = Synthetic::new(n, r, 0.1, 5);
    let embedding = Matrix::from_fn(p, r, |a, b| {
        f64::from(u8::from(a == b)) + 0.1 * (a * b) as f64
    });
    let embedded: Vec<f64> = generated
        .data
        .chunks_exact(r * r)
        .flat_map(|c| {
            let entry = |x: usize, y: usize| {
                let mut sum = 0.0;
                for a in 0..r {
                    for b in 0..r {
                        sum += embedding[(x, a)] * c[a * r + b] * embedding[(y, b)];
                    }
                }
                sum
            };
            Matrix::from_fn(p, p, entry).into_vec()
        })
        .collect();
    let npy = Npy::double(&embedded, n, p);
    let full = OnDisk::new(npy.open(), Memory(1 << 30), &SetOptions::default());
    let error = full.err().unwrap().to_string();
    assert!(
        error.contains("matrix 0 is not positive definite"),
        "{error}"
    );
    assert!(error.contains("Rank::Exactly(6)"), "{error}");
    let options = SetOptions::default().n_components(Rank::Auto);
    let set = MatrixSet::with_options(&embedded, n, p, &options).unwrap();
    let settings = Settings::default().tol(TOLERANCE);
    let expected = diagonalize(&set, &settings).unwrap();
    for memory in [smallest_memory_limit(npy.open(), &options), Memory(1 << 30)] {
        let found = solve(&npy, memory, &options, &settings);
        assert_eq!(found.b.rows(), r);
        assert_results_agree(&found, &expected, ROUNDING, "rank auto");
    }
}

#[test]
fn all_set_sizes_agree_with_memory() {
    // One block and several, with and without a remainder.
    for (n, p) in [
        (1, 3),
        (7, 1),
        (300, 2),
        (5000, 3),
        (1300, 5),
        (90, 30),
        (30, 70),
    ] {
        let generated = Synthetic::new(n, p, 0.1, 11);
        let npy = Npy::double(&generated.data, n, p);
        let options = SetOptions::default();
        let settings = Settings::default().tol(TOLERANCE);
        for settings in [settings.clone(), without_hessian_memory(&settings)] {
            // In memory, the first Hessians of larger matrices are in single precision.
            let single = p >= 20 && settings.hessian_memory > 0;
            let first_steps = if single { SINGLE_PRECISION } else { ROUNDING };
            let expected = diagonalize(&generated.set().unwrap(), &settings).unwrap();
            for memory in [smallest_memory_limit(npy.open(), &options), Memory(1 << 30)] {
                let found = solve(&npy, memory, &options, &settings);
                assert_results_agree(
                    &found,
                    &expected,
                    first_steps,
                    &format!("n {n} p {p} in {memory}"),
                );
            }
        }
    }
}

#[test]
fn results_are_bitwise_equal_for_all_threads_and_memory_limits() {
    let (n, p) = (2000, 20);
    let generated = Synthetic::new(n, p, 0.1, 2);
    let npy = Npy::double(&generated.data, n, p);
    let with = |threads: usize, memory: Memory| {
        let options = SetOptions::default().n_jobs(Some(threads));
        solve(&npy, memory, &options, &Settings::default())
    };
    let one = with(1, Memory(1 << 30));
    let smallest = smallest_memory_limit(npy.open(), &SetOptions::default());
    for (threads, memory) in [
        (2, 1 << 30),
        (3, 3 * smallest.0),
        (7, 20 * smallest.0),
        (1, 4 * smallest.0),
    ] {
        let other = with(threads, Memory(memory));
        assert_eq!(one.b, other.b, "{threads} threads in {memory}");
        assert_eq!(one.loss, other.loss);
    }
}

#[test]
fn other_precisions_and_byte_orders_are_read() {
    let (n, p) = (1200, 6);
    let generated = Synthetic::new(n, p, 0.1, 8);
    let single: Vec<f32> = generated.data.iter().map(|x| *x as f32).collect();
    let data: Vec<f64> = single.iter().map(|x| f64::from(*x)).collect();
    let set = MatrixSet::new(&data, n, p).unwrap();
    let settings = Settings::default().tol(TOLERANCE);
    let expected = diagonalize(&set, &settings).unwrap();
    let files = [
        Npy::new(
            "<f4",
            (n, p),
            &single
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<u8>>(),
        ),
        Npy::new(
            ">f4",
            (n, p),
            &single
                .iter()
                .flat_map(|x| x.to_be_bytes())
                .collect::<Vec<u8>>(),
        ),
        Npy::new(
            ">f8",
            (n, p),
            &data
                .iter()
                .flat_map(|x| x.to_be_bytes())
                .collect::<Vec<u8>>(),
        ),
    ];
    for npy in files {
        let options = SetOptions::default();
        let smallest = smallest_memory_limit(npy.open(), &options);
        let found = solve(&npy, smallest, &options, &settings);
        assert_results_agree(&found, &expected, ROUNDING, "another type");
        let in_memory = npy.open().read_set(&options).unwrap();
        assert_eq!(in_memory.mean(), set.mean());
    }
}

#[test]
fn complex_files_of_all_precisions_and_byte_orders_agree_with_memory() {
    let (n, p) = (2000, 6);
    let generated = Synthetic::complex(n, p, 0.1, 4);
    let parts: Vec<f64> = generated.data.iter().flat_map(|z| [z.re, z.im]).collect();
    let single: Vec<f32> = parts.iter().map(|x| *x as f32).collect();
    let rounded: Vec<c64> = single
        .chunks_exact(2)
        .map(|z| c64::new(f64::from(z[0]), f64::from(z[1])))
        .collect();
    let bytes = |of: &dyn Fn(&f64) -> [u8; 8]| parts.iter().flat_map(of).collect::<Vec<u8>>();
    let singles = |of: &dyn Fn(&f32) -> [u8; 4]| single.iter().flat_map(of).collect::<Vec<u8>>();
    let cases = [
        ("<c16", bytes(&|x| x.to_le_bytes()), &generated.data),
        (">c16", bytes(&|x| x.to_be_bytes()), &generated.data),
        ("<c8", singles(&|x| x.to_le_bytes()), &rounded),
        (">c8", singles(&|x| x.to_be_bytes()), &rounded),
    ];
    let settings = Settings::default().tol(TOLERANCE);
    let mut observer = |_: &Record, _: &Matrix<c64>| ControlFlow::Continue(());
    for (descr, bytes, data) in cases {
        let npy = Npy::new(descr, (n, p), &bytes);
        assert!(npy.open().is_complex());
        let options = SetOptions::default();
        let expected = diagonalize(
            &MatrixSet::with_options(data, n, p, &options).unwrap(),
            &settings,
        )
        .unwrap();
        let in_memory = npy.open().read_complex_set(&options).unwrap();
        assert_eq!(diagonalize(&in_memory, &settings).unwrap().b, expected.b);
        let mut last: Option<Matrix<c64>> = None;
        for (memory, threads) in [(3_000_000, 1), (4_000_000, 2), (1 << 30, 1)] {
            let options = options.clone().n_jobs(threads);
            let mut set = OnDisk::complex(npy.open(), Memory(memory), &options).unwrap();
            let result =
                codiag::diagonalize_with_backend(&mut set, &settings, &mut observer).unwrap();
            assert_eq!(result.status, expected.status, "{descr}");
            assert!((result.loss - expected.loss).abs() < 1e-11);
            let pairs = result.b.as_slice().iter().zip(expected.b.as_slice());
            let difference = pairs.fold(0.0, |m, (x, y)| f64::max(m, (x - y).norm()));
            assert!(difference < SAME_MINIMUM * expected.b.norm(), "{descr}");
            // Results are bitwise equal for all memory limits and thread counts.
            assert!(last.is_none_or(|last| last == result.b), "{descr}");
            last = Some(result.b);
        }
    }
}

#[test]
fn real_files_can_be_read_as_complex_but_not_the_reverse() {
    let generated = Synthetic::new(30, 3, 0.3, 4);
    let npy = Npy::double(&generated.data, 30, 3);
    let set = npy.open().read_complex_set(&SetOptions::default()).unwrap();
    assert_eq!(set.matrix(7)[(2, 1)].re, generated.data[7 * 9 + 7]);
    let npy = Npy::new("<c16", (1, 1), &[0; 16]);
    for error in [
        npy.open().read_set(&SetOptions::default()).err(),
        OnDisk::new(npy.open(), Memory(1 << 30), &SetOptions::default()).err(),
    ] {
        let message = error.unwrap().to_string();
        assert!(
            message.ends_with("the numbers are complex (c16), but real numbers are needed"),
            "{message}"
        );
    }
}
