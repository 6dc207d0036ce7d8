//! The Newton direction, by conjugate gradients on the exact Hessian.
//!
//! The Hessian looks like a p²×p² matrix, but it is p row blocks M^a and a transposition, so its
//! product with E costs 2p³ flops, whatever n is: conjugate gradients preconditioned by the 2×2
//! blocks of the quasi-Newton method solve H E = −G for almost nothing.
//!
//! The step is taken as exp(E)B rather than (I + E)B. Components that can hardly be told apart may
//! be turned a long way at little cost, and along such turns the valley of the loss is straight for
//! the exponential, but bent for I + E. To second order exp(E) = I + E + E²/2, so the loss gains
//! the term ½⟨G, E²⟩, and the Hessian's product the term ½(G Eᴴ + Eᴴ G), which vanishes with G.

use super::bounds::Bounds;
use crate::Error;
use crate::criterion::Criterion;
use crate::linalg::{self, Matrix, Scalar};
use crate::statistics::Statistics;

/// Eigenvalues of 2×2 blocks are lifted to this share of the other one.
const FLOOR: f64 = 0.01;
/// Once entries are held at their bounds, one in so many of the iterations will do: the others are to come along, no more.
const FEWER_WHEN_HELD: usize = 3;

/// A direction and how it was found.
pub(crate) struct Direction<T> {
    /// E.
    pub e: Matrix<T>,
    /// The conjugate gradient iterations.
    pub iterations: usize,
    /// ⟨G, E⟩.
    slope: f64,
    /// ⟨E, H E⟩.
    bend: f64,
}

impl<T> Direction<T> {
    /// The change of the loss that the quadratic model predicts for a share of E.
    pub fn predicted_change(&self, share: f64) -> f64 {
        share * (self.slope + 0.5 * share * self.bend)
    }
}

/// What distinguishes steps over all invertible B from steps over rotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// E is any matrix of zero diagonal.
    Linear,
    /// E is antisymmetric; if complex, antihermitian.
    Rotations,
}

impl Group {
    /// The part of X that counts.
    fn project<T: Scalar>(self, x: Matrix<T>) -> Matrix<T> {
        let p = x.rows();
        match self {
            Self::Linear => x,
            Self::Rotations => Matrix::from_fn(p, p, |a, b| (x[(a, b)] - x[(b, a)].conj()) * 0.5),
        }
    }
}

/// How well the Newton system is solved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The residual, in the preconditioner's norm, as a share of the gradient.
    pub forcing: f64,
    /// Conjugate gradient iterations at most.
    pub most: usize,
}

