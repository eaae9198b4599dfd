/* cli/advise/code.h: the files of C in a folder, as tokens, and what can be said of the types of objects there.
 *
 * It is no compiler: macros are not expanded, and conditions of the preprocessor are not evaluated. What is said of a
 * type is certain only as far as all declarations of a name agree. Where they do not, there is no answer. */
#ifndef CLI_CODE_H
#define CLI_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
    TOKEN_WORD,
    TOKEN_NUMBER,
    TOKEN_TEXT,
    TOKEN_MARK,
    TOKEN_DIRECTIVE /* a whole line that begins with # */
};

struct token {
    uint32_t at, length, line; /* line: from 1 */
    uint16_t depth;            /* of braces around it; a brace counts as outside of itself */
    uint8_t kind;
    bool member; /* the innermost brace around it is that of a struct or union */
};

struct code_file {
    char *path;       /* in the folder */
    const char *name; /* the last part of path */
    char *text;
    size_t length;
    struct token *tokens; /* comments are left out; the last one is an empty directive */
    size_t count;
    bool balanced; /* every brace is closed */
    bool named;    /* the recording names it, or a file includes it that the recording names */
    bool doubtful; /* another file has the same name */
};

struct code {
    struct code_file *files;
    size_t count, room;
    size_t entries; /* of folders, looked at so far */
};

/* Reads all files of C in the folder and in those below it, hidden ones excepted. Returns false if memory runs out. */
bool code_read(struct code *code, const char *folder);
void code_free(struct code *code);

/* The file with this name, or NULL. */
struct code_file *code_find(const struct code *code, const char *name, size_t length);

/* Sets `named` of this file and of all files that it includes by their names in quotes. */
void code_name(struct code *code, struct code_file *file);

/* Does the file include the other one, directly or through others? It includes itself. */
bool code_includes(const struct code *code, const struct code_file *file, const struct code_file *other);

/* Is token `at` this text? */
bool token_is(const struct code_file *file, size_t at, const char *text);

/* Is token `at` one of these? NULL is the last. */
bool token_is_any(const struct code_file *file, size_t at, const char *const *words);

/* Are these tokens the same as those from `right` on? */
bool code_same(const struct code_file *file, size_t left, size_t right, size_t count);

/* The index of the parenthesis that closes the one at `open`, or 0. */
size_t code_close(const struct code_file *file, size_t open);

/* ---- Types ------------------------------------------------------------------------------------------------------- */

/* "struct node" or "node"; "" if it is not known. A typedef of a struct with a tag has the name of the struct. */
struct type {
    char text[96];
};

/* What the declarations of a name agree on. */
struct types {
    struct type type; /* what is pointed to, of the first declaration */
    size_t count;     /* of declarations; 0: none is there */
    bool differ;      /* they are of several types, or of pointers to pointers */
};

/* Reads a type at token `at`: "struct node", "const node". Returns the index of the token behind it, or `at` if there
 * is none. */
size_t code_type(const struct code *code, const struct code_file *file, size_t at, struct type *type);

/* Finds to what the expression of tokens from `begin` to before `end` points: "n", "list->first", "all[i]". The type is
 * "" if it is unknown. */
struct type code_type_of(const struct code *code, const struct code_file *file, size_t begin, size_t end);

/* Finds what the function around token `at` returns a pointer to. */
struct type code_type_of_function(const struct code *code, const struct code_file *file, size_t at);

/* Finds the only definition of a struct, union or typedef. Sets *last to the index of its last token, the semicolon.
 * Returns NULL if there is none, or more than one, or if another declaration is on its last line. */
struct code_file *code_definition(const struct code *code, const struct type *type, size_t *last);

#endif
