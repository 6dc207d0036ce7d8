//! Complex Hermitian matrices in all commands that accept matrices.

use std::io::Write;

use predicates::prelude::*;
use predicates::str::contains;

use crate::{Array, TestDir, largest_difference};

/// Reads a .npy file of complex128 as alternating real and imaginary parts.
fn complex(dir: &TestDir, name: &str) -> (Vec<usize>, Vec<f64>) {
    let bytes = std::fs::read(dir.path(name)).unwrap();
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

/// Returns a folder with spectra.npy (20 matrices of 4 × 4), A.npy and the result in `original`.
fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.codiag("generate --complex -n 20 -p 4 --seed 2 --mixing A.npy -o spectra.npy")
        .assert()
        .success()
        .stderr(contains("20 complex matrices of 4 x 4"));
    dir.codiag("diagonalize spectra.npy -o original --tol 1e-11")
        .assert()
        .success()
        .stdout(contains("20 complex matrices of 4 x 4").and(contains("converged")));
    dir
}

fn assert_same_result(dir: &TestDir, input: &str, tolerance: f64) {
    dir.codiag(&format!("diagonalize {input} -o other --tol 1e-11"))
        .assert()
        .success();
    for name in ["B.npy", "A.npy"] {
        let (shape, x) = complex(dir, &format!("original/{name}"));
        let (other, y) = complex(dir, &format!("other/{name}"));
        assert_eq!(shape, other);
        let difference = largest_difference(&x, &y);
        assert!(difference < tolerance, "{input}: {difference}");
    }
}

/// Converts the numbers of spectra.npy to bytes of another type.
fn in_bytes(dir: &TestDir, convert: impl Fn(f64) -> Vec<u8>) -> Vec<u8> {
    let (_, numbers) = complex(dir, "spectra.npy");
    numbers.into_iter().flat_map(convert).collect()
}

#[test]
fn both_precisions_and_byte_orders_are_read() {
    let dir = dir();
    let (shape, spectra) = complex(&dir, "spectra.npy");
    assert_eq!((shape, spectra.len()), (vec![20, 4, 4], 2 * 20 * 16));
    assert_eq!(complex(&dir, "A.npy").0, [4, 4]);
    let big = in_bytes(&dir, |x| x.to_be_bytes().to_vec());
    dir.write("big.npy", Array::bytes(">c16", false, "(20, 4, 4)", &big));
    assert_same_result(&dir, "big.npy", 1e-12);
    let single = in_bytes(&dir, |x| (x as f32).to_le_bytes().to_vec());
    dir.write("c8.npy", Array::bytes("<c8", false, "(20, 4, 4)", &single));
    assert_same_result(&dir, "c8.npy --symmetrize", 1e-4);
    let single = in_bytes(&dir, |x| (x as f32).to_be_bytes().to_vec());
    dir.write("b8.npy", Array::bytes(">c8", false, "(20, 4, 4)", &single));
    assert_same_result(&dir, "b8.npy --symmetrize", 1e-4);
    // In Fortran order, the first index varies fastest.
    let mut bytes = Vec::new();
    for (b, a) in (0..4).flat_map(|b| (0..4).map(move |a| (b, a))) {
        for i in 0..20 {
            let at = 2 * (i * 16 + a * 4 + b);
            bytes.extend(spectra[at].to_le_bytes());
            bytes.extend(spectra[at + 1].to_le_bytes());
        }
    }
    dir.write("f.npy", Array::bytes("<c16", true, "(20, 4, 4)", &bytes));
    assert_same_result(&dir, "f.npy", 1e-12);
}

#[test]
fn archives_folders_and_text_are_read() {
    let dir = dir();
    let (_, spectra) = complex(&dir, "spectra.npy");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive
        .start_file("C.npy", zip::write::SimpleFileOptions::default())
        .unwrap();
    let bytes = std::fs::read(dir.path("spectra.npy")).unwrap();
    archive.write_all(&bytes).unwrap();
    dir.write("one.npz", archive.finish().unwrap().into_inner());
    assert_same_result(&dir, "one.npz", 1e-12);
    for (i, matrix) in spectra.chunks_exact(32).enumerate() {
        let rows = matrix.chunks_exact(8).map(|row| {
            let numbers = row.chunks_exact(2).map(|z| match i % 3 {
                0 => format!("{:.17e}{:+.17e}j", z[0], z[1]),
                // The notation of numpy.savetxt.
                1 => format!("({:.17e}+{:.17e}j)", z[0], z[1]),
                _ => format!("{:.17e}{:+.17e}i", z[0], z[1]),
            });
            numbers.collect::<Vec<_>>().join(",")
        });
        let text = rows.collect::<Vec<_>>().join("\n");
        dir.write(&format!("set/{i}.csv"), text);
    }
    assert_same_result(&dir, "set", 1e-12);
    // One complex matrix among real ones makes all complex.
    dir.write("mixed/1.csv", "2,0\n0,1\n");
    dir.write("mixed/2.csv", "2,0.5-0.5j\n0.5+0.5j,1\n");
    dir.codiag("check mixed")
        .assert()
        .success()
        .stdout(contains("2 complex matrices of 2 x 2").and(contains("Hermitian")));
    // Read from a pipe and write B to a pipe.
    let b = dir
        .codiag("diagonalize - -o - --tol 1e-11")
        .write_stdin(bytes)
        .assert()
        .success();
    let b = b.get_output().stdout.clone();
    assert_eq!(b, std::fs::read(dir.path("original/B.npy")).unwrap());
}

