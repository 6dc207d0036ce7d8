//! What the pair by pair methods need of a block for one pair of components.

use super::{LANES, dispatch};
use crate::criterion::Criterion;
use crate::linalg::Triangle;

/// The four sums over the set that decide the transform of the pair (a, b).
///
/// ```
/// use codiag::working::{InMemory, WorkingSet};
/// use codiag::{Matrix, synthetic};
/// let mut set = InMemory::new(&synthetic::noisy(20, 3, 0.1, 0));
/// set.reset(&Matrix::identity(3))?;
/// // They are the entries of gradient and Γ for one pair.
/// let statistics = set.statistics()?;
/// let sums = set.pairs().expect("it is in memory").pair_sums(2, 0);
/// assert!((sums.gradient_ab - statistics.gradient[(2, 0)]).abs() < 1e-12);
/// assert!((sums.gamma_ba / statistics.gamma[(0, 2)] - 1.0).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PairSums {
    /// Σ_i w_i Dⁱ_ab / Dⁱ_aa.
    pub gradient_ab: f64,
    /// Σ_i w_i Dⁱ_ab / Dⁱ_bb.
    pub gradient_ba: f64,
    /// Σ_i w_i Dⁱ_bb / Dⁱ_aa.
    pub gamma_ab: f64,
    /// Σ_i w_i Dⁱ_aa / Dⁱ_bb.
    pub gamma_ba: f64,
}

impl std::ops::AddAssign for PairSums {
    fn add_assign(&mut self, other: Self) {
        self.gradient_ab += other.gradient_ab;
        self.gradient_ba += other.gradient_ba;
        self.gamma_ab += other.gamma_ab;
        self.gamma_ba += other.gamma_ba;
    }
}

/// The block's share of the sums for the pair (a, b).
pub fn pair_sums(
    criterion: Criterion,
    p: usize,
    block: &[f64],
    weights: &[f64],
    pair: (usize, usize),
) -> PairSums {
    let [gradient_ab, gradient_ba, gamma_ab, gamma_ba] = sums_of_pair(
        p,
        block,
        weights,
        pair,
        #[inline(always)]
        |w, aa, bb, ab| {
            let by_a = criterion.first_weight(w, aa);
            let by_b = criterion.first_weight(w, bb);
            [ab * by_a, ab * by_b, bb * by_a, aa * by_b]
        },
    );
    PairSums {
        gradient_ab,
        gradient_ba,
        gamma_ab,
        gamma_ba,
    }
}

/// The two sums over the set that decide the Jacobi rotation of the pair (a, b), with
/// h = Dⁱ_aa − Dⁱ_bb and g = 2Dⁱ_ab.
///
/// ```
/// use codiag::working::{InMemory, PairStep, WorkingSet};
/// use codiag::{Matrix, MatrixSet};
/// let set = MatrixSet::new(&[2.0, 1.0, 1.0, 2.0], 1, 2)?;
/// let mut working = InMemory::new(&set);
/// working.reset(&Matrix::identity(2))?;
/// let pairs = working.pairs().expect("it is in memory");
/// let sums = pairs.rotation_sums(1, 0);
/// // The angle that makes the sum of the squares off the diagonal smallest.
/// let angle = 0.25 * sums.off.atan2(sums.on);
/// pairs.apply(1, 0, PairStep::Rotation { cosine: angle.cos(), sine: angle.sin() });
/// assert!(working.mean()?[(1, 0)].abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct RotationSums {
    /// Σ_i w_i (h² − g²).
    pub on: f64,
    /// Σ_i w_i 2hg.
    pub off: f64,
}

impl std::ops::AddAssign for RotationSums {
    fn add_assign(&mut self, other: Self) {
        self.on += other.on;
        self.off += other.off;
    }
}

/// The block's share of the sums for a rotation of the pair (a, b).
pub fn rotation_sums(
    p: usize,
    block: &[f64],
    weights: &[f64],
    pair: (usize, usize),
) -> RotationSums {
    let [on, off] = sums_of_pair(
        p,
        block,
        weights,
        pair,
        #[inline(always)]
        |w, aa, bb, ab| {
            let (h, g) = (aa - bb, 2.0 * ab);
            [w * (h * h - g * g), w * (2.0 * h * g)]
        },
    );
    RotationSums { on, off }
}

