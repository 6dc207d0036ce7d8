//! Records of a solve while it runs, and its result.

mod stability;

use std::fmt;
use std::ops::ControlFlow;

use crate::data::Criterion;
use crate::linalg::{self, Matrix, Scalar};
pub use stability::Stability;

/// Reason why a solve ended.
///
/// ```
/// use codiag::{Settings, Status, diagonalize, synthetic};
/// let set = synthetic::noisy(50, 8, 0.3, 0);
/// let result = diagonalize(&set, &Settings::default().max_iter(1))?;
/// // A solve that does not converge is not an error: B is the best point found.
/// assert_eq!(result.status, Status::MaxIter);
/// assert_eq!(result.status.to_string(), "max_iter");
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The gradient norm ĝ reached the tolerance.
    Converged,
    /// The maximum number of iterations was reached.
    MaxIter,
    /// No step decreases the loss further, for example because of rounding; the best point is
    /// returned.
    Stalled,
    /// The observer stopped the solve.
    Interrupted,
    /// Columns of A have become collinear or otherwise linearly dependent, which can happen for
    /// least squares: components grow without bound while they cancel each other, and the fit has
    /// no minimum.
    Collinear,
}

impl Status {
    /// Whether the gradient norm ĝ reached the tolerance.
    pub fn is_converged(self) -> bool {
        self == Self::Converged
    }

    /// Returns the name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIter => "max_iter",
            Self::Stalled => "stalled",
            Self::Interrupted => "interrupted",
            Self::Collinear => "collinear",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A stage of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// A solve of a sample of the matrices, or of a few combinations of them, to improve the
    /// starting point or to estimate the stability of the components. Observers see these points,
    /// but the history does not contain them, and their losses are not comparable with others.
    Sample,
    /// A solve of all matrices in single precision.
    Single,
    /// A solve of all matrices in double precision.
    Full,
}

impl Stage {
    /// Returns the name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Single => "single precision",
            Self::Full => "full",
        }
    }
}

/// Kind of the step that led to a point.
///
/// ```
/// use codiag::{Method, Settings, StepKind, diagonalize, synthetic};
/// let set = synthetic::noisy(50, 5, 0.1, 0);
/// let result = diagonalize(&set, &Settings::default().method(Method::Pham))?;
/// assert_eq!(result.history[0].kind, StepKind::Init);
/// assert!(result.history[1..].iter().all(|record| record.kind == StepKind::Sweep));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// No step: the point is the starting point.
    Init,
    /// A quasi-Newton step.
    QuasiNewton,
    /// A Newton step.
    Newton,
    /// A sweep of Pham's algorithm or of Jacobi rotations over all pairs, or of AC-DC over all
    /// columns.
    Sweep,
    /// A step of U-WEDGE or FFDIAG.
    Wedge,
}

impl StepKind {
    /// Returns the name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::QuasiNewton => "quasi-newton",
            Self::Newton => "newton",
            Self::Sweep => "sweep",
            Self::Wedge => "wedge",
        }
    }
}

/// State of a solve after `iteration` steps.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let result = diagonalize(&synthetic::noisy(50, 8, 0.1, 0), &Settings::default())?;
/// for record in &result.history {
///     println!("{:3}  loss {:.6}  gradient {:.1e}", record.iteration, record.loss, record.gradient_norm);
/// }
/// let last = result.history.last().expect("the starting point is recorded too");
/// assert_eq!(last.iteration, result.n_iter);
/// assert!(last.gradient_norm <= 1e-8 && last.loss < result.history[0].loss);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// Number of the solve: 0 for the first starting point, then the additional ones
    /// ([`Settings::n_restarts`](crate::Settings::n_restarts)), then the resamples
    /// ([`Settings::n_resamples`](crate::Settings::n_resamples)), whose stage is [`Stage::Sample`].
    pub start: usize,
    /// Stage of the solve.
    pub stage: Stage,
    /// Number of iterations so far; 0 for the starting point.
    pub iteration: usize,
    /// Time since the solve began, in seconds.
    pub seconds: f64,
    /// Loss at this point; accurate to about seven digits in single precision.
    pub loss: f64,
    /// Gradient norm ĝ at this point.
    pub gradient_norm: f64,
    /// Decrease of the loss that the quadratic model predicts from this point. For Pham's method it
    /// is the sum of the decreases predicted for the pairs of the sweep that led here.
    pub decrement: f64,
    /// Kind of the step that led to this point.
    pub kind: StepKind,
    /// Step length: the fraction of the search direction that was taken, or the largest sine of the
    /// angles of a sweep of rotations; 0 for the starting point.
    pub step: f64,
    /// Number of conjugate gradient iterations that computed the step.
    pub cg_iterations: usize,
    /// Cumulative cost of the solve in data passes; one pass transforms all matrices once.
    pub passes: f64,
}

