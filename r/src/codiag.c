/* Glue between R and the C interface of codiag: conversion of data, interrupts and errors.
 *
 * R functions may leave by longjmp, for example if memory is exhausted. Therefore handles are owned
 * by external pointers, which the garbage collector of R finalizes, and callbacks call R only by
 * functions that catch errors. */
#include <string.h>
#include <time.h>

#include <R.h>
#include <R_ext/Rdynload.h>
#include <R_ext/Utils.h>
#include <Rinternals.h>

#include <codiag.h>

static void free_set(SEXP owner) {
    codiag_set_free(R_ExternalPtrAddr(owner));
    R_ClearExternalPtr(owner);
}

static void free_result(SEXP owner) {
    codiag_result_free(R_ExternalPtrAddr(owner));
    R_ClearExternalPtr(owner);
}

static SEXP owner_of(R_CFinalizer_t finalizer) {
    SEXP owner = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(owner, finalizer, TRUE);
    UNPROTECT(1);
    return owner;
}

static void set_field(SEXP list, SEXP names, int k, const char *name, SEXP value) {
    SET_VECTOR_ELT(list, k, value);
    SET_STRING_ELT(names, k, mkChar(name));
}

/* Converts an index to one that starts at 1; CODIAG_NONE to NA. */
static double one_based(size_t index) {
    return index == CODIAG_NONE ? NA_REAL : (double)index + 1.0;
}

/* Returns a list with the error message, which names the arguments of R. */
static SEXP failure(void) {
    SEXP list = PROTECT(allocVector(VECSXP, 1)), names = PROTECT(allocVector(STRSXP, 1));
    set_field(list, names, 0, "error", mkString(codiag_last_error_in(CODIAG_LANGUAGE_R)));
    setAttrib(list, R_NamesSymbol, names);
    UNPROTECT(2);
    return list;
}

static SEXP element(SEXP list, const char *name) {
    SEXP names = getAttrib(list, R_NamesSymbol);
    for (R_xlen_t k = 0; k < XLENGTH(list); k++)
        if (strcmp(CHAR(STRING_ELT(names, k)), name) == 0) return VECTOR_ELT(list, k);
    error("internal error: missing option '%s'", name);
    return R_NilValue;
}

static double number(SEXP list, const char *name) {
    return asReal(element(list, name));
}

static const char *string(SEXP list, const char *name) {
    return CHAR(STRING_ELT(element(list, name), 0));
}

/* State of the callback. */
typedef struct {
    SEXP callback; /* R function of a named vector and two strings, or R_NilValue */
    double stop_step;
    clock_t last_check;
    int user_interrupt, stopped_by_step;
} CallbackState;

static void check_interrupt(void *unused) {
    (void)unused;
    R_CheckUserInterrupt();
}

static const char *RECORD[] = {"start", "iteration", "seconds", "loss", "gradient_norm",
                               "decrement", "step", "cg_iterations", "passes"};

static int on_iteration(const codiag_record *record, const double *b, void *user_data) {
    CallbackState *state = user_data;
    (void)b;
    if (state->stop_step > 0.0 && !record->sample && record->iteration > 0 && record->step <= state->stop_step) {
        state->stopped_by_step = 1;
        return 1;
    }
    /* Check for interrupts at most every 10 ms: iterations may take microseconds only. */
    if (clock() - state->last_check > CLOCKS_PER_SEC / 100) {
        state->last_check = clock();
        if (!R_ToplevelExec(check_interrupt, NULL)) {
            state->user_interrupt = 1;
            return 1;
        }
    }
    if (state->callback == R_NilValue) return 0;
    double fields[] = {(double)record->start, (double)record->iteration, record->seconds, record->loss,
                       record->gradient_norm, record->decrement, record->step,
                       (double)record->cg_iterations, record->passes};
    const int count = sizeof fields / sizeof *fields;
    SEXP values = PROTECT(allocVector(REALSXP, count)), names = PROTECT(allocVector(STRSXP, count));
    for (int k = 0; k < count; k++) {
        REAL(values)[k] = fields[k];
        SET_STRING_ELT(names, k, mkChar(RECORD[k]));
    }
    setAttrib(values, R_NamesSymbol, names);
    SEXP stage = PROTECT(mkString(codiag_stage_name(record->stage)));
    SEXP kind = PROTECT(mkString(codiag_step_name(record->kind)));
    SEXP call = PROTECT(lang4(state->callback, values, stage, kind));
    int failed = 0;
    SEXP value = R_tryEvalSilent(call, R_GlobalEnv, &failed);
    int stop = failed || asLogical(value) == TRUE;
    UNPROTECT(5);
    return stop;
}

