/* queue.cc: compares kolk_queue with common blocking queues. Usage: queue [WORKLOAD...], by default all. Prints CSV:
 * nanoseconds, medians of rounds in which all lines of a workload take turns in random order; for latency also p99 and
 * p99.9: see take_turns.
 *
 *     throughput   8-byte items from m producers to n consumers (1P1C ...), ns per item; "alone": one thread pushes and
 *                  pops in turn, ns per operation
 *     sizes        the same with larger items, 1P1C
 *     contention   n threads, each of which pushes and pops in turn, ns per operation
 *     latency      age of an item at a waiting consumer: asleep (one item every 200 us) or still polling (every 2 or 20
 *                  us); a round trip through two queues
 *
 * Threads are pinned: the n-th thread to the n-th processor, starting over after the last one; in "1core" all to the
 * first. The scheduler would place them differently in each round.
 * promise: queue.h "push and pop copy the item ... all of their items", "wait first polls for some 50 microseconds" */
#include "queues.h"
#include "threads.h"

static std::vector<line> lines; /* of the current workload */

/* A queue lives from its first line to the end, so that its memory is warm in all rounds. */
template <typename queue, typename item>
static void add_hand_over(const char *workload, const std::string &where, const char *who, unsigned from, unsigned to,
                          placement at = placement::APART) {
    auto shared = std::make_shared<queue>();
    lines.push_back(
        {workload, where, who, [=](size_t count) { return hand_over<queue, item>(*shared, from, to, at, count); }});
}

template <typename queue, typename item>
static void add_threads(const char *workload, const std::string &where, const char *who, unsigned threads) {
    auto shared = std::make_shared<queue>();
    lines.push_back(
        {workload, where, who, [=](size_t count) { return push_and_pop<queue, item>(*shared, threads, count); }});
}

template <typename queue, typename item> static void add_ages(const char *who, double interval_ns, bool sleeps) {
    auto shared = std::make_shared<queue>();
    std::string where = sleeps ? "asleep" : "each_" + std::to_string(static_cast<int>(interval_ns / 1000)) + "us";
    lines.push_back({"latency", where, who,
                     [=](size_t count) { return ages<queue, item>(*shared, interval_ns, sleeps, count); }, 16});
}

static void throughput() {
    using item = item_of<8>;
    const struct {
        const char *name;
        unsigned from, to;
        placement at;
    } cases[] = {{"1P1C", 1, 1, placement::APART},          {"2P2C", 2, 2, placement::APART},
                 {"4P4C", 4, 4, placement::APART},          {"16P16C", 16, 16, placement::APART},
                 {"4P1C", 4, 1, placement::APART},          {"1P4C", 1, 4, placement::APART},
                 {"1P1C_1core", 1, 1, placement::ONE_CORE}, {"4P4C_1core", 4, 4, placement::ONE_CORE}};
    for (auto [where, from, to, at] : cases) {
        add_hand_over<kolk_single<item>, item>("throughput", where, "kolk", from, to, at);
        add_hand_over<kolk_16<item>, item>("throughput", where, "kolk_16", from, to, at);
        add_hand_over<moodycamel_queue<item>, item>("throughput", where, "moodycamel", from, to, at);
        add_hand_over<moodycamel_tokens<item, 1>, item>("throughput", where, "moodycamel_tokens", from, to, at);
        add_hand_over<moodycamel_tokens<item, 16>, item>("throughput", where, "moodycamel_16", from, to, at);
        add_hand_over<moodycamel_bounded<item>, item>("throughput", where, "moodycamel_bounded", from, to, at);
        add_hand_over<tbb_queue<item>, item>("throughput", where, "tbb", from, to, at);
        add_hand_over<condition_queue<item>, item>("throughput", where, "conditions", from, to, at);
        add_hand_over<glib_queue<item>, item>("throughput", where, "glib", from, to, at);
        add_hand_over<boost_queue<item>, item>("throughput", where, "boost_yield", from, to, at);
    }
    add_threads<kolk_single<item>, item>("throughput", "alone", "kolk", 1);
    add_threads<kolk_16<item>, item>("throughput", "alone", "kolk_16", 1);
    add_threads<moodycamel_queue<item>, item>("throughput", "alone", "moodycamel", 1);
    add_threads<moodycamel_tokens<item, 16>, item>("throughput", "alone", "moodycamel_16", 1);
    add_threads<condition_queue<item>, item>("throughput", "alone", "conditions", 1);
    take_turns(std::move(lines), 15, 8e6);
}

template <typename queue, typename item> static void add_round_trips(const char *who) {
    auto there = std::make_shared<queue>(), back = std::make_shared<queue>();
    lines.push_back({"latency", "round_trip", who,
                     [=](size_t count) { return round_trips<queue, item>(*there, *back, placement::APART, count); }});
}

template <size_t size> static void one_size() {
    using item = item_of<size>;
    std::string where = std::to_string(size);
    add_hand_over<kolk_single<item>, item>("sizes", where, "kolk", 1, 1);
    add_hand_over<kolk_16<item>, item>("sizes", where, "kolk_16", 1, 1);
    add_hand_over<moodycamel_queue<item>, item>("sizes", where, "moodycamel", 1, 1);
    add_hand_over<tbb_queue<item>, item>("sizes", where, "tbb", 1, 1);
    add_hand_over<condition_queue<item>, item>("sizes", where, "conditions", 1, 1);
}

static void sizes() {
    one_size<8>();
    one_size<16>();
    one_size<32>();
    one_size<64>();
    one_size<128>();
    one_size<256>();
    take_turns(std::move(lines), 15, 8e6);
}

static void contention() {
    using item = item_of<8>;
    for (unsigned threads : {1u, 2u, 4u, 8u, 16u}) {
        std::string where = std::to_string(threads);
        add_threads<kolk_single<item>, item>("contention", where, "kolk", threads);
        add_threads<moodycamel_queue<item>, item>("contention", where, "moodycamel", threads);
        add_threads<tbb_queue<item>, item>("contention", where, "tbb", threads);
        add_threads<condition_queue<item>, item>("contention", where, "conditions", threads);
    }
    take_turns(std::move(lines), 15, 16e6);
}

static void latency() {
    using item = item_of<8>;
    for (double interval_ns : {200e3, 20e3, 2e3}) {
        bool sleeps = interval_ns > 100e3;
        add_ages<kolk_single<item>, item>("kolk", interval_ns, sleeps);
        add_ages<moodycamel_queue<item>, item>("moodycamel", interval_ns, sleeps);
        add_ages<tbb_queue<item>, item>("tbb", interval_ns, sleeps);
        add_ages<condition_queue<item>, item>("conditions", interval_ns, sleeps);
    }
    add_round_trips<kolk_single<item>, item>("kolk");
    add_round_trips<moodycamel_queue<item>, item>("moodycamel");
    add_round_trips<tbb_queue<item>, item>("tbb");
    add_round_trips<condition_queue<item>, item>("conditions");
    take_turns(std::move(lines), 25, 30e6);
}

int main(int argc, char **argv) {
    run_asked(argc, argv, "queue",
              {{"throughput", throughput}, {"sizes", sizes}, {"contention", contention}, {"latency", latency}});
}
