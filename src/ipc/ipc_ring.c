/* ipc_ring.c: the rings of the queues.
 *
 *     cell      | lap, 32 bits | 0: empty, slot + 1, or END |     cell `ticket & mask` in lap `ticket / cells`
 *     tickets   head: of the next pop; tail: of the next push
 *
 * A push and a pop each take effect by one compare-and-exchange, and everybody who comes later completes the rest:
 *
 *     push      1  the life becomes queued              only the owner knows
 *               2  the cell of the tail gets the slot   **now it is pushed**
 *               3  the tail advances
 *     pop       1  the life of the slot in the head's cell becomes the popper's: **now it is popped**
 *               2  the cell becomes empty, of the next lap
 *               3  the head advances
 *
 * A push that finds the tail's cell full, and a pop that finds the head's cell empty or its slot claimed, does steps 2
 * and 3 for the other thread and goes on. So no step waits for another thread: the ring is lock-free, and a process may
 * die after any of them. (Tsigas, Zhang, "A simple, fast and scalable non-blocking concurrent FIFO queue for shared
 * memory multiprocessor systems", 2001, has cells that are exchanged first and ends that others advance. Here the life
 * is claimed, not the cell, so what is popped has an owner at once.)
 *
 * A ticket is used once, and a cell contains its lap, so no exchange of a cell or a ticket can succeed late. A claim
 * cannot either. The popper reads the cell, then the life, then the head again. If the head has not moved, nobody had
 * completed the pop of this ticket when the life was read; so the slot had not been freed or pushed again by whoever
 * claims it, and a life that says queued is that of this push. Each push changes the count of pushes in the life, so
 * the exchange fails if anything happened since. For the same reason, recovery completes a claimed pop before it frees
 * the slots of the dead.
 *
 * Both counts wrap round. If a thread is stopped between two instructions, and meanwhile the object that it claims is
 * pushed exactly 2^19 times, or a multiple of that, by the same process in the same life, then it pops that object out
 * of turn; still nobody else pops it, and nothing is lost. A cell looks the same after 2^32 laps.
 *
 * Full and empty. A cell of this lap that is empty at the head means that nothing is in the queue, because the cells
 * are filled in order. A queue is full if the tail is queue_capacity tickets ahead of the head, and the object at the
 * head is not claimed.
 *
 * The end of a closed queue is an entry, too, behind which nothing is pushed: a push looks at the cell before the
 * tail's first. So a push is either before the end and is popped, or is refused. There are more cells than
 * queue_capacity, for this mark. */
#include "ipc_inside.h"

#if KOLK_HOSTED

#define END UINT32_MAX /* above any slot + 1 */

static uint64_t *cell_at(const kolk_ipc *pool, const ipc_queue *in, uint64_t ticket) {
    size_t ring = (size_t)pool->ring_mask + 1, n = (size_t)(in - pool->queues_at);
    return pool->rings + n * ring + (size_t)(ticket & pool->ring_mask);
}

/* A cell with this content in the lap of a ticket. */
static uint64_t cell_of_lap(const kolk_ipc *pool, uint64_t ticket, uint32_t content) {
    uint64_t ring = (uint64_t)pool->ring_mask + 1;
    return ticket / ring << 32 | content;
}

static uint64_t read_cell(const kolk_ipc *pool, const ipc_queue *in, uint64_t ticket) {
    return kolk_load_(cell_at(pool, in, ticket), KOLK_SEQ_CST_);
}

