/* codiag: approximate joint diagonalization of symmetric and Hermitian matrices, and matrices from
 * recordings.
 *
 * Given matrices C1 ... Cn of size p x p, codiag computes the matrix B for which all Di = B Ci B^H
 * are as diagonal as possible. The rows of B are filters; the columns of A, with B A = I, are their
 * patterns.
 *
 *     codiag_set *set;
 *     codiag_result *result;
 *     if (codiag_set_new(data, n, p, CODIAG_LAYOUT_ROW_MAJOR, NULL, &set)
 *         || codiag_diagonalize(set, NULL, &result))
 *         fprintf(stderr, "%s\n", codiag_last_error());
 *
 * - Errors: functions that can fail return 0 (CODIAG_ERROR_NONE) or a codiag_error.
 *   codiag_last_error() then returns a message, and codiag_last_error_details() the location of the
 *   error. A solve that does not converge is not an error; its result has a codiag_status.
 * - Indices start at 0. Input arrays are not modified, and not accessed after a function has
 *   returned.
 * - Options and settings are structs that begin with their size. Initialize a struct by its _init
 *   function, then set its fields. A program compiled with an older header works with a newer
 *   library. NULL selects the defaults.
 * - Complex numbers are pairs of double, real part first. Pointers to `double complex` (C) and
 *   `std::complex<double>` (C++) can be cast to `double *`.
 * - Threads: sets and results are immutable, and can be used by several threads at once.
 * - Ownership: free sets by codiag_set_free and results by codiag_result_free. Other memory belongs
 *   to the caller.
 *
 * This file is generated from the sources in capi/src; do not edit it. */


#ifndef CODIAG_H
#define CODIAG_H

#include <stddef.h>
#include <stdint.h>

/** Version of this header; codiag_version() returns the version of the library. */
#define CODIAG_VERSION_MAJOR 0
#define CODIAG_VERSION_MINOR 1
#define CODIAG_VERSION_PATCH 0
#define CODIAG_VERSION "0.1.0"

/** Value of an index that does not apply. */
#define CODIAG_NONE ((size_t)-1)

/** Value of codiag_set_options.n_components that selects the rank of the mean matrix. */
#define CODIAG_N_COMPONENTS_AUTO ((size_t)-1)





/**
 * Return code of a function: 0 for success, otherwise the kind of error.
 */
typedef enum codiag_error {
    /**
     * Success.
     */
    CODIAG_ERROR_NONE = 0,
    /**
     * A pointer is NULL or misaligned, the `size` of a struct is not supported by this version of
     * the library, or a number is not a value of its enum.
     */
    CODIAG_ERROR_ARGUMENT = 1,
    /**
     * The number or the size of the matrices is 0, or the array is too large to be addressed.
     */
    CODIAG_ERROR_SHAPE = 2,
    /**
     * An entry or a sample is NaN or infinite, or so large or small that products overflow or
     * underflow.
     */
    CODIAG_ERROR_NOT_FINITE = 3,
    /**
     * A matrix is not symmetric or, if it is complex, not Hermitian.
     */
    CODIAG_ERROR_ASYMMETRIC = 4,
    /**
     * A matrix is not positive definite, but the criterion requires it.
     */
    CODIAG_ERROR_NOT_POSITIVE_DEFINITE = 5,
    /**
     * A weight is negative or not finite, or all weights are zero.
     */
    CODIAG_ERROR_WEIGHTS = 6,
    /**
     * The given starting point B is singular or not finite, or not orthogonal where that is
     * required.
     */
    CODIAG_ERROR_INIT = 7,
    /**
     * The value of a setting is out of range.
     */
    CODIAG_ERROR_SETTING = 8,
    /**
     * Two settings cannot be combined, such as a criterion and a method that does not support it.
     */
    CODIAG_ERROR_CONFLICT = 9,
    /**
     * A recording has no channels, no samples or zero variance, or too few samples for the
     * request.
     */
    CODIAG_ERROR_RECORDING = 10,
    /**
     * A defect of the library. Please report it.
     */
    CODIAG_ERROR_INTERNAL = 11,
    /**
     * The request needs more memory than is available. Nothing was allocated.
     */
    CODIAG_ERROR_MEMORY = 12
} codiag_error;

