/* runs: not:wine wraps: dl_iterate_phdr */
/* kolk_site_text on modules made by the test, with arbitrary symbols and damaged files. */
#include "site_test.h"

#include <link.h>

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

static struct dl_phdr_info *made_up; /* given to the library instead of the real modules */

int __real_dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *context);
int __wrap_dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *context);

int __wrap_dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *context) {
    return made_up ? each(made_up, sizeof *made_up, context) : __real_dl_iterate_phdr(each, context);
}

#define MODULE "it's $a \"module\"" /* its name */

enum { NO_SECTION, TEXT, DATA, SYMBOLS, NAMES, SECTIONS };
#define TEXT_START ((ElfW(Addr))0x1000)
#define TEXT_SIZE  0x1000

typedef struct label {
    const char *name;
    uintptr_t start;
    size_t size;
    unsigned char type, binding;
    uint16_t section;
} label;

/* An ELF file with program headers, a note, a table of symbols and their names, and empty sections for code and
 * data. */
typedef struct image {
    ElfW(Ehdr) header;
    ElfW(Phdr) parts[2];
    char note[200];
    ElfW(Shdr) sections[SECTIONS];
    ElfW(Sym) symbols[200];
    char names[8000];
} image;

static void set_note(image *made, const char *day) {
    snprintf(made->note, sizeof made->note, "built on a %s", day);
}

static void make_image(image *made, uint32_t table_type, const label *labels, size_t count) {
    memset(made, 0, sizeof *made);
    memcpy(made->header.e_ident, ELFMAG, SELFMAG);
    made->header.e_phoff = offsetof(image, parts);
    made->header.e_phentsize = sizeof *made->parts;
    made->header.e_phnum = LENGTH_OF(made->parts);
    made->header.e_shoff = offsetof(image, sections);
    made->header.e_shentsize = sizeof *made->sections;
    made->header.e_shnum = SECTIONS;
    made->parts[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_memsz = 0x10000};
    made->parts[1] = (ElfW(Phdr)){.p_type = PT_NOTE,
                                  .p_offset = offsetof(image, note),
                                  .p_vaddr = offsetof(image, note),
                                  .p_filesz = sizeof made->note,
                                  .p_memsz = sizeof made->note};
    set_note(made, "Monday");
    made->sections[TEXT] = (ElfW(Shdr)){.sh_flags = SHF_EXECINSTR, .sh_addr = TEXT_START, .sh_size = TEXT_SIZE};
    made->sections[DATA] = (ElfW(Shdr)){.sh_flags = SHF_WRITE, .sh_addr = TEXT_START + TEXT_SIZE, .sh_size = 0x100};
    made->sections[SYMBOLS] = (ElfW(Shdr)){.sh_type = table_type,
                                           .sh_link = NAMES,
                                           .sh_offset = offsetof(image, symbols),
                                           .sh_size = (count + 1) * sizeof *made->symbols};
    made->sections[NAMES] =
        (ElfW(Shdr)){.sh_type = SHT_STRTAB, .sh_offset = offsetof(image, names), .sh_size = sizeof made->names};
    uint32_t end = 1;
    assert_true(count < LENGTH_OF(made->symbols));
    for (size_t i = 0; i < count; i++) {
        made->symbols[i + 1] = (ElfW(Sym)){.st_name = end,
                                           .st_value = (ElfW(Addr))labels[i].start,
                                           .st_size = labels[i].size,
                                           .st_info = (unsigned char)(labels[i].binding << 4 | labels[i].type),
                                           .st_shndx = labels[i].section};
        end += (uint32_t)snprintf(made->names + end, sizeof made->names - end, "%s", labels[i].name) + 1;
        assert_true(end < sizeof made->names);
    }
}

static struct dl_phdr_info module_of(const image *loaded, const char *path) {
    return (struct dl_phdr_info){.dlpi_addr = (ElfW(Addr))(uintptr_t)loaded,
                                 .dlpi_name = path,
                                 .dlpi_phdr = loaded->parts,
                                 .dlpi_phnum = loaded->header.e_phnum};
}

/* The text for address `at` of the loaded module, whose file now holds `bytes`. */
static const char *words_in(const image *loaded, const void *bytes, size_t size, uintptr_t at, bool lines) {
    static char text[1000];
    char path[200];
    snprintf(path, sizeof path, "%s", in_folder(MODULE));
    if (bytes) write_file(path, bytes, size, 0600);
    struct dl_phdr_info info = module_of(loaded, path);
    made_up = &info;
    kolk_site_text((const char *)loaded + at, lines, text, sizeof text);
    made_up = NULL;
    unlink(path);
    return text;
}

