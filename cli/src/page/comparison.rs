//! How diagonal the matrices are for the channels, for PCA and for B.

use codiag::{Evaluation, Matrix, MatrixSet, Rank, Reduction, Scalar};
use maud::{Markup, html};

use super::{heat_map, table};
use crate::figure::heat;
use crate::format::{self, short};

/// Number of multiplications that the comparison may cost for each basis; of larger sets, evenly
/// spaced matrices are used.
const MAX_MULTIPLICATIONS: usize = 1 << 30;
/// Smallest and largest number of matrices that are used, if there are enough.
const MIN_MATRICES: usize = 4;
const MAX_MATRICES: usize = 4096;

/// Off-diagonal entries of the matrices, and the loss, in three bases.
pub struct Comparison {
    bases: Vec<Basis>,
    /// Whether entries are correlations.
    correlations: bool,
    /// Number of matrices that were used, and number of all matrices.
    used: usize,
    all: usize,
}

struct Basis {
    name: &'static str,
    description: &'static str,
    /// Root mean square over the matrices of each entry, relative to the diagonal entries.
    entries: Matrix,
    /// Loss, if it is defined for this basis.
    loss: Option<f64>,
}

impl Comparison {
    /// Computes the off-diagonal entries and losses of a set. Returns None if the mean of the set
    /// has no eigenvectors.
    pub fn of<T: Scalar>(set: &MatrixSet<T>, b: &Matrix<T>) -> Option<Self> {
        let r = set.dimension();
        let patterns = set.reduction().map(Reduction::patterns);
        let mean = match patterns {
            Some(patterns) => congruence(patterns, set.mean()),
            None => set.mean().clone(),
        };
        // All eigenvectors in descending order of eigenvalues, one per row.
        let eigenvectors = Reduction::of_energy(&mean, Rank::Full).ok()?;
        let eigenvectors = eigenvectors.filters();
        let pca = Matrix::from_fn(r, mean.rows(), |a, c| eigenvectors[(a, c)]);
        let loss =
            |b: &Matrix<T>| Some(Evaluation::at(set, b).ok()?.loss).filter(|x| x.is_finite());
        // The matrices of a reduced set have the coordinates of the reduction.
        let inner = |m: &Matrix<T>| patterns.map_or_else(|| m.clone(), |patterns| m * patterns);
        let identity = Matrix::identity(set.channels());
        let n = set.len();
        let affordable = MAX_MULTIPLICATIONS / set.channels().pow(3);
        let used = affordable.clamp(MIN_MATRICES, MAX_MATRICES).min(n);
        let chosen: Vec<usize> = (0..used).map(|k| k * n / used).collect();
        let definite = set.criterion().requires_definite();
        let basis = |name, description, basis: &Matrix<T>, loss| Basis {
            name,
            description,
            entries: off_diagonal(set, &chosen, &inner(basis), definite),
            loss,
        };
        let channels_loss = if patterns.is_none() {
            loss(&identity)
        } else {
            None
        };
        Some(Self {
            bases: vec![
                basis(
                    "Channels",
                    "the matrices themselves",
                    &identity,
                    channels_loss,
                ),
                basis("PCA", "eigenvectors of the mean matrix", &pca, loss(&pca)),
                basis("B", "the result", b, loss(b)),
            ],
            correlations: definite,
            used,
            all: n,
        })
    }

    /// Heat maps and a table.
    pub(super) fn markup(&self) -> Markup {
        let largest = self
            .bases
            .iter()
            .map(|basis| largest_off_diagonal(&basis.entries))
            .fold(0.0, f64::max);
        // Without off-diagonal entries the maps are blank.
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let unit = if self.correlations {
            "RMS correlation"
        } else {
            "RMS relative entry"
        };
        let rows = html! {
            tbody {
                @for basis in &self.bases {
                    tr {
                        td { (basis.name) ": " (basis.description) }
                        td { (short(basis.rms())) }
                        td { (basis.loss.map_or("–".to_owned(), |loss| format::loss(loss, 6))) }
                    }
                }
            }
        };
        html! {
            p {
                @if self.correlations {
                    "Root mean square over the matrices of the correlation of each pair: zero everywhere means that all \
                     matrices are diagonal."
                } @else {
                    "Root mean square over the matrices of each off-diagonal entry, relative to those of the two diagonal \
                     entries: zero everywhere means that all matrices are diagonal."
                }
                " PCA makes their mean diagonal, but not each of them."
                @if self.used < self.all { " Computed from " (self.used) " evenly spaced matrices of " (self.all) "." }
            }
            div.panels.heat-three {
                @for basis in &self.bases {
                    @let (p, description) = (basis.entries.rows(), format!("{unit} for {}", basis.name));
                    figure {
                        (heat_map(p, p, &description, |a, b| if a == b { 0.0 } else { basis.entries[(a, b)] / scale }))
                        figcaption { (basis.name) ": overall " (short(basis.rms())) "." }
                    }
                }
            }
            p.scale { "0 " img alt="color scale" src=(heat::data_url(1, 64, |_, column| column as f64 / 63.0)); " " (short(largest)) }
            (table(None, &[&["basis"], &[unit], &["loss"]], &rows))
            p {
                "The loss is 0 if all matrices are diagonal. Compare the loss at B with the losses of the channels and of PCA: \
                 the part that remains at B is noise, or the matrices have no common diagonalizer."
            }
        }
    }
}

