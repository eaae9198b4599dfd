/* A small Forth, in which each script has its own heap. No text, definition or stack is freed by itself: the end of the
 * heap frees them all at once and closes the script's files, even if an error has ended the script. A script that needs
 * too much memory reaches the heap's limit, and the interpreter continues with the next script. */
#define _POSIX_C_SOURCE 200809L
#include "kolk.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_KIB = 1024, MOST_STEPS = 1000000, DEEPEST = 100 };

typedef struct value {
    const char *text; /* NULL: the value is the number */
    double number;    /* of a text: 1, as it counts as true */
} value;

typedef struct definition {
    struct definition *next;
    const char *name, *body;
} definition;

typedef struct script {
    kolk_heap heap;
    value *stack;
    size_t n_values;
    definition *newest;
    FILE *file; /* the one that was opened last */
    int steps, depth;
    char word[32]; /* the current one */
    char error[100];
    jmp_buf stop;
} script;

static int open_files; /* of all scripts */

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Ends the script. There is nothing to clean up. */
static _Noreturn void fail(script *its, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(its->error, sizeof its->error, format, values);
    va_end(values);
    longjmp(its->stop, 1);
}

static void *allocate(script *its, void *old, size_t size) {
    void *block = kolk_heap_realloc(&its->heap, old, size);
    if (!block) fail(its, "it needs more than %d KiB of memory", LIMIT_KIB);
    return block;
}

static const char *copy(script *its, const char *text, size_t length) {
    char *fresh = allocate(its, NULL, length + 1);
    memcpy(fresh, text, length);
    fresh[length] = 0;
    return fresh;
}

static void push(script *its, const char *text, double number) {
    its->stack = allocate(its, its->stack, (its->n_values + 1) * sizeof *its->stack);
    its->stack[its->n_values++] = (value){text, number};
}

