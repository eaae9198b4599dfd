/* The demo: each mistake gets its sentence, and the pool is whole. */
#include "../help/test.h"

#include <unistd.h>

#include "cli.h"

static void test_what_is_told(void **state) {
    static const char wanted[] =
        "a program                          in every build\n"
        "  frees a sparkle again            kolk: sparkles: double free of slot 0\n"
        "  frees the middle of another      kolk: sparkles: free of a pointer into slot 0, at byte 4 of it\n"
        "  frees what is no sparkle         kolk: sparkles: free of a pointer that does not belong to this pool\n"
        "  keeps the handle of the first    it gives NULL, though another lives in that slot\n"
        "  has changed nothing by all that  the pool is whole\n";
    char path[] = "/tmp/kolk-test-demo-XXXXXX", printed[1024] = "";
    static const cli_verb *const verbs[] = {&cli_demo, NULL};
    const char *argv[] = {"kolk", "demo", "-o", path, NULL};
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(cli_run(verbs, 4, (char **)(uintptr_t)argv), CLI_OK);
    assert_true(read(file, printed, sizeof printed - 1) > 0);
    close(file);
    unlink(path);
    assert_string_equal(printed, wanted);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
