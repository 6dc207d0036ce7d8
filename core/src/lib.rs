//! Approximate joint diagonalization of real symmetric and complex Hermitian matrices.
//!
//! Given n matrices C¹ … Cⁿ of size p×p with weights w_i that sum to 1, codiag finds one matrix B
//! such that all transformed matrices Dⁱ = B Cⁱ Bᴴ are as diagonal as possible. The rows of B are
//! filters, and the columns of A = B⁻¹ are patterns: in blind source separation, B unmixes the
//! channels, and A is the mixing matrix.
//!
//! ```
//! use codiag::{MatrixSet, Settings, diagonalize, synthetic};
//!
//! // 50 covariance matrices of 8 mixed sources, as n·p·p numbers in row-major order.
//! let generated = synthetic::Synthetic::new(50, 8, 0.0, 0);
//! let set = MatrixSet::new(&generated.data, 50, 8)?;
//! let result = diagonalize(&set, &Settings::default())?;
//!
//! assert!(result.status.is_converged());
//! println!("loss {} after {} iterations", result.loss, result.n_iter);
//! assert!(synthetic::amari_distance(&result.b, &generated.mixing) < 1e-8); // B inverts the mixing
//! # Ok::<(), codiag::Error>(())
//! ```
//!
//! # Criteria and methods
//!
//! | [`Criterion`] | Matrices | B | [`Method`]s, the default first |
//! |---|---|---|---|
//! | [`Likelihood`](Criterion::Likelihood) (default) | positive definite | invertible, or orthogonal | [`Newton`](Method::Newton), [`QuasiNewton`](Method::QuasiNewton), [`Pham`](Method::Pham), [`RowWise`](Method::RowWise) |
//! | [`Frobenius`](Criterion::Frobenius) | any symmetric | orthogonal | [`Newton`](Method::Newton), [`QuasiNewton`](Method::QuasiNewton), [`Jacobi`](Method::Jacobi) |
//! | [`LeastSquares`](Criterion::LeastSquares) | any symmetric | invertible | [`Newton`](Method::Newton), [`Acdc`](Method::Acdc), [`Uwedge`](Method::Uwedge), [`Ffdiag`](Method::Ffdiag) |
//!
//! For complex matrices, read "Hermitian" for "symmetric" and "unitary" for "orthogonal". The
//! criterion belongs to the set ([`SetOptions`]), which is checked for it on construction. The
//! method, the starting point and the tolerance are chosen for each solve ([`Settings`]).
//!
//! ## Likelihood
//!
//! The criterion of Pham (2001) for positive definite matrices, such as covariance matrices:
//!
//! ```text
//! L(B) = ½ Σ_i w_i [ Σ_a log Dⁱ_aa − log det Dⁱ ]
//! ```
//!
//! It is 0 if all Dⁱ are diagonal, and depends neither on the scale of the rows of B nor on the
//! units of the data. The example at the top of this page minimizes it. With
//! [`Settings::orthogonal`], the methods `Newton` and `QuasiNewton` minimize it over orthogonal B
//! (common principal components):
//!
//! ```
//! use codiag::{Settings, diagonalize, synthetic};
//! let set = synthetic::noisy(50, 8, 0.1, 0);
//! let result = diagonalize(&set, &Settings::default().orthogonal(true))?;
//! assert!((result.b[(0, 1)] - result.a[(1, 0)]).abs() < 1e-10); // A is the transpose of B
//! # Ok::<(), codiag::Error>(())
//! ```
//!
//! ## Frobenius
//!
//! The criterion of Cardoso and Souloumiac (1996): the fraction of the energy of the matrices that
//! is off the diagonals, over orthogonal B. The matrices need not be positive definite; examples
//! are lagged covariance matrices or cumulant matrices of whitened data.
//!
//! ```
//! use codiag::{Criterion, MatrixSet, SetOptions, Settings, diagonalize, synthetic};
//! let (data, _) = synthetic::indefinite(50, 8, 0.3, 0);
//! let options = SetOptions::default().criterion(Criterion::Frobenius);
//! let set = MatrixSet::with_options(&data, 50, 8, &options)?;
//! let result = diagonalize(&set, &Settings::default())?;
//! assert!(result.status.is_converged() && result.loss < 0.5);
//! # Ok::<(), codiag::Error>(())
//! ```
//!
//! ## Least squares
//!
//! The criterion of Yeredor (2002): the relative residual of the fit Cⁱ ≈ A Λⁱ Aᴴ with diagonal Λⁱ.
//! The matrices need not be positive definite, nor the data whitened.
//!
//! ```
//! use codiag::{Criterion, MatrixSet, SetOptions, Settings, diagonalize, synthetic};
//! let (data, mixing) = synthetic::mixed(50, 8, 0.0, 0);
//! let options = SetOptions::default().criterion(Criterion::LeastSquares);
//! let set = MatrixSet::with_options(&data, 50, 8, &options)?;
//! let result = diagonalize(&set, &Settings::default())?;
//! assert!(result.loss < 1e-12 && synthetic::amari_distance(&result.b, &mixing) < 1e-10);
//! # Ok::<(), codiag::Error>(())
//! ```
//!
//! ## Complex matrices
//!
//! Every criterion and method accepts Hermitian matrices of [`c64`] numbers, such as cross-spectral
//! matrices. B is then complex.
//!
//! ```
//! use codiag::{MatrixSet, Settings, c64, diagonalize, synthetic};
//! let generated = synthetic::Synthetic::complex(50, 5, 0.0, 0);
//! let set: MatrixSet<c64> = MatrixSet::new(&generated.data, 50, 5)?;
//! let result = diagonalize(&set, &Settings::default())?;
//! assert!(synthetic::amari_distance(&result.b, &generated.mixing) < 1e-8);
//! # Ok::<(), codiag::Error>(())
//! ```
//!
//! # Algorithms
//!
//! All methods for the likelihood and the Frobenius criterion update B ← (I + E)B, so gradient and
//! Hessian are those of E ↦ L((I + E)B). For the likelihood they are
//!
//! ```text
//! G_ab   = Σ_i w_i Dⁱ_ab / Dⁱ_aa − δ_ab
//! H_abcd = δ_ac M^a_bd + δ_ad δ_bc,   M^a = Σ_i w_i [ Dⁱ / Dⁱ_aa − 2 dⁱ_a dⁱ_aᵀ / (Dⁱ_aa)² ]
//! Γ_ab   = Σ_i w_i Dⁱ_bb / Dⁱ_aa      (determines the Hessian if all Dⁱ are diagonal)
//! ```
//!
//! - [`Method::Newton`]: a truncated Newton method. Conjugate gradients use the exact Hessian,
//!   which is stored as the p matrices M^a, and the step is followed by an exact line search.
//!   Convergence is quadratic, on noisy data too. For least squares it is a damped Gauss–Newton
//!   method, which changes to the exact Hessian near the solution where residuals are large.
//! - [`Method::QuasiNewton`]: Algorithm 1 of Ablin, Cardoso & Gramfort, "Beyond Pham's algorithm
//!   for joint diagonalization" (ESANN 2019).
//! - [`Method::Pham`]: Pham, "Joint approximate diagonalization of positive definite Hermitian
//!   matrices" (SIAM J. Matrix Anal. Appl., 2001).
//! - [`Method::RowWise`]: alternating minimization over the rows of B, provided for comparison.
//! - [`Method::Jacobi`]: Jacobi rotations (Cardoso & Souloumiac, SIAM J. Matrix Anal. Appl., 1996).
//! - [`Method::Acdc`], [`Method::Uwedge`], [`Method::Ffdiag`]: the methods of Yeredor (2002), of
//!   Tichavský & Yeredor (2009), and of Ziehe, Laskov, Nolte & Müller (2004).
//!
//! # Guarantees
//!
//! - The constructors of [`MatrixSet`] check all data. Invalid input is an [`Error`]; a solve that
//!   does not converge is not an error, but is reported by its [`Status`].
//! - The stopping rule does not depend on the units of the data, on the number of matrices, or on
//!   the scale of B. For the likelihood the gradient norm is ĝ = ‖G‖_F / √p, with rows of B scaled
//!   so that Σ_i w_i Dⁱ_aa = 1.
//! - Results do not depend on the number of threads, to the last bit.
//! - Derivatives can be inspected at any B: [`Evaluation`] returns the loss and the gradient,
//!   [`Hessian`] the second derivatives.
//!
//! # Features and build profile
//!
//! - `signals` (default): the module `signals`, which separates the sources of recordings.
//! - `synthetic` (default): the module `synthetic`, with the data sets of the paper and covariance
//!   matrices of a MEG recording. The latter come from MNE-Python's test data and are licensed
//!   under BSD-3-Clause (`data/LICENSE-mne-python.txt`); everything else is under MIT.
//! - `serde`: results, records and inspections implement `Serialize`.
//! - `ndarray`, `nalgebra`: conversions of [`Matrix`] from and to the matrices of these crates, and
//!   `MatrixSet::from_array` for three-dimensional arrays.
//!
//! Unoptimized builds are about 150 times slower. To optimize dependencies, including codiag, in
//! debug builds, add to `Cargo.toml`:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! ```

