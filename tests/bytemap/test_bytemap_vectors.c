/* runs: sample */
/* The published test vectors of the GTA pool: tests/vectors/bytemap_*.txt, whose first lines explain the format. Each
 * is played on kolk_bytemap, result by result, and must equal the model's output byte for byte. The random ones are
 * long, and the repository has only their hash.
 *
 *     KOLK_WRITE_VECTORS=1    writes both files, from the model */
#include "../help/test.h"

#include "base/hash.h"

#include "steps.h"

static const char *const head =
    "# Test vectors of the object pool of GTA III, Vice City and San Andreas: bytemap_%s.txt, format 1.\n"
    "# %s\n"
    "# A line is an operation on one pool, and what comes of it. Numbers are decimal. Lines that begin with # say "
    "nothing.\n"
    "#\n"
    "#     initialise COUNT advance|handle  a new pool; what New(handle) makes of the seed: seed + 1, or the handle's\n"
    "#     new                              New()\n"
    "#     new_at HANDLE                    New(handle)\n"
    "#     delete INDEX                     Delete(the object in that slot)\n"
    "#     get_at HANDLE                    GetAt(handle)\n"
    "#     get_slot INDEX                   GetSlot(index)\n"
    "#     clear                            Clear()\n"
    "#\n"
    "# Behind -> stand the handle of the object that the operation gives or deletes, -1 if there is none, and "
    "first_free\n"
    "# afterwards. handle = index * 256 + seed. Where the games go wrong, nothing happens and the answer is -1: "
    "deleting\n"
    "# a free slot, New(handle) in a used one, indices and handles beyond the last slot, the handle of a free slot.\n"
    "# New(handle) in the last free slot leaves -1 in first_free.\n";

static const char *const words[] = {"new", "new_at", "delete", "get_at", "get_slot", "clear"};

_Static_assert(LENGTH_OF(words) == STEP_KINDS, "a word for each operation");

static bool has_argument(step_kind kind) {
    return kind != STEP_NEW && kind != STEP_CLEAR;
}

/* ---- Writing: the model's answers -------------------------------------------------------------------------------- */

typedef struct text {
    size_t length;
    char bytes[200000];
} text;

__attribute__((format(printf, 2, 3))) static void put(text *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(out->bytes + out->length, sizeof out->bytes - out->length, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && (size_t)n < sizeof out->bytes - out->length);
    out->length += (size_t)n;
}

static void put_initialise(text *out, gta_pool *model, int32_t count, bool seed_of_handle) {
    memset(model, 0, sizeof *model);
    gta_initialise(model, count);
    model->seed_of_handle = seed_of_handle;
    put(out, "initialise %d %s -> -1 %d\n", (int)count, seed_of_handle ? "handle" : "advance", model->first_free);
}

static void put_step(text *out, gta_pool *model, step_kind kind, int32_t argument) {
    answer got = step_model(model, (step){kind, argument});
    put(out, "%s", words[kind]);
    if (has_argument(kind)) put(out, " %d", (int)argument);
    put(out, " -> %d %d\n", (int)got.handle, (int)got.cursor);
}

/* Writes each rule once, with a sentence about it. */
static void write_rules(text *out) {
    static gta_pool model;
    put(out, head, "rules", "Each rule of the pool, one after the other.");
    put(out, "\n# New moves on before it looks: the slot at the cursor is passed over until the wrap.\n");
    put_initialise(out, &model, 4, false);
    for (int i = 0; i < 3; i++) put_step(out, &model, STEP_NEW, 0);
    put_step(out, &model, STEP_DELETE, 2);
    for (int i = 0; i < 3; i++) put_step(out, &model, STEP_NEW, 0);
    put(out, "\n# Full: the cursor is -1, and a delete does not move it up.\n");
    put_step(out, &model, STEP_NEW, 0);
    put_step(out, &model, STEP_DELETE, 3);
    put_step(out, &model, STEP_DELETE, 1);
    put_step(out, &model, STEP_NEW, 0);
    put(out, "\n# Delete moves it down.\n");
    put_step(out, &model, STEP_NEW, 0);
    put_step(out, &model, STEP_DELETE, 0);
    put_step(out, &model, STEP_DELETE, 2);
    put_step(out, &model, STEP_NEW, 0);
    put(out, "\n# Stale handles, free slots' handles, what does not exist.\n");
    static const int32_t handles[] = {1, 2, 129, 514, 515, 642, 1024, -1, -256, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < LENGTH_OF(handles); i++) put_step(out, &model, STEP_GET_AT, handles[i]);
    static const int32_t indices[] = {0, 1, 2, 3, 4, -1};
    for (size_t i = 0; i < LENGTH_OF(indices); i++) put_step(out, &model, STEP_GET_SLOT, indices[i]);
    for (size_t i = 0; i < LENGTH_OF(indices); i++) put_step(out, &model, STEP_DELETE, indices[i]);
    put(out, "\n# Clear: seeds are 0, the cursor stays.\n");
    put_step(out, &model, STEP_NEW, 0);
    put_step(out, &model, STEP_CLEAR, 0);
    for (int i = 0; i < 5; i++) put_step(out, &model, STEP_NEW, 0);
    for (int seeds = 0; seeds < 2; seeds++) {
        put(out, "\n# New(handle): the handle's slot; then first_free is the first free one, -1 if there is none.\n");
        put_initialise(out, &model, 3, seeds);
        static const int32_t taken[] = {511 - 128, 300, 85, 768, -1, 560, 5};
        for (size_t i = 0; i < LENGTH_OF(taken); i++) put_step(out, &model, STEP_NEW_AT, taken[i]);
        put_step(out, &model, STEP_NEW, 0);
    }
    put(out, "\n# A seed has seven bits: after 127 comes 0. Handle 0 is that life of slot 0.\n");
    put_initialise(out, &model, 1, true);
    put_step(out, &model, STEP_NEW_AT, 126);
    for (int i = 0; i < 3; i++) {
        put_step(out, &model, STEP_DELETE, 0);
        put_step(out, &model, STEP_NEW, 0);
    }
}

