/* wait.h: what several threads need of the operating system, and the process's environment. Not in freestanding
 * builds. */
#ifndef KOLK_SRC_WAIT_H
#define KOLK_SRC_WAIT_H

/* The one lock of the process. Not recursive; held for moments, and never while the user's code runs. A fork waits for
 * it, so that the child does not find it locked by a thread that it has not got. */
void kolk_lock(void);
void kolk_unlock(void);

/* A variable of the environment, or NULL; always NULL in a program that runs with more rights than the user who starts
 * it: kolk's variables name files to be written. */
const char *kolk_environment(const char *name);

#endif
