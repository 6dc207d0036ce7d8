//! Which index of an array counts the matrices: p x p x n is what MATLAB's users have, n x p x p what the
//! authors of qndiag take.

use anyhow::{Result, bail, ensure};
use codiag::Scalar;

use super::{Array, Variable};

/// Matrices of p x p, in the order of a file.
#[derive(Debug)]
pub struct Stack {
    pub p: usize,
    pub n: usize,
    pages: Pages,
}

#[derive(Debug)]
enum Pages {
    /// p x p x n.
    Last(Array),
    /// n x p x p.
    First(Array),
    /// One array for each.
    Each(Vec<Array>),
}

impl Stack {
    /// The matrices of the variable of that name, or of the only one that can be some.
    pub fn choose(variables: Vec<(String, Variable)>, key: Option<&str>) -> Result<(String, Self)> {
        let usable = |variable: &Variable| !matches!(variable, Variable::Other(_));
        let names: Vec<String> = variables
            .iter()
            .filter(|(_, variable)| usable(variable))
            .map(|(name, _)| name.clone())
            .collect();
        let wanted = match (key, &names[..]) {
            (Some(key), _) => key.to_owned(),
            (None, [only]) => only.clone(),
            (None, []) => bail!("there is no array of numbers in it"),
            (None, _) => bail!(
                "there are several arrays: choose one by --key {}",
                names.join("|")
            ),
        };
        let found = variables.into_iter().find(|(name, _)| *name == wanted);
        match found {
            Some((name, Variable::Other(what))) => {
                bail!("{name:?} is {what}, not an array of numbers")
            }
            Some((name, variable)) => Ok((name, Self::of(variable)?)),
            None if names.is_empty() => bail!("there is no array {wanted:?}, and no other one"),
            None => bail!("there is no array {wanted:?}, only {}", names.join(", ")),
        }
    }

    fn of(variable: Variable) -> Result<Self> {
        match variable {
            Variable::Numbers(array) => Self::of_array(array),
            Variable::Cells(cells) => Self::of_cells(cells),
            Variable::Other(what) => bail!("expected an array of numbers, got {what}"),
        }
    }

    fn of_array(array: Array) -> Result<Self> {
        // MATLAB leaves out last dimensions of 1, so two of them are one matrix.
        let dims: [usize; 3] = match array.dims[..] {
            [a, b] => [a, b, 1],
            [a, b, c] => [a, b, c],
            _ => bail!("expected a p x p x n array, got {}", times(&array.dims)),
        };
        ensure!(
            !dims.contains(&0),
            "expected a p x p x n array, got {}",
            times(&dims)
        );
        let [a, b, c] = dims;
        let single = array.dims.len() == 2;
        match (a == b, b == c && !single) {
            (true, true) if a > 1 => bail!(
                "{} may be p x p x n or n x p x p, which its shape does not tell: save the matrices as a cell array, \
                 for instance D = num2cell(C, [1 2]) for p x p x n, and choose it by --key D",
                times(&dims)
            ),
            (true, _) => Ok(Self {
                p: a,
                n: c,
                pages: Pages::Last(array),
            }),
            (false, true) => Ok(Self {
                p: b,
                n: a,
                pages: Pages::First(array),
            }),
            (false, false) => {
                bail!(
                    "expected a p x p x n or n x p x p array, got {}",
                    times(&array.dims)
                )
            }
        }
    }

    fn of_cells(cells: Vec<Variable>) -> Result<Self> {
        let mut pages = Vec::new();
        let mut p = None;
        for (i, cell) in cells.into_iter().enumerate() {
            let Variable::Numbers(array) = cell else {
                bail!("cell {} is not a matrix of numbers", i + 1);
            };
            let [rows, columns] = array.dims[..] else {
                bail!("cell {} is {}, not a matrix", i + 1, times(&array.dims));
            };
            let p = *p.get_or_insert(rows);
            ensure!(
                rows == columns && rows == p && p > 0,
                "cell {} is {rows} x {columns}, but {}",
                i + 1,
                if i == 0 {
                    "matrices are square".to_owned()
                } else {
                    format!("the first is {p} x {p}")
                }
            );
            pages.push(array);
        }
        let Some(p) = p else {
            bail!("there is no matrix in the cell array");
        };
        Ok(Self {
            p,
            n: pages.len(),
            pages: Pages::Each(pages),
        })
    }

    /// Whether any of them is complex.
    pub fn is_complex(&self) -> bool {
        match &self.pages {
            Pages::Last(array) | Pages::First(array) => array.imaginary.is_some(),
            Pages::Each(arrays) => arrays.iter().any(|array| array.imaginary.is_some()),
        }
    }

    /// Matrix i, row after row.
    pub fn matrix<T: Scalar>(&self, i: usize) -> Vec<T> {
        let entry = |k: usize| self.entry(i, k / self.p, k % self.p);
        let entries = (0..self.p * self.p).map(entry);
        entries
            .map(|(real, imaginary)| T::from_parts(real, imaginary))
            .collect()
    }

    /// Entry (a, b) of matrix i: its real and its imaginary part.
    pub(super) fn entry(&self, i: usize, a: usize, b: usize) -> (f64, f64) {
        let (n, p) = (self.n, self.p);
        let (array, at) = match &self.pages {
            Pages::Last(array) => (array, a + p * (b + p * i)),
            Pages::First(array) => (array, i + n * (a + p * b)),
            Pages::Each(arrays) => (&arrays[i], a + p * b),
        };
        (
            array.real[at],
            array
                .imaginary
                .as_ref()
                .map_or(0.0, |imaginary| imaginary[at]),
        )
    }
}

fn times(dims: &[usize]) -> String {
    let sizes: Vec<String> = dims.iter().map(ToString::to_string).collect();
    sizes.join(" x ")
}
