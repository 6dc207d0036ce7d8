//! Parts in one process answer as the whole set does.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use super::message::Message;
use super::{ClusterSet, SendRequests, Worker};
use crate::backend::{Backend, Chunk, InMemory, Request, Sums, Update};
use crate::linalg::{Scalar, Triangle, c64, reals};
use crate::report::{Diagonalization, Record};
use crate::synthetic::Synthetic;
use crate::{
    Error, Matrix, MatrixSet, Method, Rank, Reduction, SetOptions, Settings, diagonalize,
    diagonalize_with_backend,
};

const N: usize = 300;
const P: usize = 5;

fn made() -> Vec<f64> {
    Synthetic::new(N, P, 0.1, 3).data
}

fn made_complex() -> Vec<c64> {
    Synthetic::complex(N, P, 0.1, 3).data
}

fn weights() -> Vec<f64> {
    (0..N).map(|i| ((i * 7) % 5) as f64).collect()
}

fn whole<T: Scalar>(data: &[T]) -> MatrixSet<T> {
    let options = SetOptions::default().weights(weights()).n_jobs(1);
    MatrixSet::with_options(data, N, P, &options).unwrap()
}

/// Matrices `from` to `to` of the set.
fn chunk<T: Scalar>(data: &[T], from: usize, to: usize) -> Chunk<T> {
    let options = SetOptions::default().weights(weights()[from..to].to_vec());
    let data = &data[from * P * P..to * P * P];
    Chunk::new(data, to - from, P, from, &options).unwrap()
}

/// Two parts, the second of which has the first matrices of the set, and some from its end.
fn parts<T: Scalar>(data: &[T]) -> Vec<Worker<T>> {
    let chunk = |from, to| chunk(data, from, to);
    let parts = [
        vec![chunk(40, 130), chunk(130, 200)],
        vec![chunk(0, 40), chunk(200, N)],
    ];
    let part = |chunks| Worker::of_chunks(chunks, None, Some(1)).unwrap();
    parts.into_iter().map(part).collect()
}

fn described<T: Scalar>(parts: &[Worker<T>]) -> Vec<Vec<u8>> {
    parts.iter().map(Worker::describe).collect()
}

/// Asks parts, and replaces one of them after every `lifetime` messages.
struct Replacing<T: Scalar> {
    parts: RefCell<Vec<Worker<T>>>,
    asked: Cell<usize>,
    lifetime: usize,
}

impl<T: Scalar> Replacing<T> {
    fn new(parts: Vec<Worker<T>>, lifetime: usize) -> Self {
        Self {
            parts: RefCell::new(parts),
            asked: Cell::new(0),
            lifetime,
        }
    }
}

impl<T: Scalar> SendRequests for Replacing<T> {
    fn ask(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut parts = self.parts.borrow_mut();
        self.asked.set(self.asked.get() + 1);
        if self.asked.get().is_multiple_of(self.lifetime) {
            let lost = self.asked.get() % parts.len();
            parts[lost] = Worker::of_chunks(parts[lost].chunks()?, None, Some(1))?;
        }
        parts.iter().map(|part| part.respond(message)).collect()
    }
}

fn assert_near(x: &[f64], y: &[f64], tolerance: f64) {
    assert_eq!(x.len(), y.len());
    for (x, y) in x.iter().zip(y) {
        assert!((x - y).abs() < tolerance * (1.0 + y.abs()), "{x} and {y}");
    }
}

