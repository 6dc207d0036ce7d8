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
use crate::Error;
use crate::linalg::kernels::{Congruence, LANES, congruence, packed, packed_len, turn_pair};
use crate::linalg::{self, Matrix};
use crate::matrices::WorkingSet;

/// Subspace iterations: the combinations need not be exact.
const ITERATIONS: usize = 3;
/// Sweeps of Jacobi rotations at most, and the smallest angle worth a rotation.
const SWEEPS: usize = 3;
const ANGLE: f64 = 0.01;

/// The start; other seeds end in other combinations.
pub(super) fn start<S: WorkingSet>(set: &mut S, seed: u64) -> Result<Matrix, Error> {
    let (n, p) = (set.summary().len, set.summary().dimension());
    let singular = Error::StartSingular {
        problem: "a whitener of a singular mean",
    };
    let factor = linalg::cholesky(&set.summary().mean).ok_or(singular.clone())?;
    let whitener = linalg::inverse(&factor);
    let inverse_mean = linalg::product(&whitener.transpose(), &whitener);
    let balanced_mean = set.balance(&inverse_mean)?;
    let factor = linalg::cholesky(&balanced_mean).ok_or(singular)?;
    let whitener = linalg::inverse(&factor);

    // As many as a set of n matrices can tell apart.
    let count = LANES.min(p).min(n / 6).max(1);
    let mut random = SplitMix(seed);
    let mut combinations = Eight::zeros(p);
    for row in combinations.entries.chunks_exact_mut(LANES) {
        row[..count].fill_with(|| random.next());
    }
    for _ in 0..ITERATIONS {
        // S_k ← Σ_i w_i ⟨Dⁱ − I, S_k⟩ (Dⁱ − I), where Dⁱ = W Cⁱ Wᵀ / s_i has the mean I. The Dⁱ
        // are never formed: ⟨Dⁱ, S⟩ = ⟨Cⁱ, Wᵀ S W⟩ / s_i.
        let traces = combinations.traces();
        let pulled = combinations.congruent(&whitener.transpose());
        let sums = Eight {
            p,
            entries: set.correlate(&pulled.entries)?,
        };
        combinations = sums.congruent(&whitener);
        combinations.subtract_from_diagonal(&traces);
        combinations.orthonormalize();
    }
    let (_, vectors) = eigen(&combinations.matrix(0))?;
    let rotation = jacobi(combinations.congruent(&vectors), vectors);
    Ok(linalg::product(&rotation, &whitener))
}

/// Eight symmetric matrices, kept as a block.
struct Eight {
    p: usize,
    entries: Vec<f64>,
}

impl Eight {
    fn zeros(p: usize) -> Self {
        Self {
            p,
            entries: vec![0.0; packed_len(p) * LANES],
        }
    }

    /// M S Mᵀ of each.
    fn congruent(&self, m: &Matrix) -> Self {
        let mut result = Self::zeros(self.p);
        let task = Congruence {
            transform: m,
            input: &self.entries,
            lanes: LANES,
            square: &mut result.entries,
            cross: None,
        };
        congruence(task, &mut Vec::new());
        result
    }

    fn diagonal(&self, a: usize) -> &[f64] {
        &self.entries[packed(a, a) * LANES..][..LANES]
    }

    fn traces(&self) -> [f64; LANES] {
        let mut traces = [0.0; LANES];
        for a in 0..self.p {
            let row = traces.iter_mut().zip(self.diagonal(a));
            row.for_each(|(trace, x)| *trace += x);
        }
        traces
    }

    fn subtract_from_diagonal(&mut self, numbers: &[f64; LANES]) {
        for a in 0..self.p {
            let row = &mut self.entries[packed(a, a) * LANES..][..LANES];
            row.iter_mut().zip(numbers).for_each(|(x, y)| *x -= y);
        }
    }

    fn matrix(&self, k: usize) -> Matrix {
        Matrix::from_fn(self.p, self.p, |a, b| {
            self.entries[packed(a, b) * LANES + k]
        })
    }

