// expect: error: (incompatible|assignment to)
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
// together: yes
// variant: ALLOC_ANOTHER_TYPE
// variant: ALLOC_OF_THE_POOL
// variant: WAIT_FOR_ANOTHER_TYPE
// variant: FREE_ANOTHER_TYPE
// variant: FREE_TO_ANOTHER_POOL
// variant: FREE_LATER_ANOTHER_TYPE
// variant: LOCAL_OF_ANOTHER_POOL
// variant: OWN_LOCAL_OF_ANOTHER_POOL
// variant: HANDLE_OF_ANOTHER_POOL
// variant: UNTYPED_POOL
/* Each variant uses something of one shared pool as if it belonged to another. */
#include <kolk/kolk.h>

typedef struct job {
    int number;
} job;
typedef struct answer {
    double value;
} answer;

KOLK_SHARED_TYPE(jobs, job)
KOLK_SHARED_TYPE(answers, answer)

void use(jobs *j, jobs_local *local, answers *a, answers_local *other, kolk_shared *untyped, job *one, answer *two);

void use(jobs *j, jobs_local *local, answers *a, answers_local *other, kolk_shared *untyped, job *one, answer *two) {
    one = jobs_alloc(local);
    jobs_free(local, one);
    two = answers_alloc_wait(other, KOLK_NOW);
    answers_free_later(other, two);
    answers_handle handle = answers_handle_of(a, two);
    kolk_shared_each(untyped);
    jobs_each(j);
#ifdef ALLOC_ANOTHER_TYPE
    two = jobs_alloc(local);
#endif
#ifdef ALLOC_OF_THE_POOL
    one = jobs_alloc(j);
#endif
#ifdef WAIT_FOR_ANOTHER_TYPE
    two = jobs_alloc_wait(local, KOLK_NOW);
#endif
#ifdef FREE_ANOTHER_TYPE
    jobs_free(local, two);
#endif
#ifdef FREE_TO_ANOTHER_POOL
    jobs_free(other, one);
#endif
#ifdef FREE_LATER_ANOTHER_TYPE
    jobs_free_later(local, two);
#endif
#ifdef LOCAL_OF_ANOTHER_POOL
    jobs_local_init(local, a);
#endif
#ifdef OWN_LOCAL_OF_ANOTHER_POOL
    local = answers_local_of_thread(a);
#endif
#ifdef HANDLE_OF_ANOTHER_POOL
    jobs_get(j, handle);
#endif
#ifdef UNTYPED_POOL
    jobs_count(untyped);
#endif
    (void)handle;
}
