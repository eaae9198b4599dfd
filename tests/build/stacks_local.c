/* A faulty alloc, in a function into which the compiler inlines a typed alloc; the functions that the typed alloc calls
 * need not be inlined. */
#include <kolk/kolk.h>

struct job {
    int number;
};
KOLK_SHARED_TYPE(jobs, struct job)

static jobs pool;

__attribute__((noinline)) static struct job *take(jobs_local *local) {
    struct job *job = jobs_alloc(local);
    if (job) job->number = 1; /* so that the call is not a tail call */
    return job;
}

int main(void) {
    jobs_local local;
    if (jobs_init(&pool, &(kolk_shared_desc){.name = "jobs", .capacity = 1000}) != KOLK_OK) return 0;
    if (jobs_local_init(&local, &pool) != KOLK_OK || !take(&local)) return 0;
    jobs_deinit(&pool);
    return take(&local) != 0;
}
