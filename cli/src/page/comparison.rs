//! How diagonal the matrices are for the channels, for PCA and for B.

use codiag::{Criterion, Evaluation, Matrix, MatrixSet, Rank, Reduction, Scalar};
use maud::{Markup, html};

use super::solve::SolveResult;
use super::{heat_map, table};
use crate::figure::heat;
use crate::format::{self, short};

/// Number of multiplications that the comparison may cost for each basis; of larger sets, evenly
/// spaced matrices are used.
const MAX_MULTIPLICATIONS: usize = 1 << 30;
/// Smallest and largest number of matrices that are used, if there are enough.
const MIN_MATRICES: usize = 4;
const MAX_MATRICES: usize = 4096;

/// What the criterion makes small, for three bases.
pub struct Comparison {
    bases: Vec<Basis>,
    measure: Measure,
    /// Number of matrices that were used, and number of all matrices.
    used: usize,
    all: usize,
}

/// Quantity that is averaged over the matrices. Its unit is that of the criterion, so that smaller
/// values mean a smaller loss.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    /// Correlations of D = B C Bᴴ.
    Correlation,
    /// Off-diagonal entries of D, relative to the root mean square of the eigenvalues.
    OffDiagonal,
    /// Entries of C − A Λ Aᴴ, relative to the root mean square of the eigenvalues.
    Residual,
}

struct Basis {
    name: &'static str,
    /// Root mean square over the matrices of each entry.
    entries: Matrix,
    /// Root mean square of all entries.
    rms: f64,
    /// Loss, if it is defined for this basis.
    loss: Option<f64>,
}

impl Comparison {
    /// Compares the channels, the eigenvectors of the mean and a result. Returns None if the mean
    /// of the set has no eigenvectors, or the result is not one of this set.
    pub fn of<T: Scalar>(set: &MatrixSet<T>, result: &SolveResult<'_, T>) -> Option<Self> {
        let (n, r, p) = (set.len(), set.dimension(), set.channels());
        let measure = match set.criterion() {
            Criterion::Likelihood => Measure::Correlation,
            Criterion::LeastSquares => Measure::Residual,
            _ => Measure::OffDiagonal,
        };
        let fits = measure != Measure::Residual || result.powers.rows() == n;
        if !fits || result.b.columns() != p || result.b.rows() != r {
            return None;
        }
        let patterns = set.reduction().map(Reduction::patterns);
        // The matrices of a reduced set have the coordinates of the reduction.
        let channels = |c: &Matrix<T>| patterns.map_or_else(|| c.clone(), |a| congruence(a, c));
        // All eigenvectors in descending order of eigenvalues, one per row.
        let eigenvectors = Reduction::of_energy(&channels(set.mean()), Rank::Full).ok()?;
        let pca = Matrix::from_fn(r, p, |a, c| eigenvectors.filters()[(a, c)]);
        let affordable = MAX_MULTIPLICATIONS / p.pow(3);
        let used = affordable.clamp(MIN_MATRICES, MAX_MATRICES).min(n);
        let identity = Matrix::identity(p);
        let loss =
            |b: &Matrix<T>| Some(Evaluation::at(set, b).ok()?.loss).filter(|x| x.is_finite());
        let losses = [
            loss(&identity).filter(|_| patterns.is_none()),
            loss(&pca),
            loss(result.b),
        ];
        let mut sums = Sums::new(set, used);
        let squares = [
            sums.mean(measure, |_, c| transformed(measure, c, &identity, channels)),
            sums.mean(measure, |_, c| transformed(measure, c, &pca, channels)),
            sums.mean(measure, |i, c| match measure {
                Measure::Residual => residual(&channels(c), result.a, result.powers.row(i)),
                _ => congruence(result.b, &channels(c)),
            }),
        ];
        let unit = match measure {
            Measure::Correlation => 1.0,
            _ => (sums.energy() / r as f64).max(f64::MIN_POSITIVE),
        };
        let names = ["Channels", "PCA", "B"];
        let bases = names.into_iter().zip(squares).zip(losses);
        let bases = bases.map(|((name, squares), loss)| {
            let size = squares.rows();
            let entries = Matrix::from_fn(size, size, |a, b| {
                if a == b && measure != Measure::Residual {
                    0.0
                } else {
                    (squares[(a, b)] / unit).sqrt()
                }
            });
            let count = match measure {
                Measure::Residual => size * size,
                _ => size * (size - 1),
            };
            Basis {
                name,
                rms: entries.norm() / (count.max(1) as f64).sqrt(),
                entries,
                loss,
            }
        });
        Some(Self {
            bases: bases.collect(),
            measure,
            used,
            all: n,
        })
    }

