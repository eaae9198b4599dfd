/* runs: processes not:qemu not:wine with: src wraps: help/system_calls.h kolk_file_read_ */
/* The file of KOLK_STATS=sizes:FILE: text written by people stays, the measurements are inserted, and a file of another
 * kind is left alone. test_sizes.c tests how needs are measured. */
#define _XOPEN_SOURCE 700 /* symlink, lstat, chmod */
#include "../help/system_calls.h"

#include "sizes_test.h"

#include "watch/sizes_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- A program with given needs ---------------------------------------------------------------------------------- */

#define MOST 9 /* slots of a pool */

/* "a=3;[boss;b=0": a needs 3 slots; then, in the scene boss, b needs none. A need above the capacity means that the
 * pool was full. */
static void play_needs(const char *argument) {
    char text[300], *rest = text;
    snprintf(text, sizeof text, "%s", argument);
    for (char *part; (part = strtok(rest, ";")); rest = NULL) {
        kolk_pool pool;
        char *equals = strrchr(part, '=');
        if (*part == '[') {
            kolk_scene(part + 1);
            continue;
        }
        *equals = 0;
        make_pool(&pool, &(kolk_pool_desc){.name = part, .object_size = 8, .capacity = 1, .max_capacity = MOST});
        for (int n = atoi(equals + 1); n > 0; n--) kolk_pool_alloc(&pool);
        kolk_pool_deinit(&pool);
    }
}

/* Runs that program with KOLK_STATS=sizes:name; returns its sentences, with that name replaced by FILE. */
static ending run_needs(const char *needs, const char *name) {
    char setting[5100];
    snprintf(setting, sizeof setting, "sizes:%s", name);
    ending it = run_scenario("needs", setting, needs);
    put_name(it.text, name);
    return it;
}

/* A run with these needs must change the file's text from `before` to `after`. */
static void assert_becomes(const char *before, const char *needs, const char *after) {
    write_file(before);
    assert_ending(run_needs(needs, path), 0, "");
    assert_string_equal(read_file(), after);
    assert_ending(run_needs(needs, path), 0, ""); /* repeating the same needs changes nothing */
    assert_string_equal(read_file(), after);
}

/* ---- What people wrote stays ------------------------------------------------------------------------------------- */

#define ALL_IN_USE "# all in use, and more were asked for"

/* promise: base.h "Text that people ... go to stderr" */
static void test_what_is_written(void **state) {
    static const struct {
        const char *before, *needs, *after;
    } rows[] = {
        /* only numbers change */
        {"# mine\n\n  bullets\t=  256  # all of them  \n\n# others = 3\nothers = 10\n\t\n# end\n", "bullets=3",
         "# mine\n\n  bullets\t=  3  # all of them  \n\n# others = 3\nothers = 10\n\t\n# end\n"},
        {"z = 1\n[two]\nz = 2\na = 3\n[one]\nz=4\n[never]\na = 5\n", "z=9;[one;z=8;a=7;[two;z=6;a=5",
         "z = 9\na = 7\n\n[two]\nz = 6\na = 5\n[one]\nz=8\na = 7\n\n[never]\na = 5\n"},
        {"a=b=1", "a=b=7;a=2", "a=b=7\na = 2\n"},
        {"a = 7\nb = 7\n", "a=0;b=1", "a = 7\nb = 1\n"},
        /* a file that is empty, or has no sizes */
        {"", "b=1;a=0", HEAD "b = 1\n"},
        {"# only this", "b=1", "# only this\nb = 1\n"},
        {"\n", "[s;b=1", "\nb = 1\n\n[s]\nb = 1\n"},
        {"a = 1\n", "", "a = 1\n"},
        /* new ones are at the end of their section */
        {"a = 1\n\n# of s\n[s]\na = 1\n\n# of t\n\n[t]\nb = 2\n# end", "[s;a=1;ccc=2;bb=3;[t;d=1;[u;d=0;e=4",
         "a = 1\nbb  = 3\nccc = 2\nd   = 1\ne   = 4\n\n# of s\n[s]\na = 1\nbb  = 3\nccc = 2\n\n# of t\n\n"
         "[t]\nb = 2\nd = 1\n\n# end\n\n[u]\ne = 4\n"},
        {"a = 1\n[s]\na = 1\n[t]\n[ s ]\n# s\n[u]", "a=1;[s;b=2;[t;b=2;[u;b=2;[v;b=3",
         "a = 1\nb = 3\n\n[s]\na = 1\n[t]\nb = 2\n\n[ s ]\nb = 2\n\n# s\n[u]\nb = 2\n\n[v]\nb = 3\n"},
        /* before the first section */
        {"# mine\n\n# of s\n# too\n[s]\na = 2\n", "a=1", "# mine\n\na = 1\n\n# of s\n# too\n[s]\na = 2\n"},
        {"# of s\n[s]\n", "a=1", "a = 1\n\n# of s\n[s]\n"},
        {"[s]\na = 3", "[s;a=1;b=2", "a = 1\nb = 2\n\n[s]\na = 1\nb = 2\n"},
        {"\xef\xbb\xbf[s]\n", "a=1",
         "\xef\xbb\xbf"
         "a = 1\n\n[s]\n"},
        /* kolk's own remark comes and goes */
        {"a = 5 # mine\nb = 2  " ALL_IN_USE "\nc = 2 # mine  " ALL_IN_USE "\nd = 1\n", "a=10;b=3;c=4;d=99",
         "a = 9 # mine  " ALL_IN_USE "\nb = 3\nc = 4 # mine\nd = 9  " ALL_IN_USE "\n"},
        {"# mine\r\na = 1\t# x\r\nb = 1\r\n", "a=9;b=2", "# mine\r\na = 9\t# x\r\nb = 2\r\n"},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) assert_becomes(rows[i].before, rows[i].needs, rows[i].after);
    assert_int_equal(unlink(path), 0);
    assert_ending(run_needs("b=1", path), 0, "");
    assert_string_equal(read_file(), HEAD "b = 1\n");
}

