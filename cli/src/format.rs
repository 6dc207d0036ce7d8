//! Formatting of numbers for people.

use codiag::{Criterion, Memory, ReadProgress, Scalar};

/// Formats a duration: 3.2 ms, 1.25 s, 4 min 10 s.
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 1e-3 => format!("{:.0} µs", v * 1e6),
        v if v < 1e-2 => format!("{:.2} ms", v * 1e3),
        v if v < 0.1 => format!("{:.1} ms", v * 1e3),
        v if v < 1.0 => format!("{:.0} ms", v * 1e3),
        v if v < 100.0 => format!("{v:.2} s"),
        v => format!("{} min {:02} s", (v / 60.0) as u64, (v % 60.0) as u64),
    }
}

/// Formats an estimated duration with one unit: 40 s, 3 min.
pub fn rough_seconds(value: f64) -> String {
    match value {
        v if v < 1.0 => "1 s".to_owned(),
        v if v < 90.0 => format!("{v:.0} s"),
        v if v < 5400.0 => format!("{:.0} min", v / 60.0),
        v => format!("{:.0} h", v / 3600.0),
    }
}

/// Formats the progress of one data pass over a file: 1.6 GB of 6.4 GB read, 9 s left in this pass.
pub fn read_progress(reading: &ReadProgress) -> String {
    let (done, total) = (Memory(reading.bytes), Memory(reading.total));
    let left = reading.seconds * (reading.total as f64 / reading.bytes as f64 - 1.0);
    let left = if left.is_finite() {
        format!(", {} left in this pass", rough_seconds(left))
    } else {
        String::new()
    };
    format!("{done} of {total} read{left}")
}

/// Formats a number with two or three significant digits, with an exponent only if necessary:
/// 1.3e-9, 0.0210.
pub fn short(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e4).contains(&value.abs()) {
        let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 5) as usize;
        format!("{value:.digits$}")
    } else {
        format!("{value:.1e}")
    }
}

/// Formats a positive number with two significant digits: 0.55, 7.0, 24, 130.
pub fn two_digits(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return value.to_string();
    }
    let digits = 1 - value.log10().floor() as i32;
    let unit = 10_f64.powi(digits);
    format!(
        "{:.*}",
        digits.max(0) as usize,
        (value * unit).round() / unit
    )
}

/// Formats a loss with this number of decimals; values that round to zero give 0, never −0.
pub fn loss(value: f64, decimals: usize) -> String {
    let negligible = value.abs() < 0.5 * 10_f64.powi(-(decimals as i32));
    format!("{:.decimals$}", if negligible { 0.0 } else { value })
}

/// Text that follows a loss: " of the energy" if the loss is a fraction of it.
pub fn loss_unit(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Likelihood => "",
        _ => " of the energy",
    }
}

/// Formats a power of ten for tick labels: 10⁻⁸.
pub fn power_of_ten(exponent: i32) -> String {
    let superscript = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
    };
    match exponent {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        _ => format!(
            "10{}",
            exponent
                .to_string()
                .chars()
                .map(superscript)
                .collect::<String>()
        ),
    }
}

/// Formats a power of ten of a second: 1 ms, 10 s.
pub fn decade_of_seconds(exponent: i32) -> String {
    let (unit, shift) = match exponent {
        ..=-4 => ("µs", 6),
        -3..=-1 => ("ms", 3),
        _ => ("s", 0),
    };
    format!("{} {unit}", 10_f64.powi(exponent + shift))
}

/// Name of one of `count` components, as in Python: S00, S01, ...
pub fn component(number: usize, count: usize) -> String {
    let width = count.saturating_sub(1).to_string().len().max(2);
    format!("S{number:0width$}")
}

/// Returns a number with the singular or plural of its noun: "1 matrix", "3 matrices".
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns the number and type of matrices: "1 matrix", "3 complex matrices".
pub fn count_matrices<T: Scalar>(number: usize) -> String {
    if T::PLANES == 2 {
        count(number, "complex matrix", "complex matrices")
    } else {
        count(number, "matrix", "matrices")
    }
}

/// Returns the median, or NaN if there are no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(seconds(0.000_012), "12 µs");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(2.5), "2.50 s");
        assert_eq!(seconds(250.0), "4 min 10 s");
        assert_eq!(rough_seconds(0.01), "1 s");
        assert_eq!(rough_seconds(33.63), "34 s");
        assert_eq!(rough_seconds(200.0), "3 min");
        assert_eq!(rough_seconds(1e4), "3 h");
        let bytes = |bytes| ReadProgress {
            bytes,
            total: 6_400_000_000,
            seconds: 3.0,
        };
        let text = read_progress(&bytes(1_600_000_000));
        assert_eq!(text, "1.6 GB of 6.4 GB read, 9 s left in this pass");
        assert_eq!(read_progress(&bytes(0)), "0 B of 6.4 GB read");
        assert_eq!(short(0.0), "0");
        assert_eq!(short(12.3456), "12.3");
        assert_eq!(short(1.26e-9), "1.3e-9");
        assert_eq!(loss(-1e-15, 6), "0.000000");
        assert_eq!(loss(0.742_284_4, 6), "0.742284");
        assert_eq!(two_digits(0.553), "0.55");
        assert_eq!(two_digits(7.01), "7.0");
        assert_eq!(two_digits(134.2), "130");
        assert_eq!(power_of_ten(-12), "10⁻¹²");
        assert_eq!(power_of_ten(4), "10⁴");
        assert_eq!(decade_of_seconds(-5), "10 µs");
        assert_eq!(decade_of_seconds(-1), "100 ms");
        assert_eq!(decade_of_seconds(1), "10 s");
        assert_eq!(count(1, "matrix", "matrices"), "1 matrix");
        assert_eq!(
            (component(3, 100), component(3, 101)),
            ("S03".to_owned(), "S003".to_owned())
        );
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
    }
}
