//! Numerical tuning constants of the solvers.

/// Numerical tuning constants. All solves use [`TUNING`].
///
/// ĝ is the gradient norm that is compared with the tolerance `tol`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Largest forcing term of the truncated Newton method (Eisenstat–Walker): the Newton system is
    /// solved to a relative residual of min(`max_forcing_term`, ĝ).
    pub max_forcing_term: f64,
    /// Changes of ĝ below this fraction of the tolerance are negligible: the Newton system is not
    /// solved more accurately, a step that is expected to reach this level is the last one, and
    /// smaller rounding errors are ignored.
    pub tolerance_margin: f64,
    /// Maximum number of conjugate gradient iterations.
    pub max_cg_iterations: usize,
    /// Smallest iteration limit of conjugate gradients. While ĝ exceeds `full_cg_below`, the limit
    /// for n matrices is 3n/10, between this value and `max_cg_iterations`: for few matrices, an
    /// iteration costs about as much as a data pass.
    pub min_cg_limit: usize,
    /// Gradient norm ĝ up to which conjugate gradients may take `max_cg_iterations` iterations.
    pub full_cg_below: f64,
    /// Divisor of the iteration limit of conjugate gradients after a restart with entries fixed at
    /// their bounds.
    pub cg_limit_divisor_after_restart: usize,
    /// Maximum number of conjugate gradient iterations for least squares.
    pub max_fit_cg_iterations: usize,
    /// Largest absolute entry of a step (box constraint). For larger entries, the quadratic model
    /// is inaccurate.
    pub max_entry: f64,
    /// Fraction of the bound beyond which entries become active when a step meets a bound.
    pub active_fraction: f64,
    /// Ratio of actual to predicted decrease below which the trust region shrinks.
    pub shrink_ratio: f64,
    /// Factor by which the trust region shrinks.
    pub shrink_factor: f64,
    /// Ratio of actual to predicted decrease above which the trust region expands.
    pub expand_ratio: f64,
    /// Factor by which the trust region expands.
    pub expand_factor: f64,
    /// The trust region is updated only if the predicted change of the loss exceeds this multiple
    /// of its rounding error.
    pub min_signal_to_rounding: f64,
    /// A line search ends where the slope is at most this fraction of the initial slope.
    pub line_search_slope: f64,
    /// Smallest step length that a line search may accept. If it finds a smaller one, the direction
    /// is halved instead.
    pub min_step_length: f64,
    /// Largest remainder of the series of log det(I + αE), as a fraction of the rounding error of
    /// the loss.
    pub series_remainder: f64,
    /// Gradient norm ĝ above which the Hessian includes the second-order term of the exponential.
    pub retraction_term_above: f64,
    /// Smallest ratio of the eigenvalues of a 2×2 block of the preconditioner.
    pub preconditioner_floor: f64,
    /// If the next ĝ is expected to be below this value, the Hessian is not requested together with
    /// the gradient.
    pub last_step_gradient: f64,
    /// The Hessian is not stored for at most this number of matrices with at least
    /// `unstored_hessian_min_p` components.
    pub unstored_hessian_max_n: usize,
    /// Minimum number of components for which `unstored_hessian_max_n` applies.
    pub unstored_hessian_min_p: usize,
    /// Least squares changes from the Gauss–Newton model to the exact Hessian if a step reduces ĝ
    /// by less than this factor.
    pub gauss_newton_min_reduction: f64,
    /// Gradient norm ĝ below which least squares may change to the exact Hessian.
    pub exact_fit_hessian_below: f64,
    /// Gradient norm ĝ above which least squares returns to the Gauss–Newton model.
    pub gauss_newton_above: f64,
    /// Divisor of the damping of least squares after a step with the predicted decrease.
    pub damping_reduction: f64,
    /// Gradient norm ĝ above which a stage in single precision begins.
    pub single_precision_above: f64,
    /// Gradient norm ĝ at which a stage in single precision ends.
    pub single_precision_tolerance: f64,
    /// Minimum number of components for a stage in single precision.
    pub single_precision_min_p: usize,
    /// Largest ratio of the powers of two components in one matrix for which single precision is
    /// used.
    pub single_precision_max_power_ratio: f64,
    /// Factor of growth of the variance of rounding errors at which a stage in single precision
    /// ends.
    pub single_precision_max_error_variance: f64,
    /// Maximum number of stages in single precision.
    pub max_single_precision_stages: usize,
    /// Minimum number of matrices in the sample of a large set; never fewer than 2p.
    pub min_sample: usize,
    /// Smallest k for which every k-th matrix is sampled; otherwise no sample is used.
    pub min_sample_step: usize,
    /// Largest k for which every k-th matrix is sampled.
    pub max_sample_step: usize,
    /// Gradient norm ĝ at which the stage on a sample ends; a smaller one would fit the noise of
    /// the sample.
    pub sample_tolerance: f64,
    /// Gradient norm ĝ at which the stage on principal combinations ends.
    pub combinations_tolerance: f64,
    /// Maximum number of iterations of the stage on principal combinations.
    pub max_combination_iterations: usize,
    /// Number of iterations without a decrease of ĝ after which a solve has stalled, once changes
    /// of the loss are below rounding.
    pub patience: usize,
    /// Number of iterations after which a solve has stalled if neither the smallest ĝ nor the loss
    /// has decreased enough.
    pub stall_iterations: usize,
    /// Minimum relative decrease of the smallest ĝ over `stall_iterations`.
    pub stall_gradient_decrease: f64,
    /// Minimum relative decrease of the loss over `stall_iterations`.
    pub stall_loss_decrease: f64,
    /// Number of iterations with components that cancel each other after which a least-squares fit
    /// ends as collinear.
    pub max_canceled_iterations: usize,
    /// Updated matrices are recomputed only if the variance of their rounding errors exceeds that
    /// of recomputed matrices by this factor.
    pub drift_min_gain: f64,
    /// Relative error of a component's power below which updated matrices are not recomputed.
    pub drift_negligible: f64,
    /// Largest relative drift of the mean of updated matrices before they are recomputed.
    pub max_mean_drift: f64,
    /// Assumed ratio of the mean power of a component to its smallest power in a single matrix, in
    /// the bound of the gradient's rounding error.
    pub power_range: f64,
    /// Number of multiply-adds of a data pass from which the threads share the passes of one solve.
    /// Below it, several solves run in parallel, each on one thread.
    pub parallel_passes_from: usize,
}