static const char *function_at(const image *made, uintptr_t at) {
    return words_in(made, made, sizeof *made, at, false);
}

static const label one[] = {{"fire", TEXT_START, 0x100, STT_FUNC, STB_GLOBAL, TEXT}};

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void test_choice_of_a_symbol(void **state) {
    static const label labels[] = {
        {"sized", 0x1000, 0x40, STT_FUNC, STB_LOCAL, TEXT},
        {"inner", 0x1010, 0x10, STT_FUNC, STB_LOCAL, TEXT},
        {"label_in_sized", 0x1034, 0, STT_FUNC, STB_GLOBAL, TEXT},
        {"", 0x1028, 4, STT_FUNC, STB_GLOBAL, TEXT},
        {"known", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, TEXT},
        {"alias", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, TEXT},
        /* compilers' clones */
        {"fire.cold", 0x1200, 0x10, STT_FUNC, STB_LOCAL, TEXT},
        {"fire.part.0", 0x1210, 0x10, STT_FUNC, STB_LOCAL, TEXT},
        {"resolved", 0x1220, 0x10, STT_GNU_IFUNC, STB_GLOBAL, TEXT},
        /* not functions here */
        {"data", 0x1300, 0x10, STT_OBJECT, STB_GLOBAL, TEXT},
        {"local_label", 0x1300, 0x10, STT_NOTYPE, STB_LOCAL, TEXT},
        {"elsewhere", 0x1300, 0x10, STT_FUNC, STB_GLOBAL, SHN_UNDEF},
    };
    static const struct {
        uintptr_t at;
        const char *words;
    } expected[] = {
        /* clang-format off */
        {0x1001, "sized+0x1"},
        {0x1010, "sized+0x10"}, /* a call that ends just before `inner` */
        {0x1011, "inner+0x1"},
        {0x1020, "inner+0x10"},
        {0x1021, "sized+0x21"},
        {0x1029, "sized+0x29"},
        {0x1038, "sized+0x38"},
        {0x1040, "sized+0x40"},
        {0x1041, "+0x1041"},
        {0x1101, "known+0x1"},
        {0x1201, "fire.cold+0x1"},
        {0x1220, "fire.part.0+0x10"},
        {0x1221, "resolved+0x1"},
        {0x1231, "+0x1231"},
        {0x1301, "+0x1301"},
        {0x800, "+0x800"},
        /* clang-format on */
    };
    image made;
    for (int stripped = 0; stripped < 2; stripped++) {
        make_image(&made, stripped ? SHT_DYNSYM : SHT_SYMTAB, labels, LENGTH_OF(labels));
        made.symbols[4].st_name = 0; /* the one called "" */
        for (size_t i = 0; i < LENGTH_OF(expected); i++) {
            char whole[60];
            const char *module = *expected[i].words == '+' ? MODULE : "";
            snprintf(whole, sizeof whole, "%s%s", module, expected[i].words);
            assert_string_equal(function_at(&made, expected[i].at), whole);
        }
    }
}

/* Long tables and names are read in parts. */
static void test_many_symbols_and_long_names(void **state) {
    label labels[199];
    char names[LENGTH_OF(labels)][12], longest[700], expected[720];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    for (size_t i = 0; i < LENGTH_OF(labels); i++) {
        snprintf(names[i], sizeof *names, "f%zu", i);
        labels[i] = (label){names[i], TEXT_START + 16 * i, 16, STT_FUNC, STB_LOCAL, TEXT};
    }
    image made;
    for (size_t length = 60; length < 70; length++) { /* around the size of a part */
        longest[length] = 0;
        labels[130].name = longest;
        make_image(&made, SHT_SYMTAB, labels, LENGTH_OF(labels));
        for (size_t i = 0; i < LENGTH_OF(labels); i++) {
            snprintf(expected, sizeof expected, "%s+0x3", labels[i].name);
            assert_string_equal(function_at(&made, TEXT_START + 16 * i + 3), expected);
        }
        longest[length] = 'n';
    }
    make_image(&made, SHT_SYMTAB, labels, LENGTH_OF(labels));
    snprintf(expected, sizeof expected, "%s+0x3", longest);
    assert_string_equal(function_at(&made, TEXT_START + 16 * 130 + 3), expected);
    made.sections[SYMBOLS].sh_size -= sizeof *made.symbols; /* the bytes after the table are not a symbol */
    assert_string_equal(function_at(&made, TEXT_START + 16 * 198), "f197+0x10");
    assert_string_equal(function_at(&made, TEXT_START + 16 * 198 + 3), MODULE "+0x1c63");
}