static value pop(script *its) {
    if (its->n_values == 0) fail(its, "%s needs more values", its->word);
    return its->stack[--its->n_values];
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

static bool is(const script *its, const char *word) {
    return strcmp(its->word, word) == 0;
}

/* Copies the next word to its->word; of a text, only the quotation mark. Returns false at the end. */
static bool next_word(script *its, const char **at) {
    *at += strspn(*at, " \n");
    size_t length = **at == '"' ? 1 : strcspn(*at, " \n");
    if (length >= sizeof its->word) fail(its, "%.10s... is too long for a word", *at);
    if (++its->steps > MOST_STEPS) fail(its, "it takes more than %d steps", MOST_STEPS);
    memcpy(its->word, *at, length);
    its->word[length] = 0;
    *at += length;
    return length > 0;
}

static const char *end_of_text(script *its, const char *at) {
    const char *end = strchr(at, '"');
    if (!end) fail(its, "the end of a text is missing");
    return end;
}

/* Returns the place behind the next such word, but not of one inside of another if. */
static const char *skip_to(script *its, const char *at, const char *word) {
    for (int inside = 0; next_word(its, &at); inside += is(its, "if") - is(its, "then")) {
        if (inside == 0 && is(its, word)) return at;
        if (is(its, "\"")) at = end_of_text(its, at) + 1;
    }
    fail(its, "the word %s is missing", word);
}

/* Returns the place behind the definition: name words ; */
static const char *define(script *its, const char *at) {
    definition *fresh = allocate(its, NULL, sizeof *fresh);
    next_word(its, &at);
    fresh->name = copy(its, its->word, strlen(its->word));
    const char *end = skip_to(its, at, ";");
    fresh->body = copy(its, at, (size_t)(end - at - 1));
    fresh->next = its->newest;
    its->newest = fresh;
    return end;
}

/* + - * < */
static void calculate(script *its) {
    value second = pop(its), first = pop(its);
    double a = first.number, b = second.number;
    if (first.text || second.text) fail(its, "%s needs numbers, not texts", its->word);
    push(its, NULL, is(its, "+") ? a + b : is(its, "-") ? a - b : is(its, "*") ? a * b : a < b);
}

static void close_file(void *file) {
    fclose(file);
    open_files--;
}

/* From now on, the end of the heap closes the file. */
static void open_file(script *its, const char *name) {
    its->file = name ? fopen(name, "r") : NULL;
    if (!its->file) fail(its, "the file \"%s\" cannot be opened", name ? name : "");
    open_files++;
    if (kolk_heap_on_end(&its->heap, close_file, its->file)) return;
    close_file(its->file);
    fail(its, "there is no memory for another file");
}

/* Pushes the next line of the file, or 0 behind the last one. */
static void read_line(script *its) {
    char line[200];
    if (its->file && fgets(line, sizeof line, its->file))
        push(its, copy(its, line, strcspn(line, "\n")), 1);
    else
        push(its, NULL, 0);
}

static void print(value what) {
    if (what.text)
        printf("    %s\n", what.text);
    else
        printf("    %g\n", what.number);
}

static void execute(script *its, const char *at) {
    const char *loop = NULL;
    if (++its->depth > DEEPEST) fail(its, "its words call each other more than %d deep", DEEPEST);
    while (next_word(its, &at)) {
        char *end;
        double number = strtod(its->word, &end);
        const definition *defined = its->newest;
        while (defined && !is(its, defined->name)) defined = defined->next;
        if (defined) {
            execute(its, defined->body);
        } else if (*end == 0) {
            push(its, NULL, number);
        } else if (is(its, "\"")) {
            const char *text = at;
            at = end_of_text(its, at) + 1;
            push(its, copy(its, text, (size_t)(at - text - 1)), 1);
        } else if (is(its, ":")) {
            at = define(its, at);
        } else if (is(its, "+") || is(its, "-") || is(its, "*") || is(its, "<")) {
            calculate(its);
        } else if (is(its, "dup")) {
            value top = pop(its);
            for (int n = 0; n < 2; n++) push(its, top.text, top.number);
        } else if (is(its, "print")) {
            print(pop(its));
        } else if (is(its, "open")) {
            open_file(its, pop(its).text);
        } else if (is(its, "line")) {
            read_line(its);
        } else if (is(its, "if")) {
            if (pop(its).number == 0) at = skip_to(its, at, "then");
        } else if (is(its, "begin")) {
            loop = at;
        } else if (is(its, "repeat") && loop) {
            if (pop(its).number != 0) at = loop;
        } else if (!is(its, "then")) {
            fail(its, "there is no word %s", its->word);
        }
    }
    its->depth--;
}

static bool finish(script *its, const char *text) {
    if (setjmp(its->stop)) return false;
    execute(its, text);
    return true;
}

static void run(const char *name, const char *text) {
    script its = {.error = "there is no memory for its heap"};
    kolk_stats stats;
    kolk_heap_desc desc = {.name = name, .limit = LIMIT_KIB << 10};
    printf("%s\n", name);
    if (kolk_heap_init(&its.heap, &desc) == KOLK_OK && finish(&its, text)) {
        kolk_heap_stats(&its.heap, &stats);
        printf("    done; open files: %d, blocks: %u\n", open_files, stats.count);
    } else {
        printf("    stopped, as %s; open files: %d\n", its.error, open_files);
    }
    kolk_heap_deinit(&its.heap);
}

int main(void) {
    char notes[] = "/tmp/kolk-interpreter-XXXXXX", text[200];
    int fd = mkstemp(notes);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file || fputs("one\ntwo\nthree\n", file) < 0 || fclose(file) != 0) {
        perror("interpreter: cannot write a file for its scripts");
        return 1;
    }
    run("squares", ": square dup * ; 1 begin dup square print 1 + dup 6 < repeat");
    snprintf(text, sizeof text, "\"%s\" open begin line dup if print 1 then repeat", notes);
    run("lines of a file", text);
    snprintf(text, sizeof text, "\"%s\" open line \"three\" 4 *", notes);
    run("a mistake while a file is open", text);
    run("too much memory", "begin \"another text\" 1 repeat");
    run("too much time", "begin 1 repeat");
    run("too many calls", ": again again ; again");
    run("half a definition", ": square dup *");
    run("an unknown word", "1 2 plus print");
    run("a greeting", "\"still here\" print");
    unlink(notes);
    printf("open files at the end: %d\n", open_files);
}

/* runs: 64-bits not:qemu not:wine */
