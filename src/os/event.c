/* event.c: see event.h. Events use Linux's eventfd; on other systems there are none. */
#include "system.h"

#include "kolk/base.h"

#include "event.h"

#if KOLK_HOSTED

#ifdef __linux__
#include "../base/assert.h"
#include "cancel.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int kolk_event_open(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void kolk_event_set(int fd) {
    KOLK_ASSERT(fd >= 0);
    int cancel = kolk_cancel_off();
    while (eventfd_write(fd, 1) != 0 && errno == EINTR) {} /* never full: it is reset before the next set */
    kolk_cancel_restore(cancel);
}

void kolk_event_reset(int fd) {
    KOLK_ASSERT(fd >= 0);
    eventfd_t value;
    int cancel = kolk_cancel_off();
    while (eventfd_read(fd, &value) != 0 && errno == EINTR) {}
    kolk_cancel_restore(cancel);
}

void kolk_event_close(int fd) {
    KOLK_ASSERT(fd >= 0);
    int cancel = kolk_cancel_off();
    close(fd);
    kolk_cancel_restore(cancel);
}
#else
int kolk_event_open(void) {
    return -1;
}

void kolk_event_set(int fd) {
    (void)fd;
}

void kolk_event_reset(int fd) {
    (void)fd;
}

void kolk_event_close(int fd) {
    (void)fd;
}
#endif

#endif
