/* cli/record/program.h: the program that is recorded, as a child of this process. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

struct program {
    pid_t pid;
    int status; /* as waitpid's, once it has ended */
};

/* From here on, signals that would end this process go to the program instead, once it runs; those of the terminal it
 * gets anyway. Writing more than is allowed fails, and ends nothing. */
void program_prepare(void);

/* Runs a program, with signals as they were; KOLK_RECORD tells it where this descriptor of ours is. The result is 0
 * once the program runs, or errno's value. */
int program_start(struct program *program, char **arguments, int descriptor);

/* Waits for its end. */
void program_wait(struct program *program);

/* As a shell's: its own, or 128 and the number of the signal that ended it. */
int program_exit_code(const struct program *program);

#endif
