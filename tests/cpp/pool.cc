// Tests each promise of kolk::pool in kolk.hpp, in C++17 and C++20, with and without exceptions.
#include <kolk/kolk.hpp>

#include "test.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>
#if __cplusplus > 201703L
#include <ranges>
#endif

namespace {

// Counts constructions and destructions, and throws if asked to.
struct counted {
    static inline int alive = 0;
    [[maybe_unused]] static inline int throws = 0;
    std::string text;
    int number;
    explicit counted(int number_) : text("a text that is longer than a short string"), number(number_) {
#if defined(__cpp_exceptions)
        if (throws && throws-- == 1) throw std::string("no");
#endif
        alive++;
    }
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;
    ~counted() {
        alive--;
    }
};

kolk::options<counted> with_capacity(std::uint32_t capacity) {
    kolk::options<counted> wish;
    wish.name = "counted";
    wish.capacity = capacity;
    return wish;
}

} // namespace
template class kolk::pool<counted>; // compiles every member
template class kolk::pool<int>;
namespace {

/* promise: kolk.hpp "if an init ... renewed for it is gone", "Names an object ... default is null", "Any order, for
 * std::map and std::set", "0, nullptr and false mean the default", "Constructs an object; nullptr: the pool is full",
 * "Destroys an object. ... which is reported", "False: the handle is null, stale or from another pool", "nullptr: the
 * handle is null, stale or from another pool. ... (nullptr: none)", "KOLK_OK, or why the init failed" */
void test_life() {
    kolk::pool<counted> pool(with_capacity(3));
    counted *a = pool.emplace(1), *b = pool.emplace(2), *c = pool.emplace(3);
    CHECK(a && b && c && counted::alive == 3);
    CHECK(!pool.emplace(4) && counted::alive == 3 && pool.available() == 0);
    kolk::handle<counted> of_b = pool.handle_of(b);
    CHECK(of_b && !kolk::handle<counted>() && of_b == pool.handle_of(b) && of_b != pool.handle_of(a));
    CHECK(pool.get(of_b) == b && pool.contains(b) && pool.contains(of_b) && !pool.contains(&of_b));
    pool.erase(b);
    CHECK(counted::alive == 2 && !pool.get(of_b) && !pool.erase(of_b) && !pool.contains(b));
    CHECK(pool.erase(pool.handle_of(a)) && counted::alive == 1);
    pool.erase(static_cast<counted *>(nullptr));
    counted *again = pool.emplace(5);
    CHECK(again && pool.size() == 2 && !pool.empty() && pool.at(pool.index_of(again)) == again);
    CHECK(pool.stats().count == 2 && pool.is_valid() && pool.status() == KOLK_OK && pool.capacity() == 3);
    pool.clear();
    CHECK(counted::alive == 0 && pool.empty());
    pool.emplace(6);
}

/* promise: kolk.hpp "Destroys the objects that are left" */
void test_end_destroys() {
    {
        kolk::pool<counted> pool(with_capacity(100));
        for (int i = 0; i < 70; i++) pool.emplace(i);
        CHECK(counted::alive == 70);
    }
    CHECK(counted::alive == 0);
}

// clear goes from the lowest slot up, whatever the order of birth.
// promise: kolk.hpp "Destroys all objects, those ... makes meanwhile may be destroyed too, or may stay"
void test_order_of_clear() {
    std::string ended;
    struct letter {
        char name;
        std::string &to;
        letter(char of, std::string &end) : name(of), to(end) {}
        letter(const letter &) = delete;
        letter &operator=(const letter &) = delete;
        ~letter() { to += name; }
    };
    kolk::options<letter> wish;
    wish.capacity = 4;
    kolk::pool<letter> pool(wish);
    pool.emplace('a', ended);
    letter *second = pool.emplace('b', ended);
    for (char name : {'c', 'd'}) pool.emplace(name, ended);
    pool.erase(second);
    pool.emplace('e', ended);
    pool.clear();
    CHECK(ended == "baecd");
}

/* promise: kolk.hpp "any object may be erased, also the current one" */
void test_walks() {
    kolk::pool<counted> pool(with_capacity(200));
    for (int i = 0; i < 150; i++) pool.emplace(i);
    for (counted &each : pool)
        if (each.number % 3) pool.erase(&each); // also the current one
    int sum = 0;
    const kolk::pool<counted> &same = pool;
    for (const counted &each : same) sum += each.number;
    CHECK(pool.size() == 50 && counted::alive == 50 && sum == 3 * 49 * 50 / 2);
#if __cplusplus > 201703L
    static_assert(std::ranges::input_range<kolk::pool<counted>> && std::ranges::input_range<const kolk::pool<counted>>);
    CHECK(std::ranges::count_if(pool, [](const counted &each) { return each.number > 100; }) == 16);
#if !defined(__clang__) || __clang_major__ >= 16 // older ones do not understand libstdc++'s views
    auto even = pool | std::views::filter([](const counted &each) { return each.number % 2 == 0; });
    CHECK(std::ranges::distance(even) == 25);
#endif
    CHECK(std::ranges::find(pool, 99, &counted::number) != pool.end());
#endif
}

// The second erase is reported, and does not run the destructor.
void test_double_erase() {
    failures told;
    kolk::pool<counted> pool(with_capacity(3)), other(with_capacity(3));
    counted *object = pool.emplace(1);
    pool.erase(object);
    pool.erase(object);
    CHECK(told.count == 1 && told.last == KOLK_DOUBLE_FREE && counted::alive == 0);
    object = other.emplace(1);
    pool.erase(object);
    CHECK(told.count == 2 && told.last == KOLK_FOREIGN_POINTER && counted::alive == 1);
    other.erase(object);
}

// The old object is destroyed, and the new one has its slot and another handle.
// promise: kolk.hpp "if an init ... renewed for it is gone", "all handles of the old one are stale"
void test_renew() {
    kolk::pool<counted> pool(with_capacity(2));
    counted *object = pool.emplace(1);
    kolk::handle<counted> stale = pool.handle_of(object);
    object = pool.renew(object, 2);
    CHECK(object && object->number == 2 && counted::alive == 1 && pool.size() == 1 && pool.is_valid());
    CHECK(!pool.get(stale) && pool.get(pool.handle_of(object)) == object && pool.index_of(object) == 0);
    CHECK(!pool.renew(static_cast<counted *>(nullptr), 3) && counted::alive == 1);
    pool.erase(object);
    {
        failures told;
        CHECK(!pool.renew(object, 4) && told.count == 1 && told.last == KOLK_DEAD_OBJECT && counted::alive == 0);
    }
#if defined(__cpp_exceptions)
    object = pool.emplace(5);
    stale = pool.handle_of(object);
    counted::throws = 1;
    CHECK(throws_an<std::string>([&] { pool.renew(object, 6); }));
    CHECK(counted::alive == 0 && pool.empty() && !pool.get(stale) && pool.is_valid() && pool.emplace(7));
#endif
    kolk::options<int> wish; // no destructor
    wish.capacity = 2;
    kolk::pool<int> numbers(wish);
    int *number = numbers.emplace(1);
    kolk::handle<int> of_one = numbers.handle_of(number);
    number = numbers.renew(number, 2);
    CHECK(number && *number == 2 && !numbers.get(of_one) && numbers.size() == 1);
}

void test_throwing_constructor() {
#if defined(__cpp_exceptions)
    kolk::pool<counted> pool(with_capacity(1));
    counted::throws = 1;
    CHECK(throws_an<std::string>([&] { pool.emplace(1); }));
    CHECK(pool.empty() && counted::alive == 0 && pool.is_valid());
    CHECK(pool.emplace(2));
    for (bool over : {false, true}) { // what was evicted is gone, the others stay
        kolk::options<counted> wish = with_capacity(2);
        wish.full.on_full = kolk::pool<counted>::evict_cheapest;
        wish.full.cost = [](const counted &object, void *) { return static_cast<double>(object.number); };
        kolk::pool<counted> full(wish);
        full.emplace(1);
        kolk::handle<counted> dear = full.handle_of(full.emplace(2));
        counted::throws = 1;
        CHECK(throws_an<std::string>([&] { over ? full.emplace_over(9, 3) : full.emplace(3); }));
        CHECK(full.size() == 1 && full.get(dear) && full.is_valid() && full.stats().evictions == 1);
        CHECK(full.emplace(4) && full.stats().evictions == 1);
    }
    bool caught = false;
    try {
        kolk::pool<counted> bad(with_capacity(0));
    } catch (const kolk::error &problem) {
        caught =
            problem.status() == KOLK_ZERO_CAPACITY && std::string(problem.what()).find("capacity") != std::string::npos;
    }
    CHECK(caught);
#else
    kolk::pool<counted> bad(with_capacity(0));
    CHECK(bad.status() == KOLK_ZERO_CAPACITY && bad.capacity() == 0 && !bad.emplace(1));
#endif
}

/* promise: kolk.hpp "A unique_ptr that erases the object. ... An empty one: the pool is full" */
void test_unique() {
    kolk::pool<counted> pool(with_capacity(2));
    kolk::pool<counted>::unique_ptr kept;
    {
        auto one = pool.make_unique(1);
        kept = pool.make_unique(2);
        CHECK(one && kept && !pool.make_unique(3) && counted::alive == 2);
    }
    CHECK(counted::alive == 1 && kept->number == 2);
    kept.reset();
}

/* promise: kolk.hpp "returns true if it has made room", "The cost of this object ... without `ranked`" */
void test_full() {
    static int evicted;
    evicted = 0;
    kolk::options<counted> wish = with_capacity(2);
    wish.full.on_full = kolk::pool<counted>::evict_cheapest;
    wish.full.cost = [](const counted &object, void *) { return static_cast<double>(object.number); };
    wish.full.on_evict = [](counted &object, void *context) { *static_cast<int *>(context) = object.number; };
    wish.context = &evicted;
    kolk::pool<counted> quiet(wish);
    quiet.emplace(5);
    quiet.emplace(3);
    CHECK(quiet.emplace(4) && evicted == 3 && counted::alive == 2);
    CHECK(!quiet.emplace_over(4, 1) && quiet.emplace_over(4.5, 9) && evicted == 4 && counted::alive == 2);

    wish.full.ranked = true;
    kolk::pool<counted> ranked(wish);
    counted *changed = ranked.emplace(7);
    ranked.emplace(6);
    CHECK(ranked.emplace(8) && evicted == 6);
    changed->number = 9;
    ranked.recost(changed);
    CHECK(ranked.emplace(10) && evicted == 8);
    for (counted &each : ranked) each.number = 20 - each.number;
    ranked.recost_all();
    CHECK(ranked.emplace(11) && evicted == 10);
    ranked.clear();

    wish = with_capacity(2);
    wish.ages = true;
    wish.full.on_full = kolk::pool<counted>::evict_oldest;
    kolk::pool<counted> old(wish);
    counted *first = old.emplace(1), *second = old.emplace(2);
    old.touch(first);
    CHECK(old.oldest() == second && old.newest() == first && old.newer(second) == first && old.older(first) == second);
    old.emplace(3);
    CHECK(old.contains(first) && counted::alive == 4);
    old.protect(first, true);
    old.emplace(4);
    CHECK(old.contains(first));

    wish = with_capacity(1);
    wish.full.on_full = [](kolk::pool<counted> &full, void *) {
        full.clear();
        return true;
    };
    kolk::pool<counted> cleared(wish);
    cleared.emplace(1);
    CHECK(cleared.emplace(2) && cleared.size() == 1);

    kolk::pool<counted> spare(with_capacity(5));
    wish = with_capacity(1);
    wish.name = "small";
    wish.full.overflow = &spare;
    {
        kolk::pool<counted> small(wish);
        small.emplace(1);
        counted *over = small.emplace(2);
        CHECK(over && spare.contains(over));
        small.erase(over);
        CHECK(spare.empty());
    }
}

namespace game {
template <class T> [[gnu::noinline]] void explode(kolk::pool<T> &pool, T *object) {
    pool.erase(object);
    asm volatile(""); /* a function that ends in a jump is not named: docs/debugging.md */
}
} // namespace game

/* Reports name the program's functions, not the classes', and without parameters. */
void test_sites() {
#ifdef __linux__
    kolk::options<counted> wish = with_capacity(2);
    wish.debug = "sites";
    kolk::pool<counted> pool(wish);
    counted *one = pool.emplace(1);
    failures seen;
    game::explode(pool, one);
    game::explode(pool, one);
    bool named = seen.sentence.find("game::explode<...>") != std::string::npos;
    CHECK(seen.count == 1 && named && seen.sentence.find("_Z") == std::string::npos);
    CHECK(seen.sentence.find("kolk::pool") == std::string::npos);
#endif
}

/* The destructor waits for the guard's end. promise: kolk.hpp "While the guard exists ... Needs `pins`" */
void test_pins() {
    kolk::options<counted> wish = with_capacity(2);
    wish.pins = true;
    kolk::pool<counted> pool(wish);
    counted *object = pool.emplace(1);
    {
        auto held = pool.pin(object);
        pool.erase(object);
        CHECK(!pool.contains(object) && counted::alive == 1 && held->number == 1 && pool.emplace(2));
        pool.clear();
        CHECK(counted::alive == 1);
    }
    CHECK(counted::alive == 0 && pool.empty() && pool.is_valid());
    object = pool.emplace(3);
    pool.pin(object).reset();
    CHECK(pool.contains(object) && counted::alive == 1);
}

/* New functions; the objects stay, and the destructor is still called at an eviction.
 * promise: kolk.hpp "the functions of a module that was loaded anew" */
void test_rebind() {
    static int before, after;
    before = after = 0;
    kolk::options<counted> wish = with_capacity(2);
    wish.name = "first";
    wish.ages = true;
    wish.full.on_full = kolk::pool<counted>::evict_oldest;
    wish.full.on_evict = [](counted &, void *context) { ++*static_cast<int *>(context); };
    wish.context = &before;
    kolk::pool<counted> pool(wish);
    for (int n = 0; n < 3; n++) pool.emplace(n);
    wish.name = "second";
    wish.context = &after;
    CHECK(pool.rebind(wish) == KOLK_OK && std::string(pool.stats().name) == "second");
    pool.emplace(3);
    CHECK(before == 1 && after == 1 && counted::alive == 2);
    wish.capacity = 3;
    wish.context = nullptr;
    CHECK(pool.rebind(wish) == KOLK_LAYOUT_CHANGED);
    pool.emplace(4);
    CHECK(after == 2);
}

/* promise: kolk.hpp "`untyped` returns the C struct", "Also uses the headroom", "if that costs less than `cost`" */
void test_growth_and_memory() {
    kolk::options<counted> wish = with_capacity(1);
    wish.max_capacity = 1000;
    wish.full.headroom = 10;
    wish.full.low_water = 20;
    static int low;
    low = 0;
    wish.full.on_low = [](kolk::pool<counted> &, void *) { low++; };
    kolk::pool<counted> grows(wish);
    CHECK(grows.reserve(500) == KOLK_OK && grows.capacity() >= 500);
    while (grows.emplace(1)) {}
    CHECK(grows.size() == 990 && low == 1 && grows.emplace_urgent(2));
    grows.clear();
    grows.tick(100);
    grows.trim();

    alignas(8) static unsigned char bytes[KOLK_POOL_BYTES(sizeof(counted), alignof(counted), 4)];
    wish = with_capacity(4);
    wish.memory = bytes;
    wish.memory_size = sizeof bytes;
    wish.reuse = KOLK_REUSE_LOWEST;
    kolk::pool<counted> fixed(wish);
    CHECK(fixed.emplace(1) && fixed.capacity() == 4 && fixed.reserve(5) == KOLK_ABOVE_MAX &&
          fixed.untyped().levels == 1);
}

// Any object type may live in a pool.
struct alignas(256) wide {
    char byte;
};
struct constant {
    const int number;
    int &reference;
};
struct shape {
    virtual ~shape() = default;
    virtual int corners() const = 0;
};
struct square final : shape {
    std::unique_ptr<int> owned = std::make_unique<int>(4);
    int corners() const override { return *owned; }
};

/* promise: kolk.hpp "T may be any object ... copied or moved", "0, nullptr and false mean the default" */
void test_types() {
    kolk::options<wide> wish;
    wish.capacity = 3;
    kolk::pool<wide> wides(wish);
    CHECK(reinterpret_cast<std::uintptr_t>(wides.emplace()) % 256 == 0 && wides.begin()->byte == 0);

    int target = 7;
    kolk::options<constant> constants_wish;
    constants_wish.capacity = 1;
    kolk::pool<constant> constants(constants_wish);
    constant *one = constants.emplace(3, target); // an aggregate
    CHECK(one && one->number == 3 && &one->reference == &target);

    kolk::options<square> squares_wish;
    squares_wish.capacity = 1;
    kolk::pool<square> squares(squares_wish);
    const shape *base = squares.emplace();
    CHECK(base && base->corners() == 4);

    kolk::options<std::unique_ptr<std::string>> owners_wish;
    owners_wish.capacity = 1;
    kolk::pool<std::unique_ptr<std::string>> owners(owners_wish);
    CHECK(**owners.emplace(std::make_unique<std::string>("owned")) == "owned");

    std::unordered_set<kolk::handle<square>> handles;
    handles.insert(squares.handle_of(&*squares.begin()));
    CHECK(handles.count(squares.handle_of(&*squares.begin())) == 1 && handles.count({}) == 0);
    std::map<kolk::handle<square>, int> numbers{{squares.handle_of(&*squares.begin()), 4}, {{}, 0}};
    CHECK(numbers.size() == 2 && numbers.at(squares.handle_of(&*squares.begin())) == 4);

    std::vector<std::unique_ptr<kolk::pool<counted>>> several;
    for (std::uint32_t n = 1; n < 4; n++) several.push_back(std::make_unique<kolk::pool<counted>>(with_capacity(n)));
    CHECK(several[2]->emplace(1));

    static_assert(!std::is_copy_constructible_v<kolk::pool<counted>> &&
                  !std::is_move_constructible_v<kolk::pool<counted>>);
    static_assert(!std::is_copy_assignable_v<kolk::pool<counted>> && !std::is_move_assignable_v<kolk::pool<counted>>);
#if __cplusplus > 201703L
    kolk::pool<counted> as_in_the_manual{{.name = "enemies", .capacity = 256}};
    CHECK(as_in_the_manual.capacity() == 256);
#endif
}

// Every operator of a type may be its own: no class may use them.
struct odd {
    static inline int alive = 0;
    std::string text = "a text that is longer than a short string";
    odd() { alive++; }
    odd(odd &&other) noexcept : text(std::move(other.text)) { alive++; }
    odd &operator=(odd &&other) noexcept {
        text = std::move(other.text);
        return *this;
    }
    ~odd() { alive--; }
    [[maybe_unused]] odd *operator&() const { std::abort(); }
    template <class T> [[maybe_unused]] void operator,(T &&) const { std::abort(); }
};

template <class Pool, class Wish> void fill_and_end(Wish wish) {
    wish.name = "odd";
    wish.capacity = 4;
    Pool pool(wish);
    for (int n = 0; n < 4; n++) pool.emplace();
    for (odd &each : pool) CHECK(!each.text.empty());
    CHECK(odd::alive == 4);
    pool.clear();
    CHECK(odd::alive == 0 && pool.emplace());
}

void test_own_operators() {
    fill_and_end<kolk::pool<odd>>(kolk::options<odd>());
    fill_and_end<kolk::slot_map<odd>>(kolk::slot_map_options<odd>());
    CHECK(odd::alive == 0);
    kolk::slot_map_options<odd> map_wish;
    map_wish.capacity = 3;
    kolk::slot_map<odd> map(map_wish);
    kolk::handle<odd> first = map.emplace().handle;
    map.emplace();
    map.sort([](const odd &, const odd &) { return false; });
    CHECK(map.erase(first) && map.erase_if([](const odd &) { return true; }) == 1);
    kolk::options<kolk::one_of<odd, int>> wish;
    wish.capacity = 3;
    kolk::pool_of<odd, int> family(wish);
    family.emplace<odd>();
    for (auto &each : family) each.visit([](auto &object) -> auto & { return object; });
    family.erase(family.begin()->as<odd>());
#if KOLK_HOSTED
    kolk::shared_options shared_wish;
    shared_wish.capacity = 3;
    kolk::shared_pool<odd> shared(shared_wish);
    kolk::shared_pool<odd>::local local(shared);
    local.erase(local.emplace());
    local.make_unique();
    kolk::queue<odd> queue({"odd", 2});
    odd item;
    CHECK(queue.push(std::move(item)) == KOLK_OK && queue.pop(item) == KOLK_OK);
    CHECK(queue.push(odd()) == KOLK_OK && queue.pop() && queue.push(odd()) == KOLK_OK);
#endif
}

// A destructor may erase other live objects of its pool.
struct owner {
    kolk::pool<owner> *in;
    owner *child = nullptr;
    explicit owner(kolk::pool<owner> *in_) : in(in_) {}
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    ~owner() {
        if (child) in->erase(child);
    }
};

void test_destructor_that_erases() {
    kolk::options<owner> wish;
    wish.capacity = 100;
    failures told;
    {
        kolk::pool<owner> pool(wish);
        owner *first = nullptr, *last = nullptr;
        for (int i = 0; i < 100; i++) {
            owner *next = pool.emplace(&pool);
            if (i % 10 == 0) first = next;
            if (i % 10) last->child = next;
            last = next;
        }
        pool.erase(first);
        CHECK(pool.size() == 90);
    }
    CHECK(told.count == 0);
}

// ---- Other ways to have a pool ----

// What all classes call by the same names.
template <class C> void have_same_names(C &of, std::uint32_t capacity) {
    const C &same = of;
    CHECK(same.size() == 0 && same.empty() && same.capacity() == capacity && same.status() == KOLK_OK);
    CHECK(same.is_valid() && same.stats().capacity == capacity && &of.untyped() == &same.untyped());
    of.clear();
}
template <class C> void find_by_same_names(C &of, typename C::value_type *object) {
    const C &same = of;
    auto handle = same.handle_of(object);
    CHECK(same.contains(handle) && same.get(handle) == object && of.get(handle) == object && of.begin() != of.end());
}
template <class C> void find_by_index(C &of, typename C::value_type *object) {
    const C &same = of;
    CHECK(of.at(same.index_of(object)) == object && same.at(same.index_of(object)) == object);
    CHECK(same.available() == same.capacity() - 1 && of.reserve(same.capacity()) == KOLK_OK && of.trim() == 0);
    CHECK(of.erase(same.handle_of(object)) && same.available() == same.capacity());
}

/* promise: kolk.hpp "C++17 has no designated initialisers" */
void test_short_options() {
    kolk::pool<counted> of_three(3), named({"named", 2});
    CHECK(of_three.capacity() == 3 && named.capacity() == 2 && std::string(named.stats().name) == "named");
    kolk::slot_map<int> map(4);
    CHECK(map.capacity() == 4);
    kolk::queue<int> queue(5);
    for (int n = 0; n < 5; n++) CHECK(queue.push(n, KOLK_NOW) == KOLK_OK);
    CHECK(queue.push(5, KOLK_NOW) == KOLK_FULL);
    kolk::shared_pool<int> shared(6);
    kolk::shared_pool<int>::local local(shared);
    for (int n = 0; n < 6; n++) CHECK(local.emplace(n));
    queue.clear();
    shared.clear();
    have_same_names(of_three, 3);
    have_same_names(map, 4);
    have_same_names(queue, 5);
    have_same_names(shared, 6);
    find_by_same_names(shared, local.emplace(1));
    counted *one = of_three.emplace(1);
    find_by_same_names(of_three, one);
    find_by_index(of_three, one);
    int *other = map.emplace(2).object;
    find_by_same_names(map, other);
    find_by_index(map, other);
}

// Nobody but a pool can make or destroy it.
class hidden {
  public:
    static inline int alive = 0;
    int number;