/// Value of a field of a [`Record`].
///
/// ```
/// use codiag::{Record, Settings, RecordValue, diagonalize, synthetic};
/// /// Formats a record as a line of CSV.
/// fn line(record: &Record) -> String {
///     let fields = record.fields().map(|(_, value)| match value {
///         RecordValue::Flag(flag) => flag.to_string(),
///         RecordValue::Count(count) => count.to_string(),
///         RecordValue::Number(number) => format!("{number:e}"),
///         RecordValue::Name(name) => name.to_owned(),
///         _ => String::new(),
///     });
///     fields.join(",")
/// }
/// let result = diagonalize(&synthetic::noisy(20, 3, 0.1, 0), &Settings::default())?;
/// assert!(line(&result.history[0]).starts_with("0,full,0,"));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecordValue {
    /// A boolean.
    Flag(bool),
    /// A count.
    Count(usize),
    /// A number.
    Number(f64),
    /// A name.
    Name(&'static str),
}

impl Record {
    /// Returns all fields with their names, in the order used in JSON, CSV and Python.
    ///
    /// ```
    /// let set = codiag::synthetic::noisy(20, 3, 0.1, 0);
    /// let result = codiag::diagonalize(&set, &codiag::Settings::default())?;
    /// let names: Vec<&str> = result.history[0].fields().iter().map(|field| field.0).collect();
    /// assert_eq!(names[..3], ["start", "stage", "iteration"]);
    /// # Ok::<(), codiag::Error>(())
    /// ```
    pub fn fields(&self) -> [(&'static str, RecordValue); 11] {
        [
            ("start", RecordValue::Count(self.start)),
            ("stage", RecordValue::Name(self.stage.name())),
            ("iteration", RecordValue::Count(self.iteration)),
            ("seconds", RecordValue::Number(self.seconds)),
            ("loss", RecordValue::Number(self.loss)),
            ("gradient_norm", RecordValue::Number(self.gradient_norm)),
            ("decrement", RecordValue::Number(self.decrement)),
            ("kind", RecordValue::Name(self.kind.name())),
            ("step", RecordValue::Number(self.step)),
            ("cg_iterations", RecordValue::Count(self.cg_iterations)),
            ("passes", RecordValue::Number(self.passes)),
        ]
    }
}

#[cfg(feature = "serde")]
mod serialized {
    use serde::ser::{Serialize, SerializeStruct, Serializer};

    use super::{Diagonalization, Identifiability, Record, RecordValue, Scalar, Status, StepKind};

