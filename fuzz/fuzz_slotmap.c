/* fuzz_slotmap.c: interprets any bytes as a program that uses a slot map, correctly or not, next to the model of
 * tests/slotmap/model.h. Each byte is one choice: first of the descriptor, then of operations and their arguments;
 * missing bytes at the end are 0. Seven lives wear a slot out. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "../tests/slotmap/model.h"

#include "../tests/help/no_sites.h"
#include "input_drive.h"
