//! Storage of the matrices, and evaluation of the weighted sums that a solver needs.
//!
//! A [`Backend`] evaluates a [`Request`]: weighted sums over all matrices at a point B. A request
//! contains everything that its result depends on. The data that a backend keeps between requests
//! (transformed matrices, tables along a search direction) are a private cache: they save work, and
//! change results by rounding errors only. Three backends are provided: [`InMemory`], [`OnDisk`]
//! and [`ClusterSet`](crate::cluster::ClusterSet). They differ in how they visit the blocks of
//! matrices and add the sums; in all of them a `BlockState` evaluates a request for one block.
//!
//! Sums are weighted means. The sums over a union of sets are therefore the weighted mean of their
//! sums, each with its fraction of the total weight. A cluster combines the sums of its workers so.

mod block_state;
mod cache_keys;
mod chunks;
pub mod cluster;
pub(crate) mod disk;
mod fit;
mod hessian;
mod memory;
mod pairs;
mod request;
mod resident;
mod single;
mod start_sums;
mod task;

pub use crate::data::{Chunk, Summary};
pub(crate) use crate::linalg::kernels::LinePoint;
pub use crate::linalg::kernels::{PairSums, RotationSums};
pub use disk::{MatrixFile, OnDisk, ReadObserver, ReadProgress};
pub(crate) use fit::{Change, Fit};
pub use hessian::{Hessian, Statistics};
pub(crate) use hessian::{HessianRows, add_determinant, row_entry};
pub use memory::InMemory;
pub use pairs::{PairStep, Pairs};
pub(crate) use request::moved;
pub use request::{Request, Sums, Tables, Update};
pub(crate) use start_sums::COMBINATIONS_AT_ONCE;

use crate::Error;
use crate::linalg::{Matrix, Scalar};

/// A set of matrices that evaluates weighted sums at any point B.
///
/// The example `core/examples/backend.rs` of the repository implements a custom backend.
///
/// ```
/// use codiag::backend::{Backend, InMemory, Request, Sums};
/// use codiag::{Matrix, synthetic};
/// let mut set = InMemory::new(&synthetic::noisy(20, 3, 0.1, 0));
/// let mut sums = Sums::default();
/// let b = Matrix::identity(3);
/// set.evaluate(&Request::Point { b, update: None, hessian: false }, &mut sums)?;
/// // Σ_i w_i Σ_a log Dⁱ_aa
/// assert!(sums.numbers()[0].is_finite());
/// # Ok::<(), codiag::Error>(())
/// ```
#[allow(clippy::missing_errors_doc)] // described in the text of each method
pub trait Backend<T: Scalar = f64> {
    /// Returns the data of the set that need no evaluation.
    fn summary(&self) -> &Summary<T>;

    /// Returns the capabilities of the backend and the cost of requests.
    fn capabilities(&self) -> Capabilities;

    /// Evaluates a request. `sums` is overwritten, its memory is reused.
    ///
    /// Fails with [`Error::External`] if the matrices are no longer accessible, with
    /// [`Error::Interrupted`] if an observer of the backend stops the solve, and with
    /// [`Error::InvalidRequest`] for a request that the backend does not support.
    fn evaluate(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error>;

    /// Returns every `step`-th matrix as a set with normalized weights; None if their weights are
    /// all zero. The losses of this set lack the constant ½ Σ_i w_i log det Cⁱ.
    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn Backend<T> + '_>>, Error>;

    /// Returns the matrices B Cⁱ Bᴴ in single precision as a set, for solves that start at B. None
    /// (the default) if the backend does not support it, or if single precision is not sufficient.
    fn in_single_precision(&mut self, b: &Matrix<T>) -> Result<Option<Box<dyn Backend<T>>>, Error> {
        let _ = b;
        Ok(None)
    }

    /// Gives access to the matrices B Cⁱ Bᴴ pair by pair, for Pham's algorithm and Jacobi
    /// rotations. None (the default) if a sweep of p²/2 data passes would take too long.
    fn pairs(&mut self, b: &Matrix<T>) -> Result<Option<&mut dyn Pairs<T>>, Error> {
        let _ = b;
        Ok(None)
    }

    /// Returns the set if its matrices are in memory: several starts can then be solved
    /// concurrently.
    fn as_in_memory(&self) -> Option<&InMemory<T>> {
        None
    }
}

/// Capabilities of a [`Backend`], and the cost of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether exact Hessians are stored. If not, each product with the Hessian takes a data pass.
    pub stores_hessian: bool,
    /// Whether a Hessian is cheap if it is requested together with the gradient, but takes a data
    /// pass if it is requested later.
    pub prefers_joint_requests: bool,
    /// Relative rounding error of sums over the set.
    pub epsilon: f64,
}

impl Default for Capabilities {
    /// Returns the capabilities of a set in memory and in double precision.
    fn default() -> Self {
        Self {
            stores_hessian: true,
            prefers_joint_requests: false,
            epsilon: f64::EPSILON,
        }
    }
}