    /// Heat maps and a table.
    pub(super) fn markup(&self) -> Markup {
        let entries = self.bases.iter().flat_map(|basis| basis.entries.as_slice());
        let largest = entries.fold(0.0_f64, |m, x| m.max(*x));
        // The maps are blank if all entries are zero.
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let (unit, explanation) = match self.measure {
            Measure::Correlation => (
                "RMS correlation",
                "Root mean square over the matrices of the correlation of each pair: zero everywhere means that all \
                 matrices are diagonal. PCA (the eigenvectors of the mean) makes the mean diagonal, but not each matrix.",
            ),
            Measure::OffDiagonal => (
                "RMS entry",
                "Root mean square over the matrices of each off-diagonal entry, relative to that of the eigenvalues: zero \
                 everywhere means that all matrices are diagonal. PCA (the eigenvectors of the mean) makes the mean diagonal, but not each matrix.",
            ),
            Measure::Residual => (
                "RMS residual",
                "Root mean square over the matrices of each entry of the residual of the fit, relative to that of the \
                 eigenvalues: zero everywhere means that the fit is exact. For the channels, A is the identity; for PCA, its columns \
                 are the eigenvectors of the mean.",
            ),
        };
        let rows = html! {
            tbody {
                @for basis in &self.bases {
                    tr {
                        td { (basis.name) }
                        td { (short(basis.rms)) }
                        td { (basis.loss.map_or("–".to_owned(), |loss| format::loss(loss, 6))) }
                    }
                }
            }
        };
        html! {
            p {
                (explanation)
                @if self.used < self.all { " Computed from " (self.used) " evenly spaced matrices of " (self.all) "." }
            }
            div.panels.heat-three {
                @for basis in &self.bases {
                    @let (p, description) = (basis.entries.rows(), format!("{unit} for {}", basis.name));
                    figure {
                        (heat_map(p, p, &description, |a, b| basis.entries[(a, b)] / scale))
                        figcaption { (basis.name) ": overall " (short(basis.rms)) "." }
                    }
                }
            }
            p.scale { "0 " img alt="color scale" src=(heat::data_url(1, 64, |_, column| column as f64 / 63.0)); " " (short(largest)) }
            (table(None, &[&["basis"], &[unit], &["loss"]], &rows))
            p {
                @if self.measure == Measure::Residual { "The loss is 0 if the fit is exact." }
                @else { "The loss is 0 if all matrices are diagonal." }
                " Compare the loss at B with the losses of the channels and of PCA: the part that remains at B is noise, or \
                 the matrices have no common diagonalizer."
            }
        }
    }
}

/// Weighted means over evenly spaced matrices of a set.
struct Sums<'a, T> {
    set: &'a MatrixSet<T>,
    chosen: Vec<usize>,
}

impl<'a, T: Scalar> Sums<'a, T> {
    fn new(set: &'a MatrixSet<T>, used: usize) -> Self {
        let n = set.len();
        Self {
            set,
            chosen: (0..used).map(|k| k * n / used).collect(),
        }
    }

    /// Sum of the weights.
    fn total(&self) -> f64 {
        let weights = self.chosen.iter().map(|i| self.set.weights()[*i]);
        weights.sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// Mean of ‖C‖².
    fn energy(&self) -> f64 {
        let energy = |i: &usize| self.set.weights()[*i] * self.set.matrix(*i).norm().powi(2);
        self.chosen.iter().map(energy).sum::<f64>() / self.total()
    }

    /// Mean of the squares of the entries of a function of each matrix, or of its correlations.
    fn mean(
        &mut self,
        measure: Measure,
        function: impl Fn(usize, &Matrix<T>) -> Matrix<T>,
    ) -> Matrix {
        let mut sums = Matrix::zeros(0, 0);
        for i in &self.chosen {
            let (d, weight) = (function(*i, &self.set.matrix(*i)), self.set.weights()[*i]);
            let r = d.rows();
            if sums.rows() == 0 {
                sums = Matrix::zeros(r, r);
            }
            for a in 0..r {
                for b in 0..r {
                    let scale = match measure {
                        Measure::Correlation => d[(a, a)].real() * d[(b, b)].real(),
                        _ => 1.0,
                    };
                    let square = d[(a, b)].abs().powi(2) / scale;
                    if square.is_finite() {
                        sums[(a, b)] += weight * square;
                    }
                }
            }
        }
        let total = self.total();
        sums.as_mut_slice().iter_mut().for_each(|x| *x /= total);
        sums
    }
}

/// M C Mᴴ.
fn congruence<T: Scalar>(m: &Matrix<T>, c: &Matrix<T>) -> Matrix<T> {
    &(m * c) * &m.adjoint()
}

/// A matrix in a basis of orthonormal filters or, for least squares, what the fit by this basis
/// leaves of it.
fn transformed<T: Scalar>(
    measure: Measure,
    c: &Matrix<T>,
    filters: &Matrix<T>,
    channels: impl Fn(&Matrix<T>) -> Matrix<T>,
) -> Matrix<T> {
    let c = channels(c);
    let d = congruence(filters, &c);
    if measure != Measure::Residual {
        return d;
    }
    let diagonal: Vec<f64> = (0..d.rows()).map(|a| d[(a, a)].real()).collect();
    residual(&c, &filters.adjoint(), &diagonal)
}

/// C − A Λ Aᴴ.
fn residual<T: Scalar>(c: &Matrix<T>, a: &Matrix<T>, diagonal: &[f64]) -> Matrix<T> {
    let scaled = Matrix::from_fn(a.rows(), a.columns(), |x, k| a[(x, k)] * diagonal[k]);
    let fit = &scaled * &a.adjoint();
    Matrix::from_fn(c.rows(), c.columns(), |x, y| c[(x, y)] - fit[(x, y)])
}

#[cfg(test)]
mod tests {
    use codiag::{Criterion, SetOptions, Settings, diagonalize, synthetic};

