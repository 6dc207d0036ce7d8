//! Properties that every solve must have.
//!
//! All numbers are finite, the loss does not rise, and the iteration limit is respected. Valid
//! matrices are accepted. The reported loss is that of the returned B, and a converged solve has a
//! small gradient there.

use std::collections::HashMap;
use std::ops::ControlFlow;

use codiag::{
    Criterion, Diagonalization, Error, Evaluation, Matrix, MatrixSet, Method, Record, Scalar,
    SetOptions, Settings, Status, c64, diagonalize_with,
};

use super::exact_gradient;

/// A set, and the options and settings with which it is solved.
#[derive(Clone, Debug)]
pub struct Case {
    pub n: usize,
    pub p: usize,
    /// The real parts of all entries, followed by the imaginary parts if the set is complex.
    pub data: Vec<f64>,
    pub complex: bool,
    pub options: SetOptions,
    pub settings: Settings,
    /// Whether the matrices are valid, so that an error is a failure.
    pub valid: bool,
    /// Name of the family of random sets.
    pub kind: &'static str,
}

/// The outcome of a case without failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Solved(Status),
    InvalidInput,
}

/// Solves a case and checks the result.
///
/// # Errors
/// A description of the failure.
pub fn check_case(case: &Case) -> Result<Outcome, String> {
    if case.complex {
        let (real, imaginary) = case.data.split_at(case.data.len() / 2);
        let numbers = real.iter().zip(imaginary).map(|(x, y)| c64::new(*x, *y));
        check_set(&numbers.collect::<Vec<_>>(), case)
    } else {
        check_set(&case.data, case)
    }
}

fn check_set<T: Scalar>(data: &[T], case: &Case) -> Result<Outcome, String> {
    let solved = MatrixSet::with_options(data, case.n, case.p, &case.options).and_then(|set| {
        let mut errors = LossErrors::new();
        let mut observer = |record: &Record, b: &Matrix<T>| {
            errors.insert(record_key(record), Rounding::at(b, None, &set).loss_error());
            ControlFlow::Continue(())
        };
        let result = diagonalize_with(&set, &case.settings, &mut observer)?;
        Ok((result, errors, set))
    });
    match solved {
        Ok((result, errors, set)) => {
            let rounding = Rounding::at(&result.b, Some(&result.a), &set);
            check_numbers(&result, &rounding, &errors, case)?;
            if case.valid {
                check_value(&result, &set, &rounding, case)?;
            }
            Ok(Outcome::Solved(result.status))
        }
        Err(error) => {
            let about_matrices = matches!(
                error,
                Error::NotFinite { .. }
                    | Error::Range { .. }
                    | Error::Asymmetric { .. }
                    | Error::NotPositiveDefinite { .. }
            );
            if case.valid && about_matrices {
                return Err(format!("valid matrices are rejected: {error}"));
            }
            Ok(Outcome::InvalidInput)
        }
    }
}