static void test_symbols_before_exported_ones(void **state) {
    image made;
    make_image(&made, SHT_DYNSYM, one, 1);
    made.sections[DATA] = made.sections[SYMBOLS]; /* a second table has the same symbols under other names */
    made.sections[DATA].sh_type = SHT_SYMTAB;
    made.sections[DATA].sh_link = NO_SECTION;
    made.sections[NO_SECTION] = made.sections[NAMES];
    made.sections[NO_SECTION].sh_offset += 1; /* "ire" */
    for (int i = 0; i < 2; i++) {
        assert_string_equal(function_at(&made, TEXT_START + 1), "ire+0x1");
        ElfW(Shdr) other = made.sections[DATA]; /* tries both orders of the tables */
        made.sections[DATA] = made.sections[SYMBOLS];
        made.sections[SYMBOLS] = other;
    }
}

/* A module that was rebuilt or deleted while the program runs, and a module without a name that is not the program. */
static void test_another_file(void **state) {
    image made, rebuilt;
    make_image(&made, SHT_SYMTAB, one, 1);
    assert_string_equal(function_at(&made, TEXT_START + 1), "fire+0x1");
    const char *short_form = MODULE "+0x1001";
    make_addr2line("#!/bin/sh\necho wrong.c:1\n"); /* must not be called */
    rebuilt = made;
    rebuilt.parts[0].p_memsz += 16;
    assert_string_equal(words_in(&made, &rebuilt, sizeof rebuilt, TEXT_START + 1, true), short_form);
    rebuilt = made;
    set_note(&rebuilt, "Friday");
    assert_string_equal(words_in(&made, &rebuilt, sizeof rebuilt, TEXT_START + 1, true), short_form);
    rebuilt = made;
    rebuilt.header.e_phnum = 1;
    assert_string_equal(words_in(&made, &rebuilt, sizeof rebuilt, TEXT_START + 1, true), short_form);
    assert_string_equal(words_in(&made, &made, offsetof(image, note), TEXT_START + 1, true), short_form);
    assert_string_equal(words_in(&made, "", 0, TEXT_START + 1, true), short_form);
    assert_string_equal(words_in(&made, NULL, 0, TEXT_START + 1, true), short_form);

    struct dl_phdr_info nameless = module_of(&made, "");
    char expected[40], text[100];
    snprintf(expected, sizeof expected, "0x%" PRIxPTR, (uintptr_t)&made + 1);
    made_up = &nameless;
    kolk_site_text((const char *)&made + 1, true, text, sizeof text);
    made_up = NULL;
    assert_string_equal(text, expected);
    take_addr2line_back();
}

/* Return addresses whose calls would lie before the first byte of the module, or after the last one. */
static void test_edges_of_a_module(void **state) {
    image made;
    make_image(&made, SHT_SYMTAB, one, 1);
    for (uintptr_t at = 0; at <= 0x10001; at += 0x10001) {
        char expected[40];
        snprintf(expected, sizeof expected, "0x%" PRIxPTR, (uintptr_t)&made + at);
        assert_string_equal(function_at(&made, at), expected);
    }
    assert_string_equal(function_at(&made, 1), MODULE "+0x1");
    assert_string_equal(function_at(&made, 0x10000), MODULE "+0x10000");
}

/* Notes that are not loaded can't be compared. */
static void test_notes_that_are_not_loaded(void **state) {
    image made, file;
    make_image(&made, SHT_SYMTAB, one, 1);
    for (int i = 0; i < 4; i++) {
        file = made;
        if (i == 0) made.parts[1].p_filesz = 0;
        if (i == 1) made.parts[1].p_vaddr = 0x10000; /* after the part that is loaded */
        if (i == 2) made.parts[1].p_vaddr = 0x10000 - 100;
        if (i == 3) made.parts[1].p_vaddr = (ElfW(Addr))0 - 50;
        memcpy(file.parts, made.parts, sizeof file.parts);
        set_note(&file, "Friday");
        assert_string_equal(words_in(&made, &file, sizeof file, TEXT_START + 1, false), "fire+0x1");
        made.parts[1].p_filesz = sizeof made.note;
    }
}

