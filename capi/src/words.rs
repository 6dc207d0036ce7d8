//! What the library finds wrong, in the names of C.

use codiag::error::{
    Conflict, Expected, MemoryRemedy, Portion, Remedy, Setting, StartProblem, asymmetric_entries,
    memory_shortage, symmetric_criteria,
};
use codiag::{Criterion, Error, Method};

/// A sentence about an error. What needs no name of C is said as the library says it.
pub(crate) fn sentence(error: &Error) -> String {
    match error {
        Error::Shape { shape } => format!(
            "expected n matrices of size p x p with n, p > 0, got {}",
            times(shape)
        ),
        Error::TooLarge { shape } => {
            format!("{} numbers are more than can be addressed", times(shape))
        }
        Error::RecordingShape { shape, .. } => format!(
            "expected channels x samples, none of them 0, got {}",
            times(shape)
        ),
        Error::Asymmetric {
            matrix,
            row,
            column,
            asymmetry,
            complex,
        } => format!(
            "matrix {matrix} is not {} of the largest entry (at most 1e-8 is taken as rounding); \
             symmetrize = 1 takes the mean of the two",
            asymmetric_entries(*complex, *row, *column, *asymmetry)
        ),
        Error::NotPositiveDefinite {
            matrix,
            eigenvalue,
            remedy,
        } => format!(
            "{} is not positive definite: its smallest eigenvalue is {eigenvalue:.3e}; {}",
            matrix.map_or("the mean of the matrices".to_owned(), |matrix| format!(
                "matrix {matrix}"
            )),
            advice(*remedy)
        ),
        Error::Start {
            problem: StartProblem::NotOrthogonal,
        } => "b must be orthogonal, as orthogonal = 1 or the criterion asks, but it is not"
            .to_owned(),
        Error::Start { problem } => {
            format!("b must be finite and invertible, but it is {problem}")
        }
        Error::Setting {
            setting,
            expected,
            value,
        } => format!(
            "{} must be {}, got {value}",
            name(*setting),
            choices(*setting, *expected)
        ),
        Error::OutOfMemory {
            what,
            needed,
            available,
            remedy,
        } => format!(
            "{}{}",
            memory_shortage(what, *needed, *available),
            memory_advice(*remedy)
        ),
        Error::Conflict(conflict) => conflict_words(*conflict),
        Error::Method { criterion, method } => {
            let methods = criterion
                .methods()
                .iter()
                .map(|method| constant_of_method(*method));
            format!(
                "{} has the methods {}, not {}",
                constant_of_criterion(*criterion),
                methods.collect::<Vec<_>>().join(", "),
                constant_of_method(*method)
            )
        }
        Error::SampleNotFinite {
            channel,
            sample,
            value,
        } => format!(
            "channel {channel}, sample {sample} is {value}, not a finite number: replace it, or pass only \
             samples that are finite"
        ),
        Error::TooFewSamples {
            portion: portion @ Portion::Segment(_),
            samples,
            dimension,
            needed,
        } => format!(
            "{portion} has {samples} samples, but a {dimension} x {dimension} matrix needs at least {needed}: \
             use fewer segments or a longer recording"
        ),
        other => other.to_string(),
    }
}

fn times(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    sizes.join(" x ")
}

/// The constant of a name: "least-squares" is CODIAG_CRITERION_LEAST_SQUARES.
fn constant(kind: &str, name: &str) -> String {
    format!("CODIAG_{kind}_{}", name.to_uppercase().replace('-', "_"))
}

fn constant_of_criterion(criterion: Criterion) -> String {
    constant("CRITERION", criterion.name())
}

fn constant_of_method(method: Method) -> String {
    constant("METHOD", method.name())
}

fn advice(remedy: Remedy) -> String {
    match remedy {
        Remedy::Reduce { rank } => format!(
            "all matrices share a null space (the mean has rank {rank}): reduce the set to its range with \
             rank = CODIAG_RANK_AUTO or rank = {rank}"
        ),
        Remedy::Shrink { shrinkage } => format!(
            "its companions do not share its null space: lift it with shrinkage, for instance \
             shrinkage = {shrinkage:e}"
        ),
        _ => format!(
            "only {} can take a set that is not positive definite",
            symmetric_criteria(constant_of_criterion)
        ),
    }
}

/// What would need less memory. Sets in C are always in memory.
fn memory_advice(remedy: MemoryRemedy) -> String {
    match remedy {
        MemoryRemedy::Setting {
            setting,
            value,
            needs,
        } => format!("; {} = {value} needs {needs}", name(setting)),
        MemoryRemedy::OnDisk => "; use fewer or smaller matrices".to_owned(),
        _ => String::new(),
    }
}

