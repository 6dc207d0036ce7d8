//! Sets that stay in a file give the answers of sets in memory, within any budget.

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use codiag::synthetic::{self, Synthetic};
use codiag::working::diagonalize_working;
use codiag::{
    Diagonalization, Error, Matrix, MatrixFile, MatrixSet, Memory, Method, OnDisk, Rank, Reading,
    Record, SetOptions, Settings, Start, Status, diagonalize,
};

/// A .npy that goes away with the test.
struct Npy(PathBuf);

impl Npy {
    fn new(descr: &str, shape: (usize, usize), bytes: &[u8]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("codiag-on-disk-{}-{number}.npy", std::process::id());
        let path = std::env::temp_dir().join(name);
        let (n, p) = shape;
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({n}, {p}, {p}), }}\n");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"\x93NUMPY\x01\x00").unwrap();
        file.write_all(&(header.len() as u16).to_le_bytes())
            .unwrap();
        file.write_all(header.as_bytes()).unwrap();
        file.write_all(bytes).unwrap();
        Self(path)
    }

    fn double(data: &[f64], n: usize, p: usize) -> Self {
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        Self::new("<f8", (n, p), &bytes)
    }

    fn open(&self) -> MatrixFile {
        MatrixFile::open(&self.0).unwrap()
    }
}

