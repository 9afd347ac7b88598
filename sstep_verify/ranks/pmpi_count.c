/* Counts the collectives of a process, and the bytes it hands to them, outside of the program that makes them.

   Built with the MPI's own compiler wrapper as a shared library and loaded before the program by LD_PRELOAD,
   it stands between the program and the MPI library (the profiling interface of the MPI standard): every
   MPI_X is counted and passed on to PMPI_X. Blocking and non-blocking forms are counted alike.

   Kinds: 0 allreduce, 1 reduce-scatter (both forms), 2 any other collective.
   Bytes: what this rank hands in; for a reduce-scatter the whole vector, before it is scattered. A scatter
   counts as a call without bytes. Persistent collectives (MPI_X_init) are not counted.

   What it leaves of a rank where the environment variable SSTEP_VERIFY_WITNESS names a folder, what it does to the
   program where SSTEP_VERIFY_NEMESIS says so, and how it makes the network slower where SSTEP_VERIFY_DELAY does,
   stands in pmpi_witness.h, pmpi_nemesis.h and pmpi_delay.h. */

#include <mpi.h>

#include "pmpi_witness.h"
#include "pmpi_nemesis.h"
#include "pmpi_delay.h"

enum { ALLREDUCE, REDUCE_SCATTER, OTHER, KINDS };

static long long calls[KINDS], bytes[KINDS];

/* Reductions before which, since the one before, some other collective was entered; others since the last. */
static long long after_others, others;

long long pmpi_count_calls(int kind) { return calls[kind]; }

long long pmpi_count_bytes(int kind) { return bytes[kind]; }

long long pmpi_count_after_others(void) { return after_others; }

void pmpi_count_reset(void) {
    after_others = others = 0;
    for (int kind = 0; kind < KINDS; kind++) calls[kind] = bytes[kind] = 0;
}

int MPI_Init(int *argc, char ***argv) {
    int code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS) witness_begin();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int code = PMPI_Init_thread(argc, argv, required, provided);
    if (code == MPI_SUCCESS) witness_begin();
    return code;
}

int MPI_Finalize(void) {
    witness_end(KINDS, calls, bytes);
    return PMPI_Finalize();
}

/* Before a collective. */
static void enter(const char *name, int kind, long long handed, MPI_Comm comm) {
    if (kind == OTHER) {
        others++;
    } else {
        after_others += others > 0 && calls[ALLREDUCE] + calls[REDUCE_SCATTER] > 0;
        others = 0;
    }
    calls[kind]++;
    bytes[kind] += handed;
    witness_place("in", name, calls[ALLREDUCE] + calls[REDUCE_SCATTER] + calls[OTHER]);
    nemesis_delay(comm);
}

/* After it. */
static int left(const char *name, int code) {
    witness_place("after", name, calls[ALLREDUCE] + calls[REDUCE_SCATTER] + calls[OTHER]);
    return code;
}

/* After one that gives every rank of a communicator the same numbers. */
static int same(const char *name, int code, void *received, long long count, MPI_Datatype type, MPI_Comm comm) {
    if (code == MPI_SUCCESS) {
        nemesis_ulp(received, count, type, comm);
        witness_received(received, count, type, comm);
    }
    return left(name, code);
}

/* Bytes of count elements; none where the buffer is in place and type and count are to be ignored. */
static long long volume(const void *buffer, long long count, MPI_Datatype type) {
    int size = 0;
    if (buffer == MPI_IN_PLACE || type == MPI_DATATYPE_NULL) return 0;
    PMPI_Type_size(type, &size);
    return count * size;
}

static int size_of(MPI_Comm comm) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}

static long long sum_int(const int *counts, MPI_Comm comm) {
    long long sum = 0;
    for (int rank = size_of(comm) - 1; rank >= 0; rank--) sum += counts[rank];
    return sum;
}

#define LIST(...) __VA_ARGS__
#define PASTE(a, b, c) a##b##c
#define NAME(a, b, c) PASTE(a, b, c)

/* One collective in its blocking form (Upper) and its non-blocking form (lower, with a request). In the first,
   code is what it returned, and seen what becomes of that. */
#define WRAP(Upper, lower, kind, handed, seen, parameters, arguments)                     \
    int NAME(MPI_, Upper, SUFFIX)(LIST parameters) {                                      \
        const char *name = "MPI_" #Upper;                                                 \
        MPI_Comm own = comm;                                                              \
        long long in = handed;                                                            \
        enter(name, kind, in, own);                                                       \
        comm = kind == ALLREDUCE ? nemesis_order(own) : own;                              \
        int code = NAME(PMPI_, Upper, SUFFIX)(LIST arguments);                            \
        if (comm != own) PMPI_Comm_free(&comm);                                           \
        delay_until(delay_due(own, in));                                                  \
        return seen;                                                                      \
    }                                                                                     \
    int NAME(MPI_I, lower, SUFFIX)(LIST parameters, MPI_Request * request) {              \
        const char *name = "MPI_I" #lower;                                                \
        long long in = handed;                                                            \
        enter(name, kind, in, comm);                                                      \
        int code = NAME(PMPI_I, lower, SUFFIX)(LIST arguments, request);                  \
        if (code == MPI_SUCCESS) delay_start(*request, delay_due(comm, in));              \
        return left(name, code);                                                          \
    }
