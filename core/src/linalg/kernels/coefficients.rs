//! The left factor of a product with the matrices of a block, as rows of real coefficients.

use std::borrow::Cow;

use super::Real;
use crate::linalg::{Matrix, Scalar, Triangle, reals};

/// The rows of an r×p matrix M as the coefficients of real combinations.
///
/// Column c of M D combines the entries (k, c) of D over k. If they are complex, its real and
/// imaginary parts are 2r combinations of 2p real rows, of which the imaginary ones come with the
/// sign − for k < c, where the entry stored is (c, k), the conjugate. The k are therefore taken in
/// the order c … p−1, 0 … c−1, and every row of coefficients is written out twice, first for the
/// one sign and then for the other: those of column c are then the 2p from number 2c on.
pub(super) struct Left<'a, R: Real = f64> {
    numbers: Cow<'a, [R]>,
    planes: usize,
    rows: usize,
    columns: usize,
}

impl<'a, R: Real> Left<'a, R> {
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

    /// 1, or 2 if M is complex.
    #[inline(always)]
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// r.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// p.
    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of vectors of M D for W vectors of matrices.
    #[inline(always)]
    pub fn half_len(&self, width: usize) -> usize {
        self.planes * self.rows * self.columns * width
    }

    /// Scratch for M D of a slice two of the widest vectors wide, in numbers.
    pub fn scratch_len(&self) -> usize {
        self.half_len(2 * R::LANES)
    }

    /// The coefficients for column c, row after row, and the stride of the rows.
    #[inline(always)]
    pub fn for_column(&self, c: usize) -> (&[R], usize) {
        if self.planes == 1 {
            (&self.numbers, self.columns)
        } else {
            (&self.numbers[2 * c..], 4 * self.columns)
        }
    }

    /// Offsets of the rows that make column c in a block whose rows have `stride` vectors, from
    /// vector `at` on.
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

/// The rows of an r×p matrix M as the coefficients of (half) Mᴴ, row a of `half` being given as its
/// p real parts and then its p imaginary ones: r rows of p for real M, else r rows of 2p for the
/// real parts of the result, and then r for the imaginary ones.
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

/// Numbers in the precision of a block: as they are, or a copy.
fn rounded<R: Real>(numbers: Cow<'_, [f64]>) -> Cow<'_, [R]> {
    match numbers {
        Cow::Borrowed(numbers) => match bytemuck::try_cast_slice(numbers) {
            Ok(same) if size_of::<R>() == size_of::<f64>() => Cow::Borrowed(same),
            _ => Cow::Owned(numbers.iter().map(|x| R::rounded(*x)).collect()),
        },
        Cow::Owned(numbers) => Cow::Owned(numbers.into_iter().map(R::rounded).collect()),
    }
}

/// Offsets of the vectors of a combination; on the stack unless there are many.
pub(super) struct Offsets {
    len: usize,
    short: [usize; 128],
    long: Vec<usize>,
}

impl Offsets {
    #[inline(always)]
    pub fn new(len: usize) -> Self {
        Self {
            len,
            short: [0; 128],
            long: vec![0; if len > 128 { len } else { 0 }],
        }
    }

    #[inline(always)]
    pub fn fill(&mut self, offset: impl Fn(usize) -> usize) -> &[usize] {
        let offsets = if self.len > self.short.len() {
            &mut self.long[..]
        } else {
            &mut self.short[..self.len]
        };
        for (k, slot) in offsets.iter_mut().enumerate() {
            *slot = offset(k);
        }
        offsets
    }
}
