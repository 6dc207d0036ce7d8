//! The whole set, for a solver: it sends its requests to the parts.

mod sample;

use super::message::Message;
use super::received::{Answer, described};
use crate::Error;
use crate::backend::{Backend, Capabilities, Request, Summary, Sums, Tables};
use crate::data::Reduction;
use crate::linalg::{Scalar, c64, reals_mut};

/// Up to this many numbers the powers of all matrices are sent to the client: 200 MB.
const MAX_POWERS: usize = 25_000_000;

/// Puts questions to the parts of a set, wherever they are. Any closure that does so will do.
///
/// ```
/// use codiag::Error;
/// use codiag::cluster::{SendRequests, Worker};
///
/// /// Parts that are all in this process, but would be behind sockets elsewhere.
/// struct Here(Vec<Worker>);
///
/// impl SendRequests for Here {
///     fn ask(&self, question: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
///         self.0.iter().map(|part| part.answer(question)).collect()
///     }
/// }
/// assert_eq!(Here(Vec::new()).ask(b"is anybody there?"), Ok(Vec::new()));
/// ```
pub trait SendRequests {
    /// The answers of all parts ([`Worker::answer`](super::Worker::answer)) to one question, in the
    /// order of the parts.
    ///
    /// # Errors
    /// If a part cannot be reached: [`Error::external`].
    fn ask(&self, question: &[u8]) -> Result<Vec<Vec<u8>>, Error>;
}

impl<F: Fn(&[u8]) -> Result<Vec<Vec<u8>>, Error>> SendRequests for F {
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
/// use codiag::cluster::{ClusterSet, Worker};
/// use codiag::backend::Chunk;
/// use codiag::{Matrix, Record, SetOptions, Settings, diagonalize_with_backend, synthetic};
/// use std::ops::ControlFlow;
///
/// // Two parts, here in one process.
/// let made = synthetic::Synthetic::new(60, 4, 0.1, 0);
/// let part = |first: usize, n: usize| {
///     let data = &made.data[first * 16..(first + n) * 16];
///     let chunk = Chunk::new(data, n, 4, first, &SetOptions::default())?;
///     Worker::of_chunks(vec![chunk], None, Some(1))
/// };
/// let parts = [part(0, 25)?, part(25, 35)?];
///
/// let ask = |question: &[u8]| parts.iter().map(|part| part.answer(question)).collect();
/// let described: Vec<Vec<u8>> = parts.iter().map(Worker::describe).collect();
/// let mut set = ClusterSet::new(&ask, &described, None)?;
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let answer = diagonalize_with_backend(&mut set, &Settings::default(), &mut observer)?;
/// assert!(answer.status.is_converged());
/// assert_eq!(answer.powers.rows(), 60);
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct ClusterSet<'a, A: SendRequests + ?Sized, T = f64> {
    ask: &'a A,
    summary: Summary<T>,
    shares: Vec<f64>,
    /// For each part the first numbers and lengths of its runs of matrices.
    runs: Vec<Vec<(usize, usize)>>,
    /// For a sample: it has the matrices whose numbers are multiples of this.
    step: Option<usize>,
    n_jobs: Option<usize>,
}

impl<'a, A: SendRequests + ?Sized> ClusterSet<'a, A> {
    /// The set of the parts that [`Worker::describe`](super::Worker::describe) themselves, in the order
    /// in which `ask` brings their answers. `reduction` is that of the whole set, the filters of
    /// which the parts were made with, if it was reduced.
    ///
    /// # Errors
    /// [`Error::InvalidResponse`] if a description is damaged or none of this version's, or if the parts do not
    /// belong together; [`Error::WeightsZero`] if no part has any weight.
    pub fn new(
        ask: &'a A,
        parts: &[impl AsRef<[u8]>],
        reduction: Option<Reduction>,
    ) -> Result<Self, Error> {
        Self::of_described(ask, parts, reduction)
    }
}

