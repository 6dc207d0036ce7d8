//! Amounts of memory, as people write them.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::error::{Expected, Setting};

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
        // Whole numbers exactly, others to the nearest byte.
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
            _ => (1e12, "TB"),
        };
        let value = bytes / unit;
        let digits = usize::from(value < 10.0);
        write!(f, "{value:.digits$} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written() {
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
