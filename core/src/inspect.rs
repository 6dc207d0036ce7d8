//! What is in a set of matrices, good or bad: all that a constructor of [`MatrixSet`] would refuse,
//! by the same rules, and what else is worth knowing.
//!
//! [`MatrixSet`]: crate::MatrixSet

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::criterion::Criterion;
use crate::error::Remedy;
use crate::linalg::{self, Matrix, Scalar};
use crate::matrices::{self, Block, Indefinite, SYMMETRY_TOLERANCE};
use crate::{Error, SetOptions};

/// What was found in a set of matrices. Matrices are counted from 0.
///
/// ```
/// // The first is fine; the second has a negative eigenvalue.
/// let data = [2.0, 0.5, 0.5, 1.0, 1.0, 0.0, 0.0, -3.0];
/// let found = codiag::inspect(&data, 2, 2)?;
/// assert!(!found.is_suitable());
/// assert_eq!(found.not_positive_definite, [1]);
/// assert_eq!(found.smallest_eigenvalue, Some(-3.0));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// How many matrices there are.
    pub matrices: usize,
    /// Their size p.
    pub size: usize,
    /// Those with an entry that is NaN or infinite; nothing else is asked of them.
    pub not_finite: Vec<usize>,
    /// Those that are not symmetric (if complex, Hermitian); nothing else is asked of them.
    pub asymmetric: Vec<usize>,
    /// The largest |C_ab − conj C_ba| / max |C| of all finite matrices.
    pub largest_asymmetry: f64,
    /// Those that are not positive definite.
    pub not_positive_definite: Vec<usize>,
    /// What would make them positive definite; None if all of them are.
    pub remedy: Option<Remedy>,
    /// The smallest of all eigenvalues.
    pub smallest_eigenvalue: Option<f64>,
    /// The smallest rank of all matrices.
    pub smallest_rank: usize,
    /// The rank of their mean.
    pub mean_rank: usize,
    /// A diagonal entry of the mean outside of the range in which products of entries can be
    /// computed.
    pub out_of_range: Option<f64>,
    /// The mean of ‖C‖², of which criteria other than the likelihood take shares.
    pub energy: f64,
    /// The median of the condition numbers of all positive definite matrices.
    pub median_condition_number: Option<f64>,
    /// The largest of them.
    pub largest_condition_number: Option<f64>,
    /// The matrix that has it.
    pub worst_conditioned: Option<usize>,
    /// The largest trace divided by the smallest; None if a trace is not positive.
    pub scale_ratio: Option<f64>,
    /// Matrices equal to an earlier one, each with the first that it equals.
    pub duplicates: Vec<(usize, usize)>,
}

impl Inspection {
    /// Whether the matrices can be diagonalized as they are, by the likelihood.
    pub fn is_suitable(&self) -> bool {
        self.suits(Criterion::Likelihood)
    }

    /// Whether they can be diagonalized as they are by this criterion.
    ///
    /// ```
    /// let found = codiag::inspect(&[1.0, 0.0, 0.0, -3.0], 1, 2)?;
    /// assert!(!found.suits(codiag::Criterion::Likelihood));
    /// assert!(found.suits(codiag::Criterion::Frobenius));
    /// # Ok::<(), codiag::Error>(())
    /// ```
    pub fn suits(&self, criterion: Criterion) -> bool {
        self.not_finite.is_empty()
            && self.asymmetric.is_empty()
            && self.out_of_range.is_none()
            && matrices::check_constant(criterion, self.energy).is_ok()
            && (self.not_positive_definite.is_empty() || !criterion.requires_definite())
    }
}

