/* dies_at.h: whether an access ends the program. Include test.h first. */
#ifndef TESTS_DIES_AT_H
#define TESTS_DIES_AT_H

#include "../help/child.h"

static inline void read_from(void *at) {
    (void)*(volatile unsigned char *)at;
}

static inline void write_to(void *at) {
    *(volatile unsigned char *)at = 1;
}

static inline bool dies_by(void (*access)(void *at), void *at) {
    char text[200];
    int status = run_child(access, at, text, sizeof text);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static inline bool dies_at(void *at) {
    return dies_by(read_from, at) && dies_by(write_to, at);
}

#endif
