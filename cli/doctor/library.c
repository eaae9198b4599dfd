/* library.c: the checks of `kolk doctor` on the library and its debug mode. Every check runs in its own process with
 * its own pools, so it leaves nothing behind. */
#define _POSIX_C_SOURCE 200809L
#include "../measure.h"
#include "../print.h"
#include "doctor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kolk/kolk.h>

#define LENGTH_OF(array) (sizeof(array) / sizeof *(array))
#define KIB              UINT64_C(1024)

/* ---- Reported failures ------------------------------------------------------------------------------------------- */

static struct {
    unsigned count;
    kolk_failure last;
    char sentence[1024];
} heard;

static void hear(const kolk_failure *failure, void *context) {
    (void)context;
    heard.count++;
    heard.last = *failure;
    snprintf(heard.sentence, sizeof heard.sentence, "%s", failure->sentence);
}

/* Makes a pool of 64-byte objects and starts recording failures. If the pool cannot be made, sets the finding and
 * returns false. */
static bool begin(kolk_pool *pool, uint32_t capacity, const char *debug, doctor_finding *finding) {
    kolk_set_failure_handler(hear, NULL);
    kolk_pool_desc desc = {.name = "doctor", .object_size = 64, .capacity = capacity, .debug = debug};
    kolk_status status = kolk_pool_init(pool, &desc);
    if (status != KOLK_OK) doctor_find(finding, DOCTOR_NO, "a small pool: %s", kolk_status_text(status));
    return status == KOLK_OK;
}

/* Checks that the planted mistake was reported exactly once, with the right status. */
static void find_report(doctor_finding *finding, kolk_status rule) {
    if (heard.count == 1 && heard.last.rule == rule)
        doctor_find(finding, DOCTOR_YES, "it is reported: %s", heard.sentence);
    else if (heard.count == 0)
        doctor_find(finding, DOCTOR_NO, "a planted mistake was not reported: %s", kolk_status_text(rule));
    else
        doctor_find(finding, DOCTOR_NO, "%u reports of one mistake, the last: %s", heard.count, heard.sentence);
}

/* ---- The library ------------------------------------------------------------------------------------------------- */

static void look_at_version(doctor_finding *finding) {
    kolk_pool pool;
    kolk_pool_desc desc = {.object_size = 64, .capacity = 1};
    bool fits = kolk_pool_init(&pool, &desc) == KOLK_OK;
    bool refused = kolk_pool_init_abi_(&pool, &desc, 0, 0, sizeof pool, KOLK_ABI + 1) == KOLK_WRONG_ABI;
    if (fits && refused)
        doctor_find(finding, DOCTOR_YES, "%s, ABI %d; programs that were compiled for another are refused",
                    KOLK_VERSION, KOLK_ABI);
    else
        doctor_find(finding, DOCTOR_NO, "%s, ABI %d, and the library %s", KOLK_VERSION, KOLK_ABI,
                    fits ? "takes every ABI" : "is of another");
}

static void look_at_features(doctor_finding *finding) {
    static const struct {
        uint32_t feature;
        const char *name, *cure;
    } rows[] = {
        {KOLK_HAS_PAGES, "pages of the system", "for a hosted target"},
        {KOLK_HAS_PROBES, "probes", "with systemtap-sdt-dev installed"},
        {KOLK_HAS_VALGRIND, "notice of memcheck", "with valgrind's headers installed"},
    };
    char has[256] = "nothing", lacks[256] = "";
    size_t length = 0, missing = 0;
    uint32_t features = kolk_features();
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        if (features & rows[i].feature)
            length += (size_t)snprintf(has + length, sizeof has - length, "%s%s", length ? ", " : "", rows[i].name);
        else
            missing += (size_t)snprintf(lacks + missing, sizeof lacks - missing, "; no %s: build it again %s",
                                        rows[i].name, rows[i].cure);
    }
    doctor_answer answer = !(features & KOLK_HAS_PAGES) ? DOCTOR_NO : missing ? DOCTOR_PARTLY : DOCTOR_YES;
    doctor_find(finding, answer, "%s%s", has, lacks);
}

