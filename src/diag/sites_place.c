/* sites_place.c: the place in the source that an address of code comes from.
 *
 * Places come from addr2line. With -i it lists the functions that the compiler has merged at the address, the innermost
 * first, which is often one of pool.inl. The last place is in the function that the symbol names. It is the addr2line
 * that PATH leads to, so that users get that of their toolchain. Relative folders of PATH are skipped: they are
 * wherever the program happens to be. A program with more rights than its user runs none, since that user chooses
 * PATH. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_DIAGNOSTICS && defined(__linux__)

#include "../os/memory.h"
#include "sites_inside.h"
#include "../core/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* What addr2line prints: the line that is being read, or was read last, without the directories. */
typedef struct source_place {
    char text[256];
    size_t length;
    bool ended;
} source_place;

static void read_place(source_place *last, char next) {
    if (last->ended || next == '/') last->length = 0;
    last->ended = next == '\n';
    if (!last->ended && next != '/' && last->length + 1 < sizeof last->text) last->text[last->length++] = next;
    last->text[last->length] = 0;
}

/* "collide.c:63 (discriminator 2)" becomes "collide.c:63"; "??:0", "??:?" and "collide.c:?" are no place. Nor is a line
 * of an .inl of ours: addr2line could not tell what it was merged into (binutils 2.40, and DWARF 5 from clang -O2). */
static bool is_place(source_place *last) {
    static const char *const ours[] = {"bytemap.inl:", "pool.inl:", "shared.inl:", "slotmap.inl:"};
    char *more = strstr(last->text, " (discriminator ");
    if (more) *more = 0;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strncmp(last->text, ours[i], strlen(ours[i])) == 0) return false;
    }
    const char *line = strrchr(last->text, ':');
    return last->ended && line && line > last->text && line[1] >= '1' && line[1] <= '9';
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
static bool find_addr2line(char *path, size_t size) {
    const char *folder = getenv("PATH"), *end;
    for (folder = folder ? folder : "/usr/bin"; folder; folder = *end ? end + 1 : NULL) {
        end = strchrnul(folder, ':');
        size_t length = (size_t)(end - folder);
        if (*folder != '/' || length + sizeof "/addr2line" > size) continue;
        snprintf(path, size, "%.*s/addr2line", (int)length, folder);
        if (is_program(path)) return true;
    }
    return false;
}

/* Starts addr2line with its output into a pipe; its process, or -1. */
static pid_t start_addr2line(char *path, uintptr_t address, int writer) {
    char name[PATH_MAX], merged[] = "-i", of[] = "-e", digits[2 * sizeof address + 3];
    snprintf(digits, sizeof digits, "0x%" PRIxPTR, address);
    char *arguments[] = {name, merged, of, path, digits, NULL};
    size_t size;
    char **environment = find_addr2line(name, sizeof name) ? copy_environment(&size) : NULL;
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

void kolk_site_add_place(site_text *out, site_module *in) {
    KOLK_ASSERT(in->file >= 0);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    /* Beside the path, addr2line may find debug information in a file of its own. */
    char handle[64];
    snprintf(handle, sizeof handle, "/proc/%ld/fd/%d", (long)getpid(), in->file);
    pid_t process = start_addr2line(leads_to(in->path, in->file) ? in->path : handle, in->site - 1 - in->base, ends[1]);
    close(ends[1]);
    source_place last = {.length = 0};
    char some[256];
    ssize_t bytes;
    while ((bytes = read(ends[0], some, sizeof some)) > 0 || (bytes < 0 && errno == EINTR))
        for (ssize_t i = 0; i < bytes; i++) read_place(&last, some[i]);
    close(ends[0]);
    /* A program that ignores SIGCHLD has no status to give: ECHILD then says that the process has ended. */
    while (process > 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR) continue;
    if (!is_place(&last)) return;
    add_text(out, " (", 2);
    add_text(out, last.text, strlen(last.text));
    add_text(out, ")", 1);
}

#endif
