/* Diagonalizes covariances of mixed sources, stops a solve by a callback, and handles an error.
 *
 *     make capi
 *     export PKG_CONFIG_PATH=target/capi/lib/pkgconfig LD_LIBRARY_PATH=target/capi/lib
 *     cc -std=c99 capi/examples/diagonalize.c $(pkg-config --cflags --libs codiag) \
 *         -lm -o diagonalize
 *     ./diagonalize
 */
#include <codiag.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 60, P = 6 };

/* Returns a pseudorandom number between 0 and 1, by a fixed xorshift generator. */
static double uniform(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* C_i = A diag(powers_i) A^T, so that B = A^-1 diagonalizes all of them. */
static void make_covariances(double mixing[P][P], double data[N][P][P]) {
    for (int a = 0; a < P; a++)
        for (int b = 0; b < P; b++)
            mixing[a][b] = uniform() - 0.5 + (a == b ? 2.0 : 0.0);
    for (int i = 0; i < N; i++) {
        double powers[P];
        for (int k = 0; k < P; k++)
            powers[k] = 0.1 + uniform();
        for (int a = 0; a < P; a++)
            for (int b = 0; b < P; b++) {
                data[i][a][b] = 0.0;
                for (int k = 0; k < P; k++)
                    data[i][a][b] += mixing[a][k] * powers[k] * mixing[b][k];
            }
    }
}

/* Largest ratio, over the rows of B A, of the other entries to the largest one: 0 for a scaled
 * permutation. */
static double separation_error(const double *b, double mixing[P][P]) {
    double worst = 0.0;
    for (int a = 0; a < P; a++) {
        double largest = 0.0, total = 0.0;
        for (int k = 0; k < P; k++) {
            double product = 0.0;
            for (int c = 0; c < P; c++)
                product += b[a * P + c] * mixing[c][k];
            largest = fmax(largest, fabs(product));
            total += fabs(product);
        }
        worst = fmax(worst, total / largest - 1.0);
    }
    return worst;
}

/* Callback: prints each iteration, and stops the solve after the number of iterations at
 * `user_data`. */
static int print_iteration(const codiag_record *record, const double *b, void *user_data) {
    const size_t *last = user_data;
    (void)b;
    if (!record->sample)
        printf("  %2zu  %-12s loss %.3e  gradient %.1e\n", record->iteration, codiag_step_name(record->kind),
               record->loss, record->gradient_norm);
    return record->iteration >= *last;
}

static void check(int failed) {
    if (failed) {
        fprintf(stderr, "error: %s\n", codiag_last_error());
        exit(EXIT_FAILURE);
    }
}

static void expect(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "failed: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

int main(void) {
    static double mixing[P][P], data[N][P][P];
    make_covariances(mixing, data);
    printf("codiag %s\n", codiag_version());

    codiag_set *set;
    check(codiag_set_new(&data[0][0][0], N, P, CODIAG_LAYOUT_ROW_MAJOR, NULL, &set));

    /* The defaults: Newton's method on the likelihood. */
    codiag_result *result;
    check(codiag_diagonalize(set, NULL, &result));
    codiag_info info;
    codiag_info_init(&info, sizeof info);
    check(codiag_result_info(result, &info));
    printf("%s after %zu iterations, loss %.1e\n", codiag_status_name(info.status), info.n_iter, info.loss);
    printf("separation error %.1e\n", separation_error(codiag_result_b(result), mixing));
    expect(info.status == CODIAG_STATUS_CONVERGED, "the solve converges");
    expect(separation_error(codiag_result_b(result), mixing) < 1e-8, "B undoes the mixing");
    expect(codiag_result_condition_number(result) > 1.0, "B has a condition number");
    codiag_result_free(result);

    /* Another method and starting point, stopped after three iterations. */
    size_t last = 3;
    codiag_settings settings;
    check(codiag_settings_init(&settings, sizeof settings));
    settings.method = CODIAG_METHOD_QUASI_NEWTON;
    settings.init = CODIAG_INIT_IDENTITY;
    settings.callback = print_iteration;
    settings.user_data = &last;
    check(codiag_diagonalize(set, &settings, &result));
    check(codiag_result_info(result, &info));
    expect(info.status == CODIAG_STATUS_INTERRUPTED && info.n_iter == 3, "the callback stops the solve");
    codiag_record record;
    codiag_record_init(&record, sizeof record);
    check(codiag_result_history(result, info.n_records - 1, &record));
    expect(record.iteration == 3 && fabs(record.loss - info.loss) < 1e-12, "the history ends with the last iterate");
    codiag_result_free(result);
    codiag_set_free(set);

    /* An error has a message, and details as numbers. */
    data[7][2][3] = NAN;
    int code = codiag_set_new(&data[0][0][0], N, P, CODIAG_LAYOUT_ROW_MAJOR, NULL, &set);
    codiag_error_details details;
    codiag_error_details_init(&details, sizeof details);
    check(codiag_last_error_details(&details));
    printf("expected error: %s\n", codiag_last_error());
    expect(code == CODIAG_ERROR_NOT_FINITE && set == NULL, "NaN is an error");
    expect(details.matrix == 7 && details.row == 2 && details.column == 3, "the details name the entry");
    return EXIT_SUCCESS;
}
