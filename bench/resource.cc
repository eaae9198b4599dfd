/* resource.cc: compares kolk_resource_pool with apr_reslist, with libzdb on SQLite, and with a mutex and a list. Usage:
 * resource [WORKLOAD...], by default all. Prints CSV: nanoseconds, medians of rounds in which all lines of a workload
 * take turns in random order.
 *
 *     uncontended  one thread borrows and gives back idle resources, processor time; "clock": two readings of the
 *                  clock, the minimum for measuring times of use
 *     brief        64 threads borrow from 4 resources, and 2 from 1, and give back immediately. Wall time per borrow,
 *                  all threads together. "kolk_strict": with strict_order; apr_reslist and mutex_list have no order
 *     asleep       16 threads use 8 resources, each held asleep for 100 us. "rate": time per borrow, all threads
 *                  together; "wait": wait of a borrow; "longest": longest wait of a round
 *     herd         200 threads borrow at once from an empty pool; a create takes 5 ms, at most 2 at a time, at most 20
 *                  in all; each borrow is held for 1 ms. The time until all were served
 * promise: resource.h "hand-over to a waiter and statistics are O(1)", "this hand-over ... O(resources and keys)" */
#include "reslists.h"

#include <sys/prctl.h>

static std::vector<line> lines; /* of the current workload */

/* ---- One thread -------------------------------------------------------------------------------------------------- */

static double processor_ns() {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <typename list> static samples borrow_alone(list &from, size_t count) {
    double begin = processor_ns();
    for (size_t done = 0; done < count; done++) {
        auto one = from.borrow();
        benchmark::DoNotOptimize(one);
        from.give_back(one);
    }
    return {(processor_ns() - begin) / static_cast<double>(count)};
}

template <typename list> static void add_alone(const char *who) {
    auto shared = std::make_shared<list>(8, 2);
    lines.push_back({"uncontended", "1", who, [=](size_t count) { return borrow_alone(*shared, count); }});
}

static void run_uncontended() {
    add_alone<two_clocks>("clock");
    add_alone<kolk_list>("kolk");
    add_alone<apr_list>("apr_reslist");
    add_alone<zdb_list>("libzdb");
    add_alone<mutex_list>("mutex_list");
    take_turns(std::move(lines), 25, 8e6);
}

/* ---- More threads than resources --------------------------------------------------------------------------------- */

/* The threads share the work, so that all of them borrow until the end, however fast each of them is. */
template <typename list> static samples borrow_briefly(list &from, unsigned users, size_t count) {
    static constexpr size_t some = 64;
    std::atomic<size_t> begun{0};
    double spent = together(users, placement::APART, [&](unsigned) {
        while (begun.fetch_add(some) < count) {
            for (size_t done = 0; done < some; done++) {
                auto one = from.borrow();
                benchmark::DoNotOptimize(one);
                from.give_back(one);
            }
        }
    });
    return {spent / static_cast<double>(count)};
}

template <typename list> static void add_brief(const char *who, unsigned users, uint32_t max) {
    auto shared = std::make_shared<list>(max, max);
    lines.push_back({"brief", std::to_string(users) + " over " + std::to_string(max), who,
                     [=](size_t count) { return borrow_briefly(*shared, users, count); }});
}

static void run_brief() {
    for (auto [users, max] : {std::pair(64u, 4u), std::pair(2u, 1u)}) {
        add_brief<kolk_list>("kolk", users, max);
        add_brief<strict_list>("kolk_strict", users, max);
        add_brief<apr_list>("apr_reslist", users, max);
        add_brief<mutex_list>("mutex_list", users, max);
    }
    take_turns(std::move(lines), 9, 250e6); /* some time slices for each thread */
}

static constexpr unsigned threads = 16, resources = 8;
static constexpr int64_t held_ns = 100000;

/* Returns the wait of each borrow, followed by the total time. */
template <typename list> static samples borrow_asleep(list &from, size_t count) {
    size_t each = std::max<size_t>(count / threads, 1);
    std::vector<samples> waits(threads);
    double spent = together(
        threads, placement::APART,
        [&](unsigned n) {
            prctl(PR_SET_TIMERSLACK, 1UL); /* makes sleeps accurate to a few us */
            waits[n].reserve(each);
            return n;
        },
        [&](unsigned n, unsigned) {
            for (size_t done = 0; done < each; done++) {
                double begin = now_ns();
                auto one = from.borrow();
                waits[n].push_back(now_ns() - begin);
                rest(held_ns);
                from.give_back(one);
            }
        });
    samples all;
    for (const samples &some : waits) all.insert(all.end(), some.begin(), some.end());
    all.push_back(spent / static_cast<double>(all.size()));
    return all;
}

template <typename list> static void add_asleep(const char *who) {
    auto shared = std::make_shared<list>(resources, resources);
    lines.push_back(
        {"asleep", "rate", who, [=](size_t count) { return samples{borrow_asleep(*shared, count).back()}; }});
    lines.push_back({"asleep", "wait", who, [=](size_t count) {
                         samples all = borrow_asleep(*shared, count);
                         all.pop_back();
                         return all;
                     }});
    lines.push_back({"asleep", "longest", who, [=](size_t count) {
                         samples all = borrow_asleep(*shared, count);
                         all.pop_back();
                         return samples{*std::max_element(all.begin(), all.end())};
                     }});
}

static void run_asleep() {
    add_asleep<kolk_list>("kolk");
    add_asleep<apr_list>("apr_reslist");
    add_asleep<zdb_list>("libzdb");
    add_asleep<mutex_list>("mutex_list");
    take_turns(std::move(lines), 15, 40e6);
}

/* ---- The herd ---------------------------------------------------------------------------------------------------- */

template <typename list> static samples serve_herd(const char *who, bool has_cap) {
    list from(20, 2);
    most_creating = 0;
    create_ns = 5000000;
    double spent = together(200, placement::APART, [&](unsigned) {
        auto one = from.borrow();
        rest(1000000);
        from.give_back(one);
    });
    create_ns = 0;
    require(!has_cap || most_creating <= 2, who, "more than 2 were created at a time");
    return {spent};
}

template <typename list> static void add_herd(const char *who, bool has_cap) {
    lines.push_back({"herd", "200", who, [=](size_t) { return serve_herd<list>(who, has_cap); }, 1 << 20});
}

static void run_herd() {
    add_herd<kolk_list>("kolk", true);
    add_herd<apr_list>("apr_reslist", true);
    add_herd<zdb_list>("libzdb", true);
    add_herd<mutex_list>("mutex_list", false);
    take_turns(std::move(lines), 9, 1e6);
}

int main(int argc, char **argv) {
    run_asked(argc, argv, "list",
              {{"uncontended", run_uncontended}, {"brief", run_brief}, {"asleep", run_asleep}, {"herd", run_herd}});
}
