/* Between R and the C interface of codiag: conversion, interrupts and errors. Nothing numeric happens here.
 *
 * R leaves functions by longjmp when memory is short. So handles belong to external pointers, which R's garbage
 * collector frees, and nothing of R is called while the library is at work, but for what is caught. */
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

static void free_answer(SEXP owner) {
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

/* A number that R counts from 1; NA if there is none. */
static SEXP from_one(size_t number) {
    return ScalarReal(number == CODIAG_NONE ? NA_REAL : (double)number + 1.0);
}

/* The error message, with the options of R. */
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
    error("there is no option '%s'", name);
    return R_NilValue;
}

static double number(SEXP list, const char *name) {
    return asReal(element(list, name));
}

static const char *word(SEXP list, const char *name) {
    return CHAR(STRING_ELT(element(list, name), 0));
}

/* What happens between two iterations. */
typedef struct {
    SEXP callback; /* an R function of a named vector and two words, or NULL */
    double stop_step;
    clock_t looked;
    int interrupted, stopped_by_step;
} Watch;

static void check_interrupt(void *unused) {
    (void)unused;
    R_CheckUserInterrupt();
}

static const char *RECORD[] = {"start", "iteration", "seconds", "loss", "gradient_norm",
                               "decrement", "step", "cg_iterations", "passes"};

