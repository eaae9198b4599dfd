/* runs: long not:wine not:qemu with: KOLK_CHAOS=1 */
/* Every loop of a call ends, even if another process undoes each step before the next one: before every atomic
 * operation, `disturb` writes into the block. Each call returns, and reports KOLK_CORRUPT or that there is nothing.
 * And: what a call does in a sound block while another process makes its steps in between. */
#include "ipc_test.h"

static kolk_ipc pool;
static void (*disturb)(void);
static uint64_t steps;

void kolk_chaos_(void) {
    void (*now)(void) = disturb;
    if (!now) return;
    steps++;
    disturb = NULL; /* it may use atomic operations itself */
    now();
    disturb = now;
}

static void hint_at_live_slots(void) {
    kolk_slot_set_ hints = hints_of(&pool);
    *kolk_slot_set_word_(&hints, 0) = UINT64_MAX;
    *kolk_slot_set_summary_(&hints, 0) = UINT64_MAX;
}

static void count_returns(void) {
    pool.block->search += 3;
}

static void free_for_a_moment(void) {
    pool.lives[0] = pool.lives[0] == 0 ? next_life(0, 1) : 0;
}

static void move_head(void) {
    pool.queues_at[0].head++;
}

static void move_tail(void) {
    pool.queues_at[0].tail++;
}

static void move_both(void) {
    move_head();
    move_tail();
}

static void jump(void) {
    pool.queues_at[0].head += 1000003;
    pool.queues_at[0].tail ^= UINT64_C(1) << steps % 64;
}

static void fill_cells(void) {
    pool.rings[steps % (pool.ring_mask + 1)] = steps << 32 | steps % (pool.capacity + 2);
}

static void use_all_numbers(void) {
    unsigned char *processes = (unsigned char *)pool.block + IPC_HEADER;
    for (uint32_t n = 2; n <= pool.max_processes; n++) *(uint32_t *)(void *)(processes + n * sizeof(ipc_process)) = 1;
}

static void change_owners(void) {
    for (uint32_t slot = 0; slot < pool.capacity; slot++) pool.lives[slot] ^= 3 | IPC_QUEUED;
}

static void call_everything(void *object) {
    kolk_ipc_alloc(&pool);
    kolk_ipc_alloc_wait(&pool, PAST);
    kolk_ipc_push(&pool, 0, object, KOLK_NOW);
    kolk_ipc_pop(&pool, 0, KOLK_NOW);
    kolk_ipc_pop(&pool, 0, PAST);
    kolk_ipc_recover(&pool);
    kolk_ipc_adopt(&pool);
    kolk_ipc_free(&pool, object);
    kolk_ipc_queued(&pool, 0);
    kolk_ipc_is_closed(&pool, 0);
    kolk_ipc_is_valid(&pool);
    kolk_ipc_close(&pool, 0);
    kolk_ipc_push(&pool, 0, object, KOLK_NOW);
}

/* promise: "but neither crashes nor hangs them" */
static void test_each_loop_ends(void **state) {
    static void (*const all[])(void) = {
        hint_at_live_slots, count_returns, free_for_a_moment, move_head,       move_tail,
        move_both,          jump,          fill_cells,        use_all_numbers, change_owners};
    notes taken;
    begin_notes(&taken);
    for (size_t n = 0; n < LENGTH_OF(all); n++)
        for (uint32_t capacity = 1; capacity <= 64; capacity += 63) {
            make_ipc(&pool,
                     &(kolk_ipc_desc){
                         .name = "endless", .object_size = 8, .capacity = capacity, .queues = 1, .max_processes = 5});
            void *object = kolk_ipc_alloc(&pool);
            while (kolk_ipc_alloc(&pool)) {}
            disturb = all[n];
            call_everything(object);
            disturb = NULL;
            kolk_ipc_deinit(&pool);
        }
    kolk_set_failure_handler(NULL, NULL);
}

static void test_corruption_is_a_status(void **state) {
    make_ipc(&pool, &(kolk_ipc_desc){.name = "endless", .object_size = 8, .capacity = 64, .queues = 1});
    void *object = NULL;
    for (void *got; (got = kolk_ipc_alloc(&pool));) object = got;
    disturb = hint_at_live_slots;
    void *got = kolk_ipc_alloc(&pool);
    disturb = NULL;
    assert_null(got);
    assert_int_equal(kolk_ipc_status(&pool), KOLK_CORRUPT);
    kolk_ipc second;
    join_ipc(&second, &pool);
    kolk_ipc_free(&pool, object); /* whoever has found garbage changes nothing more */
    assert_int_equal(kolk_ipc_push(&pool, 0, object, KOLK_NOW), KOLK_CORRUPT);
    assert_null(kolk_ipc_pop(&pool, 0, KOLK_NOW));
    assert_null(kolk_ipc_alloc(&pool));
    assert_null(kolk_ipc_adopt(&pool));
    assert_int_equal(kolk_ipc_recover(&pool), 0);
    assert_int_equal(kolk_ipc_count(&second), 64);
    assert_int_equal(kolk_ipc_recover(&second), 0); /* it lives */
    kolk_ipc_deinit(&pool);
    assert_int_equal(kolk_ipc_recover(&second), 64);
    kolk_ipc_deinit(&second);
}

