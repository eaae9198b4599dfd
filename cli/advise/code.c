/* code.c: reads files of C: see code.h. */
#define _GNU_SOURCE /* DT_DIR */
#include "code.h"
#include "../room.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MOST = 2000, DEPTH_MOST = 10, ENTRIES_MOST = 200000, BYTES_MOST = 1 << 22, BRACES_MOST = 256 };

/* ---- Tokens ------------------------------------------------------------------------------------------------------ */

struct lexer {
    struct code_file *file;
    size_t at, room;
    uint32_t line;
    unsigned depth;
    bool structs[BRACES_MOST + 1]; /* by depth: the brace is that of a struct */
    bool begins;                   /* nothing but space is in this line so far */
    bool failed;                   /* memory ran out */
};

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

bool token_is(const struct code_file *file, size_t at, const char *text) {
    const struct token *token = &file->tokens[at];
    return strlen(text) == token->length && memcmp(file->text + token->at, text, token->length) == 0;
}

bool token_is_any(const struct code_file *file, size_t at, const char *const *words) {
    for (; *words; words++)
        if (token_is(file, at, *words)) return true;
    return false;
}

/* Is the brace that follows the tokens that of a struct or union, or of an array or struct within it? */
static bool opens_struct(const struct code_file *file) {
    size_t count = file->count;
    for (size_t back = 1; back <= 2 && back <= count; back++)
        if (token_is(file, count - back, "struct") || token_is(file, count - back, "union")) return true;
    return false;
}

static void add_token(struct lexer *lexer, size_t length, enum token_kind kind) {
    struct code_file *file = lexer->file;
    if (!has_room(&file->tokens, file->count, &lexer->room, sizeof *file->tokens)) {
        lexer->failed = true;
        return;
    }
    char c = file->text[lexer->at];
    if (kind == TOKEN_MARK && c == '}' && lexer->depth == 0) file->balanced = false;
    if (kind == TOKEN_MARK && c == '}' && lexer->depth > 0) lexer->depth--;
    file->tokens[file->count] = (struct token){.at = (uint32_t)lexer->at,
                                               .length = (uint32_t)length,
                                               .line = lexer->line,
                                               .depth = (uint16_t)lexer->depth,
                                               .kind = (uint8_t)kind,
                                               .member = lexer->depth > 0 && lexer->structs[lexer->depth]};
    if (kind == TOKEN_MARK && c == '{') {
        bool is_struct = opens_struct(file);
        if (lexer->depth < BRACES_MOST) lexer->structs[++lexer->depth] = is_struct;
    }
    file->count++;
    lexer->begins = false;
}

/* Moves to `end`, and counts the lines up to there. */
static void pass(struct lexer *lexer, size_t end) {
    for (; lexer->at < end; lexer->at++) lexer->line += lexer->file->text[lexer->at] == '\n';
}

/* The end of the logical line that begins here. Comments in it may have several lines. */
static size_t end_of_directive(const struct code_file *file, size_t at) {
    for (; at < file->length && file->text[at] != '\n'; at++) {
        if (file->text[at] == '\\' && at + 1 < file->length) at++;
        if (file->text[at] == '/' && at + 1 < file->length && file->text[at + 1] == '*') {
            const char *end = strstr(file->text + at + 2, "*/");
            at = end ? (size_t)(end - file->text) + 1 : file->length - 1;
        }
    }
    return at < file->length ? at : file->length;
}

static size_t end_of_text(const struct code_file *file, size_t at) {
    char quote = file->text[at++];
    for (; at < file->length && file->text[at] != quote && file->text[at] != '\n'; at++)
        if (file->text[at] == '\\') at++;
    return at < file->length ? at + 1 : file->length;
}

static size_t length_of_mark(const char *text) {
    static const char marks[] = "-> == != <= >= && || ++ -- += -= *= /= %= &= |= ^= << >> ";
    for (const char *mark = marks; *mark; mark += 3)
        if (text[0] == mark[0] && text[1] == mark[1]) return 2;
    return 1;
}

static void lex_one(struct lexer *lexer) {
    const struct code_file *file = lexer->file;
    const char *text = file->text + lexer->at;
    size_t end = lexer->at + 1;
    if (*text == '\n') {
        pass(lexer, end);
        lexer->begins = true;
        return;
    }
    if (text[0] == '/' && text[1] == '*') {
        const char *stop = strstr(text + 2, "*/");
        end = stop ? (size_t)(stop - file->text) + 2 : file->length;
    } else if (text[0] == '/' && text[1] == '/') {
        end = lexer->at + strcspn(text, "\n");
    } else if (*text == '#' && lexer->begins) {
        end = end_of_directive(file, lexer->at);
        add_token(lexer, end - lexer->at, TOKEN_DIRECTIVE);
    } else if (*text == '"' || *text == '\'') {
        end = end_of_text(file, lexer->at);
        add_token(lexer, end - lexer->at, TOKEN_TEXT);
    } else if (is_word(*text)) {
        while (end < file->length && is_word(file->text[end])) end++;
        add_token(lexer, end - lexer->at, *text >= '0' && *text <= '9' ? TOKEN_NUMBER : TOKEN_WORD);
    } else if (!strchr(" \t\r\f\v\\", *text)) {
        end = lexer->at + length_of_mark(text);
        add_token(lexer, end - lexer->at, TOKEN_MARK);
    }
    pass(lexer, end);
}

static bool lex(struct code_file *file) {
    struct lexer lexer = {.file = file, .line = 1, .begins = true};
    file->balanced = true;
    while (lexer.at < file->length && !lexer.failed) lex_one(&lexer);
    file->balanced &= lexer.depth == 0;
    lexer.at = file->length;
    if (!lexer.failed) add_token(&lexer, 0, TOKEN_DIRECTIVE);
    return !lexer.failed;
}

