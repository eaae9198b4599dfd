// Bitpool: objects in an array, a bit for each, the lowest free one first, and a count of those that are available.
#include "kolk.hpp"

#include <cstdio>

template <class T> class Bitpool {
  public:
    explicit Bitpool(std::uint32_t size) : objects_({"bitpool", size, size, KOLK_REUSE_LOWEST}) {}

    T *GetObject() { return objects_.emplace(); } // nullptr: none is available
    void ReturnObject(T *object) { objects_.erase(object); }
    bool IsInUse(std::uint32_t index) const { return objects_.at(index) != nullptr; }
    std::uint32_t IndexOf(const T *object) const { return objects_.index_of(object); }
    std::uint32_t Available() const { return objects_.available(); }

  private:
    kolk::pool<T> objects_;
};

struct Bullet {
    float x = 0, y = 0;
};

static void print(const Bitpool<Bullet> &pool, const char *step) {
    std::printf("%-20s ", step);
    for (std::uint32_t index = 0; index < 15; index++) std::putchar(pool.IsInUse(index) ? '0' : '1'); // 1: available
    std::printf("  %2u available\n", pool.Available());
}

int main() {
    Bitpool<Bullet> pool(15);
    print(pool, "a new pool");
    Bullet *bullets[15];
    for (Bullet *&each : bullets) each = pool.GetObject();
    print(pool, "all are in use");
    std::printf("another one: %s\n", pool.GetObject() ? "yes" : "nullptr");
    pool.ReturnObject(bullets[12]);
    pool.ReturnObject(bullets[3]);
    print(pool, "12 and 3 come back");
    std::printf("the next one is %u\n", pool.IndexOf(pool.GetObject()));
    print(pool, "the lowest first");
}
