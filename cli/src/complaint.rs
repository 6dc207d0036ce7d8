//! What is wrong, in the program's own words: the library says which setting, matrix or file as
//! data, and here it becomes a sentence with the names of options, and with advice.
//!
//! Errors travel as they are; they are put in words once, where they are printed.

use std::io;

use codiag::Error;
use codiag::error::{Conflict, Expected, Portion, Remedy, Setting, StartProblem};
use codiag::npy::NpyError;

/// An error with all that was said about where it happened, on one line.
pub fn line(error: &anyhow::Error) -> String {
    let mut parts = Vec::new();
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<Error>() {
            // Its sentence has its own causes in it.
            parts.push(sentence(error));
            break;
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            parts.push(reason(error));
            break;
        }
        parts.push(cause.to_string());
    }
    // Scripts and people both read the last line.
    parts.join(": ").replace('\n', " ")
}

/// An error of the library. Sentences that name nothing a user of the program would not know are
/// the library's own.
pub fn sentence(error: &Error) -> String {
    match error {
        Error::Asymmetric {
            matrix,
            row,
            column,
            asymmetry,
        } => format!(
            "matrix {matrix} is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ by \
             {asymmetry:.1e} of the largest entry, and at most 1e-8 is taken as rounding; if it is a \
             covariance, save (C + C')/2"
        ),
        Error::NotPositiveDefinite {
            matrix,
            eigenvalue,
            remedy,
        } => {
            let which = matrix.map_or_else(
                || "the mean of the matrices".to_owned(),
                |i| format!("matrix {i}"),
            );
            format!(
                "{which} is not positive definite: its smallest eigenvalue is {eigenvalue:.3e}; {}",
                advice(*remedy)
            )
        }
        Error::StartShape {
            expected: (r, p),
            rows,
            columns,
        } => format!("the start must be {r} x {p}, got {rows} x {columns}"),
        Error::Start { problem } => match problem {
            StartProblem::NotOrthogonal => {
                "the start must be orthogonal, as --orthogonal asks, but it is not".to_owned()
            }
            problem => {
                format!("the start must be finite and invertible, but it is {problem}")
            }
        },
        Error::Setting {
            setting,
            expected,
            value,
        } => {
            let choices = choices(*setting, *expected);
            format!("{} must be {choices}, got {value}", option(*setting))
        }
        Error::Conflict(conflict) => contradiction(*conflict),
        Error::SampleNotFinite {
            channel,
            sample,
            value,
        } => format!(
            "channel {channel}, sample {sample} is {value}, not a finite number: mend the recording, or \
             leave that part out of it"
        ),
        Error::TooFewSamples {
            portion,
            samples,
            dimension,
            needed,
        } => format!(
            "{portion} has {samples} {}, but a {dimension} x {dimension} matrix needs at least {needed}: {}, \
             ask for at most {} components (--components), or for --shrinkage",
            portion.unit(),
            larger(*portion),
            dimension.saturating_sub(needed - samples)
        ),
        Error::Memory { smallest, given } => format!(
            "--memory must be at least {smallest} for matrices of this size, got {given}"
        ),
        Error::Io(error) => format!("cannot be read: {}", reason(error.get())),
        Error::Npy(NpyError::FortranOrder) => {
            "the array is in Fortran order, in which no matrix is in one place: save it in C order, or \
             leave out --memory"
                .to_owned()
        }
        Error::File { path, error } => format!("{}: {}", path.display(), sentence(error)),
        other => other.to_string(),
    }
}

/// The system's words, without its error number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().collect::<String>() + letters.as_str()
    })
}

/// What would help a set that is not positive definite.
pub fn advice(remedy: Remedy) -> String {
    match remedy {
        Remedy::Reduce { rank } => format!(
            "all matrices share a null space (the mean has rank {rank}): use --rank auto or --rank {rank}"
        ),
        Remedy::Shrink { shrinkage } => format!(
            "the others do not share its null space: was it estimated from too few samples? Use --shrinkage \
             {shrinkage:e}, or leave it out"
        ),
        _ => "neither --rank nor --shrinkage would help: is it a covariance?".to_owned(),
    }
}

