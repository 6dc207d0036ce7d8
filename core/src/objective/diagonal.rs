//! The likelihood and the Frobenius criterion: functions of the diagonal entries of Dⁱ = B Cⁱ Bᴴ.
//!
//! The Hessian is a p²×p² matrix, but consists of p row blocks M^a and a transposition, so its
//! product with E costs 2p³ flops, independent of n. The preconditioner consists of the 2×2 blocks
//! of the quasi-Newton method.
//!
//! The step is exp(E)B rather than (I + E)B (a retraction). Components that are hard to separate
//! can be rotated by large angles with little change of the loss, and along such rotations the
//! valley of the loss is straight for the exponential, but curved for I + E. To second order
//! exp(E) = I + E + E²/2, which adds ½⟨G, E²⟩ to the loss and ½(G Eᴴ + Eᴴ G) to the product of the
//! Hessian with E. Both terms vanish with G.

use super::line_search::Line;
use super::{CgLimits, Context, Direction, Objective, Point, QuadraticModel, StepResult};
use crate::Error;
use crate::backend::{
    Backend, Hessian, HessianRows, Request, Sums, Update, add_determinant, moved,
};
use crate::data::Criterion;
use crate::linalg::{self, Matrix, Scalar, reals, scalars};
use crate::settings::Settings;
use crate::tuning::TUNING;

/// The likelihood or the Frobenius criterion as an objective.
pub(crate) struct DiagonalCriterion {
    /// Whether the Hessian is stored; otherwise each product with it is a data pass.
    stores_hessian: bool,
}

impl DiagonalCriterion {
    pub fn new<T: Scalar>(backend: &dyn Backend<T>, settings: &Settings) -> Self {
        let (n, p) = (backend.summary().len, backend.summary().dimension());
        let fits = Hessian::<T>::bytes(p) <= settings.hessian_memory;
        // A pass over very few large matrices reads less memory than the Hessian occupies.
        let passes_are_cheaper =
            n <= TUNING.unstored_hessian_max_n && p >= TUNING.unstored_hessian_min_p;
        Self {
            stores_hessian: fits && !passes_are_cheaper && backend.capabilities().stores_hessian,
        }
    }

    /// Whether the Hessian is stored.
    pub fn stores_hessian(&self) -> bool {
        self.stores_hessian
    }
}

