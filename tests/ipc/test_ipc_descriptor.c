/* runs: not:qemu not:wine */
/* kolk_ipc's descriptor: each broken rule has a status of its own and leaves the pool all zero; an attach accepts what
 * the block has, and refuses anything else. */
#include "../help/test.h"

#include <kolk/kolk.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

KOLK_IPC_TYPE(numbers, uint64_t)

static void make(kolk_ipc *pool, const kolk_ipc_desc *desc) {
    kolk_status status = kolk_ipc_init(pool, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
}

static kolk_stats stats_of(const kolk_ipc *pool) {
    kolk_stats stats;
    kolk_ipc_stats(pool, &stats);
    return stats;
}

/* ---- Init -------------------------------------------------------------------------------------------------------- */

static const struct row {
    kolk_status status;
    kolk_ipc_desc desc;
} rows[] = {
    {KOLK_ZERO_SIZE, {.capacity = 4}},
    {KOLK_ZERO_CAPACITY, {.object_size = 8}},
    {KOLK_BAD_ALIGN, {.object_size = 24, .object_align = 24, .capacity = 4}},
    {KOLK_ALIGN_TOO_LARGE, {.object_size = 24, .object_align = 8192, .capacity = 4}},
    {KOLK_BAD_CAPACITY, {.object_size = 8, .capacity = (uint32_t)INT32_MAX + 1}},
    {KOLK_BAD_QUEUES, {.object_size = 8, .capacity = 4, .queues = 257}},
    {KOLK_BAD_QUEUES, {.object_size = 8, .capacity = 4, .queues = 1, .queue_capacity = 5}},
    {KOLK_BAD_PROCESSES, {.object_size = 8, .capacity = 4, .max_processes = 4096}},
    {KOLK_BAD_ORPHANS, {.object_size = 8, .capacity = 4, .orphans = (kolk_ipc_orphans)2}},
    {KOLK_SIZE_OVERFLOW, {.object_size = 1u << 30, .capacity = INT32_MAX}},
    {KOLK_OK, {.object_size = 1, .capacity = 1}}, /* the closest descriptors that are valid */
    {KOLK_OK, {.object_size = 24, .object_align = 8, .capacity = 4, .queues = 256, .queue_capacity = 4}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .max_processes = 4095, .orphans = KOLK_IPC_KEEP}},
};

/* promise: ipc.h "is left all zero", "up to 256", "up to 4095", "bytes; must be given", "a power of two up to 4096",
 * "Leaves the pool, and leaves *pool all zero" */
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

static kolk_status attach_once(int fd, const kolk_ipc_desc *desc) {
    kolk_ipc pool;
    memset(&pool, 0xff, sizeof pool);
    kolk_status status = kolk_ipc_attach(&pool, fd, desc);
    kolk_ipc_deinit(&pool);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
    return status;
}

/* Checks that all objects of a pool are aligned, and no more is wasted than that needs. */
static void check_alignment(size_t size, size_t given, size_t expected) {
    kolk_ipc pool;
    make(&pool, &(kolk_ipc_desc){.object_size = size, .object_align = given, .capacity = 5});
    for (int n = 0; n < 5; n++) assert_int_equal((uintptr_t)kolk_ipc_alloc(&pool) % expected, 0);
    assert_int_equal(stats_of(&pool).stride, (size + expected - 1) / expected * expected);
    int fd = kolk_ipc_fd(&pool);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.object_align = expected}), KOLK_OK);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.object_align = 2 * expected}), KOLK_OTHER_LAYOUT);
    kolk_ipc_deinit(&pool);
}

/* promise: ipc.h "0: the largest that divides object_size, up to 16" */
static void test_alignment(void **state) {
    for (size_t align = 1; align <= 4096; align *= 2) check_alignment(24, align, align);
    for (size_t size = 1; size <= 64; size++) {
        size_t expected = 16;
        while (size % expected) expected /= 2;
        check_alignment(size, 0, expected);
    }
}

/* promise: ipc.h "Zero means the default", "objects; exact", "0: capacity, so that no push finds a queue full",
 * "unless the pool is typed" */
static void test_defaults(void **state) {
    numbers typed;
    assert_int_equal(numbers_init(&typed, &(kolk_ipc_desc){.capacity = 70, .queues = 2}), KOLK_OK);
    kolk_ipc *pool = &typed.pool;
    assert_int_equal(stats_of(pool).object_size, sizeof(uint64_t));
    assert_string_equal(stats_of(pool).name, "numbers");
    for (int n = 0; n < 70; n++) assert_int_equal(kolk_ipc_push(pool, 1, kolk_ipc_alloc(pool), KOLK_NOW), KOLK_OK);
    assert_null(kolk_ipc_alloc(pool));
    int fd = kolk_ipc_fd(pool);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.queue_capacity = 70, .max_processes = 64}), KOLK_OK);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.queue_capacity = 69}), KOLK_OTHER_LAYOUT);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.max_processes = 63}), KOLK_OTHER_LAYOUT);
    numbers_deinit(&typed);
}

#define LONG_NAME "0123456789abcdefghijklmnopqrstuvwxy" /* 35 bytes */

