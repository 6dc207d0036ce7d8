//! Client of a cluster: the whole set as a backend that sends its requests to the workers.

mod sample;

use super::message::Message;
use super::received::{Response, read_description};
use crate::Error;
use crate::backend::{Backend, Capabilities, Request, Summary, Sums, Tables};
use crate::data::Reduction;
use crate::linalg::{Scalar, c64, reals_mut};

/// Maximum number of powers of all matrices that are sent to the client (200 MB).
const MAX_POWERS: usize = 25_000_000;

/// Sends requests to the workers of a cluster. Closures implement it.
///
/// ```
/// use codiag::Error;
/// use codiag::cluster::{SendRequests, Worker};
///
/// /// Workers in this process. In practice they are reached by sockets or a task scheduler.
/// struct Local(Vec<Worker>);
///
/// impl SendRequests for Local {
///     fn send(&self, request: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
///         self.0.iter().map(|worker| worker.respond(request)).collect()
///     }
/// }
/// assert_eq!(Local(Vec::new()).send(b"request"), Ok(Vec::new()));
/// ```
pub trait SendRequests {
    /// Sends a request to all workers. Returns their responses
    /// ([`Worker::respond`](super::Worker::respond)) in the order of the workers.
    ///
    /// # Errors
    /// [`Error::external`] if a worker is not reachable.
    fn send(&self, request: &[u8]) -> Result<Vec<Vec<u8>>, Error>;
}

impl<F: Fn(&[u8]) -> Result<Vec<Vec<u8>>, Error>> SendRequests for F {
    fn send(&self, request: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self(request)
    }
}

/// A set of real or complex matrices that are held by workers.
///
/// The tables of powers and residuals are left out of the result if the set has more than 25
/// million powers.
///
/// ```
/// use codiag::cluster::{ClusterSet, Worker};
/// use codiag::backend::Chunk;
/// use codiag::{Matrix, Record, SetOptions, Settings, diagonalize_with_backend, synthetic};
/// use std::ops::ControlFlow;
///
/// // Two workers in this process.
/// let generated = synthetic::Synthetic::new(60, 4, 0.1, 0);
/// let worker = |first: usize, n: usize| {
///     let data = &generated.data[first * 16..(first + n) * 16];
///     let chunk = Chunk::new(data, n, 4, first, &SetOptions::default())?;
///     Worker::of_chunks(vec![chunk], None, Some(1))
/// };
/// let workers = [worker(0, 25)?, worker(25, 35)?];
///
/// let send = |request: &[u8]| workers.iter().map(|worker| worker.respond(request)).collect();
/// let descriptions: Vec<Vec<u8>> = workers.iter().map(Worker::describe).collect();
/// let mut set = ClusterSet::new(&send, &descriptions, None)?;
/// let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
/// let result = diagonalize_with_backend(&mut set, &Settings::default(), &mut observer)?;
/// assert!(result.status.is_converged());
/// assert_eq!(result.powers.rows(), 60);
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct ClusterSet<'a, A: SendRequests + ?Sized, T = f64> {
    sender: &'a A,
    summary: Summary<T>,
    /// Fraction of the weight of each worker.
    fractions: Vec<f64>,
    /// First number and length of each run of consecutive matrices, per worker.
    runs: Vec<Vec<(usize, usize)>>,
    /// For a sample, its step: it has the matrices whose numbers are multiples of the step.
    step: Option<usize>,
    n_jobs: Option<usize>,
}

impl<'a, A: SendRequests + ?Sized> ClusterSet<'a, A> {
    /// Creates the set from the descriptions of its workers
    /// ([`Worker::describe`](super::Worker::describe)), in the order in which `sender` returns
    /// their responses. `reduction` is the reduction of the whole set, with whose filters the
    /// workers were created, if the rank is reduced.
    ///
    /// # Errors
    /// [`Error::InvalidResponse`] if a description is damaged or of another version, or if the
    /// workers do not hold parts of one set; [`Error::WeightsZero`] if all weights are zero.
    pub fn new(
        sender: &'a A,
        descriptions: &[impl AsRef<[u8]>],
        reduction: Option<Reduction>,
    ) -> Result<Self, Error> {
        Self::of_descriptions(sender, descriptions, reduction)
    }
}

