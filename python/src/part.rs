//! Parts of a set, each held by one worker of a cluster.

use std::sync::{Mutex, PoisonError};

use codiag::working::{self, Slope, Statistics, Summary, WorkingSet};
use codiag::{Error, Hessian, Matrix, SetOptions};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::convert::{bad_input, cube, in_place, matrix_from, matrix_to, shape};
use crate::question::{Kind, Question};

/// Consecutive matrices of a larger set, checked but for their definiteness.
#[pyclass(frozen, module = "codiag._core")]
pub struct Chunk(working::Chunk);

/// What makes a chunk anew: its matrices, the first's number, weights, shrinkage, threads.
type ChunkArguments<'py> = (
    Bound<'py, PyArray3<f64>>,
    usize,
    Vec<f64>,
    f64,
    Option<usize>,
);

#[pymethods]
impl Chunk {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
    fn new(
        py: Python<'_>,
        matrices: PyReadonlyArray3<'_, f64>,
        first: usize,
        weights: Option<Vec<f64>>,
        shrinkage: f64,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (n, p) = shape(&matrices);
        let matrices = in_place(&matrices)?;
        let data = matrices.as_slice()?;
        let options = SetOptions::default()
            .weights(weights)
            .shrinkage(shrinkage)
            .threads(threads);
        let chunk = py.detach(|| working::Chunk::new(data, n, p, first, &options));
        chunk.map(Self).map_err(bad_input)
    }

    /// The sum of the weights, the number of matrices without weights.
    #[getter]
    fn weight(&self) -> f64 {
        self.0.weight()
    }

    /// The weighted mean of the matrices.
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix_to(py, py.detach(|| self.0.mean()))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __sizeof__(&self) -> usize {
        bytes(self.0.len(), self.0.channels())
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, ChunkArguments<'py>)> {
        let (py, chunk) = (slf.py(), &slf.get().0);
        let (data, mut weights) = py.detach(|| chunk.matrices());
        weights.iter_mut().for_each(|w| *w *= chunk.weight());
        let matrices = cube(py, (chunk.len(), chunk.channels()), data)?;
        let arguments = (matrices, chunk.first(), weights, 0.0, None);
        Ok((py.get_type::<Self>(), arguments))
    }
}

/// The matrices of some chunks, and where they stand: the answers to [`Question`]s.
#[pyclass(frozen, module = "codiag._core")]
pub struct Part {
    /// The first numbers and lengths of the chunks.
    runs: Vec<(usize, usize)>,
    weight: f64,
    summary: Summary,
    threads: Option<usize>,
    sets: Mutex<Sets>,
}

/// All matrices, and the sample that was last asked for.
struct Sets {
    all: Standing,
    sample: Option<(usize, Option<(f64, Standing)>)>,
}

#[pymethods]
impl Part {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // as above
    fn new(
        py: Python<'_>,
        chunks: Vec<PyRef<'_, Chunk>>,
        filters: Option<PyReadonlyArray2<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        if chunks.is_empty() {
            return Err(PyValueError::new_err("a part has at least one chunk"));
        }
        let filters = filters.map(|f| matrix_from(&f)).transpose()?;
        let chunks: Vec<working::Chunk> = chunks.iter().map(|chunk| chunk.0.clone()).collect();
        let runs = chunks.iter().map(|c| (c.first(), c.len())).collect();
        let weight = chunks.iter().map(working::Chunk::weight).sum();
        let part = py.detach(|| working::Part::of_chunks(chunks, filters.as_ref(), threads));
        let part = part.map_err(bad_input)?;
        Ok(Self {
            runs,
            weight,
            summary: part.summary().clone(),
            threads,
            sets: Mutex::new(Sets {
                all: Standing::new(part),
                sample: None,
            }),
        })
    }

