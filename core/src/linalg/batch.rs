//! Batches of symmetric matrices of equal size in structure-of-arrays layout.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::{AlignedBuffer, Matrix, Scalar, Triangle};

/// Symmetric (if complex, Hermitian) p×p matrices, one per lane, in the layout that the
/// [kernels](super::kernels) require: row (a, b), b ≤ a, holds the entries (a, b) of all matrices
/// contiguously, and rows are stored in the order of [`Triangle`]. Complex matrices have two such
/// planes, the real parts followed by the imaginary parts, whose diagonal is zero.
///
/// `S` is the storage: a buffer, a slice, or another type that dereferences to `[f64]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricBatch<S = AlignedBuffer, T = f64> {
    triangle: Triangle,
    lanes: usize,
    entries: S,
    scalar: PhantomData<T>,
}

/// Returns the number of real numbers stored for `lanes` p×p matrices.
///
/// # Panics
/// On overflow.
fn storage_len(p: usize, lanes: usize, planes: usize) -> usize {
    let plane = Triangle::new(p).len().checked_mul(lanes);
    let len = plane.and_then(|plane| plane.checked_mul(planes));
    len.unwrap_or_else(|| panic!("the number of entries of {lanes} {p} x {p} matrices overflows"))
}

impl<T: Scalar> SymmetricBatch<AlignedBuffer, T> {
    /// Matrices of size p×p whose entries will be overwritten.
    pub fn unwritten(p: usize, lanes: usize) -> Self {
        Self::from_parts(
            p,
            lanes,
            AlignedBuffer::of_len(storage_len(p, lanes, T::PLANES)),
        )
    }

    /// Zero matrices of size p×p.
    pub fn zeros(p: usize, lanes: usize) -> Self {
        Self::from_parts(
            p,
            lanes,
            AlignedBuffer::zeros(storage_len(p, lanes, T::PLANES)),
        )
    }
}

impl<S: Deref<Target = [f64]>, T: Scalar> SymmetricBatch<S, T> {
    /// Matrices whose entries are stored in `entries` in this layout.
    ///
    /// # Panics
    /// If `entries` does not have the length of `lanes` p×p matrices.
    pub fn from_parts(p: usize, lanes: usize, entries: S) -> Self {
        assert_eq!(
            entries.len(),
            storage_len(p, lanes, T::PLANES),
            "wrong number of entries for {lanes} symmetric {p} x {p} matrices"
        );
        Self {
            triangle: Triangle::new(p),
            lanes,
            entries,
            scalar: PhantomData,
        }
    }

    /// Returns the size p of the matrices.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.triangle.size()
    }

    /// Returns the number of matrices.
    #[inline(always)]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Returns all entries, row after row, plane after plane.
    #[inline(always)]
    pub fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// Returns the real parts of the entries (a, b) of all matrices.
    #[inline(always)]
    pub fn row(&self, a: usize, b: usize) -> &[f64] {
        &self.entries[self.triangle.index(a, b) * self.lanes..][..self.lanes]
    }

    /// Returns the diagonal entries (a, a) of all matrices.
    #[inline(always)]
    pub fn diagonal(&self, a: usize) -> &[f64] {
        self.row(a, a)
    }

    /// Entry (a, b) of the matrix in one lane.
    #[inline(always)]
    pub fn entry(&self, (a, b): (usize, usize), lane: usize) -> T {
        packed_entry(self.triangle, &self.entries, self.lanes, (a, b), lane)
    }

    /// Returns the rows in the order of [`Triangle::pairs`], plane after plane.
    #[inline(always)]
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.entries.chunks_exact(self.lanes.max(1))
    }

    /// Returns the matrix in one lane.
    pub fn matrix(&self, lane: usize) -> Matrix<T> {
        let p = self.size();
        Matrix::from_fn(p, p, |a, b| self.entry((a, b), lane))
    }

    /// Writes the matrix in one lane to `out`, row-major.
    ///
    /// # Panics
    /// If `out` does not hold p·p numbers, or there is no such lane.
    pub fn unpack(&self, lane: usize, out: &mut [T]) {
        let p = self.size();
        assert_eq!(
            out.len(),
            p * p,
            "wrong number of entries for a {p} x {p} matrix"
        );
        for (a, b) in self.triangle.pairs() {
            let entry = self.entry((a, b), lane);
            out[a * p + b] = entry;
            out[b * p + a] = entry.conj();
        }
    }
}

/// Entry (a, b) of the matrix in one lane of packed storage.
#[inline(always)]
fn packed_entry<T: Scalar>(
    triangle: Triangle,
    entries: &[f64],
    lanes: usize,
    (a, b): (usize, usize),
    lane: usize,
) -> T {
    assert!(
        lane < lanes,
        "lane {lane} is out of range for {lanes} lanes"
    );
    let place = triangle.index(a, b) * lanes + lane;
    if T::PLANES == 1 {
        return T::from_real(entries[place]);
    }
    let entry = T::from_parts(entries[place], entries[triangle.len() * lanes + place]);
    if a >= b { entry } else { entry.conj() }
}

/// Returns a symmetric (if complex, Hermitian) matrix from its packed lower triangle.
pub fn unpacked<T: Scalar>(p: usize, entries: &[f64]) -> Matrix<T> {
    let triangle = Triangle::new(p);
    Matrix::from_fn(p, p, |a, b| packed_entry(triangle, entries, 1, (a, b), 0))
}

impl<S: DerefMut<Target = [f64]>, T: Scalar> SymmetricBatch<S, T> {
    /// Returns all entries, mutable.
    #[inline(always)]
    pub fn entries_mut(&mut self) -> &mut [f64] {
        &mut self.entries
    }

