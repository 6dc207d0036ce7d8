//! The C interface of codiag.
//!
//! `include/codiag.h` is made from these files, and says all that a caller has to know; a test keeps
//! it true. What stands here is what Rust has to know: every function of the border is a thin wrap of
//! the library, in which a panic is caught (`border.rs`), whatever C passes is checked before it is
//! used, and an error message has the names of C (`option_names.rs`).

// The border is made of pointers.
#![allow(unsafe_code)]
// Types are named as C names them.
#![allow(non_camel_case_types)]
// What a caller must keep to is said in the header, in C's words: the same for all functions.
#![allow(clippy::missing_safety_doc)]

mod answer;
mod arrays;
mod border;
mod choices;
mod details;
mod library;
mod observer;
mod option_names;
mod options;
mod set;
mod signals;

pub use answer::{
    codiag_answer, codiag_answer_a, codiag_answer_b, codiag_answer_condition_number,
    codiag_answer_free, codiag_answer_history, codiag_answer_info, codiag_answer_matches,
    codiag_answer_powers, codiag_answer_residuals, codiag_answer_stability,
    codiag_answer_start_losses, codiag_diagonalize, codiag_info, codiag_info_init,
};
pub use border::{codiag_error, codiag_language, codiag_last_error, codiag_last_error_in};
pub use choices::{
    codiag_criterion, codiag_criterion_from_name, codiag_criterion_name, codiag_error_name,
    codiag_init, codiag_init_from_name, codiag_init_name, codiag_layout, codiag_method,
    codiag_method_from_name, codiag_method_name, codiag_stage, codiag_stage_name, codiag_status,
    codiag_status_name, codiag_step, codiag_step_name,
};
pub use details::{
    codiag_error_details, codiag_error_details_init, codiag_last_error_details, codiag_remedy,
};
pub use library::{codiag_release_threads, codiag_version};
pub use observer::{codiag_callback, codiag_record, codiag_record_init};
pub use options::{
    CODIAG_N_COMPONENTS_AUTO, CODIAG_NONE, codiag_set_options, codiag_set_options_init,
    codiag_settings, codiag_settings_init,
};
pub use set::{
    codiag_set, codiag_set_channels, codiag_set_dimension, codiag_set_evaluate, codiag_set_free,
    codiag_set_length, codiag_set_new, codiag_set_new_complex, codiag_set_transform,
};
pub use signals::{
    codiag_cumulants, codiag_lagged_covariances, codiag_recording, codiag_recording_init,
    codiag_segment_covariances,
};
