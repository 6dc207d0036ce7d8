//! The C interface of codiag.
//!
//! `include/codiag.h` is generated from these files and documents the interface for callers; a test
//! keeps it up to date. Each function is a thin wrapper of the Rust library: it validates all
//! arguments, catches panics (`ffi_guard.rs`), and writes error messages with the names of C
//! (`option_names.rs`).

// The functions exchange pointers with C.
#![allow(unsafe_code)]
// Types have the same names as in C.
#![allow(non_camel_case_types)]
// The requirements on callers are documented in the header.
#![allow(clippy::missing_safety_doc)]

mod arrays;
mod choices;
mod error_details;
mod ffi_guard;
mod library;
mod observer;
mod option_names;
mod options;
mod result;
mod set;
mod signals;

pub use choices::{
    codiag_criterion, codiag_criterion_from_name, codiag_criterion_name, codiag_error_name,
    codiag_init, codiag_init_from_name, codiag_init_name, codiag_layout, codiag_method,
    codiag_method_from_name, codiag_method_name, codiag_sort_by, codiag_sort_by_from_name,
    codiag_sort_by_name, codiag_stage, codiag_stage_name, codiag_status, codiag_status_name,
    codiag_step, codiag_step_name,
};
pub use error_details::{
    codiag_error_details, codiag_error_details_init, codiag_last_error_details, codiag_remedy,
};
pub use ffi_guard::{codiag_error, codiag_language, codiag_last_error, codiag_last_error_in};
pub use library::{codiag_release_threads, codiag_version};
pub use observer::{codiag_callback, codiag_record, codiag_record_init};
pub use options::{
    CODIAG_N_COMPONENTS_AUTO, CODIAG_NONE, codiag_set_options, codiag_set_options_init,
    codiag_settings, codiag_settings_init,
};
pub use result::{
    codiag_diagonalize, codiag_info, codiag_info_init, codiag_result, codiag_result_a,
    codiag_result_b, codiag_result_condition_number, codiag_result_free, codiag_result_history,
    codiag_result_info, codiag_result_matches, codiag_result_powers, codiag_result_residuals,
    codiag_result_stability, codiag_result_start_losses,
};
pub use set::{
    codiag_set, codiag_set_evaluate, codiag_set_free, codiag_set_n_channels,
    codiag_set_n_components, codiag_set_n_matrices, codiag_set_new, codiag_set_new_complex,
    codiag_set_transform,
};
pub use signals::{
    codiag_cumulants, codiag_lagged_covariances, codiag_recording, codiag_recording_init,
    codiag_segment_covariances,
};
