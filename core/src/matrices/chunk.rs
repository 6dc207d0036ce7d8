//! Some matrices of a larger set, for those who hold the set in several places.
//!
//! A chunk is gathered and checked where its matrices are. What only the whole set can tell, the
//! range of its mean, comes before the check of definiteness: so a part is made from chunks in a
//! second step, with the reduction of the whole.

use std::sync::Arc;

use super::build::{
    self, check_range, check_semidefinite, check_shape, deal_out, gather, reduce_blocks,
    weighted_energy, weighted_mean,
};
use super::{Block, InMemory, Reduction, SetOptions, Summary};
use crate::Error;
use crate::criterion::Criterion;
use crate::linalg::{self, Matrix, Scalar};
use crate::threads::Workers;

/// Consecutive matrices of a larger set: finite, symmetric, shrunk, and in blocks.
///
/// ```
/// use codiag::working::{Chunk, InMemory, WorkingSet};
/// use codiag::{MatrixSet, SetOptions, synthetic};
/// let made = synthetic::Synthetic::new(50, 3, 0.1, 0);
/// let (head, tail) = made.data.split_at(20 * 9);
/// let options = SetOptions::default();
/// let chunks = vec![Chunk::new(head, 20, 3, 0, &options)?, Chunk::new(tail, 30, 3, 20, &options)?];
/// // Together they are the set they were cut from.
/// let whole = MatrixSet::new(&made.data, 50, 3)?;
/// let part = InMemory::of_chunks(chunks, None, None)?;
/// assert!((part.summary().mean[(1, 2)] - whole.mean()[(1, 2)]).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunk<T = f64> {
    p: usize,
    criterion: Criterion,
    first: usize,
    /// Σ_i w_i, in the caller's scale.
    weight: f64,
    /// Their weights sum to 1.
    blocks: Vec<Block<T>>,
}

impl<T: Scalar> Chunk<T> {
    /// From n·p·p numbers, each matrix row after row, the first of which has the given number in the
    /// whole set: errors name matrices by it. Of the options the rank does not apply; weights may be
    /// all zero, as long as those of another chunk are not.
    ///
    /// # Errors
    /// If the data or the options are not as they should be.
    pub fn new(
        data: &[T],
        n: usize,
        p: usize,
        first: usize,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        check_shape(data, n, p)?;
        let mut options = options.clone();
        let weight = match options.check(n) {
            Ok(()) => options
                .weights
                .as_ref()
                .map_or(n as f64, |w| w.iter().sum()),
            // Equal among themselves, they count for nothing in the whole.
            Err(Error::WeightsZero) => {
                options.weights = None;
                0.0
            }
            Err(Error::Weight { index, value }) => {
                let index = first + index;
                return Err(Error::Weight { index, value });
            }
            Err(error) => return Err(error),
        };
        let mut blocks = gather(data, p, first, &options)?;
        deal_out(&options.normalized_weights(n), &mut blocks);
        Ok(Self {
            p,
            criterion: options.criterion,
            first,
            weight,
            blocks,
        })
    }

    /// The number of matrices.
    #[allow(clippy::len_without_is_empty)] // a chunk is never empty
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|b| b.matrices).sum()
    }

    /// The size p of the matrices.
    pub fn channels(&self) -> usize {
        self.p
    }

    /// What the set will be diagonalized by.
    pub fn criterion(&self) -> Criterion {
        self.criterion
    }

    /// The number of the first matrix in the whole set.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The sum of the weights as they were given, the number of matrices without weights: its share
    /// of the whole.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The weighted mean of the matrices.
    pub fn mean(&self) -> Matrix<T> {
        weighted_mean(self.p, &self.blocks, &Workers::One)
    }

    /// What the set would be reduced in rank by: the mean of the matrices or, for criteria that take
    /// indefinite ones, Σ_i w_i (Cⁱ)². The whole set's, from which
    /// [`Reduction::of_sum`] makes the reduction, is the mean of the chunks', each with its weight.
    pub fn range_sum(&self) -> Matrix<T> {
        if self.criterion.requires_definite() {
            return self.mean();
        }
        weighted_energy(self.p, &self.blocks, &Workers::One)
    }

    /// The matrices, row after row, as they were gathered, and their weights, which sum to 1: what
    /// makes the chunk anew elsewhere.
    pub fn matrices(&self) -> (Vec<T>, Vec<f64>) {
        unpacked(self.p, &self.blocks)
    }
}

