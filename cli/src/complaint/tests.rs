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
#[allow(clippy::too_many_lines)] // a list
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
                imaginary: false,
            },
            &["matrix 1: entry (0, 2) is NaN"],
        ),
        (Error::Range { power: 1e-300 }, &["change the unit"]),
        (
            Error::Energy { norm: 1e99 },
            &["1.000e99", "change the unit"],
        ),
        (
            Error::Asymmetric {
                matrix: 7,
                row: 1,
                column: 0,
                asymmetry: 4e-8,
                complex: false,
            },
            &[
                "matrix 7 is not symmetric",
                "4.000e-8",
                "--symmetrize",
                "(C + C')/2",
            ],
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
        (Error::Npy(NpyError::HeaderTruncated), &["too short"]),
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
        (Conflict::OrthogonalLeastSquares, "--criterion frobenius"),
        (Conflict::PairsNotInMemory, "--memory"),
        (Conflict::OrderUntried, "--stability 20"),
        (Conflict::StabilityNotInMemory, "--memory"),
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
