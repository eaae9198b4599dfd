/* threads.c: the checks of `kolk doctor` that use threads: the queue, the shared pool and the resource pool. */
#define _POSIX_C_SOURCE 200809L
#include "doctor.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>

#include <kolk/kolk.h>

/* Sleeps long enough, usually, for a thread that has just been started to fall asleep. */
static void nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* ---- The queue --------------------------------------------------------------------------------------------------- */

static void *pop_it(void *argument) {
    int item = 0;
    return kolk_queue_pop((kolk_queue *)argument, &item, KOLK_FOREVER) == KOLK_OK && item == 42 ? argument : NULL;
}

/* Checks that a thread sleeping on an empty queue wakes at a push or at its deadline, and that a thread that polls is
 * notified. */
void doctor_look_at_queue(doctor_finding *finding) {
    kolk_queue queue;
    kolk_queue_desc desc = {.name = "doctor", .item_size = sizeof(int), .capacity = 1};
    kolk_status status = kolk_queue_init(&queue, &desc);
    if (status != KOLK_OK) {
        doctor_find(finding, DOCTOR_NO, "a small queue: %s", kolk_status_text(status));
        return;
    }
    int item = 42;
    pthread_t sleeper;
    void *woken = NULL;
    if (pthread_create(&sleeper, NULL, pop_it, &queue) != 0) {
        doctor_find(finding, DOCTOR_NO, "there is no thread to try it with");
        return;
    }
    nap();
    kolk_queue_push(&queue, &item, KOLK_FOREVER);
    pthread_join(sleeper, &woken);
    status = kolk_queue_pop(&queue, &item, kolk_deadline_after(5));
    struct pollfd poller = {.fd = kolk_queue_fd(&queue, KOLK_QUEUE_READABLE), .events = POLLIN};
    bool silent = poll(&poller, 1, 0) == 0;
    kolk_queue_push(&queue, &item, KOLK_NOW);
    bool told = poller.fd >= 0 && silent && poll(&poller, 1, 0) == 1;
    if (!woken || status != KOLK_TIMEOUT)
        doctor_find(finding, DOCTOR_NO, "%s",
                    woken ? "a deadline passed, and did not end the wait" : "an item was lost");
    else
        doctor_find(finding, told ? DOCTOR_YES : DOCTOR_PARTLY, "threads are woken, by items and by deadlines%s",
                    told ? ", and poll is told" : "; the system has no eventfd for poll");
}

/* ---- The shared pool --------------------------------------------------------------------------------------------- */

/* Waits for an object and frees it. Returns NULL if there was none. Does not deinitialise the thread's local. */
static void *free_one(void *argument) {
    kolk_shared_local local;
    if (kolk_shared_local_init(&local, argument) != KOLK_OK) return NULL;
    void *object = kolk_shared_alloc_wait(&local, KOLK_FOREVER);
    kolk_shared_free(&local, object);
    return object ? argument : NULL;
}

static void *use_own_local(void *argument) {
    kolk_shared_local *own = kolk_shared_local_of_thread(argument);
    return own && kolk_shared_local_of_thread(argument) == own ? argument : NULL;
}

static bool runs_well(void *(*act)(void *), kolk_shared *pool) {
    pthread_t thread;
    void *well = NULL;
    return pthread_create(&thread, NULL, act, pool) == 0 && pthread_join(thread, &well) == 0 && well;
}

/* The pool has room for two locals. If a thread has ended without a deinit, its local must become free again. So three
 * threads get one, one thread after the other. */
static void look_at_ends(doctor_finding *finding, kolk_shared *pool) {
    kolk_shared_local local;
    bool left = kolk_shared_local_init(&local, pool) == KOLK_OK;
    if (left) kolk_shared_local_deinit(&local);
    bool own = left && runs_well(use_own_local, pool) && runs_well(use_own_local, pool);
    doctor_find(finding, left && own ? DOCTOR_YES : DOCTOR_PARTLY,
                "threads free each other's objects and wait for them%s",
                !left ? "; one that ends without a deinit of its local keeps its place"
                : own ? ", and leave nothing behind when they end"
                      : "; the system has no keys for locals that come by themselves");
}

