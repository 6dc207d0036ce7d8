//! Error messages. All bindings share the sentences; each supplies the names of its options.

use std::io;

use super::npy::{shape_advice, tuple};
use super::{
    Conflict, Error, Expected, InitProblem, MemoryRemedy, NpyError, OptionNames, Portion, Remedy,
    Setting, nearest_name,
};
use crate::choices::{Criterion, Method, SortBy};
use crate::memory::Memory;

impl Error {
    /// Returns the message, with options spelled by `names`. It begins with a lower-case letter and
    /// has no final period.
    #[allow(clippy::too_many_lines)] // a list
    pub fn render(&self, names: &dyn OptionNames) -> String {
        let number = |index: usize| index + names.first_index();
        match self {
            Self::Shape { shape } => format!(
                "expected n matrices of size p x p with n, p > 0, got shape {}{}",
                tuple(shape),
                shape_advice(shape)
            ),
            Self::Length {
                shape,
                expected,
                actual,
            } => format!("shape {} needs {expected} numbers, got {actual}", tuple(shape)),
            Self::TooLarge { shape } => {
                format!("shape {} has more numbers than can be addressed", tuple(shape))
            }
            Self::MatrixLength {
                matrix,
                size,
                actual,
            } => format!(
                "matrix {} has {actual} numbers, but a {size} x {size} matrix has {}",
                number(*matrix),
                size * size
            ),
            Self::NotFinite {
                matrix,
                row,
                column,
                value,
                imaginary,
            } => format!(
                "matrix {}: {}entry ({}, {}) is {value}, not a finite number; correct it, or leave the \
                 matrix out",
                number(*matrix),
                if *imaginary { "the imaginary part of " } else { "" },
                number(*row),
                number(*column)
            ),
            Self::Range { power } => format!(
                "the mean of the matrices has a diagonal entry of {power:.3e}; rescale the matrices so that \
                 it lies between 1e-250 and 1e250"
            ),
            Self::Energy { norm } => format!(
                "the root mean square norm of the matrices is {norm:.3e}; rescale the matrices so that it \
                 lies between 1e-70 and 1e70"
            ),
            Self::Asymmetric {
                matrix,
                row,
                column,
                asymmetry,
                complex,
            } => asymmetric(
                number(*matrix),
                (number(*row), number(*column)),
                *asymmetry,
                *complex,
                names,
            ),
            Self::NotPositiveDefinite {
                matrix,
                eigenvalue,
                remedy,
            } => {
                let which = match matrix {
                    Some(matrix) => format!("matrix {}", number(*matrix)),
                    None => "the mean of the matrices".to_owned(),
                };
                format!(
                    "{which} is not positive definite (smallest eigenvalue {eigenvalue:.3e}); {}",
                    definite_advice(*remedy, names)
                )
            }
            Self::WeightsLength { expected, actual } => format!(
                "expected {expected} weights, one per matrix, but the length of {} is {actual}",
                names.option(Setting::Weights)
            ),
            Self::Weight { index, value } => format!(
                "weight {} is {value}; all entries of {} must be finite and nonnegative",
                number(*index),
                names.option(Setting::Weights)
            ),
            Self::WeightsZero => format!(
                "all weights are zero; at least one entry of {} must be positive",
                names.option(Setting::Weights)
            ),
            Self::InitShape {
                expected,
                rows,
                columns,
            } => format!(
                "{} must be {} x {}, got {rows} x {columns}",
                names.given_matrix(),
                expected.0,
                expected.1
            ),
            Self::Init { problem } => init(*problem, names),
            Self::NoEigenvalues => {
                "the eigenvalues of the mean of the matrices cannot be computed; check the matrices for \
                 very large or very small entries"
                    .to_owned()
            }
            Self::Setting {
                setting,
                expected,
                value,
            } => invalid_setting(*setting, *expected, value, names),
            Self::Conflict(conflict) => conflicting(*conflict, names),
            Self::Method { criterion, method } => {
                let supported = criterion.methods().iter();
                let supported = supported.map(|m| names.with_choice(Setting::Method, m.name()));
                format!(
                    "{} does not support {}; use {}",
                    names.with_choice(Setting::Criterion, criterion.name()),
                    names.with_choice(Setting::Method, method.name()),
                    list(supported.collect(), "or")
                )
            }
            Self::RecordingShape { epochs, shape } => format!(
                "expected a nonempty array of {}channels x samples, got shape {}",
                if *epochs { "epochs x " } else { "" },
                tuple(shape)
            ),
            Self::Constant => {
                "the recording has zero variance: every channel is constant; check how it was read".to_owned()
            }
            Self::Channels { expected, actual } => format!(
                "expected {expected} channels, got {actual}; pass the channels of the recording that was \
                 fitted"
            ),
            Self::SampleNotFinite {
                channel,
                sample,
                value,
            } => format!(
                "channel {}, sample {} is {value}, not a finite number; correct or exclude these samples",
                number(*channel),
                number(*sample)
            ),
            Self::TooFewSamples {
                portion,
                samples,
                dimension,
                needed,
            } => too_few_samples(*portion, *samples, *dimension, *needed, names),
            Self::Memory { smallest, given } => format!(
                "{} must be at least {smallest} for matrices of this size, got {given}",
                names.option(Setting::Memory)
            ),
            Self::OutOfMemory {
                what,
                needed,
                available,
                remedy,
            } => memory_shortage(what, *needed, *available) + &memory_advice(*remedy, names),
            Self::Io(error) => format!("cannot be read: {}", system_reason(error.get())),
            Self::Npy(NpyError::FortranOrder) => {
                format!("{}, or {}", NpyError::FortranOrder, names.in_memory())
            }
            Self::Npy(error) => error.to_string(),
            Self::Truncated {
                matrices,
                size,
                bytes,
                matrix,
            } => format!(
                "the file is truncated: its {matrices} matrices of {size} x {size} need {bytes} bytes, but \
                 it ends within matrix {}; write the file again",
                number(*matrix)
            ),
            Self::File { path, error } => format!("{}: {}", path.display(), error.render(names)),
            Self::InvalidResponse { expected, actual } => format!(
                "a worker returned {actual} numbers instead of {expected}; client and workers may run \
                 different versions of codiag"
            ),
            Self::InvalidRequest => {
                "a worker received an invalid request; client and workers may run different versions of \
                 codiag"
                    .to_owned()
            }
            Self::External(error) => error.to_string(),
            Self::Interrupted => "interrupted before the first iterate was available".to_owned(),
        }
    }
}

