/* exchange_reader FOLDER: prints what sstep_trace.h reads, and writes a trace, the final a and counters.
   exchange_reader FOLDER COUNT: writes a log of so many numbers. */

#include "sstep_trace.h"

#define INTEGERS(name, count) print_integers(#name, p.name, count)
#define REALS(name, count) print_reals(#name, p.name, count)

static void print_integers(const char *name, const int64_t *numbers, int64_t count) {
    printf("%s", name);
    for (int64_t k = 0; k < count; k++) printf(" %lld", (long long)numbers[k]);
    puts("");
}

static void print_reals(const char *name, const double *numbers, int64_t count) {
    printf("%s", name);
    for (int64_t k = 0; k < count; k++) printf(" %a", numbers[k]);
    puts("");
}

int main(int argc, char **argv) {
    sstep_problem p;
    sstep_output output;
    int code = sstep_read(argv[1], SSTEP_CSR | SSTEP_DENSE, &p);
    if (code) return code;
    if (argc > 2) {
        const double number = 0.5;
        code = sstep_open(&p, "log", &output);
        for (int k = 0; k < atoi(argv[2]) && !code; k++) code = sstep_put(&output, &number, 1);
        if (!code) code = sstep_close(&output);
        sstep_free(&p);
        return code;
    }
    printf("task %s\nkernel %s\nlog %d\n", p.task, p.kernel, p.log_wanted);
    const int64_t sizes[] = {p.samples, p.features, p.entries, p.degree, p.s, p.iterations, p.block, p.point_count};
    const double parameters[] = {p.offset, p.sigma, p.penalty};
    print_integers("sizes", sizes, 8);
    print_reals("parameters", parameters, 3);
    REALS(targets, p.samples);
    INTEGERS(row_starts, p.samples + 1);
    INTEGERS(columns, p.entries);
    REALS(values, p.entries);
    REALS(data, p.samples * p.features);
    INTEGERS(indices, p.iterations * p.block);
    REALS(initial, p.samples);
    INTEGERS(points, p.point_count);
    code = sstep_open(&p, "trace", &output);
    for (int64_t k = 0; k <= p.iterations && !code; k++) {
        code = sstep_put_at_point(&output, k, p.initial);
        p.initial[0] += 1;
    }
    if (!code) code = sstep_close(&output);
    if (!code) code = sstep_write_final(&p, p.targets);
    if (!code) code = sstep_write_counters(&p, 3, 1000000000000, 2);
    sstep_free(&p);
    return code;
}
