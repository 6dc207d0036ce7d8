//! One part of a set, held by one process.

use std::sync::{Mutex, PoisonError};

use super::question::Question;
use super::wire::{Header, Writer};
use crate::Error;
use crate::linalg::{Matrix, Scalar, Triangle, reals};
use crate::matrices::{Balanced, Chunk, InMemory, LinePoint, SetOptions, Summary, WorkingSet};
use crate::statistics::{Hessian, Statistics};

/// The kind of message that a description is.
pub(super) const DESCRIPTION: u8 = 255;

/// Some matrices of a larger set, and where they stand: the answers to the questions of a
/// [`ClusterSet`](super::ClusterSet).
///
/// ```
/// use codiag::{SetOptions, synthetic};
/// use codiag::cluster::Part;
/// use codiag::working::Chunk;
///
/// let made = synthetic::Synthetic::new(60, 4, 0.1, 0);
/// // Matrices 20 to 59 of the set.
/// let chunk = Chunk::new(&made.data[20 * 16..], 40, 4, 20, &SetOptions::default())?;
/// let part = Part::of_chunks(vec![chunk], None, Some(1))?;
/// assert_eq!((part.len(), part.dimension()), (40, 4));
/// assert_eq!(part.answer(b"gibberish"), Err(codiag::Error::Question));
/// # Ok::<(), codiag::Error>(())
/// ```
pub struct Part<T = f64> {
    /// The first numbers and lengths of the chunks.
    runs: Vec<(usize, usize)>,
    weight: f64,
    summary: Summary<T>,
    threads: Option<usize>,
    sets: Mutex<Sets<T>>,
}

