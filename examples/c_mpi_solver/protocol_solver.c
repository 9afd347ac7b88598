/* s-step dual coordinate descent in C and MPI that speaks the exchange format: protocol_solver FOLDER.

   DCD for K-SVM (svm-l1, svm-l2) and BDCD for K-RR, with linear, polynomial and RBF kernels. Every rank owns a
   segment of the features. A window makes the partial inner products of its s b drawn samples with all m
   samples (the panel), adds them up over the ranks in one MPI_Allreduce, applies the kernel function, and then
   makes its s updates without a message, each rank the same. a is updated in place within the window; the
   gradients, formed at its start, are corrected by the increments made since. */

#include <math.h>
#include <mpi.h>
#include "sstep_trace.h"

static sstep_problem problem;
static int ridge, rbf;          /* whether the task is K-RR, and the kernel RBF */
static double upper, omega;     /* K-SVM: upper end of the box, and shift of the diagonal */
static double *norms;           /* m: ||a_l||^2; RBF only */
static int64_t *local_starts;   /* m + 1 row starts of the entries of this rank's features */
static double *row;             /* n: room for one sample */
static double *panel;           /* s b x m: a row for each coordinate drawn in the window */
static double *products;        /* s b: of these rows with a */
static double *increments;      /* s b: of a, by the iterations of the window */
static double *G;               /* b x b: matrix of a block; K-SVM: the curvature */
static int64_t collectives, words, windows;

static void stop(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
    exit(code); /* where that returns */
}

static double *numbers(int64_t count) {
    double *made = calloc(count > 0 ? (size_t)count : 1, sizeof *made);
    if (!made) stop(sstep_say(SSTEP_FAILED, "no memory for %lld numbers", (long long)count));
    return made;
}

/* Replaces an array by its sum, or maximum, over the ranks. */
static void over_ranks(MPI_Op operation, double *array, int64_t count) {
    MPI_Allreduce(MPI_IN_PLACE, array, (int)count, MPI_DOUBLE, operation, MPI_COMM_WORLD);
    collectives++;
    words += count;
}

/* Keeps the stored entries whose feature lies in first..end-1, in their order. */
static void keep_features(int64_t first, int64_t end) {
    int64_t kept = 0, m = problem.samples;
    local_starts = malloc((size_t)(m + 1) * sizeof *local_starts);
    if (!local_starts) stop(sstep_say(SSTEP_FAILED, "no memory for %lld rows", (long long)m));
    for (int64_t l = 0; l < m; l++) {
        local_starts[l] = kept;
        for (int64_t e = problem.row_starts[l]; e < problem.row_starts[l + 1]; e++)
            if (problem.columns[e] >= first && problem.columns[e] < end) {
                problem.columns[kept] = problem.columns[e];
                problem.values[kept++] = problem.values[e];
            }
    }
    local_starts[m] = kept;
}

/* This rank's part of the inner products of sample i with samples 0..m-1. */
static void partial_products(int64_t i, double *sums) {
    const int64_t *columns = problem.columns;
    const double *values = problem.values;
    for (int64_t e = local_starts[i]; e < local_starts[i + 1]; e++) row[columns[e]] += values[e];
    for (int64_t l = 0; l < problem.samples; l++) {
        sums[l] = 0;
        for (int64_t e = local_starts[l]; e < local_starts[l + 1]; e++)
            sums[l] += values[e] * row[columns[e]];
    }
    for (int64_t e = local_starts[i]; e < local_starts[i + 1]; e++) row[columns[e]] = 0;
}

/* Kernel value from the inner product of samples i and l, summed over all features. */
static double kernel_value(double product, int64_t i, int64_t l) {
    if (rbf) /* no distance to itself: it would be rounding error */
        return i == l ? 1 : exp(-problem.sigma * fmax(norms[i] + norms[l] - 2 * product, 0));
    if (strcmp(problem.kernel, "linear") == 0) return product;
    double power = 1;
    for (int64_t d = 0; d < problem.degree; d++) power *= problem.offset + product;
    return power;
}

/* Minimiser of the one-variable problem over 0..upper. Without curvature (a sample of zeros) it is an end. */
static double minimiser(double gradient, double curvature, double value) {
    if ((value == 0 && gradient >= 0) || (value == upper && gradient <= 0)) return value;
    if (gradient == 0 && 0 <= value && value <= upper) return value;
    if (curvature == 0) return upper;
    return fmin(fmax(value - gradient / curvature, 0), upper);
}

/* Solves G x = r by Cholesky; the factor overwrites G, and x overwrites r. */
static void solve(double *r) {
    const int64_t b = problem.block;
    for (int64_t j = 0; j < b; j++) {
        for (int64_t k = 0; k < j; k++) G[j * b + j] -= G[j * b + k] * G[j * b + k];
        if (!(G[j * b + j] > 0)) stop(sstep_say(SSTEP_FAILED, "a block is not positive definite"));
        G[j * b + j] = sqrt(G[j * b + j]);
        for (int64_t i = j + 1; i < b; i++) {
            for (int64_t k = 0; k < j; k++) G[i * b + j] -= G[i * b + k] * G[j * b + k];
            G[i * b + j] /= G[j * b + j];
        }
    }
    for (int64_t i = 0; i < b; i++) {
        for (int64_t k = 0; k < i; k++) r[i] -= G[i * b + k] * r[k];
        r[i] /= G[i * b + i];
    }
    for (int64_t i = b - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < b; k++) r[i] -= G[k * b + i] * r[k];
        r[i] /= G[i * b + i];
    }
}

