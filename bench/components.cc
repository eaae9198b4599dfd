/* components.cc: answers the question of the article on component pools: vector, list, or a pool with holes? For
 * several numbers of slots and shares of live ones, after a long time of random births and deaths, it measures the time
 * to remove a random component, to add one, and to visit each (x += dx, y += dy), and the mean number of neighbours
 * visited before a gap. A map that settles closes its holes after each batch of removals, and that time counts.
 *
 * Usage: components [SLOTS...], by default 1000 100000 1000000. Prints CSV: times in nanoseconds per component, medians
 * of ROUNDS rounds in which the containers take turns, in a random order each time.
 *
 * Births and deaths: all slots are filled, and random components die until the share is reached. From then on, each
 * live component dies with the same probability, and births at a constant rate keep the number about the same, for 10
 * lives of a component on average. (None of this changes a packed vector, which is simply filled.) After that, a BATCH
 * chosen beforehand is removed, and the same number is added. A batch is too small to change the holes. With a million
 * slots and a removal in O(n), a batch has FEW components. */
#include "components.h"

#include <chrono>
#include <memory>

static constexpr int rounds = 9;
static constexpr double round_ns = 4e6;
static constexpr size_t most_batch = 1000, few = 16;

static double now_ns() {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void require(bool holds, const char *name, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "%s: %s\n", name, what);
    std::exit(1);
}

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct move_on {
    void operator()(component &it) {
        it.x += it.dx;
        it.y += it.dy;
    }
};

/* A container prepared for one case. */
class contender {
  public:
    const char *name;
    std::vector<double> added, removed, visited; /* ns per component, one value per round */
    double mean_run = 0;

    explicit contender(const char *name_) : name(name_) {}
    virtual ~contender() = default;
    virtual void live(size_t slots, size_t alive) = 0;
    virtual void visit_round() = 0;
    virtual void change_round() = 0;
    virtual void look() = 0; /* measures the runs, and checks that no component is missing */
};

template <typename container> class contender_of : public contender {
    using place = typename container::place;
    static constexpr bool is_nothing = std::is_same_v<container, nothing>;
    container objects;
    std::vector<place> places, batch; /* of live components, if places are not positions; of the batch */
    random_index random{1};
    size_t count = 0, capacity = 0;

    size_t below(size_t bound) {
        random.below = bound;
        return random();
    }

    /* Picks a live component to remove: takes its place off the list and returns it. */
    place pick() {
        size_t at = below(count--);
        if constexpr (container::packed) {
            return at;
        } else {
            place picked = places[at];
            places[at] = places.back();
            places.pop_back();
            return picked;
        }
    }
    void keep(place added_) {
        count++;
        if constexpr (!container::packed) places.push_back(added_);
    }
    void fill(size_t alive) {
        while (count < alive) keep(objects.add(1));
    }

    /* Creates the state after many removals directly, for a container whose removals take too long. */
    void thin(size_t alive) {
        if constexpr (std::is_same_v<container, flag_sorted>) {
            while (count > alive) {
                auto *removed_ = reinterpret_cast<flag_sorted::element *>(pick());
                removed_->alive = false;
                objects.empty.push_back(static_cast<uint32_t>(removed_ - objects.elements.data()));
            }
            std::sort(objects.empty.begin(), objects.empty.end(), std::greater<uint32_t>());
        } else {
            while (count > alive) objects.remove(pick());
        }
    }

    double remove_batch(size_t length) {
        batch.clear();
        for (size_t n = 0; n < length; n++) batch.push_back(pick());
        double begin = now_ns();
        for (place at : batch) {
            objects.remove(at);
            benchmark::ClobberMemory();
        }
        if constexpr (std::is_same_v<container, settling_map>) objects.settle();
        return now_ns() - begin;
    }
    double add_batch(size_t length) {
        batch.resize(length);
        double begin = now_ns();
        for (place &at : batch) {
            at = objects.add(1);
            benchmark::ClobberMemory();
        }
        double spent = now_ns() - begin;
        for (place at : batch) keep(at);
        return spent;
    }

  public:
    contender_of(const char *name_, size_t slots) : contender(name_), objects(slots), capacity(slots) {}

    void live(size_t slots, size_t alive) override {
        if constexpr (container::packed || is_nothing) {
            fill(alive);
            return;
        }
        fill(slots);
        thin(alive);
        for (size_t change = 0; change < 20 * alive; change++) {
            bool birth = below(alive + count) < alive;
            if (birth && count < slots) keep(objects.add(1));
            if (!birth) objects.remove(pick());
        }
        thin(alive);
        fill(alive);
    }
    void visit_round() override {
        double begin = now_ns(), spent = 0, visits = 0;
        for (; spent < round_ns; spent = now_ns() - begin, visits += static_cast<double>(count)) {
            objects.each(move_on());
            benchmark::ClobberMemory();
        }
        if (!is_nothing) visited.push_back(spent / visits);
    }
    void change_round() override {
        size_t most = container::linear && capacity >= 1000000 ? few : most_batch;
        size_t length = std::min(count / 4, most);
        double adding = 0, removing = 0, changes = 0;
        for (; adding + removing < round_ns && changes < 1e6; changes += static_cast<double>(length)) {
            removing += remove_batch(length);
            adding += add_batch(length);
        }
        added.push_back(adding / changes);
        removed.push_back(removing / changes);
    }
    void look() override {
        size_t seen = 0, runs = 0;
        const char *last = nullptr;
        objects.each([&](component &it) {
            const char *at = reinterpret_cast<const char *>(&it);
            bool follows = at > last && static_cast<size_t>(at - last) < 2 * container::stride;
            runs += !follows;
            seen += it.owner;
            last = at;
        });
        require(is_nothing || seen == count, name, "not all that are alive were visited");
        if (runs > 0) mean_run = static_cast<double>(seen) / static_cast<double>(runs);
    }
};

