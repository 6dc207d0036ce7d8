//! Kuiper's test for a uniform distribution of phases.
//!
//! At the heartbeats of a reference channel, a source of the heart always has the same phase, and
//! other sources have uniformly distributed phases (Dammers et al. 2008). Kuiper's statistic
//! V = D⁺ + D⁻ is the sum of the largest deviations of the distribution function above and below
//! that of the uniform distribution. Unlike the Kolmogorov–Smirnov statistic, it does not depend on
//! the origin of the circle.

/// Returns the statistic V of phases in [0, 1), in units of a full circle. Sorts the phases.
pub fn statistic(phases: &mut [f64]) -> f64 {
    phases.sort_by(f64::total_cmp);
    let n = phases.len() as f64;
    let (mut above, mut below) = (0.0_f64, 0.0_f64);
    for (k, phase) in phases.iter().enumerate() {
        above = above.max((k + 1) as f64 / n - phase);
        below = below.max(phase - k as f64 / n);
    }
    above + below
}

/// Returns the probability that the statistic of n uniform phases is at least v (Stephens 1970).
fn exceedance(v: f64, n: usize) -> f64 {
    let root = (n as f64).sqrt();
    let lambda = (root + 0.155 + 0.24 / root) * v;
    if lambda < 0.4 {
        return 1.0;
    }
    let term = |j: f64| {
        let square = (j * lambda).powi(2);
        2.0 * (4.0 * square - 1.0) * (-2.0 * square).exp()
    };
    (1..=50)
        .map(|j| term(f64::from(j)))
        .sum::<f64>()
        .clamp(0.0, 1.0)
}

/// Returns the value that the statistic of n uniform phases exceeds with the given probability.
pub fn critical_value(probability: f64, n: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if exceedance(middle, n) > probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistic_is_invariant_to_the_origin_of_the_circle() {
        let phases = [0.1, 0.15, 0.2, 0.25, 0.4, 0.9];
        let shifted = |by: f64| statistic(&mut phases.map(|x| (x + by) % 1.0));
        for by in [0.05, 0.3, 0.77] {
            assert!((shifted(by) - shifted(0.0)).abs() < 1e-12);
        }
        assert!((statistic(&mut [0.5; 10]) - 1.0).abs() < 1e-12);
        let mut even: Vec<f64> = (0..100).map(|k| f64::from(k) / 100.0).collect();
        assert!(statistic(&mut even) < 0.011);
    }

    /// Uses the probabilities with which V (√n + 0.155 + 0.24/√n) exceeds these values, by Stephens
    /// (1970).
    #[test]
    fn probabilities_agree_with_published_tables() {
        for (probability, lambda) in [(0.15, 1.537), (0.1, 1.620), (0.05, 1.747), (0.01, 2.001)] {
            for n in [10_usize, 100, 1000] {
                let root = (n as f64).sqrt();
                let v = lambda / (root + 0.155 + 0.24 / root);
                assert!((exceedance(v, n) / probability - 1.0).abs() < 0.01, "{n}");
                assert!(
                    (critical_value(probability, n) / v - 1.0).abs() < 0.01,
                    "{n}"
                );
            }
        }
        assert_eq!(exceedance(0.0, 20), 1.0);
    }
}
