/* wrappers.c: finds functions that allocate or free for their callers: see wrappers.h. */
#include "wrappers.h"
#include "../room.h"

#include <string.h>

const struct wrapper *wrappers_named(const struct wrappers *wrappers, const char *name, size_t length) {
    for (size_t n = 0; n < wrappers->count; n++)
        if (wrappers->wrappers[n].length == length && memcmp(wrappers->wrappers[n].name, name, length) == 0)
            return &wrappers->wrappers[n];
    return NULL;
}

const struct wrapper *wrappers_at(const struct wrappers *wrappers, const char *file, size_t length, uint32_t line) {
    for (size_t n = 0; n < wrappers->count; n++) {
        const struct wrapper *wrapper = &wrappers->wrappers[n];
        if (!wrapper->file || strlen(wrapper->file->name) != length || memcmp(wrapper->file->name, file, length) != 0)
            continue;
        const struct token *tokens = wrapper->file->tokens;
        if (line >= tokens[wrapper->begin].line && line <= tokens[wrapper->end].line) return wrapper;
    }
    return NULL;
}

size_t wrappers_argument(const struct code_file *file, size_t at, size_t close) {
    unsigned nested = 0;
    for (; at < close; at++) {
        nested += token_is(file, at, "(");
        nested -= token_is(file, at, ")");
        if (nested == 0 && token_is(file, at, ",")) break;
    }
    return at;
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static const struct wrapper *called_at(const struct wrappers *wrappers, const struct code_file *file, size_t at) {
    const struct token *token = &file->tokens[at];
    if (at > 0 && (token_is(file, at - 1, ".") || token_is(file, at - 1, "->"))) return NULL; /* a member */
    return token->kind == TOKEN_WORD ? wrappers_named(wrappers, file->text + token->at, token->length) : NULL;
}

static void read_parameters(struct wrapper *function, size_t open, size_t close) {
    const struct code_file *file = function->file;
    for (size_t at = open + 1, end; at < close && function->count < WRAPPER_PARAMETERS; at = end + 1) {
        end = wrappers_argument(file, at, close);
        bool pointer = end >= at + 3 && token_is(file, end - 2, "*") && token_is(file, end - 3, "void");
        function->pointers |= (uint32_t)pointer << function->count;
        function->parameters[function->count++] = end - 1;
    }
}

/* Reads the function that is defined at this token. */
static bool read_function(struct wrapper *function, const struct code_file *file, size_t at) {
    const struct token *name = &file->tokens[at];
    if (name->depth != 0 || name->kind != TOKEN_WORD || !token_is(file, at + 1, "(")) return false;
    size_t close = code_close(file, at + 1), end = close + 1;
    if (close == 0 || !token_is(file, end, "{")) return false;
    while (end < file->count && !(file->tokens[end].depth == 0 && token_is(file, end, "}"))) end++;
    *function =
        (struct wrapper){.file = file, .name = file->text + name->at, .length = name->length, .begin = close + 1};
    function->end = end;
    function->allocates = at > 1 && token_is(file, at - 1, "*") && token_is(file, at - 2, "void");
    read_parameters(function, at + 1, close);
    return end < file->count;
}

/* The parameters that these tokens mention, a bit for each. */
static uint32_t mentioned(const struct wrapper *function, size_t begin, size_t end) {
    uint32_t bits = 0;
    for (size_t at = begin; at < end; at++)
        for (size_t n = 0; n < function->count; n++)
            if (code_same(function->file, at, function->parameters[n], 1)) bits |= UINT32_C(1) << n;
    return bits;
}

/* Is this one parameter, and a void *? */
static bool is_void_pointer(const struct wrapper *function, uint32_t bits) {
    return bits > 0 && (bits & (bits - 1)) == 0 && (bits & function->pointers) > 0;
}

static bool has_word(const struct code_file *file, size_t begin, size_t end, const char *word) {
    for (size_t at = begin; at < end; at++)
        if (token_is(file, at, word)) return true;
    return false;
}

/* ---- Always ------------------------------------------------------------------------------------------------------ */

/* The last token of the statement at `at`, which has braces or ends in a semicolon. */
static size_t end_of_statement(const struct code_file *file, size_t at, size_t end) {
    bool block = token_is(file, at, "{");
    for (size_t last = at + block; last < end; last++)
        if (token_is(file, last, block ? "}" : ";") && file->tokens[last].depth == file->tokens[at].depth) return last;
    return end;
}

/* Does the condition in these parentheses only ask whether the parameter is NULL? "(p)", "(!p)", "(p != NULL)" */
static bool asks_for_null(const struct wrapper *function, size_t open, size_t close) {
    return close - open <= 4 && is_void_pointer(function, mentioned(function, open, close)) &&
           (close - open <= 3 || has_word(function->file, open, close, "NULL"));
}

/* Does each call of the function come to the call in it? It must not return before, or branch around it, except for
 * NULL, or keep a block in a static variable. */
static bool is_always(const struct wrapper *function, size_t call, bool frees) {
    const struct code_file *file = function->file;
    size_t asked = 0; /* up to here, only NULL comes */
    for (size_t at = function->begin + 1; at < call; at++) {
        bool branches = token_is_any(file, at, (const char *[]){"if", "switch", NULL}),
             otherwise = token_is(file, at, "else");
        bool leaves = token_is_any(file, at, (const char *[]){"return", "goto", "break", "static", NULL});
        if (leaves && end_of_statement(file, at, function->end) < call && at > asked) return false;
        if (token_is_any(file, at, (const char *[]){"?", "&&", "||", NULL}))
            if (end_of_statement(file, at, function->end) > call) return false;
        if (!branches && !otherwise) continue;
        size_t close = otherwise ? at : code_close(file, at + 1);
        size_t end = end_of_statement(file, close + 1, function->end);
        if (frees && branches && asks_for_null(function, at + 1, close))
            asked = end;
        else if (call > close && call < end)
            return false;
    }
    return true;
}

/* ---- Wrappers ---------------------------------------------------------------------------------------------------- */

/* The parameter that is freed: the variable itself, or that from which it is computed by the size of a header. */
static uint32_t freed_by(const struct wrapper *function, size_t variable) {
    const struct code_file *file = function->file;
    uint32_t bit = mentioned(function, variable, variable + 1);
    for (size_t at = function->begin; at < function->end; at++) {
        if (!token_is(file, at + 1, "=") || !code_same(file, at, variable, 1)) continue;
        size_t end = end_of_statement(file, at + 2, function->end);
        if (!has_word(file, at, end, "sizeof")) return 0; /* it gets another value */
        bit = mentioned(function, at + 2, end);
    }
    return bit;
}

/* May the variable to which the call's result goes have another block? Then it is not always a new one. */
static bool has_others(const struct wrapper *function, size_t call) {
    const struct code_file *file = function->file;
    size_t equals = call - 1;
    while (equals > function->begin && !token_is(file, equals, "=") && !token_is(file, equals, ";")) equals--;
    for (size_t at = function->begin; at + 2 < function->end && token_is(file, equals, "="); at++) {
        if (at + 1 == equals || !token_is(file, at + 1, "=") || !code_same(file, at, equals - 1, 1)) continue;
        if (!token_is(file, at + 2, "NULL") && !token_is(file, at + 2, "0")) return true;
    }
    return false;
}

/* Fills in what the call in its body makes of the function. Returns false if it is no wrapper. */
static bool read_wrapper(struct wrapper *wrapper, const struct wrapper *called) {
    const struct code_file *file = wrapper->file;
    size_t open = wrapper->call + 1, close = token_is(file, open, "(") ? code_close(file, open) : 0;
    if (close == 0 || !is_always(wrapper, wrapper->call, called->frees)) return false;
    wrapper->frees = called->frees;
    if (called->frees) {
        wrapper->takes = freed_by(wrapper, close - 1);
        return close == open + 2 && is_void_pointer(wrapper, wrapper->takes);
    }
    wrapper->takes = mentioned(wrapper, open, close);
    wrapper->zeroed = called->zeroed || has_word(file, wrapper->begin, wrapper->end, "memset");
    wrapper->header = called->header || has_word(file, open, close, "+") || has_word(file, open, close, "sizeof");
    return wrapper->allocates && wrapper->takes > 0 && !has_others(wrapper, wrapper->call);
}

/* A wrapper has just one call that allocates or frees. */
static bool find_call(const struct wrappers *wrappers, struct wrapper *wrapper) {
    const struct wrapper *called = NULL;
    for (size_t at = wrapper->begin; at < wrapper->end; at++) {
        const struct wrapper *found = called_at(wrappers, wrapper->file, at);
        if ((found && called) || token_is(wrapper->file, at, "realloc")) return false;
        if (found) called = found, wrapper->call = at;
    }
    return called && read_wrapper(wrapper, called);
}

static bool add(struct wrappers *wrappers, const struct wrapper *wrapper) {
    if (!has_room(&wrappers->wrappers, wrappers->count, &wrappers->room, sizeof *wrappers->wrappers)) return false;
    wrappers->wrappers[wrappers->count++] = *wrapper;
    return true;
}

/* Is there only one function of its name in the program? */
static bool is_alone(const struct code *code, const struct wrapper *wrapper) {
    struct wrapper other;
    size_t count = 0;
    for (size_t n = 0; n < code->count; n++)
        for (size_t at = 0; code->files[n].named && at + 2 < code->files[n].count; at++)
            count += read_function(&other, &code->files[n], at) && other.length == wrapper->length &&
                     memcmp(other.name, wrapper->name, other.length) == 0;
    return count == 1 && !wrapper->file->doubtful;
}

static bool find_in(struct wrappers *wrappers, const struct code *code, const struct code_file *file) {
    struct wrapper wrapper;
    for (size_t at = 0; at + 2 < file->count; at++) {
        if (called_at(wrappers, file, at) || !read_function(&wrapper, file, at)) continue;
        if (!find_call(wrappers, &wrapper) || !is_alone(code, &wrapper)) continue;
        if (!add(wrappers, &wrapper)) return false;
    }
    return true;
}

bool wrappers_find(struct wrappers *wrappers, const struct code *code) {
    static const struct wrapper family[] = {{.name = "malloc", .length = 6, .takes = 1},
                                            {.name = "calloc", .length = 6, .takes = 3, .zeroed = true},
                                            {.name = "free", .length = 4, .frees = true, .takes = 1}};
    bool done = true;
    for (size_t n = 0; done && n < sizeof family / sizeof *family; n++) done = add(wrappers, &family[n]);
    for (size_t before = 0; done && before < wrappers->count;) { /* wrappers of wrappers */
        before = wrappers->count;
        for (size_t n = 0; done && n < code->count; n++)
            if (code->files[n].named && code->files[n].balanced) done = find_in(wrappers, code, &code->files[n]);
    }
    return done;
}

void wrappers_free(struct wrappers *wrappers) {
    free(wrappers->wrappers);
    *wrappers = (struct wrappers){0};
}
