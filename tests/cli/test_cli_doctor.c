/* runs: longest once wraps: kolk_deadline_after kolk_heap_alloc kolk_heap_init_abi_ kolk_heap_realloc */
/* wraps: kolk_pool_init_abi_ kolk_pool_init_plain_abi_ kolk_pool_is_valid kolk_pool_trim kolk_queue_fd */
/* wraps: kolk_queue_init_abi_ kolk_queue_pop kolk_resource_borrow kolk_resource_give_back kolk_resource_init_abi_ */
/* wraps: kolk_shared_alloc_wait kolk_shared_get_slow_ kolk_shared_init_abi_ kolk_shared_local_init */
/* wraps: kolk_shared_local_of_thread kolk_stats_write */
/* kolk doctor: a library with various faults, tools that succeed or fail, a valid or invalid environment: its findings
 * and exit code for each. */
#include "../help/test.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* ---- A library that can be broken -------------------------------------------------------------------------------- */

static enum fault {
    WHOLE,
    ANY_ABI_WILL_DO,
    NO_POOL,
    NO_GROWTH,
    NO_DEBUG,
    NEVER_VALID,
    TRIM_GIVES_NOTHING,
    TRIM_CRASHES,
    TRIM_HANGS,
    CLOCK_STANDS,
    NO_STATISTICS,
    NO_QUEUE,
    ITEMS_ARE_LOST,
    DEADLINES_ARE_LOST,
    NO_DESCRIPTOR_FOR_POLL,
    NO_SHARED_POOL,
    NO_LOCAL,
    NOBODY_GETS_OBJECTS,
    WAITS_TOO_LONG,
    STALE_HANDLES_LEAD_ON,
    THE_DEAD_STAY,
    NO_KEYS,
    NO_HEAP,
    NO_BLOCKS,
    ONE_BLOCK_FOR_ALL,
    NO_REALLOC,
    NO_RESOURCE_POOL,
    MAKERS_SLEEP,
    BORROWS_DON_T_WAIT,
    NOTHING_IS_LENT,
    NOTHING_COMES_BACK
} fault;

kolk_status __real_kolk_pool_init_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                       size_t pool_size, uint32_t abi);
kolk_status __wrap_kolk_pool_init_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                       size_t pool_size, uint32_t abi);
kolk_status __wrap_kolk_pool_init_plain_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                             size_t type_align, size_t pool_size, uint32_t abi);
bool __real_kolk_pool_is_valid(const kolk_pool *pool);
bool __wrap_kolk_pool_is_valid(const kolk_pool *pool);
size_t __real_kolk_pool_trim(kolk_pool *pool);
size_t __wrap_kolk_pool_trim(kolk_pool *pool);
kolk_deadline __real_kolk_deadline_after(int64_t milliseconds);
kolk_deadline __wrap_kolk_deadline_after(int64_t milliseconds);
void __real_kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                             void *context);
void __wrap_kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                             void *context);
kolk_status __real_kolk_queue_init_abi_(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size,
                                        size_t queue_size, uint32_t abi);
kolk_status __wrap_kolk_queue_init_abi_(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size,
                                        size_t queue_size, uint32_t abi);
kolk_status __real_kolk_queue_pop(kolk_queue *queue, void *item, kolk_deadline deadline);
kolk_status __wrap_kolk_queue_pop(kolk_queue *queue, void *item, kolk_deadline deadline);
kolk_status __real_kolk_shared_init_abi_(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size,
                                         size_t type_align, size_t pool_size, uint32_t abi);
kolk_status __wrap_kolk_shared_init_abi_(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size,
                                         size_t type_align, size_t pool_size, uint32_t abi);
