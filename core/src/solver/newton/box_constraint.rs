//! A box constraint on the entries of a step, solved by an active-set strategy.
//!
//! Beyond the bound the quadratic model is inaccurate. The entries between components that are hard
//! to separate tend to be much larger than the others, and scaling the whole step to the bound
//! would make the others negligible. Instead, conjugate gradients stop where the first entry meets
//! its bound, entries close to their bounds become active (fixed), and the minimization continues
//! over the free entries.

use crate::linalg::kernels;
use crate::tuning::TUNING;

/// The active set of the box constraint.
pub(super) struct BoxConstraint {
    p: usize,
    /// Real numbers per entry: 1 for real and 2 for complex entries.
    parts: usize,
    /// 0 for the numbers of active entries and 1 for others; empty while no entry is active.
    free: Vec<f64>,
}

impl BoxConstraint {
    pub fn new(p: usize, parts: usize) -> Self {
        let free = Vec::new();
        Self { p, parts, free }
    }

    /// Returns the largest feasible step from x along q if it is less than `step`, otherwise None.
    pub fn max_step(x: &[f64], q: &[f64], step: f64) -> Option<f64> {
        let bound = TUNING.max_entry;
        let mut max_step = None;
        kernels::dispatch(
            #[inline(always)]
            || {
                // Test the full step first; divide only if a bound is violated. Ignore q = 0.
                let if_moving = |q: f64, value: f64| if q == 0.0 { f64::INFINITY } else { value };
                let farthest = -min_over_pairs(x, q, |x, q| if_moving(q, -(x + step * q).abs()));
                if farthest > bound {
                    let distance = |x: f64, q: f64| if_moving(q, (bound.copysign(q) - x) / q);
                    max_step = Some(min_over_pairs(x, q, distance).min(step).max(0.0));
                }
            },
        );
        max_step
    }

    /// Activates all entries close to their bounds, each together with the transposed entry, to
    /// which it is most strongly coupled. Returns whether an entry was activated that had been
    /// free.
    pub fn activate(&mut self, x: &[f64]) -> bool {
        let (p, parts) = (self.p, self.parts);
        let mut any = false;
        for (entry, numbers) in x.chunks_exact(parts).enumerate() {
            let squared: f64 = numbers.iter().map(|x| x * x).sum();
            if squared.sqrt() < TUNING.active_fraction * TUNING.max_entry {
                continue;
            }
            if self.free.is_empty() {
                self.free = vec![1.0; x.len()];
            }
            any |= self.free[entry * parts] > 0.0;
            for entry in [entry, entry % p * p + entry / p] {
                self.free[entry * parts..(entry + 1) * parts].fill(0.0);
            }
        }
        any
    }

    /// Sets the numbers of active entries to zero.
    pub fn clear_active(&self, x: &mut [f64]) {
        let numbers = x.iter_mut().zip(&self.free);
        numbers.for_each(|(x, free)| *x *= free);
    }
}

/// Returns the smallest value of a function over pairs of entries; NaN is ignored.
#[inline(always)]
fn min_over_pairs(x: &[f64], y: &[f64], function: impl Fn(f64, f64) -> f64) -> f64 {
    // The width of the widest SIMD vectors.
    const LANES: usize = 8;
    let lower = |value: f64, min: f64| if value < min { value } else { min };
    let mut minima = [f64::INFINITY; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest = xs.remainder().iter().zip(ys.remainder());
    let rest = rest.fold(f64::INFINITY, |min, (x, y)| lower(function(*x, *y), min));
    for (x, y) in xs.zip(ys) {
        for lane in 0..LANES {
            minima[lane] = lower(function(x[lane], y[lane]), minima[lane]);
        }
    }
    minima
        .into_iter()
        .fold(rest, |min, value| lower(value, min))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_ends_at_the_first_bound() {
        let bound = TUNING.max_entry;
        let (x, q) = ([0.0, 0.1, -0.15, 0.0], [0.0, 1.0, -2.0, -0.0]);
        assert_eq!(BoxConstraint::max_step(&x, &q, 0.02), None);
        let step = BoxConstraint::max_step(&x, &q, 1.0).unwrap();
        assert!((step - 0.025).abs() < 1e-15);
        // An entry at its bound allows no step, unless it does not move.
        let at = [0.0, bound, 0.0, 0.3];
        assert_eq!(BoxConstraint::max_step(&at, &q, 1.0), Some(0.0));
        let other = [0.0, 0.0, 1.0, 0.0];
        assert_eq!(BoxConstraint::max_step(&at, &other, 1.0), Some(bound));
        assert_eq!(BoxConstraint::max_step(&at, &other, 0.1), None);
    }

    #[test]
    fn entries_are_activated_once_with_their_transposes() {
        for parts in [1, 2] {
            let mut bounds = BoxConstraint::new(3, parts);
            let mut x = vec![0.0; 9 * parts];
            assert!(!bounds.activate(&x) && bounds.free.is_empty());
            x[6 * parts] = -0.9 * TUNING.max_entry;
            x[5 * parts] = 0.4 * TUNING.max_entry;
            assert!(bounds.activate(&x) && !bounds.activate(&x));
            let mut y = vec![7.0; 9 * parts];
            bounds.clear_active(&mut y);
            for (entry, numbers) in y.chunks_exact(parts).enumerate() {
                let expected = if [2, 6].contains(&entry) { 0.0 } else { 7.0 };
                assert!(numbers.iter().all(|x| *x == expected));
            }
        }
    }
}