impl<T: Scalar> Objective<T> for DiagonalCriterion {
    fn model<'a>(
        &'a mut self,
        context: &'a mut Context<'_, T>,
        point: &'a Point<T>,
    ) -> Result<Box<dyn QuadraticModel + 'a>, Error> {
        if self.stores_hessian && !point.has_hessian {
            let request = Request::Hessian { b: point.b.clone() };
            context.backend.evaluate(&request, context.sums)?;
        }
        let summary = context.backend.summary();
        let (p, criterion) = (summary.dimension(), summary.criterion);
        let gradient_norm = point.gradient_norm(summary, context.settings);
        // Over rotations only the antisymmetric part of the gradient vanishes at the solution, so
        // the retraction term remains.
        let orthogonal = context.settings.orthogonal;
        let has_retraction_term = orthogonal || gradient_norm > TUNING.retraction_term_above;
        let gradient = project(orthogonal, point.statistics.gradient.clone());
        let Sums { hessian, .. } = &mut *context.sums;
        let hessian = if self.stores_hessian {
            HessianSource::Stored(hessian)
        } else {
            HessianSource::Passes {
                backend: &mut *context.backend,
                sums: Box::default(),
            }
        };
        Ok(Box::new(Model {
            criterion,
            orthogonal,
            gradient,
            point,
            retraction: has_retraction_term.then_some(&point.statistics.gradient),
            preconditioner: Preconditioner::new(criterion, &point.statistics.gamma, orthogonal),
            hessian,
            p,
        }))
    }

    fn cg_limits(&self, context: &Context<'_, T>, gradient_norm: f64) -> CgLimits {
        let sufficient = TUNING.tolerance_margin * context.final_tolerance / gradient_norm;
        let n = context.backend.summary().len;
        let max_iter = if gradient_norm <= TUNING.full_cg_below {
            TUNING.max_cg_iterations
        } else {
            (3 * n / 10).clamp(TUNING.min_cg_limit, TUNING.max_cg_iterations)
        };
        CgLimits {
            forcing_term: gradient_norm.max(sufficient).min(TUNING.max_forcing_term),
            max_iter,
        }
    }

    fn try_step(
        &mut self,
        context: &mut Context<'_, T>,
        point: &Point<T>,
        direction: &Direction,
        fraction: f64,
    ) -> Result<Option<StepResult<T>>, Error> {
        let p = point.b.rows();
        let e = Matrix::from_rows(p, p, scalars(&direction.x).to_vec()).scaled(fraction);
        if context.settings.orthogonal {
            return rotate(context, point, &e, fraction);
        }
        let mut trial_fraction = 1.0;
        for _ in 0..MAX_HALVINGS {
            let f = retract(&e.scaled(trial_fraction));
            if f.dot(&point.statistics.gradient) < 0.0 {
                *context.passes += 1.0;
                let mut line = Line::new(context.backend, &point.b, &f, context.sums)?;
                let rounding = line.rounding;
                if let Some(trial) = line.minimize(1.0, TUNING.line_search_slope)?
                    && trial.alpha >= TUNING.min_step_length
                {
                    let scale = line.scale(trial.alpha);
                    let point = advance(context, point, f, trial.alpha, scale)?;
                    return Ok(Some(StepResult {
                        point,
                        trial_fraction: fraction * trial_fraction,
                        accepted_fraction: fraction * trial_fraction * trial.alpha,
                        loss_change: trial.change,
                        rounding,
                    }));
                }
            }
            trial_fraction *= 0.5;
        }
        Ok(None)
    }

    fn full_step(
        &self,
        context: &Context<'_, T>,
        point: &Point<T>,
        direction: &Direction,
    ) -> Option<Matrix<T>> {
        let p = point.b.rows();
        let e = Matrix::from_rows(p, p, scalars(&direction.x).to_vec());
        Some(if context.settings.orthogonal {
            let rotation = linalg::unitary_exponential(&e);
            linalg::reorthogonalize(&linalg::product(&rotation, &point.b))
        } else {
            moved(&point.b, &retract(&e), 1.0)
        })
    }

    fn passes(&self, _: usize, iterations: usize) -> f64 {
        if self.stores_hessian {
            HESSIAN_PASSES
        } else {
            iterations as f64 * HESSIAN_PASSES
        }
    }
}

/// Maximum number of times that a direction is halved.
const MAX_HALVINGS: usize = 40;
/// Cost of a Hessian in data passes: 2p³ flops per matrix, compared with 3p³ for a transform.
const HESSIAN_PASSES: f64 = 2.0 / 3.0;

/// Evaluates the point S (I + αE) B, with S = diag(`scale`), or S = I if rows keep their scale.
pub(crate) fn advance<T: Scalar>(
    context: &mut Context<'_, T>,
    point: &Point<T>,
    e: Matrix<T>,
    alpha: f64,
    scale: Vec<f64>,
) -> Result<Point<T>, Error> {
    let settings = context.settings;
    let keeps_scale = !settings.rescale || settings.orthogonal;
    let update = Update {
        from: point.b.clone(),
        alpha,
        scale: if keeps_scale {
            vec![1.0; e.rows()]
        } else {
            scale
        },
        e,
    };
    let mut b = update.point();
    if settings.orthogonal {
        b = linalg::reorthogonalize(&b);
    }
    let joint_hessian = context.joint_hessian;
    point.updated(
        context.backend,
        settings,
        b,
        update,
        context.sums,
        joint_hessian,
    )
}

