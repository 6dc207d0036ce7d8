//! Sets in .npy files: from a stream, whose length is not known, and from disk within a budget.
#![no_main]

mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let mut array = b"\x93NUMPY".to_vec();
    array.extend(content);
    program::codiag("check -", &array, std::path::Path::new(""));
    program::read("diagonalize @ --max-iter 5 --memory 64MB --quiet", "npy", &array);
});
