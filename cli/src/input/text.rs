//! Matrices and lists of numbers as text: commas, semicolons, tabs or blanks between the numbers,
//! one row per line, `#` begins a comment.

use anyhow::{Context, Result, ensure};
use codiag::Matrix;

/// The rows of numbers of a text, each with the number of its line.
fn rows(text: &str) -> Result<Vec<(usize, Vec<f64>)>> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let numbers = line
            .split([',', ';', '\t', ' ', '\u{feff}', '\r'])
            .filter(|field| !field.is_empty())
            .map(|field| {
                field
                    .parse::<f64>()
                    .ok()
                    .with_context(|| format!("line {}: {field:?} is not a number", index + 1))
            })
            .collect::<Result<Vec<f64>>>()?;
        if !numbers.is_empty() {
            rows.push((index + 1, numbers));
        }
    }
    ensure!(!rows.is_empty(), "there are no numbers in it");
    Ok(rows)
}

/// A matrix, one row per line.
pub fn matrix(text: &str) -> Result<Matrix> {
    let rows = rows(text)?;
    let columns = rows[0].1.len();
    for (line, row) in &rows {
        ensure!(
            row.len() == columns,
            "line {line} has {} numbers, the first has {columns}",
            row.len()
        );
    }
    let count = rows.len();
    let data = rows.into_iter().flat_map(|(_, row)| row).collect();
    Ok(Matrix::from_rows(count, columns, data))
}

/// All numbers, in reading order.
pub fn list(text: &str) -> Result<Vec<f64>> {
    Ok(rows(text)?.into_iter().flat_map(|(_, row)| row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_comments_and_blank_lines() {
        let text = "# made by hand\n1, 2;3\n\n4\t5 6 # the last\r\n";
        let read = matrix(text).unwrap();
        assert_eq!((read.rows(), read.columns()), (2, 3));
        assert_eq!(read.as_slice(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(list("1\n2\n").unwrap(), [1.0, 2.0]);
    }

    #[test]
    fn the_line_at_fault_is_named() {
        let complaint = |text| matrix(text).unwrap_err().to_string();
        assert_eq!(complaint("1,2\n3,x\n"), "line 2: \"x\" is not a number");
        assert_eq!(
            complaint("1,2\n3\n"),
            "line 2 has 1 numbers, the first has 2"
        );
        assert_eq!(complaint("# nothing\n"), "there are no numbers in it");
    }
}
