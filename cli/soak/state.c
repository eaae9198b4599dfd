/* state.c: see state.h. The file is a head, a body, and a checksum of both:
 *
 *     head    "kolksoak", the version of this format, a number that shows the byte order, bytes of the body
 *     body    struct soak_state, the number of cycles, the state of the random numbers; for each store its counts and,
 *             if it is saved, the size and count of its snapshot, its book and its block
 *
 * The body is built, and checked, in memory. */
#define _POSIX_C_SOURCE 200809L
#include "state.h"
#include "../../src/os/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 1 };
static const char magic[8] = {'k', 'o', 'l', 'k', 's', 'o', 'a', 'k'};
static const uint32_t order = 0x01020304;

struct head {
    char magic[8];
    uint32_t version, order;
    uint64_t size;
};

/* Returns a checksum by FNV-1a, eight bytes at a time. */
static uint64_t sum_of(const void *bytes, size_t size) {
    uint64_t sum = UINT64_C(0xcbf29ce484222325), word = 0;
    for (size_t at = 0; at < size; at += sizeof word) {
        size_t part = size - at < sizeof word ? size - at : sizeof word;
        word = 0;
        memcpy(&word, (const char *)bytes + at, part);
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
        sum ^= sum >> 32;
    }
    return sum;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void put(FILE *file, const void *bytes, size_t size) {
    fwrite(bytes, 1, size, file); /* errors are found at the end, by ferror */
}

static void put_store(FILE *file, const struct soak_store *store) {
    const struct soak_saved *saved = &store->saved;
    put(file, &store->counts, sizeof store->counts);
    if (!store->kind->saved) return;
    uint64_t sizes[2] = {saved->size, saved->count};
    put(file, sizes, sizeof sizes);
    put(file, saved->book, saved->count * sizeof *saved->book);
    put(file, saved->block, saved->size);
}

static bool put_body(FILE *file, const struct soak_state *state, struct soak_load *load, struct soak_problem *problem) {
    put(file, state, sizeof *state);
    put(file, &load->cycles, sizeof load->cycles);
    put(file, &load->random, sizeof load->random);
    for (size_t n = 0; n < SOAK_KINDS; n++) {
        struct soak_store *store = &load->stores[n];
        if (store->kind->saved && !soak_store_save(store))
            return soak_wrong(problem, store->problem.claim, "%s", store->problem.text);
        put_store(file, store);
    }
    return true;
}

/* The old file stays until the new one is complete. */
static bool replace(const char *path, const char *body, size_t size, struct soak_problem *problem) {
    struct head head = {.version = VERSION, .order = order, .size = size};
    memcpy(head.magic, magic, sizeof magic);
    uint64_t sum = sum_of(&head, sizeof head) ^ sum_of(body, size);
    kolk_new_file_ file;
    errno = 0;
    bool written = kolk_file_begin_(&file, path);
    if (written) {
        put(file.out, &head, sizeof head);
        put(file.out, body, size);
        put(file.out, &sum, sizeof sum);
        written = kolk_file_end_(&file);
    }
    return written || soak_wrong(problem, SOAK_SYSTEM, "%.100s: cannot be written: %s", path, strerror(errno));
}

bool soak_state_write(const char *path, const struct soak_state *state, struct soak_load *load,
                      struct soak_problem *problem) {
    char *body = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&body, &size);
    if (!memory) return soak_wrong(problem, SOAK_SYSTEM, "there is no memory");
    bool done = put_body(memory, state, load, problem);
    bool whole = !ferror(memory);
    whole &= fclose(memory) == 0;
    if (done && !whole) done = soak_wrong(problem, SOAK_SYSTEM, "there is no memory");
    if (done) done = replace(path, body, size, problem);
    free(body);
    return done;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

struct reader {
    const char *at, *end;
};

static bool take(struct reader *reader, void *out, size_t size) {
    if ((size_t)(reader->end - reader->at) < size) return false;
    memcpy(out, reader->at, size);
    reader->at += size;
    return true;
}

static bool take_store(struct reader *reader, struct soak_store *store) {
    struct soak_saved *saved = &store->saved;
    uint64_t sizes[2];
    if (!take(reader, &store->counts, sizeof store->counts)) return false;
    if (!store->kind->saved) return true;
    if (!take(reader, sizes, sizeof sizes) || sizes[1] > store->kind->most) return false;
    if ((uint64_t)(reader->end - reader->at) < sizes[0]) return false;
    free(saved->block);
    saved->block = malloc(sizes[0]);
    if (!saved->block) return false;
    saved->size = saved->room = sizes[0];
    saved->count = (uint32_t)sizes[1];
    if (!take(reader, saved->book, saved->count * sizeof *saved->book)) return false;
    for (uint32_t n = 0; n < saved->count; n++)
        if (saved->book[n].size != store->kind->size) return false;
    return take(reader, saved->block, saved->size);
}

static bool take_body(struct reader *reader, struct soak_state *state, struct soak_load *load,
                      struct soak_problem *problem) {
    bool all = take(reader, state, sizeof *state) && take(reader, &load->cycles, sizeof load->cycles) &&
               take(reader, &load->random, sizeof load->random);
    for (size_t n = 0; n < SOAK_KINDS; n++) all = all && take_store(reader, &load->stores[n]);
    if (!all || reader->at != reader->end)
        return soak_wrong(problem, SOAK_SYSTEM, "what is in it is not as its head says");
    for (size_t n = 0; n < SOAK_KINDS; n++) {
        struct soak_store *store = &load->stores[n];
        if (store->kind->saved && !soak_store_restore(store))
            return soak_wrong(problem, store->problem.claim, "%s", store->problem.text);
    }
    return true;
}

/* Reads the whole file. On failure returns NULL and sets `problem`. Refuses devices and pipes, which may have no end
 * and must not be replaced. */
static char *slurp(const char *path, size_t *size, struct soak_problem *problem) {
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        soak_wrong(problem, SOAK_SYSTEM, "it is no file, but a folder, a pipe or a device");
        return NULL;
    }
    char *bytes = NULL, part[65536];
    FILE *file = fopen(path, "rb"), *memory = open_memstream(&bytes, size);
    if (!file) soak_wrong(problem, SOAK_SYSTEM, "it cannot be opened: %s", strerror(errno));
    if (!memory) soak_wrong(problem, SOAK_SYSTEM, "there is no memory");
    for (size_t length; file && memory && (length = fread(part, 1, sizeof part, file)) > 0;) put(memory, part, length);
    if (file && ferror(file)) soak_wrong(problem, SOAK_SYSTEM, "it cannot be read: %s", strerror(errno));
    if (file) fclose(file);
    if (memory && fclose(memory) != 0) soak_wrong(problem, SOAK_SYSTEM, "there is no memory");
    if (!problem->text[0]) return bytes;
    free(bytes);
    return NULL;
}

