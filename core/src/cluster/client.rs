//! The whole set, for a solver: it puts its questions to the parts.

use super::question::Question;
use super::received::{Answer, described};
use super::wire;
use crate::Error;
use crate::linalg::{Matrix, Scalar, c64};
use crate::matrices::{
    FinalSums, LinePoint, Probe, Reduction, Summary, Tables, WorkingSet, packed_len,
};
use crate::statistics::{Hessian, Statistics};
use crate::update::advanced;

/// The numbers up to which the powers of all matrices are brought here: 200 MB.
const MOST_POWERS: usize = 25_000_000;

/// Puts questions to the parts of a set, wherever they are. Any closure that does so will do.
///
/// ```
/// use codiag::Error;
/// use codiag::cluster::{Ask, Part};
///
/// /// Parts that are all in this process, but would be behind sockets elsewhere.
/// struct Here(Vec<Part>);
///
/// impl Ask for Here {
///     fn ask(&self, question: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
///         self.0.iter().map(|part| part.answer(question)).collect()
///     }
/// }
/// assert_eq!(Here(Vec::new()).ask(b"is anybody there?"), Ok(Vec::new()));
/// ```
pub trait Ask {
    /// The answers of all parts ([`Part::answer`](super::Part::answer)) to one question, in the
    /// order of the parts.
    ///
    /// # Errors
    /// If a part cannot be reached: [`Error::external`].
    fn ask(&self, question: &[u8]) -> Result<Vec<Vec<u8>>, Error>;
}

impl<F: Fn(&[u8]) -> Result<Vec<Vec<u8>>, Error>> Ask for F {
    fn ask(&self, question: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self(question)
    }
}

/// A set whose parts are elsewhere: of real matrices, or of complex ones.
///
/// Tables of powers and residuals are left out of the answer for sets of more than 25 million
/// powers.
///
/// ```
/// use codiag::cluster::{ClusterSet, Part};
/// use codiag::working::{Chunk, diagonalize_working};
/// use codiag::{Matrix, Record, SetOptions, Settings, synthetic};
/// use std::ops::ControlFlow;
///
/// // Two parts, here in one process.
/// let made = synthetic::Synthetic::new(60, 4, 0.1, 0);
/// let part = |first: usize, n: usize| {
///     let data = &made.data[first * 16..(first + n) * 16];
///     let chunk = Chunk::new(data, n, 4, first, &SetOptions::default())?;
///     Part::of_chunks(vec![chunk], None, Some(1))
/// };
/// let parts = [part(0, 25)?, part(25, 35)?];
///
/// let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
/// let described: Vec<Vec<u8>> = parts.iter().map(Part::describe).collect();
/// let mut set = ClusterSet::new(&ask, &described, None)?;
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let answer = diagonalize_working(&mut set, &Settings::default(), &mut observer)?;
/// assert!(answer.status.converged());
/// assert_eq!(answer.powers.rows(), 60);
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct ClusterSet<'a, A: Ask + ?Sized, T = f64> {
    ask: &'a A,
    summary: Summary<T>,
    shares: Vec<f64>,
    /// For each part the first numbers and lengths of its runs of matrices.
    runs: Vec<Vec<(usize, usize)>>,
    /// For a sample: it has the matrices whose numbers are multiples of this.
    step: Option<usize>,
    here: Here<T>,
}

/// Where the parts have been asked to stand, and what they have said there unasked.
struct Here<T> {
    metric: Option<Matrix<T>>,
    b: Option<Matrix<T>>,
    e: Option<Matrix<T>>,
    statistics: Option<Statistics<T>>,
    /// At α = 0 and 1.
    points: Option<[LinePoint; 2]>,
}

impl<T> Default for Here<T> {
    fn default() -> Self {
        Self {
            metric: None,
            b: None,
            e: None,
            statistics: None,
            points: None,
        }
    }
}

impl<'a, A: Ask + ?Sized> ClusterSet<'a, A> {
    /// The set of the parts that [`Part::describe`](super::Part::describe) themselves, in the order
    /// in which `ask` brings their answers. `reduction` is that of the whole set, the filters of
    /// which the parts were made with, if it was reduced.
    ///
    /// # Errors
    /// [`Error::Answer`] if a description is damaged or none of this version's, or if the parts do not
    /// belong together; [`Error::WeightsZero`] if no part has any weight.
    pub fn new(
        ask: &'a A,
        parts: &[impl AsRef<[u8]>],
        reduction: Option<Reduction>,
    ) -> Result<Self, Error> {
        Self::of_described(ask, parts, reduction)
    }
}

