/* cli/soak/report.h: the results of the soak test as checks that pass or fail. */
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
    const struct watch_times *last; /* of the last tenth of the time; NULL: there was only one tenth */
    const char *path;               /* of the state file; NULL: there is none */
    const char *picture;            /* NULL: none was drawn */
    uint64_t probes, resident;      /* probes by this process; its resident bytes at its end */
    bool judge_latency, stopped;
    struct report_check checks[REPORT_CHECKS];
};

/* Fills in the checks. Returns true if none failed. */
bool report_judge(struct report *report);
void report_print(const cli_context *cli, const struct report *report);
void report_json(const cli_context *cli, const struct report *report);

/* Judges whether memory stays flat. It does not if, beyond doubt, it grew by more than a hundredth of the resident
 * bytes over the watched time. With few points the result is unknown. */
enum report_result report_flat(const struct watch_sums *sums, double watched, uint64_t resident);

#endif