static SEXP matrix(const double *data, size_t rows, size_t columns, int is_complex) {
    SEXP out = PROTECT(allocMatrix(is_complex ? CPLXSXP : REALSXP, (int)rows, (int)columns));
    double *numbers = is_complex ? (double *)COMPLEX(out) : REAL(out);
    if (rows * columns > 0) memcpy(numbers, data, rows * columns * (is_complex ? 2 : 1) * sizeof(double));
    UNPROTECT(1);
    return out;
}

static SEXP vector(const double *data, size_t length) {
    SEXP out = PROTECT(allocVector(REALSXP, (R_xlen_t)length));
    if (length > 0) memcpy(REAL(out), data, length * sizeof(double));
    UNPROTECT(1);
    return out;
}

/* Returns the history as a list with one vector per field of a record. */
static SEXP history(const codiag_result *result, size_t records) {
    const int count = sizeof RECORD / sizeof *RECORD;
    SEXP list = PROTECT(allocVector(VECSXP, count + 2)), names = PROTECT(allocVector(STRSXP, count + 2));
    for (int k = 0; k < count; k++)
        set_field(list, names, k, RECORD[k], allocVector(REALSXP, (R_xlen_t)records));
    set_field(list, names, count, "stage", allocVector(STRSXP, (R_xlen_t)records));
    set_field(list, names, count + 1, "kind", allocVector(STRSXP, (R_xlen_t)records));
    for (size_t i = 0; i < records; i++) {
        codiag_record record;
        memset(&record, 0, sizeof record);
        record.size = sizeof record;
        if (codiag_result_history(result, i, &record) != CODIAG_ERROR_NONE) break;
        double fields[] = {(double)record.start, (double)record.iteration, record.seconds, record.loss,
                           record.gradient_norm, record.decrement, record.step,
                           (double)record.cg_iterations, record.passes};
        for (int k = 0; k < count; k++) REAL(VECTOR_ELT(list, k))[i] = fields[k];
        SET_STRING_ELT(VECTOR_ELT(list, count), (R_xlen_t)i, mkChar(codiag_stage_name(record.stage)));
        SET_STRING_ELT(VECTOR_ELT(list, count + 1), (R_xlen_t)i, mkChar(codiag_step_name(record.kind)));
    }
    setAttrib(list, R_NamesSymbol, names);
    UNPROTECT(2);
    return list;
}

