/* fakes.h: pools that consist only of their statistics, so that the registry's tests can choose each number; and
 * functions that run this same program as a child, to test what happens when a program ends. The program's main begins
 * with RUN_SCENARIO. */
#ifndef TESTS_FAKES_H
#define TESTS_FAKES_H

#include "child.h"

#include "watch/process.h"
#include "watch/registry.h"

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

typedef struct fake {
    kolk_stats stats;
    uint32_t mark;
} fake;

static inline void fake_stats(const void *pool, kolk_stats *out) {
    *out = ((const fake *)pool)->stats;
}

static inline uintptr_t fake_facts(const void *pool) {
    return ((const fake *)pool)->mark;
}

static const kolk_kind_ fake_kind = {.stats = fake_stats, .facts = fake_facts, .size = sizeof(fake)};

/* Initialises a fake up to the point at which init would list it. Every field has a different number below 100, except
 * that no thread waits. */
static inline void fill_fake(fake *pool, const char *name) {
    kolk_process_start_();
    *pool = (fake){.stats = {name, "fake", 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 0, 24, 25, 0, 0}};
}

static inline void add_fake(fake *pool, const char *name) {
    fill_fake(pool, name);
    kolk_registry_add_(pool, &pool->mark, &fake_kind, false);
    assert_true(pool->mark);
}

static inline void remove_fake(fake *pool) {
    kolk_registry_remove_(pool->mark);
    pool->mark = 0;
}

/* ---- Programs that end ------------------------------------------------------------------------------------------- */

typedef struct scenario {
    const char *name;
    void (*run)(const char *argument);
} scenario;

/* The text that a program printed on stderr, and its wait status. */
typedef struct ending {
    int status;
    char text[20000];
} ending;

typedef struct invocation {
    const char *self, *name, *setting, *argument;
} invocation;

static inline void start_again(void *context) {
    const invocation *c = (const invocation *)context;
    unsetenv("KOLK_STATS");
    unsetenv("KOLK_DEBUG");
    setenv("KOLK_BYPASS", "0", 1); /* so that the numbers are the same under every tool */
    if (c->setting) setenv("KOLK_STATS", c->setting, 1);
#ifdef _WIN32
    char name[300], argument[300]; /* the system joins the arguments to one line, without quoting them */
    snprintf(name, sizeof name, "\"%s\"", c->name);
    snprintf(argument, sizeof argument, "\"%s\"", c->argument ? c->argument : "");
    _exit((int)_spawnl(_P_WAIT, c->self, c->self, name, c->argument ? argument : NULL, (char *)NULL));
#else
    const char *by = emulator();
    if (by) execlp(by, by, c->self, c->name, c->argument, (char *)NULL);
    execl(c->self, c->self, c->name, c->argument, (char *)NULL);
    _exit(126);
#endif
}

/* Runs a scenario of this program, with KOLK_STATS=setting, or with KOLK_STATS unset if `setting` is NULL. */
static inline ending run_scenario(const char *name, const char *setting, const char *argument) {
    static ending ended;
#ifdef _WIN32
    const char *self = _pgmptr;
#else
    char self[4096]; /* Valgrind cannot run the link itself */
    ssize_t length_of_self = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length_of_self > 0);
    self[length_of_self] = 0;
#endif
    invocation again = {self, name, setting, argument};
    ended.status = run_child(start_again, &again, ended.text, sizeof ended.text);
    return ended;
}

#define assert_ending(ending_, code, text_)                                                                            \
    do {                                                                                                               \
        ending it_ended = ending_;                                                                                     \
        assert_string_equal(it_ended.text, text_);                                                                     \
        assert_true(WIFEXITED(it_ended.status));                                                                       \
        assert_int_equal(WEXITSTATUS(it_ended.status), code);                                                          \
    } while (0)

static inline int play(const scenario *scenarios, size_t n, const char *name, const char *argument) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(scenarios[i].name, name) == 0) return scenarios[i].run(argument), 0;
    return 125;
}

#define RUN_SCENARIO(scenarios)                                                                                        \
    if (argc > 1) return play(scenarios, LENGTH_OF(scenarios), argv[1], argc > 2 ? argv[2] : NULL)

#endif
