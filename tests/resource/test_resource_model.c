/* runs: slow with: src wraps: resource/resource_clock.h */
/* Random operations on a resource pool in one thread, on a scripted clock, compared with a model that predicts each:
 * what a borrow returns and which resource it gets, the calls of the factory's functions and their order, why each
 * resource is destroyed, the reports, and all statistics. While a borrow waits, the test plays other threads that
 * return resources, or that resume, resize or close the pool. Reads KOLK_TEST_SEED and KOLK_TEST_OPS (operations in
 * total) from the environment.
 * promise: "With the deadline ... resource is good", "The pool has no ... borrow returns KOLK_NOT_CREATED", "It may be
 * copied ... has no borrow", "all zero, there is no key and no waiting", "Lends a resource ... becomes idle", "If the
 * status is not KOLK_OK, out->resource ... most 30 s", "`creating` excludes ... had to wait",
 * "kolk_resource_stats", "KOLK_REUSE_LIFO: the one ... idle longest", "Ends a borrow whose ... destroys the resource",
 * "Cleans a resource that comes back, for the next", "resources of the key ... At most max", "Called for keepalive ...
 * the borrower gets another one", "the interval for validating idle resources", "The same for each ... resources that
 * are being created", "Surplus resources ... min_idle, or KOLK_NO_MEMORY" */
#include "../help/threads.h"

#include "resource/resource_inside.h"

#include "resource_clock.h"

#define MS INT64_C(1000000)

enum { MOST = 5, RECORDS = 4096, KEPT = 8 };

/* ---- What has happened ------------------------------------------------------------------------------------------- */

/* A call of the factory, or an event while a borrow waits: others act, it wakes for no reason, or its deadline
 * passes. */
typedef enum event {
    CALLED,
    OTHERS_GIVE,
    OTHERS_DISCARD,
    OTHERS_DETACH,
    OTHERS_RESUME,
    OTHERS_RESIZE,
    OTHERS_CLOSE,
    NO_REASON,
    LATE
} event;

typedef struct record {
    event event;
    deed what;       /* CALLED: the function that the pool called */
    uint32_t number; /* CALLED: of the resource, 0 for create. OTHERS: of the returned resource, or the new max */
    bool good;
    int64_t end; /* when it was over, by the clock */
    char key[THING_KEY];
} record;

/* ---- The model --------------------------------------------------------------------------------------------------- */

typedef struct resource {
    uint32_t number, slot;
    const char *key;
    bool lent, evicted, told;
    bool is_back; /* others have returned it, but the model has not processed that yet */
    int64_t idle_since, proved, since, expires;
    kolk_borrowed borrow;
} resource;

typedef struct model {
    kolk_resource_pool pool;
    factory f;
    kolk_resource_pool_desc desc; /* its times are in nanoseconds */
    resource *there[MOST + 1];    /* in the order of their slots */
    resource pieces[MOST];
    uint32_t count, max, made, uses;
    bool paused, closed;
    int64_t backoff, retry_at;
    kolk_resource_pool_stats stats;
    kolk_borrowed ended[KEPT]; /* some borrows that have ended */
    uint32_t endings;
    uint32_t reports; /* of leaks, and of leaked resources that were returned */
    record records[RECORDS];
    uint32_t recorded, checked;
    const char *waits_for; /* the key of a waiting borrow; NULL: none waits */
    resource *served;      /* the resource that the waiter got */
    bool may_create;       /* or it may create one, replacing in_place_of */
    resource *in_place_of;
} model;

static model m;
static uint64_t dice;
static notes told;

static const char *const keys[] = {"", "a", "b", "long key"};

static bool happens(uint32_t one_of) {
    return random_below(&dice, one_of) == 0;
}

static record *new_record(event happened) {
    assert_true(m.recorded < RECORDS);
    m.records[m.recorded] = (record){.event = happened, .end = clock_ns};
    return &m.records[m.recorded++];
}

static const record *next_record(event expected) {
    assert_true(m.checked < m.recorded);
    const record *next = &m.records[m.checked++];
    assert_int_equal(next->event, expected);
    return next;
}

/* Checks that the pool called this function next. */
static const record *next_call(deed what, uint32_t number) {
    const record *next = next_record(CALLED);
    assert_int_equal(next->what, what);
    assert_int_equal(next->number, number);
    return next;
}