static SEXP fields_of(const codiag_result *result, const CallbackState *state) {
    codiag_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    codiag_result_info(result, &info);
    SEXP list = PROTECT(allocVector(VECSXP, 19)), names = PROTECT(allocVector(STRSXP, 19));
    set_field(list, names, 0, "B", matrix(codiag_result_b(result), info.n_components, info.n_channels, info.is_complex));
    set_field(list, names, 1, "A", matrix(codiag_result_a(result), info.n_channels, info.n_components, info.is_complex));
    set_field(list, names, 2, "criterion", mkString(codiag_criterion_name(info.criterion)));
    set_field(list, names, 3, "status", mkString(codiag_status_name(info.status)));
    set_field(list, names, 4, "converged", ScalarLogical(info.status == CODIAG_STATUS_CONVERGED));
    set_field(list, names, 5, "n_iter", ScalarInteger((int)info.n_iter));
    set_field(list, names, 6, "loss", ScalarReal(info.loss));
    set_field(list, names, 7, "gradient_norm", ScalarReal(info.gradient_norm));
    set_field(list, names, 8, "condition_number", ScalarReal(codiag_result_condition_number(result)));
    set_field(list, names, 9, "margin", ScalarReal(info.pair[0] == CODIAG_NONE ? NA_REAL : info.margin));
    SEXP pair = PROTECT(allocVector(REALSXP, 2));
    REAL(pair)[0] = one_based(info.pair[0]);
    REAL(pair)[1] = one_based(info.pair[1]);
    set_field(list, names, 10, "pair", pair);
    set_field(list, names, 11, "powers", matrix(codiag_result_powers(result), info.n_matrices, info.n_components, 0));
    set_field(list, names, 12, "residuals", vector(codiag_result_residuals(result), info.n_matrices));
    set_field(list, names, 13, "start_losses", vector(codiag_result_start_losses(result), info.n_starts));
    set_field(list, names, 14, "history", history(result, info.n_records));
    set_field(list, names, 15, "user_interrupt", ScalarLogical(state->user_interrupt));
    set_field(list, names, 16, "stopped_by_step", ScalarLogical(state->stopped_by_step));
    /* Of length 0 if stability was not estimated. */
    const size_t n_columns = info.n_trials > 0 ? info.n_components : 0;
    set_field(list, names, 17, "stability", vector(codiag_result_stability(result), n_columns));
    set_field(list, names, 18, "matches", matrix(codiag_result_matches(result), info.n_trials, n_columns, 0));
    setAttrib(list, R_NamesSymbol, names);
    UNPROTECT(3);
    return list;
}

/* Solves p x p x n real or complex numbers `c`, with `size` n and p and with validated options. */
SEXP diagonalize(SEXP c, SEXP size, SEXP options) {
    const size_t n = (size_t)REAL(size)[0], p = (size_t)REAL(size)[1];
    codiag_set_options set_options;
    codiag_settings settings;
    codiag_set_options_init(&set_options, sizeof set_options);
    codiag_settings_init(&settings, sizeof settings);
    SEXP weights = element(options, "weights"), init = element(options, "init");
    set_options.criterion = codiag_criterion_from_name(string(options, "criterion"));
    set_options.weights = weights == R_NilValue ? NULL : REAL(weights);
    double n_components = number(options, "n_components");
    set_options.n_components = n_components < 0.0 ? CODIAG_N_COMPONENTS_AUTO : (size_t)n_components;
    set_options.shrinkage = number(options, "shrinkage");
    set_options.symmetrize = number(options, "symmetrize") != 0.0;
    set_options.n_jobs = (size_t)number(options, "n_jobs");
    settings.method = codiag_method_from_name(string(options, "method"));
    if (TYPEOF(init) == STRSXP) {
        settings.init = codiag_init_from_name(CHAR(STRING_ELT(init, 0)));
    } else {
        settings.init = CODIAG_INIT_GIVEN;
        settings.b = TYPEOF(init) == CPLXSXP ? (const double *)COMPLEX(init) : REAL(init);
    }
    settings.orthogonal = number(options, "orthogonal") != 0.0;
    settings.tol = number(options, "tol");
    settings.max_iter = (size_t)number(options, "max_iter");
    settings.n_restarts = (size_t)number(options, "n_restarts");
    settings.n_resamples = (size_t)number(options, "n_resamples");
    settings.sort_by = codiag_sort_by_from_name(string(options, "sort_by"));
    settings.canonical = number(options, "canonical") != 0.0;
    CallbackState state = {element(options, "callback"), number(options, "stop_step"), clock(), 0, 0};
    settings.callback = on_iteration;
    settings.user_data = &state;

    SEXP set_owner = PROTECT(owner_of(free_set)), result_owner = PROTECT(owner_of(free_result));
    codiag_set *set = NULL;
    codiag_result *result = NULL;
    int is_complex = TYPEOF(c) == CPLXSXP;
    int failed = is_complex ? codiag_set_new_complex((const double *)COMPLEX(c), n, p, CODIAG_LAYOUT_COLUMN_MAJOR,
                                                     &set_options, &set)
                            : codiag_set_new(REAL(c), n, p, CODIAG_LAYOUT_COLUMN_MAJOR, &set_options, &set);
    R_SetExternalPtrAddr(set_owner, set);
    if (!failed && settings.init == CODIAG_INIT_GIVEN) {
        /* The library assumes that B has the size of the set. */
        size_t rows = (size_t)nrows(init), columns = (size_t)ncols(init);
        if (rows != codiag_set_n_components(set) || columns != codiag_set_n_channels(set)) {
            size_t n_rows = codiag_set_n_components(set), n_columns = codiag_set_n_channels(set);
            free_set(set_owner);
            error("init must be %d x %d, got %d x %d", (int)n_rows, (int)n_columns, (int)rows, (int)columns);
        }
    }
    if (!failed) failed = codiag_diagonalize(set, &settings, &result);
    R_SetExternalPtrAddr(result_owner, result);
    SEXP out = PROTECT(failed ? failure() : fields_of(result, &state));
    free_result(result_owner);
    free_set(set_owner);
    UNPROTECT(3);
    return out;
}

