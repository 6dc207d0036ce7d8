//! Parts in one process answer as the whole set does.

mod complex;

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use super::question::Question;
use super::{Ask, ClusterSet, Part};
use crate::backend::Hessian;
use crate::data::{Chunk, InMemory, WorkingSet};
use crate::report::{Diagonalization, Record};
use crate::solver::diagonalize_working;
use crate::synthetic::Synthetic;
use crate::{Error, Matrix, MatrixSet, Method, Rank, Reduction, SetOptions, Settings, diagonalize};

const N: usize = 300;
const P: usize = 5;

fn made() -> Synthetic {
    Synthetic::new(N, P, 0.1, 3)
}

fn weights() -> Vec<f64> {
    (0..N).map(|i| ((i * 7) % 5) as f64).collect()
}

fn whole() -> MatrixSet {
    let options = SetOptions::default().weights(weights()).threads(1);
    MatrixSet::with_options(&made().data, N, P, &options).unwrap()
}

/// Matrices `from` to `to` of the set.
fn chunk(from: usize, to: usize) -> Chunk {
    let options = SetOptions::default().weights(weights()[from..to].to_vec());
    let data = &made().data[from * P * P..to * P * P];
    Chunk::new(data, to - from, P, from, &options).unwrap()
}

/// Two parts, the second of which has the first matrices of the set, and some from its end.
fn parts() -> Vec<Part> {
    let parts = [
        vec![chunk(40, 130), chunk(130, 200)],
        vec![chunk(0, 40), chunk(200, N)],
    ];
    let part = |chunks| Part::of_chunks(chunks, None, Some(1)).unwrap();
    parts.into_iter().map(part).collect()
}

fn described(parts: &[Part]) -> Vec<Vec<u8>> {
    parts.iter().map(Part::describe).collect()
}

/// Puts questions to parts, and loses one of them now and then.
struct Forgetful {
    parts: RefCell<Vec<Part>>,
    asked: Cell<usize>,
    /// After so many questions a part is made anew.
    lifetime: usize,
}

impl Forgetful {
    fn new(parts: Vec<Part>, lifetime: usize) -> Self {
        Self {
            parts: RefCell::new(parts),
            asked: Cell::new(0),
            lifetime,
        }
    }
}

impl Ask for Forgetful {
    fn ask(&self, question: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut parts = self.parts.borrow_mut();
        self.asked.set(self.asked.get() + 1);
        if self.asked.get().is_multiple_of(self.lifetime) {
            let lost = self.asked.get() % parts.len();
            parts[lost] = Part::of_chunks(parts[lost].chunks()?, None, Some(1))?;
        }
        parts.iter().map(|part| part.answer(question)).collect()
    }
}

fn solved(ask: &dyn Ask, described: &[Vec<u8>], settings: &Settings) -> Diagonalization {
    let mut set = ClusterSet::new(ask, described, None).unwrap();
    let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    diagonalize_working(&mut set, settings, &mut observer).unwrap()
}

fn near(x: &[f64], y: &[f64], tolerance: f64) {
    assert_eq!(x.len(), y.len());
    for (x, y) in x.iter().zip(y) {
        assert!((x - y).abs() < tolerance * (1.0 + y.abs()), "{x} and {y}");
    }
}

/// A B that is no diagonalizer, and a direction.
fn somewhere() -> (Matrix, Matrix) {
    let wave = |a: usize, c: usize| ((3 * a + 5 * c) as f64).sin();
    let b = Matrix::from_fn(P, P, |a, c| f64::from(u8::from(a == c)) + 0.2 * wave(a, c));
    let e = Matrix::from_fn(P, P, |a, c| if a == c { 0.0 } else { 0.05 * wave(c, a) });
    (b, e)
}

