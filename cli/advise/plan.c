/* plan.c: see plan.h. First the recording is read by lines: whose blocks are allocated and freed at each. */
#define _GNU_SOURCE /* memmem */
#include "plan.h"
#include "../room.h"

#include "../replay/frames.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY  UINT32_MAX
#define SEVERAL (UINT32_MAX - 1)

/* What happens at an innermost frame, those within wrappers excepted. */
struct spot {
    const char *frame, *name; /* the name of the file; NULL: no line is known */
    size_t length, name_length;
    uint32_t line;
    uint32_t allocates, frees; /* the number of a source, NOBODY or SEVERAL */
};

/* Blocks of a source are allocated or freed at a spot. */
struct visit {
    uint32_t spot, source;
    bool frees;
};

struct planner {
    struct plans *plans;
    const struct advisor *advisor;
    struct spot *spots;
    size_t count;
    uint32_t *of_caller; /* the number of its spot */
    struct visit *visits;
    size_t visit_count, visit_room;
    struct map numbers; /* of the visits */
};

static void say(char *problem, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Sets the problem, if there is none yet. */
static void say(char *problem, size_t room, const char *format, ...) {
    va_list arguments;
    if (*problem) return;
    va_start(arguments, format);
    vsnprintf(problem, room, format, arguments);
    va_end(arguments);
}

#define SAY(of, ...) say((of)->problem, sizeof(of)->problem, __VA_ARGS__)

/* ---- The recording, by lines ------------------------------------------------------------------------------------- */

static void read_line(struct spot *spot) {
    struct frames_line place;
    if (!frames_line(spot->frame, spot->length, &place)) return;
    spot->name = place.name;
    spot->name_length = place.length;
    spot->line = place.line;
}

static bool same_line(const struct spot *a, const struct spot *b) {
    if (!a->name || !b->name)
        return !a->name && !b->name && a->length == b->length && memcmp(a->frame, b->frame, a->length) == 0;
    return a->line == b->line && a->name_length == b->name_length && memcmp(a->name, b->name, a->name_length) == 0;
}

static uint64_t key_of(const struct spot *spot) {
    uint64_t key = spot->line + UINT64_C(1469598103934665603);
    const char *text = spot->name ? spot->name : spot->frame;
    size_t length = spot->name ? spot->name_length : spot->length;
    for (size_t n = 0; n < length; n++) key = (key ^ (unsigned char)text[n]) * UINT64_C(1099511628211);
    return key | 1;
}

/* A key of another line is passed over. */
static bool number_of(struct planner *planner, struct map *map, const struct spot *spot, uint32_t *number) {
    uint64_t key = key_of(spot);
    while (map_get(map, key, number)) {
        if (same_line(&planner->spots[*number], spot)) return true;
        key += 2;
    }
    *number = (uint32_t)planner->count;
    if (!map_put(map, key, *number)) return false;
    planner->spots[planner->count++] = *spot;
    return true;
}

/* Begins with the innermost frame that is not in a wrapper. */
static const char *frames_outside_wrappers(const struct planner *planner, const char *frames) {
    for (const char *outside; (outside = frames_outside(frames)); frames = outside) {
        struct spot spot = {.frame = frames, .length = frames_first(frames)};
        read_line(&spot);
        if (!spot.name) break;
        if (!wrappers_at(&planner->plans->uses.wrappers, spot.name, spot.name_length, spot.line)) break;
    }
    return frames;
}

static bool find_spots(struct planner *planner) {
    const struct trace *trace = &planner->advisor->trace;
    struct map map = {0};
    planner->spots = calloc((size_t)trace->callers + 1, sizeof *planner->spots);
    planner->of_caller = malloc(((size_t)trace->callers + 1) * sizeof *planner->of_caller);
    bool done = planner->spots && planner->of_caller;
    for (uint32_t caller = 0; done && caller < trace->callers; caller++) {
        const char *frames = frames_outside_wrappers(planner, trace->names[caller]);
        struct spot spot = {.frame = frames, .length = frames_first(frames), .allocates = NOBODY, .frees = NOBODY};
        read_line(&spot);
        done = number_of(planner, &map, &spot, &planner->of_caller[caller]);
    }
    map_free(&map);
    return done;
}

static bool see(struct planner *planner, struct visit visit) {
    struct spot *spot = &planner->spots[visit.spot];
    uint32_t *whose = visit.frees ? &spot->frees : &spot->allocates, number;
    if (*whose == visit.source) return true;
    *whose = *whose == NOBODY ? visit.source : SEVERAL;
    uint64_t key = (((uint64_t)visit.spot << 32 | visit.source) << 1 | visit.frees) + 1;
    if (map_get(&planner->numbers, key, &number)) return true;
    if (!has_room(&planner->visits, planner->visit_count, &planner->visit_room, sizeof visit)) return false;
    planner->visits[planner->visit_count++] = visit;
    return map_put(&planner->numbers, key, 0);
}

/* A resized block is nobody's from then on. */
static bool see_operations(struct planner *planner) {
    const struct trace *trace = &planner->advisor->trace;
    uint32_t *owners = malloc(((size_t)trace->blocks + 1) * sizeof *owners);
    bool done = owners;
    for (size_t i = 0; done && i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        if (op->kind == TRACE_ALLOC) owners[op->block] = planner->advisor->sources.owners[i];
        if (op->kind == TRACE_REALLOC) owners[op->block] = SEVERAL;
        if (op->caller == TRACE_NOBODY) continue;
        done = see(planner, (struct visit){planner->of_caller[op->caller], owners[op->block], op->kind == TRACE_FREE});
    }
    free(owners);
    return done;
}

/* Notes which files belong to the program: those of all frames, and what they include. */
static void name_files(struct planner *planner) {
    const struct trace *trace = &planner->advisor->trace;
    struct code *code = &planner->plans->code;
    for (uint32_t caller = 0; caller < trace->callers; caller++) {
        for (const char *frame = trace->names[caller]; frame; frame = frames_outside(frame)) {
            struct spot spot = {.frame = frame, .length = frames_first(frame)};
            read_line(&spot);
            struct code_file *file = spot.name ? code_find(code, spot.name, spot.name_length) : NULL;
            if (file) code_name(code, file);
        }
    }
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static struct step *add_step(struct plan *plan) {
    if (!has_room(&plan->steps, plan->count, &plan->room, sizeof *plan->steps)) return NULL;
    plan->steps[plan->count] = (struct step){0};
    return &plan->steps[plan->count++];
}

static bool is_at(const struct spot *spot, const struct call *call) {
    struct spot wanted = {.name = call->file->name, .name_length = strlen(call->file->name), .line = call_line(call)};
    return spot->name && same_line(spot, &wanted);
}

static const struct spot *spot_at(const struct planner *planner, const struct call *call) {
    for (size_t n = 0; n < planner->count; n++)
        if (is_at(&planner->spots[n], call)) return &planner->spots[n];
    return NULL;
}

static bool has_odd_lines(const struct code_file *file) {
    return file->length == 0 || file->text[file->length - 1] != '\n' || memchr(file->text, '\r', file->length);
}

static void check_file(struct step *step, const struct code_file *file) {
    size_t length = strlen(file->name);
    if (file->doubtful) SAY(step, "there are several files %s", file->name);
    if (length < 3 || strcmp(file->name + length - 2, ".c") != 0) SAY(step, "only .c files are changed");
    if (!file->balanced) SAY(step, "the braces in %s are not understood", file->name);
    if (has_odd_lines(file)) SAY(step, "a line of %s does not end in just a newline", file->name);
}

/* Adds the place where objects of the source are allocated or freed, with the calls there. */
static bool add_recorded(const struct planner *planner, struct plan *plan, const struct spot *spot, bool frees) {
    const struct uses *uses = &planner->plans->uses;
    uint32_t whose = frees ? spot->frees : spot->allocates;
    size_t found = 0;
    for (size_t n = 0; n <= uses->count; n++) {
        const struct call *call = n < uses->count ? &uses->calls[n] : NULL;
        if (call ? !is_at(spot, call) || (call->kind != CALL_OTHER && (call->kind == CALL_FREE) != frees) : found > 0)
            continue;
        struct step *step = add_step(plan);
        if (!step) return false;
        found++;
        *step = (struct step){.frame = spot->frame, .length = spot->length, .call = call, .frees = frees};
        if (whose != plan->verdict->source->number)
            SAY(step, frees ? "blocks of other sources are freed there too, and the pool's free takes only its own"
                            : "blocks of other sources are allocated there too");
        if (!spot->name) SAY(step, "the recording has no line of source for it: compile the program with -g");
        if (call && call->problem) SAY(step, "%s", call->problem);
        if (call) check_file(step, call->file);
        const char *what = frees ? "free" : "malloc or calloc";
        if (!call && spot->name && !code_find(&planner->plans->code, spot->name, spot->name_length))
            SAY(step, "%.*s is not in this folder", (int)spot->name_length, spot->name);
        if (!call) SAY(step, "no call of %s is in this line: it is in a macro, a library or a wrapper", what);
    }
    return true;
}

static bool add_places(const struct planner *planner, struct plan *plan, bool frees) {
    for (size_t n = 0; n < planner->visit_count; n++) {
        const struct visit *visit = &planner->visits[n];
        if (visit->source == plan->verdict->source->number && visit->frees == frees &&
            !add_recorded(planner, plan, &planner->spots[visit->spot], frees))
            return false;
    }
    return true;
}

static bool has_step(const struct plan *plan, const struct call *call) {
    for (size_t n = 0; n < plan->count; n++)
        if (plan->steps[n].call == call) return true;
    return false;
}

/* Adds the calls that the recording does not assign to the source, but whose type may be that of its objects. */
static bool add_others(const struct planner *planner, struct plan *plan) {
    const struct uses *uses = &planner->plans->uses;
    for (size_t n = 0; n < uses->count; n++) {
        const struct call *call = &uses->calls[n];
        bool same = plan->type.text[0] && strcmp(call->type.text, plan->type.text) == 0;
        bool family = call->wrapper ? !call->wrapper->file : call->close > 0; /* which takes no block with a header */
        bool foreign = family && plan->wrapper && plan->wrapper->header;
        bool unknown = !call->type.text[0] && call->file->named && !foreign;
        if ((!same && !unknown) || has_step(plan, call)) continue;
        struct step *step = add_step(plan);
        if (!step) return false;
        const struct spot *spot = spot_at(planner, call);
        *step = (struct step){.call = call, .frees = call->kind == CALL_FREE};
        if (!call->file->named) SAY(step, "is this file a part of the program? The recording does not name it");
        if (call->problem) SAY(step, "%s", call->problem);
        if (spot && (step->frees ? spot->frees : spot->allocates) != NOBODY)
            SAY(step, "objects of the type are here that are not of this pool's source");
        check_file(step, call->file);
    }
    return true;
}

/* ---- The plan for a pool ----------------------------------------------------------------------------------------- */

static void find_type(struct plan *plan) {
    bool first = true;
    for (size_t n = 0; n < plan->count; n++) {
        const struct call *call = plan->steps[n].call;
        const struct wrapper *wrapper = call && call->wrapper && call->wrapper->file ? call->wrapper : NULL;
        if (plan->steps[n].frees) continue;
        plan->wrapper = first || plan->wrapper == wrapper ? wrapper : NULL;
        first = false;
    }
    for (size_t n = 0; n < plan->count; n++) {
        struct step *step = &plan->steps[n];
        if (!step->call || !step->call->type.text[0]) continue;
        if (!plan->type.text[0] && !step->frees) plan->type = step->call->type;
        if (strcmp(step->call->type.text, plan->type.text) != 0)
            SAY(step, "its type is %s, that of others is %s", step->call->type.text, plan->type.text);
    }
}

/* Looks at what the recording tells of the source. */
static void check_source(struct plan *plan) {
    const struct source *source = plan->verdict->source;
    uint64_t freed = source->left;
    for (size_t n = 0; n < source->end_count; n++) freed += source->ends[n].count;
    if (plan->verdict->advice == ADVICE_SHARED)
        SAY(plan, "several threads use it, and each needs its own %s_local", plan->verdict->name);
    if (source->resized > 0) SAY(plan, "some of its objects are resized by realloc");
    if (freed < source->allocations) SAY(plan, "the recording does not tell where all of its objects are freed");
}

/* Does one of the frames begin so? */
static bool has_frame(const char *frames, const char *what) {
    for (; frames; frames = frames_outside(frames))
        if (strncmp(frames, what, strlen(what)) == 0) return true;
    return false;
}

/* Every allocation must come after main has begun, in main's thread: its stack has main, or an earlier operation's had.
 * A stack that is cut off does not show main. */
static void check_callers(const struct planner *planner, struct plan *plan) {
    const struct trace *trace = &planner->advisor->trace;
    uint32_t begun = NOBODY; /* main's thread */
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        if (op->caller == TRACE_NOBODY || op->thread == begun) continue;
        if (begun == NOBODY && has_frame(trace->names[op->caller], "main (")) begun = op->thread;
        bool own = op->kind == TRACE_ALLOC && planner->advisor->sources.owners[i] == plan->verdict->source->number;
        if (!own || op->thread == begun) continue;
        SAY(plan, "the recording does not show that main has begun before its first allocation, in the same thread");
        return;
    }
}

static void check_home(const struct planner *planner, struct plan *plan) {
    const struct code *code = &planner->plans->code;
    size_t last = 0;
    if (!plan->type.text[0]) SAY(plan, "the type of its objects is not known");
    if (*plan->problem) return;
    plan->home = code_definition(code, &plan->type, &last);
    if (!plan->home) {
        SAY(plan, "no file defines %s alone and once", plan->type.text);
        return;
    }
    plan->home_line = plan->home->tokens[last].line;
    if (plan->home->doubtful) SAY(plan, "there are several files %s", plan->home->name);
    if (has_odd_lines(plan->home)) SAY(plan, "a line of %s does not end in just a newline", plan->home->name);
    for (size_t at = 0; at + 1 < last; at++)
        if (token_is(plan->home, at, "extern") && plan->home->tokens[at + 1].kind == TOKEN_TEXT)
            SAY(plan, "%s is for C++ too", plan->home->name);
    for (size_t n = 0; n < plan->count; n++) {
        struct step *step = &plan->steps[n];
        if (step->call && !code_includes(code, step->call->file, plan->home))
            SAY(step, "this file does not include %s, where %s is defined", plan->home->name, plan->type.text);
        if (step->call && step->call->file == plan->home && call_line(step->call) <= plan->home_line)
            SAY(step, "it stands before the definition of %s", plan->type.text);
    }
}

/* Finds the line where main begins. */
static void check_main(const struct planner *planner, struct plan *plan) {
    const struct code *code = &planner->plans->code;
    for (size_t n = 0; n < code->count; n++) {
        const struct code_file *file = &code->files[n];
        for (size_t at = 0; file->named && at + 2 < file->count; at++) {
            if (file->tokens[at].depth > 0 || !token_is(file, at, "main") || !token_is(file, at + 1, "(")) continue;
            size_t brace = code_close(file, at + 1) + 1;
            if (plan->main) SAY(plan, "there are several functions main");
            if (brace == 1 || brace + 1 >= file->count || !token_is(file, brace, "{") || file->doubtful ||
                has_odd_lines(file) || file->tokens[brace + 1].line == file->tokens[brace].line || !file->balanced) {
                SAY(plan, "main in %s is not understood", file->name);
                continue;
            }
            plan->main = file;
            plan->main_line = file->tokens[brace].line;
        }
    }
    if (!plan->main) SAY(plan, "main is not in a file of this folder");
}

/* The names of the pool must be new. */
static void check_names(const struct planner *planner, struct plan *plan) {
    const struct code *code = &planner->plans->code;
    const char *name = plan->verdict->name;
    size_t stem = (size_t)verdict_stem(plan->verdict);
    for (size_t n = 0; n < code->count; n++) {
        const struct code_file *file = &code->files[n];
        for (size_t at = 0; file->named && at < file->count; at++) {
            const struct token *token = &file->tokens[at];
            const char *word = file->text + token->at;
            if (token->length < stem || memcmp(word, name, stem) != 0) continue;
            bool pool = token->length >= stem + 5 && memcmp(word + stem, "_pool", 5) == 0;
            bool objects = token->length == stem + 8 && memcmp(word + stem, "_objects", 8) == 0;
            if (pool || objects) SAY(plan, "the program has the name %.*s already", (int)token->length, word);
        }
    }
}

static bool make(const struct planner *planner, struct plan *plan) {
    if (!add_places(planner, plan, false) || !add_places(planner, plan, true)) return false;
    find_type(plan);
    if (!add_others(planner, plan)) return false;
    check_source(plan);
    check_callers(planner, plan);
    check_home(planner, plan);
    check_main(planner, plan);
    check_names(planner, plan);
    return true;
}

/* Two pools of one type cannot be told apart where the recording did not come. */
static void check_types(struct plans *plans) {
    for (size_t a = 0; a < plans->count; a++)
        for (size_t b = 0; b < plans->count; b++)
            if (a != b && plans->plans[a].type.text[0] &&
                strcmp(plans->plans[a].type.text, plans->plans[b].type.text) == 0)
                SAY(&plans->plans[a], "%s has objects of the same type: should they be one pool?",
                    plans->plans[b].verdict->name);
}

static void decide(struct plan *plan) {
    bool wrapped = plan->wrapper || plan->verdict->source->innermost > 0;
    plan->certain = !*plan->problem;
    for (size_t n = 0; n < plan->count; n++) {
        const struct step *step = &plan->steps[n];
        plan->certain &= !*step->problem;
        if (!wrapped || !*step->problem || !step->frame || step->frees) continue;
        plan->through |= !plan->wrapper || step->call->problem; /* else the wrapper is not what hinders */
    }
    if (plan->through && !plan->wrapper) plan->type.text[0] = '\0'; /* that of the line in the wrapper */
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static bool make_all(struct planner *planner) {
    struct plans *plans = planner->plans;
    const struct advisor *advisor = planner->advisor;
    name_files(planner);
    if (!uses_find(&plans->uses, &plans->code)) return false;
    if (!find_spots(planner) || !see_operations(planner)) return false;
    plans->plans = calloc(advisor->count + 1, sizeof *plans->plans);
    bool done = plans->plans;
    for (size_t i = 0; done && i < advisor->count; i++) {
        if (advisor->advised[i].verdict.advice == ADVICE_LEAVE) continue;
        struct plan *plan = &plans->plans[plans->count++];
        plan->verdict = &advisor->advised[i].verdict;
        done = make(planner, plan);
    }
    if (!done) return false;
    check_types(plans);
    const struct code_file *header = code_find(&plans->code, "kolk.h", strlen("kolk.h"));
    bool in_two_files = header && !strstr(header->path, "kolk/kolk.h");
    for (size_t i = 0; i < plans->count; i++) {
        decide(&plans->plans[i]);
        plans->plans[i].in_two_files = in_two_files;
    }
    return true;
}

bool plans_make(struct plans *plans, const struct advisor *advisor, const char *folder) {
    struct planner planner = {.plans = plans, .advisor = advisor};
    *plans = (struct plans){0};
    bool done = code_read(&plans->code, folder) && make_all(&planner);
    free(planner.spots);
    free(planner.of_caller);
    free(planner.visits);
    map_free(&planner.numbers);
    if (!done) plans_free(plans);
    return done;
}

void plans_free(struct plans *plans) {
    for (size_t i = 0; i < plans->count; i++) free(plans->plans[i].steps);
    free(plans->plans);
    uses_free(&plans->uses);
    code_free(&plans->code);
    *plans = (struct plans){0};
}
