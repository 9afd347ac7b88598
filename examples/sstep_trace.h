/* Reads an exchange folder of sstep-verify (docs/exchange.md, version 1) and writes what a solver leaves in it.

   SPDX-License-Identifier: BSD-3-Clause

   One header, no dependency but the C library: copy it beside your program. C99, and C++ from C++11 on.

       sstep_problem problem;
       int code = sstep_read(argv[1], SSTEP_CSR, &problem);
       if (code) return code;
       sstep_output log;
       code = sstep_open(&problem, "log", &log);
       ...  code = sstep_put(&log, &new_value, 1);       after each update
       code = sstep_close(&log);
       code = sstep_write_final(&problem, a);
       sstep_free(&problem);

   Every function that can fail returns 0, or the exit code the program should end with, after it has said on
   standard error what is wrong:

       65  SSTEP_REFUSED  a version, task, kernel or size that this header cannot handle; "refused" in the format
       74  SSTEP_FAILED   a file is absent, damaged, of a wrong length, or cannot be written; no memory

   Return 65 yourself for what your program does not handle. Of several processes, let one write. Results are
   written under NAME.part and renamed when they are whole. Numbers in problem.txt are read by strtod, so the
   program must not have set another locale for LC_NUMERIC than "C", which it starts with.

   Compiled with -DSSTEP_PROBE, the macros SSTEP_PROBE_... at the end append what they are given to probe.bin in
   the folder; without it they are nothing. */

#ifndef SSTEP_TRACE_H
#define SSTEP_TRACE_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SSTEP_REFUSED = 65, SSTEP_FAILED = 74 };

/* What sstep_read reads of the data: the CSR arrays, the dense array, both (SSTEP_CSR | SSTEP_DENSE), or 0. */
enum { SSTEP_CSR = 1, SSTEP_DENSE = 2 };

/* Fails to compile where float64 and int64 of the files are not the program's own. */
typedef char sstep_needs_numbers_of_8_bytes[sizeof(double) == 8 && sizeof(int64_t) == 8 && CHAR_BIT == 8 ? 1 : -1];

/* Largest number of 8-byte words in an array or a file: their bytes fit a size_t and what ftell returns. */
#define SSTEP_MOST_WORDS ((int64_t)((SIZE_MAX < LONG_MAX ? SIZE_MAX : LONG_MAX) / 8))

typedef struct {
    char *folder;
    char task[16];       /* "svm-l1", "svm-l2" or "krr" */
    char kernel[16];     /* "linear", "polynomial" or "rbf" */
    int64_t samples;     /* m */
    int64_t features;    /* n */
    int64_t entries;     /* stored entries of the data */
    int64_t degree;      /* polynomial: (offset + <x, z>)^degree; else 0 */
    double offset;
    double sigma;        /* rbf: exp(-sigma ||x - z||^2); else 0 */
    double penalty;      /* C (K-SVM) or lambda (K-RR) */
    int64_t s;           /* iterations a window */
    int64_t iterations;  /* H */
    int64_t block;       /* b, coordinates an iteration; 1 for K-SVM */
    int64_t point_count; /* iterations at which a trace holds a */
    int log_wanted;      /* 1 or 0 */
    double *targets;     /* m: labels -1 and 1, or targets */
    int64_t *row_starts; /* m + 1    } with SSTEP_CSR, else NULL; row l has the entries */
    int64_t *columns;    /* entries  } row_starts[l] to row_starts[l + 1] - 1 */
    double *values;      /* entries  } */
    double *data;        /* m x n, row by row, with SSTEP_DENSE, else NULL */
    int64_t *indices;    /* H x b coordinates from 0: iteration k has indices[k * b] to indices[k * b + b - 1] */
    double *initial;     /* m: a0 */
    int64_t *points;     /* point_count, ascending, from 0 to H */
} sstep_problem;

typedef struct {
    const sstep_problem *problem;
    FILE *file;
    char *path, *part; /* where it belongs, and where it is until it is whole */
    int64_t expected, written;
} sstep_output;

