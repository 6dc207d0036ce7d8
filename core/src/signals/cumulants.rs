//! Fourth-order cumulant matrices of whitened recordings.

use std::f64::consts::SQRT_2;
use std::ops::Range;

use super::basis::whiten;
use super::covariance::epoch_sets;
use super::reader::{Buffers, CenteredRecording, Coordinates, Reader, Span, parts};
use super::segments::usable_spans;
use super::{Components, CovarianceOptions, Covariances, Epochs, Recording, Spans};
use crate::data::needs;
use crate::error::{MemoryRemedy, Setting};
use crate::linalg::{self, Matrix, Triangle};
use crate::threads::Workers;
use crate::{Error, MatrixSet, Memory, SetOptions};

/// The cumulant matrices of a whitened recording, and the whitener.
///
/// ```
/// use codiag::signals::{Components, CovarianceOptions, RecordingView, cumulants, simulate};
/// use codiag::{Criterion, SetOptions, Settings, diagonalize};
///
/// let simulated = simulate::voices(3, 2.0, 0);
/// let recording = RecordingView::new(&simulated.data, simulated.channels, simulated.samples)?;
/// let options = CovarianceOptions::default();
/// let cumulants = cumulants(&recording, Components::All, &[], &options)?;
/// assert_eq!((cumulants.matrices.n, cumulants.matrices.p), (6, 3));
///
/// // JADE, like `Separation` with `Contrast::Cumulants`.
/// let set = cumulants.matrices.set(&SetOptions::default().criterion(Criterion::Frobenius))?;
/// let rotation = diagonalize(&set, &Settings::default())?.b;
/// let filters = &rotation * &cumulants.whitener;
/// assert_eq!((filters.rows(), filters.columns()), (3, 3));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cumulants {
    /// The r(r+1)/2 matrices Q_ij, j ≤ i, in row-major order of the lower triangle. For the
    /// whitened recording z, Q_ij = E\[z_i z_j z zᵀ\] − δ_ij I − e_i e_jᵀ − e_j e_iᵀ, multiplied by
    /// √2 if i ≠ j, so that they have the weight of all r² matrices.
    pub matrices: Covariances,
    /// The whitener W, r x channels, with z = W x: filters of principal components of unit
    /// variance.
    pub whitener: Matrix,
}

/// Estimates the fourth-order cumulants of a whitened recording. Samples in `bad_spans` are not
/// used.
///
/// # Errors
/// If the rank of the recording is less than the number of components, a sample is not finite, or
/// an option is out of range. Shrinkage is not supported.
pub fn cumulants(
    recording: &dyn Recording,
    n_components: Components,
    bad_spans: &[Range<usize>],
    options: &CovarianceOptions,
) -> Result<Cumulants, Error> {
    let piece = usable_spans(recording.samples(), bad_spans)?;
    estimate(recording, &[vec![piece]], n_components, options)
}

/// Estimates the fourth-order cumulants of all epochs together. Every epoch is centered by its own
/// mean.
///
/// # Errors
/// The errors of [`cumulants`].
pub fn epoch_cumulants(
    epochs: &Epochs<'_>,
    n_components: Components,
    options: &CovarianceOptions,
) -> Result<Cumulants, Error> {
    estimate(epochs, &epoch_sets(epochs, None)?, n_components, options)
}

fn estimate(
    recording: &dyn Recording,
    sets: &[Vec<Spans>],
    components: Components,
    options: &CovarianceOptions,
) -> Result<Cumulants, Error> {
    options.shrinkage.check_none()?;
    let mut centered = CenteredRecording::new(Reader::new(recording, options.center), sets)?;
    let covariance = centered.covariance(options.n_jobs)?;
    let p = recording.channels();
    let powers = || Ok((0..p).map(|a| covariance[(a, a)]).collect());
    let scale = options.scale.factors(p, powers)?;
    let reduction = whiten(&covariance, scale.as_deref(), components)?;
    let whitener = reduction.filters().clone();
    centered.reader.coordinates = Coordinates::Filtered(whitener.clone());
    let r = whitener.rows();
    check_memory("a set of cumulant matrices", r, memory_of_matrices)?;
    let moments = FourthMoments::means(&centered, options.n_jobs)?;
    Ok(Cumulants {
        matrices: from_moments(&moments, &Matrix::identity(r)),
        whitener,
    })
}

/// Returns the set of the cumulants of samples that are white in the coordinates of the reader.
/// Avoids a copy of the matrices.
pub(super) fn white_cumulant_set(
    centered: &CenteredRecording<'_>,
    n_jobs: Option<usize>,
    options: &SetOptions,
) -> Result<MatrixSet, Error> {
    let p = centered.dimension();
    check_memory("JADE", p, memory_of_separation)?;
    let moments = FourthMoments::means(centered, n_jobs)?;
    let identity = Matrix::identity(p);
    MatrixSet::from_matrices(p, matrices_of(&moments, &identity), options)
}

/// Maximum number of components that memory errors suggest.
const MAX_SUGGESTED_COMPONENTS: usize = 40;

