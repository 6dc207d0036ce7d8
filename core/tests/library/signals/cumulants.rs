//! Cumulant matrices against naive sums.

use codiag::Matrix;
use codiag::signals::{
    Components, CovarianceOptions, Epochs, Lags, RecordingView, cumulants, epoch_cumulants,
    lagged_covariances,
};

use super::{assert_close, recording};

/// The cumulant matrices Q_ij of whitened rows z, by their definition.
fn naive_cumulants(z: &Matrix) -> Vec<f64> {
    let (p, samples) = (z.rows(), z.columns());
    let delta = |a: usize, b: usize| f64::from(u8::from(a == b));
    let mut all = Vec::new();
    for i in 0..p {
        for j in 0..=i {
            let factor = if i == j { 1.0 } else { 2_f64.sqrt() };
            for k in 0..p {
                for l in 0..p {
                    let moment: f64 = (0..samples)
                        .map(|t| z[(i, t)] * z[(j, t)] * z[(k, t)] * z[(l, t)] / samples as f64)
                        .sum();
                    let gaussian = delta(i, j) * delta(k, l)
                        + delta(i, k) * delta(j, l)
                        + delta(i, l) * delta(j, k);
                    all.push(factor * (moment - gaussian));
                }
            }
        }
    }
    all
}

/// The recording without the excluded samples, minus its mean.
fn centered(data: &[f64], samples: usize, excluded: &std::ops::Range<usize>) -> Matrix {
    let kept: Vec<usize> = (0..samples).filter(|t| !excluded.contains(t)).collect();
    let p = data.len() / samples;
    let rows = (0..p).flat_map(|c| {
        let mean = kept.iter().map(|t| data[c * samples + t]).sum::<f64>() / kept.len() as f64;
        let row: Vec<f64> = kept.iter().map(|t| data[c * samples + t] - mean).collect();
        row
    });
    Matrix::from_rows(p, kept.len(), rows.collect())
}

#[test]
fn cumulants_match_naive_sums() {
    for (p, samples) in [(1, 50), (4, 700), (7, 300)] {
        let data = recording(p, samples);
        let view = RecordingView::new(&data, p, samples).unwrap();
        let excluded = 20..31;
        let options = CovarianceOptions::default();
        let spans = std::slice::from_ref(&excluded);
        let found = cumulants(&view, Components::All, spans, &options).unwrap();
        assert_eq!(found.matrices.n, p * (p + 1) / 2);
        let x = centered(&data, samples, &excluded);
        let z = &found.whitener * &x;
        let covariance = &z * &z.transpose();
        let unit: Vec<f64> = (0..p * p)
            .map(|k| {
                if k / p == k % p {
                    z.columns() as f64
                } else {
                    0.0
                }
            })
            .collect();
        assert_close(covariance.as_slice(), &unit, 1e-12);
        assert_close(&found.matrices.data, &naive_cumulants(&z), 1e-10);
    }
}

#[test]
fn each_epoch_is_centered() {
    let (n, p, samples) = (5, 3, 60);
    let data = recording(n, p * samples);
    let epochs = Epochs::new(&data, n, p, samples).unwrap();
    let options = CovarianceOptions::default();
    let found = epoch_cumulants(&epochs, Components::Count(2), &options).unwrap();
    let parts: Vec<Matrix> = (0..n)
        .map(|e| centered(&data[e * p * samples..][..p * samples], samples, &(0..0)))
        .collect();
    let x = Matrix::from_fn(p, n * samples, |c, t| parts[t / samples][(c, t % samples)]);
    let z = &found.whitener * &x;
    assert_eq!((z.rows(), found.matrices.n), (2, 3));
    assert_close(&found.matrices.data, &naive_cumulants(&z), 1e-10);
}

#[test]
fn lags_and_cumulants_are_bitwise_equal_for_all_thread_counts() {
    let (p, samples) = (24, 5000);
    let data = recording(p, samples);
    let view = RecordingView::new(&data, p, samples).unwrap();
    let compute = |threads| {
        let options = CovarianceOptions::default().n_jobs(threads);
        let lagged = lagged_covariances(&view, &Lags::new(1..=20), &options).unwrap();
        let found = cumulants(&view, Components::All, &[], &options).unwrap();
        (lagged.data, found.matrices.data)
    };
    assert_eq!(compute(1), compute(3));
}
