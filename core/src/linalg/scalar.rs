//! The scalar types of matrices.

use std::fmt::{Debug, Display, LowerExp};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use num_complex::Complex;

use super::dense::Field;

/// A complex number with `f64` parts, from the crate num-complex.
///
/// ```
/// let z = codiag::c64::new(3.0, 4.0);
/// assert_eq!(z.norm(), 5.0);
/// assert_eq!(z, num_complex::Complex::new(3.0, 4.0));
/// ```
#[allow(non_camel_case_types)] // named in the style of `f64`
pub type c64 = Complex<f64>;

/// Scalar type of a [`Matrix`](crate::Matrix): `f64` or `Complex<f64>` (of the crate num-complex).
/// The trait is sealed.
///
/// ```
/// use codiag::{Matrix, Scalar};
///
/// /// The sum of the squares of a matrix's entries, real or complex.
/// fn energy<T: Scalar>(m: &Matrix<T>) -> f64 {
///     m.as_slice().iter().map(|x| x.norm_sqr()).sum()
/// }
///
/// assert_eq!(energy(&Matrix::from_rows(1, 2, vec![3.0, 4.0])), 25.0);
/// let complex = num_complex::Complex::new(3.0, 4.0);
/// assert_eq!(energy(&Matrix::from_rows(1, 1, vec![complex])), 25.0);
/// ```
pub trait Scalar:
    Field
    + Copy
    + Default
    + PartialEq
    + Debug
    + Display
    + LowerExp
    + Send
    + Sync
    + 'static
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// Number of real parts of a scalar: 1 for real, 2 for complex numbers.
    ///
    /// ```
    /// use codiag::Scalar;
    /// assert_eq!((f64::PLANES, num_complex::Complex::<f64>::PLANES), (1, 2));
    /// ```
    const PLANES: usize;

    /// 0.
    ///
    /// ```
    /// use codiag::Scalar;
    /// assert_eq!(f64::ZERO, 0.0);
    /// ```
    const ZERO: Self;

    /// 1.
    ///
    /// ```
    /// use codiag::Scalar;
    /// assert_eq!(f64::ONE, 1.0);
    /// ```
    const ONE: Self;

    /// Converts a real number.
    ///
    /// ```
    /// use codiag::Scalar;
    /// use num_complex::Complex;
    /// assert_eq!(<Complex<f64> as Scalar>::from_real(2.0), Complex::new(2.0, 0.0));
    /// ```
    fn from_real(x: f64) -> Self;

    /// Returns the real part.
    ///
    /// ```
    /// use codiag::Scalar;
    /// assert_eq!(num_complex::Complex::new(2.0, 3.0).real(), 2.0);
    /// ```
    fn real(self) -> f64;

    /// Returns the imaginary part; 0 for real numbers.
    ///
    /// ```
    /// use codiag::Scalar;
    /// assert_eq!(num_complex::Complex::new(2.0, 3.0).imaginary(), 3.0);
    /// assert_eq!(2.0.imaginary(), 0.0);
    /// ```
    fn imaginary(self) -> f64;

    /// Creates a scalar from its real and imaginary parts. Real scalars ignore the imaginary part.
    ///
    /// ```
    /// use codiag::Scalar;
    /// use num_complex::Complex;
    /// assert_eq!(<Complex<f64> as Scalar>::from_parts(2.0, 3.0), Complex::new(2.0, 3.0));
    /// assert_eq!(f64::from_parts(2.0, 3.0), 2.0);
    /// ```
    fn from_parts(real: f64, imaginary: f64) -> Self;

    /// Returns the complex conjugate.
    ///
    /// ```
    /// use codiag::Scalar;
    /// assert_eq!(Scalar::conj(2.0), 2.0);
    /// ```
    #[must_use]
    fn conj(self) -> Self;

    /// Returns the absolute value.
    ///
    /// ```
    /// use codiag::Scalar;
    /// assert_eq!(num_complex::Complex::new(3.0, 4.0).abs(), 5.0);
    /// ```
    fn abs(self) -> f64;

    /// Returns the square of the absolute value.
    ///
    /// ```
    /// use codiag::Scalar;
    /// assert_eq!((-3.0).norm_sqr(), 9.0);
    /// ```
    fn norm_sqr(self) -> f64;
}

impl Scalar for f64 {
    const PLANES: usize = 1;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn from_real(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn real(self) -> f64 {
        self
    }

    #[inline(always)]
    fn imaginary(self) -> f64 {
        0.0
    }

    #[inline(always)]
    fn from_parts(real: f64, _: f64) -> Self {
        real
    }

    #[inline(always)]
    fn conj(self) -> Self {
        self
    }

    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }

    #[inline(always)]
    fn norm_sqr(self) -> f64 {
        self * self
    }
}

impl Scalar for c64 {
    const PLANES: usize = 2;
    const ZERO: Self = Complex::new(0.0, 0.0);
    const ONE: Self = Complex::new(1.0, 0.0);

    #[inline(always)]
    fn from_real(x: f64) -> Self {
        Complex::new(x, 0.0)
    }

    #[inline(always)]
    fn real(self) -> f64 {
        self.re
    }

    #[inline(always)]
    fn imaginary(self) -> f64 {
        self.im
    }

    #[inline(always)]
    fn from_parts(real: f64, imaginary: f64) -> Self {
        Complex::new(real, imaginary)
    }

    #[inline(always)]
    fn conj(self) -> Self {
        Complex::conj(&self)
    }

    // `norm` avoids overflow and underflow of the squares.
    #[inline(always)]
    fn abs(self) -> f64 {
        self.norm()
    }

    #[inline(always)]
    fn norm_sqr(self) -> f64 {
        Complex::norm_sqr(&self)
    }
}
