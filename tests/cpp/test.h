// test.h: for the tests in C++, which are programs that end at the first CHECK that fails.
#ifndef TESTS_CPP_TEST_H
#define TESTS_CPP_TEST_H

#include <kolk/kolk.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#define CHECK(condition)                                                                                               \
    ((condition) ? static_cast<void>(0)                                                                                \
                 : (static_cast<void>(std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition)),    \
                    std::exit(1)))

#if defined(__cpp_exceptions)
inline constexpr bool has_exceptions = true;

// Does the call throw an E?
template <class E, class F> bool throws_an(F call) {
    try {
        (void)call();
    } catch (const E &) {
        return true;
    }
    return false;
}
#else
inline constexpr bool has_exceptions = false;
template <class E, class F> bool throws_an(F) {
    return false;
}
#endif

// Counts the failures that kolk reports while it exists, and keeps the rule and the sentence of the last one.
struct failures {
    int count = 0;
    kolk_status last = KOLK_OK;
    std::string sentence; // the last one

    failures() { kolk_set_failure_handler(note, this); }
    ~failures() { kolk_set_failure_handler(nullptr, nullptr); }
    failures(const failures &) = delete;
    failures &operator=(const failures &) = delete;

  private:
    static void note(const kolk_failure *failure, void *self) {
        static_cast<failures *>(self)->count++;
        static_cast<failures *>(self)->last = failure->rule;
        static_cast<failures *>(self)->sentence = failure->sentence;
    }
};

#endif
