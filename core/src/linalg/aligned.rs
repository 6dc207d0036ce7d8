//! Buffers whose first number begins a cache line.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

/// Length of a cache line in bytes. A row of eight doubles then lies in one line, instead of in two
/// that are both read.
const CACHE_LINE: usize = 64;

/// Numbers, the first of which begins a cache line.
#[derive(Debug, Default)]
pub struct AlignedBuffer<R = f64> {
    /// With room for the numbers wherever the first line begins.
    memory: Vec<R>,
    start: usize,
    len: usize,
}

/// A buffer of single precision.
pub type F32Buffer = AlignedBuffer<f32>;

impl<R: Pod> AlignedBuffer<R> {
    /// Zeros.
    pub fn zeros(len: usize) -> Self {
        let padding = CACHE_LINE / size_of::<R>() - 1;
        let memory = vec![R::zeroed(); len + padding];
        // Only speed depends on alignment: an unknown address is no error.
        let start = memory.as_ptr().align_offset(CACHE_LINE).min(padding);
        Self { memory, start, len }
    }

    /// Numbers to be overwritten.
    pub fn of_len(len: usize) -> Self {
        Self::zeros(len)
    }
}

impl<R: Pod> From<&[R]> for AlignedBuffer<R> {
    fn from(numbers: &[R]) -> Self {
        let mut copy = Self::of_len(numbers.len());
        copy.copy_from_slice(numbers);
        copy
    }
}

impl<R: Pod> Clone for AlignedBuffer<R> {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl<R: Pod + PartialEq> PartialEq for AlignedBuffer<R> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<R> Deref for AlignedBuffer<R> {
    type Target = [R];

    fn deref(&self) -> &[R] {
        &self.memory[self.start..][..self.len]
    }
}

impl<R> DerefMut for AlignedBuffer<R> {
    fn deref_mut(&mut self) -> &mut [R] {
        &mut self.memory[self.start..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_a_cache_line() {
        for len in [0, 1, 7, 8, 1000, 100_000] {
            let (doubles, singles) = (AlignedBuffer::<f64>::zeros(len), F32Buffer::zeros(len));
            assert_eq!((doubles.len(), singles.len()), (len, len));
            for address in [
                doubles.as_ptr().align_offset(CACHE_LINE),
                doubles.clone().as_ptr().align_offset(CACHE_LINE),
                singles.as_ptr().align_offset(CACHE_LINE),
            ] {
                assert_eq!(address, 0);
            }
        }
    }
}
