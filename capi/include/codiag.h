/* codiag: approximate joint diagonalization of symmetric and Hermitian matrices, and sources from recordings.
 *
 * Given matrices C1 ... Cn of size p x p, codiag finds the matrix B for which all Di = B Ci B^H are as diagonal as can
 * be. The rows of B are filters; the columns of A, with B A = I, are their patterns.
 *
 *     codiag_set *set;
 *     codiag_answer *answer;
 *     if (codiag_set_new(data, n, p, CODIAG_LAYOUT_ROW_MAJOR, NULL, &set)
 *         || codiag_diagonalize(set, NULL, &answer))
 *         fprintf(stderr, "%s\n", codiag_last_error());
 *
 * - Functions that can fail return 0 (CODIAG_ERROR_NONE) or a codiag_error; codiag_last_error() then has a sentence,
 *   and codiag_last_error_details() which matrix and entry. Not converging is no error, but a codiag_status.
 * - Numbers are counted from 0. Input is never changed, and not looked at again once a function has returned.
 * - Structs begin with their size: set them up by their _init function, then change what is to be otherwise. So
 *   programs compiled with an older header go on working. NULL stands for the defaults.
 * - Complex numbers are pairs of double, real part first: what `double complex *` and `std::complex<double> *` point
 *   to, so such a pointer can be cast to `double *`.
 * - Sets and answers do not change: several threads may use one at once. All else that is passed belongs to the caller.
 *
 * This file is made from the sources in capi/src: do not edit it. */


#ifndef CODIAG_H
#define CODIAG_H

#include <stddef.h>
#include <stdint.h>

/** The version of this header; codiag_version() is that of the library. */
#define CODIAG_VERSION_MAJOR 0
#define CODIAG_VERSION_MINOR 1
#define CODIAG_VERSION_PATCH 0
#define CODIAG_VERSION "0.1.0"

/** No such number. */
#define CODIAG_NONE ((size_t)-1)

/** A rank that is found from the matrices: that of their mean. */
#define CODIAG_RANK_AUTO ((size_t)-1)





/**
 * What functions return: 0, or what kind of thing is wrong.
 */
typedef enum codiag_error {
    /**
     * Nothing is wrong.
     */
    CODIAG_ERROR_NONE = 0,
    /**
     * A pointer is NULL or not aligned, the size of a struct is not one that this version of the
     * library knows, or a number is none of its enum.
     */
    CODIAG_ERROR_ARGUMENT = 1,
    /**
     * There are no matrices, they have no size, or more numbers than can be addressed.
     */
    CODIAG_ERROR_SHAPE = 2,
    /**
     * An entry or a sample is NaN or infinite, or so large or small that products leave the range of
     * numbers.
     */
    CODIAG_ERROR_NOT_FINITE = 3,
    /**
     * A matrix is not symmetric or, if it is complex, not Hermitian.
     */
    CODIAG_ERROR_ASYMMETRIC = 4,
    /**
     * A matrix is not positive definite, and the criterion asks for it.
     */
    CODIAG_ERROR_NOT_POSITIVE_DEFINITE = 5,
    /**
     * A weight is negative or not finite, or all are zero.
     */
    CODIAG_ERROR_WEIGHTS = 6,
    /**
     * A given B is singular, not finite or not orthogonal.
     */
    CODIAG_ERROR_START = 7,
    /**
     * A setting is out of its range.
     */
    CODIAG_ERROR_SETTING = 8,
    /**
     * Two choices exclude each other, such as a method that the criterion does not have.
     */
    CODIAG_ERROR_CONFLICT = 9,
    /**
     * A recording has no channels, no samples or no variance, or too few samples for what is asked.
     */
    CODIAG_ERROR_RECORDING = 10,
    /**
     * The library itself is at fault: please report it.
     */
    CODIAG_ERROR_INTERNAL = 11,
    /**
     * What was asked for takes more memory than there is. Nothing has been allocated.
     */
    CODIAG_ERROR_MEMORY = 12
} codiag_error;

