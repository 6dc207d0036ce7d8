//! The paper's data sets from seeds, MEG covariances, and Amari's distance.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use crate::error::{MemoryRemedy, Setting};
use crate::linalg::{self, Matrix, Scalar, c64};
use crate::{Error, MatrixSet, Memory};

/// Synthetic matrices with the mixing that made them.
///
/// ```
/// use codiag::synthetic::Synthetic;
/// let made = Synthetic::new(100, 5, 0.1, 0);
/// assert_eq!(made.data.len(), 100 * 5 * 5);
/// assert_eq!(made.set()?.len(), 100);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Synthetic<T = f64> {
    /// n·p·p numbers, one row-major matrix after the other.
    pub data: Vec<T>,
    /// The number of matrices.
    pub n: usize,
    /// Their size.
    pub p: usize,
    /// The mixing matrix A: its inverse diagonalizes the noiseless set.
    pub mixing: Matrix<T>,
}

impl<T: Scalar> Synthetic<T> {
    /// Fails if there are no matrices, or they do not fit into memory.
    fn check(n: usize, p: usize) -> Result<(), Error> {
        if n == 0 || p == 0 {
            return Err(Error::Shape {
                shape: vec![n, p, p],
            });
        }
        let mixing = Memory::of_numbers(&[4, T::PLANES, p, p]);
        let memory = |n: usize| mixing.plus(Memory::of_numbers(&[n, T::PLANES, p, p]));
        memory(n).check(
            || format!("a set of {n} synthetic matrices of {p} x {p}"),
            |available| MemoryRemedy::largest(Setting::Matrices, n, available, memory),
        )
    }
}

impl Synthetic {
    /// Cⁱ = A Λⁱ Aᵀ + σ² Rⁱ Rⁱᵀ, with A and Rⁱ of independent standard normal entries and Λⁱ
    /// diagonal with entries uniform on (0, 1): experiments (a), σ = 0, and (b), σ = 0.1.
    ///
    /// # Panics
    /// If there is not enough memory for them.
    pub fn new(n: usize, p: usize, sigma: f64, seed: u64) -> Self {
        Self::generate(n, p, sigma, seed)
    }

    /// Like [`Synthetic::new`], with an error in place of a panic.
    ///
    /// ```
    /// use codiag::Error;
    /// use codiag::synthetic::Synthetic;
    /// assert_eq!(Synthetic::try_new(5, 3, 0.1, 0)?.data.len(), 45);
    /// let error = Synthetic::try_new(1 << 62, 2, 0.1, 0).unwrap_err();
    /// assert!(matches!(error, Error::OutOfMemory { .. }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If n or p is 0, or there is not enough memory.
    pub fn try_new(n: usize, p: usize, sigma: f64, seed: u64) -> Result<Self, Error> {
        Self::check(n, p)?;
        Ok(Self::generate(n, p, sigma, seed))
    }
}

impl Synthetic<c64> {
    /// Hermitian matrices Cⁱ = A Λⁱ Aᴴ + σ² Rⁱ Rⁱᴴ, with A and Rⁱ of independent complex normal
    /// entries, whose real and imaginary parts have variance ½.
    ///
    /// ```
    /// use codiag::synthetic::{Synthetic, amari_distance};
    /// use codiag::{Settings, diagonalize};
    /// let made = Synthetic::complex(50, 5, 0.0, 0);
    /// let answer = diagonalize(&made.set()?, &Settings::default())?;
    /// assert!(amari_distance(&answer.b, &made.mixing) < 1e-8);
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory for them.
    pub fn complex(n: usize, p: usize, sigma: f64, seed: u64) -> Self {
        Self::generate(n, p, sigma, seed)
    }

    /// Like [`Synthetic::complex`], with an error in place of a panic.
    ///
    /// # Errors
    /// If n or p is 0, or there is not enough memory.
    pub fn try_complex(n: usize, p: usize, sigma: f64, seed: u64) -> Result<Self, Error> {
        Self::check(n, p)?;
        Ok(Self::generate(n, p, sigma, seed))
    }
}

