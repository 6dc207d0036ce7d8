//! Shapes of sets of matrices in .mat files: p x p x n, as is common in MATLAB, or n x p x p, as
//! qndiag expects.

use anyhow::{Result, bail, ensure};
use codiag::Scalar;

use super::{Array, Variable};

/// A set of p x p matrices.
#[derive(Debug)]
pub struct MatrixStack {
    pub p: usize,
    pub n: usize,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    /// An array of shape p x p x n.
    IndexLast(Array),
    /// An array of shape n x p x p.
    IndexFirst(Array),
    /// One array per matrix.
    Separate(Vec<Array>),
}

impl MatrixStack {
    /// Returns the matrices of the variable with this name or, without a name, of the only suitable
    /// variable.
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
            (None, []) => {
                bail!("the file has no array of numbers; save the matrices as a p x p x n array")
            }
            (None, _) => bail!(
                "the file has several arrays; choose one with --key {}",
                names.join("|")
            ),
        };
        let found = variables.into_iter().find(|(name, _)| *name == wanted);
        match found {
            Some((name, Variable::Other(kind))) => {
                bail!("{name:?} is {kind}, not an array of numbers")
            }
            Some((name, variable)) => Ok((name, Self::of(variable)?)),
            None if names.is_empty() => {
                bail!("the file has no array {wanted:?} and no other array of numbers")
            }
            None => bail!(
                "the file has no array {wanted:?}; choose one of {}",
                names.join(", ")
            ),
        }
    }

    fn of(variable: Variable) -> Result<Self> {
        match variable {
            Variable::Numbers(array) => Self::of_array(array),
            Variable::Cells(cells) => Self::of_cells(cells),
            Variable::Other(kind) => bail!("expected an array of numbers, got {kind}"),
        }
    }

    fn of_array(array: Array) -> Result<Self> {
        // MATLAB omits trailing dimensions of 1, so an array with two dimensions is one matrix.
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
                "the shape {} is ambiguous: it may be p x p x n or n x p x p; save the matrices as a cell array, for example \
                 D = num2cell(C, [1 2]) for p x p x n, and use --key D",
                times(&dims)
            ),
            (true, _) => Ok(Self {
                p: a,
                n: c,
                layout: Layout::IndexLast(array),
            }),
            (false, true) => Ok(Self {
                p: b,
                n: a,
                layout: Layout::IndexFirst(array),
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
        let mut layout = Vec::new();
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
                    "the matrices must be square".to_owned()
                } else {
                    format!("the first cell is {p} x {p}; all cells must have the same size")
                }
            );
            layout.push(array);
        }
        let Some(p) = p else {
            bail!("the cell array is empty; it must contain one matrix per cell");
        };
        Ok(Self {
            p,
            n: layout.len(),
            layout: Layout::Separate(layout),
        })
    }

    /// Whether any matrix is complex.
    pub fn is_complex(&self) -> bool {
        match &self.layout {
            Layout::IndexLast(array) | Layout::IndexFirst(array) => array.imaginary.is_some(),
            Layout::Separate(arrays) => arrays.iter().any(|array| array.imaginary.is_some()),
        }
    }

    /// Returns matrix i in C order.
    pub fn matrix<T: Scalar>(&self, i: usize) -> Vec<T> {
        let entry = |k: usize| self.entry(i, k / self.p, k % self.p);
        let entries = (0..self.p * self.p).map(entry);
        entries
            .map(|(real, imaginary)| T::from_parts(real, imaginary))
            .collect()
    }

    /// Returns the real and imaginary part of entry (a, b) of matrix i.
    pub(super) fn entry(&self, i: usize, a: usize, b: usize) -> (f64, f64) {
        let (n, p) = (self.n, self.p);
        let (array, index) = match &self.layout {
            Layout::IndexLast(array) => (array, a + p * (b + p * i)),
            Layout::IndexFirst(array) => (array, i + n * (a + p * b)),
            Layout::Separate(arrays) => (&arrays[i], a + p * b),
        };
        (
            array.real[index],
            array
                .imaginary
                .as_ref()
                .map_or(0.0, |imaginary| imaginary[index]),
        )
    }
}

/// Formats a shape: 2 x 3 x 4.
fn times(dims: &[usize]) -> String {
    let sizes: Vec<String> = dims.iter().map(ToString::to_string).collect();
    sizes.join(" x ")
}
