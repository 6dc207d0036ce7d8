//! One part of a set, held by one process.

use std::sync::{Mutex, PoisonError};

use super::message::Message;
use super::wire::{Header, Writer};
use crate::Error;
use crate::backend::{Backend, Chunk, InMemory, Request, Summary, Sums};
use crate::data::{MatrixSet, SetOptions};
use crate::linalg::{Matrix, Scalar, Triangle, reals};

/// The kind of message that a description is.
pub(super) const DESCRIPTION: u8 = 255;

/// Some matrices of a larger set, and where they stand: the answers to the questions of a
/// [`ClusterSet`](super::ClusterSet).
///
/// ```
/// use codiag::{SetOptions, synthetic};
/// use codiag::cluster::Worker;
/// use codiag::backend::Chunk;
///
/// let made = synthetic::Synthetic::new(60, 4, 0.1, 0);
/// // Matrices 20 to 59 of the set.
/// let chunk = Chunk::new(&made.data[20 * 16..], 40, 4, 20, &SetOptions::default())?;
/// let part = Worker::of_chunks(vec![chunk], None, Some(1))?;
/// assert_eq!((part.len(), part.dimension()), (40, 4));
/// assert_eq!(part.answer(b"gibberish"), Err(codiag::Error::InvalidRequest));
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct Worker<T: Scalar = f64> {
    /// The first numbers and lengths of the chunks.
    runs: Vec<(usize, usize)>,
    weight: f64,
    summary: Summary<T>,
    n_jobs: Option<usize>,
    sets: Mutex<Sets<T>>,
}

impl<T: Scalar> Worker<T> {
    /// The part that some chunks make, in the dimensions that the filters of the whole set's
    /// [`Reduction`](crate::Reduction) find, if there is one; at most that many threads work.
    ///
    /// # Errors
    /// If a matrix is not positive definite, which is named by its number in the whole set.
    ///
    /// # Panics
    /// If there is no chunk, or their matrices differ in size.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn of_chunks(
        chunks: Vec<Chunk<T>>,
        filters: Option<&Matrix<T>>,
        threads: Option<usize>,
    ) -> Result<Self, Error> {
        let runs = chunks.iter().map(|c| (c.first(), c.len())).collect();
        let weight = chunks.iter().map(Chunk::weight).sum();
        let set = MatrixSet::of_chunks(chunks, filters, threads)?;
        Ok(Self {
            runs,
            weight,
            summary: set.summary().clone(),
            n_jobs: threads,
            sets: Mutex::new(Sets {
                all: InMemory::new(&set),
                sample: None,
                sums: Sums::default(),
            }),
        })
    }

    /// The number of matrices.
    #[allow(clippy::len_without_is_empty)] // a part is never empty
    pub fn len(&self) -> usize {
        self.summary.len
    }

    /// The dimension of the matrices, after reduction.
    pub fn dimension(&self) -> usize {
        self.summary.dimension()
    }

    /// How many threads work at most, as it was said when the part was made.
    pub fn n_jobs(&self) -> Option<usize> {
        self.n_jobs
    }

    /// What a [`ClusterSet`](super::ClusterSet) has to know of the part.
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

    /// The answer to a question: weighted means over the part's matrices.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if it is none of this version's, or not about matrices of this dimension and
    /// these numbers.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn respond(&self, request: &[u8]) -> Result<Vec<u8>, Error> {
        let p = self.dimension();
        let (message, step) = Message::<T>::from_bytes(request, p)?;
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = match (step, &message) {
            (None, Message::Request(request)) => sets.answer(request)?,
            (None, _) => return Err(Error::InvalidRequest),
            (Some(step), message) => sets.answer_sample(step, message, &self.runs)?,
        };
        let header = Header {
            complex: T::PLANES == 2,
            kind: message.kind(),
            dimension: p,
            count: numbers.len() as u64,
        };
        Ok(Writer::new(header).numbers(&numbers).finish())
    }

    /// Chunks that make the same part elsewhere, without filters. Where it stands is not carried
    /// along: the next question says it.
    ///
    /// # Errors
    /// None are expected: the matrices have been checked before.
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

/// All matrices, and the sample that was last asked for.
struct Sets<T: Scalar> {
    all: InMemory<T>,
    sample: Option<Sample<T>>,
    sums: Sums<T>,
}

/// Every `step`-th matrix of the whole set, as far as this part has them.
struct Sample<T: Scalar> {
    step: usize,
    /// The fraction of the part's weight that they hold, and the matrices; None if that is zero.
    matrices: Option<(f64, InMemory<T>)>,
}

impl<T: Scalar> Sets<T> {
    fn answer(&mut self, request: &Request<T>) -> Result<Vec<f64>, Error> {
        answer(&mut self.all, request, &mut self.sums)
    }

    fn answer_sample(
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
        // A part without a matrix of the sample sends no numbers.
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
                // The client solves on these matrices: it asks no more of this sample.
                self.sample = None;
                Ok(numbers)
            }
            Message::Request(request) => answer(set, request, &mut self.sums),
        }
    }
}

/// The weight of a sample, the weights of its matrices, and their packed lower triangles.
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

/// The sums that answer a request, one after the other: numbers, moments, Hessian, tables.
fn answer<T: Scalar>(
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