/// Sums over a block what `terms` makes of w_i, Dⁱ_aa, Dⁱ_bb and Dⁱ_ab.
#[inline(always)]
fn sums_of_pair<const N: usize>(
    p: usize,
    block: &[f64],
    weights: &[f64],
    (a, b): (usize, usize),
    terms: impl Fn(f64, f64, f64, f64) -> [f64; N],
) -> [f64; N] {
    let (lanes, triangle) = (weights.len(), Triangle::new(p));
    assert_eq!(lanes % LANES, 0);
    let row = |a, b| &block[triangle.index(a, b) * lanes..][..lanes];
    let (aa, bb, ab) = (row(a, a), row(b, b), row(a, b));
    let mut sums = [[0.0; LANES]; N];
    dispatch(
        #[inline(always)]
        || {
            for at in (0..lanes).step_by(LANES) {
                let (aa, bb) = (&aa[at..at + LANES], &bb[at..at + LANES]);
                let (ab, w) = (&ab[at..at + LANES], &weights[at..at + LANES]);
                for l in 0..LANES {
                    let terms = terms(w[l], aa[l], bb[l], ab[l]);
                    for k in 0..N {
                        sums[k][l] += terms[k];
                    }
                }
            }
        },
    );
    sums.map(|s| s.iter().sum())
}

/// Applies rows (a, b) ← (a + e_ab·b, b + e_ba·a) on both sides of every matrix of the block.
pub fn shear_pair(
    p: usize,
    block: &mut [f64],
    lanes: usize,
    pair: (usize, usize),
    (e_ab, e_ba): (f64, f64),
) {
    dispatch(
        #[inline(always)]
        || apply(p, block, lanes, pair, |x, y| (x + e_ab * y, y + e_ba * x)),
    );
}

/// Applies the rotation of rows (a, b) ← (c·a + s·b, c·b − s·a) on both sides of every matrix of the
/// block.
pub fn rotate_pair(
    p: usize,
    block: &mut [f64],
    lanes: usize,
    pair: (usize, usize),
    (c, s): (f64, f64),
) {
    dispatch(
        #[inline(always)]
        || apply(p, block, lanes, pair, |x, y| (c * x + s * y, c * y - s * x)),
    );
}

/// Applies the 2×2 map `m` to rows a > b, and to columns a and b.
#[inline(always)]
fn apply(
    p: usize,
    block: &mut [f64],
    lanes: usize,
    (a, b): (usize, usize),
    m: impl Fn(f64, f64) -> (f64, f64),
) {
    let triangle = Triangle::new(p);
    assert_eq!(block.len(), triangle.len() * lanes);
    assert!(b < a && a < p);
    // Entries (b, c) come before entries (a, c), since b < a, and up to column b they lie together.
    let place = |c: usize| (triangle.index(b, c) * lanes, triangle.index(a, c) * lanes);
    map_pairs(block, place(0), b * lanes, &m);
    for c in (b + 1..a).chain(a + 1..p) {
        map_pairs(block, place(c), lanes, &m);
    }
    // The 2×2 corner [[aa, ab], [ab, bb]] is mapped from the left and from the right.
    let (head, row_aa) = block.split_at_mut(triangle.index(a, a) * lanes);
    let (head, row_ab) = head.split_at_mut(triangle.index(a, b) * lanes);
    let row_bb = &mut head[triangle.index(b, b) * lanes..][..lanes];
    let corner = row_aa[..lanes].iter_mut().zip(&mut row_ab[..lanes]);
    for ((aa, ab), bb) in corner.zip(row_bb) {
        let (left_a, right_a) = m(*aa, *ab);
        let (left_b, right_b) = m(*ab, *bb);
        (*aa, *ab) = m(left_a, left_b);
        *bb = m(right_a, right_b).1;
    }
}

/// Applies `m` to each of `len` numbers from the second place on and its fellow from the first on.
#[inline(always)]
fn map_pairs(
    block: &mut [f64],
    (first, second): (usize, usize),
    len: usize,
    m: &impl Fn(f64, f64) -> (f64, f64),
) {
    let (head, tail) = block.split_at_mut(second);
    for (x, y) in tail[..len].iter_mut().zip(&mut head[first..][..len]) {
        (*x, *y) = m(*x, *y);
    }
}
