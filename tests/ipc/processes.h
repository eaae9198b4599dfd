/* processes.h: for tests with real processes: starts and ends them, and checks what must be true when only this
 * process is left. */
#ifndef TESTS_PROCESSES_H
#define TESTS_PROCESSES_H

#include "ipc_test.h"

#include "../help/child.h"
#include "../help/require.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

static uint64_t seed;

static inline void begin_random(void) {
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
}

/* Memory that this process and its children share. */
static inline void *share(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

/* A child that runs `body` and then exits with 0, without cmocka's handlers of signals. */
static inline pid_t start(void (*body)(void)) {
    fflush(NULL);
    pid_t child = fork_dependent();
    assert_true(child >= 0);
    if (child) return child;
    signal(SIGABRT, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    END_IF_IT_HANGS();
    body();
    _exit(0);
}

static inline void end_child(pid_t child) {
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* The entries of a folder whose names contain `part`. */
static inline unsigned count_entries(const char *path, const char *part) {
    DIR *folder = opendir(path);
    unsigned count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) count += strstr(entry->d_name, part) != NULL;
    if (folder) closedir(folder);
    return count;
}

static inline unsigned count_descriptors(void) {
    return count_entries("/proc/self/fd", "");
}

/* No object is alive, and nobody else uses the pool: then exactly all slots can be allocated, once each. */
static inline void assert_all_free(kolk_ipc *pool) {
    uint32_t n = 0;
    assert_true(kolk_ipc_is_valid(pool));
    assert_int_equal(kolk_ipc_count(pool), 0);
    while (kolk_ipc_alloc(pool)) n++;
    assert_int_equal(n, pool->capacity);
    assert_int_equal(kolk_ipc_count(pool), n);
    kolk_ipc_cursor each = kolk_ipc_each(pool);
    for (void *object; (object = kolk_ipc_cursor_next(&each)); n--) {
        assert_true(kolk_ipc_is_owned(pool, object));
        kolk_ipc_free(pool, object);
    }
    assert_int_equal(n, 0);
    assert_true(kolk_ipc_is_valid(pool));
}

#endif
