//! Binary of the program `codiag`, which is implemented in the library [`codiag_cli`].

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Whether the process was started without a standard output, as by `>&-`.
static CLOSED_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Detects a closed standard output. It runs before Rust's library replaces closed streams by
/// /dev/null.
// SAFETY: the systems call the functions of these sections once, at the start of the process, with
// arguments that a C function may ignore. It makes a system call and sets an atomic variable.
#[allow(unsafe_code)]
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static DETECT_CLOSED_OUTPUT: extern "C" fn() = {
    extern "C" fn detect() {
        use std::os::fd::AsFd;
        let closed = std::io::stdout().as_fd().try_clone_to_owned().is_err();
        CLOSED_OUTPUT.store(closed, Ordering::SeqCst);
    }
    detect
};

fn main() -> ExitCode {
    // The first Ctrl-C asks the solve to stop and write its best B. The second one ends the program
    // at once, in case no solve is running. If the handler cannot be installed, the first Ctrl-C
    // ends the program.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(codiag_cli::INTERRUPTED);
        }
    });
    let code = codiag_cli::run_in_process(
        std::env::args_os(),
        CLOSED_OUTPUT.load(Ordering::SeqCst),
        &INTERRUPTED,
    );
    ExitCode::from(u8::try_from(code).unwrap_or(codiag_cli::BAD_INPUT as u8))
}
