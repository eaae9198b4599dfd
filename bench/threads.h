/* threads.h: shared by the benchmarks with several threads. Starts threads together, passes items between them, and
 * runs rounds in which all lines take turns. google-benchmark's threads all run the same loop the same number of times,
 * and their times are averaged. This suits neither producers and consumers nor percentiles. */
#ifndef KOLK_BENCH_THREADS_H
#define KOLK_BENCH_THREADS_H

#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

inline double now_ns() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline void require(bool holds, const std::string &who, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "%s: %s\n", who.c_str(), what);
    std::exit(1);
}

/* The processors on which threads run. Threads are pinned, because the scheduler's choice differs from round to round,
 * especially under other load. APART: the n-th thread to the n-th processor, starting over after the last one.
 * ONE_CORE: all to the first. */
enum class placement { APART, ONE_CORE };

inline void stay_on(unsigned processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor % std::thread::hardware_concurrency(), &only);
    pthread_setaffinity_np(pthread_self(), sizeof only, &only);
}

/* Calls make(n) in each of this many threads and, when all have returned, run(n, the result of make). Returns the
 * nanoseconds from then until the last thread is done. All results live until then, because other threads may use
 * them. */
template <typename made_of_n, typename run_of_made>
double together(unsigned threads, placement where, made_of_n make, run_of_made run) {
    std::atomic<unsigned> there{0};
    std::atomic<bool> go{false};
    std::vector<double> ends(threads);
    std::vector<std::thread> all;
    pthread_barrier_t end;
    pthread_barrier_init(&end, nullptr, threads);
    for (unsigned n = 0; n < threads; n++)
        all.emplace_back([&, n] {
            stay_on(where == placement::APART ? n : 0);
            auto made = make(n);
            there++;
            while (!go) std::this_thread::yield();
            run(n, made);
            ends[n] = now_ns();
            pthread_barrier_wait(&end);
        });
    while (there < threads) std::this_thread::yield();
    double begin = now_ns();
    go = true;
    for (std::thread &one : all) one.join();
    pthread_barrier_destroy(&end);
    return *std::max_element(ends.begin(), ends.end()) - begin;
}

/* Runs body(n) in each of this many threads. */
template <typename body_of_n> double together(unsigned threads, placement where, body_of_n body) {
    return together(
        threads, where, [](unsigned n) { return n; }, [&](unsigned n, unsigned) { body(n); });
}

using samples = std::vector<double>;

/* Passes `count` items from each of these producers to these consumers. Returns nanoseconds per item. */
template <typename queue, typename item>
samples hand_over(queue &shared, unsigned from, unsigned to, placement where, size_t count) {
    std::atomic<uint64_t> sum{0};
    size_t each = count * from / to;
    double spent = together(from + to, where, [&](unsigned n) {
        typename queue::user mine(shared);
        item items[queue::batch] = {};
        uint64_t seen = 0;
        if (n < from) {
            for (size_t done = 0; done < count; done += queue::batch) {
                for (size_t i = 0; i < queue::batch; i++) items[i].value = done + i + 1;
                mine.push(items, queue::batch);
            }
        } else {
            for (size_t done = 0, some; done < each; done += some) {
                some = mine.pop(items, std::min(queue::batch, each - done));
                for (size_t i = 0; i < some; i++) seen += items[i].value;
            }
        }
        sum += seen;
    });
    require(sum == from * (count * (count + 1) / 2), "a queue", "what went in did not come out");
    return {spent / static_cast<double>(count * from)};
}

/* Each of these threads pushes a batch and pops the same number. Returns nanoseconds per operation on one item. */
template <typename queue, typename item> samples push_and_pop(queue &shared, unsigned threads, size_t count) {
    double spent = together(threads, placement::APART, [&](unsigned) {
        typename queue::user mine(shared);
        item items[queue::batch] = {};
        for (item &one : items) one.value = 1;
        for (size_t done = 0; done < count; done += queue::batch) {
            mine.push(items, queue::batch);
            for (size_t popped = 0; popped < queue::batch;) popped += mine.pop(items, queue::batch - popped);
        }
    });
    return {spent / static_cast<double>(2 * count * threads)};
}

/* One thread sends requests and the other answers, each through a queue. Returns nanoseconds per round trip. */
template <typename queue, typename item> samples round_trips(queue &there, queue &back, placement where, size_t count) {
    double spent = together(2, where, [&](unsigned n) {
        typename queue::user asks(there), answers(back);
        item one = {};
        one.value = 1;
        for (size_t i = 0; i < count; i++) {
            if (n == 0) asks.push(&one, 1);
            (n == 0 ? answers : asks).pop(&one, 1);
            if (n == 1) answers.push(&one, 1);
        }
    });
    return {spent / static_cast<double>(count)};
}

