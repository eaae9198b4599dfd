/* backoff.cc: measures the constants by which a waiter of src/queue/queue.c tries again before it sleeps: for how long
 * it tries (look_ns), and the shortest and the longest pause between two tries, above which it yields instead. Prints
 * CSV as queue.cc does. The queue is named look/shortest/longest, in nanoseconds. */
#include "backoff.h"
#include "queues.h"
#include "threads.h"

struct backoff backoff;

using item = item_of<8>;
using queue = kolk_single<item>;

static std::vector<line> lines;

static void add(const char *where, const struct backoff &one, std::function<samples(size_t)> run) {
    std::string who =
        std::to_string(one.look_ns) + "/" + std::to_string(one.shortest_ns) + "/" + std::to_string(one.longest_ns);
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
    add("1P1C_1core", one, hands_over(1, placement::ONE_CORE));
    add("4P4C_1core", one, hands_over(4, placement::ONE_CORE));
}

int main() {
    const struct backoff all[] = {
        {50000, 200, 800}, /* the default */
        {50000, 50, 800},   {50000, 100, 800},  {50000, 400, 800},  {50000, 800, 800},   {50000, 200, 0},
        {50000, 200, 1600}, {50000, 200, 3200}, {50000, 400, 3200}, {50000, 200, 12800}, {50000, 200, 50000},
        {0, 200, 800},      {5000, 200, 800},   {20000, 200, 800},  {100000, 200, 800},
    };
    for (const struct backoff &one : all) add_all(one);
    std::printf("workload,case,queue,ns,p99_ns,p999_ns\n");
    take_turns(std::move(lines), 15, 6e6);
}
