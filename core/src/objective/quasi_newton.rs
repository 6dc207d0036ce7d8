//! The quasi-Newton direction. The approximate Hessian is block diagonal: it has one 2×2 block
//! \[\[Γ_ab, 1\], \[1, Γ_ba\]\] per pair, which acts on E_ab and the conjugate of E_ba.

use crate::backend::Statistics;
use crate::data::Criterion;
use crate::linalg::{Matrix, Scalar};

/// Returns −H̃⁻¹ G (equation 8 of Ablin, Cardoso & Gramfort 2019), with determinants Γ_ab Γ_ba − 1
/// of at least `floor`.
pub(crate) fn direction<T: Scalar>(statistics: &Statistics<T>, floor: f64) -> Matrix<T> {
    let Statistics { gradient, gamma } = statistics;
    let p = gradient.rows();
    let mut e = Matrix::zeros(p, p);
    for (a, b) in (0..p).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let (gamma_ab, gamma_ba) = (gamma[(a, b)], gamma[(b, a)]);
        let (ab, ba) = (gradient[(a, b)], gradient[(b, a)]);
        let determinant = (gamma_ab * gamma_ba - 1.0).max(floor);
        e[(a, b)] = -(ab * gamma_ba - ba.conj()) / determinant;
        e[(b, a)] = -(ba * gamma_ab - ab.conj()) / determinant;
    }
    e
}

/// Returns the quasi-Newton direction over rotations: the antihermitian E with entries
/// −(G_ab − conj G_ba) / (Γ_ab + Γ_ba − Γ_aa − Γ_bb).
pub(crate) fn rotation<T: Scalar>(
    criterion: Criterion,
    statistics: &Statistics<T>,
    floor: f64,
) -> Matrix<T> {
    let Statistics { gradient, gamma } = statistics;
    let p = gradient.rows();
    Matrix::from_fn(p, p, |a, b| {
        let curvature = criterion.rotation_curvature(gamma, a, b);
        let floor = criterion.curvature_floor(floor, gamma, a, b);
        -(gradient[(a, b)] - gradient[(b, a)].conj()) / curvature.max(floor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg;

    fn statistics() -> Statistics {
        Statistics {
            gradient: Matrix::from_rows(2, 2, vec![0.0, 0.3, -0.2, 0.0]),
            gamma: Matrix::from_rows(2, 2, vec![1.0, 2.0, 1.5, 1.0]),
        }
    }

    #[test]
    fn direction_solves_each_two_by_two_block() {
        let s = statistics();
        let e = direction(&s, 1e-4);
        let block = Matrix::from_rows(2, 2, vec![2.0, 1.0, 1.0, 1.5]);
        let inverse = linalg::inverse(&block);
        let expected = [
            -(inverse[(0, 0)] * 0.3 + inverse[(0, 1)] * -0.2),
            -(inverse[(1, 0)] * 0.3 + inverse[(1, 1)] * -0.2),
        ];
        assert!((e[(0, 1)] - expected[0]).abs() < 1e-15);
        assert!((e[(1, 0)] - expected[1]).abs() < 1e-15);
    }

    #[test]
    fn singular_block_gives_a_finite_descent_direction() {
        let mut s = statistics();
        s.gamma = Matrix::from_rows(2, 2, vec![1.0, 1.0, 1.0, 1.0]);
        let e = direction(&s, 1e-4);
        assert!(e.is_finite() && e.dot(&s.gradient) < 0.0);
    }

    #[test]
    fn rotation_is_an_antisymmetric_descent_direction() {
        let s = statistics();
        let e = rotation(Criterion::Likelihood, &s, 1e-4);
        assert_eq!(e[(0, 1)], -e[(1, 0)]);
        assert!(e.dot(&s.rotation_gradient()) < 0.0);
    }
}
