//! Fourth-order cumulants: how far a recording is from being Gaussian, and in which directions.

use std::ops::Range;

use super::centered::{Centered, Span, parts};
use super::lags::epoch_sets;
use super::principal;
use super::reader::{Buffers, Coordinates, Reader};
use super::segments::usable_spans;
use super::{Components, CovarianceOptions, Covariances, Epochs, Piece, Recording};
use crate::data::needs;
use crate::error::{MemoryRemedy, Setting};
use crate::linalg::{self, Matrix, Triangle};
use crate::threads::Workers;
use crate::{Error, MatrixSet, Memory, SetOptions};

/// The cumulant matrices of a whitened recording, and its whitener.
///
/// ```
/// use codiag::signals::{Components, CovarianceOptions, View, cumulants, simulate};
/// use codiag::{Criterion, SetOptions, Settings, diagonalize};
///
/// let made = simulate::voices(3, 2.0, 0);
/// let recording = View::new(&made.data, made.channels, made.samples)?;
/// let options = CovarianceOptions::default();
/// let found = cumulants(&recording, Components::All, &[], &options)?;
/// assert_eq!((found.matrices.n, found.matrices.p), (6, 3));
///
/// // What `Separation` with `Contrast::Cumulants` does: JADE.
/// let set = found.matrices.set(&SetOptions::default().criterion(Criterion::Frobenius))?;
/// let rotation = diagonalize(&set, &Settings::default())?.b;
/// let filters = &rotation * &found.whitener;
/// assert_eq!((filters.rows(), filters.columns()), (3, 3));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cumulants {
    /// r(r+1)/2 matrices Q_ij, j ≤ i, row after row of the lower triangle. With the whitened z,
    /// Q_ij = E\[z_i z_j z zᵀ\] − δ_ij I − e_i e_jᵀ − e_j e_iᵀ, times √2 if i ≠ j: together they then
    /// count as all r² matrices do.
    pub matrices: Covariances,
    /// z = W x: principal components of unit variance, one per row.
    pub whitener: Matrix,
}

/// The fourth-order cumulants of a recording, whitened, without some spans of samples.
///
/// # Errors
/// If there are not that many components, a sample is not finite, or an option is out of its range; the
/// shrinkage must be none.
pub fn cumulants(
    recording: &dyn Recording,
    components: Components,
    exclude: &[Range<usize>],
    options: &CovarianceOptions,
) -> Result<Cumulants, Error> {
    let piece = usable_spans(recording.samples(), exclude)?;
    of_pieces(recording, vec![piece], components, options)
}

/// The fourth-order cumulants of all epochs together, each of which is centred by itself.
///
/// ```
/// use codiag::signals::{Components, CovarianceOptions, Epochs, epoch_cumulants, simulate};
///
/// let made = simulate::nonstationary(2, 6, 50, 0);
/// // The recording as 6 epochs of 2 channels and 50 samples, without a copy.
/// let epochs = Epochs::with_strides(&made.data, [6, 2, 50], [50, 300, 1])?;
/// let found = epoch_cumulants(&epochs, Components::All, &CovarianceOptions::default())?;
/// assert_eq!(found.matrices.n, 3);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// As for [`cumulants`].
pub fn epoch_cumulants(
    epochs: &Epochs<'_>,
    components: Components,
    options: &CovarianceOptions,
) -> Result<Cumulants, Error> {
    let pieces = epoch_sets(epochs, None)?.into_iter().flatten().collect();
    of_pieces(epochs, pieces, components, options)
}

fn of_pieces(
    recording: &dyn Recording,
    pieces: Vec<Piece>,
    components: Components,
    options: &CovarianceOptions,
) -> Result<Cumulants, Error> {
    options.shrinkage.refuse()?;
    let reader = Reader {
        recording,
        coordinates: Coordinates::Channels,
        center: options.center,
    };
    let mut centered = Centered::new(reader, &[pieces])?;
    let covariance = centered.covariance(options.threads)?;
    let p = recording.channels();
    let powers = || Ok((0..p).map(|a| covariance[(a, a)]).collect());
    let scale = options.scale.factors(p, powers)?;
    let (reduction, _) = principal::whiten(&covariance, scale.as_deref(), components)?;
    let whitener = reduction.filters().clone();
    centered.reader.coordinates = Coordinates::Filtered(whitener.clone());
    check_memory(
        "a set of cumulant matrices",
        centered.dimension(),
        memory_of_matrices,
    )?;
    Ok(Cumulants {
        matrices: of_white(&centered, options.threads)?,
        whitener,
    })
}

/// The cumulants of what is white in the reader's coordinates.
pub(super) fn of_white(
    centered: &Centered<'_>,
    threads: Option<usize>,
) -> Result<Covariances, Error> {
    let spans: Vec<Span> = centered.sets().iter().flatten().cloned().collect();
    let mut moments = FourthMoments::sums(centered, &spans, threads)?;
    moments.scale(1.0 / centered.samples() as f64);
    Ok(of_moments(
        &moments,
        &Matrix::identity(centered.dimension()),
    ))
}

