//! Blocks of a file, identical to those of a set in memory.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::file::MatrixFile;
use super::plan::{Plan, PlanInput};
use crate::data::Criterion;
use crate::data::build::{IndefiniteMatrix, negative_lane};
use crate::data::{Block, groups};
use crate::linalg::kernels::LANES;
use crate::linalg::{Matrix, Scalar};
use crate::{Error, Memory};

/// Largest step of a sample.
pub const MAX_STEP: usize = 8;

/// Selection of matrices in a file, and the operations applied to each.
#[derive(Clone)]
pub struct Selection<T> {
    pub file: Arc<MatrixFile>,
    pub criterion: Criterion,
    /// Every `step`-th matrix of the file is selected.
    pub step: usize,
    /// Normalized weights of all matrices of the file; None if they are equal.
    pub weights: Option<Arc<[f64]>>,
    /// Sum of the weights of the selected matrices.
    pub total: f64,
    pub shrinkage: f64,
    pub symmetrize: bool,
    /// Filters of the reduction, if the rank is reduced.
    pub filters: Option<Arc<Matrix<T>>>,
    /// Mean before reduction, if each matrix is to be checked for clearly negative eigenvalues.
    pub semidefinite: Option<Arc<Matrix<T>>>,
    /// Number of matrices in a block.
    pub capacity: usize,
}

impl<T: Scalar> Selection<T> {
    /// Returns the number of selected matrices.
    pub fn len(&self) -> usize {
        self.file.len().div_ceil(self.step)
    }

    /// Returns the size of the matrices after reduction.
    pub fn dimension(&self) -> usize {
        let filters = self.filters.as_ref();
        filters.map_or(self.file.size(), |f| f.rows())
    }

    /// Returns the weight of a selected matrix.
    pub fn weight(&self, i: usize) -> f64 {
        let of_file = match &self.weights {
            Some(weights) => weights[i * self.step],
            None => 1.0 / self.file.len() as f64,
        };
        of_file / self.total
    }
}

/// Blocks of a file, some of which stay in memory after they have been read.
pub struct Blocks<T> {
    pub selection: Selection<T>,
    pub file: Arc<MatrixFile>,
    pub groups: Vec<Range<usize>>,
    pub plan: Plan,
    kept: Vec<OnceLock<Block<T>>>,
}

/// A block that stays in memory (`Kept`) or is dropped after use (`Temporary`).
pub enum MaybeKept<'a, T> {
    Kept(&'a Block<T>),
    Temporary(Block<T>),
}

impl<T> MaybeKept<'_, T> {
    pub fn get(&self) -> &Block<T> {
        match self {
            Self::Kept(block) => block,
            Self::Temporary(block) => block,
        }
    }
}

impl<T: Scalar> Blocks<T> {
    /// Plans the blocks of a selection for a memory limit and at most this number of threads.
    pub fn new(selection: Selection<T>, memory: Memory, threads: usize) -> Result<Self, Error> {
        let (n, capacity) = (selection.len(), selection.capacity);
        let dimension = selection.dimension();
        let file = Arc::clone(&selection.file);
        let needs = PlanInput {
            fitted: selection.criterion.is_least_squares(),
            n,
            planes: T::PLANES,
            channels: file.size(),
            dimension,
            capacity,
            span: file.span(selection.step),
            sample: (Block::<T>::capacity(dimension), file.span(MAX_STEP)),
            converted: !file.is_native::<T>(),
            weighted: selection.weights.is_some(),
        };
        let plan = needs.plan(memory, threads)?;
        let count = n.div_ceil(capacity);
        let lanes = (count - 1) * capacity + (n - (count - 1) * capacity).next_multiple_of(LANES);
        Ok(Self {
            groups: groups::partition_blocks::<T>(count, lanes, dimension),
            kept: (0..count).map(|_| OnceLock::new()).collect(),
            selection,
            file,
            plan,
        })
    }

