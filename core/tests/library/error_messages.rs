//! Every error message names the options of its language, and no other spelling.

#![allow(clippy::too_many_lines)] // tables

use std::io;
use std::path::PathBuf;

use codiag::error::{Conflict, Expected, InitProblem, MemoryRemedy, Portion, Remedy, Setting};
use codiag::npy::NpyError;
use codiag::{Criterion, Error, Init, Memory, Method};

#[path = "../../../capi/src/option_names.rs"]
mod c;
#[path = "../../../cli/src/option_names.rs"]
mod program;
#[path = "../../../python/src/option_names.rs"]
mod python;

const LANGUAGES: usize = 6;
const PYTHON: python::Keywords = python::Keywords {
    given_matrix: "init",
};

/// Renders an error for Rust, the program, Python, C, R and Octave.
fn render(error: &Error) -> [String; LANGUAGES] {
    [
        error.to_string(),
        error.render(&program::Flags),
        error.render(&PYTHON),
        error.render(&c::C),
        error.render(&c::R),
        error.render(&c::Octave),
    ]
}

/// Spellings that only other languages have, in the order of [`render`].
const FOREIGN: [&[&str]; LANGUAGES] = [
    &["--", "CODIAG_", "=True", "=\"", "TRUE", "'"],
    &["::", "CODIAG_", "=", "TRUE", "'", "\""],
    &["::", "--", "CODIAG_", " = ", "TRUE", "'"],
    &["::", "--", "=True", "=\"", "TRUE", "'", "\""],
    &["::", "--", "CODIAG_", "=True", "=\"", "'"],
    &["::", "--", "CODIAG_", "=", "TRUE", "\""],
];

fn not_definite(remedy: Remedy) -> Error {
    Error::NotPositiveDefinite {
        matrix: Some(3),
        eigenvalue: -2e-9,
        remedy,
    }
}

fn asymmetric(column: usize, complex: bool) -> Error {
    Error::Asymmetric {
        matrix: 7,
        row: 1,
        column,
        asymmetry: 4e-8,
        complex,
    }
}

fn setting(setting: Setting, expected: Expected) -> Error {
    Error::Setting {
        setting,
        expected,
        value: "9".to_owned(),
    }
}

fn too_few(portion: Portion) -> Error {
    Error::TooFewSamples {
        portion,
        samples: 10,
        dimension: 10,
        needed: 11,
    }
}

fn out_of_memory(remedy: MemoryRemedy) -> Error {
    Error::OutOfMemory {
        what: "JADE of 306 components".to_owned(),
        needed: Memory(36_000_000_000),
        available: Some(Memory(24_000_000_000)),
        remedy,
    }
}

