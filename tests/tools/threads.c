/* Runs four threads at a time, each with pools of its own, then four that ask the same pools, then a fork; tools must
 * find no mistake. The argument states where the objects come from: threads bypassed|plain. */
#define _POSIX_C_SOURCE 200809L
#include <kolk/kolk.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS  4
#define CAPACITY 100u

typedef struct job {
    uint64_t sum;
    char text[24];
} job;

KOLK_POOL_TYPE(jobs, job)
KOLK_SLOTMAP_TYPE(packed_jobs, job)
KOLK_BYTEMAP_TYPE(numbered_jobs, job)

static bool bypassed;

static void require(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "threads: not so: %s\n", what);
    abort();
}
#define REQUIRE(what) require((what), #what)

static void churn(jobs *pool) {
    job *alive[CAPACITY] = {NULL};
    for (unsigned i = 0; i < 2000; i++) {
        unsigned at = i * 37 % CAPACITY;
        if (alive[at]) {
            REQUIRE(strcmp(alive[at]->text, "at work") == 0);
            jobs_free(pool, alive[at]);
            alive[at] = NULL;
        } else {
            alive[at] = jobs_alloc(pool);
            REQUIRE(alive[at]);
            *alive[at] = (job){i, "at work"};
            REQUIRE(jobs_get(pool, jobs_handle_of(pool, alive[at])) == alive[at]);
        }
    }
    KOLK_EACH(jobs, each, pool) each->sum++;
}

static void *work(void *unused) {
    for (unsigned n = 0; n < 6; n++) {
        jobs pool;
        kolk_stats stats;
        kolk_pool_desc desc = {.name = "jobs", .max_capacity = CAPACITY, .reuse = (kolk_reuse)(n % 3)};
        REQUIRE(jobs_init(&pool, &desc) == KOLK_OK);
        churn(&pool);
        jobs_stats(&pool, &stats);
        REQUIRE(!(stats.debug & KOLK_DEBUG_BYPASS) == !bypassed);
        jobs_clear(&pool);
        jobs_deinit(&pool);
    }
    return unused;
}

/* ---- Many threads ask: all functions that take a const pool ------------------------------------------------------ */

typedef struct asked {
    jobs pool;
    packed_jobs map;
    numbered_jobs bytemap;
    jobs_handle handles[CAPACITY];
    packed_jobs_handle packed_handles[CAPACITY];
    int32_t numbers[CAPACITY];
} asked;

static void fill(asked *all) {
    for (uint32_t i = 0; i < CAPACITY; i++) {
        job *object = jobs_alloc(&all->pool), *packed = packed_jobs_add(&all->map, &all->packed_handles[i]);
        job *numbered = numbered_jobs_new(&all->bytemap);
        REQUIRE(object && packed && numbered);
        object->sum = packed->sum = numbered->sum = i;
        all->handles[i] = jobs_handle_of(&all->pool, object);
        all->numbers[i] = numbered_jobs_get_index(&all->bytemap, numbered);
    }
    for (uint32_t i = 0; i < CAPACITY; i += 3) {
        REQUIRE(jobs_free_handle(&all->pool, all->handles[i]));
        REQUIRE(packed_jobs_remove(&all->map, all->packed_handles[i]));
        numbered_jobs_delete(&all->bytemap, numbered_jobs_get_at(&all->bytemap, all->numbers[i]));
    }
}

static void ask_of_each(const asked *all, uint32_t i) {
    bool alive = i % 3 != 0;
    const job *object = jobs_get(&all->pool, all->handles[i]);
    const job *packed = packed_jobs_get(&all->map, all->packed_handles[i]);
    const job *numbered = numbered_jobs_get_at(&all->bytemap, all->numbers[i]);
    REQUIRE((object != NULL) == alive && (packed != NULL) == alive && (numbered != NULL) == alive);
    REQUIRE(jobs_at(&all->pool, i) == object && jobs_is_live(&all->pool, object) == alive);
    REQUIRE(numbered_jobs_get_slot(&all->bytemap, (int32_t)i) == numbered);
    if (!alive) return;
    REQUIRE(object->sum == i && packed->sum == i && numbered->sum == i);
    REQUIRE(jobs_index(&all->pool, object) == i && packed_jobs_slot(&all->map, all->packed_handles[i]) == i);
    REQUIRE(packed_jobs_at(&all->map, packed_jobs_index(&all->map, packed)) == packed);
}

