/* uses.c: finds the calls of malloc's family: see uses.h. */
#include "uses.h"
#include "../room.h"

#include <stdlib.h>
#include <string.h>

uint32_t call_line(const struct call *call) {
    return call->file->tokens[call->word].line;
}

/* ---- Allocations ------------------------------------------------------------------------------------------------- */

/* Reads "sizeof *x", "sizeof(*x)" or "sizeof(type)", which must be all that is there. For the first two, sets *begin
 * and *end to the tokens of x. */
static bool read_size(const struct code *code, const struct code_file *file, size_t from, size_t to, struct type *type,
                      size_t *begin, size_t *end) {
    *begin = *end = 0;
    type->text[0] = '\0';
    if (from + 1 >= to || !token_is(file, from++, "sizeof")) return false;
    bool inside = token_is(file, from, "(");
    if (inside && code_close(file, from) != to - 1) return false;
    if (inside) from++, to--;
    if (from < to && token_is(file, from, "*")) {
        *begin = from + 1;
        *end = to;
        *type = code_type_of(code, file, *begin, *end);
        return *begin < *end;
    }
    return inside && code_type(code, file, from, type) == to && type->text[0];
}

/* The index of the bracket that opens the one at `close`; 0 if there is none. */
static size_t open_bracket(const struct code_file *file, size_t close) {
    unsigned nested = 0;
    for (size_t at = close; at > 0; at--) {
        nested += token_is(file, at, "]");
        nested -= token_is(file, at, "[");
        if (nested == 0) return at;
    }
    return 0;
}

/* Where the expression before token `equals` begins: "x->y[i]". */
static size_t left_of(const struct code_file *file, size_t equals) {
    size_t begin = equals;
    while (begin > 0) {
        while (begin > 0 && token_is(file, begin - 1, "]")) begin = open_bracket(file, begin - 1);
        if (begin == 0 || file->tokens[begin - 1].kind != TOKEN_WORD) break;
        begin--;
        if (begin == 0 || !(token_is(file, begin - 1, "->") || token_is(file, begin - 1, "."))) break;
        begin--;
    }
    return begin;
}

/* Behind a cast to a pointer, before token `at`, there is this token. */
static size_t before_cast(const struct code_file *file, size_t at) {
    if (at < 4 || !token_is(file, at - 1, ")") || !token_is(file, at - 2, "*")) return at;
    size_t open = at - 3;
    while (open > 0 && file->tokens[open].kind == TOKEN_WORD) open--;
    return token_is(file, open, "(") ? open : at;
}

/* Sets the type to that to which the result goes, and returns true if it may be a pointer to exactly this type. `begin`
 * and `end` are the tokens of x in "sizeof *x", or 0. */
static bool goes_to(const struct code *code, struct call *call, size_t begin, size_t end) {
    const struct code_file *file = call->file;
    size_t at = before_cast(file, call->word);
    struct type size = call->type, target;
    if (at > 0 && token_is(file, at - 1, "return")) {
        target = code_type_of_function(code, file, at);
        if (!size.text[0]) call->type = target;
        return strcmp(target.text, size.text) == 0 || strcmp(target.text, "void") == 0;
    }
    if (at == 0 || !token_is(file, at - 1, "=")) return false;
    size_t left = left_of(file, at - 1), length = at - 1 - left;
    bool pointer = left > 0 && token_is(file, left - 1, "*"); /* "*x = malloc", unless it is a declaration */
    target = code_type_of(code, file, left, at - 1);
    if (!size.text[0]) call->type = target;
    if (begin > 0 && length == end - begin && code_same(file, left, begin, length)) return true;
    if (pointer && left > 1 && file->tokens[left - 2].kind != TOKEN_WORD) return false;
    return target.text[0] && strcmp(target.text, size.text) == 0;
}

/* A number, a text or a word in capitals. */
static bool is_constant(const struct code_file *file, size_t at) {
    const struct token *token = &file->tokens[at];
    for (size_t n = 0; n < token->length && token->kind == TOKEN_WORD; n++)
        if (file->text[token->at + n] >= 'a' && file->text[token->at + n] <= 'z') return false;
    return token->kind != TOKEN_MARK;
}

/* Reads the arguments: one of those that make up the size is the sizeof, and the others are 1. The rest, such as a tag,
 * is left out, so it must be a constant. */
static void read_alloc(const struct code *code, struct call *call) {
    const struct code_file *file = call->file;
    size_t begin = 0, end = 0, factors = 0;
    bool sized = false;
    unsigned n = 0;
    for (size_t at = call->word + 2, behind; at < call->close; at = behind + 1, n++) {
        behind = wrappers_argument(file, at, call->close);
        bool alone = behind == at + 1, size = call->wrapper->takes >> n & 1;
        if (!size && !(alone && is_constant(file, at))) call->problem = "it is given more than a size";
        if (!size || (alone && token_is(file, at, "1"))) continue;
        factors++;
        if (!sized) sized = read_size(code, file, at, behind, &call->type, &begin, &end);
    }
    if (factors > 1) call->problem = "calloc of several objects is an array";
    if (!sized) call->type.text[0] = '\0';
    bool fits = goes_to(code, call, begin, end);
    if (strcmp(call->type.text, "void") == 0) call->type.text[0] = '\0';
    if (call->problem) return;
    if (!sized)
        call->problem = "its size is not just the sizeof of one type";
    else if (!call->type.text[0])
        call->problem = "the type is not plain from the text";
    else if (!fits)
        call->problem = "the result does not go to a pointer of just this type";
}

/* ---- Frees ------------------------------------------------------------------------------------------------------- */

