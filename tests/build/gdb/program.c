/* Pools, slot maps, shared pools, pools between processes, queues, resource pools and heaps in every state that gdb
 * prints, when stop() is called. */
#define _GNU_SOURCE
#include <kolk/kolk.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct bullet {
    int32_t x, speed;
};
KOLK_POOL_TYPE(bullets, struct bullet)
KOLK_POOL_TYPE(numbers, int32_t)
KOLK_SLOTMAP_TYPE(packs, struct bullet)
KOLK_SHARED_TYPE(jobs, struct bullet)
KOLK_SHARED_TYPE(counts, int32_t)
KOLK_IPC_TYPE(frames, struct bullet)
KOLK_QUEUE_TYPE(orders, struct bullet)
KOLK_QUEUE_TYPE(letters, char *)
KOLK_RESOURCE_TYPE(files, struct bullet)

/* Global, so that gdb finds them at any optimisation. */
extern bullets shots, before_init, guarded, malformed;
extern numbers cells;
extern kolk_pool sparks, plain, bytes;
extern bullets_handle gone, kept, null;
extern kolk_handle spark;
extern struct bullet *kept_object;
extern packs bodies, moving, no_map, malformed_map;
extern kolk_slotmap loose;
extern packs_handle last, removed, packed_null;
extern kolk_handle second;
extern jobs work, no_work, malformed_work, guarded_work;
extern jobs_local mine, no_local, others, malformed_local;
extern counts small;
extern jobs_handle job, done;
extern frames between, no_frames, malformed_frames, watched;
extern frames_handle frame, ended_frame;
extern kolk_ipc lost;
extern orders buys, sells, no_orders, malformed_orders;
extern letters post;
extern kolk_queue moved, shut;
extern void *torn;
extern files servers, no_servers;
extern kolk_resource_pool nameless, tasks, ended;
extern kolk_heap level, no_heap, malformed_heap;
extern const char *const too_long;
void stop(void);

bullets shots, before_init, guarded, malformed;
numbers cells;
kolk_pool sparks, plain, bytes;
bullets_handle gone, kept, null;
kolk_handle spark;
struct bullet *kept_object;
packs bodies, moving, no_map, malformed_map;
kolk_slotmap loose;
packs_handle last, removed, packed_null;
kolk_handle second;
jobs work, no_work, malformed_work, guarded_work;
jobs_local mine, no_local, others, malformed_local;
counts small;
jobs_handle job, done;
frames between, no_frames, malformed_frames, watched;
frames_handle frame, ended_frame;
kolk_ipc lost;
orders buys, sells, no_orders, malformed_orders;
letters post;
kolk_queue moved, shut;
void *torn;
files servers, no_servers;
kolk_resource_pool nameless, tasks, ended;
kolk_heap level, no_heap, malformed_heap;
const char *const too_long = "a name that is as long as this one can't be the name of a pool, so it ends";

static KOLK_POOL_STORAGE(struct bullet, 256) shot_memory;
static _Alignas(8) unsigned char spark_memory[4096];
static KOLK_SLOTMAP_STORAGE(struct bullet, 16) body_memory;
static _Alignas(8) unsigned char loose_memory[72];

__attribute__((noinline)) void stop(void) {
    __asm__ volatile("" ::: "memory");
}

/* Of 17 objects, those in slots 4 and 12 are left; slot 16 has its second object. */
static bool make_shots(void) {
    struct bullet *all[17];
    kolk_pool_desc desc = {
        .name = "bullets", .capacity = 256, .memory = &shot_memory, .memory_size = sizeof shot_memory};
    if (bullets_init(&shots, &desc) != KOLK_OK) return false;
    for (int32_t i = 0; i < 17; i++) {
        all[i] = bullets_alloc(&shots);
        if (!all[i]) return false;
        *all[i] = (struct bullet){.x = i, .speed = -i};
    }
    gone = bullets_handle_of(&shots, all[16]);
    for (int32_t i = 0; i < 17; i++)
        if (i != 4 && i != 12) bullets_free(&shots, all[i]);
    kept_object = bullets_alloc(&shots);
    if (!kept_object) return false;
    *kept_object = (struct bullet){.x = 100, .speed = 1};
    kept = bullets_handle_of(&shots, kept_object);
    return true;
}

