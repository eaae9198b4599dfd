/* runs: not:qemu not:wine */
/* kolk_ipc's descriptor: each broken rule has a status of its own and leaves the pool all zero; an attach accepts what
 * the block has, and refuses anything else. */
#include "../help/test.h"

#include <kolk/kolk.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Init -------------------------------------------------------------------------------------------------------- */

static const struct row {
    kolk_status status;
    kolk_ipc_desc desc;
} rows[] = {
    {KOLK_ZERO_SIZE, {.capacity = 4}},
    {KOLK_ZERO_CAPACITY, {.object_size = 8}},
    {KOLK_BAD_CAPACITY, {.object_size = 8, .capacity = (uint32_t)INT32_MAX + 1}},
    {KOLK_BAD_QUEUES, {.object_size = 8, .capacity = 4, .queues = 257}},
    {KOLK_BAD_QUEUES, {.object_size = 8, .capacity = 4, .queues = 1, .queue_capacity = 5}},
    {KOLK_BAD_PROCESSES, {.object_size = 8, .capacity = 4, .max_processes = 65536}},
    {KOLK_BAD_ORPHANS, {.object_size = 8, .capacity = 4, .orphans = (kolk_ipc_orphans)2}},
    {KOLK_SIZE_OVERFLOW, {.object_size = 1u << 30, .capacity = INT32_MAX}},
    {KOLK_OK, {.object_size = 1, .capacity = 1}}, /* the closest descriptors that are valid */
    {KOLK_OK, {.object_size = 24, .object_align = 8, .capacity = 4, .queues = 256, .queue_capacity = 4}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .max_processes = 65535, .orphans = KOLK_IPC_KEEP}},
};

/* promise: ipc.h "is left all zero", "up to 256", "up to 65535" */
static void test_each_broken_rule_has_its_status(void **state) {
    kolk_ipc pool;
    for (size_t n = 0; n < LENGTH_OF(rows); n++) {
        memset(&pool, 0xff, sizeof pool);
        kolk_status status = kolk_ipc_init(&pool, &rows[n].desc);
        if (status != rows[n].status) fail_msg("row %u: %s", (unsigned)n, kolk_status_text(status));
        assert_true(status != KOLK_OK || kolk_ipc_is_valid(&pool));
        kolk_ipc_deinit(&pool);
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
    }
    assert_int_equal(kolk_ipc_init(&pool, NULL), KOLK_NO_DESCRIPTOR);
}

/* ---- Attach ------------------------------------------------------------------------------------------------------ */

static const kolk_ipc_desc made = {.name = "frames",
                                   .object_size = 24,
                                   .object_align = 8,
                                   .capacity = 4,
                                   .queues = 2,
                                   .queue_capacity = 3,
                                   .max_processes = 2,
                                   .version = 5,
                                   .tag = 7,
                                   .orphans = KOLK_IPC_KEEP};

static kolk_status attach_once(int fd, const kolk_ipc_desc *desc) {
    kolk_ipc pool;
    memset(&pool, 0xff, sizeof pool);
    kolk_status status = kolk_ipc_attach(&pool, fd, desc);
    kolk_ipc_deinit(&pool);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
    return status;
}

/* promise: ipc.h "The descriptor may be all zero ... the status is KOLK_OTHER_LAYOUT", "there are max_processes" */
static void test_attach(void **state) {
    kolk_ipc pool, second;
    kolk_ipc_desc others[9];
    assert_int_equal(kolk_ipc_init(&pool, &made), KOLK_OK);
    int fd = kolk_ipc_fd(&pool);
    for (size_t n = 0; n < LENGTH_OF(others); n++) others[n] = made;
    others[0].name = "pages";
    others[1].object_size = 32;
    others[2].object_align = 16;
    others[3].capacity = 5;
    others[4].queues = 1;
    others[5].queue_capacity = 2;
    others[6].max_processes = 3;
    others[7].version = 6;
    others[8].tag = 8;
    others[2].object_size = 0;
    for (size_t n = 0; n < LENGTH_OF(others); n++)
        if (attach_once(fd, &others[n]) != KOLK_OTHER_LAYOUT) fail_msg("member %u", (unsigned)n);
    assert_int_equal(attach_once(fd, &made), KOLK_OK);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.tag = 0}), KOLK_OK);
    assert_int_equal(kolk_ipc_attach(&second, fd, &made), KOLK_OK);
    assert_int_equal(attach_once(fd, &made), KOLK_TOO_MANY_PROCESSES);
    kolk_ipc_deinit(&second);
    assert_int_equal(attach_once(fd, &made), KOLK_OK);
    kolk_ipc_deinit(&pool);
}

