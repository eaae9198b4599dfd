/* wraps: help/no_sites.h */
/* fuzz_shared.c: interprets any bytes as a program that uses a shared pool, correctly or not, and compares it with the
 * model of tests/shared/model.h. Each byte is one choice: the first bytes choose the descriptor, and the others choose
 * operations and their arguments. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "../tests/shared/model.h"

#include "../tests/help/no_sites.h"
#include "input_drive.h"
