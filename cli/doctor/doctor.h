/* cli/doctor/doctor.h: declarations shared by the files of `kolk doctor`. A check examines one feature on this machine
 * in its own process; its finding is an answer and a sentence. A group is a heading with checks. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>

enum { DOCTOR_SECONDS = 5 }; /* the time limit of a check; it then ends with the tools that it has started */

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
    bool as_set;   /* its pools obey KOLK_DEBUG, KOLK_BYPASS and KOLK_STATS; the pools of other checks ignore them */
    const doctor_check *checks; /* the last one has no name */
} doctor_group;

extern const doctor_group doctor_library, doctor_debug, doctor_tools;

/* Sets the finding. Control characters that come from a variable or a tool become spaces. */
void doctor_find(doctor_finding *finding, doctor_answer answer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns true if the tool is on the PATH and exits with 0 when called with these arguments. */
bool doctor_tool_runs(const char *tool, const char *argument);

/* Checks that are defined in threads.c and heap.c. */
void doctor_look_at_queue(doctor_finding *finding);
void doctor_look_at_shared(doctor_finding *finding);
void doctor_look_at_resources(doctor_finding *finding);
void doctor_look_at_heap(doctor_finding *finding);

/* Returns the tool that watches this process's memory, as far as kolk detects it; NULL if there is none. */
const char *doctor_watcher(void);

#endif
