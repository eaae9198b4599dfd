/* ipc_test.h: for the tests of kolk_ipc: views, each of which stands for a process. */
#ifndef TESTS_IPC_TEST_H
#define TESTS_IPC_TEST_H

#include "../help/test.h"

#include "ipc/ipc_inside.h"
#include "os/between.h"

#include <pthread.h>
#include <unistd.h>

static const kolk_deadline PAST = {1}; /* a deadline that has passed, but is not KOLK_NOW */

/* The program's name, as others see it: some scripts build this program under another one. */
static inline const char *own_name(void) {
    static char name[16];
    kolk_between_name_(name);
    return name;
}

static inline void make_ipc(kolk_ipc *pool, const kolk_ipc_desc *desc) {
    kolk_status status = kolk_ipc_init(pool, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(kolk_ipc_is_valid(pool));
}

/* Attaches one more process. */
static inline void join_ipc(kolk_ipc *pool, const kolk_ipc *to) {
    kolk_status status = kolk_ipc_attach(pool, kolk_ipc_fd(to), &(kolk_ipc_desc){.version = 0});
    if (status != KOLK_OK) fail_msg("attach: %s", kolk_status_text(status));
}

static inline void end_ipc(kolk_ipc *pool) {
    assert_true(kolk_ipc_is_valid(pool));
    kolk_ipc_deinit(pool);
    assert_true(all_bytes_are(pool, sizeof *pool, 0));
}

/* The process of this view dies: the system releases its locks, and nothing else happens. The view must not be used
 * any more. */
static inline void kill_ipc(kolk_ipc *pool) {
    kolk_between_release_(pool->lock_kept, pool->page);
}

#endif