  private:
    friend struct kolk::access;
    explicit hidden(int of) : number(of) { alive++; }
    ~hidden() { alive--; }
};
static_assert(!std::is_constructible_v<hidden, int> && !std::is_destructible_v<hidden>);

/* promise: kolk.hpp "A class whose constructors or destructor are private says", "Constructs and destroys the objects
 * of pools ... exists only in pools" */
void test_access() {
    {
        kolk::pool<hidden> pool(3);
        hidden *one = pool.emplace(1), *two = pool.emplace(2);
        CHECK(one && two && one->number == 1 && hidden::alive == 2);
        pool.erase(one);
        CHECK(hidden::alive == 1 && pool.renew(two, 3)->number == 3 && hidden::alive == 1);
        kolk::shared_pool<hidden> shared(2);
        kolk::shared_pool<hidden>::local local(shared);
        CHECK(local.emplace(4) && hidden::alive == 2);
    }
    CHECK(hidden::alive == 0);
}

/* promise: kolk.hpp "the same, with the memory of N objects in it", "A pool with the memory of its objects in it ...
 * fewer objects than N fit" */
void test_static() {
    {
        kolk::static_pool<counted, 3> pool;
        for (int n = 0; n < 3; n++) {
            auto at = reinterpret_cast<std::uintptr_t>(pool.emplace(n)),
                 begin = reinterpret_cast<std::uintptr_t>(&pool);
            CHECK(at >= begin && at + sizeof(counted) <= begin + sizeof pool);
        }
        CHECK(!pool.emplace(3) && counted::alive == 3 && pool.is_valid());
    }
    CHECK(counted::alive == 0);
    kolk::options<int> wish;
    wish.reuse = KOLK_REUSE_LOWEST;
    kolk::static_pool<int, 70> lowest(wish);
    CHECK(lowest.capacity() == 70);
    wish.ages = true;
    kolk::static_pool<int, 70> aged(wish);
    CHECK(aged.capacity() > 10 && aged.capacity() < 70 && aged.emplace(1) == aged.oldest());
}

// What costs much to make, and is dirty after use.
struct buffer {
    static inline int made = 0, ended = 0;
    [[maybe_unused]] static inline bool throws = false;
    std::vector<int> numbers;
    int left = 0;
    buffer() : numbers(1000) {
#if defined(__cpp_exceptions)
        if (throws) throw std::string("no");
#endif
        made++;
    }
    ~buffer() {
        ended++;
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
};

/* promise: kolk.hpp "objects that are constructed once and used again and again", "Objects that are constructed once
 * ... at the pool's end, or by trim", "`reset` is called for an object that is given back", "An object as it was when
 * it was last given back" */
void test_kept() {
    {
        kolk::kept_pool<buffer> pool({"buffers", 3}, [](buffer &object) { object.left = 0; });
        buffer *first = pool.take(), *second = pool.take();
        CHECK(first && second && buffer::made == 2 && pool.size() == 2);
        first->left = 7;
        first->numbers[999] = 5;
        kolk::handle<buffer> of_first = pool.handle_of(first);
        pool.give_back(first);
        CHECK(!pool.get(of_first) && buffer::ended == 0);
        CHECK(pool.take() == first && first->left == 0 && first->numbers[999] == 5 && buffer::made == 2);
        failures told;
        pool.give_back(second);
        pool.give_back(second);
        CHECK(told.count == 1 && told.last == KOLK_DOUBLE_FREE && pool.is_valid());
        pool.give_back(nullptr);
        int alive = 0;
        for (buffer &each : pool) alive += &each == first;
        CHECK(alive == 1);
        pool.take();
#if defined(__cpp_exceptions)
        buffer::throws = true;
        CHECK(!pool.take() && buffer::made == 2);
        buffer::throws = false;
#endif
        CHECK(pool.take() && buffer::made == 3 && !pool.take());
    }
    CHECK(buffer::ended == 3);
    kolk::kept_pool<buffer> plain(1);
    plain.take()->left = 9;
    plain.clear();
    CHECK(plain.take()->left == 9); // without reset
}

} // namespace
template class kolk::kept_pool<buffer>;
template class kolk::static_pool<counted, 3>;

int main() {
    test_life();
    test_end_destroys();
    test_order_of_clear();
    test_walks();
    test_double_erase();
    test_renew();
    test_throwing_constructor();
    test_unique();
    test_full();
    test_sites();
    test_pins();
    test_rebind();
    test_growth_and_memory();
    test_types();
    test_own_operators();
    test_destructor_that_erases();
    test_short_options();
    test_access();
    test_static();
    test_kept();
    CHECK(counted::alive == 0 && odd::alive == 0);
    return 0;
}
