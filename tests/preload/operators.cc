/* operators.cc: every operator new and delete, also if there is no memory. Prints what a program can observe, which
 * must be the same with any malloc. With -DREPLACES, the program has a few operators of its own, which put a header
 * before each block. With -DPLUGIN, it is a library that a C program loads. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

static unsigned handled;

static void handle() {
    if (++handled % 3 == 0) std::set_new_handler(nullptr);
}

#ifdef REPLACES
static unsigned made, freed;

void *operator new(size_t size) {
    made++;
    char *block = static_cast<char *>(size < SIZE_MAX / 4 ? std::malloc(size + 16) : nullptr);
    if (!block) throw std::bad_alloc();
    return block + 16;
}

void operator delete(void *block) noexcept {
    freed++;
    if (block) std::free(static_cast<char *>(block) - 16);
}
#endif

template <typename alloc_block> static void fail(const char *name, alloc_block alloc) {
    for (bool handles : {false, true}) {
        const char *result = "a block";
        handled = 0;
        std::set_new_handler(handles ? handle : nullptr);
        try {
            if (!alloc(SIZE_MAX / 2)) result = "NULL";
        } catch (const std::bad_alloc &) {
            result = "bad_alloc";
        }
        std::printf("%s without memory: %s after %u calls of the handler\n", name, result, handled);
    }
}

/* Prints whether the blocks are aligned, and writes to all of them. Then there is no memory. */
template <typename alloc_block, typename free_block>
static void use(const char *name, size_t align, alloc_block alloc, free_block free) {
    bool aligned = true;
    for (size_t size = 0; size < 100000; size = size * 3 + 1) {
        void *blocks[40];
        for (void *&block : blocks) {
            block = alloc(size);
            aligned &= reinterpret_cast<uintptr_t>(block) % align == 0;
            std::memset(block, 1, size);
        }
        for (void *block : blocks) free(block, size);
    }
    free(nullptr, 0);
    std::printf("%s: %d\n", name, aligned);
    fail(name, alloc);
}

static const std::align_val_t wide{64};

static void use_all() {
    using std::nothrow;
    use(
        "new", 16, [](size_t n) { return operator new(n); }, [](void *p, size_t) { operator delete(p); });
    use(
        "new[]", 16, [](size_t n) { return operator new[](n); }, [](void *p, size_t) { operator delete[](p); });
    use(
        "sized", 16, [](size_t n) { return operator new(n); }, [](void *p, size_t n) { operator delete(p, n); });
    use(
        "sized[]", 16, [](size_t n) { return operator new[](n); }, [](void *p, size_t n) { operator delete[](p, n); });
    use(
        "nothrow", 16, [](size_t n) { return operator new(n, nothrow); },
        [](void *p, size_t) { operator delete(p, nothrow); });
    use(
        "nothrow[]", 16, [](size_t n) { return operator new[](n, nothrow); },
        [](void *p, size_t) { operator delete[](p, nothrow); });
    use(
        "aligned", 64, [](size_t n) { return operator new(n, wide); },
        [](void *p, size_t) { operator delete(p, wide); });
    use(
        "aligned[]", 64, [](size_t n) { return operator new[](n, wide); },
        [](void *p, size_t) { operator delete[](p, wide); });
    use(
        "sized aligned", 64, [](size_t n) { return operator new(n, wide); },
        [](void *p, size_t n) { operator delete(p, n, wide); });
    use(
        "sized aligned[]", 64, [](size_t n) { return operator new[](n, wide); },
        [](void *p, size_t n) { operator delete[](p, n, wide); });
    use(
        "nothrow aligned", 64, [](size_t n) { return operator new(n, wide, nothrow); },
        [](void *p, size_t) { operator delete(p, wide, nothrow); });
    use(
        "nothrow aligned[]", 64, [](size_t n) { return operator new[](n, wide, nothrow); },
        [](void *p, size_t) { operator delete[](p, wide, nothrow); });
#ifdef REPLACES
    std::printf("its own operators: %u and %u calls\n", made, freed);
#endif
}

#ifdef PLUGIN
extern "C" void plugin();
extern "C" void plugin() {
    use_all();
}
#else
int main(int argc, char **) {
    if (argc == 1) {
        use_all();
        return 0;
    }
    int *twice = new int;
    delete twice;
    delete twice; /* a mistake, which must be reported */
}
#endif
