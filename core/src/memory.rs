//! Amounts of memory: notation, arithmetic and availability.

mod available;

pub(crate) use available::available;

use std::fmt;

/// Amount of memory in bytes, parsed from strings such as `2GB`, `1.5 GiB`, `500MB` or `1000000`.
///
/// ```
/// use codiag::Memory;
/// assert_eq!("2GB".parse(), Ok(Memory(2_000_000_000)));
/// assert_eq!("1 GiB".parse(), Ok(Memory(1 << 30)));
/// assert_eq!(Memory(640_000_000).to_string(), "640 MB");
/// assert!("much".parse::<Memory>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory(pub u64);

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        let (unit, name) = match self.0 {
            0..1_000 => return write!(f, "{} B", self.0),
            1_000..1_000_000 => (1e3, "kB"),
            1_000_000..1_000_000_000 => (1e6, "MB"),
            1_000_000_000..1_000_000_000_000 => (1e9, "GB"),
            1_000_000_000_000..1_000_000_000_000_000 => (1e12, "TB"),
            1_000_000_000_000_000..1_000_000_000_000_000_000 => (1e15, "PB"),
            _ => (1e18, "EB"),
        };
        let value = bytes / unit;
        let digits = usize::from(value < 10.0);
        write!(f, "{value:.digits$} {name}")
    }
}

impl Memory {
    /// An amount too large to be represented.
    pub(crate) const UNCOUNTABLE: Self = Self(u64::MAX);

    /// Returns the memory of an array of `f64` with these dimensions, or
    /// [`UNCOUNTABLE`](Self::UNCOUNTABLE) on overflow.
    pub(crate) fn of_numbers(dimensions: &[usize]) -> Self {
        let bytes = dimensions.iter().try_fold(8_u64, |bytes, size| {
            bytes.checked_mul(u64::try_from(*size).ok()?)
        });
        match bytes {
            Some(bytes) => Self(bytes),
            None if dimensions.contains(&0) => Self(0),
            None => Self::UNCOUNTABLE,
        }
    }

    /// Returns the sum of two amounts.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns a multiple of the amount.
    pub(crate) fn times(self, count: usize) -> Self {
        Self(self.0.saturating_mul(count as u64))
    }

    /// Whether one allocation of this size succeeds.
    pub(crate) fn can_be_allocated(self) -> bool {
        let mut probe: Vec<u8> = Vec::new();
        usize::try_from(self.0).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok())
    }
}

/// Returns how many objects of size `each` fit into memory together, between 1 and `most`.
pub(crate) fn count_that_fits(most: usize, each: Memory) -> usize {
    if each.times(most).0 < MIN_CHECKED_BYTES {
        return most;
    }
    match available() {
        Some(available) => {
            largest_that_fits(most, available, |count| each.times(count)).unwrap_or(1)
        }
        None => most,
    }
}

/// Smaller amounts than this are not checked.
pub(crate) const MIN_CHECKED_BYTES: u64 = 16 << 20;

/// Returns the largest number from 1 to `most` for which `needs`, a nondecreasing function, is at
/// most `available`; None if there is none.
pub(crate) fn largest_that_fits(
    most: usize,
    available: Memory,
    needs: impl Fn(usize) -> Memory,
) -> Option<usize> {
    let (mut fits, mut fails) = (0, most.saturating_add(1));
    while fails - fits > 1 {
        let middle = fits + (fails - fits) / 2;
        if needs(middle) <= available {
            fits = middle;
        } else {
            fails = middle;
        }
    }
    (fits > 0).then_some(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_overflow_are_uncountable() {
        assert_eq!(Memory::of_numbers(&[2, 3]), Memory(48));
        assert_eq!(Memory::of_numbers(&[usize::MAX, 2]), Memory::UNCOUNTABLE);
        assert_eq!(Memory::of_numbers(&[usize::MAX, 2, 0]), Memory(0));
        assert_eq!(Memory::UNCOUNTABLE.plus(Memory(1)), Memory::UNCOUNTABLE);
        assert_eq!(Memory(1 << 63).times(2), Memory::UNCOUNTABLE);
    }

    #[test]
    fn largest_size_that_fits_is_found() {
        let square = |p: usize| Memory::of_numbers(&[p, p]);
        assert_eq!(largest_that_fits(1000, Memory(8 * 144), square), Some(12));
        assert_eq!(largest_that_fits(10, Memory(8 * 144), square), Some(10));
        assert_eq!(largest_that_fits(10, Memory(7), square), None);
    }
}