/* promise: ipc.h "KOLK_NOT_EMPTY: it is not empty", "only files that are sealed against it are accepted" */
static void test_files(void **state) {
    kolk_ipc pool;
    FILE *file = tmpfile();
    assert_non_null(file);
    int fd = fileno(file);
    assert_int_equal(attach_once(-1, &made), KOLK_NO_LOCKS);
    assert_int_equal(kolk_ipc_init_in(&pool, -1, &made), KOLK_NO_LOCKS);
    assert_int_equal(attach_once(fd, &made), KOLK_NOT_A_BLOCK);
    assert_int_equal(kolk_ipc_init_in(&pool, fd, &made), KOLK_OK);
    assert_int_equal(attach_once(fd, &made), KOLK_NOT_SEALED);
    kolk_ipc_desc unsealed = {.unsealed = true};
    assert_int_equal(attach_once(fd, &unsealed), KOLK_OK);
    kolk_ipc_deinit(&pool);
    assert_int_equal(kolk_ipc_init_in(&pool, fd, &made), KOLK_NOT_EMPTY);
    uint64_t magic = 0;
    assert_int_equal(pwrite(fd, &magic, sizeof magic, 0), sizeof magic);
    assert_int_equal(attach_once(fd, &unsealed), KOLK_NOT_A_BLOCK);
    fclose(file);
}

/* A file of huge pages: its size, and each mapping, is a multiple of such a page. promise: docs/processes.md "gives it
 * a size that is a multiple of its pages" */
static void test_huge_pages(void **state) {
    int fd = (int)syscall(SYS_memfd_create, "huge", 1u | 2u | 4u); /* close-on-exec, may be sealed, huge pages */
    struct stat about;
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, 1u << 21, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (page == MAP_FAILED || fstat(fd, &about) != 0 || about.st_blksize < (1 << 16)) {
        print_message("left out: this machine has no free huge pages (sysctl vm.nr_hugepages)\n");
        skip();
    }
    munmap(page, 1u << 21);
    kolk_ipc pool, second;
    assert_int_equal(kolk_ipc_init_in(&pool, fd, &made), KOLK_OK);
    assert_true(fstat(fd, &about) == 0 && about.st_size % about.st_blksize == 0);
    for (int rounds = 0; rounds < 3; rounds++) { /* a lock that stayed would leave no number */
        assert_int_equal(kolk_ipc_attach(&second, fd, &made), KOLK_OK);
        void *object = kolk_ipc_alloc(&second);
        assert_int_equal(kolk_ipc_push(&second, 0, object, KOLK_NOW), KOLK_OK);
        kolk_ipc_deinit(&second);
        kolk_ipc_free(&pool, kolk_ipc_pop(&pool, 0, KOLK_NOW));
        assert_int_equal(kolk_ipc_count(&pool), 0);
    }
    kolk_ipc_deinit(&pool);
    close(fd);
}

/* ---- What a process may not do ----------------------------------------------------------------------------------- */

static struct {
    int count;
    kolk_status rule;
    char sentence[200];
} said;

static void note(const kolk_failure *failure, void *context) {
    said.count++;
    said.rule = failure->rule;
    snprintf(said.sentence, sizeof said.sentence, "%s", failure->sentence);
}

static void assert_said(kolk_status rule, const char *words) {
    assert_int_equal(said.count, 1);
    assert_int_equal(said.rule, rule);
    if (!strstr(said.sentence, words)) fail_msg("%s", said.sentence);
    said.count = 0;
}

static void free_orphan(void *object, void *context) {
    kolk_ipc_free((kolk_ipc *)context, object);
}

/* promise: ipc.h "is reported as KOLK_NOT_OWNER and stays as it is", "and so is a queue that does not exist",
 * "An alloc that finds no slot reports KOLK_FULL, with the processes that hold the most" */
