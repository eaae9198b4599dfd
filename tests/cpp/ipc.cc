// Tests each promise of kolk::ipc_pool in kolk.hpp, with a child as the other process.
#include <kolk/kolk.hpp>

#include "test.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct frame {
    int number = 7;
    char text[60] = "";
    frame() = default;
    explicit frame(int of) : number(of) {
#if defined(__cpp_exceptions)
        if (of < 0) throw std::runtime_error("negative");
#endif
    }
};

} // namespace
template class kolk::ipc_pool<int>; // compiles every member
template class kolk::ipc_pool<frame>;
namespace {

using namespace std::chrono_literals;
using frames = kolk::ipc_pool<frame>;

kolk::ipc_options<frame> wish_for(const char *name, std::uint32_t capacity) {
    kolk::ipc_options<frame> wish;
    wish.name = name;
    wish.capacity = capacity;
    wish.queues = 2;
    return wish;
}

template <class F> void in_child(F body) {
    pid_t child = fork();
    int status = 1;
    if (child == 0) {
        body();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* promise: kolk.hpp "Constructs an object, which this process owns; nullptr ... constructor runs", "Waits for a slot",
 * "let it end, before the pool does" */
void test_objects() {
    frames pool(wish_for("frames", 3));
    CHECK(pool.status() == KOLK_OK && pool.capacity() == 3 && pool.empty() && pool.fd() >= 0);
    frame *one = pool.emplace(1);
    CHECK(one && one->number == 1 && pool.is_owned(one) && pool.contains(one) && pool.size() == 1);
    kolk::handle<frame> handle = pool.handle_of(one);
    CHECK(pool.get(handle) == one && pool.contains(handle));
    {
        frames::unique_ptr two = pool.make_unique(2), three = pool.make_unique();
        CHECK(two->number == 2 && three->number == 7 && pool.size() == 3);
        CHECK(!pool.emplace(4) && !pool.make_unique(4) && !pool.emplace_wait(1ms, 4) && pool.stats().failed == 3);
        int sum = 0;
        for (const frame &each : pool) sum += each.number;
        CHECK(sum == 10);
    }
    CHECK(pool.size() == 1);
    pool.erase(one);
    CHECK(!pool.get(handle) && !pool.contains(handle) && pool.empty() && pool.is_valid());
#if defined(__cpp_exceptions)
    try {
        pool.emplace(-1);
        CHECK(false);
    } catch (const std::runtime_error &) {}
    CHECK(pool.empty());
#endif
    one = pool.emplace_wait(10s, 5);
    CHECK(one->number == 5 && std::string(pool.stats().kind) == "ipc" && pool.untyped().capacity == 3);
    pool.erase(one);
}

/* promise: kolk.hpp "this process still owns the object, and so does the unique_ptr", "An empty one: see kolk_ipc_pop",
 * "A pool that is made or attached in a function can be" */
void test_queues() {
    kolk::ipc_options<frame> wish = wish_for("frames", 4);
    wish.queue_capacity = 1;
    frames pool(wish);
    frames::unique_ptr first = pool.make_unique(1), second = pool.make_unique(2);
    CHECK(pool.push(0, std::move(first), KOLK_NOW) == KOLK_OK && !first && pool.queued(0) == 1);
    CHECK(pool.push(0, std::move(second), KOLK_NOW) == KOLK_FULL && second && pool.is_owned(second.get()));
    CHECK(pool.push(0, std::move(second), 1ms) == KOLK_TIMEOUT && second);
    kolk_ipc_holder holder[2];
    CHECK(pool.holders(holder, 2) == 1 && holder[0].count == 1 && holder[0].queued == 1);
    in_child([&pool] { // as a process of its own
        frames again = frames::attach(pool.fd());
        CHECK(again.status() == KOLK_OK && again.capacity() == 4);
        frames::unique_ptr got = again.pop(0);
        CHECK(got && got->number == 1 && !again.pop(0, KOLK_NOW) && !again.pop(1, 1ms));
        got->number = 11;
        CHECK(again.push(1, got.release()) == KOLK_OK);
    });
    frames::unique_ptr back = pool.pop(1, 10s);
    CHECK(back && back->number == 11 && pool.size() == 2);
    pool.close(1);
    CHECK(pool.is_closed(1) && pool.push(1, std::move(back)) == KOLK_CLOSED && back && !pool.pop(1));
}

/* promise: kolk.hpp "What this process still owns becomes ... the other processes go on" */
void test_orphans() {
    static int found;
    kolk::ipc_options<frame> wish = wish_for("frames", 4);
    wish.orphans = KOLK_IPC_KEEP;
    frames pool(wish);
    in_child([&pool] {
        frames again = frames::attach(pool.fd());
        CHECK(again.emplace(21));
    });
    CHECK(pool.size() == 1 && pool.adopt()->number == 21);
    CHECK(pool.empty() && !pool.adopt());           // the unique_ptr has erased it
    in_child([&pool] { CHECK(pool.emplace(22)); }); // ends without a destructor
    CHECK(pool.recover() == 1 && pool.adopt()->number == 22);

    wish.on_orphan = [](frame &object, void *context) { *static_cast<int *>(context) = object.number; };
    wish.context = &found;
    frames hooked(wish);
    in_child([&hooked] { CHECK(hooked.emplace(23)); });
    CHECK(hooked.recover() == 1 && found == 23 && hooked.size() == 1);
    for (frame &each : hooked) {
        CHECK(hooked.is_owned(&each)); // the hook's object is this process's
        hooked.erase(&each);
    }
    CHECK(hooked.empty());
}

/* promise: kolk.hpp "See kolk_ipc_init_in and kolk_ipc_attach", "KOLK_OK, why the init or attach failed, or
 * kolk_ipc_" */
void test_refused() {
    frames pool(wish_for("frames", 4));
    kolk::ipc_options<frame> other;
    other.capacity = 5;
#if defined(__cpp_exceptions)
    try {
        frames again = frames::attach(pool.fd(), other);
        CHECK(false);
    } catch (const kolk::error &error) {
        CHECK(error.status() == KOLK_OTHER_LAYOUT);
    }
    try {
        frames again = frames::init_in(pool.fd(), other);
        CHECK(false);
    } catch (const kolk::error &error) {
        CHECK(error.status() == KOLK_NOT_EMPTY);
    }
#else
    frames again = frames::attach(pool.fd(), other), in = frames::init_in(pool.fd(), other);
    CHECK(again.status() == KOLK_OTHER_LAYOUT && again.capacity() == 0 && in.status() == KOLK_NOT_EMPTY);
#endif
}

} // namespace

int main() {
    test_objects();
    test_queues();
    test_orphans();
    test_refused();
    return 0;
}
