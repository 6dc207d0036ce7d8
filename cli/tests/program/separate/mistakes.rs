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