    use super::*;

    fn check<T: Scalar>(set: &MatrixSet<T>, exact: bool) {
        let result = diagonalize(set, &Settings::default()).unwrap();
        let found = Comparison::of(set, &(&result).into()).unwrap();
        let rms: Vec<f64> = found.bases.iter().map(|basis| basis.rms).collect();
        // PCA may diagonalize exact sets, too.
        assert!(rms[2] < rms[0] && rms[2] < rms[1] + 1e-9, "{rms:?}");
        let loss = found.bases[2].loss.unwrap();
        assert!((loss - result.loss).abs() < 1e-9 * (1.0 + loss), "{loss}");
        assert!(found.bases[1].loss.unwrap() > loss - 1e-12);
        if exact {
            assert!(rms[2] < 1e-6, "{rms:?}");
        }
        let page = found.markup().into_string();
        assert_eq!(page.matches("<figure>").count(), 3);
        assert!(!page.contains("NaN"));
        // The loss of these criteria is the energy of the entries that are shown.
        if found.measure != Measure::Correlation {
            let p = set.channels() as f64;
            for basis in &found.bases {
                let energy = basis.entries.norm().powi(2) / p;
                let loss = basis.loss.unwrap();
                assert!((energy - loss).abs() < 1e-9, "{energy} {loss}");
            }
        }
    }

    #[test]
    fn b_is_better_than_channels_and_pca() {
        check(&synthetic::noisy(30, 5, 0.1, 0), false);
        let made = synthetic::Synthetic::new(30, 5, 0.0, 0);
        check(&MatrixSet::new(&made.data, 30, 5).unwrap(), true);
        let complex = synthetic::Synthetic::complex(30, 5, 0.0, 0);
        check(&MatrixSet::new(&complex.data, 30, 5).unwrap(), true);
        let least_squares = SetOptions::default().criterion(Criterion::LeastSquares);
        let frobenius = SetOptions::default().criterion(Criterion::Frobenius);
        let set = |data: &[f64], options| MatrixSet::with_options(data, 30, 5, options).unwrap();
        for (noise, exact) in [(0.0, true), (0.2, false)] {
            let (data, _) = synthetic::mixed(30, 5, noise, 0);
            check(&set(&data, &least_squares), exact);
            let (data, _) = synthetic::indefinite(30, 5, noise, 0);

            check(&set(&data, &frobenius), exact);
        }
        // Noise is amplified in small components, but not in the residual of the fit.
        let made = synthetic::Synthetic::complex(30, 5, 0.1, 0);
        check(
            &MatrixSet::with_options(&made.data, 30, 5, &least_squares).unwrap(),
            false,
        );
    }

    #[test]
    fn reduced_sets_have_no_loss_for_the_channels() {
        let made = synthetic::Synthetic::new(30, 5, 0.0, 0);
        for criterion in [Criterion::Likelihood, Criterion::LeastSquares] {
            let options = SetOptions::default()
                .criterion(criterion)
                .n_components(Rank::Exactly(3));
            let set = MatrixSet::with_options(&made.data, 30, 5, &options).unwrap();
            let result = diagonalize(&set, &Settings::default()).unwrap();
            let found = Comparison::of(&set, &(&result).into()).unwrap();
            assert!(found.bases[0].loss.is_none() && found.bases[2].loss.is_some());
            assert!(found.bases[2].rms < found.bases[0].rms);
        }
    }

    #[test]
    fn results_of_other_sets_are_not_compared() {
        let (set, other) = (
            synthetic::noisy(30, 5, 0.1, 0),
            synthetic::noisy(30, 4, 0.1, 0),
        );
        let result = diagonalize(&other, &Settings::default()).unwrap();
        assert!(Comparison::of(&set, &(&result).into()).is_none());
    }
}
