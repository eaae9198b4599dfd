/* runs: long not:wine not:qemu with: KOLK_CHAOS=1 */
/* Every loop of a call ends, even if another process undoes each step before the next one: before every atomic
 * operation, `disturb` writes into the block. Each call returns, and reports KOLK_CORRUPT or that there is nothing. */
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

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_loop_ends),
        cmocka_unit_test(test_corruption_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