impl<'a, A: SendRequests + ?Sized> ClusterSet<'a, A, c64> {
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

impl<'a, A: SendRequests + ?Sized, T: Scalar> ClusterSet<'a, A, T> {
    pub(super) fn of_described(
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
            return Err(Error::InvalidResponse {
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
            return Err(Error::InvalidResponse {
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
            n_jobs: None,
        })
    }

    /// The same set; at most that many threads work here, on a sample that improves the start, instead of
    /// as many as pay.
    #[must_use]
    pub fn with_n_jobs(mut self, n_jobs: impl Into<Option<usize>>) -> Self {
        self.n_jobs = n_jobs.into();
        self
    }

    /// The answers of all parts, each of which knows how many numbers it should have.
    fn answers(&self, message: &Message<T>, step: Option<usize>) -> Result<Vec<Answer>, Error> {
        let dimension = self.summary.dimension();
        let answers = self.ask.ask(&message.to_bytes(dimension, step))?;
        if answers.len() != self.shares.len() {
            return Err(Error::InvalidResponse {
                expected: self.shares.len(),
                actual: answers.len(),
            });
        }
        let kind = message.kind();
        let answers = answers.into_iter().map(|bytes| Answer { kind, bytes });
        Ok(answers.collect())
    }

    /// How many real numbers a matrix has.
    fn square(&self) -> usize {
        T::PLANES * self.summary.dimension().pow(2)
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

impl<A: SendRequests + ?Sized, T: Scalar> Backend<T> for ClusterSet<'_, A, T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            prefers_joint_requests: true,
            ..Capabilities::default()
        }
    }

    /// The sums of the parts, each multiplied by its fraction of the weight, added in the order of the
    /// parts: the same bits, whichever part answers first.
    fn evaluate(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error> {
        let (n, p) = (self.summary.len, self.summary.dimension());
        let affordable = n.saturating_mul(p) <= MAX_POWERS && self.step.is_none();
        let wanted = match request {
            Request::Components { tables, .. } => *tables && affordable,
            _ => false,
        };
        let message = match request {
            Request::Components { b, mean_powers, .. } => Request::Components {
                b: b.clone(),
                mean_powers: mean_powers.clone(),
                tables: wanted,
            },
            request => request.clone(),
        };
        sums.begin(request, p);
        let with_hessian = request.counts(p).2;
        let hessian = if with_hessian {
            sums.hessian.double().len()
        } else {
            0
        };
        let moments = &sums.moments;
        let lengths = [
            sums.numbers.len(),
            T::PLANES * moments.gradient.as_slice().len(),
            moments.gamma.as_slice().len(),
            hessian,
        ];
        let count = lengths.iter().sum::<usize>();
        let mut tables = Vec::new();
        let answers = self.answers(&Message::Request(message), self.step)?;
        for (k, (answer, share)) in answers.iter().zip(&self.shares).enumerate() {
            // A part without a matrix of the sample sends no numbers.
            if *share == 0.0 && !wanted {
                continue;
            }
            let table = if wanted {
                matrices_of(&self.runs[k]) * (p + 1)
            } else {
                0
            };
            let mut numbers = answer.numbers(count + table)?;
            tables.push(numbers.split_off(count));
            if *share == 0.0 {
                continue;
            }
            let [own, gradient, gamma, rows] = split(&numbers, lengths);
            let mut places: Vec<(&mut [f64], &[f64])> = vec![
                (&mut sums.numbers, &own),
                (reals_mut(sums.moments.gradient.as_mut_slice()), &gradient),
                (sums.moments.gamma.as_mut_slice(), &gamma),
            ];
            if with_hessian {
                places.push((sums.hessian.double_mut(), &rows));
            }
            for (total, part) in places {
                let pairs = total.iter_mut().zip(part);
                pairs.for_each(|(sum, x)| *sum += share * x);
            }
        }
        sums.tables = wanted.then(|| self.tables(&tables));
        Ok(())
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn Backend<T> + '_>>, Error> {
        self.sampled_by(step)
    }
}
