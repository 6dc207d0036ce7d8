//! Memory that one solve hands on to the next.
//!
//! The system gives fresh memory page by page, at the price of an interruption each: for sets of a
//! few megabytes that takes as long as a pass over them. So what a solve gives back is kept for the
//! next, up to a bound: small pieces on the thread that gave them back, large ones for all threads.

use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut, Range};
use std::sync::Mutex;

use bytemuck::{Pod, cast_slice, cast_slice_mut};

/// Pieces of memory that are not in use.
struct Store {
    pieces: Vec<Vec<f64>>,
    /// How many numbers they have room for.
    total: usize,
    /// How many at most.
    most: usize,
}

impl Store {
    const fn new(most: usize) -> Self {
        Self {
            pieces: Vec::new(),
            total: 0,
            most,
        }
    }

    /// The smallest piece that has room for so many numbers, unless most of it would lie idle.
    fn take(&mut self, needed: usize) -> Option<Vec<f64>> {
        let fits = |piece: &Vec<f64>| (needed..=2 * needed).contains(&piece.capacity());
        let candidates = (0..self.pieces.len()).filter(|&k| fits(&self.pieces[k]));
        let best = candidates.min_by_key(|&k| self.pieces[k].capacity())?;
        let piece = self.pieces.swap_remove(best);
        self.total -= piece.capacity();
        Some(piece)
    }

    /// Keeps a piece, or returns it if there are enough.
    fn keep(&mut self, piece: Vec<f64>) -> Option<Vec<f64>> {
        if piece.capacity() == 0 || self.total + piece.capacity() > self.most {
            return Some(piece);
        }
        self.total += piece.capacity();
        self.pieces.push(piece);
        None
    }
}

/// Pieces of so many numbers and more, 64 kB, are kept for all threads: a set is given back by its owner, whose helpers ask for
/// the next one's.
const LARGE: usize = 1 << 13;

/// At most 64 MB. No one waits for the lock: someone may have held it when the process was forked, who is not in the copy.
static LARGE_ONES: Mutex<Store> = Mutex::new(Store::new(8 << 20));

thread_local! {
    /// At most 8 MB.
    static SMALL_ONES: RefCell<Store> = const { RefCell::new(Store::new(1 << 20)) };
}

/// Scratch of at most so many numbers is kept on a thread: 32 MB, what transforms of matrices of size 480 take.
const MOST_SCRATCH: usize = 1 << 22;

thread_local! {
    static SCRATCH: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

/// Room to work in, which the next to work on this thread finds in the caches.
#[derive(Debug)]
pub struct Scratch(Vec<f64>);

impl Scratch {
    pub fn new() -> Self {
        Self(SCRATCH.try_with(Cell::take).unwrap_or_default())
    }

    /// So many numbers, whatever they are. The first begins a line of a cache, so that vectors, and pairs of them, lie in
    /// one line each.
    pub fn room<R: Pod>(&mut self, len: usize) -> &mut [R] {
        let doubles = (len * size_of::<R>()).div_ceil(size_of::<f64>());
        let needed = doubles + ALIGNMENT / size_of::<f64>() - 1;
        if self.0.len() < needed {
            self.0.resize(needed, 0.0);
        }
        // An address that cannot be told is no reason to fail: only speed depends on it.
        let from = self
            .0
            .as_ptr()
            .align_offset(ALIGNMENT)
            .min(needed - doubles);
        &mut cast_slice_mut(&mut self.0[from..from + doubles])[..len]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let numbers = std::mem::take(&mut self.0);
        if numbers.capacity() > MOST_SCRATCH {
            return;
        }
        // No keeping while the thread ends.
        let _ = SCRATCH.try_with(|kept| {
            let other = kept.take();
            let larger = other.capacity() > numbers.capacity();
            kept.set(if larger { other } else { numbers });
        });
    }
}

/// Rows of eight numbers then lie in one line of a cache each: where a line is read for the eight numbers that
/// a kernel works on at once, two would be otherwise.
const ALIGNMENT: usize = 64;

/// Numbers whose memory is used again. The first of them begins a line of a cache.
#[derive(Debug, Default)]
pub struct Recycled {
    /// With room for the numbers wherever the first line begins.
    memory: Vec<f64>,
    /// Which of them are the numbers.
    place: Range<usize>,
}

impl Recycled {
    /// That many numbers, to be overwritten: they are what they were when last used.
    pub fn of_len(len: usize) -> Self {
        Self::take(len).0
    }

    /// That many zeros.
    pub fn zeros(len: usize) -> Self {
        let (mut numbers, used) = Self::take(len);
        if used {
            numbers.fill(0.0);
        }
        numbers
    }

    /// That many numbers, and whether they have been used; they are zeros if not.
    fn take(len: usize) -> (Self, bool) {
        let needed = len + ALIGNMENT / size_of::<f64>() - 1;
        let kept = if needed < LARGE {
            SMALL_ONES.with_borrow_mut(|store| store.take(needed))
        } else {
            LARGE_ONES
                .try_lock()
                .ok()
                .and_then(|mut store| store.take(needed))
        };
        let used = kept.is_some();
        let memory = match kept {
            Some(mut memory) => {
                memory.resize(needed, 0.0);
                memory
            }
            // Zeros from the system cost nothing until they are touched, by whichever thread.
            None => vec![0.0; needed],
        };
        // An address that cannot be told is no reason to fail: only speed depends on it.
        let from = memory.as_ptr().align_offset(ALIGNMENT).min(needed - len);
        let place = from..from + len;
        (Self { memory, place }, used)
    }
}

impl From<&[f64]> for Recycled {
    fn from(numbers: &[f64]) -> Self {
        let mut copy = Self::of_len(numbers.len());
        copy.copy_from_slice(numbers);
        copy
    }
}

impl PartialEq for Recycled {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Clone for Recycled {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl Drop for Recycled {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        if memory.capacity() < LARGE {
            // No keeping while the thread ends.
            let _ = SMALL_ONES.try_with(|store| store.borrow_mut().keep(memory));
        } else {
            let left = match LARGE_ONES.try_lock() {
                Ok(mut store) => store.keep(memory),
                Err(_) => Some(memory),
            };
            // Large pieces take long to give back: not while others look for one.
            drop(left);
        }
    }
}

impl Deref for Recycled {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.memory[self.place.clone()]
    }
}

impl DerefMut for Recycled {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.memory[self.place.clone()]
    }
}