impl<'a, A: Ask + ?Sized> ClusterSet<'a, A, c64> {
    /// As [`ClusterSet::new`], for parts of complex matrices, which are Hermitian.
    ///
    /// # Errors
    /// As [`ClusterSet::new`].
    pub fn complex(
        ask: &'a A,
        parts: &[impl AsRef<[u8]>],
        reduction: Option<Reduction<c64>>,
    ) -> Result<Self, Error> {
        Self::of_described(ask, parts, reduction)
    }
}

impl<'a, A: Ask + ?Sized, T: Scalar> ClusterSet<'a, A, T> {
    fn of_described(
        ask: &'a A,
        parts: &[impl AsRef<[u8]>],
        reduction: Option<Reduction<T>>,
    ) -> Result<Self, Error> {
        let read: Result<Vec<_>, _> = parts
            .iter()
            .map(|part| described::<T>(part.as_ref()))
            .collect();
        let mut parts = read?;
        let total: f64 = parts.iter().map(|part| part.weight).sum();
        if parts.is_empty() || total.is_nan() || total <= 0.0 {
            return Err(Error::WeightsZero);
        }
        let first = &parts[0].summary;
        let (p, criterion) = (first.dimension(), first.criterion);
        if let Some(other) = parts
            .iter()
            .find(|part| part.summary.dimension() != p || part.summary.criterion != criterion)
        {
            return Err(Error::Answer {
                expected: p * p,
                actual: other.summary.mean.as_slice().len(),
            });
        }
        let runs: Vec<Vec<(usize, usize)>> = parts
            .iter_mut()
            .map(|part| std::mem::take(&mut part.runs))
            .collect();
        let n: usize = parts.iter().map(|part| part.summary.len).sum();
        let ends = runs.iter().flatten().map(|(first, len)| first + len);
        if let Some(end) = ends.max().filter(|end| *end > n) {
            return Err(Error::Answer {
                expected: end,
                actual: n,
            });
        }
        let weighed = parts
            .into_iter()
            .map(|part| (part.weight / total, part.summary));
        let weighed: Vec<(f64, Summary<T>)> = weighed.collect();
        Ok(Self {
            ask,
            shares: weighed.iter().map(|(share, _)| *share).collect(),
            summary: Summary::of_parts(&weighed, reduction),
            runs,
            step: None,
            here: Here::default(),
        })
    }

    /// The answers of all parts, each of which knows how many numbers it should have.
    fn answers(&self, question: &Question<T>, step: Option<usize>) -> Result<Vec<Answer>, Error> {
        let dimension = self.summary.dimension();
        let answers = self.ask.ask(&question.to_bytes(dimension, step))?;
        if answers.len() != self.shares.len() {
            return Err(Error::Answer {
                expected: self.shares.len(),
                actual: answers.len(),
            });
        }
        let kind = question.kind();
        let answers = answers.into_iter().map(|bytes| Answer { kind, bytes });
        Ok(answers.collect())
    }

    /// The parts' answers in fields of these lengths, weighed by the parts' shares and added in their
    /// order: the same bits whoever answers first.
    fn sums<const N: usize>(
        &self,
        question: &Question<T>,
        lengths: [usize; N],
    ) -> Result<[Vec<f64>; N], Error> {
        let mut total = vec![0.0; lengths.iter().sum()];
        let answers = self.answers(question, self.step)?;
        for (answer, share) in answers.iter().zip(&self.shares) {
            if *share == 0.0 {
                continue;
            }
            let numbers = answer.numbers(total.len())?;
            for (sum, x) in total.iter_mut().zip(numbers) {
                *sum += share * x;
            }
        }
        Ok(split(&total, lengths))
    }

    fn matrix(&self, question: &Question<T>) -> Result<Matrix<T>, Error> {
        let [numbers] = self.sums(question, [self.square()])?;
        Ok(wire::matrix(self.summary.dimension(), &numbers))
    }