mod setters;

mod choices;
pub mod error;
mod memory;
mod settings;
mod threads;
mod tuning;

// Some items are used only by the feature `signals`.
#[cfg_attr(not(feature = "signals"), allow(dead_code, unused_imports))]
mod linalg;
pub mod npy;

mod data;

pub mod backend;

mod objective;

mod init;

mod checkpoint;
mod compiled;
mod conversions;
mod diagonalize;
mod evaluation;
mod inspect;
pub mod jobs;
mod report;
mod solver;
mod stability;
mod tracker;

#[cfg(feature = "signals")]
pub mod signals;
#[cfg(feature = "synthetic")]
pub mod synthetic;

pub use backend::cluster;
pub use backend::{Hessian, MatrixFile, OnDisk, ReadObserver, ReadProgress};
pub use checkpoint::Checkpoint;
pub use choices::{Criterion, Method, SortBy};
pub use data::{MatrixSet, Rank, Reduction, SetOptions};
pub use diagonalize::{diagonalize, diagonalize_with, diagonalize_with_backend};
pub use error::Error;
pub use evaluation::Evaluation;
pub use inspect::{Inspection, Inspector, inspect};
pub use linalg::{Matrix, Scalar, c64};
pub use memory::Memory;
pub use report::{
    Diagonalization, Identifiability, Observer, Record, RecordValue, Stability, Stage, Status,
    StepKind,
};
pub use settings::{Init, Settings};
pub use stability::{Resample, resample};
pub use threads::release_threads;
pub use tracker::{Tracker, TrackerSettings};

/// Items used by the project's own benchmarks; not part of the public interface.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals {
    pub use crate::linalg::{SymmetricBatch, Triangle, kernels, product};
}
