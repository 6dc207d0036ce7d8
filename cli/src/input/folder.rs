//! Matrix files of a folder in natural order: 2.csv before 10.csv.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

/// Returns the .csv and .npy files of a folder in natural order.
pub fn matrix_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| super::file_error("read", folder, e))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let has_matrix = matches!(super::extension(path).as_str(), "csv" | "npy");
            has_matrix && !name.starts_with('.') && path.is_file()
        })
        .collect();
    ensure!(
        !files.is_empty(),
        "{}: this folder has no .csv or .npy files",
        folder.display()
    );
    files.sort_by(|a, b| natural_order(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(files)
}

/// Compares names; runs of digits are compared as numbers.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.chars().peekable(), b.chars().peekable());
    loop {
        match (a.peek().copied(), b.peek().copied()) {
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                match number(&mut a).cmp(&number(&mut b)) {
                    Ordering::Equal => {}
                    different => return different,
                }
            }
            (Some(x), Some(y)) if x == y => {
                a.next();
                b.next();
            }
            (x, y) => return x.cmp(&y),
        }
    }
}

/// Reads a run of digits. Without leading zeros, numbers compare by their length, then by their
/// digits.
fn number(text: &mut std::iter::Peekable<std::str::Chars<'_>>) -> (usize, String) {
    let mut digits = String::new();
    while let Some(digit) = text.next_if(char::is_ascii_digit) {
        if !(digits.is_empty() && digit == '0') {
            digits.push(digit);
        }
    }
    (digits.len(), digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_compared_as_numbers() {
        let mut names = ["c10.csv", "c2.csv", "b.csv", "c02a.csv", "c2.npy"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["b.csv", "c2.csv", "c2.npy", "c02a.csv", "c10.csv"]);
        assert_eq!(natural_order("x", "x1"), Ordering::Less);
    }
}