/* The iteration whose coordinates are number j and following of its window: their new values go to `news`. */
static void iterate(int64_t j, const int64_t *drawn, double *a, double *news) {
    const int64_t m = problem.samples, b = problem.block;
    const double *y = problem.targets;
    for (int64_t r = j; r < j + b; r++) {
        const double *u = panel + r * m;
        for (int64_t t = 0; t < j; t++) products[r] += u[drawn[t]] * increments[t]; /* since the window began */
        news[r] = ridge ? y[drawn[r]] - (double)m * a[drawn[r]] - products[r] / problem.penalty
                        : products[r] - 1 + omega * a[drawn[r]];
        for (int64_t c = j; c < j + b; c++)
            G[(r - j) * b + c - j] = ridge ? u[drawn[c]] / problem.penalty + (r == c ? (double)m : 0)
                                           : u[drawn[c]] + omega;
    }
    if (ridge)
        solve(news + j);
    else
        news[j] = minimiser(news[j], G[0], a[drawn[j]]);
    for (int64_t r = j; r < j + b; r++) {
        increments[r] = ridge ? news[r] : news[r] - a[drawn[r]];
        news[r] = a[drawn[r]] = ridge ? a[drawn[r]] + news[r] : news[r];
    }
}

/* The window of the iterations first..end-1. */
static void window(int64_t first, int64_t end, double *a, double *news) {
    const int64_t m = problem.samples, b = problem.block, count = (end - first) * b;
    const int64_t *drawn = problem.indices + first * b;
    for (int64_t j = 0; j < count; j++) partial_products(drawn[j], panel + j * m);
    over_ranks(MPI_SUM, panel, count * m);
    windows++;
    for (int64_t j = 0; j < count * m; j++) panel[j] = kernel_value(panel[j], drawn[j / m], j % m);
    SSTEP_PANEL_WRITE(first, panel, count * m);
    for (int64_t j = 0; j < count; j++) {
        products[j] = 0;
        for (int64_t l = 0; l < m; l++) {
            if (!ridge) panel[j * m + l] *= problem.targets[drawn[j]] * problem.targets[l];
            products[j] += panel[j * m + l] * a[l];
        }
    }
    for (int64_t j = 0; j < count; j += b) iterate(j, drawn, a, news);
}

/* Reads the folder, and refuses what this program cannot do. */
static int read_problem(const char *folder) {
    int code = sstep_read(folder, SSTEP_CSR, &problem);
    if (code) return code;
    const int64_t m = problem.samples, n = problem.features, b = problem.block;
    ridge = strcmp(problem.task, "krr") == 0;
    rbf = strcmp(problem.kernel, "rbf") == 0;
    upper = strcmp(problem.task, "svm-l1") == 0 ? problem.penalty : INFINITY;
    omega = strcmp(problem.task, "svm-l2") == 0 ? 1 / (2 * problem.penalty) : 0;
    if (problem.s > problem.iterations) problem.s = problem.iterations > 0 ? problem.iterations : 1;
    if (!ridge && b != 1) return sstep_say(SSTEP_REFUSED, "block = %lld, but K-SVM takes 1", (long long)b);
    if (problem.s > INT_MAX / b || problem.s * b > INT_MAX / m || n > INT_MAX)
        return sstep_say(SSTEP_REFUSED, "a panel of s b m numbers, or a sample, has more than %d", INT_MAX);
    return 0;
}

/* Makes room, and reduces the norms. */
static void prepare(int rank, int size) {
    const int64_t m = problem.samples, n = problem.features, b = problem.block;
    keep_features(n * rank / size, n * (rank + 1) / size);
    row = numbers(n);
    panel = numbers(problem.s * b * m);
    products = numbers(problem.s * b);
    increments = numbers(problem.s * b);
    G = numbers(b * b);
    if (!rbf) return;
    norms = numbers(m);
    for (int64_t l = 0; l < m; l++)
        for (int64_t e = local_starts[l]; e < local_starts[l + 1]; e++)
            norms[l] += problem.values[e] * problem.values[e];
    over_ranks(MPI_SUM, norms, m);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* Rank 0 writes: the log where one is wanted, else a at the points; and the final a. */
    sstep_output output;
    int code = argc == 2 ? read_problem(argv[1]) : sstep_say(64, "usage: %s FOLDER", argv[0]);
    const int logs = problem.log_wanted;
    if (rank == 0 && !code) code = sstep_open(&problem, logs ? "log" : "trace", &output);
    if (rank == 0 && !code) code = SSTEP_PANEL_OPEN(&problem);

    /* All continue, or none. MPI_Abort would end them too, but what they said may then be lost. */
    double worst = code;
    over_ranks(MPI_MAX, &worst, 1);
    if (worst > 0) {
        MPI_Finalize();
        return (int)worst;
    }
    prepare(rank, size);
    double *a = problem.initial, *news = numbers(problem.s * problem.block);
    if (rank == 0 && !logs) code = sstep_put_at_point(&output, 0, a);
    for (int64_t first = 0; first < problem.iterations; first += problem.s) {
        int64_t end = first + problem.s < problem.iterations ? first + problem.s : problem.iterations;
        window(first, end, a, news);
        if (rank == 0 && !code)
            code = logs ? sstep_put(&output, news, (end - first) * problem.block)
                        : sstep_put_at_point(&output, end, a);
    }
    if (rank == 0 && !code) code = sstep_close(&output);
    if (rank == 0 && !code) code = sstep_write_final(&problem, a);
    if (!code) code = sstep_write_rank(&problem, rank, a);
    if (rank == 0 && !code) code = sstep_write_counters(&problem, collectives, words, windows);
    if (rank == 0 && !code) code = SSTEP_PANEL_CLOSE();
    MPI_Finalize();
    return code;
}