static codiag_recording recording_of(SEXP x) {
    codiag_recording recording;
    codiag_recording_init(&recording, sizeof recording);
    /* A column-major samples x channels matrix is stored channel by channel. */
    recording.data = REAL(x);
    recording.n_samples = (size_t)nrows(x);
    recording.n_channels = (size_t)ncols(x);
    return recording;
}

/* Computes lagged covariances of a samples x channels matrix; the lags are integers stored as
 * doubles. */
SEXP lagged_covariances(SEXP x, SEXP lags) {
    codiag_recording recording = recording_of(x);
    const size_t p = recording.n_channels, count = (size_t)XLENGTH(lags);
    size_t *numbers = (size_t *)R_alloc(count, sizeof *numbers);
    for (size_t k = 0; k < count; k++) numbers[k] = (size_t)REAL(lags)[k];
    SEXP out = PROTECT(alloc3DArray(REALSXP, (int)p, (int)p, (int)count));
    int failed = codiag_lagged_covariances(&recording, numbers, count, REAL(out));
    SEXP result = failed ? failure() : out;
    UNPROTECT(1);
    return result;
}

/* Computes the cumulant matrices and the whitener of a samples x channels matrix. */
SEXP cumulants(SEXP x, SEXP components) {
    codiag_recording recording = recording_of(x);
    const size_t r = (size_t)asReal(components);
    SEXP matrices = PROTECT(alloc3DArray(REALSXP, (int)r, (int)r, (int)(r * (r + 1) / 2)));
    /* The row-major r x channels whitener is channels x r in R. */
    SEXP whitener = PROTECT(allocMatrix(REALSXP, (int)recording.n_channels, (int)r));
    SEXP result;
    if (codiag_cumulants(&recording, r, REAL(matrices), REAL(whitener)) != CODIAG_ERROR_NONE) {
        result = PROTECT(failure());
    } else {
        result = PROTECT(allocVector(VECSXP, 2));
        SEXP names = PROTECT(allocVector(STRSXP, 2));
        set_field(result, names, 0, "matrices", matrices);
        set_field(result, names, 1, "whitener", whitener);
        setAttrib(result, R_NamesSymbol, names);
        UNPROTECT(1);
    }
    UNPROTECT(3);
    return result;
}

static const R_CallMethodDef CALLS[] = {
    {"diagonalize", (DL_FUNC)&diagonalize, 3},
    {"lagged_covariances", (DL_FUNC)&lagged_covariances, 2},
    {"cumulants", (DL_FUNC)&cumulants, 2},
    {NULL, NULL, 0},
};

void R_init_codiag(DllInfo *library) {
    R_registerRoutines(library, NULL, CALLS, NULL, NULL);
    R_useDynamicSymbols(library, FALSE);
    R_forceSymbols(library, TRUE);
}

void R_unload_codiag(DllInfo *library) {
    (void)library;
    codiag_release_threads();
}