/* promise: ipc.h "for statistics and the default tag; copied, cut to 35 bytes" */
static void test_name(void **state) {
    kolk_ipc pool, second;
    char name[] = LONG_NAME "z";
    make(&pool, &(kolk_ipc_desc){.name = name, .object_size = 8, .capacity = 1});
    kolk_handle handle = kolk_ipc_handle_of(&pool, kolk_ipc_alloc(&pool));
    int fd = kolk_ipc_fd(&pool);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.name = name}), KOLK_OK);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.name = LONG_NAME "y"}), KOLK_OK);
    assert_int_equal(attach_once(fd, &(kolk_ipc_desc){.name = name + 1}), KOLK_OTHER_LAYOUT);
    memset(name, '!', sizeof name - 1);
    assert_string_equal(stats_of(&pool).name, LONG_NAME);
    assert_int_equal(kolk_ipc_attach(&second, fd, &(kolk_ipc_desc){.tag = 0}), KOLK_OK);
    assert_string_equal(stats_of(&second).name, LONG_NAME);
    assert_non_null(kolk_ipc_get(&second, handle));
    kolk_ipc_deinit(&second);
    kolk_ipc_deinit(&pool);
}

/* Is the handle of one pool's first object valid in the other, whose first object is alive too? */
static bool share_handles(kolk_ipc_desc one, kolk_ipc_desc two) {
    kolk_ipc pools[2];
    one.object_size = two.object_size = 8;
    one.capacity = two.capacity = 100;
    make(&pools[0], &one);
    make(&pools[1], &two);
    kolk_handle handle = kolk_ipc_handle_of(&pools[0], kolk_ipc_alloc(&pools[0]));
    void *object = kolk_ipc_alloc(&pools[1]), *found = kolk_ipc_get(&pools[1], handle);
    assert_true(!found || found == object);
    assert_int_equal(stats_of(&pools[1]).wrong_pool, !found);
    for (int n = 0; n < 2; n++) kolk_ipc_deinit(&pools[n]);
    return found;
}

/* promise: ipc.h "distinguishes its handles from other pools'; 0: a hash of the name" */
static void test_tag(void **state) {
    assert_false(share_handles((kolk_ipc_desc){.name = "rockets"}, (kolk_ipc_desc){.name = "bullets"}));
    assert_true(share_handles((kolk_ipc_desc){.name = "rockets"}, (kolk_ipc_desc){.name = "rockets"}));
    assert_false(share_handles((kolk_ipc_desc){.name = "rockets"}, (kolk_ipc_desc){.name = "rockets", .tag = 1}));
    assert_false(share_handles((kolk_ipc_desc){.tag = 2}, (kolk_ipc_desc){.tag = 1}));
    assert_true(share_handles((kolk_ipc_desc){.name = "rockets", .tag = 1}, (kolk_ipc_desc){.tag = 1}));
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

/* promise: ipc.h "The descriptor may be all zero ... the status is KOLK_OTHER_LAYOUT", "there are max_processes",
 * "At an attach, it means: whatever the block has", "your own number for what is in an object" */
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
    assert_int_equal(kolk_ipc_attach(&second, fd, &(kolk_ipc_desc){.tag = 0}), KOLK_OK);
    assert_int_equal(attach_once(fd, &made), KOLK_TOO_MANY_PROCESSES);
    assert_true(stats_of(&second).object_size == 24 && stats_of(&second).capacity == 4);
    for (int n = 0; n < 4; n++) {
        kolk_status status = kolk_ipc_push(&second, 1, kolk_ipc_alloc(&second), KOLK_NOW);
        assert_int_equal(status, n < 3 ? KOLK_OK : KOLK_FULL);
    }
    kolk_ipc_deinit(&second);
    assert_non_null(kolk_ipc_adopt(&pool));
    assert_int_equal(attach_once(fd, &made), KOLK_OK);
    kolk_ipc_deinit(&pool);
}

static bool is_sealed(int fd) {
    const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals != -1 && (seals & all) == all;
}

/* The mappings of files that kolk_ipc_init has made. */
static unsigned count_mappings(void) {
    char line[500];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) count += strstr(line, "memfd:kolk") != NULL;
    fclose(maps);
    return count;
}

/* promise: ipc.h "one file without a name (memfd), which the system removes when the last process has ended", "Makes a
 * pool in a new file without a name, whose size is sealed", "it is close-on-exec", "It belongs to the pool, and deinit
 * closes it", "The other processes go on; the last one takes the pool with it" */
static void test_new_file(void **state) {
    kolk_ipc pool, second;
    struct stat about;
    unsigned before = count_mappings();
    make(&pool, &made);
    int fd = kolk_ipc_fd(&pool);
    assert_int_equal(fstat(fd, &about), 0);
    assert_true(about.st_nlink == 0 && is_sealed(fd));
    assert_true(ftruncate(fd, 4096) == -1 && ftruncate(fd, about.st_size + 1) == -1);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(kolk_ipc_attach(&second, fd, &made), KOLK_OK);
    kolk_ipc_deinit(&pool);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_non_null(kolk_ipc_alloc(&second));
    assert_true(count_mappings() > before);
    kolk_ipc_deinit(&second);
    assert_int_equal(count_mappings(), before);
}

