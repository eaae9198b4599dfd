/* sites.c: an address of code in words.
 *
 *     site 0x55d0c1a2f1f3    a return address
 *      |  dl_iterate_phdr    the module whose memory it is in, and where that begins
 *     module + 0x11f3        the address in the module's file
 *      |  .symtab            the function that it is in
 *     on_hit + 0x2c
 *      |  addr2line          the place in the source
 *     on_hit+0x2c (collide.c:63)
 *
 * A return address points behind its call, which may be the last instruction of a function or a line: function and
 * place are those of the byte before it.
 *
 * dladdr would know exported functions only, and those of a program only if it was linked with -rdynamic. So the
 * symbols are read from the file, piece by piece, by pread: nothing is mapped or allocated, and what a damaged file
 * says is only used as an offset for the next pread, which fails where there is nothing. A file may be rebuilt while it
 * is in use. Its program headers and notes, which are in memory too, tell whether it is the one that was loaded. The
 * program's own file can be opened even after it was replaced.
 *
 * Places come from addr2line. With -i it lists the functions that the compiler has merged at the address, the innermost
 * first, which is often one of pool.inl. The last place is in the function that the symbol names. It is the addr2line
 * that PATH leads to, so that users get that of their toolchain. Relative folders of PATH are skipped: they
 * are wherever the program happens to be. A program with more rights than its user runs none, since that user chooses
 * PATH.
 *
 * Beside the files of src/os it is the only one that knows the operating system: Linux. Elsewhere an address is all
 * there is. */
#include "../os/system.h"

#include "kolk/base.h"

#include "../os/cancel.h"
#include "../os/environment.h"
#include "../os/memory.h"
#include "tools.h"

#if __STDC_HOSTED__ && !defined(_WIN32)

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The caller's text: cut where it is full. */
typedef struct site_text {
    char *text;
    size_t size, length;
} site_text;

static void add_text(site_text *out, const char *bytes, size_t length) {
    size_t room = out->size - 1 - out->length;
    if (length > room) length = room;
    memcpy(out->text + out->length, bytes, length);
    out->length += length;
    out->text[out->length] = 0;
}

static void add_hex(site_text *out, const char *before, uintptr_t number) {
    char text[2 * sizeof number + 4];
    add_text(out, text, (size_t)snprintf(text, sizeof text, "%s0x%" PRIxPTR, before, number));
}

#endif

#if __STDC_HOSTED__ && defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "/proc/self/exe"

/* ---- The module -------------------------------------------------------------------------------------------------- */

typedef struct site_module {
    uintptr_t site;      /* what is looked for */
    uintptr_t base;      /* site - base is its address in the file */
    int file;            /* open for reading; -1 if it can't be found or opened */
    char path[PATH_MAX]; /* as the loader calls it; "" if the site is in no module, or one without a name */
} site_module;

static bool read_file_at(int file, uint64_t offset, void *bytes, size_t size) {
    return pread(file, bytes, size, (off_t)offset) == (ssize_t)size;
}

static bool is_in_module(const struct dl_phdr_info *loaded, uintptr_t address) {
    for (size_t i = 0; i < loaded->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &loaded->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - loaded->dlpi_addr - part->p_vaddr < part->p_memsz) return true;
    }
    return false;
}

/* A note, such as the build ID, as far as it fits. */
static bool has_note(int file, const struct dl_phdr_info *loaded, const ElfW(Phdr) * part) {
    char note[128];
    size_t size = part->p_filesz < sizeof note ? (size_t)part->p_filesz : sizeof note;
    uintptr_t start = loaded->dlpi_addr + part->p_vaddr;
    return !is_in_module(loaded, start) || !is_in_module(loaded, start + size - 1) ||
           (read_file_at(file, part->p_offset, note, size) && memcmp(note, (const void *)start, size) == 0);
}

