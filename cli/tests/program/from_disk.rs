//! `codiag diagonalize --memory`: sets that stay in their file.

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, Place, largest_difference};

/// A place with big.npy in it: 8 MB, more than 12 MB when solved in memory.
fn place() -> Place {
    let place = Place::new();
    place
        .codiag("generate -n 4000 -p 16 --seed 3 -o big.npy")
        .assert()
        .success();
    place
}

#[test]
fn the_answer_is_that_of_a_set_in_memory() {
    let place = place();
    for options in [
        "--method quasi-newton",
        "",
        "--n-components 9",
        "--orthogonal",
        // Further starts in memory are found in another way, but lead to the same minimum.
        "--shrinkage 0.1 --n-restarts 1",
    ] {
        place
            .codiag(&format!(
                "diagonalize big.npy -o here --tol 1e-11 {options}"
            ))
            .assert()
            .success();
        place
            .codiag(&format!(
                "diagonalize big.npy -o there --tol 1e-11 --memory 12MB {options}"
            ))
            .assert()
            .success()
            .stdout(contains("4000 matrices of 16 x 16").and(contains("converged")));
        for name in ["B.npy", "A.npy", "diagonals.npy"] {
            let here = place.array(&format!("here/{name}"));
            let there = place.array(&format!("there/{name}"));
            assert_eq!(here.shape, there.shape);
            let scale = here.data.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let difference = largest_difference(&here.data, &there.data);
            assert!(difference < 1e-8 * scale, "{options} {name} {difference}");
        }
        let residuals = place.array("there/residuals.npy").data;
        let report = place.json("here/report.json");
        let expected: Vec<f64> = serde_json::from_value(report["residuals"].clone()).unwrap();
        assert!(largest_difference(&residuals, &expected) < 1e-8);
        let report = place.json("there/report.json");
        assert_eq!(report["settings"]["memory"], 12_000_000);
        assert!(report["residuals"].is_null());
        std::fs::remove_dir_all(place.path("here")).unwrap();
        std::fs::remove_dir_all(place.path("there")).unwrap();
    }
}

#[test]
fn asymmetry_is_refused_unless_it_is_to_be_removed() {
    let place = place();
    let mut symmetric = place.array("big.npy").data;
    let mut skewed = symmetric.clone();
    for (matrix, twin) in symmetric
        .chunks_exact_mut(256)
        .zip(skewed.chunks_exact_mut(256))
    {
        // As rounding to few digits would do to an entry, on one side only.
        twin[1] *= 1.0 + 1e-5;
        let mean = 0.5 * (twin[1] + twin[16]);
        (matrix[1], matrix[16]) = (mean, mean);
    }
    place.write("symmetric.npy", Array::of("(4000, 16, 16)", &symmetric));
    place.write("skewed.npy", Array::of("(4000, 16, 16)", &skewed));
    place
        .codiag("diagonalize symmetric.npy -o expected")
        .assert()
        .success();
    let expected = place.array("expected/B.npy").data;
    for memory in ["", " --memory 12MB"] {
        let run = format!("diagonalize skewed.npy -o answer{memory}");
        place
            .codiag(&run)
            .assert()
            .code(2)
            .stderr(contains("is not symmetric").and(contains("--symmetrize")));
        place
            .codiag(&format!("{run} --symmetrize"))
            .assert()
            .success();
        let b = place.array("answer/B.npy").data;
        assert!(largest_difference(&b, &expected) < 1e-6, "{memory}");
        assert_eq!(
            place.json("answer/report.json")["settings"]["symmetrize"],
            true
        );
    }
}

#[test]
fn a_budget_for_everything_is_a_solve_in_memory() {
    let place = place();
    let run = "diagonalize big.npy --method pham --max-iter 2 --memory";
    // Pham's method works there, and only there.
    place.codiag(&format!("{run} 4GB")).assert().code(1);
    place
        .codiag(&format!("{run} 12MB"))
        .assert()
        .code(2)
        .stderr(contains(
            "--method pham and --method jacobi require all matrices in memory",
        ));
}

#[test]
fn what_is_wrong_is_said() {
    let place = place();
    let run = |args: &str, message: &str| {
        place
            .codiag(&format!("diagonalize {args}"))
            .assert()
            .code(2)
            .stderr(contains(message).and(contains("panicked").not()));
    };
    run("big.npy --memory 1kB", "big.npy: --memory must be at least");
    run("big.npy --memory much", "a number of bytes, such as 2GB");
    run("- --memory 1GB", "--memory reads one .npy file");
    run("big.npy big.npy --memory 1GB", "one .npy file, not a list");
    run("none.npy --memory 1GB", "none.npy: cannot be read");

    let mut set = Array::read(&place.path("big.npy"));
    set.data[3000 * 256 + 5] = f64::NAN;
    place.write("nan.npy", Array::of("(4000, 16, 16)", &set.data));
    run(
        "nan.npy --memory 12MB",
        "nan.npy: matrix 3000: entry (0, 5) is NaN",
    );
    let whole = std::fs::read(place.path("big.npy")).unwrap();
    place.write("cut.npy", &whole[..whole.len() - 3 * 2048 - 1]);
    run("cut.npy --memory 12MB", "it ends within matrix 3996");
}

#[cfg(unix)]
#[test]
fn ctrl_c_in_the_middle_of_a_sweep_keeps_the_last_b() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let place = place();
    // It would take for ever.
    let child = Command::new(env!("CARGO_BIN_EXE_codiag"))
        .current_dir(place.folder.path())
        .args("diagonalize big.npy --memory 12MB --method quasi-newton --tol 1e-300".split(' '))
        .args("--n-restarts 100000 --checkpoint b.npy --checkpoint-every 0 -o result".split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let clock = Instant::now();
    while !place.path("b.npy").exists() {
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
    assert!(text.contains("the best B so far is in result"), "{text}");
    assert_eq!(place.array("result/B.npy").shape, [16, 16]);
}
