// expect: error: (incompatible|assignment to)
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
/* Each WRONG line uses something of one shared pool as if it belonged to another. */
#include <kolk/kolk.h>

typedef struct job {
    int number;
} job;
typedef struct answer {
    double value;
} answer;

KOLK_SHARED_TYPE(jobs, job)
KOLK_SHARED_TYPE(answers, answer)

void use(jobs *j, jobs_local *local, answers *a, answers_local *other, kolk_shared *untyped, job *one, answer *two) {
    one = jobs_alloc(local);
    jobs_free(local, one);
    two = answers_alloc_wait(other, KOLK_NOW);
    answers_free_later(other, two);
    answers_handle handle = answers_handle_of(a, two);
    kolk_shared_each(untyped);
    jobs_each(j);
    WRONG(two = jobs_alloc(local));
    WRONG(one = jobs_alloc(j));
    WRONG(two = jobs_alloc_wait(local, KOLK_NOW));
    WRONG(jobs_free(local, two));
    WRONG(jobs_free(other, one));
    WRONG(jobs_free_later(local, two));
    WRONG(jobs_local_init(local, a));
    WRONG(local = answers_local_of_thread(a));
    WRONG(jobs_get(j, handle));
    WRONG(jobs_count(untyped));
    (void)handle;
}
