//! One part of a set, held by one process, which responds to requests.

use std::sync::{Mutex, PoisonError};

use super::message::Message;
use super::wire::{Header, Writer};
use crate::Error;
use crate::backend::{Backend, Chunk, InMemory, Request, Summary, Sums};
use crate::data::{MatrixSet, SetOptions};
use crate::linalg::{Matrix, Scalar, Triangle, reals};

/// Kind of message of a description.
pub(super) const DESCRIPTION: u8 = 255;

/// A part of a larger set, which responds to the requests of a [`ClusterSet`](super::ClusterSet).
///
/// ```
/// use codiag::{SetOptions, synthetic};
/// use codiag::cluster::Worker;
/// use codiag::backend::Chunk;
///
/// let generated = synthetic::Synthetic::new(60, 4, 0.1, 0);
/// // Matrices 20 to 59 of the set.
/// let chunk = Chunk::new(&generated.data[20 * 16..], 40, 4, 20, &SetOptions::default())?;
/// let worker = Worker::of_chunks(vec![chunk], None, Some(1))?;
/// assert_eq!((worker.len(), worker.dimension()), (40, 4));
/// assert_eq!(worker.respond(b"not a request"), Err(codiag::Error::InvalidRequest));
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct Worker<T: Scalar = f64> {
    /// First number and length of each chunk.
    runs: Vec<(usize, usize)>,
    weight: f64,
    summary: Summary<T>,
    n_jobs: Option<usize>,
    sets: Mutex<Sets<T>>,
}

impl<T: Scalar> Worker<T> {
    /// Creates a worker for the matrices of some chunks. `filters` are those of the
    /// [`Reduction`](crate::Reduction) of the whole set, if its rank is reduced. At most `n_jobs`
    /// threads are used; the number is chosen automatically if None.
    ///
    /// # Errors
    /// If the criterion does not accept a matrix. The error has its number in the whole set.
    ///
    /// # Panics
    /// If there is no chunk, or if their matrices differ in size.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn of_chunks(
        chunks: Vec<Chunk<T>>,
        filters: Option<&Matrix<T>>,
        n_jobs: Option<usize>,
    ) -> Result<Self, Error> {
        let runs = chunks.iter().map(|c| (c.first(), c.len())).collect();
        let weight = chunks.iter().map(Chunk::weight).sum();
        let set = MatrixSet::of_chunks(chunks, filters, n_jobs)?;
        Ok(Self {
            runs,
            weight,
            summary: set.summary().clone(),
            n_jobs,
            sets: Mutex::new(Sets {
                all: InMemory::new(&set),
                sample: None,
                sums: Sums::default(),
            }),
        })
    }

    /// Returns the number of matrices.
    #[allow(clippy::len_without_is_empty)] // a worker is never empty
    pub fn len(&self) -> usize {
        self.summary.len
    }

    /// Returns the dimension of the matrices, after reduction.
    pub fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// Returns the maximum number of threads; chosen automatically if None.
    pub fn n_jobs(&self) -> Option<usize> {
        self.n_jobs
    }

    /// Returns the description of the worker that a [`ClusterSet`](super::ClusterSet) is created
    /// from.
    pub fn describe(&self) -> Vec<u8> {
        let Summary {
            criterion,
            mean,
            constant,
            ..
        } = &self.summary;
        let runs: Vec<f64> = self
            .runs
            .iter()
            .flat_map(|(first, len)| [*first as f64, *len as f64])
            .collect();
        let header = Header {
            complex: T::PLANES == 2,
            kind: DESCRIPTION,
            dimension: mean.rows(),
            count: (2 + reals(mean.as_slice()).len() + runs.len()) as u64,
        };
        Writer::new(header)
            .numbers(&[self.weight, *constant])
            .numbers(mean.as_slice())
            .numbers(&runs)
            .text(criterion.name())
            .finish()
    }

    /// Returns the response to a request: weighted means over the matrices of the worker.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if the request is of another version, of another dimension, or for
    /// complex instead of real matrices or vice versa.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn respond(&self, request: &[u8]) -> Result<Vec<u8>, Error> {
        let p = self.dimension();
        let (message, step) = Message::<T>::from_bytes(request, p)?;
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = match (step, &message) {
            (None, Message::Request(request)) => sets.respond(request)?,
            (None, _) => return Err(Error::InvalidRequest),
            (Some(step), message) => sets.respond_for_sample(step, message, &self.runs)?,
        };
        let header = Header {
            complex: T::PLANES == 2,
            kind: message.kind(),
            dimension: p,
            count: numbers.len() as u64,
        };
        Ok(Writer::new(header).numbers(&numbers).finish())
    }

    /// Returns chunks from which the worker can be created in another process, without filters.
    /// Data kept between requests are not included.
    ///
    /// # Errors
    /// None are expected: the matrices have been validated before.
    pub fn chunks(&self) -> Result<Vec<Chunk<T>>, Error> {
        let p = self.dimension();
        let sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let (data, mut weights) = sets.all.set().matrices();
        drop(sets);
        weights.iter_mut().for_each(|w| *w *= self.weight);
        let (mut data, mut weights) = (&data[..], &weights[..]);
        let chunk = |&(first, len): &(usize, usize)| {
            let (matrices, rest) = data.split_at(len * p * p);
            let (own, others) = weights.split_at(len);
            (data, weights) = (rest, others);
            let options = SetOptions::default()
                .criterion(self.summary.criterion)
                .weights(own.to_vec())
                .n_jobs(self.n_jobs);
            Chunk::new(matrices, len, p, first, &options)
        };
        self.runs.iter().map(chunk).collect()
    }
}