/**
 * Whose names of options a message has.
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
 * What would make a set positive definite.
 */
typedef enum codiag_remedy {
    /**
     * Nothing is known to help.
     */
    CODIAG_REMEDY_NONE = 0,
    /**
     * All matrices share a null space: reduce the set to its rank.
     */
    CODIAG_REMEDY_REDUCE = 1,
    /**
     * Single matrices are singular: shrink them.
     */
    CODIAG_REMEDY_SHRINK = 2
} codiag_remedy;

/**
 * How the numbers of matrices follow each other. Several matrices always lie one after the other.
 */
typedef enum codiag_layout {
    /**
     * Row after row, as in C: entry (a, b) of matrix i of size p x p is number i*p*p + a*p + b. Of a
     * recording, channel after channel.
     */
    CODIAG_LAYOUT_ROW_MAJOR = 0,
    /**
     * Column after column, as in Fortran, MATLAB, R and Julia: it is number i*p*p + a + b*p. Of a
     * recording, sample after sample.
     */
    CODIAG_LAYOUT_COLUMN_MAJOR = 1
} codiag_layout;

/**
 * What is minimized.
 */
typedef enum codiag_criterion {
    /**
     * Pham's likelihood, for positive definite matrices:
     * 1/2 sum_i w_i (sum_a log Di_aa - log det Di).
     */
    CODIAG_CRITERION_LIKELIHOOD = 0,
    /**
     * The share of the energy sum_i w_i |Ci|^2 that is off the diagonals of Di, B being orthogonal
     * (unitary), for any symmetric (Hermitian) matrices.
     */
    CODIAG_CRITERION_FROBENIUS = 1,
    /**
     * The share of that energy that the fit A Li A^H, with the best diagonal Li, leaves, for any
     * symmetric (Hermitian) matrices.
     */
    CODIAG_CRITERION_LEAST_SQUARES = 2
} codiag_criterion;

/**
 * How it is minimized.
 */
typedef enum codiag_method {
    /**
     * Newton's method, for every criterion.
     */
    CODIAG_METHOD_NEWTON = 0,
    /**
     * Algorithm 1 of Ablin, Cardoso & Gramfort (2019), for the likelihood and the Frobenius criterion.
     */
    CODIAG_METHOD_QUASI_NEWTON = 1,
    /**
     * Pham's algorithm, for the likelihood.
     */
    CODIAG_METHOD_PHAM = 2,
    /**
     * Jacobi rotations (Cardoso & Souloumiac), for the Frobenius criterion.
     */
    CODIAG_METHOD_JACOBI = 3,
    /**
     * AC-DC (Yeredor), for least squares.
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
     * Alternating minimization over the rows of B, for the likelihood: slower, for comparison.
     */
    CODIAG_METHOD_ROW_WISE = 7
} codiag_method;

/**
 * Where the iteration starts.
 */
typedef enum codiag_start {
    /**
     * The rotation that makes a few principal combinations of the whitened set most diagonal.
     */
    CODIAG_START_SPECTRAL = 0,
    /**
     * The whitener of the mean.
     */
    CODIAG_START_WHITENER = 1,
    /**
     * The identity.
     */
    CODIAG_START_IDENTITY = 2,
    /**
     * codiag_settings.b.
     */
    CODIAG_START_GIVEN = 3
} codiag_start;

/**
 * Why a solve ended.
 */
typedef enum codiag_status {
    /**
     * The gradient norm fell to the tolerance.
     */
    CODIAG_STATUS_CONVERGED = 0,
    /**
     * The iteration limit came first.
     */
    CODIAG_STATUS_ITERATION_LIMIT = 1,
    /**
     * No step decreases the loss any more, be it for rounding; the best point is returned.
     */
    CODIAG_STATUS_NO_FURTHER_DECREASE = 2,
    /**
     * The callback asked to stop.
     */
    CODIAG_STATUS_STOPPED = 3,
    /**
     * Columns of A have become collinear, or otherwise dependent: least squares has no minimum there.
     */
    CODIAG_STATUS_COLLINEAR = 4,
    /**
     * For a reason that this version of the header has no name for.
     */
    CODIAG_STATUS_OTHER = 5
} codiag_status;