    impl Serialize for RecordValue {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Flag(flag) => serializer.serialize_bool(*flag),
                Self::Count(count) => serializer.serialize_u64(*count as u64),
                Self::Number(number) => serializer.serialize_f64(*number),
                Self::Name(name) => serializer.serialize_str(name),
            }
        }
    }

    impl Serialize for Record {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let fields = self.fields();
            let mut record = serializer.serialize_struct("Record", fields.len())?;
            for (name, value) in &fields {
                record.serialize_field(name, value)?;
            }
            record.end()
        }
    }

    impl Serialize for Status {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(self.name())
        }
    }

    impl Serialize for StepKind {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(self.name())
        }
    }

    impl Serialize for Identifiability {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut fields = serializer.serialize_struct("Identifiability", 2)?;
            fields.serialize_field("margin", &self.margin)?;
            fields.serialize_field("pair", &self.pair)?;
            fields.end()
        }
    }

    /// Numbers of trials from which a stability was estimated.
    struct Trials {
        starts: usize,
        resamples: usize,
    }

    impl Serialize for Trials {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut fields = serializer.serialize_struct("Trials", 2)?;
            fields.serialize_field("starts", &self.starts)?;
            fields.serialize_field("resamples", &self.resamples)?;
            fields.end()
        }
    }

    /// Serializes all fields: matrices as lists of rows, complex numbers as lists of two numbers.
    impl<T: Scalar + Serialize> Serialize for Diagonalization<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut fields = serializer.serialize_struct("Diagonalization", 16)?;
            fields.serialize_field("criterion", self.criterion.name())?;
            fields.serialize_field("status", &self.status)?;
            fields.serialize_field("converged", &self.status.is_converged())?;
            fields.serialize_field("n_iter", &self.n_iter)?;
            fields.serialize_field("loss", &self.loss)?;
            fields.serialize_field("gradient_norm", &self.gradient_norm)?;
            fields.serialize_field("condition_number", &self.condition_number())?;
            fields.serialize_field("identifiability", &self.identifiability)?;
            fields.serialize_field("start_losses", &self.start_losses)?;
            let stability = self.stability.as_ref();
            fields.serialize_field("stability", &stability.map(|s| &s.values))?;
            let trials = stability.map(|s| Trials {
                starts: s.starts,
                resamples: s.resamples(),
            });
            fields.serialize_field("stability_trials", &trials)?;
            fields.serialize_field("B", &self.b)?;
            fields.serialize_field("A", &self.a)?;
            fields.serialize_field("powers", &self.powers)?;
            fields.serialize_field("residuals", &self.residuals)?;
            fields.serialize_field("history", &self.history)?;
            fields.end()
        }
    }
}

/// Receives the progress of a solve. Closures that take a record and the current B implement it.
///
/// ```
/// use std::ops::ControlFlow;
/// let mut observer = |record: &codiag::Record, _: &codiag::Matrix| {
///     if record.seconds > 60.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// };
/// let set = codiag::synthetic::noisy(20, 5, 0.1, 0);
/// let result = codiag::diagonalize_with(&set, &codiag::Settings::default(), &mut observer)?;
/// assert!(result.status.is_converged());
/// # Ok::<(), codiag::Error>(())
/// ```
pub trait Observer<T = f64> {
    /// Called at the starting point and after each iteration with the current B, which acts on the
    /// channels of the input. It can be used as a starting point, also for a set reduced in rank.
    /// Returning `Break` ends the solve with [`Status::Interrupted`].
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()>;
}

impl<T, F: FnMut(&Record, &Matrix<T>) -> ControlFlow<()>> Observer<T> for F {
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        self(record, b)
    }
}

/// The least separable pair of components, and its identifiability margin.
///
/// ```
/// use codiag::{MatrixSet, Settings, diagonalize};
/// // The powers of the last two sources are proportional: 1 and 2, 3 and 6.
/// let data = [5.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, //
///             1.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 6.0];
/// let result = diagonalize(&MatrixSet::new(&data, 2, 3)?, &Settings::default())?;
/// let least = result.identifiability.expect("there is more than one component");
/// assert!(least.margin.abs() < 1e-10, "any mixture of the two is a solution");
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Identifiability {
    /// Identifiability margin, which is zero if any mixture of the two components is a solution.
    /// For the likelihood it is Γ_ab Γ_ba − 1, which is zero if their powers are proportional over
    /// the set. For the Frobenius criterion it is Σ_i w_i (Dⁱ_aa − Dⁱ_bb)² relative to their
    /// energies, which is zero if their diagonal entries are equal in all matrices. For least
    /// squares it is the squared sine of the angle between their diagonal entries Λⁱ_aa and Λⁱ_bb,
    /// as vectors over the set.
    pub margin: f64,
    /// The two components, as row indices of B.
    pub pair: (usize, usize),
}