/**
 * Language whose option names are used in error messages.
 */
typedef enum codiag_language {
    /**
     * C. Matrices and entries are counted from 0.
     */
    CODIAG_LANGUAGE_C = 0,
    /**
     * R. Matrices and entries are counted from 1.
     */
    CODIAG_LANGUAGE_R = 1,
    /**
     * Octave and MATLAB. Matrices and entries are counted from 1.
     */
    CODIAG_LANGUAGE_OCTAVE = 2
} codiag_language;

/**
 * Change that would make a set of matrices positive definite.
 */
typedef enum codiag_remedy {
    /**
     * No remedy is known.
     */
    CODIAG_REMEDY_NONE = 0,
    /**
     * All matrices share a null space: set codiag_set_options.n_components to `rank`.
     */
    CODIAG_REMEDY_REDUCE = 1,
    /**
     * Some matrices are singular: set codiag_set_options.shrinkage to `shrinkage`.
     */
    CODIAG_REMEDY_SHRINK = 2
} codiag_remedy;

/**
 * Memory layout of matrices and recordings. Matrices are always stored one after the other.
 */
typedef enum codiag_layout {
    /**
     * Row by row, as in C: entry (a, b) of the p x p matrix i is at index i*p*p + a*p + b. A
     * recording is stored channel by channel.
     */
    CODIAG_LAYOUT_ROW_MAJOR = 0,
    /**
     * Column by column, as in Fortran, MATLAB, R and Julia: entry (a, b) of the p x p matrix i is
     * at index i*p*p + a + b*p. A recording is stored sample by sample.
     */
    CODIAG_LAYOUT_COLUMN_MAJOR = 1
} codiag_layout;

/**
 * Criterion that is minimized.
 */
typedef enum codiag_criterion {
    /**
     * Pham's likelihood criterion 1/2 sum_i w_i (sum_a log Di_aa - log det Di), for positive
     * definite matrices.
     */
    CODIAG_CRITERION_LIKELIHOOD = 0,
    /**
     * Fraction of the energy sum_i w_i |Ci|^2 outside the diagonals of Di, minimized over
     * orthogonal (unitary) B, for symmetric (Hermitian) matrices.
     */
    CODIAG_CRITERION_FROBENIUS = 1,
    /**
     * Fraction of the energy sum_i w_i |Ci|^2 not explained by the fit A Li A^H with the best
     * diagonal Li, for symmetric (Hermitian) matrices.
     */
    CODIAG_CRITERION_LEAST_SQUARES = 2
} codiag_criterion;

/**
 * Method by which a criterion is minimized.
 */
typedef enum codiag_method {
    /**
     * Newton's method, for all criteria.
     */
    CODIAG_METHOD_NEWTON = 0,
    /**
     * Quasi-Newton method of Ablin, Cardoso & Gramfort (2019), Algorithm 1, for the likelihood and
     * the Frobenius criterion.
     */
    CODIAG_METHOD_QUASI_NEWTON = 1,
    /**
     * Pham's algorithm (2001), for the likelihood.
     */
    CODIAG_METHOD_PHAM = 2,
    /**
     * Jacobi rotations (Cardoso & Souloumiac 1996), for the Frobenius criterion.
     */
    CODIAG_METHOD_JACOBI = 3,
    /**
     * AC-DC (Yeredor 2002), for least squares.
     */
    CODIAG_METHOD_ACDC = 4,
    /**
     * U-WEDGE (Tichavsky & Yeredor), for least squares.
     */
    CODIAG_METHOD_UWEDGE = 5,
    /**
     * FFDIAG (Ziehe et al.), for least squares.
     */
    CODIAG_METHOD_FFDIAG = 6,
    /**
     * Alternating minimization over the rows of B, for the likelihood. Slower; for comparison
     * only.
     */
    CODIAG_METHOD_ROW_WISE = 7
} codiag_method;

/**
 * Starting point of the iteration.
 */