/// All matrices, and the sample that was requested last.
struct Sets<T: Scalar> {
    all: InMemory<T>,
    sample: Option<Sample<T>>,
    sums: Sums<T>,
}

/// Every `step`-th matrix of the whole set that this worker holds.
struct Sample<T: Scalar> {
    step: usize,
    /// Fraction of the weight of the worker, and the matrices; None if the fraction is zero.
    matrices: Option<(f64, InMemory<T>)>,
}

impl<T: Scalar> Sets<T> {
    fn respond(&mut self, request: &Request<T>) -> Result<Vec<f64>, Error> {
        evaluate(&mut self.all, request, &mut self.sums)
    }

    fn respond_for_sample(
        &mut self,
        step: usize,
        message: &Message<T>,
        runs: &[(usize, usize)],
    ) -> Result<Vec<f64>, Error> {
        let sample = match self.sample.take() {
            Some(sample) if sample.step == step => sample,
            _ => {
                let numbers = runs.iter().flat_map(|&(first, len)| first..first + len);
                let numbers: Vec<usize> = numbers.collect();
                let chosen = self.all.set().sample(|i| numbers[i].is_multiple_of(step));
                let matrices = chosen.map(|(weight, set)| (weight, InMemory::new(&set)));
                Sample { step, matrices }
            }
        };
        // A worker without a matrix of the sample sends no numbers.
        let Some((weight, set)) = &mut self.sample.insert(sample).matrices else {
            return Ok(Vec::new());
        };
        match message {
            Message::Sample => {
                let summary = set.summary();
                let mut numbers = vec![*weight, summary.len as f64];
                numbers.extend(reals(summary.mean.as_slice()));
                Ok(numbers)
            }
            Message::Matrices => {
                let numbers = packed_matrices(*weight, set);
                // The client solves with these matrices and sends no further requests for this
                // sample.
                self.sample = None;
                Ok(numbers)
            }
            Message::Request(request) => evaluate(set, request, &mut self.sums),
        }
    }
}

/// Returns the weight of a sample, the weights of its matrices, and their packed lower triangles.
fn packed_matrices<T: Scalar>(weight: f64, set: &InMemory<T>) -> Vec<f64> {
    let p = set.summary().dimension();
    let (data, weights) = set.set().matrices();
    let mut numbers = vec![weight];
    numbers.extend(weights);
    for matrix in data.chunks_exact(p * p) {
        for (a, b) in Triangle::new(p).pairs() {
            numbers.extend(reals(&matrix[a * p + b..][..1]));
        }
    }
    numbers
}

/// Evaluates a request. Returns the sums one after the other: numbers, moments, Hessian, tables.
fn evaluate<T: Scalar>(
    set: &mut InMemory<T>,
    request: &Request<T>,
    sums: &mut Sums<T>,
) -> Result<Vec<f64>, Error> {
    set.evaluate(request, sums)?;
    let mut numbers = sums.numbers.clone();
    numbers.extend(reals(sums.moments.gradient.as_slice()));
    numbers.extend(sums.moments.gamma.as_slice());
    if request.counts(0).2 {
        numbers.extend(sums.hessian.double());
    }
    if let Some(tables) = &sums.tables {
        numbers.extend(&tables.powers);
        numbers.extend(&tables.constants);
    }
    Ok(numbers)
}
