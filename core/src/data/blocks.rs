//! Blocks: the unit of memory, of threads, and of order of summation.

use super::SetOptions;
use crate::Error;
use crate::linalg::kernels::{self, LANES, Real};
use crate::linalg::{AlignedBuffer, Matrix, Scalar, SymmetricBatch, Triangle, reals};

/// How far from symmetric a matrix may be, relative to its largest entry.
pub(crate) const SYMMETRY_TOLERANCE: f64 = 1e-8;

/// Some consecutive matrices of a set, entry-major.
#[derive(Clone, Debug)]
pub struct Block<T = f64> {
    /// The matrices, one per lane, padded by identities to a multiple of [`LANES`].
    pub batch: SymmetricBatch<AlignedBuffer, T>,
    /// One weight per lane, zero for the padding.
    pub weights: Vec<f64>,
    /// How many lanes are matrices of the set.
    pub matrices: usize,
}

impl<T: Scalar> Block<T> {
    /// How many matrices a block holds at most, by their size: a block should stay in a second
    /// level cache, but rows should be long enough to work on. It depends on nothing else, so that
    /// sums are taken in the same order whoever computes them.
    pub fn capacity(p: usize) -> usize {
        let numbers = 46_000; // 368 kB
        let lanes = numbers / (T::PLANES * Triangle::new(p).len());
        let lanes = lanes.clamp(2 * f32::LANES, 16 * f32::LANES);
        // Whole vectors in single precision, too.
        lanes - lanes % f32::LANES
    }

    /// The number of lanes: matrices and padding.
    pub fn lanes(&self) -> usize {
        self.weights.len()
    }

    /// The size p of the matrices.
    pub fn size(&self) -> usize {
        self.batch.size()
    }

    /// All entries, row after row, plane after plane.
    pub fn entries(&self) -> &[f64] {
        self.batch.entries()
    }

    /// Gathers row-major matrices, the first of which has the given number in the set, checking
    /// that they are finite and symmetric (if complex, Hermitian), and shrinking each towards tr(C)/p · I.
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

    /// A block for so many matrices, of weight zero, to be overwritten with its padding.
    pub fn unwritten(p: usize, matrices: usize) -> Self {
        let lanes = matrices.next_multiple_of(LANES);
        Self {
            batch: SymmetricBatch::unwritten(p, lanes),
            weights: vec![0.0; lanes],
            matrices,
        }
    }

    /// Writes identities to the lanes behind the matrices.
    fn pad(&mut self) {
        self.batch.fill_from(self.matrices, 1.0);
    }

    /// Writes up to eight matrices to the lanes from `at` on, a multiple of eight, and the padding behind
    /// those that are the last. `number` tells the number of the matrix in a lane, for errors.
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
        let found = matrices.find_map(|(l, matrix)| defect(p, matrix, number(at + l), tolerance));
        found.map_or(Ok(()), Err)
    }

    /// Writes up to eight matrices to eight neighbouring lanes, so that whole cache lines are
    /// written. False if something may be wrong with one of them.
    fn gather_group(&mut self, matrices: &[&[T]], at: usize, tolerance: f64) -> bool {
        let (p, lanes, count) = (self.size(), self.lanes(), matrices.len());
        // Eight of them, the last one again and again if there are fewer: loops over eight are unrolled.
        let matrices: [&[T]; LANES] = std::array::from_fn(|l| matrices[l.min(count - 1)]);
        let mut seen = Seen::default();
        let plane = Triangle::new(p).len() * lanes;
        let (real, imaginary) = self.batch.entries_mut().split_at_mut(plane);
        for (entry, (a, b)) in Triangle::new(p).pairs().enumerate() {
            let (mut x, mut y) = ([T::ZERO; LANES], [T::ZERO; LANES]);
            for l in 0..LANES {
                x[l] = matrices[l][a * p + b];
                y[l] = matrices[l][b * p + a].conj();
            }
            let (re, im) = seen.means(&x, &y);
            // All eight, which is one instruction.
            let place = entry * lanes + at..entry * lanes + at + LANES;
            if T::PLANES == 2 {
                imaginary[place.clone()].copy_from_slice(&im);
            }
            real[place].copy_from_slice(&re);
        }
        if count < LANES {
            self.pad();
        }
        seen.is_sound(tolerance)
    }

    /// F C Fᴴ of every matrix.
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

    /// A block of p×p matrices picked from others, each from one of their lanes, its weight divided
    /// by `total`.
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

    /// Each C becomes (1 − s) C + s tr(C)/p I.
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

/// What has been seen of eight matrices while they were gathered.
#[derive(Default)]
struct Seen {
    /// Bounds of the largest entry of each, and of how far two entries that should be alike are apart.
    largest: [f64; LANES],
    asymmetry: [f64; LANES],
    /// Zero as long as all entries are finite, and not a number from then on.
    trouble: [f64; LANES],
}

impl Seen {
    /// The means of entries (a, b) and the conjugates of entries (b, a): their real and imaginary parts.
    #[inline(always)]
    fn means<T: Scalar>(&mut self, x: &[T; LANES], y: &[T; LANES]) -> ([f64; LANES], [f64; LANES]) {
        // Written so that a maximum is one instruction: what is not a number is seen by `trouble`.
        let larger = |x: f64, y: f64| if x > y { x } else { y };
        let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            let (mean, apart) = (x[l] * 0.5 + y[l] * 0.5, x[l] - y[l]);
            (re[l], im[l]) = (mean.real(), mean.imaginary());
            // Absolute values of complex numbers would take long to compute.
            let size = larger(re[l].abs(), im[l].abs());
            let apart = apart.real().abs() + apart.imaginary().abs();
            self.largest[l] = larger(size, self.largest[l]);
            self.asymmetry[l] = larger(apart, self.asymmetry[l]);
            self.trouble[l] += 0.0 * re[l] + 0.0 * im[l];
        }
        (re, im)
    }

    /// Whether all entries were finite, and alike where they should be.
    fn is_sound(&self, tolerance: f64) -> bool {
        let symmetric =
            |l: usize| self.asymmetry[l] == 0.0 || self.asymmetry[l] <= tolerance * self.largest[l];
        (0..LANES).all(|l| self.trouble[l] == 0.0 && symmetric(l))
    }
}

/// The first thing wrong with a matrix, in words of its own.
fn defect<T: Scalar>(p: usize, matrix: &[T], index: usize, tolerance: f64) -> Option<Error> {
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

/// The largest |C_ab − conj C_ba| / max |C| of a finite matrix, and its place, which for a complex matrix
/// may be on the diagonal; None if all entries are zero, or none are off the diagonal of a real one.
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
