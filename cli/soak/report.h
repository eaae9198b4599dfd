/* cli/soak/report.h: the results of the soak test as checks that pass or fail. */
#ifndef SOAK_REPORT_H
#define SOAK_REPORT_H

#include "../context.h"
#include "load.h"

enum { REPORT_MEMORY = SOAK_CLAIMS, REPORT_LATENCY, REPORT_CHECKS };

enum report_result { REPORT_OK, REPORT_NOT_JUDGED, REPORT_FAILED };

struct report_check {
    const char *claim;
    enum report_result result;
    char seen[256];
};

struct report {
    const struct soak_load *load;           /* at the end */
    const struct watch_series *series;      /* resident bytes against millions of operations */
    const struct watch_times *first, *last; /* of the first and last tenth of the time; last NULL: there was only one */
    uint64_t ns, resident;                  /* how long it took; resident bytes at the end */
    bool judge_latency, stopped;
    struct report_check checks[REPORT_CHECKS];
};

/* Fills in the checks. Returns true if none failed. */
bool report_judge(struct report *report);
void report_print(const cli_context *cli, const struct report *report);
void report_json(const cli_context *cli, const struct report *report);

/* Judges whether memory stays flat. It does not if, beyond doubt, it grew by more than a hundredth of the resident
 * bytes over the time of the series. With few points the result is unknown. */
enum report_result report_flat(const struct watch_series *series, uint64_t resident);

#endif