impl Basis {
    /// Root mean square of all off-diagonal entries.
    fn rms(&self) -> f64 {
        let p = self.entries.rows();
        let pairs = (p * p - p).max(1) as f64;
        let squares = off_diagonal_entries(&self.entries).map(|x| x * x);
        (squares.sum::<f64>() / pairs).sqrt()
    }
}

fn off_diagonal_entries(m: &Matrix) -> impl Iterator<Item = f64> {
    let pairs = (0..m.rows()).flat_map(move |a| (0..m.rows()).map(move |b| (a, b)));
    pairs.filter(|(a, b)| a != b).map(|at| m[at])
}

fn largest_off_diagonal(m: &Matrix) -> f64 {
    off_diagonal_entries(m).fold(0.0, f64::max)
}

/// M C Mᴴ.
fn congruence<T: Scalar>(m: &Matrix<T>, c: &Matrix<T>) -> Matrix<T> {
    &(m * c) * &m.adjoint()
}

/// Root mean square over the chosen matrices of |D_ab|, relative to the diagonal entries: of
/// correlations if all matrices are positive definite; otherwise |D_ab| and |D_aa| are averaged
/// first, because single diagonal entries may be zero.
fn off_diagonal<T: Scalar>(
    set: &MatrixSet<T>,
    chosen: &[usize],
    basis: &Matrix<T>,
    definite: bool,
) -> Matrix {
    let r = basis.rows();
    let (mut sums, mut total): (Matrix, f64) = (Matrix::zeros(r, r), 0.0);
    for i in chosen {
        let (d, weight) = (congruence(basis, &set.matrix(*i)), set.weights()[*i]);
        total += weight;
        for a in 0..r {
            for b in 0..r {
                let scale = if definite {
                    d[(a, a)].real() * d[(b, b)].real()
                } else {
                    1.0
                };
                let square = d[(a, b)].abs().powi(2) / scale;
                if square.is_finite() {
                    sums[(a, b)] += weight * square;
                }
            }
        }
    }
    Matrix::from_fn(r, r, |a, b| {
        let scale = if definite {
            total
        } else {
            (sums[(a, a)] * sums[(b, b)]).sqrt()
        };
        let ratio = sums[(a, b)] / scale;
        if ratio.is_finite() { ratio.sqrt() } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use codiag::{Criterion, SetOptions, Settings, diagonalize, synthetic};

    use super::*;

    fn check<T: Scalar>(set: &MatrixSet<T>, exact: bool) {
        let result = diagonalize(set, &Settings::default()).unwrap();
        let found = Comparison::of(set, &result.b).unwrap();
        let rms: Vec<f64> = found.bases.iter().map(Basis::rms).collect();
        assert!(rms[2] < 0.5 * rms[0] && rms[2] < 0.5 * rms[1], "{rms:?}");
        let loss = found.bases[2].loss.unwrap();
        assert!((loss - result.loss).abs() < 1e-9 * (1.0 + loss), "{loss}");
        assert!(found.bases[1].loss.unwrap() > loss);
        if exact {
            assert!(rms[2] < 1e-6, "{rms:?}");
        }
        let page = found.markup().into_string();
        assert_eq!(page.matches("<figure>").count(), 3);
        assert!(!page.contains("NaN"));
    }

    #[test]
    fn b_is_more_diagonal_than_channels_and_pca() {
        check(&synthetic::noisy(30, 5, 0.1, 0), false);
        let made = synthetic::Synthetic::new(30, 5, 0.0, 0);
        check(&MatrixSet::new(&made.data, 30, 5).unwrap(), true);
        let complex = synthetic::Synthetic::complex(30, 5, 0.0, 0);
        check(&MatrixSet::new(&complex.data, 30, 5).unwrap(), true);
        let (data, _) = synthetic::mixed(30, 5, 0.0, 0);
        let options = SetOptions::default().criterion(Criterion::LeastSquares);
        check(
            &MatrixSet::with_options(&data, 30, 5, &options).unwrap(),
            true,
        );
    }

    #[test]
    fn reduced_sets_have_no_loss_for_the_channels() {
        let made = synthetic::Synthetic::new(30, 5, 0.0, 0);
        let options = SetOptions::default().n_components(Rank::Exactly(3));
        let set = MatrixSet::with_options(&made.data, 30, 5, &options).unwrap();
        let result = diagonalize(&set, &Settings::default()).unwrap();
        let found = Comparison::of(&set, &result.b).unwrap();
        let sizes: Vec<usize> = found.bases.iter().map(|x| x.entries.rows()).collect();
        assert_eq!(sizes, [5, 3, 3]);
        assert!(found.bases[0].loss.is_none() && found.bases[2].loss.is_some());
    }
}
