// Tests each promise of kolk::queue, kolk::shared_pool and kolk::resource_pool in kolk.hpp.
#include <kolk/kolk.hpp>

#include "test.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

} // namespace
template class kolk::queue<int>; // compiles every member
template class kolk::queue<std::string>;
template class kolk::shared_pool<int>;
template class kolk::shared_pool<std::string>;
template class kolk::resource_pool<std::string>;
namespace {

/* promise: kolk.hpp "clock, or one of C's (KOLK_NOW, KOLK_FOREVER)", "trivially copyable ones are copied as bytes ...
 * would have returned", "T is not copied as bytes, no thread" */
void test_queue() {
    static std::atomic<int> alive;
    struct item {
        std::string text;
        std::unique_ptr<int> number;
        const item *self = this;
        explicit item(int of) : text(std::to_string(of)), number(std::make_unique<int>(of)) { alive++; }
        item(item &&other) noexcept : text(std::move(other.text)), number(std::move(other.number)) { alive++; }
        item &operator=(item &&other) noexcept {
            text = std::move(other.text);
            number = std::move(other.number);
            return *this;
        }
        ~item() {
            CHECK(self == this);
            alive--;
        }
    };
    {
        kolk::queue<item> queue({"items", 2});
        item first(1), second(2), third(3), out(0);
        CHECK(queue.push(std::move(first)) == KOLK_OK && queue.push(std::move(second)) == KOLK_OK);
        CHECK(!first.number && queue.push(std::move(third), KOLK_NOW) == KOLK_FULL);
        CHECK(queue.push(std::move(third), 1ms) == KOLK_TIMEOUT && *third.number == 3 && third.text == "3"); // it stays
        CHECK(queue.pop(out) == KOLK_OK && *out.number == 1 && out.text == "1" && queue.size() == 1);
        std::optional<item> taken = queue.pop(KOLK_NOW);
        CHECK(taken && *taken->number == 2 && queue.empty());
        CHECK(!queue.pop(KOLK_NOW) && queue.pop(out, 1ms) == KOLK_TIMEOUT && *out.number == 1);
        CHECK(queue.push(std::move(third)) == KOLK_OK && queue.is_valid() && queue.stats().count == 1);
        CHECK(alive == 5 + 1); // first, second, third, out, taken; and one in the queue
    }
    CHECK(alive == 0); // what lay in the queue is destroyed

    kolk::queue<std::unique_ptr<int>> jobs({"jobs", 4});
    long sum = 0;
    std::thread worker([&] {
        for (std::unique_ptr<int> job; jobs.pop(job) == KOLK_OK;) sum += *job;
    });
    for (int i = 1; i <= 1000; i++) CHECK(jobs.push(std::make_unique<int>(i)) == KOLK_OK);
    jobs.close();
    worker.join();
    CHECK(sum == 500500 && jobs.push(std::make_unique<int>(1)) == KOLK_CLOSED);
    jobs.reopen();
    CHECK(jobs.push(std::make_unique<int>(1)) == KOLK_OK && jobs.clear() == 1);
    CHECK(jobs.rebind({"work", 4}) == KOLK_OK && std::string(jobs.stats().name) == "work");
    CHECK(jobs.push(std::make_unique<int>(1)) == KOLK_OK && jobs.clear() == 1);
    CHECK(jobs.rebind({"work", 5}) == KOLK_LAYOUT_CHANGED);
    jobs.shutdown();
    std::unique_ptr<int> none;
    CHECK(jobs.pop(none) == KOLK_SHUTDOWN);

    kolk::queue<int> numbers({"numbers", 1});
    const int five = 5;
    int number = 0;
    CHECK(numbers.push(five) == KOLK_OK && numbers.pop(number) == KOLK_OK && number == 5 && !numbers.pop(-1s));
    CHECK(!numbers.pop(std::chrono::steady_clock::now() + 1ms));
    CHECK(kolk_deadline(kolk::deadline(std::chrono::hours::max())).ns == KOLK_FOREVER.ns);
}

struct message {
    static inline std::atomic<int> alive{0};
    std::string text = "a long text that needs memory of its own";
    int number;
    explicit message(int of) : number(of) {
#if defined(__cpp_exceptions)
        if (of < 0) throw std::runtime_error("negative");
#endif
        alive++;
    }
    message(const message &) = delete;
    message &operator=(const message &) = delete;
    ~message() {
        alive--;
    }
};

/* promise: kolk.hpp "if an init ... renewed for it is gone", "it runs as the pool's `reset` hook ... uses the pool any
 * more", "It ends before the pool ... of its objects runs", "No thread may be inside a call" */
void test_shared_pool() {
    kolk::shared_options wish;
    wish.name = "messages";
    wish.capacity = 1000;
    {
        kolk::shared_pool<message> pool(wish);
        kolk::queue<message *> sent({"sent", 100});
        std::thread reader([&] {
            kolk::shared_pool<message>::local local(pool);
            for (message *each; sent.pop(each) == KOLK_OK;) local.erase(each);
        });
        {
            kolk::shared_pool<message>::local local(pool);
            for (int i = 0; i < 20000; i++) {
                message *made = local.emplace_wait(10s, i);
                CHECK(made && sent.push(made) == KOLK_OK);
            }
            message *mine = local.emplace(5);
            kolk::handle<message> handle = pool.handle_of(mine);
            CHECK(pool.get(handle) == mine && pool.contains(mine) && pool.contains(handle));
            {
                auto scoped = local.make_unique(6);
                CHECK(scoped->number == 6);
            }
            local.erase(mine);
            CHECK(!pool.get(handle));
            sent.close();
            reader.join();
            CHECK(message::alive == 0 && pool.empty());
            wish.name = "renamed";
            CHECK(pool.rebind(wish) == KOLK_OK && std::string(pool.stats().name) == "renamed");
            message *read = local.emplace(7);
            local.erase_later(read);
            CHECK(message::alive == 1 && !pool.contains(read)); // its contents stay
            local.quiesce();
            local.quiesce();
            local.quiesce();
            CHECK(message::alive == 0);
            for (int i = 0; i < 10; i++) local.emplace(i);
            int sum = 0;
            for (message &each : pool) {
                sum += each.number;
                if (each.number % 2) local.erase(&each);
            }
            CHECK(sum == 45 && pool.size() == 5 && message::alive == 5);
            pool.clear();
            CHECK(message::alive == 0 && pool.is_valid());
            if (has_exceptions) CHECK(throws_an<std::runtime_error>([&] { local.emplace(-1); }));
            CHECK(message::alive == 0 && pool.empty());
            failures told;
            message *twice = local.emplace(1);
            local.erase(twice);
            local.erase(twice);
            CHECK(told.count == 1 && told.last == KOLK_DOUBLE_FREE && message::alive == 0);
            local.offline();
            local.online();
            local.flush();
            CHECK(pool.stats().count == 0);
            pool.shutdown();
            CHECK(local.emplace(8) && pool.size() == 1);
            pool.reopen();
        }
    }
    CHECK(message::alive == 0);

    wish.max_threads = 1;
    wish.capacity = 2;
    kolk::shared_pool<int> numbers(wish);
    kolk::shared_pool<int>::local one(numbers);
    CHECK(one.emplace(1) && one.emplace(2) && !one.emplace_wait(1ms, 3));
#if defined(__cpp_exceptions)
    kolk_status why = KOLK_OK;
    try {
        kolk::shared_pool<int>::local two(numbers);
    } catch (const kolk::error &problem) {
        why = problem.status();
    }
    CHECK(why == KOLK_TOO_MANY_THREADS);
#else
    kolk::shared_pool<int>::local two(numbers);
    CHECK(two.status() == KOLK_TOO_MANY_THREADS && !two.emplace(1));
#endif
}

// A walk finds no object that another thread is still constructing.
// promise: kolk.hpp "No other thread finds an object whose"
void test_walk_meanwhile() {
    struct pair {
        std::string first, second;
        explicit pair(int of) : first(std::to_string(of)), second(first) {}
    };
    for (kolk_generations generations : {KOLK_GENERATIONS_RECYCLE, KOLK_GENERATIONS_NONE}) {
        kolk::shared_options wish;
        wish.name = "pairs";
        wish.capacity = 100;
        wish.generations = generations;
        kolk::shared_pool<pair> pool(wish);
        std::atomic<bool> done{false};
        std::thread walker([&] {
            kolk::shared_pool<pair>::local local(pool); // so that what it looks at is not destroyed meanwhile
            while (!done) {
                for (const pair &each : pool) CHECK(each.first == each.second);
                local.quiesce();
            }
        });
        {
            kolk::shared_pool<pair>::local local(pool);
            for (int i = 0; i < 20000; i++) {
                if (pair *made = local.emplace(i)) local.erase_later(made);
                local.quiesce();
            }
        }
        done = true;
        walker.join();
    }
}

struct connection {
    static inline std::atomic<int> open{0};
    int number;
    bool bad = false;
    explicit connection(int of) : number(of) { open++; }
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    ~connection() { open--; }
};

/* promise: kolk.hpp "returned false; destroy and log are done", "Returns nullptr ... must be complete", "Gives it back
 * at the end of its scope", "KOLK_OK, or why there ... destroys the resource", "Waits for 30 s at most" */
void test_resource_pool() {
    std::atomic<int> made{0};
    {
        kolk::resource_options<connection> wish;
        wish.name = "connections";
        wish.max = 2;
        wish.create = [&made](const char *key, kolk_deadline, kolk_error &error) -> connection * {
            if (std::string(key) == "nowhere") {
                error.final = true;
                std::snprintf(error.text, sizeof error.text, "no such host");
                return nullptr;
            }
#if defined(__cpp_exceptions)
            if (std::string(key) == "thrown") {
                error.final = true;
                throw std::runtime_error("the host threw");
            }
#endif
            return new connection(++made);
        };
        bool throws = false;
        wish.reset = [&throws](connection &of) {
#if defined(__cpp_exceptions)
            if (throws) throw std::runtime_error("not clean");
#endif
            return !of.bad && !throws;
        };
        wish.validate = [](connection &, kolk_deadline) { return true; };
        kolk::resource_pool<connection> pool(wish);
        int number;
        {
            auto lent = pool.borrow();
            CHECK(lent && lent.status() == KOLK_OK && (*lent).number == lent->number);
            number = lent->number;
            auto moved = std::move(lent);
            CHECK(!lent && moved && pool.stats().in_use == 1); // NOLINT: a borrow that was moved has no resource
        }
        CHECK(pool.stats().in_use == 0);
        {
            auto again = pool.borrow(30s);
            CHECK(again->number == number);
            again->bad = true; // reset refuses it
            again.give_back();
            again.give_back();
            CHECK(!again && pool.stats().unclean == 1);
        }
        throws = true;
        pool.borrow(30s).give_back();
        throws = false;
        CHECK(pool.stats().unclean == 2);
#if defined(__cpp_exceptions)
        try {
            auto lent = pool.borrow();
            throw std::runtime_error("an exception flies");
        } catch (const std::runtime_error &) {}
        CHECK(pool.stats().discarded == 1);
        auto thrown = pool.borrow(10s, "thrown");
        CHECK(!thrown && thrown.status() == KOLK_NOT_CREATED && std::string(thrown.error().text) == "the host threw");
#endif
        auto none = pool.borrow(30s, "nowhere");
        CHECK(!none && none.status() == KOLK_NOT_CREATED && std::string(none.error().text) == "no such host");
        auto a = pool.borrow(), b = pool.borrow();
        auto c = pool.borrow(1ms);
        CHECK(a && b && c.status() == KOLK_TIMEOUT && pool.borrow(KOLK_NOW).status() == KOLK_FULL);
        pool.pause();
        CHECK(a.generation() == b.generation() && pool.borrow(KOLK_NOW).status() == KOLK_FULL);
        pool.resume();
        b.discard();
        b = pool.borrow(30s);
        delete b.detach();
        CHECK(!b && b.detach() == nullptr && pool.stats().detached == 1);
        CHECK(pool.resize(1) == KOLK_OK && pool.resize(0) == KOLK_BAD_MAX);
        CHECK(pool.evict_generation(a.generation()) && !pool.evict_generation(a.generation()));
        pool.evict();
        pool.tick(KOLK_NOW);
        a = kolk::resource_pool<connection>::borrowed();
        CHECK(pool.stats().in_use == 0 && pool.is_valid());
        CHECK(pool.close(30s) == KOLK_OK && pool.borrow().status() == KOLK_CLOSED);
    }
    CHECK(made > 0 && connection::open == 0); // `delete` has destroyed them

    struct opaque; // as PGconn
    kolk::resource_options<opaque> wish;
    wish.create = [](const char *, kolk_deadline, kolk_error &) -> opaque * { return nullptr; };
#if defined(__cpp_exceptions)
    kolk_status why = KOLK_OK;
    try {
        kolk::resource_pool<opaque> pool(wish);
    } catch (const kolk::error &problem) {
        why = problem.status();
    }
#else
    kolk_status why = kolk::resource_pool<opaque>(wish).status();
#endif
    CHECK(why == KOLK_CREATE_MISSING); // nothing knows how to destroy one
    int there = 0;
    wish.create = [&there](const char *, kolk_deadline, kolk_error &) {
        there++;
        return reinterpret_cast<opaque *>(&there);
    };
    wish.destroy = [&there](opaque *) { there--; };
    wish.no_housekeeper = true;
    {
        kolk::resource_pool<opaque> pool(wish);
        CHECK(pool.borrow() && there == 1);
    }
    CHECK(there == 0);
#if defined(__cpp_exceptions)
    for (bool no_housekeeper : {false, true}) { // functions that throw when nobody can be told
        wish.no_housekeeper = no_housekeeper;
        wish.destroy = [&there](opaque *) {
            there--;
            throw std::runtime_error("it was gone already");
        };
        wish.log = [](const kolk_resource_event &) { throw std::runtime_error("the disk is full"); };
        wish.max = 1;
        kolk::resource_pool<opaque> pool(wish);
        for (int n = 0; n < 3; n++) {
            auto lent = pool.borrow(30s);
            CHECK(lent && there == 1);
            lent.discard();
        }
        CHECK(pool.close(30s) == KOLK_OK && there == 0 && pool.is_valid());
    }
#endif
}

} // namespace

int main() {
    test_queue();
    test_shared_pool();
    test_walk_meanwhile();
    test_resource_pool();
    return 0;
}
