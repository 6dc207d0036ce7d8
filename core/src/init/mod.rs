//! Starting points.

mod combinations;
mod fit;
mod frame;
mod jacobi;
mod rotation;
mod sketch;
mod spectral;

pub(crate) use rotation::rotation as jacobi_rotation;

use combinations::{combinations, small_set};

use crate::Error;
use crate::backend::{Backend, Summary};
use crate::data::{Criterion, MatrixSet};
use crate::error::InitProblem;
use crate::linalg::{self, Matrix, Scalar, c64};
use crate::settings::Init;

/// Returns the starting point chosen in the settings, in the reduced coordinates of the set.
pub(crate) fn start<T: Scalar>(
    set: &mut dyn Backend<T>,
    choice: &Init,
    orthogonal: bool,
) -> Result<Matrix<T>, Error> {
    let summary = set.summary();
    match choice {
        Init::Given(b) => given(summary, &Matrix::from_real(b), orthogonal),
        Init::GivenComplex(b) => given(summary, &complex_start(b)?, orthogonal),
        Init::Identity => Ok(Matrix::identity(summary.dimension())),
        Init::Spectral if summary.criterion != Criterion::Likelihood => {
            Ok(principal_start(set, 0, false)?.0)
        }
        // With columns of A normalized, only the eigenvectors of the mean remain of the whitener.
        Init::Whitener if summary.criterion.is_least_squares() => mean_eigenvectors(summary),
        // For orthogonal B, too, only the eigenvectors of the mean remain.
        Init::Whitener if orthogonal => mean_eigenvectors(summary),
        Init::Spectral if orthogonal => frame::principal_axes(set),
        Init::Whitener => whitener(summary),
        Init::Spectral => spectral::start(set, 0),
    }
}

/// A few principal combinations of a set, whose minimizers are close to those of the set.
pub(crate) struct SmallSet<T> {
    pub set: MatrixSet<T>,
}

/// Number of principal combinations for the Frobenius criterion.
const COMBINATIONS: usize = 16;
/// Minimum ratio of the number of matrices to that of their combinations.
const MIN_SET_TO_COMBINATIONS: usize = 4;
/// Minimum number of components; below it the combinations cost more than they save.
const MIN_COMPONENTS: usize = 16;
/// Minimum fraction of the energy that the sketch of the starting point contains.
const MIN_ENERGY_FRACTION: f64 = 0.95;

/// Returns the spectral starting point of the Frobenius criterion or of least squares (k = 0), or
/// that of restart k. Also returns the small set on which it can be improved, if requested and
/// worthwhile.
pub(crate) fn principal_start<T: Scalar>(
    set: &mut dyn Backend<T>,
    k: u64,
    with_small_set: bool,
) -> Result<(Matrix<T>, Option<SmallSet<T>>), Error> {
    if set.summary().criterion.is_least_squares() {
        let (b, set) = fit::start(set, k)?;
        return Ok((b, set.map(|set| SmallSet { set })));
    }
    let (b, energy) = spectral::rotation(set, k)?;
    let (n, p) = (set.summary().len, set.summary().dimension());
    let applies = with_small_set
        && n >= MIN_SET_TO_COMBINATIONS * COMBINATIONS
        && p >= MIN_COMPONENTS
        && energy >= MIN_ENERGY_FRACTION;
    if !applies {
        return Ok((b, None));
    }
    let combinations = combinations(set, COMBINATIONS)?;
    if combinations.is_empty() {
        return Ok((b, None));
    }
    let set = small_set(Criterion::Frobenius, &combinations)?;
    Ok((b, Some(SmallSet { set })))
}

/// Converts a given complex B to the scalar type of a set, which must be complex.
pub(crate) fn complex_start<T: Scalar>(b: &Matrix<c64>) -> Result<Matrix<T>, Error> {
    if T::PLANES == 1 {
        let problem = InitProblem::Complex;
        return Err(Error::Init { problem });
    }
    let entry = |a, c| T::from_parts(b[(a, c)].re, b[(a, c)].im);
    Ok(Matrix::from_fn(b.rows(), b.columns(), entry))
}