/// Rotates by exp(αE) with α = 1, ½, ¼ … until the loss decreases; None if it does not.
pub(crate) fn rotate<T: Scalar>(
    context: &mut Context<'_, T>,
    point: &Point<T>,
    e: &Matrix<T>,
    fraction: f64,
) -> Result<Option<StepResult<T>>, Error> {
    let p = e.rows();
    let mut alpha = 1.0;
    for _ in 0..context.settings.max_halvings.max(1) {
        let mut change = linalg::unitary_exponential(&e.scaled(alpha));
        (0..p).for_each(|a| change[(a, a)] -= T::ONE);
        // The rotation is I + `change`, so it is a full step along `change`.
        *context.passes += 1.0;
        let mut line = Line::new(context.backend, &point.b, &change, context.sums)?;
        let rounding = line.rounding;
        let trial = line.at(1.0)?;
        // Only the full step is a rotation, so the slope along the line is not meaningful. If the
        // change of the loss is within rounding, the step is accepted, and the caller compares
        // gradient norms.
        if trial.change <= rounding {
            let point = advance(context, point, change, 1.0, Vec::new())?;
            return Ok(Some(StepResult {
                point,
                trial_fraction: fraction * alpha,
                accepted_fraction: fraction * alpha,
                loss_change: trial.change,
                rounding,
            }));
        }
        alpha *= 0.5;
    }
    Ok(None)
}

/// Returns F with I + F = exp(E) to second order.
pub(crate) fn retract<T: Scalar>(e: &Matrix<T>) -> Matrix<T> {
    let mut f = linalg::product(e, e);
    for (f, e) in f.as_mut_slice().iter_mut().zip(e.as_slice()) {
        *f = *e + *f * 0.5;
    }
    f
}

/// Returns the antisymmetric (if complex, antihermitian) part of X if B is orthogonal, otherwise X.
fn project<T: Scalar>(orthogonal: bool, x: Matrix<T>) -> Matrix<T> {
    let p = x.rows();
    if orthogonal {
        Matrix::from_fn(p, p, |a, b| (x[(a, b)] - x[(b, a)].conj()) * 0.5)
    } else {
        x
    }
}

/// Source of products with the Hessian.
enum HessianSource<'a, T: Scalar> {
    Stored(&'a mut HessianRows),
    Passes {
        backend: &'a mut dyn Backend<T>,
        sums: Box<Sums<T>>,
    },
}

/// The quadratic model of the loss along exp(E)B.
struct Model<'a, T: Scalar> {
    criterion: Criterion,
    orthogonal: bool,
    p: usize,
    point: &'a Point<T>,
    gradient: Matrix<T>,
    /// The gradient, if the second-order term of the exponential is included.
    retraction: Option<&'a Matrix<T>>,
    preconditioner: Preconditioner,
    hessian: HessianSource<'a, T>,
}

impl<T: Scalar> QuadraticModel for Model<'_, T> {
    fn gradient(&self) -> &[f64] {
        reals(self.gradient.as_slice())
    }

    fn precondition(&mut self, r: &[f64], out: &mut [f64]) {
        self.preconditioner
            .solve::<T>(scalars(r), linalg::scalars_mut(out));
    }

    fn product(&mut self, x: &[f64], out: &mut [f64]) -> Result<(), Error> {
        let e = Matrix::from_rows(self.p, self.p, scalars(x).to_vec());
        let mut product = match &mut self.hessian {
            HessianSource::Stored(rows) => rows.product(&e),
            HessianSource::Passes { backend, sums } => {
                let request = Request::HessianProduct {
                    b: self.point.b.clone(),
                    e: e.clone(),
                };
                backend.evaluate(&request, sums)?;
                sums.moments.gradient.clone()
            }
        };
        add_determinant(self.criterion, &mut product, &e);
        if let Some(gradient) = self.retraction {
            // ½(G Eᴴ + Eᴴ G), off the diagonal.
            linalg::add_symmetric_product(&mut product, 0.5, gradient, &e);
            (0..self.p).for_each(|a| product[(a, a)] = T::ZERO);
        }
        let product = project(self.orthogonal, product);
        out.copy_from_slice(reals(product.as_slice()));
        Ok(())
    }

    fn bounded_shape(&self) -> Option<(usize, usize)> {
        Some((self.p, T::PLANES))
    }
}

