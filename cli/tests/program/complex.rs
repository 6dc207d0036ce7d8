//! Complex Hermitian matrices, wherever real ones are taken.

use std::io::Write;

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, Place, largest_difference};

/// A .npy of complex128: the real and imaginary parts in turn.
fn complex(place: &Place, name: &str) -> (Vec<usize>, Vec<f64>) {
    let bytes = std::fs::read(place.path(name)).unwrap();
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
    assert!(
        header.contains("'descr': '<c16', 'fortran_order': False"),
        "{header}"
    );
    let shape = header.split_once('(').unwrap().1.split_once(')').unwrap().0;
    let numbers = shape.split(',').filter_map(|x| x.trim().parse().ok());
    let (eights, rest) = bytes[10 + length..].as_chunks::<8>();
    assert!(rest.is_empty());
    let data = eights.iter().map(|x| f64::from_le_bytes(*x)).collect();
    (numbers.collect(), data)
}

/// A place with spectra.npy in it, 20 matrices of 4 × 4, A.npy, and the answer in `original`.
fn place() -> Place {
    let place = Place::new();
    place
        .codiag("generate --complex -n 20 -p 4 --seed 2 --mixing A.npy -o spectra.npy")
        .assert()
        .success()
        .stderr(contains("20 complex matrices of 4 x 4"));
    place
        .codiag("diagonalize spectra.npy -o original --tol 1e-11")
        .assert()
        .success()
        .stdout(contains("20 complex matrices of 4 x 4").and(contains("converged")));
    place
}

fn same_answer(place: &Place, input: &str, tolerance: f64) {
    place
        .codiag(&format!("diagonalize {input} -o other --tol 1e-11"))
        .assert()
        .success();
    for name in ["B.npy", "A.npy"] {
        let (shape, x) = complex(place, &format!("original/{name}"));
        let (other, y) = complex(place, &format!("other/{name}"));
        assert_eq!(shape, other);
        let difference = largest_difference(&x, &y);
        assert!(difference < tolerance, "{input}: {difference}");
    }
}

/// The numbers of spectra.npy as bytes of another type.
fn in_bytes(place: &Place, convert: impl Fn(f64) -> Vec<u8>) -> Vec<u8> {
    let (_, numbers) = complex(place, "spectra.npy");
    numbers.into_iter().flat_map(convert).collect()
}

#[test]
fn both_precisions_and_byte_orders() {
    let place = place();
    let (shape, spectra) = complex(&place, "spectra.npy");
    assert_eq!((shape, spectra.len()), (vec![20, 4, 4], 2 * 20 * 16));
    assert_eq!(complex(&place, "A.npy").0, [4, 4]);
    let big = in_bytes(&place, |x| x.to_be_bytes().to_vec());
    place.write("big.npy", Array::bytes(">c16", false, "(20, 4, 4)", &big));
    same_answer(&place, "big.npy", 1e-12);
    let single = in_bytes(&place, |x| (x as f32).to_le_bytes().to_vec());
    place.write("c8.npy", Array::bytes("<c8", false, "(20, 4, 4)", &single));
    same_answer(&place, "c8.npy --symmetrize", 1e-4);
    let single = in_bytes(&place, |x| (x as f32).to_be_bytes().to_vec());
    place.write("b8.npy", Array::bytes(">c8", false, "(20, 4, 4)", &single));
    same_answer(&place, "b8.npy --symmetrize", 1e-4);
    // Fortran order: the first index runs fastest.
    let mut bytes = Vec::new();
    for (b, a) in (0..4).flat_map(|b| (0..4).map(move |a| (b, a))) {
        for i in 0..20 {
            let at = 2 * (i * 16 + a * 4 + b);
            bytes.extend(spectra[at].to_le_bytes());
            bytes.extend(spectra[at + 1].to_le_bytes());
        }
    }
    place.write("f.npy", Array::bytes("<c16", true, "(20, 4, 4)", &bytes));
    same_answer(&place, "f.npy", 1e-12);
}