/* The debug mode reports a handle of another pool. */
static void ignore_wrong_pool(const kolk_failure *failure, void *context) {
    (void)context;
    REQUIRE(failure->rule == KOLK_WRONG_POOL);
}

static void *ask(void *argument) {
    const asked *all = (const asked *)argument;
    kolk_handle foreign = kolk_handle_unpack(UINT64_C(1) << 32 | 0x12345);
    for (unsigned round = 0; round < 5; round++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < CAPACITY; i++) ask_of_each(all, i);
        KOLK_EACH(jobs, each, &all->pool) n += jobs_is_live(&all->pool, each);
        KOLK_EACH(packed_jobs, each, &all->map) n += each->sum < CAPACITY;
        for (job *each = NULL; (each = numbered_jobs_next(&all->bytemap, each)) != NULL;) n += each->sum < CAPACITY;
        REQUIRE(n == jobs_count(&all->pool) + packed_jobs_count(&all->map) +
                         (uint32_t)numbered_jobs_used_count(&all->bytemap));
        REQUIRE(!kolk_pool_get(&all->pool.pool, foreign) && !kolk_slotmap_get(&all->map.map, foreign));
        REQUIRE(kolk_pool_is_valid(&all->pool.pool) && kolk_slotmap_is_valid(&all->map.map));
        REQUIRE(kolk_bytemap_is_valid(&all->bytemap.pool));
    }
    return NULL;
}

/* promise: pool.h "take a const pool while no other function runs"; slotmap.h "take a const map while no other function
 * runs"; bytemap.h "take a const pool while no other function runs" */
static void ask_by_threads(void) {
    static asked all;
    pthread_t threads[THREADS];
    REQUIRE(jobs_init(&all.pool, &(kolk_pool_desc){.name = "asked", .capacity = CAPACITY}) == KOLK_OK);
    REQUIRE(packed_jobs_init(&all.map, &(kolk_slotmap_desc){.name = "packed", .capacity = CAPACITY}) == KOLK_OK);
    REQUIRE(numbered_jobs_initialise(&all.bytemap, CAPACITY) == KOLK_OK);
    fill(&all);
    kolk_set_failure_handler(ignore_wrong_pool, NULL);
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, ask, &all) == 0);
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    kolk_set_failure_handler(NULL, NULL);
    jobs_clear(&all.pool);
    packed_jobs_clear(&all.map);
    numbered_jobs_clear(&all.bytemap);
    jobs_deinit(&all.pool);
    packed_jobs_deinit(&all.map);
    numbered_jobs_flush(&all.bytemap);
}

/* ---- A fork ------------------------------------------------------------------------------------------------------ */

/* promise: base.h "a child may use a pool if no other thread" */
static void fork_with(jobs *pool) {
    job *object = jobs_alloc(pool);
    *object = (job){17, "before the fork"};
    pid_t child = fork();
    REQUIRE(child >= 0);
    REQUIRE(object->sum == 17 && strcmp(object->text, "before the fork") == 0);
    jobs_free(pool, object);
    work(NULL);
    if (child == 0) return;
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int count, char **words) {
    pthread_t threads[THREADS];
    bypassed = count == 2 && strcmp(words[1], "bypassed") == 0;
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    ask_by_threads();
    jobs pool;
    REQUIRE(jobs_init(&pool, &(kolk_pool_desc){.name = "forked", .capacity = CAPACITY}) == KOLK_OK);
    fork_with(&pool);
    jobs_deinit(&pool);
    return 0;
}
