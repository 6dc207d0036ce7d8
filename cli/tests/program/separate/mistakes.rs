//! What is refused, what is doubted, and what is interrupted.

use codiag::signals::simulate::nonstationary;
use predicates::prelude::*;
use predicates::str::contains;

use super::place;
use crate::Array;

#[test]
fn bad_input_is_one_line_that_says_what_helps() {
    let made = nonstationary(10, 10, 100, 7);
    let place = place(&made);
    place.write("file", "");
    place.write("recording.fif", "fif");
    place.write("flat.npy", Array::of("(7,)", &[0.0; 7]));
    place.write("tall.npy", Array::of("(3, 2)", &[0.0; 6]));
    let mut numbers = [1.0; 20];
    numbers[12] = f64::NAN;
    place.write("nan.npy", Array::of("(2, 10)", &numbers));
    place.write("cut.npy", Array::of("(2, 5)", &[0.0; 3]));
    place.write("zero.npy", Array::of("(2, 50)", &[0.0; 100]));
    for (args, expected) in COMPLAINTS {
        let assert = place.codiag(&format!("separate {args}")).assert().code(2);
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
fn an_iteration_limit_is_said_and_leaves_the_best_so_far() {
    let place = place(&nonstationary(6, 50, 200, 8));
    place
        .codiag("-q separate recording.npy --method pham --start identity --max-iter 1 -o r")
        .assert()
        .code(1)
        .stdout("")
        .stderr(
            contains("start again from filters.npy with --start")
                .and(contains("--shrinkage auto make surer matrices")),
        );
    assert!(place.files("r").contains(&"sources.npy".to_owned()));
}

#[test]
fn an_interruption_before_the_solve_writes_nothing() {
    let place = place(&nonstationary(4, 50, 200, 9));
    let interrupted = std::sync::atomic::AtomicBool::new(true);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut session = codiag_cli::Session::new(&b""[..], &mut out, &mut err, &interrupted);
    let path = |name: &str| place.path(name).into_os_string();
    let args = [
        "codiag".into(),
        "separate".into(),
        path("recording.npy"),
        "-o".into(),
        path("r"),
    ];
    assert_eq!(codiag_cli::run(args, &mut session), codiag_cli::INTERRUPTED);
    drop(session);
    let said = String::from_utf8(err).unwrap();
    assert_eq!(said, "warning: interrupted: nothing was written\n");
    assert!(out.is_empty());
    assert_eq!(place.files("r"), [""; 0]);
}

/// What is asked for, and what is said of it.
const COMPLAINTS: [(&str, &str); 34] = [
    ("nowhere.npy", "nowhere.npy: cannot be read: no such file"),
    (
        "recording.fif",
        "recording.fif: expected a recording as .npy or .csv",
    ),
    (
        "recording.npy --segments 100",
        "segment 0 has 10 samples, but a 10 x 10 matrix needs at least 11; use fewer",
    ),
    (
        "recording.npy --segments 0",
        "recording.npy: --segments must be at least 1, got 0",
    ),
    (
        "recording.npy --segment-length 2000",
        "--segment-length must be",
    ),
    (
        "recording.npy --segments 5 --overlap 1",
        "--overlap must be at least 0 and below 1, got 1",
    ),
    (
        "recording.npy --segments 5 --components 11",
        "--components must be a number from 1",
    ),
    (
        "recording.npy --segments 5 --shrinkage much",
        "--shrinkage must be auto, ledoit-wolf, oas or a number between 0 and 1",
    ),
    (
        "recording.npy --segments 5 --shrinkage 2",
        "--shrinkage must be auto, ledoit-wolf, oas or a number between 0 and 1",
    ),
    ("recording.npy --bands 1-4", "--bands needs --rate"),
    (
        "recording.npy --segment-length 1.5",
        "expected a whole number of samples, or a time such as 0.25s",
    ),
    (
        "recording.npy --segment-length 0.25s",
        "--segment-length must be a number of samples if sfreq is not given",
    ),
    (
        "recording.npy --picks Cz",
        "--picks names the channel \"Cz\", which is not there: they have no names (--names), but numbers from 0 to 9",
    ),
    (
        "recording.npy --bads 10",
        "--bads names the channel \"10\", which is not there",
    ),
    (
        "recording.npy --rate 100 --highpass 50",
        "--highpass must be above 0 and below half the rate, 50 Hz, got 50",
    ),
    (
        "recording.npy --rate 100 --highpass 20 --lowpass 10",
        "--highpass must be below --lowpass",
    ),
    (
        "recording.npy --rate 100 --thresholds sneeze=1",
        "expected scores such as blink=0.7,heartbeat=0.3",
    ),
    (
        "recording.npy --bands 4-1 --rate 100",
        "--bands must be pairs of rising frequencies",
    ),
    (
        "recording.npy --bands high",
        "expected bands such as 1-4,4-8,8-13",
    ),
    (
        "recording.npy --rate 0",
        "--rate must be a positive number of samples per second, got 0",
    ),
    (
        "recording.npy --segments 5 --exclude 10",
        "--exclude names source 10, but there are 10",
    ),
    (
        "recording.npy --segments 5 --start recording.npy",
        "recording.npy: the start must be 10 x 10",
    ),
    (
        "recording.npy --segments 5 -o file",
        "file: cannot be written",
    ),
    (
        "recording.npy --segments 5 --names file",
        "file: there are no names in it",
    ),
    (
        "flat.npy",
        "flat.npy: expected an array of shape (channels, samples), got (7,)",
    ),
    (
        "tall.npy",
        "expected channels x samples, got 3 x 2, more channels than samples: is it transposed?",
    ),
    (
        "nan.npy --segments 2",
        "nan.npy: channel 1, sample 2 is NaN, not a finite number",
    ),
    (
        "cut.npy",
        "cut.npy: the file is truncated: its shape (2, 5) needs 10 numbers, but only 3",
    ),
    (
        "recording.npy --lags 1:3",
        "--lags is for --sobi and --amuse",
    ),
    (
        "recording.npy --sobi --lags 3:1",
        "expected lags in samples such as 1:100",
    ),
    (
        "recording.npy --amuse --lags 1:3",
        "--amuse is for a single lag, got 3",
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
        "zero.npy --segments 2",
        "zero.npy: the recording has zero variance",
    ),
];
