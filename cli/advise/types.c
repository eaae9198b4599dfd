/* types.c: finds the types of objects in files of C: see code.h. */
#include "code.h"

#include <string.h>

static bool is_tagged(const struct code_file *file, size_t at) {
    static const char *const words[] = {"struct", "union", "enum", NULL};
    return token_is_any(file, at, words);
}

static bool is_qualifier(const struct code_file *file, size_t at) {
    static const char *const words[] = {"const",    "volatile", "static",  "extern",        "register",
                                        "restrict", "inline",   "_Atomic", "_Thread_local", NULL};
    return token_is_any(file, at, words);
}

/* Words that are followed by an expression, not by a declarator. */
static bool is_keyword(const struct code_file *file, size_t at) {
    static const char *const words[] = {"return", "else", "goto", "case", "sizeof", "do", "typedef", NULL};
    return token_is_any(file, at, words);
}

static bool is_name(const struct code_file *file, size_t at) {
    return file->tokens[at].kind == TOKEN_WORD && !is_keyword(file, at) && !is_qualifier(file, at) &&
           !is_tagged(file, at);
}

static void copy_words(struct type *type, const struct code_file *file, size_t at, size_t count) {
    size_t length = 0;
    type->text[0] = '\0';
    for (size_t n = 0; n < count; n++) {
        const struct token *token = &file->tokens[at + n];
        if (length + token->length + 2 > sizeof type->text) {
            type->text[0] = '\0';
            return;
        }
        if (n > 0) type->text[length++] = ' ';
        memcpy(type->text + length, file->text + token->at, token->length);
        length += token->length;
        type->text[length] = '\0';
    }
}

/* ---- Typedefs ---------------------------------------------------------------------------------------------------- */

/* The index of the brace that closes the one at `open`, or 0. */
static size_t close_brace(const struct code_file *file, size_t open) {
    for (size_t at = open + 1; at < file->count; at++)
        if (token_is(file, at, "}") && file->tokens[at].depth == file->tokens[open].depth) return at;
    return 0;
}

/* If a typedef at `at` gives a struct with a tag this name, sets the type to the struct. */
static bool renames(const struct code_file *file, size_t at, struct type *type) {
    if (!token_is(file, at, "typedef") || at + 3 >= file->count || !is_tagged(file, at + 1)) return false;
    if (!is_name(file, at + 2)) return false;
    size_t name = at + 3;
    if (token_is(file, name, "{")) name = close_brace(file, name) + 1;
    if (name == 1 || name + 1 >= file->count || !token_is(file, name, type->text) || !token_is(file, name + 1, ";"))
        return false;
    copy_words(type, file, at + 1, 2);
    return true;
}

static void resolve(const struct code *code, struct type *type) {
    if (strchr(type->text, ' ')) return;
    for (size_t n = 0; n < code->count; n++) {
        const struct code_file *file = &code->files[n];
        for (size_t at = 0; file->named && at < file->count; at++)
            if (renames(file, at, type)) return;
    }
}

/* Words that may stand before the last word of a number's type. */
static bool is_part_of_number(const struct code_file *file, size_t at) {
    static const char *const words[] = {"unsigned", "signed", "long", "short", "int", "char", "double", NULL};
    return token_is_any(file, at, words);
}

size_t code_type(const struct code *code, const struct code_file *file, size_t at, struct type *type) {
    size_t begin = at;
    type->text[0] = '\0';
    while (at + 1 < file->count && is_qualifier(file, at)) at++;
    while (at + 1 < file->count && is_part_of_number(file, at) && is_part_of_number(file, at + 1)) at++;
    size_t words = is_tagged(file, at) ? 2 : 1;
    if (at + words >= file->count || !is_name(file, at + words - 1)) return begin;
    copy_words(type, file, at, words);
    resolve(code, type);
    return type->text[0] ? at + words : begin;
}

/* ---- Declarations ------------------------------------------------------------------------------------------------ */

/* Where the declaration or statement begins to which token `at` belongs; `at` itself if it is within parentheses. */
static size_t statement_of(const struct code_file *file, size_t at) {
    unsigned nested = 0;
    for (size_t begin = at; begin > 0; begin--) {
        size_t before = begin - 1;
        bool closes = token_is(file, before, ")") || token_is(file, before, "]");
        bool opens = token_is(file, before, "(") || token_is(file, before, "[");
        if (nested == 0 && opens) return at;
        if (nested == 0 && (token_is(file, before, ";") || token_is(file, before, "{") || token_is(file, before, "}") ||
                            file->tokens[before].kind == TOKEN_DIRECTIVE))
            return begin;
        nested += closes;
        nested -= opens;
    }
    return 0;
}