/* A thread that waits for an object of a full pool must be woken by a free or at its deadline. The handle of an object
 * that another thread has freed must be stale. */
static void look_at_sharing(doctor_finding *finding, kolk_shared *pool, kolk_shared_local *local) {
    void *last = kolk_shared_alloc(local), *more = last;
    pthread_t sleeper;
    void *woken = NULL;
    while (more && (more = kolk_shared_alloc(local)) != NULL) last = more;
    kolk_handle handle = kolk_shared_handle_of(pool, last);
    bool found = last && kolk_shared_get(pool, handle) == last;
    bool ended = !kolk_shared_alloc_wait(local, kolk_deadline_after(5));
    if (pthread_create(&sleeper, NULL, free_one, pool) != 0) {
        doctor_find(finding, DOCTOR_NO, "there is no thread to try it with");
        return;
    }
    nap();
    kolk_shared_free(local, last);
    pthread_join(sleeper, &woken);
    bool stale = found && !kolk_shared_get(pool, handle);
    if (!ended || !woken || !stale)
        doctor_find(finding, DOCTOR_NO, "%s",
                    !ended   ? "a deadline passed, and did not end the wait"
                    : !woken ? "an object was lost"
                             : "the handle of an object does not tell whether it is alive");
    else
        look_at_ends(finding, pool);
}

void doctor_look_at_shared(doctor_finding *finding) {
    kolk_shared pool;
    kolk_shared_local local;
    kolk_shared_desc desc = {.name = "doctor", .object_size = 64, .capacity = 1, .max_threads = 2};
    kolk_status status = kolk_shared_init(&pool, &desc);
    if (status == KOLK_OK) status = kolk_shared_local_init(&local, &pool);
    if (status != KOLK_OK)
        doctor_find(finding, DOCTOR_NO, "a small pool for two threads: %s", kolk_status_text(status));
    else
        look_at_sharing(finding, &pool, &local);
}

/* ---- The resource pool ------------------------------------------------------------------------------------------- */

static bool make_nothing(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key, (void)deadline, (void)error;
    *resource = context;
    return true;
}

/* A maker must create the only resource. One borrow gets it, and a second borrow must time out at its deadline. */
void doctor_look_at_resources(doctor_finding *finding) {
    kolk_resource_pool pool;
    kolk_resource_pool_desc desc = {
        .name = "doctor", .context = &pool, .create = make_nothing, .max = 1, .min_idle = 1};
    kolk_status status = kolk_resource_init(&pool, &desc);
    if (status != KOLK_OK) {
        doctor_find(finding, DOCTOR_NO, "a small pool: %s", kolk_status_text(status));
        return;
    }
    kolk_resource_pool_stats stats = {.idle = 0};
    for (int naps = 0; naps < 100 && stats.idle == 0; naps++) {
        nap();
        kolk_resource_stats(&pool, &stats);
    }
    kolk_borrowed first, second;
    kolk_borrow_desc soon = {.deadline = kolk_deadline_after(5)};
    bool lent = kolk_resource_borrow(&pool, &soon, &first) == KOLK_OK;
    status = kolk_resource_borrow(&pool, &soon, &second);
    kolk_resource_give_back(&pool, &first);
    bool back = kolk_resource_close(&pool, KOLK_NOW) == KOLK_OK;
    if (stats.idle == 0 || !lent || status != KOLK_TIMEOUT || !back)
        doctor_find(finding, DOCTOR_NO, "%s",
                    stats.idle == 0          ? "its maker made no resource ready"
                    : !lent                  ? "a resource was lost"
                    : status != KOLK_TIMEOUT ? "a deadline passed, and did not end the wait"
                                             : "what came back was not taken");
    else
        doctor_find(finding, DOCTOR_YES, "makers make resources ready, and deadlines end the wait for them");
}
