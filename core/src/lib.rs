//! Approximate joint diagonalization of positive definite matrices.
//!
//! Given positive definite matrices C¹ … Cⁿ of size p×p and weights w_i that sum to 1, codiag finds
//! the matrix B for which all Dⁱ = B Cⁱ Bᵀ are as diagonal as can be, under the likelihood criterion
//! of Pham (2001):
//!
//! ```text
//! L(B) = ½ Σ_i w_i [ Σ_a log Dⁱ_aa − log det Dⁱ ]
//! ```
//!
//! which is 0 exactly when all Dⁱ are diagonal, and depends neither on the scale of B's rows nor on
//! the units of the data. The rows of B are filters that separate sources whose powers vary over the
//! set; the columns of A = B⁻¹ are their patterns.
//!
//! ```
//! use codiag::{MatrixSet, Settings, diagonalize, synthetic};
//!
//! // 50 covariances of 8 mixed sources, as n·p·p numbers.
//! let made = synthetic::Synthetic::new(50, 8, 0.0, 0);
//! let set = MatrixSet::new(&made.data, 50, 8)?;
//! let answer = diagonalize(&set, &Settings::default())?;
//!
//! assert!(answer.status.is_converged());
//! println!("loss {} after {} iterations", answer.loss, answer.n_iter);
//! assert!(synthetic::amari_distance(&answer.b, &made.mixing) < 1e-8); // B undoes the mixing
//! # Ok::<(), codiag::Error>(())
//! ```
//!
//! # In a Cargo.toml
//!
//! Unoptimized builds are some 150 times slower. This has dependencies optimized in debug builds too,
//! and one's own code built as fast as ever:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! ```
//!
//! The features, of which the first two are on by default:
//!
//! - `signals`: from recordings to sources and back, the module `signals`.
//! - `synthetic`: the module `synthetic`, with the paper's synthetic sets and covariances of a MEG
//!   recording. These come from MNE-Python's test data and are under BSD-3-Clause
//!   (`data/LICENSE-mne-python.txt`); all else is under MIT.
//! - `serde`: answers, records and inspections can be serialized.
//!
//! # Methods
//!
//! All move by relative updates B ← (I + E)B, so the gradient and the Hessian are those of
//! E ↦ L((I + E)B):
//!
//! ```text
//! G_ab   = Σ_i w_i Dⁱ_ab / Dⁱ_aa − δ_ab
//! H_abcd = δ_ac M^a_bd + δ_ad δ_bc,   M^a = Σ_i w_i [ Dⁱ / Dⁱ_aa − 2 dⁱ_a dⁱ_aᵀ / (Dⁱ_aa)² ]
//! Γ_ab   = Σ_i w_i Dⁱ_bb / Dⁱ_aa      (the Hessian, if all Dⁱ are diagonal, is made of it)
//! ```
//!
//! - [`Method::Newton`], the default: conjugate gradients on the exact Hessian, which is p matrices
//!   M^a and a transposition, and an exact line search that costs next to nothing. Quadratic
//!   convergence on noisy data too.
//! - [`Method::QuasiNewton`]: Algorithm 1 of Ablin, Cardoso & Gramfort, "Beyond Pham's algorithm for
//!   joint diagonalization" (ESANN 2019), to the letter.
//! - [`Method::Pham`]: Pham's algorithm, "Joint approximate diagonalization of positive definite
//!   Hermitian matrices" (SIAM J. Matrix Anal. Appl., 2001), pair by pair.
//! - [`Method::RowWise`]: alternating minimization over the rows of B, for comparison.
//!
//! The first two also minimize over rotations ([`Settings::orthogonal`]): common principal
//! components.
//!
//! # Matrices that are not positive definite
//!
//! [`Criterion::Frobenius`] takes any symmetric matrices, such as whitened lagged covariances or
//! cumulant matrices, and minimizes the share of their energy that is off the diagonals, over
//! rotations (Cardoso & Souloumiac 1996), by the same engine: Newton's method, the quasi-Newton
//! method, and [`Method::Jacobi`] rotations.
//!
//! ```
//! use codiag::{Criterion, MatrixSet, SetOptions, Settings, diagonalize, synthetic};
//! let (data, _) = synthetic::indefinite(50, 8, 0.3, 0);
//! let options = SetOptions::default().criterion(Criterion::Frobenius);
//! let answer = diagonalize(&MatrixSet::with_options(&data, 50, 8, &options)?, &Settings::default())?;
//! assert!(answer.status.is_converged() && answer.loss < 0.5);
//! # Ok::<(), codiag::Error>(())
//! ```
//!
//! [`Criterion::LeastSquares`] takes the same matrices without whitening, and fits them by A Λⁱ Aᵀ with a
//! mixing A = B⁻¹ that need not be orthogonal (Yeredor 2002): by the Gauss–Newton method, with the exact Hessian near
//! the end ([`Method::Newton`]), or by [`Method::Acdc`], [`Method::Uwedge`] or [`Method::Ffdiag`].
//!
//! ```
//! use codiag::{Criterion, MatrixSet, SetOptions, Settings, diagonalize, synthetic};
//! let (data, mixing) = synthetic::mixed(50, 8, 0.0, 0);
//! let options = SetOptions::default().criterion(Criterion::LeastSquares);
//! let answer = diagonalize(&MatrixSet::with_options(&data, 50, 8, &options)?, &Settings::default())?;
//! assert!(answer.loss < 1e-12 && synthetic::amari_distance(&answer.b, &mixing) < 1e-10);
//! # Ok::<(), codiag::Error>(())
//! ```
//!
//! # What to rely on
//!
//! - What is minimized and how many threads work belong to the set ([`SetOptions`]): a set is checked
//!   for its criterion when it is made. All else is chosen for each solve ([`Settings`]).
//! - [`MatrixSet`]'s constructors are the only place that checks data; an [`Error`] is only for bad
//!   input. Not converging is a [`Status`], never an error and never silent.
//! - The iteration stops on ĝ = ‖G‖_F / √p in the gauge Σ_i w_i Dⁱ_aa = 1, a measure free of units,
//!   of n and of the scale of B.
//! - The answer is the same to the last bit on one thread or many.
//! - Derivatives can be checked: [`Evaluation`] gives loss and gradient, [`Hessian`] the second
//!   derivatives, at any B.

mod setters;

mod choices;
pub mod error;
mod memory;
mod settings;
mod threads;
mod tuning;

// Some of its products serve recordings alone.
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

/// For the project's own benchmarks; not part of the interface.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals {
    pub use crate::linalg::{SymmetricBatch, Triangle, kernels, product};
}