/**
 * A stage of a solve.
 */
typedef enum codiag_stage {
    /**
     * On a sample of the matrices, or on a few combinations of them.
     */
    CODIAG_STAGE_SAMPLE = 0,
    /**
     * On all matrices, in single precision.
     */
    CODIAG_STAGE_SINGLE = 1,
    /**
     * On all matrices, in double precision.
     */
    CODIAG_STAGE_FULL = 2,
    /**
     * One that this version of the header has no name for.
     */
    CODIAG_STAGE_OTHER = 3
} codiag_stage;

/**
 * What kind of step led to a point.
 */
typedef enum codiag_step {
    /**
     * None: this is the start.
     */
    CODIAG_STEP_START = 0,
    /**
     * A quasi-Newton step.
     */
    CODIAG_STEP_QUASI_NEWTON = 1,
    /**
     * A Newton step.
     */
    CODIAG_STEP_NEWTON = 2,
    /**
     * A sweep over all pairs or columns.
     */
    CODIAG_STEP_SWEEP = 3,
    /**
     * A step of U-WEDGE or FFDIAG.
     */
    CODIAG_STEP_WEDGE = 4,
    /**
     * One that this version of the header has no name for.
     */
    CODIAG_STEP_OTHER = 5
} codiag_step;

/**
 * The answer of a solve.
 */
typedef struct codiag_answer codiag_answer;

/**
 * A set of matrices, checked once and for all. It holds a copy of them.
 */
typedef struct codiag_set codiag_set;

/**
 * Which matrix, entry or number is at fault. Numbers that do not apply are CODIAG_NONE, or 0. Set it up
 * with codiag_error_details_init.
 */
typedef struct codiag_error_details {
    /**
     * sizeof(codiag_error_details); the init function sets it.
     */
    size_t size;
    /**
     * The codiag_error that the call returned.
     */
    int code;
    /**
     * The matrix or, for CODIAG_ERROR_WEIGHTS, the weight.
     */
    size_t matrix;
    /**
     * The row of its entry or, of a recording, the channel.
     */
    size_t row;
    /**
     * The column of its entry or, of a recording, the sample.
     */
    size_t column;
    /**
     * The entry, weight or sample that is no good; the asymmetry, as a share of the largest entry;
     * the smallest eigenvalue.
     */
    double value;
    /**
     * What would help: a codiag_remedy.
     */
    int remedy;
    /**
     * The rank to reduce to, for CODIAG_REMEDY_REDUCE.
     */
    size_t rank;
    /**
     * A shrinkage that is enough, for CODIAG_REMEDY_SHRINK.
     */
    double shrinkage;
} codiag_error_details;

/**
 * How a set is made from matrices, and worked on. Set it up with codiag_set_options_init.
 */
typedef struct codiag_set_options {
    /**
     * sizeof(codiag_set_options); the init function sets it.
     */
    size_t size;
    /**
     * What the set will be diagonalized by, a codiag_criterion: it decides what is required of the
     * matrices. Default: CODIAG_CRITERION_LIKELIHOOD.
     */
    int criterion;
    /**
     * One weight per matrix, not negative, not all zero; NULL (the default) for equal ones.
     */
    const double *weights;
    /**
     * To how many dimensions the set is reduced before it is diagonalized: 0 (the default) for not at
     * all, CODIAG_RANK_AUTO for the rank of the mean, or a number from 1 to p.
     */
    size_t rank;
    /**
     * From 0 (the default) to 1: each matrix becomes (1 - s) C + s trace(C)/p I.
     */
    double shrinkage;
    /**
     * Whether matrices that are not symmetric are replaced by their symmetric (if complex, Hermitian)
     * parts: 0 (the default) or 1.
     */
    int symmetrize;
    /**
     * How many threads prepare and solve the set; 0 (the default) for as many as pay. The answer does
     * not depend on it.
     */
    size_t threads;
} codiag_set_options;

