/* runs: sample:clang */
/* kolk_queue with one thread: order, capacity, items of any size, arrays, deadlines, endings, and clear. */
#include "queue_test.h"

static const uint32_t capacities[] = {1, 2, 3, 5, 7, 8, 1000};

/* ---- One at a time ----------------------------------------------------------------------------------------------- */

/* Fills an item with bytes that depend on its number. */
static void stamp(unsigned char *item, size_t size, uint32_t number) {
    for (size_t i = 0; i < size; i++) item[i] = (unsigned char)((number >> i % 4 * 8) + i * 37);
}

static bool is_stamped(const unsigned char *item, size_t size, uint32_t number) {
    unsigned char expected[300];
    stamp(expected, size, number);
    return memcmp(item, expected, size) == 0;
}

/* Fills the queue from each level, and then empties it to that level. */
static void fill_and_empty(uint32_t capacity, size_t size) {
    kolk_queue queue;
    unsigned char item[300];
    make_queue(&queue, &(kolk_queue_desc){.item_size = size, .capacity = capacity});
    uint32_t in = 0, out = 0;
    for (uint32_t level = 0; level < capacity; level += 1 + capacity / 10) {
        while (in - out < capacity) {
            stamp(item, size, in);
            assert_int_equal(kolk_queue_push(&queue, item, KOLK_NOW), KOLK_OK);
            assert_true(is_stamped(item, size, in++));
            assert_int_equal(kolk_queue_count(&queue), in - out);
        }
        assert_true(kolk_queue_is_valid(&queue));
        stamp(item, size, UINT32_MAX);
        assert_int_equal(kolk_queue_push(&queue, item, KOLK_NOW), KOLK_FULL);
        while (in - out > level) {
            assert_int_equal(kolk_queue_pop(&queue, item, KOLK_NOW), KOLK_OK);
            assert_true(is_stamped(item, size, out++));
            assert_int_equal(kolk_queue_count(&queue), in - out);
        }
        assert_true(kolk_queue_is_valid(&queue));
    }
    while (kolk_queue_pop(&queue, item, KOLK_NOW) == KOLK_OK) assert_true(is_stamped(item, size, out++));
    assert_int_equal(out, in);
    assert_int_equal(kolk_queue_pop(&queue, item, KOLK_NOW), KOLK_EMPTY);
    end_queue(&queue);
}

/* promise: "a bounded blocking ... your deadline", "the exact number of items, from 1" */
static void test_first_in_first_out_and_exactly_so_many(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 4, 8, 24, 300};
    for (size_t i = 0; i < LENGTH_OF(capacities); i++)
        for (size_t j = 0; j < LENGTH_OF(sizes); j++) fill_and_empty(capacities[i], sizes[j]);
}

/* The item is copied, and no byte before or after it is touched. promise: "bytes: push ... 8 or less" */
static void test_items_of_every_size(void **state) {
    (void)state;
    for (size_t size = 1; size <= 300; size++) {
        kolk_queue queue;
        unsigned char item[300], out[304];
        fill_and_empty(3, size);
        make_queue(&queue, &(kolk_queue_desc){.item_size = size, .capacity = 2});
        memset(out, 0xca, sizeof out);
        stamp(item, size, 1);
        assert_int_equal(kolk_queue_push(&queue, item, KOLK_NOW), KOLK_OK);
        memset(item, 0, sizeof item); /* the queue has its own copy */
        assert_int_equal(kolk_queue_pop(&queue, out + 2, KOLK_NOW), KOLK_OK);
        assert_true(is_stamped(out + 2, size, 1));
        assert_true(all_bytes_are(out, 2, 0xca) && all_bytes_are(out + 2 + size, sizeof out - 2 - size, 0xca));
        assert_int_equal(kolk_queue_pop(&queue, out, KOLK_NOW), KOLK_EMPTY);
        assert_true(out[0] == 0xca && is_stamped(out + 2, size, 1)); /* nothing was written */
        end_queue(&queue);
    }
}

/* Goes round the ring many times, so that anything left over from one lap would show in the next. */
static void test_many_laps(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(capacities); i++) {
        kolk_queue queue;
        make_ints(&queue, capacities[i]);
        for (int n = 1; n < 5000; n++) {
            assert_int_equal(push_int(&queue, n), KOLK_OK);
            assert_int_equal(pop_int(&queue), n);
            assert_int_equal(pop_int(&queue), -KOLK_EMPTY);
        }
        end_queue(&queue);
    }
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* Passes arrays of every length, from this place in the ring and this level: also of more items than fit, or than the
 * queue has. */
