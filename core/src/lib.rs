//! Approximate joint diagonalization of positive definite matrices.

mod criterion;
mod direction;
mod error;
mod linalg;
mod line_search;
mod matrices;
mod report;
mod settings;
mod solver;
mod start;
mod statistics;
pub mod synthetic;
mod threads;
mod update;

pub use criterion::Criterion;
pub use error::Error;
pub use linalg::Matrix;
pub use matrices::{MatrixSet, Rank, Reduction, SetOptions};
pub use report::{Diagonalization, Identifiability, Observer, Record, Status, StepKind};
pub use settings::{Method, Settings, Start};
pub use solver::{diagonalize, diagonalize_with};
pub use statistics::Hessian;