impl<T: Scalar> Synthetic<T> {
    fn generate(n: usize, p: usize, sigma: f64, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mixing = Matrix::from_fn(p, p, |_, _| normal::<T>(&mut rng));
        let mut data = Vec::with_capacity(numbers(n, p));
        for _ in 0..n {
            let powers: Vec<f64> = (0..p)
                .map(|_| rng.random::<f64>().max(f64::MIN_POSITIVE))
                .collect();
            let scaled = mixing.adjoint().scale_rows(&powers);
            let mut matrix = linalg::product(&mixing, &scaled);
            if sigma != 0.0 {
                let noise = Matrix::from_fn(p, p, |_, _| normal::<T>(&mut rng));
                let square = linalg::product_adjoint(&noise, &noise);
                for (x, y) in matrix.as_mut_slice().iter_mut().zip(square.as_slice()) {
                    *x += *y * (sigma * sigma);
                }
            }
            for a in 0..p {
                for b in 0..a {
                    matrix[(b, a)] = matrix[(a, b)].conj();
                }
                matrix[(a, a)] = T::from_real(matrix[(a, a)].real());
            }
            data.extend_from_slice(matrix.as_slice());
        }
        Self { data, n, p, mixing }
    }

    /// The set, equally weighted.
    ///
    /// # Errors
    /// If a matrix is not positive definite, as may happen without noise for an ill-conditioned
    /// mixing.
    pub fn set(&self) -> Result<MatrixSet<T>, Error> {
        MatrixSet::new(&self.data, self.n, self.p)
    }
}

/// n·p·p.
fn numbers(n: usize, p: usize) -> usize {
    let numbers = p.checked_mul(p).and_then(|square| square.checked_mul(n));
    numbers.unwrap_or_else(|| {
        panic!("{n} matrices of {p} x {p} have more numbers than can be counted")
    })
}

/// A standard normal number; of a complex one, both parts have variance ½.
fn normal<T: Scalar>(rng: &mut StdRng) -> T {
    let real: f64 = rng.sample(StandardNormal);
    if T::PLANES == 1 {
        return T::from_real(real);
    }
    let imaginary: f64 = rng.sample(StandardNormal);
    T::from_parts(real, imaginary) * std::f64::consts::FRAC_1_SQRT_2
}

/// Symmetric matrices that need not be positive definite, n·p·p numbers, and their rotation Q:
/// Cⁱ = Qᵀ Λⁱ Q + σ (Nⁱ + Nⁱᵀ)/2, with Λⁱ diagonal and Λⁱ, Nⁱ of independent standard normal
/// entries. Q diagonalizes the noiseless set.
///
/// ```
/// use codiag::{Criterion, MatrixSet, SetOptions, Settings, diagonalize, synthetic};
/// let (data, q) = synthetic::indefinite(30, 5, 0.0, 0);
/// let options = SetOptions::default().criterion(Criterion::Frobenius);
/// let set = MatrixSet::with_options(&data, 30, 5, &options)?;
/// let answer = diagonalize(&set, &Settings::default())?;
/// assert!(synthetic::amari_distance(&answer.b, &q.transpose()) < 1e-10);
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn indefinite(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<f64>, Matrix) {
    rotated(n, p, sigma, seed)
}

/// Like [`indefinite`] with complex entries: Hermitian matrices Cⁱ = Qᴴ Λⁱ Q + σ (Nⁱ + Nⁱᴴ)/2 and
/// their unitary Q.
pub fn indefinite_complex(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<c64>, Matrix<c64>) {
    rotated(n, p, sigma, seed)
}

fn rotated<T: Scalar>(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<T>, Matrix<T>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let noise: Matrix<T> = square(p, &mut rng);
    let e = Matrix::from_fn(p, p, |a, b| noise[(a, b)] - noise[(b, a)].conj());
    let q = linalg::unitary_exponential(&e);
    (symmetric(n, &q, sigma, &mut rng), q)
}

