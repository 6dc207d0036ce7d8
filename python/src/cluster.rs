//! A set whose parts are elsewhere, and a solve of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use codiag::working::{
    Ending, Probe, Slope, Statistics, Summary, Tables, WorkingSet, advanced, diagonalize_working,
};
use codiag::{Error, Hessian, Matrix, Reduction};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{bad_input, in_place, matrix_from, matrix_to};
use crate::observer::Watch;
use crate::options::Options;
use crate::question::{Kind, Question};
use crate::{finished, options};

/// The numbers up to which the powers of all matrices are brought here: 200 MB.
const TABLES: usize = 25_000_000;

/// What `Part.describe` says: weight, mean, mean of log det, runs of matrices.
type Described<'py> = (f64, PyReadonlyArray2<'py, f64>, f64, Vec<(usize, usize)>);

/// Solves for a set in parts. `ask` puts a question to all parts and returns their answers in order;
/// `mean` is that of the whole set before its reduction, if it was reduced.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
pub fn solve_parts<'py>(
    py: Python<'py>,
    ask: Py<PyAny>,
    parts: Vec<Described<'py>>,
    mean: Option<PyReadonlyArray2<'py, f64>>,
    options: &Bound<'py, PyDict>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = Options::from_dict(options)?;
    let reduction = match mean {
        Some(mean) => {
            let reduced = Reduction::of_mean(&matrix_from(&mean)?, options.rank);
            Some(reduced.map_err(bad_input)?)
        }
        None => None,
    };
    let total: f64 = parts.iter().map(|(weight, ..)| weight).sum();
    if total <= 0.0 {
        return Err(bad_input(Error::WeightsZero));
    }
    let (mut summaries, mut runs) = (Vec::new(), Vec::new());
    for (weight, mean, mean_log_det, own) in parts {
        let summary = Summary {
            len: own.iter().map(|(_, len)| len).sum(),
            mean: matrix_from(&mean)?,
            mean_log_det,
            reduction: None,
        };
        summaries.push((weight / total, summary));
        runs.push(own);
    }
    let mut watch = Watch::new(callback, &options);
    let mut cluster = Cluster {
        speaker: Arc::new(Speaker {
            ask,
            raised: Mutex::new(None),
        }),
        shares: summaries.iter().map(|(share, _)| *share).collect(),
        summary: Summary::of_parts(&summaries, reduction),
        runs,
        step: None,
        here: Here::default(),
    };
    if let Some(reduction) = &cluster.summary.reduction {
        watch.reduced_by(reduction);
    }
    let clock = Instant::now();
    let solved = py.detach(|| {
        let answer = diagonalize_working(&mut cluster, &options.settings, &mut watch)?;
        Ok((answer, cluster.summary.mean_log_det))
    });
    let mut raised = cluster
        .speaker
        .raised
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(raised) = raised.take() {
        return Err(raised);
    }
    drop(raised);
    finished(py, watch, solved, clock.elapsed())
}

/// The filters to which a set with this mean is reduced.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn reducing_filters<'py>(
    mean: PyReadonlyArray2<'py, f64>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rank = options::rank(options)?;
    let reduction = Reduction::of_mean(&matrix_from(&mean)?, rank).map_err(bad_input)?;
    matrix_to(options.py(), reduction.filters().clone())
}

/// Puts questions through Python.
struct Speaker {
    ask: Py<PyAny>,
    /// What was raised instead of an answer.
    raised: Mutex<Option<PyErr>>,
}

impl Speaker {
    fn answers(&self, question: &Question) -> Result<Vec<Vec<f64>>, Error> {
        let asked = Python::attach(|py| -> PyResult<Vec<Vec<f64>>> {
            let answers = self.ask.call1(py, (question.to_dict(py)?,))?;
            let answers: Vec<PyReadonlyArray1<'_, f64>> = answers.extract(py)?;
            let numbers = answers
                .iter()
                .map(|a| Ok(in_place(a)?.as_slice()?.to_vec()));
            numbers.collect()
        });
        asked.map_err(|raised| {
            let source = Error::Source(raised.to_string());
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
            source
        })
    }
}

/// Where the parts have been asked to stand, and what they have said there unasked.
#[derive(Default)]
struct Here {
    metric: Option<Matrix>,
    b: Option<Matrix>,
    e: Option<Matrix>,
    statistics: Option<Statistics>,
    /// At α = 0 and 1.
    slopes: Option<[Slope; 2]>,
}

/// The parts together.
struct Cluster {
    speaker: Arc<Speaker>,
    summary: Summary,
    shares: Vec<f64>,
    runs: Vec<Vec<(usize, usize)>>,
    /// For a sample: it has the matrices whose numbers are multiples of this.
    step: Option<usize>,
    here: Here,
}

