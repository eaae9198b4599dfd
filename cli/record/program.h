/* cli/record/program.h: the program that is recorded, as a child of this process. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

struct program {
    pid_t pid;
    int status; /* as waitpid's, once it has ended */
};

/* Forwards signals that would end this process to the program, as soon as it runs. It gets the terminal's signals by
 * itself. Writing beyond a limit fails instead of ending this process. */
void program_prepare(void);

/* Runs a program with the original signal handling; KOLK_RECORD passes it our descriptor. Returns 0 once the program
 * runs, or an errno value. */
int program_start(struct program *program, char **arguments, int descriptor);

/* Waits for its end. */
void program_wait(struct program *program);

/* As in a shell: the program's exit code, or 128 plus the number of the signal that ended it. */
int program_exit_code(const struct program *program);

#endif
