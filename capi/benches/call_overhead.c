/* Solves the set in a file several times, and prints the time of each solve for
 * benches/call_overhead.rs. */
#define _POSIX_C_SOURCE 199309L
#include <codiag.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 5) return 2;
    size_t n = strtoul(arguments[2], NULL, 10), p = strtoul(arguments[3], NULL, 10);
    size_t repeats = strtoul(arguments[4], NULL, 10);
    double *data = malloc(n * p * p * sizeof *data);
    FILE *file = fopen(arguments[1], "rb");
    if (!data || !file || fread(data, sizeof *data, n * p * p, file) != n * p * p) return 2;
    fclose(file);
    codiag_set_options options;
    codiag_set_options_init(&options, sizeof options);
    options.n_jobs = 1;
    for (size_t k = 0; k < repeats; k++) {
        double before = now();
        codiag_set *set;
        codiag_result *result;
        if (codiag_set_new(data, n, p, CODIAG_LAYOUT_ROW_MAJOR, &options, &set)
            || codiag_diagonalize(set, NULL, &result)) {
            fprintf(stderr, "%s\n", codiag_last_error());
            return 1;
        }
        double first = codiag_result_b(result)[0];
        codiag_result_free(result);
        codiag_set_free(set);
        printf("%.9f %.17g\n", now() - before, first);
    }
    free(data);
    return 0;
}
