//! The spectral start.
//!
//! After whitening by the mean, all matrices of an exactly diagonalisable set share one orthogonal
//! diagonaliser, and so do all their combinations. Taken are the few combinations of largest
//! variance over the set, whose eigenvalues are well spread: the eigenvectors of the first, then
//! refined by Jacobi rotations that diagonalise all of them together. It costs about as much as
//! one transform of the set, and saves many.
//!
//! The criterion does not depend on the scale of single matrices, so each is weighed down by its
//! size s_i = tr(C̄⁻¹Cⁱ)/p. Whitening by a Cholesky factor makes the start free of channels' units.

use super::{SplitMix, eigen};
use crate::linalg::kernels::{LANES, packed, packed_len, turn_pair};
use crate::linalg::{self, Matrix};
use crate::{Error, MatrixSet};

/// Subspace iterations: the combinations need not be exact.
const ITERATIONS: usize = 3;
/// Sweeps of Jacobi rotations at most, and the smallest angle worth a rotation.
const SWEEPS: usize = 3;
const ANGLE: f64 = 0.01;

/// The start; other seeds end in other combinations.
pub(super) fn start(set: &MatrixSet, seed: u64) -> Result<Matrix, Error> {
    let p = set.dimension();
    let singular = Error::StartSingular {
        problem: "a whitener of a singular mean",
    };
    let factor = linalg::cholesky(set.mean()).ok_or(singular.clone())?;
    let whitener = linalg::inverse(&factor);
    let inverse_mean = linalg::product(&whitener.transpose(), &whitener);
    let inverse_sizes = set.inverse_sizes(&inverse_mean);
    let balanced_mean = set.combination(&inverse_sizes);
    let factor = linalg::cholesky(&balanced_mean).ok_or(singular)?;
    let whitener = linalg::inverse(&factor);

    // As many as a set of n matrices can tell apart.
    let count = LANES.min(p).min(set.len() / 6).max(1);
    let mut random = SplitMix(seed);
    let mut combinations: Vec<Matrix> = (0..count)
        .map(|_| {
            let mut noise = Matrix::from_fn(p, p, |_, _| random.next());
            symmetrize(&mut noise);
            noise
        })
        .collect();
    for _ in 0..ITERATIONS {
        // S_k ← Σ_i w_i ⟨Dⁱ − I, S_k⟩ (Dⁱ − I), where Dⁱ = W Cⁱ Wᵀ / s_i has the mean I. The Dⁱ
        // are never formed: ⟨Dⁱ, S⟩ = ⟨Cⁱ, Wᵀ S W⟩ / s_i.
        let pulled: Vec<Matrix> = combinations
            .iter()
            .map(|s| congruent(s, &whitener.transpose()))
            .collect();
        let sums = set.correlate(&pulled, &inverse_sizes);
        for (s, sum) in combinations.iter_mut().zip(sums) {
            let trace: f64 = (0..p).map(|a| s[(a, a)]).sum();
            *s = congruent(&sum, &whitener);
            (0..p).for_each(|a| s[(a, a)] -= trace);
            symmetrize(s);
        }
        orthonormalize(&mut combinations);
    }
    let (_, vectors) = eigen(&combinations[0])?;
    let turned: Vec<Matrix> = combinations
        .iter()
        .map(|s| congruent(s, &vectors))
        .collect();
    let rotation = jacobi(&turned, vectors);
    Ok(linalg::product(&rotation, &whitener))
}

/// M S Mᵀ.
fn congruent(s: &Matrix, m: &Matrix) -> Matrix {
    linalg::product_transposed(&linalg::product(m, s), m)
}

fn symmetrize(s: &mut Matrix) {
    for a in 0..s.rows() {
        for b in 0..a {
            let mean = 0.5 * (s[(a, b)] + s[(b, a)]);
            (s[(a, b)], s[(b, a)]) = (mean, mean);
        }
    }
}

