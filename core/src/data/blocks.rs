//! Blocks of matrices: the unit of memory, of work for a thread, and of the order of summation.

use super::SetOptions;
use crate::Error;
use crate::linalg::kernels::{self, LANES, Real};
use crate::linalg::{AlignedBuffer, Matrix, Scalar, SymmetricBatch, Triangle, reals};

/// Largest asymmetry of a matrix, relative to its largest entry.
pub(crate) const SYMMETRY_TOLERANCE: f64 = 1e-8;

/// Consecutive matrices of a set in entry-major order.
#[derive(Clone, Debug)]
pub struct Block<T = f64> {
    /// The matrices, one per lane, padded by identities to a multiple of [`LANES`].
    pub batch: SymmetricBatch<AlignedBuffer, T>,
    /// One weight per lane, zero for the padding.
    pub weights: Vec<f64>,
    /// Number of lanes that hold matrices of the set.
    pub matrices: usize,
}

impl<T: Scalar> Block<T> {
    /// Returns the maximum number of matrices in a block: a block should stay in a second-level
    /// cache, but its rows should be long enough for vector instructions. It depends only on the
    /// size of the matrices, so that the order of summation does not depend on the machine or the
    /// threads.
    pub fn capacity(p: usize) -> usize {
        let numbers = 46_000; // 368 kB
        let lanes = numbers / (T::PLANES * Triangle::new(p).len());
        let lanes = lanes.clamp(2 * f32::LANES, 16 * f32::LANES);
        // Full vectors in single precision, too.
        lanes - lanes % f32::LANES
    }

    /// Returns the number of lanes: matrices and padding.
    pub fn lanes(&self) -> usize {
        self.weights.len()
    }

    /// Returns the size p of the matrices.
    pub fn size(&self) -> usize {
        self.batch.size()
    }

    /// Returns all entries, row after row, plane after plane.
    pub fn entries(&self) -> &[f64] {
        self.batch.entries()
    }

    /// Gathers row-major matrices: checks that they are finite and symmetric (Hermitian if
    /// complex), and shrinks each towards tr(C)/p · I. `first` is the number of the first matrix in
    /// the set.
    pub fn gather(
        p: usize,
        matrices: &[&[T]],
        first: usize,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        let mut block = Self::unwritten(p, matrices.len());
        for (group, eight) in matrices.chunks(LANES).enumerate() {
            let at = group * LANES;
            block.gather_eight(eight, at, options.symmetrize, |lane| first + lane)?;
        }
        block.shrink(options.shrinkage);
        Ok(block)
    }

    /// Allocates a block for this number of matrices, all of weight zero. The caller must write all
    /// lanes, including the padding.
    pub fn unwritten(p: usize, matrices: usize) -> Self {
        let lanes = matrices.next_multiple_of(LANES);
        Self {
            batch: SymmetricBatch::unwritten(p, lanes),
            weights: vec![0.0; lanes],
            matrices,
        }
    }

    /// Writes identities to the padding.
    fn pad(&mut self) {
        self.batch.fill_from(self.matrices, 1.0);
    }

    /// Writes up to eight matrices to the lanes from `at` on, a multiple of eight, and the padding
    /// if there are fewer than eight. `number` maps a lane to the number of its matrix, for errors.
    pub fn gather_eight(
        &mut self,
        eight: &[&[T]],
        at: usize,
        symmetrize: bool,
        number: impl Fn(usize) -> usize,
    ) -> Result<(), Error> {
        let tolerance = if symmetrize {
            f64::INFINITY
        } else {
            SYMMETRY_TOLERANCE
        };
        if self.gather_group(eight, at, tolerance) {
            return Ok(());
        }
        let mut matrices = eight.iter().enumerate();
        let p = self.size();
        let found =
            matrices.find_map(|(l, matrix)| find_error(p, matrix, number(at + l), tolerance));
        found.map_or(Ok(()), Err)
    }

    /// Writes up to eight matrices to eight adjacent lanes, so that full cache lines are written.
    /// Returns false if one of them may be invalid.
    fn gather_group(&mut self, matrices: &[&[T]], at: usize, tolerance: f64) -> bool {
        let (p, lanes, count) = (self.size(), self.lanes(), matrices.len());
        // Always eight, the last one repeated if there are fewer: loops of constant length are
        // unrolled.
        let matrices: [&[T]; LANES] = std::array::from_fn(|l| matrices[l.min(count - 1)]);
        let mut checks = EntryChecks::default();
        let plane = Triangle::new(p).len() * lanes;
        let (real, imaginary) = self.batch.entries_mut().split_at_mut(plane);
        for (entry, (a, b)) in Triangle::new(p).pairs().enumerate() {
            let (mut x, mut y) = ([T::ZERO; LANES], [T::ZERO; LANES]);
            for l in 0..LANES {
                x[l] = matrices[l][a * p + b];
                y[l] = matrices[l][b * p + a].conj();
            }
            let (re, im) = checks.means(&x, &y);
            // All eight lanes at once: one vector instruction.
            let place = entry * lanes + at..entry * lanes + at + LANES;
            if T::PLANES == 2 {
                imaginary[place.clone()].copy_from_slice(&im);
            }
            real[place].copy_from_slice(&re);
        }
        if count < LANES {
            self.pad();
        }
        checks.are_passed(tolerance)
    }

