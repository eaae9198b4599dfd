/* runs: processes sample:clang not:qemu not:wine wraps: pread64 */
/* kolk_stats_write_of: the statistics of another process, which runs, ends, has no kolk, or is hostile. */
#include "../help/threads.h"

#include "../help/child.h"

#include "watch/remote.h"
#include "heap/heap_inside.h"
#include "os/clock.h"
#include "os/peek.h"
#include "resource/resource_inside.h"
#include "shared/shared_inside.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The other process ------------------------------------------------------------------------------------------- */

static kolk_pool bullets;
static kolk_slotmap packed;
static kolk_queue jobs;
static kolk_shared voices;
static kolk_shared_local local;
static kolk_heap level, tray, watched;
static kolk_bytemap peds;
static kolk_ipc frames;
static kolk_resource_pool links;
static _Alignas(64) char tray_memory[1 << 16];

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    *resource = context;
    return true;
}

static void *use_and_stay(void *unused) {
    kolk_shared_local mine;
    REQUIRE(kolk_shared_local_init(&mine, &voices) == KOLK_OK);
    for (unsigned i = 0; i < 25; i++) REQUIRE(kolk_shared_alloc(&mine));
    for (unsigned i = 0; i < 100; i++) REQUIRE(kolk_heap_alloc(&level, 100 + i * 50));
    for (;;) nap();
    return NULL;
}

/* A heap like that of malloc, which watches its first blocks. The last block that is freed waits. */
static void make_watched(void) {
    REQUIRE(kolk_heap_init_for_malloc_(&watched, &(kolk_heap_desc){.name = "watched"}) == KOLK_OK);
    for (unsigned i = 0; i < 200; i++) {
        void *block = kolk_heap_alloc_watched_(&watched, i * 7, NULL);
        REQUIRE(block && kolk_heap_alloc(&watched, i * 7));
        if (i % 10 == 9) kolk_heap_free(&watched, block);
    }
}

/* A pool of each kind, with objects alive. */
static void make_all(void) {
    static const kolk_heap_class classes[] = {{.name = "tray/64", .size = 64, .capacity = 20, .max_capacity = 20}};
    kolk_heap_desc fixed = {
        .name = "tray", .memory = tray_memory, .memory_size = sizeof tray_memory, .classes = classes, .n_classes = 1};
    kolk_resource_pool_desc desc = {.name = "links", .context = &links, .create = create, .max = 8};
    static kolk_borrowed borrowed;
    REQUIRE(kolk_pool_init(&bullets, &(kolk_pool_desc){.name = "bullets", .object_size = 64, .capacity = 256}) ==
            KOLK_OK);
    REQUIRE(kolk_slotmap_init(&packed, &(kolk_slotmap_desc){.name = "packed", .object_size = 24, .capacity = 100}) ==
            KOLK_OK);
    REQUIRE(kolk_queue_init(&jobs, &(kolk_queue_desc){.name = "jobs", .item_size = 4, .capacity = 64}) == KOLK_OK);
    REQUIRE(kolk_shared_init(&voices, &(kolk_shared_desc){.name = "voices", .object_size = 48, .capacity = 1000}) ==
            KOLK_OK);
    REQUIRE(kolk_heap_init(&level, &(kolk_heap_desc){.name = "level"}) == KOLK_OK);
    REQUIRE(kolk_heap_init(&tray, &fixed) == KOLK_OK);
    REQUIRE(kolk_bytemap_initialise_with(&peds, &(kolk_bytemap_view){.name = "peds", .object_size = 8, .count = 110}) ==
            KOLK_OK);
    REQUIRE(kolk_ipc_init(&frames, &(kolk_ipc_desc){
                                       .name = "frames", .object_size = 64, .capacity = 900, .queues = 2}) == KOLK_OK);
    REQUIRE(kolk_resource_init(&links, &desc) == KOLK_OK);
    REQUIRE(kolk_resource_borrow(&links, NULL, &borrowed) == KOLK_OK);
    REQUIRE(kolk_shared_local_init(&local, &voices) == KOLK_OK);
    for (int i = 0; i < 17; i++) {
        REQUIRE(kolk_pool_alloc(&bullets) && kolk_slotmap_add(&packed, NULL) && kolk_shared_alloc(&local));
        REQUIRE(kolk_queue_push(&jobs, &i, KOLK_NOW) == KOLK_OK && kolk_heap_alloc(&tray, 60) &&
                kolk_bytemap_new(&peds));
    }
    for (unsigned i = 0; i < 20; i++) {
        void *frame = kolk_ipc_alloc(&frames);
        REQUIRE(frame && (i >= 3 || kolk_ipc_push(&frames, i % 2, frame, KOLK_NOW) == KOLK_OK));
    }
    for (unsigned i = 0; i < 1000; i++) REQUIRE(kolk_heap_alloc(&level, i % 500));
    REQUIRE(kolk_heap_alloc(&level, 3000000));
    make_watched();
}