/// Lists the criteria that accept indefinite matrices: "a or b".
pub fn criteria_for_indefinite(names: &dyn OptionNames) -> String {
    let criteria = Criterion::for_any_symmetric();
    let named = criteria.map(|c| names.with_choice(Setting::Criterion, c.name()));
    list(named.collect(), "or")
}

/// Returns the message of the operating system without its error number, and with a lower-case
/// first letter.
pub fn system_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().collect::<String>() + letters.as_str()
    })
}

/// Joins items: "a, b or c".
fn list(mut items: Vec<String>, conjunction: &str) -> String {
    match items.pop() {
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} {conjunction} {last}", items.join(", ")),
        None => String::new(),
    }
}

fn asymmetric(
    matrix: usize,
    (row, column): (usize, usize),
    asymmetry: f64,
    complex: bool,
    names: &dyn OptionNames,
) -> String {
    let (kind, conjugate) = if complex {
        ("Hermitian", "the conjugate of ")
    } else {
        ("symmetric", "")
    };
    let entries = if row == column {
        format!("entry ({row}, {row}) and its conjugate")
    } else {
        format!("entries ({row}, {column}) and {conjugate}({column}, {row})")
    };
    format!(
        "matrix {matrix} is not {kind}: {entries} differ by {asymmetry:.3e} of the largest entry (tolerance \
         1e-8); use {} to replace it by its {kind} part",
        names.switched_on(Setting::Symmetrize)
    )
}

/// Returns a remedy for a set that is not positive definite, as an instruction.
fn definite_advice(remedy: Remedy, names: &dyn OptionNames) -> String {
    match remedy {
        Remedy::Reduce { rank } => format!(
            "all matrices share a null space (the mean has rank {rank}): use {} or {}",
            names.with_choice(Setting::Rank, "auto"),
            names.with_value(Setting::Rank, &rank.to_string())
        ),
        Remedy::Shrink { shrinkage } => format!(
            "regularize the set with {}, or leave this matrix out; it may have been computed from too few samples",
            names.with_value(Setting::Shrinkage, &format!("{shrinkage:e}"))
        ),
        Remedy::None => format!(
            "for indefinite matrices use {}",
            criteria_for_indefinite(names)
        ),
    }
}