impl<T: Scalar> Part<T> {
    /// The part that some chunks make, in the dimensions that the filters of the whole set's
    /// [`Reduction`](crate::Reduction) find, if there is one; at most that many threads work.
    ///
    /// # Errors
    /// If a matrix is not positive definite, which is named by its number in the whole set.
    ///
    /// # Panics
    /// If there is no chunk, or their matrices differ in size.
    pub fn of_chunks(
        chunks: Vec<Chunk<T>>,
        filters: Option<&Matrix<T>>,
        threads: Option<usize>,
    ) -> Result<Self, Error> {
        let runs = chunks.iter().map(|c| (c.first(), c.len())).collect();
        let weight = chunks.iter().map(Chunk::weight).sum();
        let set = InMemory::of_chunks(chunks, filters, threads)?;
        Ok(Self {
            runs,
            weight,
            summary: set.summary().clone(),
            threads,
            sets: Mutex::new(Sets {
                all: Standing::new(set),
                sample: None,
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
    pub fn threads(&self) -> Option<usize> {
        self.threads
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
    /// [`Error::Question`] if it is none of this version's, or not about matrices of this dimension and
    /// these numbers.
    pub fn answer(&self, question: &[u8]) -> Result<Vec<u8>, Error> {
        let p = self.dimension();
        let (question, step) = Question::<T>::from_bytes(question, p)?;
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = match step {
            None => sets.all.answer(&question)?,
            Some(step) => sets.answer_sample(step, &question, &self.runs)?,
        };
        let header = Header {
            complex: T::PLANES == 2,
            kind: question.kind(),
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
        let (data, mut weights) = sets.all.set.matrices();
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
                .threads(self.threads);
            Chunk::new(matrices, len, p, first, &options)
        };
        self.runs.iter().map(chunk).collect()
    }
}

/// All matrices, and the sample that was last asked for.
struct Sets<T> {
    all: Standing<T>,
    sample: Option<Sample<T>>,
}

/// Every `step`-th matrix of the whole set, as far as this part has them.
struct Sample<T> {
    step: usize,
    /// Their share of the part's weight, and the matrices; None if that is zero.
    matrices: Option<(f64, Standing<T>)>,
}

impl<T: Scalar> Sets<T> {
    fn answer_sample(
        &mut self,
        step: usize,
        question: &Question<T>,
        runs: &[(usize, usize)],
    ) -> Result<Vec<f64>, Error> {
        let sample = match self.sample.take() {
            Some(sample) if sample.step == step => sample,
            _ => {
                let numbers = runs.iter().flat_map(|&(first, len)| first..first + len);
                let numbers: Vec<usize> = numbers.collect();
                let chosen = self.all.set.sample_of(|i| numbers[i].is_multiple_of(step));
                let matrices = chosen.map(|(weight, set)| (weight, Standing::new(set)));
                Sample { step, matrices }
            }
        };
        // A part without a matrix of the sample has nothing to say, and is not listened to.
        let Some((weight, standing)) = &mut self.sample.insert(sample).matrices else {
            return Ok(Vec::new());
        };
        if *question == Question::Sample {
            let summary = standing.set.summary();
            let mut answer = vec![*weight, summary.len as f64];
            answer.extend(reals(summary.mean.as_slice()));
            return Ok(answer);
        }
        if *question == Question::Matrices {
            let answer = standing.matrices(*weight);
            // Whoever has them asks no more of this sample.
            self.sample = None;
            return Ok(answer);
        }
        standing.answer(question)
    }
}

/// A set and where it stands.
struct Standing<T> {
    set: InMemory<T>,
    metric: Option<Matrix<T>>,
    b: Option<Matrix<T>>,
    e: Option<Matrix<T>>,
    /// The memory of a Hessian, kept from question to question.
    hessian: Option<Hessian<T>>,
}

impl<T: Scalar> Standing<T> {
    fn new(set: InMemory<T>) -> Self {
        Self {
            set,
            metric: None,
            b: None,
            e: None,
            hessian: None,
        }
    }

    /// The matrices of a sample of that share of the part's weight.
    fn matrices(&self, weight: f64) -> Vec<f64> {
        let p = self.set.summary().dimension();
        let (data, weights) = self.set.matrices();
        let mut answer = vec![weight];
        answer.extend(weights);
        for matrix in data.chunks_exact(p * p) {
            for (a, b) in Triangle::new(p).pairs() {
                answer.extend(reals(&matrix[a * p + b..][..1]));
            }
        }
        answer
    }

    /// Adds the row blocks of the exact Hessian where the set stands.
    fn add_hessian(&mut self, answer: &mut Vec<f64>) -> Result<(), Error> {
        let (criterion, p) = {
            let summary = self.set.summary();
            (summary.criterion, summary.dimension())
        };
        let hessian = self
            .hessian
            .get_or_insert_with(|| Hessian::unset(criterion, p));
        self.set.hessian(hessian)?;
        answer.extend(hessian.triangles());
        Ok(())
    }

    fn balance(&mut self, metric: &Matrix<T>) -> Result<Balanced<T>, Error> {
        self.metric = None;
        let balanced = self.set.balance(metric)?;
        self.metric = Some(metric.clone());
        Ok(balanced)
    }

    /// Goes to B, wherever the set was. Should that fail, it stands nowhere.
    fn reset(&mut self, b: &Matrix<T>) -> Result<f64, Error> {
        (self.b, self.e) = (None, None);
        let sum = self.set.reset(b)?;
        self.b = Some(b.clone());
        Ok(sum)
    }

    /// Makes sure that the set stands at B.
    fn at(&mut self, b: &Matrix<T>) -> Result<&mut InMemory<T>, Error> {
        if self.b.as_ref() != Some(b) {
            self.reset(b)?;
        }
        Ok(&mut self.set)
    }

    /// Makes sure that E was probed at B.
    fn probed(&mut self, b: &Matrix<T>, e: &Matrix<T>) -> Result<&mut InMemory<T>, Error> {
        self.at(b)?;
        if self.e.as_ref() != Some(e) {
            self.e = None;
            self.set.probe(e)?;
            self.e = Some(e.clone());
        }
        Ok(&mut self.set)
    }

    fn answer(&mut self, question: &Question<T>) -> Result<Vec<f64>, Error> {
        Ok(match question {
            Question::Sample | Question::Matrices => return Err(Error::Question),
            Question::Balance { metric } => {
                let balanced = self.balance(metric)?;
                let mut answer = parts_of(&balanced.mean);
                answer.extend(parts_of(&balanced.spread));
                answer
            }
            Question::SecondMoment => parts_of(&self.set.second_moment()?),
            Question::Correlate { metric, matrices } => {
                // Zero: the matrices are not balanced.
                if metric.norm() > 0.0 && self.metric.as_ref() != Some(metric) {
                    self.balance(metric)?;
                }
                let mut sums = vec![0.0; matrices.len()];
                self.set.correlate(matrices, &mut sums)?;
                sums
            }
            Question::Reset { b, hessian } => {
                let sum = self.reset(b)?;
                let mut answer = flat(&self.set.statistics()?);
                answer.push(sum);
                if *hessian {
                    self.add_hessian(&mut answer)?;
                }
                answer
            }
            Question::Mean { b } => parts_of(&self.at(b)?.mean()?),
            Question::Statistics { b } => flat(&self.at(b)?.statistics()?),
            Question::Hessian { b } => {
                self.at(b)?;
                let mut answer = Vec::new();
                self.add_hessian(&mut answer)?;
                answer
            }
            Question::Product { b, e } => parts_of(&self.at(b)?.hessian_product(e)?),
            Question::Probe { b, e } => {
                self.at(b)?;
                self.e = None;
                let probe = self.set.probe(e)?;
                self.e = Some(e.clone());
                let mut answer = probe.linear;
                answer.extend(probe.quadratic);
                answer.extend(three(self.set.line_point(0.0)?));
                answer.extend(three(self.set.line_point(1.0)?));
                answer
            }
            Question::LinePoint { b, e, alpha } => {
                three(self.probed(b, e)?.line_point(*alpha)?).to_vec()
            }
            Question::Advance {
                b,
                e,
                next,
                alpha,
                scale,
                hessian,
            } => {
                // It may be asked again by someone who did not hear the answer.
                let statistics = if self.b.as_ref() == Some(next) {
                    self.set.statistics()?
                } else {
                    self.probed(b, e)?;
                    (self.b, self.e) = (None, None);
                    let statistics = self.set.advance(*alpha, scale)?;
                    self.b = Some(next.clone());
                    statistics
                };
                let mut answer = flat(&statistics);
                if *hessian {
                    self.add_hessian(&mut answer)?;
                }
                answer
            }
            Question::FinalSums {
                b,
                mean_powers,
                tables,
            } => {
                let sums = self.at(b)?.final_sums(mean_powers)?;
                let mut answer = sums.variations;
                answer.push(sums.diagonal_sum);
                if *tables {
                    let tables = sums.tables.ok_or(Error::Question)?;
                    answer.extend(tables.powers);
                    answer.extend(tables.constants);
                }
                answer
            }
            Question::Wedge { b } => flat(&self.at(b)?.wedge_sums()?),
        })
    }
}

/// The numbers of a matrix, of complex ones their parts.
fn parts_of<T: Scalar>(matrix: &Matrix<T>) -> Vec<f64> {
    reals(matrix.as_slice()).to_vec()
}

fn flat<T: Scalar>(statistics: &Statistics<T>) -> Vec<f64> {
    let mut numbers = parts_of(&statistics.gradient);
    numbers.extend(statistics.gamma.as_slice());
    numbers
}

fn three(point: LinePoint) -> [f64; 3] {
    [point.sum, point.first, point.second]
}
