//! What a solve says while it runs, and what it returns.

mod stability;

use std::fmt;
use std::ops::ControlFlow;

use crate::data::Criterion;
use crate::linalg::{self, Matrix, Scalar};
pub use stability::Stability;

/// Why a solve ended.
///
/// ```
/// use codiag::{Settings, Status, diagonalize, synthetic};
/// let set = synthetic::noisy(50, 8, 0.3, 0);
/// let answer = diagonalize(&set, &Settings::default().max_iter(1))?;
/// // Not converging is no error: B is the best so far, and whoever asked decides.
/// assert_eq!(answer.status, Status::MaxIter);
/// assert_eq!(answer.status.to_string(), "max_iter");
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// ĝ fell to the tolerance.
    Converged,
    /// The iteration limit came first.
    MaxIter,
    /// No step decreases the loss any more, be it for rounding; the best point is returned.
    Stalled,
    /// The observer asked to stop.
    Interrupted,
    /// Columns of A have become collinear, or otherwise dependent, as least squares may have it: the fit can be
    /// improved for ever by components that grow and cancel each other, and has no minimum there.
    Collinear,
}

impl Status {
    /// Whether ĝ fell to the tolerance.
    pub fn is_converged(self) -> bool {
        self == Self::Converged
    }

    /// The name used in Python and on the command line.
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
    /// On a sample of the matrices, or on a few combinations of them: to improve the start, or to
    /// estimate how reproducible the components are. Such points are shown to observers, but are not in
    /// the history, and their losses compare with no other.
    Sample,
    /// On all matrices, in single precision.
    Single,
    /// On all matrices, in double precision.
    Full,
}

impl Stage {
    /// The name used in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Single => "single precision",
            Self::Full => "full",
        }
    }
}

/// What kind of step led to a point.
///
/// ```
/// use codiag::{Method, Settings, StepKind, diagonalize, synthetic};
/// let set = synthetic::noisy(50, 5, 0.1, 0);
/// let answer = diagonalize(&set, &Settings::default().method(Method::Pham))?;
/// assert_eq!(answer.history[0].kind, StepKind::Init);
/// assert!(answer.history[1..].iter().all(|record| record.kind == StepKind::Sweep));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// None: this is the start.
    Init,
    /// A quasi-Newton step.
    QuasiNewton,
    /// A Newton step.
    Newton,
    /// A sweep of Pham's algorithm or of Jacobi rotations over all pairs, or of AC-DC over all columns.
    Sweep,
    /// A step of U-WEDGE or FFDIAG.
    Wedge,
}

impl StepKind {
    /// The name used in Python and on the command line.
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

/// One point of a solve: where it stands after `iteration` steps.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let answer = diagonalize(&synthetic::noisy(50, 8, 0.1, 0), &Settings::default())?;
/// for record in &answer.history {
///     println!("{:3}  loss {:.6}  gradient {:.1e}", record.iteration, record.loss, record.gradient_norm);
/// }
/// let last = answer.history.last().expect("the start is recorded too");
/// assert_eq!(last.iteration, answer.n_iter);
/// assert!(last.gradient_norm <= 1e-8 && last.loss < answer.history[0].loss);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// Which start it belongs to: 0 for the one asked for, then the further ones of
    /// [`Settings::restarts`](crate::Settings::restarts), then the resamples of
    /// [`Settings::stability`](crate::Settings::stability), which are samples.
    pub start: usize,
    /// The stage of the solve.
    pub stage: Stage,
    /// 0 for the start.
    pub iteration: usize,
    /// Seconds since the solve began.
    pub seconds: f64,
    /// The loss here; of the stage in single precision to about seven digits.
    pub loss: f64,
    /// ĝ here.
    pub gradient_norm: f64,
    /// The decrease of the loss that the quadratic model predicts from here; for Pham's method,
    /// what the pairs of the sweep that led here predicted together.
    pub decrement: f64,
    /// The kind of step that led here.
    pub kind: StepKind,
    /// Its length, the share of its direction that was taken; the largest sine of the angles of a sweep of rotations; 0 for the start.
    pub step: f64,
    /// The conjugate gradient iterations it took.
    pub cg_iterations: usize,
    /// What it cost, and all steps before it, in transforms of the whole set.
    pub passes: f64,
}

