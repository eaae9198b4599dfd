/* nested.cc: thousands of heaps, one for each request, compared with other ways to free all that belongs together:
 * APR's pools, talloc's contexts, and glibc's malloc, whose blocks are freed one by one. Usage: nested [WORKLOAD...],
 * by default all. Prints CSV: nanoseconds, medians of rounds in which all lines of a workload take turns in random
 * order. The first 8 bytes of each block are written.
 *
 *     alive      100,000 heaps at a time, with three blocks of 32 bytes each, in a process of its own: bytes of
 *                resident memory, ns to make, and ns to end one heap
 *     empty      a heap begins and ends; for malloc, which has no heaps, this is the loop alone
 *     twenty     a heap begins, gets one block of each of 20 sizes from 16 to 1,024 bytes, and ends
 *     request    a heap gets 50 blocks of 16 to 512 bytes, of which every fifth is freed at once, and two of 4 KiB.
 *                "new": it begins before that, and ends after it; "reset": it stays, and is reset after it
 *     tree       a heap begins with 10 heaps in it, each of the 11 gets a block of 64 bytes, and its end ends all 11.
 *                "all": this; "end": only the end
 *
 * APR's pools cannot free a single block. They free it with the pool.
 * promise: heap.h "which has at most ... needs no class", "eight places where a thread looks first" */
#include "mallocs.h"
#include "ring.h"

#include <apr_general.h>
#include <apr_pools.h>
#include <sys/wait.h>
#include <talloc.h>
#include <unistd.h>

static std::vector<line> lines; /* of the current workload */

/* ---- Heaps ------------------------------------------------------------------------------------------------------- */

/* Each kind of heap has the same functions. begin: inside a parent, or nullptr. end and reset free all blocks; only
 * malloc needs the list of those that are still alive. */

struct kolk_blocks {
    static constexpr const char *name = "kolk";
    kolk_heap heap;
    bool begin(kolk_blocks *parent) {
        kolk_heap_desc desc = {};
        if (parent) desc.parent = &parent->heap;
        return kolk_heap_init(&heap, &desc) == KOLK_OK;
    }
    void *alloc(size_t size) { return kolk_heap_alloc(&heap, size); }
    void free(void *block) { kolk_heap_free(&heap, block); }
    void reset(void **, size_t) { kolk_heap_reset(&heap); }
    void end(void **, size_t) { kolk_heap_deinit(&heap); }
};

/* Has no children: the program frees all blocks itself. */
struct malloc_blocks {
    static constexpr const char *name = "glibc";
    bool begin(malloc_blocks *) { return true; }
    void *alloc(size_t size) { return std::malloc(size); }
    void free(void *block) { std::free(block); }
    void reset(void **blocks, size_t n) {
        for (size_t i = 0; i < n; i++) std::free(blocks[i]);
    }
    void end(void **blocks, size_t n) { reset(blocks, n); }
};

struct apr_blocks {
    static constexpr const char *name = "apr";
    apr_pool_t *pool;
    bool begin(apr_blocks *parent) {
        static const bool begun = apr_initialize() == APR_SUCCESS;
        return begun && apr_pool_create(&pool, parent ? parent->pool : nullptr) == APR_SUCCESS;
    }
    void *alloc(size_t size) { return apr_palloc(pool, size); }
    void free(void *) {}
    void reset(void **, size_t) { apr_pool_clear(pool); }
    void end(void **, size_t) { apr_pool_destroy(pool); }
};

struct talloc_blocks {
    static constexpr const char *name = "talloc";
    void *context;
    bool begin(talloc_blocks *parent) {
        context = talloc_new(parent ? parent->context : nullptr);
        return context;
    }
    void *alloc(size_t size) { return talloc_size(context, size); }
    void free(void *block) { talloc_free(block); }
    void reset(void **, size_t) { talloc_free_children(context); }
    void end(void **, size_t) { talloc_free(context); }
};

/* ---- Workloads: each returns nanoseconds per turn ---------------------------------------------------------------- */

template <typename heap> void *alloc_and_write(heap &from, size_t size, uint64_t value) {
    void *block = from.alloc(size);
    require(block, heap::name, "no memory for a block");
    benchmark::DoNotOptimize(block);
    std::memcpy(block, &value, sizeof value);
    benchmark::ClobberMemory();
    return block;
}

template <typename heap> void begin_or_exit(heap &fresh, heap *parent) {
    require(fresh.begin(parent), heap::name, "no memory for a heap");
    benchmark::ClobberMemory();
}

template <typename heap> samples empty(size_t count) {
    heap one;
    double begin = now_ns();
    for (size_t n = 0; n < count; n++) {
        begin_or_exit<heap>(one, nullptr);
        one.end(nullptr, 0);
    }
    return {(now_ns() - begin) / static_cast<double>(count)};
}

/* Also kolk's own sizes of up to 1 KiB. */
constexpr size_t twenty_sizes[] = {16,  32,  48,  64,  80,  96,  112, 128, 160, 192,
                                   224, 256, 320, 384, 448, 512, 640, 768, 896, 1024};

template <typename heap> samples twenty(size_t count) {
    heap one;
    double begin = now_ns();
    for (size_t n = 0; n < count; n++) {
        void *blocks[20];
        begin_or_exit<heap>(one, nullptr);
        for (size_t i = 0; i < 20; i++) blocks[i] = alloc_and_write(one, twenty_sizes[i], n);
        one.end(blocks, 20);
    }
    return {(now_ns() - begin) / static_cast<double>(count)};
}

