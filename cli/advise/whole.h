/* cli/advise/whole.h: measures the gain of all pools together, by playing the whole trace: once with malloc alone, and
 * once with the pools for the objects of their sources and malloc for the rest.
 *
 * A source that is played alone finds malloc at its best: the free blocks are all of its own size. In the program they
 * are not, and malloc searches, splits and joins blocks. */
#ifndef CLI_WHOLE_H
#define CLI_WHOLE_H

#include "phase.h"

/* Plays all operations of the trace in one thread, in the recorded order. A block is written as the program writes it,
 * at least once in full, if it is not large. Sets `operations`, the samples and their number. Everything runs in child
 * processes. If the result is not CLI_OK, a sentence has been printed. */
int whole_measure(const cli_context *cli, const struct trace *trace, const struct sources *sources,
                  const struct gain_job *jobs, size_t count, struct gain *gain);

/* The same for the blocks of a phase in a heap of their own, with malloc for the rest. Sets phase->gain. */
int whole_measure_phase(const cli_context *cli, const struct trace *trace, struct phase *phase);

#endif