/// Solves H E = −G as well as `effort` says, within [`Bounds`]: where a step meets them, the search begins anew among the entries that
/// are not held. Along a direction of negative curvature a step is as long as if the curvature were positive; if that takes no entry close
/// to its bound, the search ends. `product` multiplies by the Hessian in the chart I + E, and is given and gives adjoints, the layout of its row
/// blocks; so all matrices here but the result are adjoints. If it is `curved`, the Hessian is that of exp(E), with a further term.
pub(crate) fn direction<T: Scalar>(
    criterion: Criterion,
    statistics: &Statistics<T>,
    group: Group,
    effort: Effort,
    curved: bool,
    mut product: impl FnMut(&Matrix<T>) -> Result<Matrix<T>, Error>,
) -> Result<Direction<T>, Error> {
    let gradient = &statistics.gradient.adjoint();
    let p = gradient.rows();
    let mut preconditioner = Preconditioner::new(criterion, &statistics.gamma, group);
    let mut e = Matrix::zeros(p, p);
    let mut residual = group.project(gradient.clone());
    residual.as_mut_slice().iter_mut().for_each(|x| *x = -*x);
    let mut z = Matrix::zeros(p, p);
    preconditioner.solve(&residual, &mut z);
    let mut q = z.clone();
    let mut rz = residual.dot(&z);
    let goal = effort.forcing * effort.forcing * rz;
    // The square of q in the preconditioner's norm.
    let mut length = rz;
    let mut bounds = Bounds::default();
    // The quadratic model at E.
    let mut model = 0.0;
    let (mut iterations, mut most) = (0, effort.most);
    while iterations < most {
        iterations += 1;
        let mut hq = product(&q)?;
        if curved {
            add_curvature(&mut hq, gradient, &q);
        }
        let hq = group.project(hq);
        let bend = q.dot(&hq);
        let negative = bend <= 1e-10 * length;
        let wanted = if negative {
            rz / (-bend).max(0.01 * length)
        } else {
            rz / bend
        };
        let room = Bounds::room(&e, &q, wanted);
        let step = room.unwrap_or(wanted);
        linalg::add_multiple(e.as_mut_slice(), step, q.as_slice());
        model += step * (0.5 * step * bend - rz);
        let anew = negative || room.is_some();
        if anew {
            if !bounds.hold(&e) {
                break;
            }
            most = effort.most / FEWER_WHEN_HELD;
        }
        linalg::add_multiple(residual.as_mut_slice(), -step, hq.as_slice());
        bounds.clear_held(&mut residual);
        preconditioner.solve(&residual, &mut z);
        let old = rz;
        rz = residual.dot(&z);
        if rz <= goal {
            break;
        }
        if anew {
            std::mem::swap(&mut q, &mut z);
            length = rz;
            continue;
        }
        let beta = rz / old;
        for (q, z) in q.as_mut_slice().iter_mut().zip(z.as_slice()) {
            *q = *z + *q * beta;
        }
        length = rz + beta * beta * length;
    }
    // The model has fallen at every step. If E does not descend all the same, its curvature is negative, and −E descends.
    let slope = e.dot(gradient);
    if slope > 0.0 {
        e.as_mut_slice().iter_mut().for_each(|x| *x = -*x);
    }
    Ok(Direction {
        e: e.adjoint(),
        iterations,
        slope: -slope.abs(),
        bend: 2.0 * (model - slope),
    })
}

/// F with I + F = exp(E) to second order.
pub(crate) fn retract<T: Scalar>(e: &Matrix<T>) -> Matrix<T> {
    let mut f = linalg::product(e, e);
    for (f, e) in f.as_mut_slice().iter_mut().zip(e.as_slice()) {
        *f = *e + *f * 0.5;
    }
    f
}

/// Adds ½(G Eᴴ + Eᴴ G), off the diagonal, unless it is left out. (Its adjoint is the same of Gᴴ and Eᴴ.)
fn add_curvature<T: Scalar>(product: &mut Matrix<T>, gradient: &Matrix<T>, e: &Matrix<T>) {
    linalg::add_symmetric_product(product, 0.5, gradient, e);
    (0..e.rows()).for_each(|a| product[(a, a)] = T::ZERO);
}

/// The inverses of the 2×2 blocks \[\[Γ_ab, 1\], \[1, Γ_ba\]\], which act on E_ab and the conjugate of E_ba,
/// kept well conditioned, for adjoints: Eᴴ = W∘Rᴴ + V∘R.
struct Preconditioner<T> {
    /// W, one number for each entry.
    own: Vec<f64>,
    /// V.
    other: Vec<f64>,
    /// Room for R.
    adjoint: Matrix<T>,
}

/// The inverse of one of them.
struct InverseBlock {
    /// The weight of R_ab in E_ab, and of R_ba in E_ba.
    ab: f64,
    ba: f64,
    /// The weight of the conjugate of the other one in each.
    other: f64,
}

impl<T: Scalar> Preconditioner<T> {
    fn new(criterion: Criterion, gamma: &Matrix, group: Group) -> Self {
        let p = gamma.rows();
        let mut own = vec![0.0; p * p];
        let mut other = vec![0.0; p * p];
        for (a, b) in (1..p).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let inverse = if group == Group::Rotations {
                // Only antisymmetric matrices are met.
                let curvature = 0.5 * criterion.rotation_curvature(gamma, a, b);
                let unit = 0.5 * criterion.curvature_unit(gamma, a, b);
                let own = 1.0 / curvature.max((FLOOR * unit).max(f64::MIN_POSITIVE));
                let (ab, ba, other) = (own, own, 0.0);
                InverseBlock { ab, ba, other }
            } else {
                inverse_block(gamma[(a, b)], gamma[(b, a)])
            };
            (own[b * p + a], own[a * p + b]) = (inverse.ab, inverse.ba);
            (other[a * p + b], other[b * p + a]) = (inverse.other, inverse.other);
        }
        Self {
            own,
            other,
            adjoint: Matrix::zeros(p, p),
        }
    }

    /// Writes a solution, whose diagonal is zero.
    fn solve(&mut self, residual: &Matrix<T>, solution: &mut Matrix<T>) {
        residual.write_adjoint(&mut self.adjoint);
        let weights = self.own.iter().zip(&self.other);
        let entries = residual.as_slice().iter().zip(self.adjoint.as_slice());
        let places = solution.as_mut_slice().iter_mut().zip(entries.zip(weights));
        places.for_each(|(z, ((r, adjoint), (own, other)))| *z = *r * *own + *adjoint * *other);
    }
}

