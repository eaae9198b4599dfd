/* sites_name.c: shortens the names that C++ compilers give to functions: "_ZN4game5enemy3hitEi+0x2c" becomes
 * "game::enemy::hit+0x2c". See cxx_name.h. It allocates nothing, which libstdc++'s __cxa_demangle does, and a program
 * in C has no libstdc++.
 *
 * The grammar is that of the Itanium C++ ABI, 5.1. Only the first name is read, and no type behind it. Arguments of
 * templates are skipped, token by token: what opens something ends with E. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_HOSTED && defined(__linux__)

#include "cxx_name.h"
#include "sites_inside.h"

typedef struct cxx_reader {
    const char *at, *end;
    kolk_cxx_name_ *name;
    size_t part, part_length; /* the last part of the name, which constructors repeat */
    bool failed;
} cxx_reader;

static char next_char(const cxx_reader *reader) {
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static bool give_up_name(cxx_reader *reader) {
    reader->failed = true;
    return false;
}

static bool take_text(cxx_reader *reader, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

static void put_text(cxx_reader *reader, const char *text, size_t length) {
    if (length > KOLK_CXX_NAME_ROOM_ - reader->name->length) {
        give_up_name(reader);
        return;
    }
    memcpy(reader->name->text + reader->name->length, text, length);
    reader->name->length += length;
}

/* Appends a part of the name, behind "::" unless it is the first one. */
static void put_part(cxx_reader *reader, const char *text, size_t length) {
    if (reader->name->length > 0) put_text(reader, "::", 2);
    reader->part = reader->name->length;
    reader->part_length = length;
    put_text(reader, text, length);
}

/* Passes a length and as many characters. */
static bool pass_word(cxx_reader *reader, const char **word, size_t *length) {
    size_t number = 0;
    while (is_digit(next_char(reader)) && number < KOLK_CXX_NAME_ROOM_)
        number = 10 * number + (size_t)(*reader->at++ - '0');
    if (number > (size_t)(reader->end - reader->at)) return give_up_name(reader);
    *word = reader->at;
    *length = number;
    reader->at += number;
    return true;
}

/* ---- Arguments of templates -------------------------------------------------------------------------------------- */

static bool skip_to_end(cxx_reader *reader);

static void pass_number(cxx_reader *reader) { /* [0-9A-Z]* _ */
    while (is_digit(next_char(reader)) || (next_char(reader) >= 'A' && next_char(reader) <= 'Z')) reader->at++;
    if (!take_text(reader, "_")) give_up_name(reader);
}

/* A literal: its type, its value, and E. */
static bool skip_literal(cxx_reader *reader) {
    const char *word;
    size_t length;
    if (take_text(reader, "_Z")) return skip_to_end(reader);
    if (is_digit(next_char(reader))) {
        pass_word(reader, &word, &length);
    } else if (take_text(reader, "N")) {
        skip_to_end(reader);
    } else if (take_text(reader, "S")) {
        pass_number(reader);
    } else if (is_lower(next_char(reader))) {
        reader->at++;
    } else if (!take_text(reader, "Dn")) {
        return give_up_name(reader);
    }
    while (is_digit(next_char(reader)) || is_lower(next_char(reader))) reader->at++; /* the value */
    return take_text(reader, "E") || give_up_name(reader);
}

/* Passes all up to the E that belongs to what has been opened. */
static bool skip_to_end(cxx_reader *reader) {
    const char *word;
    size_t depth = 1, length;
    while (depth > 0 && !reader->failed) {
        char c = next_char(reader);
        if (is_digit(c)) {
            pass_word(reader, &word, &length);
            continue;
        }
        reader->at += c != '\0';
        bool opens = c != '\0' && strchr("NIJXFZ", c);
        if ((c == 'D' && (next_char(reader) == 't' || next_char(reader) == 'T')) ||
            (c == 'U' && next_char(reader) == 'l')) {
            reader->at++;
            opens = true;
        }
        if (c == 'E')
            depth--;
        else if (opens)
            depth++;
        else if (c == 'L' && next_char(reader) != 'L' && depth < KOLK_CXX_NAME_ROOM_)
            skip_literal(reader);
        else if ((c == 'S' || c == 'T' || c == 'D') && is_lower(next_char(reader)))
            reader->at++;
        else if (c == 'S' || c == 'T' || c == 'A')
            pass_number(reader);
        else if (!is_lower(c) && (c == '\0' || !strchr("MPROKVCGYBQU_", c)))
            return give_up_name(reader);
    }
    return !reader->failed;
}

/* ---- The name ---------------------------------------------------------------------------------------------------- */

static bool take_abbreviation(cxx_reader *reader) {
    static const char *const abbreviations[][2] = {
        {"nw", "operator new"},   {"na", "operator new[]"},    {"dl", "operator delete"}, {"da", "operator delete[]"},
        {"aS", "operator="},      {"cl", "operator()"},        {"ix", "operator[]"},      {"pl", "operator+"},
        {"pL", "operator+="},     {"mi", "operator-"},         {"mL", "operator*="},      {"ml", "operator*"},
        {"eq", "operator=="},     {"ne", "operator!="},        {"lt", "operator<"},       {"gt", "operator>"},
        {"ls", "operator<<"},     {"rs", "operator>>"},        {"pt", "operator->"},      {"de", "operator*"},
        {"pp", "operator++"},     {"mm", "operator--"},        {"ss", "operator<=>"},     {"St", "std"},
        {"Sa", "std::allocator"}, {"Sb", "std::basic_string"}, {"Ss", "std::string"},     {"Si", "std::istream"},
        {"So", "std::ostream"},   {"Sd", "std::iostream"},
    };
    for (size_t n = 0; n < sizeof abbreviations / sizeof *abbreviations; n++) {
        if (!take_text(reader, abbreviations[n][0])) continue;
        put_part(reader, abbreviations[n][1], strlen(abbreviations[n][1]));
        return true;
    }
    return false;
}

static bool take_word(cxx_reader *reader) {
    static const char anonymous[] = "_GLOBAL__N";
    const char *word;
    size_t length;
    take_text(reader, "L"); /* a name that is local to its file */
    if (!is_digit(next_char(reader)) || !pass_word(reader, &word, &length)) return false;
    if (length >= strlen(anonymous) && memcmp(word, anonymous, strlen(anonymous)) == 0)
        word = "(anonymous namespace)", length = strlen(word);
    put_part(reader, word, length);
    return true;
}

/* Constructors and destructors have the name of their class. */
static bool take_structor(cxx_reader *reader) {
    char part[KOLK_CXX_NAME_ROOM_ + 1] = "~";
    bool ends = next_char(reader) == 'D', begins = next_char(reader) == 'C';
    if ((!ends && !begins) || reader->end - reader->at < 2 || !is_digit(reader->at[1]) || reader->name->length == 0)
        return false;
    reader->at += 2;
    memcpy(part + 1, reader->name->text + reader->part, reader->part_length);
    put_part(reader, part + begins, reader->part_length + ends);
    return true;
}

static bool take_part(cxx_reader *reader) {
    const char *word;
    size_t length;
    if (take_text(reader, "I")) {
        put_text(reader, "<...>", 5);
        return skip_to_end(reader);
    }
    if (take_text(reader, "B")) return pass_word(reader, &word, &length); /* a tag */
    if (take_text(reader, "Ul")) {
        put_part(reader, "{lambda}", 8);
        if (!skip_to_end(reader)) return false;
        pass_number(reader);
        return !reader->failed;
    }
    return take_abbreviation(reader) || take_structor(reader) || take_word(reader);
}

static void read_cxx_name(cxx_reader *reader) {
    if (take_text(reader, "Z")) { /* a name within a function */
        read_cxx_name(reader);
        if (!reader->failed && skip_to_end(reader)) read_cxx_name(reader);
        return;
    }
    if (take_text(reader, "N")) {
        while (next_char(reader) != '\0' && strchr("rVKRO", next_char(reader))) reader->at++;
        while (!reader->failed && !take_text(reader, "E"))
            if (!take_part(reader)) give_up_name(reader);
        return;
    }
    if (take_text(reader, "St")) put_part(reader, "std", 3);
    if (next_char(reader) == 'I' || !take_part(reader)) give_up_name(reader);
    if (!reader->failed && next_char(reader) == 'I') take_part(reader);
}

static bool is_of_name(char c) {
    return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t kolk_cxx_name_read_(const char *text, size_t length, kolk_cxx_name_ *name) {
    size_t whole = 0;
    while (whole < length && is_of_name(text[whole])) whole++;
    cxx_reader reader = {.at = text, .end = text + whole, .name = name};
    name->length = 0;
    if (!take_text(&reader, "_Z")) return 0;
    read_cxx_name(&reader);
    return reader.failed || name->length == 0 ? 0 : whole;
}

void kolk_site_shorten_(site_text *out, size_t start) {
    kolk_cxx_name_ name;
    char distance[40] = "";
    size_t whole = kolk_cxx_name_read_(out->text + start, out->length - start, &name);
    const char *behind = out->text + start + whole;
    if (whole == 0 || strlen(behind) >= sizeof distance) return;
    memcpy(distance, behind, strlen(behind) + 1);
    out->length = start;
    add_text(out, name.text, name.length);
    add_text(out, distance, strlen(distance));
}

#endif
