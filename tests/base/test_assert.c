/* KOLK_ASSERT_: a broken precondition ends the process at once, and prints its file and its text. Tries ten of them, in
 * core and os. All other tests run with assertions on, and so show that correct programs do not break them. */
#include "../help/child.h"

#include "base/assert.h"
#include "base/bits.h"
#include "core/geometry.h"
#include "core/block.h"
#include "store/slot_set.h"
#include "core/wait_queue.h"
#include "os/event.h"
#include "os/lock.h"
#include "os/memory.h"
#include "os/sleep.h"

static uint64_t zero; /* hides the value from the compiler */

static void lowest_bit_of_none(void) {
    kolk_bits_lowest_(zero);
}

static void levels_of_no_slots(void) {
    uint64_t words[1] = {1}, *levels[1] = {words};
    kolk_levels_take_lowest_(levels, (unsigned)zero);
}

static void stride_of_nothing(void) {
    uint8_t shift;
    uintptr_t inverse;
    kolk_set_divisor_((size_t)zero, &shift, &inverse);
}

static void slot_of_no_memory(void) {
    uint64_t inside = 0;
    kolk_locate_(NULL, 8, 1, &inside, &inside);
}

static void put_no_slots(void) {
    uint64_t sheet[KOLK_SHEET_] = {0};
    kolk_slot_set_ set = {sheet + KOLK_SHEET_, KOLK_SHEET_};
    kolk_slot_set_put_(&set, 0, zero);
}

static void join_twice(void) {
    kolk_wait_queue_ queue = {NULL, NULL};
    kolk_waiter_ waiter = {0};
    kolk_waiter_join_(&queue, &waiter);
    kolk_waiter_join_(&queue, &waiter);
}

static void leave_twice(void) {
    kolk_wait_queue_ queue = {NULL, NULL};
    kolk_waiter_ waiter = {0};
    kolk_waiter_join_(&queue, &waiter);
    kolk_waiter_leave_(&queue, &waiter);
    kolk_waiter_leave_(&queue, &waiter);
}

static void unlock_what_is_not_locked(void) {
    uint32_t word = 0;
    kolk_unlock_word_(&word);
}

#ifndef _WIN32 /* it has no descriptors, and releases whole reservations */
static void set_no_descriptor(void) {
    kolk_event_set_(-1);
}

static void release_half_a_page(void) {
    static unsigned char bytes[2];
    kolk_memory_release_(bytes + ((uintptr_t)bytes + 1) % 2, 1);
}
#endif

static const struct {
    void (*breaks)(void);
    const char *file, *condition;
} rows[] = {
    {lowest_bit_of_none, "src/base/bits.h:", "word != 0"},
    {levels_of_no_slots, "src/base/bits.h:", "n > 0"},
    {stride_of_nothing, "src/core/geometry.h:", "stride != 0"},
    {slot_of_no_memory, "src/core/geometry.h:", "slots || n == 0"},
    {put_no_slots, "src/store/slot_set.h:", "bits != 0"},
    {join_twice, "src/core/wait_queue.h:", "waiter != before"},
    {leave_twice, "src/core/wait_queue.h:", "waiter == *kolk_waiter_behind_(queue, waiter->before)"},
    {unlock_what_is_not_locked, "src/os/lock.c:", "taken & 3"},
#ifndef _WIN32
    {set_no_descriptor, "src/os/event.c:", "fd >= 0"},
    {release_half_a_page, "src/os/memory.c:", "(uintptr_t)start % kolk_memory_page_() == 0"},
#endif
};

/* A header's assertions are compiled into the test. A source file's are in the library, which may be built from the two
 * files. */
static bool names_place(const char *said, const char *file) {
    return strstr(said, file) || (strstr(file, ".c:") && strstr(said, "/kolk.c:"));
}

static void test_each_is_caught_at_its_place(void **state) {
    if (!KOLK_ASSERTIONS) {
        print_message("left out: the library has no assertions\n");
        skip();
    }
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        char said[1024], words[256];
        int status = run_apart(rows[i].breaks, said, sizeof said);
        snprintf(words, sizeof words, ": assertion failed: %s\n", rows[i].condition);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || !names_place(said, rows[i].file) ||
            !strstr(said, words))
            fail_msg("row %u, %s %s: %s", (unsigned)i, rows[i].file, rows[i].condition, said);
    }
}

/* Without assertions the condition is not evaluated. */
static void test_what_is_true_goes_on(void **state) {
    KOLK_ASSERT_(zero == 0);
    unsigned looks = 0;
    KOLK_ASSERT_(++looks);
    assert_int_equal(looks, KOLK_ASSERTIONS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_is_caught_at_its_place),
                                       cmocka_unit_test(test_what_is_true_goes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