/// The inverse of \[\[x, 1\], \[1, y\]\], or of what it is once its smaller eigenvalue is lifted.
fn inverse_block(x: f64, y: f64) -> InverseBlock {
    let (trace, determinant) = (x + y, x * y - 1.0);
    // The determinant over the square of the trace is q/(1 + q)² for eigenvalues whose ratio is q.
    if determinant >= FLOOR / (1.0 + FLOOR).powi(2) * trace * trace {
        let inverse = 1.0 / determinant;
        return InverseBlock {
            ab: y * inverse,
            ba: x * inverse,
            other: -inverse,
        };
    }
    let (mean, half) = (0.5 * trace, 0.5 * (x - y));
    let radius = (half * half + 1.0).sqrt();
    let large = mean + radius;
    let small = (mean - radius).max(FLOOR * large);
    let slant = (1.0 / large - 1.0 / small) / (2.0 * radius);
    let middle = 0.5 * (1.0 / large + 1.0 / small);
    InverseBlock {
        ab: middle + slant * half,
        ba: middle - slant * half,
        other: slant,
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::{Evaluation, Hessian, synthetic};

    fn problem() -> (crate::MatrixSet, Matrix) {
        let set = synthetic::noisy(15, 5, 0.4, 3);
        let b = Matrix::from_fn(5, 5, |a, c| {
            0.1 * ((a * 3 + c * 5) % 7) as f64 + f64::from(u8::from(a == c))
        });
        (set, b)
    }

    fn effort(forcing: f64) -> Effort {
        Effort { forcing, most: 100 }
    }

    fn statistics(here: &Evaluation) -> Statistics {
        Statistics {
            gradient: here.gradient.clone(),
            gamma: here.gamma.clone(),
        }
    }

    #[test]
    fn curved_products_are_second_derivatives_along_the_exponential() {
        let (set, b) = problem();
        let here = Evaluation::at(&set, &b).unwrap();
        let mut hessian = Hessian::at(&set, &b).unwrap();
        for group in [Group::Linear, Group::Rotations] {
            let e = group.project(Matrix::from_fn(5, 5, |a, b| {
                if a == b {
                    0.0
                } else {
                    ((a * 7 + b * 3) % 5) as f64 - 2.0
                }
            }));
            let loss = |t: f64| {
                let scaled = Matrix::from_fn(5, 5, |a, b| t * e[(a, b)]);
                let mut m = retract(&scaled);
                (0..5).for_each(|a| m[(a, a)] += 1.0);
                Evaluation::at(&set, &linalg::product(&m, &b)).unwrap().loss
            };
            let h = 1e-3;
            let difference = (loss(h) - 2.0 * loss(0.0) + loss(-h)) / (h * h);
            let mut product = hessian.product(&e);
            add_curvature(&mut product, &here.gradient, &e);
            let form = e.dot(&group.project(product));
            assert!(
                (difference - form).abs() < 1e-3 * form.abs(),
                "{difference} {form}"
            );
        }
    }

    #[test]
    fn the_preconditioner_inverts_the_blocks() {
        let gamma = Matrix::from_rows(2, 2, vec![1.0, 3.0, 1.5, 1.0]);
        let gradient = Matrix::from_rows(2, 2, vec![0.0, 0.7, -0.3, 0.0]);
        let s = Statistics {
            gradient: gradient.clone(),
            gamma,
        };
        let mut e = Matrix::zeros(2, 2);
        Preconditioner::new(Criterion::Likelihood, &s.gamma, Group::Linear)
            .solve(&gradient.adjoint(), &mut e);
        let e = e.adjoint();
        assert!((3.0 * e[(0, 1)] + e[(1, 0)] - 0.7).abs() < 1e-14);
        assert!((e[(0, 1)] + 1.5 * e[(1, 0)] + 0.3).abs() < 1e-14);
    }

    #[test]
    fn eigenvalues_of_blocks_are_lifted_where_they_are_too_small() {
        // On either side of where they begin to be, and where they would be negative.
        for (x, y) in [
            (1.01, 1.02),
            (1.0, 1.0),
            (5.0, 0.3),
            (0.1, 0.2),
            (1.018, 1.022),
        ] {
            let InverseBlock { ab, ba, other } = inverse_block(x, y);
            let trace: f64 = ab + ba;
            let root = ((ab - ba).powi(2) + 4.0 * other * other).sqrt();
            let (small, large) = (0.5 * (trace - root), 0.5 * (trace + root));
            assert!(
                small > 0.0 && large * FLOOR <= small * (1.0 + 1e-9),
                "{x} {y}"
            );
            // The larger eigenvalue of the block remains.
            let expected = 0.5 * (x + y) + (0.25 * (x - y).powi(2) + 1.0).sqrt();
            assert!((small * expected - 1.0).abs() < 1e-9, "{x} {y}");
        }
    }

    #[test]
    fn near_a_solution_the_system_is_solved() {
        let (set, _) = problem();
        let settings = crate::Settings {
            tolerance: 1e-4,
            ..Default::default()
        };
        let b = crate::diagonalize(&set, &settings).unwrap().b;
        let here = Evaluation::at(&set, &b).unwrap();
        let mut hessian = Hessian::at(&set, &b).unwrap();
        let s = statistics(&here);
        let found = direction(
            Criterion::Likelihood,
            &s,
            Group::Linear,
            effort(1e-10),
            false,
            |e| Ok(hessian.adjoint_product(e)),
        );
        let product = hessian.product(&found.unwrap().e);
        for (x, g) in product.as_slice().iter().zip(s.gradient.as_slice()) {
            assert!((x + g).abs() < 1e-7 * s.gradient.norm());
        }
    }

    #[test]
    fn whatever_the_hessian_the_direction_descends_within_bounds() {
        let p = 4;
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
        };
        let mut held = 0;
        for case in 0..3000 {
            let size = [0.3, 1.0, 3.0][case % 3];
            let gradient = Matrix::from_fn(p, p, |a, b| if a == b { 0.0 } else { random() });
            let gamma = Matrix::from_fn(p, p, |_, _| 1.5 + 0.5 * random());
            let statistics = Statistics { gradient, gamma };
            let half = Matrix::from_fn(p * p, p * p, |_, _| size * random());
            let product = |e: &Matrix| {
                let sum = |i: usize| {
                    let terms = e.as_slice().iter().enumerate();
                    terms.map(|(j, x)| (half[(i, j)] + half[(j, i)]) * x).sum()
                };
                let off = |a, b| if a == b { 0.0 } else { sum(a * p + b) };
                Matrix::from_fn(p, p, off)
            };
            let (likelihood, linear) = (Criterion::Likelihood, Group::Linear);
            let found = direction(likelihood, &statistics, linear, effort(0.1), false, |e| {
                Ok(product(&e.adjoint()).adjoint())
            });
            let found = found.unwrap();
            let e = &found.e;
            let (slope, bend) = (e.dot(&statistics.gradient), e.dot(&product(e)));
            for share in [0.3, 1.0] {
                let model = share * slope + 0.5 * share * share * bend;
                let size = slope.abs() + bend.abs();
                assert!((found.predicted_change(share) - model).abs() < 1e-9 * size);
            }
            assert!(e.dot(&statistics.gradient) < 0.0);
            let largest = e.as_slice().iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            assert!(largest <= 0.2 + 1e-12, "{largest}");
            held += usize::from(largest > 0.19);
        }
        assert!(held > 500, "{held}");
    }
}