/// Fails if the memory for p components is not available.
pub(super) fn check_memory(
    what: &str,
    p: usize,
    memory: impl Fn(usize) -> Memory,
) -> Result<(), Error> {
    memory(p).check(
        || format!("{what} of {p} components"),
        |available| {
            let max_components = MAX_SUGGESTED_COMPONENTS.min(p);
            MemoryRemedy::largest(Setting::Components, max_components, available, &memory)
        },
    )
}

/// p (p + 1) / 2, saturating on overflow.
fn pairs(p: usize) -> usize {
    p.saturating_mul(p.saturating_add(1)) / 2
}

/// Memory of the cumulant matrices and the moments.
fn memory_of_matrices(p: usize) -> Memory {
    FourthMoments::memory(p).plus(Memory::of_numbers(&[pairs(p), p, p]))
}

/// Peak memory of computing the set and of diagonalizing it.
fn memory_of_separation(p: usize) -> Memory {
    let solve = needs::of_solve::<f64>(pairs(p), p);
    needs::of_blocks::<f64>(pairs(p), p).plus(FourthMoments::memory(p).max(solve))
}

/// Memory of one bootstrap resample: moments, matrices, the set and its solve.
pub(super) fn memory_of_resample(p: usize) -> Memory {
    let set = needs::of_blocks::<f64>(pairs(p), p);
    let solve = needs::of_solve::<f64>(pairs(p), p);
    memory_of_matrices(p).plus(set).plus(solve)
}

/// Returns an iterator over the cumulant matrices of samples with given fourth moments and
/// covariance.
fn matrices_of(moments: &FourthMoments, covariance: &Matrix) -> impl Iterator<Item = Vec<f64>> {
    let p = covariance.rows();
    let triangle = Triangle::new(p);
    triangle.pairs().map(move |(i, j)| {
        let mut matrix = vec![0.0; p * p];
        for (k, l) in triangle.pairs() {
            let x = factor(i, j) * moments.cumulant(covariance, (i, j), (k, l));
            (matrix[k * p + l], matrix[l * p + k]) = (x, x);
        }
        matrix
    })
}

/// Returns the cumulant matrices of samples with given fourth moments and covariance.
pub(super) fn from_moments(moments: &FourthMoments, covariance: &Matrix) -> Covariances {
    let p = covariance.rows();
    let mut data = Vec::with_capacity(Triangle::new(p).len() * p * p);
    matrices_of(moments, covariance).for_each(|matrix| data.extend(matrix));
    Covariances::without_shrinkage(data, p)
}

/// Returns the cumulants of W z from those of z.
pub(super) fn transformed(cumulants: Covariances, w: &Matrix) -> Covariances {
    let p = cumulants.p;
    let triangle = Triangle::new(p);
    let congruence = |m: &Matrix| linalg::product_transposed(&linalg::product(w, m), w);
    // First transforms the indices k, l of every matrix Q_ij, then i, j for every entry (k, l).
    let mut out = cumulants;
    for matrix in out.data.chunks_exact_mut(p * p) {
        let input = Matrix::from_rows(p, p, matrix.to_vec());
        matrix.copy_from_slice(congruence(&input).as_slice());
    }
    for (k, l) in triangle.pairs() {
        let entry = |q: usize| out.data[q * p * p + k * p + l];
        let value = |i: usize, j: usize| entry(triangle.index(i, j)) / factor(i, j);
        let transformed = congruence(&Matrix::from_fn(p, p, value));
        for (q, (i, j)) in triangle.pairs().enumerate() {
            let matrix = &mut out.data[q * p * p..][..p * p];
            let x = factor(i, j) * transformed[(i, j)];
            (matrix[k * p + l], matrix[l * p + k]) = (x, x);
        }
    }
    out
}

/// Returns the factor √2 of Q_ij for i ≠ j, which also represents Q_ji.
pub(super) fn factor(i: usize, j: usize) -> f64 {
    if i == j { 1.0 } else { SQRT_2 }
}

/// The moments E[z_i z_j z_k z_l] with i ≤ j ≤ k ≤ l, or their sums.
///
/// For a few k at a time they are computed as one matrix product, of the products z_j z_i, j ≤ k,
/// with the products z_k z_l, l ≥ k. Most moments are then computed once; a product of all pairs
/// with all pairs would compute them up to six times.
#[derive(Clone)]
pub(super) struct FourthMoments {
    triangle: Triangle,
    tables: Vec<Table>,
}

/// Number of samples per tile, whose pair products stay in the caches.
const TILE: usize = 512;

/// The moments of a few k, with one row per pair (j, i) and one column per pair (k, l).
#[derive(Clone)]
struct Table {
    columns: Vec<(usize, usize)>,
    rows: usize,
    sums: Vec<f64>,
    /// The products z_k z_l of the columns for one tile of samples.
    later: Vec<f64>,
}

impl FourthMoments {
    /// Number of k per table. Fewer would give too few columns for a fast product; with more, more
    /// entries would be computed twice.
    const K_PER_TABLE: usize = 4;