static void test_reports(void **state) {
    kolk_ipc pool;
    kolk_ipc_desc desc = {.name = "frames", .object_size = 8, .capacity = 2, .queues = 1, .trap_full = true};
    desc.on_orphan = free_orphan;
    desc.context = &pool;
    assert_int_equal(kolk_ipc_init(&pool, &desc), KOLK_OK);
    void *one = kolk_ipc_alloc(&pool), *two = kolk_ipc_alloc(&pool);
    assert_null(kolk_ipc_alloc(&pool));
    assert_said(KOLK_FULL, "(test_ipc_descri) holds 2, and 0 more wait in queues");
    assert_int_equal(kolk_ipc_push(&pool, 1, one, KOLK_NOW), KOLK_NO_QUEUE);
    assert_said(KOLK_NO_QUEUE, "push: there is no queue 1 among 1");
    assert_int_equal(kolk_ipc_push(&pool, 0, one, KOLK_NOW), KOLK_OK);
    kolk_ipc_free(&pool, one);
    assert_said(KOLK_NOT_OWNER, "free of slot 0, which is in a queue");
    assert_true(kolk_ipc_is_live(&pool, one));
    kolk_ipc_free(&pool, two);
    kolk_ipc_free(&pool, two);
    assert_said(KOLK_NOT_OWNER, "free of slot 1, which is free");
    assert_int_equal(kolk_ipc_push(&pool, 0, two, KOLK_NOW), KOLK_NOT_OWNER);
    assert_said(KOLK_NOT_OWNER, "push of slot 1, which is free");
    kolk_ipc_deinit(&pool);
}

/* promise: ipc.h "gives a pool that can be read only ... the others report KOLK_READ_ONLY" */
static void test_a_reader(void **state) {
    kolk_ipc pool, reader;
    char path[40];
    assert_int_equal(kolk_ipc_init(&pool, &made), KOLK_OK);
    void *object = kolk_ipc_alloc(&pool);
    snprintf(path, sizeof path, "/proc/self/fd/%d", kolk_ipc_fd(&pool));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(kolk_ipc_attach(&reader, fd, &made), KOLK_OK);
    assert_int_equal(close(fd), 0);
    assert_int_equal(kolk_ipc_status(&reader), KOLK_READ_ONLY);
    assert_non_null(kolk_ipc_get(&reader, kolk_ipc_handle_of(&pool, object)));
    assert_int_equal(kolk_ipc_count(&reader), 1);
    assert_null(kolk_ipc_alloc(&reader));
    assert_said(KOLK_READ_ONLY, "alloc in a pool that may only be read");
    assert_int_equal(kolk_ipc_push(&reader, 0, object, KOLK_NOW), KOLK_READ_ONLY);
    assert_said(KOLK_READ_ONLY, "push in a pool that may only be read");
    kolk_ipc_deinit(&reader);
    kolk_ipc_deinit(&pool);
}

/* promise: ipc.h "costs the others the pool (KOLK_CORRUPT), but neither crashes nor hangs them" */
static void test_garbage(void **state) {
    kolk_ipc pool;
    assert_int_equal(kolk_ipc_init(&pool, &made), KOLK_OK);
    memset(pool.rings, 0xa5, 2 * 4 * sizeof *pool.rings);
    void *object = kolk_ipc_alloc(&pool);
    assert_int_equal(kolk_ipc_push(&pool, 0, object, KOLK_NOW), KOLK_CORRUPT);
    assert_int_equal(kolk_ipc_status(&pool), KOLK_CORRUPT);
    assert_false(kolk_ipc_is_valid(&pool));
    kolk_ipc_deinit(&pool);
}

static int set_handler(void **state) {
    kolk_set_failure_handler(note, NULL);
    return 0;
}

int main(void) {
    kolk_ipc pool;
    if (kolk_ipc_init(&pool, &made) == KOLK_NEEDS_LINUX) {
        print_message("left out: pools between processes need Linux\n");
        return 0;
    }
    kolk_ipc_deinit(&pool);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_broken_rule_has_its_status),
        cmocka_unit_test(test_attach),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_a_reader),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests(tests, set_handler, NULL);
}