#[test]
fn archives_folders_and_text() {
    let place = place();
    let (_, spectra) = complex(&place, "spectra.npy");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive
        .start_file("C.npy", zip::write::SimpleFileOptions::default())
        .unwrap();
    let bytes = std::fs::read(place.path("spectra.npy")).unwrap();
    archive.write_all(&bytes).unwrap();
    place.write("one.npz", archive.finish().unwrap().into_inner());
    same_answer(&place, "one.npz", 1e-12);
    for (i, matrix) in spectra.chunks_exact(32).enumerate() {
        let rows = matrix.chunks_exact(8).map(|row| {
            let numbers = row.chunks_exact(2).map(|z| match i % 3 {
                0 => format!("{:.17e}{:+.17e}j", z[0], z[1]),
                // As numpy.savetxt writes them.
                1 => format!("({:.17e}+{:.17e}j)", z[0], z[1]),
                _ => format!("{:.17e}{:+.17e}i", z[0], z[1]),
            });
            numbers.collect::<Vec<_>>().join(",")
        });
        let text = rows.collect::<Vec<_>>().join("\n");
        place.write(&format!("set/{i}.csv"), text);
    }
    same_answer(&place, "set", 1e-12);
    // One complex matrix among real ones makes all complex.
    place.write("mixed/1.csv", "2,0\n0,1\n");
    place.write("mixed/2.csv", "2,0.5-0.5j\n0.5+0.5j,1\n");
    place
        .codiag("check mixed")
        .assert()
        .success()
        .stdout(contains("2 complex matrices of 2 x 2").and(contains("Hermitian")));
    // Through a pipe, and B back through another.
    let b = place
        .codiag("diagonalize - -o - --tol 1e-11")
        .write_stdin(bytes)
        .assert()
        .success();
    let b = b.get_output().stdout.clone();
    assert_eq!(b, std::fs::read(place.path("original/B.npy")).unwrap());
}