/* The pool is full: the third object was refused. */
static bool make_sparks(void) {
    kolk_pool_desc desc = {.name = "a \"spark\"\n", .object_size = 24, .capacity = 2, .reuse = KOLK_REUSE_FIFO};
    desc.memory = spark_memory;
    desc.memory_size = sizeof spark_memory;
    if (kolk_pool_init(&sparks, &desc) != KOLK_OK) return false;
    void *first = kolk_pool_alloc(&sparks);
    void *second = kolk_pool_alloc(&sparks);
    if (!first || !second) return false;
    spark = kolk_pool_handle_of(&sparks, second);
    return kolk_pool_alloc(&sparks) == NULL;
}

/* Two objects are alive, far apart. */
static bool make_cells(void) {
    kolk_pool_desc desc = {.capacity = 70001, .max_capacity = 1000000, .reuse = KOLK_REUSE_LOWEST};
    if (numbers_init(&cells, &desc) != KOLK_OK) return false;
    for (int32_t i = 0; i < 70001; i++) {
        int32_t *number = numbers_alloc(&cells);
        if (!number) return false;
        *number = i;
    }
    KOLK_EACH(numbers, each, &cells)
        if (*each != 63 && *each != 70000) numbers_free(&cells, each);
    return true;
}

static bool make_others(void) {
    /* Both have used a second slot though one was enough. */
    kolk_pool_desc desc = {.object_size = 100, .capacity = 10, .reuse = KOLK_REUSE_FIFO};
    desc.generations = KOLK_GENERATIONS_NONE;
    if (kolk_pool_init(&plain, &desc) != KOLK_OK) return false;
    for (int i = 0; i < 2; i++) kolk_pool_free(&plain, kolk_pool_alloc(&plain));
    kolk_pool_desc guard = {.name = "guarded", .capacity = 8, .debug = "guard,quarantine=4"};
    if (bullets_init(&guarded, &guard) != KOLK_OK) return false;
    bullets_free(&guarded, bullets_alloc(&guarded));
    struct bullet *second = bullets_alloc(&guarded);
    if (!second) return false;
    *second = (struct bullet){.x = 7, .speed = 8};
    malformed = shots;
    memset(&bytes, 0xa5, sizeof bytes);
    return true;
}

/* Of five objects the first was removed, so the last one is now in its place. */
static bool fill_packs(packs *map, const kolk_slotmap_desc *desc) {
    packs_handle handles[5];
    if (packs_init(map, desc) != KOLK_OK) return false;
    for (int32_t i = 0; i < 5; i++) {
        struct bullet *object = packs_add(map, &handles[i]);
        if (!object) return false;
        *object = (struct bullet){.x = i, .speed = -i};
    }
    last = handles[4];
    removed = handles[0];
    return packs_remove(map, removed);
}

/* The map `loose` is full: the third object was refused. */
static bool make_maps(void) {
    kolk_slotmap_desc grows = {.name = "moving", .capacity = 10, .max_capacity = 100000, .debug = "move"};
    kolk_slotmap_desc lent = {.name = "bodies", .memory = &body_memory, .memory_size = sizeof body_memory};
    kolk_slotmap_desc full = {.object_size = 24, .memory = loose_memory, .memory_size = sizeof loose_memory};
    if (!fill_packs(&moving, &grows) || !fill_packs(&bodies, &lent)) return false;
    if (kolk_slotmap_init(&loose, &full) != KOLK_OK) return false;
    if (!kolk_slotmap_add(&loose, NULL) || !kolk_slotmap_add(&loose, &second)) return false;
    malformed_map = bodies;
    return kolk_slotmap_add(&loose, NULL) == NULL;
}