static outcome decide(factory *f, deed what, const thing *it) {
    stats_of(&m.pool); /* the pool's lock is free */
    outcome now = {.fails = what != DESTROY && happens(6), .takes = happens(4) ? random_below(&dice, 4) * MS : 0};
    if (what == CREATE) now.takes++; /* so that no two end at the same moment */
    record *mine = new_record(CALLED);
    mine->what = what;
    mine->number = it ? it->number : 0;
    mine->good = !now.fails;
    mine->end = clock_ns + now.takes;
    return now;
}

/* ---- What there is ----------------------------------------------------------------------------------------------- */

static uint32_t idle_of(const char *key) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m.count; i++) n += !m.there[i]->lent && (!key || m.there[i]->key == key);
    return n;
}

/* The idle resource of this key, or of any key if NULL, that was idle longest or shortest. */
static resource *idle_one(const char *key, bool oldest) {
    resource *best = NULL;
    for (uint32_t i = 0; i < m.count; i++) {
        resource *each = m.there[i];
        if (each->lent || (key && each->key != key)) continue;
        if (!best || (each->idle_since < best->idle_since) == oldest) best = each;
    }
    return best;
}

typedef enum why { NOT_AT_ALL, EVICTED, CLOSED, EXPIRED, UNUSED, INVALID, UNCLEAN, DISCARDED, DETACHED, REPLACED } why;

static why why_it_goes(const resource *it, int64_t now) {
    if (m.closed) return CLOSED;
    if (it->evicted || m.count > m.max) return EVICTED;
    return now >= it->expires ? EXPIRED : NOT_AT_ALL;
}

static void count_end(why reason) {
    uint64_t *const counters[] = {NULL,
                                  &m.stats.evicted,
                                  &m.stats.closed,
                                  &m.stats.expired,
                                  &m.stats.unused,
                                  &m.stats.invalid,
                                  &m.stats.unclean,
                                  &m.stats.discarded,
                                  &m.stats.detached,
                                  &m.stats.replaced};
    ++*counters[reason];
}

static void forget(resource *it) {
    uint32_t at = 0;
    while (m.there[at] != it) at++;
    m.count--;
    for (; at < m.count; at++) m.there[at] = m.there[at + 1];
    it->number = 0;
}

/* Checks that the resource was destroyed next, and returns the time when that was over. A detached one is not. */
static int64_t end_it(resource *it, why reason) {
    int64_t end = reason == DETACHED ? clock_ns : next_call(DESTROY, it->number)->end;
    count_end(reason);
    forget(it);
    return end;
}

/* Reads from the pool's entry what the model cannot predict: the slot, and the random end of its life. */
static void look_up(resource *it) {
    const kolk_resource_inside_ *inside = m.pool.inside;
    for (uint32_t slot = 0; slot < inside->slots; slot++) {
        const resource_entry *entry = kolk_entry_at_(inside, slot);
        if (!entry || entry->state == RESOURCE_MAKING || ((const thing *)entry->resource)->number != it->number)
            continue;
        it->slot = slot;
        it->expires = entry->expires;
    }
}

static resource *add_made(const char *key, int64_t now) {
    resource *it = m.pieces;
    while (it->number) it++;
    *it = (resource){.number = ++m.made, .key = key, .idle_since = now, .proved = now, .slot = UINT32_MAX};
    it->expires = INT64_MAX;
    look_up(it);
    m.stats.created++;
    if (it->slot != UINT32_MAX && m.desc.max_lifetime_ms > 0) {
        assert_true(it->expires <= now + m.desc.max_lifetime_ms);
        assert_true(it->expires > now + m.desc.max_lifetime_ms - m.desc.max_lifetime_ms / 10 - 1);
    }
    uint32_t at = m.count++;
    for (; at > 0 && m.there[at - 1]->slot > it->slot; at--) m.there[at] = m.there[at - 1];
    m.there[at] = it;
    if (key == keys[0]) m.backoff = m.retry_at = 0;
    return it;
}

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

/* Finds what a borrow of this key would get now. */
static bool can_have(const char *key, resource **it, resource **in_place_of) {
    *it = *in_place_of = NULL;
    if (m.paused || m.closed) return false;
    *it = idle_one(key, m.desc.reuse == KOLK_REUSE_FIFO);
    if (*it || m.count < m.max) return true;
    if (m.count == m.max) *in_place_of = idle_one(NULL, true);
    return *in_place_of;
}

