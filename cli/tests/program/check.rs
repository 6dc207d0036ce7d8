//! `codiag check`: descriptions of files, advice, and agreement with `diagonalize`.

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir};

#[test]
fn valid_set_is_described() {
    let dir = TestDir::with_set();
    dir.codiag("check covs.npy").assert().success().stdout(
        contains("20 matrices of 5 x 5").and(contains("The matrices can be diagonalized.")),
    );
    let out = dir
        .codiag("check covs.npy --json")
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let found: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(found["suitable"], true);
    assert_eq!(found["mean_rank"], 5);
    assert!(found["smallest_eigenvalue"].as_f64().unwrap() > 0.0);
    assert!(found["largest_condition_number"].as_f64().unwrap() > 1.0);
    assert_eq!(found["advice"].as_array().unwrap().len(), 0);
}

/// A change that makes a set invalid.
type Corrupt = fn(&mut Vec<f64>);

#[test]
fn problems_are_reported_with_advice_as_in_diagonalize() {
    let dir = TestDir::with_set();
    let covs = dir.array("covs.npy").data;
    let cases: [(&str, Corrupt, &str); 6] = [
        (
            "nan",
            |c| c[3 * 25 + 7] = f64::NAN,
            "NaN or infinite numbers in matrix 3",
        ),
        (
            "asymmetric",
            |c| c[4 * 25 + 1] += 1.0,
            "not symmetric: matrix 4; if they should be covariances, use --symmetrize",
        ),
        (
            "singular",
            |c| {
                c[5 * 25..6 * 25].fill(0.0);
                (0..4).for_each(|k| c[5 * 25 + k * 6] = 1.0);
            },
            "use --shrinkage 1e-3",
        ),
        (
            "indefinite",
            |c| c[5 * 25] = -100.0,
            "for indefinite matrices use --criterion frobenius",
        ),
        (
            "tiny",
            |c| c.iter_mut().for_each(|x| *x *= 1e-280),
            "rescale the matrices",
        ),
        (
            "null",
            |c| {
                for matrix in c.chunks_exact_mut(25) {
                    for k in 0..5 {
                        matrix[20 + k] = 0.0;
                        matrix[k * 5 + 4] = 0.0;
                    }
                }
            },
            "--n-components auto",
        ),
    ];
    for (name, corrupt, advice) in cases {
        let mut data = covs.clone();
        corrupt(&mut data);
        let file = format!("{name}.npy");
        dir.write(&file, Array::of("(20, 5, 5)", &data));
        dir.codiag(&format!("check {file}"))
            .assert()
            .code(2)
            .stdout(contains(advice).and(contains("The matrices cannot be diagonalized")));
        dir.codiag(&format!("diagonalize {file}"))
            .assert()
            .code(2)
            .stderr(contains(file.as_str()));
    }
}

#[test]
fn unusual_sets_give_notes_without_an_error() {
    let dir = TestDir::with_set();
    let mut data = dir.array("covs.npy").data;
    let copy = data[..25].to_vec();
    data[25..50].copy_from_slice(&copy);
    for x in &mut data[50..75] {
        *x *= 1e6;
    }
    // Nearly singular, but positive definite.
    data[75..100].fill(0.0);
    for (k, value) in [1e12, 1.0, 1.0, 1.0, 1.0].into_iter().enumerate() {
        data[75 + k * 6] = value;
    }
    dir.write("odd.npy", Array::of("(20, 5, 5)", &data));
    dir.codiag("check odd.npy").assert().success().stdout(
        contains("matrix 1 equals matrix 0")
            .and(contains("times the smallest"))
            .and(contains("ill-conditioned")),
    );
    dir.codiag("diagonalize odd.npy").assert().success();
}

#[test]
fn check_depends_on_the_criterion() {
    let dir = TestDir::with_set();
    let mut data = dir.array("covs.npy").data;
    data[5 * 25] = -100.0;
    dir.write("indefinite.npy", Array::of("(20, 5, 5)", &data));
    dir.codiag("check indefinite.npy --criterion frobenius")
        .assert()
        .success()
        .stdout(contains("The matrices can be diagonalized."));
    data[6 * 25 + 1] = f64::NAN;
    dir.write("nan.npy", Array::of("(20, 5, 5)", &data));
    let out = dir
        .codiag("check nan.npy --criterion frobenius --json")
        .assert()
        .code(2)
        .get_output()
        .stdout
        .clone();
    let found: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(found["suitable"], false);
    assert_eq!(found["criterion"], "frobenius");
}
