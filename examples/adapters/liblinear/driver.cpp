/* Trains LIBLINEAR on a file and leaves the coordinates and values of its first H steps:

       driver TASK FILE C H FOLDER

   TASK is svm-l1 (-s 3) or svm-l2 (-s 1), without a bias (-B -1), with a tolerance that is never reached.
   LIBLINEAR draws by rand() from its first seed, a permutation of what is not shrunk at a time. */

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "linear.h"

static FILE *indices, *values;
static long left;

static FILE *opened(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) perror(path), exit(74);
    return file;
}

/* Called by the patched solver after each step, with the number of the sample in its own order. */
void step_made(int i, double alpha) {
    fprintf(indices, "%d\n", i);
    fprintf(values, "%.17g\n", alpha);
    if (--left == 0) exit(fclose(indices) || fclose(values) ? 74 : 0);
}

static void silent(const char *) {}

int main(int argc, char **argv) {
    if (argc != 6) return fprintf(stderr, "driver TASK FILE C H FOLDER\n"), 64;
    bool hinge = strcmp(argv[1], "svm-l1") == 0;
    if (!hinge && strcmp(argv[1], "svm-l2") != 0) return fprintf(stderr, "no task %s here\n", argv[1]), 65;
    FILE *file = fopen(argv[2], "r");
    if (!file) return perror(argv[2]), 74;

    std::vector<double> labels;
    std::vector<std::vector<feature_node>> rows;
    int features = 0;
    double label, value;
    for (int index, c; fscanf(file, "%lf", &label) == 1;) {
        labels.push_back(label);
        rows.emplace_back();
        while ((c = fgetc(file)) == ' ' && fscanf(file, "%d:%lf", &index, &value) == 2) {
            rows.back().push_back({index, value});
            if (index > features) features = index;
        }
        rows.back().push_back({-1, 0});
    }
    std::vector<feature_node *> samples;
    for (auto &row : rows) samples.push_back(row.data());

    problem given = {(int)labels.size(), features, labels.data(), samples.data(), -1};
    parameter how = {};
    how.solver_type = hinge ? L2R_L1LOSS_SVC_DUAL : L2R_L2LOSS_SVC_DUAL;
    how.eps = 1e-300;
    how.C = atof(argv[3]);
    how.regularize_bias = 1;
    if (const char *wrong = check_parameter(&given, &how)) return fprintf(stderr, "%s\n", wrong), 65;
    left = atol(argv[4]);
    indices = opened(argv[5], "indices.txt");
    values = opened(argv[5], "log.txt");
    set_print_string_function(silent);
    train(&given, &how);
    return fprintf(stderr, "it ended before the last step, %ld of %s are left\n", left, argv[4]), 1;
}
