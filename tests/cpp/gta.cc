// Compares kolk::gta::pool with the games' pool, written down step by step, on random operations; then tests what the
// table of kolk_gta.hpp says that it checks in addition. KOLK_TEST_SEED=n: another stream.
#include <kolk/kolk_gta.hpp>

#include "test.h"

#include <cstring>
#include <type_traits>
#include <vector>

namespace {

struct entity {
    int model;
};
struct ped : entity {
    int health[2];
};

} // namespace
template class kolk::gta::pool<entity, ped>; // compiles every member
template class kolk::gta::pool<ped>;
namespace {

using pool_of_peds = kolk::gta::pool<entity, ped>;

// San Andreas's struct, and what the game's functions do with it.
struct game {
    ped *objects;
    std::uint8_t *bytes;
    std::int32_t size, first_free;
    bool owns, deals_with_no_memory;

    int new_ped() {
        bool wrapped = false;
        do {
            if (++first_free >= size) {
                if (wrapped) return first_free = -1;
                wrapped = true;
                first_free = 0;
            }
        } while (!is_free(first_free));
        begin_life(first_free);
        return first_free;
    }
    int new_ped(int ref) {
        begin_life(ref >> 8);
        for (first_free = 0; !is_free(first_free);) first_free++;
        return ref >> 8;
    }
    void remove(int index) {
        bytes[index] = static_cast<std::uint8_t>(bytes[index] | 0x80);
        if (index < first_free) first_free = index;
    }
    bool is_free(int index) const { return bytes[index] & 0x80; }
    int ref(int index) const { return index * 256 + bytes[index]; }
    int at_ref(int ref) const {
        int index = ref >> 8;
        return index >= 0 && index < size && bytes[index] == (ref & 0xff) ? index : -1;
    }
    int used() const {
        int n = 0;
        for (int i = 0; i < size; i++) n += !is_free(i);
        return n;
    }

  private:
    void begin_life(int index) { bytes[index] = static_cast<std::uint8_t>((bytes[index] + 1) & 0x7f); }
};

// Arrays of a game, with all slots free.
struct memory {
    std::vector<ped> objects;
    std::vector<std::uint8_t> bytes;
    game pool;

    explicit memory(int size)
        : objects(static_cast<std::size_t>(size)),
          bytes(static_cast<std::size_t>(size), std::uint8_t(0x80)), pool{objects.data(), bytes.data(), size, -1,
                                                                          false,          false} {}
};

// The same pool twice: `theirs` by the game's functions, and `pool` by kolk, on memory of its own, given, or attached.
enum class ground { own, given, attached };

struct twins {
    memory theirs, given;
    pool_of_peds pool;
    ground on;

    twins(int size, ground on_) : theirs(size), given(size), on(on_) {
        kolk_status status = on == ground::own     ? pool.Init(size)
                             : on == ground::given ? pool.Init(size, given.objects.data(), given.bytes.data(), "peds")
                                                   : pool.Attach(&given.pool);
        CHECK(status == KOLK_OK && pool.GetSize() == size && pool.GetObjectSize() == sizeof(ped));
    }
    ped *slot(int index) { return reinterpret_cast<ped *>(pool.untyped().object_list) + index; }
    int index_of(const entity *object) {
        return object ? static_cast<int>(static_cast<const ped *>(object) - slot(0)) : -1;
    }
    int cursor() { return on == ground::attached ? given.pool.first_free : pool.untyped().first_free; }

