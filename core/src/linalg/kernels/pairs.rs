//! What Pham's algorithm needs of a block for one pair of components.

use pulp::Arch;

use super::{LANES, packed, packed_len};

/// The four sums over the set that decide the transform of the pair (a, b).
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
pub fn pair_sums(block: &[f64], weights: &[f64], a: usize, b: usize) -> PairSums {
    let lanes = weights.len();
    assert_eq!(lanes % LANES, 0);
    let row = |a, b| &block[packed(a, b) * lanes..][..lanes];
    let (aa, bb, ab) = (row(a, a), row(b, b), row(a, b));
    let mut sums = [[0.0; LANES]; 4];
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for at in (0..lanes).step_by(LANES) {
                let (aa, bb) = (&aa[at..at + LANES], &bb[at..at + LANES]);
                let (ab, w) = (&ab[at..at + LANES], &weights[at..at + LANES]);
                for l in 0..LANES {
                    let (by_a, by_b) = (w[l] / aa[l], w[l] / bb[l]);
                    sums[0][l] += ab[l] * by_a;
                    sums[1][l] += ab[l] * by_b;
                    sums[2][l] += bb[l] * by_a;
                    sums[3][l] += aa[l] * by_b;
                }
            }
        },
    );
    let [gradient_ab, gradient_ba, gamma_ab, gamma_ba] = sums.map(|s| s.iter().sum());
    PairSums {
        gradient_ab,
        gradient_ba,
        gamma_ab,
        gamma_ba,
    }
}

/// Applies rows (a, b) ← (a + e_ab·b, b + e_ba·a) on both sides of every matrix of the block.
pub fn rotate_pair(
    p: usize,
    block: &mut [f64],
    lanes: usize,
    (a, b): (usize, usize),
    (e_ab, e_ba): (f64, f64),
) {
    assert_eq!(block.len(), packed_len(p) * lanes);
    assert!(b < a && a < p);
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut pair = |first: usize, second: usize| {
                let (head, tail) = block.split_at_mut(second.max(first) * lanes);
                let low = &mut head[second.min(first) * lanes..][..lanes];
                let high = &mut tail[..lanes];
                let (first, second) = if first < second {
                    (low, high)
                } else {
                    (high, low)
                };
                for (x, y) in first.iter_mut().zip(second.iter_mut()) {
                    let (old_x, old_y) = (*x, *y);
                    *x = old_x + e_ab * old_y;
                    *y = old_y + e_ba * old_x;
                }
            };
            for c in 0..p {
                if c != a && c != b {
                    pair(packed(a, c), packed(b, c));
                }
            }
            // The 2×2 corner, whose three rows change together.
            let (head, row_aa) = block.split_at_mut(packed(a, a) * lanes);
            let (head, row_ab) = head.split_at_mut(packed(a, b) * lanes);
            let row_bb = &mut head[packed(b, b) * lanes..][..lanes];
            for ((aa, ab), bb) in row_aa[..lanes]
                .iter_mut()
                .zip(&mut row_ab[..lanes])
                .zip(row_bb)
            {
                let (x, y, z) = (*aa, *ab, *bb);
                *aa = x + e_ab * (2.0 * y + e_ab * z);
                *bb = z + e_ba * (2.0 * y + e_ba * x);
                *ab = y + e_ba * x + e_ab * (z + e_ba * y);
            }
        },
    );
}
