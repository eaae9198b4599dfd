// The same work through the macros of C and through the classes of kolk.hpp, for cxx.sh, which counts instructions.
// With ENDS, the class runs a constructor and a destructor, and the macros' caller does the same work.
// promise: kolk.hpp "as in C, plus ... has a constructor or destructor", "nothing is allocated with new"
#include <kolk/kolk.hpp>

#include <cstdlib>

namespace {

#ifdef ENDS
std::uint64_t ended;
#endif

struct object {
    std::uint64_t a, b;
#if defined(ENDS) && defined(CLASSES)
    explicit object(std::uint64_t of) : a(of), b(0) {}
    object(const object &) = delete;
    object &operator=(const object &) = delete;
    ~object() {
        ended += a;
    }
#endif
};

constexpr std::uint32_t alive = 64;

} // namespace

#ifdef CLASSES

using pool_type = kolk::pool<object>;
static object *make(pool_type &pool, std::uint64_t a) {
#ifdef ENDS
    return pool.emplace(a);
#else
    return pool.emplace(object{a, 0});
#endif
}
static void end(pool_type &pool, object *which) {
    pool.erase(which);
}
static kolk::handle<object> name_of(pool_type &pool, object *which) {
    return pool.handle_of(which);
}
static object *find(pool_type &pool, kolk::handle<object> of) {
    return pool.get(of);
}
static std::uint64_t sum(pool_type &pool) {
    std::uint64_t all = 0;
    for (object &each : pool) all += each.a;
    return all;
}

#else

KOLK_POOL_TYPE(objects, object)
using pool_type = objects;
static object *make(objects &pool, std::uint64_t a) {
    object *made = objects_alloc(&pool);
    if (made) *made = object{a, 0};
    return made;
}
static void end(objects &pool, object *which) {
#ifdef ENDS
    ended += which->a;
#endif
    objects_free(&pool, which);
}
static objects_handle name_of(objects &pool, object *which) {
    return objects_handle_of(&pool, which);
}
static object *find(objects &pool, objects_handle of) {
    return objects_get(&pool, of);
}
static std::uint64_t sum(objects &pool) {
    std::uint64_t all = 0;
    KOLK_EACH(objects, each, &pool) all += each->a;
    return all;
}

#endif

// Rounds of what is named: churn, ends (the same), get or walk.
static std::uint64_t work(pool_type &pool, char what, unsigned rounds) {
    object *some[alive];
    std::uint64_t result = 0;
    for (std::uint32_t i = 0; i < alive; i++) some[i] = make(pool, i);
    auto handle = name_of(pool, some[5]);
    for (unsigned n = 0; n < rounds; n++) {
        if (what == 'c' || what == 'e') {
            object *&place = some[n * 37 % alive];
            end(pool, place);
            place = make(pool, n);
        } else if (what == 'g') {
            result += find(pool, handle)->a;
        } else {
            result += sum(pool);
        }
    }
    return result;
}

int main(int, char **arguments) {
    unsigned rounds = static_cast<unsigned>(std::atoi(arguments[2]));
#ifdef CLASSES
    kolk::options<object> wish;
    wish.capacity = 2 * alive;
    kolk::pool<object> pool(wish);
    return work(pool, *arguments[1], rounds) == 1;
#else
    kolk_pool_desc wish = {};
    wish.capacity = 2 * alive;
    objects pool;
    if (objects_init(&pool, &wish) != KOLK_OK) return 1;
    int result = work(pool, *arguments[1], rounds) == 1;
    objects_deinit(&pool);
    return result;
#endif
}
