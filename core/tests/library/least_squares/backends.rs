//! Agreement of backends and thread counts, and unsupported options.

use codiag::backend::{Chunk, InMemory};
use codiag::cluster::Worker;
use codiag::error::Conflict;
use codiag::{Error, Hessian, Init, Matrix, MatrixSet, Method, Settings, diagonalize};

use super::{
    METHODS, Number, distance, near_identity, number, options, real_and_complex, set, set_of, solve,
};

real_and_complex!(
    results_are_bitwise_equal_for_all_thread_counts,
    disk_and_cluster_agree_with_memory,
    exact_hessian_from_disk_agrees_with_memory,
    unsupported_options_are_errors,
    starts_and_restarts_converge,
);

fn results_are_bitwise_equal_for_all_thread_counts<T: Number>() {
    let (n, p) = (700, 8);
    let (data, _) = T::mixed(n, p, 0.5, 7);
    for method in METHODS {
        let bits = |threads: usize| {
            let set = MatrixSet::with_options(&data, n, p, &options().n_jobs(threads)).unwrap();
            let result = solve(&set, method);
            (result.b.into_vec(), result.loss, result.n_iter)
        };
        assert_eq!(bits(1), bits(3), "{method:?}");
    }
}

fn disk_and_cluster_agree_with_memory<T: Number>() {
    let (n, p) = (300, 8);
    let cases = METHODS.map(|method| (method, 0.4));
    // With large residuals, Newton's method changes from the Gauss–Newton to the exact Hessian.
    for (method, sigma) in cases.into_iter().chain([(Method::Newton, 2.0)]) {
        let (data, _) = T::mixed(n, p, sigma, 5);
        let set = set_of(&data, p);
        // Start near a minimum, so that all solves converge to it.
        let near = Settings::default().tol(1e-2);
        let start = Init::given(&diagonalize(&set, &near).unwrap().b);
        let settings = Settings::default().method(method).init(start);
        let expected = diagonalize(&set, &settings).unwrap();
        assert!(expected.status.is_converged(), "{method:?}");
        let workers = [(0, 120), (120, n)].map(|(first, end)| {
            let own = &data[first * p * p..end * p * p];
            let chunk = Chunk::new(own, end - first, p, first, &options()).unwrap();
            Worker::of_chunks(vec![chunk], None, Some(1)).unwrap()
        });
        let from_disk = T::from_disk(&T::file(&data, n, p), &options(), &settings);
        for result in [from_disk, T::from_workers(&workers, None, &settings)] {
            assert_eq!(result.status, expected.status, "{method:?}");
            assert!((result.loss - expected.loss).abs() < 1e-11);
            let powers = result.powers.as_slice().iter();
            for (x, y) in powers.zip(expected.powers.as_slice()) {
                assert!((x - y).abs() < 1e-6 * (1.0 + y.abs()));
            }
            for (x, y) in result.residuals.iter().zip(&expected.residuals) {
                assert!((x - y).abs() < 1e-9);
            }
        }
    }
}

fn exact_hessian_from_disk_agrees_with_memory<T: Number>() {
    let (n, p) = (50, 5);
    let (data, _) = T::mixed(n, p, 1.0, 9);
    let b = near_identity(p, 2);
    let e = Matrix::from_fn(p, p, |x, y| number::<T>(4 + 3 * x + 7 * y));
    let mut memory = InMemory::new(&set_of(&data, p));
    let expected = super::hessian_product(&mut memory, &b, &e);
    let product = T::hessian_from_disk(&T::file(&data, n, p), &b, &e);
    assert!(distance(&product, &expected) < 1e-10 * expected.norm());
}

fn unsupported_options_are_errors<T: Number>() {
    let set = set::<T>(20, 4, 0.2, 1);
    let error = diagonalize(&set, &Settings::default().method(Method::Pham)).unwrap_err();
    assert!(error.to_string().contains("Method::Acdc"), "{error}");
    let orthogonal = diagonalize(&set, &Settings::default().orthogonal(true)).unwrap_err();
    assert_eq!(
        orthogonal,
        Error::Conflict(Conflict::OrthogonalLeastSquares)
    );
    let error = Hessian::at(&set, &near_identity(4, 4)).unwrap_err();
    assert_eq!(error, Error::Conflict(Conflict::LeastSquaresHessian));
}

fn starts_and_restarts_converge<T: Number>() {
    let set = set::<T>(20, 4, 0.2, 1);
    let result = solve(&set, Method::Newton);
    for start in [Init::Identity, Init::Whitener, Init::given(&result.b)] {
        let warm = diagonalize(&set, &Settings::default().init(start)).unwrap();
        assert!(warm.status.is_converged() && warm.loss >= result.loss - 1e-9);
    }
    let warm = Settings::default().init(Init::given(&result.b));
    let warm = diagonalize(&set, &warm.tol(1e-7)).unwrap();
    assert_eq!(warm.n_iter, 0);
    let several = diagonalize(&set, &Settings::default().n_restarts(2)).unwrap();
    assert!(several.start_losses.len() == 3 && several.loss <= result.loss + 1e-12);
    let margin = result.identifiability.unwrap().margin;
    assert!((0.0..=1.0).contains(&margin));
}
