/* What is done to a program by the environment variable SSTEP_VERIFY_FAULT_INJECTION, which a right one endures, and a check
   has to see:

   delay   the last rank comes to every collective a millisecond late
   order   the ranks stand in another order in every blocking allreduce, the same in each: runs stay repeatable
   ulp     the last rank finds the first number of every blocking allreduce, broadcast and allgather that is not 0 one
           unit in its last place farther from 0; numbers of type MPI_DOUBLE */

#include <math.h>
#include <time.h>

static int fault_injection_is(const char *kind) {
    static const char *chosen;
    if (!chosen) {
        chosen = getenv("SSTEP_VERIFY_FAULT_INJECTION");
        if (!chosen) chosen = "";
    }
    return strcmp(chosen, kind) == 0;
}

/* Whether this is the last of several ranks of a communicator. */
static int fault_injection_last(MPI_Comm comm) {
    int rank = 0, ranks = 0;
    if (comm == MPI_COMM_NULL) return 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    return ranks > 1 && rank == ranks - 1;
}

static void fault_injection_delay(MPI_Comm comm) {
    const struct timespec millisecond = {0, 1000000};
    if (fault_injection_is("delay") && fault_injection_last(comm)) nanosleep(&millisecond, NULL);
}

/* A communicator of the same ranks, first those of even number, then the others from the last on; to be freed by the
   caller. It is comm itself where none is asked for. */
static MPI_Comm fault_injection_order(MPI_Comm comm) {
    int rank = 0, ranks = 0, between = 0;
    MPI_Comm other = comm;
    if (!fault_injection_is("order") || comm == MPI_COMM_NULL) return comm;
    PMPI_Comm_test_inter(comm, &between);
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    if (between || PMPI_Comm_split(comm, 0, rank % 2 ? 2 * ranks - rank : rank, &other) != MPI_SUCCESS) return comm;
    return other;
}

static void fault_injection_ulp(void *received, long long count, MPI_Datatype type, MPI_Comm comm) {
    double *numbers = received;
    long long first = 0;
    if (!fault_injection_is("ulp") || type != MPI_DOUBLE || !fault_injection_last(comm)) return;
    while (first < count && numbers[first] == 0) first++;
    if (first < count) numbers[first] = nextafter(numbers[first], numbers[first] < 0 ? -INFINITY : INFINITY);
}
