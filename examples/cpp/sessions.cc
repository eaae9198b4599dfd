// A constructor that throws leaves the pool as it was, and a unique_ptr ends its object.
#include "kolk.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

struct session {
    explicit session(std::string name) : user(std::move(name)) {
        if (user.empty()) throw std::invalid_argument("a session needs a user");
    }
    ~session() { std::printf("%s leaves after %d requests\n", user.c_str(), requests); }
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    std::string user;
    int requests = 0;
};

int main() {
    kolk::pool<session> sessions({"sessions", 2});
    {
        auto ada = sessions.make_unique("Ada"), bob = sessions.make_unique("Bob");
        std::printf("%u sessions, and a third one: %s\n", sessions.size(), sessions.make_unique("Eve") ? "yes" : "no");
        ada->requests++;
        bob.reset();
        try {
            sessions.make_unique("");
        } catch (const std::invalid_argument &problem) {
            std::printf("%s\n", problem.what());
        }
        std::printf("%u session\n", sessions.size());
    }
    std::printf("%u sessions\n", sessions.size());
}