/// The option of a setting; what the program has no option for has the library's name.
fn option(setting: Setting) -> String {
    let option = match setting {
        Setting::Bands => "--bands",
        Setting::Components => "--components",
        // What is excluded by --exclude is checked by the program; these are spans of samples.
        Setting::Exclude => "the bad spans",
        Setting::Memory => "--memory",
        Setting::Method => "--method",
        Setting::Overlap => "--overlap",
        Setting::Rank => "--rank",
        Setting::Rate => "--rate",
        Setting::Scale => "--scale",
        Setting::SegmentLength => "--segment-length",
        Setting::Segments => "--segments",
        Setting::Shrinkage => "--shrinkage",
        Setting::Start => "--start",
        Setting::Threads => "--threads",
        Setting::Tolerance => "--tol",
        Setting::WindowLength => "--window-length",
        other => return other.to_string(),
    };
    option.to_owned()
}

/// What a setting may be, as a phrase that follows "must be".
fn choices(setting: Setting, expected: Expected) -> String {
    match (setting, expected) {
        // Not to reduce at all is to leave the option out.
        (Setting::Rank, Expected::OneOfOr(_, number)) => format!("{number}, or \"auto\""),
        (Setting::Shrinkage, Expected::OneOfOr(_, number)) => {
            format!("{number}, \"auto\" or \"oas\"")
        }
        (Setting::Start, Expected::OneOfOr(names, _)) => {
            format!("{}, or a file with a matrix", names.join(", "))
        }
        (_, expected) => expected.to_string(),
    }
}

