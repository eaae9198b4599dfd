/* excerpts.c: see excerpts.h. */
#define _GNU_SOURCE /* DT_DIR, memmem */
#include "excerpts.h"
#include "../replay/frames.h"
#include "../room.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 3, FILES = 400, DEPTH = 10, ENTRIES = 200000, LINE_MOST = 100000, WIDTH = 200 };

struct file {
    char *name, *path; /* path: NULL if it is not found */
    uint32_t *lines;
    size_t count, room;
};

struct excerpts {
    struct file files[FILES];
    size_t count, missing;
    size_t entries; /* of folders, looked at so far */
};

static struct file *file_of(struct excerpts *excerpts, const struct frames_line *place) {
    for (size_t n = 0; n < excerpts->count; n++) {
        const char *name = excerpts->files[n].name;
        if (strlen(name) == place->length && memcmp(name, place->name, place->length) == 0) return &excerpts->files[n];
    }
    if (excerpts->count == FILES) return NULL;
    struct file *file = &excerpts->files[excerpts->count];
    *file = (struct file){.name = strndup(place->name, place->length)};
    if (file->name) excerpts->count++;
    return file->name ? file : NULL;
}

static void add_line(struct file *file, uint32_t line) {
    if (!has_room(&file->lines, file->count, &file->room, sizeof *file->lines)) return;
    file->lines[file->count++] = line;
}

static void look_at_file(struct excerpts *excerpts, const char *path, const char *name) {
    for (size_t n = 0; n < excerpts->count; n++) {
        if (excerpts->files[n].path || strcmp(excerpts->files[n].name, name) != 0) continue;
        excerpts->files[n].path = strdup(path);
        excerpts->missing--;
    }
}

/* Hidden files and folders are left out. */
static void look_into(struct excerpts *excerpts, const char *folder, int depth) {
    DIR *entries = depth < DEPTH ? opendir(folder) : NULL;
    char path[PATH_MAX];
    if (!entries) return;
    for (const struct dirent *entry; excerpts->missing && excerpts->entries < ENTRIES && (entry = readdir(entries));) {
        excerpts->entries++;
        if (entry->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) continue;
        if (entry->d_type == DT_DIR) look_into(excerpts, path, depth + 1);
        if (entry->d_type == DT_REG) look_at_file(excerpts, path, entry->d_name);
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

struct excerpts *excerpts_new(void) {
    return calloc(1, sizeof(struct excerpts));
}

void excerpts_free(struct excerpts *excerpts) {
    for (size_t n = 0; excerpts && n < excerpts->count; n++) {
        free(excerpts->files[n].name);
        free(excerpts->files[n].path);
        free(excerpts->files[n].lines);
    }
    free(excerpts);
}

void excerpts_add(struct excerpts *excerpts, const char *frames, size_t length) {
    static const char between[] = " < ";
    if (length == 0) return; /* of the root, which has no frame */
    for (const char *end = frames + length; frames;) {
        const char *stop = memmem(frames, (size_t)(end - frames), between, sizeof between - 1);
        size_t own = (size_t)((stop ? stop : end) - frames);
        struct frames_line place;
        struct file *file = frames_line(frames, own, &place) && !memchr(place.name, '/', place.length)
                                ? file_of(excerpts, &place)
                                : NULL;
        if (file) add_line(file, place.line);
        frames = stop ? stop + sizeof between - 1 : NULL;
    }
}

void excerpts_write(cli_json *json, const char *key, struct excerpts *excerpts, const char *folder) {
    excerpts->missing = excerpts->count;
    look_into(excerpts, folder, 0);
    cli_json_open(json, key, '{');
    for (size_t n = 0; n < excerpts->count; n++) write_lines(json, &excerpts->files[n]);
    cli_json_close(json, '}');
}
