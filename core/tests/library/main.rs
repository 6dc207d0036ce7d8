//! The library as its users meet it: one program, because each would be linked anew.

mod answer;
mod bad_input;
mod convergence;
mod invariance;
mod observers;
mod on_disk;
mod properties;
mod reference;
mod signals;
mod tracker;