/// Every request that a solver may make.
fn requests<T: Scalar>() -> Vec<Request<T>> {
    let wave = |a: usize, c: usize| ((3 * a + 5 * c) as f64).sin();
    let number = |a, c| T::from_parts(wave(a, c), 0.5 * wave(c + 1, a));
    let unit = |a, c| T::from_real(f64::from(u8::from(a == c)));
    let b = Matrix::from_fn(P, P, |a, c| unit(a, c) + number(a, c) * 0.2);
    let off = |a, c| if a == c { T::ZERO } else { number(c, a) * 0.05 };
    let e = Matrix::from_fn(P, P, off);
    let (metric, update) = (
        Matrix::identity(P),
        Update {
            from: b.clone(),
            e: e.clone(),
            alpha: 0.5,
            scale: vec![0.9; P],
        },
    );
    let len = T::PLANES * Triangle::new(P).len() * 16;
    let correlate = |metric| Request::Correlate {
        metric,
        matrices: (0..len).map(|k| (k as f64).cos()).collect(),
    };
    let point = |b: &Matrix<T>, update, hessian| Request::Point {
        b: b.clone(),
        update,
        hessian,
    };
    let (b_of, e_of) = (|| b.clone(), || e.clone());
    vec![
        Request::Balance {
            metric: metric.clone(),
        },
        Request::SecondMoment,
        correlate(Some(metric)),
        correlate(None),
        point(&b, None, false),
        point(&b, None, true),
        Request::Hessian { b: b_of() },
        Request::HessianProduct {
            b: b_of(),
            e: e_of(),
        },
        Request::Mean { b: b_of() },
        Request::Line {
            b: b_of(),
            e: e_of(),
        },
        Request::LinePoint {
            b: b_of(),
            e: e_of(),
            alpha: -0.3,
        },
        point(&update.point(), Some(update), true),
        Request::Weighted { b: b_of() },
        Request::Wedge { b: b_of() },
        Request::Components {
            b: b_of(),
            mean_powers: vec![1.5; P],
            tables: true,
        },
    ]
}

/// Compares the sums of two sets for every request.
fn compare<T: Scalar>(one: &mut dyn Backend<T>, other: &mut dyn Backend<T>) {
    let (mut x, mut y) = (Sums::default(), Sums::default());
    for request in requests() {
        one.evaluate(&request, &mut x).unwrap();
        other.evaluate(&request, &mut y).unwrap();
        assert_near(&x.numbers, &y.numbers, 1e-11);
        let (g, h) = (&x.moments.gradient, &y.moments.gradient);
        assert_near(reals(g.as_slice()), reals(h.as_slice()), 1e-11);
        let (g, h) = (&x.moments.gamma, &y.moments.gamma);
        assert_near(g.as_slice(), h.as_slice(), 1e-11);
        if request.counts(P).2 {
            let e = Matrix::from_fn(P, P, |a, b| T::from_real((a as f64 - b as f64).sin()));
            let (g, h) = (x.hessian.product(&e), y.hessian.product(&e));
            assert_near(reals(g.as_slice()), reals(h.as_slice()), 1e-11);
        }
        if let (Some(x), Some(y)) = (&x.tables, &y.tables) {
            // In the order of the set, whichever part has a matrix.
            assert_near(&x.powers, &y.powers, 1e-11);
            assert_near(&x.constants, &y.constants, 1e-11);
        }
    }
}

fn assert_parts_give_the_sums_of_the_set<T: Scalar>(data: &[T]) {
    for lifetime in [usize::MAX, 2] {
        let ask = Replacing::new(parts(data), lifetime);
        let mut set = ClusterSet::of_described(&ask, &described(&parts(data)), None).unwrap();
        compare(&mut set, &mut InMemory::new(&whole(data)));
        assert!(ask.asked.get() > 10);
    }
}

#[test]
fn parts_give_the_sums_of_the_set_and_replaced_parts_too() {
    assert_parts_give_the_sums_of_the_set(&made());
    assert_parts_give_the_sums_of_the_set(&made_complex());
}

