//! Products and decompositions of matrices so small that preparing the call of a library would take longer.

use super::kernels::LANES;
use super::{Matrix, Scalar, Triangle, gauss_jordan};

/// Up to this size plain loops are faster.
pub const FACTORS: usize = 12;

/// Rows up to this width have loops of their own, whose rows stay in registers.
pub const WIDEST: usize = 8;

/// Calls a function that is compiled for each width up to [`WIDEST`].
macro_rules! of_width {
    ($width:expr, $function:ident($($argument:expr),*)) => {
        match $width {
            1 => $function::<T, 1>($($argument),*),
            2 => $function::<T, 2>($($argument),*),
            3 => $function::<T, 3>($($argument),*),
            4 => $function::<T, 4>($($argument),*),
            5 => $function::<T, 5>($($argument),*),
            6 => $function::<T, 6>($($argument),*),
            7 => $function::<T, 7>($($argument),*),
            8 => $function::<T, 8>($($argument),*),
            width => unreachable!("rows of {width} numbers"),
        }
    };
}
pub(super) use of_width;

/// out += `left` · `right`, whose rows are at most [`WIDEST`] wide.
pub fn add_product<T: Scalar>(out: &mut Matrix<T>, left: &Matrix<T>, right: &Matrix<T>) {
    let (width, inner) = (out.columns(), left.columns());
    if width == 0 || inner == 0 {
        return;
    }
    let (out, left, right) = (out.as_mut_slice(), left.as_slice(), right.as_slice());
    of_width!(width, add_rows(out, left, right, inner));
}

fn add_rows<T: Scalar, const W: usize>(out: &mut [T], left: &[T], right: &[T], inner: usize) {
    let (out, right) = (out.as_chunks_mut::<W>().0, right.as_chunks::<W>().0);
    for (sums, factors) in out.iter_mut().zip(left.chunks_exact(inner)) {
        let mut total = *sums;
        for (factor, row) in factors.iter().zip(right) {
            for k in 0..W {
                total[k] += *factor * row[k];
            }
        }
        *sums = total;
    }
}

/// Rows M^a e_a of at most [`LANES`] real row blocks of the Hessian, as one group of them is laid out, the transpose of E and of the
/// result being given and written: to lay out operands for the kernel would take longer.
pub fn multiply_row_blocks(p: usize, rows: &[[f64; LANES]], e: &[f64], out: &mut [f64]) {
    if p <= LANES / 2 {
        multiply_narrow::<{ LANES / 2 }>(p, rows, e, out);
    } else {
        multiply_narrow::<LANES>(p, rows, e, out);
    }
}

/// The same for p ≤ L.
fn multiply_narrow<const L: usize>(p: usize, rows: &[[f64; LANES]], e: &[f64], out: &mut [f64]) {
    assert!(p <= L && L <= LANES);
    // Number (b, a) is e_ab, and Σ_c M^a_bc e_ac likewise.
    let (mut operand, mut result) = ([[0.0; L]; L], [[0.0; L]; L]);
    for (row, numbers) in operand.iter_mut().zip(e.chunks_exact(p)) {
        row.iter_mut()
            .zip(numbers)
            .for_each(|(place, x)| *place = *x);
    }
    for (m, (b, c)) in rows.iter().zip(Triangle::new(p).pairs()) {
        let (x, y) = (operand[b], operand[c]);
        for l in 0..L {
            result[b][l] += m[l] * y[l];
        }
        if b != c {
            for l in 0..L {
                result[c][l] += m[l] * x[l];
            }
        }
    }
    for (row, places) in result.iter().zip(out.chunks_exact_mut(p)) {
        places
            .iter_mut()
            .zip(row)
            .for_each(|(place, x)| *place = *x);
    }
}