kolk_status __real_kolk_shared_local_init(kolk_shared_local *local, kolk_shared *pool);
kolk_status __wrap_kolk_shared_local_init(kolk_shared_local *local, kolk_shared *pool);
void *__real_kolk_shared_alloc_wait(kolk_shared_local *local, kolk_deadline deadline);
void *__wrap_kolk_shared_alloc_wait(kolk_shared_local *local, kolk_deadline deadline);
void *__real_kolk_shared_get_slow_(const kolk_shared *pool, kolk_handle handle);
void *__wrap_kolk_shared_get_slow_(const kolk_shared *pool, kolk_handle handle);
kolk_shared_local *__real_kolk_shared_local_of_thread(kolk_shared *pool);
kolk_shared_local *__wrap_kolk_shared_local_of_thread(kolk_shared *pool);
kolk_status __real_kolk_resource_init_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc,
                                           size_t pool_size, uint32_t abi);
kolk_status __wrap_kolk_resource_init_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc,
                                           size_t pool_size, uint32_t abi);
kolk_status __real_kolk_resource_borrow(kolk_resource_pool *pool, const kolk_borrow_desc *desc, kolk_borrowed *out);
kolk_status __wrap_kolk_resource_borrow(kolk_resource_pool *pool, const kolk_borrow_desc *desc, kolk_borrowed *out);
void __real_kolk_resource_give_back(kolk_resource_pool *pool, kolk_borrowed *borrow);
void __wrap_kolk_resource_give_back(kolk_resource_pool *pool, kolk_borrowed *borrow);
int __real_kolk_queue_fd(kolk_queue *queue, kolk_queue_event event);
int __wrap_kolk_queue_fd(kolk_queue *queue, kolk_queue_event event);

kolk_status __wrap_kolk_pool_init_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                       size_t pool_size, uint32_t abi) {
    kolk_pool_desc changed = *desc;
    if (fault == ANY_ABI_WILL_DO && abi != KOLK_ABI) return KOLK_WRONG_ABI + 1;
    if (fault == NO_POOL) memset(pool, 0, sizeof *pool);
    if (fault == NO_POOL) return KOLK_NO_MEMORY;
    if (fault == NO_GROWTH && desc->max_capacity) changed.max_capacity = changed.capacity = 100;
    if (fault == NO_DEBUG) changed.debug = NULL;
    return __real_kolk_pool_init_abi_(pool, &changed, type_size, type_align, pool_size, abi);
}

/* The init of descriptors that ask for no option has the same faults. */
kolk_status __wrap_kolk_pool_init_plain_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                             size_t type_align, size_t pool_size, uint32_t abi) {
    return __wrap_kolk_pool_init_abi_(pool, desc, type_size, type_align, pool_size, abi);
}

bool __wrap_kolk_pool_is_valid(const kolk_pool *pool) {
    return fault != NEVER_VALID && __real_kolk_pool_is_valid(pool);
}

size_t __wrap_kolk_pool_trim(kolk_pool *pool) {
    if (fault == TRIM_GIVES_NOTHING) return 0;
    if (fault == TRIM_CRASHES) raise(SIGKILL);
    while (fault == TRIM_HANGS) pause();
    return __real_kolk_pool_trim(pool);
}

kolk_deadline __wrap_kolk_deadline_after(int64_t milliseconds) {
    return fault == CLOCK_STANDS ? (kolk_deadline){1} : __real_kolk_deadline_after(milliseconds);
}

void __wrap_kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                             void *context) {
    if (fault != NO_STATISTICS) __real_kolk_stats_write(format, put, context);
}

kolk_status __wrap_kolk_queue_init_abi_(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size,
                                        size_t queue_size, uint32_t abi) {
    if (fault == NO_QUEUE) return KOLK_NO_MEMORY;
    return __real_kolk_queue_init_abi_(queue, desc, type_size, queue_size, abi);
}

kolk_status __wrap_kolk_queue_pop(kolk_queue *queue, void *item, kolk_deadline deadline) {
    kolk_status status = __real_kolk_queue_pop(queue, item, deadline);
    if (fault == ITEMS_ARE_LOST && status == KOLK_OK) return KOLK_EMPTY;
    return fault == DEADLINES_ARE_LOST && status == KOLK_TIMEOUT ? KOLK_EMPTY : status;
}

