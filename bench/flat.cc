/* Measures the calls of a resource pool with few and with many resources, keys and waiters, and prints a table in
 * Markdown whose columns must be alike. Also measures a borrow for which another thread has to create or validate a
 * resource, by a factory that takes no time. Times are in ns of processor time, but waits are timed by the clock. All
 * are medians of rounds that take turns. */
#include <kolk/kolk.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <vector>

namespace {

enum { ROUNDS = 9, CALLS = 20000, WAITERS_AT_MOST = 10000 };

double seconds(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double processor() {
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

bool make(void *, const char *, kolk_deadline, void **resource, kolk_error *) {
    static char nothing;
    *resource = &nothing;
    return true;
}

bool is_good(void *, void *, kolk_deadline) {
    return true;
}

kolk_resource_pool_desc plain(unsigned max) {
    kolk_resource_pool_desc desc = {};
    desc.create = make;
    desc.max = max;
    desc.max_creating = 100;
    desc.no_housekeeper = true;
    return desc;
}

kolk_borrowed borrow(kolk_resource_pool *pool, const char *key, kolk_deadline deadline) {
    kolk_borrowed one;
    kolk_borrow_desc desc = {key, deadline, nullptr};
    kolk_resource_borrow(pool, &desc, &one);
    return one;
}

struct key {
    char text[24];
};

key key_of(const char *kind, unsigned number) {
    key name;
    snprintf(name.text, sizeof name.text, "%s%u:6379", kind, number);
    return name;
}

/* A pool with n idle resources, which have n keys or none. */
struct filled {
    kolk_resource_pool pool;

    filled(unsigned n, bool keys) {
        kolk_resource_pool_desc desc = plain(n);
        kolk_resource_init(&pool, &desc);
        std::vector<kolk_borrowed> all;
        for (unsigned i = 0; i < n; i++)
            all.push_back(borrow(&pool, keys ? key_of("host", i).text : nullptr, KOLK_NOW));
        for (kolk_borrowed &each : all) kolk_resource_give_back(&pool, &each);
    }

    ~filled() { kolk_resource_deinit(&pool); }
};

/* Returns the time of a borrow and its give_back, with each of these keys in turn. */
template <typename KEY> double time_of(filled &one, KEY key) {
    double begin = processor();
    for (unsigned i = 0; i < CALLS; i++) {
        kolk_borrowed borrowed = borrow(&one.pool, key(i), KOLK_NOW);
        kolk_resource_give_back(&one.pool, &borrowed);
    }
    return (processor() - begin) / CALLS;
}

double of_idle(unsigned n) {
    filled one(n, false);
    return time_of(one, [](unsigned) { return nullptr; });
}

double of_keys(unsigned n) {
    filled one(n, true);
    std::vector<key> names;
    for (unsigned i = 0; i < 1000; i++) names.push_back(key_of("host", i * 7919 % n));
    return time_of(one, [&](unsigned i) { return names[i % 1000].text; });
}

double of_replaced(unsigned n) {
    filled one(n, true);
    key name;
    return time_of(one, [&](unsigned i) { return (name = key_of("other", i)).text; });
}

double of_full(unsigned n) {
    filled one(n, false);
    std::vector<kolk_borrowed> all;
    for (unsigned i = 0; i < n; i++) all.push_back(borrow(&one.pool, nullptr, KOLK_NOW));
    double took = time_of(one, [](unsigned) { return nullptr; });
    for (kolk_borrowed &each : all) kolk_resource_give_back(&one.pool, &each);
    return took;
}

kolk_resource_pool shared_one;

void *borrow_once(void *) {
    kolk_borrowed one = borrow(&shared_one, nullptr, KOLK_FOREVER);
    kolk_resource_give_back(&shared_one, &one);
    return nullptr;
}

kolk_resource_pool_stats stats_of(const kolk_resource_pool *pool) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(pool, &stats);
    return stats;
}

/* Measures the time of statistics while n threads wait, and of each hand-over to the next waiter. */
void of_waiters(unsigned n, double *statistics, double *hand_over) {
    kolk_resource_pool_desc desc = plain(1);
    kolk_resource_init(&shared_one, &desc);
    kolk_borrowed one = borrow(&shared_one, nullptr, KOLK_NOW);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    std::vector<pthread_t> threads(n);
    for (pthread_t &each : threads)
        if (pthread_create(&each, &small, borrow_once, nullptr) != 0) abort();
    while (stats_of(&shared_one).waiting < n) {}
    double begin = processor();
    for (int i = 0; i < 1000; i++) stats_of(&shared_one);
    *statistics = (processor() - begin) / 1000;
    begin = seconds(CLOCK_MONOTONIC);
    kolk_resource_give_back(&shared_one, &one);
    for (pthread_t &each : threads) pthread_join(each, nullptr);
    *hand_over = (seconds(CLOCK_MONOTONIC) - begin) / n;
    kolk_resource_deinit(&shared_one);
}

/* Returns the time of a borrow through a maker, which creates a new resource or validates an idle one. */
double of_makers(bool asks) {
    kolk_resource_pool pool;
    kolk_resource_pool_desc desc = plain(1);
    desc.no_housekeeper = false;
    desc.validate = asks ? is_good : nullptr;
    desc.validate_after_ms = -1;
    kolk_resource_init(&pool, &desc);
    double begin = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < 2000; i++) {
        kolk_borrowed one = borrow(&pool, nullptr, KOLK_FOREVER);
        if (asks)
            kolk_resource_give_back(&pool, &one);
        else
            kolk_resource_discard(&pool, &one);
    }
    double took = (seconds(CLOCK_MONOTONIC) - begin) / 2000;
    kolk_resource_deinit(&pool);
    return took;
}

double median(std::vector<double> all) {
    std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
    return all[all.size() / 2] * 1e9;
}

struct row {
    const char *name;
    std::vector<double> times[3];
};

} // namespace

int main() {
    const unsigned sizes[] = {10, 1000, 30000};
    row rows[] = {{"borrow and give_back, by number of resources", {}},
                  {"the same, by number of keys", {}},
                  {"borrow with a new key that replaces an old one, by number of keys", {}},
                  {"borrow that fails with KOLK_FULL, by number of resources in use", {}},
                  {"statistics, by number of waiting threads (at most 10,000)", {}},
                  {"hand-over from thread to thread, by number of waiting threads (at most 10,000)", {}}};
    std::vector<double> made, asked;
    for (int round = 0; round < ROUNDS; round++) {
        for (int size = 0; size < 3; size++) {
            unsigned n = sizes[size];
            double statistics, hand_over;
            rows[0].times[size].push_back(of_idle(n));
            rows[1].times[size].push_back(of_keys(n));
            rows[2].times[size].push_back(of_replaced(n));
            rows[3].times[size].push_back(of_full(n));
            of_waiters(std::min<unsigned>(n, WAITERS_AT_MOST), &statistics, &hand_over);
            rows[4].times[size].push_back(statistics);
            rows[5].times[size].push_back(hand_over);
        }
        made.push_back(of_makers(false));
        asked.push_back(of_makers(true));
    }
    printf("| ns | 10 | 1,000 | 30,000 |\n|---|---:|---:|---:|\n");
    for (const row &each : rows)
        printf("| %s | %.0f | %.0f | %.0f |\n", each.name, median(each.times[0]), median(each.times[1]),
               median(each.times[2]));
    printf("\n| by way of a maker | ns |\n|---|---:|\n| discard, and borrow a new one | %.0f |\n", median(made));
    printf("| borrow an idle one that is asked before, and give_back | %.0f |\n", median(asked));
}
