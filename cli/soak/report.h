/* cli/soak/report.h: the results of the soak test, as checks that pass or fail. */
#ifndef SOAK_REPORT_H
#define SOAK_REPORT_H

#include "../context.h"
#include "beside.h"
#include "state.h"

enum { REPORT_MEMORY = SOAK_CLAIMS, REPORT_LATENCY, REPORT_CHECKS };

enum report_result { REPORT_OK, REPORT_NOT_JUDGED, REPORT_FAILED };

struct report_check {
    const char *claim;
    enum report_result result;
    char seen[256];
};

struct report {
    const struct soak_load *load;
    const struct soak_state *state; /* at the end */
    const struct beside *besides;
    const struct watch_times *last; /* of the last tenth of the time; NULL: there was only one */
    const char *path;               /* of the state; NULL: none */
    const char *picture;            /* NULL: none was drawn */
    uint64_t probes, resident;      /* of this process; resident bytes at its end */
    bool judge_latency, stopped;
    struct report_check checks[REPORT_CHECKS];
};

/* Judges; true if nothing failed. */
bool report_judge(struct report *report);
void report_print(const cli_context *cli, const struct report *report);
void report_json(const cli_context *cli, const struct report *report);

/* Is memory flat? No, if it surely grew by more than a hundredth of the resident bytes over the watched time. With few
 * points the result is unknown. */
enum report_result report_flat(const struct watch_sums *sums, double watched, uint64_t resident);

#endif
