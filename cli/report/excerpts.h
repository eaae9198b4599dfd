/* cli/report/excerpts.h: the lines of a program's source files that its recording names. */
#ifndef CLI_EXCERPTS_H
#define CLI_EXCERPTS_H

#include "../json.h"

#include <stddef.h>

struct excerpts;

/* Returns NULL if there is no memory. */
struct excerpts *excerpts_new(void);
void excerpts_free(struct excerpts *excerpts);

/* Adds the lines around each of these frames, which have " < " between them, as far as they name a file and a line. */
void excerpts_add(struct excerpts *excerpts, const char *frames, size_t length);

/* Writes {"FILE": {"path": "FOLDER/FILE", "lines": {"12": "text", ...}}, ...}. Looks for the files in this folder and
 * the folders in it. A file that is not there is left out. */
void excerpts_write(cli_json *json, const char *key, struct excerpts *excerpts, const char *folder);

#endif
