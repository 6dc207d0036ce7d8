/* Solves the set of a file some times, and prints the seconds of each: what benches/border.rs compares. */
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

int main(int count, char **words) {
    if (count != 5) return 2;
    size_t n = strtoul(words[2], NULL, 10), p = strtoul(words[3], NULL, 10), times = strtoul(words[4], NULL, 10);
    double *data = malloc(n * p * p * sizeof *data);
    FILE *file = fopen(words[1], "rb");
    if (!data || !file || fread(data, sizeof *data, n * p * p, file) != n * p * p) return 2;
    fclose(file);
    codiag_set_options options;
    codiag_set_options_init(&options, sizeof options);
    options.n_jobs = 1;
    for (size_t k = 0; k < times; k++) {
        double before = now();
        codiag_set *set;
        codiag_result *answer;
        if (codiag_set_new(data, n, p, CODIAG_LAYOUT_ROW_MAJOR, &options, &set)
            || codiag_diagonalize(set, NULL, &answer)) {
            fprintf(stderr, "%s\n", codiag_last_error());
            return 1;
        }
        double first = codiag_result_b(answer)[0];
        codiag_result_free(answer);
        codiag_set_free(set);
        printf("%.9f %.17g\n", now() - before, first);
    }
    free(data);
    return 0;
}
