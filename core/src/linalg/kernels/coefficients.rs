//! The factors of products with the matrices of a block, as rows of real coefficients.

use std::borrow::Cow;

use super::Real;
use crate::linalg::{Matrix, Scalar, Triangle, reals};

/// The left factor M, an r×p matrix, as coefficients of real linear combinations.
///
/// Column c of M D is a combination of the entries (k, c) of D over k. For complex matrices, its
/// real and imaginary parts are 2r combinations of 2p real rows. For k < c the conjugate entry
/// (c, k) is stored, so that the imaginary rows enter with a negative sign. The k are therefore
/// taken in the order c … p−1, 0 … c−1, and every row of coefficients is stored twice, with the
/// positive and then with the negative sign. The coefficients of column c are then the 2p numbers
/// from index 2c on.
pub(super) struct LeftFactor<'a, R: Real = f64> {
    numbers: Cow<'a, [R]>,
    planes: usize,
    rows: usize,
    columns: usize,
}

impl<'a, R: Real> LeftFactor<'a, R> {
    pub fn new<T: Scalar>(m: &'a Matrix<T>) -> Self {
        let (rows, columns) = (m.rows(), m.columns());
        let numbers = if T::PLANES == 1 {
            rounded(Cow::Borrowed(reals(m.as_slice())))
        } else {
            let mut numbers = Vec::with_capacity(8 * rows * columns);
            for a in 0..rows {
                // (x + iy)(u ± iv) = (xu ∓ yv) + i(yu ± xv).
                for sign in [1.0, -1.0] {
                    let of = |z: &T| [z.real(), -sign * z.imaginary()];
                    numbers.extend(m.row(a).iter().flat_map(of));
                }
                for sign in [1.0, -1.0] {
                    let of = |z: &T| [z.imaginary(), sign * z.real()];
                    numbers.extend(m.row(a).iter().flat_map(of));
                }
            }
            rounded(Cow::Owned(numbers))
        };
        Self {
            numbers,
            planes: T::PLANES,
            rows,
            columns,
        }
    }

    /// Returns the number of planes: 1, or 2 if M is complex.
    #[inline(always)]
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// Returns the number of rows r of M.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns p of M.
    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of vectors in M D for `width` vectors of matrices.
    #[inline(always)]
    pub fn half_len(&self, width: usize) -> usize {
        self.planes * self.rows * self.columns * width
    }

    /// Scratch length for M D of a slice that is two of the widest vectors wide, in numbers.
    pub fn scratch_len(&self) -> usize {
        self.half_len(2 * R::LANES)
    }

    /// Returns the coefficients for column c in row-major order, and their row stride.
    #[inline(always)]
    pub fn for_column(&self, c: usize) -> (&[R], usize) {
        if self.planes == 1 {
            (&self.numbers, self.columns)
        } else {
            (&self.numbers[2 * c..], 4 * self.columns)
        }
    }

    /// Offsets of vector `at` of the rows that are combined to column c, in a block whose rows have
    /// `stride` vectors.
    #[inline(always)]
    pub fn fill_offsets<'o>(
        &self,
        offsets: &'o mut Offsets,
        c: usize,
        stride: usize,
        at: usize,
    ) -> &'o [usize] {
        let triangle = Triangle::new(self.columns);
        if self.planes == 1 {
            return offsets.fill(|k| triangle.index(k, c) * stride + at);
        }
        let p = self.columns;
        offsets.fill(|number| {
            let k = c + number / 2;
            let k = if k < p { k } else { k - p };
            (number % 2 * triangle.len() + triangle.index(k, c)) * stride + at
        })
    }
}

/// Returns the right factor Mᴴ, for an r×p matrix M, as coefficients of products with rows that
/// consist of p real parts followed by p imaginary parts. For real M these are r rows of p
/// coefficients; for complex M, r rows of 2p for the real parts of the result and r rows for the
/// imaginary parts.
pub(super) fn right<T: Scalar, R: Real>(m: &Matrix<T>) -> Cow<'_, [R]> {
    if T::PLANES == 1 {
        return rounded(Cow::Borrowed(reals(m.as_slice())));
    }
    // (u + iv)(x − iy) = (ux + vy) + i(vx − uy).
    let mut numbers = Vec::with_capacity(4 * m.rows() * m.columns());
    for b in 0..m.rows() {
        numbers.extend(m.row(b).iter().map(|z| z.real()));
        numbers.extend(m.row(b).iter().map(|z| z.imaginary()));
    }
    for b in 0..m.rows() {
        numbers.extend(m.row(b).iter().map(|z| -z.imaginary()));
        numbers.extend(m.row(b).iter().map(|z| z.real()));
    }
    rounded(Cow::Owned(numbers))
}

/// Converts numbers to the precision of a block, without a copy if it is `f64`.
fn rounded<R: Real>(numbers: Cow<'_, [f64]>) -> Cow<'_, [R]> {
    match numbers {
        Cow::Borrowed(numbers) => match bytemuck::try_cast_slice(numbers) {
            Ok(same) if size_of::<R>() == size_of::<f64>() => Cow::Borrowed(same),
            _ => Cow::Owned(numbers.iter().map(|x| R::rounded(*x)).collect()),
        },
        Cow::Owned(numbers) => Cow::Owned(numbers.into_iter().map(R::rounded).collect()),
    }
}

/// Largest number of offsets that are stored on the stack.
const MAX_OFFSETS_ON_STACK: usize = 128;

/// Offsets of the vectors of a combination.
pub(super) struct Offsets {
    len: usize,
    stack: [usize; MAX_OFFSETS_ON_STACK],
    heap: Vec<usize>,
}

impl Offsets {
    #[inline(always)]
    pub fn new(len: usize) -> Self {
        Self {
            len,
            stack: [0; MAX_OFFSETS_ON_STACK],
            heap: vec![0; if len > MAX_OFFSETS_ON_STACK { len } else { 0 }],
        }
    }

    #[inline(always)]
    pub fn fill(&mut self, offset: impl Fn(usize) -> usize) -> &[usize] {
        let offsets = if self.len > self.stack.len() {
            &mut self.heap[..]
        } else {
            &mut self.stack[..self.len]
        };
        for (k, slot) in offsets.iter_mut().enumerate() {
            *slot = offset(k);
        }
        offsets
    }
}
