//! Recordings, as .npy and as text, and what is known of them.
#![no_main]

mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let rest = "--n-segments 4 --sfreq 20 --n-components 3 --max-iter 5 --quiet";
    match content.split_first() {
        Some((0, text)) => program::read(&format!("separate @ {rest}"), "csv", text),
        Some((_, array)) => program::read(&format!("separate @ {rest}"), "npy", array),
        None => {}
    }
});
