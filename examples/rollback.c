/* Rollback netcode: a peer goes on without waiting for the other player's input, guesses that nothing was pressed, and
 * when the input arrives late, goes back to its frame and repeats the frames since then. Only what changed in each
 * frame is kept, as deltas that lead back. Then both peers have the same state, which they show each other by a hash.
 * */
#include "kolk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 60, WINDOW = 8, DELAY = 5, ROOM = 8192 };

struct bullet {
    float x, dx;
    char owner[40]; /* no padding and no pointers, which peers could not compare */
};
KOLK_POOL_TYPE(bullets, struct bullet)

typedef struct piece {
    unsigned char bytes[ROOM];
    size_t size;
} piece;

typedef struct peer {
    bullets pool;
    piece last;             /* the snapshot of the last frame */
    piece undo[WINDOW];     /* undo[f % WINDOW] leads from the end of frame f back to its beginning */
    bool pressed[FRAMES];   /* by the other player, as far as this peer knows */
    int frame;              /* the next one */
    unsigned repeated;      /* frames */
    size_t kept, snapshots; /* bytes of deltas, and of the snapshots that they replace */
} peer;

/* What the players do. Each peer knows only its own player's keys in time. */
static bool presses(int player, int frame) {
    return player ? frame % 11 == 2 : frame % 9 == 0;
}

static void check(bool right) {
    if (!right) exit(1);
}

static void take(peer *it, piece *into) {
    into->size = bullets_snapshot(&it->pool, into->bytes, ROOM);
    check(into->size > 0);
}

static void begin(peer *it) {
    check(bullets_init(&it->pool, &(kolk_pool_desc){.capacity = 100}) == KOLK_OK);
    take(it, &it->last);
}

static void fire(peer *it, int player) {
    struct bullet *bullet = bullets_alloc_zeroed(&it->pool);
    if (!bullet) return;
    bullet->x = player ? 100 : 0;
    bullet->dx = player ? -1.5f : 2;
    snprintf(bullet->owner, sizeof bullet->owner, "%s", player ? "the second player" : "the first player");
}

/* Simulates one frame: only the state, the frame's number and the keys decide what happens. */
static void simulate(peer *it, int frame, bool first, bool second) {
    piece *undo = &it->undo[frame % WINDOW], now;
    KOLK_EACH(bullets, bullet, &it->pool) {
        bullet->x += bullet->dx;
        if (bullet->x < 0 || bullet->x > 100) bullets_free(&it->pool, bullet);
    }
    if (first) fire(it, 0);
    if (second) fire(it, 1);
    take(it, &now);
    undo->size = kolk_snapshot_delta(now.bytes, now.size, it->last.bytes, it->last.size, undo->bytes, ROOM);
    check(undo->size > 0);
    it->kept += undo->size;
    it->snapshots += now.size;
    it->last = now;
}

/* Goes back to the beginning of a frame. */
static void roll_back(peer *it, int to) {
    piece before;
    for (int frame = it->frame; frame-- > to; it->last = before) {
        const piece *undo = &it->undo[frame % WINDOW];
        before.size = ROOM;
        check(kolk_snapshot_apply(it->last.bytes, it->last.size, undo->bytes, undo->size, before.bytes, &before.size) ==
              KOLK_OK);
    }
    check(bullets_restore(&it->pool, it->last.bytes, it->last.size) == KOLK_OK);
    it->repeated += (unsigned)(it->frame - to);
    for (int frame = to; frame < it->frame; frame++) simulate(it, frame, presses(0, frame), it->pressed[frame]);
}

/* The second player's keys of a past frame arrive at the first player's peer. */
static void receive(peer *it, int frame) {
    if (frame < 0 || !presses(1, frame)) return;
    it->pressed[frame] = true; /* it had guessed false */
    roll_back(it, frame);
}

int main(void) {
    static peer late, right;
    begin(&late);
    begin(&right);
    for (int frame = 0; frame < FRAMES; frame++) {
        receive(&late, frame - DELAY);
        simulate(&late, frame, presses(0, frame), late.pressed[frame]);
        late.frame++;
        simulate(&right, frame, presses(0, frame), presses(1, frame)); /* as if all keys arrived in time */
    }
    uint64_t expected = bullets_hash(&right.pool, NULL, NULL), before = bullets_hash(&late.pool, NULL, NULL);
    for (int frame = FRAMES - DELAY; frame < FRAMES; frame++) receive(&late, frame);
    uint64_t after = bullets_hash(&late.pool, NULL, NULL);
    printf("%d frames, %u of them repeated, %u bullets fly\n", FRAMES, late.repeated, bullets_count(&late.pool));
    printf("before the last keys arrive the hashes %s, then they %s\n", before == expected ? "are equal" : "differ",
           after == expected ? "are equal" : "differ");
    printf("the deltas take %s than half of the snapshots' bytes\n", late.kept * 2 < late.snapshots ? "less" : "more");
    bullets_clear(&late.pool);
    bullets_clear(&right.pool);
    bullets_deinit(&late.pool);
    bullets_deinit(&right.pool);
}

/* runs: sample */