impl<T: Scalar> InMemory<T> {
    /// The part of a set that some chunks make, in the dimensions that the filters of the whole
    /// set's [`Reduction`] find, if there is one. Chunks weigh by their weights; at most that many
    /// threads are used.
    ///
    /// # Errors
    /// If a matrix is not as the criterion requires, which is named by its number in the whole set.
    ///
    /// # Panics
    /// If there is no chunk, or their matrices differ in size.
    pub fn of_chunks(
        chunks: Vec<Chunk<T>>,
        filters: Option<&Matrix<T>>,
        threads: Option<usize>,
    ) -> Result<Self, Error> {
        let chunk = chunks.first().expect("a part has at least one chunk");
        let (p, criterion) = (chunk.p, chunk.criterion);
        let total: f64 = chunks.iter().map(|chunk| chunk.weight).sum();
        let (mut blocks, mut firsts) = (Vec::new(), Vec::new());
        let count = chunks.len() as f64;
        for chunk in chunks {
            assert_eq!(chunk.p, p, "the matrices of a set have one size");
            let share = if total > 0.0 {
                chunk.weight / total
            } else {
                1.0 / count
            };
            firsts.push((chunk.first, chunk.len()));
            for mut block in chunk.blocks {
                block.weights.iter_mut().for_each(|w| *w *= share);
                blocks.push(block);
            }
        }
        let n = blocks.iter().map(|b| b.matrices).sum();
        let workers = Workers::new(threads, n * T::PLANES.pow(2), p);
        let mut mean = weighted_mean(p, &blocks, &workers);
        check_range(&mean)?;
        if let Some(filters) = filters {
            if criterion.requires_definite() {
                check_semidefinite(&blocks, &mean).map_err(|e| named(e, &firsts))?;
            }
            reduce_blocks(&mut blocks, filters);
            mean = weighted_mean(filters.rows(), &blocks, &workers);
        }
        let constants =
            build::constants(criterion, &mean, &blocks, &workers).map_err(|e| named(e, &firsts))?;
        let weights = blocks.iter().flat_map(|b| &b.weights[..b.matrices]);
        let constant = weights.zip(&constants).map(|(w, x)| w * x).sum();
        let summary = Summary {
            criterion,
            len: n,
            mean,
            constant,
            // Known to whoever reduced the whole set.
            reduction: None,
        };
        let blocks: Vec<Arc<Block<T>>> = blocks.into_iter().map(Arc::new).collect();
        Ok(Self::of_blocks(&blocks, summary, constants.into(), workers))
    }

    /// The matrices Cⁱ, row after row, and their weights: what makes the part anew elsewhere.
    pub fn matrices(&self) -> (Vec<T>, Vec<f64>) {
        unpacked(self.dimension(), self.originals())
    }
}

/// The error with the matrix's number in the whole set instead of that in a part of it.
fn named(error: Error, firsts: &[(usize, usize)]) -> Error {
    let Error::NotPositiveDefinite {
        matrix: Some(matrix),
        eigenvalue,
        remedy,
    } = error
    else {
        return error;
    };
    let mut within = matrix;
    for (first, len) in firsts {
        if within < *len {
            return Error::NotPositiveDefinite {
                matrix: Some(first + within),
                eigenvalue,
                remedy,
            };
        }
        within -= len;
    }
    unreachable!("a part has no matrix {matrix}")
}

fn unpacked<'a, T: Scalar>(
    p: usize,
    blocks: impl IntoIterator<Item = &'a Block<T>>,
) -> (Vec<T>, Vec<f64>) {
    let (mut data, mut weights) = (Vec::new(), Vec::new());
    for block in blocks {
        weights.extend(&block.weights[..block.matrices]);
        for lane in 0..block.matrices {
            let at = data.len();
            data.resize(at + p * p, T::ZERO);
            block.batch.unpack(lane, &mut data[at..]);
        }
    }
    (data, weights)
}

impl<T: Scalar> Summary<T> {
    /// That of a whole set from those of its parts, each with its share of the weight.
    ///
    /// # Panics
    /// If there is no part.
    pub fn of_parts(parts: &[(f64, Self)], reduction: Option<Reduction<T>>) -> Self {
        let (_, part) = parts.first().expect("a set has at least one part");
        let (p, criterion) = (part.dimension(), part.criterion);
        let mut mean = Matrix::zeros(p, p);
        for (share, part) in parts {
            linalg::add_multiple(mean.as_mut_slice(), *share, part.mean.as_slice());
        }
        Self {
            criterion,
            len: parts.iter().map(|(_, part)| part.len).sum(),
            mean,
            constant: parts
                .iter()
                .map(|(share, part)| share * part.constant)
                .sum(),
            reduction,
        }
    }
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::matrices::WorkingSet;
    use crate::synthetic::Synthetic;
    use crate::{MatrixSet, Rank};

    fn options(weights: &[f64], threads: usize) -> SetOptions {
        SetOptions::default()
            .weights(Some(weights.to_vec()))
            .threads(Some(threads))
    }

