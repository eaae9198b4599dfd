/* cli/advise/share.h: gains as shares of the processor time of the program. */
#ifndef CLI_SHARE_H
#define CLI_SHARE_H

#include "../json.h"
#include "gain.h"

/* Returns the processor time of the recorded program, without that of recording; 0 if it is not known. */
double share_program_ns(const struct trace *trace);

/* Returns a sentence that says why the time is 0. */
const char *share_why_unknown(const struct trace *trace);

/* Returns false if the gain, or the loss, is more than all of the program's time, so that one of the two is wrong. */
bool share_is_possible(const struct gain *gain, double program_ns);

/* Returns by what percent kolk as malloc has reduced the processor time of the program: one run's time is compared with
 * that of the run beside it. Returns false if no run has a time. */
bool share_of_runs(const struct trace *trace, struct range *percent);

/* Replaces the samples of a part by those of the whole, multiplied by what the part contributes to each. */
void share_take(struct gain *part, const struct gain *whole, double first, double repeated);

/* Prints "1.2 to 3.4 % of the program's processor time in one run, 5.6 to 7.8 % if its work is repeated"; milliseconds
 * if the program's time is not known. What is not told is said to be too short to tell. */
void share_print(FILE *out, const struct gain *gain, double program_ns);

/* Returns false if both intervals have gains and losses, some of which exceed about 1 % of the program's time. */
bool share_is_told(const struct gain *gain, double program_ns);

/* Prints "1.2 to 3.4 %" with % as the unit. */
void share_print_range(FILE *out, struct range range, const char *unit);

/* Returns true if neither one run nor a repeated one can win more than about 1 % of the program's time. */
bool share_is_small(const struct gain *gain, double program_ns);

/* Writes the same as the objects one_run and repeated. */
void share_write(cli_json *json, const struct gain *gain, double program_ns);

#endif
