// BlockingQueue: Add waits for room and Remove for an item. Shutdown ends all waits, and Clear empties the container.
// The items are unique_ptrs: what was not taken stays with the writer.
#include "kolk.hpp"

#include <cstdio>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

struct ShutDownException : std::exception {
    const char *what() const noexcept override { return "the container is shut down"; }
};

template <class T> class BlockingQueue {
  public:
    explicit BlockingQueue(std::uint32_t size) : items_({"container", size}) {}

    void Add(T item) {
        if (items_.push(std::move(item)) != KOLK_OK) throw ShutDownException();
    }
    T Remove() {
        T item;
        if (items_.pop(item) != KOLK_OK) throw ShutDownException();
        return item;
    }
    void Shutdown() { items_.shutdown(); }
    std::size_t Clear() { return items_.clear(); }

  private:
    kolk::queue<T> items_;
};

int main() {
    BlockingQueue<std::unique_ptr<int>> container(4);
    long sums[2] = {0, 0};
    std::vector<std::thread> writers, readers;
    for (int writer = 0; writer < 4; writer++)
        writers.emplace_back([&container] {
            for (int n = 1; n <= 1000; n++) container.Add(std::make_unique<int>(n));
        });
    for (long &sum : sums)
        readers.emplace_back([&container, &sum] {
            for (int n = 0; n < 2000; n++) sum += *container.Remove();
        });
    for (std::thread &each : writers) each.join();
    for (std::thread &each : readers) each.join();
    std::printf("4 writers added 4000, 2 readers removed them: the sum is %ld\n", sums[0] + sums[1]);

    for (int n = 0; n < 3; n++) container.Add(std::make_unique<int>(n));
    std::printf("Clear drops %zu\n", container.Clear());
    std::thread waiting([&container] {
        try {
            container.Remove();
        } catch (const ShutDownException &end) {
            std::printf("a reader that waits: %s\n", end.what());
        }
    });
    container.Shutdown();
    waiting.join();
}