#[test]
fn starting_points_checkpoints_and_reports_are_complex() {
    let dir = dir();
    let text =
        "diagonalize spectra.npy -o again --init original/B.npy --tol 1e-7 --checkpoint b.npy";
    dir.codiag(text).assert().success();
    let report = dir.json("again/report.json");
    assert_eq!(report["n_iter"], 0);
    assert_eq!(report["input"]["complex"], true);
    let (_, b) = complex(&dir, "again/B.npy");
    // Complex numbers are lists of two numbers. The JSON parser of this test may round the last
    // digit.
    let imaginary = report["B"][0][1][1].as_f64().unwrap();
    assert!((imaginary - b[3]).abs() <= 2.0 * f64::EPSILON * b[3].abs());
    assert!(largest_difference(&complex(&dir, "b.npy").1, &b) < 1e-9);
    let page = std::fs::read_to_string(dir.path("original/report.html")).unwrap();
    for part in [
        "4 × 4, complex",
        "RMS correlation",
        "the diagonal entry of B C Bᴴ",
        "for D = B C Bᴴ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("Bᵀ"));
    // Powers and residuals are real.
    assert_eq!(dir.array("original/diagonals.npy").shape, [20, 4]);
    dir.codiag("diagonalize spectra.npy -o unitary --orthogonal")
        .assert()
        .success();
    let (_, b) = complex(&dir, "unitary/B.npy");
    let norm: f64 = b[..8].iter().map(|x| x * x).sum();
    assert!((norm - 1.0).abs() < 1e-12);
    let frobenius = "diagonalize spectra.npy -o frobenius --criterion frobenius";
    dir.codiag(frobenius).assert().success();
    let page = std::fs::read_to_string(dir.path("frobenius/report.html")).unwrap();
    assert!(page.contains("over unitary B"));
}

#[test]
fn sets_on_disk_give_the_same_result() {
    let dir = TestDir::new();
    dir.codiag("generate --complex -n 3000 -p 12 --seed 3 -o spectra.npy")
        .assert()
        .success();
    for (convert, name) in [
        (f64::to_le_bytes as fn(f64) -> [u8; 8], "<c16"),
        (f64::to_be_bytes, ">c16"),
    ] {
        let bytes = in_bytes(&dir, |x| convert(x).to_vec());
        dir.write(
            "big.npy",
            Array::bytes(name, false, "(3000, 12, 12)", &bytes),
        );
        dir.codiag("diagonalize spectra.npy -o original --tol 1e-11")
            .assert()
            .success();
        assert_same_result(&dir, "big.npy --memory 10MB", 1e-9);
    }
    let residuals = dir.array("other/residuals.npy");
    assert_eq!(residuals.shape, [3000]);
    dir.codiag("diagonalize big.npy --memory 10MB --method pham")
        .assert()
        .code(2)
        .stderr(contains("leave out --memory"));
}

#[test]
fn problems_are_reported_as_in_check() {
    let dir = dir();
    let (_, spectra) = complex(&dir, "spectra.npy");
    // Index of the real part of an entry; the imaginary part follows.
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
            "not Hermitian: matrix 5; if they should be cross-spectra",
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
    for (name, place_of, value, found, error_line) in cases {
        let mut numbers = spectra.clone();
        numbers[place_of] = value;
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let file = format!("{name}.npy");
        dir.write(&file, Array::bytes("<c16", false, "(20, 4, 4)", &bytes));
        dir.codiag(&format!("check {file}"))
            .assert()
            .code(2)
            .stdout(contains(found).and(contains("The matrices cannot be diagonalized")));
        dir.codiag(&format!("diagonalize {file} -o never"))
            .assert()
            .code(2)
            .stderr(contains(error_line).and(contains(&*file)));
    }
    let mut skewed = spectra.clone();
    skewed[at(5, 1, 2) + 1] += 1e-5;
    let bytes: Vec<u8> = skewed.iter().flat_map(|x| x.to_le_bytes()).collect();
    dir.write(
        "skew.npy",
        Array::bytes("<c16", false, "(20, 4, 4)", &bytes),
    );
    let run = "diagonalize skew.npy -o skew";
    dir.codiag(run)
        .assert()
        .code(2)
        .stderr(contains("use --symmetrize"));
    dir.codiag(&format!("{run} --symmetrize"))
        .assert()
        .success();
}

#[test]
fn complex_numbers_are_errors_if_real_ones_are_required() {
    let dir = dir();
    dir.codiag("generate -n 20 -p 4 -o real.npy")
        .assert()
        .success();
    dir.write("w.csv", "1\n2-1j\n");
    let cases = [
        (
            "diagonalize real.npy --init original/B.npy",
            "original/B.npy: the matrix of --init must be real, as the matrices are, but it is complex",
        ),
        (
            "diagonalize spectra.npy --sample-weight w.csv",
            "w.csv: line 2: \"2-1j\" is complex, but real numbers are required",
        ),
        (
            "diagonalize spectra.npy --sample-weight A.npy",
            "A.npy: the numbers are complex (c16)",
        ),
        (
            "reproduce --recording spectra.npy",
            "spectra.npy: reproduce requires real matrices",
        ),
        ("separate A.npy --sfreq 9", "A.npy"),
        ("generate --complex --meg magnetometers", "--complex"),
    ];
    for (args, words) in cases {
        dir.codiag(args).assert().code(2).stderr(contains(words));
    }
    // A real starting point is accepted for complex matrices.
    dir.codiag("diagonalize real.npy -o real")
        .assert()
        .success();
    dir.codiag("diagonalize spectra.npy --init real/B.npy")
        .assert()
        .success();
}