/* Called after each action of others: serves the waiter if it can be served. */
static void serve_waiter(void) {
    if (!m.waits_for || m.served || m.may_create) return;
    if (!can_have(m.waits_for, &m.served, &m.in_place_of)) return;
    m.may_create = !m.served;
}

static void model_give_back(uint32_t number, why wish, int64_t now);
static void model_close(void);

static bool ends_borrow(event others) {
    return others >= OTHERS_GIVE && others <= OTHERS_DETACH;
}

static why wish_of(event others) {
    return others == OTHERS_GIVE ? NOT_AT_ALL : others == OTHERS_DISCARD ? DISCARDED : DETACHED;
}

static void model_others(const record *did) {
    if (ends_borrow(did->event)) model_give_back(did->number, wish_of(did->event), did->end);
    if (did->event == OTHERS_RESUME) m.paused = false;
    if (did->event == OTHERS_RESIZE) m.max = did->number;
    if (did->event == OTHERS_CLOSE) model_close();
    serve_waiter();
}

/* Returns KOLK_OK if the borrow was served, or may create; sets *now to the time when the wait ended. */
static kolk_status model_wait(const char *key, int64_t *now) {
    m.waits_for = key;
    m.served = NULL;
    m.may_create = false;
    for (bool over = false; !over;) {
        assert_true(m.checked < m.recorded);
        const record *next = &m.records[m.checked++];
        assert_true(next->event != CALLED);
        model_others(next);
        *now = next->end;
        over = next->event == LATE || (next->event == NO_REASON && (m.served || m.may_create || m.closed));
    }
    m.waits_for = NULL;
    if (m.served || m.may_create) return KOLK_OK;
    return m.closed ? KOLK_CLOSED : KOLK_TIMEOUT;
}

static kolk_status model_create(const char *key, resource *in_place_of, resource **it, int64_t *now) {
    if (in_place_of) end_it(in_place_of, REPLACED);
    const record *call = next_call(CREATE, 0);
    *now = call->end;
    if (!call->good) {
        m.stats.create_failures++;
        return KOLK_NOT_CREATED;
    }
    *it = add_made(key, call->end);
    return KOLK_OK;
}

/* Returns false if the resource was destroyed. */
static bool model_make_fit(resource *it, bool is_new, int64_t *now) {
    why reason = why_it_goes(it, *now);
    if (reason == NOT_AT_ALL && !is_new && m.desc.validate && *now - it->proved >= m.desc.validate_after_ms) {
        const record *call = next_call(VALIDATE, it->number);
        *now = call->end;
        if (call->good) it->proved = call->end;
        reason = call->good ? why_it_goes(it, *now) : INVALID;
    }
    if (reason == NOT_AT_ALL) return true;
    *now = end_it(it, reason);
    return false;
}

static kolk_status model_borrow(const char *key, kolk_deadline deadline, int64_t now, resource **it) {
    for (bool again = false;; again = true) {
        resource *in_place_of;
        if (m.closed) return KOLK_CLOSED;
        if (again && deadline.ns > 0 && now >= deadline.ns) return KOLK_TIMEOUT;
        if (!can_have(key, it, &in_place_of)) {
            if (deadline.ns <= 0) return KOLK_FULL;
            kolk_status status = model_wait(key, &now);
            if (status != KOLK_OK) return status;
            *it = m.served;
            in_place_of = m.in_place_of;
        }
        bool is_new = !*it;
        if (is_new && model_create(key, in_place_of, it, &now) != KOLK_OK) return KOLK_NOT_CREATED;
        if (model_make_fit(*it, is_new, &now)) break;
    }
    (*it)->lent = true;
    (*it)->told = false;
    (*it)->since = now;
    return KOLK_OK;
}

static void count_borrow(kolk_status status) {
    kolk_resource_pool_stats *s = &m.stats;
    ++*(status == KOLK_OK        ? &s->borrows
        : status == KOLK_FULL    ? &s->full
        : status == KOLK_TIMEOUT ? &s->timeouts
                                 : &s->failed);
    uint32_t lent = m.count - idle_of(NULL);
    if (status == KOLK_OK && s->peak < lent) s->peak = lent;
}

static bool others_are_at_work(kolk_deadline deadline);