#[test]
fn sample_has_every_seventh_matrix_of_the_set() {
    let parts = parts(&made());
    let ask = |message: &[u8]| parts.iter().map(|part| part.respond(message)).collect();
    let mut set = ClusterSet::new(&ask, &described(&parts), None).unwrap();
    let mut in_memory = InMemory::new(&whole(&made()));
    let (mut sample, mut expected) = (set.sample(7).unwrap(), in_memory.sample(7).unwrap());
    let (sample, expected) = (sample.as_mut().unwrap(), expected.as_mut().unwrap());
    assert_eq!(sample.summary().len, expected.summary().len);
    // Constants of a sample are not known, on a cluster as in memory.
    let without_tables = |request: &Request| !matches!(request, Request::Components { .. });
    let (mut x, mut y) = (Sums::default(), Sums::default());
    let set = ClusterSet::new(&ask, &described(&parts), None).unwrap();
    // Whether its matrices are sent to the client or stay with the parts.
    let mut remote = set.remote_sample(7).unwrap().unwrap();
    assert_eq!(remote.summary().len, expected.summary().len);
    for request in requests().iter().filter(|request| without_tables(request)) {
        expected.evaluate(request, &mut x).unwrap();
        for sample in [&mut **sample, &mut remote] {
            sample.evaluate(request, &mut y).unwrap();
            assert_near(&x.numbers, &y.numbers, 1e-11);
            let (g, h) = (&x.moments.gradient, &y.moments.gradient);
            assert_near(g.as_slice(), h.as_slice(), 1e-11);
        }
    }
    let mut set = ClusterSet::new(&ask, &described(&parts), None).unwrap();
    assert!(
        set.sample(1000).unwrap().is_none(),
        "matrix 0 has weight zero"
    );
    let single = set.sample(299).unwrap().unwrap();
    assert_eq!(single.summary().mean, whole(&made()).matrix(299));
}

fn solved<T: Scalar>(
    ask: &dyn SendRequests,
    described: &[Vec<u8>],
    reduction: Option<Reduction<T>>,
    settings: &Settings,
) -> Diagonalization<T> {
    let mut set = ClusterSet::of_described(ask, described, reduction).unwrap();
    let mut observer = |_: &Record, _: &Matrix<T>| ControlFlow::Continue(());
    diagonalize_with_backend(&mut set, settings, &mut observer).unwrap()
}

fn assert_solves_agree<T: Scalar>(data: &[T], settings: &Settings) {
    let expected = diagonalize(&whole(data), settings).unwrap();
    for lifetime in [usize::MAX, 5] {
        let ask = Replacing::new(parts(data), lifetime);
        let found = solved::<T>(&ask, &described(&parts(data)), None, settings);
        assert_eq!(found.status, expected.status);
        assert_near(&[found.loss], &[expected.loss], 1e-10);
        let (x, y) = (reals(found.b.as_slice()), reals(expected.b.as_slice()));
        assert_near(x, y, 1e-6);
        assert_near(found.powers.as_slice(), expected.powers.as_slice(), 1e-6);
        assert_near(&found.residuals, &expected.residuals, 1e-6);
    }
}

#[test]
fn solves_agree_with_those_in_memory() {
    for settings in [
        Settings::default(),
        Settings::default()
            .method(Method::QuasiNewton)
            .n_restarts(1),
        Settings::default().method(Method::RowWise),
        Settings::default().orthogonal(true),
        Settings::default().hessian_memory(0),
    ] {
        assert_solves_agree(&made(), &settings);
    }
    assert_solves_agree(&made_complex(), &Settings::default());
}

#[test]
fn reduced_set_is_solved_in_the_channels() {
    let (data, rank) = (made(), Rank::Exactly(3));
    let options = SetOptions::default().weights(weights()).n_components(rank);
    let expected = MatrixSet::with_options(&data, N, P, &options).unwrap();
    let expected = diagonalize(&expected, &Settings::default()).unwrap();
    let reduction = Reduction::of_mean(whole(&data).mean(), rank).unwrap();
    let part = |from, to| {
        let filters = Some(reduction.filters());
        Worker::of_chunks(vec![chunk(&data, from, to)], filters, Some(1)).unwrap()
    };
    let parts = [part(0, 100), part(100, N)];
    let ask = |message: &[u8]| parts.iter().map(|part| part.respond(message)).collect();
    let found = solved(
        &ask,
        &described(&parts),
        Some(reduction),
        &Settings::default(),
    );
    assert_eq!((found.b.rows(), found.b.columns()), (3, P));
    assert_near(found.b.as_slice(), expected.b.as_slice(), 1e-6);
}

#[test]
fn pairwise_methods_are_not_supported() {
    let ask = Replacing::new(parts(&made()), usize::MAX);
    let mut set = ClusterSet::new(&ask, &described(&parts(&made())), None).unwrap();
    let settings = Settings::default().method(Method::Pham);
    let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let error = diagonalize_with_backend(&mut set, &settings, &mut observer);
    assert!(matches!(error, Err(Error::Conflict(_))));
}