typedef enum codiag_init {
    /**
     * Whitener, rotated to jointly diagonalize a few principal combinations of the whitened
     * matrices.
     */
    CODIAG_INIT_SPECTRAL = 0,
    /**
     * Whitener of the mean matrix.
     */
    CODIAG_INIT_WHITENER = 1,
    /**
     * Identity matrix.
     */
    CODIAG_INIT_IDENTITY = 2,
    /**
     * The matrix codiag_settings.b.
     */
    CODIAG_INIT_GIVEN = 3
} codiag_init;

/**
 * Order of the components.
 */
typedef enum codiag_sort_by {
    /**
     * By decreasing contrast: for the likelihood, the variation of the power of a component over
     * the matrices; for the other criteria, the energy of the component.
     */
    CODIAG_SORT_BY_CONTRAST = 0,
    /**
     * By decreasing stability, as codiag_result_stability returns it. Requires n_resamples or
     * n_restarts above 0.
     */
    CODIAG_SORT_BY_STABILITY = 1
} codiag_sort_by;

/**
 * Reason why a solve ended.
 */
typedef enum codiag_status {
    /**
     * The gradient norm reached the tolerance.
     */
    CODIAG_STATUS_CONVERGED = 0,
    /**
     * The iteration limit was reached.
     */
    CODIAG_STATUS_MAX_ITER = 1,
    /**
     * No step decreases the loss any further, for example because of rounding errors. The best
     * point is returned.
     */
    CODIAG_STATUS_STALLED = 2,
    /**
     * The callback stopped the solve.
     */
    CODIAG_STATUS_INTERRUPTED = 3,
    /**
     * Columns of A became linearly dependent, where the least-squares criterion has no minimum.
     */
    CODIAG_STATUS_COLLINEAR = 4,
    /**
     * A reason that this version of the header does not name.
     */
    CODIAG_STATUS_OTHER = 5
} codiag_status;

/**
 * Stage of a solve.
 */
typedef enum codiag_stage {
    /**
     * Improves the starting point on a sample, or on a few linear combinations, of the matrices.
     */
    CODIAG_STAGE_SAMPLE = 0,
    /**
     * Uses all matrices, in single precision.
     */
    CODIAG_STAGE_SINGLE = 1,
    /**
     * Uses all matrices, in double precision.
     */
    CODIAG_STAGE_FULL = 2,
    /**
     * A stage that this version of the header does not name.
     */
    CODIAG_STAGE_OTHER = 3
} codiag_stage;

/**
 * Kind of step that led to an iterate.
 */
typedef enum codiag_step {
    /**
     * No step: the iterate is the starting point.
     */
    CODIAG_STEP_INIT = 0,
    /**
     * Quasi-Newton step.
     */
    CODIAG_STEP_QUASI_NEWTON = 1,
    /**
     * Newton step.
     */
    CODIAG_STEP_NEWTON = 2,
    /**
     * Sweep over all pairs of components or all columns.
     */
    CODIAG_STEP_SWEEP = 3,
    /**
     * Step of U-WEDGE or FFDIAG.
     */
    CODIAG_STEP_WEDGE = 4,
    /**
     * A kind of step that this version of the header does not name.
     */
    CODIAG_STEP_OTHER = 5
} codiag_step;

/**
 * Result of a solve.
 */
typedef struct codiag_result codiag_result;

/**
 * Validated set of matrices. It owns a copy of the data.
 */
typedef struct codiag_set codiag_set;

/**
 * Location and value of the number that caused an error. Indices that do not apply are
 * CODIAG_NONE, other fields 0. Initialize it with codiag_error_details_init.
 */
typedef struct codiag_error_details {
    /**
     * sizeof(codiag_error_details), set by codiag_error_details_init.
     */
    size_t size;
    /**
     * Return code of the failed call, a codiag_error.
     */
    int code;
    /**
     * Index of the matrix or, for CODIAG_ERROR_WEIGHTS, of the weight.
     */
    size_t matrix;
    /**
     * Row of the entry or, for a recording, index of the channel.
     */
    size_t row;
    /**
     * Column of the entry or, for a recording, index of the sample.
     */
    size_t column;
    /**
     * The invalid entry, weight or sample. For CODIAG_ERROR_ASYMMETRIC, the asymmetry relative to
     * the largest entry. For CODIAG_ERROR_NOT_POSITIVE_DEFINITE, the smallest eigenvalue.
     */
    double value;
    /**
     * Change that resolves the error, a codiag_remedy.
     */
    int remedy;
    /**
     * Rank of the set, for CODIAG_REMEDY_REDUCE.
     */
    size_t rank;
    /**
     * Sufficient shrinkage, for CODIAG_REMEDY_SHRINK.
     */
    double shrinkage;
} codiag_error_details;