static void read_free(const struct code *code, struct call *call) {
    const struct code_file *file = call->file;
    unsigned n = 0;
    for (size_t at = call->word + 2, behind; at < call->close; at = behind + 1, n++) {
        behind = wrappers_argument(file, at, call->close);
        bool freed = call->wrapper->takes >> n & 1;
        if (freed) call->begin = at, call->end = behind;
        if (!freed || behind < call->close) call->problem = "it is given more than a block";
    }
    call->type = code_type_of(code, file, call->begin, call->end);
    if (!call->type.text[0] || strcmp(call->type.text, "void") == 0) {
        call->type.text[0] = '\0';
        call->problem = "the type of what it frees is not plain from the text";
    }
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static bool is_function(const struct uses *uses, struct call *call) {
    static const char *const others[] = {"realloc",        "reallocarray", "aligned_alloc",      "memalign",
                                         "posix_memalign", "cfree",        "malloc_usable_size", NULL};
    const struct token *token = &call->file->tokens[call->word];
    call->wrapper = wrappers_named(&uses->wrappers, call->file->text + token->at, token->length);
    call->kind = !call->wrapper ? CALL_OTHER : call->wrapper->frees ? CALL_FREE : CALL_ALLOC;
    return call->wrapper || token_is_any(call->file, call->word, others);
}

/* Is the call what a wrapper itself does? Or is the wrapper declared there? */
static bool is_within(const struct uses *uses, const struct call *call) {
    for (size_t n = 0; n < uses->wrappers.count; n++) {
        const struct wrapper *wrapper = &uses->wrappers.wrappers[n];
        if (wrapper->file == call->file && wrapper->call == call->word) return true;
    }
    return call->file->tokens[call->word].depth == 0 && token_is(call->file, call->word + 1, "(");
}

/* What follows a call that is a whole expression, or the whole right side of one. */
static bool ends_there(const struct code_file *file, size_t close) {
    return token_is(file, close + 1, ";") || token_is(file, close + 1, ",") || token_is(file, close + 1, ")");
}

static bool begins_statement(const struct code_file *file, size_t at) {
    static const char *const marks[] = {";", "{", "}", ")", ":", "else", "do", NULL};
    return at > 0 && token_is_any(file, at - 1, marks);
}

/* Reads the call at this token, outside of directives. Returns false if it is of something else. */
static bool read_call(const struct code *code, struct call *call) {
    const struct code_file *file = call->file;
    size_t at = call->word;
    if (at > 0 && (token_is(file, at - 1, ".") || token_is(file, at - 1, "->"))) return false; /* a member */
    if (file->tokens[at].member) return false;
    size_t close = token_is(file, at + 1, "(") ? code_close(file, at + 1) : 0;
    if (close == 0 || file->tokens[at].depth == 0) {
        call->kind = CALL_OTHER;
        call->problem = "it is not a plain call";
        return true;
    }
    call->close = close;
    if (call->kind == CALL_OTHER) {
        call->problem = "a pool cannot do this";
        call->type = code_type_of(code, file, at + 2, wrappers_argument(file, at + 2, close));
        if (strcmp(call->type.text, "void") == 0) call->type.text[0] = '\0';
        return true;
    }
    if (call->kind == CALL_ALLOC)
        read_alloc(code, call);
    else
        read_free(code, call);
    if (!call->problem && !ends_there(file, close)) call->problem = "the expression goes on behind it";
    if (!call->problem && file->tokens[close].line != file->tokens[at].line)
        call->problem = "its arguments have several lines";
    if (!call->problem && call->kind == CALL_FREE && !begins_statement(file, at))
        call->problem = "it is not a statement of its own";
    return true;
}

static bool add_call(struct uses *uses, const struct call *call) {
    if (!has_room(&uses->calls, uses->count, &uses->room, sizeof *uses->calls)) return false;
    uses->calls[uses->count++] = *call;
    return true;
}

static bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Does a macro's text name a function of malloc's family, or a wrapper? */
static bool macro_calls(const struct uses *uses, const struct code_file *file, size_t at) {
    const struct token *token = &file->tokens[at];
    const char *text = file->text + token->at, *end = text + token->length;
    if (token->kind != TOKEN_DIRECTIVE || token->length == 0) return false;
    for (text++; text < end && (*text == ' ' || *text == '\t'); text++) {}
    if (strncmp(text, "define", strlen("define")) != 0) return false;
    for (; text < end; text++) {
        size_t length = 0;
        while (text + length < end && is_of_word(text[length])) length++;
        if (length == strlen("realloc") && memcmp(text, "realloc", length) == 0) return true;
        if (wrappers_named(&uses->wrappers, text, length)) return true;
        text += length;
    }
    return false;
}

static bool find_in(struct uses *uses, const struct code *code, const struct code_file *file) {
    for (size_t at = 0; at < file->count; at++) {
        struct call call = {.file = file, .word = at};
        if (macro_calls(uses, file, at)) {
            call.kind = CALL_OTHER;
            call.problem = "a macro names it";
        } else if (file->tokens[at].kind != TOKEN_WORD || !is_function(uses, &call) || is_within(uses, &call) ||
                   !read_call(code, &call)) {
            continue;
        }
        if (!add_call(uses, &call)) return false;
    }
    return true;
}

bool uses_find(struct uses *uses, const struct code *code) {
    if (!wrappers_find(&uses->wrappers, code)) return false;
    for (size_t n = 0; n < code->count; n++)
        if (!find_in(uses, code, &code->files[n])) return false;
    return true;
}

void uses_free(struct uses *uses) {
    free(uses->calls);
    wrappers_free(&uses->wrappers);
    *uses = (struct uses){0};
}
