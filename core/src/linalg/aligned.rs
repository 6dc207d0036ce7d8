//! Buffers aligned to cache lines, and per-thread scratch memory.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, cast_slice, cast_slice_mut};

/// Length of a cache line in bytes. An aligned row of eight `f64` occupies one line instead of two.
const CACHE_LINE: usize = 64;

/// A buffer of numbers aligned to a cache line.
#[derive(Debug, Default)]
pub struct AlignedBuffer<R = f64> {
    /// Allocation with enough padding to align the first number.
    memory: Vec<R>,
    start: usize,
    len: usize,
}

/// A buffer of single-precision numbers.
pub type F32Buffer = AlignedBuffer<f32>;

impl<R: Pod> AlignedBuffer<R> {
    /// Creates a buffer of zeros.
    pub fn zeros(len: usize) -> Self {
        let padding = CACHE_LINE / size_of::<R>() - 1;
        let memory = vec![R::zeroed(); len + padding];
        // `align_offset` may fail; alignment affects only the speed.
        let start = memory.as_ptr().align_offset(CACHE_LINE).min(padding);
        Self { memory, start, len }
    }

    /// Creates a buffer whose content will be overwritten.
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

thread_local! {
    static SCRATCH: Cell<AlignedBuffer> = Cell::default();
}

/// Scratch memory above this size is freed after use: 32 MB, the amount for matrices of size 480.
const MAX_KEPT_SCRATCH: usize = 1 << 22;

/// Scratch memory of a kernel, with unspecified content. The next kernel on the same thread reuses
/// the allocation, which is then likely in the cache.
pub struct Scratch<R: Pod> {
    memory: AlignedBuffer,
    len: usize,
    number: std::marker::PhantomData<R>,
}

impl<R: Pod> Scratch<R> {
    pub fn of_len(len: usize) -> Self {
        let doubles = (len * size_of::<R>()).div_ceil(size_of::<f64>());
        let mut memory = SCRATCH.try_with(Cell::take).unwrap_or_default();
        if memory.len() < doubles {
            memory = AlignedBuffer::zeros(doubles);
        }
        Self {
            memory,
            len,
            number: std::marker::PhantomData,
        }
    }
}

impl<R: Pod> Drop for Scratch<R> {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        if memory.len() <= MAX_KEPT_SCRATCH {
            // Fails while the thread is being destroyed; then the memory is freed.
            let _ = SCRATCH.try_with(|kept| kept.set(memory));
        }
    }
}

impl<R: Pod> Deref for Scratch<R> {
    type Target = [R];

    fn deref(&self) -> &[R] {
        let doubles = (self.len * size_of::<R>()).div_ceil(size_of::<f64>());
        &cast_slice(&self.memory[..doubles])[..self.len]
    }
}

impl<R: Pod> DerefMut for Scratch<R> {
    fn deref_mut(&mut self) -> &mut [R] {
        let doubles = (self.len * size_of::<R>()).div_ceil(size_of::<f64>());
        &mut cast_slice_mut(&mut self.memory[..doubles])[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_to_cache_lines() {
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
