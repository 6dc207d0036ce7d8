//! Buffers whose first number begins a cache line.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, cast_slice, cast_slice_mut};

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

thread_local! {
    static SCRATCH: Cell<AlignedBuffer> = Cell::default();
}

/// Larger scratch memory is not kept: 32 MB, what transforms of matrices of size 480 take.
const MAX_KEPT_SCRATCH: usize = 1 << 22;

/// Working memory of a kernel, of unspecified content: the next kernel on the same thread reuses it,
/// and finds it in the caches.
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
            // Nothing is kept while a thread ends.
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
