//! `codiag diagonalize`: output files and options.

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir, check_links, largest_difference};

#[test]
fn output_files_are_consistent() {
    let dir = TestDir::with_set();
    dir.codiag("diagonalize covs.npy -o result")
        .assert()
        .success()
        .stdout(contains("20 matrices of 5 x 5").and(contains("converged")));
    assert_eq!(
        dir.files("result"),
        [
            "A.npy",
            "B.npy",
            "diagonals.npy",
            "history.csv",
            "report.html",
            "report.json"
        ]
    );
    let (b, a) = (dir.array("result/B.npy"), dir.array("result/A.npy"));
    let (c, d) = (dir.array("covs.npy"), dir.array("result/diagonals.npy"));
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

    let report = dir.json("result/report.json");
    assert_eq!(report["converged"], true);
    assert_eq!(report["settings"]["method"], "newton");
    assert_eq!(report["input"]["matrices"], 20);
    assert_eq!(report["B"][2][3].as_f64().unwrap(), b.data[13]);
    assert!(report["gradient_norm"].as_f64().unwrap() <= 1e-8);
    let history = std::fs::read_to_string(dir.path("result/history.csv")).unwrap();
    let iterations = report["n_iter"].as_u64().unwrap() as usize;
    assert_eq!(history.lines().count(), iterations + 2);
    assert_eq!(report["history"].as_array().unwrap().len(), iterations + 1);
    let page = std::fs::read_to_string(dir.path("result/report.html")).unwrap();
    for heading in [
        "Convergence",
        "Comparison with channels and PCA",
        "Residual of each matrix",
        "Components",
        "Files",
    ] {
        assert!(page.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
    check_links(&page);
    // Channels, PCA and B.
    for basis in ["Channels", "PCA", "B"] {
        assert!(page.contains(&format!("<td>{basis}</td>")), "{basis}");
    }
    // Settings, version and command are above the first section.
    let (top, _) = page.split_once("<h2>").unwrap();
    for words in [
        "<details",
        env!("CARGO_PKG_VERSION"),
        "<code>codiag diagonalize covs.npy",
        "<code>max_iter</code>",
        " UTC",
    ] {
        assert!(top.contains(words), "{words}");
    }
    assert!(page.contains("<td>S00</td>") && page.contains("<td>S04</td>"));
}

#[test]
fn settings_in_the_report_reproduce_the_result() {
    let dir = TestDir::with_set();
    let options = "--method quasi-newton --init whitener --tol 1e-6 --shrinkage 0.01 --n-jobs 2";
    let first = dir.codiag(&format!("diagonalize covs.npy {options} -o first"));
    { first }.assert().success();
    let s = &dir.json("first/report.json")["settings"];
    let text = |name: &str| s[name].to_string().replace('"', "");
    let again = format!(
        "diagonalize covs.npy --method {} --init {} --tol {} --shrinkage {} --n-jobs {} -o second",
        text("method"),
        text("init"),
        text("tol"),
        text("shrinkage"),
        text("n_jobs")
    );
    dir.codiag(&again).assert().success();
    let (first, second) = (dir.array("first/B.npy"), dir.array("second/B.npy"));
    assert_eq!(first.data, second.data);
}

#[test]
fn all_methods_and_starting_points_reach_the_same_minimum() {
    let dir = TestDir::with_set();
    let mut losses = Vec::new();
    for method in ["newton", "quasi-newton", "pham", "row-wise"] {
        for start in ["spectral", "whitener", "identity"] {
            let run = format!("diagonalize covs.npy --method {method} --init {start} --json");
            let out = dir
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
fn zero_weights_exclude_matrices() {
    let dir = TestDir::with_set();
    let covs = dir.array("covs.npy");
    dir.write("half.npy", Array::of("(10, 5, 5)", &covs.data[..250]));
    let weights: Vec<String> = (0..20).map(|i| u8::from(i < 10).to_string()).collect();
    dir.write("w.txt", weights.join("\n"));
    let numbers: Vec<f64> = (0..20).map(|i| if i < 10 { 3.0 } else { 0.0 }).collect();
    dir.write("w.npy", Array::of("(20,)", &numbers));
    for (args, folder) in [
        ("covs.npy --sample-weight w.txt", "text"),
        ("covs.npy --sample-weight w.npy", "npy"),
        ("half.npy", "half"),
    ] {
        let run = format!("diagonalize {args} -o {folder}");
        dir.codiag(&run).assert().success();
    }
    let half = dir.array("half/B.npy");
    for folder in ["text", "npy"] {
        let b = dir.array(&format!("{folder}/B.npy"));
        assert!(largest_difference(&b.data, &half.data) < 1e-6);
    }
}

#[test]
fn orthogonal_n_components_and_n_restarts_work() {
    let dir = TestDir::with_set();
    dir.codiag("diagonalize covs.npy --orthogonal -o o")
        .assert()
        .success();
    let b = dir.array("o/B.npy");
    for x in 0..5 {
        for y in 0..5 {
            let dot: f64 = (0..5).map(|k| b.data[x * 5 + k] * b.data[y * 5 + k]).sum();
            assert!((dot - f64::from(u8::from(x == y))).abs() < 1e-10);
        }
    }
    dir.codiag("diagonalize covs.npy --n-components 3 -o r")
        .assert()
        .success()
        .stdout(contains("reduced to 3"));
    assert_eq!(dir.array("r/B.npy").shape, [3, 5]);
    assert_eq!(dir.array("r/A.npy").shape, [5, 3]);
    dir.codiag("diagonalize covs.npy --n-restarts 3 -o s")
        .assert()
        .success();
    let losses = &dir.json("s/report.json")["start_losses"];
    assert_eq!(losses.as_array().unwrap().len(), 4);
}

#[test]
fn advice_for_singular_sets_works() {
    let dir = TestDir::with_set();
    // The last channel equals the first, so all matrices share a null space.
    let covs = dir.array("covs.npy");
    let mut data = Vec::new();
    for matrix in covs.data.chunks_exact(25) {
        for a in [0, 1, 2, 3, 4, 0] {
            data.extend([0, 1, 2, 3, 4, 0].map(|b| matrix[a * 5 + b]));
        }
    }
    dir.write("singular.npy", Array::of("(20, 6, 6)", &data));
    dir.codiag("diagonalize singular.npy")
        .assert()
        .code(2)
        .stderr(contains("singular.npy").and(contains("--n-components auto")));
    dir.codiag("diagonalize singular.npy --n-components auto -o r")
        .assert()
        .success();
    assert_eq!(dir.array("r/B.npy").shape, [5, 6]);
    // One singular matrix among good ones.
    let mut data = covs.data.clone();
    data[..25].fill(1.0);
    dir.write("one.npy", Array::of("(20, 5, 5)", &data));
    dir.codiag("diagonalize one.npy")
        .assert()
        .code(2)
        .stderr(contains("matrix 0").and(contains("--shrinkage")));
    dir.codiag("diagonalize one.npy --shrinkage 1e-3")
        .assert()
        .success();
}

#[test]
fn nonconvergence_is_reported_with_exit_code_1() {
    let dir = TestDir::with_set();
    dir.codiag("diagonalize covs.npy --method quasi-newton --init identity --max-iter 1 -o r")
        .assert()
        .code(1)
        .stdout(contains("max_iter"))
        .stderr(contains("not converged").and(contains("--max-iter")));
    assert_eq!(dir.json("r/report.json")["converged"], false);
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    assert!(page.contains("max_iter"));
    // Continue from the result.
    dir.codiag("diagonalize covs.npy --init r/B.npy --max-iter 100")
        .assert()
        .success();
}

#[test]
fn unidentifiable_components_give_a_warning() {
    let dir = TestDir::new();
    // Two components with proportional powers, and one with different powers.
    let data: Vec<f64> = (1..=6)
        .flat_map(|i| {
            let x = f64::from(i);
            [x, 0.0, 0.0, 0.0, x, 0.0, 0.0, 0.0, 7.0 - x]
        })
        .collect();
    dir.write("c.npy", Array::of("(6, 3, 3)", &data));
    dir.codiag("diagonalize c.npy -o r")
        .assert()
        .success()
        .stderr(contains("are nearly unidentifiable"));
    let page = std::fs::read_to_string(dir.path("r/report.html")).unwrap();
    assert!(page.contains("are nearly unidentifiable"));
}

#[test]
fn single_matrix_and_single_channel_are_solved() {
    let dir = TestDir::new();
    dir.write("one.npy", Array::of("(1, 2, 2)", &[2.0, 0.5, 0.5, 1.0]));
    dir.codiag("diagonalize one.npy -o r")
        .assert()
        .success()
        .stderr(contains("only one matrix"));
    dir.write("thin.npy", Array::of("(3, 1, 1)", &[2.0, 0.5, 1.0]));
    dir.codiag("diagonalize thin.npy -o t").assert().success();
}

#[test]
fn checkpoints_are_complete_and_resume_to_the_same_result() {
    let dir = TestDir::with_set();
    let run = "diagonalize covs.npy --method quasi-newton --init identity";
    dir.codiag(&format!(
        "{run} --checkpoint b.npy --checkpoint-every 0 -o whole"
    ))
    .assert()
    .success();
    assert_eq!(dir.array("b.npy").shape, [5, 5]);
    dir.codiag("diagonalize covs.npy --init b.npy -o resumed")
        .assert()
        .success();
    let (whole, resumed) = (dir.array("whole/B.npy"), dir.array("resumed/B.npy"));
    assert!(largest_difference(&whole.data, &resumed.data) < 1e-6);
    // The checkpoint of a reduced set acts on channels, too.
    dir.codiag(
        "diagonalize covs.npy --n-components 3 --checkpoint c.npy --checkpoint-every 0 -o whole3",
    )
    .assert()
    .success();
    assert_eq!(dir.array("c.npy").shape, [3, 5]);
    dir.codiag("diagonalize covs.npy --n-components 3 --init c.npy -o resumed3")
        .assert()
        .success();
    let (whole, resumed) = (dir.array("whole3/B.npy"), dir.array("resumed3/B.npy"));
    assert!(largest_difference(&whole.data, &resumed.data) < 1e-6);
}

#[test]
fn frobenius_criterion_accepts_indefinite_matrices() {
    let dir = TestDir::with_set();
    let mut data = dir.array("covs.npy").data;
    // Make the matrices indefinite.
    for matrix in data.chunks_exact_mut(25) {
        (0..5).for_each(|a| matrix[a * 6] -= 1.0);
    }
    dir.write("symmetric.npy", Array::of("(20, 5, 5)", &data));
    dir.codiag("diagonalize symmetric.npy")
        .assert()
        .code(2)
        .stderr(contains("--criterion frobenius"));
    dir.codiag("diagonalize symmetric.npy --criterion frobenius -o result")
        .assert()
        .success()
        .stdout(contains("of the energy"));
    let report = dir.json("result/report.json");
    assert_eq!(report["criterion"], "frobenius");
    assert_eq!(report["settings"]["criterion"], "frobenius");
    assert_eq!(report["settings"]["orthogonal"], true);
    let b = dir.array("result/B.npy").data;
    for a in 0..5 {
        for c in 0..5 {
            let dot: f64 = (0..5).map(|k| b[a * 5 + k] * b[c * 5 + k]).sum();
            assert!((dot - f64::from(a == c)).abs() < 1e-12);
        }
    }
    let page = std::fs::read_to_string(dir.path("result/report.html")).unwrap();
    for words in ["fraction of the energy", "Cardoso", "RMS entry"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("log det") && !page.contains("NaN"));
    dir.codiag("diagonalize symmetric.npy --criterion frobenius --method jacobi")
        .assert()
        .success();
    dir.codiag("diagonalize symmetric.npy --criterion frobenius --method pham")
        .assert()
        .code(2)
        .stderr(contains(
            "--criterion frobenius does not support --method pham",
        ));
}

#[test]
fn least_squares_criterion_accepts_indefinite_matrices() {
    let dir = TestDir::with_set();
    let mut data = dir.array("covs.npy").data;
    // Make the matrices indefinite.
    for matrix in data.chunks_exact_mut(25) {
        (0..5).for_each(|a| matrix[a * 6] -= 1.0);
    }
    dir.write("symmetric.npy", Array::of("(20, 5, 5)", &data));
    dir
        .codiag(
            "diagonalize symmetric.npy --criterion least-squares --n-restarts 1 --checkpoint b.npy -o result",
        )
        .assert()
        .success()
        .stdout(contains("of the energy"));
    let report = dir.json("result/report.json");
    assert_eq!(report["settings"]["criterion"], "least-squares");
    assert_eq!(report["start_losses"].as_array().map(Vec::len), Some(2));
    // The columns of A have unit norm.
    let a = dir.array("result/A.npy").data;
    for c in 0..5 {
        let norm: f64 = (0..5).map(|k| a[k * 5 + c].powi(2)).sum();
        assert!((norm - 1.0).abs() < 1e-12);
    }
    let page = std::fs::read_to_string(dir.path("result/report.html")).unwrap();
    for words in [
        "fraction of the energy",
        "Yeredor (2002)",
        "the diagonal entry of Λ",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("log det") && !page.contains("NaN"));
    // A solve from the checkpoint converges without iterations, also from disk.
    for rest in ["", "--memory 3MB"] {
        let again = format!(
            "diagonalize symmetric.npy --criterion least-squares --init b.npy --tol 1e-7 -o again {rest}"
        );
        dir.codiag(&again).assert().success();
        assert_eq!(dir.json("again/report.json")["n_iter"], 0);
    }
    for method in ["acdc --init b.npy", "uwedge", "ffdiag"] {
        let by = format!("diagonalize symmetric.npy --criterion least-squares --method {method}");
        dir.codiag(&by).assert().success();
    }
}