/// Numbers of single precision in such memory.
#[derive(Clone, Debug, Default)]
pub struct Singles(Recycled);

impl Singles {
    /// An even number of them, to be overwritten.
    pub fn of_len(len: usize) -> Self {
        assert!(len.is_multiple_of(2));
        Self(Recycled::of_len(len / 2))
    }

    /// Has that many from now on, to be overwritten if they were not as many.
    pub fn set_len(&mut self, len: usize) {
        if self.numbers().len() != len {
            *self = Self::of_len(len);
        }
    }

    pub fn numbers(&self) -> &[f32] {
        cast_slice(&self.0)
    }

    pub fn numbers_mut(&mut self) -> &mut [f32] {
        cast_slice_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_handed_on() {
        let mut first = Recycled::of_len(1000);
        first.fill(3.0);
        let place = first.as_ptr();
        drop(first);
        let second = Recycled::of_len(900);
        assert_eq!((second.as_ptr(), second.len()), (place, 900));
        let third = Recycled::of_len(900);
        assert_ne!(third.as_ptr(), place);
    }

    #[test]
    fn zeros_are_zeros_wherever_they_come_from() {
        for _ in 0..2 {
            let mut numbers = Recycled::zeros(3000);
            assert!(numbers.iter().all(|x| *x == 0.0));
            numbers.fill(3.0);
        }
    }

    #[test]
    fn scratch_is_handed_on_unless_it_is_large() {
        let mut first = Scratch::new();
        let place = first.room::<f64>(1000).as_ptr();
        // Two at once have memory of their own, and the larger one is kept.
        drop(Scratch::new());
        drop(first);
        let mut second = Scratch::new();
        assert_eq!(second.room::<f32>(1001).as_ptr().cast(), place);
        second.room::<f64>(MOST_SCRATCH + 1);
        drop(second);
        assert_eq!(Scratch::new().0.capacity(), 0);
    }

    #[test]
    fn scratch_begins_a_line_of_a_cache() {
        for len in [0, 1, 9, 1000] {
            let mut scratch = Scratch::new();
            let room = scratch.room::<f32>(len);
            assert_eq!(room.len(), len);
            assert_eq!(room.as_ptr().align_offset(ALIGNMENT), 0);
        }
    }

    #[test]
    fn numbers_begin_a_line_of_a_cache() {
        for len in [1, 7, 8, 1000, 100_000] {
            let numbers = Recycled::of_len(len);
            assert_eq!(numbers.len(), len);
            assert_eq!(numbers.as_ptr().align_offset(ALIGNMENT), 0);
            assert_eq!(numbers.clone().as_ptr().align_offset(ALIGNMENT), 0);
        }
    }

    #[test]
    fn no_more_is_kept_than_agreed() {
        let mut store = Store::new(1000);
        for len in [600, 300, 200, 100] {
            let left = store.keep(Vec::with_capacity(len));
            assert_eq!(left.is_some(), len == 200);
        }
        let kept = |store: &Store| store.pieces.iter().map(Vec::capacity).sum::<usize>();
        assert_eq!((kept(&store), store.total), (1000, 1000));
        // The smallest that is large enough, and none that is much larger.
        assert!(store.take(99).is_some_and(|piece| piece.capacity() == 100));
        assert!(store.take(99).is_none());
        assert!(store.take(250).is_some_and(|piece| piece.capacity() == 300));
        assert_eq!((kept(&store), store.total), (600, 600));
    }

    #[test]
    fn large_pieces_are_handed_on_to_other_threads() {
        // Unless another test has taken it first.
        let is_handed_on = |_| {
            let mut piece = Recycled::of_len(3 * LARGE);
            piece.fill(3.0);
            std::thread::spawn(move || drop(piece)).join().unwrap();
            // Fresh memory is zero.
            Recycled::of_len(3 * LARGE).iter().all(|x| *x == 3.0)
        };
        assert!((0..100).any(is_handed_on));
    }
}
