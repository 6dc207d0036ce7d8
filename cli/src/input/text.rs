//! Matrices and lists of numbers as text: one row per line, numbers separated by commas,
//! semicolons, tabs or spaces. `#` begins a comment. Complex numbers are written like 1.5-2j or
//! (1.5-2j).

use anyhow::{Result, bail, ensure};
use codiag::{Matrix, Scalar, c64};

/// Splits a text into the fields of each line.
fn lines(text: &str) -> impl Iterator<Item = impl Iterator<Item = &str>> {
    text.lines().map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        line.split([',', ';', '\t', ' ', '\u{feff}', '\r'])
            .filter(|field| !field.is_empty())
    })
}

/// Whether a text has a complex number. Only complex numbers end in i or j.
pub fn is_complex(text: &str) -> bool {
    let imaginary = |field: &str| field.trim_end_matches(')').ends_with(['i', 'j']);
    lines(text).any(|mut fields| fields.any(|field| imaginary(field) && number(field).is_some()))
}

/// Parses a real or complex number.
fn number(field: &str) -> Option<c64> {
    if let Ok(real) = field.parse::<f64>() {
        return Some(c64::new(real, 0.0));
    }
    let inner = field
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    inner.unwrap_or(field).parse().ok()
}

/// Parses the rows of a text, each with its line number.
fn rows<T: Scalar>(text: &str) -> Result<Vec<(usize, Vec<T>)>> {
    let mut rows = Vec::new();
    for (index, fields) in lines(text).enumerate() {
        let line = index + 1;
        let mut numbers = Vec::new();
        for field in fields {
            match number(field) {
                Some(x) if T::PLANES == 2 || x.im == 0.0 => numbers.push(T::from_parts(x.re, x.im)),
                Some(_) => {
                    bail!("line {line}: {field:?} is complex, but real numbers are required")
                }
                None => bail!("line {line}: {field:?} is not a number"),
            }
        }
        if !numbers.is_empty() {
            rows.push((line, numbers));
        }
    }
    ensure!(!rows.is_empty(), "the file has no numbers");
    Ok(rows)
}

/// Parses a matrix with one row per line.
pub fn matrix<T: Scalar>(text: &str) -> Result<Matrix<T>> {
    let rows = rows(text)?;
    let columns = rows[0].1.len();
    for (line, row) in &rows {
        ensure!(
            row.len() == columns,
            "line {line} has {} numbers, but the first row has {columns}",
            row.len()
        );
    }
    let count = rows.len();
    let data = rows.into_iter().flat_map(|(_, row)| row).collect();
    Ok(Matrix::from_rows(count, columns, data))
}

/// Parses all numbers of a text, which must be real, in reading order.
pub fn list(text: &str) -> Result<Vec<f64>> {
    Ok(rows(text)?.into_iter().flat_map(|(_, row)| row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_comments_and_blank_lines_are_accepted() {
        let text = "# made by hand\n1, 2;3\n\n4\t5 6 # the last\r\n";
        let read: Matrix = matrix(text).unwrap();
        assert_eq!((read.rows(), read.columns()), (2, 3));
        assert_eq!(read.as_slice(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(list("1\n2\n").unwrap(), [1.0, 2.0]);
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text| matrix::<f64>(text).unwrap_err().to_string();
        assert_eq!(error("1,2\n3,x\n"), "line 2: \"x\" is not a number");
        assert_eq!(
            error("1,2\n3\n"),
            "line 2 has 1 numbers, but the first row has 2"
        );
        assert_eq!(error("# nothing\n"), "the file has no numbers");
    }

    #[test]
    fn complex_numbers_are_parsed_in_common_notations() {
        let text = "2, 1.5-2j\n1.5+2i;(3e-1+-4e+2j)\n-j\tinf-nanj\n";
        assert!(is_complex(text));
        let read: Matrix<c64> = matrix(text).unwrap();
        let of = |re, im| c64::new(re, im);
        assert_eq!(
            read.as_slice()[..5],
            [
                of(2.0, 0.0),
                of(1.5, -2.0),
                of(1.5, 2.0),
                of(0.3, -400.0),
                of(0.0, -1.0)
            ]
        );
        assert!(read[(2, 1)].re.is_infinite() && read[(2, 1)].im.is_nan());
        assert!(!is_complex("1, 2 # i and j\ninf,hi\n"));
        let error = list("1\n2-1j\n").unwrap_err().to_string();
        assert_eq!(
            error,
            "line 2: \"2-1j\" is complex, but real numbers are required"
        );
    }
}
