/* runs: not:wine with: src wraps: fchmod fsync rename */
/* Files of snapshots: what is saved is loaded, what is damaged is refused, and whatever fails or crashes on the way,
 * the name has the old file or the new one, as a whole. */
#define _XOPEN_SOURCE 700 /* symlink, mkdtemp */
#include "../help/test.h"

#include <kolk/snapshot.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/kolk-snapshot-XXXXXX", path[100], beside[120];

/* ---- Steps that fail or crash ------------------------------------------------------------------------------------ */

static char steps[20]; /* those that were made: f an fsync, r a rename */
static int fails_at, crashes_at, error;

static mode_t created; /* the permissions with which the last file began */

int __real_fchmod(int file, mode_t mode);
int __wrap_fchmod(int file, mode_t mode);
int __real_fsync(int file);
int __wrap_fsync(int file);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

/* Notes a step. Returns true if it fails. */
static bool step(char name) {
    int n = (int)strlen(steps);
    steps[n] = name;
    if (n + 1 == crashes_at) _exit(3);
    if (n + 1 == fails_at) errno = error;
    return n + 1 == fails_at;
}

int __wrap_fchmod(int file, mode_t mode) {
    struct stat about;
    assert_int_equal(fstat(file, &about), 0);
    created = about.st_mode & 07777;
    return __real_fchmod(file, mode);
}

int __wrap_fsync(int file) {
    return step('f') ? -1 : __real_fsync(file);
}

int __wrap_rename(const char *from, const char *to) {
    return step('r') ? -1 : __real_rename(from, to);
}

