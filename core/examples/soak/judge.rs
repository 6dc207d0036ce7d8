//! What holds of every solve, whatever the set: no NaN, no loss that rises, no more iterations than
//! allowed, and no refusal of a set that can be solved.

use codiag::{
    Diagonalization, Error, Evaluation, Matrix, MatrixSet, Method, Record, Scalar, SetOptions,
    Settings, Start, Status, c64, diagonalize,
};

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
    let solved = MatrixSet::with_options(data, case.n, case.p, &case.options)
        .and_then(|set| Ok((diagonalize(&set, &case.settings)?, set)));
    match solved {
        Ok((answer, set)) => {
            check(&answer, case)?;
            if case.sound {
                check_value(&answer, &set, case)?;
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

fn check<T: Scalar>(answer: &Diagonalization<T>, case: &Case) -> Result<(), String> {
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
    if answer.history.is_empty() || answer.iterations > case.settings.max_iterations {
        return Err(format!("{} iterations", answer.iterations));
    }
    for record in &answer.history {
        let Record {
            loss,
            gradient_norm,
            step,
            ..
        } = record;
        finite("a record", &[*loss, *gradient_norm, *step])?;
    }
    check_descent(answer, case)?;
    // In the answer's order and scale, its rounding is another.
    if answer.status.converged() && answer.gradient_norm > 10.0 * case.settings.tolerance {
        return Err(format!(
            "converged, with a gradient norm of {:e}",
            answer.gradient_norm
        ));
    }
    Ok(())
}

/// What rounding does to a loss: entries of B C Bᴴ have errors of cond(B)² roundings of the smallest of them, and a
/// fit divides by the squared sines of the angles between columns of A.
fn lost_to_rounding<T: Scalar>(answer: &Diagonalization<T>) -> f64 {
    1e-13 * answer.condition_number().powi(2)
}

/// No loss rises, but by rounding; and the answer is the best point.
fn check_descent<T: Scalar>(answer: &Diagonalization<T>, case: &Case) -> Result<(), String> {
    let slack = |loss: f64| 1e-8 * (1.0 + loss.abs()) + lost_to_rounding(answer);
    if answer.loss < -slack(0.0) {
        return Err(format!("a loss of {:e}", answer.loss));
    }
    // These two solve an equation; the loss is not what they lower.
    if matches!(case.settings.method, Method::Uwedge | Method::Ffdiag) {
        return Ok(());
    }
    for pair in answer.history.windows(2) {
        if pair[0].start == pair[1].start && pair[1].loss > pair[0].loss + slack(pair[0].loss) {
            let (before, after) = (pair[0].loss, pair[1].loss);
            let at = pair[1].iteration;
            return Err(format!(
                "the loss rises at iteration {at}, from {before:e} to {after:e}"
            ));
        }
    }
    let best = answer.history.iter().map(|record| record.loss);
    let best = best.fold(f64::INFINITY, f64::min);
    if answer.loss > best + slack(best) {
        return Err(format!("a loss of {:e} after {best:e}", answer.loss));
    }
    Ok(())
}

/// The loss said is that of the B returned, and B and A undo each other.
fn check_value<T: Scalar>(
    answer: &Diagonalization<T>,
    set: &MatrixSet<T>,
    case: &Case,
) -> Result<(), String> {
    let condition = answer.condition_number();
    // Beyond this, digits are few.
    if condition > 1e6 || matches!(case.settings.start, Start::Given(_)) {
        return Ok(());
    }
    let product = &answer.b * &answer.a;
    let unit = Matrix::<T>::identity(product.rows());
    let pairs = product.as_slice().iter().zip(unit.as_slice());
    let apart = pairs.fold(0.0, |most, (x, y)| f64::max(most, (*x - *y).abs()));
    if apart > 1e-9 * condition.max(1.0) {
        return Err(format!("B A is {apart:e} from the identity"));
    }
    if answer.b.rows() < case.p {
        return Ok(());
    }
    let here = Evaluation::at(set, &answer.b).map_err(|e| format!("at B: {e}"))?;
    let error = (here.loss - answer.loss).abs();
    if error > 1e-7 * (1.0 + answer.loss.abs()) + lost_to_rounding(answer) {
        return Err(format!(
            "the loss is {:e}, not {:e}",
            here.loss, answer.loss
        ));
    }
    Ok(())
}