static bool change_cell(const kolk_ipc *pool, const ipc_queue *in, uint64_t ticket, uint64_t from, uint64_t to) {
    return kolk_compare_exchange_(cell_at(pool, in, ticket), &from, to, KOLK_SEQ_CST_, KOLK_RELAXED_);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static void advance(uint64_t *end, uint64_t ticket) {
    kolk_compare_exchange_(end, &ticket, ticket + 1, KOLK_SEQ_CST_, KOLK_RELAXED_);
}

static uint64_t read_ticket(const uint64_t *end) {
    return kolk_load_(end, KOLK_SEQ_CST_);
}

/* ---- Pop --------------------------------------------------------------------------------------------------------- */

/* Steps 2 and 3 of a pop. */
static void complete_pop(const kolk_ipc *pool, ipc_queue *in, uint64_t ticket, uint64_t cell) {
    change_cell(pool, in, ticket, cell, cell_of_lap(pool, ticket + pool->ring_mask + 1, 0));
    advance(&in->head, ticket);
}

typedef enum ipc_head { NOTHING, AT_END, MOVED, CLAIMED, POPPABLE, BAD } ipc_head;

/* Looks at the entry of the head. POPPABLE: `life` is that of its slot, and of this push. CLAIMED: complete it. */
static ipc_head look_at_head(const kolk_ipc *pool, const ipc_queue *in, uint64_t *ticket, uint64_t *cell,
                             uint64_t *life) {
    *ticket = read_ticket(&in->head);
    *cell = read_cell(pool, in, *ticket);
    uint32_t content = (uint32_t)*cell;
    bool is_slot = content && content != END;
    if (is_slot && content > pool->capacity) return BAD;
    if (is_slot) *life = life_at(pool, content - 1);
    if (read_ticket(&in->head) != *ticket) return MOVED;
    if (*cell == cell_of_lap(pool, *ticket, 0)) return NOTHING;
    if (!content) return CLAIMED; /* and emptied */
    if (content == END) return AT_END;
    return has_live_object(*life) && (*life & IPC_QUEUED) ? POPPABLE : CLAIMED;
}

kolk_status kolk_ipc_take_(const kolk_ipc *pool, ipc_queue *in, uint32_t me, uint32_t *slot) {
    uint64_t ticket, cell, life = 0;
    for (uint32_t rounds = 0; rounds < IPC_MOST_ROUNDS; rounds++) {
        bool mine = false;
        switch (look_at_head(pool, in, &ticket, &cell, &life)) {
        case NOTHING:
            return KOLK_EMPTY;
        case AT_END:
            return KOLK_CLOSED;
        case BAD:
            rounds = IPC_MOST_ROUNDS - 1;
            continue;
        case MOVED:
            continue;
        case POPPABLE:
            *slot = (uint32_t)cell - 1;
            mine = change_life(pool, *slot, life, owned_life(life, me));
            if (!mine) continue; /* claimed, or just inherited from a dead process, and in the queue still */
            break;
        case CLAIMED:
            break;
        }
        complete_pop(pool, in, ticket, cell);
        if (mine) return KOLK_OK;
    }
    note_corruption(pool);
    return KOLK_CORRUPT;
}

/* ---- Push -------------------------------------------------------------------------------------------------------- */

/* Is there no room between these? A tail that was read long ago may be behind the head: then there is, and the push
 * fails at its cell. */
static bool are_far_apart(const kolk_ipc *pool, uint64_t head, uint64_t tail) {
    return (int64_t)(tail - head) >= (int64_t)pool->queue_capacity;
}

/* Is the queue full? If a pop at the head is claimed, completes it, and returns false. The head only increases, so a
 * queue that had room with the head that a push has seen has it still: most pushes need not fetch the head's line from
 * another processor. */
static bool is_ring_full(const kolk_ipc *pool, ipc_queue *in, uint64_t tail) {
    uint64_t ticket, cell, life = 0;
    if (!are_far_apart(pool, kolk_load_(&in->seen, KOLK_RELAXED_), tail)) return false;
    uint64_t now = read_ticket(&in->head);
    kolk_store_(&in->seen, now, KOLK_RELAXED_);
    if (!are_far_apart(pool, now, tail)) return false;
    ipc_head head = look_at_head(pool, in, &ticket, &cell, &life);
    if (head == CLAIMED) complete_pop(pool, in, ticket, cell);
    return head == POPPABLE && are_far_apart(pool, ticket, tail);
}

static bool is_end_before(const kolk_ipc *pool, const ipc_queue *in, uint64_t ticket) {
    return ticket && read_cell(pool, in, ticket - 1) == cell_of_lap(pool, ticket - 1, END);
}

/* Has the push with this ticket taken effect, if that is what its cell contains? */
static bool is_pushed(const kolk_ipc *pool, uint64_t ticket, uint64_t cell) {
    int32_t laps = (int32_t)((uint32_t)(cell >> 32) - (uint32_t)(cell_of_lap(pool, ticket, 0) >> 32));
    return laps > 0 || (laps == 0 && (uint32_t)cell);
}

/* Does steps 2 and 3 of a push, or step 3 of another thread's; *done says which. */
static kolk_status try_put(const kolk_ipc *pool, ipc_queue *in, uint32_t content, bool *done) {
    uint64_t tail = read_ticket(&in->tail);
    if (is_end_before(pool, in, tail)) return KOLK_CLOSED;
    if (content != END && is_ring_full(pool, in, tail)) return KOLK_FULL;
    *done = change_cell(pool, in, tail, cell_of_lap(pool, tail, 0), cell_of_lap(pool, tail, content));
    if (*done || is_pushed(pool, tail, read_cell(pool, in, tail))) advance(&in->tail, tail);
    return KOLK_OK;
}

static kolk_status put(const kolk_ipc *pool, ipc_queue *in, uint32_t content) {
    bool done = false;
    for (uint32_t rounds = 0; rounds < IPC_MOST_ROUNDS; rounds++) {
        kolk_status status = try_put(pool, in, content, &done);
        if (done || status != KOLK_OK) return status;
    }
    note_corruption(pool);
    return KOLK_CORRUPT;
}

kolk_status kolk_ipc_put_(const kolk_ipc *pool, ipc_queue *in, uint32_t slot) {
    return put(pool, in, slot + 1);
}

void kolk_ipc_mark_end_(const kolk_ipc *pool, ipc_queue *in) {
    put(pool, in, END);
}

/* ---- Recovery ---------------------------------------------------------------------------------------------------- */

/* Returns the number of entries from *head on, with the mark of the end. The tail may lag behind by one, and that entry
 * may be popped already. */
static uint32_t entries_from(const kolk_ipc *pool, const ipc_queue *in, uint64_t *head) {
    *head = read_ticket(&in->head);
    uint64_t tail = read_ticket(&in->tail);
    uint64_t count = tail + is_pushed(pool, tail, read_cell(pool, in, tail)) - *head;
    return count <= pool->ring_mask ? (uint32_t)count : pool->ring_mask + 1;
}

static void complete_pops(const kolk_ipc *pool, ipc_queue *in) {
    uint64_t ticket, cell, life = 0;
    for (uint32_t rounds = 0; rounds <= pool->ring_mask; rounds++) {
        ipc_head head = look_at_head(pool, in, &ticket, &cell, &life);
        if (head == CLAIMED) complete_pop(pool, in, ticket, cell);
        if (head != CLAIMED && head != MOVED) return;
    }
}

static void inherit(const kolk_ipc *pool, const ipc_queue *in, const ipc_dead *dead) {
    uint64_t head;
    for (uint32_t left = entries_from(pool, in, &head); left > 0; left--, head++) {
        uint32_t content = (uint32_t)read_cell(pool, in, head);
        if (content == 0 || content > pool->capacity) continue;
        uint64_t life = life_at(pool, content - 1);
        bool pushed = has_live_object(life) && (life & IPC_QUEUED) && is_dead(dead, life_owner(life));
        if (pushed) change_life(pool, content - 1, life, life & ~IPC_OWNER); /* fails if it is popped now */
    }
}

void kolk_ipc_settle_(const kolk_ipc *pool, const ipc_dead *dead) {
    for (uint32_t each = 0; each < pool->queues; each++) {
        complete_pops(pool, &pool->queues_at[each]);
        inherit(pool, &pool->queues_at[each], dead);
    }
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

bool kolk_ipc_is_at_end_(const kolk_ipc *pool, const ipc_queue *in) {
    uint64_t ticket, cell, life = 0;
    return look_at_head(pool, in, &ticket, &cell, &life) == AT_END;
}

uint32_t kolk_ipc_entries_(const kolk_ipc *pool, const ipc_queue *in) {
    uint64_t head, ticket, cell, life = 0;
    uint32_t count = entries_from(pool, in, &head);
    if (count && is_end_before(pool, in, head + count)) count--;
    if (count && look_at_head(pool, in, &ticket, &cell, &life) == CLAIMED) count--;
    return count;
}

/* An entry of the head that is claimed, and a tail that lags, are what the dead may leave. */
static bool mark_entry(const kolk_ipc *pool, uint32_t slot, bool at_head, uint64_t *marks) {
    if (slot >= pool->capacity) return false;
    uint64_t life = life_at(pool, slot), bit = kolk_bits_at_(slot), *word = &marks[slot / 64];
    if (!has_live_object(life) || !(life & IPC_QUEUED)) return at_head;
    bool again = *word & bit;
    *word |= bit;
    return !again;
}

bool kolk_ipc_is_ring_valid_(const kolk_ipc *pool, const ipc_queue *in, uint64_t *marks) {
    uint64_t head;
    uint32_t count = entries_from(pool, in, &head), cells = pool->ring_mask + 1;
    if (count > pool->queue_capacity + is_end_before(pool, in, head + count)) return false;
    for (uint32_t n = 0; n < count; n++) {
        uint64_t cell = read_cell(pool, in, head + n);
        uint32_t content = (uint32_t)cell;
        if (n == 0 && cell == cell_of_lap(pool, head + cells, 0)) continue;
        if (cell != cell_of_lap(pool, head + n, content) || content == 0) return false;
        if (content == END ? n != count - 1 : !mark_entry(pool, content - 1, n == 0, marks)) return false;
    }
    for (uint32_t n = count; n < cells; n++)
        if (read_cell(pool, in, head + n) != cell_of_lap(pool, head + n, 0)) return false;
    return true;
}

#endif
