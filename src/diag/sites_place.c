/* sites_place.c: the places in the source that addresses of code come from.
 *
 * Places come from addr2line, which is asked for all addresses of a module at once. With -a -f -i it answers
 *
 *     0x11f2                    the address
 *     on_hit                    the function that the compiler has merged innermost
 *     /src/game/collide.c:63
 *     explode                   what it was merged into ... and at last the function that the symbol names
 *     /src/game/collide.c:80
 *
 * It is the addr2line that PATH leads to, so that users get that of their toolchain; for what clang has compiled,
 * llvm-addr2line if there is one: GNU's of binutils 2.40 cannot read where clang has merged functions (DWARF 5).
 * Relative folders of PATH are skipped: they are wherever the program happens to be. A program with more rights than
 * its user runs none, since that user chooses PATH. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_DIAGNOSTICS && defined(__linux__)

#include "../core/fail.h"
#include "../os/memory.h"
#include "sites_inside.h"
#include "../core/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* What addr2line prints, line by line. */
typedef struct line_answer {
    site_calls *calls;
    site_module *in;
    const void *const *stack;
    size_t first, count; /* in calls->at, of the stack; addresses */
    size_t told;         /* of so many the answer has begun */
    char line[256];      /* of a place, without the directories; cut */
    size_t length;
    bool wants_place, has_call; /* the next line is a place; a call was read, but not what is behind it */
    char function[256], place[256];
} line_answer;

/* "collide.c:63 (discriminator 2)" becomes "collide.c:63"; "??:0", "??:?" and "collide.c:?" are no place. Nor is a line
 * of an .inl of ours: addr2line could not tell what it was merged into (binutils 2.40, and DWARF 5 from clang -O2). */
static bool is_place(char *place) {
    static const char *const ours[] = {"bytemap.inl:", "pool.inl:", "shared.inl:", "slotmap.inl:"};
    char *more = strstr(place, " (discriminator ");
    if (more) *more = 0;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strncmp(place, ours[i], strlen(ours[i])) == 0) return false;
    }
    const char *line = strrchr(place, ':');
    return line && line > place && line[1] >= '1' && line[1] <= '9';
}

static void tell_call(line_answer *from, bool is_merged) {
    if (!from->has_call) return;
    KOLK_ASSERT(from->told > 0);
    from->has_call = false;
    from->calls->at = from->first + from->told - 1;
    from->in->site = (uintptr_t)from->stack[from->told - 1];
    site_call call = {.function = from->function, .place = from->place, .is_merged = is_merged};
    kolk_site_add_call(from->calls, from->in, &call);
}

static void read_answered_line(line_answer *from) {
    bool is_whole = from->length + 1 < sizeof from->line;
    from->line[from->length] = 0;
    if (from->wants_place) {
        bool known = is_whole && is_place(from->line);
        memcpy(from->place, known ? from->line : "", known ? from->length + 1 : 1);
        from->wants_place = false;
        from->has_call = true;
    } else if (strncmp(from->line, "0x", 2) == 0) {
        tell_call(from, false);
        from->told++;
    } else if (from->told) {
        tell_call(from, true);
        memcpy(from->function, from->line, from->length + 1);
        from->wants_place = true;
    }
}

static void read_answer(line_answer *from, char next) {
    if (from->told > from->count) return; /* more than was asked for */
    if (next == '\n') {
        read_answered_line(from);
        from->length = 0;
    } else if (next == '/' && from->wants_place) {
        from->length = 0;
    } else if (from->length + 1 < sizeof from->line) {
        from->line[from->length++] = next;
    }
}

/* The environment for addr2line: without the variables that would put it under this program's tool, or that kolk reads.
 * NULL: no memory. */