/* The program reads one text, and the file gets another text before the program ends. */
static void play_edited(const char *argument) {
    static kolk_pool pool; /* which still exists at exit */
    make_pool(&pool, &(kolk_pool_desc){.name = "a", .object_size = 8, .capacity = 100});
    fprintf(stderr, "%u\n", pool.capacity);
    kolk_pool_alloc(&pool);
    snprintf(path, sizeof path, "%s", argument);
    write_file("# edited\na = 50\n");
}

static void test_what_is_edited_meanwhile(void **state) {
    char setting[120];
    snprintf(setting, sizeof setting, "sizes:%s", path);
    write_file("a = 5\n");
    setenv("KOLK_SIZES", path, 1);
    assert_ending(run_scenario("edited", setting, path), 0, "5\n");
    assert_string_equal(read_file(), "# edited\na = 1\n");
}

/* ---- Random files ------------------------------------------------------------------------------------------------ */

static const char *const pieces[] = {"a = 1",
                                     "b=20",
                                     "\tc  =  3 # mine",
                                     "a = 4  # all in use, and more were asked for",
                                     "d = 5 # mine  # all in use, and more were asked for",
                                     "",
                                     "# mine",
                                     "[s]",
                                     "[ t ]",
                                     "[u] # mine",
                                     "  ",
                                     "e f = 7",
                                     "  # x \r",
                                     "b = 3\r"};
static const char *const names[] = {"a", "b", "c", "d", "e f", "g"};
static const uint32_t peaks[] = {1, 100, UINT32_MAX};
static const char *const scenes[] = {"", "s", "t", "u", "v"};

/* May this line of the old text be changed? */
static bool is_ours(const kolk_sizes_file_ *old, const char *line) {
    for (size_t i = 0; i < old->count; i++)
        if (old->lines[i].text.start == line) return old->lines[i].is == LINE_SIZE;
    return false;
}

/* All lines of the old text written by people are in the new one, in their order. */
static void assert_kept(const kolk_sizes_file_ *old, const kolk_sizes_file_ *new) {
    word before = old->body, after = new->body, line, other = {"", 0};
    while (before.length && cut_off(&before, '\n', &line)) {
        if (is_ours(old, line.start)) continue;
        do {
            if (!cut_off(&after, '\n', &other)) fail_msg("lost: \"%.*s\"", (int)line.length, line.start);
        } while (!is_same_text(line, other));
    }
}

/* Each need has one line in its section. */
static void assert_written(const kolk_sizes_file_ *new, const kolk_records_ *needs) {
    for (const kolk_record_ *at = needs->first; at; at = at->next) {
        unsigned found = 0;
        for (size_t i = 0; i < new->count; i++) {
            const kolk_line_ *line = &new->lines[i];
            if (line->is != LINE_SIZE || !is_text(line->name, at->stats.name)) continue;
            if (!is_text(line->section, at->stats.kind)) continue;
            found++;
            assert_int_equal(line->capacity, at->stats.peak);
            assert_true(ends_with(trimmed(line->text), ALL_IN_USE) == (at->stats.failed != 0));
        }
        assert_int_equal(found, 1);
    }
}

