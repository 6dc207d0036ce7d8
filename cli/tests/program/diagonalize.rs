//! `codiag diagonalize`: what it writes, and what each option changes.

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, Place, largest_difference};

#[test]
fn writes_everything_and_it_fits_together() {
    let place = Place::with_set();
    place
        .codiag("diagonalize covs.npy -o result")
        .assert()
        .success()
        .stdout(contains("20 matrices of 5 x 5").and(contains("converged")));
    assert_eq!(
        place.files("result"),
        [
            "A.npy",
            "B.npy",
            "diagonals.npy",
            "history.csv",
            "report.html",
            "report.json"
        ]
    );
    let (b, a) = (place.array("result/B.npy"), place.array("result/A.npy"));
    let (c, d) = (place.array("covs.npy"), place.array("result/diagonals.npy"));
    assert_eq!((&b.shape[..], &d.shape[..]), (&[5, 5][..], &[20, 5][..]));
    for row in 0..5 {
        for column in 0..5 {
            let product: f64 = (0..5)
                .map(|k| b.data[row * 5 + k] * a.data[k * 5 + column])
                .sum();
            assert!((product - f64::from(u8::from(row == column))).abs() < 1e-10);
        }
    }
    // The power of component 2 in matrix 7, from B and C.
    let mut power = 0.0;
    for x in 0..5 {
        for y in 0..5 {
            power += b.data[10 + x] * c.data[7 * 25 + x * 5 + y] * b.data[10 + y];
        }
    }
    assert!((power - d.data[7 * 5 + 2]).abs() < 1e-10);

    let report = place.json("result/report.json");
    assert_eq!(report["converged"], true);
    assert_eq!(report["settings"]["method"], "newton");
    assert_eq!(report["input"]["matrices"], 20);
    assert_eq!(report["B"][2][3].as_f64().unwrap(), b.data[13]);
    assert!(report["gradient_norm"].as_f64().unwrap() <= 1e-8);
    let history = std::fs::read_to_string(place.path("result/history.csv")).unwrap();
    let iterations = report["n_iter"].as_u64().unwrap() as usize;
    assert_eq!(history.lines().count(), iterations + 2);
    assert_eq!(report["history"].as_array().unwrap().len(), iterations + 1);
    let page = std::fs::read_to_string(place.path("result/report.html")).unwrap();
    for heading in [
        "Convergence",
        "before and after",
        "each matrix",
        "Components",
    ] {
        assert!(page.contains(heading), "{heading}");
    }
}

#[test]
fn the_settings_in_the_report_are_enough_to_run_it_again() {
    let place = Place::with_set();
    let options = "--method quasi-newton --init whitener --tol 1e-6 --shrinkage 0.01 --n-jobs 2";
    let first = place.codiag(&format!("diagonalize covs.npy {options} -o first"));
    { first }.assert().success();
    let s = &place.json("first/report.json")["settings"];
    let text = |name: &str| s[name].to_string().replace('"', "");
    let again = format!(
        "diagonalize covs.npy --method {} --init {} --tol {} --shrinkage {} --n-jobs {} -o second",
        text("method"),
        text("start"),
        text("tol"),
        text("shrinkage"),
        text("threads")
    );
    place.codiag(&again).assert().success();
    let (first, second) = (place.array("first/B.npy"), place.array("second/B.npy"));
    assert_eq!(first.data, second.data);
}

#[test]
fn every_method_and_start_finds_the_same_minimum() {
    let place = Place::with_set();
    let mut losses = Vec::new();
    for method in ["newton", "quasi-newton", "pham", "row-wise"] {
        for start in ["spectral", "whitener", "identity"] {
            let run = format!("diagonalize covs.npy --method {method} --init {start} --json");
            let out = place
                .codiag(&run)
                .assert()
                .success()
                .get_output()
                .stdout
                .clone();
            let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(report["settings"]["method"], method);
            losses.push(report["loss"].as_f64().unwrap());
        }
    }
    assert!(
        losses.iter().all(|loss| (loss - losses[0]).abs() < 1e-9),
        "{losses:?}"
    );
}

#[test]
fn weights_choose_the_matrices_that_count() {
    let place = Place::with_set();
    let covs = place.array("covs.npy");
    place.write("half.npy", Array::of("(10, 5, 5)", &covs.data[..250]));
    let weights: Vec<String> = (0..20).map(|i| u8::from(i < 10).to_string()).collect();
    place.write("w.txt", weights.join("\n"));
    let numbers: Vec<f64> = (0..20).map(|i| if i < 10 { 3.0 } else { 0.0 }).collect();
    place.write("w.npy", Array::of("(20,)", &numbers));
    for (args, folder) in [
        ("covs.npy --sample-weight w.txt", "text"),
        ("covs.npy --sample-weight w.npy", "npy"),
        ("half.npy", "half"),
    ] {
        let run = format!("diagonalize {args} -o {folder}");
        place.codiag(&run).assert().success();
    }
    let half = place.array("half/B.npy");
    for folder in ["text", "npy"] {
        let b = place.array(&format!("{folder}/B.npy"));
        assert!(largest_difference(&b.data, &half.data) < 1e-6);
    }
}