/// Preconditioner E = W∘R + V∘Rᴴ, which inverts the 2×2 blocks \[\[Γ_ab, 1\], \[1, Γ_ba\]\] acting
/// on E_ab and the conjugate of E_ba. Small eigenvalues of the blocks are raised.
struct Preconditioner {
    /// Entries of W.
    own: Vec<f64>,
    /// Entries of V.
    other: Vec<f64>,
    p: usize,
}

/// The inverse of a 2×2 block.
struct InverseBlock {
    /// The coefficient of R_ab in E_ab.
    ab: f64,
    /// The coefficient of R_ba in E_ba.
    ba: f64,
    /// The coefficient of conj R_ba in E_ab, and of conj R_ab in E_ba.
    other: f64,
}

impl Preconditioner {
    fn new(criterion: Criterion, gamma: &Matrix, orthogonal: bool) -> Self {
        let p = gamma.rows();
        let (mut own, mut other) = (vec![0.0; p * p], vec![0.0; p * p]);
        let floor = TUNING.preconditioner_floor;
        for (a, b) in (1..p).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let inverse = if orthogonal {
                // The residual is antisymmetric.
                let curvature = 0.5 * criterion.rotation_curvature(gamma, a, b);
                let unit = 0.5 * criterion.curvature_unit(gamma, a, b);
                let own = 1.0 / curvature.max((floor * unit).max(f64::MIN_POSITIVE));
                InverseBlock {
                    ab: own,
                    ba: own,
                    other: 0.0,
                }
            } else {
                inverse_block(gamma[(a, b)], gamma[(b, a)])
            };
            (own[a * p + b], own[b * p + a]) = (inverse.ab, inverse.ba);
            (other[a * p + b], other[b * p + a]) = (inverse.other, inverse.other);
        }
        Self { own, other, p }
    }

    /// Applies the preconditioner to a residual. The diagonal of the solution is zero.
    fn solve<T: Scalar>(&self, residual: &[T], solution: &mut [T]) {
        let adjoint = Matrix::from_rows(self.p, self.p, residual.to_vec()).adjoint();
        let weights = self.own.iter().zip(&self.other);
        let entries = residual.iter().zip(adjoint.as_slice());
        let places = solution.iter_mut().zip(entries.zip(weights));
        places.for_each(|(z, ((r, s), (own, other)))| *z = *r * *own + *s * *other);
    }
}