static void borrow(void) {
    const char *key = keys[happens(2) ? 0 : random_below(&dice, LENGTH_OF(keys))];
    kolk_deadline deadlines[] = {KOLK_NOW, KOLK_NOW, {1}, {clock_ns + random_below(&dice, 4) * MS}, {clock_ns + 1}};
    kolk_deadline deadline = deadlines[random_below(&dice, LENGTH_OF(deadlines))];
    int64_t now = clock_ns;
    kolk_borrowed got;
    resource *it = NULL;
    meanwhile = others_are_at_work;
    kolk_status status = take_thing(&m.pool, *key ? key : NULL, deadline, &got);
    meanwhile = NULL;
    assert_int_equal(status, model_borrow(key, deadline, now, &it));
    count_borrow(status);
    if (status != KOLK_OK) return;
    assert_int_equal(((thing *)got.resource)->number, it->number);
    it->borrow = got;
    look_up(it);
}

/* ---- Giving back ------------------------------------------------------------------------------------------------- */

static resource *lent_one(void) {
    resource *lent[MOST];
    uint32_t n = 0;
    for (uint32_t i = 0; i < m.count; i++)
        if (m.there[i]->lent && !m.there[i]->is_back) lent[n++] = m.there[i];
    return n ? lent[random_below(&dice, n)] : NULL;
}

static resource *by_number(uint32_t number) {
    resource *it = m.pieces;
    while (it->number != number) it++;
    return it;
}

static void model_give_back(uint32_t number, why wish, int64_t now) {
    resource *it = by_number(number);
    m.ended[m.endings++ % KEPT] = it->borrow;
    m.uses++;
    m.reports += it->told;
    it->lent = it->is_back = false;
    it->idle_since = it->proved = now;
    why reason = wish != NOT_AT_ALL ? wish : why_it_goes(it, now);
    if (reason == NOT_AT_ALL && m.desc.reset && !next_call(RESET, number)->good) reason = UNCLEAN;
    if (reason == NOT_AT_ALL) reason = why_it_goes(it, now);
    if (reason != NOT_AT_ALL) end_it(it, reason);
}

static void give(resource *it, why wish) {
    kolk_borrowed mine = it->borrow; /* a copy works as well */
    (wish == DETACHED ? detach_thing : wish == DISCARDED ? discard_thing : give_thing)(&m.pool, &mine);
}

static void give_one_back(why wish) {
    resource *it = lent_one();
    int64_t now = clock_ns;
    if (!it) return;
    give(it, wish);
    model_give_back(it->number, wish, now);
}

/* Returns an empty borrow, then one that has already ended. */
static void give_back_again(void) {
    unsigned before = told.count;
    kolk_borrowed none = {.resource = NULL};
    kolk_resource_give_back(&m.pool, &none);
    assert_int_equal(told.count, before);
    if (m.endings == 0) return;
    kolk_borrowed ended = m.ended[random_below(&dice, m.endings < KEPT ? m.endings : KEPT)];
    ended.resource = &ended;
    if (happens(2))
        kolk_resource_give_back(&m.pool, &ended);
    else
        kolk_resource_discard(&m.pool, &ended);
    assert_null(ended.resource);
    assert_int_equal(told.count, before + 1);
    assert_int_equal(told.last.rule, KOLK_DOUBLE_FREE);
    told.count = before;
}

/* ---- While a borrow waits ---------------------------------------------------------------------------------------- */

static void others_do(event does, resource *it) {
    clock_ns++;
    record *mine = new_record(does);
    if (ends_borrow(does)) mine->number = it->number;
    if (ends_borrow(does)) it->is_back = true;
    if (does == OTHERS_RESIZE) mine->number = MOST;
    meanwhile = NULL;
    if (ends_borrow(does)) give(it, wish_of(does));
    if (does == OTHERS_RESUME) kolk_resource_resume(&m.pool);
    if (does == OTHERS_RESIZE) assert_int_equal(kolk_resource_resize(&m.pool, MOST), KOLK_OK);
    if (does == OTHERS_CLOSE) kolk_resource_close(&m.pool, KOLK_NOW);
    meanwhile = others_are_at_work;
}