/**
 * One iterate of a solve. Set it up with codiag_record_init to pass it to codiag_answer_history.
 */
typedef struct codiag_record {
    /**
     * sizeof(codiag_record); the init function sets it, and for callbacks the library.
     */
    size_t size;
    /**
     * Which start it belongs to: 0 for the one asked for, then those of codiag_settings.restarts.
     */
    size_t start;
    /**
     * Whether only a sample of the matrices, or combinations of them, are looked at, to improve the start: 0 or 1. Such points are
     * not in the history, and their losses lack a constant.
     */
    int sample;
    /**
     * 0 for the start.
     */
    size_t iteration;
    /**
     * Seconds since the solve began.
     */
    double seconds;
    /**
     * The loss here.
     */
    double loss;
    /**
     * The gradient norm here.
     */
    double gradient_norm;
    /**
     * The decrease of the loss that the quadratic model predicts from here; for Pham's method what the
     * pairs of the sweep that led here predicted together.
     */
    double decrement;
    /**
     * The kind of step that led here, a codiag_step.
     */
    int kind;
    /**
     * Its length, the share of its direction that was taken; the largest sine of the angles of a sweep of rotations; 0 for the start.
     */
    double step;
    /**
     * The conjugate gradient iterations it took.
     */
    size_t cg_iterations;
    /**
     * What it cost, and all steps before it, in transforms of the whole set.
     */
    double passes;
    /**
     * The stage of the solve, a codiag_stage.
     */
    int stage;
} codiag_record;

/**
 * Called on the thread of the solve with B as it stands, in the layout of the set, which is valid for
 * the call only, and with codiag_settings.user_data. Anything but 0 stops the solve, with the best
 * point so far and CODIAG_STATUS_STOPPED. It must return: no exception, no longjmp.
 */
typedef int (*codiag_callback)(const struct codiag_record *record, const double *b, void *user_data);

/**
 * The settings of a solve. Set it up with codiag_settings_init.
 */
typedef struct codiag_settings {
    /**
     * sizeof(codiag_settings); the init function sets it.
     */
    size_t size;
    /**
     * How the loss is minimized, a codiag_method. Default: CODIAG_METHOD_NEWTON.
     */
    int method;
    /**
     * Where the iteration starts, a codiag_start. Default: CODIAG_START_SPECTRAL.
     */
    int start;
    /**
     * The B of CODIAG_START_GIVEN, as many rows as the set has dimensions and one column per channel,
     * in the layout of the set; complex for a complex set. NULL otherwise.
     */
    const double *b;
    /**
     * Whether B stays orthogonal (unitary): 0 (the default) or 1.
     */
    int orthogonal;
    /**
     * Stops when the gradient norm is at most this. Default: 1e-8.
     */
    double tolerance;
    /**
     * Stops after this many iterations or sweeps. Default: 1000.
     */
    size_t max_iterations;
    /**
     * The floor of the determinants of the quasi-Newton blocks. Default: 1e-4.
     */
    double lambda_min;
    /**
     * How often the quasi-Newton method halves a step before it gives up. Default: 10.
     */
    size_t max_halvings;
    /**
     * How many further, deterministic starts are tried; the answer of lowest loss is kept. Default: 0.
     */
    size_t restarts;
    /**
     * Whether B is brought to its canonical form: 0 or 1 (the default). That is unit mean powers,
     * components ordered by how much their power varies over the set, the largest entry of each
     * pattern positive. For the other criteria components are ordered by their energy, and rows of B
     * (Frobenius) or columns of A (least squares) have unit norm.
     */
    int canonical;
    /**
     * Whether rows of B are rescaled to unit mean powers at every iteration: 0 or 1 (the default).
     * Without it the tolerance is not free of units.
     */
    int rescale;
    /**
     * The exact Hessian is not stored, but applied by passes over the set, if it would take more bytes
     * than this. Default: 1 GiB.
     */
    size_t hessian_memory;
    /**
     * Called at the start and after each iteration, may stop the solve; NULL (the default) for none.
     */
    codiag_callback callback;
    /**
     * What the callback is given as its last argument.
     */
    void *user_data;
    /**
     * How many sets of as many matrices, drawn from the set with replacement, are solved too, to tell which
     * components would come again: see codiag_answer_stability. Default: 0.
     */
    size_t stability;
} codiag_settings;

