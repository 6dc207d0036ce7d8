//! Workers in one process give the results of the whole set.

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

fn generated() -> Vec<f64> {
    Synthetic::new(N, P, 0.1, 3).data
}

fn generated_complex() -> Vec<c64> {
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

/// Returns two workers. The second has the first matrices of the set and the last.
fn workers<T: Scalar>(data: &[T]) -> Vec<Worker<T>> {
    let chunk = |from, to| chunk(data, from, to);
    let workers = [
        vec![chunk(40, 130), chunk(130, 200)],
        vec![chunk(0, 40), chunk(200, N)],
    ];
    let worker = |chunks| Worker::of_chunks(chunks, None, Some(1)).unwrap();
    workers.into_iter().map(worker).collect()
}

fn descriptions<T: Scalar>(workers: &[Worker<T>]) -> Vec<Vec<u8>> {
    workers.iter().map(Worker::describe).collect()
}

/// Sends requests to workers, and replaces one of them after every `lifetime` requests.
struct Replacing<T: Scalar> {
    workers: RefCell<Vec<Worker<T>>>,
    sent: Cell<usize>,
    lifetime: usize,
}

impl<T: Scalar> Replacing<T> {
    fn new(workers: Vec<Worker<T>>, lifetime: usize) -> Self {
        Self {
            workers: RefCell::new(workers),
            sent: Cell::new(0),
            lifetime,
        }
    }
}

impl<T: Scalar> SendRequests for Replacing<T> {
    fn send(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut workers = self.workers.borrow_mut();
        self.sent.set(self.sent.get() + 1);
        if self.sent.get().is_multiple_of(self.lifetime) {
            let lost = self.sent.get() % workers.len();
            workers[lost] = Worker::of_chunks(workers[lost].chunks()?, None, Some(1))?;
        }
        workers
            .iter()
            .map(|worker| worker.respond(message))
            .collect()
    }
}

fn assert_near(x: &[f64], y: &[f64], tolerance: f64) {
    assert_eq!(x.len(), y.len());
    for (x, y) in x.iter().zip(y) {
        assert!((x - y).abs() < tolerance * (1.0 + y.abs()), "{x} and {y}");
    }
}

/// Returns all kinds of requests.
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
            // In the order of the set, independent of the distribution over the workers.
            assert_near(&x.powers, &y.powers, 1e-11);
            assert_near(&x.constants, &y.constants, 1e-11);
        }
    }
}

fn assert_cluster_gives_the_sums_of_the_set<T: Scalar>(data: &[T]) {
    for lifetime in [usize::MAX, 2] {
        let sender = Replacing::new(workers(data), lifetime);
        let mut set =
            ClusterSet::of_descriptions(&sender, &descriptions(&workers(data)), None).unwrap();
        compare(&mut set, &mut InMemory::new(&whole(data)));
        assert!(sender.sent.get() > 10);
    }
}

#[test]
fn cluster_gives_the_sums_of_the_set_even_if_workers_are_replaced() {
    assert_cluster_gives_the_sums_of_the_set(&generated());
    assert_cluster_gives_the_sums_of_the_set(&generated_complex());
}

#[test]
fn sample_has_every_seventh_matrix_of_the_set() {
    let workers = workers(&generated());
    let sender = |message: &[u8]| {
        workers
            .iter()
            .map(|worker| worker.respond(message))
            .collect()
    };
    let mut set = ClusterSet::new(&sender, &descriptions(&workers), None).unwrap();
    let mut in_memory = InMemory::new(&whole(&generated()));
    let (mut sample, mut expected) = (set.sample(7).unwrap(), in_memory.sample(7).unwrap());
    let (sample, expected) = (sample.as_mut().unwrap(), expected.as_mut().unwrap());
    assert_eq!(sample.summary().len, expected.summary().len);
    // Samples have no constants, on a cluster and in memory.
    let without_tables = |request: &Request| !matches!(request, Request::Components { .. });
    let (mut x, mut y) = (Sums::default(), Sums::default());
    let set = ClusterSet::new(&sender, &descriptions(&workers), None).unwrap();
    // The matrices of the first sample are copied to the client, those of the second stay with the
    // workers.
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
    let mut set = ClusterSet::new(&sender, &descriptions(&workers), None).unwrap();
    assert!(
        set.sample(1000).unwrap().is_none(),
        "matrix 0 has weight zero"
    );
    let single = set.sample(299).unwrap().unwrap();
    assert_eq!(single.summary().mean, whole(&generated()).matrix(299));
}

fn solved<T: Scalar>(
    sender: &dyn SendRequests,
    descriptions: &[Vec<u8>],
    reduction: Option<Reduction<T>>,
    settings: &Settings,
) -> Diagonalization<T> {
    let mut set = ClusterSet::of_descriptions(sender, descriptions, reduction).unwrap();
    let mut observer = |_: &Record, _: &Matrix<T>| ControlFlow::Continue(());
    diagonalize_with_backend(&mut set, settings, &mut observer).unwrap()
}

fn assert_solves_agree<T: Scalar>(data: &[T], settings: &Settings) {
    let expected = diagonalize(&whole(data), settings).unwrap();
    for lifetime in [usize::MAX, 5] {
        let sender = Replacing::new(workers(data), lifetime);
        let result = solved::<T>(&sender, &descriptions(&workers(data)), None, settings);
        assert_eq!(result.status, expected.status);
        assert_near(&[result.loss], &[expected.loss], 1e-10);
        let (x, y) = (reals(result.b.as_slice()), reals(expected.b.as_slice()));
        assert_near(x, y, 1e-6);
        assert_near(result.powers.as_slice(), expected.powers.as_slice(), 1e-6);
        assert_near(&result.residuals, &expected.residuals, 1e-6);
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
        assert_solves_agree(&generated(), &settings);
    }
    assert_solves_agree(&generated_complex(), &Settings::default());
}

