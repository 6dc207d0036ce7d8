//! How far a step may go: no entry of E beyond a fifth, where the loss is no longer quadratic.
//!
//! A few entries want to go much farther than the others, those between components that can hardly be told apart. If all of E were
//! made shorter for their sake, the others would not get anywhere. So a step ends where the first entry meets its bound, the entries that
//! are close to theirs are held there, and the others go on without them.

use crate::linalg::{self, Matrix, Scalar, kernels};

/// The largest entry of a step; of complex ones, the largest real or imaginary part.
const LARGEST: f64 = 0.2;
/// Beyond this share of it an entry is held. (A search for its very end would take an iteration for each of them.)
const CLOSE: f64 = 0.5;

/// The entries of E that are held where they are.
#[derive(Default)]
pub(super) struct Bounds {
    /// 0 for entries that are held, 1 for others; empty as long as none is.
    free: Vec<f64>,
}

impl Bounds {
    /// How far E may go along Q, if that is not as far as `step`.
    pub fn room<T: Scalar>(e: &Matrix<T>, q: &Matrix<T>, step: f64) -> Option<f64> {
        let (e, q) = (linalg::reals(e.as_slice()), linalg::reals(q.as_slice()));
        let mut room = None;
        kernels::dispatch(
            #[inline(always)]
            || {
                // Few steps go so far that it takes divisions to tell how far they may. What does not move is where it may be.
                let moves = |q: f64, of: f64| if q == 0.0 { f64::INFINITY } else { of };
                let farthest = -least(e, q, |e, q| moves(q, -(e + step * q).abs()));
                if farthest > LARGEST {
                    let own = |e: f64, q: f64| moves(q, (LARGEST.copysign(q) - e) / q);
                    room = Some(least(e, q, own).min(step).max(0.0));
                }
            },
        );
        room
    }

    /// Holds all entries that are close to their bounds, each with the one across the diagonal, to which it is coupled most; whether
    /// there were any that had not been held before.
    pub fn hold<T: Scalar>(&mut self, e: &Matrix<T>) -> bool {
        let p = e.rows();
        let mut held = false;
        for (a, b) in (0..p).flat_map(|a| (0..p).map(move |b| (a, b))) {
            if e[(a, b)].abs() < CLOSE * LARGEST {
                continue;
            }
            if self.free.is_empty() {
                self.free = vec![1.0; p * p];
            }
            held |= self.free[a * p + b] > 0.0;
            (self.free[a * p + b], self.free[b * p + a]) = (0.0, 0.0);
        }
        held
    }

    /// Sets what belongs to entries that are held to zero.
    pub fn clear_held<T: Scalar>(&self, x: &mut Matrix<T>) {
        let entries = x.as_mut_slice().iter_mut().zip(&self.free);
        entries.for_each(|(x, free)| *x = *x * *free);
    }
}

/// The least of a function of pairs; those for which it is not a number do not count.
#[inline(always)]
fn least(x: &[f64], y: &[f64], of: impl Fn(f64, f64) -> f64) -> f64 {
    // As many at a time as the widest vectors hold.
    const LANES: usize = 8;
    let lower = |own: f64, least: f64| if own < least { own } else { least };
    let mut all = [f64::INFINITY; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest = xs.remainder().iter().zip(ys.remainder());
    let rest = rest.fold(f64::INFINITY, |least, (x, y)| lower(of(*x, *y), least));
    for (x, y) in xs.zip(ys) {
        for lane in 0..LANES {
            all[lane] = lower(of(x[lane], y[lane]), all[lane]);
        }
    }
    all.into_iter().fold(rest, |least, own| lower(own, least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    #[test]
    fn a_step_ends_at_the_first_bound() {
        let e = Matrix::from_rows(2, 2, vec![0.0, 0.1, -0.15, 0.0]);
        let q = Matrix::from_rows(2, 2, vec![0.0, 1.0, -2.0, -0.0]);
        assert_eq!(Bounds::room(&e, &q, 0.02), None);
        let room = Bounds::room(&e, &q, 1.0).unwrap();
        assert!((room - 0.025).abs() < 1e-15);
        // Where an entry is at its bound there is no room, unless it does not move.
        let at = Matrix::from_rows(2, 2, vec![0.0, LARGEST, 0.0, 0.3]);
        assert_eq!(Bounds::room(&at, &q, 1.0), Some(0.0));
        let other = Matrix::from_rows(2, 2, vec![0.0, 0.0, 1.0, 0.0]);
        assert_eq!(Bounds::room(&at, &other, 1.0), Some(LARGEST));
        assert_eq!(Bounds::room(&at, &other, 0.1), None);
        // Of complex entries either part counts.
        let e = Matrix::<Complex<f64>>::zeros(1, 1);
        let q = Matrix::from_rows(1, 1, vec![Complex::new(1.0, -4.0)]);
        let room = Bounds::room(&e, &q, 1.0).unwrap();
        assert!((room - LARGEST / 4.0).abs() < 1e-15);
    }

    #[test]
    fn entries_are_held_in_pairs_and_once() {
        let mut bounds = Bounds::default();
        let mut e = Matrix::zeros(3, 3);
        assert!(!bounds.hold(&e) && bounds.free.is_empty());
        e[(2, 0)] = -0.9 * LARGEST;
        e[(1, 2)] = 0.4 * LARGEST;
        assert!(bounds.hold(&e) && !bounds.hold(&e));
        let mut x = Matrix::from_fn(3, 3, |_, _| 7.0);
        bounds.clear_held(&mut x);
        for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
            let held = (a, b) == (2, 0) || (a, b) == (0, 2);
            assert_eq!(x[(a, b)], if held { 0.0 } else { 7.0 });
        }
    }
}
