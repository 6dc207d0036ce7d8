//! Parsing of amounts of memory, and the check that an amount is available.

use std::str::FromStr;

use super::{Error, Expected, MemoryRemedy, Setting};
use crate::memory::{MIN_CHECKED_BYTES, Memory, available};

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
        // Integers are converted exactly, other numbers are rounded to the nearest byte.
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

impl Memory {
    /// Fails if this amount of memory is not available. `what` describes its use. `remedy` returns
    /// a change of the options that needs at most a given amount.
    ///
    /// The amount is compared with the free memory of the machine and the limits of the process,
    /// and one allocation of that size is tried, whose pages are never touched. Amounts below
    /// [`MIN_CHECKED_BYTES`] are not checked.
    pub(crate) fn check(
        self,
        what: impl FnOnce() -> String,
        remedy: impl FnOnce(Self) -> MemoryRemedy,
    ) -> Result<(), Error> {
        if self.0 < MIN_CHECKED_BYTES {
            return Ok(());
        }
        let available = available();
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
