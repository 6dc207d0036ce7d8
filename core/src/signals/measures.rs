//! What is known of the sources of a separation.

use super::Rival;
use crate::Diagonalization;
use crate::linalg::{self, Matrix, Triangle};

/// The mean of every column.
pub(super) fn means(powers: &Matrix) -> Vec<f64> {
    let n = powers.rows() as f64;
    (0..powers.columns())
        .map(|k| (0..powers.rows()).map(|i| powers[(i, k)] / n).sum())
        .collect()
}

/// The sum of squares of every column.
pub(super) fn energies(powers: &Matrix) -> Vec<f64> {
    (0..powers.columns())
        .map(|k| (0..powers.rows()).map(|i| powers[(i, k)].powi(2)).sum())
        .collect()
}

/// Brings the sources to unit variance, from filters of whitened components.
pub(super) fn normalize(answer: &mut Diagonalization, in_white: &Matrix) {
    let norm = |k: usize| linalg::dot(in_white.row(k), in_white.row(k)).sqrt();
    let norms: Vec<f64> = (0..in_white.rows()).map(norm).collect();
    let Diagonalization { b, a, powers, .. } = answer;
    for (k, norm) in norms.iter().enumerate() {
        b.row_mut(k).iter_mut().for_each(|x| *x /= norm);
        (0..a.rows()).for_each(|c| a[(c, k)] *= norm);
        (0..powers.rows()).for_each(|i| powers[(i, k)] /= norm * norm);
    }
}

/// How much powers vary: the standard deviation of every column, divided by its mean.
pub(super) fn nonstationarity(powers: &Matrix) -> Vec<f64> {
    let n = powers.rows() as f64;
    let means = means(powers);
    let variance = |k: usize| -> f64 {
        let deviation = |i: usize| powers[(i, k)] / means[k] - 1.0;
        (0..powers.rows()).map(|i| deviation(i).powi(2) / n).sum()
    };
    (0..powers.columns()).map(|k| variance(k).sqrt()).collect()
}

/// The kurtosis of the sources V z of whitened components z, from the diagonals of V Q_ij Vᵀ for all
/// cumulant matrices: Σ_ij v_i v_j v Q_ij vᵀ for each row v of V.
pub(super) fn kurtosis(v: &Matrix, diagonals: &Matrix) -> Vec<f64> {
    let pairs = || Triangle::new(v.columns()).pairs();
    let one = |a: usize| {
        let terms = pairs().zip(0..diagonals.rows()).map(|((i, j), q)| {
            // Q_ij with i ≠ j stands for two, and is multiplied by √2 already.
            let factor = if i == j {
                1.0
            } else {
                std::f64::consts::SQRT_2
            };
            factor * v[(a, i)] * v[(a, j)] * diagonals[(q, a)]
        });
        terms.sum()
    };
    (0..v.rows()).map(one).collect()
}

/// The rivals by the likelihood: margins Γ_ab Γ_ba − 1 with Γ_ab = Σ_i Dⁱ_bb / Dⁱ_aa / n.
pub(super) fn rivals_by_ratios(powers: &Matrix) -> Vec<Option<Rival>> {
    let (n, r) = (powers.rows(), powers.columns());
    let inverse = Matrix::from_fn(r, n, |a, i| 1.0 / (powers[(i, a)] * n as f64));
    let gamma = linalg::product(&inverse, powers);
    rivals(r, |a, b| gamma[(a, b)] * gamma[(b, a)] - 1.0)
}

/// The rivals over rotations: margins Σ_i (Dⁱ_aa − Dⁱ_bb)².
pub(super) fn rivals_by_differences(diagonals: &Matrix) -> Vec<Option<Rival>> {
    let gram = linalg::product(&diagonals.transpose(), diagonals);
    let margin = |a: usize, b: usize| gram[(a, a)] + gram[(b, b)] - 2.0 * gram[(a, b)];
    rivals(diagonals.columns(), |a, b| margin(a, b).max(0.0))
}

fn rivals(r: usize, margin: impl Fn(usize, usize) -> f64) -> Vec<Option<Rival>> {
    let closest = |a: usize| {
        let others = (0..r).filter(|b| *b != a).map(|b| Rival {
            source: b,
            margin: margin(a, b),
        });
        others.min_by(|x, y| x.margin.total_cmp(&y.margin))
    };
    (0..r).map(closest).collect()
}