int __wrap_kolk_queue_fd(kolk_queue *queue, kolk_queue_event event) {
    return fault == NO_DESCRIPTOR_FOR_POLL ? -1 : __real_kolk_queue_fd(queue, event);
}

kolk_status __wrap_kolk_shared_init_abi_(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size,
                                         size_t type_align, size_t pool_size, uint32_t abi) {
    if (fault == NO_SHARED_POOL) return KOLK_NO_MEMORY;
    return __real_kolk_shared_init_abi_(pool, desc, type_size, type_align, pool_size, abi);
}

/* The doctor makes its third local after the thread of the second has ended. */
kolk_status __wrap_kolk_shared_local_init(kolk_shared_local *local, kolk_shared *pool) {
    static _Atomic unsigned made; /* in each process of a check from the start */
    bool refused = fault == NO_LOCAL || (fault == THE_DEAD_STAY && ++made == 3);
    return refused ? KOLK_TOO_MANY_THREADS : __real_kolk_shared_local_init(local, pool);
}

void *__wrap_kolk_shared_alloc_wait(kolk_shared_local *local, kolk_deadline deadline) {
    static char another;
    void *object = __real_kolk_shared_alloc_wait(local, deadline);
    if (fault == NOBODY_GETS_OBJECTS) kolk_shared_free(local, object);
    if (fault == NOBODY_GETS_OBJECTS) return NULL;
    return fault == WAITS_TOO_LONG && !object ? &another : object;
}

void *__wrap_kolk_shared_get_slow_(const kolk_shared *pool, kolk_handle handle) {
    static char another;
    return fault == STALE_HANDLES_LEAD_ON ? &another : __real_kolk_shared_get_slow_(pool, handle);
}

kolk_status __real_kolk_heap_init_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi);
kolk_status __wrap_kolk_heap_init_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi);
void *__real_kolk_heap_alloc(kolk_heap *heap, size_t size);
void *__wrap_kolk_heap_alloc(kolk_heap *heap, size_t size);
void *__real_kolk_heap_realloc(kolk_heap *heap, void *block, size_t size);
void *__wrap_kolk_heap_realloc(kolk_heap *heap, void *block, size_t size);

kolk_status __wrap_kolk_heap_init_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi) {
    if (fault == NO_HEAP) return KOLK_NO_MEMORY;
    return __real_kolk_heap_init_abi_(heap, desc, heap_size, abi);
}

void *__wrap_kolk_heap_alloc(kolk_heap *heap, size_t size) {
    static char all[1 << 20];
    if (fault == ONE_BLOCK_FOR_ALL) return all;
    return fault == NO_BLOCKS ? NULL : __real_kolk_heap_alloc(heap, size);
}

void *__wrap_kolk_heap_realloc(kolk_heap *heap, void *block, size_t size) {
    return fault == NO_REALLOC || fault == ONE_BLOCK_FOR_ALL ? NULL : __real_kolk_heap_realloc(heap, block, size);
}

kolk_status __wrap_kolk_resource_init_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc,
                                           size_t pool_size, uint32_t abi) {
    kolk_resource_pool_desc other = *desc;
    if (fault == NO_RESOURCE_POOL) return KOLK_NO_THREAD;
    if (fault == MAKERS_SLEEP) other.no_housekeeper = true;
    return __real_kolk_resource_init_abi_(pool, &other, pool_size, abi);
}

kolk_status __wrap_kolk_resource_borrow(kolk_resource_pool *pool, const kolk_borrow_desc *desc, kolk_borrowed *out) {
    kolk_status status = __real_kolk_resource_borrow(pool, desc, out);
    if (fault == NOTHING_IS_LENT && status == KOLK_OK) return KOLK_FULL;
    return fault == BORROWS_DON_T_WAIT && status == KOLK_TIMEOUT ? KOLK_FULL : status;
}

void __wrap_kolk_resource_give_back(kolk_resource_pool *pool, kolk_borrowed *borrow) {
    if (fault != NOTHING_COMES_BACK) __real_kolk_resource_give_back(pool, borrow);
}

