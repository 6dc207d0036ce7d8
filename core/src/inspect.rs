//! Inspection of matrices: lists all matrices that a constructor of [`MatrixSet`] would reject, and
//! properties such as ranks and condition numbers.
//!
//! [`MatrixSet`]: crate::MatrixSet

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::data::Criterion;
use crate::data::{self, Block, IndefiniteMatrix, SYMMETRY_TOLERANCE};
use crate::error::Remedy;
use crate::linalg::{self, Matrix, Scalar};
use crate::{Error, SetOptions};

/// Properties of a set of matrices. Matrices are numbered from 0.
///
/// ```
/// // The first matrix is positive definite; the second has a negative eigenvalue.
/// let data = [2.0, 0.5, 0.5, 1.0, 1.0, 0.0, 0.0, -3.0];
/// let inspection = codiag::inspect(&data, 2, 2)?;
/// assert!(!inspection.is_suitable());
/// assert_eq!(inspection.not_positive_definite, [1]);
/// assert_eq!(inspection.smallest_eigenvalue, Some(-3.0));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// Number of matrices.
    pub matrices: usize,
    /// Size p of the matrices.
    pub size: usize,
    /// Matrices with an entry that is NaN or infinite. They are not examined further.
    pub not_finite: Vec<usize>,
    /// Matrices that are not symmetric (if complex, Hermitian). They are not examined further.
    pub asymmetric: Vec<usize>,
    /// Largest |C_ab − conj C_ba| / max |C| of all finite matrices.
    pub largest_asymmetry: f64,
    /// Matrices that are not positive definite.
    pub not_positive_definite: Vec<usize>,
    /// Option that makes all matrices positive definite; None if they already are.
    pub remedy: Option<Remedy>,
    /// Smallest eigenvalue of all matrices.
    pub smallest_eigenvalue: Option<f64>,
    /// Smallest rank of all matrices.
    pub smallest_rank: usize,
    /// Rank of the mean matrix.
    pub mean_rank: usize,
    /// Diagonal entry of the mean that is so large or small that products of entries would overflow
    /// or underflow; None if there is none.
    pub out_of_range: Option<f64>,
    /// Mean of ‖C‖², which normalizes the loss of the Frobenius and least-squares criteria.
    pub energy: f64,
    /// Median condition number of the positive definite matrices.
    pub median_condition_number: Option<f64>,
    /// Largest condition number of the positive definite matrices.
    pub largest_condition_number: Option<f64>,
    /// Index of the matrix with the largest condition number.
    pub worst_conditioned: Option<usize>,
    /// Ratio of the largest to the smallest trace; None if a trace is not positive.
    pub scale_ratio: Option<f64>,
    /// Matrices that are equal to an earlier one, each with the index of the first equal matrix.
    pub duplicates: Vec<(usize, usize)>,
}

impl Inspection {
    /// Whether the matrices can be diagonalized by the likelihood without further options.
    pub fn is_suitable(&self) -> bool {
        self.is_suitable_for(Criterion::Likelihood)
    }

    /// Whether the matrices can be diagonalized by this criterion without further options.
    ///
    /// ```
    /// let inspection = codiag::inspect(&[1.0, 0.0, 0.0, -3.0], 1, 2)?;
    /// assert!(!inspection.is_suitable_for(codiag::Criterion::Likelihood));
    /// assert!(inspection.is_suitable_for(codiag::Criterion::Frobenius));
    /// # Ok::<(), codiag::Error>(())
    /// ```
    pub fn is_suitable_for(&self, criterion: Criterion) -> bool {
        self.not_finite.is_empty()
            && self.asymmetric.is_empty()
            && self.out_of_range.is_none()
            && data::check_constant(criterion, self.energy).is_ok()
            && (self.not_positive_definite.is_empty() || !criterion.requires_definite())
    }
}

/// Inspects n matrices of size p×p, given as n·p·p numbers in row-major order.
///
/// ```
/// let data = codiag::synthetic::Synthetic::new(20, 4, 0.1, 0).data;
/// let inspection = codiag::inspect(&data, 20, 4)?;
/// assert!(inspection.is_suitable() && inspection.mean_rank == 4);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If there are no matrices, or the length of `data` is not n·p·p. Invalid matrices are not errors,
/// but are listed in the [`Inspection`].
pub fn inspect<T: Scalar>(data: &[T], n: usize, p: usize) -> Result<Inspection, Error> {
    data::check_shape(data, n, p)?;
    let mut inspector = Inspector::new(p)?;
    for matrix in data.chunks_exact(p * p) {
        inspector.add(matrix)?;
    }
    inspector.finish()
}

