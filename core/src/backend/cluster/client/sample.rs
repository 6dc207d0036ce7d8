//! Sample of a set on a cluster. Small samples are copied to the client, others stay with the
//! workers.

use super::super::message::Message;
use super::super::wire;
use super::{ClusterSet, SendRequests, split};
use crate::Error;
use crate::backend::{Backend, InMemory, Summary};
use crate::data::{MatrixSet, packed_len};
use crate::linalg::{Matrix, Scalar, Triangle, scalars};

/// Maximum number of entries of a sample that is copied to the client (32 MB), where requests need
/// no messages.
const MAX_COPIED: usize = 4_000_000;
/// Minimum number of matrices per dimension of a sample that is thinned so that it can be copied.
const MIN_MATRICES_PER_DIMENSION: usize = 10;

impl<A: SendRequests + ?Sized, T: Scalar> ClusterSet<'_, A, T> {
    /// Returns every `step`-th matrix, or fewer if the sample can then be copied to the client.
    pub(super) fn sampled_by(
        &self,
        step: usize,
    ) -> Result<Option<Box<dyn Backend<T> + '_>>, Error> {
        let (n, p) = (self.summary.len, self.summary.dimension());
        let max_matrices = MAX_COPIED / packed_len::<T>(p);
        let thinned = step * (n / step).div_ceil(max_matrices.max(1)).max(1);
        if thinned == step || n / thinned >= MIN_MATRICES_PER_DIMENSION * p {
            let sample = self.local_sample(thinned)?;
            Ok(sample.map(|sample| Box::new(sample) as Box<dyn Backend<T>>))
        } else {
            let sample = self.remote_sample(step)?;
            Ok(sample.map(|sample| Box::new(sample) as Box<dyn Backend<T>>))
        }
    }

    /// Returns a sample that stays with the workers.
    pub(in crate::backend::cluster) fn remote_sample(
        &self,
        step: usize,
    ) -> Result<Option<Self>, Error> {
        let p = self.summary.dimension();
        let mut parts = Vec::new();
        let responses = self.responses(&Message::Sample, Some(step))?;
        for (response, fraction) in responses.iter().zip(&self.fractions) {
            let (weight, len, mean) = if response.is_empty() {
                (0.0, 0, Matrix::zeros(p, p))
            } else {
                let numbers = response.numbers(2 + self.square())?;
                let [header, mean] = split(&numbers, [2, self.square()]);
                let mean = wire::matrix(p, &mean);
                (fraction * header[0], header[1] as usize, mean)
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
        Ok(Some(Self {
            sender: self.sender,
            fractions: parts.iter().map(|(fraction, _)| *fraction).collect(),
            summary: Summary::of_parts(&parts, None),
            runs: Vec::new(),
            step: Some(step),
            n_jobs: self.n_jobs,
        }))
    }

    /// Returns a sample that is copied to the client, in the order of the numbers of its matrices,
    /// so that results do not depend on their distribution over the workers.
    fn local_sample(&self, step: usize) -> Result<Option<InMemory<T>>, Error> {
        let p = self.summary.dimension();
        let len = packed_len::<T>(p);
        // Number, weight and lower triangle of each matrix.
        let mut matrices: Vec<(usize, f64, Vec<f64>)> = Vec::new();
        let responses = self.responses(&Message::Matrices, Some(step))?;
        for ((response, fraction), runs) in responses.iter().zip(&self.fractions).zip(&self.runs) {
            if response.is_empty() {
                continue;
            }
            let own = runs.iter().flat_map(|&(first, len)| first..first + len);
            let own: Vec<usize> = own.filter(|i| i.is_multiple_of(step)).collect();
            let numbers = response.numbers(1 + own.len() * (1 + len))?;
            let (weights, triangles) = numbers[1..].split_at(own.len());
            let weights = weights.iter().map(|w| fraction * numbers[0] * w);
            let triangles = triangles.chunks_exact(len).map(<[f64]>::to_vec);
            let own = own.into_iter().zip(weights).zip(triangles);
            matrices.extend(own.map(|((i, weight), triangle)| (i, weight, triangle)));
        }
        let total: f64 = matrices.iter().map(|(_, weight, _)| weight).sum();
        if total <= 0.0 {
            return Ok(None);
        }
        matrices.sort_by_key(|(i, _, _)| *i);
        let weights: Vec<f64> = matrices
            .iter()
            .map(|(_, weight, _)| weight / total)
            .collect();
        let mut data = vec![T::ZERO; matrices.len() * p * p];
        for (matrix, (_, _, triangle)) in data.chunks_exact_mut(p * p).zip(&matrices) {
            let entries: &[T] = scalars(triangle);
            for ((a, b), x) in Triangle::new(p).pairs().zip(entries) {
                (matrix[b * p + a], matrix[a * p + b]) = (x.conj(), *x);
            }
        }
        let criterion = self.summary.criterion;
        let sample = MatrixSet::of_sample(criterion, p, &data, &weights, self.n_jobs)?;
        Ok(Some(InMemory::new(&sample)))
    }
}
