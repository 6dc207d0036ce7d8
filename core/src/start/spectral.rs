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
use crate::linalg::kernels::{
    Congruence, LANES, congruence, dispatch, packed, packed_len, turn_pair,
};
use crate::linalg::{self, Matrix};
use crate::matrices::WorkingSet;

/// Subspace iterations: the combinations need not be exact.
const ITERATIONS: usize = 2;
/// Sweeps of Jacobi rotations at most, and the smallest angle worth a rotation.
const SWEEPS: usize = 3;
const ANGLE: f64 = 0.01;

/// The start; other seeds end in other combinations.
pub(super) fn start<S: WorkingSet>(set: &mut S, seed: u64) -> Result<Matrix, Error> {
    let (n, p) = (set.summary().len, set.summary().dimension());
    let factor = linalg::cholesky(&set.summary().mean).ok_or(Error::NoEigenvalues)?;
    let whitener = linalg::inverse(&factor);
    let inverse_mean = linalg::product(&whitener.transpose(), &whitener);
    let balanced_mean = set.balance(&inverse_mean)?;
    let factor = linalg::cholesky(&balanced_mean).ok_or(Error::NoEigenvalues)?;
    let whitener = linalg::inverse(&factor);

    // As many as a set of n matrices can tell apart.
    let count = LANES.min(p).min(n / 6).max(1);
    let mut random = SplitMix(seed);
    let mut combinations = Eight::zeros(p);
    for row in combinations.entries.chunks_exact_mut(LANES) {
        row[..count].fill_with(|| random.next());
    }
    let scratch = &mut Vec::new();
    for _ in 0..ITERATIONS {
        // S_k ← Σ_i w_i ⟨Dⁱ − I, S_k⟩ (Dⁱ − I), where Dⁱ = W Cⁱ Wᵀ / s_i has the mean I. The Dⁱ
        // are never formed: ⟨Dⁱ, S⟩ = ⟨Cⁱ, Wᵀ S W⟩ / s_i.
        let traces = combinations.traces();
        let pulled = combinations.congruent(&whitener.transpose(), scratch);
        let sums = Eight {
            p,
            entries: set.correlate(&pulled.entries)?,
        };
        combinations = sums.congruent(&whitener, scratch);
        combinations.subtract_from_diagonal(&traces);
        combinations.orthonormalize();
    }
    let (_, vectors) = eigen(&combinations.matrix(0))?;
    let rotation = jacobi(combinations.congruent(&vectors, scratch), vectors);
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

    /// M S Mᵀ of each. `scratch` grows as needed and is worth keeping between calls.
    fn congruent(&self, m: &Matrix, scratch: &mut Vec<f64>) -> Self {
        let mut result = Self::zeros(self.p);
        let task = Congruence {
            transform: m,
            input: &self.entries,
            lanes: LANES,
            square: &mut result.entries,
            cross: None,
        };
        congruence(task, scratch);
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

    /// Makes the eight orthonormal, by the Cholesky factor of their inner products. What depends on
    /// those before it (as all do if all matrices are alike) becomes zero.
    fn orthonormalize(&mut self) {
        let (rows, _) = self.entries.as_chunks_mut();
        dispatch(
            #[inline(always)]
            || {
                let factor = inverse_factor(&gram(self.p, rows));
                for row in rows.iter_mut() {
                    *row = times(row, &factor);
                }
            },
        );
    }
}

/// A row vector, or a square matrix, of eight.
type Row = [f64; LANES];
type Square = [Row; LANES];

/// The inner products of eight matrices; entries off the diagonal count twice.
#[inline(always)]
fn gram(p: usize, rows: &[Row]) -> Square {
    let mut gram = [[0.0; LANES]; LANES];
    for a in 0..p {
        for b in 0..=a {
            let (row, count) = (&rows[packed(a, b)], if a == b { 1.0 } else { 2.0 });
            for j in 0..LANES {
                for k in 0..LANES {
                    gram[j][k] += count * row[j] * row[k];
                }
            }
        }
    }
    gram
}

/// L⁻ᵀ for gram = L Lᵀ, with columns of zeros where a pivot vanishes.
fn inverse_factor(gram: &Square) -> Square {
    let (mut factor, mut inverse) = ([[0.0; LANES]; LANES], [[0.0; LANES]; LANES]);
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
        for j in 0..=k {
            let dot: f64 = (j..k).map(|l| inverse[j][l] * factor[k][l]).sum();
            inverse[j][k] = (f64::from(u8::from(j == k)) - dot) / factor[k][k];
        }
    }
    inverse
}