static void write_to_path(const kolk_sizes_file_ *file, const kolk_records_ *needs, const kolk_records_ *all_scenes) {
    assert_int_equal(unlink(path), 0); /* replacing a file is slow on some file systems */
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    kolk_sizes_file_write_(out, file, needs, all_scenes);
    assert_int_equal(fclose(out), 0);
}

static void try_random_file(uint64_t *random) {
    char text[2000] = "";
    kolk_records_ needs = {0}, all_scenes = {0};
    kolk_sizes_file_ old = {0}, new = {0};
    size_t length = 0;
    for (uint32_t n = random_below(random, 12); n > 0; n--) {
        const char *piece = pieces[random_below(random, LENGTH_OF(pieces))];
        const char *end = n > 1 || random_below(random, 2) ? "\n" : "";
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", piece, end);
    }
    for (size_t s = 0; s < LENGTH_OF(scenes); s++) {
        kolk_records_add_(&all_scenes, &(kolk_stats){.name = scenes[s], .kind = ""}, KOLK_RECORD_ENDED_);
        for (uint32_t n = random_below(random, 4); n > 0; n--)
            kolk_records_add_(&needs,
                              &(kolk_stats){.name = names[random_below(random, LENGTH_OF(names))],
                                            .kind = scenes[s],
                                            .peak = peaks[random_below(random, 3)],
                                            .failed = random_below(random, 2)},
                              KOLK_RECORD_ENDED_);
    }
    assert_int_equal(unlink(path), 0);
    write_file(text);
    assert_int_equal(kolk_sizes_file_read_(&old, path), KOLK_FOUND_);
    if (!old.wrong) {
        char first[4000];
        write_to_path(&old, &needs, &all_scenes);
        snprintf(first, sizeof first, "%s", read_file());
        assert_int_equal(kolk_sizes_file_read_(&new, path), KOLK_FOUND_);
        assert_false(new.wrong);
        assert_kept(&old, &new);
        assert_written(&new, &needs);
        write_to_path(&new, &needs, &all_scenes);
        assert_string_equal(read_file(), first);
    }
    kolk_sizes_file_release_(&old);
    kolk_sizes_file_release_(&new);
    kolk_records_release_(&needs);
    kolk_records_release_(&all_scenes);
}

static void test_random_files(void **state) {
    uint64_t random = number_from_environment("KOLK_TEST_SEED", 4711);
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", random);
    for (unsigned n = 0; n < 3000; n++) try_random_file(&random);
}

/* ---- What is left alone ------------------------------------------------------------------------------------------ */

#define MEASURED HEAD "a = 1\n"
#define STAYS    "kolk: KOLK_STATS: \"FILE\" stays as it is until that is put right; this was measured:\n" MEASURED
#define WRONG    "kolk: KOLK_STATS: FILE:"

static void test_what_is_not_understood_is_left_alone(void **state) {
    static const struct {
        const char *file, *said;
    } rows[] = {
        {"a = 2\n  a = 3  \n", WRONG "2: \"a\" is there already, in line 1\n" STAYS},
        {"a = x\n", WRONG "1: \"x\" is no number of slots: 1 to 4294967295\n" STAYS},
        {"int main(void) {\n    return 0;\n}",
         WRONG "1: \"int main(void) {\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" WRONG
               "2: \"return 0;\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" WRONG
               "3: \"}\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" STAYS},
        {"a = 2\n[ ]\n", WRONG "2: \"[ ]\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" STAYS},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        write_file(rows[i].file);
        assert_ending(run_needs("a=1", path), 0, rows[i].said);
        assert_string_equal(read_file(), rows[i].file);
    }
}

static void test_what_cannot_be_read_or_written(void **state) {
    char name[5000];
    write_file("a = 2\n");
    snprintf(name, sizeof name, "%s/inside", path); /* inside a file, not a folder */
    assert_ending(run_needs("a=1", name), 0,
                  "kolk: KOLK_STATS: \"FILE\" cannot be read and stays as it is; this was measured:\n" MEASURED);
    assert_string_equal(read_file(), "a = 2\n");
    assert_ending(run_needs("a=1", "/nowhere/at/all"), 0,
                  "kolk: KOLK_STATS: \"FILE\" cannot be written; this was measured:\n" MEASURED);
    assert_ending(run_needs("a=1", "/"), 0,
                  "kolk: KOLK_STATS: \"FILE\" cannot be written; this was measured:\n" MEASURED);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    kolk_new_file_ new;
    assert_false(kolk_file_begin_(&new, name));
    name[FILENAME_MAX - 2] = 0; /* and nothing behind it */
    assert_false(kolk_file_begin_(&new, name));
}