/* May a declaration begin at this token? */
static bool begins_declaration(const struct code_file *file, size_t at) {
    while (at > 0 && (is_qualifier(file, at - 1))) at--;
    if (at == 0 || file->tokens[at - 1].kind == TOKEN_DIRECTIVE) return true;
    if (token_is(file, at - 1, ";") || token_is(file, at - 1, "{") || token_is(file, at - 1, "}")) return true;
    bool parameter = token_is(file, at - 1, "(") || token_is(file, at - 1, ",");
    if (parameter && (file->tokens[at].depth == 0 || is_tagged(file, at))) return true;
    return at > 1 && token_is(file, at - 1, "(") && token_is(file, at - 2, "for");
}

/* If the name at `at` is declared there, sets the type, and the number of pointers and arrays up to it. */
static bool declared_at(const struct code *code, const struct code_file *file, size_t at, struct type *type,
                        int *stars) {
    static const char *const ends[] = {"=", ";", ",", ")", "[", ":", NULL};
    if (at == 0 || at + 1 >= file->count || !token_is_any(file, at + 1, ends)) return false;
    size_t before = at;
    *stars = 0;
    for (; before > 0 && (token_is(file, before - 1, "*") || is_qualifier(file, before - 1)); before--)
        *stars += token_is(file, before - 1, "*");
    for (size_t next = at + 1; next < file->count && token_is(file, next, "["); (*stars)++) {
        while (next < file->count && !token_is(file, next, "]")) next++;
        next++;
    }
    if (before == 0) return false;
    size_t word = before - 1;
    size_t begin = word > 0 && is_tagged(file, word - 1) ? word - 1 : word;
    while (begin > 0 && is_part_of_number(file, begin) && is_part_of_number(file, begin - 1)) begin--;
    if (is_name(file, word)) return begins_declaration(file, begin) && code_type(code, file, begin, type) > begin;
    if (!token_is(file, word, ",")) return false;
    begin = statement_of(file, word);
    if (begin == word) return false;
    size_t behind = code_type(code, file, begin, type);
    if (behind == begin) return false;
    while (token_is(file, behind, "*")) behind++;
    return is_name(file, behind) && token_is_any(file, behind + 1, ends);
}

static void add_declaration(struct types *types, const struct type *type, bool pointer) {
    if (types->count++ == 0) types->type = *type;
    if (!pointer || strcmp(types->type.text, type->text) != 0) types->differ = true;
}

static bool is_member(const struct token *token) {
    return token->member;
}

static bool is_variable(const struct token *token) {
    return !token->member;
}

static bool is_global(const struct token *token) {
    return token->depth == 0;
}

/* Adds those declarations of the name that fit, in tokens from `begin` to before `end`. */
static void add_declarations(const struct code *code, const struct code_file *file, size_t begin, size_t end,
                             const char *name, int stars, struct types *types, bool (*fits)(const struct token *)) {
    struct type type;
    int found;
    for (size_t at = begin; at < end; at++) {
        const struct token *token = &file->tokens[at];
        if (token->kind != TOKEN_WORD || !fits(token) || !token_is(file, at, name)) continue;
        if (fits != is_variable && statement_of(file, at) == at) continue; /* a parameter of a function */
        if (declared_at(code, file, at, &type, &found)) add_declaration(types, &type, found == stars);
    }
}

/* Where the function around token `at` begins, with what it returns. */
static size_t function_of(const struct code_file *file, size_t at) {
    for (; at > 0; at--) {
        const struct token *before = &file->tokens[at - 1];
        if (before->depth > 0) continue;
        if (before->kind == TOKEN_DIRECTIVE || token_is(file, at - 1, ";") || token_is(file, at - 1, "}")) return at;
    }
    return 0;
}

static size_t end_of_function(const struct code_file *file, size_t at) {
    while (at + 1 < file->count && file->tokens[at].depth > 0) at++;
    return at;
}

/* The declarations of a variable that token `at` names. All within its function count, whatever their scope. */
static struct types find_variable(const struct code *code, const struct code_file *file, size_t at, const char *name,
                                  int stars) {
    struct types types = {0};
    add_declarations(code, file, function_of(file, at), end_of_function(file, at), name, stars, &types, is_variable);
    for (size_t n = 0; types.count == 0 && n < code->count; n++)
        if (code->files[n].named)
            add_declarations(code, &code->files[n], 0, code->files[n].count, name, stars, &types, is_global);
    return types;
}

