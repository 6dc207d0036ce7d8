//! Runs the program in this process, with bytes as its standard input or in a file.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use codiag_cli::{BAD_INPUT, NOT_CONVERGED, Session, run};

/// Runs the program with arguments separated by spaces, where `@` is replaced by the file.
pub fn run_program(arguments: &str, input: &[u8], file: &Path) {
    let path = file.display().to_string();
    let arguments = arguments
        .split(' ')
        .map(|a| if a == "@" { &path } else { a });
    let interrupted = AtomicBool::new(false);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut session = Session::new(input, &mut out, &mut err, &interrupted);
    let code = run(std::iter::once("codiag").chain(arguments), &mut session);
    drop(session);
    assert!(
        [0, NOT_CONVERGED, BAD_INPUT].contains(&code),
        "exit code {code}"
    );
    String::from_utf8(err).expect("messages are valid UTF-8");
}

/// Runs the program on a file with the given extension and content.
#[allow(dead_code)] // not all targets use a file
pub fn run_on_file(arguments: &str, extension: &str, content: &[u8]) {
    thread_local! {
        static DIRECTORY: tempfile::TempDir = tempfile::tempdir().expect("a temporary directory");
    }
    DIRECTORY.with(|directory| {
        let file = directory.path().join("input").with_extension(extension);
        std::fs::write(&file, content).expect("a temporary file");
        run_program(arguments, b"", &file);
    });
}
