//! Where the matrices are kept, and the one question that a solver asks of them.
//!
//! A [`Backend`] evaluates a [`Request`]: weighted sums over all matrices at a point B. A request
//! carries everything that its result depends on. What a backend keeps between requests (transformed
//! matrices, tables along a search direction) is a private cache: it saves work, and never changes
//! what is computed beyond rounding. Three backends are provided: [`InMemory`],
//! [`OnDisk`] and [`ClusterSet`](crate::cluster::ClusterSet). They differ in how they
//! visit the blocks of matrices and add up the sums; one `BlockState` evaluates a request for a block.
//!
//! Sums are weighted means. The sums of a union of sets are therefore the sums of the sets, each
//! multiplied by the fraction of the weight that it holds, added up: this is how a cluster works.

mod block_state;
mod chunks;
pub mod cluster;
pub(crate) mod disk;
mod fit;
mod hessian;
mod kept;
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

/// A set of matrices that can be asked for weighted sums at any point B.
///
/// The example `core/examples/backend.rs` of the repository is a backend of its own.
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
#[allow(clippy::missing_errors_doc)] // said above each method
pub trait Backend<T: Scalar = f64> {
    /// What is known of the set without evaluating anything.
    fn summary(&self) -> &Summary<T>;

    /// What the backend can do, and what it costs.
    fn capabilities(&self) -> Capabilities;

    /// Evaluates a request; `sums` is overwritten, its memory is reused.
    ///
    /// Fails with [`Error::External`] if the matrices cannot be reached any more, with
    /// [`Error::Interrupted`] if a watcher of the backend asks to end the solve, and with
    /// [`Error::InvalidRequest`] for a request that the backend does not support.
    fn evaluate(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error>;

    /// Every `step`-th matrix as a set of its own, with weights that sum to 1; None if their weights
    /// are all zero. The losses of this set lack the constant ½ Σ_i w_i log det Cⁱ.
    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn Backend<T> + '_>>, Error>;

    /// The matrices B Cⁱ Bᴴ in single precision as a set of its own, for solves that begin at B; None
    /// (the default) if the backend has none, or if single precision does not suffice.
    fn in_single_precision(&mut self, b: &Matrix<T>) -> Result<Option<Box<dyn Backend<T>>>, Error> {
        let _ = b;
        Ok(None)
    }

    /// Access to the matrices B Cⁱ Bᴴ pair by pair, for Pham's algorithm and Jacobi rotations; None
    /// (the default) where a sweep of p²/2 passes over the matrices would take too long.
    fn pairs(&mut self, b: &Matrix<T>) -> Result<Option<&mut dyn Pairs<T>>, Error> {
        let _ = b;
        Ok(None)
    }

    /// The set itself if its matrices are in memory: several starts can then be solved at a time.
    fn as_in_memory(&self) -> Option<&InMemory<T>> {
        None
    }
}

/// What a [`Backend`] can do, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether exact Hessians are stored. If not, a product with the Hessian is a pass over the
    /// matrices.
    pub stores_hessian: bool,
    /// Whether a Hessian costs little if it is asked for together with the gradient, but a pass over
    /// the matrices if it is asked for later.
    pub prefers_joint_requests: bool,
    /// Relative rounding error of sums over the set.
    pub epsilon: f64,
}

impl Default for Capabilities {
    /// Of a set in memory, in double precision.
    fn default() -> Self {
        Self {
            stores_hessian: true,
            prefers_joint_requests: false,
            epsilon: f64::EPSILON,
        }
    }
}
