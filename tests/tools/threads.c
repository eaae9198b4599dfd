/* Runs four threads at a time, each with pools of its own, then a fork; tools must find no mistake. The argument states
 * where the objects come from: threads bypassed|plain. */
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
    jobs pool;
    REQUIRE(jobs_init(&pool, &(kolk_pool_desc){.name = "forked", .capacity = CAPACITY}) == KOLK_OK);
    fork_with(&pool);
    jobs_deinit(&pool);
    return 0;
}
