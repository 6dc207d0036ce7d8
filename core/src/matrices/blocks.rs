//! Blocks: the unit of memory, of threads, and of order of summation.

use crate::Error;
use crate::linalg::kernels::{LANES, packed, packed_len};

/// How far from symmetric a matrix may be, relative to its largest entry.
const SYMMETRY_TOLERANCE: f64 = 1e-8;

/// Some consecutive matrices of a set, entry-major: see [`crate::linalg::kernels`].
#[derive(Clone, Debug)]
pub struct Block {
    /// The packed rows, `lanes` numbers each.
    pub entries: Vec<f64>,
    /// One weight a lane; zero for the padding, whose matrices are identities.
    pub weights: Vec<f64>,
    /// How many lanes are matrices of the set.
    pub matrices: usize,
}

impl Block {
    /// How many matrices a block holds at most, by their size: a block should stay in a second
    /// level cache, but rows should be long enough to work on. It depends on nothing else, so that
    /// sums are taken in the same order whoever computes them.
    pub fn capacity(p: usize) -> usize {
        let numbers = 46_000; // 368 kB
        let lanes = (numbers / packed_len(p)).clamp(3 * LANES, 32 * LANES);
        lanes - lanes % LANES
    }

    /// The number of lanes: matrices and padding.
    pub fn lanes(&self) -> usize {
        self.weights.len()
    }

    /// Gathers row-major matrices, the first of which has the given number in the set, checking
    /// that they are finite and symmetric, and shrinking each towards tr(C)/p · I.
    pub fn gather(
        p: usize,
        matrices: &[&[f64]],
        first: usize,
        shrinkage: f64,
    ) -> Result<Self, Error> {
        let lanes = matrices.len().next_multiple_of(LANES);
        let mut entries = vec![0.0; packed_len(p) * lanes];
        for (group, eight) in matrices.chunks(LANES).enumerate() {
            let at = group * LANES;
            gather_group(p, eight, first + at, &mut entries, lanes, at)?;
        }
        let mut block = Self {
            entries,
            weights: vec![0.0; lanes],
            matrices: matrices.len(),
        };
        block.pad(p);
        if shrinkage > 0.0 {
            block.shrink(p, shrinkage);
        }
        Ok(block)
    }

    /// A block of matrices picked from others, each from one of their lanes, its weight divided by
    /// `total`.
    pub fn pick(p: usize, places: &[(&Self, usize)], total: f64) -> Self {
        let matrices = places.len();
        let lanes = matrices.next_multiple_of(LANES);
        let mut entries = vec![0.0; packed_len(p) * lanes];
        let mut weights = vec![0.0; lanes];
        for (lane, (block, from)) in places.iter().enumerate() {
            weights[lane] = block.weights[*from] / total;
            let rows = block.entries.chunks_exact(block.lanes());
            for (row, out) in rows.zip(entries.chunks_exact_mut(lanes)) {
                out[lane] = row[*from];
            }
        }
        let mut block = Self {
            entries,
            weights,
            matrices,
        };
        block.pad(p);
        block
    }

    /// Fills the lanes that hold no matrix with identities.
    fn pad(&mut self, p: usize) {
        let lanes = self.lanes();
        for a in 0..p {
            self.entries[packed(a, a) * lanes..][self.matrices..lanes].fill(1.0);
        }
    }

    fn shrink(&mut self, p: usize, shrinkage: f64) {
        let lanes = self.lanes();
        for lane in 0..self.matrices {
            let trace: f64 = (0..p)
                .map(|a| self.entries[packed(a, a) * lanes + lane])
                .sum();
            for a in 0..p {
                for b in 0..=a {
                    self.entries[packed(a, b) * lanes + lane] *= 1.0 - shrinkage;
                }
                self.entries[packed(a, a) * lanes + lane] += shrinkage * trace / p as f64;
            }
        }
    }

    /// The matrix in one lane, row-major.
    pub fn unpack(&self, p: usize, lane: usize, out: &mut [f64]) {
        let lanes = self.lanes();
        for a in 0..p {
            for b in 0..=a {
                let value = self.entries[packed(a, b) * lanes + lane];
                out[a * p + b] = value;
                out[b * p + a] = value;
            }
        }
    }
}

/// Writes up to eight matrices to eight neighbouring lanes, so that whole cache lines are written.
fn gather_group(
    p: usize,
    matrices: &[&[f64]],
    first: usize,
    entries: &mut [f64],
    lanes: usize,
    at: usize,
) -> Result<(), Error> {
    let mut largest = [0.0_f64; LANES];
    let mut asymmetry = [0.0_f64; LANES];
    let mut finite = true;
    for a in 0..p {
        for b in 0..=a {
            let out = &mut entries[packed(a, b) * lanes + at..][..LANES];
            for (l, matrix) in matrices.iter().enumerate() {
                let (x, y) = (matrix[a * p + b], matrix[b * p + a]);
                let value = if x == y { x } else { 0.5 * x + 0.5 * y };
                finite &= value.is_finite();
                largest[l] = largest[l].max(value.abs());
                asymmetry[l] = asymmetry[l].max((x - y).abs());
                out[l] = value;
            }
        }
    }
    let symmetric = (0..LANES).all(|l| asymmetry[l] <= SYMMETRY_TOLERANCE * largest[l]);
    if finite && symmetric {
        return Ok(());
    }
    let found = matrices
        .iter()
        .enumerate()
        .find_map(|(l, matrix)| defect(p, matrix, first + l));
    found.map_or(Ok(()), Err)
}

/// The first thing wrong with a matrix, in words of its own.
fn defect(p: usize, matrix: &[f64], index: usize) -> Option<Error> {
    if let Some(k) = matrix.iter().position(|x| !x.is_finite()) {
        return Some(Error::NotFinite {
            matrix: index,
            row: k / p,
            column: k % p,
            value: matrix[k],
        });
    }
    let largest = matrix.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let difference = |a: usize, b: usize| (matrix[a * p + b] - matrix[b * p + a]).abs() / largest;
    let (row, column) = (0..p)
        .flat_map(|a| (0..a).map(move |b| (a, b)))
        .max_by(|x, y| difference(x.0, x.1).total_cmp(&difference(y.0, y.1)))?;
    let asymmetry = difference(row, column);
    (asymmetry > SYMMETRY_TOLERANCE).then_some(Error::Asymmetric {
        matrix: index,
        row,
        column,
        asymmetry,
    })
}
