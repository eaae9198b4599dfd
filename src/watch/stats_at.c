/* stats_at.c: KOLK_STATS_AT=WORD,...: exit, signals and an interval.
 *
 * A thread of kolk's own, the writer, does all the work. The handler of a signal only notes the signal, wakes the
 * writer, and calls the handler that was there before. If there was none and the signal is one that ends processes, the
 * writer lets it end the process after it has written. A handler that the program sets later replaces kolk's: then the
 * signal is the program's alone. A signal that is ignored stays ignored. A handler that the program wants to be called
 * only once (SA_RESETHAND) is called once.
 *
 * A child of this process, however it was made (forks.h), has the handlers, but no writer: there, these signals do what
 * they did before kolk. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "stats.h"
#include "../base/assert.h"
#include "../base/atomics.h"
#include "../os/clock.h"
#include "../os/environment.h"
#include "../os/lock.h"
#include "../os/sleep.h"
#include "../os/worker.h"

#include <string.h>

#define MS INT64_C(1000000)

static struct {
    const char *wrong; /* the variable, if it is not understood */
    bool is_set;       /* the variable is there */
    bool skips_exit;   /* nothing is written at exit */
    int64_t every;     /* the interval in nanoseconds; 0: none */
    uint32_t signals;  /* bits of signals[] */
    bool (*write)(void);
    uint32_t calls;   /* the writer sleeps while this stays the same */
    uint32_t came;    /* the signals that the writer has not seen yet; above, those that no handler handles */
    bool ends;        /* the writer ends */
    bool works;       /* there is a writer, in the process with this count */
    uint32_t forks;   /* kolk_forks_now_ */
    bool held, waits; /* no writer may be started now; one is wanted */
    uintptr_t writer;
} when;

static KOLK_THREAD_LOCAL_ bool is_writer;

/* A child does not have the writer of its parent. */
static bool has_writer(void) {
    return when.works && when.forks == kolk_forks_now_();
}

static void call_writer(void) {
    kolk_raw_fetch_add_(&when.calls, 1, KOLK_RELEASE_); /* partner: write_when_called */
    kolk_wake_(&when.calls, 1);
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

#ifdef _WIN32

#define SIGNAL_NAMES ""

static bool read_signal(const char *word, size_t length) {
    (void)word, (void)length;
    return false;
}

static void begin_signals(void) {}
static void end_signals(void) {}

static void end_process(uint32_t came) {
    (void)came;
}

#else

#include <errno.h>
#include <signal.h>

static const struct {
    const char *name;
    int number;
    bool ends; /* the process ends by it, unless the program has a handler */
} signals[] = {{"HUP", SIGHUP, true},   {"INT", SIGINT, true},    {"QUIT", SIGQUIT, true},
               {"TERM", SIGTERM, true}, {"USR1", SIGUSR1, false}, {"USR2", SIGUSR2, false}};

#define SIGNALS      (sizeof signals / sizeof *signals)
#define SIGNAL_NAMES "HUP, INT, QUIT, TERM, USR1, USR2, "

static struct sigaction before[SIGNALS];
static uint32_t used_up; /* bits of signals[]: the program's handler was to be called once, and was */

static bool read_signal(const char *word, size_t length) {
    for (unsigned s = 0; s < SIGNALS; s++) {
        if (strlen(signals[s].name) != length || memcmp(signals[s].name, word, length) != 0) continue;
        when.signals |= 1u << s;
        return true;
    }
    return false;
}

/* Handles the signal as if kolk were not there. */
static void restore_signal(unsigned s) {
    const struct sigaction none = {.sa_handler = SIG_DFL};
    bool is_used_up = kolk_raw_load_(&used_up, KOLK_RELAXED_) & 1u << s;
    sigaction(signals[s].number, is_used_up ? &none : &before[s], NULL);
}

/* Has the program a handler? If that is to be called once, only the first caller is told so. */
static bool take_handler(unsigned s) {
    if (!(before[s].sa_flags & SA_SIGINFO) && before[s].sa_handler == SIG_DFL) return false;
    if (!(before[s].sa_flags & (int)SA_RESETHAND)) return true;
    return !(kolk_raw_fetch_or_(&used_up, 1u << s, KOLK_RELAXED_) & 1u << s);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    unsigned s = 0;
    int error = errno;
    while (signals[s].number != number) s++;
    bool calls = when.works && when.forks == kolk_forks_() && !kolk_forks_are_others_(), handles = take_handler(s);
    if (calls) {
        kolk_raw_fetch_or_(&when.came, (1u << s) | (handles ? 0 : 1u << (s + SIGNALS)), KOLK_RELAXED_);
        call_writer();
    }
    errno = error;
    if (handles && before[s].sa_flags & SA_SIGINFO) {
        before[s].sa_sigaction(number, info, context);
    } else if (handles) {
        before[s].sa_handler(number);
    } else if (!calls && signals[s].ends) {
        restore_signal(s);
        raise(number); /* takes effect when this handler returns */
    }
}

static bool is_ours(unsigned s) {
    struct sigaction now;
    return sigaction(signals[s].number, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal;
}

static void begin_signals(void) {
    for (unsigned s = 0; s < SIGNALS; s++) {
        if (!(when.signals & 1u << s) || is_ours(s)) continue;
        if (sigaction(signals[s].number, NULL, &before[s]) != 0) continue;
        bool plain = !(before[s].sa_flags & SA_SIGINFO);
        if (plain && before[s].sa_handler == SIG_IGN) continue;
        kolk_raw_fetch_and_(&used_up, ~(1u << s), KOLK_RELAXED_);
        struct sigaction ours = before[s];
        if (plain && before[s].sa_handler == SIG_DFL) ours = (struct sigaction){.sa_flags = SA_RESTART};
        ours.sa_sigaction = on_signal;
        ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
        sigaction(signals[s].number, &ours, NULL);
    }
}

static void end_signals(void) {
    for (unsigned s = 0; s < SIGNALS; s++)
        if (when.signals & 1u << s && is_ours(s)) restore_signal(s);
}

/* Lets a signal that has come end the process, if the program had no handler for it. */
static void end_process(uint32_t came) {
    for (unsigned s = 0; s < SIGNALS; s++) {
        if (!(came & 1u << (s + SIGNALS)) || !signals[s].ends || !is_ours(s)) continue;
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, signals[s].number);
        restore_signal(s);
        pthread_sigmask(SIG_UNBLOCK, &only, NULL);
        raise(signals[s].number);
    }
}

#endif

/* ---- The variable ------------------------------------------------------------------------------------------------ */

/* Reads "10s", "500ms", "2m" or "1h". */
static bool read_interval(const char *word, size_t length) {
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {{"ms", MS}, {"s", 1000 * MS}, {"m", 60000 * MS}, {"h", 3600000 * MS}};
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < length && word[digits] >= '0' && word[digits] <= '9'; digits++)
        if ((number = number * 10 + (word[digits] - '0')) > 1000000) return false;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        if (strlen(units[u].unit) != length - digits || memcmp(units[u].unit, word + digits, length - digits) != 0)
            continue;
        bool is_new = !when.every;
        when.every = number * units[u].ns;
        return is_new && when.every >= 10 * MS;
    }
    return false;
}