/* Of five objects the second and the last were freed; the pool `small` is full. */
static bool make_shared(void) {
    struct bullet *all[5];
    kolk_shared_desc desc = {.name = "jobs", .capacity = 12, .max_threads = 3, .cache = 4};
    if (jobs_init(&work, &desc) != KOLK_OK || jobs_local_init(&mine, &work) != KOLK_OK) return false;
    for (int32_t i = 0; i < 5; i++) {
        all[i] = jobs_alloc(&mine);
        if (!all[i]) return false;
        *all[i] = (struct bullet){.x = i, .speed = -i};
    }
    job = jobs_handle_of(&work, all[3]);
    done = jobs_handle_of(&work, all[1]);
    jobs_free(&mine, all[1]);
    jobs_free(&mine, all[4]);
    malformed_work = work;
    kolk_shared_desc guard = {.capacity = 8, .max_threads = 2, .debug = "guard,quarantine=4"};
    if (jobs_init(&guarded_work, &guard) != KOLK_OK || jobs_local_init(&others, &guarded_work) != KOLK_OK) return false;
    for (int32_t i = 0; i < 3; i++) {
        all[i] = jobs_alloc(&others);
        if (!all[i]) return false;
        *all[i] = (struct bullet){.x = i, .speed = i};
    }
    jobs_free(&others, all[0]);
    jobs_offline(&others);
    malformed_local = others;
    counts_local local;
    kolk_shared_desc full = {.name = "small", .capacity = 2, .max_threads = 1, .generations = KOLK_GENERATIONS_NONE};
    if (counts_init(&small, &full) != KOLK_OK || counts_local_init(&local, &small) != KOLK_OK) return false;
    for (int32_t i = 0; i < 2; i++) {
        int32_t *count = counts_alloc(&local);
        if (!count) return false;
        *count = 10 + i;
    }
    return !counts_alloc(&local);
}

/* Pushes two objects and keeps a third. */
static bool use_frames(char *name, int32_t first) {
    program_invocation_short_name = name;
    for (int32_t i = 0; i < 3; i++) {
        struct bullet *object = frames_alloc(&between);
        if (!object) return false;
        *object = (struct bullet){.x = first + i, .speed = -1};
        if (i < 2 && frames_push(&between, 1, object, KOLK_NOW) != KOLK_OK) return false;
    }
    return true;
}

/* A child that dies, and one that is stopped until this process ends, have each pushed two objects and kept one. That
 * of the dead is an orphan. */
static bool make_frames(void) {
    int status;
    char path[32];
    struct bullet *all[3];
    kolk_ipc_desc desc = {.name = "frames", .capacity = 20, .queues = 3, .max_processes = 4, .orphans = KOLK_IPC_KEEP};
    program_invocation_short_name = (char *)"maker";
    if (frames_init(&between, &desc) != KOLK_OK) return false;
    for (int i = 0; i < 3; i++) {
        all[i] = frames_alloc(&between);
        if (!all[i]) return false;
        *all[i] = (struct bullet){.x = i, .speed = i};
    }
    frame = frames_handle_of(&between, all[1]);
    ended_frame = frames_handle_of(&between, all[0]);
    frames_free(&between, all[0]);
    frames_close(&between, 2);
    pid_t dead = fork();
    if (dead == 0) _exit(use_frames((char *)"dead", 100) ? 0 : 1);
    if (waitpid(dead, &status, 0) != dead || status != 0 || frames_recover(&between) == 0) return false;
    pid_t helper = fork();
    if (helper == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!use_frames((char *)"helper", 200)) _exit(1);
        raise(SIGSTOP); /* for ever */
    }
    if (waitpid(helper, &status, WUNTRACED) != helper || !WIFSTOPPED(status)) return false;
    malformed_frames = between;
    snprintf(path, sizeof path, "/proc/self/fd/%d", frames_fd(&between));
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (frames_attach(&watched, file, &(kolk_ipc_desc){.name = "frames"}) != KOLK_OK) return false;
    close(file);
    /* This one is not in a core dump. */
    if (kolk_ipc_init(&lost, &(kolk_ipc_desc){.object_size = 8, .capacity = 2}) != KOLK_OK) return false;
    return kolk_ipc_alloc(&lost) && madvise(lost.block, lost.size, MADV_DONTDUMP) == 0;
}