static void write_random(text *out) {
    static gta_pool model;
    uint64_t random = 1;
    put(out, head, "random", "Random operations on pools of several sizes.");
    static const int32_t counts[] = {0, 1, 2, 3, 8, 9, 17, 64};
    for (size_t c = 0; c < 2 * LENGTH_OF(counts); c++) {
        int32_t count = counts[c / 2];
        put(out, "\n");
        put_initialise(out, &model, count, c % 2);
        for (uint32_t n = 0; n < 250; n++) {
            uint32_t how = random_below(&random, 100);
            int32_t index = (int32_t)random_below(&random, (uint32_t)count + 2) - 1;
            bool is_slot = index >= 0 && index < count;
            int32_t handle = is_slot && random_below(&random, 3) ? gta_handle(&model, index)
                                                                 : index * 256 + (int32_t)random_below(&random, 256);
            if (how < (n / 60 % 2 ? 25u : 50u))
                put_step(out, &model, STEP_NEW, 0);
            else if (how < 75)
                put_step(out, &model, STEP_DELETE, index);
            else if (how < 82)
                put_step(out, &model, STEP_NEW_AT, handle);
            else if (how < 99)
                put_step(out, &model, how < 92 ? STEP_GET_AT : STEP_GET_SLOT, how < 92 ? handle : index);
            else
                put_step(out, &model, STEP_CLEAR, 0);
        }
    }
}

/* ---- Replaying --------------------------------------------------------------------------------------------------- */

static step_kind kind_of(const char *word) {
    for (unsigned kind = 0; kind < STEP_KINDS; kind++)
        if (strcmp(word, words[kind]) == 0) return (step_kind)kind;
    return STEP_KINDS;
}

/* Performs a line's operation; returns false if the line can't be parsed. */
static bool play(kolk_bytemap *pool, const char *line, const unsigned *failures, answer *got) {
    char word[20], seeds[20] = "";
    int argument = 0;
    if (sscanf(line, "%19s %d %19s", word, &argument, seeds) < 1) return false;
    if (strcmp(word, "initialise") == 0) {
        kolk_bytemap_flush(pool);
        kolk_bytemap_view view = {.object_size = 20, .count = argument};
        if (strcmp(seeds, "handle") == 0) view.seeds = KOLK_BYTEMAP_SEED_OF_HANDLE;
        if (kolk_bytemap_initialise_with(pool, &view) != KOLK_OK) return false;
        *got = (answer){-1, pool->first_free};
        return true;
    }
    step s = {kind_of(word), argument};
    if (s.kind == STEP_KINDS) return false;
    *got = step_kolk(pool, s, failures);
    return true;
}

static unsigned replay(const char *name, char *lines) {
    kolk_bytemap pool = {0};
    notes taken;
    begin_notes(&taken);
    unsigned number = 0, steps = 0;
    for (char *line = lines, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        *end = 0;
        number++;
        if (*line == '#' || !*line) continue;
        answer got = {0, 0};
        int handle = 0, cursor = 0;
        const char *arrow = strstr(line, " -> ");
        if (!arrow || sscanf(arrow, " -> %d %d", &handle, &cursor) != 2 || !play(&pool, line, &taken.count, &got))
            fail_msg("%s, line %u is not understood: %s", name, number, line);
        if (got.handle != handle || got.cursor != cursor)
            fail_msg("%s, line %u: %s, but kolk gives %d %d", name, number, line, (int)got.handle, (int)got.cursor);
        assert_true(kolk_bytemap_is_valid(&pool));
        steps++;
    }
    kolk_bytemap_flush(&pool);
    return steps;
}

/* ---- The files --------------------------------------------------------------------------------------------------- */

static text expected;

/* The model's text, which is also written to its file on demand. */
static void write_vectors(const char *path, void (*write)(text *out)) {
    expected.length = 0;
    write(&expected);
    if (number_from_environment("KOLK_WRITE_VECTORS", 0) == 0) return;
    FILE *file = fopen(path, "wb");
    if (!file) fail_msg("%s cannot be written; tests run in the top folder", path);
    assert_int_equal(fwrite(expected.bytes, 1, expected.length, file), expected.length);
    assert_int_equal(fclose(file), 0);
}

static void replay_all(const char *name, text *vectors, unsigned least_steps) {
    unsigned steps = replay(name, vectors->bytes);
    print_message("%s: %u operations\n", name, steps);
    assert_true(steps >= least_steps);
}

/* promise: "GTA trilogy (III, Vice City, San Andreas)", "the slot becomes ... already free"; README.md
 * "bit for bit" */
static void test_rules(void **state) {
    static text found;
    const char *path = "tests/vectors/bytemap_rules.txt";
    write_vectors(path, write_rules);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s cannot be opened; tests run in the top folder", path);
    found.length = fread(found.bytes, 1, sizeof found.bytes - 1, file);
    found.bytes[found.length] = 0;
    fclose(file);
    if (strcmp(found.bytes, expected.bytes) != 0)
        fail_msg("%s is not what the model says (KOLK_WRITE_VECTORS=1 writes it anew)", path);
    replay_all(path, &found, 70);
}

static void test_random(void **state) {
    const char *path = "tests/vectors/bytemap_random.txt";
    write_vectors(path, write_random);
    assert_int_equal(kolk_hash_(expected.bytes), 0x7ea38289u);
    replay_all(path, &expected, 4000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_rules, abort_on_failure),
        cmocka_unit_test_teardown(test_random, abort_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