/// The set of the cumulants of what is white in the reader's coordinates. It is the only copy of them.
pub(super) fn set_of_white(
    centered: &Centered<'_>,
    threads: Option<usize>,
    options: &SetOptions,
) -> Result<MatrixSet, Error> {
    let p = centered.dimension();
    check_memory("JADE", p, memory_of_separation)?;
    let spans: Vec<Span> = centered.sets().iter().flatten().cloned().collect();
    let mut moments = FourthMoments::sums(centered, &spans, threads)?;
    moments.scale(1.0 / centered.samples() as f64);
    let identity = Matrix::identity(p);
    let triangle = Triangle::new(p);
    let pairs: Vec<(usize, usize)> = triangle.pairs().collect();
    let matrices = pairs.iter().map(|(i, j)| {
        let mut matrix = vec![0.0; p * p];
        for (k, l) in triangle.pairs() {
            let x = factor(*i, *j) * moments.cumulant(&identity, (*i, *j), (k, l));
            matrix[k * p + l] = x;
            matrix[l * p + k] = x;
        }
        matrix
    });
    MatrixSet::from_matrices(p, matrices, options)
}

/// More components than this are not suggested where there is too little memory.
const SUGGESTED_COMPONENTS: usize = 40;

/// Fails if what needs so much `memory` for p components does not fit.
pub(super) fn check_memory(
    what: &str,
    p: usize,
    memory: impl Fn(usize) -> Memory,
) -> Result<(), Error> {
    memory(p).check(
        || format!("{what} of {p} components"),
        |available| {
            let most = SUGGESTED_COMPONENTS.min(p);
            MemoryRemedy::largest(Setting::Components, most, available, &memory)
        },
    )
}

/// The matrices, and the moments that they are made of.
fn memory_of_matrices(p: usize) -> Memory {
    let pairs = p.saturating_mul(p.saturating_add(1)) / 2;
    FourthMoments::memory(p).plus(Memory::of_numbers(&[pairs, p, p]))
}

/// The larger of what the set takes while it is made and while it is diagonalized.
fn memory_of_separation(p: usize) -> Memory {
    let pairs = p.saturating_mul(p.saturating_add(1)) / 2;
    let made = FourthMoments::memory(p);
    let solved = needs::of_solve::<f64>(pairs, p);
    needs::of_blocks::<f64>(pairs, p).plus(made.max(solved))
}

/// What one draw of blocks of time takes: moments, matrices, and their set and its solve.
pub(super) fn memory_of_draw(p: usize) -> Memory {
    let pairs = p.saturating_mul(p.saturating_add(1)) / 2;
    let solved = needs::of_solve::<f64>(pairs, p);
    let set = needs::of_blocks::<f64>(pairs, p);
    memory_of_matrices(p).plus(set).plus(solved)
}

/// The cumulants of samples of these moments, the fourth and the second.
pub(super) fn of_moments(moments: &FourthMoments, covariance: &Matrix) -> Covariances {
    let p = covariance.rows();
    let triangle = Triangle::new(p);
    let n = triangle.len();
    let mut data = vec![0.0; n * p * p];
    let mut set = |(q, (i, j)): (usize, (usize, usize)), (k, l): (usize, usize), x: f64| {
        let matrix = &mut data[q * p * p..][..p * p];
        matrix[k * p + l] = factor(i, j) * x;
        matrix[l * p + k] = factor(i, j) * x;
    };
    for first in triangle.pairs().enumerate() {
        // A cumulant is symmetric in all its indices, and so in both of its pairs.
        for second in triangle.pairs().enumerate().take(first.0 + 1) {
            let cumulant = moments.cumulant(covariance, first.1, second.1);
            set(first, second.1, cumulant);
            set(second, first.1, cumulant);
        }
    }
    Covariances {
        data,
        n,
        p,
        shrinkages: vec![0.0; n],
    }
}

/// The cumulants of W z, from those of z.
pub(super) fn transformed(cumulants: Covariances, w: &Matrix) -> Covariances {
    let p = cumulants.p;
    let triangle = Triangle::new(p);
    let both = |m: &Matrix| linalg::product_transposed(&linalg::product(w, m), w);
    // Q_ij for all i, j, at one place k, l after the other, and the other way round.
    let mut out = cumulants;
    for matrix in out.data.chunks_exact_mut(p * p) {
        let own = Matrix::from_rows(p, p, matrix.to_vec());
        matrix.copy_from_slice(both(&own).as_slice());
    }
    for (k, l) in triangle.pairs() {
        let own = |q: usize| out.data[q * p * p + k * p + l];
        let value = |i: usize, j: usize| own(triangle.index(i, j)) / factor(i, j);
        let outer = both(&Matrix::from_fn(p, p, value));
        for (q, (i, j)) in triangle.pairs().enumerate() {
            let matrix = &mut out.data[q * p * p..][..p * p];
            matrix[k * p + l] = factor(i, j) * outer[(i, j)];
            matrix[l * p + k] = factor(i, j) * outer[(i, j)];
        }
    }
    out
}