/// The values of all tuning constants.
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
    shrink_factor: 0.7,
    expand_ratio: 0.8,
    expand_factor: 1.5,
    min_signal_to_rounding: 10.0,
    line_search_slope: 0.1,
    min_step_length: 0.1,
    series_remainder: 0.01,
    retraction_term_above: 1e-3,
    preconditioner_floor: 0.01,
    last_step_gradient: 1e-7,
    unstored_hessian_max_n: 4,
    unstored_hessian_min_p: 64,
    gauss_newton_min_reduction: 6.0,
    exact_fit_hessian_below: 0.03,
    gauss_newton_above: 0.1,
    damping_reduction: 2.5,
    single_precision_above: 1e-2,
    single_precision_tolerance: 1e-6,
    single_precision_min_p: 20,
    single_precision_max_power_ratio: 1e4,
    single_precision_max_error_variance: 100.0,
    max_single_precision_stages: 3,
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
    max_canceled_iterations: 10,
    drift_min_gain: 10.0,
    drift_negligible: 1e-10,
    max_mean_drift: 1e-9,
    power_range: 100.0,
    parallel_passes_from: 100_000_000,
};

/// Default of the maximum size of a stored Hessian, in bytes.
pub(crate) const DEFAULT_HESSIAN_MEMORY: usize = 1 << 30;