    /// Makes the eight orthonormal, by the Cholesky factor of their inner products, twice for
    /// accuracy. What depends on those before it (as all do if all matrices are alike) becomes zero.
    fn orthonormalize(&mut self) {
        for _ in 0..2 {
            let mut gram = [[0.0; LANES]; LANES];
            let (rows, _) = self.entries.as_chunks::<LANES>();
            for a in 0..self.p {
                for b in 0..=a {
                    let times = if a == b { 1.0 } else { 2.0 };
                    let row = &rows[packed(a, b)];
                    for j in 0..LANES {
                        for k in 0..LANES {
                            gram[j][k] += times * row[j] * row[k];
                        }
                    }
                }
            }
            // gram = L Lᵀ; the rows of the block become row · L⁻ᵀ, column by column.
            let mut factor = [[0.0; LANES]; LANES];
            for k in 0..LANES {
                let squares: f64 = factor[k][..k].iter().map(|x| x * x).sum();
                let pivot = gram[k][k] - squares;
                if pivot <= 1e-14 * gram[k][k] {
                    continue;
                }
                factor[k][k] = pivot.sqrt();
                for j in k + 1..LANES {
                    let dot: f64 = (0..k).map(|l| factor[j][l] * factor[k][l]).sum();
                    factor[j][k] = (gram[j][k] - dot) / factor[k][k];
                }
            }
            for row in self.entries.as_chunks_mut::<LANES>().0 {
                for k in 0..LANES {
                    let dot: f64 = (0..k).map(|l| factor[k][l] * row[l]).sum();
                    let pivot = factor[k][k];
                    row[k] = if pivot > 0.0 {
                        (row[k] - dot) / pivot
                    } else {
                        0.0
                    };
                }
            }
        }
    }
}

/// Continues `rotation` by the Jacobi rotations that make the matrices, already turned by it, most
/// diagonal together (Cardoso & Souloumiac 1996).
fn jacobi(mut matrices: Eight, mut rotation: Matrix) -> Matrix {
    let p = rotation.rows();
    for _ in 0..SWEEPS {
        let mut turned = false;
        for a in 1..p {
            for b in 0..a {
                let angle = pair_angle(&matrices, a, b);
                if angle.abs() <= ANGLE {
                    continue;
                }
                turned = true;
                let (s, c) = angle.sin_cos();
                turn_pair(p, &mut matrices.entries, LANES, (a, b), (c, s));
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
fn pair_angle(matrices: &Eight, a: usize, b: usize) -> f64 {
    let (aa, bb) = (matrices.diagonal(a), matrices.diagonal(b));
    let ab = &matrices.entries[packed(a, b) * LANES..][..LANES];
    let (mut on, mut off) = (0.0, 0.0);
    for k in 0..LANES {
        let (difference, twice) = (aa[k] - bb[k], 2.0 * ab[k]);
        on += difference * difference - twice * twice;
        off += 2.0 * difference * twice;
    }
    0.5 * off.atan2(on + (on * on + off * off).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MatrixSet;
    use crate::matrices::InMemory;
    use crate::synthetic::{Synthetic, amari_distance};

    #[test]
    fn an_exact_set_is_diagonalised_by_the_start() {
        for (n, p) in [(5, 3), (40, 10), (100, 20)] {
            let made = Synthetic::new(n, p, 0.0, 4);
            let mut set = InMemory::new(&made.set().unwrap(), Some(1));
            let b = start(&mut set, 0).unwrap();
            assert!(amari_distance(&b, &made.mixing) < 1e-7, "n {n} p {p}");
        }
    }

    #[test]
    fn jacobi_finds_a_common_rotation() {
        let p = 5;
        let e = Matrix::from_fn(p, p, |a, b| 0.3 * (a as f64 - b as f64));
        let q = linalg::rotation_exponential(&e);
        let diagonals = [[1.0, 5.0, 2.0, -3.0, 4.0], [2.0, 2.0, -1.0, 0.5, 2.0]];
        let mut matrices = Eight::zeros(p);
        for (k, diagonal) in diagonals.iter().enumerate() {
            for a in 0..p {
                matrices.entries[packed(a, a) * LANES + k] = diagonal[a];
            }
        }
        let mixed = matrices.congruent(&q.transpose());
        let rotation = jacobi(mixed.congruent(&Matrix::identity(p)), Matrix::identity(p));
        let unmixed = mixed.congruent(&rotation);
        let mut off = 0.0;
        for a in 0..p {
            for b in 0..a {
                let row = &unmixed.entries[packed(a, b) * LANES..][..LANES];
                off += row.iter().map(|x| 2.0 * x * x).sum::<f64>();
            }
        }
        // Angles below 0.01 are left alone.
        assert!(off < 0.05, "{off}");
    }

    #[test]
    fn orthonormalized_matrices_are_orthonormal_or_zero() {
        let mut eight = Eight::zeros(4);
        let mut random = SplitMix(3);
        for row in eight.entries.chunks_exact_mut(LANES) {
            row.fill_with(|| random.next());
            row[5] = 2.0 * row[1] - row[2];
        }
        eight.orthonormalize();
        let matrices: Vec<Matrix> = (0..LANES).map(|k| eight.matrix(k)).collect();
        for j in 0..LANES {
            for k in 0..LANES {
                let expected = f64::from(u8::from(j == k && k != 5));
                assert!((matrices[j].dot(&matrices[k]) - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn alike_matrices_have_a_start() {
        let data: Vec<f64> = [2.0, 0.5, 0.5, 1.0].repeat(12);
        let set = MatrixSet::new(&data, 12, 2).unwrap();
        let mut set = InMemory::new(&set, Some(1));
        assert!(start(&mut set, 0).unwrap().is_finite());
    }
}
