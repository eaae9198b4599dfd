/* runs: sample wraps: help/no_sites.h */
/* Blocks that every kind with snapshots must refuse, without any effect: changed, cut off, and with objects that cannot
 * be converted. */
#include "kinds.h"

#include "../help/no_sites.h"
#include "../slotmap/snapshot_block.h"

#include "../help/published.h"

static bool is_map(void) {
    return it->kind->restore == restore_slotmap;
}

static size_t header_size(void) {
    return is_map() ? MAP_HEADER : HEADER;
}

static block snapshot_of(const subject *s) {
    block made = new_block(s->kind->snapshot_size(s));
    memset(made.bytes, 0xa5, made.size); /* makes unwritten bytes visible */
    assert_true(made.size > 0 && s->kind->snapshot(s, made.bytes, made.size) == made.size);
    return made;
}

/* ---- Changed and cut off ----------------------------------------------------------------------------------------- */

/* The memory of `it`, and what `it` consisted of before the restores. */
static _Alignas(16) unsigned char memory[1024];
static struct { unsigned char self[sizeof(subject)], memory[sizeof memory]; } before;

/* Begins a small subject with live and free slots, which then changes, so that a restore would be noticed. */
static block begin_small(void) {
    void *objects[7];
    begin_it((options){.object_size = 3, .capacity = 9, .memory = memory, .memory_size = sizeof memory});
    for (unsigned char n = 0; n < 7; n++) memset(objects[n] = take_one(), n, 3);
    for (int n = 4; n >= 0; n -= 2) give_one(objects[n]);
    block taken = snapshot_of(it);
    take_one();
    memcpy(before.self, it, sizeof before.self);
    memcpy(before.memory, memory, sizeof memory);
    return taken;
}

static void end_small(block taken) {
    free(taken.bytes);
    it->kind->clear(it);
    end_it();
}

static void assert_refused(const unsigned char *bytes, size_t size, kolk_status status) {
    assert_int_equal(it->kind->restore(it, bytes, size), status);
    assert_memory_equal(it, before.self, sizeof before.self);
    assert_memory_equal(memory, before.memory, sizeof memory);
}

/* promise: pool.h "The whole block ... more capacity"; slotmap.h "KOLK_FORGED_SNAPSHOT, KOLK_OTHER_POOL" */
static void test_every_changed_byte_is_refused(void **state) {
    block taken = begin_small();
    for (size_t at = 0; at < taken.size; at++) {
        kolk_status status = at < BYTE_ORDER_AT ? KOLK_NOT_A_SNAPSHOT
                             : at < FORMAT_AT   ? KOLK_OTHER_BYTE_ORDER
                             : at < SIZE_AT     ? KOLK_OTHER_VERSION
                                                : KOLK_DAMAGED_SNAPSHOT;
        unsigned char was = taken.bytes[at];
        for (unsigned flip = 1; flip < 256; flip++) { /* all single bits are among them */
            taken.bytes[at] = was ^ (unsigned char)flip;
            assert_refused(taken.bytes, taken.size, status);
        }
        taken.bytes[at] = was;
    }
    assert_int_equal(it->kind->restore(it, taken.bytes, taken.size), KOLK_OK);
    end_small(taken);
}

static void put_size(block into, size_t size) {
    put_number(into, SIZE_AT + (is_little_endian() ? 0 : 4), (uint32_t)size);
}

static void test_every_cut_is_refused(void **state) {
    block taken = begin_small();
    for (size_t size = 0; size < taken.size; size++) {
        block cut = new_block(size); /* of exactly this length */
        memcpy(cut.bytes, taken.bytes, size);
        assert_refused(cut.bytes, size, size < header_size() ? KOLK_NOT_A_SNAPSHOT : KOLK_DAMAGED_SNAPSHOT);
        if (size >= header_size()) { /* with a header of this length; the checksum needs whole words */
            bool sealed = size % 8 == 0 && size > header_size();
            put_size(cut, size);
            if (size % 8 == 0) seal(cut); /* with nothing but a header, it overwrites the header's end */
            assert_refused(cut.bytes, size, sealed ? KOLK_FORGED_SNAPSHOT : KOLK_DAMAGED_SNAPSHOT);
        }
        free(cut.bytes);
    }
    block longer = new_block(taken.size + 8);
    memset(longer.bytes, 0, longer.size);
    memcpy(longer.bytes, taken.bytes, taken.size);
    assert_refused(longer.bytes, longer.size, KOLK_DAMAGED_SNAPSHOT);
    put_size(longer, longer.size);
    seal(longer);
    assert_refused(longer.bytes, longer.size, KOLK_FORGED_SNAPSHOT);
    assert_refused(NULL, 0, KOLK_NOT_A_SNAPSHOT);
    free(longer.bytes);
    end_small(taken);
}