    void compare() {
        const game &g = theirs.pool;
        CHECK(std::memcmp(pool.untyped().byte_map, g.bytes, static_cast<std::size_t>(g.size)) == 0);
        CHECK(std::memcmp(slot(0), g.objects, static_cast<std::size_t>(g.size) * sizeof(ped)) == 0);
        CHECK(cursor() == g.first_free && kolk_bytemap_is_valid(&pool.untyped()));
        CHECK(pool.GetNoOfUsedSpaces() == static_cast<unsigned>(g.used()));
        CHECK(pool.GetNoOfFreeSpaces() == static_cast<unsigned>(g.size - g.used()));
    }
    void walk() {
        int index = -1;
        for (entity *each : pool) {
            do CHECK(++index < theirs.pool.size);
            while (theirs.pool.is_free(index));
            CHECK(each == slot(index) && pool.IsObjectValid(each));
        }
        while (++index < theirs.pool.size) CHECK(theirs.pool.is_free(index));
    }
    void write(int index, int number) {
        if (index < 0) return;
        slot(index)->model = theirs.pool.objects[index].model = number;
        slot(index)->health[1] = theirs.pool.objects[index].health[1] = -number;
    }
};

std::uint64_t random_state;

int draw(int below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((random_state >> 33) % static_cast<unsigned>(below));
}

void step(twins &both, int number) {
    game &g = both.theirs.pool;
    pool_of_peds &pool = both.pool;
    int index = draw(g.size), ref = draw(4) ? g.ref(index) : index * 256 + draw(256);
    bool is_free = g.is_free(index), is_last = g.used() == g.size - 1;
    switch (draw(14)) {
    case 0:
    case 1:
    case 2: {
        int made = g.new_ped();
        CHECK(both.index_of(pool.New()) == made);
        both.write(made, number);
        break;
    }
    case 3:
        if (!is_free || is_last) break; // there the game reads beyond its arrays
        CHECK(both.index_of(pool.New(ref)) == g.new_ped(ref));
        both.write(index, number);
        break;
    case 4:
    case 5:
    case 6:
        if (is_free) break;
        pool.Delete(both.slot(index));
        g.remove(index);
        break;
    case 7:
        CHECK(both.index_of(pool.GetAt(index)) == (is_free ? -1 : index));
        CHECK(pool.IsFreeSlotAtIndex(index) == is_free && pool.IsObjectValid(both.slot(index)) == !is_free);
        break;
    case 8:
        CHECK(both.index_of(pool.GetAtRef(ref)) == (ref & 0x80 ? -1 : g.at_ref(ref)));
        break;
    case 9:
        CHECK(pool.GetRef(both.slot(index)) == g.ref(index) && pool.GetIndex(both.slot(index)) == index);
        CHECK(pool.GetIdAt(index) == (g.bytes[index] & 0x7f));
        break;
    case 10: {
        bool free = draw(2);
        CHECK(pool.SetFreeAt(index, free));
        g.bytes[index] = static_cast<std::uint8_t>((g.bytes[index] & 0x7f) | (free ? 0x80 : 0));
        break;
    }
    case 11: {
        auto id = static_cast<unsigned char>(draw(256));
        CHECK(pool.SetIdAt(index, id));
        g.bytes[index] = static_cast<std::uint8_t>((g.bytes[index] & 0x80) | (id & 0x7f));
        break;
    }
    case 12:
        if (draw(20)) break;
        pool.Clear();
        for (int i = 0; i < g.size; i++) g.bytes[i] = static_cast<std::uint8_t>(g.bytes[i] | 0x80);
        break;
    default:
        both.walk();
    }
}

/* promise: kolk_gta.hpp "pool(size, name), Init ... begin, end", "With arrays of yours", "address of its struct" */
void test_like_the_games() {
    const char *wish = std::getenv("KOLK_TEST_SEED");
    std::uint64_t seed = wish ? std::strtoull(wish, nullptr, 0) : 1;
    std::printf("KOLK_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    random_state = seed;
    failures none;
    for (int round = 0; round < 90; round++) {
        twins both(1 + draw(round % 2 ? 5 : 40), static_cast<ground>(round % 3));
        for (int number = 0; number < 300; number++) {
            step(both, number);
            both.compare();
        }
        void *flags, *objects; // a backup, what happens meanwhile, and back
        memory before = both.theirs;
        both.pool.Store(&flags, &objects);
        for (int number = 0; number < 20; number++) step(both, number);
        both.pool.CopyBack(&flags, &objects);
        CHECK(!flags && !objects);
        std::memcpy(both.theirs.pool.bytes, before.bytes.data(), before.bytes.size());
        std::memcpy(both.theirs.pool.objects, before.objects.data(), before.objects.size() * sizeof(ped));
        both.theirs.pool.first_free = 0;
        both.compare();
        both.pool.CopyBack(&flags, &objects); // nothing is left to bring back
        both.compare();
    }
    CHECK(none.count == 0);
}

/* What the games do not check. promise: kolk_gta.hpp "pool(size, name), Init ... begin, end", "A pool of 0 slots, until
 * Init", "If there is no memory ... is for reports", "for its fields" */
void test_checks() {
    failures told;
    pool_of_peds empty, pool(3, "peds");
    CHECK(!empty.New() && !empty.New(0) && !empty.GetAt(0) && !empty.GetAtRef(1) && !empty.IsObjectValid(nullptr));
    CHECK(empty.begin() == empty.end() && empty.GetSize() == 0 && !empty.SetFreeAt(0, true));
    void *flags, *objects;
    empty.Store(&flags, &objects);
    empty.CopyBack(&flags, &objects);
    static_assert(!std::is_copy_constructible<pool_of_peds>::value && !std::is_copy_assignable<pool_of_peds>::value,
                  "");
    CHECK(pool_of_peds(-1).GetSize() == 0 && pool.Init(4) == KOLK_NOT_FLUSHED && pool.GetSize() == 3);
    CHECK(std::string(pool.untyped().name) == "peds");

    entity *first = pool.New(), *second = pool.New();
    int ref = pool.GetRef(first);
    CHECK(ref == 1 && !pool.New(ref) && !pool.CreateAtRef(0x300) && !pool.CreateAtHandle(-1));
    entity *last = pool.CreateAtRef(0x27f);
    CHECK(last && pool.GetHandle(last) == 0x201 && pool.untyped().first_free == -1 && !pool.New());
    pool.Delete(nullptr);
    pool.Delete(first);
    CHECK(!pool.GetAtHandle(ref) && !pool.GetAtRef(0x81) && !pool.GetAtRef(-1) && !pool.GetAt(-1) && !pool.GetAt(3));
    CHECK(pool.IsFreeSlotAtIndex(-1) && pool.IsFreeSlotAtIndex(3) && pool.GetIdAt(3) == 0 && pool.GetIdAt(-1) == 0);
    CHECK(!pool.SetFreeAt(3, false) && !pool.SetIdAt(-1, 1) && pool.SetIdAt(1, 0xff) && pool.GetRef(second) == 0x17f);
    CHECK(!pool.IsObjectValid(first) && pool.IsObjectValid(second) && told.count == 0);
    entity other = {};
    entity *inside = reinterpret_cast<entity *>(static_cast<ped *>(second)->health);
    CHECK(!pool.IsObjectValid(&other) && !pool.IsObjectValid(inside) && !pool.IsObjectValid(second + 300) &&
          told.count == 0);

    pool.Delete(first);
    CHECK(told.count == 1 && told.last == KOLK_DOUBLE_FREE);
    pool.Delete(&other);
    CHECK(told.count == 2 && told.last == KOLK_FOREIGN_POINTER);
    CHECK(pool.GetJustIndex(second) == 1 && pool.GetIndex(inside) == -1 && told.count == 3 &&
          pool.GetRef(&other) == -1 && told.count == 4);

    pool.New();
    pool.untyped().trap_full = true;
    CHECK(!pool.New() && told.count == 5 && told.last == KOLK_FULL);
    CHECK(told.sentence == "kolk: peds: full: all 3 slots are in use");
    pool.Delete(pool.GetAt(0));

    pool.untyped().seeds = KOLK_BYTEMAP_SEED_OF_HANDLE;
    CHECK(pool.GetRef(pool.New(0x055)) == 0x055);
    pool.Clear();
    CHECK(pool.GetNoOfUsedSpaces() == 0 && pool.GetIdAt(0) == 0x55 && told.count == 5);
}

/* Any object may go during a walk. promise: kolk_gta.hpp "Flush detaches from it" */
void test_attached() {
    memory game_memory(5);
    game &g = game_memory.pool;
    for (int i = 0; i < 4; i++) g.new_ped();
    {
        pool_of_peds pool;
        CHECK(pool.Attach(&g, "the game's") == KOLK_OK && pool.Attach(&g) == KOLK_NOT_FLUSHED);
        CHECK(g.new_ped() == 4 && pool.GetNoOfUsedSpaces() == 5);
        int seen = 0;
        for (entity *each : pool) {
            if (seen++ == 1) pool.Delete(g.objects + 2);
            pool.Delete(each);
        }
        CHECK(seen == 4 && g.used() == 0 && g.first_free == 0);
    }
    CHECK(g.size == 5 && g.new_ped() == 1);
    std::string listed; // the pools that still exist
    kolk_stats_write(
        KOLK_STATS_TEXT,
        [](const char *text, std::size_t length, void *to) { static_cast<std::string *>(to)->append(text, length); },
        &listed);
    CHECK(listed.find("peds") == std::string::npos && listed.find("the game's") == std::string::npos);
}

// promise: kolk_gta.hpp "For limit adjusters: ... kolk_bytemap_reserve and kolk_bytemap_export", "With
// arrays of yours ... up to max_size"
void test_limit_adjuster() {
    game theirs = {nullptr, nullptr, 0, 0, true, true};
    pool_of_peds pool;
    CHECK(pool.Init(2, nullptr, nullptr, "peds", 500) == KOLK_OK);
    kolk_bytemap_layout layout = sizeof(void *) == 4 ? KOLK_BYTEMAP_SAN_ANDREAS : KOLK_BYTEMAP_SAN_ANDREAS_UNREAL;
    CHECK(pool.Export(layout, &theirs) == KOLK_OK);
    CHECK(theirs.size == 2 && !theirs.owns);
    entity *first = pool.New();
    CHECK(theirs.new_ped() == 1 && theirs.new_ped() == -1 && !pool.New());
    CHECK(pool.Reserve(501) == KOLK_ABOVE_MAX);
    CHECK(pool.Reserve(500) == KOLK_OK && pool.Export(layout, &theirs) == KOLK_OK);
    CHECK(theirs.size == 500 && theirs.objects == first && pool.GetAtRef(1) == first);
    CHECK(theirs.new_ped() == 2 && pool.GetNoOfUsedSpaces() == 3);
    pool.Flush();
    CHECK(pool.Export(layout, &theirs) == KOLK_OK);
    CHECK(theirs.size == 0 && !theirs.objects);
}

} // namespace

int main() {
    test_limit_adjuster();
    test_like_the_games();
    test_checks();
    test_attached();
    return 0;
}
