/* Glue between MATLAB or Octave and the C interface of codiag: conversion of data and callbacks.
 *
 *     result = codiag_mex(C, [n p], is_complex, options)
 *
 * C has real numbers, or real and imaginary parts interleaved, because MATLAB and Octave store
 * complex arrays differently.
 * The result is a struct; if the solve fails, it has the fields 'error', a message, and
 * 'identifier'. codiag_solve.m calls this function. */
#include <stdlib.h>
#include <string.h>

#include "mex.h"
#include <codiag.h>

static const mxArray *field(const mxArray *options, const char *name) {
    const mxArray *found = mxGetField(options, 0, name);
    if (found == NULL) mexErrMsgIdAndTxt("codiag:internal", "missing option '%s'", name);
    return found;
}

static double number(const mxArray *options, const char *name) {
    return mxGetScalar(field(options, name));
}

/* Copies a string option of at most 31 characters. */
static void string(const mxArray *options, const char *name, char out[32]) {
    if (mxGetString(field(options, name), out, 32) != 0) out[0] = '\0';
}

static mxArray *matrix(const double *data, size_t rows, size_t columns) {
    mxArray *out = mxCreateDoubleMatrix(rows, columns, mxREAL);
    if (rows * columns > 0) memcpy(mxGetPr(out), data, rows * columns * sizeof(double));
    return out;
}

static mxArray *scalar(double value) { return mxCreateDoubleScalar(value); }

static void put(mxArray *structure, const char *name, mxArray *value) {
    int k = mxGetFieldNumber(structure, name);
    if (k < 0) k = mxAddField(structure, name);
    mxSetFieldByNumber(structure, 0, k, value);
}

/* Returns a struct with the error message, which names the options of Octave and MATLAB. */
static mxArray *failure(int code) {
    mxArray *out = mxCreateStructMatrix(1, 1, 0, NULL);
    put(out, "error", mxCreateString(codiag_last_error_in(CODIAG_LANGUAGE_OCTAVE)));
    put(out, "identifier", mxCreateString(code == CODIAG_ERROR_INIT ? "codiag:init" : "codiag:input"));
    return out;
}

#define FIELDS 9
static const char *RECORD[FIELDS] = {"start", "iteration", "seconds", "loss", "gradient_norm",
                                     "decrement", "step", "cg_iterations", "passes"};

static void values_of(const codiag_record *record, double out[FIELDS]) {
    const double values[FIELDS] = {(double)record->start, (double)record->iteration, record->seconds, record->loss,
                                   record->gradient_norm, record->decrement, record->step,
                                   (double)record->cg_iterations, record->passes};
    memcpy(out, values, sizeof values);
}

/* State of the callback. */
typedef struct {
    const mxArray *callback;
    int verbose, keep_iterates, failed;
    size_t iterate_size, n_iterates, capacity;
    double *iterates;
} CallbackState;

static int on_iteration(const codiag_record *record, const double *b, void *data) {
    CallbackState *state = data;
    if (record->sample) return 0;
    if (state->keep_iterates) {
        if (state->n_iterates == state->capacity) {
            size_t capacity = 2 * state->capacity + 16;
            double *larger = realloc(state->iterates, capacity * state->iterate_size * sizeof *larger);
            if (larger == NULL) return 1;
            state->iterates = larger;
            state->capacity = capacity;
        }
        memcpy(state->iterates + state->n_iterates * state->iterate_size, b, state->iterate_size * sizeof *b);
        state->n_iterates++;
    }
    if (state->verbose) mexPrintf("%4d  %.6e  %.2e\n", (int)record->iteration, record->loss, record->gradient_norm);
    if (state->callback == NULL) return 0;
    double values[FIELDS];
    values_of(record, values);
    mxArray *argument = mxCreateStructMatrix(1, 1, FIELDS, RECORD);
    for (int k = 0; k < FIELDS; k++) mxSetFieldByNumber(argument, 0, k, scalar(values[k]));
    put(argument, "stage", mxCreateString(codiag_stage_name(record->stage)));
    put(argument, "kind", mxCreateString(codiag_step_name(record->kind)));
    mxArray *inputs[2] = {(mxArray *)state->callback, argument}, *value = NULL;
    mxArray *raised = mexCallMATLABWithTrap(1, &value, 2, inputs, "feval");
    int stop = 1;
    /* The guard of codiag_solve.m catches exceptions of the callback itself, so this one is of the
     * guard. */
    if (raised != NULL) {
        state->failed = 1;
        mxDestroyArray(raised);
    } else if (value != NULL) {
        stop = mxGetNumberOfElements(value) == 1 && mxGetScalar(value) != 0.0;
        mxDestroyArray(value);
    }
    mxDestroyArray(argument);
    return stop;
}