/* The 0 to 7 bytes of padding before the checksum must be 0. promise: pool.h "The whole block ... more capacity" */
static void test_lies_in_the_padding(void **state) {
    for (size_t size = 1; size <= 8; size++) {
        begin_it((options){.object_size = size, .capacity = 2});
        memset(take_one(), 0xff, size);
        block taken = snapshot_of(it);
        bool generations = it->kind->generations != KOLK_GENERATIONS_NONE;
        size_t padding = header_size() + 8 + (!is_map() && generations ? 4 : 0) + size;
        assert_int_equal(taken.size, (padding + 7) / 8 * 8 + 8);
        memset(it->kind->first(it), 0x11, size);
        for (size_t at = padding; at < taken.size - 8; at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                taken.bytes[at] = (unsigned char)(1u << bit);
                seal(taken);
                assert_int_equal(it->kind->restore(it, taken.bytes, taken.size), KOLK_FORGED_SNAPSHOT);
            }
            taken.bytes[at] = 0;
        }
        assert_true(all_bytes_are(it->kind->first(it), size, 0x11));
        seal(taken);
        assert_int_equal(it->kind->restore(it, taken.bytes, taken.size), KOLK_OK);
        assert_true(all_bytes_are(it->kind->first(it), size, 0xff));
        free(taken.bytes);
        it->kind->clear(it);
        end_it();
    }
}

/* ---- Objects that are converted ---------------------------------------------------------------------------------- */

enum { OLD_SIZE = 8, NEW_SIZE = 24 };

static void never(void *object, const void *saved, size_t saved_size, void *context) {
    fail_msg("convert is called for a block that is refused");
}

/* Forges one number of the block, which must then be refused with this status. */
static void refuse(block original, size_t at, uint32_t number, kolk_status with) {
    block forged = copy_of(original), was = snapshot_of(it);
    put_number(forged, at, number);
    seal(forged);
    assert_int_equal(it->kind->restore_converted(it, forged.bytes, forged.size, never, NULL), with);
    block now = snapshot_of(it);
    assert_true(equals(was, now));
    assert_is_valid();
    free(forged.bytes);
    free(was.bytes);
    free(now.bytes);
}

/* 8 objects are saved, so that each other size of objects needs a block of another size.
 * promise: pool.h "convert is not ... same size"; slotmap.h "convert is not ... same size" */
static void test_hostile_conversions(void **state) {
    static subject old;
    memset(&old, 0, sizeof old);
    old.kind = row_now->kind;
    options with = {.name = "it", .object_size = OLD_SIZE, .capacity = 9};
    assert_int_equal(old.kind->init(&old, &with), KOLK_OK);
    void *objects[9];
    for (int n = 0; n < 9; n++) memset(objects[n] = old.kind->take(&old), 0xff, OLD_SIZE);
    old.kind->give(&old, objects[2]);
    block saved = snapshot_of(&old);
    old.kind->clear(&old);
    block empty = snapshot_of(&old);
    old.kind->end(&old);

    begin_it((options){.object_size = NEW_SIZE, .capacity = 9});
    memset(take_one(), 77, NEW_SIZE);
    for (uint32_t size = 0; size < 40; size++)
        if (size != OLD_SIZE) refuse(saved, OBJECT_SIZE_AT, size, KOLK_FORGED_SNAPSHOT);
    for (uint32_t n = 0; n < 4; n++) refuse(saved, OBJECT_SIZE_AT, UINT32_MAX - n, KOLK_FORGED_SNAPSHOT);
    refuse(empty, OBJECT_SIZE_AT, 0, KOLK_FORGED_SNAPSHOT);
    refuse(empty, OBJECT_SIZE_AT, (uint32_t)INT32_MAX + 1, KOLK_FORGED_SNAPSHOT);
    refuse(saved, TAG_AT, 1, KOLK_OTHER_POOL);
    refuse(saved, is_map() ? MAP_COUNT_AT : LIVE_AT, 3, KOLK_FORGED_SNAPSHOT);
    refuse(saved, is_map() ? MAP_FIRST_AT : FIRST_AT, 2, KOLK_FORGED_SNAPSHOT);
    saved.bytes[saved.size - 1] ^= 1;
    assert_int_equal(it->kind->restore_converted(it, saved.bytes, saved.size, never, NULL), KOLK_DAMAGED_SNAPSHOT);
    assert_int_equal(it->kind->restore_converted(it, saved.bytes, saved.size - 8, never, NULL), KOLK_DAMAGED_SNAPSHOT);
    free(saved.bytes);
    free(empty.bytes);
    it->kind->clear(it);
    end_it();
}