kolk_shared_local *__wrap_kolk_shared_local_of_thread(kolk_shared *pool) {
    return fault == NO_KEYS ? NULL : __real_kolk_shared_local_of_thread(pool);
}

/* ---- Its output -------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/kolk_doctor.XXXXXX", printed[32768];

static void path_to(const char *name, char path[256]) {
    snprintf(path, 256, "%s/%s", folder, name);
}

/* Returns kolk doctor's exit code, with one option or none. */
static int doctor(const char *option) {
    static const cli_verb *const verbs[] = {&cli_doctor, NULL};
    char path[256];
    const char *argv[] = {"kolk", "doctor", "-o", path, option, NULL};
    path_to("printed", path);
    signal(SIGSEGV, SIG_DFL); /* otherwise, after a crash in a check's process, cmocka would continue the tests there */
    int code = cli_run(verbs, option ? 5 : 4, (char **)(uintptr_t)argv);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    fclose(file);
    return code;
}

/* There must be exactly one line " CHECK ANSWER TEXT..." of this check; "" matches any answer. */
static void assert_said(const char *check, const char *answer, const char *text) {
    char begins[64];
    snprintf(begins, sizeof begins, "\n  %s ", check);
    const char *line = strstr(printed, begins);
    if (!line || strstr(line + 1, begins)) {
        fail_msg("no line, or two, of '%s' in:\n%s", check, printed);
        return;
    }
    const char *at = line + strlen(begins);
    at += strspn(at, " ");
    size_t length = strcspn(at, " ");
    if (*answer && (strlen(answer) != length || strncmp(at, answer, length) != 0))
        fail_msg("not '%s':%.200s", answer, line);
    at += length;
    at += strspn(at, " ");
    if (strncmp(at, text, strlen(text)) != 0) fail_msg("not '%s':%.300s", text, line);
}

static void assert_ends(const char *sentence) {
    size_t length = strlen(printed), size = strlen(sentence);
    if (length < size || strcmp(printed + length - size, sentence) != 0) fail_msg("ends otherwise:\n%s", printed);
}

/* Starts without tools and settings; a test adds those that it needs. */
static int begin_anew(void **state) {
    (void)state;
    fault = WHOLE;
    setenv("PATH", folder, true);
    unsetenv("KOLK_DEBUG");
    unsetenv("KOLK_STATS");
    setenv("KOLK_BYPASS", "0", true);
    return 0;
}

static void a_whole_library_works(void **state) {
    (void)state;
    assert_int_equal(doctor(NULL), CLI_OK);
    assert_memory_equal(printed, "The library\n  version ", 22);
    assert_said("version", "yes", KOLK_VERSION ", ABI ");
    assert_said("built with", "", "");
    assert_said("double free", "yes", "it is reported: kolk: doctor: double free of slot 0\n");
    assert_said("stale handle", "yes", "it gives NULL, even when another object lives in the same slot\n");
    assert_said("growth", "", "in place: no object moved; max_capacity may come to ");
    assert_said("unused capacity", "", "");
    assert_said("trim", "", "");
    assert_said("clock", "yes", "monotonic: deadlines pass\n");
    assert_said("queue", "yes", "threads are woken, by items and by deadlines, and poll is told\n");
    assert_said("shared pool", "yes",
                "threads free each other's objects and wait for them, and leave nothing behind when they end\n");
    assert_said("resource pool", "yes", "makers make resources ready, and deadlines end the wait for them\n");
    assert_said("heap", "yes", "blocks of all sizes in ");
    assert_said("statistics", "yes", "a pool with a name is listed, as text, JSON, OpenMetrics and for Prometheus\n");
    assert_said("fill", "yes",
                "it is reported: kolk: doctor: write after free to slot 0: 2a written at byte 8 of it\n");
    assert_said("guard", "yes",
                "it is reported: kolk: doctor: overflow of slot 1: 2a written 0 bytes behind its end\n");
    assert_said("quarantine", "yes", "a freed slot waited\n");
    assert_said("sites", "yes", "it is reported: kolk: doctor: double free of slot 0 by ");
    assert_said("profiler", "yes", "one alloc and one free: it was told of 1 and 1\n");
    assert_said("function names", "yes", "look_at_names+0x");
    assert_said("file and line", "no", "reports name no files and lines: install addr2line (binutils)\n");
    assert_said("valgrind", "no", "install valgrind");
    assert_said("gdb", "no", "install gdb");
    assert_said("watched now", "", "by ");
    assert_ends("\n\nThe library works.\n");
}

