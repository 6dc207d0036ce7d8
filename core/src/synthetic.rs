//! Synthetic data sets, covariance matrices of a MEG recording, and Amari's distance.
//!
//! Experiments (a), (b) and (c) are those of Ablin, Cardoso & Gramfort (2019). All sets are
//! deterministic functions of a seed.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use crate::error::{MemoryRemedy, Setting};
use crate::linalg::{self, Matrix, Scalar, c64};
use crate::{Error, MatrixSet, Memory};

/// Synthetic matrices with their mixing matrix.
///
/// ```
/// use codiag::synthetic::Synthetic;
/// let generated = Synthetic::new(100, 5, 0.1, 0);
/// assert_eq!(generated.data.len(), 100 * 5 * 5);
/// assert_eq!(generated.set()?.len(), 100);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Synthetic<T = f64> {
    /// The matrices as n·p·p numbers, each in row-major order.
    pub data: Vec<T>,
    /// Number of matrices.
    pub n: usize,
    /// Size of the matrices.
    pub p: usize,
    /// Mixing matrix A, whose inverse diagonalizes the noiseless set.
    pub mixing: Matrix<T>,
}

impl<T: Scalar> Synthetic<T> {
    /// Returns an error if n or p is 0, or if the matrices do not fit into memory.
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
    /// Generates positive definite matrices Cⁱ = A Λⁱ Aᵀ + σ² Rⁱ Rⁱᵀ. A and Rⁱ have independent
    /// standard normal entries, and Λⁱ is diagonal with entries uniform on (0, 1). These are
    /// experiments (a), with σ = 0, and (b), with σ = 0.1.
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn new(n: usize, p: usize, sigma: f64, seed: u64) -> Self {
        Self::generate(n, p, sigma, seed)
    }

    /// Generates matrices like [`Synthetic::new`], but returns an error instead of panicking.
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
    /// Generates Hermitian positive definite matrices Cⁱ = A Λⁱ Aᴴ + σ² Rⁱ Rⁱᴴ. A and Rⁱ have
    /// independent complex normal entries, whose real and imaginary parts have variance ½.
    ///
    /// ```
    /// use codiag::synthetic::{Synthetic, amari_distance};
    /// use codiag::{Settings, diagonalize};
    /// let generated = Synthetic::complex(50, 5, 0.0, 0);
    /// let result = diagonalize(&generated.set()?, &Settings::default())?;
    /// assert!(amari_distance(&result.b, &generated.mixing) < 1e-8);
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn complex(n: usize, p: usize, sigma: f64, seed: u64) -> Self {
        Self::generate(n, p, sigma, seed)
    }

    /// Generates matrices like [`Synthetic::complex`], but returns an error instead of panicking.
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

    /// Returns the matrices as a set with equal weights.
    ///
    /// # Errors
    /// If a matrix is not positive definite, which can happen without noise if the mixing matrix is
    /// ill-conditioned.
    pub fn set(&self) -> Result<MatrixSet<T>, Error> {
        MatrixSet::new(&self.data, self.n, self.p)
    }
}

/// Returns n·p·p.
fn numbers(n: usize, p: usize) -> usize {
    let numbers = p.checked_mul(p).and_then(|square| square.checked_mul(n));
    numbers.unwrap_or_else(|| {
        panic!("{n} matrices of size {p} x {p} are too large: their number of entries overflows")
    })
}

/// Draws a standard normal number; the parts of a complex one have variance ½.
fn normal<T: Scalar>(rng: &mut StdRng) -> T {
    let real: f64 = rng.sample(StandardNormal);
    if T::PLANES == 1 {
        return T::from_real(real);
    }
    let imaginary: f64 = rng.sample(StandardNormal);
    T::from_parts(real, imaginary) * std::f64::consts::FRAC_1_SQRT_2
}

/// Generates symmetric matrices that are in general not positive definite, with orthogonal mixing:
/// Cⁱ = Qᵀ Λⁱ Q + σ (Nⁱ + Nⁱᵀ)/2. Λⁱ is diagonal; Λⁱ and Nⁱ have independent standard normal
/// entries.
///
/// Returns the matrices as n·p·p numbers, and Q, which diagonalizes the noiseless set.
///
/// ```
/// use codiag::{Criterion, MatrixSet, SetOptions, Settings, diagonalize, synthetic};
/// let (data, q) = synthetic::indefinite(30, 5, 0.0, 0);
/// let options = SetOptions::default().criterion(Criterion::Frobenius);
/// let set = MatrixSet::with_options(&data, 30, 5, &options)?;
/// let result = diagonalize(&set, &Settings::default())?;
/// assert!(synthetic::amari_distance(&result.b, &q.transpose()) < 1e-10);
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn indefinite(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<f64>, Matrix) {
    rotated(n, p, sigma, seed)
}