static void arrays_from(uint32_t capacity, uint32_t place, uint32_t level) {
    kolk_queue queue;
    int items[40], next = 1, expected = 1;
    make_ints(&queue, capacity);
    for (uint32_t i = 0; i < place; i++, next++)
        assert_true(push_int(&queue, next) == KOLK_OK && pop_int(&queue) == next);
    expected = next;
    for (uint32_t i = 0; i < level; i++) assert_int_equal(push_int(&queue, next++), KOLK_OK);
    for (size_t asked = 0; asked <= capacity + 2; asked++) {
        size_t room = capacity - kolk_queue_count(&queue), n = asked;
        for (size_t i = 0; i < LENGTH_OF(items); i++) items[i] = next + (int)i;
        kolk_status status = kolk_queue_push_n(&queue, items, &n, KOLK_NOW);
        assert_int_equal(status, asked && !room ? KOLK_FULL : KOLK_OK);
        assert_int_equal(n, asked < room ? asked : room);
        next += (int)n;
        assert_true(kolk_queue_is_valid(&queue));

        size_t there = kolk_queue_count(&queue), most = (asked * 7 + place) % (capacity + 2);
        memset(items, 0, sizeof items);
        n = most;
        status = kolk_queue_pop_n(&queue, items, &n, KOLK_NOW);
        assert_int_equal(status, most && !there ? KOLK_EMPTY : KOLK_OK);
        assert_int_equal(n, most < there ? most : there);
        for (size_t i = 0; i < LENGTH_OF(items); i++) assert_int_equal(items[i], i < n ? expected++ : 0);
        assert_int_equal(kolk_queue_count(&queue), next - expected);
        assert_true(kolk_queue_is_valid(&queue));
    }
    end_queue(&queue);
}

/* promise: "Waits for the first ... adjacent in the queue" */
static void test_as_many_as_are_possible_at_once(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(capacities) - 1; i++)
        for (uint32_t place = 0; place <= capacities[i]; place++)
            for (uint32_t level = 0; level <= capacities[i]; level++) arrays_from(capacities[i], place, level);
}

/* A call with an array of no items never waits, whatever the queue's state. */
static void test_an_array_of_none(void **state) {
    (void)state;
    kolk_queue queue;
    size_t n = 0;
    make_ints(&queue, 1);
    assert_int_equal(kolk_queue_pop_n(&queue, NULL, &n, KOLK_FOREVER), KOLK_OK);
    assert_int_equal(push_int(&queue, 1), KOLK_OK);
    assert_int_equal(kolk_queue_push_n(&queue, NULL, &n, KOLK_FOREVER), KOLK_OK);
    assert_int_equal(n, 0);
    end_queue(&queue);
}

static void test_the_largest_number(void **state) {
    (void)state;
    kolk_queue queue;
    int items[3] = {1, 2, 3};
    make_ints(&queue, 3);
    size_t n = SIZE_MAX;
    assert_int_equal(kolk_queue_push_n(&queue, items, &n, KOLK_FOREVER), KOLK_OK);
    assert_int_equal(n, 3);
    n = SIZE_MAX;
    memset(items, 0, sizeof items);
    assert_int_equal(kolk_queue_pop_n(&queue, items, &n, KOLK_FOREVER), KOLK_OK);
    assert_true(n == 3 && items[0] == 1 && items[1] == 2 && items[2] == 3);
    end_queue(&queue);
}

/* ---- Statuses ---------------------------------------------------------------------------------------------------- */

/* Each call at either end, with this deadline, returns `push` or `pop` and changes nothing. */
static void assert_refused(kolk_queue *queue, kolk_deadline deadline, kolk_status push, kolk_status pop) {
    int items[2] = {-1, -2};
    size_t n = 2, before = kolk_queue_count(queue);
    if (push) {
        assert_int_equal(kolk_queue_push(queue, items, deadline), push);
        assert_int_equal(kolk_queue_push_n(queue, items, &n, deadline), push);
        assert_int_equal(n, 0);
    }
    if (pop) {
        n = 2;
        assert_int_equal(kolk_queue_pop(queue, items, deadline), pop);
        assert_int_equal(kolk_queue_pop_n(queue, items, &n, deadline), pop);
        assert_int_equal(n, 0);
    }
    assert_true(items[0] == -1 && items[1] == -2);
    assert_int_equal(kolk_queue_count(queue), before);
    assert_true(kolk_queue_is_valid(queue));
}