/// Looks at n matrices of n·p·p numbers, each row after row.
///
/// ```
/// let data = codiag::synthetic::Synthetic::new(20, 4, 0.1, 0).data;
/// let found = codiag::inspect(&data, 20, 4)?;
/// assert!(found.is_suitable() && found.mean_rank == 4);
/// # Ok::<(), codiag::Error>(())
/// ```
///
/// # Errors
/// If there are no matrices, or not as many numbers as they should have. What is wrong with the
/// matrices themselves is no error, but what the [`Inspection`] tells.
pub fn inspect<T: Scalar>(data: &[T], n: usize, p: usize) -> Result<Inspection, Error> {
    matrices::check_shape(data, n, p)?;
    let mut inspector = Inspector::new(p)?;
    for matrix in data.chunks_exact(p * p) {
        inspector.add(matrix)?;
    }
    inspector.finish()
}

/// Looks at matrices that come one after the other, so that they need not be in memory all at once.
///
/// ```
/// use codiag::Inspector;
/// let mut inspector = Inspector::new(2)?;
/// inspector.add(&[2.0, 0.5, 0.5, 1.0])?;
/// inspector.add(&[1.0, f64::NAN, 0.0, 1.0])?;
/// inspector.add(&[2.0, 0.5, 0.5, 1.0])?;
/// let found = inspector.finish()?;
/// assert_eq!((found.matrices, &found.not_finite[..]), (3, &[1][..]));
/// assert_eq!(found.duplicates, [(2, 0)]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Inspector<T = f64> {
    found: Inspection,
    /// Of all matrices that are finite and symmetric.
    sum: Matrix<T>,
    smallest_trace: f64,
    largest_trace: f64,
    /// Of the positive definite matrices, with their numbers.
    conditions: Vec<(f64, usize)>,
    indefinite: Vec<Indefinite>,
    /// Hashes of the entries, with the first matrix that has them.
    seen: HashMap<u64, usize>,
}