    /// Returns F C Fᴴ of every matrix, where F are the filters.
    pub fn reduced(&self, filters: &Matrix<T>) -> Self {
        let mut batch = SymmetricBatch::unwritten(filters.rows(), self.lanes());
        batch.fill_from(self.matrices, 1.0);
        let task = kernels::Congruence {
            transform: filters,
            input: self.entries(),
            lanes: self.lanes(),
            matrices: self.matrices,
            square: batch.entries_mut(),
            cross: None,
        };
        kernels::congruence(task);
        Self {
            batch,
            weights: self.weights.clone(),
            matrices: self.matrices,
        }
    }

    /// Copies p×p matrices from lanes of other blocks to a new block. Their weights are divided by
    /// `total`.
    pub fn pick(p: usize, places: &[(&Self, usize)], total: f64) -> Self {
        let mut picked = Self::unwritten(p, places.len());
        for (weight, (block, from)) in picked.weights.iter_mut().zip(places) {
            *weight = block.weights[*from] / total;
        }
        for (entry, row) in picked.batch.rows_mut().enumerate() {
            for (out, (block, from)) in row.iter_mut().zip(places) {
                *out = block.entries()[entry * block.lanes() + from];
            }
        }
        picked.pad();
        picked
    }

    /// Replaces each C by (1 − s) C + s tr(C)/p I, where s is the shrinkage.
    pub fn shrink(&mut self, shrinkage: f64) {
        if shrinkage == 0.0 {
            return;
        }
        let p = self.size();
        for lane in 0..self.matrices {
            let trace: f64 = (0..p).map(|a| self.batch.diagonal(a)[lane]).sum();
            self.batch
                .rows_mut()
                .for_each(|row| row[lane] *= 1.0 - shrinkage);
            for a in 0..p {
                self.batch.diagonal_mut(a)[lane] += shrinkage * trace / p as f64;
            }
        }
    }
}

/// Checks of eight matrices, updated while their entries are gathered.
#[derive(Default)]
struct EntryChecks {
    /// Lower bound of the largest absolute entry of each matrix.
    largest: [f64; LANES],
    /// Upper bound of the largest |C_ab − conj C_ba| of each matrix.
    asymmetry: [f64; LANES],
    /// Zero if all entries are finite, NaN otherwise.
    non_finite: [f64; LANES],
}

impl EntryChecks {
    /// Returns the means of entries (a, b) and conjugates of entries (b, a): real and imaginary
    /// parts.
    #[inline(always)]
    fn means<T: Scalar>(&mut self, x: &[T; LANES], y: &[T; LANES]) -> ([f64; LANES], [f64; LANES]) {
        // Compiles to one instruction. It ignores NaN, which `non_finite` detects.
        let larger = |x: f64, y: f64| if x > y { x } else { y };
        let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            let (mean, apart) = (x[l] * 0.5 + y[l] * 0.5, x[l] - y[l]);
            (re[l], im[l]) = (mean.real(), mean.imaginary());
            // Cheaper bounds than the absolute values of complex numbers.
            let size = larger(re[l].abs(), im[l].abs());
            let apart = apart.real().abs() + apart.imaginary().abs();
            self.largest[l] = larger(size, self.largest[l]);
            self.asymmetry[l] = larger(apart, self.asymmetry[l]);
            self.non_finite[l] += 0.0 * re[l] + 0.0 * im[l];
        }
        (re, im)
    }

    /// Whether all matrices are finite and symmetric (Hermitian).
    fn are_passed(&self, tolerance: f64) -> bool {
        let symmetric =
            |l: usize| self.asymmetry[l] == 0.0 || self.asymmetry[l] <= tolerance * self.largest[l];
        (0..LANES).all(|l| self.non_finite[l] == 0.0 && symmetric(l))
    }
}

/// Returns the first error in a matrix: an entry that is not finite, or its largest asymmetry.
fn find_error<T: Scalar>(p: usize, matrix: &[T], index: usize, tolerance: f64) -> Option<Error> {
    if let Some(k) = reals(matrix).iter().position(|x| !x.is_finite()) {
        let (entry, part) = (k / T::PLANES, k % T::PLANES);
        return Some(Error::NotFinite {
            matrix: index,
            row: entry / p,
            column: entry % p,
            value: reals(matrix)[k],
            imaginary: part == 1,
        });
    }
    let (row, column, asymmetry) = asymmetry(p, matrix)?;
    (asymmetry > tolerance).then_some(Error::Asymmetric {
        matrix: index,
        row,
        column,
        asymmetry,
        complex: T::PLANES == 2,
    })
}

/// Returns the largest |C_ab − conj C_ba| / max |C| of a finite matrix, after its row and column.
/// For a complex matrix the entry may be on the diagonal. None if all entries are zero, or if the
/// matrix is real and has no entries off the diagonal.
pub(crate) fn asymmetry<T: Scalar>(p: usize, matrix: &[T]) -> Option<(usize, usize, f64)> {
    let largest = matrix.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let difference =
        |a: usize, b: usize| (matrix[a * p + b] - matrix[b * p + a].conj()).abs() / largest;
    let (row, column) = (0..p)
        .flat_map(|a| (0..a + T::PLANES - 1).map(move |b| (a, b)))
        .max_by(|x, y| difference(x.0, x.1).total_cmp(&difference(y.0, y.1)))?;
    let most = difference(row, column);
    (!most.is_nan()).then_some((row, column, most))
}