static int follow(const codiag_record *record, const double *b, void *user_data) {
    Watch *watch = user_data;
    (void)b;
    if (watch->stop_step > 0.0 && !record->sample && record->iteration > 0 && record->step <= watch->stop_step) {
        watch->stopped_by_step = 1;
        return 1;
    }
    /* Iterations may take microseconds, asking takes longer. */
    if (clock() - watch->looked > CLOCKS_PER_SEC / 100) {
        watch->looked = clock();
        if (!R_ToplevelExec(check_interrupt, NULL)) {
            watch->interrupted = 1;
            return 1;
        }
    }
    if (watch->callback == R_NilValue) return 0;
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
    SEXP call = PROTECT(lang4(watch->callback, values, stage, kind));
    int failed = 0;
    SEXP asked = R_tryEvalSilent(call, R_GlobalEnv, &failed);
    int stop = failed || asLogical(asked) == TRUE;
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

/* One vector per field of a record. */
static SEXP history(const codiag_result *answer, size_t records) {
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
        if (codiag_result_history(answer, i, &record) != CODIAG_ERROR_NONE) break;
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

static SEXP fields_of(const codiag_result *answer, const Watch *watch) {
    codiag_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    codiag_result_info(answer, &info);
    SEXP list = PROTECT(allocVector(VECSXP, 19)), names = PROTECT(allocVector(STRSXP, 19));
    set_field(list, names, 0, "B", matrix(codiag_result_b(answer), info.n_components, info.n_channels, info.is_complex));
    set_field(list, names, 1, "A", matrix(codiag_result_a(answer), info.n_channels, info.n_components, info.is_complex));
    set_field(list, names, 2, "criterion", mkString(codiag_criterion_name(info.criterion)));
    set_field(list, names, 3, "status", mkString(codiag_status_name(info.status)));
    set_field(list, names, 4, "converged", ScalarLogical(info.status == CODIAG_STATUS_CONVERGED));
    set_field(list, names, 5, "n_iter", ScalarInteger((int)info.n_iter));
    set_field(list, names, 6, "loss", ScalarReal(info.loss));
    set_field(list, names, 7, "gradient_norm", ScalarReal(info.gradient_norm));
    set_field(list, names, 8, "condition_number", ScalarReal(codiag_result_condition_number(answer)));
    set_field(list, names, 9, "margin", ScalarReal(info.pair[0] == CODIAG_NONE ? NA_REAL : info.margin));
    SEXP pair = PROTECT(allocVector(REALSXP, 2));
    REAL(pair)[0] = asReal(from_one(info.pair[0]));
    REAL(pair)[1] = asReal(from_one(info.pair[1]));
    set_field(list, names, 10, "pair", pair);
    set_field(list, names, 11, "powers", matrix(codiag_result_powers(answer), info.n_matrices, info.n_components, 0));
    set_field(list, names, 12, "residuals", vector(codiag_result_residuals(answer), info.n_matrices));
    set_field(list, names, 13, "start_losses", vector(codiag_result_start_losses(answer), info.n_starts));
    set_field(list, names, 14, "history", history(answer, info.n_records));
    set_field(list, names, 15, "interrupted", ScalarLogical(watch->interrupted));
    set_field(list, names, 16, "stopped_by_step", ScalarLogical(watch->stopped_by_step));
    /* Of length 0 where nothing was tried. */
    const size_t compared = info.n_trials > 0 ? info.n_components : 0;
    set_field(list, names, 17, "stability", vector(codiag_result_stability(answer), compared));
    set_field(list, names, 18, "matches", matrix(codiag_result_matches(answer), info.n_trials, compared, 0));
    setAttrib(list, R_NamesSymbol, names);
    UNPROTECT(3);
    return list;
}

/* C: p x p x n numbers, real or complex; options: as R has checked them. */
SEXP diagonalize(SEXP c, SEXP size, SEXP options) {
    const size_t n = (size_t)REAL(size)[0], p = (size_t)REAL(size)[1];
    codiag_set_options set_options;
    codiag_settings settings;
    codiag_set_options_init(&set_options, sizeof set_options);
    codiag_settings_init(&settings, sizeof settings);
    SEXP weights = element(options, "weights"), start = element(options, "start");
    set_options.criterion = codiag_criterion_from_name(word(options, "criterion"));
    set_options.weights = weights == R_NilValue ? NULL : REAL(weights);
    double rank = number(options, "rank");
    set_options.n_components = rank < 0.0 ? CODIAG_N_COMPONENTS_AUTO : (size_t)rank;
    set_options.shrinkage = number(options, "shrinkage");
    set_options.symmetrize = number(options, "symmetrize") != 0.0;
    set_options.n_jobs = (size_t)number(options, "threads");
    settings.method = codiag_method_from_name(word(options, "method"));
    if (TYPEOF(start) == STRSXP) {
        settings.init = codiag_init_from_name(CHAR(STRING_ELT(start, 0)));
    } else {
        settings.init = CODIAG_INIT_GIVEN;
        settings.b = TYPEOF(start) == CPLXSXP ? (const double *)COMPLEX(start) : REAL(start);
    }
    settings.orthogonal = number(options, "orthogonal") != 0.0;
    settings.tol = number(options, "tol");
    settings.max_iter = (size_t)number(options, "max_iter");
    settings.n_restarts = (size_t)number(options, "restarts");
    settings.n_resamples = (size_t)number(options, "stability");
    settings.canonical = number(options, "canonical") != 0.0;
    Watch watch = {element(options, "callback"), number(options, "stop_step"), clock(), 0, 0};
    settings.callback = follow;
    settings.user_data = &watch;

    SEXP set_owner = PROTECT(owner_of(free_set)), answer_owner = PROTECT(owner_of(free_answer));
    codiag_set *set = NULL;
    codiag_result *answer = NULL;
    int is_complex = TYPEOF(c) == CPLXSXP;
    int failed = is_complex ? codiag_set_new_complex((const double *)COMPLEX(c), n, p, CODIAG_LAYOUT_COLUMN_MAJOR,
                                                     &set_options, &set)
                            : codiag_set_new(REAL(c), n, p, CODIAG_LAYOUT_COLUMN_MAJOR, &set_options, &set);
    R_SetExternalPtrAddr(set_owner, set);
    if (!failed && settings.init == CODIAG_INIT_GIVEN) {
        /* The library takes the size of B from the set: R says what it is. */
        size_t rows = (size_t)nrows(start), columns = (size_t)ncols(start);
        if (rows != codiag_set_n_components(set) || columns != codiag_set_n_channels(set)) {
            size_t dimension = codiag_set_n_components(set), channels = codiag_set_n_channels(set);
            free_set(set_owner);
            error("start must be %d x %d, got %d x %d", (int)dimension, (int)channels, (int)rows, (int)columns);
        }
    }
    if (!failed) failed = codiag_diagonalize(set, &settings, &answer);
    R_SetExternalPtrAddr(answer_owner, answer);
    SEXP result = PROTECT(failed ? failure() : fields_of(answer, &watch));
    free_answer(answer_owner);
    free_set(set_owner);
    UNPROTECT(3);
    return result;
}

static codiag_recording recording_of(SEXP x) {
    codiag_recording recording;
    codiag_recording_init(&recording, sizeof recording);
    /* samples x channels by columns is channel after channel. */
    recording.data = REAL(x);
    recording.n_samples = (size_t)nrows(x);
    recording.n_channels = (size_t)ncols(x);
    return recording;
}

/* x: samples x channels; lags: whole numbers as doubles. */
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

SEXP cumulants(SEXP x, SEXP components) {
    codiag_recording recording = recording_of(x);
    const size_t r = (size_t)asReal(components);
    SEXP matrices = PROTECT(alloc3DArray(REALSXP, (int)r, (int)r, (int)(r * (r + 1) / 2)));
    /* Row-major r x channels is channels x r for R. */
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
