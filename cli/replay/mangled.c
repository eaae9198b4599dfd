/* mangled.c: see mangled.h. The grammar is that of the Itanium C++ ABI, 5.1. Only the first name is read, and no type
 * behind it. Arguments of templates are skipped, token by token: what opens something ends with E. */
#include "mangled.h"

#include <stdbool.h>
#include <string.h>

struct reader {
    const char *at, *end;
    struct readable *name;
    size_t part, part_length; /* the last part of the name, which constructors repeat */
    bool failed;
};

static char next(const struct reader *reader) {
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static bool fail(struct reader *reader) {
    reader->failed = true;
    return false;
}

static bool take(struct reader *reader, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

static void put(struct reader *reader, const char *text, size_t length) {
    if (length > MANGLED_ROOM - reader->name->length) {
        fail(reader);
        return;
    }
    memcpy(reader->name->text + reader->name->length, text, length);
    reader->name->length += length;
}

/* Appends a part of the name, behind "::" unless it is the first one. */
static void put_part(struct reader *reader, const char *text, size_t length) {
    if (reader->name->length > 0) put(reader, "::", 2);
    reader->part = reader->name->length;
    reader->part_length = length;
    put(reader, text, length);
}

/* Passes a length and as many characters. */
static bool pass_word(struct reader *reader, const char **word, size_t *length) {
    size_t number = 0;
    while (is_digit(next(reader)) && number < MANGLED_ROOM) number = 10 * number + (size_t)(*reader->at++ - '0');
    if (number > (size_t)(reader->end - reader->at)) return fail(reader);
    *word = reader->at;
    *length = number;
    reader->at += number;
    return true;
}

/* ---- Arguments of templates -------------------------------------------------------------------------------------- */

static bool skip_to_end(struct reader *reader);

static void pass_number(struct reader *reader) { /* [0-9A-Z]* _ */
    while (is_digit(next(reader)) || (next(reader) >= 'A' && next(reader) <= 'Z')) reader->at++;
    if (!take(reader, "_")) fail(reader);
}

/* A literal: its type, its value, and E. */
static bool skip_literal(struct reader *reader) {
    const char *word;
    size_t length;
    if (take(reader, "_Z")) return skip_to_end(reader);
    if (is_digit(next(reader))) {
        pass_word(reader, &word, &length);
    } else if (take(reader, "N")) {
        skip_to_end(reader);
    } else if (take(reader, "S")) {
        pass_number(reader);
    } else if (is_lower(next(reader))) {
        reader->at++;
    } else if (!take(reader, "Dn")) {
        return fail(reader);
    }
    while (is_digit(next(reader)) || is_lower(next(reader))) reader->at++; /* the value */
    return take(reader, "E") || fail(reader);
}

/* Passes all up to the E that belongs to what has been opened. */
static bool skip_to_end(struct reader *reader) {
    const char *word;
    size_t depth = 1, length;
    while (depth > 0 && !reader->failed) {
        char c = next(reader);
        if (is_digit(c)) {
            pass_word(reader, &word, &length);
            continue;
        }
        reader->at += c != '\0';
        bool opens = c != '\0' && strchr("NIJXFZ", c);
        if ((c == 'D' && (next(reader) == 't' || next(reader) == 'T')) || (c == 'U' && next(reader) == 'l')) {
            reader->at++;
            opens = true;
        }
        if (c == 'E')
            depth--;
        else if (opens)
            depth++;
        else if (c == 'L' && next(reader) != 'L' && depth < MANGLED_ROOM)
            skip_literal(reader);
        else if ((c == 'S' || c == 'T' || c == 'D') && is_lower(next(reader)))
            reader->at++;
        else if (c == 'S' || c == 'T' || c == 'A')
            pass_number(reader);
        else if (!is_lower(c) && (c == '\0' || !strchr("MPROKVCGYBQU_", c)))
            return fail(reader);
    }
    return !reader->failed;
}

/* ---- The name ---------------------------------------------------------------------------------------------------- */

static bool take_operator(struct reader *reader) {
    static const char *const operators[][2] = {
        {"nw", "operator new"}, {"na", "operator new[]"}, {"dl", "operator delete"}, {"da", "operator delete[]"},
        {"aS", "operator="},    {"cl", "operator()"},     {"ix", "operator[]"},      {"pl", "operator+"},
        {"pL", "operator+="},   {"mi", "operator-"},      {"mL", "operator*="},      {"ml", "operator*"},
        {"eq", "operator=="},   {"ne", "operator!="},     {"lt", "operator<"},       {"gt", "operator>"},
        {"ls", "operator<<"},   {"rs", "operator>>"},     {"pt", "operator->"},      {"de", "operator*"},
        {"pp", "operator++"},   {"mm", "operator--"},     {"ss", "operator<=>"},
    };
    for (size_t n = 0; n < sizeof operators / sizeof *operators; n++) {
        if (!take(reader, operators[n][0])) continue;
        put_part(reader, operators[n][1], strlen(operators[n][1]));
        return true;
    }
    return false;
}

static bool take_standard(struct reader *reader) {
    static const char *const standard[][2] = {
        {"St", "std"},          {"Sa", "std::allocator"}, {"Sb", "std::basic_string"}, {"Ss", "std::string"},
        {"Si", "std::istream"}, {"So", "std::ostream"},   {"Sd", "std::iostream"},
    };
    for (size_t n = 0; n < sizeof standard / sizeof *standard; n++) {
        if (!take(reader, standard[n][0])) continue;
        put_part(reader, standard[n][1], strlen(standard[n][1]));
        return true;
    }
    return false;
}

static bool take_word(struct reader *reader) {
    static const char anonymous[] = "_GLOBAL__N";
    const char *word;
    size_t length;
    take(reader, "L"); /* a name that is local to its file */
    if (!is_digit(next(reader)) || !pass_word(reader, &word, &length)) return false;
    if (length >= strlen(anonymous) && memcmp(word, anonymous, strlen(anonymous)) == 0)
        word = "(anonymous namespace)", length = strlen(word);
    put_part(reader, word, length);
    return true;
}

/* Constructors and destructors have the name of their class. */
static bool take_structor(struct reader *reader) {
    char part[MANGLED_ROOM + 1] = "~";
    bool ends = next(reader) == 'D', begins = next(reader) == 'C';
    if ((!ends && !begins) || reader->end - reader->at < 2 || !is_digit(reader->at[1]) || reader->name->length == 0)
        return false;
    reader->at += 2;
    memcpy(part + 1, reader->name->text + reader->part, reader->part_length);
    put_part(reader, part + begins, reader->part_length + ends);
    return true;
}

static bool take_part(struct reader *reader) {
    const char *word;
    size_t length;
    if (take(reader, "I")) {
        put(reader, "<...>", 5);
        return skip_to_end(reader);
    }
    if (take(reader, "B")) return pass_word(reader, &word, &length); /* a tag */
    if (take(reader, "Ul")) {
        put_part(reader, "{lambda}", 8);
        if (!skip_to_end(reader)) return false;
        pass_number(reader);
        return !reader->failed;
    }
    return take_standard(reader) || take_operator(reader) || take_structor(reader) || take_word(reader);
}

static void read_name(struct reader *reader) {
    if (take(reader, "Z")) { /* a name within a function */
        read_name(reader);
        if (!reader->failed && skip_to_end(reader)) read_name(reader);
        return;
    }
    if (take(reader, "N")) {
        while (next(reader) != '\0' && strchr("rVKRO", next(reader))) reader->at++;
        while (!reader->failed && !take(reader, "E"))
            if (!take_part(reader)) fail(reader);
        return;
    }
    if (take(reader, "St")) put_part(reader, "std", 3);
    if (next(reader) == 'I' || !take_part(reader)) fail(reader);
    if (!reader->failed && next(reader) == 'I') take_part(reader);
}

static bool is_of_name(char c) {
    return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t mangled_read(const char *text, size_t length, struct readable *readable) {
    size_t whole = 0;
    while (whole < length && is_of_name(text[whole])) whole++;
    struct reader reader = {.at = text, .end = text + whole, .name = readable};
    readable->length = 0;
    if (whole > MANGLED_ROOM || !take(&reader, "_Z")) return 0;
    read_name(&reader);
    return reader.failed || readable->length == 0 ? 0 : whole;
}
