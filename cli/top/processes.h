/* cli/top/processes.h: the processes of this machine that have kolk in them. */
#ifndef TOP_PROCESSES_H
#define TOP_PROCESSES_H

#include "../context.h"

/* The name of a process's program; "?" if it is not known. */
void top_program(int64_t process, char out[64]);

/* Writes the processes that have pools and may be read. */
int top_list(cli_context *cli);

#endif
