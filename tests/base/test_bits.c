/* Compares scans over words of bits with a test of each bit. The words end at a page that must not be touched. */
#include "../help/test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"

#define WORDS 3u

static uint64_t *words_before_a_wall(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages =
        (unsigned char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    return (uint64_t *)(void *)(pages + page) - WORDS;
}

static void free_words(uint64_t *words) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(munmap((unsigned char *)(words + WORDS) - page, 2 * page), 0);
}

/* From every bit to every end, for both values. */
static void find_everywhere(const uint64_t *words) {
    for (uint64_t end = 0; end <= WORDS * 64; end++) {
        for (uint64_t from = 0; from <= WORDS * 64; from++) {
            for (unsigned value = 0; value < 2; value++) {
                uint64_t expected = from;
                while (expected < end && kolk_bits_get_(words, expected) != value) expected++;
                if (expected > end) expected = end;
                if (kolk_bits_find_(words, value, from, end) != expected)
                    fail_msg("find %u from %u to %u", value, (unsigned)from, (unsigned)end);
            }
        }
    }
}

static void test_find(void **state) {
    uint64_t *words = words_before_a_wall(), random = 1;
    find_everywhere(words);
    memset(words, 0xff, WORDS * sizeof *words);
    find_everywhere(words);
    for (unsigned n = 0; n < 20; n++) { /* a few bits that differ from the others */
        memset(words, n % 2 ? 0xff : 0, WORDS * sizeof *words);
        for (unsigned bits = random_below(&random, 4); bits > 0; bits--)
            words[random_below(&random, WORDS)] ^= kolk_bits_at_(random_below(&random, 64));
        find_everywhere(words);
    }
    free_words(words);
}

static void test_words(void **state) {
    static const uint64_t bits[] = {0, 1, 63, 64, 65, 128, 129}, words[] = {0, 1, 1, 1, 2, 2, 3};
    for (size_t i = 0; i < LENGTH_OF(bits); i++) assert_int_equal(kolk_bits_words_(bits[i]), words[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_find), cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
