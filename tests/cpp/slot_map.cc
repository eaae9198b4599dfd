// Tests each promise of kolk::slot_map and kolk::pool_of in kolk.hpp.
#include <kolk/kolk.hpp>

#include "test.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>
#if __cplusplus > 201703L
#include <span>
#endif

namespace {

// Its address is part of it, as in a short std::string.
struct body {
    static inline int alive = 0;
    const body *self = this;
    std::string name;
    std::unique_ptr<int> number;
    explicit body(int of) : name(std::to_string(of)), number(std::make_unique<int>(of)) { alive++; }
    body(body &&other) noexcept : name(std::move(other.name)), number(std::move(other.number)) {
        CHECK(other.self == &other);
        alive++;
    }
    body &operator=(body &&) = delete;
    ~body() {
        CHECK(self == this);
        alive--;
    }
    bool is(int of) const { return self == this && name == std::to_string(of) && *number == of; }
};

} // namespace
template class kolk::slot_map<body>; // compiles every member
template class kolk::slot_map<int>;
template class kolk::ref<body>;
template class kolk::ref<int, kolk::pool<int>>;
namespace {

/* promise: kolk.hpp "T's move constructor and destructor do", "Objects in a plain ... change the map", "A new object
 * ... another map", "nothing moves before ... end() include it", "function returns true; returns how
 * many ... For hot reload, as for pools" */
void test_moves(const char *debug) {
    kolk::slot_map_options<body> wish;
    wish.name = "bodies";
    wish.max_capacity = 100;
    wish.debug = debug;
    {
        kolk::slot_map<body> map(wish);
        std::vector<kolk::handle<body>> handles;
        for (int i = 0; i < 100; i++) {
            auto [object, handle] = map.emplace((i * 37) % 100);
            CHECK(object && handle && object->is((i * 37) % 100));
            handles.push_back(handle);
        }
        CHECK(!map.emplace(1) && map.size() == 100 && body::alive == 100 && map.available() == 0);
        map.sort([](const body &a, const body &b) { return *a.number < *b.number; });
        for (int i = 0; i < 100; i++) CHECK(map[static_cast<std::uint32_t>(i)].is(i));
        for (int i = 0; i < 100; i++) CHECK(map.get(handles[static_cast<std::size_t>(i)])->is((i * 37) % 100));
        CHECK(map.erase_if([](const body &each) { return *each.number % 2 == 1; }) == 50 && body::alive == 50);
        for (std::size_t i = 0; i < 100; i++) {
            int number = static_cast<int>(i * 37 % 100);
            CHECK(map.contains(handles[i]) == (number % 2 == 0));
            if (map.contains(handles[i])) CHECK(map.get(handles[i])->is(number));
        }
        CHECK(map.erase(handles[0]) && !map.erase(handles[0]) && map.is_valid());
        body *kept = map.data() + 48, *other = map.data() + 47;
        kolk::handle<body> of_kept = map.handle_of(kept), of_other = map.handle_of(other);
        CHECK(map.erase_in_place(of_other) && !map.erase_in_place(of_other) && body::alive == 48);
        CHECK(map.size() == 49 && !map.at(47) && map.at(48) == kept && !map.at(49));
        map.settle();
        CHECK(map.size() == 48 && map.at(47) == map.get(of_kept) && map.is_valid());
        CHECK(map.handle_of(map.data()) && map.get(map.handle_of(map.data())) == map.begin());
        CHECK(map.slot(map.handle_of(map.data())) < 100 && map.stats().count == map.size());
        CHECK(std::all_of(map.begin(), map.end(), [](const body &each) { return each.is(*each.number); }));
#if __cplusplus > 201703L
        CHECK(std::span(map).size() == 48 && std::span<body>(map).data() == map.data());
#endif
    }
    CHECK(body::alive == 0);
}

// A full map with a hole: the new object is constructed there. erase_if asks once for each object.
void test_holes() {
    {
        kolk::slot_map<body> map(3);
        kolk::handle<body> first = map.emplace(0).handle;
        for (int i = 1; i < 3; i++) map.emplace(i);
        CHECK(map.erase_in_place(first) && body::alive == 2);
        auto [object, handle] = map.emplace(7);
        CHECK(object == map.data() && object->is(7) && map.get(handle) == object && body::alive == 3);
        CHECK(!map.emplace(8));
        CHECK(map.erase_in_place(handle));
        int asked = 0;
        CHECK(map.erase_if([&asked](const body &each) { return asked++, each.is(1); }) == 1);
        CHECK(asked == 2 && map.size() == 1 && map[0].is(2) && map.is_valid());
    }
    CHECK(body::alive == 0);
}

void test_bytes() {
    kolk::slot_map_options<int> wish;
    wish.capacity = 4;
    static std::uint32_t moved_to;
    wish.on_move = [](int &object, std::uint32_t, std::uint32_t to, void *) {
        moved_to = to + (object == 9 ? 100 : 0);
    };
    kolk::slot_map<int> map(wish);
    kolk::handle<int> first = map.emplace(3).handle;
    map.emplace(9);
    map.erase(first);
    CHECK(map.size() == 1 && map[0] == 9 && moved_to == 100);
    wish.name = "again";
    wish.on_move = nullptr;
    CHECK(map.rebind(wish) == KOLK_OK && std::string(map.stats().name) == "again" && !map.untyped().on_move);
    wish.max_capacity = 5;
    CHECK(map.rebind(wish) == KOLK_LAYOUT_CHANGED);
    map.clear();
    CHECK(map.empty() && map.reserve(5) == KOLK_ABOVE_MAX && map.capacity() == 4 && map.trim() == 0);
    map.emplace(5);
    map.emplace(4);
    map.sort();
    CHECK(map[0] == 4 && map[1] == 5);
    CHECK(!map.untyped().move && !map.untyped().on_remove); // so that erase takes C's fast path
}

#if defined(__cpp_exceptions)
struct thrower {
    explicit thrower(bool now) {
        if (now) throw 1;
        alive++;
    }
    thrower(thrower &&) noexcept { alive++; }
    thrower &operator=(thrower &&) = delete;
    ~thrower() { alive--; }
    static inline int alive = 0;
};
#endif

void test_throwing_constructor() {
#if defined(__cpp_exceptions)
    kolk::slot_map_options<thrower> wish;
    wish.capacity = 2;
    kolk::slot_map<thrower> map(wish);
    map.emplace(false);
    CHECK(throws_an<int>([&] { map.emplace(true); }));
    CHECK(map.size() == 1 && thrower::alive == 1 && map.is_valid());
    CHECK(map.emplace(false));
#endif
}

// ---- A family of types ----

struct effect {
    static inline int alive = 0;
    effect() { alive++; }
    effect(const effect &) = delete;
    effect &operator=(const effect &) = delete;
    virtual ~effect() { alive--; }
    virtual int strength() const = 0;
};
struct fire final : effect {
    int heat;
    explicit fire(int heat_) : heat(heat_) {}
    int strength() const override { return heat; }
};
struct marked {
    virtual ~marked() = default;
    int mark = 7;
};
struct rain final : marked, effect { // an effect is not at its beginning
    std::string text = "a long text that needs memory of its own, as strings do";
    int strength() const override { return static_cast<int>(text.size()); }
};
struct spark {
    char byte = 's';
};

/* promise: kolk.hpp "otherwise nullptr", "Calls the function with the object", "A pool whose slots have room for the
 * largest", "Destroys an object, which may ... U in its slot", "object is not of this type" */
void test_family() {
    using effects = kolk::pool_of<fire, rain, spark>;
    kolk::options<kolk::one_of<fire, rain, spark>> wish;
    wish.name = "effects";
    wish.capacity = 3;
    failures told;
    {
        effects pool(wish);
        fire *a = pool.emplace<fire>(3);
        rain *b = pool.emplace<rain>();
        spark *c = pool.emplace<spark>();
        CHECK(a && b && c && c->byte == 's' && !pool.emplace<fire>(4) && effect::alive == 2);
        auto handle = pool.handle_of(a);
        CHECK(pool.get<fire>(handle) == a && !pool.get<rain>(handle) && pool.contains(handle));
        int sum = 0, sparks = 0;
        for (auto &each : pool) {
            if (each.as<spark>()) sparks++;
            each.visit([&sum](const auto &object) { sum += static_cast<int>(sizeof object); });
        }
        CHECK(sparks == 1 && sum == static_cast<int>(sizeof(fire) + sizeof(rain) + sizeof(spark)));
        const effects &same = pool;
        for (const auto &each : same)
            each.visit([&sum](const auto &object) { sum -= static_cast<int>(sizeof object); });
        CHECK(sum == 0 && same.get<fire>(handle) == a && !same.get<rain>(handle));
        effect *base = b;
        CHECK(static_cast<void *>(base) != static_cast<void *>(b));
        rain *d = pool.renew<rain>(base); // b's slot
        CHECK(d && static_cast<void *>(d) == static_cast<void *>(b) && pool.get<rain>(pool.handle_of(d)) == d);
        CHECK(effect::alive == 2 && pool.size() == 3 && told.count == 0);
        base = d;
        pool.erase(base);
        pool.erase(static_cast<const effect *>(a));
        CHECK(effect::alive == 0 && pool.size() == 1 && !pool.get<fire>(handle) && told.count == 0);
        pool.erase(c);
        pool.erase(c);
        CHECK(told.count == 1 && told.last == KOLK_DOUBLE_FREE);
        pool.emplace<rain>();
    }
    CHECK(effect::alive == 0 && told.count == 1);
#if __cplusplus > 201703L
    kolk::pool_of<fire, spark> as_in_the_manual{{.name = "sparks", .capacity = 10}};
    CHECK(as_in_the_manual.emplace<spark>());
#endif
}

/* promise: kolk.hpp "Looks the object up once ... there is no object", "an object of a slot map or pool, as a
 * pointer", "The same for the object at this address", "An object of a slot map or pool, wherever it is ... but not
 * the map", "nullptr once the object is erased" */
void test_refs() {
    failures told;
    kolk::slot_map<body> map(10);
    kolk::ref first(map, map.emplace(1).object);
    map.emplace(2);
    kolk::ref<body> third(map, map.emplace(3).handle), same = third, none;
    CHECK(first && third->is(3) && same == third && third != first && !none && none != third);
    const body *before = third.get();
    CHECK(map.erase(first.get()) && body::alive == 2); // the third moves to the place of the first
    CHECK(third.get() != before && third->is(3) && (*same).is(3) && same.handle() == map.handle_of(third.get()));
    CHECK(!first && !first.get() && map.size() == 2);
    CHECK(third.with([](body &object) { CHECK(object.is(3)); }) && !first.with([](body &) { CHECK(false); }));
    CHECK(map.erase(third.get()) && !same && told.count == 0);
    CHECK(!map.erase(map.data() + 7) && told.count == 1 && map.size() == 1); // no object is there

    kolk::pool<int> pool(2);
    kolk::ref number(pool, pool.emplace(5));
    CHECK(*number == 5);
    pool.clear();
    CHECK(!number);
}

} // namespace

int main() {
    test_moves(nullptr);
    test_moves("move,fill");
    test_holes();
    test_bytes();
    test_throwing_constructor();
    test_family();
    test_refs();
    return 0;
}
