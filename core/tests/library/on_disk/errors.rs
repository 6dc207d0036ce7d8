//! Errors of files, each with its path.

use codiag::error::Conflict;

use super::*;

fn error_of(npy: &Npy) -> String {
    let options = SetOptions::default();
    let memory = Memory(3_000_000);
    let opened =
        MatrixFile::open(&npy.0).and_then(|file| OnDisk::new(file, memory, &options).map(drop));
    opened.unwrap_err().to_string()
}

#[test]
fn invalid_matrix_is_named_with_its_index_and_file() {
    let (n, p) = (9000, 8);
    let generated = Synthetic::new(n, p, 0.1, 8);
    let name = |npy: &Npy| npy.0.display().to_string();
    let with_entry = |at: usize, value: f64| {
        let mut data = generated.data.clone();
        data[at] = value;
        Npy::double(&data, n, p)
    };
    let index = 8421;
    let npy = with_entry(index * p * p + 3 * p + 1, f64::NAN);
    let error = error_of(&npy);
    assert!(error.starts_with(&name(&npy)), "{error}");
    assert!(
        error.contains("matrix 8421: entry (3, 1) is NaN"),
        "{error}"
    );
    let npy = with_entry(index * p * p + 3 * p + 1, 1e3);
    assert!(error_of(&npy).contains("matrix 8421 is not symmetric"));
    let npy = with_entry(index * p * p, -1.0);
    let error = error_of(&npy);
    assert!(
        error.contains("matrix 8421 is not positive definite"),
        "{error}"
    );
    // The first invalid matrix is reported, independent of the threads.
    let mut data = generated.data.clone();
    for i in [8999, 700, 5000] {
        data[i * p * p] = f64::INFINITY;
    }
    let npy = Npy::double(&data, n, p);
    for _ in 0..5 {
        assert!(error_of(&npy).contains("matrix 700:"));
    }
}

#[test]
fn truncated_file_is_an_error_before_and_during_the_solve() {
    let (n, p) = (9000, 8);
    let generated = Synthetic::new(n, p, 0.1, 8);
    let npy = Npy::double(&generated.data, n, p);
    let length = fs::metadata(&npy.0).unwrap().len();
    let keep = length - 1000 * (p * p * 8) as u64 - 5;

    let memory = Memory(3_000_000);
    let mut set = OnDisk::new(npy.open(), memory, &SetOptions::default()).unwrap();
    let mut observer = |record: &Record, _: &Matrix| {
        if record.iteration == 1 {
            let file = File::options().write(true).open(&npy.0).unwrap();
            file.set_len(keep).unwrap();
        }
        ControlFlow::Continue(())
    };
    let error = codiag::diagonalize_with_backend(&mut set, &Settings::default(), &mut observer)
        .unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with(&npy.0.display().to_string()), "{error}");
    assert!(
        error.contains("truncated") && error.contains("matrix 7999"),
        "{error}"
    );

    let error = error_of(&npy);
    assert!(
        error.contains("truncated") && error.contains("matrix 7999"),
        "{error}"
    );
}

#[test]
fn unreadable_files_are_errors() {
    let text = std::env::temp_dir().join(format!("codiag-on-disk-{}.txt", std::process::id()));
    fs::write(&text, "no matrices").unwrap();
    let error = MatrixFile::open(&text).unwrap_err().to_string();
    assert!(
        error.contains("codiag-on-disk") && error.contains("not a .npy"),
        "{error}"
    );
    fs::remove_file(&text).unwrap();
    let error = MatrixFile::open("nowhere/at-all.npy")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("nowhere/at-all.npy: cannot be read"),
        "{error}"
    );
}

#[test]
fn pham_from_disk_is_an_error() {
    let generated = Synthetic::new(30, 4, 0.1, 8);
    let npy = Npy::double(&generated.data, 30, 4);
    let mut set = OnDisk::new(npy.open(), Memory(1 << 30), &SetOptions::default()).unwrap();
    let settings = Settings::default().method(Method::Pham);
    let error = codiag::diagonalize_with_backend(&mut set, &settings, &mut silent).unwrap_err();
    assert_eq!(error, Error::Conflict(Conflict::PairsNotInMemory));
}

#[test]
fn rank_reduction_does_not_hide_a_negative_eigenvalue() {
    let auto = SetOptions::default().n_components(Rank::Auto);
    let mut data = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0].repeat(40);
    let npy = Npy::double(&data, 80, 2);
    let error = OnDisk::new(npy.open(), Memory(8_000_000), &auto)
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .contains("matrix 1 is not positive definite"),
        "{error}"
    );
    data.iter_mut().skip(3).step_by(4).for_each(|x| *x = 0.0);
    let npy = Npy::double(&data, 80, 2);
    assert!(OnDisk::new(npy.open(), Memory(8_000_000), &auto).is_ok());
}

#[cfg(unix)]
#[test]
fn opening_a_directory_is_an_error() {
    let error = MatrixFile::open(std::env::temp_dir()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("directory"), "{text}");
}
