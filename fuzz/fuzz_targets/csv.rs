//! Matrices as text, in the three endings it may have.
#![no_main]

mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let ending = ["csv", "tsv", "txt"][content.len() % 3];
    program::read("check @", ending, content);
});