/// Errors, with a part of their message in each language.
fn with_options() -> Vec<(Error, [&'static str; LANGUAGES])> {
    let lags = MemoryRemedy::Setting {
        setting: Setting::Lags,
        value: 40,
        needs: Memory(1_000_000),
    };
    let components = MemoryRemedy::Setting {
        setting: Setting::Components,
        value: 40,
        needs: Memory(1_000_000),
    };
    vec![
        (
            not_definite(Remedy::Reduce { rank: 4 }),
            [
                "matrix 3 is not positive definite (smallest eigenvalue -2.000e-9); all matrices share a null \
                 space (the mean has rank 4): use Rank::Auto or Rank::Exactly(4)",
                "matrix 3 is not positive definite (smallest eigenvalue -2.000e-9); all matrices share a null \
                 space (the mean has rank 4): use --n-components auto or --n-components 4",
                "use n_components=\"auto\" or n_components=4",
                "use n_components = CODIAG_N_COMPONENTS_AUTO or n_components = 4",
                "use n_components = \"auto\" or n_components = 4",
                "use 'n_components', 'auto' or 'n_components', 4",
            ],
        ),
        (
            not_definite(Remedy::Shrink { shrinkage: 1e-3 }),
            [
                "regularize the set with SetOptions::shrinkage(1e-3), or leave this matrix out; it may have been \
                 computed from too few samples",
                "with --shrinkage 1e-3,",
                "with shrinkage=1e-3,",
                "with shrinkage = 1e-3,",
                "matrix 4 is not positive definite (smallest eigenvalue -2.000e-9); regularize the set with \
                 shrinkage = 1e-3, or leave this matrix out",
                "with 'shrinkage', 1e-3,",
            ],
        ),
        (
            not_definite(Remedy::None),
            [
                "for indefinite matrices use Criterion::Frobenius or Criterion::LeastSquares",
                "use --criterion frobenius or --criterion least-squares",
                "use criterion=\"frobenius\" or criterion=\"least-squares\"",
                "criterion = CODIAG_CRITERION_FROBENIUS or criterion = CODIAG_CRITERION_LEAST_SQUARES",
                "use criterion = \"frobenius\" or criterion = \"least-squares\"",
                "use 'criterion', 'frobenius' or 'criterion', 'least-squares'",
            ],
        ),
        (
            asymmetric(0, false),
            [
                "matrix 7 is not symmetric: entries (1, 0) and (0, 1) differ by 4.000e-8 of the largest entry \
                 (tolerance 1e-8); use SetOptions::symmetrize(true) to replace it by its symmetric part",
                "use --symmetrize to",
                "use symmetrize=True to",
                "use symmetrize = 1 to",
                "matrix 8 is not symmetric: entries (2, 1) and (1, 2) differ by 4.000e-8 of the largest entry \
                 (tolerance 1e-8); use symmetrize = TRUE to replace it by its symmetric part",
                "use 'symmetrize', true to",
            ],
        ),
        (
            Error::Init {
                problem: InitProblem::NotOrthogonal,
            },
            [
                "B must be orthogonal (unitary if complex), as Settings::orthogonal(true) and \
                 Criterion::Frobenius require",
                "the matrix of --init must be orthogonal (unitary if complex), as --orthogonal and --criterion \
                 frobenius require",
                "init must be orthogonal (unitary if complex), as orthogonal=True and \
                 criterion=\"frobenius\" require",
                "b must be orthogonal (unitary if complex), as orthogonal = 1",
                "init must be orthogonal (unitary if complex), as orthogonal = TRUE and",
                "as 'orthogonal', true and",
            ],
        ),
        (
            setting(Setting::Tol, Expected::Positive),
            [
                "tol must be a positive number, got 9",
                "--tol must be",
                "tol must be",
                "tol must be",
                "tol must be",
                "'tol' must be",
            ],
        ),
        (
            setting(Setting::WindowLength, Expected::AtLeast(1)),
            [
                "window_length must be at least 1, got 9",
                "--window-length must be",
                "window_length must be",
                "window_length must be",
                "window_length must be",
                "'window_length' must be",
            ],
        ),
        (
            setting(
                Setting::Rank,
                Expected::OneOfOr(&["full", "auto"], "a number from 1 to p"),
            ),
            [
                "n_components must be Rank::Full, Rank::Auto or a number from 1 to p, got 9",
                "--n-components must be auto or a number from 1 to p, got 9",
                "n_components must be None, \"auto\" or a number",
                "n_components must be 0, CODIAG_N_COMPONENTS_AUTO or a number",
                "n_components must be \"full\", \"auto\" or a number",
                "'n_components' must be 'full', 'auto' or a number",
            ],
        ),
        (
            Error::Method {
                criterion: Criterion::Frobenius,
                method: Method::Pham,
            },
            [
                "Criterion::Frobenius does not support Method::Pham; use Method::Newton, Method::QuasiNewton or \
                 Method::Jacobi",
                "--criterion frobenius does not support --method pham; use --method newton,",
                "criterion=\"frobenius\" does not support method=\"pham\"; use method=\"newton\",",
                "does not support method = CODIAG_METHOD_PHAM; use method = CODIAG_METHOD_NEWTON,",
                "criterion = \"frobenius\" does not support method = \"pham\"; use",
                "'criterion', 'frobenius' does not support 'method', 'pham'; use",
            ],
        ),
        (
            Error::Conflict(Conflict::OrthogonalMethod(Method::Pham)),
            [
                "Method::Pham does not support Settings::orthogonal(true); use Method::Newton or",
                "--method pham does not support --orthogonal; use --method newton or",
                "method=\"pham\" does not support orthogonal=True",
                "method = CODIAG_METHOD_PHAM does not support orthogonal = 1",
                "method = \"pham\" does not support orthogonal = TRUE",
                "'method', 'pham' does not support 'orthogonal', true",
            ],
        ),
        (
            Error::Conflict(Conflict::OrthogonalMethod(Method::RowWise)),
            [
                "Method::RowWise does not support Settings::orthogonal(true); use Method::Newton or",
                "--method row-wise does not support --orthogonal; use --method newton or",
                "method=\"row-wise\" does not support orthogonal=True",
                "method = CODIAG_METHOD_ROW_WISE does not support orthogonal = 1",
                "method = \"row-wise\" does not support orthogonal = TRUE",
                "'method', 'row-wise' does not support 'orthogonal', true",
            ],
        ),
        (
            Error::Conflict(Conflict::OrthogonalReduced),
            [
                "Settings::orthogonal(true) cannot be combined with n_components,",
                "--orthogonal cannot be combined with --n-components,",
                "orthogonal=True cannot be combined with n_components,",
                "orthogonal = 1 cannot be combined with n_components,",
                "orthogonal = TRUE cannot be combined with n_components,",
                "'orthogonal', true cannot be combined with 'n_components',",
            ],
        ),
        (
            Error::Conflict(Conflict::OrthogonalLeastSquares),
            [
                "Criterion::LeastSquares does not support Settings::orthogonal(true); use Criterion::Frobenius,",
                "does not support --orthogonal; use --criterion frobenius,",
                "does not support orthogonal=True; use criterion=\"frobenius\",",
                "does not support orthogonal = 1; use criterion = CODIAG_CRITERION_FROBENIUS,",
                "does not support orthogonal = TRUE; use criterion = \"frobenius\",",
                "does not support 'orthogonal', true; use 'criterion', 'frobenius',",
            ],
        ),
        (
            Error::Conflict(Conflict::LeastSquaresHessian),
            [
                "the Hessian is not available for Criterion::LeastSquares",
                "for --criterion least-squares",
                "for criterion=\"least-squares\"",
                "for criterion = CODIAG_CRITERION_LEAST_SQUARES",
                "for criterion = \"least-squares\"",
                "for 'criterion', 'least-squares'",
            ],
        ),
        (
            Error::Conflict(Conflict::PairsNotInMemory),
            [
                "Method::Pham and Method::Jacobi require all matrices in memory; use Method::Newton or",
                "or --method quasi-newton, or leave out --memory",
                "or method=\"quasi-newton\", or pass the matrices as an array",
                "use method = CODIAG_METHOD_NEWTON or",
                "use method = \"newton\" or",
                "use 'method', 'newton' or",
            ],
        ),
        (
            Error::Conflict(Conflict::StabilityNotEstimated),
            [
                "SortBy::Stability requires resamples or restarts, from which the stability is estimated; use \
                 Settings::n_resamples(20) or Settings::n_restarts(20)",
                "--sort-by stability requires resamples or restarts, from which the stability is estimated; use \
                 --n-resamples 20 or --n-restarts 20",
                "sort_by=\"stability\" requires resamples or restarts, from which the stability is estimated; \
                 use n_resamples=20 or n_restarts=20",
                "use n_resamples = 20 or n_restarts = 20",
                "use n_resamples = 20 or n_restarts = 20",
                "use 'n_resamples', 20 or 'n_restarts', 20",
            ],
        ),
        (
            Error::Conflict(Conflict::StabilityNotInMemory),
            [
                "n_resamples requires all matrices in memory; use n_restarts, or load all",
                "--n-resamples requires all matrices in memory; use --n-restarts, or leave out --memory",
                "n_resamples requires all matrices in memory; use n_restarts, or pass the matrices as an array",
                "use n_restarts, or",
                "use n_restarts, or",
                "use 'n_restarts', or",
            ],
        ),
        (
            too_few(Portion::Segment(0)),
            [
                "segment 0 has 10 samples, but a 10 x 10 matrix needs at least 11; use fewer or \
                 longer segments (n_segments or segment_length), at most 9 components (n_components), or \
                 shrinkage",
                "(--n-segments or --segment-length), at most 9 components (--n-components), or --shrinkage",
                "(n_segments or segment_length), at most 9 components (n_components), or shrinkage",
                "use fewer or longer segments (n_segments), or a longer recording",
                "segment 1 has 10 samples",
                "segment 1 has 10 samples",
            ],
        ),
        (
            too_few(Portion::Band {
                low: 1.0,
                high: 4.0,
            }),
            [
                "the band 1-4 Hz has 10 Fourier coefficients",
                "use wider bands (--bands)",
                "use wider bands (bands)",
                "use wider bands (bands)",
                "use wider bands (bands)",
                "use wider bands ('bands')",
            ],
        ),
        (
            Error::Memory {
                smallest: Memory(2_000_000),
                given: Memory(1000),
            },
            [
                "memory must be at least 2.0 MB for matrices of this size, got 1",
                "--memory must be",
                "memory must be",
                "memory must be",
                "memory must be",
                "'memory' must be",
            ],
        ),
        (
            Error::WeightsLength {
                expected: 3,
                actual: 2,
            },
            [
                "expected 3 weights, one per matrix, but the length of weights is 2",
                "but the length of --sample-weight is 2",
                "but the length of sample_weight is 2",
                "but the length of weights is 2",
                "but the length of weights is 2",
                "but the length of 'weights' is 2",
            ],
        ),
        (
            Error::Weight {
                index: 1,
                value: -1.0,
            },
            [
                "weight 1 is -1; all entries of weights must be finite and nonnegative",
                "weight 1 is -1; all entries of --sample-weight must be",
                "weight 1 is -1; all entries of sample_weight must be",
                "weight 1 is -1; all entries of weights must be",
                "weight 2 is -1; all entries of weights must be",
                "weight 2 is -1; all entries of 'weights' must be",
            ],
        ),
        (
            Error::WeightsZero,
            [
                "all weights are zero; at least one entry of weights must be positive",
                "at least one entry of --sample-weight must be positive",
                "at least one entry of sample_weight must be positive",
                "at least one entry of weights must be positive",
                "at least one entry of weights must be positive",
                "at least one entry of 'weights' must be positive",
            ],
        ),
        (
            setting(Setting::Labels, Expected::Words("one per epoch")),
            [
                "labels must be one per epoch, got 9",
                "labels must be",
                "y must be",
                "labels must be",
                "labels must be",
                "'labels' must be",
            ],
        ),
        (
            out_of_memory(lags),
            [
                "JADE of 306 components needs about 36 GB of memory, but 24 GB is available; lags = 40 needs",
                "; --lags 1:40 needs",
                "; lags=40 needs",
                "; lags = 40 needs",
                "; k = 40 needs",
                "; 'lags', 40 needs",
            ],
        ),
        (
            out_of_memory(components),
            [
                "; Components::Count(40) needs",
                "; --n-components 40 needs",
                "; n_components=40 needs",
                "; n_components = 40 needs",
                "; n.comp = 40 needs",
                "; 'n_components', 40 needs",
            ],
        ),
        (
            out_of_memory(MemoryRemedy::OnDisk),
            [
                "; use fewer matrices, or keep them in a file with OnDisk",
                "; use fewer matrices, or keep them in a .npy file that is read in parts (--memory)",
                "; use fewer matrices, or pass the path of a .npy file with memory=\"2GB\"",
                "; use fewer or smaller matrices",
                "; use fewer or smaller matrices",
                "; use fewer or smaller matrices",
            ],
        ),
        (
            Error::Npy(NpyError::FortranOrder),
            [
                "numpy.ascontiguousarray(C)), or load all matrices into memory",
                "or leave out --memory",
                "or pass the matrices as an array",
                "or load all matrices into memory",
                "or load all matrices into memory",
                "or load all matrices into memory",
            ],
        ),
        (
            Error::File {
                path: PathBuf::from("c.npy"),
                error: Box::new(asymmetric(1, true)),
            },
            [
                "c.npy: matrix 7 is not Hermitian: entry (1, 1) and its conjugate differ by 4.000e-8",
                "use --symmetrize to replace it by its Hermitian part",
                "use symmetrize=True",
                "use symmetrize = 1",
                "entry (2, 2) and its conjugate",
                "entry (2, 2) and its conjugate",
            ],
        ),
    ]
}

/// Errors with a part of their message that all languages share.
fn without_options() -> Vec<(Error, &'static str)> {
    vec![
        (Error::Shape { shape: vec![0, 2] }, "got shape (0, 2)"),
        (
            Error::Shape {
                shape: vec![4, 4, 90],
            },
            "got shape (4, 4, 90); move the last axis to the front",
        ),
        (
            Error::Length {
                shape: vec![1, 2, 2],
                expected: 4,
                actual: 3,
            },
            "shape (1, 2, 2) needs 4 numbers, got 3",
        ),
        (
            Error::TooLarge { shape: vec![9] },
            "more numbers than can be addressed",
        ),
        (
            Error::MatrixLength {
                matrix: 5,
                size: 2,
                actual: 3,
            },
            "has 3 numbers, but a 2 x 2 matrix has 4",
        ),
        (
            Error::NotFinite {
                matrix: 1,
                row: 0,
                column: 2,
                value: f64::NAN,
                imaginary: true,
            },
            "is NaN, not a finite number; correct it, or leave the matrix out",
        ),
        (
            Error::Range { power: 1e-300 },
            "1.000e-300; rescale the matrices so that",
        ),
        (
            Error::Energy { norm: 1e99 },
            "norm of the matrices is 1.000e99; rescale the matrices so that",
        ),
        (asymmetric(0, true), "and the conjugate of ("),
        (
            Error::InitShape {
                expected: (3, 5),
                rows: 4,
                columns: 6,
            },
            "must be 3 x 5, got 4 x 6",
        ),
        (
            Error::Init {
                problem: InitProblem::NotFinite,
            },
            "NaN or infinite entries",
        ),
        (
            Error::Init {
                problem: InitProblem::Singular,
            },
            "must be finite and invertible, but it is singular",
        ),
        (
            Error::Init {
                problem: InitProblem::Complex,
            },
            "must be real, as the matrices are, but it is complex",
        ),
        (Error::NoEigenvalues, "eigenvalues of the mean"),
        (
            Error::RecordingShape {
                epochs: true,
                shape: vec![2, 0, 4],
            },
            "epochs x channels x samples, got shape (2, 0, 4)",
        ),
        (
            Error::Constant,
            "the recording has zero variance: every channel is constant; check how it was read",
        ),
        (
            Error::Channels {
                expected: 3,
                actual: 2,
            },
            "expected 3 channels, got 2; pass the channels of the recording that was fitted",
        ),
        (
            Error::SampleNotFinite {
                channel: 1,
                sample: 2,
                value: f64::INFINITY,
            },
            "is inf, not a finite number; correct or exclude these samples",
        ),
        (
            too_few(Portion::Epoch(0)),
            "Then pass them to diagonalize; otherwise use one covariance per class",
        ),
        (too_few(Portion::Class(0)), "use more epochs"),
        (
            out_of_memory(MemoryRemedy::None),
            "needs about 36 GB of memory, but 24 GB is available",
        ),
        (
            io::Error::from_raw_os_error(2).into(),
            "cannot be read: no such file or directory",
        ),
        (Error::Npy(NpyError::NotNpy), "not a .npy file"),
        (
            Error::Truncated {
                matrices: 4,
                size: 2,
                bytes: 128,
                matrix: 3,
            },
            "truncated: its 4 matrices of 2 x 2 need 128 bytes",
        ),
        (
            Error::InvalidResponse {
                expected: 2,
                actual: 1,
            },
            "different versions of codiag",
        ),
        (Error::InvalidRequest, "different versions of codiag"),
        (Error::external("the disk is gone"), "the disk is gone"),
        (
            Error::Interrupted,
            "interrupted before the first iterate was available",
        ),
    ]
}

#[test]
fn messages_name_the_options_of_one_language() {
    let without = without_options().into_iter();
    let without = without.map(|(error, part)| (error, [part; LANGUAGES]));
    for (error, expected) in with_options().into_iter().chain(without) {
        let messages = render(&error);
        for ((message, expected), foreign) in messages.iter().zip(expected).zip(FOREIGN) {
            assert!(message.contains(expected), "{message} lacks {expected}");
            for spelling in foreign {
                assert!(!message.contains(spelling), "{message} has {spelling}");
            }
            assert!(
                !message.contains('\n') && !message.ends_with('.'),
                "{message}"
            );
        }
    }
}

#[test]
fn indices_start_at_the_first_index_of_the_language() {
    let error = Error::NotFinite {
        matrix: 1,
        row: 0,
        column: 2,
        value: f64::NAN,
        imaginary: false,
    };
    let expected = [0, 0, 0, 0, 1, 1].map(|first| {
        let [matrix, row, column] = [1, 0, 2].map(|index| index + first);
        format!(
            "matrix {matrix}: entry ({row}, {column}) is NaN, not a finite number; correct it, or leave the \
             matrix out"
        )
    });
    assert_eq!(render(&error), expected);
}

#[test]
fn given_matrix_has_the_name_of_the_argument() {
    let error = Error::Init {
        problem: InitProblem::Singular,
    };
    let point = python::Keywords { given_matrix: "B" };
    assert!(error.render(&point).starts_with("B must be"));
    let given = ["B", "the matrix of --init", "init", "b", "init", "init"];
    for (message, given) in render(&error).iter().zip(given) {
        assert!(
            message.starts_with(&format!("{given} must be")),
            "{message}"
        );
    }
}

#[test]
fn unknown_values_suggest_the_nearest_valid_one() {
    let error = "nwton".parse::<Method>().unwrap_err();
    assert_eq!(
        error.render(&PYTHON),
        "unknown method \"nwton\"; did you mean \"newton\"? Valid: \"newton\", \"quasi-newton\", \"pham\", \
         \"row-wise\", \"jacobi\", \"acdc\", \"uwedge\" or \"ffdiag\""
    );
    assert!(error.render(&program::Flags).starts_with(
        "unknown --method \"nwton\"; did you mean newton? Valid: newton, quasi-newton,"
    ));
    let error = "indentity".parse::<Init>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown init \"indentity\"; did you mean \"identity\"? Valid: \"spectral\", \"whitener\", \
         \"identity\" or a matrix"
    );
    let error = "bfgs".parse::<Method>().unwrap_err().to_string();
    assert!(
        error.starts_with("unknown method \"bfgs\"; valid: \"newton\", \"quasi-newton\","),
        "{error}"
    );
    // Python has None instead of "full", which is never suggested.
    let error = Error::Setting {
        setting: Setting::Rank,
        expected: Expected::OneOfOr(&["full", "auto"], "a number from 1 to p"),
        value: "\"atuo\"".to_owned(),
    };
    assert_eq!(
        error.render(&PYTHON),
        "unknown n_components \"atuo\"; did you mean \"auto\"? Valid: None, \"auto\" or a number from 1 to p"
    );
}

#[test]
fn epochs_with_very_few_samples_are_checked_for_their_shape() {
    let short = |portion, samples, dimension| Error::TooFewSamples {
        portion,
        samples,
        dimension,
        needed: dimension + 1,
    };
    assert_eq!(
        short(Portion::Epoch(0), 60, 250).render(&PYTHON),
        "epoch 0 has 60 samples, but a 250 x 250 matrix needs at least 251; 250 channels and 60 \
         samples: are the axes in another order than epochs x channels x samples? Otherwise use one \
         covariance per class, at most 59 components (n_components), or shrinkage"
    );
    assert_eq!(
        short(Portion::Epoch(0), 8, 8).render(&PYTHON),
        "epoch 0 has 8 samples, but a 8 x 8 matrix needs at least 9; are the epochs covariance \
         matrices already? Then pass them to diagonalize; otherwise use one covariance per class, at most 7 \
         components (n_components), or shrinkage"
    );
    // With one sample, no number of components is small enough.
    let single = short(Portion::Segment(0), 1, 4).render(&PYTHON);
    assert!(
        single
            .ends_with("use fewer or longer segments (n_segments or segment_length), or shrinkage"),
        "{single}"
    );
}