/// Generates Hermitian matrices Cⁱ = Qᴴ Λⁱ Q + σ (Nⁱ + Nⁱᴴ)/2, the complex version of
/// [`indefinite`].
///
/// Returns the matrices and the unitary Q.
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

/// Generates symmetric matrices that are in general not positive definite, with a general mixing
/// matrix: Cⁱ = A Λⁱ Aᵀ + σ (Nⁱ + Nⁱᵀ)/2. Λⁱ is diagonal; A, Λⁱ and Nⁱ have independent standard
/// normal entries.
///
/// Returns the matrices as n·p·p numbers, and A, whose inverse diagonalizes the noiseless set.
///
/// ```
/// use codiag::{Criterion, MatrixSet, SetOptions, Settings, diagonalize, synthetic};
/// let (data, mixing) = synthetic::mixed(30, 5, 0.0, 0);
/// let options = SetOptions::default().criterion(Criterion::LeastSquares);
/// let set = MatrixSet::with_options(&data, 30, 5, &options)?;
/// let result = diagonalize(&set, &Settings::default())?;
/// assert!(synthetic::amari_distance(&result.b, &mixing) < 1e-10);
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn mixed(n: usize, p: usize, sigma: f64, seed: u64) -> (Vec<f64>, Matrix) {
    mixed_of(n, p, sigma, seed)
}

/// Generates Hermitian matrices Cⁱ = A Λⁱ Aᴴ + σ (Nⁱ + Nⁱᴴ)/2, the complex version of [`mixed`].
///
/// Returns the matrices and A.
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

/// Draws a matrix of independent standard normal numbers.
fn square<T: Scalar>(p: usize, rng: &mut StdRng) -> Matrix<T> {
    Matrix::from_fn(p, p, |_, _| normal(rng))
}

/// Draws n matrices Qᴴ Λⁱ Q + σ (Nⁱ + Nⁱᴴ)/2, each in row-major order.
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
                let sum = noise[(a, b)] + noise[(b, a)].conj();
                let value = matrix[(a, b)] + sum * (0.5 * sigma);
                (matrix[(a, b)], matrix[(b, a)]) = (value, value.conj());
            }
            matrix[(a, a)] = T::from_real(matrix[(a, a)].real());
        }
        data.extend_from_slice(matrix.as_slice());
    }
    data
}

/// Generates the set of experiment (a), which can be diagonalized exactly.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let result = diagonalize(&synthetic::exact(100, 5, 0), &Settings::default())?;
/// assert!(result.loss.abs() < 1e-10);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Panics
/// If the mixing matrix of this seed is so ill-conditioned that a matrix is numerically singular.
pub fn exact(n: usize, p: usize, seed: u64) -> MatrixSet {
    noisy(n, p, 0.0, seed)
}

/// Generates the set of experiment (b), with noise of standard deviation `sigma`.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let result = diagonalize(&synthetic::noisy(100, 5, 0.1, 0), &Settings::default())?;
/// assert!(result.status.is_converged() && result.loss > 1e-4);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Panics
/// If `sigma` is zero and the mixing matrix of this seed is so ill-conditioned that a matrix is
/// numerically singular.
pub fn noisy(n: usize, p: usize, sigma: f64, seed: u64) -> MatrixSet {
    Synthetic::new(n, p, sigma, seed)
        .set()
        .expect("synthetic matrices are positive definite")
}

/// Generates a set of Hermitian matrices, the complex version of [`noisy`].
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let result = diagonalize(&synthetic::hermitian(100, 5, 0.1, 0), &Settings::default())?;
/// assert!(result.status.is_converged() && result.loss > 1e-4);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Panics
/// If `sigma` is zero and the mixing matrix of this seed is so ill-conditioned that a matrix is
/// numerically singular.
pub fn hermitian(n: usize, p: usize, sigma: f64, seed: u64) -> MatrixSet<c64> {
    Synthetic::complex(n, p, sigma, seed)
        .set()
        .expect("synthetic matrices are positive definite")
}

/// Computes Amari's distance of B A to a scaled permutation matrix. It is 0 if B inverts the mixing
/// matrix A up to order, scale and (if complex) phase, and at most 1.
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

/// Sensors of the MEG recording.
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

/// Returns the matrices of experiment (c) as n·p·p numbers with n = 100 and p = 40: covariance
/// matrices of 100 segments of 0.24 s of the MNE sample recording, reduced to 40 principal
/// components of unit variance.
///
/// ```
/// use codiag::MatrixSet;
/// use codiag::synthetic::{Sensors, meg};
/// let set = MatrixSet::new(&meg(Sensors::Gradiometers), 100, 40)?;
/// assert!((set.mean()[(0, 0)] - 1.0).abs() < 1e-5);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// The data come from MNE-Python's test data (BSD-3-Clause; see `data/LICENSE-mne-python.txt` in
/// the package).
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