/// Inspects matrices one at a time, so that they need not all be in memory.
///
/// ```
/// use codiag::Inspector;
/// let mut inspector = Inspector::new(2)?;
/// inspector.add(&[2.0, 0.5, 0.5, 1.0])?;
/// inspector.add(&[1.0, f64::NAN, 0.0, 1.0])?;
/// inspector.add(&[2.0, 0.5, 0.5, 1.0])?;
/// let inspection = inspector.finish()?;
/// assert_eq!((inspection.matrices, &inspection.not_finite[..]), (3, &[1][..]));
/// assert_eq!(inspection.duplicates, [(2, 0)]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Inspector<T = f64> {
    inspection: Inspection,
    /// The sum of all matrices that are finite and symmetric.
    sum: Matrix<T>,
    smallest_trace: f64,
    largest_trace: f64,
    /// The condition numbers of positive definite matrices, with the indices of the matrices.
    conditions: Vec<(f64, usize)>,
    indefinite: Vec<IndefiniteMatrix>,
    /// Hashes of the entries, each with the index of the first such matrix.
    seen: HashMap<u64, usize>,
}

impl<T: Scalar> Inspector<T> {
    /// Creates an inspector of p×p matrices.
    ///
    /// # Errors
    /// If p is 0 or too large.
    pub fn new(p: usize) -> Result<Self, Error> {
        if p == 0 {
            let shape = vec![0, 0, 0];
            return Err(Error::Shape { shape });
        }
        data::checked_count(1, p)?;
        Ok(Self {
            inspection: Inspection {
                size: p,
                smallest_rank: p,
                ..Inspection::default()
            },
            sum: Matrix::zeros(p, p),
            smallest_trace: f64::INFINITY,
            largest_trace: 0.0,
            conditions: Vec::new(),
            indefinite: Vec::new(),
            seen: HashMap::new(),
        })
    }

    /// Inspects the next matrix, given as p·p numbers in row-major order.
    ///
    /// # Errors
    /// If the number of entries is not p·p.
    pub fn add(&mut self, matrix: &[T]) -> Result<(), Error> {
        let (p, index) = (self.inspection.size, self.inspection.matrices);
        if matrix.len() != p * p {
            return Err(Error::MatrixLength {
                matrix: index,
                size: p,
                actual: matrix.len(),
            });
        }
        self.inspection.matrices += 1;
        if !linalg::reals(matrix).iter().all(|x| x.is_finite()) {
            self.inspection.not_finite.push(index);
            return Ok(());
        }
        self.note_duplicate(matrix, index);
        let asymmetry = data::asymmetry(p, matrix).map_or(0.0, |(_, _, most)| most);
        self.inspection.largest_asymmetry = self.inspection.largest_asymmetry.max(asymmetry);
        if asymmetry > SYMMETRY_TOLERANCE {
            self.inspection.asymmetric.push(index);
            return Ok(());
        }
        // Only the symmetric part is used, as in the constructors of `MatrixSet`.
        let block = Block::gather(p, &[matrix], index, &SetOptions::default())?;
        self.examine(&block, index);
        Ok(())
    }

    /// Records whether a matrix equals an earlier one, by a 64-bit hash.
    fn note_duplicate(&mut self, matrix: &[T], index: usize) {
        let mut hasher = DefaultHasher::new();
        let parts = linalg::reals(matrix).iter();
        parts.for_each(|x| x.to_bits().hash(&mut hasher));
        let first = *self.seen.entry(hasher.finish()).or_insert(index);
        if first != index {
            self.inspection.duplicates.push((index, first));
        }
    }