/// Returns the starting point of restart k for the likelihood: the best point so far with some
/// components mixed or, for orthogonal B, a random rotation of the intrinsic axes.
pub(crate) fn restart<T: Scalar>(
    set: &mut dyn Backend<T>,
    k: usize,
    orthogonal: bool,
    best: &Matrix<T>,
) -> Result<Matrix<T>, Error> {
    if !orthogonal {
        let summary = set.summary();
        let scale = summary.criterion.row_scale(best, &summary.mean);
        let best = best.clone().scale_rows(&scale);
        let metric = Some(frame::inverse_mean(set.summary())?);
        let best = frame::with_intrinsic_signs(set, best, metric)?;
        return Ok(mixed(best, k as u64));
    }
    // A rotation of the intrinsic axes by the exponential of a deterministic antihermitian matrix.
    let p = set.summary().dimension();
    let mut random = SplitMix(k as u64);
    let parts = [(); 2].map(|()| Matrix::from_fn(p, p, |_, _| random.next()));
    let noise = |a, b| T::from_parts(parts[0][(a, b)], parts[1][(a, b)]);
    let e = Matrix::from_fn(p, p, |a, b| match a.cmp(&b) {
        std::cmp::Ordering::Less => noise(a, b),
        std::cmp::Ordering::Equal => T::ZERO,
        std::cmp::Ordering::Greater => -noise(b, a).conj(),
    });
    Ok(linalg::product(
        &linalg::unitary_exponential(&e),
        &frame::rotation(set)?,
    ))
}

/// Numerator and denominator of the fraction of components that [`mixed`] mixes.
const MIXED_FRACTION: (usize, usize) = (3, 5);

/// Returns B with three fifths of its rows, chosen by the seed, rotated among each other at random.
/// A partly mixed local minimum leads to lower minima, in fewer iterations, than independent
/// starting points.
fn mixed<T: Scalar>(mut b: Matrix<T>, seed: u64) -> Matrix<T> {
    let p = b.rows();
    let mut random = SplitMix(seed);
    let mut order = random.shuffled(p);
    order.truncate((MIXED_FRACTION.0 * p / MIXED_FRACTION.1).max(2).min(p));
    // Two random rotations of each pair suffice.
    for _ in 0..2 {
        for (k, &x) in order.iter().enumerate() {
            for &y in &order[..k] {
                let (sine, cosine) = (2.0 * std::f64::consts::PI * random.next()).sin_cos();
                for c in 0..b.columns() {
                    let (u, v) = (b[(x, c)], b[(y, c)]);
                    b[(x, c)] = u * cosine + v * sine;
                    b[(y, c)] = v * cosine - u * sine;
                }
            }
        }
    }
    b
}