static char **copy_environment(size_t *size) {
    size_t count = 0;
    while (environ && environ[count]) count++;
    *size = (count + 1) * sizeof *environ;
    char **copy = (char **)kolk_memory_take(*size, *size);
    if (!copy) return NULL;
    char **next = copy; /* its memory reads as 0, so the end is there already */
    for (size_t i = 0; i < count && environ[i]; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0 && strncmp(environ[i], "KOLK_", 5) != 0) *next++ = environ[i];
    return copy;
}

static bool is_program(const char *path) {
    struct stat found;
    if (stat(path, &found) != 0) return false;
    kolk_tools_wrote(&found, sizeof found); /* MemorySanitizer of clang 14 doesn't know stat of glibc 2.33 and newer */
    return S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

/* Looks in those folders of PATH that begin with a slash. */
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
    return (kolk_site_is_by_clang(in) && find_program("llvm-addr2line", path, size)) ||
           find_program("addr2line", path, size);
}

/* Starts addr2line with its output into a pipe; its process, or -1. */
static pid_t start_addr2line(char *path, const line_answer *to, int writer) {
    char name[PATH_MAX], options[] = "-afi", of[] = "-e";
    char digits[KOLK_STACK_ROOM(KOLK_STACK_MOST)][2 * sizeof(uintptr_t) + 3];
    char *arguments[4 + KOLK_STACK_ROOM(KOLK_STACK_MOST) + 1] = {name, options, of, path};
    KOLK_ASSERT(to->count <= KOLK_STACK_ROOM(KOLK_STACK_MOST));
    for (size_t i = 0; i < to->count; i++) {
        snprintf(digits[i], sizeof digits[i], "0x%" PRIxPTR, (uintptr_t)to->stack[i] - 1 - to->in->base);
        arguments[4 + i] = digits[i];
    }
    size_t size;
    char **environment = find_addr2line(to->in, name, sizeof name) ? copy_environment(&size) : NULL;
    if (!environment) return -1;
    pid_t process = -1;
    posix_spawn_file_actions_t files;
    if (posix_spawn_file_actions_init(&files) == 0) {
        if (posix_spawn_file_actions_adddup2(&files, writer, STDOUT_FILENO) != 0 ||
            posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) != 0 ||
            posix_spawn(&process, name, &files, NULL, arguments, environment) != 0)
            process = -1;
        posix_spawn_file_actions_destroy(&files);
    }
    kolk_memory_release(environment, size);
    return process;
}

static bool leads_to(const char *path, int file) {
    struct stat there, here;
    if (stat(path, &there) != 0 || fstat(file, &here) != 0) return false;
    kolk_tools_wrote(&there, sizeof there); /* as in is_program */
    kolk_tools_wrote(&here, sizeof here);
    return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

size_t kolk_site_add_places(site_calls *calls, site_module *in, const void *const *stack, size_t count) {
    KOLK_ASSERT(in->file >= 0);
    int ends[2];
    if (count > KOLK_STACK_ROOM(KOLK_STACK_MOST)) count = KOLK_STACK_ROOM(KOLK_STACK_MOST);
    line_answer from = {.calls = calls, .in = in, .stack = stack, .first = calls->at, .count = count};
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    /* Beside the path, addr2line may find debug information in a file of its own. */
    char handle[64];
    snprintf(handle, sizeof handle, "/proc/%ld/fd/%d", (long)getpid(), in->file);
    pid_t process = start_addr2line(leads_to(in->path, in->file) ? in->path : handle, &from, ends[1]);
    close(ends[1]);
    char some[256];
    ssize_t bytes;
    while ((bytes = read(ends[0], some, sizeof some)) > 0 || (bytes < 0 && errno == EINTR))
        for (ssize_t i = 0; i < bytes; i++) read_answer(&from, some[i]);
    close(ends[0]);
    /* A program that ignores SIGCHLD has no status to give: ECHILD then says that the process has ended. */
    while (process > 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR) continue;
    bool is_whole = from.has_call;
    tell_call(&from, false);
    return from.told - (from.told && !is_whole);
}

#endif