    /// Records the eigenvalues of a symmetric matrix, and whether it is positive definite.
    fn examine(&mut self, block: &Block<T>, index: usize) {
        let p = self.inspection.size;
        let mut entries = vec![T::ZERO; p * p];
        block.batch.unpack(0, &mut entries);
        let matrix = Matrix::from_rows(p, p, entries);
        linalg::add_multiple(self.sum.as_mut_slice(), 1.0, matrix.as_slice());
        self.inspection.energy += linalg::dot(matrix.as_slice(), matrix.as_slice());
        let trace: f64 = (0..p).map(|a| matrix[(a, a)].real()).sum();
        self.smallest_trace = self.smallest_trace.min(trace);
        self.largest_trace = self.largest_trace.max(trace);
        let (_, singular) = data::factorize_block(block);
        if singular.is_some() {
            self.inspection.not_positive_definite.push(index);
            self.indefinite.push(IndefiniteMatrix::new(block, 0, index));
        }
        let eigenvalues = linalg::symmetric_eigenvalues(&matrix).unwrap_or_default();
        let (Some(&low), Some(&high)) = (eigenvalues.first(), eigenvalues.last()) else {
            return;
        };
        let smallest = self.inspection.smallest_eigenvalue.get_or_insert(low);
        *smallest = smallest.min(low);
        self.inspection.smallest_rank = self
            .inspection
            .smallest_rank
            .min(data::rank_by_size(&eigenvalues));
        if singular.is_none() {
            // Rounding may make the smallest eigenvalue of a definite matrix negative.
            let condition = high / low.max(f64::MIN_POSITIVE);
            self.conditions.push((condition, index));
        }
    }

    /// Returns the inspection of all matrices added.
    ///
    /// # Errors
    /// If no matrix was added.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn finish(self) -> Result<Inspection, Error> {
        let mut inspection = self.inspection;
        let p = inspection.size;
        if inspection.matrices == 0 {
            let shape = vec![0, p, p];
            return Err(Error::Shape { shape });
        }
        let excluded = inspection.not_finite.len() + inspection.asymmetric.len();
        let mut mean = self.sum;
        let count = (inspection.matrices - excluded).max(1) as f64;
        let entries = mean.as_mut_slice().iter_mut();
        entries.for_each(|x| *x = *x / count);
        inspection.energy /= count;
        inspection.mean_rank = data::numerical_rank(&mean).unwrap_or(0);
        if let Err(Error::Range { power }) = data::check_range(&mean) {
            inspection.out_of_range = Some(power);
        }
        inspection.remedy = self
            .indefinite
            .iter()
            .map(|matrix| matrix.remedy(&mean))
            .reduce(combined_remedy);
        let mut conditions = self.conditions;
        conditions.sort_by(|x, y| x.0.total_cmp(&y.0));
        if let Some(&(worst, index)) = conditions.last() {
            let n = conditions.len();
            let condition = |k: usize| conditions[k].0;
            inspection.median_condition_number =
                Some(0.5 * condition((n - 1) / 2) + 0.5 * condition(n / 2));
            inspection.largest_condition_number = Some(worst);
            inspection.worst_conditioned = Some(index);
        }
        if self.smallest_trace > 0.0 && self.smallest_trace.is_finite() {
            inspection.scale_ratio = Some(self.largest_trace / self.smallest_trace);
        }
        Ok(inspection)
    }
}

/// Returns the remedy that makes both of two matrices positive definite: none if one of them has
/// none, and reduction in preference to shrinkage, which would hide a shared null space.
fn combined_remedy(x: Remedy, y: Remedy) -> Remedy {
    match (x, y) {
        (Remedy::None, _) | (_, Remedy::None) => Remedy::None,
        (Remedy::Reduce { rank }, _) | (_, Remedy::Reduce { rank }) => Remedy::Reduce { rank },
        (Remedy::Shrink { shrinkage: x }, Remedy::Shrink { shrinkage: y }) => Remedy::Shrink {
            shrinkage: x.max(y),
        },
    }
}

/// Serializes all fields except the remedy, which each binding describes in its own terms.
#[cfg(feature = "serde")]
impl serde::Serialize for Inspection {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Inspection", 16)?;
        macro_rules! serialize {
            ($($name:ident)*) => {$(fields.serialize_field(stringify!($name), &self.$name)?;)*};
        }
        serialize!(matrices size not_finite asymmetric largest_asymmetry not_positive_definite);
        serialize!(smallest_eigenvalue smallest_rank mean_rank out_of_range energy);
        serialize!(median_condition_number largest_condition_number worst_conditioned);
        serialize!(scale_ratio duplicates);
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combined_remedy_prefers_none_then_reduction_then_shrinkage() {
        let shrink = Remedy::Shrink { shrinkage: 0.1 };
        let reduce = Remedy::Reduce { rank: 2 };
        assert_eq!(combined_remedy(shrink, reduce), reduce);
        assert_eq!(combined_remedy(Remedy::None, reduce), Remedy::None);
    }
}
