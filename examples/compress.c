/* Objects with costly parts, passed between threads. Each block owns a z_stream, which takes 256 KiB, and an output
 * buffer. setup makes both when a block is used for the first time, reset prepares the stream for the next use, and
 * teardown destroys both at the end of the pool. So four blocks compress a file of any length.
 *
 *     read ---- to_do ----> compress, three threads ---- done ----> keep
 *       ^                                                            |
 *       +---------------------- alloc_wait <------- free ------------+
 *
 * alloc_wait limits the reader: while all blocks are in use, it waits. By default, a shared pool with a setup hook has
 * no caches. So no thread keeps streams that others could use. */
#include <kolk/kolk.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { WORKERS = 3, BLOCKS = 4, PIECE = 16384, PIECES = 200 };

struct block {
    z_stream stream;    /* made by setup */
    unsigned char *out; /* the output buffer, also made by setup */
    size_t room, size;  /* the size of `out`, and the bytes in it */
    int number;         /* the number of the piece */
    unsigned char in[PIECE];
};
KOLK_SHARED_TYPE(blocks, struct block)
KOLK_QUEUE_TYPE(block_queue, struct block *)

struct piece { /* compressed */
    unsigned char *bytes;
    size_t size;
};

static blocks pool;
static block_queue to_do, done;
static struct piece pieces[PIECES];
static int streams; /* streams that were made and have not ended */

/* ---- What a block owns ------------------------------------------------------------------------------------------- */

static bool make_stream(void *object, void *context) {
    struct block *block = object;
    memset(&block->stream, 0, sizeof block->stream);
    if (deflateInit(&block->stream, Z_BEST_SPEED) != Z_OK) return false; /* alloc then returns NULL */
    block->room = deflateBound(&block->stream, PIECE);
    block->out = malloc(block->room);
    if (!block->out) {
        deflateEnd(&block->stream);
        return false;
    }
    __atomic_fetch_add((int *)context, 1, __ATOMIC_RELAXED); /* several threads may make streams at the same time */
    return true;
}

static void reset_stream(void *object, void *context) {
    struct block *block = object;
    (void)context;
    deflateReset(&block->stream);
}

static void end_stream(void *object, void *context) {
    struct block *block = object;
    deflateEnd(&block->stream);
    free(block->out);
    --*(int *)context;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

/* The contents of each piece of the "file" follow from its number. */
static void write_piece(unsigned char *bytes, int number) {
    char line[64];
    for (int at = 0, n = 0; at < PIECE; n++) {
        int length = snprintf(line, sizeof line, "%d: %d times %d is %d\n", number, n, number, n * number);
        if (length > PIECE - at) length = PIECE - at;
        memcpy(bytes + at, line, (size_t)length);
        at += length;
    }
}

static void *read_pieces(void *nothing) {
    blocks_local local;
    if (blocks_local_init(&local, &pool) != KOLK_OK) exit(1);
    for (int number = 0; number < PIECES; number++) {
        struct block *block = blocks_alloc_wait(&local, KOLK_FOREVER);
        if (!block) exit(1); /* no memory for its stream */
        block->number = number;
        write_piece(block->in, number);
        block_queue_push(&to_do, &block, KOLK_FOREVER);
    }
    block_queue_close(&to_do);
    blocks_local_deinit(&local);
    return nothing;
}

static void *compress_blocks(void *nothing) {
    for (struct block *block; block_queue_pop(&to_do, &block, KOLK_FOREVER) == KOLK_OK;) {
        block->stream.next_in = block->in;
        block->stream.avail_in = PIECE;
        block->stream.next_out = block->out;
        block->stream.avail_out = (uInt)block->room;
        if (deflate(&block->stream, Z_FINISH) != Z_STREAM_END) exit(1);
        block->size = block->stream.total_out;
        block_queue_push(&done, &block, KOLK_FOREVER);
    }
    return nothing;
}

/* The pieces come in any order. */
static void *keep_what_is_done(void *nothing) {
    blocks_local local;
    if (blocks_local_init(&local, &pool) != KOLK_OK) exit(1);
    for (struct block *block; block_queue_pop(&done, &block, KOLK_FOREVER) == KOLK_OK;) {
        struct piece *piece = &pieces[block->number];
        piece->bytes = malloc(block->size);
        if (!piece->bytes) exit(1);
        memcpy(piece->bytes, block->out, block->size);
        piece->size = block->size;
        blocks_free(&local, block);
    }
    blocks_local_deinit(&local);
    return nothing;
}

/* Checks that this piece decompresses to its original; returns its compressed bytes. */
static size_t check_piece(int number) {
    static unsigned char expected[PIECE], found[PIECE];
    uLongf size = PIECE;
    struct piece *piece = &pieces[number];
    write_piece(expected, number);
    if (uncompress(found, &size, piece->bytes, (uLong)piece->size) != Z_OK) exit(1);
    if (size != PIECE || memcmp(found, expected, PIECE) != 0) exit(1);
    free(piece->bytes);
    return piece->size;
}

int main(void) {
    const kolk_shared_desc desc = {
        .name = "blocks",
        .capacity = BLOCKS,
        .life.setup = make_stream,
        .life.reset = reset_stream,
        .life.teardown = end_stream,
        .context = &streams,
    };
    pthread_t reader, workers[WORKERS], keeper;
    size_t size = 0;
    if (blocks_init(&pool, &desc) != KOLK_OK) return 1;
    if (block_queue_init(&to_do, &(kolk_queue_desc){.name = "to do", .capacity = BLOCKS}) != KOLK_OK) return 1;
    if (block_queue_init(&done, &(kolk_queue_desc){.name = "done", .capacity = BLOCKS}) != KOLK_OK) return 1;
    if (pthread_create(&reader, NULL, read_pieces, NULL) != 0) return 1;
    for (int n = 0; n < WORKERS; n++)
        if (pthread_create(&workers[n], NULL, compress_blocks, NULL) != 0) return 1;
    if (pthread_create(&keeper, NULL, keep_what_is_done, NULL) != 0) return 1;
    pthread_join(reader, NULL);
    for (int n = 0; n < WORKERS; n++) pthread_join(workers[n], NULL);
    block_queue_close(&done); /* its remaining blocks are still popped */
    pthread_join(keeper, NULL);
    for (int number = 0; number < PIECES; number++) size += check_piece(number);
    printf("%d pieces of %d bytes went through %s\n", PIECES, PIECE, streams <= BLOCKS ? "4 streams" : "too many");
    printf("to less than a third: %s; all came back\n", size < (size_t)PIECES * PIECE / 3 ? "yes" : "no");
    block_queue_deinit(&done);
    block_queue_deinit(&to_do);
    blocks_deinit(&pool);
    printf("%d streams are left\n", streams);
}

/* runs: not:wine */