static int to_parent;

static void put_to_parent(const char *text, size_t length, void *context) {
    REQUIRE(write(to_parent, text, length) == (ssize_t)length);
}

static const char end_of_text = 0;

/* ---- Here -------------------------------------------------------------------------------------------------------- */

typedef struct other {
    pid_t process;
    int from;
} other;

/* Starts a process that runs `body`, which says "\0" when it is ready, and then waits for ever. */
static other begin_other(void (*body)(unsigned), unsigned argument) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    fflush(NULL);
    other made = {fork_dependent(), ends[0]};
    REQUIRE(made.process >= 0);
    if (made.process == 0) {
        alarm(300);
        to_parent = ends[1];
        body(argument);
        put_to_parent(&end_of_text, 1, NULL);
        for (;;) pause();
    }
    close(ends[1]);
    return made;
}

/* Waits until it is ready, and returns what it has said before. */
static const char *said_by(const other *it) {
    static char said[60000];
    size_t length = 0;
    do REQUIRE(length < sizeof said && read(it->from, said + length, 1) == 1);
    while (said[length++]);
    return said;
}

static void end_other(const other *it) {
    kill(it->process, SIGKILL);
    REQUIRE(waitpid(it->process, NULL, 0) == it->process);
    close(it->from);
}

static char seen[60000];
static size_t seen_length;

static void put(const char *text, size_t length, void *context) {
    REQUIRE(seen_length + length < sizeof seen);
    memcpy(seen + seen_length, text, length);
    seen[seen_length += length] = 0;
}