    /// How many real numbers a matrix has.
    fn square(&self) -> usize {
        T::PLANES * self.summary.dimension().pow(2)
    }

    /// The lengths of a gradient and of Γ, which is real.
    fn lengths(&self) -> [usize; 2] {
        [self.square(), self.summary.dimension().pow(2)]
    }

    fn statistics_of(&self, gradient: &[f64], gamma: Vec<f64>) -> Statistics<T> {
        let p = self.summary.dimension();
        Statistics {
            gradient: wire::matrix(p, gradient),
            gamma: Matrix::from_rows(p, p, gamma),
        }
    }

    /// The B at which the parts stand, and the direction probed there.
    fn b(&self) -> Result<Matrix<T>, Error> {
        self.here.b.clone().ok_or(Error::Question)
    }

    fn e(&self) -> Result<Matrix<T>, Error> {
        self.here.e.clone().ok_or(Error::Question)
    }

    /// The powers of all matrices, in the order of the set.
    fn tables(&self) -> Result<Option<Tables>, Error> {
        let (n, p) = (self.summary.len, self.summary.dimension());
        if n.saturating_mul(p) > MOST_POWERS || self.step.is_some() {
            return Ok(None);
        }
        let answers = self.answers(&Question::Tables { b: self.b()? }, self.step)?;
        let (mut powers, mut constants) = (vec![0.0; n * p], vec![0.0; n]);
        for (answer, runs) in answers.iter().zip(&self.runs) {
            let len: usize = runs.iter().map(|(_, len)| len).sum();
            let numbers = answer.numbers(len * (p + 1))?;
            let (own_powers, own_constants) = numbers.split_at(len * p);
            let mut at = 0;
            for &(first, len) in runs {
                powers[first * p..(first + len) * p]
                    .copy_from_slice(&own_powers[at * p..(at + len) * p]);
                constants[first..first + len].copy_from_slice(&own_constants[at..at + len]);
                at += len;
            }
        }
        Ok(Some(Tables { powers, constants }))
    }
}

/// Consecutive pieces of these lengths, which make up the whole.
fn split<const N: usize>(numbers: &[f64], lengths: [usize; N]) -> [Vec<f64>; N] {
    let mut rest = numbers;
    lengths.map(|length| {
        let (piece, others) = rest.split_at(length);
        rest = others;
        piece.to_vec()
    })
}

fn point_of(numbers: &[f64]) -> LinePoint {
    LinePoint {
        sum: numbers[0],
        first: numbers[1],
        second: numbers[2],
    }
}