static void look_at_double_free(doctor_finding *finding) {
    kolk_pool pool;
    if (!begin(&pool, 4, NULL, finding)) return;
    char *object = kolk_pool_alloc(&pool);
    kolk_pool_free(&pool, object);
    kolk_pool_free(&pool, object);
    find_report(finding, KOLK_DOUBLE_FREE);
    if (!kolk_pool_is_valid(&pool)) doctor_find(finding, DOCTOR_NO, "it was reported, and damaged the pool");
}

static void look_at_stale_handle(doctor_finding *finding) {
    kolk_pool pool;
    if (!begin(&pool, 4, NULL, finding)) return;
    void *first = kolk_pool_alloc(&pool);
    kolk_handle stale = kolk_pool_handle_of(&pool, first);
    bool found = kolk_pool_get(&pool, stale) == first;
    kolk_pool_free(&pool, first);
    bool gone = !kolk_pool_get(&pool, stale);
    void *second = kolk_pool_alloc(&pool);
    bool still_gone = second == first && !kolk_pool_get(&pool, stale) && !kolk_pool_free_handle(&pool, stale);
    if (found && gone && still_gone)
        doctor_find(finding, DOCTOR_YES, "it gives NULL, even when another object lives in the same slot");
    else
        doctor_find(finding, DOCTOR_NO, "a handle of %s",
                    found ? "a freed object leads to one that is not its own" : "a live object leads nowhere");
}

/* Makes a growing pool of 4 KiB objects, with this many bytes of address space. */
static bool reserve(kolk_pool *pool, uint64_t bytes) {
    kolk_pool_desc desc = {.name = "doctor", .object_size = 4 * KIB, .max_capacity = (uint32_t)(bytes / (4 * KIB))};
    return kolk_pool_init(pool, &desc) == KOLK_OK;
}

/* Allocates this many objects and writes each one's number at its end. Returns the first object, or NULL if not all
 * could be allocated. */
static char *fill(kolk_pool *pool, uint32_t count) {
    char *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        char *object = kolk_pool_alloc(pool);
        if (!object) return NULL;
        if (i == 0) first = object;
        memcpy(object + 4 * KIB - sizeof i, &i, sizeof i);
    }
    return first;
}

static bool is_full_of_numbers(const kolk_pool *pool, uint32_t count) {
    for (uint32_t i = 0, found; i < count; i++) {
        const char *object = kolk_pool_at(pool, i);
        if (!object) return false;
        memcpy(&found, object + 4 * KIB - sizeof found, sizeof found);
        if (found != i) return false;
    }
    return true;
}

enum { MANY = 1024 }; /* objects of 4 KiB */

static void look_at_growth(doctor_finding *finding) {
    kolk_pool pool;
    uint64_t bytes = KIB * KIB * KIB * KIB, enough = 4 * KIB * KIB * KIB;
    while (bytes > 4 * KIB * MANY && !reserve(&pool, bytes)) bytes /= 2;
    if (bytes <= 4 * KIB * MANY) {
        doctor_find(finding, DOCTOR_NO, "the system gives no address space; 'ulimit -v' shows a limit");
        return;
    }
    char *first = fill(&pool, MANY);
    if (!first || first != kolk_pool_at(&pool, 0) || !is_full_of_numbers(&pool, MANY))
        doctor_find(finding, DOCTOR_NO, "%s", first ? "objects moved or changed" : "the pool did not grow");
    else
        doctor_find(finding, bytes >= enough ? DOCTOR_YES : DOCTOR_PARTLY,
                    "in place: no object moved; max_capacity may come to %s%s", cli_bytes(bytes).text,
                    bytes >= enough ? "" : ", for want of address space: 'ulimit -v' shows a limit");
}

