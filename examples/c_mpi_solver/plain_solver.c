/* s-step dual coordinate descent in C and MPI, as an author would write it for a paper:

       plain_solver TASK FILE m n PENALTY KERNEL PARAM s b H SEED

   TASK     svm-l1, svm-l2 (kernel SVM without bias; PENALTY is C, b is 1) or krr (ridge regression; lambda)
   FILE     m samples of n features in LIBSVM text; labels -1 and 1 for the SVM
   KERNEL   linear (PARAM is not used), polynomial (PARAM is the degree) or rbf (PARAM is sigma)
   s b H    iterations a window, coordinates an iteration, iterations
   SEED     coordinates are drawn by srand(SEED); rand() % m, again for one that is in its block already

   It starts from zero and prints alpha at the end. Every rank owns a segment of the features. */

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef OFFSET
#define OFFSET 0.0 /* of the polynomial kernel */
#endif

static int m, n, s, b, H;
static int ridge, squared, polynomial, rbf;
static double penalty, parameter, omega;
static long own;                  /* features of this rank */
static double *A, *y, *norm;      /* m x own samples, labels or targets, squared norms */
static double *alpha, *K, *G;     /* m; kernel rows of a window, s b x m; matrix of a block, b x b */
static double *product, *step;    /* s b: of kernel rows with alpha, and changes of alpha */
static int *drawn;                /* s b */