/* promise: "there was no room or no item; only", "there was still none at the deadline" */
static void test_deadlines_that_have_passed(void **state) {
    (void)state;
    static const kolk_deadline passed[] = {{1}, {-1}, {INT64_MIN}, {1000000}};
    kolk_queue queue;
    make_ints(&queue, 1);
    for (size_t i = 0; i < LENGTH_OF(passed); i++) {
        int item = 5;
        assert_refused(&queue, KOLK_NOW, KOLK_OK, KOLK_EMPTY);
        assert_refused(&queue, passed[i], KOLK_OK, KOLK_TIMEOUT);
        assert_int_equal(kolk_queue_push(&queue, &item, passed[i]), KOLK_OK); /* a call that need not wait succeeds */
        assert_refused(&queue, KOLK_NOW, KOLK_FULL, KOLK_OK);
        assert_refused(&queue, passed[i], KOLK_TIMEOUT, KOLK_OK);
        assert_int_equal(kolk_queue_pop(&queue, &item, passed[i]), KOLK_OK);
        assert_int_equal(item, 5);
    }
    end_queue(&queue);
}

/* promise: "close was called ... shutdown was called", "Ends pushes: every ... until no item is left", "Ends pushes and
 * pops ... Items stay" */
static void test_close_shutdown_reopen(void **state) {
    (void)state;
    static const kolk_deadline deadlines[] = {{0}, {1}, {INT64_MAX}};
    kolk_queue queue;
    make_ints(&queue, 3);
    for (size_t i = 0; i < LENGTH_OF(deadlines); i++) {
        assert_true(push_int(&queue, 1) == KOLK_OK && push_int(&queue, 2) == KOLK_OK);
        kolk_queue_close(&queue);
        assert_refused(&queue, deadlines[i], KOLK_CLOSED, KOLK_OK);
        assert_int_equal(pop_int(&queue), 1); /* pops succeed until nothing is left */
        kolk_queue_close(&queue);
        assert_int_equal(pop_int(&queue), 2);
        assert_refused(&queue, deadlines[i], KOLK_CLOSED, KOLK_CLOSED);
        kolk_queue_reopen(&queue);
        assert_true(push_int(&queue, 3) == KOLK_OK && push_int(&queue, 4) == KOLK_OK);
        kolk_queue_shutdown(&queue);
        assert_refused(&queue, deadlines[i], KOLK_SHUTDOWN, KOLK_SHUTDOWN);
        kolk_queue_close(&queue); /* does not undo shutdown */
        assert_refused(&queue, deadlines[i], KOLK_SHUTDOWN, KOLK_SHUTDOWN);
        kolk_queue_reopen(&queue); /* the items are still there */
        assert_int_equal(pop_int(&queue), 3);
        kolk_queue_close(&queue);
        kolk_queue_shutdown(&queue); /* a closed queue can still be shut down */
        assert_refused(&queue, deadlines[i], KOLK_SHUTDOWN, KOLK_SHUTDOWN);
        kolk_queue_reopen(&queue);
        assert_int_equal(pop_int(&queue), 4);
        kolk_queue_reopen(&queue);
        assert_refused(&queue, KOLK_NOW, KOLK_OK, KOLK_EMPTY);
    }
    end_queue(&queue);
}

/* The ending is checked before the level: a queue that is both full and closed returns CLOSED. */
static void test_full_and_ended(void **state) {
    (void)state;
    kolk_queue queue;
    make_ints(&queue, 1);
    assert_int_equal(push_int(&queue, 1), KOLK_OK);
    kolk_queue_close(&queue);
    assert_refused(&queue, KOLK_NOW, KOLK_CLOSED, KOLK_OK);
    kolk_queue_shutdown(&queue);
    assert_refused(&queue, KOLK_NOW, KOLK_SHUTDOWN, KOLK_SHUTDOWN);
    end_queue(&queue);
}

/* ---- clear and deinit -------------------------------------------------------------------------------------------- */

typedef struct dropped {
    int items[16];
    unsigned count;
} dropped;

static void drop(void *item, void *context) {
    dropped *all = (dropped *)context;
    assert_int_equal((uintptr_t)item % 8, 0); /* aligned for a pointer or a double */
    all->items[all->count++] = *(int *)item;
}

/* promise: "item that clear or deinit drops; may be NULL", "Destroys the remaining items", "Drops all items ... room
 * get it" */