/// Q_ij with i ≠ j stands for Q_ji too.
fn factor(i: usize, j: usize) -> f64 {
    if i == j {
        1.0
    } else {
        std::f64::consts::SQRT_2
    }
}

/// All E[z_i z_j z_k z_l], or sums instead of means, with i ≤ j ≤ k ≤ l.
///
/// For some k at a time they are one matrix product: of the pair products z_j z_i with j ≤ k, and those of
/// z_k with all z_l, l ≥ k. So most moments are formed once, where a product of all pairs with all pairs
/// would form them up to six times.
#[derive(Clone)]
pub(super) struct FourthMoments {
    triangle: Triangle,
    tables: Vec<Table>,
}

/// The samples multiplied at once: the pair products of a tile stay in the caches.
const TILE: usize = 512;

/// The moments of a few k: one row per pair (j, i), one column per pair (k, l).
#[derive(Clone)]
struct Table {
    columns: Vec<(usize, usize)>,
    rows: usize,
    sums: Vec<f64>,
    /// The products of the columns, for one tile of samples.
    later: Vec<f64>,
}

impl FourthMoments {
    /// As many k share a table: with fewer, its columns are too few for a fast product; with more, more of
    /// its entries are formed twice.
    const SHARED: usize = 4;

    /// Sums over some spans.
    pub fn sums(
        centered: &Centered<'_>,
        spans: &[Span],
        threads: Option<usize>,
    ) -> Result<Self, Error> {
        let p = centered.dimension();
        let triangle = Triangle::new(p);
        let mut tables: Vec<Table> = (0..p)
            .step_by(Self::SHARED)
            .map(|first| Table::new(triangle, first..p.min(first + Self::SHARED)))
            .collect();
        let workers = Workers::for_work(threads, TILE * p * p * p * p / 24);
        let mut products = vec![0.0; triangle.len() * TILE];
        let mut buffers = Buffers::default();
        for part in parts(spans.iter(), centered.convenient_length()) {
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

    /// All of them times a number.
    pub fn scale(&mut self, factor: f64) {
        let sums = self.tables.iter_mut().flat_map(|table| &mut table.sums);
        sums.for_each(|x| *x *= factor);
    }

    /// Adds a multiple of others.
    pub fn add(&mut self, factor: f64, others: &Self) {
        for (own, other) in self.tables.iter_mut().zip(&others.tables) {
            linalg::add_multiple(&mut own.sums, factor, &other.sums);
        }
    }

    /// How much memory the moments of p components take, and the products of a tile of samples.
    pub fn memory(p: usize) -> Memory {
        let firsts = (0..p).step_by(Self::SHARED);
        let tables = firsts.map(|first| {
            let end = p.min(first + Self::SHARED);
            let pairs = end.saturating_mul(end + 1) / 2;
            Memory::of_numbers(&[pairs, (first..end).map(|k| p - k).sum()])
        });
        let pairs = p.saturating_mul(p.saturating_add(1)) / 2;
        let products = Memory::of_numbers(&[2, pairs, TILE]);
        tables.fold(products, Memory::plus)
    }

    /// The cumulant of two pairs of indices, i ≥ j and k ≥ l, of samples of this covariance.
    fn cumulant(&self, covariance: &Matrix, first: (usize, usize), second: (usize, usize)) -> f64 {
        // A cumulant is symmetric in its pairs: of the later one, i is the largest of all indices.
        let ((i, j), (k, l)) = (first.max(second), first.min(second));
        let pairs = |a, b, c, d| covariance[(a, b)] * covariance[(c, d)];
        let gaussian = pairs(i, j, k, l) + pairs(i, k, j, l) + pairs(i, l, j, k);
        let ascending = if j >= k {
            [l, k, j, i]
        } else if j >= l {
            [l, j, k, i]
        } else {
            [j, l, k, i]
        };
        self.of(ascending) - gaussian
    }

    /// E[z_i z_j z_k z_l] for indices in ascending order.
    fn of(&self, [i, j, k, l]: [usize; 4]) -> f64 {
        let table = &self.tables[k / Self::SHARED];
        let p = self.triangle.size();
        let first = k - k % Self::SHARED;
        let column = (first..k).map(|other| p - other).sum::<usize>() + l - k;
        table.sums[self.triangle.index(j, i) * table.columns.len() + column]
    }
}

impl Table {
    fn new(triangle: Triangle, some: Range<usize>) -> Self {
        let rows = triangle.row(some.end - 1).end;
        let columns: Vec<(usize, usize)> = some
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
