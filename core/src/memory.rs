//! Amounts of memory: their notation, and whether they are available.

mod available;

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::error::{Expected, MemoryRemedy, Setting};

/// An amount of memory in bytes: `2GB`, `1.5 GiB`, `500MB`, or a plain number.
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

const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1000),
    ("kb", 1000),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("t", 1_000_000_000_000),
    ("tb", 1_000_000_000_000),
    ("tib", 1 << 40),
];

impl FromStr for Memory {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            let expected = Expected::Words("a number of bytes, such as 2GB, 500MB or 1GiB");
            Error::setting(Setting::Memory, expected, format!("{text:?}"))
        };
        let trimmed = text.trim();
        let end = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(end);
        let unit = unit.trim().to_lowercase();
        let (_, size) = UNITS.iter().find(|u| u.0 == unit).ok_or_else(bad)?;
        // Integers exactly, other numbers to the nearest byte.
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(*size).map(Self).ok_or_else(bad);
        }
        let bytes = number.parse::<f64>().map_err(|_| bad())? * *size as f64;
        if !(0.0..9e18).contains(&bytes) {
            return Err(bad());
        }
        Ok(Self(bytes.round() as u64))
    }
}

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
    /// An amount that overflows.
    pub(crate) const UNCOUNTABLE: Self = Self(u64::MAX);

    /// The memory of an array of `f64` with these dimensions, [`UNCOUNTABLE`](Self::UNCOUNTABLE) on
    /// overflow.
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

    /// The sum of two amounts.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// A multiple of the amount.
    pub(crate) fn times(self, count: usize) -> Self {
        Self(self.0.saturating_mul(count as u64))
    }

    /// Fails if this amount of memory is not available. `what` describes its use, and `remedy` what
    /// fits into a given amount.
    ///
    /// The amount is compared with the free memory of the machine and its limits, and one
    /// allocation of that size is tried, whose pages are never touched. Small amounts are not
    /// checked.
    pub(crate) fn check(
        self,
        what: impl FnOnce() -> String,
        remedy: impl FnOnce(Self) -> MemoryRemedy,
    ) -> Result<(), Error> {
        if self.0 < MIN_CHECKED_BYTES {
            return Ok(());
        }
        let available = available::available();
        let fits = available.is_none_or(|available| self <= available);
        if fits && self.can_be_allocated() {
            return Ok(());
        }
        Err(Error::OutOfMemory {
            what: what(),
            needed: self,
            available: available.filter(|_| !fits),
            remedy: remedy(available.unwrap_or(Self(self.0 / 2)).min(Self(self.0 / 2))),
        })
    }

    /// Whether one allocation of this size succeeds.
    fn can_be_allocated(self) -> bool {
        let mut probe: Vec<u8> = Vec::new();
        usize::try_from(self.0).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok())
    }
}

/// The number of things of this size that fit into memory together, from 1 to `most`.
pub(crate) fn count_that_fits(most: usize, each: Memory) -> usize {
    if each.times(most).0 < MIN_CHECKED_BYTES {
        return most;
    }
    match available::available() {
        Some(available) => {
            largest_that_fits(most, available, |count| each.times(count)).unwrap_or(1)
        }
        None => most,
    }
}

/// Smaller amounts are not checked.
const MIN_CHECKED_BYTES: u64 = 16 << 20;

/// The largest number from 1 to `most` whose memory, which grows with it, is at most `available`.
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
    fn unavailable_memory_is_an_error() {
        let remedy = |_| MemoryRemedy::None;
        assert_eq!(Memory(1 << 10).check(String::new, remedy), Ok(()));
        assert_eq!(Memory(20 << 20).check(String::new, remedy), Ok(()));
        for amount in [Memory(1 << 60), Memory::UNCOUNTABLE] {
            let error = amount.check(|| "a test".to_owned(), remedy).unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { needed, .. } if needed == amount));
        }
    }

    #[test]
    fn largest_size_that_fits_is_found() {
        let square = |p: usize| Memory::of_numbers(&[p, p]);
        assert_eq!(largest_that_fits(1000, Memory(8 * 144), square), Some(12));
        assert_eq!(largest_that_fits(10, Memory(8 * 144), square), Some(10));
        assert_eq!(largest_that_fits(10, Memory(7), square), None);
    }

    #[test]
    fn amounts_round_trip_through_text() {
        for (text, bytes) in [
            ("1000", 1000),
            ("2GB", 2_000_000_000),
            ("0.5 gb", 500_000_000),
            ("1GiB", 1 << 30),
            ("1.5MiB", 3 << 19),
            (" 7 k ", 7000),
        ] {
            assert_eq!(text.parse(), Ok(Memory(bytes)), "{text}");
        }
        for text in ["", "GB", "2 GX", "-1GB", "1.2.3", "1e9", "99999999999TB"] {
            let error = text.parse::<Memory>().unwrap_err().to_string();
            assert!(error.contains("memory must be a number of bytes"), "{text}");
        }
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_500, "1.5 kB"),
            (640_000_000, "640 MB"),
            (2_000_000_000, "2.0 GB"),
        ] {
            assert_eq!(Memory(bytes).to_string(), text);
        }
    }
}
