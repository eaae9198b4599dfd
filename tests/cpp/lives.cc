// What a constructor or a destructor may do with the pool that its object lives in: each function of a class, called at
// each moment. An object is constructed and destroyed once, whatever happens, and the pool is valid afterwards.
#include <kolk/kolk.hpp>

#include "test.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>
#include "../../src/core/hooks.h"
static_assert(kolk::inside::hook_of_lives == HOOK_LIVES,
              "constructors and destructors count as hooks that alloc and free");

namespace {

// Whether the action runs in the constructor or the destructor of the object with the number `subject`.
enum moment { constructor, throwing, erased, renewed, by_handle, by_owner, cleared, evicted, by_c, at_end, later };
const char *const names[] = {"a constructor",
                             "a constructor that throws",
                             "erase",
                             "renew",
                             "erase of a handle",
                             "a unique_ptr's end",
                             "clear",
                             "an eviction",
                             "a free by C",
                             "the pool's end",
                             "erase_later"};

constexpr int subject = 1000;
constexpr int others = 5;

struct actor {
    static inline int alive;
    static inline moment now;
    static inline const std::function<void(actor *)> *action; // runs once
    std::string text = "a text that is longer than a short string";
    const actor *self = this;
    int number;

    explicit actor(int of) : number(of) {
        if (of == subject && now <= throwing) act();
#if defined(__cpp_exceptions)
        if (of == subject && now == throwing) throw std::string("no");
#endif
        alive++;
    }
    actor(actor &&other) noexcept : text(std::move(other.text)), number(other.number) {
        other.number = -1;
        alive++;
    }
    actor &operator=(actor &&) = delete;
    ~actor() {
        CHECK(self == this && alive-- > 0);
        if (number == subject && now > throwing) act();
    }
    void act() {
        const std::function<void(actor *)> *once = action;
        action = nullptr;
        if (once) (*once)(this);
    }
};

// Where a CHECK fails.
struct where {
    static inline const char *of = "", *variant = "", *name = "", *at = "";
    static void is(const char *of_, const char *variant_ = "", const char *name_ = "", const char *at_ = "") {
        of = of_;
        variant = variant_;
        name = name_;
        at = at_;
    }
};

#undef CHECK
#define CHECK(condition)                                                                                               \
    ((condition) ? static_cast<void>(0)                                                                                \
                 : (static_cast<void>(std::fprintf(stderr, "%s:%d: %s, %s, %s, %s: not so: %s\n", __FILE__, __LINE__,  \
                                                   where::of, where::variant, where::name, where::at, #condition)),    \
                    std::exit(1)))

// These moments; without exceptions, no constructor throws.
std::vector<moment> possible(std::vector<moment> list) {
    if (!has_exceptions) list.erase(std::remove(list.begin(), list.end(), throwing), list.end());
    return list;
}

template <class Pool> int count_of(Pool &pool) {
    int count = 0;
    for (actor &each : pool) count += each.self == &each;
    return count;
}

// ---- Pools ----

using pool_type = kolk::pool<actor>;

struct pool_world {
    pool_type &pool;
    std::vector<actor *> others;
    kolk::handle<actor> own;
    bool is_made; // the subject is alive: its constructor runs
    failures &told;
    int refused = 0;

    // Such a call is reported, and changes nothing.
    template <class F> [[maybe_unused]] void is_refused(F call) {
        std::uint32_t before = pool.size();
        call();
        CHECK(told.count == ++refused && told.last == KOLK_IN_HOOK && pool.size() == before);
    }
};

struct pool_row {
    const char *name;
    void (*run)(pool_world &of, actor *self);
};

const pool_row pool_rows[] = {
    {"nothing", [](pool_world &, actor *) {}},
    {"emplace", [](pool_world &of, actor *) { CHECK(of.pool.emplace(1) && of.pool.emplace_urgent(2)); }},
    {"emplace and erase", [](pool_world &of, actor *) { of.pool.erase(of.pool.emplace(1)); }},
    {"make_unique", [](pool_world &of, actor *) { CHECK(of.pool.make_unique(1)); }},
    {"emplace until it is full",
     [](pool_world &of, actor *self) {
         while (actor *made = of.pool.emplace(1)) CHECK(made != self);
         CHECK(!of.pool.emplace_over(1e9, 1));
     }},
    {"erase others",
     [](pool_world &of, actor *) {
         for (actor *each : of.others)
             if (of.pool.contains(each)) of.pool.erase(each);
     }},
    {"erase others by handle",
     [](pool_world &of, actor *) {
         for (actor *each : of.others)
             if (of.pool.contains(each)) CHECK(of.pool.erase(of.pool.handle_of(each)));
     }},
    {"renew others",
     [](pool_world &of, actor *) {
         for (actor *each : of.others)
             if (of.pool.contains(each)) CHECK(of.pool.renew(each, 9));
     }},
    {"erase in a walk",
     [](pool_world &of, actor *self) {
         for (actor &each : of.pool)
             if (&each != self) of.pool.erase(&each);
     }},
    {"erase and renew of itself",
     [](pool_world &of, actor *self) {
         if (of.is_made) return; // as `delete this` in a constructor
         of.pool.erase(self);
         CHECK(of.told.count == ++of.refused && of.told.last == KOLK_DOUBLE_FREE);
         CHECK(!of.pool.renew(self, 9) && of.told.count == ++of.refused && of.told.last == KOLK_DEAD_OBJECT);
     }},
    {"its own handle",
     [](pool_world &of, actor *self) {
         if (of.is_made) of.own = of.pool.handle_of(self);
         CHECK((of.pool.get(of.own) == self) == of.is_made && of.pool.contains(of.own) == of.is_made);
         CHECK(of.pool.contains(self) == of.is_made && (of.is_made || !of.pool.erase(of.own)));
     }},
    {"look",
     [](pool_world &of, actor *self) {
         const pool_type &pool = of.pool;
         std::set<const actor *> seen;
         for (const actor &each : pool) CHECK(each.self == &each && seen.insert(&each).second);
         CHECK((seen.count(self) == 1) == of.is_made);
         for (const actor *each : seen) CHECK(pool.at(pool.index_of(each)) == each && pool.get(pool.handle_of(each)));
         CHECK(pool.size() == seen.size() + !of.is_made && pool.stats().count == pool.size() && !pool.empty());
     }},
    {"reserve", [](pool_world &of, actor *) { CHECK(of.pool.reserve(40) == KOLK_OK && of.pool.available() > 0); }},
    {"clear", [](pool_world &of, actor *) { of.is_refused([&] { of.pool.clear(); }); }},
    {"trim", [](pool_world &of, actor *) { of.is_refused([&] { CHECK(of.pool.trim() == 0); }); }},
    {"tick", [](pool_world &of, actor *) { of.is_refused([&] { CHECK(of.pool.tick(64) == 0); }); }},
    {"rebind", [](pool_world &of, actor *) { CHECK(of.pool.rebind({}) == KOLK_IN_HOOK); }},
    {"a snapshot", [](pool_world &of, actor *) { CHECK(kolk_pool_snapshot_size(&of.pool.untyped()) == 0); }},
};

const pool_row ages_rows[] = {
    {"ages",
     [](pool_world &of, actor *self) {
         std::size_t count = 0;
         for (actor *each = of.pool.oldest(); each; each = of.pool.newer(each)) count += each != self;
         for (actor *each = of.pool.newest(); each; each = of.pool.older(each)) count += each != self;
         CHECK(count == 2 * (of.pool.size() - 1));
         if (actor *first = of.pool.oldest()) of.pool.touch(first);
         if (actor *last = of.pool.newest(); last != self && last) of.pool.protect(last, true);
     }},
    {"recost",
     [](pool_world &of, actor *) {
         of.pool.recost_all();
         for (actor &each : of.pool) of.pool.recost(&each);
     }},
};

void try_pool(const pool_row &row, moment at, kolk::options<actor> wish, const char *variant) {
    where::is("pool", variant, row.name, names[at]);
    failures told;
    int reports = 0;
    actor::now = at;
    {
        wish.name = "actors";
        wish.capacity = 8;
        wish.max_capacity = 64;
        wish.full.cost = [](const actor &each, void *) {
            CHECK(each.self == &each);
            return static_cast<double>(each.number);
        };
        auto made = std::make_unique<pool_type>(wish);
        pool_type &pool = *made;
        pool_world world{pool, {}, {}, at <= throwing, told};
        actor *self = nullptr;
        if (at > throwing) {
            self = pool.emplace(subject);
            world.own = pool.handle_of(self);
        }
        for (int n = 0; n < others; n++) world.others.push_back(pool.emplace(n));
        bool acted = false;
        const std::function<void(actor *)> action = [&](actor *of) {
            acted = true;
            row.run(world, of);
            reports = world.refused;
        };
        actor::action = &action;
        switch (static_cast<int>(at)) {
        case constructor:
            CHECK(pool.emplace(subject));
            break;
        case throwing:
            CHECK(throws_an<std::string>([&] { pool.emplace(subject); }));
            break;
        case erased:
            pool.erase(self);
            break;
        case renewed:
            CHECK(pool.renew(self, 9));
            break;
        case by_handle:
            CHECK(pool.erase(world.own));
            break;
        case by_owner:
            pool_type::unique_ptr(self, pool_type::deleter{&pool}).reset();
            break;
        case cleared:
            pool.clear();
            break;
        case evicted: // it is the oldest
            if (wish.ages)
                CHECK(pool_type::evict_oldest(pool, nullptr));
            else
                while (!acted) CHECK(pool_type::evict_cheapest(pool, nullptr));
            break;
        case by_c:
            kolk_pool_free(&pool.untyped(), self);
            break;
        default:
            made.reset();
        }
        CHECK(acted);
        if (made) {
            CHECK(pool.is_valid());
            CHECK(count_of(pool) == actor::alive && static_cast<int>(pool.size()) == actor::alive);
            CHECK(at <= throwing || !pool.get(world.own));
        }
    }
    CHECK(actor::alive == 0 && told.count == reports);
}

/* promise: kolk.hpp "an object's ... trim (KOLK_IN_HOOK)", "Objects that these ... not constructed" */
void test_pools() {
    struct {
        const char *name;
        kolk_reuse reuse;
        bool ages, ranked;
        const char *debug;
    } variants[] = {{"LIFO", KOLK_REUSE_LIFO, false, false, nullptr},
                    {"FIFO", KOLK_REUSE_FIFO, false, false, nullptr},
                    {"LOWEST", KOLK_REUSE_LOWEST, false, false, nullptr},
                    {"ages", KOLK_REUSE_LIFO, true, false, nullptr},
                    {"ranked", KOLK_REUSE_LIFO, true, true, nullptr},
                    {"debug", KOLK_REUSE_LIFO, true, false, "fill,quarantine=3"}};
    for (auto &variant : variants) {
        kolk::options<actor> wish;
        wish.reuse = variant.reuse;
        wish.ages = variant.ages;
        wish.full.ranked = variant.ranked;
        wish.debug = variant.debug;
        for (moment at :
             possible({constructor, throwing, erased, renewed, by_handle, by_owner, cleared, evicted, by_c, at_end})) {
            for (const pool_row &row : pool_rows) try_pool(row, at, wish, variant.name);
            for (const pool_row &row : ages_rows)
                if (variant.ages) try_pool(row, at, wish, variant.name);
        }
    }
}

// A full pool evicts nothing while a constructor or destructor runs: not the object that is being made, either.
void test_full_pools() {
    where::is("a full pool");
    for (bool cheapest : {false, true}) {
        for (moment at : {constructor, erased}) {
            kolk::options<actor> wish;
            wish.name = "full";
            wish.capacity = others;
            wish.ages = true;
            wish.full.on_full = cheapest ? pool_type::evict_cheapest : pool_type::evict_oldest;
            wish.full.cost = [](const actor &each, void *) { return -static_cast<double>(each.number); };
            actor::now = at;
            pool_type pool(wish);
            actor *self = pool.emplace(at == erased ? subject : 0);
            for (int n = 1; n < others; n++) pool.emplace(n);
            const std::function<void(actor *)> action = [&](actor *) { CHECK(!pool.emplace(7)); };
            actor::action = &action;
            if (at == erased)
                pool.erase(self);
            else
                CHECK(pool.emplace(subject)); // evicts one
            CHECK(!actor::action && pool.is_valid() && static_cast<int>(pool.size()) == actor::alive);
            CHECK(actor::alive == others - (at == erased));
            CHECK(at == constructor || pool.emplace(8));
            CHECK(pool.emplace(9)); // evicts again
        }
    }
    CHECK(actor::alive == 0);
}

// What lies in an overflow pool is destroyed once, too.
void test_overflow() {
    where::is("an overflow pool");
    kolk::options<actor> wish;
    wish.name = "spare";
    wish.capacity = 8;
    pool_type spare(wish);
    wish.name = "small";
    wish.capacity = 1;
    wish.full.overflow = &spare;
    {
        pool_type small(wish);
        small.emplace(1);
        actor *child = small.emplace(2);
        actor::now = erased;
        actor *self = small.emplace(subject);
        const std::function<void(actor *)> action = [&](actor *) {
            small.erase(child);
            CHECK(small.emplace(3));
        };
        actor::action = &action;
        small.erase(self);
        CHECK(!actor::action && actor::alive == 2 && spare.size() == 1 && spare.is_valid());
        actor::now = throwing;
        const std::function<void(actor *)> more = [&](actor *) { CHECK(small.emplace(4)); };
        actor::action = &more;
        CHECK(!has_exceptions || throws_an<std::string>([&] { small.emplace(subject); }));
        CHECK(!has_exceptions || (actor::alive == 3 && spare.size() == 2 && spare.is_valid()));
    }
    spare.clear();
    CHECK(actor::alive == 0);
}

// ---- Slot maps ----

using map_type = kolk::slot_map<actor>;

struct map_world {
    map_type &map;
    std::vector<kolk::handle<actor>> others;
    kolk::handle<actor> own;
};

struct map_row {
    const char *name;
    void (*run)(map_world &of);
};

const map_row map_rows[] = {
    {"nothing", [](map_world &) {}},
    {"emplace", [](map_world &of) { CHECK(of.map.emplace(1) && of.map.emplace(2)); }},
    {"emplace until it is full",
     [](map_world &of) {
         while (of.map.emplace(1)) {}
     }},
    {"emplace and erase", [](map_world &of) { CHECK(of.map.erase(of.map.emplace(1).handle)); }},
    {"erase the first", [](map_world &of) { of.map.erase(of.others.front()); }},
    {"erase the last", [](map_world &of) { of.map.erase(of.others.back()); }},
    {"erase all others",
     [](map_world &of) {
         for (kolk::handle<actor> each : of.others) of.map.erase(each);
     }},
    {"erase_if", [](map_world &of) { of.map.erase_if([](const actor &each) { return each.number % 2 == 0; }); }},
    {"clear",
     [](map_world &of) {
         of.map.clear();
         CHECK(of.map.empty());
     }},
    {"its own handle",
     [](map_world &of) { CHECK(!of.map.get(of.own) && !of.map.contains(of.own) && !of.map.erase(of.own)); }},
    {"sort", [](map_world &of) { of.map.sort([](const actor &a, const actor &b) { return a.number > b.number; }); }},
    {"look",
     [](map_world &of) {
         CHECK(of.map.is_valid() && count_of(of.map) == static_cast<int>(of.map.size()));
         for (actor &each : of.map) CHECK(of.map.get(of.map.handle_of(&each)) == &each && each.number < subject);
     }},
    {"memory",
     [](map_world &of) {
         CHECK(of.map.reserve(40) == KOLK_OK);
         of.map.trim();
     }},
    {"rebind", [](map_world &of) { CHECK(of.map.rebind({}) == KOLK_OK); }},
};

void try_map(const map_row &row, moment at, int place, const char *debug) {
    where::is("slot map", debug ? debug : "plain", row.name, names[at]);
    failures told;
    actor::now = at;
    {
        kolk::slot_map_options<actor> wish;
        wish.name = "actors";
        wish.capacity = 8;
        wish.max_capacity = 64;
        wish.debug = debug;
        auto made = std::make_unique<map_type>(wish);
        map_type &map = *made;
        map_world world{map, {}, {}};
        for (int n = 0; n < others; n++) {
            if (at > throwing && n == place) world.own = map.emplace(subject).handle;
            world.others.push_back(map.emplace(n).handle);
        }
        const std::function<void(actor *)> action = [&](actor *) { row.run(world); };
        actor::action = &action;
        switch (static_cast<int>(at)) {
        case constructor:
            CHECK(map.emplace(subject) || map.available() == 0);
            break;
        case throwing:
            CHECK(throws_an<std::string>([&] { map.emplace(subject); }));
            break;
        case erased:
            CHECK(map.erase(world.own));
            break;
        case by_handle:
            map.erase_if([](const actor &each) { return each.number == subject; });
            break;
        case cleared:
            map.clear();
            break;
        default:
            made.reset();
        }
        CHECK(!actor::action);
        if (made) {
            CHECK(map.is_valid() && count_of(map) == actor::alive && static_cast<int>(map.size()) == actor::alive);
        }
    }
    CHECK(actor::alive == 0 && told.count == 0);
}

/* promise: kolk.hpp "so that the map no longer has it when its destructor runs" */
void test_slot_maps() {
    for (const char *debug : {static_cast<const char *>(nullptr), "fill,move"})
        for (moment at : possible({constructor, throwing, erased, by_handle, cleared, at_end}))
            for (int place = 0; place < (at > throwing ? others : 1); place++)
                for (const map_row &row : map_rows) try_map(row, at, place, debug);
}

// A tree in a slot map, whose nodes own their children. A node that is moved from owns none.
struct node {
    static inline int alive;
    kolk::slot_map<node> *in;
    std::vector<kolk::handle<node>> children;
    explicit node(kolk::slot_map<node> *map, int depth = 0) : in(map) {
        for (int n = 0; n < depth; n++) children.push_back(map->emplace(map, depth - 1).handle);
        alive++;
    }
    node(node &&other) noexcept : in(other.in), children(std::move(other.children)) { alive++; }
    node &operator=(node &&) = delete;
    ~node() {
        alive--;
        for (kolk::handle<node> each : children) in->erase(each); // at the map's end it may be gone
    }
};

void test_trees() {
    where::is("trees");
    kolk::slot_map_options<node> wish;
    wish.name = "scene";
    wish.max_capacity = 100;
    failures told;
    {
        kolk::slot_map<node> scene(wish);
        kolk::handle<node> first = scene.emplace(&scene, 3).handle; // 16 nodes: 1 + 3 * (1 + 2 * (1 + 1))
        kolk::handle<node> second = scene.emplace(&scene, 4).handle;
        CHECK(scene.size() == 16 + 65 && node::alive == 81);
        CHECK(scene.erase(first) && scene.size() == 65 && node::alive == 65 && scene.is_valid() &&
              scene.contains(second));
        scene.get(second)->children.clear(); // who has no parent stays
        CHECK(scene.erase(second) && scene.size() == 64);
    }
    CHECK(node::alive == 0 && told.count == 0);
}

#if KOLK_HOSTED

// ---- Shared pools ----

using shared_type = kolk::shared_pool<actor>;

struct shared_world {
    shared_type &pool;
    shared_type::local &local;
    std::vector<actor *> others;
    kolk::handle<actor> own;
    failures &told;
};

struct shared_row {
    const char *name;
    void (*run)(shared_world &of, actor *self);
};

const shared_row shared_rows[] = {
    {"nothing", [](shared_world &, actor *) {}},
    {"emplace", [](shared_world &of, actor *) { CHECK(of.local.emplace(1) && of.local.emplace_wait(KOLK_NOW, 2)); }},
    {"emplace until it is full",
     [](shared_world &of, actor *self) {
         while (actor *made = of.local.emplace(1)) CHECK(made != self);
     }},
    {"emplace and erase", [](shared_world &of, actor *) { of.local.erase(of.local.emplace(1)); }},
    {"make_unique", [](shared_world &of, actor *) { CHECK(of.local.make_unique(1)); }},
    {"erase others",
     [](shared_world &of, actor *) {
         for (actor *each : of.others)
             if (of.pool.contains(each)) of.local.erase(each);
     }},
    {"erase_later others",
     [](shared_world &of, actor *) {
         for (actor *each : of.others)
             if (of.pool.contains(each)) of.local.erase_later(each);
     }},
    {"erase in a walk",
     [](shared_world &of, actor *) {
         for (actor &each : of.pool) of.local.erase(&each);
     }},
    {"erase of itself",
     [](shared_world &of, actor *self) {
         int before = of.told.count;
         of.local.erase(self);
         CHECK(of.told.count == before + 1);
         of.local.erase_later(self);
         CHECK(of.told.count == before + 2);
     }},
    {"its own handle",
     [](shared_world &of, actor *self) {
         CHECK(!of.pool.get(of.own) && !of.pool.contains(of.own) && !of.pool.contains(self));
     }},
    {"look",
     [](shared_world &of, actor *self) {
         std::uint32_t seen = 0;
         for (const actor &each : of.pool) seen += each.self == &each && &each != self;
         CHECK(of.pool.size() >= seen && of.pool.stats().capacity > 0);
         for (actor &each : of.pool) CHECK(&each != self && of.pool.contains(&each));
     }},
    {"flush", [](shared_world &of, actor *) { of.local.flush(); }},
};

void try_shared(const shared_row &row, moment at, kolk::shared_options wish, const char *variant) {
    where::is("shared pool", variant, row.name, names[at]);
    failures told;
    actor::now = at;
    bool has_handles = wish.generations != KOLK_GENERATIONS_NONE;
    {
        wish.name = "actors";
        wish.capacity = 8;
        wish.max_capacity = 64;
        shared_type pool(wish);
        {
            shared_type::local local(pool);
            shared_world world{pool, local, {}, {}, told};
            actor *self = nullptr;
            if (at > throwing) {
                self = local.emplace(subject);
                if (has_handles) world.own = pool.handle_of(self);
            }
            for (int n = 0; n < others; n++) world.others.push_back(local.emplace(n));
            const std::function<void(actor *)> action = [&](actor *of) { row.run(world, of); };
            actor::action = &action;
            switch (static_cast<int>(at)) {
            case constructor:
                CHECK(local.emplace(subject));
                break;
            case throwing:
                CHECK(throws_an<std::string>([&] { local.emplace(subject); }));
                break;
            case erased:
                local.erase(self);
                break;
            case by_owner:
                shared_type::local::unique_ptr(self, shared_type::local::deleter{&local}).reset();
                break;
            case by_c:
                kolk_shared_free(&local.untyped(), self);
                break;
            case cleared:
                pool.clear();
                break;
            case later:
                local.erase_later(self);
                for (int n = 0; actor::action && n < 10; n++) local.quiesce();
                break;
            default:
                CHECK(false);
            }
            for (int n = 0; n < 10; n++) local.quiesce(); // for erase_later
            CHECK(!actor::action && pool.is_valid());
            CHECK(count_of(pool) == actor::alive && static_cast<int>(pool.size()) == actor::alive);
            pool.clear(); // its end would report leaks, with sites
        }
    }
    CHECK(actor::alive == 0 && told.count == (row.name == std::string("erase of itself") ? 2 : 0));
}

void test_shared_pools() {
    struct {
        const char *name;
        std::uint32_t cache;
        kolk_generations generations;
        bool exact;
        const char *debug;
    } variants[] = {{"plain", 0, KOLK_GENERATIONS_RECYCLE, false, nullptr},
                    {"without caches", KOLK_NO_CACHE, KOLK_GENERATIONS_RECYCLE, false, nullptr},
                    {"without handles", 0, KOLK_GENERATIONS_NONE, false, nullptr},
                    {"exact", 0, KOLK_GENERATIONS_RECYCLE, true, nullptr},
                    {"debug", 0, KOLK_GENERATIONS_RECYCLE, false, "fill,guard,sites,quarantine=3"}};
    for (auto &variant : variants) {
        kolk::shared_options wish;
        wish.cache = variant.cache;
        wish.generations = variant.generations;
        wish.exact = variant.exact;
        wish.debug = variant.debug;
        for (moment at : possible({constructor, throwing, erased, by_owner, by_c, cleared, later}))
            for (const shared_row &row : shared_rows) try_shared(row, at, wish, variant.name);
    }
}

#endif

// A pool that ends in a destructor of its object is reported. The program cannot go on.
[[noreturn]] void test_end_within() {
    where::is("a pool that ends within");
    auto report = [](const kolk_failure *failure, void *) {
        CHECK(failure->rule == KOLK_IN_HOOK);
        std::_Exit(0);
    };
    kolk::options<actor> wish;
    wish.capacity = 1;
    auto *pool = new pool_type(wish);
    actor::now = erased;
    actor *self = pool->emplace(subject);
    const std::function<void(actor *)> action = [&](actor *) { delete pool; };
    actor::action = &action;
    kolk_set_failure_handler(report, nullptr);
    pool->erase(self);
    std::abort(); // nothing was reported
}

} // namespace

int main() {
    test_pools();
    test_full_pools();
    test_overflow();
    test_slot_maps();
    test_trees();
#if KOLK_HOSTED
    test_shared_pools();
#endif
    test_end_within();
}