impl Drop for Npy {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn silent(_: &Record, _: &Matrix) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn smallest(file: MatrixFile, options: &SetOptions) -> Memory {
    match OnDisk::new(file, Memory(1), options).err() {
        Some(Error::File { error, .. }) => match *error {
            Error::Memory { smallest, .. } => smallest,
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

fn solve(npy: &Npy, memory: Memory, options: &SetOptions, settings: &Settings) -> Diagonalization {
    let mut set = OnDisk::new(npy.open(), memory, options).unwrap();
    diagonalize_working(&mut set, settings, &mut silent).unwrap()
}

fn assert_same(left: &Matrix, right: &Matrix, tolerance: f64, what: &str) {
    let scale = right.norm();
    for (x, y) in left.as_slice().iter().zip(right.as_slice()) {
        assert!((x - y).abs() <= tolerance * scale, "{what}: {x} {y}");
    }
}

/// Only rounding is between the two.
const EXACT: f64 = 1e-12;
/// Starts that end in the same minimum tie, and rounding decides which one is returned: two points
/// within the tolerance.
const TIED: f64 = 1e-8;

/// The same settings with Newton's products by sweeps.
fn swept(settings: &Settings) -> Settings {
    Settings {
        hessian_memory: 0,
        ..settings.clone()
    }
}

/// The same answer and the same course.
fn assert_alike(there: &Diagonalization, here: &Diagonalization, within: f64, what: &str) {
    assert_eq!(there.status, here.status, "{what}");
    assert!(
        there.iterations.abs_diff(here.iterations) <= usize::from(within > EXACT),
        "{what}"
    );
    assert_same(&there.b, &here.b, within, what);
    assert_same(&there.a, &here.a, within, what);
    // Far from a minimum the loss feels a direction to first order.
    let on_the_way = if within > EXACT { 1e-6 } else { EXACT };
    // Of several starts, the history is that of the one returned, which may be another.
    let histories = there.history.iter().zip(&here.history);
    for (x, y) in histories.filter(|_| here.start_losses.len() == 1) {
        let (difference, at) = ((x.loss - y.loss).abs(), y.iteration);
        assert!(
            difference < on_the_way * (1.0 + y.loss.abs()),
            "{what}: {at} {difference:e}"
        );
    }
    if there.powers.rows() > 0 {
        assert_same(&there.powers, &here.powers, within, what);
        for (x, y) in there.residuals.iter().zip(&here.residuals) {
            assert!((x - y).abs() < 10.0 * within, "{what}: {x} {y}");
        }
    }
}

#[test]
fn every_method_and_option_answers_as_in_memory() {
    let (n, p) = (700, 12);
    let made = Synthetic::new(n, p, 0.1, 3);
    let npy = Npy::double(&made.data, n, p);
    let weights: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
    let plain = SetOptions::default();
    let settings = Settings::default();
    let cases = [
        ("newton", plain.clone(), settings.clone()),
        (
            "quasi-newton",
            plain.clone(),
            Settings {
                method: Method::QuasiNewton,
                start: Start::Whitener,
                ..settings.clone()
            },
        ),
        (
            "orthogonal",
            plain.clone(),
            Settings {
                orthogonal: true,
                ..settings.clone()
            },
        ),
        (
            "orthogonal quasi-newton",
            plain.clone(),
            Settings {
                orthogonal: true,
                method: Method::QuasiNewton,
                max_iterations: 30,
                ..settings.clone()
            },
        ),
        (
            "weights",
            SetOptions {
                weights: Some(weights),
                ..plain.clone()
            },
            settings.clone(),
        ),
        (
            "shrinkage",
            SetOptions {
                shrinkage: 0.01,
                ..plain.clone()
            },
            settings.clone(),
        ),
        (
            "rank",
            SetOptions {
                rank: Rank::Exactly(7),
                ..plain.clone()
            },
            settings.clone(),
        ),
        (
            "restarts",
            plain,
            Settings {
                restarts: 2,
                ..settings.clone()
            },
        ),
    ];
    for (what, options, settings) in cases {
        let set = MatrixSet::with_options(&made.data, n, p, &options).unwrap();
        let least = smallest(npy.open(), &options);
        let within = if settings.restarts > 0 { TIED } else { EXACT };
        for settings in [settings.clone(), swept(&settings)] {
            let expected = diagonalize(&set, &settings).unwrap();
            for memory in [least, Memory(2 * least.0), Memory(1 << 30)] {
                let found = solve(&npy, memory, &options, &settings);
                assert_alike(&found, &expected, within, &format!("{what} in {memory}"));
            }
        }
        let roomy = solve(&npy, Memory(1 << 30), &options, &settings);
        assert_eq!((roomy.powers.rows(), roomy.residuals.len()), (n, n));
    }
}

#[test]
fn a_set_without_full_rank_is_reduced_as_in_memory() {
    let (n, p, r) = (60, 9, 6);
    let small = Synthetic::new(n, r, 0.1, 5);
    let lift = Matrix::from_fn(p, r, |a, b| {
        f64::from(u8::from(a == b)) + 0.1 * (a * b) as f64
    });
    let set = small.set().unwrap();
    let data = set.transform(&Matrix::identity(r));
    let lifted: Vec<f64> = data
        .chunks_exact(r * r)
        .flat_map(|c| {
            let entry = |x: usize, y: usize| {
                let mut sum = 0.0;
                for a in 0..r {
                    for b in 0..r {
                        sum += lift[(x, a)] * c[a * r + b] * lift[(y, b)];
                    }
                }
                sum
            };
            Matrix::from_fn(p, p, entry).into_vec()
        })
        .collect();
    let npy = Npy::double(&lifted, n, p);
    let full = OnDisk::new(npy.open(), Memory(1 << 30), &SetOptions::default());
    let error = full.err().unwrap().to_string();
    assert!(
        error.contains("matrix 0 is not positive definite"),
        "{error}"
    );
    assert!(error.contains("rank=6"), "{error}");
    let options = SetOptions {
        rank: Rank::Auto,
        ..SetOptions::default()
    };
    let set = MatrixSet::with_options(&lifted, n, p, &options).unwrap();
    let expected = diagonalize(&set, &Settings::default()).unwrap();
    for memory in [smallest(npy.open(), &options), Memory(1 << 30)] {
        let found = solve(&npy, memory, &options, &Settings::default());
        assert_eq!(found.b.rows(), r);
        assert_alike(&found, &expected, EXACT, "rank auto");
    }
}

#[test]
fn sizes_of_all_kinds_answer_as_in_memory() {
    // Few and many, small and large: one block and several, whole and with a rest.
    for (n, p) in [
        (1, 3),
        (7, 1),
        (300, 2),
        (5000, 3),
        (1300, 5),
        (90, 30),
        (30, 70),
    ] {
        let made = Synthetic::new(n, p, 0.1, 11);
        let npy = Npy::double(&made.data, n, p);
        let options = SetOptions::default();
        for settings in [Settings::default(), swept(&Settings::default())] {
            let expected = diagonalize(&made.set().unwrap(), &settings).unwrap();
            for memory in [smallest(npy.open(), &options), Memory(1 << 30)] {
                let found = solve(&npy, memory, &options, &settings);
                assert_alike(
                    &found,
                    &expected,
                    EXACT,
                    &format!("n {n} p {p} in {memory}"),
                );
            }
        }
    }
}

#[test]
fn the_bits_depend_neither_on_threads_nor_on_the_budget() {
    let (n, p) = (2000, 20);
    let made = Synthetic::new(n, p, 0.1, 2);
    let npy = Npy::double(&made.data, n, p);
    let with = |threads: usize, memory: Memory| {
        let options = SetOptions {
            threads: Some(threads),
            ..SetOptions::default()
        };
        solve(&npy, memory, &options, &Settings::default())
    };
    let one = with(1, Memory(1 << 30));
    let least = smallest(npy.open(), &SetOptions::default());
    for (threads, memory) in [
        (2, 1 << 30),
        (3, 3 * least.0),
        (7, 20 * least.0),
        (1, 4 * least.0),
    ] {
        let other = with(threads, Memory(memory));
        assert_eq!(one.b, other.b, "{threads} threads in {memory}");
        assert_eq!(one.loss, other.loss);
    }
}

#[test]
fn numbers_of_other_types_are_read() {
    let (n, p) = (1200, 6);
    let made = Synthetic::new(n, p, 0.1, 8);
    let single: Vec<f32> = made.data.iter().map(|x| *x as f32).collect();
    let data: Vec<f64> = single.iter().map(|x| f64::from(*x)).collect();
    let set = MatrixSet::new(&data, n, p).unwrap();
    let expected = diagonalize(&set, &Settings::default()).unwrap();
    let files = [
        Npy::new(
            "<f4",
            (n, p),
            &single
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<u8>>(),
        ),
        Npy::new(
            ">f4",
            (n, p),
            &single
                .iter()
                .flat_map(|x| x.to_be_bytes())
                .collect::<Vec<u8>>(),
        ),
        Npy::new(
            ">f8",
            (n, p),
            &data
                .iter()
                .flat_map(|x| x.to_be_bytes())
                .collect::<Vec<u8>>(),
        ),
    ];
    for npy in files {
        let options = SetOptions::default();
        let least = smallest(npy.open(), &options);
        let found = solve(&npy, least, &options, &Settings::default());
        assert_alike(&found, &expected, EXACT, "another type");
        let whole = npy.open().read_set(&options).unwrap();
        assert_eq!(whole.mean(), set.mean());
    }
}

fn error_of(npy: &Npy) -> String {
    let options = SetOptions::default();
    let memory = Memory(3_000_000);
    let opened =
        MatrixFile::open(&npy.0).and_then(|file| OnDisk::new(file, memory, &options).map(drop));
    opened.unwrap_err().to_string()
}

#[test]
fn what_is_wrong_far_inside_is_named_with_its_file() {
    let (n, p) = (9000, 8);
    let made = Synthetic::new(n, p, 0.1, 8);
    let name = |npy: &Npy| npy.0.display().to_string();
    let spoil = |at: usize, value: f64| {
        let mut data = made.data.clone();
        data[at] = value;
        Npy::double(&data, n, p)
    };
    let far = 8421;
    let npy = spoil(far * p * p + 3 * p + 1, f64::NAN);
    let error = error_of(&npy);
    assert!(error.starts_with(&name(&npy)), "{error}");
    assert!(
        error.contains("matrix 8421: entry (3, 1) is NaN"),
        "{error}"
    );
    let npy = spoil(far * p * p + 3 * p + 1, 1e3);
    assert!(error_of(&npy).contains("matrix 8421 is not symmetric"));
    let npy = spoil(far * p * p, -1.0);
    let error = error_of(&npy);
    assert!(
        error.contains("matrix 8421 is not positive definite"),
        "{error}"
    );
    // The first of several is the one reported, whatever the threads.
    let mut data = made.data.clone();
    for i in [8999, 700, 5000] {
        data[i * p * p] = f64::INFINITY;
    }
    let npy = Npy::double(&data, n, p);
    for _ in 0..5 {
        assert!(error_of(&npy).contains("matrix 700:"));
    }
}

#[test]
fn a_truncated_file_is_an_error_before_and_during_the_solve() {
    let (n, p) = (9000, 8);
    let made = Synthetic::new(n, p, 0.1, 8);
    let npy = Npy::double(&made.data, n, p);
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
    let error = diagonalize_working(&mut set, &Settings::default(), &mut observer).unwrap_err();
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
fn files_that_are_no_sets_are_refused() {
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
fn pham_is_refused_with_a_reason() {
    let made = Synthetic::new(30, 4, 0.1, 8);
    let npy = Npy::double(&made.data, 30, 4);
    let mut set = OnDisk::new(npy.open(), Memory(1 << 30), &SetOptions::default()).unwrap();
    let settings = Settings {
        method: Method::Pham,
        ..Settings::default()
    };
    let error = diagonalize_working(&mut set, &settings, &mut silent).unwrap_err();
    assert!(error.to_string().contains("pham"), "{error}");
}

#[test]
fn a_watcher_sees_bytes_and_may_stop() {
    let (n, p) = (6000, 24);
    let set = synthetic::noisy(n, p, 0.1, 1);
    let data = set.transform(&Matrix::identity(p));
    let npy = Npy::double(&data, n, p);
    let file_bytes = (n * p * p * 8) as u64;
    let seen = std::sync::Mutex::new(Vec::new());
    let stop = AtomicUsize::new(0);
    let watcher = |reading: &Reading| {
        seen.lock().unwrap().push(*reading);
        if stop.load(Ordering::Relaxed) > 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = SetOptions {
        threads: Some(1),
        ..SetOptions::default()
    };
    let memory = smallest(npy.open(), &options);
    let mut set = OnDisk::new_watched(npy.open(), memory, &options, &watcher).unwrap();
    let settings = Settings {
        // Sweeps enough for the watcher to be called.
        hessian_memory: 0,
        tolerance: 1e-14,
        ..Settings::default()
    };
    let mut observer = |record: &Record, _: &Matrix| {
        if record.iteration == 1 {
            stop.store(1, Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    };
    let answer = diagonalize_working(&mut set, &settings, &mut observer).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(
        seen.iter()
            .all(|r| r.bytes <= r.total && r.total <= file_bytes)
    );
    // On a machine so fast that no sweep lasts fifty milliseconds nobody is asked.
    if let Some(last) = seen.last()
        && answer.status == Status::Stopped
    {
        assert!(last.seconds > 0.0);
        assert!(answer.b.is_finite() && answer.iterations >= 1);
        let record = answer.history.last().unwrap();
        assert!((answer.loss - record.loss).abs() < 1e-12);
    }
}
