//! `codiag diagonalize --memory`: sets that are read from disk in parts.

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir, largest_difference};

/// Returns a folder with big.npy: 8 MB, more than 12 MB when solved in memory.
fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.codiag("generate -n 4000 -p 16 --seed 3 -o big.npy")
        .assert()
        .success();
    dir
}

#[test]
fn result_equals_that_of_a_set_in_memory() {
    let dir = dir();
    for options in [
        "--method quasi-newton",
        "",
        "--n-components 9",
        "--orthogonal",
        // Further starts are computed differently in memory, but lead to the same minimum.
        "--shrinkage 0.1 --n-restarts 1",
    ] {
        dir.codiag(&format!(
            "diagonalize big.npy -o here --tol 1e-11 {options}"
        ))
        .assert()
        .success();
        dir.codiag(&format!(
            "diagonalize big.npy -o there --tol 1e-11 --memory 12MB {options}"
        ))
        .assert()
        .success()
        .stdout(contains("4000 matrices of 16 x 16").and(contains("converged")));
        for name in ["B.npy", "A.npy", "diagonals.npy"] {
            let here = dir.array(&format!("here/{name}"));
            let there = dir.array(&format!("there/{name}"));
            assert_eq!(here.shape, there.shape);
            let scale = here.data.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let difference = largest_difference(&here.data, &there.data);
            assert!(difference < 1e-8 * scale, "{options} {name} {difference}");
        }
        let residuals = dir.array("there/residuals.npy").data;
        let report = dir.json("here/report.json");
        let expected: Vec<f64> = serde_json::from_value(report["residuals"].clone()).unwrap();
        assert!(largest_difference(&residuals, &expected) < 1e-8);
        let report = dir.json("there/report.json");
        assert_eq!(report["settings"]["memory"], 12_000_000);
        assert!(report["residuals"].is_null());
        std::fs::remove_dir_all(dir.path("here")).unwrap();
        std::fs::remove_dir_all(dir.path("there")).unwrap();
    }
}

#[test]
fn asymmetry_is_an_error_without_symmetrize() {
    let dir = dir();
    let mut symmetric = dir.array("big.npy").data;
    let mut skewed = symmetric.clone();
    for (matrix, copy) in symmetric
        .chunks_exact_mut(256)
        .zip(skewed.chunks_exact_mut(256))
    {
        // Asymmetry as from rounding of a single entry.
        copy[1] *= 1.0 + 1e-5;
        let mean = 0.5 * (copy[1] + copy[16]);
        (matrix[1], matrix[16]) = (mean, mean);
    }
    dir.write("symmetric.npy", Array::of("(4000, 16, 16)", &symmetric));
    dir.write("skewed.npy", Array::of("(4000, 16, 16)", &skewed));
    dir.codiag("diagonalize symmetric.npy -o expected")
        .assert()
        .success();
    let expected = dir.array("expected/B.npy").data;
    for memory in ["", " --memory 12MB"] {
        let run = format!("diagonalize skewed.npy -o result{memory}");
        dir.codiag(&run)
            .assert()
            .code(2)
            .stderr(contains("is not symmetric").and(contains("--symmetrize")));
        dir.codiag(&format!("{run} --symmetrize"))
            .assert()
            .success();
        let b = dir.array("result/B.npy").data;
        assert!(largest_difference(&b, &expected) < 1e-6, "{memory}");
        assert_eq!(
            dir.json("result/report.json")["settings"]["symmetrize"],
            true
        );
    }
}

#[test]
fn large_memory_limit_gives_a_solve_in_memory() {
    let dir = dir();
    let run = "diagonalize big.npy --method pham --max-iter 2 --memory";
    // Pham's method requires all matrices in memory.
    dir.codiag(&format!("{run} 4GB")).assert().code(1);
    dir.codiag(&format!("{run} 12MB"))
        .assert()
        .code(2)
        .stderr(contains(
            "--method pham and --method jacobi require all matrices in memory",
        ));
}

#[test]
fn errors_of_memory_option_are_reported() {
    let dir = dir();
    let run = |args: &str, message: &str| {
        dir.codiag(&format!("diagonalize {args}"))
            .assert()
            .code(2)
            .stderr(contains(message).and(contains("panicked").not()));
    };
    run("big.npy --memory 1kB", "big.npy: --memory must be at least");
    run("big.npy --memory much", "a number of bytes, such as 2GB");
    run("- --memory 1GB", "--memory requires a .npy file");
    run(
        "big.npy big.npy --memory 1GB",
        "a single .npy file, not a list",
    );
    run("none.npy --memory 1GB", "none.npy: cannot be read");

    let mut set = Array::read(&dir.path("big.npy"));
    set.data[3000 * 256 + 5] = f64::NAN;
    dir.write("nan.npy", Array::of("(4000, 16, 16)", &set.data));
    run(
        "nan.npy --memory 12MB",
        "nan.npy: matrix 3000: entry (0, 5) is NaN",
    );
    let whole = std::fs::read(dir.path("big.npy")).unwrap();
    dir.write("cut.npy", &whole[..whole.len() - 3 * 2048 - 1]);
    run("cut.npy --memory 12MB", "it ends within matrix 3996");
}

#[cfg(unix)]
#[test]
fn ctrl_c_during_a_data_pass_saves_the_best_b() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let dir = dir();
    // This solve does not finish by itself.
    let child = Command::new(env!("CARGO_BIN_EXE_codiag"))
        .current_dir(dir.folder.path())
        .args("diagonalize big.npy --memory 12MB --method quasi-newton --tol 1e-300".split(' '))
        .args("--n-restarts 100000 --checkpoint b.npy --checkpoint-every 0 -o result".split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let clock = Instant::now();
    while !dir.path("b.npy").exists() {
        assert!(clock.elapsed() < Duration::from_secs(250), "no checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(
        text.contains("the best B so far was saved to result"),
        "{text}"
    );
    assert_eq!(dir.array("result/B.npy").shape, [16, 16]);
}