/// Result of a solve.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(100, 4, 0.1, 0);
/// let result = diagonalize(&set, &Settings::default())?;
/// // Power of component 0 in each matrix; its mean over the set is 1.
/// let powers: Vec<f64> = (0..100).map(|i| result.powers[(i, 0)]).collect();
/// assert!((powers.iter().sum::<f64>() / 100.0 - 1.0).abs() < 1e-6);
/// // The matrix that is fitted worst.
/// let worst = (0..100).max_by(|i, j| result.residuals[*i].total_cmp(&result.residuals[*j]));
/// assert!(result.residuals[worst.expect("there are matrices")] >= result.loss);
/// // A is the inverse of B.
/// assert!(((&result.b * &result.a)[(2, 2)] - 1.0).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagonalization<T = f64> {
    /// Filters, one per row, which make B Cⁱ Bᴴ as diagonal as possible; r×p for a set reduced to
    /// rank r, otherwise p×p.
    pub b: Matrix<T>,
    /// Patterns, one per column: B A = I.
    pub a: Matrix<T>,
    /// Criterion that was minimized.
    pub criterion: Criterion,
    /// Reason why the solve ended.
    pub status: Status,
    /// Number of iterations.
    pub n_iter: usize,
    /// Loss at B, which is zero if all B Cⁱ Bᴴ are diagonal.
    pub loss: f64,
    /// Gradient norm ĝ at B.
    pub gradient_norm: f64,
    /// One record for the starting point and one per iteration.
    pub history: Vec<Record>,
    /// Contribution of each matrix to the loss, for the likelihood ½ (Σ_a log Dⁱ_aa − log det Dⁱ).
    /// Their weighted mean is the loss.
    pub residuals: Vec<f64>,
    /// Powers Dⁱ_aa, or Λⁱ_aa for least squares: one row per matrix, one column per component.
    pub powers: Matrix,
    /// The least separable pair of components; None if there is only one component.
    pub identifiability: Option<Identifiability>,
    /// Final losses from all starting points, in their order. The loss of a solve that was stopped
    /// early is its loss at that point.
    pub start_losses: Vec<f64>,
    /// Stability of each component: how reproducible it is. None if it was not requested by
    /// [`Settings::n_resamples`](crate::Settings::n_resamples), or by restarts together with
    /// [`SortBy::Stability`](crate::SortBy::Stability), or if there were no trials.
    pub stability: Option<Stability>,
}

impl<T: Scalar> Diagonalization<T> {
    /// Returns the ratio of the largest to the smallest singular value of B.
    pub fn condition_number(&self) -> f64 {
        let values = linalg::singular_values(&self.b).unwrap_or_default();
        match (values.first(), values.last()) {
            (Some(largest), Some(smallest)) => largest / smallest,
            _ => f64::NAN,
        }
    }

    /// Returns Dⁱ = B Cⁱ Bᴴ for all matrices of a set, each in row-major order, concatenated.
    pub fn transform(&self, set: &crate::MatrixSet<T>) -> Vec<T> {
        set.transform(&self.b)
    }

    /// Moves component `order[a]` to row a and multiplies it by the sign or phase `phases[a]`.
    pub(crate) fn rearrange(&mut self, order: &[usize], phases: &[T]) {
        let (b, a, powers) = (&self.b, &self.a, &self.powers);
        self.b = Matrix::from_fn(b.rows(), b.columns(), |x, c| b[(order[x], c)] * phases[x]);
        self.a = Matrix::from_fn(a.rows(), a.columns(), |c, x| {
            a[(c, order[x])] * phases[x].conj()
        });
        self.powers = Matrix::from_fn(powers.rows(), powers.columns(), |i, x| {
            powers[(i, order[x])]
        });
        if let Some(least) = &mut self.identifiability {
            let position = |component| order.iter().position(|o| *o == component);
            let pair = position(least.pair.0).zip(position(least.pair.1));
            least.pair = pair.map_or(least.pair, |(x, y)| (x.min(y), x.max(y)));
        }
        if let Some(stability) = &mut self.stability {
            stability.rearrange(order);
        }
    }

    /// Sorts the components by decreasing stability, if it is known.
    pub(crate) fn sort_by_stability(&mut self) {
        if let Some(stability) = &self.stability {
            let order = stability.order();
            self.rearrange(&order, &vec![T::ONE; order.len()]);
        }
    }
}
