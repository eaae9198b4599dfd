/* excerpts.c: see excerpts.h. */
#define _GNU_SOURCE /* DT_DIR */
#include "excerpts.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 3, FILES = 400, DEPTH = 10, ENTRIES = 200000, LINE_MOST = 100000, WIDTH = 200 };

struct place {
    const char *name;
    size_t length;
    uint32_t line;
};

struct file {
    char *name, *path; /* path: NULL if it is not found */
    uint32_t *lines;
    size_t count, room;
};

struct search {
    struct file files[FILES];
    size_t count, missing;
    size_t entries; /* of folders, looked at so far */
};

/* Reads "function (file.c:12)". */
static bool place_of(const struct digest_path *path, struct place *place) {
    const char *end = path->frame + path->length, *open = end;
    if (path->length < 6 || end[-1] != ')') return false;
    while (open > path->frame && open[-1] != '(') open--;
    const char *colon = memchr(open, ':', (size_t)(end - open));
    if (open == path->frame || !colon || colon == open) return false;
    *place = (struct place){open, (size_t)(colon - open), 0};
    for (const char *at = colon + 1; at < end - 1; at++) {
        if (*at < '0' || *at > '9' || place->line > LINE_MOST) return false;
        place->line = place->line * 10 + (uint32_t)(*at - '0');
    }
    return place->line > 0 && !memchr(open, '/', place->length);
}

static struct file *file_of(struct search *search, const struct place *place) {
    for (size_t n = 0; n < search->count; n++) {
        const char *name = search->files[n].name;
        if (strlen(name) == place->length && memcmp(name, place->name, place->length) == 0) return &search->files[n];
    }
    if (search->count == FILES) return NULL;
    struct file *file = &search->files[search->count];
    *file = (struct file){.name = strndup(place->name, place->length)};
    if (file->name) search->count++;
    return file->name ? file : NULL;
}

static void add_line(struct file *file, uint32_t line) {
    if (file->count == file->room) {
        size_t room = file->room ? 2 * file->room : 16;
        uint32_t *more = realloc(file->lines, room * sizeof *more);
        if (!more) return;
        file->lines = more;
        file->room = room;
    }
    file->lines[file->count++] = line;
}

static void look_at_file(struct search *search, const char *path, const char *name) {
    for (size_t n = 0; n < search->count; n++) {
        if (search->files[n].path || strcmp(search->files[n].name, name) != 0) continue;
        search->files[n].path = strdup(path);
        search->missing--;
    }
}

/* Hidden files and folders are left out. */
static void look_into(struct search *search, const char *folder, int depth) {
    DIR *entries = depth < DEPTH ? opendir(folder) : NULL;
    char path[PATH_MAX];
    if (!entries) return;
    for (const struct dirent *entry; search->missing && search->entries < ENTRIES && (entry = readdir(entries));) {
        search->entries++;
        if (entry->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) continue;
        if (entry->d_type == DT_DIR) look_into(search, path, depth + 1);
        if (entry->d_type == DT_REG) look_at_file(search, path, entry->d_name);
    }
    closedir(entries);
}

static bool is_near(const struct file *file, uint32_t line) {
    for (size_t n = 0; n < file->count; n++)
        if (line + AROUND >= file->lines[n] && line <= file->lines[n] + AROUND) return true;
    return false;
}

static void write_lines(cli_json *json, const struct file *file) {
    FILE *in = file->path ? fopen(file->path, "r") : NULL;
    char text[WIDTH], number[16];
    uint32_t line = 1;
    if (!in) return;
    cli_json_open(json, file->name, '{');
    cli_json_text(json, "path", strncmp(file->path, "./", 2) == 0 ? file->path + 2 : file->path);
    cli_json_open(json, "lines", '{');
    while (fgets(text, sizeof text, in) && line < LINE_MOST) {
        size_t length = strlen(text);
        bool whole = length > 0 && text[length - 1] == '\n';
        while (length > 0 && strchr("\r\n", text[length - 1])) text[--length] = 0;
        snprintf(number, sizeof number, "%u", line++);
        if (is_near(file, line - 1)) cli_json_text(json, number, text);
        for (int c = 0; !whole && c != EOF && c != '\n';) c = fgetc(in); /* the rest of a long line */
    }
    fclose(in);
    cli_json_close(json, '}');
    cli_json_close(json, '}');
}

void excerpts_write(cli_json *json, const char *folder, const struct digest *digest, const bool *wanted) {
    struct search *search = calloc(1, sizeof *search);
    struct place place;
    for (uint32_t n = 0; search && n < digest->path_count; n++) {
        struct file *file = wanted[n] && place_of(&digest->paths[n], &place) ? file_of(search, &place) : NULL;
        if (file) add_line(file, place.line);
    }
    if (!search) return;
    search->missing = search->count;
    look_into(search, folder, 0);
    for (size_t n = 0; n < search->count; n++) {
        write_lines(json, &search->files[n]);
        free(search->files[n].name);
        free(search->files[n].path);
        free(search->files[n].lines);
    }
    free(search);
}