/// The value of a field of a [`Record`].
///
/// ```
/// use codiag::{Record, Settings, RecordValue, diagonalize, synthetic};
/// /// A record as a line of CSV.
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
/// let answer = diagonalize(&synthetic::noisy(20, 3, 0.1, 0), &Settings::default())?;
/// assert!(line(&answer.history[0]).starts_with("0,full,0,"));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecordValue {
    /// A yes or no.
    Flag(bool),
    /// A count.
    Count(usize),
    /// A number.
    Number(f64),
    /// A name.
    Name(&'static str),
}

impl Record {
    /// All fields by name, in order: what JSON, CSV and Python show of a record.
    ///
    /// ```
    /// let set = codiag::synthetic::noisy(20, 3, 0.1, 0);
    /// let answer = codiag::diagonalize(&set, &codiag::Settings::default())?;
    /// let names: Vec<&str> = answer.history[0].fields().iter().map(|field| field.0).collect();
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

    /// What a stability was learned from.
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

    /// Everything, matrices as lists of rows, complex numbers as lists of two.
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

/// Follows a solve. Any closure from a record and the current B will do.
///
/// ```
/// use std::ops::ControlFlow;
/// let mut observer = |record: &codiag::Record, _: &codiag::Matrix| {
///     if record.seconds > 60.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// };
/// let set = codiag::synthetic::noisy(20, 5, 0.1, 0);
/// let answer = codiag::diagonalize_with(&set, &codiag::Settings::default(), &mut observer)?;
/// assert!(answer.status.is_converged());
/// # Ok::<(), codiag::Error>(())
/// ```
pub trait Observer<T = f64> {
    /// Called at the start and after each iteration with B as it stands, in the channels of the
    /// input: it can be given as a start, also to a set that is reduced in rank. `Break` ends the
    /// solve with [`Status::Interrupted`].
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()>;
}

impl<T, F: FnMut(&Record, &Matrix<T>) -> ControlFlow<()>> Observer<T> for F {
    fn observe(&mut self, record: &Record, b: &Matrix<T>) -> ControlFlow<()> {
        self(record, b)
    }
}

/// The pair of components that is hardest to tell apart.
///
/// ```
/// use codiag::{MatrixSet, Settings, diagonalize};
/// // The powers of the last two sources are proportional: 1 and 2, 3 and 6.
/// let data = [5.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, //
///             1.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 6.0];
/// let answer = diagonalize(&MatrixSet::new(&data, 2, 3)?, &Settings::default())?;
/// let hardest = answer.identifiability.expect("there are pairs");
/// assert!(hardest.margin.abs() < 1e-10, "any mixture of the two serves as well");
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Identifiability {
    /// Zero if any mixture of the two serves as well: Γ_ab Γ_ba − 1 for the likelihood, if their powers
    /// are proportional over the set; Σ_i w_i (Dⁱ_aa − Dⁱ_bb)² as a share of their energies for the
    /// Frobenius criterion, if their diagonal entries are equal in all matrices.
    pub margin: f64,
    /// The two components, as rows of B.
    pub pair: (usize, usize),
}

/// The answer.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// let set = synthetic::noisy(100, 4, 0.1, 0);
/// let answer = diagonalize(&set, &Settings::default())?;
/// // The power of component 0 in each matrix; over the set, its mean is 1.
/// let powers: Vec<f64> = (0..100).map(|i| answer.powers[(i, 0)]).collect();
/// assert!((powers.iter().sum::<f64>() / 100.0 - 1.0).abs() < 1e-6);
/// // The matrix that fits least.
/// let worst = (0..100).max_by(|i, j| answer.residuals[*i].total_cmp(&answer.residuals[*j]));
/// assert!(answer.residuals[worst.expect("there are matrices")] >= answer.loss);
/// // B and A undo each other.
/// assert!(((&answer.b * &answer.a)[(2, 2)] - 1.0).abs() < 1e-12);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagonalization<T = f64> {
    /// The filters, one per row: B Cⁱ Bᴴ are as diagonal as can be. r×p for a set reduced to rank r.
    pub b: Matrix<T>,
    /// The patterns, one per column: B A = I.
    pub a: Matrix<T>,
    /// What was minimized.
    pub criterion: Criterion,
    /// Why the solve ended.
    pub status: Status,
    /// How many iterations it took.
    pub n_iter: usize,
    /// The loss at B: zero if all B Cⁱ Bᴴ are diagonal.
    pub loss: f64,
    /// ĝ at B.
    pub gradient_norm: f64,
    /// One record for the start and one per iteration.
    pub history: Vec<Record>,
    /// Each matrix's own share of the loss, for the likelihood ½ (Σ_a log Dⁱ_aa − log det Dⁱ); their
    /// weighted mean is the loss.
    pub residuals: Vec<f64>,
    /// The powers Dⁱ_aa, for least squares Λⁱ_aa, one row per matrix, one column per component.
    pub powers: Matrix,
    /// The components hardest to tell apart; None if there is only one.
    pub identifiability: Option<Identifiability>,
    /// The losses of all starts tried, the first being the one asked for; of a further start that was given
    /// up, the loss where it was, and of one that was not the best, where that could be told.
    pub start_losses: Vec<f64>,
    /// How surely each component comes again; None if that was not asked for
    /// ([`Settings::stability`](crate::Settings::stability), or restarts in
    /// [`SortBy::Stability`](crate::SortBy::Stability)), or if nothing could be tried.
    pub stability: Option<Stability>,
}

