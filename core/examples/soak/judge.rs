//! What holds of every solve, whatever the set: no NaN, no loss that rises, no more iterations than
//! allowed, no refusal of a set that can be solved; what is said of B is true of it, and a solve that is said to
//! have converged has.

use std::collections::HashMap;
use std::ops::ControlFlow;

use codiag::{
    Criterion, Diagonalization, Error, Evaluation, Matrix, MatrixSet, Method, Record, Scalar,
    SetOptions, Settings, Status, c64, diagonalize_with,
};

use super::exact;

/// A set, and what is asked of it.
#[derive(Clone, Debug)]
pub struct Case {
    pub n: usize,
    pub p: usize,
    /// Real parts and, if the set is complex, as many imaginary parts after them.
    pub data: Vec<f64>,
    pub complex: bool,
    pub options: SetOptions,
    pub settings: Settings,
    /// Whether nothing is wrong with the matrices, so that they must not be refused.
    pub sound: bool,
    /// Which sort it is of.
    pub kind: &'static str,
}

/// How a case ended, if as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Solved(Status),
    Refused,
}

/// Solves a case; what is wrong with the answer is an error.
pub fn judge(case: &Case) -> Result<Verdict, String> {
    if case.complex {
        let (real, imaginary) = case.data.split_at(case.data.len() / 2);
        let numbers = real.iter().zip(imaginary).map(|(x, y)| c64::new(*x, *y));
        judge_set(&numbers.collect::<Vec<_>>(), case)
    } else {
        judge_set(&case.data, case)
    }
}

fn judge_set<T: Scalar>(data: &[T], case: &Case) -> Result<Verdict, String> {
    let solved = MatrixSet::with_options(data, case.n, case.p, &case.options).and_then(|set| {
        let mut errors = Errors::new();
        let mut observer = |record: &Record, b: &Matrix<T>| {
            errors.insert(place(record), Rounding::of(b, None, &set).error());
            ControlFlow::Continue(())
        };
        let answer = diagonalize_with(&set, &case.settings, &mut observer)?;
        Ok((answer, errors, set))
    });
    match solved {
        Ok((answer, errors, set)) => {
            let rounding = Rounding::of(&answer.b, Some(&answer.a), &set);
            check(&answer, &rounding, &errors, case)?;
            if case.sound {
                check_value(&answer, &set, &rounding, case)?;
            }
            Ok(Verdict::Solved(answer.status))
        }
        Err(error) => {
            let said = error.to_string();
            let about_matrices = matches!(
                error,
                Error::NotFinite { .. }
                    | Error::Range { .. }
                    | Error::Asymmetric { .. }
                    | Error::NotPositiveDefinite { .. }
            );
            if case.sound && about_matrices {
                return Err(format!("refused, though nothing is wrong with it: {said}"));
            }
            Ok(Verdict::Refused)
        }
    }
}