    /// The weight, the mean, the mean of log det, and the runs of matrices.
    #[allow(clippy::type_complexity)] // four things
    fn describe<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(f64, Bound<'py, PyArray2<f64>>, f64, Vec<(usize, usize)>)> {
        let mean = matrix_to(py, self.summary.mean.clone())?;
        let log_det = self.summary.mean_log_det;
        Ok((self.weight, mean, log_det, self.runs.clone()))
    }

    /// The numbers asked for: weighted means over the part's matrices, one vector.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let question = Question::from_dict(question)?;
        let answer = py.detach(|| {
            let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(step) = question.step else {
                return sets.all.answer(&question);
            };
            sets.answer_sample(step, &question, &self.runs)
        });
        Ok(answer.map_err(bad_input)?.into_pyarray(py))
    }

    fn __sizeof__(&self) -> usize {
        bytes(self.summary.len, self.summary.dimension())
    }

    /// Where it stands is not carried along: the next question says it.
    #[allow(clippy::type_complexity)] // a type and its arguments
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(
        Bound<'py, PyType>,
        (
            Vec<Bound<'py, Chunk>>,
            Option<Bound<'py, PyArray2<f64>>>,
            Option<usize>,
        ),
    )> {
        let (py, part) = (slf.py(), slf.get());
        let p = part.summary.dimension();
        let (data, mut weights) = py.detach(|| {
            let sets = part.sets.lock().unwrap_or_else(PoisonError::into_inner);
            sets.all.set.matrices()
        });
        weights.iter_mut().for_each(|w| *w *= part.weight);
        let (mut data, mut weights) = (&data[..], &weights[..]);
        let mut chunks = Vec::new();
        for &(first, len) in &part.runs {
            let (matrices, rest) = data.split_at(len * p * p);
            let (own, others) = weights.split_at(len);
            (data, weights) = (rest, others);
            let options = SetOptions::default()
                .weights(Some(own.to_vec()))
                .threads(part.threads);
            let chunk = working::Chunk::new(matrices, len, p, first, &options);
            chunks.push(Bound::new(py, Chunk(chunk.map_err(bad_input)?))?);
        }
        Ok((py.get_type::<Self>(), (chunks, None, part.threads)))
    }
}

/// Lower triangles in double precision.
fn bytes(n: usize, p: usize) -> usize {
    4 * n * p * (p + 1)
}

impl Sets {
    fn answer_sample(
        &mut self,
        step: usize,
        question: &Question,
        runs: &[(usize, usize)],
    ) -> Result<Vec<f64>, Error> {
        if self.sample.as_ref().is_none_or(|(own, _)| *own != step) {
            // Every step-th matrix of the whole set, not of this part of it.
            let numbers: Vec<usize> = runs
                .iter()
                .flat_map(|&(first, len)| first..first + len)
                .collect();
            let sample = self
                .all
                .set
                .sample_of(|i| numbers[i].is_multiple_of(step))
                .map(|(weight, set)| (weight, Standing::new(set)));
            self.sample = Some((step, sample));
        }
        // A part too small for the sample has nothing to say, and is not listened to.
        let Some((_, Some((weight, sample)))) = &mut self.sample else {
            return Ok(Vec::new());
        };
        if question.kind == Kind::Sample {
            let summary = sample.set.summary();
            let mut answer = vec![*weight, summary.len as f64];
            answer.extend(summary.mean.as_slice());
            return Ok(answer);
        }
        sample.answer(question)
    }
}

/// A set and where it stands.
struct Standing {
    set: working::Part,
    metric: Option<Matrix>,
    b: Option<Matrix>,
    e: Option<Matrix>,
}

impl Standing {
    fn new(set: working::Part) -> Self {
        Self {
            set,
            metric: None,
            b: None,
            e: None,
        }
    }

