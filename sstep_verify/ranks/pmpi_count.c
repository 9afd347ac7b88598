/* Counts the operations by which a process communicates, and what it hands to them, outside of the program that
   makes them.

   Built with the MPI's own compiler wrapper as a shared library and loaded before the program by LD_PRELOAD,
   it stands between the program and the MPI library (the profiling interface of the MPI standard): every
   MPI_X is counted and passed on to PMPI_X. Blocking and non-blocking forms are counted alike, persistent ones
   (MPI_X_init, from MPI 4 on) whenever they are started.

   Kinds: 0 allreduce, 1 reduce-scatter (both forms), 2 broadcast, 3 point to point: what is sent, put, got or
   accumulated (a message is counted where it is sent, and one to MPI_PROC_NULL is none), 4 barrier, 5 any other
   collective.
   Elements and bytes: what this rank hands in; for a reduce-scatter the whole vector, before it is scattered. An
   element is a basic one, whatever datatype it is part of: a number of any size, of a complex number or a pair each
   of both, or an opaque byte.

   What it leaves of a rank where the environment variable SSTEP_VERIFY_WITNESS names a folder, what it does to the
   program where SSTEP_VERIFY_FAULT_INJECTION says so, and how it makes the network slower where SSTEP_VERIFY_DELAY does,
   stands in pmpi_witness.h, pmpi_fault_injection.h and pmpi_delay.h. */

#include <mpi.h>

#include "pmpi_elements.h"
#include "pmpi_witness.h"
#include "pmpi_fault_injection.h"
#include "pmpi_delay.h"

enum { ALLREDUCE, REDUCE_SCATTER, BROADCAST, POINT_TO_POINT, BARRIER, OTHER, KINDS };

static Traffic counted[KINDS];

/* Reductions before which, since the one before, some other collective was entered; others since the last.
   Broadcasts and barriers are counted for themselves. */
static long long after_others, others;

long long pmpi_count_calls(int kind) { return counted[kind].calls; }

long long pmpi_count_elements(int kind) { return counted[kind].handed.elements; }

long long pmpi_count_bytes(int kind) { return counted[kind].handed.bytes; }

long long pmpi_count_after_others(void) { return after_others; }

void pmpi_count_reset(void) {
    after_others = others = 0;
    memset(counted, 0, sizeof counted);
}

static long long reductions(void) { return counted[ALLREDUCE].calls + counted[REDUCE_SCATTER].calls; }

static long long collectives(void) {
    return reductions() + counted[BROADCAST].calls + counted[BARRIER].calls + counted[OTHER].calls;
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
    witness_end(KINDS, counted, collectives());
    return PMPI_Finalize();
}

static void note(int kind, Volume handed) {
    counted[kind].calls++;
    counted[kind].handed.elements += handed.elements;
    counted[kind].handed.bytes += handed.bytes;
}

/* Before a collective. */
static void enter(const char *name, int kind, Volume handed, MPI_Comm comm) {
    if (kind == OTHER) {
        others++;
    } else if (kind == ALLREDUCE || kind == REDUCE_SCATTER) {
        after_others += others > 0 && reductions() > 0;
        others = 0;
    }
    note(kind, handed);
    witness_place("in", name, collectives());
    fault_injection_delay(comm);
}

/* After it. */
static int left(const char *name, int code) {
    witness_place("after", name, collectives());
    return code;
}

/* After one that gives every rank of a communicator the same numbers. */
static int same(const char *name, int code, void *received, long long count, MPI_Datatype type, MPI_Comm comm) {
    if (code == MPI_SUCCESS) {
        fault_injection_ulp(received, count, type, comm);
        witness_received(received, count, type, comm);
    }
    return left(name, code);
}

static int size_of(MPI_Comm comm) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}

