//! Adaptive diagonalization of matrices that arrive over time.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use crate::data::Criterion;
use crate::data::{MatrixSet, Rank, SetOptions};
use crate::error::{Expected, Setting};
use crate::init::complex_start;
use crate::linalg::{self, Matrix, Scalar};
use crate::report::{Diagonalization, Observer, Record};
use crate::settings::{Init, Settings};
use crate::{Error, diagonalize_with};

/// Settings of a [`Tracker`].
///
/// ```
/// use codiag::{Tracker, TrackerSettings, synthetic};
/// // A window of 30 matrices; the weight of each is 0.9 times that of the next one.
/// let settings = TrackerSettings { window: 30, forgetting: 0.9, ..TrackerSettings::default() };
/// let mut tracker = Tracker::new(3, settings)?;
/// tracker.push(&synthetic::Synthetic::new(40, 3, 0.1, 0).data)?;
/// assert_eq!(tracker.len(), 30);
/// assert_eq!(tracker.decayed_weights()[28..], [0.9, 1.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TrackerSettings {
    /// Number of most recent matrices that are kept.
    pub window: usize,
    /// The forgetting factor λ, above 0 and at most 1: the weight of a matrix is multiplied by λ
    /// for each later one. The effective number of matrices is about 1/(1 − λ).
    pub forgetting: f64,
    /// Criterion that is minimized; see
    /// [`SetOptions::criterion`](SetOptions#structfield.criterion).
    pub criterion: Criterion,
    /// Number of components; see [`SetOptions`]. [`Rank::Auto`] is determined by the first push.
    pub n_components: Rank,
    /// Shrinkage of each matrix; see [`SetOptions`].
    pub shrinkage: f64,
    /// Whether matrices are symmetrized; see [`SetOptions`].
    pub symmetrize: bool,
    /// Number of threads; None chooses it from the amount of work.
    pub n_jobs: Option<usize>,
    /// Settings of each update. Their starting point applies to the first update; later updates
    /// start at the previous B.
    pub solve: Settings,
}

impl Default for TrackerSettings {
    fn default() -> Self {
        Self {
            window: 200,
            forgetting: 0.98,
            criterion: Criterion::Likelihood,
            n_components: Rank::Full,
            shrinkage: 0.0,
            symmetrize: false,
            n_jobs: None,
            solve: Settings::default().tol(1e-6).max_iter(100),
        }
    }
}

impl TrackerSettings {
    fn check(&self) -> Result<(), Error> {
        if self.window == 0 {
            let expected = Expected::AtLeast(1);
            return Err(Error::setting(Setting::TrackerWindow, expected, 0));
        }
        if !(self.forgetting > 0.0 && self.forgetting <= 1.0) {
            let expected = Expected::Above(0.0, 1.0);
            return Err(Error::setting(
                Setting::Forgetting,
                expected,
                self.forgetting,
            ));
        }
        self.set_options().check_ranges()?;
        self.solve.check(self.criterion)
    }

    fn set_options(&self) -> SetOptions {
        SetOptions::default()
            .criterion(self.criterion)
            .n_components(self.n_components)
            .shrinkage(self.shrinkage)
            .symmetrize(self.symmetrize)
            .n_jobs(self.n_jobs)
    }
}

/// Tracks the diagonalizer of matrices that arrive over time, real or complex Hermitian.
///
/// The tracker keeps the last m matrices ([`TrackerSettings::window`]) and, at every push, moves B
/// to the minimizer of
///
/// ```text
/// L_t(B) = ½ Σ_i w_i [ Σ_a log Dⁱ_aa − log det Dⁱ ],   Dⁱ = B Cⁱ Bᴴ,   w_i ∝ u_i λ^(t−i),   t−m < i ≤ t
/// ```
///
/// the criterion of the window under weights that decay with age: λ
/// ([`TrackerSettings::forgetting`]) for each later matrix, times the matrix's own u_i (default:
/// 1). The formula is that of the likelihood; the other criteria use the same weights. The matrices
/// are stored, since the logarithms of the diagonals of all Dⁱ cannot be computed from sums. The
/// criterion does not depend on how the matrices were grouped when they were pushed.
///
/// Each update starts at the previous B. One matrix among many moves the minimizer little, so
/// Newton's method needs two or three iterations, or more if components are hardly separable. The
/// cost of an update in time and memory depends on the window and on [`Settings::max_iter`], not on
/// the number of matrices pushed before.
///
/// Components keep their rows and signs (if complex, their phases) from one update to the next:
/// each row receives the component whose output correlates most with the previous output of that
/// row. The mean power of each component in the window is 1.
///
/// ```
/// use codiag::{Tracker, TrackerSettings, synthetic};
///
/// let generated = synthetic::Synthetic::new(60, 5, 0.0, 0);
/// let mut tracker = Tracker::new(5, TrackerSettings::default())?;
/// for matrix in generated.data.chunks_exact(25) {
///     let result = tracker.push(matrix)?;
///     assert!(result.status.is_converged());
/// }
/// let b = tracker.b().expect("matrices have been pushed");
/// assert!(synthetic::amari_distance(b, &generated.mixing) < 1e-6);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tracker<T = f64> {
    p: usize,
    settings: TrackerSettings,
    window: VecDeque<WeightedMatrix<T>>,
    b: Option<Matrix<T>>,
}

