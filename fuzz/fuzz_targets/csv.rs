//! Matrices in text files with the extensions .csv, .tsv and .txt.
#![no_main]

mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let extension = ["csv", "tsv", "txt"][content.len() % 3];
    program::run_on_file("check @", extension, content);
});
