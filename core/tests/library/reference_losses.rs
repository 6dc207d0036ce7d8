//! Reference losses on the paper's data sets, in memory, from disk and from two cluster workers.
//!
//! Real and noisy sets have many nearly equal minima. The one that is reached may depend on the
//! method and, on processors without fused multiply-add, on rounding. Losses at minima are
//! therefore compared with a tolerance of a few tenths of a percent, and exact agreement is tested
//! at fixed points.

use std::ops::ControlFlow;

use codiag::backend::Chunk;
use codiag::cluster::{ClusterSet, Worker};
use codiag::synthetic::{Sensors, Synthetic, meg};
use codiag::{
    Diagonalization, Evaluation, Init, Matrix, MatrixSet, Memory, Method, OnDisk, Record,
    SetOptions, Settings, diagonalize,
};

use crate::on_disk::Npy;

const N: usize = 100;
const P: usize = 40;

/// Relative tolerance; the minima found on the MEG sets differ by up to 0.2 %.
const LOSS_TOLERANCE: f64 = 5e-3;

/// Memory limit for solves from disk: about the smallest that suffices.
const MEMORY_LIMIT: Memory = Memory(6_000_000);

/// A data set of the paper with the losses at its minima over all B and over orthogonal B.
struct Case {
    name: &'static str,
    data: Vec<f64>,
    loss: f64,
    orthogonal_loss: f64,
}

fn cases() -> Vec<Case> {
    let case = |name, data, loss, orthogonal_loss| Case {
        name,
        data,
        loss,
        orthogonal_loss,
    };
    let synthetic = |sigma, seed| Synthetic::new(N, P, sigma, seed).data;
    vec![
        case("(a)", synthetic(0.0, 0), 0.0, 5.689_19),
        case("(b), seed 1", synthetic(0.1, 1), 0.636_09, 3.794_71),
        case("(b), seed 4", synthetic(0.1, 4), 0.653_39, 3.655_90),
        case("sigma 0.3", synthetic(0.3, 4), 1.761_14, 3.054_38),
        case("magnetometers", meg(Sensors::Magnetometers), 15.220, 15.263),
        case("gradiometers", meg(Sensors::Gradiometers), 12.201, 12.244),
    ]
}

fn settings(orthogonal: bool) -> Settings {
    Settings::default()
        .orthogonal(orthogonal)
        .tol(1e-6)
        .max_iter(200)
}

fn from_memory(data: &[f64], settings: &Settings) -> Diagonalization {
    diagonalize(&MatrixSet::new(data, N, P).unwrap(), settings).unwrap()
}

fn from_disk(data: &[f64], settings: &Settings) -> Diagonalization {
    let npy = Npy::double(data, N, P);
    let mut set = OnDisk::new(npy.open(), MEMORY_LIMIT, &SetOptions::default()).unwrap();
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    codiag::diagonalize_with_backend(&mut set, settings, &mut silent).unwrap()
}

/// Solves with two workers, each with one half of the set as one chunk, on one thread.
fn from_two_workers(data: &[f64], settings: &Settings) -> Diagonalization {
    let workers = [0, N / 2].map(|first| {
        let own = &data[first * P * P..][..N / 2 * P * P];
        let chunk = Chunk::new(own, N / 2, P, first, &SetOptions::default().n_jobs(1));
        Worker::of_chunks(vec![chunk.unwrap()], None, Some(1)).unwrap()
    });
    let descriptions: Vec<Vec<u8>> = workers.iter().map(Worker::describe).collect();
    let send = |request: &[u8]| workers.iter().map(|w| w.respond(request)).collect();
    let mut set = ClusterSet::new(&send, &descriptions, None).unwrap();
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    codiag::diagonalize_with_backend(&mut set, settings, &mut silent).unwrap()
}

type Solve = fn(&[f64], &Settings) -> Diagonalization;
const BACKENDS: [(&str, Solve); 3] = [
    ("memory", from_memory),
    ("disk", from_disk),
    ("two workers", from_two_workers),
];

#[test]
fn newton_reaches_the_reference_losses_with_every_backend() {
    for case in cases() {
        let set = MatrixSet::new(&case.data, N, P).unwrap();
        for (orthogonal, expected) in [(false, case.loss), (true, case.orthogonal_loss)] {
            for (backend, solve) in BACKENDS {
                let name = format!("{} from {backend}, orthogonal: {orthogonal}", case.name);
                let result = solve(&case.data, &settings(orthogonal));
                assert!(result.status.is_converged(), "{name}");
                let off = (result.loss - expected).abs();
                assert!(
                    off <= LOSS_TOLERANCE * expected + 1e-12,
                    "{name}: the loss is {}, expected {expected}",
                    result.loss
                );
                // Loss and gradient at the returned B.
                let at_b = Evaluation::at(&set, &result.b).unwrap();
                let error = (at_b.loss - result.loss).abs();
                assert!(error <= 1e-10 * (1.0 + expected), "{name}: {error:e}");
                if !orthogonal {
                    let g = &at_b.gradient;
                    let gradient_norm = g.norm() / (P as f64).sqrt();
                    assert!(gradient_norm <= 1.1e-6, "{name}: {gradient_norm:e}");
                }
            }
        }
    }
}

#[test]
fn first_steps_agree_between_backends() {
    for case in cases() {
        let settings = settings(false)
            .method(Method::QuasiNewton)
            .init(Init::Identity)
            .max_iter(3);
        let expected = from_memory(&case.data, &settings);
        for (backend, solve) in &BACKENDS[1..] {
            let result = solve(&case.data, &settings);
            let off = (result.loss - expected.loss).abs();
            let name = case.name;
            assert!(
                off <= 1e-9 * expected.loss,
                "{name} from {backend}: {off:e}"
            );
        }
    }
}
