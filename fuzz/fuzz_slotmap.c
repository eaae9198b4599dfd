/* with: KOLK_GENERATION_MAX=7 wraps: help/no_sites.h */
/* fuzz_slotmap.c: interprets any bytes as a program that uses a slot map, correctly or not, and compares it with the
 * model of tests/slotmap/model.h. Each byte is one choice: the first bytes choose the descriptor, and the others choose
 * operations and their arguments. Missing bytes at the end are 0. A slot is worn out after seven lives. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "../tests/slotmap/model.h"

#include "../tests/help/no_sites.h"
#include "input_drive.h"