/// Asks two sets all that a solver may ask, and compares the answers.
fn compare(one: &mut dyn WorkingSet, other: &mut dyn WorkingSet) {
    let (b, e) = somewhere();
    let metric = Matrix::identity(P);
    let (x, y) = (one.balance(&metric), other.balance(&metric));
    let (x, y) = (x.unwrap(), y.unwrap());
    near(x.mean.as_slice(), y.mean.as_slice(), 1e-12);
    near(x.spread.as_slice(), y.spread.as_slice(), 1e-12);
    let (x, y) = (one.second_moment(), other.second_moment());
    near(x.unwrap().as_slice(), y.unwrap().as_slice(), 1e-12);
    let many: Vec<f64> = (0..16 * 15).map(|k| f64::from(k).cos()).collect();
    let correlated = |set: &mut dyn WorkingSet| {
        let mut sums = vec![0.0; many.len()];
        set.correlate(&many, &mut sums).unwrap();
        sums
    };
    near(&correlated(one), &correlated(other), 1e-12);
    let (x, y) = (one.reset(&b).unwrap(), other.reset(&b).unwrap());
    near(&[x], &[y], 1e-12);
    near(
        one.mean().unwrap().as_slice(),
        other.mean().unwrap().as_slice(),
        1e-12,
    );
    let (mut x, mut y) = (
        Hessian::zeros(crate::Criterion::Likelihood, P),
        Hessian::zeros(crate::Criterion::Likelihood, P),
    );
    one.hessian(&mut x).unwrap();
    other.hessian(&mut y).unwrap();
    near(&x.triangles(), &y.triangles(), 1e-12);
    let (x, y) = (one.hessian_product(&e), other.hessian_product(&e));
    near(x.unwrap().as_slice(), y.unwrap().as_slice(), 1e-12);
    let (x, y) = (one.probe(&e).unwrap(), other.probe(&e).unwrap());
    near(&x.linear, &y.linear, 1e-12);
    near(&x.quadratic, &y.quadratic, 1e-12);
    for alpha in [0.0, 1.0, 0.3] {
        let (x, y) = (
            one.line_point(alpha).unwrap(),
            other.line_point(alpha).unwrap(),
        );
        let three = |point: crate::matrices::LinePoint| [point.sum, point.first, point.second];
        near(&three(x), &three(y), 1e-12);
    }
    let scale = [1.0, 2.0, 0.5, 1.0, 3.0];
    let (x, y) = (one.advance(0.3, &scale), other.advance(0.3, &scale));
    let (x, y) = (x.unwrap(), y.unwrap());
    near(x.gradient.as_slice(), y.gradient.as_slice(), 1e-12);
    near(x.gamma.as_slice(), y.gamma.as_slice(), 1e-12);
    let (x, y) = (one.statistics().unwrap(), other.statistics().unwrap());
    near(x.gradient.as_slice(), y.gradient.as_slice(), 1e-12);
}

#[test]
fn two_parts_answer_like_the_whole_set() {
    let parts = parts();
    let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
    let mut set = ClusterSet::new(&ask, &described(&parts), None).unwrap();
    let whole = whole();
    assert_eq!(set.summary().len, N);
    assert_eq!(set.summary().criterion, whole.criterion());
    near(
        set.summary().mean.as_slice(),
        whole.mean().as_slice(),
        1e-12,
    );
    near(&[set.summary().constant], &[whole.constant()], 1e-12);
    let mut in_memory = InMemory::new(&whole);
    compare(&mut set, &mut in_memory);
    let ones = [1.0; P];
    let (x, y) = (
        set.final_sums(&ones).unwrap(),
        in_memory.final_sums(&ones).unwrap(),
    );
    near(&x.variations, &y.variations, 1e-12);
    // In the order of the set, whoever holds a matrix.
    let (x, y) = (x.tables.unwrap(), y.tables.unwrap());
    near(&x.powers, &y.powers, 1e-12);
    near(&x.constants, &y.constants, 1e-12);
}

#[test]
fn a_sample_has_every_so_manieth_matrix_of_the_whole() {
    let parts = parts();
    let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
    let mut set = ClusterSet::new(&ask, &described(&parts), None).unwrap();
    let mut in_memory = InMemory::new(&whole());
    let (mut sample, mut expected) = (set.sample(7).unwrap(), in_memory.sample(7).unwrap());
    let (sample, expected) = (sample.as_mut().unwrap(), expected.as_mut().unwrap());
    assert_eq!(sample.summary().len, expected.summary().len);
    compare(&mut **sample, &mut **expected);
    // The same, whether its matrices are brought here or stay with the parts.
    let set = ClusterSet::new(&ask, &described(&parts), None).unwrap();
    let mut remote = set.remote_sample(7).unwrap().unwrap();
    assert_eq!(remote.summary().len, expected.summary().len);
    compare(&mut remote, &mut **expected);
    // Only the second part has matrix 0: the first one is not listened to.
    let mut set = ClusterSet::new(&ask, &described(&parts), None).unwrap();
    let none = set.sample(1000).unwrap().is_none();
    assert!(none, "matrix 0 has weight zero");
    let single = set.sample(299).unwrap().unwrap();
    assert_eq!(single.summary().mean, whole().matrix(299));
}

#[test]
fn a_part_that_lost_its_state_answers_alike() {
    let (steady, forgetful) = (
        Forgetful::new(parts(), usize::MAX),
        Forgetful::new(parts(), 2),
    );
    let described = described(&parts());
    let mut one = ClusterSet::new(&forgetful, &described, None).unwrap();
    let mut other = ClusterSet::new(&steady, &described, None).unwrap();
    compare(&mut one, &mut other);
    assert!(forgetful.asked.get() > 8);
}

