/* runs: sample:clang */
/* kolk_queue with one thread: items of any size, items that a hook moves, and what clear and deinit drop. What else
 * push and pop promise is in test_queue_model.c. */
#include "queue_test.h"

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

/* The item is copied, and no byte before or after it is touched. promise: "bytes: push ... 8 or less" */
static void test_items_of_every_size(void **state) {
    fill_and_empty(1000, 24);
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
        if (lap) assert_int_equal(pop_int(&queue), lap == 1 ? -KOLK_CLOSED : -KOLK_SHUTDOWN);
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
        TEST(test_items_of_every_size),
        TEST(test_clear_drops_and_deinit_too),
        TEST(test_items_that_a_hook_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
