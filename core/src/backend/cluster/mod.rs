//! A set whose matrices are held by several processes or machines.
//!
//! Each holds a [`Worker`], made of [`Chunk`](crate::backend::Chunk)s. The solver runs in one place,
//! on a [`ClusterSet`], which sends every request to all parts and adds up their sums in the order of the
//! parts, each multiplied by its fraction of the weight: the same bits, whichever part answers first.
//!
//! # Nothing is lost with a part
//!
//! A request carries everything that its result depends on. What a part keeps between requests only
//! saves work. A part that was made again because its process died computes the same sums.
//!
//! # Messages
//!
//! Requests, sums and descriptions are bytes, which [`SendRequests`] transports. All numbers are little-endian.
//! A message begins with sixteen bytes:
//!
//! | bytes | content |
//! |---|---|
//! | 0, 1 | `cd`, of complex matrices `cz` |
//! | 2 | the version of this format, 4 |
//! | 3 | the kind of message, also in its answer; 255 in a description |
//! | 4 … 7 | the dimension p, as a `u32` |
//! | 8 … 15 | a `u64`: in a request, k if it is about every k-th matrix (0: all); elsewhere, the number of `f64`s that follow |
//!
//! The rest are `f64`s: matrices row after row, complex numbers as their real and imaginary parts. Their
//! number in a request follows from its kind and p. A description ends with the name of the criterion.

mod client;
mod message;
mod part;

mod received;
#[cfg(test)]
mod tests;
mod wire;

pub use client::{ClusterSet, SendRequests};
pub use part::Worker;

/// Whether a message is about complex matrices: which set to make of a description.
///
/// ```
/// use codiag::cluster::{Worker, is_complex};
/// use codiag::backend::Chunk;
/// use codiag::{SetOptions, synthetic};
///
/// let made = synthetic::Synthetic::complex(10, 3, 0.1, 0);
/// let chunk = Chunk::new(&made.data, 10, 3, 0, &SetOptions::default())?;
/// assert!(is_complex(&Worker::of_chunks(vec![chunk], None, None)?.describe()));
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn is_complex(message: &[u8]) -> bool {
    wire::read(message).is_some_and(|(header, _)| header.complex)
}
