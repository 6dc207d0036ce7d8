//! Sets in .npz archives.
#![no_main]

mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let mut archive = b"PK".to_vec();
    archive.extend(content);
    program::run_program("check -", &archive, std::path::Path::new(""));
    program::run_program("check - --key C", &archive, std::path::Path::new(""));
});