/* Prints a message, in one piece since other ranks may be printing theirs, and returns the code. */
static inline int sstep_say(int code, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fprintf(stderr, "sstep_trace: %s\n", message);
    return code;
}

/* FOLDER/NAME followed by an ending, allocated; NULL without memory. */
static inline char *sstep_path(const char *folder, const char *name, const char *ending) {
    size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = (char *)malloc(size);
    if (path) snprintf(path, size, "%s/%s%s", folder, name, ending);
    return path;
}

/* a times b in *product, or refused if it is more than words that an array can have. Neither is negative. */
static inline int sstep_product(const char *what, int64_t a, int64_t b, int64_t *product) {
    if (b > 0 && a > SSTEP_MOST_WORDS / b)
        return sstep_say(SSTEP_REFUSED, "%s: %lld x %lld numbers are more than this program can address", what,
                         (long long)a, (long long)b);
    *product = a * b;
    return 0;
}

/* A file of exactly `count` 8-byte words in newly allocated memory; its length is checked before. NULL without
   doing anything if *code is set already, or with *code set. */
static inline void *sstep_load(const char *folder, const char *name, int64_t count, int *code) {
    if (*code) return NULL;
    char *path = sstep_path(folder, name, "");
    FILE *file = path ? fopen(path, "rb") : NULL;
    void *array = NULL;
    long length = -1;
    if (!file)
        *code = sstep_say(SSTEP_FAILED, "%s/%s cannot be opened: %s", folder, name, strerror(errno));
    else if (fseek(file, 0, SEEK_END) || (length = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
        *code = sstep_say(SSTEP_FAILED, "%s: its length cannot be told: %s", path, strerror(errno));
    else if (length % 8 != 0 || length / 8 != count)
        *code = sstep_say(SSTEP_FAILED, "%s has %ld bytes, but %lld numbers of 8 bytes are due", path, length,
                          (long long)count);
    else if (!(array = malloc(count > 0 ? (size_t)count * 8 : 8)))
        *code = sstep_say(SSTEP_FAILED, "%s: no memory for %lld numbers", path, (long long)count);
    else if (fread(array, 8, (size_t)count, file) != (size_t)count)
        *code = sstep_say(SSTEP_FAILED, "%s could not be read to its end", path);
    if (file) fclose(file);
    free(path);
    if (!*code) return array;
    free(array);
    return NULL;
}

/* Value of a name in the text of problem.txt, in `value` of 64 characters; 1 if it is there, 0 if not, or -1 if
   it is there twice, or is empty or too long. */
static inline int sstep_find(const char *text, const char *name, char *value) {
    size_t length = strlen(name);
    int found = 0;
    while (*text) {
        size_t line = strcspn(text, "\r\n");
        if (line > length && strncmp(text, name, length) == 0 && text[length] == ' ') {
            const char *begin = text + length + strspn(text + length, " ");
            size_t size = begin < text + line ? (size_t)(text + line - begin) : 0;
            while (size > 0 && begin[size - 1] == ' ') size--;
            if (found || size == 0 || size >= 64) return -1;
            memcpy(value, begin, size);
            value[size] = '\0';
            found = 1;
        }
        text += line;
        text += strspn(text, "\r\n");
    }
    return found;
}

/* The same for a name that must be there. */
static inline int sstep_need(const char *text, const char *name, char *value) {
    int found = sstep_find(text, name, value);
    if (found == 1) return 0;
    return sstep_say(SSTEP_FAILED, "problem.txt: %s is %s", name, found == 0 ? "absent" : "there twice or no value");
}

static inline int sstep_integer(const char *text, const char *name, int64_t least, int64_t most, int64_t *number) {
    char value[64], *end;
    int code = sstep_need(text, name, value);
    if (code) return code;
    errno = 0;
    long long read = strtoll(value, &end, 10);
    if (*end || end == value) return sstep_say(SSTEP_FAILED, "problem.txt: %s = %s is no integer", name, value);
    if (errno || read < least || read > most)
        return sstep_say(SSTEP_REFUSED, "problem.txt: %s = %s is not in %lld..%lld", name, value, (long long)least,
                         (long long)most);
    *number = read;
    return 0;
}

static inline int sstep_real(const char *text, const char *name, double *number) {
    char value[64], *end;
    int code = sstep_need(text, name, value);
    if (code) return code;
    *number = strtod(value, &end);
    if (*end || end == value || *number - *number != 0) /* the last: infinite, or not a number */
        return sstep_say(SSTEP_FAILED, "problem.txt: %s = %s is no finite number", name, value);
    return 0;
}

/* A word out of three. */
static inline int sstep_word(const char *text, const char *name, const char *const known[3], char *word) {
    char value[64];
    int code = sstep_need(text, name, value);
    if (code) return code;
    for (int i = 0; i < 3; i++)
        if (strcmp(value, known[i]) == 0) {
            memcpy(word, known[i], strlen(known[i]) + 1);
            return 0;
        }
    return sstep_say(SSTEP_REFUSED, "problem.txt: %s = %s is none of %s, %s, %s", name, value, known[0], known[1],
                     known[2]);
}

/* Reads the names of problem.txt. */
static inline int sstep_read_names(sstep_problem *p) {
    static const char *const tasks[3] = {"svm-l1", "svm-l2", "krr"};
    static const char *const kernels[3] = {"linear", "polynomial", "rbf"};
    char text[16384], value[64], *path = sstep_path(p->folder, "problem.txt", "");
    FILE *file = path ? fopen(path, "rb") : NULL;
    size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    int code = 0;
    if (!file)
        code = sstep_say(SSTEP_FAILED, "%s/problem.txt cannot be opened: %s", p->folder, strerror(errno));
    else if (length == 0 || length == sizeof text || memchr(text, 0, length))
        code = sstep_say(SSTEP_FAILED, "%s is empty, has %d bytes or more, or is no text", path, (int)sizeof text);
    if (file) fclose(file);
    free(path);
    if (code) return code;
    text[length] = '\0';

    int64_t version = 0, wanted = 0;
    if ((code = sstep_need(text, "format", value))) return code;
    if (strcmp(value, "sstep-exchange") != 0)
        return sstep_say(SSTEP_REFUSED, "problem.txt: format = %s, but sstep-exchange is read", value);
    if ((code = sstep_integer(text, "version", 1, INT_MAX, &version))) return code;
    if (version != 1) return sstep_say(SSTEP_REFUSED, "problem.txt: version = %d, but 1 is read", (int)version);
    if ((code = sstep_word(text, "task", tasks, p->task))) return code;
    if ((code = sstep_word(text, "kernel", kernels, p->kernel))) return code;
    if ((code = sstep_integer(text, "samples", 1, SSTEP_MOST_WORDS - 1, &p->samples))) return code;
    if ((code = sstep_integer(text, "features", 1, SSTEP_MOST_WORDS, &p->features))) return code;
    if ((code = sstep_integer(text, "entries", 0, SSTEP_MOST_WORDS, &p->entries))) return code;
    if ((code = sstep_integer(text, "s", 1, SSTEP_MOST_WORDS, &p->s))) return code;
    if ((code = sstep_integer(text, "iterations", 0, SSTEP_MOST_WORDS, &p->iterations))) return code;
    if ((code = sstep_integer(text, "block", 1, p->samples, &p->block))) return code;
    if ((code = sstep_integer(text, "points", 0, SSTEP_MOST_WORDS, &p->point_count))) return code;
    if ((code = sstep_integer(text, "log", 0, 1, &wanted))) return code;
    p->log_wanted = (int)wanted;
    if (strcmp(p->kernel, "polynomial") == 0) {
        if ((code = sstep_integer(text, "degree", 1, INT_MAX, &p->degree))) return code;
        if ((code = sstep_real(text, "offset", &p->offset))) return code;
    }
    if (strcmp(p->kernel, "rbf") == 0 && (code = sstep_real(text, "sigma", &p->sigma))) return code;
    return sstep_real(text, strcmp(p->task, "krr") == 0 ? "lambda" : "C", &p->penalty);
}

/* Whether all numbers are in least..most, and not below their predecessors if they have to ascend. */
static inline int sstep_in_range(const char *name, const int64_t *numbers, int64_t count, int64_t least, int64_t most,
                                 int ascending) {
    for (int64_t k = 0; k < count; k++)
        if (numbers[k] < least || numbers[k] > most || (ascending && k > 0 && numbers[k] < numbers[k - 1]))
            return sstep_say(SSTEP_FAILED, "%s: number %lld is %lld, but %sit has to be in %lld..%lld", name,
                             (long long)k, (long long)numbers[k],
                             ascending ? "the numbers ascend, and " : "", (long long)least, (long long)most);
    return 0;
}

/* Reads the arrays of a problem whose names are read, and checks every index in them. */
static inline int sstep_read_arrays(sstep_problem *p, int parts) {
    int64_t m = p->samples, cells = 0, drawn = 0, rows = 0;
    const char *at = p->folder;
    int code = sstep_product("indices", p->iterations, p->block, &drawn);
    if (!code) code = sstep_product("trace", p->point_count, m, &rows);
    if (!code && parts & SSTEP_DENSE) code = sstep_product("data", m, p->features, &cells);
    p->targets = (double *)sstep_load(at, "targets.bin", m, &code);
    p->initial = (double *)sstep_load(at, "initial.bin", m, &code);
    p->indices = (int64_t *)sstep_load(at, "indices.bin", drawn, &code);
    p->points = (int64_t *)sstep_load(at, "points.bin", p->point_count, &code);
    if (!code) code = sstep_in_range("indices.bin", p->indices, drawn, 0, m - 1, 0);
    if (!code) code = sstep_in_range("points.bin", p->points, p->point_count, 0, p->iterations, 1);
    if (parts & SSTEP_CSR) {
        p->row_starts = (int64_t *)sstep_load(at, "row_starts.bin", m + 1, &code);
        p->columns = (int64_t *)sstep_load(at, "columns.bin", p->entries, &code);
        p->values = (double *)sstep_load(at, "values.bin", p->entries, &code);
        if (!code) code = sstep_in_range("row_starts.bin", p->row_starts, m + 1, 0, p->entries, 1);
        if (!code) code = sstep_in_range("columns.bin", p->columns, p->entries, 0, p->features - 1, 0);
        if (!code && (p->row_starts[0] != 0 || p->row_starts[m] != p->entries))
            code = sstep_say(SSTEP_FAILED, "row_starts.bin: goes from %lld to %lld, but has to go from 0 to %lld",
                             (long long)p->row_starts[0], (long long)p->row_starts[m], (long long)p->entries);
    }
    if (parts & SSTEP_DENSE) p->data = (double *)sstep_load(at, "data.bin", cells, &code);
    return code;
}

static inline void sstep_free(sstep_problem *p) {
    void *owned[] = {p->folder, p->targets, p->row_starts, p->columns, p->values,
                     p->data,   p->indices, p->initial,    p->points};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) free(owned[i]);
    memset(p, 0, sizeof *p);
}

/* Reads a folder; parts says which form of the data. After a failure there is nothing to free. */
static inline int sstep_read(const char *folder, int parts, sstep_problem *problem) {
    const int64_t one = 1;
    memset(problem, 0, sizeof *problem);
    if (*(const char *)&one != 1)
        return sstep_say(SSTEP_REFUSED, "the files are little-endian, and this machine is not");
    problem->folder = sstep_path(folder, "", "");
    int code = problem->folder ? 0 : sstep_say(SSTEP_FAILED, "no memory");
    if (!code) problem->folder[strlen(folder)] = '\0';
    if (!code) code = sstep_read_names(problem);
    if (!code) code = sstep_read_arrays(problem, parts);
    if (code) sstep_free(problem);
    return code;
}

/* Opens a result of so many numbers. */
static inline int sstep_open_sized(const sstep_problem *problem, const char *name, int64_t expected,
                                   sstep_output *output) {
    memset(output, 0, sizeof *output);
    output->problem = problem;
    output->expected = expected;
    output->path = sstep_path(problem->folder, name, ".bin");
    output->part = sstep_path(problem->folder, name, ".bin.part");
    if (output->path && output->part) output->file = fopen(output->part, "wb");
    if (output->file) return 0;
    int code =
        sstep_say(SSTEP_FAILED, "%s/%s.bin.part cannot be written: %s", problem->folder, name, strerror(errno));
    free(output->path);
    free(output->part);
    memset(output, 0, sizeof *output);
    return code;
}

/* Opens a result: name is "log" (H x b numbers are due), "trace" (a at every point) or "final" (m numbers). */
static inline int sstep_open(const sstep_problem *problem, const char *name, sstep_output *output) {
    const sstep_problem *p = problem;
    int64_t expected = strcmp(name, "log") == 0     ? p->iterations * p->block
                       : strcmp(name, "trace") == 0 ? p->point_count * p->samples
                       : strcmp(name, "final") == 0 ? p->samples
                                                    : -1;
    if (expected >= 0) return sstep_open_sized(p, name, expected, output);
    memset(output, 0, sizeof *output);
    return sstep_say(SSTEP_FAILED, "%s is none of log, trace, final", name);
}

/* Appends numbers: to a log the new value of each drawn coordinate, in the order of the indices. */
static inline int sstep_put(sstep_output *output, const double *numbers, int64_t count) {
    if (!output->file) return SSTEP_FAILED; /* said when it was opened */
    if (count < 0 || count > output->expected - output->written)
        return sstep_say(SSTEP_FAILED, "%s: more than %lld numbers", output->path, (long long)output->expected);
    if (fwrite(numbers, 8, (size_t)count, output->file) != (size_t)count)
        return sstep_say(SSTEP_FAILED, "%s cannot be written: %s", output->part, strerror(errno));
    output->written += count;
    return 0;
}

/* Appends a, as it is after k iterations, to a trace if k is its next point; call it with k = 0 and after every
   window, or after every iteration. */
static inline int sstep_put_at_point(sstep_output *trace, int64_t k, const double *a) {
    if (!trace->file) return SSTEP_FAILED;
    int64_t m = trace->problem->samples, next = trace->written / m;
    return next < trace->problem->point_count && trace->problem->points[next] == k ? sstep_put(trace, a, m) : 0;
}

/* Ends a result, and gives it its name if it is whole. */
static inline int sstep_close(sstep_output *output) {
    if (!output->file) return SSTEP_FAILED;
    int code = 0;
    if (fclose(output->file))
        code = sstep_say(SSTEP_FAILED, "%s cannot be written: %s", output->part, strerror(errno));
    else if (output->written != output->expected)
        code = sstep_say(SSTEP_FAILED, "%s: %lld numbers written, but %lld are due", output->path,
                         (long long)output->written, (long long)output->expected);
    else if (rename(output->part, output->path))
        code = sstep_say(SSTEP_FAILED, "%s cannot be renamed: %s", output->part, strerror(errno));
    if (code) remove(output->part);
    free(output->path);
    free(output->part);
    memset(output, 0, sizeof *output);
    return code;
}

/* Writes a after H iterations. */
static inline int sstep_write_final(const sstep_problem *problem, const double *a) {
    sstep_output output;
    int code = sstep_open(problem, "final", &output);
    if (code) return code;
    int put = sstep_put(&output, a, problem->samples);
    code = sstep_close(&output);
    return put ? put : code;
}

/* Writes a of one rank after H iterations; either all ranks do, and are compared bit for bit, or none. */
static inline int sstep_write_rank(const sstep_problem *problem, int rank, const double *a) {
    char name[32];
    sstep_output output;
    snprintf(name, sizeof name, "rank-%d", rank);
    int code = sstep_open_sized(problem, name, problem->samples, &output);
    if (code) return code;
    int put = sstep_put(&output, a, problem->samples);
    code = sstep_close(&output);
    return put ? put : code;
}

/* Writes counts of this process: its collectives, the 8-byte words it handed to them, and windows. */
static inline int sstep_write_counters(const sstep_problem *problem, int64_t collectives, int64_t words,
                                       int64_t windows) {
    char *path = sstep_path(problem->folder, "counters", ".txt");
    char *part = sstep_path(problem->folder, "counters", ".txt.part");
    FILE *file = path && part ? fopen(part, "w") : NULL;
    int bad = !file || fprintf(file, "collectives %lld\nwords %lld\nwindows %lld\n", (long long)collectives,
                               (long long)words, (long long)windows) < 0;
    if (file && fclose(file)) bad = 1;
    if (!bad) bad = rename(part, path) != 0;
    if (bad) sstep_say(SSTEP_FAILED, "%s/counters.txt cannot be written: %s", problem->folder, strerror(errno));
    free(path);
    free(part);
    return bad ? SSTEP_FAILED : 0;
}

/* Probes: between SSTEP_PROBE_OPEN and SSTEP_PROBE_CLOSE, in one process and thread, a record of each quantity goes
   to probe.bin: 8 bytes of its name, padded with zeros, two int64, the iteration from 0 and the count, then count
   float64.

     panel     iteration: the first of the window; for each coordinate drawn in the window, in order, the m kernel
               values K(a_l, a_i), l = 0..m-1, without labels
     gradient  K-SVM: g of the step; K-RR: the b residuals y_i - m a_i - K_i a / lambda, corrected
     eta       K-SVM: the curvature Q_ii + omega; K-RR: the b x b matrix G of the block
     theta     the b increments of a; 0 for a step that leaves a as it is

   gradient, eta and theta come once an iteration, in this order. */
#ifdef SSTEP_PROBE

static FILE *sstep_probe_file;

static inline int sstep_probe_open(const sstep_problem *problem) {
    char *path = sstep_path(problem->folder, "probe", ".bin");
    sstep_probe_file = path ? fopen(path, "wb") : NULL;
    int code = sstep_probe_file ? 0 : sstep_say(SSTEP_FAILED, "%s/probe.bin cannot be written", problem->folder);
    free(path);
    return code;
}

static inline void sstep_probe(const char *name, int64_t iteration, const double *values, int64_t count) {
    char padded[8] = {0};
    int64_t head[2] = {iteration, count};
    if (!sstep_probe_file) return;
    memcpy(padded, name, strlen(name));
    fwrite(padded, 1, 8, sstep_probe_file);
    fwrite(head, 8, 2, sstep_probe_file);
    fwrite(values, 8, (size_t)count, sstep_probe_file);
}

static inline int sstep_probe_close(void) {
    int bad = sstep_probe_file && ferror(sstep_probe_file);
    if (sstep_probe_file && fclose(sstep_probe_file)) bad = 1;
    sstep_probe_file = NULL;
    return bad ? sstep_say(SSTEP_FAILED, "probe.bin could not be written to its end") : 0;
}

#define SSTEP_PROBE_OPEN(problem) sstep_probe_open(problem)
#define SSTEP_PROBE_PANEL(iteration, values, count) sstep_probe("panel", iteration, values, count)
#define SSTEP_PROBE_GRADIENT(iteration, values, count) sstep_probe("gradient", iteration, values, count)
#define SSTEP_PROBE_ETA(iteration, values, count) sstep_probe("eta", iteration, values, count)
#define SSTEP_PROBE_THETA(iteration, values, count) sstep_probe("theta", iteration, values, count)
#define SSTEP_PROBE_CLOSE() sstep_probe_close()

#else

/* Evaluates nothing, and keeps compilers from calling what is only probed unused. */
#define SSTEP_UNUSED(a, b, c) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))

#define SSTEP_PROBE_OPEN(problem) 0
#define SSTEP_PROBE_PANEL(iteration, values, count) SSTEP_UNUSED(iteration, values, count)
#define SSTEP_PROBE_GRADIENT(iteration, values, count) SSTEP_UNUSED(iteration, values, count)
#define SSTEP_PROBE_ETA(iteration, values, count) SSTEP_UNUSED(iteration, values, count)
#define SSTEP_PROBE_THETA(iteration, values, count) SSTEP_UNUSED(iteration, values, count)
#define SSTEP_PROBE_CLOSE() 0

#endif

#endif