static int rank_of(MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

static long long sum_int(const int *counts, long long ranks) {
    long long sum = 0;
    for (long long rank = 0; rank < ranks; rank++) sum += counts[rank];
    return sum;
}

#define LIST(...) __VA_ARGS__
#define PASTE(a, b, c) a##b##c
#define NAME(a, b, c) PASTE(a, b, c)

#if MPI_VERSION >= 4
/* Operations that are described once, and started often. */
enum { STARTED_MOST = 1024 };
static struct { MPI_Request request; const char *name; int kind; Volume handed; MPI_Comm comm; } started[STARTED_MOST];
static int started_many;

static void started_note(MPI_Request request, const char *name, int kind, Volume handed, MPI_Comm comm) {
    int place = 0;
    while (place < started_many && started[place].request != request) place++;
    if (place == STARTED_MOST) {
        fprintf(stderr, "more than %d persistent operations at once: they cannot be counted\n", STARTED_MOST);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    started_many += place == started_many;
    started[place].request = request;
    started[place].name = name;
    started[place].kind = kind;
    started[place].handed = handed;
    started[place].comm = comm;
}

static void started_count(int many, const MPI_Request *requests) {
    for (int one = 0; one < many; one++) {
        int place = 0;
        while (place < started_many && started[place].request != requests[one]) place++;
        if (place == started_many) continue;
        if (started[place].kind == POINT_TO_POINT) {
            note(POINT_TO_POINT, started[place].handed);
        } else {
            enter(started[place].name, started[place].kind, started[place].handed, started[place].comm);
            left(started[place].name, MPI_SUCCESS);
        }
    }
}

int MPI_Start(MPI_Request *request) {
    started_count(1, request);
    return PMPI_Start(request);
}

int MPI_Startall(int many, MPI_Request requests[]) {
    started_count(many, requests);
    return PMPI_Startall(many, requests);
}

int MPI_Request_free(MPI_Request *request) {
    for (int place = 0; place < started_many; place++)
        if (started[place].request == *request) started[place--] = started[--started_many];
    return PMPI_Request_free(request);
}

/* The persistent form of an operation. */
#define STARTED(Name, kind, handed, parameters, arguments)                                                   \
    int NAME(MPI_, Name, INIT)(LIST parameters, MPI_Request * request) {                                      \
        Volume in = handed;                                                                                   \
        int code = NAME(PMPI_, Name, INIT)(LIST arguments, request);                                          \
        if (code == MPI_SUCCESS) started_note(*request, "MPI_" #Name, kind, in, comm);                        \
        return code;                                                                                          \
    }
#else
#define STARTED(Name, kind, handed, parameters, arguments)
#endif

/* One collective in its blocking form (Upper) and its non-blocking form (lower, with a request). In the first,
   code is what it returned, and seen what becomes of that. */
#define WRAP(Upper, lower, kind, handed, seen, parameters, arguments)                     \
    int NAME(MPI_, Upper, SUFFIX)(LIST parameters) {                                      \
        const char *name = "MPI_" #Upper;                                                 \
        MPI_Comm given = comm;                                                            \
        Volume in = handed;                                                               \
        enter(name, kind, in, given);                                                     \
        comm = kind == ALLREDUCE ? fault_injection_order(given) : given;                          \
        int code = NAME(PMPI_, Upper, SUFFIX)(LIST arguments);                            \
        if (comm != given) PMPI_Comm_free(&comm);                                         \
        delay_until(delay_due(given, in.bytes));                                          \
        return seen;                                                                      \
    }                                                                                     \
    int NAME(MPI_I, lower, SUFFIX)(LIST parameters, MPI_Request * request) {              \
        const char *name = "MPI_I" #lower;                                                \
        Volume in = handed;                                                               \
        enter(name, kind, in, comm);                                                      \
        int code = NAME(PMPI_I, lower, SUFFIX)(LIST arguments, request);                  \
        if (code == MPI_SUCCESS) delay_start(*request, delay_due(comm, in.bytes));        \
        return left(name, code);                                                          \
    }                                                                                     \
    STARTED(Upper, kind, handed, (LIST parameters, MPI_Info info), (LIST arguments, info))
#define LEFT left(name, code)
#define SAME(received, count, type) same(name, code, received, count, type, given)

/* Where the part of this rank lies in the buffer that receives, that is what is handed in. */
#define OWN(count, type, got, as) (send == MPI_IN_PLACE ? volume(got, as) : volume(count, type))
#define AT_ROOT(count, type) (rank_of(comm) == root ? volume(count, type) : nothing)
#define MANY(count) ((long long)(count) * size_of(comm))

/* All collectives that have counts; COUNT and OFFSET are the types of counts and displacements. */
#define COLLECTIVES                                                                                           \
    WRAP(Allreduce, allreduce, ALLREDUCE, volume(count, type), SAME(receive, count, type),                    \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
         (send, receive, count, type, op, comm))                                                              \
    WRAP(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, volume(SUM(counts, size_of(comm)), type), LEFT,      \
         (const void *send, void *receive, const COUNT counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),\
         (send, receive, counts, type, op, comm))                                                             \
    WRAP(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER, volume(MANY(count), type), LEFT,         \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
         (send, receive, count, type, op, comm))                                                              \
    WRAP(Reduce, reduce, OTHER, volume(count, type), LEFT,                                                    \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, int root,               \
          MPI_Comm comm),                                                                                     \
         (send, receive, count, type, op, root, comm))                                                        \
    WRAP(Scan, scan, OTHER, volume(count, type), LEFT,                                                        \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
         (send, receive, count, type, op, comm))                                                              \
    WRAP(Exscan, exscan, OTHER, volume(count, type), LEFT,                                                    \
         (const void *send, void *receive, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
         (send, receive, count, type, op, comm))                                                              \
    WRAP(Bcast, bcast, BROADCAST, volume(count, type), SAME(buffer, count, type),                             \
         (void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),                             \
         (buffer, count, type, root, comm))                                                                   \
    WRAP(Allgather, allgather, OTHER, OWN(count, type, got, as), SAME(receive, (long long)got * size_of(given), as), \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          MPI_Comm comm),                                                                                     \
         (send, count, type, receive, got, as, comm))                                                         \
    WRAP(Allgatherv, allgatherv, OTHER, OWN(count, type, got[rank_of(comm)], as), LEFT,                       \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, const COUNT got[],                 \
          const OFFSET at[], MPI_Datatype as, MPI_Comm comm),                                                 \
         (send, count, type, receive, got, at, as, comm))                                                     \
    WRAP(Gather, gather, OTHER, OWN(count, type, got, as), LEFT,                                              \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          int root, MPI_Comm comm),                                                                           \
         (send, count, type, receive, got, as, root, comm))                                                   \
    WRAP(Gatherv, gatherv, OTHER, OWN(count, type, got[rank_of(comm)], as), LEFT,                             \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, const COUNT got[],                 \
          const OFFSET at[], MPI_Datatype as, int root, MPI_Comm comm),                                       \
         (send, count, type, receive, got, at, as, root, comm))                                               \
    WRAP(Scatter, scatter, OTHER, AT_ROOT(MANY(count), type), LEFT,                                           \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          int root, MPI_Comm comm),                                                                           \
         (send, count, type, receive, got, as, root, comm))                                                   \
    WRAP(Scatterv, scatterv, OTHER, AT_ROOT(SUM(counts, size_of(comm)), type), LEFT,                          \
         (const void *send, const COUNT counts[], const OFFSET from[], MPI_Datatype type, void *receive,      \
          COUNT got, MPI_Datatype as, int root, MPI_Comm comm),                                               \
         (send, counts, from, type, receive, got, as, root, comm))                                            \
    WRAP(Alltoall, alltoall, OTHER, OWN(MANY(count), type, MANY(got), as), LEFT,                              \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          MPI_Comm comm),                                                                                     \
         (send, count, type, receive, got, as, comm))                                                         \
    WRAP(Alltoallv, alltoallv, OTHER,                                                                         \
         OWN(SUM(counts, size_of(comm)), type, SUM(got, size_of(comm)), as), LEFT,                            \
         (const void *send, const COUNT counts[], const OFFSET from[], MPI_Datatype type, void *receive,      \
          const COUNT got[], const OFFSET at[], MPI_Datatype as, MPI_Comm comm),                              \
         (send, counts, from, type, receive, got, at, as, comm))                                              \
    WRAP(Alltoallw, alltoallw, OTHER,                                                                         \
         send == MPI_IN_PLACE ? EACH(got, as, size_of(comm)) : EACH(counts, types, size_of(comm)), LEFT,      \
         (const void *send, const COUNT counts[], const OFFSET from[], const MPI_Datatype types[],            \
          void *receive, const COUNT got[], const OFFSET at[], const MPI_Datatype as[], MPI_Comm comm),       \
         (send, counts, from, types, receive, got, at, as, comm))                                             \
    WRAP(Neighbor_allgather, neighbor_allgather, OTHER, volume(count, type), LEFT,                            \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          MPI_Comm comm),                                                                                     \
         (send, count, type, receive, got, as, comm))                                                         \
    WRAP(Neighbor_allgatherv, neighbor_allgatherv, OTHER, volume(count, type), LEFT,                          \
         (const void *send, COUNT count, MPI_Datatype type, void *receive, const COUNT got[],                 \
          const OFFSET at[], MPI_Datatype as, MPI_Comm comm),                                                 \
         (send, count, type, receive, got, at, as, comm))                                                     \
    WRAP(Neighbor_alltoall, neighbor_alltoall, OTHER, volume((long long)count * targets_of(comm), type), LEFT,\
         (const void *send, COUNT count, MPI_Datatype type, void *receive, COUNT got, MPI_Datatype as,        \
          MPI_Comm comm),                                                                                     \
         (send, count, type, receive, got, as, comm))                                                         \
    WRAP(Neighbor_alltoallv, neighbor_alltoallv, OTHER, volume(SUM(counts, targets_of(comm)), type), LEFT,    \
         (const void *send, const COUNT counts[], const OFFSET from[], MPI_Datatype type, void *receive,      \
          const COUNT got[], const OFFSET at[], MPI_Datatype as, MPI_Comm comm),                              \
         (send, counts, from, type, receive, got, at, as, comm))                                              \
    WRAP(Neighbor_alltoallw, neighbor_alltoallw, OTHER, EACH(counts, types, targets_of(comm)), LEFT,          \
         (const void *send, const COUNT counts[], const MPI_Aint from[], const MPI_Datatype types[],          \
          void *receive, const COUNT got[], const MPI_Aint at[], const MPI_Datatype as[], MPI_Comm comm),     \
         (send, counts, from, types, receive, got, at, as, comm))

