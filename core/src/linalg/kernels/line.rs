//! Loss sums along a search line, O(p) per matrix, and the update of a block by a step, O(p²).

use super::DiagonalFunction;
use super::{LANES, Real, dispatch, planes};
use crate::linalg::Triangle;

/// The weighted sum of f(D_aa(α)) over the components and the matrices of a block, and its first
/// two derivatives, for D(α) = D + α·cross + α²·square. The function f is log d or d².
#[derive(Clone, Copy, Debug, Default)]
pub struct LinePoint {
    /// Σ_i w_i Σ_a f(Dⁱ_aa(α)).
    pub sum: f64,
    /// The first derivative of the sum in α.
    pub first: f64,
    /// The second derivative of the sum in α.
    pub second: f64,
}

impl std::ops::AddAssign for LinePoint {
    fn add_assign(&mut self, other: Self) {
        self.sum += other.sum;
        self.first += other.first;
        self.second += other.second;
    }
}

const MANTISSA_BITS: u64 = (1 << 52) - 1;
const BITS_OF_ONE: u64 = 1023 << 52;
/// Number of mantissas in [1, 2) that can be multiplied without overflow.
const MAX_MANTISSA_FACTORS: usize = 512;

/// Running sums Σ log x in [`LANES`] lanes. The product of the mantissas and the sum of the
/// exponents are accumulated separately, so that one logarithm is computed for hundreds of numbers.
struct LogSums {
    mantissas: [f64; LANES],
    exponents: [u64; LANES],
    /// Sum of the biases that `exponents` contain.
    biases: u64,
    /// Number of factors since the mantissas were last normalized.
    factors: usize,
}

impl LogSums {
    fn new() -> Self {
        Self {
            mantissas: [1.0; LANES],
            exponents: [0; LANES],
            biases: 0,
            factors: 0,
        }
    }

    /// Adds the logarithms of positive, normal numbers.
    #[inline(always)]
    fn push(&mut self, values: &[f64; LANES]) {
        self.factors += 1;
        self.biases += 1023;
        for l in 0..LANES {
            let bits = values[l].to_bits();
            self.exponents[l] += bits >> 52;
            self.mantissas[l] *= f64::from_bits(bits & MANTISSA_BITS | BITS_OF_ONE);
        }
        if self.factors == MAX_MANTISSA_FACTORS {
            self.factors = 0;
            self.biases += 1023;
            for l in 0..LANES {
                let bits = self.mantissas[l].to_bits();
                self.exponents[l] += bits >> 52;
                self.mantissas[l] = f64::from_bits(bits & MANTISSA_BITS | BITS_OF_ONE);
            }
        }
    }

    fn finish(&self) -> [f64; LANES] {
        std::array::from_fn(|l| {
            let exponent = self.exponents[l] as i64 - self.biases as i64;
            self.mantissas[l].ln() + exponent as f64 * std::f64::consts::LN_2
        })
    }

    /// Returns the weighted sum over the lanes. Neighboring lanes of equal weight share one
    /// logarithm.
    #[inline(always)]
    fn finish_weighted(&self, weights: &[f64; LANES]) -> f64 {
        let mut sum = 0.0;
        let mut from = 0;
        while from < LANES {
            let weight = weights[from];
            let (mut mantissa, mut exponent) = (1.0, 0);
            while from < LANES && weights[from] == weight {
                let bits = self.mantissas[from].to_bits();
                mantissa *= f64::from_bits(bits & MANTISSA_BITS | BITS_OF_ONE);
                exponent += (self.exponents[from] + (bits >> 52)) as i64;
                exponent -= (self.biases + 1023) as i64;
                from += 1;
            }
            if weight != 0.0 {
                sum += weight * (mantissa.ln() + exponent as f64 * std::f64::consts::LN_2);
            }
        }
        sum
    }
}

/// Returns the [`LANES`] numbers of a row from `at` on.
#[inline(always)]
fn group<R: Real>(row: &[R], at: usize) -> &[R; LANES] {
    row[at..]
        .first_chunk()
        .expect("the length of a row is a multiple of LANES")
}

