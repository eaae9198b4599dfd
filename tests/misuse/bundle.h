/* bundle.h: makes the programs of this folder one program, for tools/misuse.py, because a tool takes longer to start
 * than each of them to run. It is included with PROGRAMS(X) defined: X(name) for each, which run_name runs. The name
 * consists of the mistake's name and the way it was built.
 *
 * The arguments name the programs to run, each in a fork of a fresh process. It prints to stderr, around the program's
 * own output:
 *
 *     program: NAME
 *     status: 0         its exit status, or minus the number of the signal that ended it */
#ifndef KOLK_TESTS_MISUSE_BUNDLE_H
#define KOLK_TESTS_MISUSE_BUNDLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DECLARE(name) int run_##name(void);
PROGRAMS(DECLARE)

#define ENTRY(name) {#name, run_##name},
static const struct {
    const char *name;
    int (*run)(void);
} programs[] = {PROGRAMS(ENTRY)};

static int run_forked(int (*run)(void)) {
    int status;
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child == 0) {
        alarm(60);
        exit(run());
    }
    if (waitpid(child, &status, 0) != child) exit(1);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        for (size_t n = 0; n < sizeof programs / sizeof *programs; n++) {
            if (strcmp(programs[n].name, argv[i]) != 0) continue;
            fprintf(stderr, "program: %s\n", argv[i]);
            fprintf(stderr, "status: %d\n", run_forked(programs[n].run));
        }
    return 0;
}

#endif