/* Messages of one rank to another: to whom, how much. */
#define MESSAGE(Name, handed, parameters, arguments)                                                          \
    int NAME(MPI_, Name, SUFFIX)(LIST parameters) {                                                           \
        if (to != MPI_PROC_NULL) note(POINT_TO_POINT, handed);                                               \
        return NAME(PMPI_, Name, SUFFIX)(LIST arguments);                                                     \
    }
/* A mode of sending, blocking (S) and not (s), and in the persistent form. */
#define SENDING(S, s)                                                                                         \
    MESSAGE(S##end, volume(number, type),                                                                     \
            (const void *from, COUNT number, MPI_Datatype type, int to, int tag, MPI_Comm comm),              \
            (from, number, type, to, tag, comm))                                                              \
    MESSAGE(I##s##end, volume(number, type),                                                                  \
            (const void *from, COUNT number, MPI_Datatype type, int to, int tag, MPI_Comm comm,               \
             MPI_Request *request),                                                                           \
            (from, number, type, to, tag, comm, request))                                                     \
    STARTED(S##end, POINT_TO_POINT, to == MPI_PROC_NULL ? nothing : volume(number, type),                     \
            (const void *from, COUNT number, MPI_Datatype type, int to, int tag, MPI_Comm comm),              \
            (from, number, type, to, tag, comm))
