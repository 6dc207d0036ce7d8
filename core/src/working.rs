//! For matrices that are neither in memory nor in one place: the questions a solver asks of a set.
//!
//! Whoever answers them, by implementing [`WorkingSet`], can have the matrices wherever they are and
//! call [`diagonalize_working`]. [`InMemory`] answers for matrices in memory. Every answer is a weighted
//! mean over the matrices, so the answers of several sets, weighed by their shares, make that of
//! their union: [`cluster`](crate::cluster) is made so. Its parts are made from [`Chunk`]s, which are
//! checked where they are.

pub use crate::matrices::{
    Balanced, Chunk, FinalSums, InMemory, LinePoint, PairStep, PairSums, Pairs, Probe,
    RotationSums, Summary, Tables, WorkingSet,
};
pub use crate::solver::diagonalize_working;
pub use crate::statistics::Statistics;
pub use crate::threads::{Helper, with_helpers};
pub use crate::update::advanced;