/// The lower Cholesky factor, or None if `m` is not positive definite.
pub fn cholesky<T: Scalar>(m: &Matrix<T>) -> Option<Matrix<T>> {
    let p = m.rows();
    let mut factor = Matrix::<T>::zeros(p, p);
    for a in 0..p {
        for b in 0..=a {
            let (x, y) = (&factor.row(a)[..b], &factor.row(b)[..b]);
            let known: T = x.iter().zip(y).map(|(x, y)| *x * y.conj()).sum();
            let left = m[(a, b)] - known;
            factor[(a, b)] = if b < a {
                left / factor[(b, b)].real()
            } else if left.real() > 0.0 && left.real().is_finite() {
                T::from_real(left.real().sqrt())
            } else {
                return None;
            };
        }
    }
    Some(factor)
}

/// The inverse; not finite if there is none.
pub fn inverse<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    let (log_det, _, inverse) = gauss_jordan::inverse(m);
    if log_det == f64::NEG_INFINITY {
        return Matrix::from_fn(m.rows(), m.rows(), |_, _| T::from_real(f64::NAN));
    }
    inverse
}

/// Entries below this share of their diagonal entries' geometric mean are zero to rounding, so that small eigenvalues
/// beside large ones keep their digits.
const NOTHING: f64 = f64::EPSILON / 4.0;
/// Sweeps at most; after the first few, each squares what is left.
const SWEEPS: usize = 20;

/// The eigenvalues of a real symmetric matrix of at most [`WIDEST`] rows, whose lower triangle is read, in ascending order,
/// and the eigenvectors as rows. None if its entries are not finite.
pub fn symmetric_eigen<T: Scalar>(m: &Matrix<T>) -> Option<(Vec<f64>, Matrix<T>)> {
    let p = m.rows();
    match p {
        _ if !m.is_finite() => None,
        0 => Some((Vec::new(), Matrix::zeros(0, 0))),
        _ => Some(of_width!(p, rotate(m))),
    }
}

/// The same by Jacobi's rotations, each of which makes one entry zero.
fn rotate<T: Scalar, const P: usize>(m: &Matrix<T>) -> (Vec<f64>, Matrix<T>) {
    let entries = m.as_slice().iter().map(|x| x.real().abs());
    let largest = entries.fold(f64::MIN_POSITIVE, f64::max);
    let (mut left, mut vectors) = ([[0.0; P]; P], [[0.0; P]; P]);
    for a in 0..P {
        // In units in which squares neither overflow nor vanish.
        (0..P).for_each(|b| left[a][b] = m[(a.max(b), a.min(b))].real() / largest);
        vectors[a][a] = 1.0;
    }
    for _ in 0..SWEEPS {
        let mut done = true;
        for (a, b) in (1..P).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let (x, y, off) = (left[a][a], left[b][b], left[a][b]);
            if off * off <= NOTHING * NOTHING * (x * y).abs() {
                continue;
            }
            done = false;
            // The smaller of the two angles.
            let (difference, twice) = (x - y, 2.0 * off);
            let radius = (difference * difference + twice * twice).sqrt();
            let tangent = twice / (difference.abs() + radius) * difference.signum();
            let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
            let sine = tangent * cosine;
            let turned = |x: f64, y: f64| (x * cosine + y * sine, y * cosine - x * sine);
            for rows in [&mut left, &mut vectors] {
                let (x, y) = (rows[a], rows[b]);
                for k in 0..P {
                    (rows[a][k], rows[b][k]) = turned(x[k], y[k]);
                }
            }
            for row in &mut left {
                (row[a], row[b]) = turned(row[a], row[b]);
            }
            (left[a][b], left[b][a]) = (0.0, 0.0);
        }
        if done {
            break;
        }
    }
    let mut order: [usize; P] = std::array::from_fn(|a| a);
    order.sort_by(|a, b| left[*a][*a].total_cmp(&left[*b][*b]));
    (
        order.iter().map(|a| left[*a][*a] * largest).collect(),
        Matrix::from_fn(P, P, |a, b| T::from_real(vectors[order[a]][b])),
    )
}
