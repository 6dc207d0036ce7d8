//! Rank reduction: fewer sources than channels.

use codiag::backend::Chunk;
use codiag::cluster::Worker;
use codiag::synthetic::amari_distance;
use codiag::{
    Criterion, Init, Matrix, MatrixSet, Method, Rank, Reduction, Scalar, SetOptions, Settings,
    diagonalize,
};

use super::{Number, distance, number, options, real_and_complex, solve};

real_and_complex!(
    reduced_set_is_recovered_in_channel_coordinates,
    rank_is_that_of_the_matrices_not_of_their_mean,
    workers_share_the_reduction_of_the_set,
);

/// Matrices Cⁱ = L Mⁱ Lᴴ of three sources in five channels, and L.
fn embedded<T: Scalar>(data: &[T]) -> (Vec<T>, Matrix<T>) {
    let embedding = Matrix::from_fn(5, 3, |a, b| number::<T>(4 * a + b + 1));
    let embedded = data.chunks_exact(9).flat_map(|matrix| {
        let c = Matrix::from_rows(3, 3, matrix.to_vec());
        (&(&embedding * &c) * &embedding.adjoint()).into_vec()
    });
    (embedded.collect(), embedding)
}

fn reduced_set_is_recovered_in_channel_coordinates<T: Number>() {
    let n = 30;
    let (data, mixing) = T::mixed(n, 3, 0.0, 2);
    let (data, embedding) = embedded(&data);
    for criterion in [Criterion::LeastSquares, Criterion::Frobenius] {
        let options = SetOptions::default()
            .criterion(criterion)
            .n_components(Rank::Auto);
        let set = MatrixSet::with_options(&data, n, 5, &options).unwrap();
        assert_eq!((set.channels(), set.dimension()), (5, 3));
        let result = diagonalize(&set, &Settings::default()).unwrap();
        assert!(result.status.is_converged());
        assert_eq!((result.b.rows(), result.b.columns()), (3, 5));
        // The result is accepted as a start, in channel coordinates.
        let warm = Settings::default().init(Init::given(&result.b));
        let warm = diagonalize(&set, &warm.tol(1e-7)).unwrap();
        assert_eq!(warm.n_iter, 0);
        let identity = Matrix::<T>::identity(3);
        assert!(distance(&(&result.b * &result.a), &identity) < 1e-11);
        if criterion == Criterion::Frobenius {
            let gram = &result.b * &result.b.adjoint();
            assert!(distance(&gram, &identity) < 1e-12);
            continue;
        }
        assert!(result.loss.abs() < 1e-12);
        assert!(amari_distance(&result.b, &(&embedding * &mixing)) < 1e-9);
        // A has columns of unit norm in channel coordinates and fits the original matrices.
        let a = &result.a;
        let fit = |i: usize, x: usize, y: usize| -> T {
            let terms = (0..3).map(|k| a[(x, k)] * a[(y, k)].conj() * result.powers[(i, k)]);
            terms.sum()
        };
        for (i, matrix) in data.chunks_exact(25).enumerate() {
            for (k, x) in matrix.iter().enumerate() {
                assert!((fit(i, k / 5, k % 5) - *x).abs() < 1e-9);
            }
        }
        let norm: f64 = (0..5).map(|c| a[(c, 1)].norm_sqr()).sum();
        assert!((norm - 1.0).abs() < 1e-12);
        let from_disk = T::from_disk(&T::file(&data, n, 5), &options, &Settings::default());
        assert!(amari_distance(&from_disk.b, &result.a) < 1e-9);
    }
}

fn rank_is_that_of_the_matrices_not_of_their_mean<T: Number>() {
    // Two matrices of rank 1 with mean zero.
    let data = [1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0].map(T::from_real);
    let set = |rank| MatrixSet::with_options(&data, 2, 2, &options().n_components(rank));
    assert_eq!(set(Rank::Auto).unwrap().dimension(), 1);
    let error = set(Rank::Exactly(2)).unwrap_err().to_string();
    assert!(error.contains("2 for a set of rank 1"), "{error}");
    // Noisy matrices have full rank and are reduced to their leading dimensions.
    let (noisy, _) = T::mixed(20, 6, 0.3, 3);
    let reduced = options().n_components(Rank::Exactly(4));
    let set = MatrixSet::with_options(&noisy, 20, 6, &reduced).unwrap();
    let result = solve(&set, Method::Newton);
    assert!(result.status.is_converged() && result.b.rows() == 4);
    // Zero matrices are not reduced.
    let zeros = MatrixSet::with_options(&[T::ZERO; 18], 2, 3, &options().n_components(Rank::Auto));
    assert_eq!(zeros.unwrap().dimension(), 3);
}

fn workers_share_the_reduction_of_the_set<T: Number>() {
    let n = 40;
    let (data, _) = embedded(&T::mixed(n, 3, 0.2, 7).0);
    let options = options().n_components(Rank::Auto);
    let set = MatrixSet::with_options(&data, n, 5, &options).unwrap();
    let expected = solve(&set, Method::Newton);
    let chunks = [(0, 15), (15, n)].map(|(first, end)| {
        let own = &data[first * 25..end * 25];
        Chunk::new(own, end - first, 5, first, &options).unwrap()
    });
    let mut sum = Matrix::<T>::zeros(5, 5);
    for chunk in &chunks {
        let fraction = chunk.weight() / n as f64;
        let own = chunk.range_sum();
        sum = Matrix::from_fn(5, 5, |a, b| sum[(a, b)] + own[(a, b)] * fraction);
    }
    // Products are not exactly symmetric in floating point.
    let sum = Matrix::from_fn(5, 5, |a, b| (sum[(a, b)] + sum[(b, a)].conj()) * 0.5);
    let reduction = Reduction::of_sum(Criterion::LeastSquares, &sum, Rank::Auto).unwrap();
    let worker =
        |chunk| Worker::of_chunks(vec![chunk], Some(reduction.filters()), Some(1)).unwrap();
    let workers = chunks.map(worker);
    let settings = Settings::default();
    let result = T::from_workers(&workers, Some(reduction.clone()), &settings);
    assert!((result.loss - expected.loss).abs() < 1e-11);
    assert!(amari_distance(&result.b, &expected.a) < 1e-6);
}