/* The disk is full. */
static void test_a_file_that_is_cut_short_takes_no_place(void **state) {
    struct rlimit before, limit;
    kolk_new_file_ new;
    char left[120];
    write_file("a = 1\n");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 40;
    signal(SIGXFSZ, SIG_IGN);
    assert_true(kolk_file_begin_(&new, path));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fprintf(new.out, "%100s", "a = 2\n");
    bool written = kolk_file_end_(&new, false);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(written);
    assert_string_equal(read_file(), "a = 1\n");
    snprintf(left, sizeof left, "%s.new1", path);
    assert_int_equal(access(left, F_OK), -1);
}

/* The system refuses memory from the first, second, third ... request on: the file is read in full, or not at all. */
static void test_refused_memory(void **state) {
    bool through = false;
    for (unsigned n = 1; !through; n++) {
        kolk_sizes_file_ file = {0};
        write_file("a = 1\n");
        os.calls = 0;
        os.refused_from = n;
        kolk_found_ found = kolk_sizes_file_read_(&file, path);
        through = os.calls < n;
        os.refused_from = 0;
        assert_int_equal(found, through ? KOLK_FOUND_ : KOLK_UNREADABLE_);
        assert_true(through || all_bytes_are(&file, sizeof file, 0));
        kolk_sizes_file_release_(&file);
    }
}

/* ---- How it is read ---------------------------------------------------------------------------------------------- */

/* Files whose length is reported as 0: reading no text is better than reading a part. */
static void test_files_without_a_length(void **state) {
    static const char *const endless[] = {"/proc/self/status", "/dev/zero", "/dev/full"};
    for (size_t i = 0; i < LENGTH_OF(endless); i++) {
        kolk_sizes_file_ file = {0};
        char expected[100];
        if (access(endless[i], R_OK) != 0) {
            print_message("left out: there is no %s\n", endless[i]);
            continue;
        }
        assert_int_equal(kolk_sizes_file_read_(&file, endless[i]), KOLK_UNREADABLE_);
        assert_true(all_bytes_are(&file, sizeof file, 0));
        setenv("KOLK_SIZES", endless[i], 1);
        snprintf(expected, sizeof expected, "kolk: KOLK_SIZES: \"%s\" cannot be read\n", endless[i]);
        assert_ending(run_scenario("needs", NULL, "a=1"), 0, expected);
    }
    setenv("KOLK_SIZES", "/dev/null", 1); /* which really is empty */
    assert_ending(run_scenario("needs", NULL, "a=1"), 0, "");
}

/* A slow file: its first reader waits until the test lets it continue. */
static atomic_bool is_slow, is_reading, may_go_on;

kolk_found_ __real_kolk_file_read_(const char *name, kolk_text_ *text);
kolk_found_ __wrap_kolk_file_read_(const char *name, kolk_text_ *text);

kolk_found_ __wrap_kolk_file_read_(const char *name, kolk_text_ *text) {
    kolk_found_ found = __real_kolk_file_read_(name, text); /* so that a child finds it half done */
    if (!is_slow) return found;
    is_reading = true;
    while (!may_go_on) sched_yield();
    return found;
}

static void *make_first_pool(void *context) {
    make_pool((kolk_pool *)context, &(kolk_pool_desc){.name = "a", .object_size = 8, .capacity = 1});
    return NULL;
}

static void play_slow_file(const char *argument) {
    static kolk_pool first, second, of_child;
    pthread_t threads[2];
    alarm(20); /* ends a child that would wait for ever */
    is_slow = true;
    assert_int_equal(pthread_create(&threads[0], NULL, make_first_pool, &first), 0);
    while (!is_reading) sched_yield();
    for (int n = 0; n < 2; n++) {
        pid_t child = fork();
        if (child == 0) { /* the child reads the file itself, from the start */
            is_slow = false;
            make_first_pool(&of_child);
            fprintf(stderr, "child: %u\n", of_child.capacity);
            kolk_pool_deinit(&of_child);
            _exit(0); /* LeakSanitizer would look for the other thread */
        }
        await_child(child);
    }
    assert_int_equal(pthread_create(&threads[1], NULL, make_first_pool, &second), 0);
    kolk_stats_write(KOLK_STATS_JSON, count_bytes, &(size_t){0});
    may_go_on = true;
    for (int n = 0; n < 2; n++) assert_int_equal(pthread_join(threads[n], NULL), 0);
    fprintf(stderr, "parent: %u, %u\n", first.capacity, second.capacity);
}

