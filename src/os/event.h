/* event.h: events that a program can wait for with poll or select. Not in freestanding builds. */
#ifndef KOLK_SRC_EVENT_H
#define KOLK_SRC_EVENT_H

/* Opens a file descriptor that is readable from kolk_event_set_ until kolk_event_reset_. Returns -1 if the system has
 * no events. */
int kolk_event_open_(void);
void kolk_event_set_(int fd);
void kolk_event_reset_(int fd);
void kolk_event_close_(int fd);

#endif