static void what_is_broken_is_said(void **state) {
    (void)state;
    static const struct {
        enum fault fault;
        const char *check, *text;
    } rows[] = {
        {ANY_ABI_WILL_DO, "version", KOLK_VERSION ", ABI 1, and the library takes every ABI\n"},
        {NO_POOL, "version", KOLK_VERSION ", ABI 1, and the library is of another\n"},
        {NO_POOL, "stale handle", "a small pool: the system provides no more memory\n"},
        {NO_POOL, "growth", "the system gives no address space; 'ulimit -v' shows a limit\n"},
        {NO_GROWTH, "growth", "the pool did not grow\n"},
        {NO_GROWTH, "trim", "there is no memory to try it with\n"},
        {NEVER_VALID, "double free", "it was reported, and damaged the pool\n"},
        {TRIM_GIVES_NOTHING, "trim", "0 B of 4.0 MiB went back to the system\n"},
        {TRIM_CRASHES, "trim", "it crashed, or took more than 5 seconds\n"},
        {TRIM_HANGS, "trim", "it crashed, or took more than 5 seconds\n"},
        {CLOCK_STANDS, "clock", "it stands still\n"},
        {NO_STATISTICS, "statistics", "a pool with a name is listed in 0 formats of 4\n"},
        {NO_QUEUE, "queue", "a small queue: the system provides no more memory\n"},
        {ITEMS_ARE_LOST, "queue", "an item was lost\n"},
        {DEADLINES_ARE_LOST, "queue", "a deadline passed, and did not end the wait\n"},
        {NO_SHARED_POOL, "shared pool", "a small pool for two threads: the system provides no more memory\n"},
        {NO_LOCAL, "shared pool", "a small pool for two threads: "},
        {NOBODY_GETS_OBJECTS, "shared pool", "an object was lost\n"},
        {WAITS_TOO_LONG, "shared pool", "a deadline passed, and did not end the wait\n"},
        {STALE_HANDLES_LEAD_ON, "shared pool", "the handle of an object does not tell whether it is alive\n"},
        {NO_HEAP, "heap", "a heap reserves addresses ('ulimit -v' shows a limit), on 64-bit machines: "},
        {NO_BLOCKS, "heap", "there was no memory for a few blocks\n"},
        {ONE_BLOCK_FOR_ALL, "heap", "blocks share bytes\n"},
        {NO_REALLOC, "heap", "a large block did not grow\n"},
        {NO_RESOURCE_POOL, "resource pool", "a small pool: the system provides no more threads, and "},
        {MAKERS_SLEEP, "resource pool", "its maker made no resource ready\n"},
        {BORROWS_DON_T_WAIT, "resource pool", "a deadline passed, and did not end the wait\n"},
        {NOTHING_IS_LENT, "resource pool", "a resource was lost\n"},
        {NOTHING_COMES_BACK, "resource pool", "what came back was not taken\n"},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        fault = rows[i].fault;
        assert_int_equal(doctor(NULL), CLI_FAILED);
        assert_said(rows[i].check, "no", rows[i].text);
        assert_ends("\n\nThe library does not work as it should.\n");
    }
    assert_int_equal(doctor("--json"), CLI_FAILED);
    assert_memory_equal(printed, "{\n  \"works\": false,\n", 20);
}

static void a_queue_without_a_descriptor_works(void **state) {
    (void)state;
    fault = NO_DESCRIPTOR_FOR_POLL;
    assert_int_equal(doctor(NULL), CLI_OK);
    assert_said("queue", "partly",
                "threads are woken, by items and by deadlines; the system has no eventfd for poll\n");
    assert_ends("\n\nThe library works.\n");
}

