//! All kinds of INPUT.

use std::io::Write;

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir, largest_difference};

/// Asserts that another form of covs.npy gives the same B.
fn assert_same_result(dir: &TestDir, input: &str) {
    dir.codiag("diagonalize covs.npy -o original")
        .assert()
        .success();
    dir.codiag(&format!("diagonalize {input} -o other"))
        .assert()
        .success();
    let (b, other) = (dir.array("original/B.npy"), dir.array("other/B.npy"));
    assert!(largest_difference(&b.data, &other.data) < 1e-8, "{input}");
}

fn matrix_as_csv(matrix: &[f64], separator: &str) -> String {
    let rows = matrix.chunks_exact(5).map(|row| {
        let numbers: Vec<String> = row.iter().map(|x| format!("{x:.17e}")).collect();
        numbers.join(separator)
    });
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn fortran_order_and_big_endian_are_read() {
    let dir = TestDir::with_set();
    let covs = dir.array("covs.npy");
    let mut bytes = Vec::new();
    for b in 0..5 {
        for a in 0..5 {
            for i in 0..20 {
                bytes.extend(covs.data[i * 25 + a * 5 + b].to_be_bytes());
            }
        }
    }
    dir.write("f.npy", Array::bytes(">f8", true, "(20, 5, 5)", &bytes));
    assert_same_result(&dir, "f.npy");
}

/// Returns an uncompressed .mat file of version 5 with one array of doubles in Fortran order.
fn mat(name: &str, dims: [usize; 3], entry: impl Fn(usize, usize, usize) -> f64) -> Vec<u8> {
    let element = |kind: u32, content: &[u8]| {
        let mut out = [kind.to_le_bytes(), (content.len() as u32).to_le_bytes()].concat();
        out.extend(content);
        out.resize(out.len().next_multiple_of(8), 0);
        out
    };
    let numbers: Vec<u8> = (0..dims.iter().product())
        .map(|k| entry(k % dims[0], k / dims[0] % dims[1], k / dims[0] / dims[1]))
        .flat_map(f64::to_le_bytes)
        .collect();
    let sizes: Vec<u8> = dims
        .iter()
        .flat_map(|size| (*size as u32).to_le_bytes())
        .collect();
    let parts = [
        element(6, &[6, 0, 0, 0, 0, 0, 0, 0]),
        element(5, &sizes),
        element(1, name.as_bytes()),
        element(9, &numbers),
    ];
    let mut file = b"MATLAB 5.0 MAT-file".to_vec();
    file.resize(124, b' ');
    file.extend([0, 1, b'I', b'M']);
    file.extend(element(14, &parts.concat()));
    file
}

#[test]
fn mat_file_may_have_the_matrices_last_or_first() {
    let dir = TestDir::with_set();
    let covs = dir.array("covs.npy").data;
    let last = mat("C", [5, 5, 20], |a, b, i| covs[i * 25 + a * 5 + b]);
    dir.write("last.mat", &last);
    dir.write(
        "first.mat",
        mat("C", [20, 5, 5], |i, a, b| covs[i * 25 + a * 5 + b]),
    );
    assert_same_result(&dir, "last.mat");
    assert_same_result(&dir, "first.mat --key C");
    dir.codiag("check -")
        .write_stdin(last)
        .assert()
        .success()
        .stdout(contains("20 matrices of 5 x 5"));
    dir.write(
        "cube.mat",
        mat("C", [5, 5, 5], |a, b, i| covs[i * 25 + a * 5 + b]),
    );
    dir.codiag("diagonalize cube.mat")
        .assert()
        .code(2)
        .stderr(contains("cube.mat").and(contains("p x p x n or n x p x p")));
    dir.write("new.mat", b"\x89HDF\r\n\x1a\n");
    dir.codiag("diagonalize new.mat")
        .assert()
        .code(2)
        .stderr(contains("version 7.3").and(contains("-v7")));
}

#[test]
fn single_precision_and_integers_are_read() {
    let dir = TestDir::with_set();
    let bytes: Vec<u8> = [2_i32, 1, 1, 3, 5, 1, 1, 1]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    dir.write("i.npy", Array::bytes("<i4", false, "(2, 2, 2)", &bytes));
    dir.codiag("diagonalize i.npy").assert().success();
    let bytes: Vec<u8> = [2.0_f32, 1.0, 1.0, 3.0, 5.0, 1.0, 1.0, 1.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    dir.write("f.npy", Array::bytes("<f4", false, "(2, 2, 2)", &bytes));
    dir.codiag("diagonalize f.npy").assert().success();
}

#[test]
fn folders_and_lists_of_files_are_read() {
    let dir = TestDir::with_set();
    let covs = dir.array("covs.npy");
    for (i, matrix) in covs.data.chunks_exact(25).enumerate() {
        if i % 2 == 0 {
            dir.write(&format!("set/c{i}.csv"), matrix_as_csv(matrix, ","));
        } else {
            dir.write(&format!("set/c{i}.npy"), Array::of("(5, 5)", matrix));
        }
    }
    dir.write("set/notes.md", "not a matrix");
    assert_same_result(&dir, "set");
    let list: Vec<String> = (0..20)
        .map(|i| format!("set/c{i}.{}", if i % 2 == 0 { "csv" } else { "npy" }))
        .collect();
    assert_same_result(&dir, &list.join(" "));
    // Files are in the order of the numbers in their names, not in alphabetical order.
    dir.codiag("diagonalize set -o numbered").assert().success();
    let (a, b) = (
        dir.array("original/diagonals.npy"),
        dir.array("numbered/diagonals.npy"),
    );
    assert!(largest_difference(&a.data, &b.data) < 1e-6);
    dir.codiag("diagonalize set/c0.csv")
        .assert()
        .success()
        .stdout(contains("1 matrix of 5 x 5"));
}

#[test]
fn npz_array_is_chosen_by_key_unless_there_is_only_one() {
    let dir = TestDir::with_set();
    let covs = std::fs::read(dir.path("covs.npy")).unwrap();
    let mixing = std::fs::read(dir.path("A.npy")).unwrap();
    let pack = |entries: &[(&str, &[u8])]| {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            let options = zip::write::SimpleFileOptions::default()
                .compression_method(zip::CompressionMethod::Deflated);
            archive.start_file(*name, options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    };
    dir.write("one.npz", pack(&[("covs.npy", &covs)]));
    dir.write("two.npz", pack(&[("covs.npy", &covs), ("A.npy", &mixing)]));
    assert_same_result(&dir, "one.npz");
    assert_same_result(&dir, "two.npz --key covs");
    dir.codiag("diagonalize two.npz").assert().code(2).stderr(
        contains("two.npz")
            .and(contains("--key"))
            .and(contains("covs")),
    );
    dir.codiag("diagonalize two.npz --key nothing")
        .assert()
        .code(2)
        .stderr(contains("nothing").and(contains("covs")));
    dir.write("none.npz", pack(&[("readme.txt", b"hello")]));
    dir.codiag("check none.npz")
        .assert()
        .code(2)
        .stderr(contains("no array"));
    let bytes = std::fs::read(dir.path("one.npz")).unwrap();
    dir.codiag("diagonalize -")
        .write_stdin(bytes)
        .assert()
        .success();
}

#[test]
fn standard_input_and_output_are_used_for_a_dash() {
    let dir = TestDir::with_set();
    let set = dir
        .codiag("generate -n 20 -p 5 --seed 1")
        .assert()
        .success();
    let covs = std::fs::read(dir.path("covs.npy")).unwrap();
    assert_eq!(set.get_output().stdout, covs);
    let b = dir
        .codiag("diagonalize - -o -")
        .write_stdin(covs.clone())
        .assert()
        .success();
    let b = Array::parse(&b.get_output().stdout);
    dir.codiag("diagonalize covs.npy -o r").assert().success();
    assert_eq!(b.data, dir.array("r/B.npy").data);
    dir.codiag("check -")
        .write_stdin(covs.clone())
        .assert()
        .success()
        .stdout(contains("standard input: 20 matrices"));
    dir.codiag("diagonalize -")
        .write_stdin(&covs[..covs.len() - 1])
        .assert()
        .code(2)
        .stderr(contains("standard input").and(contains("truncated")));
    dir.codiag("check -").write_stdin("").assert().code(2);
    dir.codiag("check -").write_stdin("hello").assert().code(2);
    dir.codiag("diagonalize covs.npy -o - --json")
        .assert()
        .code(2)
        .stderr(contains("use only one of them"));
}

#[test]
fn generated_sets_follow_their_seed_and_options() {
    let dir = TestDir::new();
    dir.codiag("generate -n 30 -p 4 --sigma 0 --seed 3 --mixing A.npy -o c.npy")
        .assert()
        .success();
    dir.codiag("generate -n 30 -p 4 --sigma 0 --seed 3 -o again.npy")
        .assert()
        .success();
    let first = std::fs::read(dir.path("c.npy")).unwrap();
    assert_eq!(first, std::fs::read(dir.path("again.npy")).unwrap());
    dir.codiag("generate -n 30 -p 4 --sigma 0 --seed 4 -o other.npy")
        .assert()
        .success();
    assert_ne!(first, std::fs::read(dir.path("other.npy")).unwrap());
    // Without noise, B inverts the mixing up to order and scale: each row of B A has one nonzero
    // entry.
    dir.codiag("diagonalize c.npy -o r").assert().success();
    let (b, a) = (dir.array("r/B.npy"), dir.array("A.npy"));
    for row in 0..4 {
        let entry = |c: usize| {
            (0..4)
                .map(|k| b.data[row * 4 + k] * a.data[k * 4 + c])
                .sum::<f64>()
                .abs()
        };
        let mut entries: Vec<f64> = (0..4).map(entry).collect();
        entries.sort_by(f64::total_cmp);
        assert!(entries[2] < 1e-7 * entries[3]);
    }
    dir.codiag("generate --meg gradiometers -o meg.npy")
        .assert()
        .success();
    assert_eq!(dir.array("meg.npy").shape, [100, 40, 40]);
    dir.codiag("generate --meg eeg").assert().code(2);
    dir.codiag("generate --meg magnetometers -n 3")
        .assert()
        .code(2);
    dir.codiag("generate -n 0")
        .assert()
        .code(2)
        .stderr(contains("at least 1"));
    dir.codiag("generate --sigma -1").assert().code(2);
}