#[test]
fn orthogonal_rank_and_restarts() {
    let place = Place::with_set();
    place
        .codiag("diagonalize covs.npy --orthogonal -o o")
        .assert()
        .success();
    let b = place.array("o/B.npy");
    for x in 0..5 {
        for y in 0..5 {
            let dot: f64 = (0..5).map(|k| b.data[x * 5 + k] * b.data[y * 5 + k]).sum();
            assert!((dot - f64::from(u8::from(x == y))).abs() < 1e-10);
        }
    }
    place
        .codiag("diagonalize covs.npy --n-components 3 -o r")
        .assert()
        .success()
        .stdout(contains("reduced to 3"));
    assert_eq!(place.array("r/B.npy").shape, [3, 5]);
    assert_eq!(place.array("r/A.npy").shape, [5, 3]);
    place
        .codiag("diagonalize covs.npy --n-restarts 3 -o s")
        .assert()
        .success();
    let losses = &place.json("s/report.json")["start_losses"];
    assert_eq!(losses.as_array().unwrap().len(), 4);
}

#[test]
fn a_singular_set_is_mended_as_the_error_says() {
    let place = Place::with_set();
    // The last channel repeats the first: all matrices share a null space.
    let covs = place.array("covs.npy");
    let mut data = Vec::new();
    for matrix in covs.data.chunks_exact(25) {
        for a in [0, 1, 2, 3, 4, 0] {
            data.extend([0, 1, 2, 3, 4, 0].map(|b| matrix[a * 5 + b]));
        }
    }
    place.write("singular.npy", Array::of("(20, 6, 6)", &data));
    place
        .codiag("diagonalize singular.npy")
        .assert()
        .code(2)
        .stderr(contains("singular.npy").and(contains("--n-components auto")));
    place
        .codiag("diagonalize singular.npy --n-components auto -o r")
        .assert()
        .success();
    assert_eq!(place.array("r/B.npy").shape, [5, 6]);
    // One singular matrix among good ones.
    let mut data = covs.data.clone();
    data[..25].fill(1.0);
    place.write("one.npy", Array::of("(20, 5, 5)", &data));
    place
        .codiag("diagonalize one.npy")
        .assert()
        .code(2)
        .stderr(contains("matrix 0").and(contains("--shrinkage")));
    place
        .codiag("diagonalize one.npy --shrinkage 1e-3")
        .assert()
        .success();
}

#[test]
fn not_converging_is_said_and_is_exit_code_1() {
    let place = Place::with_set();
    place
        .codiag("diagonalize covs.npy --method quasi-newton --init identity --max-iter 1 -o r")
        .assert()
        .code(1)
        .stdout(contains("iteration limit"))
        .stderr(contains("not converged").and(contains("--max-iter")));
    assert_eq!(place.json("r/report.json")["converged"], false);
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    assert!(page.contains("iteration limit"));
    // And on from there.
    place
        .codiag("diagonalize covs.npy --init r/B.npy --max-iter 100")
        .assert()
        .success();
}

#[test]
fn components_that_cannot_be_told_apart_are_warned_about() {
    let place = Place::new();
    // Two components with the same power everywhere, and one that varies.
    let data: Vec<f64> = (1..=6)
        .flat_map(|i| {
            let x = f64::from(i);
            [x, 0.0, 0.0, 0.0, x, 0.0, 0.0, 0.0, 7.0 - x]
        })
        .collect();
    place.write("c.npy", Array::of("(6, 3, 3)", &data));
    place
        .codiag("diagonalize c.npy -o r")
        .assert()
        .success()
        .stderr(contains("are nearly unidentifiable"));
    let page = std::fs::read_to_string(place.path("r/report.html")).unwrap();
    assert!(page.contains("are nearly unidentifiable"));
}

#[test]
fn one_matrix_and_one_channel_are_solved() {
    let place = Place::new();
    place.write("one.npy", Array::of("(1, 2, 2)", &[2.0, 0.5, 0.5, 1.0]));
    place
        .codiag("diagonalize one.npy -o r")
        .assert()
        .success()
        .stderr(contains("only one matrix"));
    place.write("thin.npy", Array::of("(3, 1, 1)", &[2.0, 0.5, 1.0]));
    place.codiag("diagonalize thin.npy -o t").assert().success();
}