/// Like [`indefinite`] with a mixing A of independent standard normal entries in place of a
/// rotation: Cⁱ = A Λⁱ Aᵀ + σ (Nⁱ + Nⁱᵀ)/2, and A, whose inverse diagonalizes the noiseless set.
///
/// ```
/// use codiag::{Criterion, MatrixSet, SetOptions, Settings, diagonalize, synthetic};
/// let (data, mixing) = synthetic::mixed(30, 5, 0.0, 0);
/// let options = SetOptions::default().criterion(Criterion::LeastSquares);
/// let set = MatrixSet::with_options(&data, 30, 5, &options)?;
/// let answer = diagonalize(&set, &Settings::default())?;
/// assert!(synthetic::amari_distance(&answer.b, &mixing) < 1e-10);
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn mixed(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<f64>, Matrix) {
    mixed_of(n, p, sigma, seed)
}

/// Like [`mixed`] with complex entries: Hermitian matrices Cⁱ = A Λⁱ Aᴴ + σ (Nⁱ + Nⁱᴴ)/2, and A.
pub fn mixed_complex(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<c64>, Matrix<c64>) {
    mixed_of(n, p, sigma, seed)
}

pub(crate) fn mixed_of<T: Scalar>(
    n: usize,
    p: usize,
    sigma: f64,
    seed: u64,
) -> (Vec<T>, Matrix<T>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let adjoint: Matrix<T> = square(p, &mut rng);
    let data = symmetric(n, &adjoint, sigma, &mut rng);
    (data, adjoint.adjoint())
}

/// A matrix of independent standard normal numbers.
fn square<T: Scalar>(p: usize, rng: &mut StdRng) -> Matrix<T> {
    Matrix::from_fn(p, p, |_, _| normal(rng))
}

/// n matrices Qᴴ Λⁱ Q + σ (Nⁱ + Nⁱᴴ)/2, row-major one after the other.
fn symmetric<T: Scalar>(n: usize, q: &Matrix<T>, sigma: f64, rng: &mut StdRng) -> Vec<T> {
    let p = q.rows();
    let mut data = Vec::with_capacity(numbers(n, p));
    for _ in 0..n {
        let powers: Vec<f64> = (0..p).map(|_| normal(rng)).collect();
        let scaled = q.clone().scale_rows(&powers);
        let mut matrix = linalg::product(&q.adjoint(), &scaled);
        let noise: Matrix<T> = square(p, rng);
        for a in 0..p {
            for b in 0..=a {
                let both = noise[(a, b)] + noise[(b, a)].conj();
                let value = matrix[(a, b)] + both * (0.5 * sigma);
                (matrix[(a, b)], matrix[(b, a)]) = (value, value.conj());
            }
            matrix[(a, a)] = T::from_real(matrix[(a, a)].real());
        }
        data.extend_from_slice(matrix.as_slice());
    }
    data
}

/// Experiment (a): a set that can be diagonalized exactly.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let answer = diagonalize(&synthetic::exact(100, 5, 0), &Settings::default())?;
/// assert!(answer.loss.abs() < 1e-10);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Panics
/// If the seed's mixing is so ill-conditioned that a matrix is numerically singular.
pub fn exact(n: usize, p: usize, seed: u64) -> MatrixSet {
    noisy(n, p, 0.0, seed)
}

/// Experiment (b): a set with noise of standard deviation `sigma`.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let answer = diagonalize(&synthetic::noisy(100, 5, 0.1, 0), &Settings::default())?;
/// assert!(answer.status.is_converged() && answer.loss > 1e-4);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Panics
/// If `sigma` is zero and the seed's mixing so ill-conditioned that a matrix is numerically
/// singular.
pub fn noisy(n: usize, p: usize, sigma: f64, seed: u64) -> MatrixSet {
    Synthetic::new(n, p, sigma, seed)
        .set()
        .expect("synthetic matrices are positive definite")
}