#define LEFT left(name, code)
#define SAME(received, count, type) same(name, code, received, count, type, own)

/* All collectives that have counts; COUNT and OFFSET are the types of counts and displacements. */
#define COLLECTIVES                                                                                           \
    WRAP(Allreduce, allreduce, ALLREDUCE, volume(0, count, type), SAME(receive, count, type),                 \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
         (send, receive, count, type, op, comm))                                                              \
    WRAP(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, volume(0, SUM(counts, comm), type), LEFT,            \
         (const void *send, void *receive, const COUNT counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),\
         (send, receive, counts, type, op, comm))                                                             \
    WRAP(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER,                                          \
         volume(0, (long long)count * size_of(comm), type), LEFT,                                             \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
         (send, receive, count, type, op, comm))                                                              \
    WRAP(Reduce, reduce, OTHER, volume(0, count, type), LEFT,                                                 \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, int root,               \
          MPI_Comm comm),                                                                                     \
         (send, receive, count, type, op, root, comm))                                                        \
    WRAP(Scan, scan, OTHER, volume(0, count, type), LEFT,                                                     \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
         (send, receive, count, type, op, comm))                                                              \
    WRAP(Exscan, exscan, OTHER, volume(0, count, type), LEFT,                                                 \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
         (send, receive, count, type, op, comm))                                                              \
    WRAP(Bcast, bcast, OTHER, volume(0, count, type), SAME(buffer, count, type),                              \
         (void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),                             \
         (buffer, count, type, root, comm))                                                                   \
    WRAP(Allgather, allgather, OTHER, volume(send, count, type),                                              \
         SAME(receive, (long long)got * size_of(own), as),                                                    \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          MPI_Comm comm),                                                                                     \
         (send, count, type, receive, got, as, comm))                                                         \
    WRAP(Allgatherv, allgatherv, OTHER, volume(send, count, type), LEFT,                                      \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, const COUNT got[],                 \
          const OFFSET at[], MPI_Datatype as, MPI_Comm comm),                                                 \
         (send, count, type, receive, got, at, as, comm))                                                     \
    WRAP(Gather, gather, OTHER, volume(send, count, type), LEFT,                                              \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          int root, MPI_Comm comm),                                                                           \
         (send, count, type, receive, got, as, root, comm))                                                   \
    WRAP(Gatherv, gatherv, OTHER, volume(send, count, type), LEFT,                                            \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, const COUNT got[],                 \
          const OFFSET at[], MPI_Datatype as, int root, MPI_Comm comm),                                       \
         (send, count, type, receive, got, at, as, root, comm))                                               \
    WRAP(Scatter, scatter, OTHER, 0, LEFT,                                                                    \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          int root, MPI_Comm comm),                                                                           \
         (send, count, type, receive, got, as, root, comm))                                                   \
    WRAP(Scatterv, scatterv, OTHER, 0, LEFT,                                                                  \
         (const void *send, const COUNT counts[], const OFFSET from[], MPI_Datatype type, void *receive,      \
          COUNT got, MPI_Datatype as, int root, MPI_Comm comm),                                               \
         (send, counts, from, type, receive, got, as, root, comm))                                            \
    WRAP(Alltoall, alltoall, OTHER, volume(send, (long long)count * size_of(comm), type), LEFT,               \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          MPI_Comm comm),                                                                                     \
         (send, count, type, receive, got, as, comm))                                                         \
    WRAP(Alltoallv, alltoallv, OTHER, send == MPI_IN_PLACE ? 0 : volume(send, SUM(counts, comm), type), LEFT, \
         (const void *send, const COUNT counts[], const OFFSET from[], MPI_Datatype type, void *receive,      \
          const COUNT got[], const OFFSET at[], MPI_Datatype as, MPI_Comm comm),                              \
         (send, counts, from, type, receive, got, at, as, comm))

#define COUNT int
#define OFFSET int
#define SUM sum_int
#define SUFFIX
COLLECTIVES
WRAP(Barrier, barrier, OTHER, 0, LEFT, (MPI_Comm comm), (comm))

/* The forms with large counts, which mpi4py prefers; Open MPI 5.0 has none of them. */
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#undef COUNT
#undef OFFSET
#undef SUM
#undef SUFFIX
#define COUNT MPI_Count
#define OFFSET MPI_Aint
#define SUM sum_count
#define SUFFIX _c

static long long sum_count(const MPI_Count *counts, MPI_Comm comm) {
    long long sum = 0;
    for (int rank = size_of(comm) - 1; rank >= 0; rank--) sum += counts[rank];
    return sum;
}

COLLECTIVES
#endif