static uint64_t memory_of_machine(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

/* A pool that does not grow has its whole capacity from init on. This must not take up memory before it is used. */
static void look_at_unused_capacity(doctor_finding *finding) {
    const char *watcher = doctor_watcher();
    if (watcher) {
        doctor_find(finding, DOCTOR_PARTLY, "not tried: %s keeps account of unused memory too", watcher);
        return;
    }
    kolk_pool pool;
    uint64_t slots = 2 * memory_of_machine() / (4 * KIB);
    kolk_pool_desc desc = {.object_size = 4 * KIB, .capacity = slots < INT32_MAX ? (uint32_t)slots : INT32_MAX};
    uint64_t bytes = desc.capacity * 4 * KIB;
    if (kolk_pool_init(&pool, &desc) == KOLK_OK)
        doctor_find(finding, DOCTOR_YES, "costs no memory before its first use: a pool of %s was made at once",
                    cli_bytes(bytes).text);
    else
        doctor_find(finding, DOCTOR_PARTLY,
                    "the system gives no %s at once, though memory is due at first use only (vm.overcommit_memory, "
                    "'ulimit -v'): let large pools grow, by max_capacity",
                    cli_bytes(bytes).text);
}

static void look_at_trim(doctor_finding *finding) {
    kolk_pool pool;
    uint64_t bytes = 4 * KIB * MANY;
    if (!reserve(&pool, 2 * bytes) || !fill(&pool, MANY)) {
        doctor_find(finding, DOCTOR_NO, "there is no memory to try it with");
        return;
    }
    kolk_pool_clear(&pool);
    uint64_t before = cli_resident(), given = kolk_pool_trim(&pool), after = cli_resident();
    if (given < bytes / 2)
        doctor_find(finding, DOCTOR_NO, "%s of %s went back to the system", cli_bytes(given).text,
                    cli_bytes(bytes).text);
    else if (before > 0 && after + given / 2 > before)
        doctor_find(finding, DOCTOR_PARTLY, "the system was given %s, and counts them as this process's still",
                    cli_bytes(given).text);
    else
        doctor_find(finding, DOCTOR_YES, "%s of %s went back to the system, in pages of %s", cli_bytes(given).text,
                    cli_bytes(bytes).text, cli_bytes((uint64_t)sysconf(_SC_PAGESIZE)).text);
}

static void look_at_clock(doctor_finding *finding) {
    int64_t before = kolk_deadline_after(1).ns;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    int64_t after = kolk_deadline_after(1).ns;
    bool goes = before > 0 && after - before >= 2000000;
    doctor_find(finding, goes ? DOCTOR_YES : DOCTOR_NO, "%s", goes ? "monotonic: deadlines pass" : "it stands still");
}

static void look_at_statistics(doctor_finding *finding) {
    static const kolk_stats_format formats[] = {KOLK_STATS_TEXT, KOLK_STATS_JSON, KOLK_STATS_OPENMETRICS,
                                                KOLK_STATS_PROMETHEUS};
    kolk_pool pool;
    size_t named = 0;
    if (!begin(&pool, 4, NULL, finding)) return;
    for (size_t i = 0; i < LENGTH_OF(formats); i++) {
        char text[8192] = "";
        FILE *out = fmemopen(text, sizeof text - 1, "w");
        if (!out) break;
        kolk_stats_write(formats[i], cli_put, out);
        fclose(out);
        named += strstr(text, "doctor") != NULL;
    }
    if (named == LENGTH_OF(formats))
        doctor_find(finding, DOCTOR_YES, "a pool with a name is listed, as text, JSON, OpenMetrics and for Prometheus");
    else
        doctor_find(finding, DOCTOR_NO, "a pool with a name is listed in %zu formats of %zu", named,
                    LENGTH_OF(formats));
}

static const doctor_check library_checks[] = {
    {"version", look_at_version},
    {"built with", look_at_features},
    {"double free", look_at_double_free},
    {"stale handle", look_at_stale_handle},
    {"growth", look_at_growth},
    {"unused capacity", look_at_unused_capacity},
    {"trim", look_at_trim},
    {"clock", look_at_clock},
    {"queue", doctor_look_at_queue},
    {"shared pool", doctor_look_at_shared},
    {"resource pool", doctor_look_at_resources},
    {"heap", doctor_look_at_heap},
    {"statistics", look_at_statistics},
    {0},
};

const doctor_group doctor_library = {
    .name = "library", .title = "The library", .required = true, .checks = library_checks};

/* ---- The debug mode ---------------------------------------------------------------------------------------------- */

static void look_at_fill(doctor_finding *finding) {
    kolk_pool pool;
    if (!begin(&pool, 1, "fill", finding)) return;
    volatile unsigned char *object = kolk_pool_alloc(&pool);
    bool filled = object[0] == 0xcd && object[63] == 0xcd;
    kolk_pool_free(&pool, (void *)(uintptr_t)object);
    object[8] = 42;
    kolk_pool_alloc(&pool);
    find_report(finding, KOLK_WRITE_AFTER_FREE);
    if (!filled) doctor_find(finding, DOCTOR_NO, "a new object was not filled with 0xcd");
}

/* Uses the middle one of three objects, so that a mistake that goes unnoticed does no harm. */
static void look_at_guard(doctor_finding *finding) {
    kolk_pool pool;
    if (!begin(&pool, 3, "guard", finding)) return;
    void *objects[3];
    kolk_pool_alloc_n(&pool, objects, 3);
    *((volatile unsigned char *)objects[1] - 1) = 42;
    kolk_pool_free(&pool, objects[1]);
    find_report(finding, KOLK_UNDERFLOW);
    if (finding->answer != DOCTOR_YES) return;
    heard.count = 0;
    objects[1] = kolk_pool_alloc(&pool);
    *((volatile unsigned char *)objects[1] + 64) = 42;
    kolk_pool_free(&pool, objects[1]);
    find_report(finding, KOLK_OVERFLOW);
}

static void look_at_quarantine(doctor_finding *finding) {
    kolk_pool pool;
    if (!begin(&pool, 4, "quarantine=2", finding)) return;
    void *first = kolk_pool_alloc(&pool);
    kolk_pool_free(&pool, first);
    bool waits = kolk_pool_alloc(&pool) != first;
    doctor_find(finding, waits ? DOCTOR_YES : DOCTOR_NO, "a freed slot %s",
                waits ? "waited" : "was used again at once");
}

static void look_at_sites(doctor_finding *finding) {
    kolk_pool pool;
    if (!begin(&pool, 1, "sites", finding)) return;
    void *object = kolk_pool_alloc(&pool);
    kolk_pool_free(&pool, object);
    kolk_pool_free(&pool, object);
    find_report(finding, KOLK_DOUBLE_FREE);
    bool known = heard.last.site && heard.last.alloc_site && heard.last.free_site;
    if (finding->answer == DOCTOR_YES && !known)
        doctor_find(finding, DOCTOR_NO, "it is not known who allocated and freed: %s", heard.sentence);
}

static unsigned allocs, frees;

static void see_alloc(const char *pool, const void *object, size_t size, void *context) {
    (void)pool, (void)object, (void)context;
    allocs += size == 64;
}

static void see_free(const char *pool, const void *object, void *context) {
    (void)pool, (void)object, (void)context;
    frees++;
}

static void look_at_profiler(doctor_finding *finding) {
    kolk_pool pool;
    kolk_set_profiler(&(kolk_profiler){.alloc = see_alloc, .free = see_free});
    if (!begin(&pool, 1, NULL, finding)) return;
    kolk_pool_free(&pool, kolk_pool_alloc(&pool));
    doctor_find(finding, allocs == 1 && frees == 1 ? DOCTOR_YES : DOCTOR_NO,
                "one alloc and one free: it was told of %u and %u", allocs, frees);
}

/* Returns its own return address. */
static __attribute__((noinline)) const void *here(void) {
    return __builtin_extract_return_addr(__builtin_return_address(0));
}

static void look_at_names(doctor_finding *finding) {
    char text[256];
    kolk_site_text(here(), false, text, sizeof text);
    if (!strncmp(text, __func__, strlen(__func__)))
        doctor_find(finding, DOCTOR_YES, "%s", text);
    else
        doctor_find(finding, DOCTOR_NO, "addresses instead: %s; is this program stripped? Others need not be",
                    *text ? text : "nothing");
}

static void look_at_lines(doctor_finding *finding) {
    char text[256];
    kolk_site_text(here(), true, text, sizeof text);
    if (strstr(text, "(library.c:"))
        doctor_find(finding, DOCTOR_YES, "%s", text);
    else if (doctor_tool_runs("addr2line", "--version"))
        doctor_find(finding, DOCTOR_PARTLY, "addr2line is here, but this program has no debug information (-g)");
    else
        doctor_find(finding, DOCTOR_NO, "reports name no files and lines: install addr2line (binutils)");
}

static const doctor_check debug_checks[] = {
    {"fill", look_at_fill},
    {"guard", look_at_guard},
    {"quarantine", look_at_quarantine},
    {"sites", look_at_sites},
    {"profiler", look_at_profiler},
    {"function names", look_at_names},
    {"file and line", look_at_lines},
    {0},
};

const doctor_group doctor_debug = {.name = "debug", .title = "The debug mode", .checks = debug_checks};
