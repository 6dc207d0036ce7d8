//! Requests that exceed the memory give one line with the amount and exit code 2, not an abort.

use codiag::signals::simulate::nonstationary;

use crate::{Array, TestDir};

/// Runs the program, expects exit code 2 within seconds, and returns the line on standard error.
fn memory_error(dir: &TestDir, args: &str) -> String {
    let mut command = dir.codiag(args);
    command.timeout(std::time::Duration::from_secs(20));
    let assert = command.assert().code(2).stdout("");
    let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(
        text.starts_with("error: ") && text.lines().count() == 1,
        "{args}: {text}"
    );
    text
}

#[test]
fn huge_sets_are_errors_with_the_amount() {
    let dir = TestDir::new();
    for (args, parts) in [
        ("-n 4294967296 -p 4294967296", ["more than 18 EB", ""]),
        ("-n 18446744073709551615 -p 1", ["more than 18 EB", "; -n "]),
        ("-n 99999999999 -p 100", ["8.0 PB", "; -n "]),
        ("-n 99999999999 -p 100 --complex", ["16 PB", "; -n "]),
    ] {
        let text = memory_error(&dir, &format!("generate {args} -o set.npy"));
        assert!(
            parts.iter().all(|part| text.contains(part)),
            "{args}: {text}"
        );
    }
    let text = memory_error(&dir, "reproduce -n 99999999999 -p 100 -o r");
    assert!(text.contains("8.0 PB"), "{text}");
    assert!(!dir.path("set.npy").exists());
}

#[test]
fn huge_options_of_recordings_are_errors() {
    let generated = nonstationary(4, 20, 100, 1);
    let dir = TestDir::new();
    dir.write("r.npy", Array::of("(4, 2000)", &generated.data));
    let max = u64::MAX;
    for (args, part) in [
        (
            format!("--sobi --lags 0:{max}"),
            "--lags must be shorter than the recording",
        ),
        (
            "--sobi --lags 1:99999999999".to_owned(),
            "got 99999999999 for 2000 samples",
        ),
        (
            "--sfreq 100 --bands 1000000000".to_owned(),
            "--bands must be at most 1000000",
        ),
        (
            "--sfreq 100 --bands 1-4 --window-length 1000000000000".to_owned(),
            "--window-length must be at most the samples of the longest span",
        ),
        (
            format!("--sfreq 100 --bands 1-4 --window-length {max}"),
            "--window-length must be at most the samples of the longest span",
        ),
        (
            format!("--sfreq 100 --bands 1-4 --segment-length {max}"),
            "--segment-length must be at least 1 sample and at most",
        ),
        (
            format!("--n-segments {max} --overlap 0.99999999999999"),
            "--n-segments must be at most one per sample",
        ),
        ("--sfreq 1e-308".to_owned(), "--sfreq must be"),
        ("--sfreq 1e308".to_owned(), "--sfreq must be"),
        (
            "--n-resamples 99999999999999".to_owned(),
            "--n-resamples must be at most 1000000",
        ),
    ] {
        let text = memory_error(&dir, &format!("separate r.npy -o o {args}"));
        assert!(text.contains(part), "{args}: {text}");
        assert!(!dir.path("o").exists(), "{args}");
    }
    for sfreq in ["1e-9", "1e12"] {
        dir.codiag(&format!("separate r.npy -o o2 --sfreq {sfreq}"))
            .assert()
            .success();
    }
    // There is at most one segment per sample, for any overlap.
    dir.codiag("separate r.npy -o o --overlap 0.99999999999999")
        .assert()
        .success();
}

#[test]
fn jade_of_too_many_components_names_a_number_that_fits() {
    let dir = TestDir::new();
    let (channels, samples) = (700_u64, 720_u64);
    let numbers: Vec<f64> = (0..channels * samples)
        .map(|k| ((k * 7919 + k * k % 104_729) % 1009) as f64)
        .collect();
    dir.write("r.npy", Array::of("(700, 720)", &numbers));
    let text = memory_error(&dir, "separate r.npy --jade -o o");
    assert!(
        text.contains("components needs about") && text.contains("; --n-components 40 needs"),
        "{text}"
    );
}

/// The set needs 320 MB and its solve three times as much in addition; the address space is limited
/// to 0.5 GB.
#[test]
#[cfg(target_os = "linux")]
fn set_that_exceeds_the_process_limit_is_not_read() {
    let dir = TestDir::new();
    let header = Array::of("(2000, 200, 200)", &[]);
    dir.write("big.npy", &header);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(dir.path("big.npy"));
    // A sparse file, whose matrices are never read.
    file.unwrap()
        .set_len(header.len() as u64 + 8 * 2000 * 200 * 200)
        .unwrap();
    let program = env!("CARGO_BIN_EXE_codiag");
    let script = format!("ulimit -v 500000; exec {program} diagonalize big.npy -o r");
    let done = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(dir.path("."))
        .output()
        .unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{text}");
    for part in [
        "error: big.npy: a solve of 2000 matrices of 200 x 200 needs about 1.",
        "is available",
        "--memory",
    ] {
        assert!(text.contains(part), "{text} lacks {part:?}");
    }
}