bool code_same(const struct code_file *file, size_t left, size_t right, size_t count) {
    for (size_t n = 0; n < count; n++) {
        const struct token *a = &file->tokens[left + n], *b = &file->tokens[right + n];
        if (a->length != b->length || memcmp(file->text + a->at, file->text + b->at, a->length) != 0) return false;
    }
    return true;
}

size_t code_close(const struct code_file *file, size_t open) {
    unsigned nested = 0;
    for (size_t at = open; at < file->count; at++) {
        if (file->tokens[at].kind == TOKEN_DIRECTIVE) return 0;
        if (token_is(file, at, "(")) nested++;
        if (token_is(file, at, ")") && --nested == 0) return at;
    }
    return 0;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Sets file->text. A file that cannot be read, is long or has zeros is taken as an empty one. */
static bool read_text(struct code_file *file, const char *path) {
    FILE *in = fopen(path, "rb");
    char *text = calloc(1, (size_t)BYTES_MOST + 1);
    if (text && in) file->length = fread(text, 1, BYTES_MOST, in);
    if (in) fclose(in);
    if (text && (file->length == BYTES_MOST || memchr(text, 0, file->length))) file->length = 0;
    file->text = text ? realloc(text, file->length + 1) : NULL;
    if (!file->text) free(text);
    if (file->text) file->text[file->length] = '\0';
    return file->text;
}

static bool add_file(struct code *code, const char *folder, const char *path) {
    if (!has_room(&code->files, code->count, &code->room, sizeof *code->files)) return false;
    struct code_file *file = &code->files[code->count];
    *file = (struct code_file){.path = strdup(path + strlen(folder) + 1)};
    if (!file->path) return false;
    code->count++;
    const char *slash = strrchr(file->path, '/');
    file->name = slash ? slash + 1 : file->path;
    for (size_t n = 0; n + 1 < code->count; n++) {
        if (strcmp(code->files[n].name, file->name) != 0) continue;
        code->files[n].doubtful = file->doubtful = true;
    }
    return read_text(file, path) && lex(file);
}

static bool is_code(const char *name) {
    static const char *const ends[] = {".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".inl", ".inc"};
    const char *dot = strrchr(name, '.');
    for (size_t n = 0; dot && n < sizeof ends / sizeof *ends; n++)
        if (strcmp(dot, ends[n]) == 0) return true;
    return false;
}

static bool read_folder(struct code *code, const char *top, const char *folder, int depth) {
    DIR *entries = depth < DEPTH_MOST ? opendir(folder) : NULL;
    char path[PATH_MAX];
    bool done = true;
    if (!entries) return true;
    for (const struct dirent *entry; done && code->entries < ENTRIES_MOST && (entry = readdir(entries));) {
        code->entries++;
        if (entry->d_name[0] == '.' || code->count == FILES_MOST) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) continue;
        if (entry->d_type == DT_DIR) done = read_folder(code, top, path, depth + 1);
        if (entry->d_type == DT_REG && is_code(entry->d_name)) done = add_file(code, top, path);
    }
    closedir(entries);
    return done;
}

static int by_path(const void *left, const void *right) {
    return strcmp(((const struct code_file *)left)->path, ((const struct code_file *)right)->path);
}

bool code_read(struct code *code, const char *folder) {
    bool done = read_folder(code, folder, folder, 0);
    if (code->count > 0) qsort(code->files, code->count, sizeof *code->files, by_path);
    return done;
}

void code_free(struct code *code) {
    for (size_t n = 0; n < code->count; n++) {
        free(code->files[n].path);
        free(code->files[n].text);
        free(code->files[n].tokens);
    }
    free(code->files);
    *code = (struct code){0};
}

struct code_file *code_find(const struct code *code, const char *name, size_t length) {
    for (size_t n = 0; n < code->count; n++)
        if (strlen(code->files[n].name) == length && memcmp(code->files[n].name, name, length) == 0)
            return &code->files[n];
    return NULL;
}

/* The file that the token includes by its name in quotes, or NULL. */
static struct code_file *included_at(const struct code *code, const struct code_file *file, size_t at) {
    const char *text = file->text + file->tokens[at].at, *end = text + file->tokens[at].length;
    if (file->tokens[at].kind != TOKEN_DIRECTIVE || text == end) return NULL;
    for (text++; text < end && (*text == ' ' || *text == '\t'); text++) {}
    if (strncmp(text, "include", strlen("include")) != 0) return NULL;
    const char *name = memchr(text, '"', (size_t)(end - text));
    const char *stop = name ? memchr(name + 1, '"', (size_t)(end - name - 1)) : NULL;
    if (!stop) return NULL;
    for (const char *slash = name; slash < stop; slash++)
        if (*slash == '/') name = slash;
    return code_find(code, name + 1, (size_t)(stop - name - 1));
}

void code_name(struct code *code, struct code_file *file) {
    if (file->named) return;
    file->named = true;
    for (size_t at = 0; at < file->count; at++) {
        struct code_file *included = included_at(code, file, at);
        if (included) code_name(code, included);
    }
}

static bool includes(const struct code *code, const struct code_file *file, const struct code_file *other, int depth) {
    if (file == other) return true;
    for (size_t at = 0; depth < DEPTH_MOST && at < file->count; at++) {
        const struct code_file *included = included_at(code, file, at);
        if (included && includes(code, included, other, depth + 1)) return true;
    }
    return false;
}

bool code_includes(const struct code *code, const struct code_file *file, const struct code_file *other) {
    return includes(code, file, other, 0);
}
