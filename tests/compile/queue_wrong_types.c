// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
// together: yes
// variant: PUSH_ANOTHER_TYPE
// variant: PUSH_AN_ITEM_ITSELF
// variant: PUSH_N_ANOTHER_TYPE
// variant: PUSH_TO_ANOTHER_QUEUE
// variant: POP_ANOTHER_TYPE
// variant: POP_N_ANOTHER_TYPE
// variant: POP_TO_A_CONSTANT discards
// variant: POP_FROM_ANOTHER_QUEUE
// variant: PUSH_A_POINTER_TO_AN_OBJECT
// variant: UNTYPED_QUEUE
// variant: A_POOL
/* Each variant uses something of one queue, or of a pool, as if it belonged to another queue. */
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

void use(jobs *j, answers *a, pointers *p, job_pool *pool, const job *one, job *two, answer *other, size_t n);

void use(jobs *j, answers *a, pointers *p, job_pool *pool, const job *one, job *two, answer *other, size_t n) {
    jobs_push(j, one, KOLK_NOW);
    jobs_pop(j, two, KOLK_NOW);
    jobs_push_n(j, one, &n, KOLK_NOW);
    pointers_push(p, &two, KOLK_NOW);
    answers_pop_n(a, other, &n, KOLK_NOW);
    job_pool_clear(pool);
#ifdef PUSH_ANOTHER_TYPE
    jobs_push(j, other, KOLK_NOW);
#endif
#ifdef PUSH_AN_ITEM_ITSELF
    jobs_push(j, *one, KOLK_NOW);
#endif
#ifdef PUSH_N_ANOTHER_TYPE
    jobs_push_n(j, other, &n, KOLK_NOW);
#endif
#ifdef PUSH_TO_ANOTHER_QUEUE
    answers_push(j, other, KOLK_NOW);
#endif
#ifdef POP_ANOTHER_TYPE
    jobs_pop(j, other, KOLK_NOW);
#endif
#ifdef POP_N_ANOTHER_TYPE
    jobs_pop_n(j, other, &n, KOLK_NOW);
#endif
#ifdef POP_TO_A_CONSTANT
    jobs_pop(j, one, KOLK_NOW);
#endif
#ifdef POP_FROM_ANOTHER_QUEUE
    jobs_pop(a, two, KOLK_NOW);
#endif
#ifdef PUSH_A_POINTER_TO_AN_OBJECT
    pointers_push(p, two, KOLK_NOW);
#endif
#ifdef UNTYPED_QUEUE
    jobs_close(&j->queue);
#endif
#ifdef A_POOL
    jobs_clear(pool);
#endif
}
