/* kolk_test.h: what the tests of the core share: cmocka, and kolk_plain.h. Include it first. */
#ifndef KOLK_TEST_H
#define KOLK_TEST_H

#define _GNU_SOURCE /* fork, MAP_ANONYMOUS ... under -std=c11 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kolk_plain.h"

/* Under AddressSanitizer the long tests do a part of their work, as each step takes ten times as long. */
#if defined(__SANITIZE_ADDRESS__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOW 1
#endif
#endif
#ifndef SLOW
#define SLOW 0
#endif

/* Under qemu-user, what a program sees of its own process (its memory, its executable, what is said when it dies) is the
 * emulator's. Tests of that are left out then, as where there is no /proc, or skipped. NULL: there is none. */
static inline const char *emulator(void) {
    const char *name = getenv("EMULATOR");
    return name && *name ? name : NULL;
}

static inline void skip_if_emulated(void) {
    if (!emulator()) return;
    print_message("left out: under an emulator\n");
    skip();
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

/* A test's teardown: the next test starts with the handler that aborts, so that no failure goes unnoticed. */
static inline int abort_on_failure(void **state) {
    (void)state;
    kolk_set_failure_handler(NULL, NULL);
    return 0;
}

/* Exactly one failure since begin_notes, or since the last assert_noted, and all its fields. */
#define assert_noted(taken, rule_, pool_, object_, slot_, sentence_)                                                   \
    do {                                                                                                               \
        assert_int_equal((taken)->count, 1);                                                                           \
        assert_string_equal((taken)->sentence, sentence_);                                                             \
        assert_int_equal((taken)->last.rule, rule_);                                                                   \
        assert_string_equal((taken)->pool, pool_);                                                                     \
        assert_ptr_equal((taken)->last.object, object_);                                                               \
        assert_int_equal((taken)->last.slot, slot_);                                                                   \
        (taken)->count = 0;                                                                                            \
    } while (0)

#define assert_silent(taken) assert_int_equal((taken)->count, 0)

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static inline void make_pool(kolk_pool *pool, const kolk_pool_desc *desc) {
    kolk_status status = kolk_pool_init(pool, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(kolk_pool_is_valid(pool));
}

#endif
