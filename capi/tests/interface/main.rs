//! Tests of the C functions, called from Rust: results equal those of the Rust library, for real
//! and complex sets in both layouts, and each error has its code and location.

#![allow(unsafe_code)] // calls the functions as C does
#![allow(clippy::undocumented_unsafe_blocks)] // all pointers are to slices that outlive the calls
#![allow(clippy::wildcard_imports)] // uses most of the interface

mod errors;
mod results;
mod sets;

use std::ffi::{CStr, c_int};
use std::ptr;

use codiag::c64;
use codiag_c::*;

const ROW: c_int = codiag_layout::RowMajor as c_int;
const COLUMN: c_int = codiag_layout::ColumnMajor as c_int;

fn message() -> String {
    let text = unsafe { CStr::from_ptr(codiag_last_error()) };
    text.to_str().unwrap().to_owned()
}

fn details() -> codiag_error_details {
    let mut details: codiag_error_details = unsafe { std::mem::zeroed() };
    details.size = size_of::<codiag_error_details>();
    assert_eq!(unsafe { codiag_last_error_details(&raw mut details) }, 0);
    details
}

fn options() -> codiag_set_options {
    let mut options: codiag_set_options = unsafe { std::mem::zeroed() };
    assert_eq!(
        unsafe { codiag_set_options_init(&raw mut options, size_of_val(&options)) },
        0
    );
    options
}

fn settings() -> codiag_settings {
    let mut settings: codiag_settings = unsafe { std::mem::zeroed() };
    assert_eq!(
        unsafe { codiag_settings_init(&raw mut settings, size_of_val(&settings)) },
        0
    );
    settings
}

fn info(result: *const codiag_result) -> codiag_info {
    let mut info: codiag_info = unsafe { std::mem::zeroed() };
    info.size = size_of::<codiag_info>();
    assert_eq!(unsafe { codiag_result_info(result, &raw mut info) }, 0);
    info
}

fn set(
    data: &[f64],
    n: usize,
    p: usize,
    layout: c_int,
    options: &codiag_set_options,
) -> Result<*mut codiag_set, c_int> {
    let mut set = ptr::dangling_mut();
    let code = unsafe { codiag_set_new(data.as_ptr(), n, p, layout, options, &raw mut set) };
    if code == 0 {
        Ok(set)
    } else {
        assert!(set.is_null());
        Err(code)
    }
}

fn complex_set(data: &[c64], n: usize, p: usize, layout: c_int) -> Result<*mut codiag_set, c_int> {
    let mut set = ptr::null_mut();
    let numbers = data.as_ptr().cast();
    let code = unsafe { codiag_set_new_complex(numbers, n, p, layout, &options(), &raw mut set) };
    if code == 0 { Ok(set) } else { Err(code) }
}

fn solve(set: *const codiag_set, settings: &codiag_settings) -> Result<*mut codiag_result, c_int> {
    let mut result = ptr::dangling_mut();
    let code = unsafe { codiag_diagonalize(set, settings, &raw mut result) };
    if code == 0 {
        Ok(result)
    } else {
        assert!(result.is_null());
        Err(code)
    }
}

fn numbers<'a, T>(data: *const f64, length: usize) -> &'a [T] {
    unsafe { std::slice::from_raw_parts(data.cast(), length) }
}

/// Transposes each of several consecutive row-major matrices.
fn transposed<T: Copy>(data: &[T], rows: usize, columns: usize) -> Vec<T> {
    let each = data.chunks_exact(rows * columns);
    let entry = |matrix: &[T], k: usize| matrix[k % rows * columns + k / rows];
    each.flat_map(|matrix| {
        (0..rows * columns)
            .map(|k| entry(matrix, k))
            .collect::<Vec<T>>()
    })
    .collect()
}