/* Is this the file that was loaded? Then it also has our class and byte order. */
static bool is_file_of(int file, const struct dl_phdr_info *loaded) {
    ElfW(Ehdr) header;
    if (!read_file_at(file, 0, &header, sizeof header) || header.e_phnum != loaded->dlpi_phnum) return false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) part;
        if (!read_file_at(file, header.e_phoff + (uint64_t)i * sizeof part, &part, sizeof part)) return false;
        if (memcmp(&part, &loaded->dlpi_phdr[i], sizeof part) != 0) return false;
        if (part.p_type == PT_NOTE && !has_note(file, loaded, &part)) return false;
    }
    return true;
}

static int open_file_of(const struct dl_phdr_info *loaded, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || is_file_of(file, loaded)) return file;
    close(file);
    return -1;
}

/* For the program itself, C libraries give "", its first argument, or PROGRAM, which addr2line would take for
 * itself. */
static const char *module_name_of(const struct dl_phdr_info *loaded) {
    if ((uintptr_t)loaded->dlpi_phdr != getauxval(AT_PHDR)) return loaded->dlpi_name;
    const char *name = (const char *)getauxval(AT_EXECFN);
    return name ? name : "";
}

/* The file is opened here, since the module may be unloaded as soon as this returns. */
static int find_module(struct dl_phdr_info *loaded, size_t size, void *context) {
    (void)size;
    site_module *in = (site_module *)context;
    if (!is_in_module(loaded, in->site - 1)) return 0;
    in->base = loaded->dlpi_addr;
    snprintf(in->path, sizeof in->path, "%s", module_name_of(loaded));
    in->file = open_file_of(loaded, PROGRAM);
    if (in->file < 0) in->file = open_file_of(loaded, in->path);
    return 1;
}

static void add_module_name(site_text *out, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    add_text(out, name, strlen(name));
}

/* ---- The function ------------------------------------------------------------------------------------------------ */

typedef struct symbol_search {
    int file;
    ElfW(Ehdr) header;
    ElfW(Addr) address;
    ElfW(Shdr) symbols;
    ElfW(Shdr) names;
    ElfW(Sym) best;     /* st_name 0: none yet */
    ElfW(Addr) nearest; /* start of the last function before the address, whether it reaches it or not */
} symbol_search;

static bool read_section(const symbol_search *in, size_t index, ElfW(Shdr) * section) {
    return index < in->header.e_shnum &&
           read_file_at(in->file, in->header.e_shoff + (uint64_t)index * sizeof *section, section, sizeof *section);
}

static bool find_section(const symbol_search *in, unsigned type, ElfW(Shdr) * section) {
    for (size_t i = 0; read_section(in, i, section); i++)
        if (section->sh_type == type) return true;
    return false;
}

/* A stripped file has the exported functions only. */
static bool find_symbols(symbol_search *in) {
    return (find_section(in, SHT_SYMTAB, &in->symbols) || find_section(in, SHT_DYNSYM, &in->symbols)) &&
           read_section(in, in->symbols.sh_link, &in->names);
}

static unsigned binding_of(const ElfW(Sym) * symbol) {
    return symbol->st_info >> 4;
}

/* Assemblers give neither type nor size unless they are told to. A global symbol without a type may be a function; a
 * local one is a label. */
static bool may_be_function(const ElfW(Sym) * symbol) {
    unsigned type = symbol->st_info & 15;
    if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name) return false;
    return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && binding_of(symbol) != STB_LOCAL);
}

/* Of several names for one function, the nicest is one that is not reserved, then a global one. (Linkers make hidden
 * ones local.) */
static int niceness(const symbol_search *in, const ElfW(Sym) * symbol) {
    char first = '_';
    read_file_at(in->file, in->names.sh_offset + (uint64_t)symbol->st_name, &first, 1);
    return (first != '_' ? 2 : 0) + (binding_of(symbol) != STB_LOCAL ? 1 : 0);
}

static bool is_better(const symbol_search *in, const ElfW(Sym) * symbol, const ElfW(Sym) * best) {
    if (!best->st_name) return true;
    if (!symbol->st_size != !best->st_size) return symbol->st_size != 0;
    if (symbol->st_value != best->st_value) return symbol->st_value > best->st_value;
    return niceness(in, symbol) > niceness(in, best);
}

