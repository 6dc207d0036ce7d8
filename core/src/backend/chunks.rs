//! Sums over chunks of matrices, for backends that receive their matrices in pieces.

use super::block_state::{BlockState, BlockView};
use super::cache_keys::Reuse;
use super::task::Task;
use super::{Chunk, Request, Sums};
use crate::Error;
use crate::linalg::Scalar;

impl<T: Scalar> Sums<T> {
    /// Adds the sums over a chunk that has the given fraction of the weight of the set. Call
    /// [`begin`](Self::begin) for the request first. Tables are not computed.
    ///
    /// ```
    /// use codiag::backend::{Chunk, Request, Sums};
    /// use codiag::{Matrix, SetOptions, synthetic};
    /// let generated = synthetic::Synthetic::new(50, 3, 0.1, 0);
    /// let request = Request::Point { b: Matrix::identity(3), update: None, hessian: false };
    /// let mut sums = Sums::default();
    /// sums.begin(&request, 3);
    /// for (first, data) in generated.data.chunks(10 * 9).enumerate() {
    ///     let chunk = Chunk::new(data, 10, 3, 10 * first, &SetOptions::default())?;
    ///     sums.add_chunk(&request, &chunk, 0.2)?;
    /// }
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Errors
    /// None are expected if the request is for matrices of the size of the chunk.
    pub fn add_chunk(
        &mut self,
        request: &Request<T>,
        chunk: &Chunk<T>,
        fraction: f64,
    ) -> Result<(), Error> {
        let p = chunk.size();
        let task = Task::new(request, chunk.criterion(), Reuse::default()).for_size(p);
        let (mut state, mut part) = (BlockState::default(), Self::default());
        part.begin(request, p);
        for block in chunk.blocks() {
            state.evaluate(&BlockView::of(block), &task, &mut part)?;
        }
        self.add_multiple(fraction, &part, task.with_hessian);
        Ok(())
    }
}