    #[test]
    fn chunks_make_the_set_they_were_cut_from() {
        let (n, p) = (300, 4);
        let made = Synthetic::new(n, p, 0.3, 1);
        let weights: Vec<f64> = (0..n).map(|i| (i % 7) as f64).collect();
        let whole = MatrixSet::with_options(&made.data, n, p, &options(&weights, 1)).unwrap();
        let cuts = [0, 1, 20, 290, 300];
        let chunks = cuts.windows(2).map(|cut| {
            let (data, own) = (
                &made.data[cut[0] * p * p..cut[1] * p * p],
                &weights[cut[0]..cut[1]],
            );
            Chunk::new(data, own.len(), p, cut[0], &options(own, 2)).unwrap()
        });
        let chunks: Vec<Chunk> = chunks.collect();
        // The first matrix has weight zero, and so has the first chunk.
        assert_eq!(
            (chunks[0].weight(), chunks[1].first(), chunks[2].len()),
            (0.0, 1, 270)
        );
        let mut part = InMemory::of_chunks(chunks, None, Some(1)).unwrap();
        assert!((part.summary().constant - whole.constant()).abs() < 1e-12);
        let mut expected = InMemory::new(&whole);
        let b = Matrix::from_fn(p, p, |a, c| f64::from(u8::from(a == c)) + 0.1 * a as f64);
        assert!((part.reset(&b).unwrap() - expected.reset(&b).unwrap()).abs() < 1e-12);
        let (found, expected) = (part.statistics().unwrap(), expected.statistics().unwrap());
        for (x, y) in found
            .gradient
            .as_slice()
            .iter()
            .zip(expected.gradient.as_slice())
        {
            assert!((x - y).abs() < 1e-12);
        }
        let (data, own) = part.matrices();
        assert_eq!(data, made.data);
        for (x, y) in own.iter().zip(whole.weights()) {
            assert!((x - y).abs() < 1e-15);
        }
    }

    #[test]
    fn defects_are_named_by_their_number_in_the_whole() {
        let p = 2;
        let good = [2.0, 0.5, 0.5, 1.0];
        let mut data = good.repeat(9);
        data[5 * 4] = f64::NAN;
        let plain = SetOptions::default();
        let error = Chunk::new(&data, 9, p, 1000, &plain).unwrap_err();
        assert!(error.to_string().starts_with("matrix 1005:"), "{error}");
        data[5 * 4] = -1.0;
        let chunks = vec![
            Chunk::new(&good.repeat(3), 3, p, 40, &plain).unwrap(),
            Chunk::new(&data, 9, p, 1000, &plain).unwrap(),
        ];
        let error = InMemory::of_chunks(chunks, None, None).err().unwrap();
        assert!(
            error.to_string().starts_with("matrix 1005 is not positive"),
            "{error}"
        );
        let error = Chunk::new(&good, 1, p, 70, &options(&[-1.0], 1)).unwrap_err();
        assert!(error.to_string().starts_with("weight 70 is -1"), "{error}");
    }

    #[test]
    fn parts_share_the_reduction_of_the_whole() {
        // Channel 2 is the sum of the others.
        let (n, p) = (40, 3);
        let made = Synthetic::new(n, 2, 0.3, 1);
        let lift = Matrix::from_rows(3, 2, vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        let mut data = Vec::new();
        for matrix in made.data.chunks_exact(4) {
            let c = Matrix::from_rows(2, 2, matrix.to_vec());
            let half = linalg::product(&lift, &c);
            data.extend(linalg::product_transposed(&half, &lift).into_vec());
        }
        let reducing = SetOptions::default().rank(Rank::Auto);
        let whole = MatrixSet::with_options(&data, n, p, &reducing).unwrap();
        let plain = SetOptions::default();
        let chunks: Vec<Chunk> = [0, 15]
            .iter()
            .map(|&i| {
                let end = if i == 0 { 15 } else { n };
                Chunk::new(&data[i * 9..end * 9], end - i, p, i, &plain).unwrap()
            })
            .collect();
        let mut mean = Matrix::zeros(p, p);
        for chunk in &chunks {
            let share = chunk.len() as f64 / n as f64;
            linalg::add_multiple(mean.as_mut_slice(), share, chunk.mean().as_slice());
        }
        let reduction = Reduction::of_mean(&mean, Rank::Auto).unwrap();
        assert_eq!(reduction.rank(), 2);
        let parts: Vec<(f64, Summary)> = chunks
            .into_iter()
            .map(|chunk| {
                let share = chunk.len() as f64 / n as f64;
                let part =
                    InMemory::of_chunks(vec![chunk], Some(reduction.filters()), None).unwrap();
                (share, part.summary().clone())
            })
            .collect();
        let summary = Summary::of_parts(&parts, Some(reduction));
        assert_eq!(
            (summary.len, summary.dimension(), summary.channels()),
            (n, 2, 3)
        );
        assert!((summary.constant - whole.constant()).abs() < 1e-10);
        for (x, y) in summary.mean.as_slice().iter().zip(whole.mean().as_slice()) {
            assert!((x - y).abs() < 1e-10);
        }
    }
}