/// What may be wrong with the losses of records.
type Errors = HashMap<(usize, &'static str, usize), f64>;

/// Which record it is.
fn place(record: &Record) -> (usize, &'static str, usize) {
    (record.start, record.stage.name(), record.iteration)
}

/// What rounding does to numbers made from B, whatever the units of the channels.
struct Rounding {
    /// How many times as large as a diagonal entry of B C Bᴴ, of the mean or any matrix, the terms are that it is the
    /// sum of; or, if that is more, the condition of B C̄ Bᴴ with powers of 1: where components are all but the same,
    /// their differences are what is left of the digits. Of a fit, which divides by the squared sines of the angles
    /// between columns of A, what these make of it.
    cancellation: f64,
    /// For each component of the likelihood 1/√(b_a C̄ b_aᴴ), the factor that brings its mean power to 1.
    gauge: Vec<f64>,
}

impl Rounding {
    /// At B, and of a fit at A, where it is known.
    fn of<T: Scalar>(b: &Matrix<T>, a: Option<&Matrix<T>>, set: &MatrixSet<T>) -> Self {
        let p = b.rows();
        if set.criterion() != Criterion::Likelihood {
            let fitted = a.filter(|_| set.criterion() == Criterion::LeastSquares);
            return Self {
                cancellation: fitted.map_or(1.0, squared_condition),
                gauge: vec![1.0; p],
            };
        }
        // The mean is that of the coordinates to which the set was reduced.
        let b = match set.reduction() {
            Some(reduction) => b * reduction.patterns(),
            None => b.clone(),
        };
        let mean = set.mean();
        let moved = |c: &Matrix<T>| &(&b * c) * &b.adjoint();
        // How many times as large as its power a component's terms are, in one matrix.
        let ratio = |c: &Matrix<T>, moved: &Matrix<T>, a: usize| {
            let row = b.row(a).iter().enumerate();
            let terms: f64 = row.map(|(k, x)| x.abs() * c[(k, k)].real().sqrt()).sum();
            terms.powi(2) / moved[(a, a)].real()
        };
        let whole = moved(mean);
        let mut ratios: Vec<f64> = (0..p).map(|a| ratio(mean, &whole, a)).collect();
        for c in (0..set.len()).map(|i| set.matrix(i)) {
            let moved = moved(&c);
            ratios.extend((0..p).map(|a| ratio(&c, &moved, a)).filter(|x| *x > 0.0));
        }
        let power = |a: usize| whole[(a, a)].real();
        let gauge: Vec<f64> = (0..p).map(|a| 1.0 / power(a).sqrt()).collect();
        let correlations = Matrix::from_fn(p, p, |a, c| whole[(a, c)] * (gauge[a] * gauge[c]));
        Self {
            cancellation: ratios.into_iter().fold(condition(&correlations), f64::max),
            gauge,
        }
    }

    /// What may be wrong with a gradient. Over rotations, which leave powers as they are, entries of a strong and a weak
    /// component are seen in units of the weak one.
    fn gradient_error(&self, rotations: bool) -> f64 {
        let extreme = |pick: fn(f64, f64) -> f64| self.gauge.iter().copied().reduce(pick);
        match (extreme(f64::max), extreme(f64::min)) {
            (Some(most), Some(least)) if rotations => self.error() * most / least,
            _ => self.error(),
        }
    }

    /// What may be wrong with a loss.
    fn error(&self) -> f64 {
        1e-13 * self.cancellation
    }
}

/// The condition of the cosines between columns.
fn squared_condition<T: Scalar>(a: &Matrix<T>) -> f64 {
    let columns = a.transpose();
    let norms = (0..columns.rows()).map(|k| columns.row(k).iter().map(|x| x.norm_sqr()).sum());
    let units: Vec<f64> = norms.map(|squares: f64| 1.0 / squares.sqrt()).collect();
    let columns = columns.scale_rows(&units);
    condition(&(&columns * &columns.adjoint()))
}

/// The ratio of the largest to the smallest eigenvalue, as far as rounding tells.
fn condition<T: Scalar>(m: &Matrix<T>) -> f64 {
    match m.symmetric_eigenvalues().as_deref() {
        Some([least, .., most]) => most / least.max(f64::EPSILON),
        _ => 1.0,
    }
}

fn check<T: Scalar>(
    answer: &Diagonalization<T>,
    rounding: &Rounding,
    errors: &Errors,
    case: &Case,
) -> Result<(), String> {
    let finite = |what: &str, numbers: &[f64]| match numbers.iter().find(|x| !x.is_finite()) {
        Some(x) => Err(format!("{what} has {x}")),
        None => Ok(()),
    };
    let matrix = |what: &str, m: &Matrix<T>| {
        if m.is_finite() {
            return Ok(());
        }
        Err(format!("{what} is not finite: {m:?}"))
    };
    matrix("B", &answer.b)?;
    matrix("A", &answer.a)?;
    finite("the loss", &[answer.loss])?;
    finite("the gradient norm", &[answer.gradient_norm])?;
    finite("powers", answer.powers.as_slice())?;
    finite("residuals", &answer.residuals)?;
    finite("start_losses", &answer.start_losses)?;
    if let Some(hardest) = answer.identifiability {
        finite("the margin", &[hardest.margin])?;
    }
    if let Some(stability) = &answer.stability {
        finite("matches", stability.matches.as_slice())?;
    }
    if answer.history.is_empty() || answer.n_iter > case.settings.max_iter {
        return Err(format!("{} iterations", answer.n_iter));
    }
    for record in &answer.history {
        let Record {
            loss,
            gradient_norm,
            decrement,
            step,
            ..
        } = record;
        finite("a record", &[*loss, *gradient_norm, *decrement, *step])?;
    }
    check_descent(answer, rounding, errors, case)?;
    // In the answer's order and scale, its rounding is another.
    let most = 10.0 * case.settings.tol + rounding.gradient_error(case.settings.orthogonal);
    if answer.status.is_converged() && answer.gradient_norm > most {
        return Err(format!(
            "converged, with a gradient norm of {:e}",
            answer.gradient_norm
        ));
    }
    Ok(())
}

/// No loss rises, but by rounding; and the answer is the best point.
fn check_descent<T: Scalar>(
    answer: &Diagonalization<T>,
    rounding: &Rounding,
    errors: &Errors,
    case: &Case,
) -> Result<(), String> {
    // Larger matrices have been in single precision on the way, which may leave four digits of weak components.
    let digits = if case.p < 20 { 1e-8 } else { 1e-4 };
    let slack = |loss: f64| digits * (1.0 + loss.abs()) + rounding.error();
    if answer.loss < -slack(0.0) {
        return Err(format!("a loss of {:e}", answer.loss));
    }
    // These two solve an equation; the loss is not what they lower.
    if matches!(case.settings.method, Method::Uwedge | Method::Ffdiag) {
        return Ok(());
    }
    let error = |record: &Record| errors.get(&place(record)).copied().unwrap_or(0.0);
    for pair in answer.history.windows(2) {
        let (before, after, at) = (pair[0].loss, pair[1].loss, pair[1].iteration);
        let same = pair[0].start == pair[1].start;
        if same && after > before + slack(before) + error(&pair[0]) {
            return Err(format!(
                "the loss rises at iteration {at}, from {before:e} to {after:e}"
            ));
        }
    }
    // A loss may have been higher than what was said of it.
    let best = answer
        .history
        .iter()
        .map(|record| record.loss + error(record));
    let best = best.fold(f64::INFINITY, f64::min);
    if answer.loss > best + slack(best) {
        return Err(format!("a loss of {:e} after {best:e}", answer.loss));
    }
    Ok(())
}

/// The loss said is that of the B returned, a gradient said to be small is small there, and B and A undo each
/// other.
fn check_value<T: Scalar>(
    answer: &Diagonalization<T>,
    set: &MatrixSet<T>,
    rounding: &Rounding,
    case: &Case,
) -> Result<(), String> {
    check_inverse(answer)?;
    if answer.b.rows() < case.p {
        return Ok(());
    }
    check_exact_gradient(answer, set, case)?;
    let here = Evaluation::at(set, &answer.b).map_err(|e| format!("at B: {e}"))?;
    let error = (here.loss - answer.loss).abs();
    if error > 1e-9 * (1.0 + answer.loss.abs()) + rounding.error() {
        return Err(format!(
            "the loss is {:e}, not {:e}",
            here.loss, answer.loss
        ));
    }
    // Two methods of least squares solve another equation.
    let others = matches!(case.settings.method, Method::Uwedge | Method::Ffdiag);
    let norm = gradient_norm(&here, set, rounding, &case.settings);
    if answer.status.is_converged()
        && !others
        && norm > 10.0 * case.settings.tol + rounding.gradient_error(case.settings.orthogonal)
    {
        return Err(format!("converged, but the gradient norm is {norm:e}"));
    }
    Ok(())
}

/// A likelihood that is said to have converged has a small gradient, also where double precision could not tell.
fn check_exact_gradient<T: Scalar>(
    answer: &Diagonalization<T>,
    set: &MatrixSet<T>,
    case: &Case,
) -> Result<(), String> {
    if set.criterion() != Criterion::Likelihood || !answer.status.is_converged() {
        return Ok(());
    }
    // The set holds matrices in the coordinates to which it was reduced.
    if set.reduction().is_some() {
        return Ok(());
    }
    let norm = exact::gradient_norm(set, &answer.b, case.settings.orthogonal);
    // B was rescaled after it was measured, which rounds it once more.
    let most = 10.0 * case.settings.tol;
    if norm > most {
        return Err(format!(
            "converged with {:e}, but the exact gradient norm is {norm:e}",
            answer.gradient_norm
        ));
    }
    Ok(())
}

/// What is compared with the tolerance, from the derivatives at B.
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
        let share = |b: usize| 16.0 * here.gamma[(b, b)] / energy;
        let entries = (0..p).flat_map(|a| (0..p).map(move |b| (a, b)));
        let entries = entries.filter(|(_, b)| share(*b) > 0.0);
        let sum: f64 = entries.map(|(a, b)| g[(a, b)].norm_sqr() / share(b)).sum();
        return sum.sqrt();
    }
    if rotations {
        let odd = Matrix::from_fn(p, p, |a, b| g[(a, b)] - g[(b, a)].conj());
        let unit = match set.criterion() {
            Criterion::Likelihood => 1.0,
            _ => p as f64 / 8.0,
        };
        return unit * odd.norm() / root;
    }
    let scale = &rounding.gauge;
    Matrix::from_fn(p, p, |a, b| g[(a, b)] * (scale[b] / scale[a])).norm() / root
}

/// B A is the identity, as far as its terms can be.
fn check_inverse<T: Scalar>(answer: &Diagonalization<T>) -> Result<(), String> {
    let (b, a) = (&answer.b, &answer.a);
    let product = b * a;
    for (x, y) in (0..b.rows()).flat_map(|x| (0..b.rows()).map(move |y| (x, y))) {
        let own = if x == y { T::ONE } else { T::ZERO };
        let apart = (product[(x, y)] - own).abs();
        let terms = b.row(x).iter().enumerate();
        let terms: f64 = terms.map(|(k, z)| (*z * a[(k, y)]).abs()).sum();
        if apart > 1e-9 * (1.0 + terms) {
            return Err(format!("B A is {apart:e} from the identity at ({x}, {y})"));
        }
    }
    Ok(())
}
