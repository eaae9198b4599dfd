/* sites_source.c: finds the source lines of code addresses.
 *
 * They come from addr2line, which gets all addresses of a module in one call. With -a -f -i it prints
 *
 *     0x11f2                    the address
 *     on_hit                    the innermost function that the compiler has merged
 *     /src/game/collide.c:63
 *     explode                   the function it was merged into ... and last the function of the symbol
 *     /src/game/collide.c:80
 *
 * addr2line is searched for in PATH, so that users get the one from their toolchain. For a module compiled by clang,
 * llvm-addr2line is preferred, because GNU addr2line from binutils 2.40 cannot read clang's records of merged functions
 * (DWARF 5). Relative folders of PATH are skipped, because they depend on the current folder. A program with more
 * rights than its user runs no addr2line, because that user chooses PATH. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_HOSTED && defined(__linux__)

#include "../core/fail.h"
#include "sites_inside.h"
#include "../core/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The state of reading addr2line's output, line by line. */
typedef struct line_answer {
    site_calls *calls;
    site_module *in;
    const void *const *stack;
    size_t first, count; /* the value of calls->at for stack[0]; the number of addresses */
    size_t told;         /* addresses whose answer has begun */
    char line[256];      /* a line of output; for a source line, only the part after the last slash */
    size_t length;
    bool wants_source, has_call; /* the next line is a source line; a call was read, but not yet the line after it */
    char function[256], source[256];
} line_answer;

/* Shortens "collide.c:63 (discriminator 2)" to "collide.c:63". "??:0", "??:?" and "collide.c:?" are no source lines. A
 * line of one of our .inl files does not count either: there addr2line did not find the function that the line was
 * merged into (binutils 2.40 with DWARF 5 from clang -O2). */
static bool is_source(char *source) {
    static const char *const ours[] = {"bytemap.inl:", "pool.inl:", "shared.inl:", "slotmap.inl:"};
    char *more = strstr(source, " (discriminator ");
    if (more) *more = 0;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strncmp(source, ours[i], strlen(ours[i])) == 0) return false;
    }
    const char *line = strrchr(source, ':');
    return line && line > source && line[1] >= '1' && line[1] <= '9';
}

static void tell_call(line_answer *from, bool is_merged) {
    if (!from->has_call) return;
    KOLK_ASSERT_(from->told > 0);
    from->has_call = false;
    from->calls->at = from->first + from->told - 1;
    from->in->site = (uintptr_t)from->stack[from->told - 1];
    site_call call = {.function = from->function, .source = from->source, .is_merged = is_merged};
    kolk_site_add_call_(from->calls, from->in, &call);
}

static void read_answered_line(line_answer *from) {
    bool is_whole = from->length + 1 < sizeof from->line;
    from->line[from->length] = 0;
    if (from->wants_source) {
        bool known = is_whole && is_source(from->line);
        memcpy(from->source, known ? from->line : "", known ? from->length + 1 : 1);
        from->wants_source = false;
        from->has_call = true;
    } else if (strncmp(from->line, "0x", 2) == 0) {
        tell_call(from, false);
        from->told++;
    } else if (from->told) {
        tell_call(from, true);
        memcpy(from->function, from->line, from->length + 1);
        from->wants_source = true;
    }
}

static void read_answer(line_answer *from, char next) {
    if (from->told > from->count) return; /* more answers than addresses */
    if (next == '\n') {
        read_answered_line(from);
        from->length = 0;
    } else if (next == '/' && from->wants_source) {
        from->length = 0;
    } else if (from->length + 1 < sizeof from->line) {
        from->line[from->length++] = next;
    }
}

