/* backoff.cc: measures the constants of src/core/looks.h, by which a thread looks again before it sleeps: for how long
 * (look_ns), for how long without a yield (spin_ns), and the shortest pause between two looks. Prints CSV as queue.cc
 * does. The queue is named look/spin/shortest, in nanoseconds. */
#include "backoff.h"
#include "queues.h"
#include "threads.h"

struct backoff backoff;

using item = item_of<8>;
using queue = kolk_single<item>;

static std::vector<line> lines;

static void add(const char *where, const struct backoff &one, std::function<samples(size_t)> run) {
    std::string who =
        std::to_string(one.look_ns) + "/" + std::to_string(one.spin_ns) + "/" + std::to_string(one.shortest_ns);
    lines.push_back({"backoff", where, who, [=](size_t count) {
                         backoff = one;
                         return run(count);
                     }});
}

static void add_all(const struct backoff &one) {
    static queue shared, back;
    auto hands_over = [](unsigned pairs, placement at) {
        return [=](size_t count) { return hand_over<queue, item>(shared, pairs, pairs, at, count); };
    };
    add("round_trip", one,
        [](size_t count) { return round_trips<queue, item>(shared, back, placement::APART, count); });
    add("each_20us", one, [](size_t count) { return ages<queue, item>(shared, 20e3, false, count); });
    add("each_2us", one, [](size_t count) { return ages<queue, item>(shared, 2e3, false, count); });
    add("1P1C", one, hands_over(1, placement::APART));
    add("2P2C", one, hands_over(2, placement::APART));
    add("4P4C", one, hands_over(4, placement::APART));
    add("16P16C", one, hands_over(16, placement::APART));
    add("1P1C_1core", one, hands_over(1, placement::ONE_CORE));
    add("4P4C_1core", one, hands_over(4, placement::ONE_CORE));
    add("round_trip_1core", one,
        [](size_t count) { return round_trips<queue, item>(shared, back, placement::ONE_CORE, count); });
}

int main() {
    const struct backoff all[] = {
        {50000, 10000, 100}, /* the default */
        {50000, 10000, 25},  {50000, 10000, 50},  {50000, 10000, 200},  {50000, 10000, 400}, {50000, 0, 100},
        {50000, 2000, 100},  {50000, 5000, 100},  {50000, 20000, 100},  {50000, 50000, 100}, {0, 10000, 100},
        {5000, 10000, 100},  {20000, 10000, 100}, {100000, 10000, 100},
    };
    for (const struct backoff &one : all) add_all(one);
    std::printf("workload,case,queue,ns,p99_ns,p999_ns\n");
    take_turns(std::move(lines), 15, 6e6);
}
