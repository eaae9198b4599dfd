/* sizes_test.h: shared by the tests of self-tuning sizes: a file with sizes, and programs that use it. Include test.h
 * first. */
#ifndef TESTS_SIZES_TEST_H
#define TESTS_SIZES_TEST_H

#include "../help/fakes.h"

static char path[100]; /* of the file with sizes */

static inline int make_path(void **state) {
    snprintf(path, sizeof path, "/tmp/kolk-sizes-XXXXXX");
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static inline void remove_file(void) {
    unlink(path);
}

/* The setup of a group of tests. */
static inline int make_path_for_all(void **state) {
    return make_path(state) + atexit(remove_file);
}

static inline int remove_path(void **state) {
    unsetenv("KOLK_SIZES");
    return unlink(path);
}

static inline void write_file(const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static inline const char *read_file(void) {
    static char text[10000];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    assert_int_equal(fclose(file), 0);
    return text;
}

/* Replaces the file's name by FILE. */
static inline void put_name(char *text, const char *name) {
    for (char *at; (at = strstr(text, name)) != NULL;) {
        memmove(at + 4, at + strlen(name), strlen(at + strlen(name)) + 1);
        memcpy(at, "FILE", 4);
    }
}

/* Runs a scenario with this file; returns its sentences, with the file's name replaced by FILE. */
static inline ending run_with(const char *name, const char *sizes, const char *argument) {
    write_file(sizes);
    setenv("KOLK_SIZES", path, 1);
    ending ended = run_scenario(name, NULL, argument);
    unsetenv("KOLK_SIZES");
    put_name(ended.text, path);
    return ended;
}

#define HEAD                                                                                                           \
    "# The slots that each pool needed, as measured by KOLK_STATS=sizes; KOLK_SIZES=FILE starts the program with "     \
    "them.\n"

#define BAD "kolk: KOLK_SIZES: FILE:"

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_path, remove_path)

#endif