/// Inverts \[\[x, 1\], \[1, y\]\] with its smaller eigenvalue raised to a fraction of the larger
/// one.
fn inverse_block(x: f64, y: f64) -> InverseBlock {
    let floor = TUNING.preconditioner_floor;
    let (trace, determinant) = (x + y, x * y - 1.0);
    // determinant / trace² = q/(1 + q)² for eigenvalues with ratio q.
    if determinant >= floor / (1.0 + floor).powi(2) * trace * trace {
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
    let small = (mean - radius).max(floor * large);
    let difference = (1.0 / large - 1.0 / small) / (2.0 * radius);
    let center = 0.5 * (1.0 / large + 1.0 / small);
    InverseBlock {
        ab: center + difference * half,
        ba: center - difference * half,
        other: difference,
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::backend::InMemory;
    use crate::{Evaluation, MatrixSet, SetOptions, synthetic};

    /// Calls `check` with the model at a point that is not a minimum, that B, and the loss as a
    /// function of B.
    fn with_model(
        criterion: Criterion,
        orthogonal: bool,
        check: impl Fn(&mut dyn QuadraticModel, &Matrix, &dyn Fn(&Matrix) -> f64),
    ) {
        let (n, p) = (15, 5);
        let data = match criterion {
            Criterion::Frobenius => synthetic::indefinite(n, p, 0.4, 3).0,
            _ => synthetic::Synthetic::new(n, p, 0.4, 3).data,
        };
        let options = SetOptions::default().criterion(criterion);
        let set = MatrixSet::with_options(&data, n, p, &options).unwrap();
        let unit = criterion.loss_unit(set.summary());
        let b = if orthogonal {
            Matrix::identity(p)
        } else {
            Matrix::from_fn(p, p, |a, c| {
                0.1 * ((a * 3 + c * 5) % 7) as f64 + f64::from(u8::from(a == c))
            })
        };
        let settings = &Settings::default().orthogonal(orthogonal);
        let (mut backend, mut sums, mut passes) = (InMemory::new(&set), Sums::default(), 0.0);
        let point = Point::at(&mut backend, settings, b.clone(), &mut sums, false).unwrap();
        let mut objective = DiagonalCriterion::new(&backend, settings);
        let mut context = Context {
            backend: &mut backend,
            settings,
            final_tolerance: 1e-8,
            sums: &mut sums,
            passes: &mut passes,
            joint_hessian: false,
        };
        let mut model = objective.model(&mut context, &point).unwrap();
        let loss = |b: &Matrix| Evaluation::at(&set, b).unwrap().loss / unit;
        check(&mut *model, &b, &loss);
    }

    #[test]
    fn model_has_the_derivatives_of_the_loss_along_the_exponential() {
        for (criterion, orthogonal) in [
            (Criterion::Likelihood, false),
            (Criterion::Likelihood, true),
            (Criterion::Frobenius, true),
        ] {
            with_model(criterion, orthogonal, |model, b, loss| {
                let p = b.rows();
                let e = Matrix::from_fn(p, p, |a, c| {
                    if a == c {
                        0.0
                    } else {
                        ((a * 7 + c * 3) % 5) as f64 - 2.0
                    }
                });
                let e = project(orthogonal, e);
                let at = |t: f64| {
                    let e = e.scaled(t);
                    if orthogonal {
                        loss(&linalg::product(&linalg::unitary_exponential(&e), b))
                    } else {
                        loss(&moved(b, &retract(&e), 1.0))
                    }
                };
                let h = 1e-3;
                let slope = (at(h) - at(-h)) / (2.0 * h);
                let curvature = (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h);
                let mut product = vec![0.0; p * p];
                model.product(e.as_slice(), &mut product).unwrap();
                let expected = linalg::dot(model.gradient(), e.as_slice());
                assert!((slope - expected).abs() < 1e-4 * expected.abs().max(1.0));
                let expected = linalg::dot(&product, e.as_slice());
                let error = (curvature - expected).abs();
                assert!(error < 2e-3 * expected.abs(), "{curvature} {expected}");
            });
        }
    }

    #[test]
    fn preconditioner_inverts_the_blocks() {
        let gamma = Matrix::from_rows(2, 2, vec![1.0, 3.0, 1.5, 1.0]);
        let gradient = [0.0, 0.7, -0.3, 0.0];
        let mut e = [0.0; 4];
        Preconditioner::new(Criterion::Likelihood, &gamma, false).solve(&gradient, &mut e);
        assert!((3.0 * e[1] + e[2] - 0.7).abs() < 1e-14);
        assert!((e[1] + 1.5 * e[2] + 0.3).abs() < 1e-14);
    }

    #[test]
    fn small_eigenvalues_of_blocks_are_raised() {
        let floor = TUNING.preconditioner_floor;
        // On both sides of the threshold, and with a negative eigenvalue.
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
                small > 0.0 && large * floor <= small * (1.0 + 1e-9),
                "{x} {y}"
            );
            // The larger eigenvalue of the block is unchanged.
            let expected = 0.5 * (x + y) + (0.25 * (x - y).powi(2) + 1.0).sqrt();
            assert!((small * expected - 1.0).abs() < 1e-9, "{x} {y}");
        }
    }
}