/// Matrix of the window, with its weight u_i before decay.
#[derive(Clone, Debug)]
struct WeightedMatrix<T> {
    entries: Box<[T]>,
    weight: f64,
}

impl<T: Scalar> Tracker<T> {
    /// Creates a tracker of p×p matrices with an empty window.
    ///
    /// # Errors
    /// If a setting is out of its range.
    pub fn new(p: usize, settings: TrackerSettings) -> Result<Self, Error> {
        settings.check()?;
        if p == 0 {
            let shape = vec![0, p, p];
            return Err(Error::Shape { shape });
        }
        Ok(Self {
            p,
            settings,
            window: VecDeque::new(),
            b: None,
        })
    }

    /// Restores a tracker from its [`matrices`](Self::matrices), [`weights`](Self::weights) and
    /// [`b`](Self::b). It continues with identical results. Another B, such as that of an earlier
    /// recording, serves as the starting point.
    ///
    /// # Errors
    /// If a setting is out of its range, or the matrices or weights are invalid. The next push
    /// checks B.
    pub fn resume(
        p: usize,
        settings: TrackerSettings,
        matrices: &[T],
        weights: &[f64],
        b: Option<Matrix<T>>,
    ) -> Result<Self, Error> {
        let mut tracker = Self::new(p, settings)?;
        if !matrices.is_empty() {
            tracker.window = tracker.checked(matrices, Some(weights))?.into();
        }
        tracker.b = b;
        Ok(tracker)
    }

    /// Adds one or several matrices, p·p numbers each, the oldest first, and updates B once.
    /// Returns the result for the window, whose matrices are numbered from the oldest.
    ///
    /// # Errors
    /// If the matrices are invalid; the tracker is then unchanged.
    pub fn push(&mut self, matrices: &[T]) -> Result<Diagonalization<T>, Error> {
        let mut unobserved = |_: &Record, _: &Matrix<T>| ControlFlow::Continue(());
        self.push_with(matrices, None, &mut unobserved)
    }