    /// Brings the set to where the question finds it, if it is not there.
    fn bring(&mut self, question: &Question) -> Result<(), Error> {
        if question.metric.is_some() && self.metric != question.metric {
            self.set.balance(required(question.metric.as_ref())?)?;
            self.metric.clone_from(&question.metric);
        }
        if question.b.is_some() && self.b != question.b {
            self.reset(required(question.b.as_ref())?)?;
        }
        let probed = matches!(question.kind, Kind::Slope | Kind::Advance);
        if probed && self.e != question.e {
            self.set.probe(required(question.e.as_ref())?)?;
            self.e.clone_from(&question.e);
        }
        Ok(())
    }

    fn reset(&mut self, b: &Matrix) -> Result<f64, Error> {
        // Should the reset fail, the set stands nowhere.
        (self.b, self.e) = (None, None);
        let log_powers = self.set.reset(b)?;
        self.b = Some(b.clone());
        Ok(log_powers)
    }

    fn answer(&mut self, question: &Question) -> Result<Vec<f64>, Error> {
        let numbers = || required(question.numbers.as_ref());
        let alpha = || required(question.alpha);
        match question.kind {
            Kind::Sample => return Err(wrong("a sample without a step")),
            Kind::Balance => {
                let metric = required(question.metric.as_ref())?;
                let mean = self.set.balance(metric)?;
                self.metric = Some(metric.clone());
                return Ok(mean.into_vec());
            }
            Kind::Reset => {
                let log_powers = self.reset(required(question.b.as_ref())?)?;
                let mut answer = flat(self.set.statistics()?);
                answer.push(log_powers);
                return Ok(answer);
            }
            // Asked again by someone who did not hear the answer.
            Kind::Advance if self.b.is_some() && self.b == question.next => {
                return Ok(flat(self.set.statistics()?));
            }
            _ => self.bring(question)?,
        }
        let set = &mut self.set;
        Ok(match question.kind {
            Kind::Sample | Kind::Balance | Kind::Reset => unreachable!("answered above"),
            Kind::Correlate => set.correlate(numbers()?)?,
            Kind::Mean => set.mean()?.into_vec(),
            Kind::Statistics => flat(set.statistics()?),
            Kind::Hessian => {
                let mut hessian = Hessian::zeros(set.summary().dimension());
                set.hessian(&mut hessian)?;
                hessian.triangles()
            }
            Kind::Product => set
                .hessian_product(required(question.e.as_ref())?)?
                .into_vec(),
            Kind::Probe => {
                let e = required(question.e.as_ref())?;
                self.e = None;
                let probe = set.probe(e)?;
                self.e = Some(e.clone());
                let mut answer = probe.linear;
                answer.extend(probe.quadratic);
                // Every search begins with these two.
                answer.extend(numbers_of(set.slope(0.0)?));
                answer.extend(numbers_of(set.slope(1.0)?));
                answer
            }
            Kind::Slope => numbers_of(set.slope(alpha()?)?).to_vec(),
            Kind::Advance => {
                (self.b, self.e) = (None, None);
                let statistics = set.advance(alpha()?, numbers()?)?;
                self.b.clone_from(&question.next);
                flat(statistics)
            }
            Kind::Ending => {
                let ending = set.ending(numbers()?)?;
                let mut answer = ending.variations;
                answer.push(ending.log_powers);
                answer
            }
            Kind::Tables => {
                let p = set.summary().dimension();
                let ending = set.ending(&vec![1.0; p])?;
                let tables = required(ending.tables)?;
                let mut answer = tables.powers;
                answer.extend(tables.log_dets);
                answer
            }
        })
    }
}

fn flat(statistics: Statistics) -> Vec<f64> {
    let mut numbers = statistics.gradient.into_vec();
    numbers.extend(statistics.gamma.as_slice());
    numbers
}

fn numbers_of(slope: Slope) -> [f64; 3] {
    [slope.log_powers, slope.first, slope.second]
}

fn required<T>(value: Option<T>) -> Result<T, Error> {
    value.ok_or_else(|| wrong("a question that lacks what it needs"))
}

fn wrong(what: &str) -> Error {
    Error::Source(what.to_owned())
}