#define BOTH_WAYS(Name, last, given)                                                                          \
    MESSAGE(Name, volume(number, type),                                                                       \
            (const void *from, COUNT number, MPI_Datatype type, int to, int tag, void *into, COUNT got,       \
             MPI_Datatype as, int source, int its, MPI_Comm comm, last),                                      \
            (from, number, type, to, tag, into, got, as, source, its, comm, given))                           \
    MESSAGE(Name##_replace, volume(number, type),                                                             \
            (void *from, COUNT number, MPI_Datatype type, int to, int tag, int source, int its,               \
             MPI_Comm comm, last),                                                                            \
            (from, number, type, to, tag, source, its, comm, given))
/* One-sided: what moves between two ranks, whichever way. */
#define ONE_SIDED(Name, more, given)                                                                          \
    MESSAGE(Name, volume(number, type),                                                                       \
            (const void *from, COUNT number, MPI_Datatype type, int to, MPI_Aint at, COUNT many,              \
             MPI_Datatype as, LIST more),                                                                     \
            (from, number, type, to, at, many, as, LIST given))
#define GOT(Name, more, given)                                                                                \
    MESSAGE(Name, volume(number, type),                                                                       \
            (void *into, COUNT number, MPI_Datatype type, int to, MPI_Aint at, COUNT many, MPI_Datatype as,   \
             LIST more),                                                                                      \
            (into, number, type, to, at, many, as, LIST given))
