/* Mistakes with blocks of many sizes, each in a process of its own, in which it is the first thing that happens.
 * Without arguments it starts these processes, and prints the mistakes that none of the next calls of malloc's family
 * reported, and that no signal ended. `caught MISTAKE SIZE` makes one mistake. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t size;
static unsigned char *volatile block; /* volatile, so that the compiler neither sees a mistake nor leaves out a call */
static char bytes[300000];

/* What the program does next, as printf would: it allocates, and frees. */
static void go_on(void) {
    void *volatile next = malloc(4096);
    free(next);
}

static void write_at(ptrdiff_t at, size_t n) {
    memcpy(block + at, bytes, n);
}

/* Whatever the byte was. */
static void change_at(ptrdiff_t at) {
    block[at] ^= 0x55;
}

/* ---- Beyond a block ---------------------------------------------------------------------------------------------- */

static void byte_behind(void) {
    change_at((ptrdiff_t)size);
}

static void bytes_behind(void) {
    write_at(0, size + 32);
}

static void byte_far_behind(void) {
    change_at((ptrdiff_t)size + 32);
}

static void byte_before(void) {
    change_at(-1);
}

static void bytes_before(void) {
    write_at(-32, size);
}

static void byte_behind_and_free(void) {
    change_at((ptrdiff_t)size);
    free(block);
}

static void byte_before_and_free(void) {
    change_at(-1);
    free(block);
}

static void a_mebibyte_behind(void) {
    block[size + (1 << 20)] = 1;
}

static void a_mebibyte_before(void) {
    block[-(1 << 20)] = 1;
}

/* ---- After the free ---------------------------------------------------------------------------------------------- */

static void write_after_free(void) {
    free(block);
    write_at(0, size);
}

static void byte_after_free(void) {
    free(block);
    change_at((ptrdiff_t)size - 1);
    go_on(); /* the block waits; its place becomes free now */
}

static void double_free(void) {
    free(block);
    free(block);
}

static void double_free_later(void) {
    free(block);
    for (unsigned n = 0; n < 2000; n++) {
        void *volatile next = malloc(size);
        free(next);
    }
    free(block);
}

static void free_of_the_next(void) {
    void *volatile again;
    free(block);
    again = malloc(size);
    free(block);
    free(again);
}

/* ---- Pointers that are no blocks --------------------------------------------------------------------------------- */

static void free_inside(void) {
    free(block + 16);
}

static void free_unaligned(void) {
    free(block + 1);
}

static void free_far_behind(void) {
    free(block + (1 << 30));
}

static void free_a_local(void) {
    char local[64];
    unsigned char *volatile at = (unsigned char *)local;
    free(at);
}

/* ---- What must not happen: the process ends with 0 if it does not ------------------------------------------------ */

static void taken_again(void) {
    unsigned char *volatile before = block;
    free(block);
    block = malloc(size);
    if (block != before) _exit(0);
}

static void taken_again_in_part(void) {
    unsigned char *volatile before = block;
    free(block);
    block = malloc(size / 2);
    if (block != before) _exit(0);
}

static void old_contents(void) {
    memset(block, 'A', size);
    free(block);
    for (size_t at = 0; at < size; at++)
        if (block[at]) return;
    _exit(0);
}

/* ---- Each in a process ------------------------------------------------------------------------------------------- */

static const struct mistake {
    const char *name;
    void (*make)(void);
} mistakes[] = {
    {"byte_behind", byte_behind},
    {"bytes_behind", bytes_behind},
    {"byte_far_behind", byte_far_behind},
    {"byte_before", byte_before},
    {"bytes_before", bytes_before},
    {"byte_behind_and_free", byte_behind_and_free},
    {"byte_before_and_free", byte_before_and_free},
    {"a_mebibyte_behind", a_mebibyte_behind},
    {"a_mebibyte_before", a_mebibyte_before},
    {"write_after_free", write_after_free},
    {"byte_after_free", byte_after_free},
    {"double_free", double_free},
    {"double_free_later", double_free_later},
    {"free_of_the_next", free_of_the_next},
    {"free_inside", free_inside},
    {"free_unaligned", free_unaligned},
    {"free_far_behind", free_far_behind},
    {"free_a_local", free_a_local},
    {"taken_again", taken_again},
    {"taken_again_in_part", taken_again_in_part},
    {"old_contents", old_contents},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static int make(const char *name, size_t of_size) {
    memset(bytes, 0xa5, sizeof bytes);
    size = of_size;
    block = malloc(size);
    for (size_t n = 0; n < COUNT(mistakes); n++)
        if (strcmp(mistakes[n].name, name) == 0) mistakes[n].make();
    go_on();
    return 1;
}

/* Makes one mistake. False: the process went on. */
static int is_caught(const char *program, const char *name, size_t of_size) {
    char text[20];
    int status = 0;
    snprintf(text, sizeof text, "%zu", of_size);
    pid_t child = fork();
    if (child == 0) {
        fclose(stderr);
        execl(program, program, name, text, (char *)NULL);
        _exit(3);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) exit(2);
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGSEGV;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {1, 8, 16, 100, 1024, 4096, 20000, 32760, 40960, 131072, 262144};
    static char names[COUNT(mistakes) * COUNT(sizes)][60];
    size_t missed = 0;
    if (argc == 3) return make(argv[1], strtoul(argv[2], NULL, 10));
    for (size_t n = 0; n < COUNT(mistakes); n++)
        for (size_t i = 0; i < COUNT(sizes); i++)
            if (!is_caught(argv[0], mistakes[n].name, sizes[i]))
                snprintf(names[missed++], sizeof *names, "%s %zu", mistakes[n].name, sizes[i]);
    for (size_t n = 0; n < missed; n++) puts(names[n]);
    printf("%zu of %zu were missed\n", missed, COUNT(mistakes) * COUNT(sizes));
    return 0;
}
