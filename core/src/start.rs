//! Where the iteration starts.

use crate::linalg::kernels::packed;
use crate::linalg::{self, Matrix};
use crate::settings::Start;
use crate::{Error, MatrixSet};

/// Power iterations of the spectral start: its combination need not be exact.
const POWER_ITERATIONS: usize = 6;

/// The start asked for, in the set's reduced coordinates.
pub(crate) fn start(set: &MatrixSet, choice: &Start, orthogonal: bool) -> Result<Matrix, Error> {
    let p = set.dimension();
    match choice {
        Start::Given(b) => given(set, b, orthogonal),
        Start::Identity => Ok(Matrix::identity(p)),
        // Over rotations only the eigenvectors of the mean remain of the whitener.
        Start::Whitener | Start::Spectral if orthogonal => mean_eigenvectors(set),
        Start::Whitener => whitener(set),
        Start::Spectral => spectral(set, 0),
    }
}

/// Further starts, all different: principal combinations reached from other directions.
pub(crate) fn restart(set: &MatrixSet, k: usize, orthogonal: bool) -> Result<Matrix, Error> {
    if !orthogonal {
        return spectral(set, k);
    }
    // A rotation of the eigenvectors by the exponential of a deterministic antisymmetric matrix.
    let noise = pseudo_random_symmetric(set.dimension(), k);
    let p = set.dimension();
    let e = Matrix::from_fn(p, p, |a, b| match a.cmp(&b) {
        std::cmp::Ordering::Less => noise[(a, b)],
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Greater => -noise[(b, a)],
    });
    Ok(linalg::product(
        &linalg::rotation_exponential(&e),
        &mean_eigenvectors(set)?,
    ))
}

/// A given B, from the channels to the reduced coordinates.
pub(crate) fn given(set: &MatrixSet, b: &Matrix, orthogonal: bool) -> Result<Matrix, Error> {
    let (p, channels) = (set.dimension(), set.channels());
    if (b.rows(), b.columns()) != (p, channels) {
        return Err(Error::StartShape {
            expected: channels,
            rows: b.rows(),
            columns: b.columns(),
        });
    }
    if !b.is_finite() {
        return Err(Error::StartSingular {
            problem: "not finite",
        });
    }
    let b = set.to_reduced(b);
    // Rows and channels may differ in unit: only what is left once both are scaled counts.
    let scale: Vec<f64> = (0..p).map(|a| set.mean()[(a, a)].sqrt()).collect();
    let mut balanced = Matrix::from_fn(p, p, |a, c| b[(a, c)] * scale[c]);
    for a in 0..p {
        let norm = linalg::dot(balanced.row(a), balanced.row(a)).sqrt();
        balanced.row_mut(a).iter_mut().for_each(|x| *x /= norm);
    }
    let singular = !balanced.is_finite()
        || linalg::singular_values(&balanced)
            .is_none_or(|s| s[p - 1] <= p as f64 * f64::EPSILON * s[0]);
    if singular {
        return Err(Error::StartSingular {
            problem: "singular",
        });
    }
    if orthogonal {
        let gram = linalg::product_transposed(&b, &b);
        let identity = Matrix::identity(p);
        let distance = gram
            .as_slice()
            .iter()
            .zip(identity.as_slice())
            .fold(0.0_f64, |m, (x, y)| m.max((x - y).abs()));
        if distance > 1e-8 {
            return Err(Error::StartSingular {
                problem: "not orthogonal, as it must be with orthogonal=True",
            });
        }
        return Ok(if distance > 1e-13 {
            linalg::reorthogonalize(&b)
        } else {
            b
        });
    }
    Ok(b)
}

fn mean_eigenvectors(set: &MatrixSet) -> Result<Matrix, Error> {
    Ok(eigen(set.mean())?.1)
}

/// The paper's start, Λ^{-1/2} Pᵀ for the mean P Λ Pᵀ.
fn whitener(set: &MatrixSet) -> Result<Matrix, Error> {
    let (values, vectors) = eigen(set.mean())?;
    let tiny = values.last().copied().unwrap_or(1.0).abs() * f64::EPSILON;
    let scales: Vec<f64> = values.iter().map(|v| 1.0 / v.max(tiny).sqrt()).collect();
    Ok(vectors.scale_rows(&scales))
}

/// After whitening by the mean, all matrices of an exactly diagonalisable set share an orthogonal
/// diagonaliser: the eigenvectors of any of their combinations. Taken is (nearly) the combination
/// of largest variance, S = Σ_i c_i (Wᵀ Cⁱ W − I), whose eigenvalues are well spread; a power
/// iteration on the set finds it. Whitening by the Cholesky factor L of the mean, W = L⁻¹, makes
/// the start free of the channels' units.
fn spectral(set: &MatrixSet, seed: usize) -> Result<Matrix, Error> {
    let p = set.dimension();
    let factor = linalg::cholesky(set.mean()).ok_or(Error::StartSingular {
        problem: "the whitener of a singular mean",
    })?;
    let w = linalg::inverse(&factor);
    let mut s = pseudo_random_symmetric(p, seed);
    // A restart stops earlier, to end in other combinations.
    let iterations = if seed == 0 { POWER_ITERATIONS } else { 2 };
    for _ in 0..iterations {
        // Σ_i w_i ⟨Dⁱ − I, S⟩ (Dⁱ − I) with Dⁱ = W Cⁱ Wᵀ, whose mean is I.
        let pulled = linalg::product(&linalg::product(&w.transpose(), &s), &w);
        let sum = set.correlate(&pulled);
        let mut next = linalg::product_transposed(&linalg::product(&w, &sum), &w);
        let trace: f64 = (0..p).map(|a| s[(a, a)]).sum();
        (0..p).for_each(|a| next[(a, a)] -= trace);
        let norm = next.norm();
        if norm <= f64::EPSILON * s.norm() {
            // All matrices are alike: any basis that whitens them will do.
            break;
        }
        next.as_mut_slice().iter_mut().for_each(|x| *x /= norm);
        s = next;
    }
    for a in 0..p {
        for b in 0..a {
            s[(a, b)] = 0.5 * (s[(a, b)] + s[(b, a)]);
            s[(b, a)] = s[(a, b)];
        }
    }
    let (_, vectors) = eigen(&s)?;
    Ok(linalg::product(&vectors, &w))
}

fn eigen(m: &Matrix) -> Result<(Vec<f64>, Matrix), Error> {
    linalg::symmetric_eigen(m).ok_or(Error::StartSingular {
        problem: "without eigenvalues",
    })
}

/// Entries in (−1, 1) that look random, the same everywhere: a Weyl sequence.
fn pseudo_random_symmetric(p: usize, seed: usize) -> Matrix {
    let golden = 0.618_033_988_749_895;
    let entry = |k: usize| {
        let x = (k as f64 + 1.0) * golden + seed as f64 * 0.414_213_562_373_095;
        // Twice through the sequence, or neighbours would be evenly spaced.
        let y = (x.fract() * 997.0 + k as f64 * golden * golden).fract();
        2.0 * y - 1.0
    };
    Matrix::from_fn(p, p, |a, b| entry(packed(a, b)))
}