static void note_it_at_step_100(void) {
    if (steps == 100) note_corruption(&pool);
}

/* Another thread finds the garbage while this one waits. promise: "or kolk_ipc_status is not KOLK_OK" */
static void test_corruption_ends_waits(void **state) {
    for (int pushes = 0; pushes < 2; pushes++) {
        make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 2, .queues = 1, .queue_capacity = 1});
        void *object = kolk_ipc_alloc(&pool);
        if (pushes) assert_int_equal(kolk_ipc_push(&pool, 0, kolk_ipc_alloc(&pool), KOLK_NOW), KOLK_OK);
        steps = 0;
        disturb = note_it_at_step_100;
        if (pushes)
            assert_int_equal(kolk_ipc_push(&pool, 0, object, KOLK_FOREVER), KOLK_CORRUPT);
        else
            assert_null(kolk_ipc_pop(&pool, 0, KOLK_FOREVER));
        disturb = NULL;
        assert_int_equal(kolk_ipc_status(&pool), KOLK_CORRUPT);
        kolk_ipc_deinit(&pool);
    }
}

/* ---- A sound block, in which another process makes a step before each of this one -------------------------------- */

static struct {
    kolk_ipc view;
    void *object;
    uint64_t at; /* the step */
} other;

static void free_and_alloc(void) {
    kolk_ipc_free(&other.view, other.object);
    other.object = kolk_ipc_alloc(&other.view);
}

/* The slot is free at some moment of each search, but never when this process looks at it. promise: "There is one
 * exception ... others took each one that became free meanwhile" */
static void test_others_are_faster(void **state) {
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 2});
    join_ipc(&other.view, &pool);
    assert_non_null(kolk_ipc_alloc(&pool));
    other.object = kolk_ipc_alloc(&other.view);
    disturb = free_and_alloc;
    void *object = kolk_ipc_alloc(&pool);
    disturb = NULL;
    assert_null(object);
    assert_int_equal(kolk_ipc_status(&pool), KOLK_OK);
    kolk_ipc_deinit(&other.view);
    end_ipc(&pool);
}

static void push_and_pop(void) {
    if (steps != other.at) return;
    for (int n = 0; n < 3; n++) {
        if (kolk_ipc_is_owned(&other.view, other.object)) kolk_ipc_push(&other.view, 0, other.object, KOLK_NOW);
        if (n < 2) kolk_ipc_pop(&other.view, 0, KOLK_NOW);
    }
}

/* The queue has room for two and never has more than one object beside that of this push. promise: "so that no push
 * finds a queue full" */
static void test_a_late_push_finds_room(void **state) {
    for (uint64_t at = 1; at == 1 || steps >= at - 1; at++) {
        make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 2, .queues = 1});
        join_ipc(&other.view, &pool);
        void *object = kolk_ipc_alloc(&pool);
        other.object = kolk_ipc_alloc(&other.view);
        steps = 0;
        other.at = at;
        disturb = push_and_pop;
        kolk_status status = kolk_ipc_push(&pool, 0, object, KOLK_NOW);
        disturb = NULL;
        assert_int_equal(status, KOLK_OK);
        kolk_ipc_deinit(&other.view);
        kolk_ipc_deinit(&pool);
    }
}

static void alloc_once(void) {
    if (!other.object && other.view.block && number_so_far(&other.view)) other.object = kolk_ipc_alloc(&other.view);
}

static void refuse_own(void *object, void *context) {
    assert_ptr_not_equal(object, other.object);
    kolk_ipc_free(&other.view, object);
}

/* A second thread of a fork's child allocates as soon as there is a number, while the first one is still about to call
 * the hook for what the number's dead process has left. */
static void test_what_is_new_is_no_orphan(void **state) {
    kolk_ipc theirs;
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 70, .max_processes = 2});
    join_ipc(&theirs, &pool);
    for (int n = 0; n < 3; n++) assert_non_null(kolk_ipc_alloc(&theirs));
    kill_ipc(&theirs);
    other.object = NULL;
    disturb = alloc_once;
    kolk_ipc_desc desc = {.on_orphan = refuse_own};
    assert_int_equal(kolk_ipc_attach(&other.view, kolk_ipc_fd(&pool), &desc), KOLK_OK);
    disturb = NULL;
    assert_true(kolk_ipc_is_owned(&other.view, other.object));
    assert_int_equal(kolk_ipc_count(&pool), 1);
    kolk_ipc_deinit(&other.view);
    end_ipc(&pool);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_loop_ends),         cmocka_unit_test(test_corruption_is_a_status),
        cmocka_unit_test(test_corruption_ends_waits),  cmocka_unit_test(test_others_are_faster),
        cmocka_unit_test(test_a_late_push_finds_room), cmocka_unit_test(test_what_is_new_is_no_orphan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