/// Returns the sums of the logarithms of the columns of `rows`, a row-major matrix with `lanes`
/// columns.
pub fn sum_of_logs(rows: &[f64], lanes: usize, out: &mut [f64]) {
    assert_eq!(lanes % LANES, 0);
    assert_eq!(out.len(), lanes);
    dispatch(
        #[inline(always)]
        || {
            for at in (0..lanes).step_by(LANES) {
                let mut logs = LogSums::new();
                for row in rows.chunks_exact(lanes) {
                    logs.push(group(row, at));
                }
                out[at..at + LANES].copy_from_slice(&logs.finish());
            }
        },
    );
}

/// Returns the weighted sum over a block of Σ_a log D_aa or Σ_a D_aa², by the criterion.
pub fn diagonal_sum<R: Real>(
    function: DiagonalFunction,
    p: usize,
    block: &[R],
    weights: &[f64],
) -> f64 {
    let (lanes, triangle) = (weights.len(), Triangle::new(p));
    planes(block, p, lanes);
    let row = |a, at| group(block, triangle.diagonal(a) * lanes + at);
    match function {
        DiagonalFunction::Log => diagonal_logs(p, weights, row),
        DiagonalFunction::Square => diagonal_squares(p, weights, row),
    }
}

/// Returns Σ_i w_i Σ_a (Dⁱ_aa)². `row(a, at)` returns the entries (a, a) of a group of matrices.
#[inline(always)]
fn diagonal_squares<'a, R: Real>(
    p: usize,
    weights: &[f64],
    row: impl Fn(usize, usize) -> &'a [R; LANES],
) -> f64 {
    let mut sums = [0.0; LANES];
    dispatch(
        #[inline(always)]
        || {
            for at in (0..weights.len()).step_by(LANES) {
                let w = group(weights, at);
                for a in 0..p {
                    let row = row(a, at);
                    for l in 0..LANES {
                        let d = row[l].widened();
                        sums[l] += w[l] * d * d;
                    }
                }
            }
        },
    );
    sums.iter().sum()
}

/// Returns Σ_i w_i Σ_a log Dⁱ_aa. `row(a, at)` returns the entries (a, a) of a group of matrices.
#[inline(always)]
fn diagonal_logs<'a, R: Real>(
    p: usize,
    weights: &[f64],
    row: impl Fn(usize, usize) -> &'a [R; LANES],
) -> f64 {
    let lanes = weights.len();
    let mut sum = 0.0;
    dispatch(
        #[inline(always)]
        || {
            // Groups of equal weights share their logarithms.
            let mut logs = LogSums::new();
            for at in (0..lanes).step_by(LANES) {
                (0..p).for_each(|a| logs.push(&row(a, at).map(R::widened)));
                let w = group(weights, at);
                if at + LANES < lanes && w == group(weights, at + LANES) {
                    continue;
                }
                sum += logs.finish_weighted(w);
                logs = LogSums::new();
            }
        },
    );
    sum
}

/// Returns the contribution of a block to the sum and derivatives at α.
pub fn line_point<R: Real>(
    function: DiagonalFunction,
    p: usize,
    block: &[R],
    cross: &[R],
    square: &[R],
    weights: &[f64],
    alpha: f64,
) -> LinePoint {
    let (lanes, triangle) = (weights.len(), Triangle::new(p));
    planes(block, p, lanes);
    assert_eq!((cross.len(), square.len()), (block.len(), block.len()));
    let rows = |a, at| {
        let row = triangle.diagonal(a) * lanes + at;
        [group(block, row), group(cross, row), group(square, row)]
    };
    match function {
        DiagonalFunction::Log => logs_along(p, weights, alpha, rows),
        DiagonalFunction::Square => squares_along(p, weights, alpha, rows),
    }
}

/// Returns the line point of a block (see [`line_point`]) from the diagonals of D, followed by
/// those of `cross` and of `square`.
pub fn line_point_of_diagonals(
    function: DiagonalFunction,
    p: usize,
    diagonals: &[f64],
    weights: &[f64],
    alpha: f64,
) -> LinePoint {
    let lanes = weights.len();
    assert_eq!(diagonals.len(), 3 * p * lanes);
    let row = |k: usize, a: usize, at: usize| group(diagonals, (k * p + a) * lanes + at);
    let rows = |a, at| [row(0, a, at), row(1, a, at), row(2, a, at)];
    match function {
        DiagonalFunction::Log => logs_along(p, weights, alpha, rows),
        DiagonalFunction::Square => squares_along(p, weights, alpha, rows),
    }
}

