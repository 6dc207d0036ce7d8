//! Options with extreme values give a result or an error, with a documented exit code and in
//! bounded time.
//!
//! `make soak` runs more cases (`CODIAG_OPTION_VALUES`).

use std::time::Duration;

use codiag::signals::simulate::nonstationary;
use codiag_cli::{BAD_INPUT, NOT_CONVERGED};

use crate::corrupted_files::Random;
use crate::{Array, TestDir};

const DIAGONALIZE: [&str; 12] = [
    "--criterion",
    "--method",
    "--init",
    "--tol",
    "--max-iter",
    "--n-resamples",
    "--sort-by",
    "--n-jobs",
    "--n-components",
    "--shrinkage",
    "--memory",
    "--checkpoint-every",
];

const SEPARATE: [&str; 20] = [
    "--sfreq",
    "--n-components",
    "--highpass",
    "--lowpass",
    "--n-segments",
    "--segment-length",
    "--overlap",
    "--bands",
    "--window-length",
    "--lags",
    "--scale",
    "--shrinkage",
    "--method",
    "--tol",
    "--max-iter",
    "--n-resamples",
    "--n-jobs",
    "--exclude",
    "--thresholds",
    "--picks",
];

const VALUES: [&str; 36] = [
    "0",
    "-1",
    "-0",
    "1",
    "2",
    "3",
    "7",
    "0.5",
    "0.999999999999",
    "1.5",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e309",
    "1e-308",
    "5e-324",
    "1e-60",
    "1e60",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "4294967296",
    "1000000000000",
    "abc",
    "auto",
    "newton",
    "jacobi",
    "frobenius",
    "least-squares",
    "1-4",
    "1-4,8-12",
    "0:5",
    "0:18446744073709551615",
    "1:99999999999",
    "1TB",
];

#[test]
fn extreme_option_values_give_a_result_or_an_error() {
    let dir = TestDir::with_set();
    let generated = nonstationary(4, 20, 100, 1);
    dir.write("r.npy", Array::of("(4, 2000)", &generated.data));
    let cases = std::env::var("CODIAG_OPTION_VALUES").ok();
    let cases = cases.and_then(|text| text.parse().ok()).unwrap_or(300);
    let random = &mut Random(3);
    let mut codes = [0; 3];
    for k in 0..cases {
        let recording = random.below(2) == 0;
        let mut args = if recording {
            "separate r.npy --sfreq 100 -q -o out".to_owned()
        } else {
            "diagonalize covs.npy -q -o out".to_owned()
        };
        if recording && random.below(3) == 0 {
            args += [" --sobi", " --amuse", " --jade"][random.below(3)];
        }
        for _ in 0..=random.below(3) {
            let option = if recording {
                SEPARATE[random.below(SEPARATE.len())]
            } else {
                DIAGONALIZE[random.below(DIAGONALIZE.len())]
            };
            let value = VALUES[random.below(VALUES.len())];
            args.extend([" ", option, "=", value]);
        }
        let mut command = dir.codiag(&args);
        // Fail if the program hangs.
        command.timeout(Duration::from_secs(120));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        let known = code.filter(|code| [0, NOT_CONVERGED, BAD_INPUT].contains(code));
        let Some(code) = known else {
            panic!("{k}: codiag {args}: {:?}: {text}", output.status);
        };
        assert!(!text.contains("panicked"), "{k}: codiag {args}: {text}");
        codes[code as usize] += 1;
    }
    // Some values are valid, and many are not.
    assert!(codes[0] > 0 && codes[2] > cases / 4, "{codes:?}");
}
