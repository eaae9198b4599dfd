/* preload.c: see preload.h. */
#define _GNU_SOURCE
#include "preload.h"
#include "context.h"
#include "print.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef KOLK_LIBDIR /* CMake defines it as the folder where libraries are installed */
#define KOLK_LIBDIR          "/usr/local/lib"
#define KOLK_LIBDIR_FROM_BIN "../lib"
#endif

/* Stores the file's path in `path` if the file exists. */
static bool is_library(char *path, const char *folder, const char *more, const char *name) {
    if (snprintf(path, PATH_MAX, "%s%s/%s", folder, more, name) >= PATH_MAX) return false;
    return access(path, R_OK) == 0;
}

/* Searches beside the command, as in a build directory. Then searches where the library is installed, first relative to
 * the command and then by the absolute path. Without /proc only the latter is known. */
static bool find_library(char *path, const char *name) {
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length < 0) length = 0;
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = 0;
        if (is_library(path, folder, "", name)) return true;
        if (is_library(path, folder, "/" KOLK_LIBDIR_FROM_BIN, name)) return true;
    }
    return is_library(path, KOLK_LIBDIR, "", name);
}

/* ld.so splits LD_PRELOAD at spaces and colons, so a path must not contain any. */
int preload_library(const char *name) {
    char library[PATH_MAX], list[2 * PATH_MAX];
    const char *others = getenv("LD_PRELOAD");
    if (!find_library(library, name))
        return cli_fail(CLI_UNREADABLE, "%s is neither beside this command nor in %s", name, KOLK_LIBDIR);
    if (strpbrk(library, " :"))
        return cli_fail(CLI_FAILED, "%s: cannot be preloaded, as there is a space or a colon in its path", library);
    int length = snprintf(list, sizeof list, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    if (length >= (int)sizeof list || setenv("LD_PRELOAD", list, 1) != 0)
        return cli_fail(CLI_FAILED, "LD_PRELOAD is too long to add %s to it", library);
    return CLI_OK;
}

/* ---- Programs that no library serves ----------------------------------------------------------------------------- */

/* A file in memory. Its contents are not trusted. */
struct image {
    const char *bytes;
    size_t size;
};

/* Returns `count` objects of `size` bytes at this offset, or NULL if they are not all in the file or not aligned. */
static const void *part_of(const struct image *image, uint64_t at, uint64_t count, size_t size, size_t align) {
    if (at > image->size || count > (image->size - at) / size || at % align != 0) return NULL;
    return image->bytes + at;
}

#define PART(image, at, count, type) ((const type *)part_of(image, at, count, sizeof(type), _Alignof(type)))

/* Does the file define malloc for all of the process? Then malloc of a library that is preloaded is never called. */
static bool defines_malloc(const struct image *image, const Elf64_Ehdr *head) {
    const Elf64_Shdr *sections = PART(image, head->e_shoff, head->e_shnum, Elf64_Shdr);
    for (size_t n = 0; sections && n < head->e_shnum; n++) {
        if (sections[n].sh_type != SHT_DYNSYM || sections[n].sh_link >= head->e_shnum) continue;
        const Elf64_Shdr *names = &sections[sections[n].sh_link];
        size_t count = sections[n].sh_size / sizeof(Elf64_Sym);
        const Elf64_Sym *symbols = PART(image, sections[n].sh_offset, count, Elf64_Sym);
        for (size_t i = 0; symbols && i < count; i++) {
            const char *name = symbols[i].st_name <= UINT64_MAX - names->sh_offset
                                   ? PART(image, names->sh_offset + symbols[i].st_name, sizeof "malloc", char)
                                   : NULL;
            if (symbols[i].st_shndx != SHN_UNDEF && name && memcmp(name, "malloc", sizeof "malloc") == 0) return true;
        }
    }
    return false;
}

static const char *look_at_program(const struct image *image) {
    const Elf64_Ehdr *head = PART(image, 0, 1, Elf64_Ehdr);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return NULL;
    if (head->e_ident[EI_CLASS] != ELFCLASS64) return "it is a program of 32 bits, and the library has 64";
    const Elf64_Phdr *parts = PART(image, head->e_phoff, head->e_phnum, Elf64_Phdr);
    const char *loader = NULL;
    for (size_t n = 0; parts && n < head->e_phnum; n++)
        if (parts[n].p_type == PT_INTERP) loader = PART(image, parts[n].p_offset, parts[n].p_filesz, char);
    if (!parts) return NULL;
    if (!loader) return "it is linked statically";
    return defines_malloc(image, head) ? "it has a malloc within itself" : NULL;
}

/* Only a process with more rights than its user gets no libraries preloaded. */
static bool has_more_rights(int file, const struct stat *facts) {
    if ((facts->st_mode & S_ISUID) && facts->st_uid != getuid()) return true;
    if ((facts->st_mode & S_ISGID) && facts->st_gid != getgid()) return true;
    return getuid() != 0 && fgetxattr(file, "security.capability", NULL, 0) > 0;
}

/* Stores the interpreter of a script. */
static bool is_script(const struct image *image, char *path) {
    if (image->size < 3 || memcmp(image->bytes, "#!", 2) != 0) return false;
    size_t at = 2, length = 0;
    while (at < image->size && (image->bytes[at] == ' ' || image->bytes[at] == '\t')) at++;
    for (; at < image->size && length < PATH_MAX - 1 && !strchr(" \t\n", image->bytes[at]); at++)
        path[length++] = image->bytes[at];
    path[length] = '\0';
    return length > 0;
}

/* Of a script, looks at the interpreter. That is not a script itself: Linux allows it, but nobody does it. */
static const char *look_at_file(const char *path, bool may_be_script) {
    char interpreter[PATH_MAX];
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return NULL;
    const char *why = NULL;
    bool is_file = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
    void *bytes = is_file ? mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    bool script = false;
    if (bytes != MAP_FAILED) {
        struct image image = {bytes, (size_t)facts.st_size};
        script = may_be_script && is_script(&image, interpreter);
        why = has_more_rights(file, &facts) ? "it has more rights than you" : look_at_program(&image);
        munmap(bytes, image.size);
    }
    close(file);
    return script ? look_at_file(interpreter, false) : why;
}

const char *preload_why_not(const char *program) {
    char path[PATH_MAX];
    const char *folders = getenv("PATH");
    if (strchr(program, '/')) return look_at_file(program, true);
    if (!folders) folders = "/bin:/usr/bin";
    for (;; folders++) {
        size_t length = strcspn(folders, ":");
        int all = snprintf(path, sizeof path, "%.*s%s%s", (int)length, folders, length > 0 ? "/" : "", program);
        if (all < PATH_MAX && access(path, X_OK) == 0) return look_at_file(path, true);
        folders += length;
        if (*folders == '\0') return NULL;
    }
}

int preload_cannot_run(const char *program, int error) {
    int code = error == ENOENT ? PRELOAD_NOT_FOUND : PRELOAD_CANNOT_RUN;
    return cli_fail(code, "%s: cannot be run: %s", program, strerror(error));
}
