//! Kuiper's test: whether phases are all alike likely.
//!
//! At the beats of a heart, a source of the heart is always in the same phase, and others in any.
//! Kuiper's statistic V = D⁺ + D⁻ is how far the phases' distribution rises above and falls below the
//! uniform one; unlike that of Kolmogorov & Smirnov it does not depend on where the circle is cut
//! (Dammers et al. 2008 use it in the same way).

/// V for phases in turns, from 0 to below 1, which are sorted on the way.
pub fn kuiper(phases: &mut [f64]) -> f64 {
    phases.sort_by(f64::total_cmp);
    let n = phases.len() as f64;
    let (mut above, mut below) = (0.0_f64, 0.0_f64);
    for (k, phase) in phases.iter().enumerate() {
        above = above.max((k + 1) as f64 / n - phase);
        below = below.max(phase - k as f64 / n);
    }
    above + below
}

/// The probability that V is at least this large by chance, for so many phases (Stephens 1970).
pub fn by_chance(v: f64, n: usize) -> f64 {
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

/// The V that chance exceeds with this probability.
pub fn critical(probability: f64, n: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if by_chance(middle, n) > probability {
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
    fn v_does_not_depend_on_where_the_circle_is_cut() {
        let phases = [0.1, 0.15, 0.2, 0.25, 0.4, 0.9];
        let turned = |by: f64| kuiper(&mut phases.map(|x| (x + by) % 1.0));
        for by in [0.05, 0.3, 0.77] {
            assert!((turned(by) - turned(0.0)).abs() < 1e-12);
        }
        assert!((kuiper(&mut [0.5; 10]) - 1.0).abs() < 1e-12);
        let mut even: Vec<f64> = (0..100).map(|k| f64::from(k) / 100.0).collect();
        assert!(kuiper(&mut even) < 0.011);
    }

    /// The table of Stephens (1970): V (√n + 0.155 + 0.24/√n) exceeds these with these probabilities.
    #[test]
    fn probabilities_are_those_of_the_table() {
        for (probability, lambda) in [(0.15, 1.537), (0.1, 1.620), (0.05, 1.747), (0.01, 2.001)] {
            for n in [10_usize, 100, 1000] {
                let root = (n as f64).sqrt();
                let v = lambda / (root + 0.155 + 0.24 / root);
                assert!((by_chance(v, n) / probability - 1.0).abs() < 0.01, "{n}");
                assert!((critical(probability, n) / v - 1.0).abs() < 0.01, "{n}");
            }
        }
        assert_eq!(by_chance(0.0, 20), 1.0);
    }
}