static mxArray *history(const codiag_result *result, size_t records) {
    mxArray *out = mxCreateStructMatrix(1, 1, FIELDS, RECORD);
    mxArray *stages = mxCreateCellMatrix(records, 1), *kinds = mxCreateCellMatrix(records, 1);
    double *columns[FIELDS];
    for (int k = 0; k < FIELDS; k++) {
        mxArray *column = mxCreateDoubleMatrix(records, 1, mxREAL);
        columns[k] = mxGetPr(column);
        mxSetFieldByNumber(out, 0, k, column);
    }
    for (size_t i = 0; i < records; i++) {
        codiag_record record;
        double values[FIELDS];
        memset(&record, 0, sizeof record);
        record.size = sizeof record;
        if (codiag_result_history(result, i, &record) != CODIAG_ERROR_NONE) break;
        values_of(&record, values);
        for (int k = 0; k < FIELDS; k++) columns[k][i] = values[k];
        mxSetCell(stages, i, mxCreateString(codiag_stage_name(record.stage)));
        mxSetCell(kinds, i, mxCreateString(codiag_step_name(record.kind)));
    }
    put(out, "stage", stages);
    put(out, "kind", kinds);
    return out;
}

static mxArray *fields_of(const codiag_result *result, const CallbackState *state) {
    codiag_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    codiag_result_info(result, &info);
    /* Complex matrices have alternating rows of real and imaginary parts. */
    size_t planes = info.is_complex ? 2 : 1;
    mxArray *out = mxCreateStructMatrix(1, 1, 0, NULL), *pair = mxCreateDoubleMatrix(1, 2, mxREAL);
    put(out, "B", matrix(codiag_result_b(result), planes * info.n_components, info.n_channels));
    put(out, "A", matrix(codiag_result_a(result), planes * info.n_channels, info.n_components));
    if (info.n_trials > 0) {
        put(out, "stability", matrix(codiag_result_stability(result), 1, info.n_components));
        put(out, "matches", matrix(codiag_result_matches(result), info.n_trials, info.n_components));
    }
    put(out, "criterion", mxCreateString(codiag_criterion_name(info.criterion)));
    put(out, "status", mxCreateString(codiag_status_name(info.status)));
    put(out, "converged", mxCreateLogicalScalar(info.status == CODIAG_STATUS_CONVERGED));
    put(out, "n_iter", scalar((double)info.n_iter));
    put(out, "loss", scalar(info.loss));
    put(out, "gradient_norm", scalar(info.gradient_norm));
    put(out, "condition_number", scalar(codiag_result_condition_number(result)));
    put(out, "margin", scalar(info.margin));
    mxGetPr(pair)[0] = info.pair[0] == CODIAG_NONE ? 0.0 : (double)info.pair[0] + 1.0;
    mxGetPr(pair)[1] = info.pair[1] == CODIAG_NONE ? 0.0 : (double)info.pair[1] + 1.0;
    put(out, "pair", pair);
    put(out, "powers", matrix(codiag_result_powers(result), info.n_matrices, info.n_components));
    put(out, "residuals", matrix(codiag_result_residuals(result), info.n_matrices, 1));
    put(out, "start_losses", matrix(codiag_result_start_losses(result), info.n_starts, 1));
    put(out, "history", history(result, info.n_records));
    put(out, "constant", scalar(info.constant));
    put(out, "callback_failed", mxCreateLogicalScalar(state->failed != 0));
    if (state->keep_iterates) put(out, "iterates", matrix(state->iterates, state->iterate_size, state->n_iterates));
    return out;
}