/**
 * Options of codiag_set_new. Initialize it with codiag_set_options_init.
 */
typedef struct codiag_set_options {
    /**
     * sizeof(codiag_set_options), set by codiag_set_options_init.
     */
    size_t size;
    /**
     * Criterion that will be minimized, a codiag_criterion. The likelihood requires positive
     * definite matrices. Default: CODIAG_CRITERION_LIKELIHOOD.
     */
    int criterion;
    /**
     * Weights of the n matrices, nonnegative and not all zero. Default: NULL (equal weights).
     */
    const double *weights;
    /**
     * Number of components, from 1 to p: the matrices are first projected on this number of
     * leading eigenvectors of their mean, scaled to unit diagonal. CODIAG_N_COMPONENTS_AUTO
     * selects the rank of the mean. Default: 0 (p components, no projection).
     */
    size_t n_components;
    /**
     * Shrinkage s from 0 to 1: each matrix C is replaced by (1 - s) C + s trace(C)/p I. Default:
     * 0.
     */
    double shrinkage;
    /**
     * Whether each matrix is replaced by its symmetric (if complex, Hermitian) part: 0 or 1. If it
     * is 0, a relative asymmetry beyond 1e-8 is an error. Default: 0.
     */
    int symmetrize;
    /**
     * Number of threads that prepare and solve the set; the result does not depend on it. Default:
     * 0 (chosen automatically).
     */
    size_t n_jobs;
} codiag_set_options;

/**
 * One iterate of a solve. Initialize it with codiag_record_init before a call of
 * codiag_result_history.
 */
typedef struct codiag_record {
    /**
     * sizeof(codiag_record), set by codiag_record_init. In callbacks, the size set by the library.
     */
    size_t size;
    /**
     * Index of the starting point: 0 for codiag_settings.init, from 1 on for restarts.
     */
    size_t start;
    /**
     * Whether the stage is CODIAG_STAGE_SAMPLE: 0 or 1. Such records are passed to the callback
     * only, not stored in the history, and their losses differ from others by a constant.
     */
    int sample;
    /**
     * Number of the iteration; 0 for the starting point.
     */
    size_t iteration;
    /**
     * Time since the beginning of the solve, in seconds.
     */
    double seconds;
    /**
     * Loss at the iterate.
     */
    double loss;
    /**
     * Norm of the relative gradient at the iterate.
     */
    double gradient_norm;
    /**
     * Decrease of the loss that the quadratic model predicts for the next step. For Pham's method,
     * the sum of the decreases predicted for the pairs of the last sweep.
     */
    double decrement;
    /**
     * Kind of the step that led to the iterate, a codiag_step.
     */
    int kind;
    /**
     * Length of the step, as a fraction of its direction. For a sweep of rotations, the largest
     * sine of their angles. For the starting point, 0.
     */
    double step;
    /**
     * Number of conjugate gradient iterations of the step.
     */
    size_t cg_iterations;
    /**
     * Cumulative cost in data passes: transforms B Ci B^H of all matrices.
     */
    double passes;
    /**
     * Stage of the solve, a codiag_stage.
     */
    int stage;
} codiag_record;

/**
 * Function that codiag_diagonalize calls, on the thread of its caller, at the starting point and
 * after each iteration. `b` is the current B in the layout of the set; `record` and `b` are valid
 * during the call only. `user_data` is codiag_settings.user_data. A return value other than 0
 * stops the solve with status CODIAG_STATUS_INTERRUPTED and the best iterate so far. The function
 * must return normally: C++ exceptions and longjmp are not allowed.
 */
typedef int (*codiag_callback)(const struct codiag_record *record, const double *b, void *user_data);

/**
 * Settings of codiag_diagonalize. Initialize it with codiag_settings_init.
 */
