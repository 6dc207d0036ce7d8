//! Sets in .npy files, from standard input and from disk with a memory limit.
#![no_main]

mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let mut array = b"\x93NUMPY".to_vec();
    array.extend(content);
    program::run_program("check -", &array, std::path::Path::new(""));
    program::run_on_file(
        "diagonalize @ --max-iter 5 --memory 64MB --quiet",
        "npy",
        &array,
    );
});
