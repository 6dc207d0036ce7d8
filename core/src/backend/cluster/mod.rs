//! A set whose matrices are held by several processes or machines.
//!
//! Each holds a [`Part`], made of [`Chunk`](crate::backend::Chunk)s. The solver runs in one place,
//! on a [`ClusterSet`], which puts every question to all parts and adds the answers up in the parts'
//! order, weighed by their shares: the same bits, whoever answers first.
//!
//! # Nothing is lost with a part
//!
//! A question carries all that its answer depends on: the B at which the part should stand, the
//! direction probed there, and what is wanted. A part keeps its Dⁱ from one question to the next,
//! but only to save work. One that was just made anew, because its process died, goes to the B of
//! the question and answers alike.
//!
//! # What travels
//!
//! Questions, answers and descriptions are bytes; how they travel is up to [`Ask`]. All numbers are
//! little-endian. A message begins with sixteen bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 0, 1 | `cd`, of complex matrices `cz` |
//! | 2 | the version of this format, 4 |
//! | 3 | the kind of question, also in its answer; 255 in a description |
//! | 4 … 7 | the dimension p, as a `u32` |
//! | 8 … 15 | a `u64`: in a question, that only every so many-th matrix is meant (0: all); elsewhere, how many numbers follow |
//!
//! The rest are `f64`s, matrices row after row, of complex numbers the real and the imaginary part in turn. How many there are in a question, and what they
//! are, follows from its kind and p. A description ends with the name of the criterion.

mod client;
mod message;
mod part;

mod received;
#[cfg(test)]
mod tests;
mod wire;

pub use client::{Ask, ClusterSet};
pub use part::Part;

/// Whether a message is about complex matrices: which set to make of a description.
///
/// ```
/// use codiag::cluster::{Part, is_complex};
/// use codiag::backend::Chunk;
/// use codiag::{SetOptions, synthetic};
///
/// let made = synthetic::Synthetic::complex(10, 3, 0.1, 0);
/// let chunk = Chunk::new(&made.data, 10, 3, 0, &SetOptions::default())?;
/// assert!(is_complex(&Part::of_chunks(vec![chunk], None, None)?.describe()));
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn is_complex(message: &[u8]) -> bool {
    wire::read(message).is_some_and(|(header, _)| header.complex)
}
