/* cli/doctor/doctor.h: shared by the files of `kolk doctor`. A check examines one feature on this machine in its own
 * process; its finding is an answer and a sentence. A group is a heading with its checks. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>

enum { DOCTOR_SECONDS = 5 }; /* the time limit of a check; after it, the check and the tools it has started are ended */

typedef enum doctor_answer { DOCTOR_NO, DOCTOR_PARTLY, DOCTOR_YES } doctor_answer;

typedef struct doctor_finding {
    doctor_answer answer;
    char text[1100]; /* a sentence without a full stop: what the answer means, or how to get a better one */
} doctor_finding;

typedef struct doctor_check {
    const char *name;
    void (*look)(doctor_finding *finding);
} doctor_check;

typedef struct doctor_group {
    const char *name, *title;
    bool required; /* a DOCTOR_NO here is a failure */
    bool as_set;   /* its pools obey KOLK_DEBUG, KOLK_BYPASS and KOLK_STATS; other checks' pools are plain */
    const doctor_check *checks; /* the last has no name */
} doctor_group;

extern const doctor_group doctor_library, doctor_debug, doctor_tools;

/* Control characters from a variable or a tool become spaces. */
void doctor_find(doctor_finding *finding, doctor_answer answer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Is the tool on the PATH, and does it exit with 0 when called with these arguments? */
bool doctor_tool_runs(const char *tool, const char *argument);

/* Checks of threads.c, and of heap.c. */
void doctor_look_at_queue(doctor_finding *finding);
void doctor_look_at_shared(doctor_finding *finding);
void doctor_look_at_resources(doctor_finding *finding);
void doctor_look_at_heap(doctor_finding *finding);

/* The tool that watches this process's memory, as kolk detects it; NULL if there is none. */
const char *doctor_watcher(void);

#endif
