//! The program `codiag`: everything it does is in the library [`codiag_cli`], which the Python
//! package calls too.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    // The first Ctrl-C asks the solve to end and to write what it has; the second one ends the
    // program at once, in case there is no solve to hear the first. Without a handler, Ctrl-C
    // simply ends the program, which is no reason to refuse to run.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(codiag_cli::INTERRUPTED);
        }
    });
    let code = codiag_cli::run_in_process(std::env::args_os(), &INTERRUPTED);
    ExitCode::from(u8::try_from(code).unwrap_or(codiag_cli::BAD_INPUT as u8))
}