fn init(problem: InitProblem, names: &dyn OptionNames) -> String {
    let given = names.given_matrix();
    match problem {
        InitProblem::NotFinite => {
            format!("{given} must be finite and invertible, but it has NaN or infinite entries")
        }
        InitProblem::Singular => {
            format!("{given} must be finite and invertible, but it is singular")
        }
        InitProblem::NotOrthogonal => format!(
            "{given} must be orthogonal (unitary if complex), as {} and {} require, but it is not",
            names.switched_on(Setting::Orthogonal),
            names.with_choice(Setting::Criterion, Criterion::Frobenius.name())
        ),
        InitProblem::Complex => {
            format!("{given} must be real, as the matrices are, but it is complex")
        }
    }
}

/// Returns the message about a value that a setting does not accept.
fn invalid_setting(
    setting: Setting,
    expected: Expected,
    value: &str,
    names: &dyn OptionNames,
) -> String {
    let option = names.option(setting);
    let accepted = accepted_values(setting, expected, names);
    let unquoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    let (Some(name), Expected::OneOf(choices) | Expected::OneOfOr(choices, _)) =
        (unquoted, expected)
    else {
        return format!("{option} must be {accepted}, got {value}");
    };
    let nearest = nearest_name(name, choices.iter().copied());
    match nearest.and_then(|nearest| names.choice(setting, nearest)) {
        Some(nearest) => {
            format!("unknown {option} {value}; did you mean {nearest}? Valid: {accepted}")
        }
        None => format!("unknown {option} {value}; valid: {accepted}"),
    }
}

/// Describes the values that a setting accepts, by a phrase that can follow "must be".
fn accepted_values(setting: Setting, expected: Expected, names: &dyn OptionNames) -> String {
    let choices = |accepted: &[&str]| -> Vec<String> {
        let choices = accepted
            .iter()
            .filter_map(|name| names.choice(setting, name));
        choices.collect()
    };
    match expected {
        Expected::Positive => "a positive number".to_owned(),
        Expected::AtLeast(least) => format!("at least {least}"),
        Expected::AtMost(most) => format!("at most {most}"),
        Expected::Between(low, high) => format!("between {low} and {high}"),
        Expected::Below(low, high) => format!("at least {low} and below {high}"),
        Expected::Above(low, high) => format!("above {low} and at most {high}"),
        Expected::OneOf(accepted) => list(choices(accepted), "or"),
        Expected::OneOfOr(accepted, other) => {
            let mut choices = choices(accepted);
            choices.push(other.to_owned());
            list(choices, "or")
        }
        Expected::Words(words) => words.to_owned(),
    }
}

fn conflicting(conflict: Conflict, names: &dyn OptionNames) -> String {
    let method = |method: Method| names.with_choice(Setting::Method, method.name());
    let least_squares = names.with_choice(Setting::Criterion, Criterion::LeastSquares.name());
    let orthogonal = names.switched_on(Setting::Orthogonal);
    let newton = format!(
        "{} or {}",
        method(Method::Newton),
        method(Method::QuasiNewton)
    );
    match conflict {
        Conflict::OrthogonalMethod(other) => {
            format!(
                "{} does not support {orthogonal}; use {newton}",
                method(other)
            )
        }
        Conflict::OrthogonalReduced => format!(
            "{orthogonal} cannot be combined with {}, because the axes of a reduced set are not the \
             channels; use one of the two",
            names.option(Setting::Rank)
        ),
        Conflict::OrthogonalLeastSquares => format!(
            "{least_squares} does not support {orthogonal}; use {}, which is equivalent for orthogonal B",
            names.with_choice(Setting::Criterion, Criterion::Frobenius.name())
        ),
        Conflict::LeastSquaresHessian => {
            format!("the Hessian is not available for {least_squares}")
        }
        Conflict::PairsNotInMemory => format!(
            "{} and {} require all matrices in memory; use {newton}, or {}",
            method(Method::Pham),
            method(Method::Jacobi),
            names.in_memory()
        ),
        Conflict::StabilityNotEstimated => format!(
            "{} requires resamples or restarts, from which the stability is estimated; use {} or {}",
            names.with_choice(Setting::SortBy, SortBy::Stability.name()),
            names.with_value(Setting::NResamples, "20"),
            names.with_value(Setting::NRestarts, "20")
        ),
        Conflict::StabilityNotInMemory => format!(
            "{} requires all matrices in memory; use {}, or {}",
            names.option(Setting::NResamples),
            names.option(Setting::NRestarts),
            names.in_memory()
        ),
    }
}

