//! The program in this process, on bytes as its standard input or as a file.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use codiag_cli::{BAD_INPUT, NOT_CONVERGED, Session, run};

/// Runs the program with arguments between blanks, `@` being the file.
pub fn codiag(arguments: &str, input: &[u8], file: &Path) {
    let path = file.display().to_string();
    let arguments = arguments.split(' ').map(|a| if a == "@" { &path } else { a });
    let interrupted = AtomicBool::new(false);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut session = Session::new(input, &mut out, &mut err, &interrupted);
    let code = run(std::iter::once("codiag").chain(arguments), &mut session);
    drop(session);
    assert!([0, NOT_CONVERGED, BAD_INPUT].contains(&code), "exit code {code}");
    String::from_utf8(err).expect("complaints are text");
}

/// Has the program read bytes from a file with a certain ending.
#[allow(dead_code)] // not all targets need one
pub fn read(arguments: &str, ending: &str, content: &[u8]) {
    thread_local! {
        static PLACE: tempfile::TempDir = tempfile::tempdir().expect("there is room");
    }
    PLACE.with(|place| {
        let file = place.path().join("input").with_extension(ending);
        std::fs::write(&file, content).expect("there is room");
        codiag(arguments, b"", &file);
    });
}
