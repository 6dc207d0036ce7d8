//! The library as its users meet it: one program, because each would be linked anew.

mod answer;
mod bad_input;
mod convergence;
mod equivariance;
mod error_messages;
mod frobenius;
mod hermitian;
mod inspect;
mod invariance;
mod layers;
mod least_squares;
mod observers;
mod on_disk;
mod processors;
mod properties;
mod reference;
mod rotations;
mod signals;
mod synthetic;
mod tracker;

#[path = "../../examples/backend.rs"]
mod backend_example;
#[path = "../../examples/cross_spectra.rs"]
mod cross_spectra;

#[test]
fn cross_spectra_see_delays() {
    cross_spectra::main().unwrap();
}

#[test]
fn custom_backend_solves() {
    backend_example::main().unwrap();
}
