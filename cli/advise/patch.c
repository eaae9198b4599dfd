/* patch.c: prints what to change in a program's files: see plan.h. */
#define _POSIX_C_SOURCE 200809L
#include "../print.h"
#include "plan.h"

#include <stdlib.h>
#include <string.h>

enum { AROUND = 3 /* lines of context */, OTHERS_MOST = 4 };

/* A file as it would be: what replaces its lines, and what comes after them. */
struct draft {
    const struct code_file *file;
    size_t count;       /* of lines */
    const char **lines; /* from 1; each ends in a newline */
    char **replaced;    /* NULL: the line stays */
    char **after;       /* NULL: nothing is added */
};

/* ---- Words ------------------------------------------------------------------------------------------------------- */

static void print_objects(FILE *out, const struct verdict *verdict) {
    fprintf(out, "%.*s_objects", verdict_stem(verdict), verdict->name);
}

/* Prints from `from` up to the call, and the call itself as it would be. Returns the offset behind what is replaced. */
static size_t print_call(FILE *out, const struct verdict *verdict, const struct call *call, size_t from) {
    const struct code_file *file = call->file;
    const struct token *word = &file->tokens[call->word];
    fwrite(file->text + from, 1, word->at - from, out);
    bool frees = call->kind == CALL_FREE;
    fprintf(out, "%s_%s(&", verdict->name, frees ? "free" : call->wrapper->zeroed ? "alloc_zeroed" : "alloc");
    print_objects(out, verdict);
    fputs(frees ? ", " : ")", out);
    return frees ? file->tokens[call->begin].at : file->tokens[call->close].at + 1;
}

static size_t begin_of_line(const struct code_file *file, size_t at) {
    while (at > 0 && file->text[at - 1] != '\n') at--;
    return at;
}

