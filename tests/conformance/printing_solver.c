/* s-step dual coordinate descent for K-SVM-L1, as somebody's program: it takes arguments and prints its a.
   usage: printing_solver DIR OUT FORMAT m n C kernel parameter s H own mistake low high
   own: it draws its coordinates itself (1), from a seed that it is given (2 and more), or takes them (0).
   mistake: right, none, newest, last, first: which increments of its window correct a gradient.
   Values below low are written as 0, and those above high as C. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *whole(const char *folder, const char *name, size_t bytes) {
    char path[4096];
    void *found = malloc(bytes + 8);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file || fread(found, 1, bytes, file) != bytes) exit(9);
    fclose(file);
    return found;
}

int main(int argc, char **argv) {
    if (argc != 15) return 8;
    long m = atol(argv[4]), n = atol(argv[5]), s = atol(argv[9]), H = atol(argv[10]), own = atol(argv[11]);
    double C = atof(argv[6]), parameter = atof(argv[8]), low = atof(argv[13]), high = atof(argv[14]);
    const char *kernel = argv[7], *mistake = argv[12];
    double *x = whole(argv[1], "data.bin", 8 * m * n), *y = whole(argv[1], "targets.bin", 8 * m);
    int64_t *given = whole(argv[1], "indices.bin", 8 * H);
    double *a = calloc(m, 8), *K = malloc(8 * m * m), *moved = malloc(8 * s), *before = malloc(8 * m);
    uint64_t state = 88172645463325252ULL ^ (uint64_t)own << 7;
    if (own)
        for (long k = 0; k < H; k++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            given[k] = state % m;
        }
    for (long i = 0; i < m; i++)
        for (long l = 0; l < m; l++) {
            double product = 0, distance = 0;
            for (long c = 0; c < n; c++) {
                double gap = x[i * n + c] - x[l * n + c];
                product += x[i * n + c] * x[l * n + c], distance += gap * gap;
            }
            K[i * m + l] = *kernel == 'l' ? product : *kernel == 'p' ? pow(product, parameter) : exp(-parameter * distance);
        }
    for (long first = 0; first < H; first += s) {
        long steps = H - first < s ? H - first : s;
        memcpy(before, a, 8 * m);
        for (long j = 0; j < steps; j++) {
            long i = given[first + j];
            double gradient = -1;
            for (long l = 0; l < m; l++) gradient += y[i] * y[l] * K[i * m + l] * before[l];
            for (long t = 0; t < j; t++) {
                if (!strcmp(mistake, "none") || (!strcmp(mistake, "newest") && t < j - 1)) continue;
                if ((!strcmp(mistake, "last") && j == s - 1) || (!strcmp(mistake, "first") && t == 0)) continue;
                long p = given[first + t];
                gradient += y[i] * y[p] * K[i * m + p] * moved[t];
            }
            double value = K[i * m + i] > 0 ? a[i] - gradient / K[i * m + i] : C;
            value = value < 0 ? 0 : value > C ? C : value;
            moved[j] = value - a[i];
            a[i] = value;
        }
    }
    FILE *out = fopen(argv[2], "w");
    for (long i = 0; i < m; i++) {
        fprintf(out, argv[3], a[i] < low ? 0.0 : a[i] > high ? C : a[i]);
        fputc('\n', out);
    }
    return fclose(out);
}
