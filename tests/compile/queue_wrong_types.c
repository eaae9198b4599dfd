// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
/* Each WRONG line uses something of one queue, or of a pool, as if it belonged to another queue. */
#include <kolk/kolk.h>

typedef struct job {
    int number;
} job;
typedef struct answer {
    double value;
} answer;

KOLK_QUEUE_TYPE(jobs, job)
KOLK_QUEUE_TYPE(answers, answer)
KOLK_QUEUE_TYPE(pointers, job *)
KOLK_POOL_TYPE(job_pool, job)

void use(jobs *j, answers *a, pointers *p, job_pool *pool, const job *one, job *two, answer *other, size_t n) {
    jobs_push(j, one, KOLK_NOW);
    jobs_pop(j, two, KOLK_NOW);
    jobs_push_n(j, one, &n, KOLK_NOW);
    pointers_push(p, &two, KOLK_NOW);
    answers_pop_n(a, other, &n, KOLK_NOW);
    job_pool_clear(pool);
    WRONG(jobs_push(j, other, KOLK_NOW));
    WRONG(jobs_push(j, *one, KOLK_NOW));
    WRONG(jobs_push_n(j, other, &n, KOLK_NOW));
    WRONG(answers_push(j, other, KOLK_NOW));
    WRONG(jobs_pop(j, other, KOLK_NOW));
    WRONG(jobs_pop_n(j, other, &n, KOLK_NOW));
    WRONG(jobs_pop(j, one, KOLK_NOW)); // discards
    WRONG(jobs_pop(a, two, KOLK_NOW));
    WRONG(pointers_push(p, two, KOLK_NOW));
    WRONG(jobs_close(&j->queue));
    WRONG(jobs_clear(pool));
}