static void wait_until(bool (*is_so)(void)) {
    while (!is_so()) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static bool begin(void *(*body)(void *)) {
    pthread_t thread;
    return pthread_create(&thread, NULL, body, NULL) == 0;
}

/* A waiter joins its list and sets `asleep` under the lock of its end. */
static bool has_a_sleeper(kolk_queue_end_ *end) {
    return __atomic_load_n(&end->asleep, __ATOMIC_ACQUIRE) && !__atomic_load_n(&end->lock, __ATOMIC_ACQUIRE);
}

static bool has_two_sleepers(kolk_queue_end_ *end) {
    kolk_wait_queue_ *waiters = &end->waiters;
    return has_a_sleeper(end) &&
           __atomic_load_n(&waiters->last, __ATOMIC_ACQUIRE) != __atomic_load_n(&waiters->first, __ATOMIC_ACQUIRE);
}

static bool buys_are_awaited(void) {
    return has_a_sleeper(&buys.queue.ends[0]);
}

static bool sells_are_awaited(void) {
    return has_two_sleepers(&sells.queue.ends[1]);
}

static void *buy(void *argument) {
    orders_push(&buys, &(struct bullet){.x = 5, .speed = 5}, KOLK_FOREVER);
    return argument;
}

static void *sell(void *argument) {
    struct bullet order;
    orders_pop(&sells, &order, KOLK_FOREVER);
    return argument;
}

/* One thread waits for room in the queue `buys`, in which items are before and behind the end of the ring. Two threads
 * wait for items of `sells`. */
static bool make_orders(void) {
    struct bullet order;
    if (orders_init(&buys, &(kolk_queue_desc){.name = "buys", .capacity = 3}) != KOLK_OK) return false;
    for (int32_t i = 0; i < 5; i++) {
        order = (struct bullet){.x = i, .speed = -i};
        if (orders_push(&buys, &order, KOLK_NOW) != KOLK_OK) return false;
        if (i < 2 && orders_pop(&buys, &order, KOLK_NOW) != KOLK_OK) return false;
    }
    if (orders_push(&buys, &order, KOLK_NOW) != KOLK_FULL || !begin(buy)) return false;
    wait_until(buys_are_awaited);
    malformed_orders = buys;
    if (orders_init(&sells, &(kolk_queue_desc){.name = "sells", .capacity = 5}) != KOLK_OK) return false;
    for (int i = 0; i < 2; i++)
        if (!begin(sell)) return false;
    wait_until(sells_are_awaited);
    return true;
}

static uint32_t moves;

static bool move_hangs(void) {
    return __atomic_load_n(&moves, __ATOMIC_ACQUIRE) == 2;
}

static void move_item(void *to, void *from, bool in, void *context) {
    (void)in, (void)context;
    memcpy(to, from, 12);
    if (__atomic_add_fetch(&moves, 1, __ATOMIC_ACQ_REL) == 2)
        while (true) pause();
}

static void *push_to_moved(void *argument) {
    kolk_queue_push(&moved, "of 12 bytes", KOLK_FOREVER);
    return argument;
}

/* The second of three items is being pushed. */
static bool make_moved(void) {
    kolk_queue_desc desc = {.item_size = 12, .capacity = 4, .move = move_item};
    if (kolk_queue_init(&moved, &desc) != KOLK_OK) return false;
    if (kolk_queue_push(&moved, "of 12 bytes", KOLK_NOW) != KOLK_OK || !begin(push_to_moved)) return false;
    wait_until(move_hangs);
    return kolk_queue_push(&moved, "of 12 bytes", KOLK_NOW) == KOLK_OK;
}

/* Memory of which nobody can read the second of three parts, of 64 KiB each: it lies behind the end of a file. */
static bool tear(void) {
    FILE *empty = tmpfile();
    torn = mmap(NULL, 3 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!empty || torn == MAP_FAILED) return false;
    return mmap((char *)torn + (1 << 16), 1 << 16, PROT_READ, MAP_SHARED | MAP_FIXED, fileno(empty), 0) != MAP_FAILED;
}

/* Queues that have ended: `post` is closed, `shut` is shut down. */
static bool make_ended_queues(void) {
    char *texts[] = {"first", "second"};
    if (letters_init(&post, &(kolk_queue_desc){.name = "post", .capacity = 1000}) != KOLK_OK) return false;
    for (int i = 0; i < 2; i++)
        if (letters_push(&post, &texts[i], KOLK_NOW) != KOLK_OK) return false;
    letters_close(&post);
    if (kolk_queue_init(&shut, &(kolk_queue_desc){.item_size = 1, .capacity = 1}) != KOLK_OK) return false;
    kolk_queue_shutdown(&shut);
    return true;
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)context, (void)key, (void)deadline, (void)error;
    *resource = &shots;
    return true;
}