    /// Returns the number of blocks.
    pub fn count(&self) -> usize {
        self.kept.len()
    }

    /// Returns the number of matrices in block k.
    pub fn matrices(&self, k: usize) -> usize {
        let capacity = self.selection.capacity;
        capacity.min(self.selection.len() - k * capacity)
    }

    /// Drops all kept blocks.
    pub fn clear(&mut self) {
        let count = self.count();
        self.kept = (0..count).map(|_| OnceLock::new()).collect();
    }

    pub fn is_kept(&self, k: usize) -> bool {
        self.kept(k).is_some()
    }

    pub fn kept(&self, k: usize) -> Option<&Block<T>> {
        self.kept[k].get()
    }

    /// Keeps block k if the plan says so. The kept blocks are spread evenly, so that reading and
    /// computing overlap during the whole data pass.
    pub fn keep(&self, k: usize, block: Block<T>) -> MaybeKept<'_, T> {
        let (some, all) = (self.plan.kept, self.count());
        if (k + 1) * some / all > k * some / all {
            MaybeKept::Kept(self.kept[k].get_or_init(|| block))
        } else {
            MaybeKept::Temporary(block)
        }
    }

    /// Returns the number of bytes of block k in the file.
    pub fn block_bytes(&self, k: usize) -> usize {
        self.matrices(k) * self.file.matrix_bytes()
    }

    /// Returns the lanes of each piece in which block k is read.
    pub fn pieces(&self, k: usize) -> impl Iterator<Item = Range<usize>> {
        let (matrices, piece) = (self.matrices(k), self.plan.piece);
        (0..matrices)
            .step_by(piece)
            .map(move |at| at..matrices.min(at + piece))
    }

    /// Reads a piece of block k in row-major order. Returns the number of bytes.
    pub fn read(
        &self,
        k: usize,
        lanes: Range<usize>,
        rows: &mut Vec<T>,
        bytes: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        rows.resize(lanes.len() * self.file.size().pow(2), T::ZERO);
        let first = (k * self.selection.capacity + lanes.start) * self.selection.step;
        self.file.read(first, self.selection.step, rows, bytes)?;
        Ok(lanes.len() * self.file.matrix_bytes())
    }

    /// Allocates block k with its weights. Its matrices must be gathered.
    pub fn begin(&self, k: usize) -> Block<T> {
        let mut block = Block::unwritten(self.file.size(), self.matrices(k));
        let first = k * self.selection.capacity;
        for lane in 0..block.matrices {
            block.weights[lane] = self.selection.weight(first + lane);
        }
        block
    }

    /// Validates up to eight matrices, and writes them to the lanes from `at` on.
    pub fn gather(
        &self,
        k: usize,
        block: &mut Block<T>,
        rows: &[T],
        at: usize,
    ) -> Result<(), Error> {
        let p = self.file.size();
        let mut eight: [&[T]; LANES] = [&[]; LANES];
        let mut count = 0;
        for (place, matrix) in eight.iter_mut().zip(rows.chunks_exact(p * p)) {
            *place = matrix;
            count += 1;
        }
        let first = k * self.selection.capacity;
        let number = |lane: usize| (first + lane) * self.selection.step;
        block.gather_eight(&eight[..count], at, self.selection.symmetrize, number)
    }

    /// Shrinks and reduces the matrices of the gathered block k.
    pub fn complete(&self, k: usize, mut block: Block<T>) -> Result<Block<T>, Error> {
        block.shrink(self.selection.shrinkage);
        if let Some(mean) = &self.selection.semidefinite
            && let Some(lane) = negative_lane(&block, mean)
        {
            let matrix = k * self.selection.capacity + lane;
            return Err(IndefiniteMatrix::new(&block, lane, matrix).error_for_reduced());
        }
        Ok(match &self.selection.filters {
            Some(filters) => block.reduced(filters),
            None => block,
        })
    }
}
