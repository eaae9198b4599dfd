/* cli/report/excerpts.h: the lines of a program's source files that its recording names. */
#ifndef CLI_EXCERPTS_H
#define CLI_EXCERPTS_H

#include "../json.h"
#include "digest.h"

/* Writes {"FILE": {"path": "FOLDER/FILE", "lines": {"12": "text", ...}}, ...} for the frames of these paths (wanted[n]
 * is true for path n) that name a file and a line: this line and some around it. Looks for the files in this folder and
 * the folders in it. A file that is not there, or has fewer lines, is left out. */
void excerpts_write(cli_json *json, const char *folder, const struct digest *digest, const bool *wanted);

#endif
