// C++ objects in a pool: alloc returns raw memory, so objects are constructed there by placement new, and destroyed
// before they are freed, here by a unique_ptr. Never assign to what alloc returns: there is no object there yet.
#include "kolk.h"

#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

struct session {
    explicit session(std::string name) : user(std::move(name)) {
        if (user.empty()) throw std::invalid_argument("a session needs a user");
    }
    std::string user;
    int requests = 0;
};

} // namespace

KOLK_POOL_TYPE(sessions, session)

namespace {

struct end_session {
    sessions *pool;
    void operator()(session *it) const {
        it->~session();
        sessions_free(pool, it);
    }
};
using session_ptr = std::unique_ptr<session, end_session>;

// Returns an empty pointer when the pool is full. If the constructor throws, the slot is freed again.
template <typename... Arguments> session_ptr open_session(sessions *pool, Arguments &&...arguments) {
    session *memory = sessions_alloc(pool);
    if (!memory) return session_ptr(nullptr, end_session{pool});
    try {
        return session_ptr(new (memory) session(std::forward<Arguments>(arguments)...), end_session{pool});
    } catch (...) {
        sessions_free(pool, memory);
        throw;
    }
}

} // namespace

int main() {
    kolk_pool_desc desc = {}; // then set the fields; C++20 also has {.name = "sessions", ...}
    desc.name = "sessions";
    desc.capacity = 2;
    sessions pool;
    if (sessions_init(&pool, &desc) != KOLK_OK) return 1;
    {
        session_ptr ada = open_session(&pool, "Ada, whose name is longer than a short string"),
                    bob = open_session(&pool, "Bob");
        std::printf("%u sessions, and a third one: %s\n", sessions_count(&pool),
                    open_session(&pool, "Cy") ? "yes" : "full");
        bob.reset();
        try {
            open_session(&pool, "");
        } catch (const std::invalid_argument &problem) {
            std::printf("%s; %u is open\n", problem.what(), sessions_count(&pool));
        }
        KOLK_EACH(sessions, it, &pool) std::printf("%s: %d requests\n", it->user.c_str(), ++it->requests);
    }
    std::printf("%u sessions\n", sessions_count(&pool));
    sessions_deinit(&pool); // runs no destructors: all objects are destroyed by then
}