#[test]
fn checkpoints_are_whole_and_resume_to_the_same_answer() {
    let place = Place::with_set();
    let run = "diagonalize covs.npy --method quasi-newton --init identity";
    place
        .codiag(&format!(
            "{run} --checkpoint b.npy --checkpoint-every 0 -o whole"
        ))
        .assert()
        .success();
    assert_eq!(place.array("b.npy").shape, [5, 5]);
    place
        .codiag("diagonalize covs.npy --init b.npy -o resumed")
        .assert()
        .success();
    let (whole, resumed) = (place.array("whole/B.npy"), place.array("resumed/B.npy"));
    assert!(largest_difference(&whole.data, &resumed.data) < 1e-6);
    // Also where the set was reduced, and B acts on channels all the same.
    place
        .codiag("diagonalize covs.npy --n-components 3 --checkpoint c.npy --checkpoint-every 0 -o whole3")
        .assert()
        .success();
    assert_eq!(place.array("c.npy").shape, [3, 5]);
    place
        .codiag("diagonalize covs.npy --n-components 3 --init c.npy -o resumed3")
        .assert()
        .success();
    let (whole, resumed) = (place.array("whole3/B.npy"), place.array("resumed3/B.npy"));
    assert!(largest_difference(&whole.data, &resumed.data) < 1e-6);
}

#[test]
fn any_symmetric_set_by_the_frobenius_criterion() {
    let place = Place::with_set();
    let mut data = place.array("covs.npy").data;
    // No longer positive definite.
    for matrix in data.chunks_exact_mut(25) {
        (0..5).for_each(|a| matrix[a * 6] -= 1.0);
    }
    place.write("symmetric.npy", Array::of("(20, 5, 5)", &data));
    place
        .codiag("diagonalize symmetric.npy")
        .assert()
        .code(2)
        .stderr(contains("--criterion frobenius"));
    place
        .codiag("diagonalize symmetric.npy --criterion frobenius -o result")
        .assert()
        .success()
        .stdout(contains("of the energy"));
    let report = place.json("result/report.json");
    assert_eq!(report["criterion"], "frobenius");
    assert_eq!(report["settings"]["criterion"], "frobenius");
    assert_eq!(report["settings"]["orthogonal"], true);
    let b = place.array("result/B.npy").data;
    for a in 0..5 {
        for c in 0..5 {
            let dot: f64 = (0..5).map(|k| b[a * 5 + k] * b[c * 5 + k]).sum();
            assert!((dot - f64::from(a == c)).abs() < 1e-12);
        }
    }
    let page = std::fs::read_to_string(place.path("result/report.html")).unwrap();
    for words in ["share of the energy", "Cardoso", "of the largest entry"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("log det") && !page.contains("NaN"));
    place
        .codiag("diagonalize symmetric.npy --criterion frobenius --method jacobi")
        .assert()
        .success();
    place
        .codiag("diagonalize symmetric.npy --criterion frobenius --method pham")
        .assert()
        .code(2)
        .stderr(contains(
            "--criterion frobenius does not support --method pham",
        ));
}

#[test]
fn any_symmetric_set_by_least_squares() {
    let place = Place::with_set();
    let mut data = place.array("covs.npy").data;
    // No longer positive definite.
    for matrix in data.chunks_exact_mut(25) {
        (0..5).for_each(|a| matrix[a * 6] -= 1.0);
    }
    place.write("symmetric.npy", Array::of("(20, 5, 5)", &data));
    place
        .codiag(
            "diagonalize symmetric.npy --criterion least-squares --n-restarts 1 --checkpoint b.npy -o result",
        )
        .assert()
        .success()
        .stdout(contains("of the energy"));
    let report = place.json("result/report.json");
    assert_eq!(report["settings"]["criterion"], "least-squares");
    assert_eq!(report["start_losses"].as_array().map(Vec::len), Some(2));
    // The columns of A have unit norm.
    let a = place.array("result/A.npy").data;
    for c in 0..5 {
        let norm: f64 = (0..5).map(|k| a[k * 5 + c].powi(2)).sum();
        assert!((norm - 1.0).abs() < 1e-12);
    }
    let page = std::fs::read_to_string(place.path("result/report.html")).unwrap();
    for words in [
        "share of the energy",
        "Yeredor (2002)",
        "the diagonal entry of Λ",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("log det") && !page.contains("NaN"));
    // From its checkpoint there is nothing left to do, from disk too.
    for rest in ["", "--memory 3MB"] {
        let again = format!(
            "diagonalize symmetric.npy --criterion least-squares --init b.npy --tol 1e-7 -o again {rest}"
        );
        place.codiag(&again).assert().success();
        assert_eq!(place.json("again/report.json")["n_iter"], 0);
    }
    for method in ["acdc --init b.npy", "uwedge", "ffdiag"] {
        let by = format!("diagonalize symmetric.npy --criterion least-squares --method {method}");
        place.codiag(&by).assert().success();
    }
}
