//! Invalid input: one line on standard error that names the file, exit code 2, no output files.

use predicates::str::contains;

use crate::{Array, TestDir};

/// Runs the program, expects exit code 2, and returns the line on standard error.
fn error_line(dir: &TestDir, args: &str) -> String {
    let assert = dir.codiag(args).assert().code(2).stdout("");
    let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{args}: {text}");
    assert!(text.starts_with("error: "), "{args}: {text}");
    text
}

fn expect_error(dir: &TestDir, args: &str, parts: &[&str]) {
    let text = error_line(dir, args);
    for part in parts {
        assert!(text.contains(part), "{args}: {text} lacks {part:?}");
    }
}

#[test]
fn invalid_files_are_named() {
    let dir = TestDir::with_set();
    expect_error(&dir, "check nowhere.npy", &["nowhere.npy", "no such file"]);
    dir.write("letter.doc", "Dear reader");
    dir.write("letter.npy", "Dear reader");
    dir.write("letter.npz", "Dear reader");
    dir.write("empty.npy", "");
    dir.write("folder/readme.txt", "nothing");
    dir.write("bad.csv", "1,2\n2,x\n");
    dir.write("wide.csv", "1,2,3\n4,5,6\n");
    dir.write("mixed/1.csv", "1,0\n0,1\n");
    dir.write("mixed/2.csv", "1,0,0\n0,1,0\n0,0,1\n");
    dir.write("later/1.csv", "1,0\n0,1\n");
    dir.write("later/2.csv", "1,0\n0,-1\n");
    let cases: [(&str, &[&str]); 10] = [
        ("nowhere.npy", &["nowhere.npy", "no such file"]),
        ("letter.doc", &["letter.doc", ".npy"]),
        ("letter.npy", &["letter.npy", "not a .npy"]),
        ("letter.npz", &["letter.npz", "not an .npz"]),
        ("empty.npy", &["empty.npy", "ends within its header"]),
        ("folder", &["folder", "no .csv or .npy"]),
        ("bad.csv", &["bad.csv", "line 2", "\"x\""]),
        ("wide.csv", &["wide.csv", "2 x 3"]),
        ("mixed", &["2.csv", "2 x 2 matrix like the first"]),
        ("later", &["2.csv", "not positive definite"]),
    ];
    for (name, parts) in cases {
        expect_error(&dir, &format!("diagonalize {name}"), parts);
    }
}

#[test]
fn truncated_arrays_are_errors() {
    let dir = TestDir::with_set();
    let bytes = std::fs::read(dir.path("covs.npy")).unwrap();
    for length in [3, 9, 50, 127, 128, 129, 1000, bytes.len() - 1] {
        dir.write("cut.npy", &bytes[..length]);
        expect_error(&dir, "diagonalize cut.npy -o r", &["cut.npy"]);
        expect_error(&dir, "check cut.npy", &["cut.npy"]);
    }
    expect_error(
        &dir,
        "diagonalize cut.npy",
        &["truncated", "(20, 5, 5)", "500", "499"],
    );
    assert_eq!(dir.files("r"), [""; 0]);
}

#[test]
fn invalid_shapes_and_numbers_are_errors() {
    let dir = TestDir::with_set();
    let cases: [(&str, Vec<u8>, &[&str]); 8] = [
        ("flat", Array::of("(4,)", &[1.0; 4]), &["(n, p, p)", "(4,)"]),
        (
            "square",
            Array::of("(2, 2)", &[1.0; 4]),
            &["(n, p, p)", "(2, 2)"],
        ),
        ("oblong", Array::of("(1, 2, 3)", &[1.0; 6]), &["(1, 2, 3)"]),
        ("none", Array::of("(0, 3, 3)", &[]), &["(0, 3, 3)"]),
        (
            "huge",
            Array::of("(99999999999, 99999999999, 99999999999)", &[]),
            &["(9999"],
        ),
        ("big", Array::of("(1000, 5000, 5000)", &[]), &["truncated"]),
        (
            "complex",
            Array::bytes("<c32", false, "(1, 1, 1)", &[0; 32]),
            &["<c32", "cannot be read"],
        ),
        (
            "words",
            Array::bytes("<U4", false, "(1, 1, 1)", &[0; 16]),
            &["<U4", "float64"],
        ),
    ];
    for (name, bytes, parts) in cases {
        let file = format!("{name}.npy");
        dir.write(&file, bytes);
        expect_error(
            &dir,
            &format!("diagonalize {file}"),
            &[&[file.as_str()], parts].concat(),
        );
    }
    dir.write(
        "nan.npy",
        Array::of("(1, 2, 2)", &[1.0, f64::NAN, f64::NAN, 1.0]),
    );
    expect_error(
        &dir,
        "diagonalize nan.npy",
        &["nan.npy", "matrix 0", "entry"],
    );
    dir.write("skew.npy", Array::of("(1, 2, 2)", &[1.0, 0.5, 0.2, 1.0]));
    expect_error(&dir, "diagonalize skew.npy", &["skew.npy", "not symmetric"]);
}