static bool prove(const char *bytes, size_t size, struct soak_problem *problem) {
    struct head head;
    uint64_t sum;
    if (size < sizeof head || memcmp(bytes, magic, sizeof magic) != 0)
        return soak_wrong(problem, SOAK_SYSTEM, "it is not the state of a soak test");
    memcpy(&head, bytes, sizeof head);
    if (head.order != order) return soak_wrong(problem, SOAK_SYSTEM, "it is of a machine with another byte order");
    if (head.version != VERSION) return soak_wrong(problem, SOAK_SYSTEM, "it is of another version of its format");
    if (head.size != size - sizeof head - sizeof sum || size < sizeof head + sizeof sum)
        return soak_wrong(problem, SOAK_SYSTEM, "it is cut off, or there is more than its head says");
    memcpy(&sum, bytes + size - sizeof sum, sizeof sum);
    if (sum != (sum_of(&head, sizeof head) ^ sum_of(bytes + sizeof head, head.size)))
        return soak_wrong(problem, SOAK_SYSTEM, "it is damaged: its checksum is wrong");
    return true;
}

bool soak_state_read(const char *path, struct soak_state *state, struct soak_load *load, struct soak_problem *problem) {
    size_t size;
    char *bytes = slurp(path, &size, problem);
    bool done = bytes && prove(bytes, size, problem);
    struct reader reader = {bytes, bytes};
    if (done) {
        reader.at += sizeof(struct head);
        reader.end += size - sizeof(uint64_t);
        done = take_body(&reader, state, load, problem);
    }
    free(bytes);
    return done;
}