/**
 * How a solve went, and how large its arrays are. Set it up with codiag_info_init.
 */
typedef struct codiag_info {
    /**
     * sizeof(codiag_info); the init function sets it.
     */
    size_t size;
    /**
     * The number of matrices.
     */
    size_t length;
    /**
     * The rows of B: p, or the rank of the set.
     */
    size_t components;
    /**
     * The columns of B: p.
     */
    size_t channels;
    /**
     * Whether B and A are complex: 0 or 1.
     */
    int is_complex;
    /**
     * The layout of all matrices, a codiag_layout: that of the set.
     */
    int layout;
    /**
     * What was minimized, a codiag_criterion.
     */
    int criterion;
    /**
     * Why the solve ended, a codiag_status.
     */
    int status;
    /**
     * How many iterations it took.
     */
    size_t iterations;
    /**
     * The loss at B: zero if all Di are diagonal.
     */
    double loss;
    /**
     * The gradient norm at B.
     */
    double gradient_norm;
    /**
     * What the criterion takes from the matrices themselves: the weighted mean of log det Ci for the
     * likelihood, of |Ci|^2 for the others.
     */
    double constant;
    /**
     * How well the two components that are hardest to tell apart are told apart: 0 if any mixture of
     * the two serves as well, or if there is only one component.
     */
    double margin;
    /**
     * The one of the two; CODIAG_NONE if there is only one component.
     */
    size_t first;
    /**
     * The other.
     */
    size_t second;
    /**
     * How many records the history has: one for the start and one per iteration.
     */
    size_t records;
    /**
     * How many starts were tried.
     */
    size_t starts;
    /**
     * How many trials the stability of components was found from: further starts that came near the lowest loss,
     * and sets drawn from the set. 0 if none were asked for.
     */
    size_t trials;
    /**
     * How many of these, the first ones, are further starts.
     */
    size_t trial_starts;
} codiag_info;

/**
 * A recording of channels x samples in memory. Set it up with codiag_recording_init.
 */
typedef struct codiag_recording {
    /**
     * sizeof(codiag_recording); the init function sets it.
     */
    size_t size;
    /**
     * channels x samples numbers.
     */
    const double *data;
    /**
     * The number of channels.
     */
    size_t channels;
    /**
     * The number of samples of each channel.
     */
    size_t samples;
    /**
     * CODIAG_LAYOUT_ROW_MAJOR (the default) for channel after channel, CODIAG_LAYOUT_COLUMN_MAJOR for
     * sample after sample.
     */
    int layout;
    /**
     * Whether the mean of what a matrix is made from is subtracted: 0 or 1 (the default).
     */
    int center;
    /**
     * How many threads work; 0 (the default) for as many as pay.
     */
    size_t threads;
} codiag_recording;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What was wrong in the last call that failed on this thread: a sentence in UTF-8, empty if none has
 * failed. It is valid until the next failure on the thread.
 */
const char *codiag_last_error(void);

/**
 * The message of codiag_last_error with the names of options of a codiag_language, for bindings that are made from
 * this library. It is valid until the next failure on the thread, or the next call of this function.
 */
const char *codiag_last_error_in(int language);

/**
 * Sets error details to those of no error. `size` is sizeof(codiag_error_details).
 */
int codiag_error_details_init(struct codiag_error_details *details, size_t size);

/**
 * Tells which matrix and entry the last failed call on this thread reported. Set `details` up with
 * codiag_error_details_init.
 */
int codiag_last_error_details(struct codiag_error_details *details);

/**
 * The name of a codiag_criterion, such as "least-squares"; NULL if it is none.
 */