/// Validates a given B and converts it from the channels to the reduced coordinates.
pub(crate) fn given<T: Scalar>(
    set: &Summary<T>,
    b: &Matrix<T>,
    orthogonal: bool,
) -> Result<Matrix<T>, Error> {
    let (p, channels) = (set.dimension(), set.channels());
    if (b.rows(), b.columns()) != (p, channels) {
        return Err(Error::InitShape {
            expected: (p, channels),
            rows: b.rows(),
            columns: b.columns(),
        });
    }
    if !b.is_finite() {
        return Err(Error::Init {
            problem: InitProblem::NotFinite,
        });
    }
    let scaled;
    let b = if orthogonal || set.criterion.requires_rotations() {
        b
    } else {
        scaled = in_range(b);
        &scaled
    };
    let b = set.to_reduced(b);
    // Test for singularity with rows and channels scaled, since both may have very different units.
    let unit = |power: f64| {
        if power == 0.0 {
            1.0
        } else {
            power.abs().sqrt()
        }
    };
    let scale: Vec<f64> = (0..p).map(|a| unit(set.mean[(a, a)].real())).collect();
    let mut balanced = Matrix::from_fn(p, p, |a, c| b[(a, c)] * scale[c]);
    for a in 0..p {
        let norm = linalg::dot(balanced.row(a), balanced.row(a)).sqrt();
        balanced.row_mut(a).iter_mut().for_each(|x| *x = *x / norm);
    }
    let singular = !balanced.is_finite()
        || linalg::singular_values(&balanced)
            .is_none_or(|s| s[p - 1] <= p as f64 * f64::EPSILON * s[0]);
    if singular {
        return Err(Error::Init {
            problem: InitProblem::Singular,
        });
    }
    if orthogonal {
        let gram = linalg::product_adjoint(&b, &b);
        let identity = Matrix::<T>::identity(p);
        let distance = gram
            .as_slice()
            .iter()
            .zip(identity.as_slice())
            .fold(0.0_f64, |m, (x, y)| m.max((*x - *y).abs()));
        if distance > 1e-8 {
            return Err(Error::Init {
                problem: InitProblem::NotOrthogonal,
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

/// Largest absolute binary exponent of a row that is not rescaled.
const MAX_ROW_EXPONENT: f64 = 128.0;

/// Multiplies very large or very small rows of B by powers of two, so that products of entries
/// neither overflow nor underflow. The criterion does not depend on the scale of rows.
fn in_range<T: Scalar>(b: &Matrix<T>) -> Matrix<T> {
    let factor = |a: usize| {
        let parts = b
            .row(a)
            .iter()
            .map(|x| x.real().abs().max(x.imaginary().abs()));
        let exponent = parts.fold(0.0, f64::max).log2().floor();
        if exponent.is_finite() && exponent.abs() > MAX_ROW_EXPONENT {
            // For subnormal rows 2^−exponent would overflow.
            (-exponent).min(1000.0).exp2()
        } else {
            1.0
        }
    };
    let factors: Vec<f64> = (0..b.rows()).map(factor).collect();
    b.clone().scale_rows(&factors)
}

fn mean_eigenvectors<T: Scalar>(set: &Summary<T>) -> Result<Matrix<T>, Error> {
    Ok(eigen(&set.mean)?.1)
}

/// Ratio of the smallest to the largest eigenvalue of the mean below which the smallest has too few
/// accurate digits.
const MIN_EIGENVALUE_RATIO: f64 = 1e-12;

/// Returns the whitener Λ^{-1/2} Pᴴ of the mean P Λ Pᴴ. If the units of the channels differ so much
/// that small eigenvalues would be inaccurate, the channels are scaled to similar powers first.
fn whitener<T: Scalar>(set: &Summary<T>) -> Result<Matrix<T>, Error> {
    let (values, vectors) = eigen(&set.mean)?;
    let largest = values.last().copied().unwrap_or(1.0).abs();
    if values[0] > MIN_EIGENVALUE_RATIO * largest {
        return Ok(whitened(vectors, &values, largest));
    }
    let (p, mean) = (set.dimension(), &set.mean);
    // Scaling by powers of two is exact.
    let unit = |a: usize| (-0.5 * mean[(a, a)].real().log2()).round().exp2();
    let units: Vec<f64> = (0..p).map(unit).collect();
    let scaled = Matrix::from_fn(p, p, |a, b| mean[(a, b)] * units[a] * units[b]);
    let (values, vectors) = eigen(&scaled)?;
    let whitener = whitened(vectors, &values, values[p - 1]);
    Ok(Matrix::from_fn(p, p, |a, c| whitener[(a, c)] * units[c]))
}

fn whitened<T: Scalar>(vectors: Matrix<T>, values: &[f64], largest: f64) -> Matrix<T> {
    let tiny = largest * f64::EPSILON;
    let scales: Vec<f64> = values.iter().map(|v| 1.0 / v.max(tiny).sqrt()).collect();
    vectors.scale_rows(&scales)
}

fn eigen<T: Scalar>(m: &Matrix<T>) -> Result<(Vec<f64>, Matrix<T>), Error> {
    linalg::hermitian_eigen(m).ok_or(Error::NoEigenvalues)
}

/// The pseudorandom number generator SplitMix64 (Steele, Lea & Flood 2014), which is identical on
/// all platforms.
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a random permutation of 0 to `count` − 1.
    pub fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            // In [0, last].
            let other = ((self.next() + 0.5) * (last + 1) as f64) as usize;
            order.swap(last, other.min(last));
        }
        order
    }

    /// Returns the next number, uniform on (−½, ½).
    pub fn next(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_components_are_rotated_among_each_other() {
        let start = |p, seed| mixed(Matrix::<f64>::identity(p), seed);
        for (p, mixed) in [(1, 0), (2, 2), (10, 6)] {
            let b = start(p, 3);
            let kept = (0..p).filter(|&a| b[(a, a)] == 1.0).count();
            assert_eq!(kept, p - mixed);
            let unit = linalg::product_adjoint(&b, &b);
            for (a, c) in (0..p).flat_map(|a| (0..p).map(move |c| (a, c))) {
                assert!((unit[(a, c)] - f64::from(u8::from(a == c))).abs() < 1e-14);
            }
            assert_eq!(b, start(p, 3));
        }
        assert_ne!(start(10, 1), start(10, 2));
    }
}