static void a_shared_pool_works_without_what_some_systems_lack(void **state) {
    (void)state;
    fault = THE_DEAD_STAY;
    assert_int_equal(doctor(NULL), CLI_OK);
    assert_said("shared pool", "partly",
                "threads free each other's objects and wait for them; one that ends without a deinit of its local "
                "keeps its place\n");
    fault = NO_KEYS;
    assert_int_equal(doctor(NULL), CLI_OK);
    assert_said("shared pool", "partly",
                "threads free each other's objects and wait for them; the system has no keys for locals that come by "
                "themselves\n");
    assert_ends("\n\nThe library works.\n");
}

static void the_library_works_without_debug_mode(void **state) {
    (void)state;
    fault = NO_DEBUG;
    assert_int_equal(doctor(NULL), CLI_OK);
    assert_said("fill", "no", "a new object was not filled with 0xcd\n");
    assert_said("guard", "no", "a planted mistake was not reported: the bytes before an object were written to\n");
    assert_said("quarantine", "no", "a freed slot was used again at once\n");
    assert_said("sites", "no", "it is not known who allocated and freed: kolk: doctor: ");
    assert_said("profiler", "yes", "");
    assert_ends("\n\nThe library works.\n");
}

/* ---- The environment --------------------------------------------------------------------------------------------- */

static void settings_are_explained(void **state) {
    (void)state;
    static const struct {
        const char *debug, *bypass, *stats, *pool, *check, *answer, *text;
    } rows[] = {
        {NULL, "0", NULL, NULL, "KOLK_DEBUG", "no", "not set: pools have what their descriptors ask for\n"},
        {NULL, "0", NULL, NULL, "KOLK_BYPASS", "no", "objects are in pools\n"},
        {NULL, "0", NULL, NULL, "KOLK_STATS", "no", "not set: programs write no statistics\n"},
        {NULL, "0", "0", NULL, "KOLK_STATS", "no", "not set: programs write no statistics\n"},
        {"all", "0", NULL, NULL, "KOLK_DEBUG", "yes", "a pool named bullets gets fill, guard, quarantine, sites\n"},
        {"fill;trace:voic*", "0", NULL, "--pool=voices", "KOLK_DEBUG", "yes", "a pool named voices gets fill, trace\n"},
        {"sites;sample=100", "0", NULL, NULL, "KOLK_DEBUG", "yes",
         sizeof(void *) < 8 ? "a pool named bullets gets sites\n" /* there are no heaps */
                            : "a pool named bullets gets sites; a heap, guarded blocks\n"},
        {"fill:voic*", "0", NULL, NULL, "KOLK_DEBUG", "no", "a pool named bullets gets nothing\n"},
        {"fill,gard", "0", NULL, NULL, "KOLK_DEBUG", "partly",
         "a pool named bullets gets fill; kolk: KOLK_DEBUG: \"gard\" is not a setting: "},
        {"gard,quarantine=0", "0", NULL, NULL, "KOLK_DEBUG", "no",
         "a pool named bullets gets nothing; kolk: KOLK_DEBUG: \"gard\" is not a setting: fill, guard, "
         "quarantine=SLOTS, sites, move, trace, sample=N, all; kolk: KOLK_DEBUG: \"quarantine=0\" is not understood: "},
        {"fill,sites", "1", NULL, NULL, "KOLK_DEBUG", "yes",
         "a pool named bullets gets sites; what comes from malloc can have sites and trace only\n"},
        {NULL, "1", NULL, NULL, "KOLK_BYPASS", "yes", "objects come from malloc, one by one\n"},
        {NULL, "0", "json:x", NULL, "KOLK_STATS", "yes", "programs write statistics at exit: json:x\n"},
        {NULL, "0", "xml", NULL, "KOLK_STATS", "no", "kolk: KOLK_STATS: \"xml\" is not understood: "},
        {"gard", "0", "text", NULL, "KOLK_STATS", "yes", "programs write statistics at exit: text\n"},
        {"gard", "0", "xml", "--pool=a\tb\nc\033", "KOLK_DEBUG", "no",
         "a pool named a b c  gets nothing; kolk: KOLK_DEBUG: \"gard\" is not a setting: fill, guard, "
         "quarantine=SLOTS, sites, move, trace, sample=N, all\n"},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        begin_anew(NULL);
        if (rows[i].debug) setenv("KOLK_DEBUG", rows[i].debug, true);
        if (rows[i].bypass) setenv("KOLK_BYPASS", rows[i].bypass, true);
        if (rows[i].stats) setenv("KOLK_STATS", rows[i].stats, true);
        assert_int_equal(doctor(rows[i].pool), CLI_OK);
        assert_said(rows[i].check, rows[i].answer, rows[i].text);
        assert_said("fill", "yes", ""); /* the environment does not affect the trials */
    }
    unsetenv("KOLK_BYPASS");
    assert_int_equal(doctor(NULL), CLI_OK);
    bool watched = strstr(printed, "not set, but watched: objects come from malloc, one by one\n");
    assert_said("KOLK_BYPASS", watched ? "yes" : "no", watched ? "" : "not set: objects are in pools\n");
    assert_said("watched now", watched ? "yes" : "no", "by ");
}

