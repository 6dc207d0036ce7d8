//! Recordings in .npy and in text files.
#![no_main]

mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let arguments = "separate @ --n-segments 4 --sfreq 20 --n-components 3 --max-iter 5 --quiet";
    match content.split_first() {
        Some((0, text)) => program::run_on_file(arguments, "csv", text),
        Some((_, array)) => program::run_on_file(arguments, "npy", array),
        None => {}
    }
});