void mexFunction(int outputs, mxArray *output[], int inputs, const mxArray *input[]) {
    (void)outputs;
    if (inputs != 4) mexErrMsgIdAndTxt("codiag:internal", "codiag_mex is an internal function; call codiag or qndiag");
    const double *data = mxGetPr(input[0]), *size = mxGetPr(input[1]);
    const size_t n = (size_t)size[0], p = (size_t)size[1];
    const int is_complex = mxGetScalar(input[2]) != 0.0;
    const mxArray *options = input[3];

    codiag_set_options set_options;
    codiag_settings settings;
    codiag_set_options_init(&set_options, sizeof set_options);
    codiag_settings_init(&settings, sizeof settings);
    char name[32];
    string(options, "criterion", name);
    set_options.criterion = codiag_criterion_from_name(name);
    const mxArray *weights = field(options, "weights"), *init = field(options, "init"),
                  *callback = field(options, "callback");
    set_options.weights = mxIsEmpty(weights) ? NULL : mxGetPr(weights);
    double n_components = number(options, "n_components");
    set_options.n_components = n_components < 0.0 ? CODIAG_N_COMPONENTS_AUTO : (size_t)n_components;
    set_options.shrinkage = number(options, "shrinkage");
    set_options.symmetrize = number(options, "symmetrize") != 0.0;
    set_options.n_jobs = (size_t)number(options, "n_jobs");
    string(options, "method", name);
    settings.method = codiag_method_from_name(name);
    if (mxIsChar(init)) {
        string(options, "init", name);
        settings.init = codiag_init_from_name(name);
    } else {
        settings.init = CODIAG_INIT_GIVEN;
        settings.b = mxGetPr(init);
    }
    settings.orthogonal = number(options, "orthogonal") != 0.0;
    settings.tol = number(options, "tol");
    settings.max_iter = (size_t)number(options, "max_iter");
    settings.lambda_min = number(options, "lambda_min");
    settings.max_halvings = (size_t)number(options, "max_halvings");
    settings.n_restarts = (size_t)number(options, "n_restarts");
    settings.n_resamples = (size_t)number(options, "n_resamples");
    string(options, "sort_by", name);
    settings.sort_by = codiag_sort_by_from_name(name);
    settings.canonical = number(options, "canonical") != 0.0;
    settings.rescale = number(options, "rescale") != 0.0;

    codiag_set *set = NULL;
    codiag_result *result = NULL;
    int failed = is_complex
                     ? codiag_set_new_complex(data, n, p, CODIAG_LAYOUT_COLUMN_MAJOR, &set_options, &set)
                     : codiag_set_new(data, n, p, CODIAG_LAYOUT_COLUMN_MAJOR, &set_options, &set);
    CallbackState state;
    memset(&state, 0, sizeof state);
    state.callback = mxIsEmpty(callback) ? NULL : callback;
    state.verbose = number(options, "verbose") != 0.0;
    state.keep_iterates = number(options, "keep_iterates") != 0.0;
    state.iterate_size = (is_complex ? 2 : 1) * codiag_set_n_components(set) * codiag_set_n_channels(set);
    settings.callback = on_iteration;
    settings.user_data = &state;
    if (!failed && settings.init == CODIAG_INIT_GIVEN && mxGetNumberOfElements(init) != state.iterate_size) {
        size_t rows = codiag_set_n_components(set), columns = codiag_set_n_channels(set);
        codiag_set_free(set);
        mexErrMsgIdAndTxt("codiag:init", "init must be %d x %d", (int)rows, (int)columns);
    }
    if (!failed) failed = codiag_diagonalize(set, &settings, &result);
    output[0] = failed ? failure(failed) : fields_of(result, &state);
    free(state.iterates);
    codiag_result_free(result);
    codiag_set_free(set);
}