impl<'a, A: SendRequests + ?Sized> ClusterSet<'a, A, c64> {
    /// Creates a set of Hermitian matrices from the descriptions of its workers; see
    /// [`ClusterSet::new`].
    ///
    /// # Errors
    /// Those of [`ClusterSet::new`].
    pub fn complex(
        sender: &'a A,
        descriptions: &[impl AsRef<[u8]>],
        reduction: Option<Reduction<c64>>,
    ) -> Result<Self, Error> {
        Self::of_descriptions(sender, descriptions, reduction)
    }
}

impl<'a, A: SendRequests + ?Sized, T: Scalar> ClusterSet<'a, A, T> {
    pub(super) fn of_descriptions(
        sender: &'a A,
        descriptions: &[impl AsRef<[u8]>],
        reduction: Option<Reduction<T>>,
    ) -> Result<Self, Error> {
        let read: Result<Vec<_>, _> = descriptions
            .iter()
            .map(|bytes| read_description::<T>(bytes.as_ref()))
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
        let weighted = parts
            .into_iter()
            .map(|part| (part.weight / total, part.summary));
        let weighted: Vec<(f64, Summary<T>)> = weighted.collect();
        Ok(Self {
            sender,
            fractions: weighted.iter().map(|(fraction, _)| *fraction).collect(),
            summary: Summary::of_parts(&weighted, reduction),
            runs,
            step: None,
            n_jobs: None,
        })
    }

    /// Sets the maximum number of threads of the client, which solves on a sample to improve the
    /// starting point. The number is chosen automatically if None.
    #[must_use]
    pub fn with_n_jobs(mut self, n_jobs: impl Into<Option<usize>>) -> Self {
        self.n_jobs = n_jobs.into();
        self
    }

    /// Sends a message to all workers and returns their responses.
    fn responses(&self, message: &Message<T>, step: Option<usize>) -> Result<Vec<Response>, Error> {
        let dimension = self.summary.dimension();
        let responses = self.sender.send(&message.to_bytes(dimension, step))?;
        if responses.len() != self.fractions.len() {
            return Err(Error::InvalidResponse {
                expected: self.fractions.len(),
                actual: responses.len(),
            });
        }
        let kind = message.kind();
        let responses = responses.into_iter().map(|bytes| Response { kind, bytes });
        Ok(responses.collect())
    }

    /// Returns the number of real numbers in a matrix.
    fn square(&self) -> usize {
        T::PLANES * self.summary.dimension().pow(2)
    }

    /// Combines the tables of the workers to those of all matrices, in the order of the set.
    fn tables(&self, of_workers: &[Vec<f64>]) -> Tables {
        let (n, p) = (self.summary.len, self.summary.dimension());
        let (mut powers, mut constants) = (vec![0.0; n * p], vec![0.0; n]);
        for (numbers, runs) in of_workers.iter().zip(&self.runs) {
            let (own_powers, own_constants) = numbers.split_at(matrices_in(runs) * p);
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

/// Returns the number of matrices in some runs.
fn matrices_in(runs: &[(usize, usize)]) -> usize {
    runs.iter().map(|(_, len)| len).sum()
}

/// Splits numbers into consecutive pieces of the given lengths.
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

    /// Adds the sums of the workers, each multiplied by its fraction of the weight, in the order of
    /// the workers. The result does not depend on the order in which they respond.
    fn evaluate(&mut self, request: &Request<T>, sums: &mut Sums<T>) -> Result<(), Error> {
        let (n, p) = (self.summary.len, self.summary.dimension());
        let affordable = n.saturating_mul(p) <= MAX_POWERS && self.step.is_none();
        let with_tables = match request {
            Request::Components { tables, .. } => *tables && affordable,
            _ => false,
        };
        let message = match request {
            Request::Components { b, mean_powers, .. } => Request::Components {
                b: b.clone(),
                mean_powers: mean_powers.clone(),
                tables: with_tables,
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
        let responses = self.responses(&Message::Request(message), self.step)?;
        for (k, (response, fraction)) in responses.iter().zip(&self.fractions).enumerate() {
            // A worker without a matrix of the sample sends no numbers.
            if *fraction == 0.0 && !with_tables {
                continue;
            }
            let table = if with_tables {
                matrices_in(&self.runs[k]) * (p + 1)
            } else {
                0
            };
            let mut numbers = response.numbers(count + table)?;
            tables.push(numbers.split_off(count));
            if *fraction == 0.0 {
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
                pairs.for_each(|(sum, x)| *sum += fraction * x);
            }
        }
        sums.tables = with_tables.then(|| self.tables(&tables));
        Ok(())
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn Backend<T> + '_>>, Error> {
        self.sampled_by(step)
    }
}