impl Cluster {
    fn question(&self, kind: Kind) -> Question {
        Question {
            step: self.step,
            ..Question::new(kind)
        }
    }

    /// A question about the point where the parts stand.
    fn question_here(&self, kind: Kind) -> Question {
        Question {
            b: self.here.b.clone(),
            ..self.question(kind)
        }
    }

    /// The parts' answers, weighed by their shares and added in their order: the same bits whoever
    /// answers first.
    fn ask(&self, question: &Question) -> Result<Numbers, Error> {
        let answers = self.speaker.answers(question)?;
        let mut total: Vec<f64> = Vec::new();
        for (answer, share) in answers.iter().zip(&self.shares) {
            if *share == 0.0 {
                continue;
            }
            total.resize(answer.len().max(total.len()), 0.0);
            for (sum, x) in total.iter_mut().zip(answer) {
                *sum += share * x;
            }
        }
        Ok(Numbers(total))
    }

    fn ask_statistics(&mut self, question: &Question) -> Result<Statistics, Error> {
        let p = self.summary.dimension();
        let answer = self.ask(question)?;
        let [gradient, gamma] = answer.split([p * p, p * p])?;
        Ok(Statistics {
            gradient: Matrix::from_rows(p, p, gradient),
            gamma: Matrix::from_rows(p, p, gamma),
        })
    }

    fn ask_matrix(&self, question: &Question) -> Result<Matrix, Error> {
        let p = self.summary.dimension();
        let [numbers] = self.ask(question)?.split([p * p])?;
        Ok(Matrix::from_rows(p, p, numbers))
    }

    /// The powers of all matrices, in the order of the set.
    fn tables(&self) -> Result<Option<Tables>, Error> {
        let (n, p) = (self.summary.len, self.summary.dimension());
        if n * p > TABLES {
            return Ok(None);
        }
        let answers = self.speaker.answers(&self.question_here(Kind::Tables))?;
        let (mut powers, mut log_dets) = (vec![0.0; n * p], vec![0.0; n]);
        for (answer, runs) in answers.into_iter().zip(&self.runs) {
            let len: usize = runs.iter().map(|(_, len)| len).sum();
            let [own_powers, own_log_dets] = Numbers(answer).split([len * p, len])?;
            let mut at = 0;
            for &(first, len) in runs {
                powers[first * p..(first + len) * p]
                    .copy_from_slice(&own_powers[at * p..(at + len) * p]);
                log_dets[first..first + len].copy_from_slice(&own_log_dets[at..at + len]);
                at += len;
            }
        }
        Ok(Some(Tables { powers, log_dets }))
    }
}

/// An answer, to be taken apart.
struct Numbers(Vec<f64>);

impl Numbers {
    /// Consecutive pieces of these lengths, which make up the whole.
    fn split<const N: usize>(self, lengths: [usize; N]) -> Result<[Vec<f64>; N], Error> {
        if self.0.len() != lengths.iter().sum::<usize>() {
            let got = self.0.len();
            return Err(Error::Source(format!(
                "an answer of {got} numbers instead of {lengths:?}: do all workers run the same \
                 version of codiag?"
            )));
        }
        let mut rest = &self.0[..];
        Ok(lengths.map(|length| {
            let (piece, others) = rest.split_at(length);
            rest = others;
            piece.to_vec()
        }))
    }
}

fn slope_of(numbers: &[f64]) -> Slope {
    Slope {
        log_powers: numbers[0],
        first: numbers[1],
        second: numbers[2],
    }
}

impl WorkingSet for Cluster {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn sample(&mut self, step: usize) -> Result<Option<Self>, Error> {
        let p = self.summary.dimension();
        let question = Question {
            step: Some(step),
            ..Question::new(Kind::Sample)
        };
        let mut parts = Vec::new();
        for (answer, share) in self
            .speaker
            .answers(&question)?
            .into_iter()
            .zip(&self.shares)
        {
            // Empty from a part that has no matrix of the sample.
            if answer.is_empty() {
                parts.push((0.0, 0, Matrix::zeros(p, p)));
                continue;
            }
            let [weight, len, mean] = Numbers(answer).split([1, 1, p * p])?;
            let mean = Matrix::from_rows(p, p, mean);
            parts.push((share * weight[0], len[0] as usize, mean));
        }
        let total: f64 = parts.iter().map(|(weight, ..)| weight).sum();
        if total <= 0.0 {
            return Ok(None);
        }
        let parts = parts.into_iter().map(|(weight, len, mean)| {
            let summary = Summary {
                len,
                mean,
                mean_log_det: 0.0,
                reduction: None,
            };
            (weight / total, summary)
        });
        let parts: Vec<(f64, Summary)> = parts.collect();
        Ok(Some(Self {
            speaker: Arc::clone(&self.speaker),
            shares: parts.iter().map(|(share, _)| *share).collect(),
            summary: Summary::of_parts(&parts, None),
            runs: Vec::new(),
            step: Some(step),
            here: Here::default(),
        }))
    }

