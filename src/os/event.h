/* event.h: events that poll and its like can see. Not in freestanding builds. */
#ifndef KOLK_SRC_EVENT_H
#define KOLK_SRC_EVENT_H

/* A file descriptor, which is readable from set until reset. -1: the system has none. */
int kolk_event_open(void);
void kolk_event_set(int fd);
void kolk_event_reset(int fd);
void kolk_event_close(int fd);

#endif