/// Sums of the squares of quadratics in α. `rows(a, at)` returns their three coefficients for a
/// group of matrices.
#[inline(always)]
fn squares_along<'a, R: Real>(
    p: usize,
    weights: &[f64],
    alpha: f64,
    rows: impl Fn(usize, usize) -> [&'a [R; LANES]; 3],
) -> LinePoint {
    let lanes = weights.len();
    assert_eq!(lanes % LANES, 0);
    let mut sums = [[0.0; LANES]; 3];
    dispatch(
        #[inline(always)]
        || {
            for at in (0..lanes).step_by(LANES) {
                let w = group(weights, at);
                for a in 0..p {
                    let [d, c, s] = rows(a, at);
                    for l in 0..LANES {
                        let (d, c, s) = (d[l].widened(), c[l].widened(), s[l].widened());
                        let x = d + alpha * (c + alpha * s);
                        let slope = c + 2.0 * alpha * s;
                        sums[0][l] += w[l] * x * x;
                        sums[1][l] += w[l] * 2.0 * x * slope;
                        sums[2][l] += w[l] * (2.0 * slope * slope + 4.0 * x * s);
                    }
                }
            }
        },
    );
    let [sum, first, second] = sums.map(|s| s.iter().sum());
    LinePoint { sum, first, second }
}

/// Sums of the logarithms of quadratics in α. `rows(a, at)` returns their three coefficients for a
/// group of matrices.
#[inline(always)]
fn logs_along<'a, R: Real>(
    p: usize,
    weights: &[f64],
    alpha: f64,
    rows: impl Fn(usize, usize) -> [&'a [R; LANES]; 3],
) -> LinePoint {
    let lanes = weights.len();
    assert_eq!(lanes % LANES, 0);
    let mut sums = LinePoint::default();
    dispatch(
        #[inline(always)]
        || {
            // Groups of equal weights share their logarithms.
            let mut logs = LogSums::new();
            let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
            for at in (0..lanes).step_by(LANES) {
                for a in 0..p {
                    let [d, c, s] = rows(a, at);
                    let mut power = [0.0; LANES];
                    for l in 0..LANES {
                        let (d, c, s) = (d[l].widened(), c[l].widened(), s[l].widened());
                        power[l] = d + alpha * (c + alpha * s);
                        let inverse = 1.0 / power[l];
                        let ratio = (c + 2.0 * alpha * s) * inverse;
                        first[l] += ratio;
                        second[l] += 2.0 * s * inverse - ratio * ratio;
                    }
                    logs.push(&power);
                }
                let w = group(weights, at);
                if at + LANES < lanes && w == group(weights, at + LANES) {
                    continue;
                }
                sums.sum += logs.finish_weighted(w);
                for l in 0..LANES {
                    sums.first += w[l] * first[l];
                    sums.second += w[l] * second[l];
                }
                logs = LogSums::new();
                (first, second) = ([0.0; LANES], [0.0; LANES]);
            }
        },
    );
    sums
}

/// Applies a step and its normalization: D ← S (D + α·cross + α²·square) S with S = diag(`scale`).
pub fn advance<R: Real>(
    block: &mut [R],
    cross: &[R],
    square: &[R],
    lanes: usize,
    alpha: f64,
    scale: &[f64],
) {
    let planes = planes(block, scale.len(), lanes);
    assert_eq!((cross.len(), square.len()), (block.len(), block.len()));
    let alpha = R::rounded(alpha);
    dispatch(
        #[inline(always)]
        || {
            let mut rows = block
                .chunks_exact_mut(lanes)
                .zip(cross.chunks_exact(lanes).zip(square.chunks_exact(lanes)));
            for _ in 0..planes {
                for a in 0..scale.len() {
                    for b in 0..=a {
                        let factor = R::rounded(scale[a] * scale[b]);
                        let (d, (c, s)) = rows.next().expect("one row per entry");
                        for ((d, c), s) in d.iter_mut().zip(c).zip(s) {
                            *d = factor * (*d + alpha * (*c + alpha * *s));
                        }
                    }
                }
            }
        },
    );
}