/* Without a function, it is a restore. promise: slotmap.h "convert is not ... same size" */
static void test_without_a_conversion(void **state) {
    begin_it((options){.object_size = OLD_SIZE, .capacity = 8});
    memset(take_one(), 3, OLD_SIZE);
    block saved = snapshot_of(it);
    memset(it->kind->first(it), 4, OLD_SIZE);
    assert_int_equal(it->kind->restore_converted(it, saved.bytes, saved.size, NULL, NULL), KOLK_OK);
    assert_true(all_bytes_are(it->kind->first(it), OLD_SIZE, 3));
    put_number(saved, OBJECT_SIZE_AT, 9);
    seal(saved);
    assert_int_equal(it->kind->restore_converted(it, saved.bytes, saved.size, NULL, NULL), KOLK_OTHER_POOL);
    free(saved.bytes);
    it->kind->clear(it);
    end_it();
}

/* ---- The hash ---------------------------------------------------------------------------------------------------- */

static uint64_t hash_of_first_byte(const void *object, void *context) {
    ++*(uint32_t *)context;
    return *(const unsigned char *)object;
}

static uint64_t hash_of_it(void) {
    return it->kind->hash(it, NULL, NULL);
}

/* Every byte of an object counts, of objects of every size up to three words; with a function, what that one says.
 * promise: pool.h "`hash` returns the hash of one object ... of the object count"; slotmap.h "`hash` returns the hash
 * ... of the object count" */
static void test_the_hash_of_objects(void **state) {
    for (size_t size = 1; size < 25; size++) {
        begin_it((options){.object_size = size, .capacity = 3});
        void *objects[3];
        for (int n = 0; n < 3; n++) memset(objects[n] = take_one(), n, size);
        uint32_t calls = 0;
        uint64_t whole = hash_of_it(), first = it->kind->hash(it, hash_of_first_byte, &calls);
        assert_int_equal(calls, 3);
        assert_true(whole != first && whole == hash_of_it());
        for (size_t at = 0; at < size; at++) {
            ((unsigned char *)objects[1])[at] ^= 1;
            assert_true(hash_of_it() != whole);
            assert_int_equal(it->kind->hash(it, hash_of_first_byte, &calls) == first, at != 0);
            ((unsigned char *)objects[1])[at] ^= 1;
        }
        assert_true(hash_of_it() == whole);
        it->kind->clear(it);
        end_it();
    }
}

/* Five equal objects, of which these two are freed one after the other; then there may be one life more. Returns the
 * hash. */
static uint64_t hash_after(int first, int second, bool life) {
    void *objects[5], *more;
    begin_it((options){.object_size = 8, .capacity = 5});
    for (int n = 0; n < 5; n++) memset(objects[n] = take_one(), 7, 8);
    if (first) give_one(objects[first]);
    if (second) give_one(objects[second]);
    if (life) {
        memset(more = take_one(), 7, 8);
        give_one(more);
    }
    uint64_t hash = hash_of_it();
    it->kind->clear(it);
    end_it();
    return hash;
}

/* Where objects are, the number of lives and the order of reuse count, even if all objects are equal.
 * promise: pool.h "It covers the live"; slotmap.h "It covers what a" */
static void test_the_hash_of_what_comes(void **state) {
    uint64_t both = hash_after(2, 3, false), life = hash_after(2, 3, true);
    assert_true(both == hash_after(2, 3, false));
    assert_true(both != hash_after(2, 0, false) && both != hash_after(0, 0, false) && both != hash_after(1, 3, false));
    assert_int_equal(both == hash_after(3, 2, false), !is_map() && it->kind->reuse == KOLK_REUSE_LOWEST);
    if (it->kind->generations != KOLK_GENERATIONS_NONE) assert_true(both != life);
}

int main(void) {
    static const contract contracts[] = {
        CONTRACT(test_every_changed_byte_is_refused, SAVES | LENT, IN(PLAIN)),
        CONTRACT(test_every_cut_is_refused, SAVES | LENT, IN(PLAIN)),
        CONTRACT(test_lies_in_the_padding, SAVES, IN(PLAIN)),
        CONTRACT(test_hostile_conversions, SAVES, IN(PLAIN)),
        CONTRACT(test_without_a_conversion, SAVES, IN_EVERY_MODE),
        CONTRACT(test_the_hash_of_objects, SAVES, IN_EVERY_MODE),
        CONTRACT(test_the_hash_of_what_comes, SAVES, IN(PLAIN)),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), NULL, plain_environment);
}