    fn balance(&mut self, metric: &Matrix) -> Result<Matrix, Error> {
        self.here.metric = Some(metric.clone());
        self.ask_matrix(&Question {
            metric: self.here.metric.clone(),
            ..self.question(Kind::Balance)
        })
    }

    fn correlate(&mut self, eight: &[f64]) -> Result<Vec<f64>, Error> {
        let question = Question {
            metric: self.here.metric.clone(),
            numbers: Some(eight.to_vec()),
            ..self.question(Kind::Correlate)
        };
        let [sums] = self.ask(&question)?.split([eight.len()])?;
        Ok(sums)
    }

    fn reset(&mut self, b: &Matrix) -> Result<f64, Error> {
        let p = self.summary.dimension();
        self.here.b = Some(b.clone());
        (self.here.e, self.here.slopes) = (None, None);
        let answer = self.ask(&self.question_here(Kind::Reset))?;
        let [gradient, gamma, log_powers] = answer.split([p * p, p * p, 1])?;
        self.here.statistics = Some(Statistics {
            gradient: Matrix::from_rows(p, p, gradient),
            gamma: Matrix::from_rows(p, p, gamma),
        });
        Ok(log_powers[0])
    }

    fn mean(&mut self) -> Result<Matrix, Error> {
        self.ask_matrix(&self.question_here(Kind::Mean))
    }

    fn statistics(&mut self) -> Result<Statistics, Error> {
        if let Some(statistics) = &self.here.statistics {
            return Ok(statistics.clone());
        }
        self.ask_statistics(&self.question_here(Kind::Statistics))
    }

    fn hessian(&mut self, hessian: &mut Hessian) -> Result<(), Error> {
        let p = self.summary.dimension();
        let answer = self.ask(&self.question_here(Kind::Hessian))?;
        let [triangles] = answer.split([p * p * (p + 1) / 2])?;
        hessian.set_triangles(&triangles);
        Ok(())
    }

    fn hessian_product(&mut self, e: &Matrix) -> Result<Matrix, Error> {
        self.ask_matrix(&Question {
            e: Some(e.clone()),
            ..self.question_here(Kind::Product)
        })
    }

    fn probe(&mut self, e: &Matrix) -> Result<Probe, Error> {
        let p = self.summary.dimension();
        self.here.e = Some(e.clone());
        let question = Question {
            e: self.here.e.clone(),
            ..self.question_here(Kind::Probe)
        };
        let [linear, quadratic, start, full] = self.ask(&question)?.split([p, p, 3, 3])?;
        self.here.slopes = Some([slope_of(&start), slope_of(&full)]);
        Ok(Probe { linear, quadratic })
    }

    fn slope(&mut self, alpha: f64) -> Result<Slope, Error> {
        if let Some([start, full]) = self.here.slopes {
            // Exactly these two were asked for along with the probe.
            if alpha == 0.0 {
                return Ok(start);
            }
            if alpha == 1.0 {
                return Ok(full);
            }
        }
        let question = Question {
            e: self.here.e.clone(),
            alpha: Some(alpha),
            ..self.question_here(Kind::Slope)
        };
        let [slope] = self.ask(&question)?.split([3])?;
        Ok(slope_of(&slope))
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics, Error> {
        let (Some(b), Some(e)) = (&self.here.b, &self.here.e) else {
            return Err(Error::Source("advance before probe".to_owned()));
        };
        let next = advanced(b, e, alpha, scale);
        let question = Question {
            e: self.here.e.clone(),
            next: Some(next.clone()),
            alpha: Some(alpha),
            numbers: Some(scale.to_vec()),
            ..self.question_here(Kind::Advance)
        };
        let statistics = self.ask_statistics(&question)?;
        self.here = Here {
            metric: self.here.metric.take(),
            b: Some(next),
            statistics: Some(statistics.clone()),
            ..Here::default()
        };
        Ok(statistics)
    }

    fn ending(&mut self, mean_powers: &[f64]) -> Result<Ending, Error> {
        let question = Question {
            numbers: Some(mean_powers.to_vec()),
            ..self.question_here(Kind::Ending)
        };
        let answer = self.ask(&question)?;
        let [variations, log_powers] = answer.split([self.summary.dimension(), 1])?;
        Ok(Ending {
            log_powers: log_powers[0],
            variations,
            tables: self.tables()?,
        })
    }
}
