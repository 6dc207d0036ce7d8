//! End-to-end tests of the public interface, in one binary to save link time.

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
mod properties;
mod reference_losses;
mod result;
mod signals;
mod simd;
mod sobi_jade;
mod synthetic;
mod tracker;

#[path = "../../examples/backend.rs"]
mod backend_example;
#[path = "../../examples/cross_spectra.rs"]
mod cross_spectra;

#[test]
fn cross_spectra_example_separates_delayed_sources() {
    cross_spectra::main().unwrap();
}

#[test]
fn backend_example_agrees_with_memory() {
    backend_example::main().unwrap();
}
