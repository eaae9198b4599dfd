/* site_test.h: helpers for the tests of kolk_site_text: a folder for their files, and a replacement for addr2line. */
#ifndef TESTS_SITE_TEST_H
#define TESTS_SITE_TEST_H

#include "../help/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static inline int open_files(void) {
    int count = 0;
    for (int file = 0; file < 100; file++) count += fcntl(file, F_GETFD) != -1;
    return count;
}

static int files_at_first;

static inline int make_folder(void **state) {
    files_at_first = open_files();
    snprintf(folder, sizeof folder, "/tmp/kolk sites.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* Runs last: the other tests' files are gone, and no file is still open. */
static inline void test_nothing_is_left(void **state) {
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(open_files(), files_at_first);
}

/* The result is valid until the next call. */
static inline const char *in_folder(const char *name) {
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void write_file(const char *path, const void *bytes, size_t size, mode_t mode) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

static char *old_path;

/* Replaces addr2line and clang's version of it by this script, or removes both if `script` is NULL. */
static inline void make_addr2line(const char *script) {
    const char *now = getenv("PATH");
    old_path = strdup(now ? now : "");
    size_t size = strlen(folder) + strlen(old_path) + 2;
    char *path = (char *)malloc(size);
    snprintf(path, size, "%s:%s", folder, old_path);
    if (script) write_file(in_folder("addr2line"), script, strlen(script), 0700);
    if (script) write_file(in_folder("llvm-addr2line"), script, strlen(script), 0700);
    setenv("PATH", script ? path : folder, 1);
    free(path);
}

static inline void take_addr2line_back(void) {
    unlink(in_folder("addr2line"));
    unlink(in_folder("llvm-addr2line"));
    setenv("PATH", old_path, 1);
    free(old_path);
}

#endif
