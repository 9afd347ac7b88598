/* What is seen of a rank from outside, left in the folder that the environment variable SSTEP_VERIFY_WITNESS names:

   place-RANK.txt     from MPI_Init on, at any time, also after a kill: "calls state name", blanks to 63 characters and
                      a line's end; the collectives so far, "in" or "after", and the last one's name
   witness-RANK.txt   at MPI_Finalize: a line "ranks P", then a line "calls elements bytes" for each kind
   seconds-RANK.txt   at MPI_Finalize: seconds since the end of MPI_Init
   received-RANK.bin  at MPI_Finalize: for each collective that gives all ranks of the world the same numbers, eight
                      bytes, little-endian: the FNV-1a digest of what this rank received (0 where it is not contiguous) */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PLACE = 64, PATH = 4096 };

static int witness_rank = -1, witness_ranks;
static struct timespec witness_began;
static char *witness_page;      /* PLACE bytes of a file, or none */
static FILE *witness_digests;   /* received-RANK.bin, or none */

/* Path of a file of this rank; 0 if there is no folder. */
static int witness_path(char path[PATH], const char *form) {
    const char *folder = getenv("SSTEP_VERIFY_WITNESS");
    if (!folder) return 0;
    int start = snprintf(path, PATH, "%s/", folder);
    return start < PATH && snprintf(path + start, (size_t)(PATH - start), form, witness_rank) < PATH - start;
}

static void witness_place(const char *state, const char *name, long long calls) {
    char text[PLACE + 1];
    if (!witness_page) return;
    int length = snprintf(text, sizeof text, "%lld %s %s", calls, state, name);
    if (length > PLACE - 1) length = PLACE - 1;
    memset(text + length, ' ', (size_t)(PLACE - length));
    text[PLACE - 1] = '\n';
    memcpy(witness_page, text, PLACE);
}

static void witness_begin(void) {
    char path[PATH];
    PMPI_Comm_rank(MPI_COMM_WORLD, &witness_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &witness_ranks);
    clock_gettime(CLOCK_MONOTONIC, &witness_began);
    if (!witness_path(path, "place-%d.txt")) return;
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file >= 0 && ftruncate(file, PLACE) == 0) {
        void *page = mmap(NULL, PLACE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (page != MAP_FAILED) witness_page = page;
    }
    if (file >= 0) close(file);
    witness_place("after", "MPI_Init", 0);
    if (witness_path(path, "received-%d.bin")) witness_digests = fopen(path, "wb");
}

/* Notes what a collective over the whole world gave to this rank. */
static void witness_received(const void *received, long long count, MPI_Datatype type, MPI_Comm comm) {
    int ranks = 0, size = 0;
    MPI_Aint least = 0, extent = 0;
    if (!witness_digests || comm == MPI_COMM_NULL || PMPI_Comm_size(comm, &ranks) || ranks != witness_ranks) return;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_true_extent(type, &least, &extent);
    unsigned long long digest = 14695981039346656037ull;
    unsigned char bytes[8];
    for (long long k = 0; extent == size && k < count * size; k++)
        digest = (digest ^ ((const unsigned char *)received)[k]) * 1099511628211ull;
    for (int k = 0; k < 8; k++) bytes[k] = (unsigned char)(extent == size ? digest >> 8 * k : 0);
    fwrite(bytes, 1, sizeof bytes, witness_digests);
}

static void witness_seconds(void) {
    char path[PATH];
    struct timespec now;
    FILE *file = witness_path(path, "seconds-%d.txt") ? fopen(path, "w") : NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!file) return;
    fprintf(file, "%.9f\n",
            (double)(now.tv_sec - witness_began.tv_sec) + 1e-9 * (double)(now.tv_nsec - witness_began.tv_nsec));
    fclose(file);
}

static void witness_end(int kinds, const Traffic *counted, long long collectives) {
    char path[PATH];
    if (witness_rank < 0) witness_begin(); /* not begun by MPI_Init: a binding of another language */
    witness_place("in", "MPI_Finalize", collectives);
    witness_seconds();
    FILE *file = witness_path(path, "witness-%d.txt") ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "ranks %d\n", witness_ranks);
        for (int kind = 0; kind < kinds; kind++)
            fprintf(file, "%lld %lld %lld\n", counted[kind].calls, counted[kind].handed.elements,
                    counted[kind].handed.bytes);
        fclose(file);
    }
    if (witness_digests) fclose(witness_digests);
    witness_digests = NULL;
}