typedef struct codiag_settings {
    /**
     * sizeof(codiag_settings), set by codiag_settings_init.
     */
    size_t size;
    /**
     * Method by which the loss is minimized, a codiag_method. Default: CODIAG_METHOD_NEWTON.
     */
    int method;
    /**
     * Starting point of the iteration, a codiag_init. Default: CODIAG_INIT_SPECTRAL.
     */
    int init;
    /**
     * Starting point B for CODIAG_INIT_GIVEN, codiag_set_n_components x codiag_set_n_channels
     * numbers in the layout of the set, complex for a complex set. It must be NULL for
     * every other init. Default: NULL.
     */
    const double *b;
    /**
     * Whether B is constrained to be orthogonal (unitary): 0 or 1. Default: 0.
     */
    int orthogonal;
    /**
     * Tolerance: the solve has converged when the gradient norm is at most this. Default: 1e-8.
     */
    double tol;
    /**
     * Maximum number of iterations or sweeps. Default: 1000.
     */
    size_t max_iter;
    /**
     * Lower bound of the determinants of the 2 x 2 blocks of the quasi-Newton Hessian. Default:
     * 1e-4.
     */
    double lambda_min;
    /**
     * Maximum number of step halvings in a line search of the quasi-Newton method. Default: 10.
     */
    size_t max_halvings;
    /**
     * Number of additional, deterministic starting points; the result with the lowest loss is
     * returned. Default: 0.
     */
    size_t n_restarts;
    /**
     * Whether the components are normalized and sorted: 0 or 1. For the likelihood, mean powers
     * are 1; for the Frobenius criterion, rows of B have unit norm; for least squares, columns of
     * A have unit norm. The largest entry of each column of A is positive. The order is that of
     * `sort_by`. Default: 1.
     */
    int canonical;
    /**
     * Whether rows of B are rescaled to unit mean powers at every iteration: 0 or 1. If it is 0,
     * the gradient norm depends on the units of the data. Default: 1.
     */
    int rescale;
    /**
     * Maximum size in bytes of the stored Hessian. A larger Hessian is not stored; its products
     * are computed by data passes. Default: 1 GiB.
     */
    size_t hessian_memory;
    /**
     * Function called at the starting point and after each iteration; it can stop the solve.
     * Default: NULL (none).
     */
    codiag_callback callback;
    /**
     * Last argument of the callback. Default: NULL.
     */
    void *user_data;
    /**
     * Number of bootstrap resamples of the matrices used to estimate how reproducible each
     * component is; see codiag_result_stability. Default: 0 (not estimated).
     */
    size_t n_resamples;
    /**
     * Order of the components, a codiag_sort_by. CODIAG_SORT_BY_CONTRAST has no effect if
     * `canonical` is 0. Default: CODIAG_SORT_BY_CONTRAST.
     */
    int sort_by;
} codiag_settings;

/**
 * Summary of a solve and sizes of the arrays of its result. Initialize it with codiag_info_init.
 */
typedef struct codiag_info {
    /**
     * sizeof(codiag_info), set by codiag_info_init.
     */
    size_t size;
    /**
     * Number of matrices.
     */
    size_t n_matrices;
    /**
     * Number of components, that is of rows of B.
     */
    size_t n_components;
    /**
     * Number of channels, that is of columns of B.
     */
    size_t n_channels;
    /**
     * Whether B and A are complex: 0 or 1.
     */
    int is_complex;
    /**
     * Layout of all matrices of the result, a codiag_layout: the layout of the set.
     */
    int layout;
    /**
     * Criterion that was minimized, a codiag_criterion.
     */
    int criterion;
    /**
     * Reason why the solve ended, a codiag_status.
     */
    int status;
    /**
     * Number of iterations.
     */
    size_t n_iter;
    /**
     * Loss at B; 0 if all Di are diagonal.
     */
    double loss;
    /**
     * Norm of the relative gradient at B.
     */
    double gradient_norm;
    /**
     * Weighted mean over the matrices of log det Ci for the likelihood, of |Ci|^2 for the other
     * criteria.
     */
    double constant;
    /**
     * Identifiability margin of the least separable pair of components. It is 0 if every mixture
     * of the two has the same loss, or if there is only one component.
     */
    double margin;
    /**
     * Indices of the least separable pair of components; CODIAG_NONE if there is only one
     * component.
     */
    size_t pair[2];
    /**
     * Number of records in the history: one for the starting point and one per iteration.
     */
    size_t n_records;
    /**
     * Number of starting points that were solved.
     */
    size_t n_starts;
    /**
     * Number of trials from which the stability of the components was estimated: restarts that
     * came near the lowest loss, followed by resamples. 0 if stability was not estimated.
     */
    size_t n_trials;
    /**
     * Number of trials that are restarts. They precede the resamples.
     */
    size_t n_trial_starts;
} codiag_info;