#[test]
fn starts_checkpoints_and_reports() {
    let place = place();
    let text =
        "diagonalize spectra.npy -o again --start original/B.npy --tol 1e-7 --checkpoint b.npy";
    place.codiag(text).assert().success();
    let report = place.json("again/report.json");
    assert_eq!(report["iterations"], 0);
    assert_eq!(report["input"]["complex"], true);
    let (_, b) = complex(&place, "again/B.npy");
    // Complex numbers are lists of two. What reads the report here may miss the last digit.
    let imaginary = report["B"][0][1][1].as_f64().unwrap();
    assert!((imaginary - b[3]).abs() <= 2.0 * f64::EPSILON * b[3].abs());
    assert!(largest_difference(&complex(&place, "b.npy").1, &b) < 1e-9);
    let page = std::fs::read_to_string(place.path("original/report.html")).unwrap();
    for part in [
        "4 × 4, complex",
        "the magnitude of a complex number",
        "After: the mean of B C Bᴴ",
        "for D = B C Bᴴ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("Bᵀ"));
    // Powers and residuals are real.
    assert_eq!(place.array("original/diagonals.npy").shape, [20, 4]);
    place
        .codiag("diagonalize spectra.npy -o unitary --orthogonal")
        .assert()
        .success();
    let (_, b) = complex(&place, "unitary/B.npy");
    let norm: f64 = b[..8].iter().map(|x| x * x).sum();
    assert!((norm - 1.0).abs() < 1e-12);
    let frobenius = "diagonalize spectra.npy -o frobenius --criterion frobenius";
    place.codiag(frobenius).assert().success();
    let page = std::fs::read_to_string(place.path("frobenius/report.html")).unwrap();
    assert!(page.contains("over unitary B"));
}

#[test]
fn from_disk() {
    let place = Place::new();
    place
        .codiag("generate --complex -n 3000 -p 12 --seed 3 -o spectra.npy")
        .assert()
        .success();
    for (convert, name) in [
        (f64::to_le_bytes as fn(f64) -> [u8; 8], "<c16"),
        (f64::to_be_bytes, ">c16"),
    ] {
        let bytes = in_bytes(&place, |x| convert(x).to_vec());
        place.write(
            "big.npy",
            Array::bytes(name, false, "(3000, 12, 12)", &bytes),
        );
        place
            .codiag("diagonalize spectra.npy -o original --tol 1e-11")
            .assert()
            .success();
        same_answer(&place, "big.npy --memory 10MB", 1e-9);
    }
    let residuals = place.array("other/residuals.npy");
    assert_eq!(residuals.shape, [3000]);
    place
        .codiag("diagonalize big.npy --memory 10MB --method pham")
        .assert()
        .code(2)
        .stderr(contains("leave out --memory"));
}

#[test]
fn every_trouble_is_named_and_check_agrees() {
    let place = place();
    let (_, spectra) = complex(&place, "spectra.npy");
    // Places are of parts: 2·(16 i + 4 a + b), and one more for the imaginary part.
    let at = |i: usize, a: usize, b: usize| 2 * (16 * i + 4 * a + b);
    let cases: [(&str, usize, f64, &str, &str); 4] = [
        (
            "nan",
            at(3, 1, 2) + 1,
            f64::NAN,
            "NaN or infinite numbers in matrix 3",
            "matrix 3: the imaginary part of entry (1, 2) is NaN",
        ),
        (
            "symmetric",
            at(5, 1, 2) + 1,
            7.0,
            "not Hermitian: matrix 5; are they cross-spectra?",
            "matrix 5 is not Hermitian",
        ),
        (
            "diagonal",
            at(6, 1, 1) + 1,
            0.5,
            "not Hermitian: matrix 6",
            "entry (1, 1) and its conjugate",
        ),
        (
            "indefinite",
            at(7, 0, 0),
            -1.0,
            "not positive definite: matrix 7",
            "matrix 7 is not positive definite",
        ),
    ];
    for (name, place_of, value, found, complaint) in cases {
        let mut numbers = spectra.clone();
        numbers[place_of] = value;
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let file = format!("{name}.npy");
        place.write(&file, Array::bytes("<c16", false, "(20, 4, 4)", &bytes));
        place
            .codiag(&format!("check {file}"))
            .assert()
            .code(2)
            .stdout(contains(found).and(contains("cannot be diagonalized as it is")));
        place
            .codiag(&format!("diagonalize {file} -o never"))
            .assert()
            .code(2)
            .stderr(contains(complaint).and(contains(&*file)));
    }
    let mut skewed = spectra.clone();
    skewed[at(5, 1, 2) + 1] += 1e-5;
    let bytes: Vec<u8> = skewed.iter().flat_map(|x| x.to_le_bytes()).collect();
    place.write(
        "skew.npy",
        Array::bytes("<c16", false, "(20, 4, 4)", &bytes),
    );
    let run = "diagonalize skew.npy -o skew";
    place
        .codiag(run)
        .assert()
        .code(2)
        .stderr(contains("use --symmetrize"));
    place
        .codiag(&format!("{run} --symmetrize"))
        .assert()
        .success();
}

#[test]
fn complex_numbers_where_real_ones_are_needed() {
    let place = place();
    place
        .codiag("generate -n 20 -p 4 -o real.npy")
        .assert()
        .success();
    place.write("w.csv", "1\n2-1j\n");
    let cases = [
        (
            "diagonalize real.npy --start original/B.npy",
            "original/B.npy: the start must be real, as the matrices are, but it is complex",
        ),
        (
            "diagonalize spectra.npy --weights w.csv",
            "w.csv: line 2: \"2-1j\" is complex, where real numbers are needed",
        ),
        (
            "diagonalize spectra.npy --weights A.npy",
            "A.npy: the numbers are complex (c16), where real ones are needed",
        ),
        (
            "reproduce --recording spectra.npy",
            "spectra.npy: the paper's experiments are on real matrices",
        ),
        ("separate A.npy --rate 9", "A.npy"),
        ("generate --complex --meg magnetometers", "--complex"),
    ];
    for (args, words) in cases {
        place.codiag(args).assert().code(2).stderr(contains(words));
    }
    // A real start serves a complex set.
    place
        .codiag("diagonalize real.npy -o real")
        .assert()
        .success();
    place
        .codiag("diagonalize spectra.npy --start real/B.npy")
        .assert()
        .success();
}