impl<T: Scalar> Inspector<T> {
    /// For matrices of size p×p.
    ///
    /// # Errors
    /// If p is 0, or larger than can be.
    pub fn new(p: usize) -> Result<Self, Error> {
        if p == 0 {
            let shape = vec![0, 0, 0];
            return Err(Error::Shape { shape });
        }
        matrices::checked_count(1, p)?;
        Ok(Self {
            found: Inspection {
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

    /// Looks at the next matrix, p·p numbers row after row.
    ///
    /// # Errors
    /// If it has another number of entries.
    pub fn add(&mut self, matrix: &[T]) -> Result<(), Error> {
        let (p, index) = (self.found.size, self.found.matrices);
        if matrix.len() != p * p {
            return Err(Error::MatrixLength {
                matrix: index,
                size: p,
                actual: matrix.len(),
            });
        }
        self.found.matrices += 1;
        if !linalg::reals(matrix).iter().all(|x| x.is_finite()) {
            self.found.not_finite.push(index);
            return Ok(());
        }
        self.compare(matrix, index);
        let asymmetry = matrices::asymmetry(p, matrix).map_or(0.0, |(_, _, most)| most);
        self.found.largest_asymmetry = self.found.largest_asymmetry.max(asymmetry);
        if asymmetry > SYMMETRY_TOLERANCE {
            self.found.asymmetric.push(index);
            return Ok(());
        }
        // As a constructor sees it: its symmetric part, in the lane of a block.
        let block = Block::gather(p, &[matrix], index, &SetOptions::default())?;
        self.examine(&block, index);
        Ok(())
    }

    /// Whether the same matrix came before. Two hashes of 64 bits are equal by chance once in 10¹⁹.
    fn compare(&mut self, matrix: &[T], index: usize) {
        let mut hasher = DefaultHasher::new();
        let parts = linalg::reals(matrix).iter();
        parts.for_each(|x| x.to_bits().hash(&mut hasher));
        let first = *self.seen.entry(hasher.finish()).or_insert(index);
        if first != index {
            self.found.duplicates.push((index, first));
        }
    }

    /// The eigenvalues of a symmetric matrix, and whether it is positive definite.
    fn examine(&mut self, block: &Block<T>, index: usize) {
        let p = self.found.size;
        let mut entries = vec![T::ZERO; p * p];
        block.batch.unpack(0, &mut entries);
        let matrix = Matrix::from_rows(p, p, entries);
        linalg::add_multiple(self.sum.as_mut_slice(), 1.0, matrix.as_slice());
        self.found.energy += linalg::dot(matrix.as_slice(), matrix.as_slice());
        let trace: f64 = (0..p).map(|a| matrix[(a, a)].real()).sum();
        self.smallest_trace = self.smallest_trace.min(trace);
        self.largest_trace = self.largest_trace.max(trace);
        let (_, singular) = matrices::factorize_block(block);
        if singular.is_some() {
            self.found.not_positive_definite.push(index);
            self.indefinite.push(Indefinite::new(block, 0, index));
        }
        let eigenvalues = linalg::symmetric_eigenvalues(&matrix).unwrap_or_default();
        let (Some(&low), Some(&high)) = (eigenvalues.first(), eigenvalues.last()) else {
            return;
        };
        let smallest = self.found.smallest_eigenvalue.get_or_insert(low);
        *smallest = smallest.min(low);
        self.found.smallest_rank = self
            .found
            .smallest_rank
            .min(matrices::rank_by_size(&eigenvalues));
        if singular.is_none() {
            // Rounding may make the smallest eigenvalue of a definite matrix negative.
            let condition = high / low.max(f64::MIN_POSITIVE);
            self.conditions.push((condition, index));
        }
    }

    /// What was found.
    ///
    /// # Errors
    /// If there was no matrix.
    pub fn finish(self) -> Result<Inspection, Error> {
        let mut found = self.found;
        let p = found.size;
        if found.matrices == 0 {
            let shape = vec![0, p, p];
            return Err(Error::Shape { shape });
        }
        let refused = found.not_finite.len() + found.asymmetric.len();
        let mut mean = self.sum;
        let count = (found.matrices - refused).max(1) as f64;
        let entries = mean.as_mut_slice().iter_mut();
        entries.for_each(|x| *x = *x / count);
        found.energy /= count;
        found.mean_rank = matrices::numerical_rank(&mean).unwrap_or(0);
        if let Err(Error::Range { power }) = matrices::check_range(&mean) {
            found.out_of_range = Some(power);
        }
        found.remedy = self
            .indefinite
            .iter()
            .map(|matrix| matrix.remedy(&mean))
            .reduce(stronger);
        let mut conditions = self.conditions;
        conditions.sort_by(|x, y| x.0.total_cmp(&y.0));
        if let Some(&(worst, index)) = conditions.last() {
            let n = conditions.len();
            let middle = |k: usize| conditions[k].0;
            found.median_condition_number = Some(0.5 * middle((n - 1) / 2) + 0.5 * middle(n / 2));
            found.largest_condition_number = Some(worst);
            found.worst_conditioned = Some(index);
        }
        if self.smallest_trace > 0.0 && self.smallest_trace.is_finite() {
            found.scale_ratio = Some(self.largest_trace / self.smallest_trace);
        }
        Ok(found)
    }
}

/// The remedy that two matrices need together: nothing helps if nothing helps one of them; a shared
/// null space comes first, since shrinkage would hide it.
fn stronger(x: Remedy, y: Remedy) -> Remedy {
    match (x, y) {
        (Remedy::None, _) | (_, Remedy::None) => Remedy::None,
        (Remedy::Reduce { rank }, _) | (_, Remedy::Reduce { rank }) => Remedy::Reduce { rank },
        (Remedy::Shrink { shrinkage: x }, Remedy::Shrink { shrinkage: y }) => Remedy::Shrink {
            shrinkage: x.max(y),
        },
    }
}

/// All but the remedy, which each interface puts in words of its own, and whether the set is suitable,
/// which depends on the criterion.
#[cfg(feature = "serde")]
impl serde::Serialize for Inspection {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Inspection", 16)?;
        fields.serialize_field("matrices", &self.matrices)?;
        fields.serialize_field("size", &self.size)?;
        fields.serialize_field("not_finite", &self.not_finite)?;
        fields.serialize_field("asymmetric", &self.asymmetric)?;
        fields.serialize_field("largest_asymmetry", &self.largest_asymmetry)?;
        fields.serialize_field("not_positive_definite", &self.not_positive_definite)?;
        fields.serialize_field("smallest_eigenvalue", &self.smallest_eigenvalue)?;
        fields.serialize_field("smallest_rank", &self.smallest_rank)?;
        fields.serialize_field("mean_rank", &self.mean_rank)?;
        fields.serialize_field("out_of_range", &self.out_of_range)?;
        fields.serialize_field("energy", &self.energy)?;
        fields.serialize_field("median_condition_number", &self.median_condition_number)?;
        fields.serialize_field("largest_condition_number", &self.largest_condition_number)?;
        fields.serialize_field("worst_conditioned", &self.worst_conditioned)?;
        fields.serialize_field("scale_ratio", &self.scale_ratio)?;
        fields.serialize_field("duplicates", &self.duplicates)?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::c64;
    use crate::{MatrixSet, Rank};

    /// n matrices of size p that are clearly positive definite.
    fn good(n: usize, p: usize) -> Vec<f64> {
        let entry = |i: usize, a: usize, b: usize| {
            let diagonal = if a == b { 2.0 + (i + a) as f64 } else { 0.0 };
            diagonal + 0.1 * ((a + b + i) % 3) as f64
        };
        let mut data = Vec::new();
        for i in 0..n {
            data.extend((0..p * p).map(|k| entry(i, k / p, k % p)));
        }
        data
    }

    /// Whether a set can be made of the data, which must be what the inspection says.
    fn agreed(data: &[f64], n: usize, p: usize) -> Inspection {
        let found = inspect(data, n, p).unwrap();
        let made = MatrixSet::new(data, n, p);
        assert_eq!(found.is_suitable(), made.is_ok(), "{found:?}");
        match made {
            Err(Error::NotFinite { matrix, .. }) => assert_eq!(found.not_finite[0], matrix),
            Err(Error::Asymmetric {
                matrix, asymmetry, ..
            }) => {
                assert_eq!(found.asymmetric[0], matrix);
                assert!(found.largest_asymmetry >= asymmetry);
            }
            Err(Error::NotPositiveDefinite { matrix, .. }) => {
                assert_eq!(Some(found.not_positive_definite[0]), matrix);
            }
            Err(Error::Range { power }) => assert_eq!(found.out_of_range, Some(power)),
            Err(other) => panic!("{other}"),
            Ok(_) => {}
        }
        found
    }

    #[test]
    fn a_good_set_is_described() {
        let mut data = good(5, 3);
        data[9..18].copy_from_slice(&[8.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 2.0]);
        let (first, rest) = data.split_at_mut(18);
        rest[..9].copy_from_slice(&first[9..]);
        let found = agreed(&data, 5, 3);
        assert_eq!((found.matrices, found.size), (5, 3));
        assert_eq!((found.mean_rank, found.smallest_rank), (3, 3));
        assert_eq!(found.duplicates, [(2, 1)]);
        assert_eq!(found.remedy, None);
        assert!((found.largest_condition_number.unwrap() - 4.0).abs() < 1e-12);
        assert!((1..3).contains(&found.worst_conditioned.unwrap()));
        assert!(found.median_condition_number.unwrap() <= 4.0);
        let smallest = found.smallest_eigenvalue.unwrap();
        assert!(smallest > 1.5 && smallest <= 2.0, "{smallest}");
        assert!(found.scale_ratio.unwrap() > 1.0);
    }

    #[test]
    fn troubles_are_found_where_a_set_refuses_them() {
        let with = |change: &dyn Fn(&mut [f64])| {
            let mut data = good(6, 3);
            change(&mut data);
            agreed(&data, 6, 3)
        };
        assert_eq!(with(&|c| c[9 + 4] = f64::INFINITY).not_finite, [1]);
        assert_eq!(with(&|c| c[18 + 1] += 1e-6).asymmetric, [2]);
        let rounding = with(&|c| c[18 + 1] += 1e-9);
        assert!(rounding.asymmetric.is_empty() && rounding.largest_asymmetry > 0.0);
        assert!(
            with(&|c| c.iter_mut().for_each(|x| *x *= 1e-280))
                .out_of_range
                .is_some()
        );
        // Clearly negative: nothing helps.
        let negative = with(&|c| c[27] = -5.0);
        assert_eq!(negative.not_positive_definite, [3]);
        assert_eq!(negative.remedy, Some(Remedy::None));
    }

    #[test]
    fn complex_matrices_are_looked_at() {
        // i off the diagonal: Hermitian, with the eigenvalues 1 and 3; then symmetric, which is not Hermitian.
        let (two, i) = (c64::new(2.0, 0.0), c64::I);
        let data = [two, i, -i, two, two, i, i, two];
        let found = inspect(&data, 2, 2).unwrap();
        assert_eq!((found.asymmetric, found.mean_rank), (vec![1], 2));
        assert!((found.smallest_eigenvalue.unwrap() - 1.0).abs() < 1e-14);
        assert!((found.largest_condition_number.unwrap() - 3.0).abs() < 1e-13);
        let found = inspect(&[two + i], 1, 1).unwrap();
        assert_eq!(found.asymmetric, [0]);
    }

    #[test]
    fn remedies_help() {
        // All share a null space.
        let mut shared = good(4, 3);
        for matrix in shared.chunks_exact_mut(9) {
            for k in 0..3 {
                matrix[6 + k] = 0.0;
                matrix[3 * k + 2] = 0.0;
            }
        }
        let found = agreed(&shared, 4, 3);
        assert_eq!(found.remedy, Some(Remedy::Reduce { rank: 2 }));
        assert_eq!((found.mean_rank, found.smallest_rank), (2, 2));
        let reduced = SetOptions::default().rank(Rank::Auto);
        assert!(MatrixSet::with_options(&shared, 4, 3, &reduced).is_ok());
        // One alone is singular.
        let mut single = good(4, 3);
        single[9..18].fill(1.0);
        let found = agreed(&single, 4, 3);
        let Some(Remedy::Shrink { shrinkage }) = found.remedy else {
            panic!("{found:?}");
        };
        assert_eq!((found.mean_rank, found.smallest_rank), (3, 1));
        let shrunk = SetOptions::default().shrinkage(shrinkage);
        assert!(MatrixSet::with_options(&single, 4, 3, &shrunk).is_ok());
        let together = stronger(
            Remedy::Shrink { shrinkage: 0.1 },
            Remedy::Reduce { rank: 2 },
        );
        assert_eq!(together, Remedy::Reduce { rank: 2 });
        assert_eq!(stronger(Remedy::None, together), Remedy::None);
    }

    #[test]
    fn shapes_are_checked() {
        assert!(matches!(
            inspect::<f64>(&[], 0, 2),
            Err(Error::Shape { .. })
        ));
        assert!(matches!(inspect(&[1.0], 1, 2), Err(Error::Length { .. })));
        assert!(matches!(Inspector::<f64>::new(0), Err(Error::Shape { .. })));
        assert!(matches!(
            Inspector::<f64>::new(1 << 40),
            Err(Error::TooLarge { .. })
        ));
        let mut inspector = Inspector::new(2).unwrap();
        let short = inspector.add(&[1.0; 3]);
        assert!(matches!(short, Err(Error::MatrixLength { matrix: 0, .. })));
        assert!(matches!(inspector.finish(), Err(Error::Shape { .. })));
        // Nothing to say of matrices that are all refused.
        let found = inspect(&[f64::NAN], 1, 1).unwrap();
        assert_eq!((found.mean_rank, found.scale_ratio), (0, None));
    }
}
