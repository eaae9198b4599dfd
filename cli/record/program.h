/* cli/record/program.h: the program that is recorded, as a child of this process. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct program {
    bool is_last; /* after its end there is a trace to be written: see program_prepare */
    pid_t pid;
    uint64_t begin_ns; /* when it was started */

    /* Once the program has ended: */
    int status;            /* as waitpid reports it */
    uint64_t processor_ns; /* user and system, of this process alone: those that it has started do not count */
    uint64_t wall_ns;
};

/* Forwards signals that would end this process to the program while the program runs. The terminal's signals reach the
 * program without this. Before the program starts, a signal ends this process; after the end of the last one, the
 * second signal does. A write beyond a size limit fails instead of ending this process. */
void program_prepare(void);

/* Starts a program with the original signal handling. KOLK_RECORD passes our descriptor to it, unless that is -1.
 * Returns 0 once the program runs, or an errno value. */
int program_start(struct program *program, char **arguments, int descriptor);

/* Waits for the program to end. */
void program_wait(struct program *program);

/* As in a shell: the program's exit code, or 128 plus the number of the signal that ended it. */
int program_exit_code(const struct program *program);

#endif