/**
 * Multichannel recording in memory. Initialize it with codiag_recording_init.
 */
typedef struct codiag_recording {
    /**
     * sizeof(codiag_recording), set by codiag_recording_init.
     */
    size_t size;
    /**
     * n_channels x n_samples numbers.
     */
    const double *data;
    /**
     * Number of channels.
     */
    size_t n_channels;
    /**
     * Number of samples of each channel.
     */
    size_t n_samples;
    /**
     * Layout of `data`, a codiag_layout: CODIAG_LAYOUT_ROW_MAJOR for channel by channel,
     * CODIAG_LAYOUT_COLUMN_MAJOR for sample by sample. Default: CODIAG_LAYOUT_ROW_MAJOR.
     */
    int layout;
    /**
     * Whether the mean of the samples of each matrix is subtracted: 0 or 1. Default: 1.
     */
    int center;
    /**
     * Number of threads. Default: 0 (chosen automatically).
     */
    size_t n_jobs;
} codiag_recording;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the error message of the last call that failed on this thread, in UTF-8; an empty string
 * if no call has failed. The pointer is valid until the next call that fails on this thread.
 */
const char *codiag_last_error(void);

/**
 * Returns the message of codiag_last_error with the option names of `language`, a codiag_language.
 * It is meant for bindings built on this library. The pointer is valid until the next call that
 * fails on this thread, or the next call of this function.
 */
const char *codiag_last_error_in(int language);

/**
 * Initializes the details to those of no error. `size` is sizeof(codiag_error_details). Returns 0
 * or a codiag_error.
 */
int codiag_error_details_init(struct codiag_error_details *details, size_t size);

/**
 * Fills in the details of the last error on this thread. Initialize `details` with
 * codiag_error_details_init. Returns 0 or a codiag_error.
 */
int codiag_last_error_details(struct codiag_error_details *details);

/**
 * Returns the name of a codiag_criterion, such as "least-squares"; NULL for an invalid value.
 */
const char *codiag_criterion_name(int criterion);

/**
 * Returns the codiag_criterion with the given name; -1 for an unknown name.
 */
int codiag_criterion_from_name(const char *name);

/**
 * Returns the name of a codiag_method, such as "quasi-newton"; NULL for an invalid value.
 */
const char *codiag_method_name(int method);

/**
 * Returns the codiag_method with the given name; -1 for an unknown name.
 */
int codiag_method_from_name(const char *name);

/**
 * Returns the name of a codiag_init, such as "spectral"; NULL for an invalid value.
 */
const char *codiag_init_name(int init);

/**
 * Returns the codiag_init with the given name: "spectral", "whitener" or "identity". Returns -1
 * for any other name, including "given", which requires a matrix.
 */
int codiag_init_from_name(const char *name);

/**
 * Returns the name of a codiag_sort_by, such as "contrast"; NULL for an invalid value.
 */
const char *codiag_sort_by_name(int sort_by);

/**
 * Returns the codiag_sort_by with the given name; -1 for an unknown name.
 */
int codiag_sort_by_from_name(const char *name);

/**
 * Returns the name of a codiag_status, such as "max_iter"; NULL for an invalid value.
 */
const char *codiag_status_name(int status);

/**
 * Returns the name of a codiag_error, such as "not-finite"; NULL for an invalid value.
 */
const char *codiag_error_name(int error);

/**
 * Returns the name of a codiag_stage, such as "single precision"; NULL for an invalid value.
 */
const char *codiag_stage_name(int stage);

/**
 * Returns the name of a codiag_step, such as "sweep"; NULL for an invalid value.
 */
const char *codiag_step_name(int step);