static bool is_program(const char *path) {
    struct stat found;
    if (stat(path, &found) != 0) return false;
    kolk_tools_wrote_(&found, sizeof found); /* clang 14's MemorySanitizer misses stat of glibc 2.33 and newer */
    return S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

/* Searches the folders of PATH that begin with a slash. */
static bool find_program(const char *name, char *path, size_t size) {
    const char *folder = getenv("PATH"), *end;
    for (folder = folder ? folder : "/usr/bin"; folder; folder = *end ? end + 1 : NULL) {
        end = strchrnul(folder, ':');
        size_t length = (size_t)(end - folder);
        if (*folder != '/' || length + strlen(name) + 2 > size) continue;
        snprintf(path, size, "%.*s/%s", (int)length, folder, name);
        if (is_program(path)) return true;
    }
    return false;
}

static bool find_addr2line(const site_module *in, char *path, size_t size) {
    return (kolk_site_is_by_clang_(in) && find_program("llvm-addr2line", path, size)) ||
           find_program("addr2line", path, size);
}

/* Starts addr2line, whose output goes into a pipe. Returns its process ID, or -1. It gets no environment: LD_PRELOAD
 * may load a tool, and kolk's own variables would apply to it. */
static pid_t start_addr2line(char *path, const line_answer *to, int writer) {
    char name[PATH_MAX], options[] = "-afi", of[] = "-e", *none[] = {NULL};
    char digits[KOLK_STACK_ROOM_(KOLK_STACK_MOST_)][2 * sizeof(uintptr_t) + 3];
    char *arguments[4 + KOLK_STACK_ROOM_(KOLK_STACK_MOST_) + 1] = {name, options, of, path};
    KOLK_ASSERT_(to->count <= KOLK_STACK_ROOM_(KOLK_STACK_MOST_));
    for (size_t i = 0; i < to->count; i++) {
        snprintf(digits[i], sizeof digits[i], "0x%" PRIxPTR, (uintptr_t)to->stack[i] - 1 - to->in->base);
        arguments[4 + i] = digits[i];
    }
    if (!find_addr2line(to->in, name, sizeof name)) return -1;
    pid_t process = -1;
    posix_spawn_file_actions_t files;
    if (posix_spawn_file_actions_init(&files) == 0) {
        if (posix_spawn_file_actions_adddup2(&files, writer, STDOUT_FILENO) != 0 ||
            posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) != 0 ||
            posix_spawn(&process, name, &files, NULL, arguments, none) != 0)
            process = -1;
        posix_spawn_file_actions_destroy(&files);
    }
    return process;
}

static bool leads_to(const char *path, int file) {
    struct stat there, here;
    if (stat(path, &there) != 0 || fstat(file, &here) != 0) return false;
    kolk_tools_wrote_(&there, sizeof there); /* as in is_program */
    kolk_tools_wrote_(&here, sizeof here);
    return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

size_t kolk_site_add_sources_(site_calls *calls, site_module *in, const void *const *stack, size_t count) {
    KOLK_ASSERT_(in->file >= 0);
    int ends[2];
    if (count > KOLK_STACK_ROOM_(KOLK_STACK_MOST_)) count = KOLK_STACK_ROOM_(KOLK_STACK_MOST_);
    line_answer from = {.calls = calls, .in = in, .stack = stack, .first = calls->at, .count = count};
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    /* Prefer the path to the handle: addr2line may find a separate file of debug information beside the path. */
    char handle[64];
    snprintf(handle, sizeof handle, "/proc/%ld/fd/%d", (long)getpid(), in->file);
    pid_t process = start_addr2line(leads_to(in->path, in->file) ? in->path : handle, &from, ends[1]);
    close(ends[1]);
    char some[256];
    ssize_t bytes;
    while ((bytes = read(ends[0], some, sizeof some)) > 0 || (bytes < 0 && errno == EINTR))
        for (ssize_t i = 0; i < bytes; i++) read_answer(&from, some[i]);
    close(ends[0]);
    /* If the program ignores SIGCHLD, waitpid gets no status: it fails with ECHILD once the process has ended. */
    while (process > 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR) continue;
    bool is_whole = from.has_call;
    tell_call(&from, false);
    return from.told - (from.told && !is_whole);
}

#endif