/* One producer sends the time at these intervals. Returns the age of each when it reaches the consumer. */
template <typename queue, typename item> samples ages(queue &shared, double interval_ns, bool sleeps, size_t count) {
    samples found(count);
    together(2, placement::APART, [&](unsigned n) {
        typename queue::user mine(shared);
        item one = {};
        if (n == 0) {
            for (size_t i = 0; i < count; i++) {
                double until = now_ns() + interval_ns;
                struct timespec pause = {0, static_cast<long>(interval_ns)};
                if (sleeps) nanosleep(&pause, nullptr);
                while (now_ns() < until) {}
                one.value = static_cast<uint64_t>(now_ns());
                mine.push(&one, 1);
            }
        } else {
            for (double &age : found) {
                mine.pop(&one, 1);
                age = now_ns() - static_cast<double>(one.value);
            }
        }
    });
    return found;
}

/* One line of the result. */
struct line {
    std::string workload, where, who;
    std::function<samples(size_t)> run; /* called with a count for which it takes one round */
    size_t count = 1024;
    samples all = {}, p99 = {}, p999 = {}; /* of all rounds; the percentiles of each round with 1,000 samples or more */
};

inline double percentile(const samples &sorted, double of) {
    return sorted[static_cast<size_t>(of * static_cast<double>(sorted.size() - 1))];
}

inline double median(samples some) {
    std::sort(some.begin(), some.end());
    return percentile(some, 0.5);
}

inline void print(line &it) {
    std::sort(it.all.begin(), it.all.end());
    std::printf("%s,%s,%s,%.2f", it.workload.c_str(), it.where.c_str(), it.who.c_str(), percentile(it.all, 0.5));
    if (!it.p99.empty())
        std::printf(",%.2f,%.2f\n", median(it.p99), median(it.p999));
    else if (it.all.size() > 1000)
        std::printf(",%.2f,%.2f\n", percentile(it.all, 0.99), percentile(it.all, 0.999));
    else
        std::printf(",,\n");
    std::fflush(stdout);
}

/* Runs all lines `rounds` times, in random order each time, and keeps their samples. After each line it rests for as
 * long as the line took, so that other programs on the machine catch up then and not during the next line. */
inline void run_in_turns(std::vector<line> &lines, unsigned rounds, double round_ns) {
    for (line &it : lines) {
        it.run(it.count); /* the first run also makes what the workload needs */
        double begin = now_ns();
        for (it.run(it.count); now_ns() - begin < round_ns / 2; begin = now_ns(), it.run(it.count)) it.count *= 2;
    }
    std::vector<line *> order;
    for (line &it : lines) order.push_back(&it);
    random_index random(1);
    for (unsigned n = 0; n < rounds; n++) {
        for (size_t left = order.size(); left > 1; left--) {
            random.below = left;
            std::swap(order[left - 1], order[random()]);
        }
        for (line *it : order) {
            double begin = now_ns();
            samples some = it->run(it->count);
            std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<int64_t>(now_ns() - begin)));
            it->all.insert(it->all.end(), some.begin(), some.end());
            if (some.size() < 1000) continue;
            std::sort(some.begin(), some.end());
            it->p99.push_back(percentile(some, 0.99));
            it->p999.push_back(percentile(some, 0.999));
        }
    }
}

/* The same; prints medians, and for ages also the 99th and 99.9th percentiles. If the rounds have enough samples, these
 * are medians of the rounds' percentiles: otherwise a single round in which the scheduler stops a thread decides. */
inline void take_turns(std::vector<line> lines, unsigned rounds, double round_ns) {
    run_in_turns(lines, rounds, round_ns);
    for (line &it : lines) print(it);
}

/* A part of a program, which adds its lines and lets them take turns. */
struct workload {
    const char *name;
    void (*run)();
};

/* Runs those workloads that the command line names, or all of them. `who` is the title of the column of names. */
inline void run_asked(int argc, char **argv, const char *who, std::initializer_list<workload> all) {
    std::printf("workload,case,%s,ns,p99_ns,p999_ns\n", who);
    for (const workload &it : all) {
        bool asked = argc == 1;
        for (int n = 1; n < argc; n++) asked |= std::strcmp(argv[n], it.name) == 0;
        if (asked) it.run();
    }
}

#endif