#define GOT_AND_PUT(Name, more, given)                                                                        \
    MESSAGE(Name, volume(got, its),                                                                           \
            (const void *from, COUNT number, MPI_Datatype type, void *into, COUNT got, MPI_Datatype its,      \
             int to, MPI_Aint at, COUNT many, MPI_Datatype as, LIST more),                                    \
            (from, number, type, into, got, its, to, at, many, as, LIST given))
#define MESSAGES                                                                                              \
    SENDING(S, s)                                                                                             \
    SENDING(Ss, ss)                                                                                           \
    SENDING(Bs, bs)                                                                                           \
    SENDING(Rs, rs)                                                                                           \
    BOTH_WAYS(Sendrecv, MPI_Status *status, status)                                                           \
    ONE_SIDED(Put, (MPI_Win window), (window))                                                                \
    ONE_SIDED(Rput, (MPI_Win window, MPI_Request *request), (window, request))                                \
    ONE_SIDED(Accumulate, (MPI_Op op, MPI_Win window), (op, window))                                          \
    ONE_SIDED(Raccumulate, (MPI_Op op, MPI_Win window, MPI_Request *request), (op, window, request))          \
    GOT(Get, (MPI_Win window), (window))                                                                      \
    GOT(Rget, (MPI_Win window, MPI_Request *request), (window, request))                                      \
    GOT_AND_PUT(Get_accumulate, (MPI_Op op, MPI_Win window), (op, window))                                    \
    GOT_AND_PUT(Rget_accumulate, (MPI_Op op, MPI_Win window, MPI_Request *request), (op, window, request))

static const Volume nothing = {0, 0};

/* Ranks to which this one sends in a collective among neighbours. */
static long long targets_of(MPI_Comm comm) {
    int form = MPI_UNDEFINED, number = 0, in = 0, weighted = 0;
    PMPI_Topo_test(comm, &form);
    if (form == MPI_CART) {
        PMPI_Cartdim_get(comm, &number);
        return 2 * number;
    }
    if (form == MPI_GRAPH) PMPI_Graph_neighbors_count(comm, rank_of(comm), &number);
    if (form == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &in, &number, &weighted);
    return number;
}

static void add(Volume *sum, Volume one) {
    sum->elements += one.elements;
    sum->bytes += one.bytes;
}

static Volume each_int(const int *counts, const MPI_Datatype *types, long long ranks) {
    Volume sum = nothing;
    for (long long rank = 0; rank < ranks; rank++) add(&sum, volume(counts[rank], types[rank]));
    return sum;
}

#define COUNT int
#define OFFSET int
#define SUM sum_int
#define EACH each_int
#define SUFFIX
#define INIT _init
COLLECTIVES
MESSAGES
WRAP(Barrier, barrier, BARRIER, nothing, LEFT, (MPI_Comm comm), (comm))

MESSAGE(Fetch_and_op, volume(1, type),
        (const void *from, void *into, MPI_Datatype type, int to, MPI_Aint at, MPI_Op op, MPI_Win window),
        (from, into, type, to, at, op, window))
MESSAGE(Compare_and_swap, volume(1, type),
        (const void *from, const void *with, void *into, MPI_Datatype type, int to, MPI_Aint at, MPI_Win window),
        (from, with, into, type, to, at, window))
#if MPI_VERSION >= 4
BOTH_WAYS(Isendrecv, MPI_Request *request, request)
STARTED(Psend, POINT_TO_POINT, to == MPI_PROC_NULL ? nothing : volume(parts * number, type),
        (const void *from, int parts, MPI_Count number, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Info info),
        (from, parts, number, type, to, tag, comm, info))
#endif

/* The forms with large counts, which mpi4py prefers. */
#if LARGE
#undef COUNT
#undef OFFSET
#undef SUM
#undef EACH
#undef SUFFIX
#undef INIT
#define COUNT MPI_Count
#define OFFSET MPI_Aint
#define SUM sum_count
#define EACH each_count
#define SUFFIX _c
#define INIT _init_c

static long long sum_count(const MPI_Count *counts, long long ranks) {
    long long sum = 0;
    for (long long rank = 0; rank < ranks; rank++) sum += counts[rank];
    return sum;
}

static Volume each_count(const MPI_Count *counts, const MPI_Datatype *types, long long ranks) {
    Volume sum = nothing;
    for (long long rank = 0; rank < ranks; rank++) add(&sum, volume(counts[rank], types[rank]));
    return sum;
}

COLLECTIVES
MESSAGES
BOTH_WAYS(Isendrecv, MPI_Request *request, request)
#endif