impl<T: Scalar> Diagonalization<T> {
    /// The ratio of the largest to the smallest singular value of B.
    pub fn condition_number(&self) -> f64 {
        let values = linalg::singular_values(&self.b).unwrap_or_default();
        match (values.first(), values.last()) {
            (Some(largest), Some(smallest)) => largest / smallest,
            _ => f64::NAN,
        }
    }

    /// Dⁱ = B Cⁱ Bᴴ for all matrices of a set, row-major one after the other.
    pub fn transform(&self, set: &crate::MatrixSet<T>) -> Vec<T> {
        set.transform(&self.b)
    }

    /// Puts component `order[a]` into row a, times the sign or phase `phases[a]`.
    pub(crate) fn rearrange(&mut self, order: &[usize], phases: &[T]) {
        let (b, a, powers) = (&self.b, &self.a, &self.powers);
        self.b = Matrix::from_fn(b.rows(), b.columns(), |x, c| b[(order[x], c)] * phases[x]);
        self.a = Matrix::from_fn(a.rows(), a.columns(), |c, x| {
            a[(c, order[x])] * phases[x].conj()
        });
        self.powers = Matrix::from_fn(powers.rows(), powers.columns(), |i, x| {
            powers[(i, order[x])]
        });
        if let Some(hardest) = &mut self.identifiability {
            let place = |component| order.iter().position(|o| *o == component);
            let pair = place(hardest.pair.0).zip(place(hardest.pair.1));
            hardest.pair = pair.map_or(hardest.pair, |(x, y)| (x.min(y), x.max(y)));
        }
        if let Some(stability) = &mut self.stability {
            stability.rearrange(order);
        }
    }

    /// Puts the most stable components first, if their stability is known.
    pub(crate) fn order_by_stability(&mut self) {
        if let Some(stability) = &self.stability {
            let order = stability.order();
            self.rearrange(&order, &vec![T::ONE; order.len()]);
        }
    }
}
