//! Errors, warnings and interruptions of `codiag separate`.

use codiag::signals::simulate::nonstationary;
use predicates::prelude::*;
use predicates::str::contains;

use super::dir;
use crate::Array;

#[test]
fn invalid_input_gives_one_line_of_error() {
    let generated = nonstationary(10, 10, 100, 7);
    let dir = dir(&generated);
    dir.write("file", "");
    dir.write("recording.fif", "fif");
    dir.write("flat.npy", Array::of("(7,)", &[0.0; 7]));
    dir.write("tall.npy", Array::of("(3, 2)", &[0.0; 6]));
    let mut numbers = [1.0; 20];
    numbers[12] = f64::NAN;
    dir.write("nan.npy", Array::of("(2, 10)", &numbers));
    dir.write("cut.npy", Array::of("(2, 5)", &[0.0; 3]));
    dir.write("zero.npy", Array::of("(2, 50)", &[0.0; 100]));
    for (args, expected) in ERRORS {
        let assert = dir.codiag(&format!("separate {args}")).assert().code(2);
        let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(text.contains(expected), "{args}: {text}");
        assert!(
            text.starts_with("error: ") && text.lines().count() == 1,
            "{args}: {text}"
        );
        assert!(assert.get_output().stdout.is_empty(), "{args}");
    }
}

#[test]
fn iteration_limit_is_reported_and_results_are_written() {
    let dir = dir(&nonstationary(6, 50, 200, 8));
    dir.codiag("-q separate recording.npy --method pham --init identity --max-iter 1 -o r")
        .assert()
        .code(1)
        .stdout("")
        .stderr(
            contains("continue from filters.npy with --init").and(contains(
                "--shrinkage auto give better-conditioned covariances",
            )),
        );
    assert!(dir.files("r").contains(&"sources.npy".to_owned()));
}

#[test]
fn interruption_before_the_solve_writes_nothing() {
    let dir = dir(&nonstationary(4, 50, 200, 9));
    let interrupted = std::sync::atomic::AtomicBool::new(true);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut session = codiag_cli::Session::new(&b""[..], &mut out, &mut err, &interrupted);
    let path = |name: &str| dir.path(name).into_os_string();
    let args = [
        "codiag".into(),
        "separate".into(),
        path("recording.npy"),
        "-o".into(),
        path("r"),
    ];
    assert_eq!(codiag_cli::run(args, &mut session), codiag_cli::INTERRUPTED);
    drop(session);
    let messages = String::from_utf8(err).unwrap();
    assert_eq!(messages, "warning: interrupted: nothing was written\n");
    assert!(out.is_empty());
    assert_eq!(dir.files("r"), [""; 0]);
}

/// Arguments and the expected part of the error.
const ERRORS: [(&str, &str); 34] = [
    ("nowhere.npy", "nowhere.npy: cannot be read: no such file"),
    (
        "recording.fif",
        "recording.fif: expected a recording as .npy or .csv",
    ),
    (
        "recording.npy --n-segments 100",
        "segment 0 has 10 samples, but a 10 x 10 matrix needs at least 11; use fewer",
    ),
    (
        "recording.npy --n-segments 0",
        "recording.npy: --n-segments must be at least 1, got 0",
    ),
    (
        "recording.npy --segment-length 2000",
        "--segment-length must be",
    ),
    (
        "recording.npy --n-segments 5 --overlap 1",
        "--overlap must be at least 0 and below 1, got 1",
    ),
    (
        "recording.npy --n-segments 5 --n-components 11",
        "--n-components must be from 1",
    ),
    (
        "recording.npy --n-segments 5 --shrinkage much",
        "unknown --shrinkage \"much\"; valid: auto, ledoit-wolf, oas or a number between 0 and 1",
    ),
    (
        "recording.npy --n-segments 5 --shrinkage 2",
        "--shrinkage must be auto, ledoit-wolf, oas or a number between 0 and 1",
    ),
    ("recording.npy --bands 1-4", "--bands requires --sfreq"),
    (
        "recording.npy --segment-length 1.5",
        "expected an integer number of samples, or a time such as 0.25s",
    ),
    (
        "recording.npy --segment-length 0.25s",
        "--segment-length must be a number of samples",
    ),
    (
        "recording.npy --picks Cz",
        "--picks: there is no channel \"Cz\"; channels are numbered from 0 to 9 unless --names gives them names",
    ),
    (
        "recording.npy --bads 10",
        "--bads: there is no channel \"10\"; channels are numbered from 0 to 9",
    ),
    (
        "recording.npy --sfreq 100 --highpass 50",
        "--highpass must be above 0 and below half of --sfreq (50 Hz), got 50",
    ),
    (
        "recording.npy --sfreq 100 --highpass 20 --lowpass 10",
        "--highpass must be below --lowpass",
    ),
    (
        "recording.npy --sfreq 100 --thresholds sneeze=1",
        "expected scores such as blink=0.7,heartbeat=0.3",
    ),
    (
        "recording.npy --bands 4-1 --sfreq 100",
        "--bands must be pairs of",
    ),
    (
        "recording.npy --bands high",
        "expected bands such as 1-4,4-8,8-13",
    ),
    (
        "recording.npy --sfreq 0",
        "--sfreq must be a positive frequency in Hz, got 0",
    ),
    (
        "recording.npy --n-segments 5 --exclude 10",
        "--exclude: there is no source S10, only S00 to S09",
    ),
    (
        "recording.npy --n-segments 5 --init recording.npy",
        "recording.npy: the matrix of --init must be 10 x 10",
    ),
    (
        "recording.npy --n-segments 5 -o file",
        "file: cannot be written",
    ),
    (
        "recording.npy --n-segments 5 --names file",
        "file: the file has no names",
    ),
    (
        "flat.npy",
        "flat.npy: expected an array of shape (channels, samples), got (7,)",
    ),
    (
        "tall.npy",
        "expected channels x samples, got 3 x 2, more channels than samples; if the array is samples x channels, transpose it",
    ),
    (
        "nan.npy --n-segments 2",
        "nan.npy: channel 1, sample 2 is NaN, not a finite number",
    ),
    (
        "cut.npy",
        "cut.npy: the file is truncated: its shape (2, 5) needs 10 numbers, but the file has 3",
    ),
    (
        "recording.npy --lags 1:3",
        "--lags requires --sobi or --amuse",
    ),
    (
        "recording.npy --sobi --lags 3:1",
        "expected lags in samples such as 1:100",
    ),
    (
        "recording.npy --amuse --lags 1:3",
        "--amuse requires a single lag, got 3",
    ),
    (
        "recording.npy --sobi --lags 1000",
        "--lags must be shorter than the recording and its segments",
    ),
    (
        "recording.npy --jade --shrinkage 0.1",
        "--shrinkage must be 0 for lags and cumulants",
    ),
    (
        "zero.npy --n-segments 2",
        "zero.npy: the recording has zero variance",
    ),
];