static void fail(const char *reason, const char *what) {
    fprintf(stderr, "plain_solver: %s: %s\n", reason, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static double *room(long count) {
    double *made = calloc(count > 0 ? (size_t)count : 1, sizeof *made);
    if (!made) fail("no memory", "array");
    return made;
}

static int positive(const char *text) {
    char *end;
    long number = strtol(text, &end, 10);
    if (*end || number < 1 || number > 1000000000) fail("not a positive integer", text);
    return (int)number;
}

/* Reads the labels, and this rank's features, which are numbers first + 1 to first + own in the file. */
static void read_file(const char *name, long first) {
    FILE *file = fopen(name, "r");
    if (!file) fail("cannot open", name);
    for (long i = 0; i < m; i++) {
        if (fscanf(file, "%lf", &y[i]) != 1) fail("too few samples", name);
        for (;;) {
            long feature;
            double value;
            int c = fgetc(file);
            while (c == ' ' || c == '\t' || c == '\r') c = fgetc(file);
            if (c == '\n' || c == EOF) break;
            ungetc(c, file);
            if (fscanf(file, "%ld:%lf", &feature, &value) != 2 || feature < 1 || feature > n)
                fail("not index:value", name);
            if (feature > first && feature <= first + own) A[i * own + feature - 1 - first] = value;
        }
    }
    fclose(file);
}

static double dot(const double *u, const double *v, long count) {
    double sum = 0;
    for (long k = 0; k < count; k++) sum += u[k] * v[k];
    return sum;
}

static void draw(int *block) {
    for (int j = 0; j < b; j++) {
        int k = 0;
        block[j] = rand() % m;
        while (k < j && block[k] != block[j]) k++;
        if (k < j) j--; /* it is there already */
    }
}

static double kernel(double inner, int i, int j) {
    if (rbf) return i == j ? 1 : exp(-parameter * fmax(norm[i] + norm[j] - 2 * inner, 0));
    return polynomial ? pow(OFFSET + inner, parameter) : inner;
}

/* Solves G x = r by elimination; x is left in r. */
static void eliminate(double *r) {
    for (int k = 0; k < b; k++)
        for (int i = k + 1; i < b; i++) {
            double factor = G[i * b + k] / G[k * b + k];
            for (int j = k; j < b; j++) G[i * b + j] -= factor * G[k * b + j];
            r[i] -= factor * r[k];
        }
    for (int i = b - 1; i >= 0; i--) {
        for (int j = i + 1; j < b; j++) r[i] -= G[i * b + j] * r[j];
        r[i] /= G[i * b + i];
    }
}

/* Row of the kernel matrix (with labels: of Q) that belongs to number j of the window. */
static double *row(int j) { return K + (long)j * m; }

/* Gathers the kernel rows of a window of `count` coordinates, and their products with alpha. */
static void gather(int count) {
    for (int j = 0; j < count; j++)
        for (long i = 0; i < m; i++) row(j)[i] = dot(A + drawn[j] * own, A + i * own, own);
    MPI_Allreduce(MPI_IN_PLACE, K, count * m, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int j = 0; j < count; j++) {
        for (int i = 0; i < m; i++) {
            row(j)[i] = kernel(row(j)[i], i, drawn[j]);
            if (!ridge) row(j)[i] *= y[i] * y[drawn[j]];
        }
        product[j] = dot(row(j), alpha, m);
    }
}

/* The update of alpha by the block that begins with number j of the window. */
static void update(int j) {
    for (int r = j; r < j + b; r++) {
        int i = drawn[r];
        for (int t = 0; t < j; t++) product[r] += row(r)[drawn[t]] * step[t];
        for (int c = j; c < j + b; c++)
            G[(r - j) * b + c - j] = row(r)[drawn[c]] / penalty + (r == c ? m : 0);
        step[r] = y[i] - m * alpha[i] - product[r] / penalty;
        if (!ridge) {
            double gradient = product[r] - 1 + omega * alpha[i], eta = row(r)[i] + omega, value = alpha[i];
            double upper = squared ? INFINITY : penalty;
            step[r] = fmin(fmax(eta > 0 ? value - gradient / eta : upper, 0), upper);
        }
    }
    if (ridge) eliminate(step + j);
    for (int r = j; r < j + b; r++) {
        double old = alpha[drawn[r]];
        alpha[drawn[r]] = ridge ? old + step[r] : step[r];
        if (!ridge) step[r] -= old;
    }
}

int main(int argc, char **argv) {
    int rank, size, windows = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 12) fail("usage", "plain_solver TASK FILE m n PENALTY KERNEL PARAM s b H SEED");
    ridge = strcmp(argv[1], "krr") == 0, squared = strcmp(argv[1], "svm-l2") == 0;
    m = positive(argv[3]), n = positive(argv[4]), penalty = atof(argv[5]), parameter = atof(argv[7]);
    polynomial = strcmp(argv[6], "polynomial") == 0, rbf = strcmp(argv[6], "rbf") == 0;
    s = positive(argv[8]), b = positive(argv[9]), H = positive(argv[10]);
    if (!ridge && !squared && strcmp(argv[1], "svm-l1") != 0) fail("unknown task", argv[1]);
    if (!polynomial && !rbf && strcmp(argv[6], "linear") != 0) fail("unknown kernel", argv[6]);
    if (b > m || (!ridge && b != 1)) fail("no block size for this task", argv[9]);
    if (s > H) s = H;
    if ((double)s * b * m > 2147483647.0) fail("the window is too large", argv[8]);
    omega = squared ? 1 / (2 * penalty) : 0;

    long first = (long)n * rank / size;
    own = (long)n * (rank + 1) / size - first;
    A = room(m * own), y = room(m), norm = room(m), alpha = room(m);
    K = room((long)s * b * m), G = room((long)b * b), product = room((long)s * b), step = room((long)s * b);
    drawn = (int *)room((long)s * b);
    read_file(argv[2], first);
    for (long i = 0; i < m; i++) norm[i] = dot(A + i * own, A + i * own, own);
    if (rbf) MPI_Allreduce(MPI_IN_PLACE, norm, m, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    srand((unsigned)strtoul(argv[11], NULL, 10));
    for (int k = 0; k < H; k += s, windows++) {
        int count = (H - k < s ? H - k : s) * b;
        for (int j = 0; j < count; j += b) draw(drawn + j);
        gather(count);
        for (int j = 0; j < count; j += b) update(j);
        if (rank == 0 && windows % 10 == 0) printf("%d of %d iterations\n", k + count / b, H);
    }
    if (rank == 0) {
        printf("done: %d windows on %d ranks\nalpha:\n", windows, size);
        for (int i = 0; i < m; i++) printf("%.12e\n", alpha[i]);
    }
    MPI_Finalize();
    return 0;
}