fn contradiction(conflict: Conflict) -> String {
    match conflict {
        Conflict::OrthogonalPham => {
            "--orthogonal is not for --method pham: choose newton or quasi-newton".to_owned()
        }
        Conflict::OrthogonalReduced => {
            "--orthogonal is not for a set reduced by --rank, whose axes are not those of the channels"
                .to_owned()
        }
        Conflict::PhamNotInMemory => {
            "--method pham would read the file p²/2 times in each iteration: choose newton or \
             quasi-newton, or leave out --memory"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// What makes a stretch of a recording larger.
fn larger(portion: Portion) -> &'static str {
    match portion {
        Portion::Segment(_) => "take fewer or longer segments (--segments, --segment-length)",
        Portion::Band { .. } => "take wider bands (--bands)",
        other => other.remedy(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use codiag::Memory;

    use super::*;

    fn setting(setting: Setting, expected: Expected, value: &str) -> Error {
        Error::Setting {
            setting,
            expected,
            value: value.to_owned(),
        }
    }

    fn not_definite(remedy: Remedy) -> Error {
        Error::NotPositiveDefinite {
            matrix: Some(3),
            eigenvalue: -2e-9,
            remedy,
        }
    }

    /// One error of each kind, with what must be in its sentence.
    fn examples() -> Vec<(Error, &'static [&'static str])> {
        let missing = io::Error::from_raw_os_error(2);
        vec![
            (Error::Shape { shape: vec![0, 2] }, &["[0, 2]"]),
            (
                Error::Length {
                    shape: vec![1, 2, 2],
                    expected: 4,
                    actual: 3,
                },
                &["4", "3"],
            ),
            (Error::TooLarge { shape: vec![9] }, &["more numbers"]),
            (
                Error::MatrixLength {
                    matrix: 5,
                    size: 2,
                    actual: 3,
                },
                &["matrix 5", "2 x 2"],
            ),
            (
                Error::NotFinite {
                    matrix: 1,
                    row: 0,
                    column: 2,
                    value: f64::NAN,
                },
                &["matrix 1: entry (0, 2) is NaN"],
            ),
            (Error::Range { power: 1e-300 }, &["change the unit"]),
            (
                Error::Asymmetric {
                    matrix: 7,
                    row: 1,
                    column: 0,
                    asymmetry: 4e-8,
                },
                &["matrix 7 is not symmetric", "4.0e-8", "(C + C')/2"],
            ),
            (
                not_definite(Remedy::Reduce { rank: 4 }),
                &["matrix 3", "-2.000e-9", "--rank auto or --rank 4"],
            ),
            (
                not_definite(Remedy::Shrink { shrinkage: 1e-3 }),
                &["--shrinkage 1e-3"],
            ),
            (not_definite(Remedy::None), &["neither --rank nor"]),
            (
                Error::WeightsLength {
                    expected: 3,
                    actual: 2,
                },
                &["expected 3 weights"],
            ),
            (
                Error::Weight {
                    index: 1,
                    value: -1.0,
                },
                &["weight 1", "not negative"],
            ),
            (Error::WeightsZero, &["all weights are zero"]),
            (
                Error::StartShape {
                    expected: (3, 5),
                    rows: 5,
                    columns: 5,
                },
                &["the start must be 3 x 5, got 5 x 5"],
            ),
            (
                Error::Start {
                    problem: StartProblem::Singular,
                },
                &["the start must be finite and invertible", "singular"],
            ),
            (
                Error::Start {
                    problem: StartProblem::NotOrthogonal,
                },
                &["--orthogonal"],
            ),
            (Error::NoEigenvalues, &["eigenvalues of the mean"]),
            (
                Error::RecordingShape {
                    epochs: false,
                    shape: vec![0, 4],
                },
                &["channels x samples"],
            ),
            (Error::Constant, &["more than constants"]),
            (
                Error::Channels {
                    expected: 3,
                    actual: 2,
                },
                &["expected 3 channels"],
            ),
            (
                Error::SampleNotFinite {
                    channel: 1,
                    sample: 2,
                    value: f64::INFINITY,
                },
                &["channel 1, sample 2 is inf"],
            ),
            (
                Error::TooFewSamples {
                    portion: Portion::Segment(0),
                    samples: 10,
                    dimension: 10,
                    needed: 11,
                },
                &[
                    "segment 0 has 10 samples",
                    "at most 9 components (--components)",
                    "--shrinkage",
                ],
            ),
            (
                Error::TooFewSamples {
                    portion: Portion::Band {
                        low: 1.0,
                        high: 4.0,
                    },
                    samples: 3,
                    dimension: 10,
                    needed: 11,
                },
                &["1-4 Hz", "--bands"],
            ),
            (
                Error::Memory {
                    smallest: Memory(2_000_000),
                    given: Memory(1000),
                },
                &["--memory must be at least 2"],
            ),
            (missing.into(), &["cannot be read: no such file"]),
            (Error::Npy(NpyError::NotNpy), &["not a .npy file"]),
            (Error::Npy(NpyError::FortranOrder), &["leave out --memory"]),
            (
                Error::Truncated {
                    matrices: 4,
                    size: 2,
                    bytes: 128,
                    matrix: 3,
                },
                &["truncated", "within matrix 3"],
            ),
            (
                Error::File {
                    path: PathBuf::from("c.npy"),
                    error: Box::new(not_definite(Remedy::Reduce { rank: 4 })),
                },
                &["c.npy: matrix 3", "--rank auto"],
            ),
            (
                Error::Answer {
                    expected: 2,
                    actual: 1,
                },
                &["same version"],
            ),
            (Error::Question, &["same version"]),
            (Error::external("the disk has gone"), &["the disk has gone"]),
            (Error::Interrupted, &["interrupted"]),
        ]
    }

    #[test]
    fn every_error_is_said_in_the_programs_words() {
        let conflicts = [
            (Conflict::OrthogonalPham, "--method pham"),
            (Conflict::OrthogonalReduced, "--rank"),
            (Conflict::PhamNotInMemory, "--memory"),
        ]
        .map(|(conflict, part)| (Error::Conflict(conflict), vec![part]));
        let examples = examples().into_iter().map(|(e, parts)| (e, parts.to_vec()));
        for (error, parts) in examples.chain(conflicts) {
            let text = sentence(&error);
            for part in parts {
                assert!(text.contains(part), "{text} lacks {part:?}");
            }
            // No name of the library's Rust or Python interface.
            assert!(!text.contains("::") && !text.contains('='), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn settings_have_the_names_of_options() {
        let number = "a number from 1 to p";
        let cases = [
            (
                setting(Setting::Tolerance, Expected::Positive, "0"),
                "--tol must be a positive number, got 0",
            ),
            (
                setting(Setting::Threads, Expected::AtLeast(1), "0"),
                "--threads must be at least 1, got 0",
            ),
            (
                setting(
                    Setting::Rank,
                    Expected::OneOfOr(&["full", "auto"], number),
                    "9",
                ),
                "--rank must be a number from 1 to p, or \"auto\", got 9",
            ),
            (
                setting(Setting::Shrinkage, Expected::Between(0.0, 1.0), "2"),
                "--shrinkage must be between 0 and 1, got 2",
            ),
            (
                setting(Setting::WindowLength, Expected::AtLeast(1), "0"),
                "--window-length must be at least 1, got 0",
            ),
            (
                setting(Setting::Forgetting, Expected::Above(0.0, 1.0), "2"),
                "forgetting must be above 0 and at most 1, got 2",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(sentence(&error), expected);
        }
    }

    #[test]
    fn a_line_names_the_place_and_says_each_thing_once() {
        let error = anyhow::Error::from(Error::from(io::Error::from_raw_os_error(2)));
        assert_eq!(
            line(&error.context("b.npy")),
            "b.npy: cannot be read: no such file or directory"
        );
        let error = anyhow::anyhow!("two\nlines").context("b.npy");
        assert_eq!(line(&error), "b.npy: two lines");
    }
}
