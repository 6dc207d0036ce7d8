//! For matrices that are neither in memory nor in one place: the questions a solver asks of a set.
//!
//! Whoever answers them, by implementing [`WorkingSet`], can have the matrices wherever they are and
//! call [`diagonalize_working`]. [`InMemory`] answers for matrices in memory, and is what several
//! processes or machines would each hold: every answer is a weighted mean over the matrices, so the
//! answers for parts of a set, weighed by their shares, make that for the whole. A part is made from
//! [`Chunk`]s, which are checked where they are.

pub use crate::matrices::{
    Chunk, FinalSums, InMemory, LinePoint, PairStep, PairSums, Pairs, Probe, RotationSums, Summary,
    Tables, WorkingSet,
};
pub use crate::solver::diagonalize_working;
pub use crate::statistics::Statistics;
pub use crate::update::advanced;
