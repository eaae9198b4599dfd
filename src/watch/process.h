/* process.h: the parts that concern the whole process: settings from its environment, its exit, and scenes. */
#ifndef KOLK_SRC_PROCESS_H
#define KOLK_SRC_PROCESS_H

/* Reads the environment at the first call and reports mistakes in KOLK_STATS. While the file of KOLK_SIZES=FILE is
 * read, other callers wait, but forks do not. */
void kolk_process_start_(void);

#endif
