//! A set whose matrices are distributed over several processes or machines.
//!
//! Each process holds a [`Worker`], created from [`Chunk`](crate::backend::Chunk)s. The client runs
//! the solver on a [`ClusterSet`], which sends every request to all workers. It adds their sums in
//! the order of the workers, each multiplied by its fraction of the weight. Results do not depend
//! on the order in which workers respond.
//!
//! # Fault tolerance
//!
//! A request contains everything that its result depends on. The data that a worker keeps between
//! requests only save work. If the process of a worker ends, a new worker with the same matrices
//! computes identical sums.
//!
//! # Messages
//!
//! Requests, responses and descriptions are bytes, which [`SendRequests`] transports. All numbers
//! are little-endian. A message begins with sixteen bytes:
//!
//! | bytes | content |
//! |---|---|
//! | 0, 1 | `cd`, or `cz` for complex matrices |
//! | 2 | version of this format, 4 |
//! | 3 | kind of the request, also in its response; 255 in a description |
//! | 4 … 7 | dimension p, as a `u32` |
//! | 8 … 15 | a `u64`: in a request, k if it is for every k-th matrix (0: all); in other messages, the number of `f64`s that follow |
//!
//! The rest are `f64`s: matrices in row-major order, complex numbers as real and imaginary parts.
//! Their number in a request is determined by its kind and p. A description ends with the name of
//! the criterion.

mod client;
mod message;
mod received;
#[cfg(test)]
mod tests;
mod wire;
mod worker;

pub use client::{ClusterSet, SendRequests};
pub use worker::Worker;

/// Whether a message is about complex matrices. Descriptions of complex matrices belong to
/// [`ClusterSet::complex`], others to [`ClusterSet::new`].
///
/// ```
/// use codiag::cluster::{Worker, is_complex};
/// use codiag::backend::Chunk;
/// use codiag::{SetOptions, synthetic};
///
/// let generated = synthetic::Synthetic::complex(10, 3, 0.1, 0);
/// let chunk = Chunk::new(&generated.data, 10, 3, 0, &SetOptions::default())?;
/// assert!(is_complex(&Worker::of_chunks(vec![chunk], None, None)?.describe()));
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn is_complex(message: &[u8]) -> bool {
    wire::read(message).is_some_and(|(header, _)| header.complex)
}