/* Forks and statistics do not wait for the slow file; inits do. Each mistake in it is reported once per process.
 * promise: base.h "The first init ... forks do not" */
static void test_a_file_that_is_slow(void **state) {
    static const char *const wrong = BAD "1: \"x\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n";
    char expected[1000];
    snprintf(expected, sizeof expected, "%schild: 3\n%schild: 3\n%sparent: 3, 3\n", wrong, wrong, wrong);
    assert_ending(run_with("slow file", "x\na = 3\n", NULL), 0, expected);
}

/* ---- How it is replaced ------------------------------------------------------------------------------------------ */

/* A reader that has the file open sees the whole old text, also with statistics in other formats.
 * promise: base.h "Text that people ... go to stderr" */
static void test_files_are_replaced_at_once(void **state) {
    static const char *const rows[][2] = {{"sizes", "a = 1\n"},
                                          {"openmetrics", "kolk_peak{pool=\"a\",kind=\"pool\"} 1\n"}};
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        char setting[120], text[20] = "";
        snprintf(setting, sizeof setting, "%s:%s", rows[i][0], path);
        write_file("a = 2\n");
        FILE *open_before = fopen(path, "rb");
        assert_non_null(open_before);
        assert_ending(run_scenario("needs", setting, "a=1"), 0, "");
        assert_int_equal(fread(text, 1, sizeof text, open_before), 6);
        assert_string_equal(text, "a = 2\n");
        fclose(open_before);
        assert_non_null(strstr(read_file(), rows[i][1]));
    }
}

static void test_new_files_that_were_left_behind(void **state) {
    char left[120];
    write_file("a = 2\n");
    for (unsigned n = 1; n <= 100; n++) {
        if (n == 100) { /* the last name that is tried */
            assert_ending(run_needs("a=1", path), 0, "");
            assert_string_equal(read_file(), "a = 1\n");
        }
        snprintf(left, sizeof left, "%s.new%u", path, n);
        FILE *file = fopen(left, "wbx");
        assert_non_null(file);
        fclose(file);
    }
    assert_ending(run_needs("a=3", path), 0,
                  "kolk: KOLK_STATS: \"FILE\" cannot be written; this was measured:\n" HEAD "a = 3\n");
    assert_string_equal(read_file(), "a = 1\n");
    for (unsigned n = 1; n <= 100; n++) {
        snprintf(left, sizeof left, "%s.new%u", path, n);
        assert_int_equal(unlink(left), 0);
    }
}

static void test_links_and_permissions_stay(void **state) {
    char link[120];
    struct stat about;
    snprintf(link, sizeof link, "%s.link", path);
    write_file("a = 2\n");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_ending(run_needs("a=1", link), 0, "");
    assert_string_equal(read_file(), "a = 1\n");
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    /* A link to a file that does not exist yet. */
    assert_int_equal(unlink(path), 0);
    assert_ending(run_needs("a=1", link), 0, "");
    assert_string_equal(read_file(), HEAD "a = 1\n");
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(unlink(link), 0);
}

/* Pipes and devices have no text to keep, and are not replaced. */
static void test_special_files(void **state) {
    assert_ending(run_needs("a=1", "/dev/stderr"), 0, MEASURED);
    assert_ending(run_needs("a=1", "/dev/null"), 0, "");
    struct stat about;
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {{"needs", play_needs}, {"edited", play_edited}, {"slow file", play_slow_file}};
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written),
        TEST(test_what_is_edited_meanwhile),
        TEST(test_random_files),
        TEST(test_what_is_not_understood_is_left_alone),
        TEST(test_what_cannot_be_read_or_written),
        TEST(test_a_file_that_is_cut_short_takes_no_place),
        TEST(test_refused_memory),
        TEST(test_files_without_a_length),
        TEST(test_a_file_that_is_slow),
        TEST(test_files_are_replaced_at_once),
        TEST(test_new_files_that_were_left_behind),
        TEST(test_links_and_permissions_stay),
        TEST(test_special_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
