//! All that INPUT can be.

use std::io::Write;

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, Place, largest_difference};

/// covs.npy in other clothes gives the same B.
fn same_answer(place: &Place, input: &str) {
    place
        .codiag("diagonalize covs.npy -o original")
        .assert()
        .success();
    place
        .codiag(&format!("diagonalize {input} -o other"))
        .assert()
        .success();
    let (b, other) = (place.array("original/B.npy"), place.array("other/B.npy"));
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
fn fortran_order_and_big_endian() {
    let place = Place::with_set();
    let covs = place.array("covs.npy");
    let mut bytes = Vec::new();
    for b in 0..5 {
        for a in 0..5 {
            for i in 0..20 {
                bytes.extend(covs.data[i * 25 + a * 5 + b].to_be_bytes());
            }
        }
    }
    place.write("f.npy", Array::bytes(">f8", true, "(20, 5, 5)", &bytes));
    same_answer(&place, "f.npy");
}

/// An uncompressed .mat of version 5 with one array of doubles, the first index running fastest.
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
fn a_mat_file_with_the_matrices_last_or_first() {
    let place = Place::with_set();
    let covs = place.array("covs.npy").data;
    let last = mat("C", [5, 5, 20], |a, b, i| covs[i * 25 + a * 5 + b]);
    place.write("last.mat", &last);
    place.write(
        "first.mat",
        mat("C", [20, 5, 5], |i, a, b| covs[i * 25 + a * 5 + b]),
    );
    same_answer(&place, "last.mat");
    same_answer(&place, "first.mat --key C");
    place
        .codiag("check -")
        .write_stdin(last)
        .assert()
        .success()
        .stdout(contains("20 matrices of 5 x 5"));
    place.write(
        "cube.mat",
        mat("C", [5, 5, 5], |a, b, i| covs[i * 25 + a * 5 + b]),
    );
    place
        .codiag("diagonalize cube.mat")
        .assert()
        .code(2)
        .stderr(contains("cube.mat").and(contains("p x p x n or n x p x p")));
    place.write("new.mat", b"\x89HDF\r\n\x1a\n");
    place
        .codiag("diagonalize new.mat")
        .assert()
        .code(2)
        .stderr(contains("version 7.3").and(contains("-v7")));
}

#[test]
fn single_precision_and_integers() {
    let place = Place::with_set();
    let bytes: Vec<u8> = [2_i32, 1, 1, 3, 5, 1, 1, 1]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    place.write("i.npy", Array::bytes("<i4", false, "(2, 2, 2)", &bytes));
    place.codiag("diagonalize i.npy").assert().success();
    let bytes: Vec<u8> = [2.0_f32, 1.0, 1.0, 3.0, 5.0, 1.0, 1.0, 1.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    place.write("f.npy", Array::bytes("<f4", false, "(2, 2, 2)", &bytes));
    place.codiag("diagonalize f.npy").assert().success();
}

#[test]
fn a_folder_or_a_list_of_files() {
    let place = Place::with_set();
    let covs = place.array("covs.npy");
    for (i, matrix) in covs.data.chunks_exact(25).enumerate() {
        if i % 2 == 0 {
            place.write(&format!("set/c{i}.csv"), matrix_as_csv(matrix, ","));
        } else {
            place.write(&format!("set/c{i}.npy"), Array::of("(5, 5)", matrix));
        }
    }
    place.write("set/notes.md", "not a matrix");
    same_answer(&place, "set");
    let list: Vec<String> = (0..20)
        .map(|i| format!("set/c{i}.{}", if i % 2 == 0 { "csv" } else { "npy" }))
        .collect();
    same_answer(&place, &list.join(" "));
    // In the order of the numbers in the names, not of the letters.
    place
        .codiag("diagonalize set -o numbered")
        .assert()
        .success();
    let (a, b) = (
        place.array("original/diagonals.npy"),
        place.array("numbered/diagonals.npy"),
    );
    assert!(largest_difference(&a.data, &b.data) < 1e-6);
    place
        .codiag("diagonalize set/c0.csv")
        .assert()
        .success()
        .stdout(contains("1 matrix of 5 x 5"));
}

#[test]
fn an_npz_by_its_key_or_the_only_one() {
    let place = Place::with_set();
    let covs = std::fs::read(place.path("covs.npy")).unwrap();
    let mixing = std::fs::read(place.path("A.npy")).unwrap();
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
    place.write("one.npz", pack(&[("covs.npy", &covs)]));
    place.write("two.npz", pack(&[("covs.npy", &covs), ("A.npy", &mixing)]));
    same_answer(&place, "one.npz");
    same_answer(&place, "two.npz --key covs");
    place.codiag("diagonalize two.npz").assert().code(2).stderr(
        contains("two.npz")
            .and(contains("--key"))
            .and(contains("covs")),
    );
    place
        .codiag("diagonalize two.npz --key nothing")
        .assert()
        .code(2)
        .stderr(contains("nothing").and(contains("covs")));
    place.write("none.npz", pack(&[("readme.txt", b"hello")]));
    place
        .codiag("check none.npz")
        .assert()
        .code(2)
        .stderr(contains("no array"));
    let bytes = std::fs::read(place.path("one.npz")).unwrap();
    place
        .codiag("diagonalize -")
        .write_stdin(bytes)
        .assert()
        .success();
}

#[test]
fn standard_input_and_output() {
    let place = Place::with_set();
    let set = place
        .codiag("generate -n 20 -p 5 --seed 1")
        .assert()
        .success();
    let covs = std::fs::read(place.path("covs.npy")).unwrap();
    assert_eq!(set.get_output().stdout, covs);
    let b = place
        .codiag("diagonalize - -o -")
        .write_stdin(covs.clone())
        .assert()
        .success();
    let b = Array::parse(&b.get_output().stdout);
    place.codiag("diagonalize covs.npy -o r").assert().success();
    assert_eq!(b.data, place.array("r/B.npy").data);
    place
        .codiag("check -")
        .write_stdin(covs.clone())
        .assert()
        .success()
        .stdout(contains("standard input: 20 matrices"));
    place
        .codiag("diagonalize -")
        .write_stdin(&covs[..covs.len() - 1])
        .assert()
        .code(2)
        .stderr(contains("standard input").and(contains("truncated")));
    place.codiag("check -").write_stdin("").assert().code(2);
    place
        .codiag("check -")
        .write_stdin("hello")
        .assert()
        .code(2);
    place
        .codiag("diagonalize covs.npy -o - --json")
        .assert()
        .code(2)
        .stderr(contains("choose one"));
}

#[test]
fn generated_sets_are_the_ones_of_the_paper() {
    let place = Place::new();
    place
        .codiag("generate -n 30 -p 4 --sigma 0 --seed 3 --mixing A.npy -o c.npy")
        .assert()
        .success();
    place
        .codiag("generate -n 30 -p 4 --sigma 0 --seed 3 -o again.npy")
        .assert()
        .success();
    let first = std::fs::read(place.path("c.npy")).unwrap();
    assert_eq!(first, std::fs::read(place.path("again.npy")).unwrap());
    place
        .codiag("generate -n 30 -p 4 --sigma 0 --seed 4 -o other.npy")
        .assert()
        .success();
    assert_ne!(first, std::fs::read(place.path("other.npy")).unwrap());
    // Without noise B inverts the mixing, up to order and scale: one entry a row of B A remains.
    place.codiag("diagonalize c.npy -o r").assert().success();
    let (b, a) = (place.array("r/B.npy"), place.array("A.npy"));
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
    place
        .codiag("generate --meg gradiometers -o meg.npy")
        .assert()
        .success();
    assert_eq!(place.array("meg.npy").shape, [100, 40, 40]);
    place.codiag("generate --meg eeg").assert().code(2);
    place
        .codiag("generate --meg magnetometers -n 3")
        .assert()
        .code(2);
    place
        .codiag("generate -n 0")
        .assert()
        .code(2)
        .stderr(contains("at least 1"));
    place.codiag("generate --sigma -1").assert().code(2);
}