static size_t end_of_line(const struct code_file *file, size_t at) {
    return at + strcspn(file->text + at, "\n");
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* Prints a line of source behind "#     ". */
static void print_code(FILE *out, const char *text, size_t length) {
    while (length > 0 && (*text == ' ' || *text == '\t')) text++, length--;
    fputs("#     ", out);
    for (size_t n = 0; n < length; n++) {
        bool control = ((unsigned char)text[n] < ' ' && text[n] != '\t') || text[n] == 127;
        fputc(control ? '?' : text[n], out);
    }
    fputc('\n', out);
}

static void print_would_be(FILE *out, const struct verdict *verdict, const struct call *call) {
    const struct code_file *file = call->file;
    char *text = NULL;
    size_t length, begin = begin_of_line(file, file->tokens[call->word].at);
    FILE *words = open_memstream(&text, &length);
    if (!words) return;
    size_t from = print_call(words, verdict, call, begin);
    fwrite(file->text + from, 1, end_of_line(file, from) - from, words);
    if (fclose(words) == 0) print_code(out, text, length);
    free(text);
}

static void print_step(FILE *out, const struct plan *plan, const struct step *step) {
    const struct call *call = step->call;
    fputs("#   ", out);
    if (call)
        fprintf(out, "%s:%u", call->file->path, (unsigned)call_line(call));
    else
        name_print(out, step->frame, step->length);
    if (call && !step->frame) fputs(", which the recording does not assign to this pool", out);
    if (*step->problem) fprintf(out, ": by hand: %s", step->problem);
    fputc('\n', out);
    if (!call) return;
    const struct code_file *file = call->file;
    size_t begin = begin_of_line(file, file->tokens[call->word].at);
    print_code(out, file->text + begin, end_of_line(file, begin) - begin);
    bool known = call->type.text[0] && strcmp(call->type.text, plan->type.text) == 0;
    if (known && !call->problem && plan->verdict->advice != ADVICE_SHARED) print_would_be(out, plan->verdict, call);
}

static void print_hand_declaration(FILE *out, const struct plan *plan) {
    const struct verdict *verdict = plan->verdict;
    bool shared = verdict->advice == ADVICE_SHARED;
    if (verdict->cxx != CXX_NOT) {
        verdict_print_class(out, verdict, "#   ");
        return;
    }
    fprintf(out, "#   %s(%s, %s)\n#   static %s ", shared ? "KOLK_SHARED_TYPE" : "KOLK_POOL_TYPE", verdict->name,
            plan->type.text[0] ? plan->type.text : "YOUR_TYPE", verdict->name);
    print_objects(out, verdict);
    fprintf(out, ";\n#   %s_init(&", verdict->name);
    print_objects(out, verdict);
    fprintf(out, ", &(kolk_%s_desc)", shared ? "shared" : "pool");
    verdict_print_desc(out, verdict);
    fputs(") must be KOLK_OK, before the first alloc\n", out);
}

static void print_wrapper(FILE *out, const struct plan *plan) {
    fputs("allocates through ", out);
    if (plan->wrapper)
        fwrite(plan->wrapper->name, 1, plan->wrapper->length, out);
    else
        name_print_wrapper(out, &plan->verdict->source->origins[0]);
    fputs(": by hand\n", out);
    if (plan->wrapper) return;
    fputs("#   ", out);
    name_print_source(out, plan->verdict->source);
    fputc('\n', out);
}

/* Calls of others that may be given such an object are many in large programs. */
static void print_steps(FILE *out, const struct plan *plan, size_t most) {
    size_t others = 0;
    for (size_t n = 0; n < plan->count; n++) {
        const struct step *step = &plan->steps[n];
        bool other = !plan->certain && !step->frame && !step->call->type.text[0];
        others += other;
        bool inside = plan->through && !plan->wrapper && step->frame && !step->frees; /* of the wrapper */
        if (!inside && (!other || others <= most)) print_step(out, plan, step);
    }
    if (others > most)
        fprintf(out, "#   and calls of others, whose types are not plain: %s\n", cli_count(others - most).text);
}

static void print_plan(FILE *out, const struct plan *plan) {
    const struct verdict *verdict = plan->verdict;
    bool header = plan->wrapper && plan->wrapper->header;
    fprintf(out, "#\n# %s: %s", verdict->name, advice_names[verdict->advice]);
    fprintf(out, " of %s, %s bytes%s%.*s, capacity %u; ", plan->type.text[0] ? plan->type.text : "an unknown type",
            cli_count(verdict->source->most).text, header ? " with the header of " : "",
            (int)(header ? plan->wrapper->length : 0), header ? plan->wrapper->name : "", (unsigned)verdict->capacity);
    if (plan->certain)
        fputs("in the diff\n", out);
    else if (plan->through)
        print_wrapper(out, plan);
    else if (*plan->problem)
        fprintf(out, "by hand: %s\n", plan->problem);
    else
        fputs("by hand, as one of its lines is:\n", out);
    if (!plan->certain) print_hand_declaration(out, plan);
    print_steps(out, plan, plan->through ? 0 : OTHERS_MOST);
    if (plan->wrapper && plan->certain)
        fprintf(out,
                "#   What %.*s does besides, such as a header or a count, is not done for them: see what needs it.\n",
                (int)plan->wrapper->length, plan->wrapper->name);
    if (verdict->advice == ADVICE_ARENA && plan->certain)
        fprintf(out, "#   They die together: once it works, %s_clear may replace these frees.\n", verdict->name);
}

static void print_list(FILE *out, const struct plans *plans, const struct advisor *advisor) {
    size_t certain = 0;
    for (size_t i = 0; i < plans->count; i++) certain += plans->plans[i].certain;
    fputs("# Pools for the program that was recorded in ", out);
    name_print(out, advisor->name, strlen(advisor->name));
    fprintf(out, ": %zu in the diff below, %zu to be done by hand.\n", certain, plans->count - certain);
    fputs("# In the folder of the sources, patch -p0 or git apply -p0 applies the diff. Link the program with kolk.\n"
          "# Lines that the recording did not reach are judged by the types in the text: read the diff before.\n",
          out);
    for (size_t i = 0; i < plans->count; i++) print_plan(out, &plans->plans[i]);
    if (certain > 0) fputc('\n', out);
}

/* ---- Drafts ------------------------------------------------------------------------------------------------------ */

static void free_draft(struct draft *draft) {
    for (size_t line = 0; draft->replaced && draft->after && line <= draft->count; line++) {
        free(draft->replaced[line]);
        free(draft->after[line]);
    }
    free(draft->lines);
    free(draft->replaced);
    free(draft->after);
}

static bool begin_draft(struct draft *draft, const struct code_file *file) {
    *draft = (struct draft){.file = file};
    for (size_t at = 0; at < file->length; at++) draft->count += file->text[at] == '\n';
    draft->lines = malloc((draft->count + 2) * sizeof *draft->lines);
    draft->replaced = calloc(draft->count + 2, sizeof *draft->replaced);
    draft->after = calloc(draft->count + 2, sizeof *draft->after);
    if (!draft->lines || !draft->replaced || !draft->after) return false;
    size_t at = 0;
    for (size_t line = 1; line <= draft->count + 1; line++) {
        draft->lines[line] = file->text + at;
        at = end_of_line(file, at) + 1;
    }
    return true;
}

/* Appends to what comes after the line. */
static bool add_after(struct draft *draft, size_t line, const char *text) {
    char **place = &draft->after[line];
    size_t before = *place ? strlen(*place) : 0, length = strlen(text);
    char *longer = realloc(*place, before + length + 1);
    if (!longer) return false;
    memcpy(longer + before, text, length + 1);
    *place = longer;
    return true;
}

/* May the functions of the pool be static? Then all of it is in one file. */
static bool is_in_one_file(const struct plan *plan) {
    return plan->home == plan->main && plan->home_line < plan->main_line;
}

static bool is_in_header(const struct plan *plan) {
    return strcmp(plan->home->name + strlen(plan->home->name) - 2, ".c") != 0;
}

static void print_begin(FILE *out, const struct plan *plan) {
    const struct verdict *verdict = plan->verdict;
    fprintf(out, "%svoid %s_begin(void) {\n    kolk_pool_desc desc = ", is_in_one_file(plan) ? "static " : "",
            verdict->name);
    verdict_print_desc(out, verdict);
    fprintf(out, ";\n    while (%s_init(&", verdict->name);
    print_objects(out, verdict);
    fputs(", &desc) != KOLK_OK) { /* as under ulimit -v, which leaves it fewer addresses */\n"
          "        if (desc.max_capacity / 2 < desc.capacity) abort();\n"
          "        desc.max_capacity /= 2;\n"
          "    }\n}\n",
          out);
}

/* Prints what comes after the definition of the type. */
static void print_home(FILE *out, const struct plan *plan) {
    const struct verdict *verdict = plan->verdict;
    bool header = is_in_header(plan), alone = is_in_one_file(plan);
    fprintf(out, "\n#include %s\n%sKOLK_POOL_TYPE(%s, %s)\n", plan->in_two_files ? "\"kolk.h\"" : "<kolk/kolk.h>",
            header ? "" : "#include <stdlib.h>\n", verdict->name, plan->type.text);
    fprintf(out, "%s%s ", header ? "extern " : "static ", verdict->name);
    print_objects(out, verdict);
    fputs(";\n", out);
    if (!alone) fprintf(out, "void %s_begin(void);\n", verdict->name);
    if (!header) print_begin(out, plan);
}

/* Prints what comes at the end of a file, if the type is defined in a header. */
static void print_storage(FILE *out, const struct plan *plan) {
    fprintf(out, "\n#include <stdlib.h>\n%s ", plan->verdict->name);
    print_objects(out, plan->verdict);
    fputs(";\n", out);
    print_begin(out, plan);
}

static void print_main(FILE *out, const struct plan *plan) {
    const char *name = plan->verdict->name;
    if (!is_in_one_file(plan)) fprintf(out, "    void %s_begin(void);\n", name);
    fprintf(out, "    %s_begin();\n", name);
}

static bool add_printed(struct draft *draft, size_t line, const struct plan *plan,
                        void (*print)(FILE *out, const struct plan *plan)) {
    char *text = NULL;
    size_t length;
    FILE *words = open_memstream(&text, &length);
    if (!words) return false;
    print(words, plan);
    bool done = fclose(words) == 0 && add_after(draft, line, text);
    free(text);
    return done;
}

/* The file of the first allocation. */
static const struct code_file *storage_of(const struct plan *plan) {
    for (size_t n = 0; n < plan->count; n++)
        if (!plan->steps[n].frees) return plan->steps[n].call->file;
    return NULL;
}

static bool draft_declarations(struct draft *draft, const struct plan *plan) {
    bool done = true;
    if (draft->file == plan->home) done &= add_printed(draft, plan->home_line, plan, print_home);
    if (draft->file == plan->main) done &= add_printed(draft, plan->main_line, plan, print_main);
    if (is_in_header(plan) && draft->file == storage_of(plan))
        done &= add_printed(draft, draft->count, plan, print_storage);
    return done;
}

static const struct plan *plan_of(const struct plans *plans, const struct call *call) {
    for (size_t i = 0; i < plans->count; i++)
        for (size_t n = 0; plans->plans[i].certain && n < plans->plans[i].count; n++)
            if (plans->plans[i].steps[n].call == call) return &plans->plans[i];
    return NULL;
}

/* Writes the line with all of its calls rewritten. */
static bool draft_line(struct draft *draft, const struct plans *plans, uint32_t line) {
    const struct code_file *file = draft->file;
    size_t length, from = (size_t)(draft->lines[line] - file->text);
    FILE *out = open_memstream(&draft->replaced[line], &length);
    if (!out) return false;
    for (size_t n = 0; n < plans->uses.count; n++) { /* in the order of columns */
        const struct call *call = &plans->uses.calls[n];
        const struct plan *plan = call->file == file && call_line(call) == line ? plan_of(plans, call) : NULL;
        if (plan) from = print_call(out, plan->verdict, call, from);
    }
    fwrite(file->text + from, 1, end_of_line(file, from) + 1 - from, out);
    return fclose(out) == 0;
}

static bool draft_all(struct draft *draft, const struct plans *plans) {
    bool done = begin_draft(draft, draft->file);
    for (size_t i = 0; done && i < plans->count; i++)
        if (plans->plans[i].certain) done = draft_declarations(draft, &plans->plans[i]);
    for (size_t n = 0; done && n < plans->uses.count; n++) {
        const struct call *call = &plans->uses.calls[n];
        if (call->file != draft->file || !plan_of(plans, call) || draft->replaced[call_line(call)]) continue;
        done = draft_line(draft, plans, call_line(call));
    }
    return done;
}

/* ---- The diff ---------------------------------------------------------------------------------------------------- */

static bool is_changed(const struct draft *draft, size_t line) {
    return draft->replaced[line] || draft->after[line];
}

/* The next changed line from `line` on; beyond the last one if there is none. */
static size_t next_change(const struct draft *draft, size_t line) {
    while (line <= draft->count && !is_changed(draft, line)) line++;
    return line;
}

static void print_lines(FILE *out, char mark, const char *text, size_t most, size_t *count) {
    while (*text && most-- > 0) {
        size_t length = strcspn(text, "\n") + 1;
        fputc(mark, out);
        fwrite(text, 1, length, out);
        text += length;
        ++*count;
    }
}

/* Prints the lines from `begin` to `end` as a hunk. `moved` is how many lines have been added before; returns how many
 * have been with it. */
static bool print_hunk(FILE *out, const struct draft *draft, size_t begin, size_t end, size_t *moved) {
    char *text = NULL;
    size_t length, old = end - begin + 1, new = 0, gone = 0;
    FILE *hunk = open_memstream(&text, &length);
    if (!hunk) return false;
    for (size_t line = begin; line <= end; line++) {
        const char *replaced = draft->replaced[line];
        if (replaced) {
            print_lines(hunk, '-', draft->lines[line], 1, &gone);
            print_lines(hunk, '+', replaced, 1, &new);
        } else {
            print_lines(hunk, ' ', draft->lines[line], 1, &new);
        }
        if (draft->after[line]) print_lines(hunk, '+', draft->after[line], SIZE_MAX, &new);
    }
    bool done = fclose(hunk) == 0;
    if (done) fprintf(out, "@@ -%zu,%zu +%zu,%zu @@\n%s", begin, old, begin + *moved, new, text);
    *moved += new - old;
    free(text);
    return done;
}

static bool print_diff(FILE *out, const struct draft *draft) {
    size_t moved = 0, line = next_change(draft, 1);
    if (line > draft->count) return true;
    fprintf(out, "--- %s\n+++ %s\n", draft->file->path, draft->file->path);
    while (line <= draft->count) {
        size_t before = draft->replaced[line] ? AROUND : AROUND - 1; /* a line is context for what is added after it */
        size_t begin = line > before ? line - before : 1, end = line, next;
        while ((next = next_change(draft, end + 1)) <= draft->count && next <= end + 2 * AROUND) end = next;
        size_t last = end + AROUND < draft->count ? end + AROUND : draft->count;
        if (!print_hunk(out, draft, begin, last, &moved)) return false;
        line = next;
    }
    return true;
}

int patch_write(const cli_context *cli, const struct advisor *advisor, const char *folder) {
    struct plans plans;
    bool done = plans_make(&plans, advisor, folder);
    if (done) print_list(cli->out, &plans, advisor);
    for (size_t n = 0; done && n < plans.code.count; n++) {
        struct draft draft = {.file = &plans.code.files[n]};
        if (!draft.file->named) continue;
        done = draft_all(&draft, &plans) && print_diff(cli->out, &draft);
        free_draft(&draft);
    }
    plans_free(&plans);
    return done ? CLI_OK : cli_fail(CLI_FAILED, "%s: there is no memory to look at its sources", advisor->name);
}