static void no_step_fails(void) {
    memset(steps, 0, sizeof steps);
    fails_at = crashes_at = 0;
    error = EIO;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int begin(void **state) {
    no_step_fails();
    return 0;
}

static kolk_status save(const char *text) {
    return kolk_snapshot_save(path, text, strlen(text));
}

/* Loads a text. Returns the status in words if it cannot be loaded. */
static const char *loaded(void) {
    static char text[4096];
    size_t size = sizeof text - 1;
    kolk_status status = kolk_snapshot_load(path, text, &size);
    if (status != KOLK_OK) return kolk_status_text(status);
    text[size] = 0;
    return text;
}

static size_t read_file(unsigned char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

static void write_file(const unsigned char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static bool is_there(const char *name) {
    return access(name, F_OK) == 0;
}

/* ---- What is saved ----------------------------------------------------------------------------------------------- */

/* promise: snapshot.h "Saves these bytes in a file ... then renamed", "Loads what kolk_snapshot_save" */
static void test_there_and_back(void **state) {
    static unsigned char bytes[100000], again[100000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * i >> 3);
    for (size_t size = 0; size <= sizeof bytes; size = size < 40 ? size + 1 : size * 3 - 1) {
        size_t got = 0;
        no_step_fails();
        assert_int_equal(kolk_snapshot_save(path, bytes, size), KOLK_OK);
        assert_string_equal(steps, "frf"); /* the file, its name, the folder */
        assert_int_equal(kolk_snapshot_load(path, NULL, &got), size ? KOLK_NO_ROOM : KOLK_OK);
        assert_int_equal(got, size);
        assert_int_equal(kolk_snapshot_load(path, again, &got), KOLK_OK);
        assert_int_equal(got, size);
        assert_memory_equal(again, bytes, size);
        assert_false(is_there(beside));
    }
}

/* Nor can others read the file while it is written. promise: snapshot.h "The old file's permissions ... leads to the
 * file" */
static void test_links_and_permissions_stay(void **state) {
    char target[120];
    struct stat about;
    snprintf(target, sizeof target, "%s.target", path);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(save("first"), KOLK_OK);
    assert_int_equal(chmod(target, 0640), 0);
    mode_t mask = umask(0);
    assert_int_equal(save("second"), KOLK_OK);
    umask(mask);
    assert_int_equal(created, 0640);
    assert_string_equal(loaded(), "second");
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(target, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    unlink(path);
    unlink(target);
}

/* A link to a link to a file that is not there yet, each beside the other: the file is written beside its own name. */
static void test_a_link_that_leads_nowhere(void **state) {
    char link[120], target[120];
    snprintf(link, sizeof link, "%s.link", path);
    snprintf(target, sizeof target, "%s.target", path);
    unlink(path);
    assert_int_equal(symlink(strrchr(link, '/') + 1, path), 0);
    assert_int_equal(symlink(target, link), 0);
    no_step_fails();
    fails_at = 2; /* the replacement */
    assert_int_equal(save("first"), KOLK_NOT_SAVED);
    assert_false(is_there(target));
    assert_string_equal(loaded(), kolk_status_text(KOLK_NO_FILE));
    no_step_fails();
    assert_int_equal(save("second"), KOLK_OK);
    assert_true(is_there(target));
    assert_string_equal(loaded(), "second");
    unlink(target);
    unlink(link);
    assert_int_equal(symlink(path, link), 0); /* in a circle */
    assert_int_equal(save("third"), KOLK_NOT_SAVED);
    assert_int_equal(errno, ELOOP);
    unlink(link);
    unlink(path);
}

/* ---- What goes wrong --------------------------------------------------------------------------------------------- */

/* promise: snapshot.h "KOLK_NO_FILE: there is none ... it is not such a file", "KOLK_NOT_SAVED: see errno" */
static void test_names(void **state) {
    size_t size = 0;
    errno = 0;
    assert_int_equal(kolk_snapshot_load("/", NULL, &size), KOLK_NOT_READ);
    assert_int_equal(errno, EISDIR);
    size = 0;
    char inside[120];
    assert_int_equal(save("here"), KOLK_OK);
    snprintf(inside, sizeof inside, "%s/inside", path);
    assert_int_equal(kolk_snapshot_load("/tmp/kolk/there/is/none", NULL, &size), KOLK_NO_FILE);
    assert_int_equal(kolk_snapshot_load(folder, NULL, &size), KOLK_NOT_READ);
    errno = 0;
    assert_int_equal(kolk_snapshot_load(inside, NULL, &size), KOLK_NOT_READ);
    assert_int_equal(errno, ENOTDIR);
    errno = 0;
    assert_int_equal(kolk_snapshot_save(inside, "x", 1), KOLK_NOT_SAVED);
    assert_int_equal(errno, ENOTDIR);
    errno = 0;
    assert_int_equal(kolk_snapshot_save("/tmp/kolk/there/is/none", "x", 1), KOLK_NOT_SAVED);
    assert_int_equal(errno, ENOENT);
    errno = 0;
    assert_int_equal(kolk_snapshot_save("/dev/full", "x", 1), KOLK_NOT_SAVED);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(kolk_snapshot_save("/dev/null", "x", 1), KOLK_OK); /* which cannot be flushed */
    assert_string_equal(loaded(), "here");
    if (geteuid() == 0) return; /* who may write everywhere */
    assert_int_equal(chmod(folder, 0500), 0);
    errno = 0;
    assert_int_equal(save("not here"), KOLK_NOT_SAVED);
    assert_int_equal(errno, EACCES);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_string_equal(loaded(), "here");
}

/* A disk that is full before the whole file is written. promise: snapshot.h "the old file is unchanged" */
static void test_a_full_disk(void **state) {
    static unsigned char large[200000];
    struct rlimit before, small;
    assert_int_equal(save("old"), KOLK_OK);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (rlim_t limit = 0; limit < 200000; limit += 66600) {
        small = before;
        small.rlim_cur = limit;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        kolk_status status = kolk_snapshot_save(path, large, sizeof large);
        int reason = errno;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, KOLK_NOT_SAVED);
        assert_int_equal(reason, EFBIG);
        assert_string_equal(loaded(), "old");
        assert_false(is_there(beside));
    }
}

/* promise: snapshot.h "the old file is unchanged, unless ... crash of the system" */
static void test_steps_that_fail(void **state) {
    for (int n = 1; n <= 3; n++) {
        no_step_fails();
        assert_int_equal(save("old"), KOLK_OK);
        no_step_fails();
        fails_at = n;
        errno = 0;
        assert_int_equal(save("new"), KOLK_NOT_SAVED);
        assert_int_equal(errno, EIO);
        assert_string_equal(loaded(), n < 3 ? "old" : "new");
        assert_false(is_there(beside));
    }
    for (int n = 1; n <= 3; n += 2) { /* a file system that cannot flush a file, or a folder */
        no_step_fails();
        fails_at = n;
        error = EINVAL;
        assert_int_equal(save("newest"), KOLK_OK);
        assert_string_equal(loaded(), "newest");
    }
}

/* promise: snapshot.h "If the program or the system crashes ... delete" */
static void test_crashes(void **state) {
    for (int n = 1; n <= 4; n++) {
        no_step_fails();
        assert_int_equal(save("old"), KOLK_OK);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            no_step_fails();
            crashes_at = n;
            END_IF_IT_HANGS();
            _exit(save("new") == KOLK_OK ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), n < 4 ? 3 : 0);
        assert_string_equal(loaded(), n < 3 ? "old" : "new");
        assert_int_equal(is_there(beside), n < 3);
        assert_int_equal(save("next"), KOLK_OK); /* what was left behind is in nobody's way */
        assert_string_equal(loaded(), "next");
        unlink(beside);
    }
}

/* Each cut, each bit that flips, and what is no such file. */
static void test_damaged_files(void **state) {
    unsigned char bytes[200], text[20];
    assert_int_equal(save("a saved game"), KOLK_OK);
    size_t length = read_file(bytes, sizeof bytes);
    assert_true(length < sizeof bytes);
    for (size_t at = 0; at < length; at++) {
        size_t size = sizeof text;
        write_file(bytes, at);
        kolk_status status = kolk_snapshot_load(path, text, &size);
        assert_int_equal(status, at < 48 ? KOLK_NOT_A_SNAPSHOT : KOLK_DAMAGED_SNAPSHOT);
        for (unsigned bit = 1; bit < 256; bit *= 2) {
            size = sizeof text;
            bytes[at] ^= (unsigned char)bit;
            write_file(bytes, length);
            status = kolk_snapshot_load(path, text, &size);
            assert_true(status >= KOLK_NOT_A_SNAPSHOT && status <= KOLK_DAMAGED_SNAPSHOT);
            bytes[at] ^= (unsigned char)bit;
        }
    }
    write_file(bytes, length);
    assert_string_equal(loaded(), "a saved game");
    size_t size = kolk_snapshot_delta("another", 7, "base", 4, bytes, sizeof bytes);
    write_file(bytes, size);
    assert_int_equal(kolk_snapshot_load(path, text, &size), KOLK_OTHER_BASE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_there_and_back, begin),
        cmocka_unit_test_setup(test_links_and_permissions_stay, begin),
        cmocka_unit_test_setup(test_a_link_that_leads_nowhere, begin),
        cmocka_unit_test_setup(test_names, begin),
        cmocka_unit_test_setup(test_a_full_disk, begin),
        cmocka_unit_test_setup(test_steps_that_fail, begin),
        cmocka_unit_test_setup(test_crashes, begin),
        cmocka_unit_test_setup(test_damaged_files, begin),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/game", folder);
    snprintf(beside, sizeof beside, "%s.new1", path);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    unlink(beside);
    rmdir(folder);
    return failed;
}
