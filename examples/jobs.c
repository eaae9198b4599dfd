#include "kolk.h"
#include <pthread.h>
#include <stdio.h>

struct job {
    int number;
};
KOLK_SHARED_TYPE(jobs, struct job)       /* a pool for many threads */
KOLK_QUEUE_TYPE(job_queue, struct job *) /* pointers to its objects */

static jobs pool;
static job_queue queue;

static void *work(void *sum) {
    jobs_local local; /* a thread's way into the pool */
    if (jobs_local_init(&local, &pool) != KOLK_OK) return NULL;
    for (struct job *job; job_queue_pop(&queue, &job, KOLK_FOREVER) == KOLK_OK;) { /* until it is closed and empty */
        *(long *)sum += job->number;
        jobs_free(&local, job); /* any thread may free it */
    }
    jobs_local_deinit(&local);
    return sum;
}

int main(void) {
    long sum = 0;
    pthread_t worker;
    jobs_local local;
    if (jobs_init(&pool, &(kolk_shared_desc){.name = "jobs", .capacity = 100}) != KOLK_OK) return 1;
    if (job_queue_init(&queue, &(kolk_queue_desc){.name = "jobs", .capacity = 16}) != KOLK_OK) return 1;
    if (jobs_local_init(&local, &pool) != KOLK_OK || pthread_create(&worker, NULL, work, &sum) != 0) return 1;
    for (int n = 1; n <= 1000; n++) {
        struct job *job = jobs_alloc_wait(&local, KOLK_FOREVER); /* jobs_alloc: NULL if all 100 are in use */
        job->number = n;
        job_queue_push(&queue, &job, KOLK_FOREVER);
    }
    job_queue_close(&queue);
    pthread_join(worker, NULL);
    printf("the sum is %ld, and %u jobs are alive\n", sum, jobs_count(&pool));
    jobs_local_deinit(&local);
    job_queue_deinit(&queue);
    jobs_deinit(&pool);
}