/* The model was last updated before this borrow, so others only return resources that were lent then. */
static bool others_are_at_work(kolk_deadline deadline) {
    resource *it = lent_one();
    uint32_t choice = random_below(&dice, 100);
    if (choice < 30 && it)
        others_do(OTHERS_GIVE, it);
    else if (choice < 40 && it)
        others_do(OTHERS_DISCARD, it);
    else if (choice < 45 && it)
        others_do(OTHERS_DETACH, it);
    else if (choice < 55)
        others_do(OTHERS_RESUME, NULL);
    else if (choice < 65)
        others_do(OTHERS_RESIZE, NULL);
    else if (choice == 99)
        others_do(OTHERS_CLOSE, NULL);
    if (happens(2) || clock_ns >= deadline.ns) {
        if (clock_ns < deadline.ns) clock_ns = deadline.ns;
        new_record(LATE);
        return false;
    }
    new_record(NO_REASON);
    return true;
}

/* ---- Upkeep ------------------------------------------------------------------------------------------------------ */

static resource *in_slot(uint32_t slot) {
    for (uint32_t i = 0; i < m.count; i++)
        if (m.there[i]->slot == slot) return m.there[i];
    return NULL;
}

static why why_idle_goes(const resource *it, int64_t now) {
    why reason = why_it_goes(it, now);
    bool is_kept = it->key == keys[0] && idle_of(keys[0]) <= m.desc.min_idle;
    if (reason != NOT_AT_ALL || is_kept) return reason;
    return now - it->idle_since >= m.desc.idle_timeout_ms ? UNUSED : NOT_AT_ALL;
}

static bool model_look_after(resource *it, int64_t *now) {
    if (it->lent) {
        if (it->told || *now - it->since < m.desc.leak_after_ms) return false;
        it->told = true;
        m.reports++;
        m.stats.leaks++;
        return true;
    }
    why reason = why_idle_goes(it, *now);
    if (reason == NOT_AT_ALL) {
        if (!m.desc.validate || *now - it->proved < m.desc.keepalive_ms) return false;
        const record *call = next_call(VALIDATE, it->number);
        if (call->good) it->proved = call->end;
        if (!call->good) reason = INVALID;
        *now = call->end;
    }
    if (reason != NOT_AT_ALL) *now = end_it(it, reason);
    return true;
}

static bool model_make_missing(int64_t *now) {
    if (*now < m.retry_at || m.paused || m.closed) return false;
    if (idle_of(keys[0]) >= m.desc.min_idle || m.count >= m.max) return false;
    const record *call = next_call(CREATE, 0);
    *now = call->end;
    if (call->good) {
        add_made(keys[0], call->end);
        return true;
    }
    m.stats.create_failures++;
    m.backoff = m.backoff ? m.backoff * 2 : 10 * MS;
    if (m.backoff > 5000 * MS) m.backoff = 5000 * MS;
    m.retry_at = m.pool.inside->no_key->retry_at;
    assert_true(m.retry_at > *now && m.retry_at <= *now + m.backoff);
    return true;
}

static void tick(void) {
    kolk_deadline deadline = happens(3) ? KOLK_NOW : happens(3) ? (kolk_deadline){clock_ns + 2 * MS} : KOLK_FOREVER;
    int64_t now = clock_ns;
    bool in_time = true;
    kolk_resource_tick(&m.pool, deadline);
    for (uint32_t slot = 0; slot < m.pool.inside->slots && in_time; slot++) {
        resource *it = in_slot(slot);
        if (it && model_look_after(it, &now)) in_time = now < deadline.ns;
    }
    while (in_time && model_make_missing(&now)) in_time = now < deadline.ns;
}

/* ---- Steering ---------------------------------------------------------------------------------------------------- */

static void model_end_idle(void) {
    for (uint32_t slot = 0; slot < m.pool.inside->slots; slot++) {
        resource *it = in_slot(slot);
        if (!it || it->lent) continue;
        why reason = why_it_goes(it, 0);
        if (reason != NOT_AT_ALL) end_it(it, reason);
    }
}

static void evict(void) {
    if (m.pool.inside->no_key->rests) m.backoff = m.retry_at = 0;
    kolk_resource_evict(&m.pool);
    for (uint32_t i = 0; i < m.count; i++) m.there[i]->evicted = true;
    model_end_idle();
}

static uint32_t asked;

