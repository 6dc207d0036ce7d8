//! Formats matrices as text.

use std::fmt::{Display, Formatter, Result};

use super::Matrix;
use crate::linalg::Scalar;

/// Matrices with at most this many rows or columns are shown in full.
const MAX_SHOWN_IN_FULL: usize = 10;
/// Number of first and of last rows or columns shown of larger matrices.
const SHOWN_AT_EACH_END: usize = 4;

/// Formats one line per row, in aligned columns. Matrices with more than ten rows or columns are
/// abbreviated to the first and last four; `{:#}` shows all. The precision is the number of
/// decimals (default 4). Scientific notation is used if the largest entry is below 0.001, or is
/// 100,000 or more.
///
/// ```
/// let m = codiag::Matrix::from_rows(2, 2, vec![1.0, -2.5, 30.0, 0.0]);
/// assert_eq!(format!("{m:.1}"), "[  1.0 -2.5 ]\n[ 30.0  0.0 ]");
///
/// let large = codiag::Matrix::<f64>::identity(100);
/// assert_eq!(format!("{large}").lines().count(), 9);
/// assert_eq!(format!("{large:#}").lines().count(), 100);
/// ```
impl<T: Scalar> Display for Matrix<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (rows, columns) = (
            shown(self.rows, f.alternate()),
            shown(self.columns, f.alternate()),
        );
        let decimals = f.precision().unwrap_or(4);
        let largest = self.data.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let fixed = largest == 0.0 || (1e-3..1e5).contains(&largest);
        let cell = |a: Option<usize>, b: Option<usize>| match (a, b) {
            (Some(a), Some(b)) if fixed => format!("{:.decimals$}", self[(a, b)]),
            (Some(a), Some(b)) => format!("{:.decimals$e}", self[(a, b)]),
            (None, Some(_)) => "⋮".to_string(),
            (Some(_), None) => "…".to_string(),
            (None, None) => "⋱".to_string(),
        };
        let cells: Vec<Vec<String>> = rows
            .iter()
            .map(|&a| columns.iter().map(|&b| cell(a, b)).collect())
            .collect();
        let widths: Vec<usize> = (0..columns.len())
            .map(|k| cells.iter().map(|row| row[k].chars().count()).max())
            .map(Option::unwrap_or_default)
            .collect();
        for (k, row) in cells.iter().enumerate() {
            f.write_str(if k == 0 { "[ " } else { "\n[ " })?;
            for (text, width) in row.iter().zip(&widths) {
                write!(f, "{text:>width$} ")?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

/// Returns the indices of the rows or columns that are shown, with None in place of the omitted
/// ones.
fn shown(count: usize, all: bool) -> Vec<Option<usize>> {
    if all || count <= MAX_SHOWN_IN_FULL {
        return (0..count).map(Some).collect();
    }
    let first = (0..SHOWN_AT_EACH_END).map(Some);
    let last = (count - SHOWN_AT_EACH_END..count).map(Some);
    first.chain([None]).chain(last).collect()
}