#[test]
fn a_question_put_twice_is_answered_alike() {
    let part = &parts()[0];
    let (b, e) = somewhere();
    let scale = vec![1.0; P];
    let next = crate::update::advanced(&b, &e, 0.5, &scale);
    let alpha = 0.5;
    let question = Question::Advance {
        b,
        e,
        next,
        alpha,
        scale,
        hessian: true,
    };
    let bytes = question.to_bytes(P, None);
    assert_eq!(part.answer(&bytes), part.answer(&bytes));
}

#[test]
fn a_solve_of_two_parts_is_that_in_memory() {
    for settings in [
        Settings::default(),
        Settings::default().method(Method::QuasiNewton).restarts(1),
        Settings::default().orthogonal(true),
        Settings::default().hessian_memory(0),
    ] {
        let expected = diagonalize(&whole(), &settings).unwrap();
        for lifetime in [usize::MAX, 5] {
            let ask = Forgetful::new(parts(), lifetime);
            let found = solved(&ask, &described(&parts()), &settings);
            assert_eq!(found.status, expected.status);
            near(&[found.loss], &[expected.loss], 1e-10);
            near(found.b.as_slice(), expected.b.as_slice(), 1e-6);
            near(found.powers.as_slice(), expected.powers.as_slice(), 1e-6);
            near(&found.residuals, &expected.residuals, 1e-6);
        }
    }
}

#[test]
fn a_solve_asks_no_more_than_it_must() {
    let n = 1000;
    let made = Synthetic::new(n, P, 0.1, 3);
    let part = |from: usize, to: usize| {
        let data = &made.data[from * P * P..to * P * P];
        let chunk = Chunk::new(data, to - from, P, from, &SetOptions::default()).unwrap();
        Part::of_chunks(vec![chunk], None, Some(1)).unwrap()
    };
    let parts = [part(0, 400), part(400, n)];
    let asked = RefCell::new(Vec::new());
    let ask = |question: &[u8]| {
        asked
            .borrow_mut()
            .push(Question::<f64>::from_bytes(question, P)?);
        parts.iter().map(|part| part.answer(question)).collect()
    };
    let found = solved(&ask, &described(&parts), &Settings::default());
    let asked = asked.into_inner();
    // Of the sample, nothing but its matrices.
    let of_sample = asked.iter().filter(|(_, step)| step.is_some());
    let of_sample: Vec<_> = of_sample.map(|(question, _)| question).collect();
    assert_eq!(of_sample, [&Question::Matrices]);
    // Hessians come with the statistics, but perhaps for one that was thought to be the last.
    let count = |is: fn(&Question) -> bool| asked.iter().filter(|(q, _)| is(q)).count();
    assert!(count(|q| matches!(q, Question::Hessian { .. })) <= 1);
    let with_hessian = |q: &Question| matches!(q, Question::Advance { hessian: true, .. });
    assert!(count(with_hessian) + 2 >= found.iterations);
    let others = count(|q| matches!(q, Question::LinePoint { .. } | Question::Hessian { .. }));
    // Two questions for the start and one for the sample; one for the first point and at most two for each iteration; and one for
    // the final sums.
    assert!(asked.len() <= 5 + 2 * found.iterations + others);
    let set = MatrixSet::new(&made.data, n, P).unwrap();
    let expected = diagonalize(&set, &Settings::default()).unwrap();
    near(found.b.as_slice(), expected.b.as_slice(), 1e-6);
}

#[test]
fn a_reduced_set_is_solved_in_the_channels() {
    let options = SetOptions::default()
        .weights(weights())
        .rank(Rank::Exactly(3));
    let expected = MatrixSet::with_options(&made().data, N, P, &options).unwrap();
    let expected = diagonalize(&expected, &Settings::default()).unwrap();
    let reduction = Reduction::of_mean(whole().mean(), Rank::Exactly(3)).unwrap();
    let part = |from, to| {
        let filters = Some(reduction.filters());
        Part::of_chunks(vec![chunk(from, to)], filters, Some(1)).unwrap()
    };
    let parts = [part(0, 100), part(100, N)];
    let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
    let described = described(&parts);
    let mut set = ClusterSet::new(&ask, &described, Some(reduction)).unwrap();
    let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let found = diagonalize_working(&mut set, &Settings::default(), &mut observer).unwrap();
    assert_eq!((found.b.rows(), found.b.columns()), (3, P));
    near(found.b.as_slice(), expected.b.as_slice(), 1e-6);
}

#[test]
fn pham_is_refused() {
    let ask = Forgetful::new(parts(), usize::MAX);
    let mut set = ClusterSet::new(&ask, &described(&parts()), None).unwrap();
    let settings = Settings::default().method(Method::Pham);
    let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let refused = diagonalize_working(&mut set, &settings, &mut observer);
    assert!(matches!(refused, Err(Error::Conflict(_))));
}