/* Files with arbitrary bytes after the program headers, and files that end anywhere. */
static void test_damaged_files(void **state) {
    uint64_t seed = number_from_environment("KOLK_SEED", 7), random = seed;
    print_message("KOLK_SEED=%" PRIu64 "\n", seed);
    image made, damaged;
    make_image(&made, SHT_SYMTAB, one, 1);
    for (unsigned round = 0; round < 3000; round++) {
        damaged = made;
        size_t headers = sizeof made - sizeof made.symbols - sizeof made.names;
        for (uint32_t n = 1 + random_below(&random, 3); n; n--)
            fill_random(&random, (char *)&damaged + random_below(&random, (uint32_t)headers + 48), 1 + n % 2 * 7);
        size_t size = round % 3 ? sizeof damaged : random_below(&random, sizeof damaged);
        assert_non_null(strstr(words_in(&made, &damaged, size, TEXT_START + 1, false), "+0x"));
    }
    ElfW(Sym) *symbol = &made.symbols[1];
    made.header.e_shnum = 0;
    assert_string_equal(function_at(&made, TEXT_START + 1), MODULE "+0x1001");
    made.header.e_shnum = SECTIONS;
    symbol->st_name = UINT32_MAX; /* a name outside the file counts as none */
    assert_string_equal(function_at(&made, TEXT_START + 1), MODULE "+0x1001");
    symbol->st_name = sizeof made.names - 5; /* a name at the end of the file is cut off */
    memset(made.names + symbol->st_name, 'z', 5);
    assert_string_equal(function_at(&made, TEXT_START + 1), "zzzzz+0x1");
}

/* addr2line gets the address of the call, and the path as one argument, whatever the path contains. Its error messages
 * are not printed, and it inherits only its end of the pipe. */
static void test_how_addr2line_is_called(void **state) {
    static const char script[] =
        "#!/bin/sh\n"
        "files=$(ls -l /proc/$$/fd)\n"
        "[ $# = 4 ] && [ \"$1 $2 $4\" = '-afi -e 0x100f' ] && "
        "[ \"${3##*/}\" = \"it's \\$a \\\"module\\\"\" ] || exit\n"
        "echo noise >&2\n"
        "echo \"$files\" | grep -q -F module || "
        "[ $(echo \"$files\" | grep -c -F \"$(readlink /proc/$$/fd/1)\") != 1 ] || echo '0x1\n??\nfiles.c:1'\n";
    image made;
    make_image(&made, SHT_SYMTAB, one, 1);
    int noise = open(in_folder("noise"), O_RDWR | O_CREAT | O_TRUNC, 0600), old = dup(STDERR_FILENO);
    dup2(noise, STDERR_FILENO);
    make_addr2line(script);
    const char *text = words_in(&made, &made, sizeof made, TEXT_START + 0x10, true);
    take_addr2line_back();
    dup2(old, STDERR_FILENO);
    struct stat status;
    assert_int_equal(fstat(noise, &status), 0);
    close(noise), close(old);
    unlink(in_folder("noise"));
    assert_string_equal(text, "fire+0x10 (files.c:1)");
    assert_int_equal(status.st_size, 0);
}

/* Finds the first module, and copies its headers, so that the library does not recognise the program by them. */
static int copy_first(struct dl_phdr_info *loaded, size_t size, void *copy) {
    static ElfW(Phdr) parts[40];
    assert_true(loaded->dlpi_phnum <= LENGTH_OF(parts));
    memcpy(parts, loaded->dlpi_phdr, loaded->dlpi_phnum * sizeof *parts);
    *(struct dl_phdr_info *)copy = *loaded;
    ((struct dl_phdr_info *)copy)->dlpi_phdr = parts;
    return 1;
}

/* If the program's name leads nowhere or to another file, kolk passes the program itself to addr2line. */
static void test_program_that_was_replaced(void **state) {
    skip_if_emulated();
    static const char *const names[] = {"/nowhere/gone", "/bin/sh"};
    for (size_t i = 0; i < LENGTH_OF(names); i++) {
        struct dl_phdr_info program;
        char text[100];
        __real_dl_iterate_phdr(copy_first, &program);
        program.dlpi_name = names[i];
        make_addr2line("#!/bin/sh\ncase $3 in /proc/*/fd/*) cmp \"$3\" /proc/$PPID/exe && echo 0x1 && echo fire && "
                       "echo same.c:1 ;; esac\n");
        made_up = &program;
        kolk_site_text((const void *)((uintptr_t)copy_first + 1), true, text, sizeof text);
        made_up = NULL;
        take_addr2line_back();
        assert_string_equal(text, "copy_first+0x1 (same.c:1)");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice_of_a_symbol),
        cmocka_unit_test(test_many_symbols_and_long_names),
        cmocka_unit_test(test_symbols_before_exported_ones),
        cmocka_unit_test(test_another_file),
        cmocka_unit_test(test_edges_of_a_module),
        cmocka_unit_test(test_notes_that_are_not_loaded),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_how_addr2line_is_called),
        cmocka_unit_test(test_program_that_was_replaced),
        cmocka_unit_test(test_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