/* ---- Tools ------------------------------------------------------------------------------------------------------- */

static void make_tool(const char *name, const char *script) {
    char path[256];
    path_to(name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

static void tools_are_started(void **state) {
    (void)state;
    bool probes = kolk_features() & KOLK_HAS_PROBES;
    const struct {
        const char *tool, *script, *check, *answer, *text;
    } rows[] = {
        {"valgrind", "[ \"$*\" = '-q true' ]", "valgrind", "", "it runs"},
        {"valgrind", "printf 'fatal\\t\\033\\n' >&2; exit 1", "valgrind", "no",
         "it is here, but does not run programs: fatal"},
        {"valgrind", "kill -9 $$", "valgrind", "no", "it is here, but does not run programs: \n"},
        {"valgrind", "exec /bin/sleep 1000", "valgrind", "no", "it crashed, or took more than 5 seconds\n"},
        {"gdb", "echo Python not supported; exit 1", "gdb", "no",
         "it is here, but runs no Python, in which the printers are: Python not supported"},
        {"gdb", "read key && exit 1; i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); echo Python; done", "gdb", "partly",
         "it runs; the printers are in libkolk.so, which is not beside this program\n"},
        {"perf", "exit 0", "probes", "", probes ? "kolk:alloc, " : "kolk was built without"},
        {"perf", "exit 1", "probes", "", probes ? "kolk has them; to see them, install linux-perf or bpftrace\n" : ""},
        {"addr2line", "echo 0x1; echo f; echo some/where.c:1", "file and line", "partly",
         "addr2line is here, but this program has no "},
        {"addr2line", "echo 0x1; echo f; echo some/library.c:1", "file and line", "yes", "look_at_lines+0x"},
    };
    assert_non_null(freopen("VERSION", "r", stdin)); /* a line that no tool may read */
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        make_tool(rows[i].tool, rows[i].script);
        assert_int_equal(doctor(NULL), CLI_OK);
        assert_said(rows[i].check, rows[i].answer, rows[i].text);
        char path[256];
        path_to(rows[i].tool, path);
        unlink(path);
    }
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char path[256];
    path_to("printed", path);
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_whole_library_works, begin_anew),
        cmocka_unit_test_setup(what_is_broken_is_said, begin_anew),
        cmocka_unit_test_setup(a_queue_without_a_descriptor_works, begin_anew),
        cmocka_unit_test_setup(a_shared_pool_works_without_what_some_systems_lack, begin_anew),
        cmocka_unit_test_setup(the_library_works_without_debug_mode, begin_anew),
        cmocka_unit_test_setup(settings_are_explained, begin_anew),
        cmocka_unit_test_setup(tools_are_started, begin_anew),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