/**
 * Sets the options to their defaults. `size` is sizeof(codiag_set_options). Returns 0 or a
 * codiag_error.
 */
int codiag_set_options_init(struct codiag_set_options *options, size_t size);

/**
 * Sets the settings to their defaults. `size` is sizeof(codiag_settings). Returns 0 or a
 * codiag_error.
 */
int codiag_settings_init(struct codiag_settings *settings, size_t size);

/**
 * Sets all fields but `size` to 0. `size` is sizeof(codiag_record). Returns 0 or a codiag_error.
 */
int codiag_record_init(struct codiag_record *record, size_t size);

/**
 * Creates a set of n real symmetric matrices of size p x p in the given layout, a codiag_layout.
 * NULL as `options` selects the defaults. Free the set with codiag_set_free. Returns 0, or a
 * codiag_error and NULL as `*set`.
 */
int codiag_set_new(const double *data,
                   size_t n,
                   size_t p,
                   int layout,
                   const struct codiag_set_options *options,
                   struct codiag_set **set);

/**
 * Creates a set of n complex Hermitian matrices of size p x p in the given layout, a
 * codiag_layout. `data` has n*p*p pairs of double, the real part first. NULL as `options` selects
 * the defaults. Free the set with codiag_set_free. Returns 0, or a codiag_error and NULL as
 * `*set`.
 */
int codiag_set_new_complex(const double *data,
                           size_t n,
                           size_t p,
                           int layout,
                           const struct codiag_set_options *options,
                           struct codiag_set **set);

/**
 * Frees a set. Results of codiag_diagonalize remain valid. NULL is ignored.
 */
void codiag_set_free(struct codiag_set *set);

/**
 * Returns the number of matrices of a set; 0 for NULL.
 */
size_t codiag_set_n_matrices(const struct codiag_set *set);

/**
 * Returns the number of components, that is of rows of B: p, or the dimension to which the set was
 * reduced by codiag_set_options.n_components; 0 for NULL.
 */
size_t codiag_set_n_components(const struct codiag_set *set);

/**
 * Returns the size p of the given matrices, that is the number of columns of B; 0 for NULL.
 */
size_t codiag_set_n_channels(const struct codiag_set *set);

/**
 * Writes the transformed matrices B Ci B^H of a set to `out`, one after the other. `b` is a matrix
 * of n_rows x codiag_set_n_channels, and `out` has room for codiag_set_n_matrices*n_rows*n_rows
 * numbers. Both are in the layout of the set, and complex for a complex set. Returns 0 or a
 * codiag_error.
 */
int codiag_set_transform(const struct codiag_set *set, const double *b, size_t n_rows, double *out);

/**
 * Evaluates the criterion of a set at `b`, a matrix of codiag_set_n_components x
 * codiag_set_n_channels: the loss and, if `gradient` is not NULL, the relative gradient, a square
 * matrix with as many rows as `b`. Matrices are in the layout of the set, and complex for a
 * complex set. Returns 0 or a codiag_error.
 */
int codiag_set_evaluate(const struct codiag_set *set,
                        const double *b,
                        double *loss,
                        double *gradient);

/**
 * Computes the B that minimizes the criterion of a set, so that all B Ci B^H are as diagonal as
 * possible. NULL as `settings` selects the defaults. Free the result with codiag_result_free.
 * Returns 0, or a codiag_error and NULL as `*result`. A solve that does not converge is not an
 * error: check codiag_info.status.
 */
int codiag_diagonalize(const struct codiag_set *set,
                       const struct codiag_settings *settings,
                       struct codiag_result **result);

/**
 * Frees a result and all its arrays. NULL is ignored.
 */
void codiag_result_free(struct codiag_result *result);

/**
 * Sets all fields but `size` to 0. `size` is sizeof(codiag_info). Returns 0 or a codiag_error.
 */
int codiag_info_init(struct codiag_info *info, size_t size);

/**
 * Fills in the summary of a solve. Initialize `info` with codiag_info_init. Returns 0 or a
 * codiag_error.
 */
int codiag_result_info(const struct codiag_result *result, struct codiag_info *info);

/**
 * Returns B, whose rows are the filters: n_components x n_channels numbers in the layout of the
 * set, complex for a complex set. The array is valid until the result is freed. NULL for NULL.
 */
