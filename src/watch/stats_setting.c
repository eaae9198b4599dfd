/* stats_setting.c: KOLK_STATS=FORMAT or FORMAT:FILE, read at the start and obeyed at exit, and when KOLK_STATS_AT or
 * kolk_stats_now says so. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../base/atomics.h"
#include "../os/cancel.h"
#include "../os/clock.h"
#include "../os/environment.h"
#include "../os/files.h"
#include "../os/lock.h"
#include "sizes.h"
#include "stats.h"

#include <string.h>

static struct {
    const char *wrong; /* the text of the setting if it is not understood */
    kolk_stats_format format;
    bool sizes;       /* KOLK_STATS=sizes, which is not a format */
    bool logs;        /* KOLK_STATS=log: a line is added to the file */
    uint32_t logging; /* held to add a line */
    const char *file; /* NULL means stderr */
    uint32_t failed;  /* the last time, the file could not be written */
    kolk_records_ texts;
} stats_setting;

/* Is the text this word, alone or followed by a colon and anything else? */
static bool is_word(const char *text, const char *word) {
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && (text[length] == 0 || text[length] == ':');
}

bool kolk_stats_read_setting_(void) {
    static const struct {
        const char *word;
        kolk_stats_format format;
        bool sizes, logs;
    } words[] = {
        {"1", KOLK_STATS_TEXT, false, false},
        {"text", KOLK_STATS_TEXT, false, false},
        {"json", KOLK_STATS_JSON, false, false},
        {"log", KOLK_STATS_JSON, false, true},
        {"openmetrics", KOLK_STATS_OPENMETRICS, false, false},
        {"prometheus", KOLK_STATS_PROMETHEUS, false, false},
        {"sizes", KOLK_STATS_TEXT, true, false},
    };
    enum { FORMAT_WORDS = sizeof words / sizeof *words };
    const char *text = kolk_environment_("KOLK_STATS");
    if (!text || !*text || strcmp(text, "0") == 0) return false;
    size_t w = 0;
    while (w < FORMAT_WORDS && !is_word(text, words[w].word)) w++;
    const char *file = strchr(text, ':');
    if (w == FORMAT_WORDS || (file && !file[1])) {
        stats_setting.wrong = text;
        return false;
    }
    stats_setting.format = words[w].format;
    stats_setting.sizes = words[w].sizes;
    stats_setting.logs = words[w].logs;
    if (file)
        stats_setting.file =
            kolk_records_copy_(&stats_setting.texts, file + 1); /* the environment may change before the exit */
    return !file || stats_setting.file;
}

bool kolk_stats_want_sizes_(const char **file) {
    *file = stats_setting.file;
    return stats_setting.sizes;
}

static void report_setting(const char *format, const char *text) {
    kolk_failure failure = {.rule = KOLK_BAD_SETTING, .pool = "KOLK_STATS", .slot = UINT32_MAX};
    kolk_fail_(failure, format, text);
}

void kolk_stats_report_setting_(void) {
    if (!stats_setting.wrong) return;
    report_setting("\"%s\" is not understood: 1, text, json, log, openmetrics, prometheus or sizes, each with :FILE "
                   "behind it if you like",
                   stats_setting.wrong);
}

static void put_to_file(const char *text, size_t length, void *file) {
    fwrite(text, 1, length, file);
}

static bool replace_stats_file(const kolk_records_ *records) {
    kolk_new_file_ file;
    if (!kolk_file_begin_(&file, stats_setting.file)) return false;
    kolk_records_write_(records, stats_setting.format, put_to_file, file.out);
    return kolk_file_end_(&file, false);
}

/* Adds a line to the file, which is opened each time, because it may have been moved away. */
static bool add_to_log(void) {
    kolk_lock_word_(&stats_setting.logging); /* else the lines of two threads could be mixed */
    FILE *out = stats_setting.file ? fopen(stats_setting.file, "a") : stderr;
    bool written = out;
    if (out) kolk_stats_write_line_((uint64_t)kolk_unix_ms_(), put_to_file, out);
    if (out) written = !ferror(out);
    if (out && out != stderr) written &= fclose(out) == 0;
    kolk_unlock_word_(&stats_setting.logging);
    return written;
}

static bool write_setting(const kolk_records_ *records) {
    if (stats_setting.sizes) {
        kolk_sizes_write_(stats_setting.file);
        return true;
    }
    if (!stats_setting.file && !stats_setting.logs) {
        kolk_records_write_(records, stats_setting.format, put_to_file, stderr);
        return true;
    }
    bool written = stats_setting.logs ? add_to_log() : replace_stats_file(records);
    uint32_t told = kolk_raw_exchange_(&stats_setting.failed, !written, KOLK_RELAXED_);
    if (!written && !told)
        report_setting("\"%s\" cannot be written", stats_setting.file ? stats_setting.file : "stderr");
    return written;
}

/* Cancellation is off, so that a thread that is cancelled during exit still ends the process. */
bool kolk_stats_write_setting_(const kolk_records_ *records) {
    int cancel = kolk_cancel_off_();
    bool written = write_setting(records);
    kolk_cancel_restore_(cancel);
    return written;
}

#endif