    /// Adds matrices like [`push`](Self::push), with one weight u_i per matrix and an observer. If
    /// the observer stops the solve, the matrices have been added, and B is the best point found.
    ///
    /// # Errors
    /// If the matrices or weights are invalid; the tracker is then unchanged.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn push_with(
        &mut self,
        matrices: &[T],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer<T>,
    ) -> Result<Diagonalization<T>, Error> {
        let before = self.starting_point()?;
        let added = self.checked(matrices, weights)?;
        let removed = (self.window.len() + added.len()).saturating_sub(self.settings.window);
        let window = || self.window.iter().skip(removed).chain(&added);
        let options = self.set_options().weights(Some(self.decayed(window())));
        let set =
            MatrixSet::from_matrices(self.p, window().map(|matrix| &matrix.entries), &options)?;
        let settings = self.solve_settings(before.as_ref());
        let mut result = diagonalize_with(&set, &settings, observer)?;
        if let Some(before) = &before {
            match_previous(&mut result, before, &set);
        }
        self.window.drain(..removed);
        self.window.extend(added);
        self.b = Some(result.b.clone());
        Ok(result)
    }

    /// Checks all given matrices, and returns those that fit into the window. In errors, the first
    /// given matrix has number 0.
    fn checked(
        &self,
        matrices: &[T],
        weights: Option<&[f64]>,
    ) -> Result<Vec<WeightedMatrix<T>>, Error> {
        let size = self.p * self.p;
        let n = matrices.len().checked_div(size).unwrap_or(0);
        MatrixSet::with_options(matrices, n, self.p, &self.set_options())?;
        if let Some(weights) = weights {
            SetOptions::check_weights(weights, n)?;
        }
        let weighted = matrices
            .chunks_exact(size)
            .enumerate()
            .map(|(i, entries)| WeightedMatrix {
                entries: entries.into(),
                weight: weights.map_or(1.0, |w| w[i]),
            });
        Ok(weighted
            .skip(n.saturating_sub(self.settings.window))
            .collect())
    }

    /// Returns the weights u_i λ^age; the age of the last matrix is 0.
    fn decayed<'a>(&self, window: impl Iterator<Item = &'a WeightedMatrix<T>>) -> Vec<f64> {
        let mut weights: Vec<f64> = window.map(|matrix| matrix.weight).collect();
        let mut decay = 1.0;
        for weight in weights.iter_mut().rev() {
            *weight *= decay;
            decay *= self.settings.forgetting;
        }
        weights
    }

    fn set_options(&self) -> SetOptions {
        let rank = match (&self.b, self.settings.n_components) {
            // Determined by the first push.
            (Some(b), Rank::Auto) => Rank::Exactly(b.rows()),
            (_, rank) => rank,
        };
        self.settings.set_options().n_components(rank)
    }

    /// Returns the B from which the next update starts; None if the starting point is computed.
    fn starting_point(&self) -> Result<Option<Matrix<T>>, Error> {
        Ok(match (&self.b, &self.settings.solve.init) {
            (Some(b), _) => Some(b.clone()),
            (None, Init::Given(b)) => Some(Matrix::from_real(b)),
            (None, Init::GivenComplex(b)) => Some(complex_start(b)?),
            _ => None,
        })
    }

    /// Returns the settings of an update: the first one uses those given, later ones start at B and
    /// keep the order and signs of the components.
    fn solve_settings(&self, before: Option<&Matrix<T>>) -> Settings {
        let settings = self.settings.solve.clone();
        match before {
            None => settings,
            Some(b) => settings.init(Init::given(b)).n_restarts(0).canonical(false),
        }
    }

    /// Returns the size p of the matrices.
    pub fn channels(&self) -> usize {
        self.p
    }

    /// Returns the number of matrices in the window.
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether the window is empty, as before the first push.
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Returns the matrices of the window, the oldest first, each in row-major order.
    pub fn matrices(&self) -> Vec<T> {
        let entries = self.window.iter().flat_map(|matrix| &matrix.entries);
        entries.copied().collect()
    }

    /// Returns the weights u_i of the window's matrices, without decay.
    pub fn weights(&self) -> Vec<f64> {
        self.window.iter().map(|matrix| matrix.weight).collect()
    }

    /// Returns the weights u_i λ^age of the window's matrices.
    pub fn decayed_weights(&self) -> Vec<f64> {
        self.decayed(self.window.iter())
    }

    /// Returns the filters, one per row, after the last push.
    pub fn b(&self) -> Option<&Matrix<T>> {
        self.b.as_ref()
    }
}

/// Reorders components and changes their signs or phases so that they match the previous ones:
/// pairs are assigned greedily by the correlation of their outputs over the window. If the mean of
/// the window need not be positive definite, filters are compared with the previous patterns.
fn match_previous<T: Scalar>(
    result: &mut Diagonalization<T>,
    before: &Matrix<T>,
    set: &MatrixSet<T>,
) {
    let unit = |b: &Matrix<T>| {
        let b = set.summary().to_reduced(b);
        let scale = set.criterion().row_scale(&b, set.mean());
        b.scale_rows(&scale)
    };
    let current = unit(&result.b);
    let correlations = if set.criterion().requires_definite() {
        let half = linalg::product(&current, set.mean());
        linalg::product_adjoint(&half, &unit(before))
    } else {
        linalg::product(&current, &linalg::inverse(&unit(before)))
    };
    let r = correlations.rows();
    let mut order = vec![usize::MAX; r];
    let mut taken = vec![false; r];
    for _ in 0..r {
        let free = (0..r).filter(|new| !taken[*new]).flat_map(|new| {
            let rows = (0..r).filter(|old| order[*old] == usize::MAX);
            rows.map(move |old| (new, old))
        });
        let size = |pair: &(usize, usize)| correlations[*pair].abs();
        let best = free.max_by(|x, y| size(x).total_cmp(&size(y)));
        let (new, old) = best.expect("the number of components is unchanged");
        (order[old], taken[new]) = (new, true);
    }
    // The phase that makes each correlation real and positive.
    let phase = |(old, new): (usize, &usize)| {
        let correlation = correlations[(*new, old)];
        let size = correlation.abs();
        if size > 0.0 {
            correlation.conj() / size
        } else {
            T::ONE
        }
    };
    let phases: Vec<T> = order.iter().enumerate().map(phase).collect();
    result.rearrange(&order, &phases);
}