    /// Returns the real parts of the entries (a, b) of all matrices, mutable.
    #[inline(always)]
    pub fn row_mut(&mut self, a: usize, b: usize) -> &mut [f64] {
        &mut self.entries[self.triangle.index(a, b) * self.lanes..][..self.lanes]
    }

    /// Returns the diagonal entries (a, a) of all matrices, mutable.
    #[inline(always)]
    pub fn diagonal_mut(&mut self, a: usize) -> &mut [f64] {
        self.row_mut(a, a)
    }

    /// Returns the rows in the order of [`Triangle::pairs`], plane after plane, mutable.
    #[inline(always)]
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        self.entries.chunks_exact_mut(self.lanes.max(1))
    }

    /// Sets the matrices in lanes `lane` and beyond to a multiple of the identity.
    pub fn fill_from(&mut self, lane: usize, multiple: f64) {
        if lane == self.lanes {
            return;
        }
        self.rows_mut().for_each(|row| row[lane..].fill(0.0));
        (0..self.size()).for_each(|a| self.diagonal_mut(a)[lane..].fill(multiple));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::c64;

    fn examples(p: usize, lanes: usize) -> Vec<Matrix> {
        let number = |i: usize, a: usize, b: usize| (100 * i + 10 * a.max(b) + a.min(b)) as f64;
        let matrix = |i| Matrix::from_fn(p, p, |a, b| number(i, a, b));
        (0..lanes).map(matrix).collect()
    }

    fn batch_of(p: usize, matrices: &[Matrix]) -> SymmetricBatch {
        let mut batch = SymmetricBatch::<_, f64>::zeros(p, matrices.len());
        for (lane, matrix) in matrices.iter().enumerate() {
            for (a, b) in Triangle::new(p).pairs() {
                batch.row_mut(a, b)[lane] = matrix[(a, b)];
            }
        }
        batch
    }

    #[test]
    fn unpack_returns_the_stored_entries() {
        for (p, lanes) in [(1, 1), (3, 5), (6, 8)] {
            let matrices = examples(p, lanes);
            let batch = batch_of(p, &matrices);
            assert_eq!((batch.size(), batch.lanes()), (p, lanes));
            for (lane, matrix) in matrices.iter().enumerate() {
                assert_eq!(&batch.matrix(lane), matrix);
                let mut out = vec![0.0; p * p];
                batch.unpack(lane, &mut out);
                assert_eq!(out, matrix.as_slice());
                for (a, b) in Triangle::new(p).pairs() {
                    assert_eq!(batch.row(b, a)[lane], matrix[(a, b)]);
                    assert_eq!(batch.entry((a, b), lane), matrix[(a, b)]);
                }
                for a in 0..p {
                    assert_eq!(batch.diagonal(a)[lane], matrix[(a, a)]);
                }
            }
        }
    }

    #[test]
    fn fill_from_writes_the_identity_to_later_lanes() {
        let mut batch = SymmetricBatch::<_, c64>::unwritten(3, 4);
        batch.entries_mut().fill(5.0);
        batch.fill_from(4, 1.0);
        assert!(batch.entries().iter().all(|x| *x == 5.0));
        batch.fill_from(2, 1.5);
        let identity = Matrix::from_fn(3, 3, |a, b| c64::new(if a == b { 1.5 } else { 0.0 }, 0.0));
        assert!(batch.matrix(2) == identity && batch.matrix(3) == identity);
        assert_eq!(batch.entry((1, 0), 1), c64::new(5.0, 5.0));
    }

    #[test]
    fn rows_are_views_of_the_storage() {
        let (p, lanes) = (4, 3);
        let mut batch = batch_of(p, &examples(p, lanes));
        batch.row_mut(1, 2).fill(7.0);
        batch.diagonal_mut(0)[1] = -1.0;
        assert_eq!(batch.matrix(2)[(2, 1)], 7.0);
        assert_eq!(batch.entry((0, 0), 1), -1.0);
        for ((a, b), row) in Triangle::new(p).pairs().zip(batch.rows()) {
            assert_eq!(row, batch.row(a, b));
        }
        let slice: SymmetricBatch<&[f64]> = SymmetricBatch::from_parts(p, lanes, batch.entries());
        assert_eq!(slice.matrix(1), batch.matrix(1));
    }

    #[test]
    #[should_panic(expected = "wrong number of entries for 4 symmetric 3 x 3 matrices")]
    fn storage_of_wrong_length_panics() {
        SymmetricBatch::<_, f64>::from_parts(3, 4, vec![0.0; 23]);
    }

    #[test]
    #[should_panic(expected = "overflows")]
    fn overflowing_batch_panics() {
        SymmetricBatch::<_, f64>::zeros(1 << 31, 1 << 31);
    }

    #[test]
    fn complex_matrices_have_a_second_plane() {
        let (p, lanes) = (3, 2);
        let mut batch = SymmetricBatch::<AlignedBuffer, c64>::zeros(p, lanes);
        let plane = Triangle::new(p).len() * lanes;
        assert_eq!(batch.entries().len(), 2 * plane);
        batch.row_mut(2, 1)[1] = 5.0;
        batch.entries_mut()[plane + Triangle::new(p).index(2, 1) * lanes + 1] = -7.0;
        let matrix = batch.matrix(1);
        assert_eq!(matrix[(2, 1)], c64::new(5.0, -7.0));
        assert_eq!(matrix[(1, 2)], c64::new(5.0, 7.0));
        let mut out = vec![c64::ZERO; p * p];
        batch.unpack(1, &mut out);
        assert_eq!(out, matrix.as_slice());
        assert_eq!(batch.matrix(0), Matrix::zeros(p, p));
    }
}
