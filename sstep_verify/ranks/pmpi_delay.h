/* A slower network: after every collective of more than one rank this rank waits for

       ceil(log2 P) (alpha + beta bytes)

   as if it ran through a tree of so many levels. bytes is what this rank handed in. alpha, in microseconds, and beta,
   in nanoseconds a byte, stand in the environment variable SSTEP_VERIFY_DELAY ("200" or "200 0.1"), and can be set
   again while the program runs by pmpi_delay_set.

   The wait begins where the collective has ended, on every rank by itself: all of them continue late, no earlier than
   the delay. It is a sleep (clock_nanosleep, timer slack of 1 ns), so that ranks which share a core do not take it
   from each other; it lasts longer than asked by what waking takes, some tens of microseconds, which is to be measured.
   A non-blocking collective is late where it is completed: MPI_Wait and its like sleep until it is due, counted from
   its start, and MPI_Test and its like say until then that it is under way. Where several requests are waited for at
   once, all of them are late by the latest. More than DELAY_MOST at a time, and all are late where they start. */

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

enum { DELAY_MOST = 256 };

static double delay_alpha = -1, delay_beta; /* nanoseconds; nanoseconds a byte. alpha < 0: not read yet */
static struct { MPI_Request request; long long due; } delay_pending[DELAY_MOST];
static int delay_many;

void pmpi_delay_set(double microseconds, double nanoseconds_per_byte) {
    delay_alpha = 1e3 * microseconds;
    delay_beta = nanoseconds_per_byte;
}

static void delay_read(void) {
    const char *text = getenv("SSTEP_VERIFY_DELAY");
    char *end = NULL;
    delay_alpha = 0;
    if (!text || !*text) return;
    double alpha = strtod(text, &end), beta = end == text ? -1 : strtod(end, &end);
    if (!(alpha >= 0 && alpha < 1e9 && beta >= 0 && beta < 1e9) || *end) {
        fprintf(stderr, "SSTEP_VERIFY_DELAY: '%s' is no delay such as '200' or '200 0.1'\n", text);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    pmpi_delay_set(alpha, beta);
}

static long long delay_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* When a collective that ends, or starts, now is due; 0 where it is not late. */
static long long delay_due(MPI_Comm comm, long long handed) {
    int ranks = 0, levels = 0;
    if (delay_alpha < 0) delay_read();
    if ((delay_alpha == 0 && delay_beta == 0) || comm == MPI_COMM_NULL) return 0;
    PMPI_Comm_size(comm, &ranks);
    while (1 << levels < ranks && levels < 30) levels++;
    return levels == 0 ? 0 : delay_now() + (long long)(levels * (delay_alpha + delay_beta * (double)handed));
}

static void delay_until(long long due) {
    static __thread int exact; /* timer slack belongs to a thread */
    const struct timespec until = {due / 1000000000, due % 1000000000};
    if (due == 0) return;
    if (!exact) exact = prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul) == 0 ? 1 : -1;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
}

/* Notes a request that was just started. What is past is forgotten here: nobody waits for it any more than it does. */
static void delay_start(MPI_Request request, long long due) {
    int kept = 0;
    long long now = due ? delay_now() : 0;
    if (due == 0) return;
    for (int k = 0; k < delay_many; k++)
        if (delay_pending[k].due > now) delay_pending[kept++] = delay_pending[k];
    delay_many = kept;
    if (delay_many == DELAY_MOST) {
        delay_until(due);
        return;
    }
    delay_pending[delay_many].request = request;
    delay_pending[delay_many++].due = due;
}

/* When the last of these requests is due; 0 where none is late. */
static long long delay_latest(int count, const MPI_Request *requests) {
    long long latest = 0;
    for (int k = 0; k < delay_many; k++)
        for (int i = 0; i < count; i++)
            if (requests[i] == delay_pending[k].request && requests[i] != MPI_REQUEST_NULL &&
                delay_pending[k].due > latest)
                latest = delay_pending[k].due;
    return latest;
}

static int delay_under_way(int count, const MPI_Request *requests) {
    long long latest = delay_latest(count, requests);
    return latest && latest > delay_now();
}

#define DELAYED(count, requests, call)                     \
    {                                                      \
        long long due = delay_latest(count, requests);     \
        int code = call;                                   \
        delay_until(due);                                  \
        return code;                                       \
    }

int MPI_Wait(MPI_Request *request, MPI_Status *status) DELAYED(1, request, PMPI_Wait(request, status))

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
DELAYED(count, requests, PMPI_Waitall(count, requests, statuses))

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
DELAYED(count, requests, PMPI_Waitany(count, requests, index, status))

int MPI_Waitsome(int count, MPI_Request requests[], int *ended, int *indices, MPI_Status *statuses)
DELAYED(count, requests, PMPI_Waitsome(count, requests, ended, indices, statuses))

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (!delay_under_way(1, request)) return PMPI_Test(request, flag, status);
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses) {
    if (!delay_under_way(count, requests)) return PMPI_Testall(count, requests, flag, statuses);
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    if (!delay_under_way(count, requests)) return PMPI_Testany(count, requests, index, flag, status);
    *flag = 0, *index = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int MPI_Testsome(int count, MPI_Request requests[], int *ended, int *indices, MPI_Status *statuses) {
    if (!delay_under_way(count, requests)) return PMPI_Testsome(count, requests, ended, indices, statuses);
    *ended = 0;
    return MPI_SUCCESS;
}