static void test_clear_drops_and_deinit_too(void **state) {
    (void)state;
    kolk_queue queue;
    dropped all = {.count = 0};
    make_queue(&queue, &(kolk_queue_desc){.item_size = sizeof(int), .capacity = 3, .destroy = drop, .context = &all});
    assert_int_equal(kolk_queue_clear(&queue), 0);
    for (int lap = 0; lap < 3; lap++) {
        assert_true(push_int(&queue, 1) == KOLK_OK && push_int(&queue, 2) == KOLK_OK && push_int(&queue, 3) == KOLK_OK);
        assert_int_equal(pop_int(&queue), 1); /* not destroyed, because it has left the queue */
        assert_int_equal(push_int(&queue, 4), KOLK_OK);
        if (lap == 1) kolk_queue_close(&queue);
        if (lap == 2) kolk_queue_shutdown(&queue); /* clear also works on an ended queue, which stays ended */
        assert_int_equal(kolk_queue_clear(&queue), 3);
        assert_true(all.count == 3 && all.items[0] == 2 && all.items[1] == 3 && all.items[2] == 4);
        assert_int_equal(kolk_queue_count(&queue), 0);
        assert_true(kolk_queue_is_valid(&queue));
        if (lap)
            assert_refused(&queue, KOLK_NOW, lap == 1 ? KOLK_CLOSED : KOLK_SHUTDOWN,
                           lap == 1 ? KOLK_CLOSED : KOLK_SHUTDOWN);
        kolk_queue_reopen(&queue);
        all.count = 0;
    }
    assert_true(push_int(&queue, 8) == KOLK_OK && push_int(&queue, 9) == KOLK_OK);
    end_queue(&queue);
    assert_true(all.count == 2 && all.items[0] == 8 && all.items[1] == 9);
    make_ints(&queue, 5); /* these items need no destroy */
    assert_true(push_int(&queue, 8) == KOLK_OK && push_int(&queue, 9) == KOLK_OK);
    assert_int_equal(kolk_queue_clear(&queue), 2);
    assert_true(push_int(&queue, 8) == KOLK_OK);
    end_queue(&queue);
}

/* An item with its own address in it; NULL: there is none. */
typedef struct rooted {
    struct rooted *self;
    int number;
} rooted;

static void move_rooted(void *to, void *from, bool in, void *context) {
    rooted *target = (rooted *)to, *source = (rooted *)from;
    assert_ptr_equal(source->self, source);
    *target = (rooted){target, source->number};
    source->self = NULL;
    ((int *)context)[in]++;
}

static void count_rooted(void *item, void *context) {
    assert_ptr_equal(((rooted *)item)->self, item);
    ((int *)context)[2]++;
}

/* promise: "bytes: push ... 8 or less", "If `in` is true ... bytes are copied" */
static void test_items_that_a_hook_moves(void **state) {
    (void)state;
    kolk_queue queue;
    int calls[3] = {0};
    make_queue(&queue, &(kolk_queue_desc){.item_size = sizeof(rooted),
                                          .capacity = 3,
                                          .destroy = count_rooted,
                                          .move = move_rooted,
                                          .context = calls});
    rooted in[4] = {{&in[0], 0}, {&in[1], 1}, {&in[2], 2}, {&in[3], 3}}, out = {NULL, 0}, two[2];
    size_t n = 4;
    assert_int_equal(kolk_queue_push_n(&queue, in, &n, KOLK_NOW), KOLK_OK);
    assert_int_equal(n, 3);
    assert_true(!in[0].self && !in[1].self && !in[2].self);
    assert_int_equal(kolk_queue_push(&queue, &in[3], KOLK_NOW), KOLK_FULL);
    assert_ptr_equal(in[3].self, &in[3]); /* an item that was not taken stays with its owner */
    assert_int_equal(kolk_queue_pop(&queue, &out, KOLK_NOW), KOLK_OK);
    assert_true(out.self == &out && out.number == 0);
    assert_int_equal(kolk_queue_push(&queue, &in[3], KOLK_NOW), KOLK_OK);
    n = 2;
    assert_int_equal(kolk_queue_pop_n(&queue, two, &n, KOLK_NOW), KOLK_OK);
    assert_true(n == 2 && two[0].self == &two[0] && two[1].self == &two[1] && two[1].number == 2);
    end_queue(&queue);
    assert_true(calls[true] == 4 && calls[false] == 3 && calls[2] == 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_first_in_first_out_and_exactly_so_many),
        TEST(test_items_of_every_size),
        TEST(test_many_laps),
        TEST(test_as_many_as_are_possible_at_once),
        TEST(test_an_array_of_none),
        TEST(test_the_largest_number),
        TEST(test_deadlines_that_have_passed),
        TEST(test_close_shutdown_reopen),
        TEST(test_full_and_ended),
        TEST(test_clear_drops_and_deinit_too),
        TEST(test_items_that_a_hook_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
