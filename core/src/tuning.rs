//! The constants that steer the numerics, in one place.

/// Numerical tuning constants, with the values that all solves use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Largest forcing term of the truncated Newton method: the residual of the Newton system relative
    /// to the gradient is min(this, ĝ).
    pub max_forcing_term: f64,
    /// Changes of ĝ below this fraction of the tolerance are negligible: the Newton system is solved no
    /// further, a step that is expected to reach it is the last, and rounding below it is ignored.
    pub tolerance_margin: f64,
    /// Maximum number of conjugate gradient iterations.
    pub max_cg_iterations: usize,
    /// The limit for few matrices, where conjugate gradients take as long as a pass; between this and
    /// the maximum the limit is 3n/10.
    pub min_cg_limit: usize,
    /// Below this ĝ conjugate gradients may use their full number of iterations.
    pub full_cg_below: f64,
    /// Once entries of a step are at their bounds, the limit of iterations is divided by this.
    pub cg_limit_divisor_after_restart: usize,
    /// Maximum number of conjugate gradient iterations for least squares.
    pub max_fit_cg_iterations: usize,
    /// Largest entry of a step; beyond it the loss is not quadratic.
    pub max_entry: f64,
    /// Entries beyond this fraction of their bound become active when a step meets a bound.
    pub active_fraction: f64,
    /// Below this ratio of actual to predicted decrease the trust region shrinks, by `shrink`.
    pub shrink_ratio: f64,
    /// See `shrink_ratio`.
    pub shrink: f64,
    /// Above this ratio the trust region expands, by `expand`.
    pub expand_ratio: f64,
    /// See `expand_ratio`.
    pub expand: f64,
    /// The trust region is updated only if the predicted change exceeds this multiple of rounding.
    pub min_signal_to_rounding: f64,
    /// A line search stops at a slope of this fraction of that at the start.
    pub line_search_slope: f64,
    /// A trial whose minimizer is at a smaller fraction is halved instead.
    pub min_step: f64,
    /// Remainder of the series of a determinant, as a fraction of the rounding of the loss.
    pub series_remainder: f64,
    /// Below this ĝ the second-order term of the exponential is left out of the Hessian.
    pub retraction_term_above: f64,
    /// Smallest ratio of the eigenvalues of a block of the preconditioner.
    pub preconditioner_floor: f64,
    /// Where ĝ is expected to be below this, a Hessian is not requested together with the gradient.
    pub last_step_gradient: f64,
    /// With at most this number of matrices, of at least `unstored_hessian_min_p` components, Hessians are not
    /// stored.
    pub unstored_hessian_max_n: usize,
    /// See `unstored_hessian_max_n`.
    pub unstored_hessian_min_p: usize,
    /// Least squares uses the exact Hessian where a Gauss–Newton step reduces ĝ by less than this
    /// factor,
    pub gauss_newton_min_reduction: f64,
    /// once ĝ is below this,
    pub exact_fit_hessian_below: f64,
    /// and until it is above this.
    pub exact_fit_hessian_until: f64,
    /// The damping of least squares is divided by this after a step that brought what was predicted.
    pub damping_reduction: f64,
    /// The stage in single precision begins where ĝ is above this,
    pub single_above: f64,
    /// ends where it is below this,
    pub single_tolerance: f64,
    /// and is left out below this number of components,
    pub single_min_p: usize,
    /// and where the powers of a matrix differ by more than this factor.
    pub single_max_power_ratio: f64,
    /// It also ends where updates have multiplied the variance of rounding errors by this.
    pub single_max_error_variance: f64,
    /// Maximum number of stages in single precision.
    pub max_single_stages: usize,
    /// Minimum number of matrices in the sample of a large set; never fewer than 2p.
    pub min_sample: usize,
    /// Every k-th matrix is taken, for k between this
    pub min_sample_step: usize,
    /// and this.
    pub max_sample_step: usize,
    /// ĝ at which the stage on a sample ends: beyond it, the sample's own noise would be fitted.
    pub sample_tolerance: f64,
    /// ĝ at which the stage on principal combinations ends.
    pub combinations_tolerance: f64,
    /// Maximum number of iterations of that stage.
    pub max_combination_iterations: usize,
    /// Number of iterations without a smaller ĝ, once changes of the loss are rounding, after which a
    /// solve ends.
    pub patience: usize,
    /// Number of iterations over which the smallest ĝ must decrease by a fraction, or the loss,
    pub stall_iterations: usize,
    /// which is this for ĝ,
    pub stall_gradient_decrease: f64,
    /// and this for the loss.
    pub stall_loss_decrease: f64,
    /// Number of iterations with components that cancel each other after which a fit ends.
    pub max_cancelled_iterations: usize,
    /// Updated matrices are recomputed only if their error variance is this many times larger,
    pub drift_min_gain: f64,
    /// and larger than this fraction of a component's power,
    pub drift_negligible: f64,
    /// or if their mean has drifted by more than this.
    pub max_mean_drift: f64,
    /// How much smaller than its mean a power may be in single matrices, in a bound of errors.
    pub power_range: f64,
    /// Multiply-adds of a pass from which on several solves do not run at the same time.
    pub parallel_passes_from: usize,
}

/// The values.
pub(crate) const TUNING: Tuning = Tuning {
    max_forcing_term: 0.1,
    tolerance_margin: 0.1,
    max_cg_iterations: 100,
    min_cg_limit: 20,
    full_cg_below: 1e-4,
    cg_limit_divisor_after_restart: 3,
    max_fit_cg_iterations: 200,
    max_entry: 0.2,
    active_fraction: 0.5,
    shrink_ratio: 0.4,
    shrink: 0.7,
    expand_ratio: 0.8,
    expand: 1.5,
    min_signal_to_rounding: 10.0,
    line_search_slope: 0.1,
    min_step: 0.1,
    series_remainder: 0.01,
    retraction_term_above: 1e-3,
    preconditioner_floor: 0.01,
    last_step_gradient: 1e-7,
    unstored_hessian_max_n: 4,
    unstored_hessian_min_p: 64,
    gauss_newton_min_reduction: 6.0,
    exact_fit_hessian_below: 0.03,
    exact_fit_hessian_until: 0.1,
    damping_reduction: 2.5,
    single_above: 1e-2,
    single_tolerance: 1e-6,
    single_min_p: 20,
    single_max_power_ratio: 1e4,
    single_max_error_variance: 100.0,
    max_single_stages: 3,
    min_sample: 200,
    min_sample_step: 4,
    max_sample_step: 8,
    sample_tolerance: 1e-2,
    combinations_tolerance: 1e-3,
    max_combination_iterations: 30,
    patience: 3,
    stall_iterations: 100,
    stall_gradient_decrease: 0.01,
    stall_loss_decrease: 1e-10,
    max_cancelled_iterations: 10,
    drift_min_gain: 10.0,
    drift_negligible: 1e-10,
    max_mean_drift: 1e-9,
    power_range: 100.0,
    parallel_passes_from: 100_000_000,
};

/// Default of the memory that a Hessian may take, in bytes.
pub(crate) const DEFAULT_HESSIAN_MEMORY: usize = 1 << 30;
