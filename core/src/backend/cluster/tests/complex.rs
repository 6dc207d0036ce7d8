//! The same of complex matrices.

use std::ops::ControlFlow;

use crate::backend::Hessian;
use crate::cluster::question::Question;
use crate::cluster::{ClusterSet, Part, is_complex};
use crate::data::{Chunk, InMemory, WorkingSet};
use crate::report::Record;
use crate::solver::diagonalize_working;
use crate::synthetic::Synthetic;
use crate::{
    Criterion, Error, Matrix, MatrixSet, Method, Rank, Reduction, SetOptions, Settings, c64,
    diagonalize,
};

const N: usize = 200;
const P: usize = 4;

fn made() -> Synthetic<c64> {
    Synthetic::complex(N, P, 0.1, 5)
}

fn chunk(from: usize, to: usize) -> Chunk<c64> {
    let data = &made().data[from * P * P..to * P * P];
    Chunk::new(data, to - from, P, from, &SetOptions::default()).unwrap()
}

fn parts(filters: Option<&Matrix<c64>>) -> Vec<Part<c64>> {
    let parts = [vec![chunk(30, 120)], vec![chunk(0, 30), chunk(120, N)]];
    let part = |chunks| Part::of_chunks(chunks, filters, Some(1)).unwrap();
    parts.into_iter().map(part).collect()
}

fn described(parts: &[Part<c64>]) -> Vec<Vec<u8>> {
    parts.iter().map(Part::describe).collect()
}

fn near(x: &Matrix<c64>, y: &Matrix<c64>, tolerance: f64) {
    assert_eq!((x.rows(), x.columns()), (y.rows(), y.columns()));
    for (x, y) in x.as_slice().iter().zip(y.as_slice()) {
        assert!((x - y).norm() < tolerance * (1.0 + y.norm()), "{x} and {y}");
    }
}

fn somewhere() -> (Matrix<c64>, Matrix<c64>) {
    let wave = |a: usize, c: usize| c64::new(0.0, (3 * a + 5 * c) as f64).exp() * 0.2;
    let one = |a, c| if a == c { c64::ONE } else { c64::ZERO };
    let b = Matrix::from_fn(P, P, |a, c| one(a, c) + wave(a, c));
    let e = Matrix::from_fn(P, P, |a, c| wave(c, a) * (c64::ONE - one(a, c)));
    (b, e)
}

#[test]
fn two_parts_answer_like_the_whole_set() {
    let parts = parts(None);
    assert!(is_complex(&parts[0].describe()));
    let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
    let mut set = ClusterSet::complex(&ask, &described(&parts), None).unwrap();
    let mut expected = InMemory::new(&made().set().unwrap());
    let (b, e) = somewhere();
    let metric = Matrix::identity(P);
    let (x, y) = (set.balance(&metric), expected.balance(&metric));
    let (x, y) = (x.unwrap(), y.unwrap());
    near(&x.mean, &y.mean, 1e-12);
    near(&x.spread, &y.spread, 1e-12);
    let (x, y) = (set.second_moment(), expected.second_moment());
    near(&x.unwrap(), &y.unwrap(), 1e-12);
    let many: Vec<f64> = (0..16 * P * (P + 1)).map(|k| (k as f64).cos()).collect();
    let (mut x, mut y) = (vec![0.0; many.len()], vec![0.0; many.len()]);
    set.correlate(&many, &mut x).unwrap();
    expected.correlate(&many, &mut y).unwrap();
    for (x, y) in x.iter().zip(y) {
        assert!((x - y).abs() < 1e-11 * (1.0 + y.abs()));
    }
    let (x, y) = (set.reset(&b).unwrap(), expected.reset(&b).unwrap());
    assert!((x - y).abs() < 1e-12);
    near(&set.mean().unwrap(), &expected.mean().unwrap(), 1e-12);
    let mut hessians = [(); 2].map(|()| Hessian::zeros(Criterion::Likelihood, P));
    set.hessian(&mut hessians[0]).unwrap();
    expected.hessian(&mut hessians[1]).unwrap();
    let [x, y] = hessians.map(|mut hessian| hessian.product(&e));
    near(&x, &y, 1e-12);
    near(&set.hessian_product(&e).unwrap(), &y, 1e-12);
    set.probe(&e).unwrap();
    expected.probe(&e).unwrap();
    for alpha in [0.0, 0.4, 1.0] {
        let (x, y) = (set.line_point(alpha), expected.line_point(alpha));
        assert!((x.unwrap().sum - y.unwrap().sum).abs() < 1e-12);
    }
    let scale = [1.0, 2.0, 0.5, 1.0];
    let (x, y) = (set.advance(0.4, &scale), expected.advance(0.4, &scale));
    near(&x.unwrap().gradient, &y.unwrap().gradient, 1e-12);
}

#[test]
fn a_solve_of_two_parts_is_that_in_memory() {
    let mut observer = |_: &Record, _: &Matrix<c64>| ControlFlow::Continue(());
    for settings in [
        Settings::default(),
        Settings::default().method(Method::QuasiNewton),
        Settings::default().orthogonal(true),
    ] {
        let expected = diagonalize(&made().set().unwrap(), &settings).unwrap();
        let parts = parts(None);
        let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
        let mut set = ClusterSet::complex(&ask, &described(&parts), None).unwrap();
        let found = diagonalize_working(&mut set, &settings, &mut observer).unwrap();
        assert_eq!(found.status, expected.status);
        assert!((found.loss - expected.loss).abs() < 1e-10);
        near(&found.b, &expected.b, 1e-6);
        assert_eq!(found.powers.rows(), N);
    }
    // Reduced in rank; and parts that are made anew before each question, as if they had died.
    let whole = made().set().unwrap();
    let reduction = Reduction::of_mean(whole.mean(), Rank::Exactly(3)).unwrap();
    let parts = parts(Some(reduction.filters()));
    let described = described(&parts);
    let ask = |question: &[u8]| {
        let answer =
            |part: &Part<c64>| Part::of_chunks(part.chunks()?, None, Some(1))?.answer(question);
        parts.iter().map(answer).collect()
    };
    let mut set = ClusterSet::complex(&ask, &described, Some(reduction)).unwrap();
    let found = diagonalize_working(&mut set, &Settings::default(), &mut observer).unwrap();
    let options = SetOptions::default().rank(Rank::Exactly(3));
    let expected = MatrixSet::with_options(&made().data, N, P, &options).unwrap();
    let expected = diagonalize(&expected, &Settings::default()).unwrap();
    assert_eq!((found.b.rows(), found.b.columns()), (3, P));
    near(&found.b, &expected.b, 1e-6);
}

#[test]
fn real_and_complex_do_not_understand_each_other() {
    let parts = parts(None);
    let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
    let refused = ClusterSet::new(&ask, &described(&parts), None).err();
    assert!(matches!(refused, Some(Error::Answer { .. })));
    let b = Matrix::<f64>::identity(P);
    let question = Question::Reset { b, hessian: false }.to_bytes(P, None);
    assert!(!is_complex(&question));
    assert_eq!(parts[0].answer(&question), Err(Error::Question));
    let b = Matrix::<c64>::identity(P);
    let question = Question::Reset { b, hessian: false }.to_bytes(P, None);
    assert!(parts[0].answer(&question).is_ok());
}
