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

int kolk_event_open_(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void kolk_event_set_(int fd) {
    KOLK_ASSERT_(fd >= 0);
    int cancel = kolk_cancel_off_();
    while (eventfd_write(fd, 1) != 0 && errno == EINTR) {} /* never full, because it is reset before the next set */
    kolk_cancel_restore_(cancel);
}

void kolk_event_reset_(int fd) {
    KOLK_ASSERT_(fd >= 0);
    eventfd_t value;
    int cancel = kolk_cancel_off_();
    while (eventfd_read(fd, &value) != 0 && errno == EINTR) {}
    kolk_cancel_restore_(cancel);
}

void kolk_event_close_(int fd) {
    KOLK_ASSERT_(fd >= 0);
    int cancel = kolk_cancel_off_();
    close(fd);
    kolk_cancel_restore_(cancel);
}
#else
int kolk_event_open_(void) {
    return -1;
}

void kolk_event_set_(int fd) {
    (void)fd;
}

void kolk_event_reset_(int fd) {
    (void)fd;
}

void kolk_event_close_(int fd) {
    (void)fd;
}
#endif

#endif
