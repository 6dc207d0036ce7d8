/* Between MATLAB or Octave and the C interface of codiag: conversion and callbacks. Nothing numeric happens here.
 *
 *     answer = codiag_mex(C, [n p], is_complex, options)
 *
 * C are real numbers; of complex matrices pairs of them, as codiag.m makes them, for MATLAB and Octave keep complex arrays in
 * different ways. The answer is a struct, which has a field 'error' if something is wrong: codiag.m puts it in words. */
#include <stdlib.h>
#include <string.h>

#include "mex.h"
#include <codiag.h>

static const mxArray *field(const mxArray *options, const char *name) {
    const mxArray *found = mxGetField(options, 0, name);
    if (found == NULL) mexErrMsgIdAndTxt("codiag:internal", "there is no option '%s'", name);
    return found;
}

static double number(const mxArray *options, const char *name) {
    return mxGetScalar(field(options, name));
}

/* A name of at most 31 letters. */
static void word(const mxArray *options, const char *name, char out[32]) {
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

/* The error message, with the options of Octave and MATLAB. */
static mxArray *failure(int code) {
    mxArray *out = mxCreateStructMatrix(1, 1, 0, NULL);
    put(out, "error", mxCreateString(codiag_last_error_in(CODIAG_LANGUAGE_OCTAVE)));
    put(out, "identifier", mxCreateString(code == CODIAG_ERROR_INIT ? "codiag:start" : "codiag:input"));
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

/* What happens between two iterations. */
typedef struct {
    const mxArray *callback;
    int verbose, keep, failed;
    double constant;
    size_t numbers, kept, room;
    double *iterates;
} Watch;

static int follow(const codiag_record *record, const double *b, void *data) {
    Watch *watch = data;
    if (record->sample) return 0;
    if (watch->keep) {
        if (watch->kept == watch->room) {
            size_t room = 2 * watch->room + 16;
            double *larger = realloc(watch->iterates, room * watch->numbers * sizeof *larger);
            if (larger == NULL) return 1;
            watch->iterates = larger;
            watch->room = room;
        }
        memcpy(watch->iterates + watch->kept * watch->numbers, b, watch->numbers * sizeof *b);
        watch->kept++;
    }
    if (watch->verbose) mexPrintf("%4d  %.6e  %.2e\n", (int)record->iteration, record->loss, record->gradient_norm);
    if (watch->callback == NULL) return 0;
    double values[FIELDS];
    values_of(record, values);
    mxArray *argument = mxCreateStructMatrix(1, 1, FIELDS, RECORD);
    for (int k = 0; k < FIELDS; k++) mxSetFieldByNumber(argument, 0, k, scalar(values[k]));
    put(argument, "stage", mxCreateString(codiag_stage_name(record->stage)));
    put(argument, "kind", mxCreateString(codiag_step_name(record->kind)));
    mxArray *inputs[2] = {(mxArray *)watch->callback, argument}, *asked = NULL;
    mxArray *raised = mexCallMATLABWithTrap(1, &asked, 2, inputs, "feval");
    int stop = 1;
    /* Only if codiag_solve.m could not guard the callback, which keeps exceptions itself. */
    if (raised != NULL) {
        watch->failed = 1;
        mxDestroyArray(raised);
    } else if (asked != NULL) {
        stop = mxGetNumberOfElements(asked) == 1 && mxGetScalar(asked) != 0.0;
        mxDestroyArray(asked);
    }
    mxDestroyArray(argument);
    return stop;
}

static mxArray *history(const codiag_result *answer, size_t records) {
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
        if (codiag_result_history(answer, i, &record) != CODIAG_ERROR_NONE) break;
        values_of(&record, values);
        for (int k = 0; k < FIELDS; k++) columns[k][i] = values[k];
        mxSetCell(stages, i, mxCreateString(codiag_stage_name(record.stage)));
        mxSetCell(kinds, i, mxCreateString(codiag_step_name(record.kind)));
    }
    put(out, "stage", stages);
    put(out, "kind", kinds);
    return out;
}

static mxArray *fields_of(const codiag_result *answer, const Watch *watch) {
    codiag_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    codiag_result_info(answer, &info);
    /* Complex numbers as columns of two. */
    size_t planes = info.is_complex ? 2 : 1;
    mxArray *out = mxCreateStructMatrix(1, 1, 0, NULL), *pair = mxCreateDoubleMatrix(1, 2, mxREAL);
    put(out, "B", matrix(codiag_result_b(answer), planes * info.n_components, info.n_channels));
    put(out, "A", matrix(codiag_result_a(answer), planes * info.n_channels, info.n_components));
    if (info.n_trials > 0) {
        put(out, "stability", matrix(codiag_result_stability(answer), 1, info.n_components));
        put(out, "matches", matrix(codiag_result_matches(answer), info.n_trials, info.n_components));
    }
    put(out, "criterion", mxCreateString(codiag_criterion_name(info.criterion)));
    put(out, "status", mxCreateString(codiag_status_name(info.status)));
    put(out, "converged", mxCreateLogicalScalar(info.status == CODIAG_STATUS_CONVERGED));
    put(out, "n_iter", scalar((double)info.n_iter));
    put(out, "loss", scalar(info.loss));
    put(out, "gradient_norm", scalar(info.gradient_norm));
    put(out, "condition_number", scalar(codiag_result_condition_number(answer)));
    put(out, "margin", scalar(info.margin));
    mxGetPr(pair)[0] = info.pair[0] == CODIAG_NONE ? 0.0 : (double)info.pair[0] + 1.0;
    mxGetPr(pair)[1] = info.pair[1] == CODIAG_NONE ? 0.0 : (double)info.pair[1] + 1.0;
    put(out, "pair", pair);
    put(out, "powers", matrix(codiag_result_powers(answer), info.n_matrices, info.n_components));
    put(out, "residuals", matrix(codiag_result_residuals(answer), info.n_matrices, 1));
    put(out, "start_losses", matrix(codiag_result_start_losses(answer), info.n_starts, 1));
    put(out, "history", history(answer, info.n_records));
    put(out, "constant", scalar(info.constant));
    put(out, "callback_failed", mxCreateLogicalScalar(watch->failed != 0));
    if (watch->keep) put(out, "iterates", matrix(watch->iterates, watch->numbers, watch->kept));
    return out;
}

void mexFunction(int outputs, mxArray *output[], int inputs, const mxArray *input[]) {
    (void)outputs;
    if (inputs != 4) mexErrMsgIdAndTxt("codiag:internal", "codiag_mex is called by codiag and qndiag");
    const double *data = mxGetPr(input[0]), *size = mxGetPr(input[1]);
    const size_t n = (size_t)size[0], p = (size_t)size[1];
    const int is_complex = mxGetScalar(input[2]) != 0.0;
    const mxArray *options = input[3];

    codiag_set_options set_options;
    codiag_settings settings;
    codiag_set_options_init(&set_options, sizeof set_options);
    codiag_settings_init(&settings, sizeof settings);
    char name[32];
    word(options, "criterion", name);
    set_options.criterion = codiag_criterion_from_name(name);
    const mxArray *weights = field(options, "weights"), *start = field(options, "start"),
                  *callback = field(options, "callback");
    set_options.weights = mxIsEmpty(weights) ? NULL : mxGetPr(weights);
    double rank = number(options, "rank");
    set_options.n_components = rank < 0.0 ? CODIAG_N_COMPONENTS_AUTO : (size_t)rank;
    set_options.shrinkage = number(options, "shrinkage");
    set_options.symmetrize = number(options, "symmetrize") != 0.0;
    set_options.n_jobs = (size_t)number(options, "threads");
    word(options, "method", name);
    settings.method = codiag_method_from_name(name);
    if (mxIsChar(start)) {
        word(options, "start", name);
        settings.init = codiag_init_from_name(name);
    } else {
        settings.init = CODIAG_INIT_GIVEN;
        settings.b = mxGetPr(start);
    }
    settings.orthogonal = number(options, "orthogonal") != 0.0;
    settings.tol = number(options, "tol");
    settings.max_iter = (size_t)number(options, "max_iter");
    settings.lambda_min = number(options, "lambda_min");
    settings.max_halvings = (size_t)number(options, "max_halvings");
    settings.n_restarts = (size_t)number(options, "restarts");
    settings.n_resamples = (size_t)number(options, "stability");
    settings.canonical = number(options, "canonical") != 0.0;
    settings.rescale = number(options, "rescale") != 0.0;

    codiag_set *set = NULL;
    codiag_result *answer = NULL;
    int failed = is_complex
                     ? codiag_set_new_complex(data, n, p, CODIAG_LAYOUT_COLUMN_MAJOR, &set_options, &set)
                     : codiag_set_new(data, n, p, CODIAG_LAYOUT_COLUMN_MAJOR, &set_options, &set);
    Watch watch;
    memset(&watch, 0, sizeof watch);
    watch.callback = mxIsEmpty(callback) ? NULL : callback;
    watch.verbose = number(options, "verbose") != 0.0;
    watch.keep = number(options, "keep_iterates") != 0.0;
    watch.numbers = (is_complex ? 2 : 1) * codiag_set_n_components(set) * codiag_set_n_channels(set);
    settings.callback = follow;
    settings.user_data = &watch;
    if (!failed && settings.init == CODIAG_INIT_GIVEN && mxGetNumberOfElements(start) != watch.numbers) {
        size_t rows = codiag_set_n_components(set), columns = codiag_set_n_channels(set);
        codiag_set_free(set);
        mexErrMsgIdAndTxt("codiag:start", "the start must be %d x %d", (int)rows, (int)columns);
    }
    if (!failed) failed = codiag_diagonalize(set, &settings, &answer);
    output[0] = failed ? failure(failed) : fields_of(answer, &watch);
    free(watch.iterates);
    codiag_result_free(answer);
    codiag_set_free(set);
}