/// Returns the message about a covariance that would be singular.
fn too_few_samples(
    portion: Portion,
    samples: usize,
    dimension: usize,
    needed: usize,
    names: &dyn OptionNames,
) -> String {
    let number = |index: usize| index + names.first_index();
    let option = |setting| names.option(setting);
    let mut segment_options = vec![
        option(Setting::NSegments).into_owned(),
        option(Setting::SegmentLength).into_owned(),
    ];
    // One argument in C.
    segment_options.dedup();
    let (which, unit, advice) = match portion {
        Portion::Segment(i) => (
            format!("segment {}", number(i)),
            "samples",
            format!("fewer or longer segments ({})", list(segment_options, "or")),
        ),
        Portion::Epoch(i) => (
            format!("epoch {}", number(i)),
            "samples",
            "one covariance per class".to_owned(),
        ),
        Portion::Class(i) => (
            format!("class {}", number(i)),
            "samples",
            "more epochs".to_owned(),
        ),
        Portion::Band { low, high } => (
            format!("the band {low}-{high} Hz"),
            "Fourier coefficients",
            format!("wider bands ({})", option(Setting::Bands)),
        ),
    };
    let most = dimension.saturating_sub(needed.saturating_sub(samples));
    let alternatives = if !names.regularizes_covariances() {
        ", or a longer recording".to_owned()
    } else if most == 0 {
        format!(", or {}", option(Setting::Shrinkage))
    } else {
        format!(
            ", at most {most} components ({}), or {}",
            option(Setting::Components),
            option(Setting::Shrinkage)
        )
    };
    let question = axes_question(portion, samples, dimension);
    format!(
        "{which} has {samples} {unit}, but a {dimension} x {dimension} matrix needs at least \
         {needed}; {question}use {advice}{alternatives}"
    )
}

/// Returns a question about the shape of an array of epochs with very few samples.
fn axes_question(portion: Portion, samples: usize, dimension: usize) -> String {
    match portion {
        Portion::Epoch(_) if samples == dimension => {
            "are the epochs covariance matrices already? Then pass them to diagonalize; otherwise "
                .to_owned()
        }
        Portion::Epoch(_) | Portion::Class(_) if samples < dimension => format!(
            "{dimension} channels and {samples} samples: are the axes in another order than epochs x \
             channels x samples? Otherwise "
        ),
        _ => String::new(),
    }
}

/// Compares the memory that a computation needs with what is available.
fn memory_shortage(what: &str, needed: Memory, available: Option<Memory>) -> String {
    let amount = match needed {
        Memory::UNCOUNTABLE => "more than 18 EB".to_owned(),
        needed => format!("about {needed}"),
    };
    match available {
        Some(available) => {
            format!("{what} needs {amount} of memory, but {available} is available")
        }
        None => format!("{what} needs {amount} of memory, which cannot be allocated"),
    }
}

/// Returns a change that needs less memory, as the end of a sentence.
fn memory_advice(remedy: MemoryRemedy, names: &dyn OptionNames) -> String {
    match remedy {
        MemoryRemedy::Setting {
            setting,
            value,
            needs,
        } => {
            let value = names.with_value(setting, &value.to_string());
            format!("; {value} needs {needs}")
        }
        MemoryRemedy::OnDisk => match names.on_disk() {
            Some(on_disk) => format!("; use fewer matrices, or {on_disk}"),
            None => "; use fewer or smaller matrices".to_owned(),
        },
        MemoryRemedy::None => String::new(),
    }
}
