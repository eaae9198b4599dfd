/* cli/soak/problem.h: the claims of the soak test, and the first piece of evidence against one of them. */
#ifndef SOAK_PROBLEM_H
#define SOAK_PROBLEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum soak_claim {
    SOAK_ROOM,    /* fixed pools never fragment */
    SOAK_WHOLE,   /* objects are found, intact and in order, until they are freed */
    SOAK_COUNTS,  /* counters agree */
    SOAK_VALID,   /* is_valid of each member returns true */
    SOAK_REPORTS, /* mistakes are reported */
    SOAK_CLAIMS,
    SOAK_SYSTEM = SOAK_CLAIMS /* not a claim: there is no memory, thread or file */
};

struct soak_problem {
    char text[200]; /* empty if there is no problem */
    enum soak_claim claim;
};

/* Records the problem if it is the first. Always returns false, for the caller to return. */
__attribute__((format(printf, 3, 4))) static inline bool soak_wrong(struct soak_problem *problem, enum soak_claim claim,
                                                                    const char *format, ...) {
    va_list arguments;
    if (problem->text[0]) return false;
    va_start(arguments, format);
    problem->claim = claim;
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    return false;
}

#endif