using contenders = std::vector<std::unique_ptr<contender>>;

static contenders all(size_t slots) {
    contenders them;
    auto add = [&them](contender *one) { them.emplace_back(one); };
    add(new contender_of<nothing>("loop", slots));
    add(new contender_of<vector_swap>("vector_swap", slots));
    add(new contender_of<vector_shift>("vector_shift", slots));
    add(new contender_of<vector_list>("vector_list", slots));
    add(new contender_of<flag_chain>("flag_chain", slots));
    add(new contender_of<flag_sorted>("flag_sorted", slots));
    add(new contender_of<standard_list>("std_list", slots));
    add(new contender_of<kolk_components<KOLK_REUSE_LIFO>>("kolk_lifo", slots));
    add(new contender_of<kolk_components<KOLK_REUSE_LOWEST>>("kolk_lowest", slots));
    add(new contender_of<slot_map>("kolk_slotmap", slots));
    add(new contender_of<settling_map>("kolk_settle", slots));
    return them;
}

static void shuffle(contenders &them, random_index &random) {
    for (size_t n = them.size(); n > 1; n--) {
        random.below = n;
        std::swap(them[n - 1], them[random()]);
    }
}

static void run(size_t slots, unsigned percent) {
    contenders them = all(slots);
    size_t alive = slots * percent / 100;
    random_index random(1);
    std::vector<contender *> listed; /* in the order in which they are printed */
    for (auto &one : them) listed.push_back(one.get());

    for (auto &one : them) {
        one->live(slots, alive);
        one->look();
    }
    for (int n = 0; n < rounds; n++, shuffle(them, random))
        for (auto &one : them) one->visit_round(); /* comes first, because adding and removing may change the holes */
    for (int n = 0; n < rounds; n++, shuffle(them, random))
        for (auto &one : them) one->change_round();
    for (contender *one : listed) {
        std::printf("%zu,%u,%s,%.2f,%.2f", slots, percent, one->name, median(one->added), median(one->removed));
        if (one->mean_run > 0)
            std::printf(",%.3f,%.2f\n", median(one->visited), one->mean_run);
        else
            std::printf(",,\n"); /* the bare loop */
        one->look();
    }
    std::fflush(stdout);
}

int main(int argc, char **argv) {
    std::vector<size_t> sizes;
    for (int n = 1; n < argc; n++) sizes.push_back(std::strtoull(argv[n], nullptr, 10));
    if (sizes.empty()) sizes = {1000, 100000, 1000000};
    std::printf("slots,alive_percent,container,add_ns,remove_ns,visit_ns,mean_run\n");
    for (size_t slots : sizes)
        for (unsigned percent : {10u, 50u, 90u}) run(slots, percent);
}