static void consider_symbol(symbol_search *in, const ElfW(Sym) * symbol) {
    if (!may_be_function(symbol) || symbol->st_value > in->address) return;
    if (symbol->st_value > in->nearest) in->nearest = symbol->st_value;
    if (symbol->st_size && in->address - symbol->st_value >= symbol->st_size) return;
    if (is_better(in, symbol, &in->best)) in->best = *symbol;
}

/* A symbol without a size reaches to the next function, or to the end of its section, which must hold code. */
static bool symbol_reaches(const symbol_search *in, const ElfW(Sym) * symbol) {
    if (symbol->st_size) return true;
    ElfW(Shdr) section;
    return symbol->st_value == in->nearest && read_section(in, symbol->st_shndx, &section) &&
           (section.sh_flags & SHF_EXECINSTR) && in->address - section.sh_addr < section.sh_size;
}

static bool find_function(symbol_search *in) {
    if (!read_file_at(in->file, 0, &in->header, sizeof in->header) || !find_symbols(in)) return false;
    ElfW(Sym) some[64];
    uint64_t count = in->symbols.sh_size / sizeof *some;
    for (uint64_t i = 0; i < count; i += sizeof some / sizeof *some) {
        ssize_t bytes = pread(in->file, some, sizeof some, (off_t)(in->symbols.sh_offset + i * sizeof *some));
        if (bytes <= 0) break;
        for (size_t k = 0; k < (size_t)bytes / sizeof *some && i + k < count; k++) consider_symbol(in, &some[k]);
    }
    return in->best.st_name && symbol_reaches(in, &in->best);
}

/* "on_hit+0x2c". False, and nothing is added: the address is in no function with a name. */
static bool add_function(site_text *out, const site_module *in) {
    symbol_search of = {.file = in->file, .address = in->site - 1 - in->base};
    if (!find_function(&of)) return false;
    size_t start = out->length;
    uint64_t at = of.names.sh_offset + (uint64_t)of.best.st_name;
    for (size_t length = 1; length && out->length + 1 < out->size; at += length) {
        char part[64];
        ssize_t bytes = pread(in->file, part, sizeof part, (off_t)at);
        length = bytes > 0 ? strnlen(part, (size_t)bytes) : 0;
        add_text(out, part, length);
    }
    if (out->length == start) return false;
    add_hex(out, "+", in->site - in->base - of.best.st_value);
    return true;
}

/* ---- The place --------------------------------------------------------------------------------------------------- */

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

/* " (collide.c:63)", or nothing. */
static void add_place(site_text *out, site_module *in) {
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

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static void add_site(site_text *out, const void *site, bool lines) {
    site_module in = {.site = (uintptr_t)site, .file = -1};
    dl_iterate_phdr(find_module, &in);
    if (in.file < 0 || !add_function(out, &in)) {
        add_module_name(out, in.path);
        add_hex(out, *in.path ? "+" : "", *in.path ? in.site - in.base : in.site);
    }
    if (in.file < 0) return;
    if (lines && !kolk_has_more_rights()) add_place(out, &in);
    close(in.file);
}

#elif __STDC_HOSTED__ && !defined(_WIN32)

static void add_site(site_text *out, const void *site, bool lines) {
    (void)lines;
    add_hex(out, "", (uintptr_t)site);
}

#endif

const char *kolk_site_text(const void *site, bool lines, char *text, size_t size) {
    if (size == 0) return text;
    text[0] = 0;
#if __STDC_HOSTED__ && !defined(_WIN32)
    site_text out = {text, size, 0};
    int cancel = kolk_cancel_off();
    kolk_tools_begin_libc();
    if (site) add_site(&out, site, lines);
    kolk_tools_end_libc();
    kolk_cancel_restore(cancel);
    kolk_tools_wrote(text, out.length + 1);
#else
    (void)site, (void)lines;
#endif
    return text;
}