const double *codiag_result_b(const struct codiag_result *result);

/**
 * Returns A, whose columns are the patterns, with B A = I: n_channels x n_components numbers in
 * the layout of the set, complex for a complex set. The array is valid until the result is freed.
 * NULL for NULL.
 */
const double *codiag_result_a(const struct codiag_result *result);

/**
 * Returns the powers Di_aa of the components in each matrix (for least squares, those of the fit):
 * n_matrices x n_components real numbers in the layout of the set. The array is valid until the
 * result is freed. NULL for NULL.
 */
const double *codiag_result_powers(const struct codiag_result *result);

/**
 * Returns the loss of each matrix: n_matrices numbers, whose weighted mean is the loss. The array
 * is valid until the result is freed. NULL for NULL.
 */
const double *codiag_result_residuals(const struct codiag_result *result);

/**
 * Returns the loss reached from each starting point: n_starts numbers. The array is valid until
 * the result is freed. NULL for NULL.
 */
const double *codiag_result_start_losses(const struct codiag_result *result);

/**
 * Returns the stability of each component, from 0 to 1: the median over the trials of
 * codiag_result_matches. The array has n_components numbers and is valid until the result is
 * freed. NULL for NULL, or if stability was not estimated (see codiag_settings.n_resamples).
 */
const double *codiag_result_stability(const struct codiag_result *result);

/**
 * Returns the similarity, from 0 to 1, of each component to the most similar component of each
 * trial: n_trials x n_components numbers in the layout of the set. The array is valid until the
 * result is freed. NULL for NULL, or if stability was not estimated (see
 * codiag_settings.n_resamples).
 */
const double *codiag_result_matches(const struct codiag_result *result);

/**
 * Returns the condition number of B, the ratio of its largest to its smallest singular value; NaN
 * for NULL.
 */
double codiag_result_condition_number(const struct codiag_result *result);

/**
 * Fills in the record with the given index of the history, from 0 to codiag_info.n_records - 1.
 * Initialize `record` with codiag_record_init. Returns 0 or a codiag_error.
 */
int codiag_result_history(const struct codiag_result *result,
                          size_t index,
                          struct codiag_record *record);

/**
 * Sets a recording to its defaults, without data. `size` is sizeof(codiag_recording). Returns 0 or
 * a codiag_error.
 */
int codiag_recording_init(struct codiag_recording *recording, size_t size);

/**
 * Computes the covariances of `n_segments` segments of equal length of a recording, for example to
 * diagonalize them by the likelihood. `out` has room for n_segments*n_channels*n_channels numbers.
 * Returns 0 or a codiag_error.
 */
int codiag_segment_covariances(const struct codiag_recording *recording,
                               size_t n_segments,
                               double *out);

/**
 * Computes the symmetrized lagged covariances (R + R^T)/2 of a recording, where R is the mean of
 * x(t + lag) x(t)^T over t, for `n_lags` lags in samples. Diagonalize them by the Frobenius
 * criterion if the recording is white, otherwise by least squares. `out` has room for
 * n_lags*n_channels*n_channels numbers. Returns 0 or a codiag_error.
 */
int codiag_lagged_covariances(const struct codiag_recording *recording,
                              const size_t *lags,
                              size_t n_lags,
                              double *out);

/**
 * Computes the fourth-order cumulant matrices of a recording that is whitened to r =
 * `n_components` principal components (JADE). Diagonalize them by the Frobenius criterion.
 * `matrices` has room for r(r+1)/2 matrices of r*r numbers; `whitener` for r x n_channels numbers,
 * which are written in the layout of the recording. Returns 0 or a codiag_error.
 */
int codiag_cumulants(const struct codiag_recording *recording,
                     size_t n_components,
                     double *matrices,
                     double *whitener);

/**
 * Returns the version of the library, such as "0.1.0".
 */
const char *codiag_version(void);

/**
 * Ends the idle worker threads that are kept for later solves with a given n_jobs. A running solve
 * keeps its threads until it ends. Call this function before fork(). Returns 0 or a codiag_error.
 */
int codiag_release_threads(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  /* CODIAG_H */