static bool wants_odd(const char *key, const void *what, bool in_use, void *context) {
    const thing *it = (const thing *)what;
    assert_ptr_equal(context, &m);
    assert_string_equal(key, it->key);
    assert_int_equal(in_use, it->place == WITH_BORROWER);
    asked++;
    return it->number % 2;
}

static void evict_odd(void) {
    uint32_t count = 0, before = m.count;
    asked = 0;
    uint32_t done = kolk_resource_evict_if(&m.pool, wants_odd, &m);
    assert_int_equal(asked, before);
    for (uint32_t slot = 0; slot < m.pool.inside->slots; slot++) {
        resource *it = in_slot(slot);
        if (!it) continue;
        bool odd = it->number % 2;
        if (odd) it->evicted = true;
        count += odd;
        why reason = it->lent ? NOT_AT_ALL : why_it_goes(it, 0);
        if (reason != NOT_AT_ALL) end_it(it, reason);
    }
    assert_int_equal(done, count);
    model_end_idle();
}

static void resize(void) {
    uint32_t max = random_below(&dice, MOST + 1);
    kolk_status status = kolk_resource_resize(&m.pool, max);
    assert_int_equal(status, !max ? KOLK_BAD_MAX : max < m.desc.min_idle ? KOLK_BAD_MIN_IDLE : KOLK_OK);
    if (status != KOLK_OK) return;
    m.max = max;
    model_end_idle();
}

static void model_close(void) {
    m.closed = true;
    model_end_idle();
    for (uint32_t i = 0; i < m.count; i++) {
        resource *it = m.there[i];
        m.reports += !it->told;
        m.stats.leaks += !it->told;
        it->told = true;
    }
}