impl<A: Ask + ?Sized, T: Scalar> WorkingSet<T> for ClusterSet<'_, A, T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn WorkingSet<T> + '_>>, Error> {
        let p = self.summary.dimension();
        let mut parts = Vec::new();
        let answers = self.answers(&Question::Sample, Some(step))?;
        for (answer, share) in answers.iter().zip(&self.shares) {
            let (weight, len, mean) = if answer.is_empty() {
                (0.0, 0, Matrix::zeros(p, p))
            } else {
                let numbers = answer.numbers(2 + self.square())?;
                let [figures, mean] = split(&numbers, [2, self.square()]);
                let mean = wire::matrix(p, &mean);
                (share * figures[0], figures[1] as usize, mean)
            };
            let summary = Summary {
                criterion: self.summary.criterion,
                len,
                mean,
                constant: 0.0,
                reduction: None,
            };
            parts.push((weight, summary));
        }
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        if total <= 0.0 {
            return Ok(None);
        }
        parts.iter_mut().for_each(|(weight, _)| *weight /= total);
        Ok(Some(Box::new(Self {
            ask: self.ask,
            shares: parts.iter().map(|(share, _)| *share).collect(),
            summary: Summary::of_parts(&parts, None),
            runs: Vec::new(),
            step: Some(step),
            here: Here::default(),
        })))
    }

    fn balance(&mut self, metric: &Matrix<T>) -> Result<Matrix<T>, Error> {
        self.here.metric = Some(metric.clone());
        let metric = metric.clone();
        self.matrix(&Question::Balance { metric })
    }

    fn correlate(&mut self, eight: &[f64]) -> Result<Vec<f64>, Error> {
        let p = self.summary.dimension();
        let question = Question::Correlate {
            // Zero: the matrices are not balanced.
            metric: self
                .here
                .metric
                .clone()
                .unwrap_or_else(|| Matrix::zeros(p, p)),
            eight: eight.to_vec(),
        };
        let [sums] = self.sums(&question, [eight.len()])?;
        Ok(sums)
    }

    fn reset(&mut self, b: &Matrix<T>) -> Result<f64, Error> {
        self.here = Here {
            metric: self.here.metric.take(),
            b: Some(b.clone()),
            ..Here::default()
        };
        let question = Question::Reset { b: b.clone() };
        let [square, plane] = self.lengths();
        let [gradient, gamma, sum] = self.sums(&question, [square, plane, 1])?;
        self.here.statistics = Some(self.statistics_of(&gradient, gamma));
        Ok(sum[0])
    }

    fn mean(&mut self) -> Result<Matrix<T>, Error> {
        self.matrix(&Question::Mean { b: self.b()? })
    }

    fn statistics(&mut self) -> Result<Statistics<T>, Error> {
        if let Some(statistics) = &self.here.statistics {
            return Ok(statistics.clone());
        }
        let question = Question::Statistics { b: self.b()? };
        let [gradient, gamma] = self.sums(&question, self.lengths())?;
        Ok(self.statistics_of(&gradient, gamma))
    }

    fn hessian(&mut self, hessian: &mut Hessian<T>) -> Result<(), Error> {
        let p = self.summary.dimension();
        let question = Question::Hessian { b: self.b()? };
        let [triangles] = self.sums(&question, [p * packed_len::<f64>(T::PLANES * p)])?;
        hessian.set_triangles(&triangles);
        Ok(())
    }

    fn hessian_product(&mut self, e: &Matrix<T>) -> Result<Matrix<T>, Error> {
        self.matrix(&Question::Product {
            b: self.b()?,
            e: e.clone(),
        })
    }

    fn probe(&mut self, e: &Matrix<T>) -> Result<Probe, Error> {
        let p = self.summary.dimension();
        self.here.e = Some(e.clone());
        let question = Question::Probe {
            b: self.b()?,
            e: e.clone(),
        };
        let [linear, quadratic, start, full] = self.sums(&question, [p, p, 3, 3])?;
        self.here.points = Some([point_of(&start), point_of(&full)]);
        Ok(Probe { linear, quadratic })
    }

    fn line_point(&mut self, alpha: f64) -> Result<LinePoint, Error> {
        if let Some([start, full]) = self.here.points {
            // Exactly these two were asked for along with the probe.
            if alpha == 0.0 {
                return Ok(start);
            }
            if alpha == 1.0 {
                return Ok(full);
            }
        }
        let (b, e) = (self.b()?, self.e()?);
        let [point] = self.sums(&Question::LinePoint { b, e, alpha }, [3])?;
        Ok(point_of(&point))
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics<T>, Error> {
        let (b, e) = (self.b()?, self.e()?);
        let next = advanced(&b, &e, alpha, scale);
        let question = Question::Advance {
            b,
            e,
            next: next.clone(),
            alpha,
            scale: scale.to_vec(),
        };
        let [gradient, gamma] = self.sums(&question, self.lengths())?;
        let statistics = self.statistics_of(&gradient, gamma);
        self.here = Here {
            metric: self.here.metric.take(),
            b: Some(next),
            statistics: Some(statistics.clone()),
            ..Here::default()
        };
        Ok(statistics)
    }

    fn wedge_sums(&mut self) -> Result<Statistics<T>, Error> {
        let question = Question::Wedge { b: self.b()? };
        let [gradient, gamma] = self.sums(&question, self.lengths())?;
        Ok(self.statistics_of(&gradient, gamma))
    }

    fn final_sums(&mut self, mean_powers: &[f64]) -> Result<FinalSums, Error> {
        let question = Question::FinalSums {
            b: self.b()?,
            mean_powers: mean_powers.to_vec(),
        };
        let [variations, sum] = self.sums(&question, [self.summary.dimension(), 1])?;
        Ok(FinalSums {
            diagonal_sum: sum[0],
            variations,
            tables: self.tables()?,
        })
    }
}
