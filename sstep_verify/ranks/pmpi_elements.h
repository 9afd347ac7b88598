/* How much is handed in: basic elements of a datatype, and bytes. */

#include <stdlib.h>
#include <string.h>

typedef struct { long long elements, bytes; } Volume;

typedef struct { long long calls; Volume handed; } Traffic;

/* Large counts of MPI 4, which describe also what was made with them; Open MPI 5.0 has none. */
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define LARGE 1
#else
#define LARGE 0
#endif

static long long bytes_of(MPI_Datatype type) {
#if LARGE
    MPI_Count size = 0;
    PMPI_Type_size_c(type, &size);
#else
    int size = 0;
    PMPI_Type_size(type, &size);
#endif
    return size > 0 ? size : 0;
}

/* Numbers, or bytes, in a datatype that nobody made: both parts of a complex number or of a pair. */
static long long parts_of(MPI_Datatype type) {
    const MPI_Datatype two[] = {
        MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX,
        MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};
    for (size_t k = 0; k < sizeof two / sizeof *two; k++)
        if (two[k] != MPI_DATATYPE_NULL && type == two[k]) return 2;
    return 1;
}

#if LARGE
typedef MPI_Count Number;
#define ENVELOPE(type, integers, addresses, large, types, combiner) \
    PMPI_Type_get_envelope_c(type, integers, addresses, large, types, combiner)
#define CONTENTS(type, integers, addresses, large, types, whole, at, counts, parts) \
    PMPI_Type_get_contents_c(type, integers, addresses, large, types, whole, at, counts, parts)
#else
typedef int Number;
#define ENVELOPE(type, integers, addresses, large, types, combiner) \
    PMPI_Type_get_envelope(type, integers, addresses, types, combiner)
#define CONTENTS(type, integers, addresses, large, types, whole, at, counts, parts) \
    PMPI_Type_get_contents(type, integers, addresses, types, whole, at, parts)
#endif

/* Whether a datatype was made, and not found in MPI. */
static int is_made(MPI_Datatype type) {
    Number integers = 0, addresses = 0, large = 0, types = 0;
    int combiner = MPI_COMBINER_NAMED;
    ENVELOPE(type, &integers, &addresses, &large, &types, &combiner);
    (void)large;
    return combiner != MPI_COMBINER_NAMED;
}

/* Basic elements in one item of a datatype. */
static long long elements_of(MPI_Datatype type) {
    Number integers = 0, addresses = 0, large = 0, types = 0;
    int combiner = MPI_COMBINER_NAMED;
    if (type == MPI_DOUBLE) return 1;
    ENVELOPE(type, &integers, &addresses, &large, &types, &combiner);
    if (combiner == MPI_COMBINER_NAMED) return parts_of(type);
    if (combiner == MPI_COMBINER_F90_COMPLEX) return 2;
    if (types == 0) return 1; /* a number of Fortran */
    int *whole = malloc(((size_t)integers + 1) * sizeof *whole);
    MPI_Aint *at = malloc(((size_t)addresses + 1) * sizeof *at);
    Number *counts = malloc(((size_t)large + 1) * sizeof *counts);
    MPI_Datatype *parts = malloc((size_t)types * sizeof *parts);
    long long found = 0;
    if (whole && at && counts && parts) {
        CONTENTS(type, integers, addresses, large, types, whole, at, counts, parts);
        for (Number k = 0; k < types; k++) {
            if (combiner == MPI_COMBINER_STRUCT) { /* behind their number, how many of each */
                found += elements_of(parts[k]) * (large ? (long long)counts[1 + k] : whole[1 + k]);
            } else if (bytes_of(parts[k])) {
                found += elements_of(parts[k]) * (bytes_of(type) / bytes_of(parts[k]));
            }
            if (is_made(parts[k])) PMPI_Type_free(&parts[k]);
        }
    }
    free(whole);
    free(at);
    free(counts);
    free(parts);
    return found;
}

/* So many items of a datatype; nothing where there is none, since type and count are to be ignored. */
static Volume volume(long long count, MPI_Datatype type) {
    Volume handed = {0, 0};
    if (type == MPI_DATATYPE_NULL || count <= 0) return handed;
    handed.elements = count * elements_of(type);
    handed.bytes = count * bytes_of(type);
    return handed;
}