/// Bounds on the rounding errors of recorded losses.
type LossErrors = HashMap<(usize, &'static str, usize), f64>;

/// The start, stage and iteration that identify a record.
fn record_key(record: &Record) -> (usize, &'static str, usize) {
    (record.start, record.stage.name(), record.iteration)
}

/// Bounds on rounding errors of numbers computed at B.
struct Rounding {
    /// Amplification of rounding errors.
    ///
    /// For the likelihood, it is the larger of two numbers: the largest ratio of the terms of a
    /// diagonal entry of B C Bᴴ to the entry itself, over the mean and all matrices C; and the
    /// condition number of B C̄ Bᴴ scaled to a unit diagonal. For least squares, it is the
    /// condition number of the Gram matrix of the normalized columns of A.
    cancellation: f64,
    /// For each component of the likelihood, the factor 1/√(b_a C̄ b_aᴴ) that scales its mean power
    /// to 1.
    normalization: Vec<f64>,
}

impl Rounding {
    /// Bounds at B and, for least squares, at A if it is known.
    fn at<T: Scalar>(b: &Matrix<T>, a: Option<&Matrix<T>>, set: &MatrixSet<T>) -> Self {
        let p = b.rows();
        if set.criterion() != Criterion::Likelihood {
            let fitted = a.filter(|_| set.criterion() == Criterion::LeastSquares);
            return Self {
                cancellation: fitted.map_or(1.0, gram_condition_number),
                normalization: vec![1.0; p],
            };
        }
        // The mean of a reduced set is in reduced coordinates.
        let b = match set.reduction() {
            Some(reduction) => b * reduction.patterns(),
            None => b.clone(),
        };
        let mean = set.mean();
        let transform = |c: &Matrix<T>| &(&b * c) * &b.adjoint();
        // Ratio of a bound on the absolute terms of (B C Bᴴ)_aa to the entry.
        let ratio = |c: &Matrix<T>, transformed: &Matrix<T>, a: usize| {
            let row = b.row(a).iter().enumerate();
            let terms: f64 = row.map(|(k, x)| x.abs() * c[(k, k)].real().sqrt()).sum();
            terms.powi(2) / transformed[(a, a)].real()
        };
        let of_mean = transform(mean);
        let mut ratios: Vec<f64> = (0..p).map(|a| ratio(mean, &of_mean, a)).collect();
        for c in (0..set.len()).map(|i| set.matrix(i)) {
            let transformed = transform(&c);
            let of_matrix = (0..p).map(|a| ratio(&c, &transformed, a));
            ratios.extend(of_matrix.filter(|x| *x > 0.0));
        }
        let power = |a: usize| of_mean[(a, a)].real();
        let scale: Vec<f64> = (0..p).map(|a| 1.0 / power(a).sqrt()).collect();
        let correlations = Matrix::from_fn(p, p, |a, c| of_mean[(a, c)] * (scale[a] * scale[c]));
        let condition = condition_number(&correlations);
        Self {
            cancellation: ratios.into_iter().fold(condition, f64::max),
            normalization: scale,
        }
    }

    /// Bound on the error of the gradient norm.
    ///
    /// Rotations do not normalize powers, so that an entry of a strong and a weak component has an
    /// error relative to the weak one.
    fn gradient_error(&self, rotations: bool) -> f64 {
        let extreme = |pick: fn(f64, f64) -> f64| self.normalization.iter().copied().reduce(pick);
        match (extreme(f64::max), extreme(f64::min)) {
            (Some(largest), Some(smallest)) if rotations => self.loss_error() * largest / smallest,
            _ => self.loss_error(),
        }
    }

    /// Bound on the error of the loss.
    fn loss_error(&self) -> f64 {
        1e-13 * self.cancellation
    }
}

/// The condition number of the Gram matrix of the normalized columns of A.
fn gram_condition_number<T: Scalar>(a: &Matrix<T>) -> f64 {
    let columns = a.transpose();
    let norms = (0..columns.rows()).map(|k| columns.row(k).iter().map(|x| x.norm_sqr()).sum());
    let units: Vec<f64> = norms.map(|squares: f64| 1.0 / squares.sqrt()).collect();
    let columns = columns.scale_rows(&units);
    condition_number(&(&columns * &columns.adjoint()))
}

/// The condition number of a positive definite matrix; eigenvalues are at least the machine
/// epsilon.
fn condition_number<T: Scalar>(m: &Matrix<T>) -> f64 {
    match m.symmetric_eigenvalues().as_deref() {
        Some([smallest, .., largest]) => largest / smallest.max(f64::EPSILON),
        _ => 1.0,
    }
}

/// Checks that all numbers are finite, that limits are respected, and that the loss decreases.
fn check_numbers<T: Scalar>(
    result: &Diagonalization<T>,
    rounding: &Rounding,
    errors: &LossErrors,
    case: &Case,
) -> Result<(), String> {
    let finite = |name: &str, numbers: &[f64]| match numbers.iter().find(|x| !x.is_finite()) {
        Some(x) => Err(format!("{name}: {x} is not finite")),
        None => Ok(()),
    };
    let finite_matrix = |name: &str, m: &Matrix<T>| {
        if m.is_finite() {
            return Ok(());
        }
        Err(format!("{name} is not finite: {m:?}"))
    };
    finite_matrix("B", &result.b)?;
    finite_matrix("A", &result.a)?;
    finite("loss", &[result.loss])?;
    finite("gradient_norm", &[result.gradient_norm])?;
    finite("powers", result.powers.as_slice())?;
    finite("residuals", &result.residuals)?;
    finite("start_losses", &result.start_losses)?;
    if let Some(least_separable) = result.identifiability {
        finite("identifiability", &[least_separable.margin])?;
    }
    if let Some(stability) = &result.stability {
        finite("stability", stability.matches.as_slice())?;
    }
    if result.history.is_empty() {
        return Err("the history is empty".to_owned());
    }
    let (n_iter, max_iter) = (result.n_iter, case.settings.max_iter);
    if n_iter > max_iter {
        return Err(format!("{n_iter} iterations, but max_iter is {max_iter}"));
    }
    for record in &result.history {
        let Record {
            loss,
            gradient_norm,
            decrement,
            step,
            ..
        } = record;
        finite("history", &[*loss, *gradient_norm, *decrement, *step])?;
    }
    check_descent(result, rounding, errors, case)?;
    // The canonical form changes the rounding errors of the gradient after convergence.
    let limit = 10.0 * case.settings.tol + rounding.gradient_error(case.settings.orthogonal);
    if result.status.is_converged() && result.gradient_norm > limit {
        return Err(format!(
            "converged with a gradient norm of {:e}",
            result.gradient_norm
        ));
    }
    Ok(())
}

/// Checks that the loss does not rise by more than rounding, and that the result has the lowest
/// loss.
fn check_descent<T: Scalar>(
    result: &Diagonalization<T>,
    rounding: &Rounding,
    errors: &LossErrors,
    case: &Case,
) -> Result<(), String> {
    // Larger matrices pass through single precision, which may leave four digits of weak
    // components.
    let relative = if case.p < 20 { 1e-8 } else { 1e-4 };
    let tolerance = |loss: f64| relative * (1.0 + loss.abs()) + rounding.loss_error();
    if result.loss < -tolerance(0.0) {
        return Err(format!("the loss {:e} is negative", result.loss));
    }
    // U-WEDGE and FFDIAG solve an equation instead of decreasing the loss.
    if matches!(case.settings.method, Method::Uwedge | Method::Ffdiag) {
        return Ok(());
    }
    let error = |record: &Record| errors.get(&record_key(record)).copied().unwrap_or(0.0);
    for pair in result.history.windows(2) {
        let (before, after, iteration) = (pair[0].loss, pair[1].loss, pair[1].iteration);
        let same_start = pair[0].start == pair[1].start;
        if same_start && after > before + tolerance(before) + error(&pair[0]) {
            return Err(format!(
                "the loss rises from {before:e} to {after:e} at iteration {iteration}"
            ));
        }
    }
    // A recorded loss may be too low by its rounding error.
    let best = result
        .history
        .iter()
        .map(|record| record.loss + error(record));
    let best = best.fold(f64::INFINITY, f64::min);
    if result.loss > best + tolerance(best) {
        return Err(format!(
            "the loss {:e} is higher than the lowest in the history, {best:e}",
            result.loss
        ));
    }
    Ok(())
}

/// Checks the reported loss and gradient norm at the returned B, and that A is the inverse of B.
fn check_value<T: Scalar>(
    result: &Diagonalization<T>,
    set: &MatrixSet<T>,
    rounding: &Rounding,
    case: &Case,
) -> Result<(), String> {
    check_inverse(result)?;
    if result.b.rows() < case.p {
        return Ok(());
    }
    check_exact_gradient(result, set, case)?;
    let here = Evaluation::at(set, &result.b).map_err(|e| format!("at B: {e}"))?;
    let error = (here.loss - result.loss).abs();
    if error > 1e-9 * (1.0 + result.loss.abs()) + rounding.loss_error() {
        return Err(format!(
            "the reported loss is {:e}, but that of B is {:e}",
            result.loss, here.loss
        ));
    }
    // U-WEDGE and FFDIAG do not end where the gradient vanishes.
    let minimizes = !matches!(case.settings.method, Method::Uwedge | Method::Ffdiag);
    let norm = gradient_norm(&here, set, rounding, &case.settings);
    if result.status.is_converged()
        && minimizes
        && norm > 10.0 * case.settings.tol + rounding.gradient_error(case.settings.orthogonal)
    {
        return Err(format!("converged, but the gradient norm at B is {norm:e}"));
    }
    Ok(())
}

/// Checks the gradient of a converged likelihood in double-double arithmetic.
fn check_exact_gradient<T: Scalar>(
    result: &Diagonalization<T>,
    set: &MatrixSet<T>,
    case: &Case,
) -> Result<(), String> {
    if set.criterion() != Criterion::Likelihood || !result.status.is_converged() {
        return Ok(());
    }
    // A reduced set has its matrices in reduced coordinates, B is in those of the channels.
    if set.reduction().is_some() {
        return Ok(());
    }
    let norm = exact_gradient::gradient_norm(set, &result.b, case.settings.orthogonal);
    // Rescaling the final B rounds it once more, hence the factor.
    if norm > 10.0 * case.settings.tol {
        return Err(format!(
            "converged with a gradient norm of {:e}, but the exact one is {norm:e}",
            result.gradient_norm
        ));
    }
    Ok(())
}

/// The gradient norm that is compared with the tolerance, from the derivatives at B.
fn gradient_norm<T: Scalar>(
    here: &Evaluation<T>,
    set: &MatrixSet<T>,
    rounding: &Rounding,
    settings: &Settings,
) -> f64 {
    let (g, p) = (&here.gradient, here.gradient.rows());
    let root = (p as f64).sqrt();
    let rotations = settings.orthogonal || set.criterion() == Criterion::Frobenius;
    if set.criterion() == Criterion::LeastSquares {
        let energy = set.constant();
        let fraction = |b: usize| 16.0 * here.gamma[(b, b)] / energy;
        let entries = (0..p).flat_map(|a| (0..p).map(move |b| (a, b)));
        let entries = entries.filter(|(_, b)| fraction(*b) > 0.0);
        let terms = entries.map(|(a, b)| g[(a, b)].norm_sqr() / fraction(b));
        return terms.sum::<f64>().sqrt();
    }
    if rotations {
        let antisymmetric = Matrix::from_fn(p, p, |a, b| g[(a, b)] - g[(b, a)].conj());
        let unit = match set.criterion() {
            Criterion::Likelihood => 1.0,
            _ => p as f64 / 8.0,
        };
        return unit * antisymmetric.norm() / root;
    }
    let scale = &rounding.normalization;
    Matrix::from_fn(p, p, |a, b| g[(a, b)] * (scale[b] / scale[a])).norm() / root
}

/// Checks that B A is the identity, relative to the size of the terms of each entry.
fn check_inverse<T: Scalar>(result: &Diagonalization<T>) -> Result<(), String> {
    let (b, a) = (&result.b, &result.a);
    let product = b * a;
    for (x, y) in (0..b.rows()).flat_map(|x| (0..b.rows()).map(move |y| (x, y))) {
        let expected = if x == y { T::ONE } else { T::ZERO };
        let error = (product[(x, y)] - expected).abs();
        let terms = b.row(x).iter().enumerate();
        let terms: f64 = terms.map(|(k, z)| (*z * a[(k, y)]).abs()).sum();
        if error > 1e-9 * (1.0 + terms) {
            return Err(format!(
                "B A differs from the identity by {error:e} at ({x}, {y})"
            ));
        }
    }
    Ok(())
}
