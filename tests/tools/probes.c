/* Makes every probe fire, and prints the arguments that each must have. Exits with 77 if the library was built without
 * probes. */
#include <kolk/kolk.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(truth) ((truth) ? (void)0 : (printf("not so: %s\n", #truth), exit(1)))

static kolk_pool pool;

static void *alloc(void) {
    void *object = kolk_pool_alloc(&pool);
    if (object) printf("alloc sparks %p 40\n", object);
    return object;
}

static void use_queue(void) {
    static kolk_queue jobs;
    const kolk_queue_desc desc = {.name = "jobs", .item_size = 4, .capacity = 1};
    int item = 0;
    REQUIRE(kolk_queue_init(&jobs, &desc) == KOLK_OK);
    puts("init jobs queue");
    REQUIRE(kolk_queue_pop(&jobs, &item, KOLK_NOW) == KOLK_EMPTY);
    puts("empty jobs");
    REQUIRE(kolk_queue_pop(&jobs, &item, kolk_deadline_after(5)) == KOLK_TIMEOUT);
    printf("wait jobs pop\nwaited jobs pop %d\n", KOLK_TIMEOUT);
    REQUIRE(kolk_queue_push(&jobs, &item, KOLK_NOW) == KOLK_OK);
    REQUIRE(kolk_queue_push(&jobs, &item, KOLK_NOW) == KOLK_FULL);
    puts("full jobs 1");
    REQUIRE(kolk_queue_push(&jobs, &item, kolk_deadline_after(5)) == KOLK_TIMEOUT);
    printf("wait jobs push\nwaited jobs push %d\n", KOLK_TIMEOUT);
    kolk_queue_deinit(&jobs);
    puts("deinit jobs");
}

static void use_shared(void) {
    static kolk_shared tickets;
    kolk_shared_local local;
    const kolk_shared_desc desc = {.name = "tickets", .object_size = 8, .capacity = 1};
    REQUIRE(kolk_shared_init(&tickets, &desc) == KOLK_OK && kolk_shared_local_init(&local, &tickets) == KOLK_OK);
    puts("init tickets shared");
    REQUIRE(kolk_shared_alloc(&local) && !kolk_shared_alloc_wait(&local, kolk_deadline_after(5)));
    printf("wait tickets alloc\nwaited tickets alloc %d\nfull tickets 1\n", KOLK_TIMEOUT);
    kolk_shared_local_deinit(&local);
    kolk_shared_deinit(&tickets);
    puts("deinit tickets");
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key, (void)deadline, (void)error;
    *resource = context;
    return true;
}

static void ignore(const kolk_failure *failure, void *context) {
    (void)failure, (void)context;
}

static void use_resources(void) {
    static kolk_resource_pool links;
    kolk_borrowed first, second;
    const kolk_borrow_desc now = {.deadline = KOLK_NOW};
    const kolk_resource_pool_desc desc = {
        .name = "links", .context = &links, .create = create, .max = 1, .no_housekeeper = true, .leak_after_ms = 1};
    REQUIRE(kolk_resource_init(&links, &desc) == KOLK_OK);
    puts("init links resource");
    REQUIRE(kolk_resource_borrow(&links, &now, &first) == KOLK_OK);
    REQUIRE(kolk_resource_borrow(&links, &now, &second) == KOLK_FULL);
    puts("full links 1");
    REQUIRE(kolk_resource_borrow(&links, &(kolk_borrow_desc){.deadline = kolk_deadline_after(5)}, &second) ==
            KOLK_TIMEOUT);
    printf("wait links borrow\nwaited links borrow %d\n", KOLK_TIMEOUT);
    kolk_set_failure_handler(ignore, NULL);
    kolk_resource_tick(&links, KOLK_NOW);
    puts("leak links");
    kolk_resource_give_back(&links, &first);
    kolk_resource_deinit(&links);
    puts("deinit links");
}

static void use_heap(void) {
    static kolk_heap level;
    const kolk_heap_desc desc = {.name = "level", .limit = 65536};
    if (kolk_heap_init(&level, &desc) != KOLK_OK) return; /* on 32 bits */
    puts("init level heap");
    REQUIRE(!kolk_heap_alloc(&level, 1 << 20));
    puts("full level 65536");
    kolk_heap_deinit(&level);
    puts("deinit level");
}

int main(void) {
    if (!(kolk_features() & KOLK_HAS_PROBES)) return 77;
    kolk_pool_desc desc = {.name = "sparks", .object_size = 40, .capacity = 2, .max_capacity = 3};
    if (kolk_pool_init(&pool, &desc) != KOLK_OK) return 1;
    puts("init sparks pool");
    void *first = alloc();
    kolk_handle handle = kolk_pool_handle_of(&pool, first);
    void *second = alloc();
    puts("grow sparks 2 3");
    void *third = alloc();
    if (alloc()) return 1;
    puts("full sparks 3");
    kolk_pool_free(&pool, first);
    printf("free sparks %p\n", first);
    if (kolk_pool_get(&pool, handle)) return 1;
    printf("stale_handle sparks %" PRIx64 "\n", handle.bits);
    if (kolk_pool_get(&pool, (kolk_handle){0})) return 1; /* the null handle does not count as stale */
    kolk_pool_deinit(&pool);
    printf("deinit sparks\nfree sparks %p\nfree sparks %p\n", second, third);
    use_queue();
    use_shared();
    use_resources();
    use_heap();
    return 0;
}