template <typename heap> samples request(bool is_new, size_t count) {
    heap one;
    quick_random random;
    if (!is_new) begin_or_exit<heap>(one, nullptr);
    double begin = now_ns();
    for (size_t n = 0; n < count; n++) {
        void *blocks[52];
        size_t alive = 0;
        if (is_new) begin_or_exit<heap>(one, nullptr);
        for (size_t i = 0; i < 50; i++) {
            blocks[alive++] = alloc_and_write(one, 16 + random(20) % 497, n);
            if (i % 5 == 4) one.free(blocks[--alive]);
            if (i % 25 == 12) blocks[alive++] = alloc_and_write(one, 4096, n);
        }
        is_new ? one.end(blocks, alive) : one.reset(blocks, alive);
    }
    double spent = now_ns() - begin;
    if (!is_new) one.end(nullptr, 0);
    return {spent / static_cast<double>(count)};
}

template <typename heap> samples tree(bool only_end, size_t count) {
    heap parent, children[10];
    double spent = 0;
    for (size_t n = 0; n < count; n++) {
        void *blocks[11];
        double begin = now_ns();
        begin_or_exit<heap>(parent, nullptr);
        blocks[0] = alloc_and_write(parent, 64, n);
        for (size_t i = 0; i < 10; i++) {
            begin_or_exit(children[i], &parent);
            blocks[i + 1] = alloc_and_write(children[i], 64, n);
        }
        if (only_end) begin = now_ns();
        parent.end(blocks, 11);
        spent += now_ns() - begin;
    }
    return {spent / static_cast<double>(count)};
}

/* ---- Many at a time, in a child process, which finds no memory that others have left ----------------------------- */

constexpr size_t many = 100000;
enum { RESIDENT, MAKE, END, FIGURES };

struct many_heaps {
    size_t made; /* fewer than `many`: there was no memory for more */
    double figures[FIGURES];
};

template <typename heap> many_heaps make_many() {
    many_heaps found = {};
    static void *blocks[many][3]; /* written beforehand, so that it does not count as a heap's memory */
    std::memset(blocks, 1, sizeof blocks);
    heap spare;
    begin_or_exit<heap>(spare, nullptr); /* the first one of a process also makes what all have in common */
    resident_bytes();                    /* makes stdio's buffers resident */
    double before = resident_bytes(), begin = now_ns();
    auto *all = static_cast<heap *>(std::calloc(many, sizeof(heap)));
    for (auto &of : blocks) {
        if (!all[found.made].begin(nullptr)) return found;
        for (void *&block : of)
            if (block = all[found.made].alloc(32); !block) return found;
        for (void *block : of) std::memset(block, 1, 32);
        found.made++;
    }
    double made = now_ns(), more = resident_bytes() - before, again = now_ns();
    for (size_t n = 0; n < many; n++) all[n].end(blocks[n], 3);
    found.figures[RESIDENT] = more / many;
    found.figures[MAKE] = (made - begin) / many;
    found.figures[END] = (now_ns() - again) / many;
    return found;
}

template <typename heap> many_heaps make_many_in_child() {
    many_heaps found = {};
    int ends[2], status = 0;
    std::fflush(stdout);
    require(pipe(ends) == 0, heap::name, "no pipe");
    pid_t child = fork();
    if (child == 0) {
        found = make_many<heap>();
        _exit(write(ends[1], &found, sizeof found) != static_cast<ssize_t>(sizeof found));
    }
    close(ends[1]);
    bool is_whole = child > 0 && read(ends[0], &found, sizeof found) == static_cast<ssize_t>(sizeof found);
    close(ends[0]);
    require(waitpid(child, &status, 0) == child && status == 0 && is_whole, heap::name, "its process failed");
    return found;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* Calls add_line with one of each kind of heap. */
template <typename add_line_of> void with_all(add_line_of add_line) {
    add_line(kolk_blocks());
    add_line(malloc_blocks());
    add_line(apr_blocks());
    add_line(talloc_blocks());
}

static void run_alive() {
    with_all([](auto any) {
        using heap = decltype(any);
        static const char *const figures[FIGURES] = {"bytes", "make", "end"};
        if (size_t made = make_many_in_child<heap>().made; made < many) {
            std::fprintf(stderr, "left out: alive: %s: there is memory for only %zu heaps\n", heap::name, made);
            return;
        }
        for (size_t n = 0; n < FIGURES; n++)
            lines.push_back({"alive", figures[n], heap::name,
                             [=](size_t) { return samples{make_many_in_child<heap>().figures[n]}; }});
    });
    take_turns(std::move(lines), 7, 1);
}

static void run_empty() {
    with_all([](auto any) { lines.push_back({"empty", "begin and end", any.name, empty<decltype(any)>}); });
    take_turns(std::move(lines), 15, 20e6);
}

static void run_twenty() {
    with_all([](auto any) { lines.push_back({"twenty", "20 blocks", any.name, twenty<decltype(any)>}); });
    take_turns(std::move(lines), 15, 20e6);
}

static void run_request() {
    for (bool is_new : {true, false})
        with_all([=](auto any) {
            lines.push_back({"request", is_new ? "new" : "reset", any.name,
                             [=](size_t count) { return request<decltype(any)>(is_new, count); }});
        });
    take_turns(std::move(lines), 15, 20e6);
}

static void run_tree() {
    for (bool only_end : {false, true})
        with_all([=](auto any) {
            lines.push_back({"tree", only_end ? "end" : "all", any.name,
                             [=](size_t count) { return tree<decltype(any)>(only_end, count); }});
        });
    take_turns(std::move(lines), 15, 20e6);
}

int main(int argc, char **argv) {
    run_asked(argc, argv, "heap",
              {{"alive", run_alive}, /* first, so that its children find no memory to reuse */
               {"empty", run_empty},
               {"twenty", run_twenty},
               {"request", run_request},
               {"tree", run_tree}});
    check_malloc_is_glibc();
}