#[test]
fn invalid_options_are_errors() {
    let dir = TestDir::with_set();
    for (args, parts) in [
        ("--method magic", &["magic", "newton"][..]),
        ("--init nowhere", &["nowhere", "spectral"]),
        ("--tol 0", &["--tol", "positive"]),
        ("--tol nan", &["--tol"]),
        ("--max-iter -1", &["-1"]),
        ("--max-iter many", &["many"]),
        ("--shrinkage 2", &["--shrinkage", "between 0 and 1"]),
        ("--n-components 9", &["--n-components"]),
        ("--n-components some", &["auto"]),
        ("--n-components 0", &["--n-components"]),
        ("--n-jobs 0", &["--n-jobs"]),
        ("--orthogonal --method pham", &["--orthogonal", "pham"]),
        (
            "--orthogonal --method row-wise",
            &["--orthogonal", "row-wise"],
        ),
        (
            "--orthogonal --n-components 3",
            &["--orthogonal", "--n-components"],
        ),
        (
            "--sample-weight nowhere.txt",
            &["nowhere.txt", "no such file"],
        ),
        (
            "--checkpoint no/such/folder/b.npy",
            &["b.npy", "cannot be written: no such file"],
        ),
        ("--checkpoint .", &["cannot be written"]),
        ("--checkpoint-every -3", &["at least 0"]),
        ("--unknown", &["--unknown", "--help"]),
    ] {
        expect_error(&dir, &format!("diagonalize covs.npy {args}"), parts);
    }
    expect_error(&dir, "diagonalize", &["INPUT", "--help"]);
    expect_error(&dir, "nonsense", &["nonsense", "--help"]);
    expect_error(&dir, "reproduce --seeds 0", &["0"]);
    expect_error(
        &dir,
        "reproduce --recording nowhere.npy -o r",
        &["nowhere.npy"],
    );
    expect_error(&dir, "completions cobol", &["cobol"]);
    expect_error(&dir, "bench --n-jobs 0", &["at least 1"]);
}

#[test]
fn invalid_weights_and_starting_points_are_errors() {
    let dir = TestDir::with_set();
    for (content, part) in [
        ("1\n2\n", "expected 20 weights"),
        ("", "no numbers"),
        ("1,x", "\"x\""),
    ] {
        dir.write("w.txt", content);
        let text = error_line(&dir, "diagonalize covs.npy --sample-weight w.txt");
        assert!(text.contains(part), "{text}");
    }
    let minus = vec!["-1"; 20].join("\n");
    dir.write("w.txt", minus);
    expect_error(
        &dir,
        "diagonalize covs.npy --sample-weight w.txt",
        &["weight 0 is -1", "nonnegative"],
    );
    dir.write("w.txt", vec!["0"; 20].join("\n"));
    expect_error(
        &dir,
        "diagonalize covs.npy --sample-weight w.txt",
        &["all weights are zero"],
    );
    dir.write("b.csv", "1,0\n0,1\n");
    expect_error(
        &dir,
        "diagonalize covs.npy --init b.csv",
        &["b.csv", "5 x 5"],
    );
    dir.write("b.npy", Array::of("(5, 5)", &[1.0; 25]));
    expect_error(
        &dir,
        "diagonalize covs.npy --init b.npy",
        &["b.npy", "singular"],
    );
    dir.write("b.npy", Array::of("(5, 5)", &[f64::NAN; 25]));
    expect_error(
        &dir,
        "diagonalize covs.npy --init b.npy",
        &["b.npy", "must be finite", "NaN"],
    );
}

#[test]
fn unwritable_outputs_are_errors() {
    let dir = TestDir::with_set();
    dir.write("file", "a file");
    expect_error(
        &dir,
        "diagonalize covs.npy -o file",
        &["file", "cannot be written"],
    );
    expect_error(
        &dir,
        "diagonalize covs.npy -o file/below",
        &["file", "cannot be written"],
    );
    expect_error(
        &dir,
        "generate -o no/such/folder/c.npy",
        &["c.npy", "cannot be written"],
    );
    expect_error(&dir, "reproduce -o file", &["file", "cannot be written"]);
    expect_error(&dir, "man -o file", &["file", "cannot be written"]);
}

#[test]
fn errors_leave_no_new_folder() {
    let dir = TestDir::with_set();
    dir.write("letter.npy", "Dear reader");
    std::fs::create_dir(dir.path("old")).unwrap();
    for command in ["diagonalize", "separate"] {
        error_line(&dir, &format!("{command} letter.npy -o new"));
        assert!(!dir.path("new").exists());
        error_line(&dir, &format!("{command} letter.npy -o old"));
        assert!(dir.path("old").exists());
    }
}

#[test]
fn closed_pipe_does_not_prevent_output_files() {
    use std::process::{Command, Stdio};
    let dir = TestDir::with_set();
    for args in [
        "reproduce -n 10 -p 4 --recording covs.npy -o r",
        "diagonalize covs.npy -o d",
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_codiag"))
            .args(args.split_whitespace())
            .current_dir(dir.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args}");
    }
    assert_eq!(dir.files("r").len(), 4);
    assert_eq!(dir.files("d").len(), 6);
}

#[test]
fn closed_pipe_is_not_an_error() {
    use std::process::{Command, Stdio};
    let dir = TestDir::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_codiag"))
        .args(["generate", "-n", "2000", "-p", "40"])
        .current_dir(dir.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    dir.codiag("generate -n 3 -p 2 -o c.npy")
        .assert()
        .success()
        .stderr(contains("c.npy"));
}