/* An empty file without a name, which may get one. */
static int make_temporary(char name[100]) {
    const char *const folders[] = {P_tmpdir, "/dev/shm"};
    int fd = -1;
    for (size_t n = 0; n < LENGTH_OF(folders) && fd < 0; n++) {
        fd = open(folders[n], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        snprintf(name, 100, "%s/kolk_%d", folders[n], (int)getpid());
    }
    assert_true(fd >= 0);
    return fd;
}

static int open_again(int fd, int how) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, how | O_CLOEXEC);
}

/* promise: ipc.h "The same in a file of yours, which must be empty and open for reading and writing ... is sealed if it
 * can be" */
static void test_own_file(void **state) {
    kolk_ipc pool, second;
    char name[100], path[40];
    int fd = make_temporary(name);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(kolk_ipc_init_in(&pool, fd, &made), KOLK_OK);
    assert_int_equal(linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW), 0);
    int named = open(name, O_RDWR | O_CLOEXEC);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(kolk_ipc_attach(&second, named, &(kolk_ipc_desc){.unsealed = true}), KOLK_OK);
    assert_non_null(kolk_ipc_alloc(&second));
    assert_int_equal(kolk_ipc_count(&pool), 1);
    kolk_ipc_deinit(&second);
    kolk_ipc_deinit(&pool);
    assert_true(close(named) == 0 && close(fd) == 0); /* they were still open */

    fd = memfd_create("own", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const int ways[] = {O_RDONLY, O_WRONLY};
    for (size_t n = 0; n < LENGTH_OF(ways); n++) {
        int half = open_again(fd, ways[n]);
        memset(&pool, 0xff, sizeof pool);
        assert_int_not_equal(kolk_ipc_init_in(&pool, half, &made), KOLK_OK);
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
        close(half);
    }
    close(fd);
    fd = memfd_create("own", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(kolk_ipc_init_in(&pool, fd, &made), KOLK_OK);
    assert_true(is_sealed(fd));
    assert_int_equal(attach_once(fd, &made), KOLK_OK);
    kolk_ipc_deinit(&pool);
    close(fd);
}

/* An attach needs two descriptors, the second one for a moment. promise: ipc.h "KOLK_NO_LOCKS: there is no /proc, or no
 * descriptor left" */
static void test_no_descriptor_left(void **state) {
    kolk_ipc pool, second;
    struct rlimit usual;
    make(&pool, &made);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    int next = fcntl(kolk_ipc_fd(&pool), F_DUPFD_CLOEXEC, 0);
    close(next);
    for (int left = 0; left < 2; left++) {
        struct rlimit low = {.rlim_cur = (rlim_t)(next + left), .rlim_max = usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        kolk_status attached = attach_once(kolk_ipc_fd(&pool), &made), begun = kolk_ipc_init(&second, &made);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_int_equal(attached, KOLK_NO_LOCKS);
        assert_int_equal(begun, KOLK_NO_LOCKS);
        assert_true(all_bytes_are(&second, sizeof second, 0));
    }
    assert_int_equal(attach_once(kolk_ipc_fd(&pool), &made), KOLK_OK);
    kolk_ipc_deinit(&pool);
}

/* An init writes a bit for each slot, and touches no more than that: neither lives nor objects. promise: ipc.h "A slot
 * costs its stride, 8 bytes, 1 bit, and 8 to 16 bytes for each queue", "Memory that was never used costs nothing",
 * "Cost: O(capacity / 64), apart from the system's work" */
static void test_memory(void **state) {
    for (uint32_t capacity = (1 << 20) - 1; capacity <= 1 << 20; capacity++)
        for (uint32_t queues = 0; queues <= 2; queues++) {
            kolk_ipc pool;
            struct stat about;
            make(&pool, &(kolk_ipc_desc){.object_size = 24, .capacity = capacity, .queues = queues});
            uint64_t least = capacity * (24 + 8 + UINT64_C(8) * queues) + capacity / 8;
            uint64_t most = least + capacity * UINT64_C(8) * queues + capacity / 256 + 16384;
            for (int n = 0; n < 10; n++) memset(kolk_ipc_alloc(&pool), n, 24);
            assert_int_equal(fstat(kolk_ipc_fd(&pool), &about), 0);
            assert_in_range((uint64_t)about.st_size, least, most);
            assert_in_range((uint64_t)about.st_blocks * 512, capacity / 8, capacity * UINT64_C(4));
            kolk_ipc_deinit(&pool);
        }
}

/* promise: ipc.h "KOLK_NOT_EMPTY: it is not empty", "Attach to a file that another process could truncate ... only
 * files that are sealed against it are accepted" */
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
 * "An alloc that finds no slot reports KOLK_FULL, with the processes that hold the most", "of its program, cut" */
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
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_tag),
        cmocka_unit_test(test_attach),
        cmocka_unit_test(test_new_file),
        cmocka_unit_test(test_own_file),
        cmocka_unit_test(test_no_descriptor_left),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_a_reader),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests(tests, set_handler, NULL);
}