/// Like [`noisy`] with complex entries: Hermitian matrices.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let answer = diagonalize(&synthetic::hermitian(100, 5, 0.1, 0), &Settings::default())?;
/// assert!(answer.status.is_converged() && answer.loss > 1e-4);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Panics
/// Those of [`noisy`].
pub fn hermitian(n: usize, p: usize, sigma: f64, seed: u64) -> MatrixSet<c64> {
    Synthetic::complex(n, p, sigma, seed)
        .set()
        .expect("synthetic matrices are positive definite")
}

/// Amari's distance of B A to a scaled permutation: 0 if B inverts the mixing A up to order, scale
/// and, for complex ones, phase, at most 1.
///
/// ```
/// use codiag::Matrix;
/// use codiag::synthetic::amari_distance;
/// let mixing = Matrix::from_rows(2, 2, vec![0.0, 2.0, 3.0, 0.0]);
/// assert_eq!(amari_distance(&Matrix::identity(2), &mixing), 0.0); // only order and scale differ
/// ```
///
/// # Panics
/// If B A is not square.
pub fn amari_distance<T: Scalar>(b: &Matrix<T>, a: &Matrix<T>) -> f64 {
    let product = linalg::product(b, a);
    let p = product.rows();
    assert_eq!(p, product.columns(), "B A must be square");
    if p == 1 {
        return 0.0;
    }
    let spread = |entry: &dyn Fn(usize, usize) -> T| -> f64 {
        (0..p)
            .map(|i| {
                let row = (0..p).map(|j| entry(i, j).abs());
                let largest = row.clone().fold(0.0_f64, f64::max);
                row.sum::<f64>() / largest - 1.0
            })
            .sum()
    };
    let rows = spread(&|i, j| product[(i, j)]);
    let columns = spread(&|i, j| product[(j, i)]);
    (rows + columns) / (2.0 * p as f64 * (p as f64 - 1.0))
}

/// The sensors of the MEG recording.
///
/// ```
/// use codiag::synthetic::{Sensors, meg};
/// assert_ne!(meg(Sensors::Magnetometers), meg(Sensors::Gradiometers));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensors {
    /// 102 magnetometers.
    Magnetometers,
    /// 203 gradiometers.
    Gradiometers,
}

/// Experiment (c): covariances of 100 segments of 0.24 s of the MNE sample recording, reduced to 40
/// principal components of unit variance. n·p·p numbers with n = 100, p = 40.
///
/// ```
/// use codiag::MatrixSet;
/// use codiag::synthetic::{Sensors, meg};
/// let set = MatrixSet::new(&meg(Sensors::Gradiometers), 100, 40)?;
/// assert!((set.mean()[(0, 0)] - 1.0).abs() < 1e-5);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// From MNE-Python's test data (BSD-3-Clause, see `data/LICENSE-mne-python.txt` in the package).
pub fn meg(sensors: Sensors) -> Vec<f64> {
    const N: usize = 100;
    const P: usize = 40;
    let bytes: &[u8] = match sensors {
        Sensors::Magnetometers => include_bytes!("../data/meg_magnetometers.f32"),
        Sensors::Gradiometers => include_bytes!("../data/meg_gradiometers.f32"),
    };
    let (numbers, _) = bytes.as_chunks::<4>();
    let mut data = vec![0.0; N * P * P];
    for (matrix, triangle) in data
        .chunks_exact_mut(P * P)
        .zip(numbers.chunks_exact(P * (P + 1) / 2))
    {
        for a in 0..P {
            for b in 0..=a {
                let value = f64::from(f32::from_le_bytes(triangle[a * (a + 1) / 2 + b]));
                matrix[a * P + b] = value;
                matrix[b * P + a] = value;
            }
        }
    }
    data
}