/// Gram–Schmidt; what depends on the others (as all do if all matrices are alike) becomes zero.
fn orthonormalize(matrices: &mut [Matrix]) {
    for k in 0..matrices.len() {
        let (done, rest) = matrices.split_at_mut(k);
        let own = &mut rest[0];
        let before = own.norm();
        // Twice is enough.
        for other in done.iter().chain(done.iter()) {
            let share = own.dot(other);
            linalg::add_multiple(own.as_mut_slice(), -share, other.as_slice());
        }
        let norm = own.norm();
        let factor = if norm > 1e-12 * before {
            1.0 / norm
        } else {
            0.0
        };
        own.as_mut_slice().iter_mut().for_each(|x| *x *= factor);
    }
}

/// Continues `rotation` by the Jacobi rotations that make the matrices, already turned by it, most
/// diagonal together (Cardoso & Souloumiac 1996). They are kept as a block of LANES matrices.
fn jacobi(matrices: &[Matrix], mut rotation: Matrix) -> Matrix {
    let p = rotation.rows();
    let mut block = vec![0.0; packed_len(p) * LANES];
    for (k, matrix) in matrices.iter().enumerate() {
        for a in 0..p {
            for b in 0..=a {
                block[packed(a, b) * LANES + k] = matrix[(a, b)];
            }
        }
    }
    for _ in 0..SWEEPS {
        let mut turned = false;
        for a in 1..p {
            for b in 0..a {
                let angle = pair_angle(&block, a, b);
                if angle.abs() <= ANGLE {
                    continue;
                }
                turned = true;
                let (s, c) = angle.sin_cos();
                turn_pair(p, &mut block, LANES, (a, b), (c, s));
                for column in 0..p {
                    let (x, y) = (rotation[(a, column)], rotation[(b, column)]);
                    rotation[(a, column)] = c * x + s * y;
                    rotation[(b, column)] = c * y - s * x;
                }
            }
        }
        if !turned {
            break;
        }
    }
    rotation
}

/// The angle that minimises Σ_k (S_k)_ab² over rotations of the pair.
fn pair_angle(block: &[f64], a: usize, b: usize) -> f64 {
    let row = |a, b| &block[packed(a, b) * LANES..][..LANES];
    let (aa, bb, ab) = (row(a, a), row(b, b), row(a, b));
    let (mut on, mut off) = (0.0, 0.0);
    for k in 0..LANES {
        let (difference, twice) = (aa[k] - bb[k], 2.0 * ab[k]);
        on += difference * difference - twice * twice;
        off += 2.0 * difference * twice;
    }
    0.5 * off.atan2(on + on.hypot(off))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, amari_distance};

    #[test]
    fn an_exact_set_is_diagonalised_by_the_start() {
        for (n, p) in [(5, 3), (40, 10), (100, 20)] {
            let made = Synthetic::new(n, p, 0.0, 4);
            let b = start(&made.set().unwrap(), 0).unwrap();
            assert!(amari_distance(&b, &made.mixing) < 1e-7, "n {n} p {p}");
        }
    }

    #[test]
    fn jacobi_finds_a_common_rotation() {
        let p = 5;
        let e = Matrix::from_fn(p, p, |a, b| 0.3 * (a as f64 - b as f64));
        let q = linalg::rotation_exponential(&e);
        let diagonals = [[1.0, 5.0, 2.0, -3.0, 4.0], [2.0, 2.0, -1.0, 0.5, 2.0]];
        let matrices: Vec<Matrix> = diagonals
            .iter()
            .map(|d| congruent(&Matrix::diagonal(d), &q.transpose()))
            .collect();
        let rotation = jacobi(&matrices, Matrix::identity(p));
        let off: f64 = matrices
            .iter()
            .map(|m| {
                let d = congruent(m, &rotation);
                let diagonal: f64 = (0..p).map(|a| d[(a, a)].powi(2)).sum();
                d.dot(&d) - diagonal
            })
            .sum();
        // Angles below 0.01 are left alone.
        assert!(off < 0.05, "{off}");
    }

    #[test]
    fn alike_matrices_have_a_start() {
        let data: Vec<f64> = [2.0, 0.5, 0.5, 1.0].repeat(12);
        let set = MatrixSet::new(&data, 12, 2).unwrap();
        assert!(start(&set, 0).unwrap().is_finite());
    }
}