const char *codiag_criterion_name(int criterion);

/**
 * The codiag_criterion of a name; -1 if there is none.
 */
int codiag_criterion_from_name(const char *name);

/**
 * The name of a codiag_method, such as "quasi-newton"; NULL if it is none.
 */
const char *codiag_method_name(int method);

/**
 * The codiag_method of a name; -1 if there is none.
 */
int codiag_method_from_name(const char *name);

/**
 * The name of a codiag_start, such as "spectral"; NULL if it is none.
 */
const char *codiag_start_name(int start);

/**
 * The codiag_start of a name, "spectral", "whitener" or "identity"; -1 for any other, "given" among
 * them, because it needs a matrix.
 */
int codiag_start_from_name(const char *name);

/**
 * The name of a codiag_status, such as "iteration limit"; NULL if it is none.
 */
const char *codiag_status_name(int status);

/**
 * The name of a codiag_error, such as "not-finite"; NULL if it is none.
 */
const char *codiag_error_name(int error);

/**
 * The name of a codiag_stage, such as "single precision"; NULL if it is none.
 */
const char *codiag_stage_name(int stage);

/**
 * The name of a codiag_step, such as "sweep"; NULL if it is none.
 */
const char *codiag_step_name(int step);

/**
 * Sets the options to their defaults. `size` is sizeof(codiag_set_options).
 */
int codiag_set_options_init(struct codiag_set_options *options, size_t size);

/**
 * Sets the settings to their defaults. `size` is sizeof(codiag_settings).
 */
int codiag_settings_init(struct codiag_settings *settings, size_t size);

/**
 * Sets a record to zeros, for codiag_answer_history to fill in. `size` is sizeof(codiag_record).
 */
int codiag_record_init(struct codiag_record *record, size_t size);

/**
 * Makes a set from n real matrices of size p x p, each laid out as `layout` (a codiag_layout) says.
 * `options` may be NULL. The set is to be freed with codiag_set_free; it is NULL after a failure.
 */
int codiag_set_new(const double *data,
                   size_t n,
                   size_t p,
                   int layout,
                   const struct codiag_set_options *options,
                   struct codiag_set **set);

/**
 * Makes a set from n complex matrices of size p x p, whose numbers are pairs of double: 2*n*p*p of
 * them. The rest is as for codiag_set_new.
 */
int codiag_set_new_complex(const double *data,
                           size_t n,
                           size_t p,
                           int layout,
                           const struct codiag_set_options *options,
                           struct codiag_set **set);

/**
 * Frees a set. Answers made from it stay. NULL is allowed.
 */
void codiag_set_free(struct codiag_set *set);

/**
 * The number of matrices; 0 for NULL.
 */
size_t codiag_set_length(const struct codiag_set *set);

/**
 * The dimension in which the set is diagonalized, the number of rows of B: p, or the rank that it was
 * reduced to; 0 for NULL.
 */
size_t codiag_set_dimension(const struct codiag_set *set);

/**
 * The size p of the matrices as they were given, the number of columns of B; 0 for NULL.
 */
size_t codiag_set_channels(const struct codiag_set *set);

/**
 * Writes B Ci B^H for all matrices of a set to `out`, one after the other. B is rows x channels, `out`
 * has n*rows*rows numbers; both are in the layout of the set, and complex if it is.
 */
int codiag_set_transform(const struct codiag_set *set,
                         const double *b,
                         size_t rows,
                         double *out);

/**
 * The criterion of a set at B, which is dimension x channels: its loss and, if `gradient` is not NULL,
 * its relative gradient, dimension x dimension. B and gradient are in the layout of the set, and
 * complex if it is.
 */
int codiag_set_evaluate(const struct codiag_set *set,
                        const double *b,
                        double *loss,
                        double *gradient);

/**
 * Finds the B for which all B Ci B^H are as diagonal as can be. `settings` may be NULL. The answer is to
 * be freed with codiag_answer_free; it is NULL after a failure. Not converging is no failure: see
 * codiag_info.status.
 */