#[test]
fn damaged_and_short_answers_are_told() {
    let parts = parts();
    let described = described(&parts);
    let damages: [fn(&mut Vec<Vec<u8>>); 6] = [
        |answers| answers[1].truncate(100),
        |answers| drop(answers[1].drain(..8)),
        |answers| answers[1].clear(),
        |answers| answers[0][2] = 9,  // another version
        |answers| answers[0][3] ^= 1, // the answer to another question
        |answers| drop(answers.pop()),
    ];
    for damage in damages {
        let ask = |question: &[u8]| {
            let answers = parts.iter().map(|part| part.answer(question));
            let mut answers = answers.collect::<Result<Vec<_>, _>>()?;
            damage(&mut answers);
            Ok(answers)
        };
        let mut set = ClusterSet::new(&ask, &described, None).unwrap();
        let failed = set.reset(&Matrix::identity(P)).unwrap_err();
        assert!(matches!(failed, Error::Answer { .. }), "{failed}");
    }
    let short = Error::Answer {
        expected: 51,
        actual: 50,
    };
    let ask = |question: &[u8]| {
        let answers = parts.iter().map(|part| part.answer(question));
        let mut answers = answers.collect::<Result<Vec<_>, _>>()?;
        let whole = answers[1].len();
        answers[1].truncate(whole - 8);
        Ok(answers)
    };
    let mut set = ClusterSet::new(&ask, &described, None).unwrap();
    assert_eq!(set.reset(&Matrix::identity(P)), Err(short));
}

#[test]
fn damaged_descriptions_are_told() {
    let parts = parts();
    let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
    let good = described(&parts);
    for length in 0..good[0].len() {
        let damaged = [good[0][..length].to_vec(), good[1].clone()];
        let failed = ClusterSet::new(&ask, &damaged, None).err();
        assert!(
            matches!(failed, Some(Error::Answer { .. })),
            "{length} bytes: {failed:?}"
        );
    }
    let mut other_version = good.clone();
    other_version[1][2] += 1;
    let failed = ClusterSet::new(&ask, &other_version, None).err();
    assert!(matches!(failed, Some(Error::Answer { .. })));
    let none: [&[u8]; 0] = [];
    let failed = ClusterSet::new(&ask, &none, None).err();
    assert_eq!(failed, Some(Error::WeightsZero));
}

#[test]
fn unknown_questions_are_told() {
    let part = &parts()[0];
    let (b, e) = somewhere();
    let good = Question::LinePoint { b, e, alpha: 0.5 }.to_bytes(P, None);
    assert!(part.answer(&good).is_ok());
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        part.answer(&bytes)
    };
    // No message, another version, an unknown kind, another kind, another dimension.
    for (at, to) in [(0, b'x'), (2, 1), (3, 99), (3, 10), (4, 6)] {
        assert_eq!(changed(at, to), Err(Error::Question), "byte {at}");
    }
    for length in 0..good.len() {
        assert_eq!(part.answer(&good[..length]), Err(Error::Question));
    }
    // A sample has a step.
    let sample = Question::<f64>::Sample.to_bytes(P, None);
    assert_eq!(part.answer(&sample), Err(Error::Question));
}

#[test]
fn questions_survive_their_journey() {
    let (b, e) = somewhere();
    let scale = vec![1.0; P];
    let questions = [
        Question::Sample,
        Question::SecondMoment,
        Question::Balance { metric: b.clone() },
        Question::Correlate {
            metric: b.clone(),
            matrices: vec![0.5; 16 * 15],
        },
        Question::Matrices,
        Question::Reset {
            b: b.clone(),
            hessian: true,
        },
        Question::Mean { b: b.clone() },
        Question::Statistics { b: b.clone() },
        Question::Hessian { b: b.clone() },
        Question::Product {
            b: b.clone(),
            e: e.clone(),
        },
        Question::Probe {
            b: b.clone(),
            e: e.clone(),
        },
        Question::LinePoint {
            b: b.clone(),
            e: e.clone(),
            alpha: 0.25,
        },
        Question::Advance {
            b: b.clone(),
            e: e.clone(),
            next: e,
            alpha: -1.0,
            scale: scale.clone(),
            hessian: false,
        },
        Question::FinalSums {
            b,
            mean_powers: scale,
            tables: true,
        },
    ];
    for (question, step) in questions.iter().flat_map(|q| [(q, None), (q, Some(7))]) {
        let bytes = question.to_bytes(P, step);
        let (again, of) = Question::from_bytes(&bytes, P).unwrap();
        assert_eq!((&again, of), (question, step));
    }
}
