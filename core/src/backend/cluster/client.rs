//! The whole set, for a solver: it puts its questions to the parts.

mod answers;
mod sample;

use super::question::Question;
use super::received::{Answer, described};
use super::wire;
use crate::Error;
use crate::linalg::{Matrix, Scalar, c64};
use crate::matrices::{LinePoint, Reduction, Summary, Tables, packed_len};
use crate::statistics::Statistics;

/// The numbers up to which the powers of all matrices are brought here: 200 MB.
const MOST_POWERS: usize = 25_000_000;
/// Where ĝ is expected to be below this, no Hessian is asked for along with the statistics: it would be the
/// last, which nobody needs.
const NEARLY_DONE: f64 = 1e-7;

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
    threads: Option<usize>,
    /// Whether exact Hessians will be asked for.
    hessians: bool,
    here: Here<T>,
}

/// Where the parts have been asked to stand, and what they have said there unasked.
struct Here<T> {
    metric: Option<Matrix<T>>,
    b: Option<Matrix<T>>,
    e: Option<Matrix<T>>,
    statistics: Option<Statistics<T>>,
    /// ĝ at the point before.
    before: Option<f64>,
    /// The lower triangles of the exact Hessian's row blocks.
    hessian: Option<Vec<f64>>,
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
            before: None,
            hessian: None,
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
            threads: None,
            hessians: false,
            here: Here::default(),
        })
    }

    /// The same set; at most that many threads work here, on a sample that improves the start, instead of
    /// as many as pay.
    #[must_use]
    pub fn with_threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// How many numbers come along if a Hessian is wanted.
    fn hessian_len(&self, wanted: bool) -> usize {
        let p = self.summary.dimension();
        usize::from(wanted) * p * packed_len::<f64>(T::PLANES * p)
    }

    /// ĝ where the parts stand.
    fn gradient_norm(&self) -> Option<f64> {
        let root = (self.summary.dimension() as f64).sqrt();
        let statistics = self.here.statistics.as_ref()?;
        Some(statistics.gradient.norm() / root)
    }

    /// Whether the Hessian at the next point will be wanted: unless ĝ, shrinking quadratically as it did in
    /// the last step, will be next to nothing there.
    fn hessian_is_likely(&self) -> bool {
        let expected = self
            .gradient_norm()
            .zip(self.here.before)
            .map(|(here, before)| here * (here / before).powi(2));
        self.hessians && expected.is_none_or(|expected| expected > NEARLY_DONE)
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

    /// The powers of all matrices, in the order of the set, from what the parts said of each.
    fn tables(&self, said: &[Vec<f64>]) -> Tables {
        let (n, p) = (self.summary.len, self.summary.dimension());
        let (mut powers, mut constants) = (vec![0.0; n * p], vec![0.0; n]);
        for (numbers, runs) in said.iter().zip(&self.runs) {
            let (own_powers, own_constants) = numbers.split_at(matrices_of(runs) * p);
            let mut at = 0;
            for &(first, len) in runs {
                powers[first * p..(first + len) * p]
                    .copy_from_slice(&own_powers[at * p..(at + len) * p]);
                constants[first..first + len].copy_from_slice(&own_constants[at..at + len]);
                at += len;
            }
        }
        Tables { powers, constants }
    }
}

/// How many matrices there are in some runs of them.
fn matrices_of(runs: &[(usize, usize)]) -> usize {
    runs.iter().map(|(_, len)| len).sum()
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