void kolk_stats_at_read_(void) {
    const char *text = kolk_environment_("KOLK_STATS_AT");
    if (!text || !*text) return;
    when.is_set = when.skips_exit = true;
    for (const char *word = text; word; word = strchr(word, ',')) {
        if (*word == ',') word++;
        size_t length = strcspn(word, ",");
        if (length == 4 && memcmp(word, "exit", 4) == 0)
            when.skips_exit = false;
        else if (!read_signal(word, length) && !read_interval(word, length))
            when.wrong = text;
    }
    if (!when.wrong) return;
    when.skips_exit = false;
    when.signals = 0;
    when.every = 0;
}

static void report(const char *format, const char *text) {
    kolk_failure failure = {.rule = KOLK_BAD_SETTING, .pool = "KOLK_STATS_AT", .slot = UINT32_MAX};
    kolk_fail_(failure, format, text);
}

void kolk_stats_at_report_(bool keeps) {
    if (when.wrong)
        report("\"%s\" is not understood: exit, " SIGNAL_NAMES
               "or one interval of at least 10ms such as 500ms, 10s, 5m, with commas between them",
               when.wrong);
    else if (when.is_set && !keeps)
        report("is set to \"%s\", but KOLK_STATS, which says what to write, is not",
               kolk_environment_("KOLK_STATS_AT"));
}

bool kolk_stats_at_exit_(void) {
    return !when.skips_exit;
}

/* ---- The writer -------------------------------------------------------------------------------------------------- */

static KOLK_WORK_ write_when_called(void *unused) {
    (void)unused;
    int64_t next = when.every ? kolk_now_ns_() + when.every : KOLK_FOREVER.ns;
    is_writer = true;
    for (;;) {
        uint32_t calls = kolk_raw_load_(&when.calls, KOLK_ACQUIRE_); /* partner: call_writer */
        if (kolk_raw_load_(&when.ends, KOLK_RELAXED_)) return 0;
        uint32_t came = kolk_raw_exchange_(&when.came, 0, KOLK_RELAXED_);
        int64_t now = when.every ? kolk_now_ns_() : 0;
        if (!came && now < next) {
            kolk_wait_(&when.calls, calls, (kolk_deadline){next});
            continue;
        }
        if (now >= next) next = now + when.every;
        when.write();
        end_process(came);
    }
}

static void begin_writer(void) {
    when.waits = false;
    when.forks = kolk_forks_now_();
    when.ends = false;
    when.came = 0;
    when.works = kolk_worker_start_(&when.writer, write_when_called, NULL);
    if (when.works)
        begin_signals();
    else
        report("%s", "the system has no thread that could write");
}

void kolk_stats_at_begin_(bool (*write)(void)) {
    if (!when.every && !when.signals) return;
    when.write = write;
    when.waits = when.held;
    if (!when.held) begin_writer();
}

void kolk_stats_at_hold_(bool held) {
    when.held = held;
    if (!held && when.waits) begin_writer();
}

void kolk_stats_at_end_(void) {
    if (!has_writer()) return;
    end_signals();
    when.works = false;
    if (is_writer) return; /* the failure handler has called exit */
    kolk_raw_store_(&when.ends, true, KOLK_RELAXED_);
    call_writer();
    kolk_worker_join_(when.writer);
}

#endif