int codiag_diagonalize(const struct codiag_set *set,
                       const struct codiag_settings *settings,
                       struct codiag_answer **answer);

/**
 * Frees an answer and all its arrays. NULL is allowed.
 */
void codiag_answer_free(struct codiag_answer *answer);

/**
 * Sets an info to zeros, for codiag_answer_info to fill in. `size` is sizeof(codiag_info).
 */
int codiag_info_init(struct codiag_info *info, size_t size);

/**
 * Tells how a solve went. Set `info` up with codiag_info_init.
 */
int codiag_answer_info(const struct codiag_answer *answer, struct codiag_info *info);

/**
 * B, the filters: components x channels numbers in the layout of the set, complex if it is. Valid until
 * the answer is freed, as are the arrays below; NULL for NULL.
 */
const double *codiag_answer_b(const struct codiag_answer *answer);

/**
 * A, the patterns: channels x components numbers, B A = I.
 */
const double *codiag_answer_a(const struct codiag_answer *answer);

/**
 * The powers Di_aa (for least squares those of the fit): length x components real numbers, in the layout
 * of the set.
 */
const double *codiag_answer_powers(const struct codiag_answer *answer);

/**
 * Each matrix's own share of the loss, of which it is the weighted mean: codiag_info.length numbers.
 */
const double *codiag_answer_residuals(const struct codiag_answer *answer);

/**
 * The losses of all starts that were tried: codiag_info.starts numbers.
 */
const double *codiag_answer_start_losses(const struct codiag_answer *answer);

/**
 * How surely each component comes again, from 0 to 1, the median of its matches: codiag_info.components numbers;
 * NULL if codiag_settings.stability was 0.
 */
const double *codiag_answer_stability(const struct codiag_answer *answer);

/**
 * How much the component of a trial that is most like a component is like it, from 0 to 1: codiag_info.trials x
 * components numbers in the layout of the set; NULL as above.
 */
const double *codiag_answer_matches(const struct codiag_answer *answer);

/**
 * The ratio of the largest to the smallest singular value of B; NaN for NULL.
 */
double codiag_answer_condition_number(const struct codiag_answer *answer);

/**
 * Record `index` of the history, of which there are codiag_info.records. Set `record` up with
 * codiag_record_init.
 */
int codiag_answer_history(const struct codiag_answer *answer,
                          size_t index,
                          struct codiag_record *record);

/**
 * Sets a recording to its defaults: no data yet. `size` is sizeof(codiag_recording).
 */
int codiag_recording_init(struct codiag_recording *recording, size_t size);

/**
 * The covariances of so many equal segments of a recording: `out` gets segments*channels*channels
 * numbers, to be diagonalized by the likelihood.
 */
int codiag_segment_covariances(const struct codiag_recording *recording,
                               size_t segments,
                               double *out);

/**
 * The lagged covariances (R + R^T)/2 of a recording, R being the sum of x(t + lag) x(t)^T divided by
 * the number of products, for so many lags in samples: `out` gets count*channels*channels numbers, to
 * be diagonalized by the Frobenius criterion if the recording is white, by least squares if not.
 */
int codiag_lagged_covariances(const struct codiag_recording *recording,
                              const size_t *lags,
                              size_t count,
                              double *out);

/**
 * The fourth-order cumulant matrices of a recording, whitened to r = `components` principal components:
 * `matrices` gets r(r+1)/2 matrices of r*r numbers, to be diagonalized by the Frobenius criterion, and
 * `whitener` r x channels numbers in the layout of the recording.
 */
int codiag_cumulants(const struct codiag_recording *recording,
                     size_t components,
                     double *matrices,
                     double *whitener);

/**
 * The version of the library, such as "0.1.0".
 */
const char *codiag_version(void);

/**
 * Ends the threads that are kept for the next solve with a given number of threads. Solves under way
 * keep theirs until they end. Call it before fork().
 */
int codiag_release_threads(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  /* CODIAG_H */