#[inline(always)]
fn times(row: &Row, matrix: &Square) -> Row {
    let mut product = [0.0; LANES];
    for (x, numbers) in row.iter().zip(matrix) {
        for k in 0..LANES {
            product[k] += x * numbers[k];
        }
    }
    product
}

/// Continues `rotation` by the Jacobi rotations that make the matrices, already turned by it, most
/// diagonal together (Cardoso & Souloumiac 1996).
fn jacobi(mut matrices: Eight, mut rotation: Matrix) -> Matrix {
    dispatch(
        #[inline(always)]
        || {
            for _ in 0..SWEEPS {
                if !sweep(&mut matrices, &mut rotation) {
                    break;
                }
            }
        },
    );
    rotation
}

/// Rotates every pair once; whether one was worth it.
#[inline(always)]
fn sweep(matrices: &mut Eight, rotation: &mut Matrix) -> bool {
    let p = rotation.rows();
    let mut turned = false;
    for a in 1..p {
        for b in 0..a {
            let Some((c, s)) = pair_rotation(matrices, a, b) else {
                continue;
            };
            turned = true;
            turn_pair(p, &mut matrices.entries, (a, b), (c, s));
            let (head, row_a) = rotation.as_mut_slice().split_at_mut(a * p);
            let row_b = &mut head[b * p..][..p];
            for (x, y) in row_a[..p].iter_mut().zip(row_b) {
                (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
            }
        }
    }
    turned
}

/// Cosine and sine of the angle that minimises Σ_k (S_k)_ab² over rotations of the pair, unless it
/// is too small.
#[inline(always)]
fn pair_rotation(matrices: &Eight, a: usize, b: usize) -> Option<(f64, f64)> {
    let (aa, bb) = (matrices.diagonal(a), matrices.diagonal(b));
    let ab = &matrices.entries[packed(a, b) * LANES..][..LANES];
    let (mut on, mut off) = (0.0, 0.0);
    for k in 0..LANES {
        let (difference, twice) = (aa[k] - bb[k], 2.0 * ab[k]);
        on += difference * difference - twice * twice;
        off += 2.0 * difference * twice;
    }
    // Four times the angle is that of the vector (on, off): halved once here, once more below.
    let (x, y) = (on + (on * on + off * off).sqrt(), off);
    if y.abs() <= 2.0 * ANGLE * x {
        return None;
    }
    let length = (x * x + y * y).sqrt();
    let cosine = (0.5 + 0.5 * x / length).sqrt();
    Some((cosine, 0.5 * y / length / cosine))
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::MatrixSet;
    use crate::matrices::InMemory;
    use crate::synthetic::{Synthetic, amari_distance};

    #[test]
    fn an_exact_set_is_diagonalised_by_the_start() {
        for (n, p) in [(5, 3), (40, 10), (100, 20)] {
            let made = Synthetic::new(n, p, 0.0, 4);
            let mut set = InMemory::new(&made.set().unwrap());
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
        let scratch = &mut Vec::new();
        let mixed = matrices.congruent(&q.transpose(), scratch);
        let rotation = jacobi(
            mixed.congruent(&Matrix::identity(p), scratch),
            Matrix::identity(p),
        );
        let unmixed = mixed.congruent(&rotation, scratch);
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
        let mut set = InMemory::new(&set);
        assert!(start(&mut set, 0).unwrap().is_finite());
    }
}