fn conflict_words(conflict: Conflict) -> String {
    let least_squares = constant_of_criterion(Criterion::LeastSquares);
    match conflict {
        Conflict::OrthogonalPham => "orthogonal = 1 is not for CODIAG_METHOD_PHAM".to_owned(),
        Conflict::OrthogonalReduced => {
            "orthogonal = 1 is not for a set reduced by rank, whose axes are not those of the channels"
                .to_owned()
        }
        Conflict::OrthogonalLeastSquares => format!(
            "orthogonal = 1 is not for {least_squares}: over rotations it is {}",
            constant_of_criterion(Criterion::Frobenius)
        ),
        other => other.to_string(),
    }
}

/// The field or argument of a setting.
fn name(setting: Setting) -> String {
    match setting {
        Setting::Segments | Setting::SegmentLength => "segments".to_owned(),
        other => other.to_string(),
    }
}

fn choices(setting: Setting, expected: Expected) -> String {
    match (setting, expected) {
        (Setting::Rank, Expected::OneOfOr(_, number)) => {
            format!("0, CODIAG_RANK_AUTO or {number}")
        }
        (_, expected) => expected.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use codiag::{Matrix, MatrixSet, SetOptions, Settings, Start, diagonalize};

    use super::*;

    fn about(data: &[f64], n: usize, p: usize, options: &SetOptions) -> String {
        sentence(&MatrixSet::with_options(data, n, p, options).unwrap_err())
    }

    /// Whatever is said to someone who writes C has names that C has.
    #[test]
    fn advice_is_in_the_names_of_c() {
        let plain = SetOptions::default();
        let shared = about(&[2.0, 0.0, 2.0, 0.0, 1.0, 1.0, 2.0, 1.0, 3.0], 1, 3, &plain);
        assert!(
            shared.ends_with("rank = CODIAG_RANK_AUTO or rank = 2"),
            "{shared}"
        );
        let single = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0];
        assert!(about(&single, 2, 2, &plain).ends_with("shrinkage = 1e-3"));
        let negative = about(&[1.0, 0.0, 0.0, -3.0], 1, 2, &plain);
        let takers = "CODIAG_CRITERION_FROBENIUS and CODIAG_CRITERION_LEAST_SQUARES can take";
        assert!(negative.contains(takers), "{negative}");
        let asymmetric = about(&[1.0, 0.5, 0.0, 1.0], 1, 2, &plain);
        assert!(asymmetric.ends_with("symmetrize = 1 takes the mean of the two"));
        let rank = about(
            &[1.0, 0.0, 0.0, 1.0],
            1,
            2,
            &plain.rank(codiag::Rank::Exactly(3)),
        );
        assert_eq!(
            rank,
            "rank must be 0, CODIAG_RANK_AUTO or a number from 1 to p, got 3"
        );
    }

    #[test]
    fn advice_about_memory_is_in_the_names_of_c() {
        let error = MatrixSet::<f64>::check_memory(1 << 40, 100).unwrap_err();
        let text = sentence(&error);
        assert!(
            text.contains("matrices of 100 x 100 needs about 179 PB"),
            "{text}"
        );
        assert!(text.ends_with("; use fewer or smaller matrices"), "{text}");
    }

    #[test]
    fn settings_and_conflicts_are_in_the_names_of_c() {
        let options = SetOptions::default().criterion(Criterion::LeastSquares);
        let data = [2.0, 0.5, 0.5, 1.0, 1.0, 0.1, 0.1, 3.0];
        let set = MatrixSet::with_options(&data, 2, 2, &options).unwrap();
        let about = |settings: &Settings| sentence(&diagonalize(&set, settings).unwrap_err());
        let settings = Settings::default();
        assert_eq!(
            about(&settings.clone().tolerance(-1.0)),
            "tolerance must be a positive number, got -1"
        );
        assert_eq!(
            about(&settings.clone().orthogonal(true)),
            "orthogonal = 1 is not for CODIAG_CRITERION_LEAST_SQUARES: over rotations it is \
             CODIAG_CRITERION_FROBENIUS"
        );
        let jacobi = about(&settings.clone().method(Method::Jacobi));
        assert!(
            jacobi
                .starts_with("CODIAG_CRITERION_LEAST_SQUARES has the methods CODIAG_METHOD_NEWTON")
        );
        assert!(jacobi.ends_with("not CODIAG_METHOD_JACOBI"));
        let singular = Matrix::from_rows(2, 2, vec![1.0, 2.0, 2.0, 4.0]);
        assert_eq!(
            about(&settings.start(Start::Given(singular))),
            "b must be finite and invertible, but it is singular"
        );
    }
}