#[test]
fn reduced_set_is_solved_in_the_channels() {
    let (data, rank) = (generated(), Rank::Exactly(3));
    let options = SetOptions::default().weights(weights()).n_components(rank);
    let expected = MatrixSet::with_options(&data, N, P, &options).unwrap();
    let expected = diagonalize(&expected, &Settings::default()).unwrap();
    let reduction = Reduction::of_mean(whole(&data).mean(), rank).unwrap();
    let worker = |from, to| {
        let filters = Some(reduction.filters());
        Worker::of_chunks(vec![chunk(&data, from, to)], filters, Some(1)).unwrap()
    };
    let workers = [worker(0, 100), worker(100, N)];
    let sender = |message: &[u8]| {
        workers
            .iter()
            .map(|worker| worker.respond(message))
            .collect()
    };
    let result = solved(
        &sender,
        &descriptions(&workers),
        Some(reduction),
        &Settings::default(),
    );
    assert_eq!((result.b.rows(), result.b.columns()), (3, P));
    assert_near(result.b.as_slice(), expected.b.as_slice(), 1e-6);
}

#[test]
fn pairwise_methods_are_not_supported() {
    let sender = Replacing::new(workers(&generated()), usize::MAX);
    let mut set = ClusterSet::new(&sender, &descriptions(&workers(&generated())), None).unwrap();
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
fn damaged_responses_are_errors() {
    let workers = workers(&generated());
    let descriptions = descriptions(&workers);
    let damages: [fn(&mut Vec<Vec<u8>>); 7] = [
        |responses| responses[1].truncate(100),
        |responses| drop(responses[1].drain(..8)),
        |responses| responses[1].clear(),
        |responses| {
            let len = responses[1].len();
            responses[1].truncate(len - 8);
        },
        |responses| responses[0][2] = 9,  // another version
        |responses| responses[0][3] ^= 1, // response to another message
        |responses| drop(responses.pop()),
    ];
    for damage in damages {
        let sender = |message: &[u8]| {
            let responses = workers.iter().map(|worker| worker.respond(message));
            let mut responses = responses.collect::<Result<Vec<_>, _>>()?;
            damage(&mut responses);
            Ok(responses)
        };
        let mut set = ClusterSet::new(&sender, &descriptions, None).unwrap();
        let error = evaluated(&mut set).unwrap_err();
        assert!(matches!(error, Error::InvalidResponse { .. }), "{error}");
    }
}

#[test]
fn damaged_descriptions_are_errors() {
    let workers = workers(&generated());
    let sender = |message: &[u8]| {
        workers
            .iter()
            .map(|worker| worker.respond(message))
            .collect()
    };
    let good = descriptions(&workers);
    for length in 0..good[0].len() {
        let damaged = [good[0][..length].to_vec(), good[1].clone()];
        let error = ClusterSet::new(&sender, &damaged, None).err();
        assert!(
            matches!(error, Some(Error::InvalidResponse { .. })),
            "{length} bytes: {error:?}"
        );
    }
    let mut other_version = good.clone();
    other_version[1][2] += 1;
    let error = ClusterSet::new(&sender, &other_version, None).err();
    assert!(matches!(error, Some(Error::InvalidResponse { .. })));
    let complex = descriptions(&self::workers(&generated_complex()));
    let error = ClusterSet::new(&sender, &complex, None).err();
    assert!(matches!(error, Some(Error::InvalidResponse { .. })));
    let none: [&[u8]; 0] = [];
    let error = ClusterSet::new(&sender, &none, None).err();
    assert_eq!(error, Some(Error::WeightsZero));
}

#[test]
fn unknown_messages_are_errors() {
    let worker = &workers(&generated())[0];
    let request = requests::<f64>().swap_remove(10);
    let good = Message::Request(request).to_bytes(P, None);
    assert!(worker.respond(&good).is_ok());
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        worker.respond(&bytes)
    };
    // Not a message, another version, an unknown kind, another kind, another dimension.
    for (at, to) in [(0, b'x'), (2, 1), (3, 99), (3, 10), (4, 6)] {
        assert_eq!(changed(at, to), Err(Error::InvalidRequest), "byte {at}");
    }
    for length in 0..good.len() {
        assert_eq!(worker.respond(&good[..length]), Err(Error::InvalidRequest));
    }
    // A sample needs a step, and a worker with real matrices rejects complex requests.
    let sample = Message::<f64>::Sample.to_bytes(P, None);
    assert_eq!(worker.respond(&sample), Err(Error::InvalidRequest));
    let complex = Message::Request(requests::<c64>().swap_remove(4)).to_bytes(P, None);
    assert_eq!(worker.respond(&complex), Err(Error::InvalidRequest));
}

#[test]
fn messages_round_trip_through_bytes() {
    let requests = requests::<c64>().into_iter().map(Message::Request);
    let messages = requests.chain([Message::Sample, Message::Matrices]);
    for message in messages {
        for step in [None, Some(7)] {
            let bytes = message.to_bytes(P, step);
            assert_eq!(Message::from_bytes(&bytes, P), Ok((message.clone(), step)));
        }
    }
}
