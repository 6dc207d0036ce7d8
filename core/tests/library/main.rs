//! The library as its users meet it: one program, because each would be linked anew.

mod answer;
mod bad_input;
mod convergence;
mod equivariance;
mod error_messages;
mod frobenius;
mod hermitian;
mod invariance;
mod least_squares;
mod observers;
mod on_disk;
mod processors;
mod properties;
mod reference;
mod rotations;
mod signals;
mod tracker;

#[path = "../../examples/cross_spectra.rs"]
mod cross_spectra;
#[path = "../../examples/working_set.rs"]
mod working_set;

#[test]
fn cross_spectra_see_delays() {
    cross_spectra::main().unwrap();
}

#[test]
fn a_working_set_of_ones_own_solves() {
    working_set::main().unwrap();
}