fn evaluated<A: SendRequests + ?Sized>(set: &mut ClusterSet<'_, A>) -> Result<(), Error> {
    let b = Matrix::identity(P);
    set.evaluate(&Request::Hessian { b }, &mut Sums::default())
}

#[test]
fn damaged_answers_are_errors() {
    let parts = parts(&made());
    let described = described(&parts);
    let damages: [fn(&mut Vec<Vec<u8>>); 7] = [
        |answers| answers[1].truncate(100),
        |answers| drop(answers[1].drain(..8)),
        |answers| answers[1].clear(),
        |answers| {
            let len = answers[1].len();
            answers[1].truncate(len - 8);
        },
        |answers| answers[0][2] = 9,  // another version
        |answers| answers[0][3] ^= 1, // the answer to another message
        |answers| drop(answers.pop()),
    ];
    for damage in damages {
        let ask = |message: &[u8]| {
            let answers = parts.iter().map(|part| part.respond(message));
            let mut answers = answers.collect::<Result<Vec<_>, _>>()?;
            damage(&mut answers);
            Ok(answers)
        };
        let mut set = ClusterSet::new(&ask, &described, None).unwrap();
        let error = evaluated(&mut set).unwrap_err();
        assert!(matches!(error, Error::InvalidResponse { .. }), "{error}");
    }
}

#[test]
fn damaged_descriptions_are_errors() {
    let parts = parts(&made());
    let ask = |message: &[u8]| parts.iter().map(|part| part.respond(message)).collect();
    let good = described(&parts);
    for length in 0..good[0].len() {
        let damaged = [good[0][..length].to_vec(), good[1].clone()];
        let error = ClusterSet::new(&ask, &damaged, None).err();
        assert!(
            matches!(error, Some(Error::InvalidResponse { .. })),
            "{length} bytes: {error:?}"
        );
    }
    let mut other_version = good.clone();
    other_version[1][2] += 1;
    let error = ClusterSet::new(&ask, &other_version, None).err();
    assert!(matches!(error, Some(Error::InvalidResponse { .. })));
    let complex = described(&self::parts(&made_complex()));
    let error = ClusterSet::new(&ask, &complex, None).err();
    assert!(matches!(error, Some(Error::InvalidResponse { .. })));
    let none: [&[u8]; 0] = [];
    let error = ClusterSet::new(&ask, &none, None).err();
    assert_eq!(error, Some(Error::WeightsZero));
}

#[test]
fn unknown_messages_are_errors() {
    let part = &parts(&made())[0];
    let request = requests::<f64>().swap_remove(10);
    let good = Message::Request(request).to_bytes(P, None);
    assert!(part.respond(&good).is_ok());
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        part.respond(&bytes)
    };
    // No message, another version, an unknown kind, another kind, another dimension.
    for (at, to) in [(0, b'x'), (2, 1), (3, 99), (3, 10), (4, 6)] {
        assert_eq!(changed(at, to), Err(Error::InvalidRequest), "byte {at}");
    }
    for length in 0..good.len() {
        assert_eq!(part.respond(&good[..length]), Err(Error::InvalidRequest));
    }
    // A sample has a step, and a real part does not understand complex matrices.
    let sample = Message::<f64>::Sample.to_bytes(P, None);
    assert_eq!(part.respond(&sample), Err(Error::InvalidRequest));
    let complex = Message::Request(requests::<c64>().swap_remove(4)).to_bytes(P, None);
    assert_eq!(part.respond(&complex), Err(Error::InvalidRequest));
}

#[test]
fn messages_are_read_as_they_were_written() {
    let requests = requests::<c64>().into_iter().map(Message::Request);
    let messages = requests.chain([Message::Sample, Message::Matrices]);
    for message in messages {
        for step in [None, Some(7)] {
            let bytes = message.to_bytes(P, step);
            assert_eq!(Message::from_bytes(&bytes, P), Ok((message.clone(), step)));
        }
    }
}