static struct types find_member(const struct code *code, const char *name, int stars) {
    struct types types = {0};
    for (size_t n = 0; n < code->count; n++)
        if (code->files[n].named)
            add_declarations(code, &code->files[n], 0, code->files[n].count, name, stars, &types, is_member);
    return types;
}

/* ---- Expressions ------------------------------------------------------------------------------------------------- */

/* The index behind the bracket that closes the one at `open`, or 0. */
static size_t behind_index(const struct code_file *file, size_t open, size_t end) {
    unsigned nested = 0;
    for (size_t at = open; at < end; at++) {
        if (token_is(file, at, "[")) nested++;
        if (token_is(file, at, "]") && --nested == 0) return at + 1;
    }
    return 0;
}

/* Removes parentheses around the expression and casts to void *. */
static void strip(const struct code_file *file, size_t *begin, size_t *end) {
    for (;;) {
        if (*begin + 4 < *end && token_is(file, *begin, "(") && token_is(file, *begin + 1, "void") &&
            token_is(file, *begin + 2, "*") && token_is(file, *begin + 3, ")"))
            *begin += 4;
        else if (*begin + 2 < *end && token_is(file, *begin, "(") && code_close(file, *begin) == *end - 1)
            ++*begin, --*end;
        else
            return;
    }
}

struct type code_type_of(const struct code *code, const struct code_file *file, size_t begin, size_t end) {
    const struct type unknown = {""};
    int leading = 1;
    strip(file, &begin, &end);
    for (; begin < end && token_is(file, begin, "*"); begin++) leading++;
    size_t name = begin, at = begin;
    bool member = false;
    int stars = leading;
    for (;;) {
        if (at >= end || !is_name(file, at)) return unknown;
        name = at++;
        while (at > 0 && at < end && token_is(file, at, "[")) {
            at = behind_index(file, at, end);
            stars += at > 0;
        }
        if (at == 0) return unknown;
        if (at == end) break;
        if (!token_is(file, at, "->") && !token_is(file, at, ".")) return unknown;
        stars = leading; /* an index before a member says nothing of the member */
        member = true;
        at++;
    }
    struct type text;
    copy_words(&text, file, name, 1);
    struct types types =
        member ? find_member(code, text.text, stars) : find_variable(code, file, name, text.text, stars);
    return types.count == 0 || types.differ ? unknown : types.type;
}

struct type code_type_of_function(const struct code *code, const struct code_file *file, size_t at) {
    struct type type;
    size_t begin = function_of(file, at), behind = code_type(code, file, begin, &type);
    if (behind == begin || !token_is(file, behind, "*") || !is_name(file, behind + 1) ||
        !token_is(file, behind + 2, "("))
        type.text[0] = '\0';
    return type;
}

/* ---- Definitions ------------------------------------------------------------------------------------------------- */

/* If the type is defined at `at`, returns the index of the semicolon; else 0. */
static size_t defined_at(const struct code_file *file, size_t at, const struct type *type) {
    struct type found;
    if (file->tokens[at].depth != 0 || !is_tagged(file, at) || at + 2 >= file->count) return 0;
    bool tagged = is_name(file, at + 1);
    size_t open = tagged ? at + 2 : at + 1;
    if (!token_is(file, open, "{")) return 0;
    size_t close = close_brace(file, open), last = close;
    if (close == 0) return 0;
    while (last + 1 < file->count && !token_is(file, last, ";")) last++;
    if (tagged) {
        copy_words(&found, file, at, 2);
        return strcmp(found.text, type->text) == 0 ? last : 0;
    }
    bool renamed = at > 0 && token_is(file, at - 1, "typedef") && last == close + 2;
    return renamed && token_is(file, close + 1, type->text) ? last : 0;
}

struct code_file *code_definition(const struct code *code, const struct type *type, size_t *last) {
    struct code_file *where = NULL;
    for (size_t n = 0; n < code->count; n++) {
        struct code_file *file = &code->files[n];
        for (size_t at = 0; file->named && at < file->count; at++) {
            size_t end = defined_at(file, at, type);
            if (end == 0) continue;
            if (where) return NULL;
            where = file;
            *last = end;
        }
    }
    if (where && *last + 2 < where->count && where->tokens[*last + 1].line == where->tokens[*last].line) return NULL;
    return where;
}
