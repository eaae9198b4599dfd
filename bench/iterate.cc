/* iterate.cc: measures the time of iteration per live object when random slots are dead.
 *
 * There are two kinds of work. `sum` reads one float of an object. `move` does the same as animate in the chapter: x +=
 * dx and y += dy. kolk is compared with a packed array of the live objects, which is the minimum because it has no
 * holes, and with a flag in each object (inUse in the chapter: frames_left > 0), for which every slot must be
 * examined.
 * promise: pool.h "A step of a walk ... is_valid are O(slots)";
 * README.md "Visiting those of a full pool" */
#include "measure.h"

#include <string>
#include <vector>

struct sparkle {
    float x, y, dx, dy, size, heat;
    int32_t frames_left;
    uint32_t colour;
};
static_assert(sizeof(sparkle) == 32, "the figures are for 32 bytes");

KOLK_POOL_TYPE(sparkles, sparkle)

static constexpr sparkle newborn = {1, 2, 0.5f, 0.25f, 1, 1, 1, 0xffffff};

static inline void move_on(sparkle &it) {
    it.x += it.dx;
    it.y += it.dy;
}

/* Gives all containers the same holes. */
struct dice {
    random_index roll{100};
    unsigned percent;

    explicit dice(unsigned percent_) : percent(percent_) {}
    bool next_is_live() { return roll() < percent; }
};

/* ---- Where the objects are --------------------------------------------------------------------------------------- */

struct packed_array {
    std::vector<sparkle> live;

    packed_array(size_t slots, unsigned percent) {
        dice holes(percent);
        for (size_t i = 0; i < slots; i++)
            if (holes.next_is_live()) live.push_back(newborn);
    }
    size_t count() const { return live.size(); }
    float sum() {
        float total = 0;
        for (sparkle &it : live) total += it.x;
        return total;
    }
    void move() {
        for (sparkle &it : live) move_on(it);
    }
};

struct flag_in_object {
    std::vector<sparkle> slots;
    size_t live = 0;

    flag_in_object(size_t slots_, unsigned percent) : slots(slots_) {
        dice holes(percent);
        for (sparkle &it : slots) {
            if (!holes.next_is_live()) continue;
            it = newborn;
            live++;
        }
    }
    size_t count() const { return live; }
    float sum() {
        float total = 0;
        for (sparkle &it : slots)
            if (it.frames_left > 0) total += it.x;
        return total;
    }
    void move() {
        for (sparkle &it : slots)
            if (it.frames_left > 0) move_on(it);
    }
};

struct pool {
    sparkles objects;

    pool(size_t slots, unsigned percent) {
        kolk_pool_desc desc = {};
        desc.capacity = static_cast<uint32_t>(slots);
        succeed_or_exit(sparkles_init(&objects, &desc));
        for (size_t i = 0; i < slots; i++) *sparkles_alloc(&objects) = newborn;
        dice holes(percent);
        for (size_t i = 0; i < slots; i++)
            if (!holes.next_is_live()) sparkles_free(&objects, sparkles_at(&objects, static_cast<uint32_t>(i)));
    }
    pool(const pool &) = delete;
    ~pool() { sparkles_deinit(&objects); }
    size_t count() const { return sparkles_count(&objects); }
};

struct pool_each : pool {
    using pool::pool;
    float sum() {
        float total = 0;
        KOLK_EACH(sparkles, it, &objects) total += it->x;
        return total;
    }
    void move() {
        KOLK_EACH(sparkles, it, &objects) move_on(*it);
    }
};

struct pool_each_run : pool {
    using pool::pool;
    float sum() {
        float total = 0;
        KOLK_EACH_RUN(sparkles, run, n, &objects)
            for (uint32_t i = 0; i < n; i++) total += run[i].x;
        return total;
    }
    void move() {
        KOLK_EACH_RUN(sparkles, run, n, &objects)
            for (uint32_t i = 0; i < n; i++) move_on(run[i]);
    }
};

/* ---- The loops --------------------------------------------------------------------------------------------------- */

/* One iteration of the benchmark is one live object, so its time is nanoseconds per object. */
template <typename container, int alignment>
NOT_INLINED void sum(benchmark::State &state, size_t slots, unsigned percent) {
    align_code<alignment>();
    container objects(slots, percent);
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(objects.count()))) {
        const float total = objects.sum();
        benchmark::DoNotOptimize(total);
        benchmark::ClobberMemory();
    }
}

template <typename container, int alignment>
NOT_INLINED void move(benchmark::State &state, size_t slots, unsigned percent) {
    align_code<alignment>();
    container objects(slots, percent);
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(objects.count()))) {
        objects.move();
        benchmark::ClobberMemory();
    }
}

/* Names are workload/density/container: sum_1000000/50%/each. */
template <typename container> void add(const std::string &name) {
    for (size_t slots : {size_t{10000}, size_t{1000000}})
        for (unsigned percent : {100u, 99u, 90u, 75u, 50u, 25u, 10u, 5u, 1u}) {
            std::string rest = "_" + std::to_string(slots) + "/" + std::to_string(percent) + "%/" + name;
            add_loop("sum" + rest, [=](benchmark::State &state, auto alignment) {
                sum<container, alignment>(state, slots, percent);
            });
            add_loop("move" + rest, [=](benchmark::State &state, auto alignment) {
                move<container, alignment>(state, slots, percent);
            });
        }
}

int main(int argc, char **argv) {
    add<packed_array>("packed");
    add<flag_in_object>("flag");
    add<pool_each>("each");
    add<pool_each_run>("each_run");
    return measure(argc, argv);
}