static void close_it(void) {
    bool left = kolk_resource_close(&m.pool, KOLK_NOW) == KOLK_TIMEOUT;
    model_close();
    assert_int_equal(left, m.count > 0);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* Advances the clock to a moment that matters to a resource, to just before such a moment, or by a random time. */
static void pass_time(void) {
    int64_t to = clock_ns + random_below(&dice, 30) * MS;
    const int64_t times[] = {m.desc.idle_timeout_ms, m.desc.keepalive_ms, m.desc.validate_after_ms,
                             m.desc.leak_after_ms};
    int64_t time = times[random_below(&dice, LENGTH_OF(times))];
    if (m.count && happens(2)) {
        const resource *it = m.there[random_below(&dice, m.count)];
        const int64_t since[] = {it->idle_since, it->proved, it->since};
        if (time < INT64_MAX / 2) to = since[random_below(&dice, LENGTH_OF(since))] + time - happens(2);
        if (happens(3) && it->expires < INT64_MAX) to = it->expires - happens(2);
    }
    if (happens(8) && m.retry_at) to = m.retry_at - happens(2);
    if (to > clock_ns) clock_ns = to;
}

/* Compares the keys. Unused keys, except "", no longer exist. */
static void compare_keys(void) {
    const kolk_resource_inside_ *inside = m.pool.inside;
    uint32_t count = 0;
    for (const resource_key *key = kolk_key_next_(inside, NULL); key; key = kolk_key_next_(inside, key)) {
        uint32_t users = key->rests;
        users += key == inside->no_key;
        for (uint32_t i = 0; i < m.count; i++) users += strcmp(m.there[i]->key, key->text) == 0;
        assert_int_equal(key->users, users);
        assert_true(users > 0);
        assert_int_equal(key->making, 0);
        count++;
    }
    assert_int_equal(kolk_pool_count(&inside->keys.pool), count);
}

static void compare(void) {
    kolk_resource_pool_stats stats = stats_of(&m.pool);
    assert_true(kolk_resource_is_valid(&m.pool));
    assert_int_equal(m.checked, m.recorded);
    assert_int_equal(told.count, m.reports);
    m.stats.name = "model";
    m.stats.max = m.max;
    m.stats.idle = idle_of(NULL);
    m.stats.in_use = m.count - m.stats.idle;
    assert_string_equal(stats.name, "model");
    m.stats.name = stats.name;
    assert_true(stats.waits >= m.stats.waits);
    m.stats.waits = stats.waits;
    assert_int_equal(stats.wait.count, stats.borrows);
    assert_int_equal(stats.use.count, m.uses);
    assert_int_equal(stats.create.count, stats.created);
    assert_memory_equal(&stats, &m.stats, offsetof(kolk_resource_pool_stats, wait));
    assert_int_equal(m.f.there, m.count);
    compare_keys();
}

static void step(void) {
    uint32_t choice = random_below(&dice, 1000);
    m.recorded = m.checked = 0;
    clock_ns++;
    if (choice < 400) {
        borrow();
    } else if (choice < 660) {
        give_one_back(choice < 430 ? DISCARDED : choice < 440 ? DETACHED : NOT_AT_ALL);
    } else if (choice < 700) {
        give_back_again();
    } else if (choice < 820) {
        pass_time();
    } else if (choice < 940) {
        tick();
    } else if (choice < 955) {
        evict();
    } else if (choice < 965) {
        evict_odd();
    } else if (choice < 980) {
        resize();
    } else if (choice < 998) {
        m.paused = !m.paused && choice < 985;
        (m.paused ? kolk_resource_pause : kolk_resource_resume)(&m.pool);
    } else {
        close_it();
    }
    compare();
}

static int64_t one_of(const int64_t *times, uint32_t n) {
    return times[random_below(&dice, n)];
}

/* Begins a pool with random settings. The model's times are in nanoseconds. */
static void begin_model(void) {
    static const int64_t idle[] = {-1, 5, 50}, life[] = {-1, 20, 200}, keep[] = {0, 10}, fresh[] = {0, -1, 3},
                         leak[] = {0, 30};
    memset(&m, 0, sizeof m);
    m.max = 1 + random_below(&dice, MOST);
    m.desc = (kolk_resource_pool_desc){.name = "model",
                                       .max = m.max,
                                       .min_idle = happens(2) ? random_below(&dice, m.max + 1) : 0,
                                       .max_creating = 1 + random_below(&dice, 2),
                                       .idle_timeout_ms = one_of(idle, 3),
                                       .max_lifetime_ms = one_of(life, 3),
                                       .keepalive_ms = one_of(keep, 2),
                                       .validate_after_ms = one_of(fresh, 3),
                                       .leak_after_ms = one_of(leak, 2),
                                       .reuse = happens(2) ? KOLK_REUSE_LIFO : KOLK_REUSE_FIFO,
                                       .validate = happens(3) ? NULL : validate_thing,
                                       .reset = happens(2) ? NULL : reset_thing,
                                       .strict_order = true,
                                       .no_housekeeper = true};
    make_resources(&m.pool, &m.f, m.desc);
    m.f.max = MOST; /* resize changes the pool's max, but lent resources stay */
    m.f.decides = decide;
    kolk_resource_pool_desc *desc = &m.desc;
    desc->idle_timeout_ms = desc->idle_timeout_ms < 0 ? INT64_MAX : desc->idle_timeout_ms * MS;
    desc->max_lifetime_ms *= MS;
    desc->keepalive_ms = desc->keepalive_ms ? desc->keepalive_ms * MS : INT64_MAX;
    desc->validate_after_ms = desc->validate_after_ms < 0 ? 0
                              : desc->validate_after_ms   ? desc->validate_after_ms * MS
                                                          : 500 * MS;
    desc->leak_after_ms = desc->leak_after_ms ? desc->leak_after_ms * MS : INT64_MAX;
    told.count = 0;
}

/* Ends the pool. Resources that are still lent stay with their borrowers. */
static void end_model(void) {
    m.recorded = m.checked = 0;
    close_it();
    kolk_resource_deinit(&m.pool);
    assert_null(m.pool.inside);
    assert_int_equal(m.checked, m.recorded);
    assert_int_equal(told.count, m.reports);
    assert_int_equal(m.f.there, m.count);
}

static uint64_t run_seed; /* the seed of a failed run */

static int tell_the_seed(void **state) {
    if (run_seed) print_message("\nagain: KOLK_TEST_SEED=%" PRIu64 "\n", run_seed);
    return abort_on_failure(state);
}

static void test_against_the_model(void **state) {
    clock_ns = 1000 * MS;
    begin_notes(&told);
    for (uint64_t run = 0, done = 0; done < operations; run++) {
        dice = run_seed = seed + run;
        begin_model();
        uint32_t length = 1 + random_below(&dice, 500);
        for (uint32_t i = 0; i < length; i++) step();
        done += length;
        end_model();
        run_seed = 0;
    }
}

int main(void) {
    begin_random_work(does_a_part() ? 100000 : 2000000);
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_against_the_model, tell_the_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