static const char *look_at(pid_t process, kolk_stats_format format) {
    seen_length = 0;
    seen[0] = 0;
    return kolk_stats_write_of(process, format, put, NULL);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void write_own(unsigned format) {
    pthread_t threads[3];
    make_all();
    for (unsigned i = 0; i < LENGTH_OF(threads); i++)
        REQUIRE(pthread_create(&threads[i], NULL, use_and_stay, NULL) == 0);
    EVENTUALLY(kolk_shared_count(&voices) == 17 + 3 * 25);
    kolk_stats stats;
    EVENTUALLY((kolk_heap_stats(&level, &stats), stats.count == 1001 + 3 * 100));
    kolk_stats_write((kolk_stats_format)format, put_to_parent, NULL);
}

/* What only a reader counts. */
static void take_out(const char *member) {
    for (char *at; (at = strstr(seen, member));) {
        const char *end = at + strlen(member);
        end += strspn(end, "0123456789");
        memmove(at, end, strlen(end) + 1);
    }
}

/* promise: base.h "for the pools ... moment is left out" */
static void test_the_same_as_its_own(void **state) {
    char holder[200];
    for (unsigned format = KOLK_STATS_TEXT; format <= KOLK_STATS_PROMETHEUS; format++) {
        other it = begin_other(write_own, format);
        const char *own = said_by(&it);
        assert_null(look_at(it.process, (kolk_stats_format)format));
        if (format == KOLK_STATS_JSON) {
            take_out(", \"allocs\": ");
            take_out(", \"resident_bytes\": ");
        }
        assert_string_equal(seen, own);
        assert_non_null(strstr(seen, "bullets"));
        snprintf(holder, sizeof holder,
                 format == KOLK_STATS_JSON ? "\"places\": [{\"alive\": 17, \"by\": \"process %u (test_remote)\"}, "
                                             "{\"alive\": 3, \"by\": \"process %u (test_remote), in queues\"}]"
                                           : "\nframes, alive:\n        17 by process %u (test_remote)\n"
                                             "         3 by process %u (test_remote), in queues\n",
                 (unsigned)it.process, (unsigned)it.process);
        if (format <= KOLK_STATS_JSON) assert_non_null(strstr(seen, holder));
        end_other(&it);
    }
}

static void use_again(unsigned unused) {
    make_all();
    kolk_handle handle;
    int item;
    for (unsigned i = 0; i < 1000; i++) {
        kolk_pool_free(&bullets, kolk_pool_alloc(&bullets));
        REQUIRE(kolk_slotmap_add(&packed, &handle));
        kolk_slotmap_remove(&packed, handle);
        kolk_ipc_free(&frames, kolk_ipc_alloc(&frames));
        kolk_shared_free(&local, kolk_shared_alloc(&local));
        REQUIRE(kolk_queue_pop(&jobs, &item, KOLK_NOW) == KOLK_OK);
        REQUIRE(kolk_queue_push(&jobs, &item, KOLK_NOW) == KOLK_OK);
    }
}

/* UINT64_MAX: the pool has no such member. */
static uint64_t member_of(pid_t process, const char *pool, const char *member) {
    char start[40];
    assert_null(look_at(process, KOLK_STATS_JSON));
    snprintf(start, sizeof start, "{\"name\": \"%s\"", pool);
    char *row = strstr(seen, start);
    assert_non_null(row);
    *strchr(row, '\n') = 0;
    const char *found = strstr(row, member);
    return found ? strtoull(found + strlen(member), NULL, 10) : UINT64_MAX;
}

static uint64_t allocs_of(pid_t process, const char *pool) {
    return member_of(process, pool, "\"allocs\": ");
}

/* Counted from the first look to the second. promise: base.h "Needs the right ... written, as a clause" */
static void test_allocs(void **state) {
    static const char *const pools[] = {"bullets", "packed", "voices", "jobs", "frames"};
    other before = begin_other(write_own, KOLK_STATS_TEXT), after = begin_other(use_again, 0);
    said_by(&before);
    said_by(&after);
    for (unsigned n = 0; n < LENGTH_OF(pools); n++) {
        uint64_t others = strcmp(pools[n], "voices") == 0 ? 3 * 25 : 0; /* by the first process's threads */
        assert_int_equal(allocs_of(after.process, pools[n]) - allocs_of(before.process, pools[n]) + others, 1000);
    }
    assert_int_equal(allocs_of(after.process, "links"), 1);
    assert_int_equal(allocs_of(after.process, "level"), UINT64_MAX);
    end_other(&before);
    end_other(&after);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

#define PIECE   ((size_t)4096)
#define PIECES  1000u
#define WRITTEN 200u
#define LARGE   ((size_t)1 << 22)

enum { MADE, USED, TRIMMED };

static void fill(void *object, size_t size) {
    REQUIRE(object);
    memset(object, 1, size);
}

/* A pool of each kind with large slots, of which some get objects; these are freed, and the memory is trimmed. */
static void use_memory(unsigned stage) {
    static void *objects[WRITTEN], *blocks[WRITTEN], *large;
    static char item[PIECE];
    kolk_handle handles[WRITTEN];
    REQUIRE(kolk_pool_init(
                &bullets,
                &(kolk_pool_desc){.name = "bullets", .object_size = PIECE, .capacity = 10, .max_capacity = PIECES}) ==
            KOLK_OK);
    REQUIRE(kolk_slotmap_init(&packed, &(kolk_slotmap_desc){
                                           .name = "packed", .object_size = PIECE, .max_capacity = PIECES}) == KOLK_OK);
    REQUIRE(kolk_queue_init(&jobs, &(kolk_queue_desc){.name = "jobs", .item_size = PIECE, .capacity = PIECES}) ==
            KOLK_OK);
    REQUIRE(kolk_shared_init(
                &voices, &(kolk_shared_desc){.name = "voices", .object_size = PIECE, .capacity = PIECES}) == KOLK_OK);
    REQUIRE(kolk_heap_init(&level, &(kolk_heap_desc){.name = "level"}) == KOLK_OK);
    REQUIRE(kolk_bytemap_initialise_with(
                &peds, &(kolk_bytemap_view){.name = "peds", .object_size = PIECE, .count = PIECES}) == KOLK_OK);
    REQUIRE(kolk_shared_local_init(&local, &voices) == KOLK_OK);
    for (unsigned i = 0; stage >= USED && i < WRITTEN; i++) {
        fill(objects[i] = kolk_pool_alloc(&bullets), PIECE);
        fill(kolk_slotmap_add(&packed, &handles[i]), PIECE);
        fill(kolk_shared_alloc(&local), PIECE);
        fill(kolk_bytemap_new(&peds), PIECE);
        fill(blocks[i] = kolk_heap_alloc(&level, PIECE), PIECE);
        REQUIRE(kolk_queue_push(&jobs, item, KOLK_NOW) == KOLK_OK);
    }
    if (stage >= USED) fill(large = kolk_heap_alloc(&level, LARGE), LARGE);
    if (stage < TRIMMED) return;
    for (unsigned i = 0; i < WRITTEN; i++) {
        kolk_pool_free(&bullets, objects[i]);
        kolk_slotmap_remove(&packed, handles[i]);
        kolk_heap_free(&level, blocks[i]);
    }
    kolk_heap_free(&level, large);
    kolk_pool_trim(&bullets);
    kolk_slotmap_trim(&packed);
    kolk_heap_trim(&level);
}

static bool no_pages; /* /proc/PID/pagemap cannot be read; files have offsets of 64 bits (system.h) */

ssize_t __real_pread64(int fd, void *to, size_t size, int64_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, int64_t at);

ssize_t __wrap_pread64(int fd, void *to, size_t size, int64_t at) {
    return no_pages ? -1 : __real_pread64(fd, to, size, at);
}

static uint64_t resident_of(pid_t process, const char *pool) {
    return member_of(process, pool, "\"resident_bytes\": ");
}

/* Pages may be larger than a piece, so there may be more than was written; what was written is there. */
static void test_resident_bytes(void **state) {
    static const struct {
        const char *pool;
        uint64_t written;
        bool trims;
    } rows[] = {{"bullets", WRITTEN * PIECE, true},       {"packed", WRITTEN * PIECE, true},
                {"jobs", WRITTEN * PIECE, false},         {"voices", WRITTEN * PIECE, false},
                {"peds", WRITTEN * PIECE, false},         {"level", WRITTEN * PIECE + LARGE, true},
                {"level/4096", WRITTEN / 2 * PIECE, true}};
    other made = begin_other(use_memory, MADE), used = begin_other(use_memory, USED),
          trimmed = begin_other(use_memory, TRIMMED);
    said_by(&made);
    said_by(&used);
    said_by(&trimmed);
    for (unsigned n = 0; n < LENGTH_OF(rows); n++) {
        const char *pool = rows[n].pool;
        uint64_t bytes = resident_of(used.process, pool), committed = member_of(used.process, pool, "committed\": ");
        assert_in_range(bytes, rows[n].written, committed);
        if (n < 5) assert_true(resident_of(made.process, pool) < bytes);
        if (rows[n].trims)
            assert_true(resident_of(trimmed.process, pool) <= bytes - rows[n].written / 2);
        else
            assert_in_range(resident_of(trimmed.process, pool), rows[n].written, committed);
    }
    no_pages = true;
    assert_int_equal(resident_of(used.process, "bullets"), UINT64_MAX);
    no_pages = false;
    end_other(&made);
    end_other(&used);
    end_other(&trimmed);
    made = begin_other(write_own, KOLK_STATS_TEXT);
    said_by(&made);
    assert_int_equal(resident_of(made.process, "links"), UINT64_MAX);
    assert_in_range(resident_of(made.process, "tray"), 1, sizeof tray_memory);
    end_other(&made);
}

/* ---- Processes that cannot be read, or not well ------------------------------------------------------------------ */

static void have_nothing(unsigned unused) {}

static void become_another(unsigned unused) {
    put_to_parent(&end_of_text, 1, NULL);
    execl("/bin/sleep", "sleep", "300", (char *)NULL);
    _exit(1);
}

/* promise: base.h "Needs the right ... written, as a clause" */
static void test_processes_that_cannot_be_read(void **state) {
    other it = begin_other(have_nothing, 0);
    said_by(&it);
    assert_null(look_at(it.process, KOLK_STATS_TEXT));
    assert_string_equal(seen, "kolk: no pool has a name\n");
    end_other(&it);
    assert_string_equal(look_at(it.process, KOLK_STATS_TEXT), "there is no such process");
    assert_string_equal(look_at(0, KOLK_STATS_TEXT), "there is no such process");
    assert_string_equal(look_at(-1, KOLK_STATS_TEXT), "there is no such process");
    assert_string_equal(seen, "");
    it = begin_other(become_another, 0);
    said_by(&it);
    const char *why;
    EVENTUALLY((why = look_at(it.process, KOLK_STATS_TEXT)) && strcmp(why, "there is no kolk in this process") == 0);
    end_other(&it);
}

/* The process's own beacon. It is searched in copies, because sanitizers watch what lies between variables. */
static kolk_beacon_ *find_beacon(void) {
    static kolk_beacon_ *found;
    static unsigned char bytes[4096];
    char line[512];
    unsigned long long start, end;
    FILE *maps = found ? NULL : fopen("/proc/self/maps", "r");
    while (!found && fgets(line, sizeof line, maps)) {
        if (!strstr(line, " rw-p ") || !strstr(line, "test_remote")) continue;
        REQUIRE(sscanf(line, "%llx-%llx", &start, &end) == 2);
        for (; !found && start < end; start += sizeof bytes) {
            REQUIRE(kolk_peek_(bytes, (void *)(uintptr_t)start, sizeof bytes));
            for (size_t at = 0; !found && at < sizeof bytes; at += sizeof(void *))
                if (memcmp(bytes + at, KOLK_BEACON_MAGIC_, sizeof(void *)) == 0)
                    found = (kolk_beacon_ *)(uintptr_t)(start + at);
        }
    }
    if (maps) fclose(maps);
    REQUIRE(found && found->self == found);
    return found;
}

static void be_of_another_version(unsigned which) {
    kolk_beacon_ *beacon = find_beacon();
    REQUIRE(strcmp(beacon->library, KOLK_VERSION) == 0);
    if (which == 0) beacon->version++;
    if (which == 1) beacon->abi++;
    if (which == 2) beacon->library[0]++;
    if (which == 3) beacon->self++;
}

static void test_other_versions(void **state) {
    for (unsigned which = 0; which < 4; which++) {
        other it = begin_other(be_of_another_version, which);
        said_by(&it);
        assert_string_equal(look_at(it.process, KOLK_STATS_TEXT), which < 3
                                                                      ? "its kolk is of another version than this one"
                                                                      : "there is no kolk in this process");
        end_other(&it);
    }
}

static void *churn(void *unused) {
    kolk_shared_local mine;
    void *objects[100], *blocks[100];
    REQUIRE(kolk_shared_local_init(&mine, &voices) == KOLK_OK);
    for (;;) {
        for (unsigned i = 0; i < 100; i++) {
            objects[i] = kolk_shared_alloc(&mine);
            blocks[i] = kolk_heap_alloc(&level, i * 37);
        }
        for (unsigned i = 0; i < 100; i++) {
            kolk_shared_free(&mine, objects[i]);
            kolk_heap_free(&level, blocks[i]);
        }
    }
    return NULL;
}

static void run_for_ever(unsigned unused) {
    pthread_t thread;
    make_all();
    for (unsigned i = 0; i < 2; i++) REQUIRE(pthread_create(&thread, NULL, churn, NULL) == 0);
}

/* Its numbers are those of one moment after another, but stay in their bounds. */
static void test_a_busy_process(void **state) {
    other it = begin_other(run_for_ever, 0);
    said_by(&it);
    unsigned complete = 0;
    for (unsigned n = 0; n < 100; n++) {
        assert_null(look_at(it.process, KOLK_STATS_TEXT));
        assert_non_null(strstr(seen, "\nbullets "));
        complete += strstr(seen, "\nvoices ") && strstr(seen, "\nlevel ");
    }
    assert_true(complete > 50);
    end_other(&it);
}

/* ---- A hostile process ------------------------------------------------------------------------------------------- */

static uint64_t draw(void) {
    static uint64_t drawn;
    return next_random(&drawn);
}

/* Overwrites some numbers of a struct by others: random, very large, or with one bit flipped. */
static void spoil(void *what, size_t size) {
    unsigned char *bytes = (unsigned char *)what;
    for (unsigned n = 0; n < 3; n++) {
        size_t wide = draw() % 2 ? 8 : 4, at = (size_t)(draw() % (size / wide)) * wide;
        uint64_t number = draw() % 3 ? UINT64_MAX >> draw() % 64 : draw();
        if (draw() % 2)
            memcpy(bytes + at, &number, wide);
        else
            bytes[at] ^= (unsigned char)(1u << draw() % 8);
    }
}

static void be_hostile(unsigned round) {
    make_all();
    for (unsigned i = 0; i < round; i++) draw();
    struct {
        void *start;
        size_t size;
    } parts[] = {{level.inside, sizeof *level.inside},
                 {level.root, sizeof *level.root},
                 {&level.inside->trays[draw() % 20], sizeof level.inside->trays[0]},
                 {voices.inside, sizeof *voices.inside},
                 {local.magazine, sizeof *local.magazine},
                 {&voices.inside->keepers, sizeof voices.inside->keepers},
                 {links.inside, sizeof *links.inside},
                 {tray.fixed, 64},
                 {&bullets, sizeof bullets},
                 {&packed, sizeof packed},
                 {&jobs, sizeof jobs},
                 {&peds, sizeof peds},
                 {&frames, sizeof frames},
                 {frames.block, 1024 + 3 * 64},
                 {frames.lives, 900 * sizeof *frames.lives},
                 {&find_beacon()->entries, sizeof(kolk_beacon_) - offsetof(kolk_beacon_, entries)}};
    for (unsigned n = 0; n < 2; n++) {
        unsigned part = (unsigned)(draw() % LENGTH_OF(parts));
        spoil(parts[part].start, parts[part].size);
    }
}

static void test_a_hostile_process(void **state) {
    for (unsigned round = 0; round < (does_a_part() ? 100u : 1500u); round++) {
        other it = begin_other(be_hostile, round);
        said_by(&it);
        assert_null(look_at(it.process, KOLK_STATS_JSON));
        end_other(&it);
    }
}

/* ---- Processes that are hostile in one way -----------------------------------------------------------------------*/

/* More classes than a heap can have. The registry believes it. */
static void have_too_many_classes(unsigned of_fixed) {
    make_all();
    kolk_heap *heap = of_fixed ? &tray : &level;
    heap->n_classes = of_fixed ? KOLK_HEAP_CLASSES + 1 : 1u << 20;
    kolk_registry_rename_(heap->number, of_fixed ? "tray" : "level", NULL);
}

/* The waiting block has a class that no nursery has. */
static void have_a_strange_class(unsigned unused) {
    make_all();
    watched.root->nursery.watch->waiting_class = 255;
}

/* A pool that makes no sense is left out, or counted without what makes none; the others are there. */
static void test_pools_that_make_no_sense(void **state) {
    static const struct {
        void (*body)(unsigned);
        unsigned argument;
        const char *has, *lacks;
    } rows[] = {{have_too_many_classes, 0, "\ntray ", "\nlevel "},
                {have_too_many_classes, 1, "\nlevel ", "\ntray "},
                {have_a_strange_class, 0, "\nwatched ", "\nnobody "}};
    for (size_t n = 0; n < LENGTH_OF(rows); n++) {
        other it = begin_other(rows[n].body, rows[n].argument);
        said_by(&it);
        assert_null(look_at(it.process, KOLK_STATS_TEXT));
        assert_non_null(strstr(seen, rows[n].has));
        assert_null(strstr(seen, rows[n].lacks));
        end_other(&it);
    }
}

/* The words of locks that say, in this process, that the lock is taken. */
static uint32_t taken, taken_briefly;

static void hold_all_locks(unsigned format) {
    write_own(format);
    kolk_heap_inside_ *inside = level.inside;
    level.root->nursery.lock = watched.root->nursery.lock = watched.root->nursery.watch->lock = taken_briefly;
    level.root->lock = level.root->growing = inside->lock = inside->sweeping = inside->keepers.lock = taken;
    inside->large.lock = inside->large.spares.lock = taken;
    for (uint32_t n = 0; n < level.n_classes; n++)
        inside->trays[n].store.lock = inside->trays[n].store.debug_lock = taken;
    voices.inside->store.lock = voices.inside->store.debug_lock = voices.inside->waiters_lock = taken;
    voices.inside->keepers.lock = links.inside->lock = jobs.lock = taken;
}

static void test_locks_that_are_held(void **state) {
    taken = kolk_forks_() << 2 | 2;
    taken_briefly = 2 * kolk_forks_() + 1;
    other it = begin_other(hold_all_locks, KOLK_STATS_TEXT);
    const char *own = said_by(&it);
    alarm(30); /* a reader that waited would do so for ever */
    assert_null(look_at(it.process, KOLK_STATS_TEXT));
    END_IF_IT_HANGS();
    assert_string_equal(seen, own);
    end_other(&it);
}

/* Pools whose lives would take hours to count. */
static void have_endless_lives(unsigned pools) {
    kolk_pool_desc desc = {.object_size = 1, .capacity = 1, .max_capacity = INT32_MAX};
    void *zeros = mmap(NULL, (size_t)8 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(zeros != MAP_FAILED);
    char name[20];
    desc.name = name;
    for (unsigned n = 0; n < pools; n++) {
        kolk_pool *pool = (kolk_pool *)calloc(1, sizeof *pool);
        snprintf(name, sizeof name, "p%u", n);
        REQUIRE(kolk_pool_init(pool, &desc) == KOLK_OK);
        pool->high = (uint32_t *)zeros;
        pool->capacity = pool->fresh = INT32_MAX;
    }
    make_all();
}

/* A thread that comes after itself, and has a magazine in each of thousands of other depots. */
static void have_endless_threads(unsigned unused) {
    static kolk_magazine_ chain[4000];
    make_all();
    for (size_t n = 0; n + 1 < LENGTH_OF(chain); n++) chain[n].next = &chain[n + 1];
    kolk_keeper_ *keeper = (kolk_keeper_ *)voices.inside->keepers.first;
    keeper->magazines = (uintptr_t)&chain[0];
    keeper->next = keeper;
}

/* No process can hold up its reader. Nor do its other pools suffer.
 * promise: base.h "1 GiB, where each small read counts as 2 KiB" */
static void test_no_end(void **state) {
    other it = begin_other(have_endless_lives, 20);
    said_by(&it);
    int64_t begin = kolk_now_ns_();
    assert_null(look_at(it.process, KOLK_STATS_JSON));
    int64_t lives = kolk_now_ns_() - begin;
    assert_non_null(strstr(seen, "{\"name\": \"p19\""));
    assert_non_null(strstr(seen, "{\"name\": \"level\""));
    end_other(&it);
    it = begin_other(have_endless_threads, 0);
    said_by(&it);
    begin = kolk_now_ns_();
    alarm(120);
    assert_null(look_at(it.process, KOLK_STATS_JSON));
    END_IF_IT_HANGS();
    int64_t threads = kolk_now_ns_() - begin;
    end_other(&it);
    print_message("%.2f s, %.2f s\n", (double)lives / 1e9, (double)threads / 1e9);
    if (!SLOW) assert_in_range(lives, 0, INT64_C(20000000000));
    if (!SLOW) assert_in_range(threads, 0, INT64_C(20000000000));
}

int main(void) {
    if (sizeof(void *) < 8) {
        print_message("left out: the other process has a heap, which needs 64 bits\n");
        return 0;
    }
    END_IF_IT_HANGS();
    find_beacon(); /* once for all children */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_as_its_own),      cmocka_unit_test(test_locks_that_are_held),
        cmocka_unit_test(test_pools_that_make_no_sense), cmocka_unit_test(test_allocs),
        cmocka_unit_test(test_resident_bytes),           cmocka_unit_test(test_processes_that_cannot_be_read),
        cmocka_unit_test(test_other_versions),           cmocka_unit_test(test_a_busy_process),
        cmocka_unit_test(test_a_hostile_process),        cmocka_unit_test(test_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