    /// Returns the means over the samples of all sets.
    pub fn means(centered: &CenteredRecording<'_>, n_jobs: Option<usize>) -> Result<Self, Error> {
        let spans: Vec<Span> = centered.sets.iter().flatten().cloned().collect();
        let mut moments = Self::sums(centered, &spans, n_jobs)?;
        moments.scale(1.0 / centered.samples() as f64);
        Ok(moments)
    }

    /// Returns the sums over the samples of spans.
    pub fn sums(
        centered: &CenteredRecording<'_>,
        spans: &[Span],
        n_jobs: Option<usize>,
    ) -> Result<Self, Error> {
        let p = centered.dimension();
        let triangle = Triangle::new(p);
        let mut tables: Vec<Table> = (0..p)
            .step_by(Self::K_PER_TABLE)
            .map(|first| Table::new(triangle, first..p.min(first + Self::K_PER_TABLE)))
            .collect();
        let workers = Workers::for_work(n_jobs, TILE * p * p * p * p / 24);
        let mut products = vec![0.0; triangle.len() * TILE];
        let mut buffers = Buffers::default();
        for part in parts(spans.iter(), centered.samples_per_span()) {
            let length = part.samples.len();
            let z = &*centered.read(&part, &mut buffers)?;
            for from in (0..length).step_by(TILE) {
                let tile = TILE.min(length - from);
                let row = |a: usize| &z[a * length + from..][..tile];
                for ((j, i), out) in triangle.pairs().zip(products.chunks_exact_mut(tile)) {
                    multiply(row(j), row(i), out);
                }
                let products = &products;
                workers.each(&mut tables, |table| {
                    let Table {
                        columns,
                        rows,
                        sums,
                        later,
                    } = table;
                    later.resize(columns.len() * tile, 0.0);
                    for ((k, l), out) in columns.iter().zip(later.chunks_exact_mut(tile)) {
                        multiply(row(*k), row(*l), out);
                    }
                    let earlier = &products[..*rows * tile];
                    linalg::add_product_transposed(sums, *rows, earlier, later, tile, tile);
                });
            }
        }
        tables.iter_mut().for_each(|table| table.later = Vec::new());
        Ok(Self { triangle, tables })
    }

    /// Multiplies all moments by a factor.
    pub fn scale(&mut self, factor: f64) {
        let sums = self.tables.iter_mut().flat_map(|table| &mut table.sums);
        sums.for_each(|x| *x *= factor);
    }

    /// Adds a multiple of other moments.
    pub fn add(&mut self, factor: f64, others: &Self) {
        for (table, other) in self.tables.iter_mut().zip(&others.tables) {
            linalg::add_multiple(&mut table.sums, factor, &other.sums);
        }
    }

    /// Memory of the moments of p components, and of the products of a tile of samples.
    pub fn memory(p: usize) -> Memory {
        let firsts = (0..p).step_by(Self::K_PER_TABLE);
        let tables = firsts.map(|first| {
            let end = p.min(first + Self::K_PER_TABLE);
            Memory::of_numbers(&[pairs(end), (first..end).map(|k| p - k).sum()])
        });
        let products = Memory::of_numbers(&[2, pairs(p), TILE]);
        tables.fold(products, Memory::plus)
    }

    /// Returns the cumulant of two pairs of indices, i ≥ j and k ≥ l, of samples of this
    /// covariance.
    fn cumulant(&self, covariance: &Matrix, first: (usize, usize), second: (usize, usize)) -> f64 {
        // A cumulant is symmetric in its pairs. A fixed order makes the rounding independent of it.
        let ((i, j), (k, l)) = (first.max(second), first.min(second));
        let pairs = |a, b, c, d| covariance[(a, b)] * covariance[(c, d)];
        let gaussian = pairs(i, j, k, l) + pairs(i, k, j, l) + pairs(i, l, j, k);
        let mut ascending = [i, j, k, l];
        ascending.sort_unstable();
        self.moment(ascending) - gaussian
    }

    /// E[z_i z_j z_k z_l] for indices in ascending order.
    fn moment(&self, [i, j, k, l]: [usize; 4]) -> f64 {
        let table = &self.tables[k / Self::K_PER_TABLE];
        let p = self.triangle.size();
        let first = k - k % Self::K_PER_TABLE;
        let column = (first..k).map(|other| p - other).sum::<usize>() + l - k;
        table.sums[self.triangle.index(j, i) * table.columns.len() + column]
    }
}

impl Table {
    fn new(triangle: Triangle, k_range: Range<usize>) -> Self {
        let rows = triangle.row(k_range.end - 1).end;
        let columns: Vec<(usize, usize)> = k_range
            .flat_map(|k| (k..triangle.size()).map(move |l| (k, l)))
            .collect();
        Self {
            rows,
            sums: vec![0.0; rows * columns.len()],
            later: Vec::new(),
            columns,
        }
    }
}

fn multiply(x: &[f64], y: &[f64], out: &mut [f64]) {
    let products = out.iter_mut().zip(x.iter().zip(y));
    products.for_each(|(out, (x, y))| *out = x * y);
}
