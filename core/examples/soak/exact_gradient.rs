//! The gradient of the likelihood in double-double arithmetic (about 32 digits), as a reference for
//! the gradient in double precision.

use std::ops::{Add, Mul, Neg, Sub};

use codiag::{Matrix, MatrixSet, Scalar};

/// The unevaluated sum of two doubles that do not overlap (Dekker 1971).
#[derive(Clone, Copy, Debug, Default)]
struct DoubleDouble(f64, f64);

impl DoubleDouble {
    /// The exact sum of two numbers (Knuth's `TwoSum`).
    fn sum(x: f64, y: f64) -> Self {
        let s = x + y;
        let z = s - x;
        Self(s, (x - (s - z)) + (y - z))
    }

    fn divided_by(self, other: Self) -> Self {
        let first = self.0 / other.0;
        let rest = self - other * Self(first, 0.0);
        let second = rest.0 / other.0;
        let rest = rest - other * Self(second, 0.0);
        Self::sum(first, second) + Self(rest.0 / other.0, 0.0)
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let high = Self::sum(self.0, other.0);
        let low = Self::sum(self.1, other.1);
        let high = Self::sum(high.0, high.1 + low.0);
        Self::sum(high.0, high.1 + low.1)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let error = self.0.mul_add(other.0, -product);
        Self::sum(product, error + (self.0.mul_add(other.1, self.1 * other.0)))
    }
}

/// A complex number in double-double arithmetic.
#[derive(Clone, Copy, Debug, Default)]
struct Complex(DoubleDouble, DoubleDouble);

impl Complex {
    fn of<T: Scalar>(x: T) -> Self {
        Self(
            DoubleDouble(x.real(), 0.0),
            DoubleDouble(x.imaginary(), 0.0),
        )
    }

    fn conj(self) -> Self {
        Self(self.0, -self.1)
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self(
            self.0 * other.0 - self.1 * other.1,
            self.0 * other.1 + self.1 * other.0,
        )
    }
}

/// The gradient norm ĝ of the likelihood at B.
///
/// It is ‖G‖_F / √p in the normalization Σ_i w_i Dⁱ_aa = 1 or, over rotations, ‖G − Gᴴ‖_F / √p.
pub fn gradient_norm<T: Scalar>(set: &MatrixSet<T>, b: &Matrix<T>, rotations: bool) -> f64 {
    let p = b.rows();
    let entry = |a: usize, k: usize| Complex::of(b[(a, k)]);
    let mut gradient = vec![Complex::default(); p * p];
    let mut powers = vec![DoubleDouble::default(); p];
    for (i, weight) in set.weights().iter().enumerate() {
        let c = set.matrix(i);
        // Dⁱ = B Cⁱ Bᴴ.
        let mut half = vec![Complex::default(); p * p];
        let mut d = vec![Complex::default(); p * p];
        for (a, k, l) in triples(p) {
            half[a * p + l] = half[a * p + l] + entry(a, k) * Complex::of(c[(k, l)]);
        }
        for (a, k, l) in triples(p) {
            d[a * p + l] = d[a * p + l] + half[a * p + k] * entry(l, k).conj();
        }
        let weight = DoubleDouble(*weight, 0.0);
        for a in 0..p {
            let power = d[a * p + a].0;
            powers[a] = powers[a] + weight * power;
            let factor = weight.divided_by(power);
            for k in 0..p {
                let x = d[a * p + k];
                let term = Complex(factor * x.0, factor * x.1);
                gradient[a * p + k] = gradient[a * p + k] + term;
            }
        }
    }
    let squares = (0..p * p).map(|entry| {
        let (a, k) = (entry / p, entry % p);
        let x = gradient[entry];
        if rotations {
            let y = gradient[k * p + a];
            let (re, im) = (x.0 - y.0, x.1 + y.1);
            return re.0 * re.0 + im.0 * im.0;
        }
        let diagonal = DoubleDouble(f64::from(u8::from(a == k)), 0.0);
        let scale = powers[a].0 / powers[k].0;
        let re = x.0 - diagonal;
        (re.0 * re.0 + x.1.0 * x.1.0) * scale
    });
    (squares.sum::<f64>() / p as f64).sqrt()
}

/// All index triples (a, k, l) below p.
fn triples(p: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..p).flat_map(move |a| (0..p).flat_map(move |k| (0..p).map(move |l| (a, k, l))))
}
