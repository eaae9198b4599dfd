/* processes.c: see processes.h. */
#define _POSIX_C_SOURCE 200809L
#include "processes.h"

#include "../json.h"
#include "../print.h"
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void top_program(int64_t process, char out[64]) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%lld/comm", (long long)process);
    FILE *file = fopen(name, "r");
    if (!file || !fgets(out, 64, file)) memcpy(out, "?", 2);
    if (file) fclose(file);
    out[strcspn(out, "\n")] = 0;
    top_clean(out);
}

/* Returns whether the process is listed. */
static bool list_process(int64_t process, cli_table *table, cli_json *json) {
    top_view view = {0};
    char program[64];
    if (top_look(&view, process, 0) || view.count == 0) {
        top_end(&view);
        return false;
    }
    top_program(process, program);
    if (json) {
        cli_json_open(json, NULL, '{');
        cli_json_count(json, "process", (uint64_t)process);
        cli_json_text(json, "program", program);
        cli_json_count(json, "pools", view.count);
        cli_json_count(json, "bytes_committed", view.memory);
        cli_json_close(json, '}');
    } else {
        fprintf(table->rows, "%lld\t%zu\t%s\t%s\n", (long long)process, view.count, cli_bytes(view.memory).text,
                program);
    }
    top_end(&view);
    return true;
}

int top_list(cli_context *cli) {
    DIR *folder = opendir("/proc");
    if (!folder) return cli_fail(CLI_FAILED, "/proc: %s", strerror(errno));
    cli_table table = {0};
    cli_json json = {.out = cli->out};
    if (cli->json) {
        cli_json_open(&json, NULL, '{');
        cli_json_open(&json, "processes", '[');
    } else {
        cli_table_begin(&table, "rrrl");
        fprintf(table.rows, "PROCESS\tPOOLS\tMEMORY\tPROGRAM\n");
    }
    size_t listed = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char *end;
        long long process = strtoll(entry->d_name, &end, 10);
        if (*end == 0 && process > 0 && process != getpid())
            listed += list_process(process, &table, cli->json ? &json : NULL);
    }
    closedir(folder);
    if (cli->json) {
        cli_json_close(&json, ']');
        cli_json_close(&json, '}');
    } else {
        cli_table_end(&table, cli);
        fputs(listed > 0 ? "kolk top PROCESS shows the pools of one.\n"
                         : "No process that you may look at has a pool of kolk. kolk run -- ... starts one that has.\n",
              cli->out);
    }
    return CLI_OK;
}