/* One resource is lent, one is idle. */
static bool make_servers(void) {
    static files_borrowed one;
    files_borrowed other;
    kolk_resource_pool_desc desc = {.name = "servers", .create = create, .max = 4, .no_housekeeper = true};
    kolk_borrow_desc asked = {.key = "eu-1", .deadline = KOLK_NOW, .who = "reader"};
    if (files_init(&servers, &desc) != KOLK_OK) return false;
    if (files_borrow(&servers, &asked, &one) != KOLK_OK || files_borrow(&servers, NULL, &other) != KOLK_OK)
        return false;
    files_give_back(&servers, &other);
    desc.name = NULL;
    if (kolk_resource_init(&nameless, &desc) != KOLK_OK) return false;
    kolk_resource_pause(&nameless);
    return true;
}

/* Resources during callbacks: stop() is called in validate, in a tick, in reset, in give_back, in create. */
static kolk_borrowed first_task, second_task;

static bool create_task(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    if (*key) kolk_resource_give_back(&tasks, &second_task);
    return create(context, key, deadline, resource, error);
}

static void *tick_tasks(void *none) {
    kolk_resource_tick(&tasks, KOLK_NOW);
    return none;
}

static bool reset_task(void *context, void *resource) {
    pthread_t other; /* a tick is impossible in a function of the pool */
    (void)context, (void)resource;
    if (second_task.resource) return true;
    return pthread_create(&other, NULL, tick_tasks, NULL) == 0 && pthread_join(other, NULL) == 0;
}

static bool validate_task(void *context, void *resource, kolk_deadline deadline) {
    (void)context, (void)resource, (void)deadline;
    stop();
    return true;
}

static uint32_t hangs;

static bool destroy_hangs(void) {
    return __atomic_load_n(&hangs, __ATOMIC_ACQUIRE);
}

static void destroy_task(void *context, void *resource) {
    (void)context, (void)resource;
    __atomic_store_n(&hangs, 1, __ATOMIC_RELEASE);
    while (true) pause();
}

/* Makes a resource that a maker is destroying. */
static bool end_task(void) {
    kolk_borrowed one;
    kolk_resource_pool_desc desc = {.name = "ended", .create = create, .destroy = destroy_task};
    if (kolk_resource_init(&ended, &desc) != KOLK_OK) return false;
    if (kolk_resource_borrow(&ended, NULL, &one) != KOLK_OK) return false;
    kolk_resource_discard(&ended, &one);
    wait_until(destroy_hangs);
    return true;
}

static bool stop_in_tasks(void) {
    kolk_borrowed third;
    kolk_resource_pool_desc desc = {.name = "tasks",
                                    .create = create_task,
                                    .validate = validate_task,
                                    .reset = reset_task,
                                    .keepalive_ms = 1,
                                    .no_housekeeper = true};
    if (kolk_resource_init(&tasks, &desc) != KOLK_OK) return false;
    if (kolk_resource_borrow(&tasks, NULL, &first_task) != KOLK_OK) return false;
    if (kolk_resource_borrow(&tasks, NULL, &second_task) != KOLK_OK) return false;
    kolk_resource_give_back(&tasks, &first_task);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* so that it must be validated */
    return kolk_resource_borrow(&tasks, &(kolk_borrow_desc){.key = "third", .deadline = KOLK_FOREVER}, &third) ==
           KOLK_OK;
}

/* A heap with young blocks, a class, and a large block; one young block is free again. A limit keeps the reserved
 * address space small, as gdb writes all of it into a core. */
static bool make_heap(void) {
    if (sizeof(void *) < 8) return true; /* heaps are for 64 bits */
    if (kolk_heap_init(&level, &(kolk_heap_desc){.name = "level", .limit = 4 << 20}) != KOLK_OK) return false;
    void *freed = kolk_heap_alloc(&level, 20);
    for (int i = 0; i < 3; i++)
        if (!kolk_heap_alloc(&level, 20) || !kolk_heap_alloc(&level, 1000)) return false;
    kolk_heap_free(&level, freed);
    malformed_heap = level;
    malformed_heap.root = (struct kolk_heap_root_ *)16;
    return kolk_heap_alloc(&level, 50000) && kolk_heap_alloc(&level, 1000000);
}

int main(void) {
    if (!make_frames()) return 1; /* forks, so before all threads */
    if (!make_shots() || !make_sparks() || !make_cells() || !make_others() || !make_maps() || !make_shared()) return 1;
    if (!make_orders() || !make_moved() || !make_ended_queues() || !tear()) return 1;
    if (!make_servers() || !make_heap() || !end_task()) return 1;
    return stop_in_tasks() ? 0 : 1;
}
