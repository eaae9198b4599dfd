/* SPDX-License-Identifier: Zlib */
/* kolk_ffi.h: kolk's headers for other languages: each function, struct and enum, with neither preprocessor (except in
 * lines that begin with #), nor attributes, nor bodies. `make bindings` writes it. The manuals are kolk's own headers,
 * which C and C++ programs include instead. A pool's struct must not move, and kolk_size_of tells its size. */

#ifndef KOLK_FFI_H
#define KOLK_FFI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kolk_status {
    KOLK_OK = 0,
    KOLK_TIMEOUT = 1,
    KOLK_CLOSED = 2,
    KOLK_SHUTDOWN = 3,
    KOLK_FULL = 4,
    KOLK_EMPTY = 5,
    KOLK_NO_MEMORY = 6,
    KOLK_ABOVE_MAX = 7,
    KOLK_NOT_CREATED = 8,
    KOLK_FORKED = 9,
    KOLK_KEY_TOO_LONG = 10,
    KOLK_OVER_BUDGET = 11,
    KOLK_WRONG_ABI = 100,
    KOLK_NO_DESCRIPTOR = 101,
    KOLK_ZERO_SIZE = 102,
    KOLK_BAD_ALIGN = 103,
    KOLK_ALIGN_TOO_LARGE = 104,
    KOLK_SIZE_OVERFLOW = 105,
    KOLK_MAX_BELOW_CAPACITY = 106,
    KOLK_CANNOT_GROW = 107,
    KOLK_MEMORY_MISSING = 108,
    KOLK_MEMORY_TOO_SMALL = 109,
    KOLK_MEMORY_MISALIGNED = 110,
    KOLK_BAD_REUSE = 111,
    KOLK_BAD_GENERATIONS = 112,
    KOLK_COST_MISSING = 113,
    KOLK_AGES_MISSING = 114,
    KOLK_BAD_HEADROOM = 115,
    KOLK_BAD_OVERFLOW = 116,
    KOLK_TYPE_MISMATCH = 117,
    KOLK_ZERO_CAPACITY = 118,
    KOLK_TOO_MANY_THREADS = 119,
    KOLK_BAD_COUNT = 120,
    KOLK_ARRAY_MISSING = 121,
    KOLK_BAD_SEEDS = 122,
    KOLK_BAD_LAYOUT = 123,
    KOLK_OUTSIDE = 124,
    KOLK_NOT_FLUSHED = 125,
    KOLK_CREATE_MISSING = 126,
    KOLK_BAD_MAX = 127,
    KOLK_BAD_MIN_IDLE = 128,
    KOLK_BAD_TIME = 129,
    KOLK_PATH_MISSING = 130,
    KOLK_BAD_ADDRESS = 131,
    KOLK_BAD_CLASSES = 132,
    KOLK_NO_THREAD = 133,
    KOLK_BAD_CAPACITY = 134,
    KOLK_LOWEST_MISSING = 135,
    KOLK_BAD_PARENT = 136,
    KOLK_FIXED_HEAP = 137,
    KOLK_STRUCT_CHANGED = 138,
    KOLK_LAYOUT_CHANGED = 139,
    KOLK_BAD_BUDGET = 140,
    KOLK_SET_BY_ADAPTER = 141,
    KOLK_NO_SNAPSHOT = 200,
    KOLK_IN_HOOK = 201,
    KOLK_NOT_A_SNAPSHOT = 202,
    KOLK_OTHER_BYTE_ORDER = 203,
    KOLK_OTHER_VERSION = 204,
    KOLK_DAMAGED_SNAPSHOT = 205,
    KOLK_OTHER_POOL = 206,
    KOLK_FORGED_SNAPSHOT = 207,
    KOLK_DOUBLE_FREE = 300,
    KOLK_DEAD_OBJECT = 301,
    KOLK_NEVER_ISSUED = 302,
    KOLK_INTERIOR_POINTER = 303,
    KOLK_FOREIGN_POINTER = 304,
    KOLK_NO_HANDLES = 305,
    KOLK_NO_LOCAL = 306,
    KOLK_READ_ONLY = 307,
    KOLK_MOVED = 308,
    KOLK_WRITE_AFTER_FREE = 350,
    KOLK_OVERFLOW = 351,
    KOLK_UNDERFLOW = 352,
    KOLK_WRONG_POOL = 353,
    KOLK_LEAK = 400,
    KOLK_BAD_SETTING = 401
} kolk_status;

typedef enum kolk_generations {
    KOLK_GENERATIONS_RECYCLE = 0,
    KOLK_GENERATIONS_STRICT = 1,
    KOLK_GENERATIONS_NONE = 2
} kolk_generations;

typedef enum kolk_reuse {
    KOLK_REUSE_LIFO = 0,
    KOLK_REUSE_FIFO = 1,
    KOLK_REUSE_LOWEST = 2
} kolk_reuse;

enum {
    KOLK_DEBUG_FILL = 1,
    KOLK_DEBUG_GUARD = 2,
    KOLK_DEBUG_QUARANTINE = 4,
    KOLK_DEBUG_SITES = 8,
    KOLK_DEBUG_TRACE = 16,
    KOLK_DEBUG_BYPASS = 32,
    KOLK_DEBUG_MOVE = 64,
    KOLK_DEBUG_FAIL = 128,
    KOLK_DEBUG_SAMPLE = 256
};

typedef enum kolk_stats_format {
    KOLK_STATS_TEXT = 0,
    KOLK_STATS_JSON = 1,
    KOLK_STATS_OPENMETRICS = 2,
    KOLK_STATS_PROMETHEUS = 3
} kolk_stats_format;

enum {
    KOLK_HAS_PROBES = 1,
    KOLK_HAS_VALGRIND = 2,
    KOLK_HAS_PAGES = 4,
    KOLK_HAS_DIAGNOSTICS = 8
};

enum {
    KOLK_BYTEMAP_NULL = -1,
    KOLK_BYTEMAP_MAX_COUNT = 8388608
};

typedef enum kolk_bytemap_seeds {
    KOLK_BYTEMAP_SEED_ADVANCE = 0,
    KOLK_BYTEMAP_SEED_OF_HANDLE = 1
} kolk_bytemap_seeds;

typedef enum kolk_bytemap_change {
    KOLK_BYTEMAP_BORN = 1,
    KOLK_BYTEMAP_DIED = 2,
    KOLK_BYTEMAP_REPLACED = 3
} kolk_bytemap_change;

typedef enum kolk_bytemap_layout {
    KOLK_BYTEMAP_III = 0,
    KOLK_BYTEMAP_VICE_CITY = 1,
    KOLK_BYTEMAP_SAN_ANDREAS = 2
} kolk_bytemap_layout;

typedef enum kolk_queue_event {
    KOLK_QUEUE_WRITABLE = 0,
    KOLK_QUEUE_READABLE = 1
} kolk_queue_event;

typedef enum kolk_heap_when_full {
    KOLK_HEAP_NEXT = 0,
    KOLK_HEAP_NULL = 1
} kolk_heap_when_full;

typedef enum kolk_resource_event_kind {
    KOLK_RESOURCE_SLOW_BORROW = 0,
    KOLK_RESOURCE_BORROW_FAILED = 1,
    KOLK_RESOURCE_CREATE_FAILED = 2
} kolk_resource_event_kind;

typedef struct kolk_handle kolk_handle;
typedef struct kolk_deadline kolk_deadline;
typedef struct kolk_wait_queue_ kolk_wait_queue_;
typedef struct kolk_stats kolk_stats;
typedef struct kolk_failure kolk_failure;
typedef struct kolk_profiler kolk_profiler;
typedef struct kolk_budget kolk_budget;
typedef struct kolk_bytemap_view kolk_bytemap_view;
typedef struct kolk_bytemap kolk_bytemap;
typedef struct kolk_bytemap_difference kolk_bytemap_difference;
typedef struct kolk_bytemap_region kolk_bytemap_region;
typedef struct kolk_pool_desc kolk_pool_desc;
typedef struct kolk_cursor kolk_cursor;
typedef struct kolk_slot_ kolk_slot_;
typedef struct kolk_age_ kolk_age_;
typedef struct kolk_rank_ kolk_rank_;
typedef struct kolk_worn_ kolk_worn_;
typedef struct kolk_tick_ kolk_tick_;
typedef struct kolk_pool kolk_pool;
typedef struct kolk_queue_desc kolk_queue_desc;
typedef struct kolk_queue_end_ kolk_queue_end_;
typedef struct kolk_queue kolk_queue;
typedef struct kolk_heap_class kolk_heap_class;
typedef struct kolk_heap_desc kolk_heap_desc;
typedef struct kolk_heap kolk_heap;
typedef struct kolk_heap_class_stats kolk_heap_class_stats;
typedef struct kolk_error kolk_error;
typedef struct kolk_resource_event kolk_resource_event;
typedef struct kolk_resource_pool_desc kolk_resource_pool_desc;
typedef struct kolk_resource_pool kolk_resource_pool;
typedef struct kolk_borrowed kolk_borrowed;
typedef struct kolk_borrow_desc kolk_borrow_desc;
typedef struct kolk_times kolk_times;
typedef struct kolk_resource_pool_stats kolk_resource_pool_stats;
typedef struct kolk_shared_desc kolk_shared_desc;
typedef struct kolk_shared_local kolk_shared_local;
typedef struct kolk_magazine_ kolk_magazine_;
typedef struct kolk_shared kolk_shared;
typedef struct kolk_shared_cursor kolk_shared_cursor;
typedef struct kolk_slotmap_desc kolk_slotmap_desc;
typedef struct kolk_cell_ kolk_cell_;
typedef struct kolk_slotmap kolk_slotmap;
typedef struct kolk_slotmap_cursor kolk_slotmap_cursor;

typedef kolk_pool_desc kolk_pool_kept_desc;

struct kolk_handle {
    uint64_t bits;
};

struct kolk_deadline {
    int64_t ns;
};

struct kolk_wait_queue_ {
    struct kolk_waiter_ *first;
    struct kolk_waiter_ *last;
};

struct kolk_stats {
    const char *name;
    const char *kind;
    uint64_t object_size;
    uint64_t stride;
    uint32_t count;
    uint32_t peak;
    uint32_t capacity;
    uint32_t max_capacity;
    uint64_t unused_bytes;
    uint64_t bytes_reserved;
    uint64_t bytes_committed;
    uint64_t failed;
    uint64_t evictions;
    uint64_t wrong_pool;
    uint64_t waits;
    uint32_t worn_out;
    uint32_t recycled;
    uint32_t waiting;
    uint32_t debug;
};

struct kolk_failure {
    kolk_status rule;
    const char *pool;
    const void *object;
    uint32_t slot;
    const char *sentence;
    const void *site;
    const void *alloc_site;
    const void *free_site;
    const void *const *stack;
    const void *const *alloc_stack;
    const void *const *free_stack;
    kolk_handle handle;
    uint32_t offset;
    uint32_t count;
    uint32_t depth;
    bool sites;
    bool no_debug;
};

struct kolk_profiler {
    void (*alloc)(const char *, const void *, size_t, void *);
    void (*free)(const char *, const void *, void *);
    void *context;
};

struct kolk_budget {
    uint64_t limit;
    uint64_t mark;
    void (*on_mark)(struct kolk_budget *, void *);
    void *context;
    struct kolk_budget *parent;
    uint64_t used_;
};

struct kolk_bytemap_view {
    const char *name;
    void *object_list;
    uint8_t *byte_map;
    size_t object_size;
    int32_t count;
    kolk_bytemap_seeds seeds;
    int32_t first_free;
    int32_t *cursor;
    bool writable;
};

struct kolk_bytemap {
    unsigned char *object_list;
    uint8_t *byte_map;
    int32_t count;
    int32_t first_free;
    int32_t used;
    int32_t peak;
    uint32_t bound;
    kolk_bytemap_seeds seeds;
    size_t object_size;
    uintptr_t inverse;
    uint8_t shift;
    bool initialized_state;
    bool attached;
    bool read_only;
    uint32_t number;
    int32_t *cursor;
    uint64_t failed;
    void *block;
    size_t block_size;
    const struct kolk_bytemap *self;
    const char *name;
};

struct kolk_bytemap_difference {
    int32_t next;
    int32_t index;
    kolk_bytemap_change change;
    int32_t before;
    int32_t after;
};

struct kolk_bytemap_region {
    uint32_t address;
    const void *bytes;
    size_t size;
};

struct kolk_pool_desc {
    const char *name;
    size_t object_size;
    size_t object_align;
    uint32_t capacity;
    uint32_t max_capacity;
    uint32_t headroom;
    uint32_t low_water;
    kolk_reuse reuse;
    kolk_generations generations;
    uint32_t tag;
    bool keep;
    bool ages;
    bool ranked;
    void *memory;
    size_t memory_size;
    struct kolk_budget *budget;
    bool (*on_full)(kolk_pool *, size_t, void *);
    double (*cost)(const void *, void *);
    void (*on_evict)(void *, void *);
    kolk_pool *overflow;
    void (*on_low)(kolk_pool *, void *);
    bool (*setup)(void *, void *);
    void (*reset)(void *, void *);
    void (*teardown)(void *, void *);
    void *context;
    const char *debug;
};

struct kolk_cursor {
    const uint8_t *states;
    const uint8_t *last;
    unsigned char *next;
    unsigned char *base;
    uint64_t pending;
    uint64_t tail;
    size_t left;
    size_t stride;
    bool more;
    const kolk_pool *apart;
    uint32_t from;
    uint32_t end;
};

struct kolk_slot_ {
    uint32_t index;
};

struct kolk_age_ {
    uint32_t older;
    uint32_t newer;
};

struct kolk_rank_ {
    uint64_t price;
    uint32_t place;
    uint32_t slot;
};

struct kolk_worn_ {
    uint32_t first;
    uint32_t last;
    uint32_t count;
    uint32_t recycled;
};

struct kolk_tick_ {
    uint32_t demand;
    uint32_t provided;
    uint32_t sweep;
    uint32_t peak;
    uint32_t trims;
};

struct kolk_pool {
    unsigned char *slots;
    uint8_t *states;
    uint32_t *high;
    kolk_slot_ *top;
    kolk_slot_ *floor;
    uintptr_t inverse;
    uint32_t stride;
    uint32_t free_bound;
    uint32_t bound;
    uint32_t tag;
    uint8_t shift;
    uint8_t levels;
    uint8_t memory;
    uint8_t in_hook;
    uint16_t debug_flags;
    uint16_t low_reported;
    uint32_t fresh;
    uint32_t held;
    uint32_t capacity;
    uint32_t first;
    uint32_t held_floor;
    uint32_t quarantined;
    kolk_worn_ worn;
    kolk_slot_ *order_floor;
    kolk_slot_ *stack;
    uint64_t *holes[6];
    kolk_age_ *ages;
    kolk_rank_ *ranks;
    uint64_t *ready;
    kolk_pool_kept_desc desc;
    struct kolk_debug *debug;
    uintptr_t *objects;
    unsigned char *block;
    size_t block_size;
    uint64_t failed;
    uint64_t evictions;
    uint32_t wrong_pool;
    uint32_t peak;
    uint32_t number;
    uint32_t ranking;
    kolk_tick_ tick;
    uint32_t held_back;
    uint32_t unlisted;
    uint32_t counted;
};

struct kolk_queue_desc {
    const char *name;
    size_t item_size;
    uint32_t capacity;
    void (*destroy)(void *, void *);
    void (*move)(void *, void *, bool, void *);
    void *context;
};

struct kolk_queue_end_ {
    uint64_t ticket;
    unsigned char apart[56];
    uint32_t failed;
    uint32_t was_blocked;
    unsigned char apart_again[56];
    uint32_t asleep;
    uint32_t lock;
    uint32_t fd;
    uint32_t fd_called;
    kolk_wait_queue_ waiters;
    struct kolk_waiter_ *called;
    uint64_t waits;
    uint32_t waiting;
    unsigned char apart_too[76];
};

struct kolk_queue {
    unsigned char *cells;
    uint64_t mask;
    uint32_t stride;
    uint32_t item_size;
    uint32_t copied;
    uint32_t capacity;
    uint32_t number;
    uint32_t lock;
    uint32_t ending;
    uint64_t endings[2];
    size_t bytes;
    const char *name;
    void (*destroy)(void *, void *);
    void (*move)(void *, void *, bool, void *);
    void *context;
    unsigned char apart[24];
    kolk_queue_end_ ends[2];
};

struct kolk_heap_class {
    const char *name;
    size_t size;
    uint32_t capacity;
    uint32_t max_capacity;
    kolk_heap_when_full when_full;
};

struct kolk_heap_desc {
    const char *name;
    uint64_t limit;
    struct kolk_budget *budget;
    const char *debug;
    const kolk_heap_class *classes;
    uint32_t n_classes;
    bool (*on_full)(struct kolk_heap *, size_t, void *);
    void *context;
    struct kolk_heap *parent;
    void *memory;
    size_t memory_size;
};

struct kolk_heap {
    uintptr_t base;
    uint64_t id;
    uint32_t n_classes;
    uint32_t place;
    uint32_t number;
    uint8_t class_shift;
    uint8_t by_size[65];
    uint8_t by_quarter[80];
    struct kolk_heap_inside_ *inside;
    struct kolk_heap_root_ *root;
    struct kolk_fixed_ *fixed;
};

struct kolk_heap_class_stats {
    kolk_stats stats;
    uint64_t asked;
    uint64_t given;
};

struct kolk_error {
    int32_t code;
    char text[251];
    bool final;
};

struct kolk_resource_event {
    kolk_resource_event_kind kind;
    const char *pool;
    const char *key;
    const char *who;
    kolk_status status;
    int64_t ns;
    const kolk_error *error;
};

struct kolk_resource_pool_desc {
    const char *name;
    void *context;
    bool (*create)(void *, const char *, kolk_deadline, void **, kolk_error *);
    void (*destroy)(void *, void *);
    bool (*validate)(void *, void *, kolk_deadline);
    bool (*reset)(void *, void *);
    uint32_t max;
    uint32_t min_idle;
    uint32_t max_creating;
    int64_t idle_timeout_ms;
    int64_t max_lifetime_ms;
    int64_t keepalive_ms;
    int64_t validate_after_ms;
    int64_t leak_after_ms;
    int64_t create_timeout_ms;
    kolk_reuse reuse;
    bool look;
    bool no_housekeeper;
    void (*log)(void *, const kolk_resource_event *);
    int64_t slow_borrow_ms;
    const char *debug;
};

struct kolk_resource_pool {
    struct kolk_resource_inside_ *inside;
    uint32_t number;
};

struct kolk_borrowed {
    void *resource;
    kolk_handle handle;
    kolk_error error;
    uint32_t generation;
};

struct kolk_borrow_desc {
    const char *key;
    kolk_deadline deadline;
    const char *who;
};

struct kolk_times {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t p50_ns;
    uint64_t p90_ns;
    uint64_t p99_ns;
    uint64_t p999_ns;
    uint64_t at_most[10];
};

struct kolk_resource_pool_stats {
    const char *name;
    uint32_t max;
    uint32_t in_use;
    uint32_t idle;
    uint32_t creating;
    uint32_t waiting;
    uint32_t peak;
    uint64_t borrows;
    uint64_t full;
    uint64_t timeouts;
    uint64_t failed;
    uint64_t created;
    uint64_t create_failures;
    uint64_t discarded;
    uint64_t invalid;
    uint64_t unclean;
    uint64_t expired;
    uint64_t unused;
    uint64_t evicted;
    uint64_t replaced;
    uint64_t closed;
    uint64_t leaks;
    uint64_t waits;
    kolk_times wait;
    kolk_times use;
    kolk_times create;
};

struct kolk_shared_desc {
    const char *name;
    size_t object_size;
    size_t object_align;
    uint32_t capacity;
    uint32_t max_capacity;
    uint32_t max_threads;
    uint32_t cache;
    kolk_generations generations;
    uint32_t tag;
    struct kolk_budget *budget;
    bool exact;
    bool keep;
    bool (*setup)(void *, void *);
    void (*reset)(void *, void *);
    void (*teardown)(void *, void *);
    void *context;
    const char *debug;
};

struct kolk_shared_local {
    uint32_t *lives;
    struct kolk_magazine_ *magazine;
    struct kolk_shared_inside_ *pool;
};

struct kolk_magazine_ {
    unsigned char *slots;
    uint32_t *lives;
    uint8_t *short_lives;
    uintptr_t inverse;
    uint32_t stride;
    uint32_t bound;
    uint32_t top;
    uint32_t cache;
    uint8_t shift;
    uint32_t next_word;
    uint64_t failed;
    uint32_t leaving;
    uint32_t proving;
    struct kolk_depot_ *depot;
    struct kolk_keeper_ *keeper;
    struct kolk_magazine_ *next;
};

struct kolk_shared {
    unsigned char *slots;
    uint32_t *lives;
    uint32_t stride;
    uint32_t tag;
    uint32_t bound;
    uint32_t number;
    const char *name;
    struct kolk_shared_inside_ *inside;
};

struct kolk_shared_cursor {
    const kolk_shared *pool;
    uint32_t slot;
    uint32_t end;
    bool more;
};

struct kolk_slotmap_desc {
    const char *name;
    size_t object_size;
    size_t object_align;
    uint32_t capacity;
    uint32_t max_capacity;
    uint32_t tag;
    void *memory;
    size_t memory_size;
    struct kolk_budget *budget;
    void (*on_move)(void *, uint32_t, uint32_t, void *);
    void (*on_remove)(void *, void *);
    void (*move)(void *, void *, void *);
    void *context;
    const char *debug;
};

struct kolk_cell_ {
    uint32_t place;
    uint32_t generation;
};

struct kolk_slotmap {
    unsigned char *objects;
    kolk_cell_ *cells;
    uint32_t *owners;
    uint32_t count;
    uint32_t fresh;
    uint32_t add_bound;
    uint32_t remove_bound;
    uint32_t stride;
    uint32_t tag;
    uint32_t capacity;
    uint32_t max_capacity;
    uint32_t counted;
    uint32_t object_size;
    uint32_t peak;
    uint32_t worn_first;
    uint32_t worn_last;
    uint32_t worn;
    uint32_t recycled;
    uint32_t wrong_pool;
    uint32_t number;
    uint8_t shift;
    uint8_t memory;
    uint8_t debug_flags;
    uint8_t turn;
    uint8_t in_hook;
    uint8_t has_dropped;
    uintptr_t inverse;
    uint64_t failed;
    unsigned char *block;
    size_t block_size;
    struct kolk_budget *budget;
    unsigned char *blocks;
    struct kolk_debug *debug;
    const char *name;
    void (*on_move)(void *, uint32_t, uint32_t, void *);
    void (*on_remove)(void *, void *);
    void (*move)(void *, void *, void *);
    void *context;
    struct kolk_removal_ *removals;
};

struct kolk_slotmap_cursor {
    const kolk_slotmap *map;
    uint32_t place;
    uint32_t slot;
    bool more;
};

/* kolk/base.h */
const char *kolk_status_text(kolk_status status);
bool kolk_handle_is_null(kolk_handle handle);
bool kolk_handle_equal(kolk_handle a, kolk_handle b);
uint64_t kolk_handle_pack(kolk_handle handle);
kolk_handle kolk_handle_unpack(uint64_t bits);
kolk_deadline kolk_deadline_after(int64_t milliseconds);
void kolk_stats_write(kolk_stats_format format, void (*put)(const char *, size_t, void *), void *context);
bool kolk_stats_now(void);
const char *kolk_stats_write_of(int64_t process, kolk_stats_format format, void (*put)(const char *, size_t, void *), void *context);
void kolk_set_failure_handler(void (*handler)(const kolk_failure *, void *), void *context);
const char *kolk_site_text(const void *site, bool lines, char *text, size_t size);
size_t kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size);
void kolk_scene(const char *name);
void kolk_set_profiler(const kolk_profiler *profiler);
uint32_t kolk_features(void);
size_t kolk_size_of(const char *type);
size_t kolk_align_of(const char *type);

/* kolk/budget.h */
uint64_t kolk_budget_used(const kolk_budget *budget);
size_t kolk_trim_all(void);

/* kolk/bytemap.h */
kolk_status kolk_bytemap_initialise(kolk_bytemap *pool, int32_t count, size_t object_size);
kolk_status kolk_bytemap_initialise_with(kolk_bytemap *pool, const kolk_bytemap_view *view);
kolk_status kolk_bytemap_attach(kolk_bytemap *pool, const kolk_bytemap_view *view);
void kolk_bytemap_clear(kolk_bytemap *pool);
void kolk_bytemap_flush(kolk_bytemap *pool);
void *kolk_bytemap_new(kolk_bytemap *pool);
void *kolk_bytemap_new_at(kolk_bytemap *pool, int32_t handle);
void kolk_bytemap_delete(kolk_bytemap *pool, void *object);
void *kolk_bytemap_get_slot(const kolk_bytemap *pool, int32_t index);
void *kolk_bytemap_get_at(const kolk_bytemap *pool, int32_t handle);
int32_t kolk_bytemap_get_just_index(const kolk_bytemap *pool, const void *object);
int32_t kolk_bytemap_get_index(const kolk_bytemap *pool, const void *object);
void *kolk_bytemap_find(const kolk_bytemap *const *pools, size_t n, int32_t handle, size_t *which);
int32_t kolk_bytemap_used_count(const kolk_bytemap *pool);
int32_t kolk_bytemap_free_count(const kolk_bytemap *pool);
void kolk_bytemap_stats(const kolk_bytemap *pool, kolk_stats *out);
bool kolk_bytemap_is_valid(const kolk_bytemap *pool);
void *kolk_bytemap_next(const kolk_bytemap *pool, const void *object);
int32_t kolk_bytemap_next_handle(const kolk_bytemap *pool, int32_t handle);
bool kolk_bytemap_compare(const uint8_t *before, const uint8_t *after, int32_t count, kolk_bytemap_difference *difference);
kolk_status kolk_bytemap_follow(const kolk_bytemap_region *regions, size_t n, uint32_t address, uint32_t *out);
kolk_status kolk_bytemap_read(const kolk_bytemap_region *regions, size_t n, uint32_t address, kolk_bytemap_layout layout, size_t object_size, kolk_bytemap_view *out);

/* kolk/pool.h */
kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc);
void kolk_pool_deinit(kolk_pool *pool);
void kolk_pool_free(kolk_pool *pool, void *object);
void *kolk_pool_alloc(kolk_pool *pool);
void *kolk_pool_alloc_zeroed(kolk_pool *pool);
void *kolk_pool_renew(kolk_pool *pool, void *object);
void kolk_pool_clear(kolk_pool *pool);
kolk_handle kolk_pool_handle_of(const kolk_pool *pool, const void *object);
void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle);
bool kolk_pool_free_handle(kolk_pool *pool, kolk_handle handle);
bool kolk_pool_is_live(const kolk_pool *pool, const void *object);
uint32_t kolk_pool_index(const kolk_pool *pool, const void *object);
void *kolk_pool_at(const kolk_pool *pool, uint32_t index);
kolk_cursor kolk_pool_each(const kolk_pool *pool);
void *kolk_cursor_next(kolk_cursor *cursor);
void *kolk_cursor_next_run(kolk_cursor *cursor, uint32_t *length);
kolk_cursor kolk_pool_each_in(const kolk_pool *pool, uint32_t first, uint32_t n);
uint32_t kolk_pool_count(const kolk_pool *pool);
uint32_t kolk_pool_available(const kolk_pool *pool);
void kolk_pool_stats(const kolk_pool *pool, kolk_stats *out);
bool kolk_pool_is_valid(const kolk_pool *pool);
void *kolk_pool_alloc_urgent(kolk_pool *pool);
void *kolk_pool_alloc_over(kolk_pool *pool, double cost);
bool kolk_pool_trap_full(kolk_pool *pool, size_t bytes, void *context);
bool kolk_pool_evict_cheapest(kolk_pool *pool, size_t bytes, void *context);
void kolk_pool_recost(kolk_pool *pool, const void *object);
bool kolk_pool_evict_oldest(kolk_pool *pool, size_t bytes, void *context);
size_t kolk_pool_memory_size(const kolk_pool_desc *desc);
kolk_status kolk_pool_reserve(kolk_pool *pool, uint32_t capacity);
size_t kolk_pool_trim(kolk_pool *pool);
size_t kolk_pool_tick(kolk_pool *pool, uint32_t slots);
void *kolk_pool_oldest(kolk_pool *pool);
void *kolk_pool_newest(kolk_pool *pool);
void *kolk_pool_newer(kolk_pool *pool, const void *object);
void *kolk_pool_older(kolk_pool *pool, const void *object);
void kolk_pool_touch(kolk_pool *pool, const void *object);
void kolk_pool_protect(kolk_pool *pool, const void *object, bool on);
kolk_status kolk_pool_rebind(kolk_pool *pool, const kolk_pool_desc *desc);
uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n);
void kolk_pool_free_n(kolk_pool *pool, void *const *objects, uint32_t n);
void *kolk_pool_alloc_run(kolk_pool *pool, uint32_t n);
size_t kolk_pool_snapshot_size(const kolk_pool *pool);
size_t kolk_pool_snapshot(const kolk_pool *pool, void *block, size_t size);
kolk_status kolk_pool_restore(kolk_pool *pool, const void *block, size_t size);
kolk_status kolk_pool_restore_converted(kolk_pool *pool, const void *block, size_t size, void (*convert)(void *, const void *, size_t, void *), void *context);
void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle);

/* kolk/queue.h */
kolk_status kolk_queue_init(kolk_queue *queue, const kolk_queue_desc *desc);
void kolk_queue_deinit(kolk_queue *queue);
kolk_status kolk_queue_rebind(kolk_queue *queue, const kolk_queue_desc *desc);
kolk_status kolk_queue_push(kolk_queue *queue, const void *item, kolk_deadline deadline);
kolk_status kolk_queue_pop(kolk_queue *queue, void *item, kolk_deadline deadline);
kolk_status kolk_queue_push_n(kolk_queue *queue, const void *items, size_t *n, kolk_deadline deadline);
kolk_status kolk_queue_pop_n(kolk_queue *queue, void *items, size_t *n, kolk_deadline deadline);
size_t kolk_queue_count(const kolk_queue *queue);
size_t kolk_queue_clear(kolk_queue *queue);
void kolk_queue_close(kolk_queue *queue);
void kolk_queue_shutdown(kolk_queue *queue);
void kolk_queue_reopen(kolk_queue *queue);
int kolk_queue_fd(kolk_queue *queue, kolk_queue_event event);
void kolk_queue_stats(const kolk_queue *queue, kolk_stats *out);
bool kolk_queue_is_valid(const kolk_queue *queue);

/* kolk/heap.h */
kolk_status kolk_heap_init(kolk_heap *heap, const kolk_heap_desc *desc);
void kolk_heap_reset(kolk_heap *heap);
void kolk_heap_deinit(kolk_heap *heap);
kolk_status kolk_heap_rebind(kolk_heap *heap, const kolk_heap_desc *desc);
bool kolk_heap_on_end(kolk_heap *heap, void (*function)(void *), void *context);
void *kolk_heap_alloc(kolk_heap *heap, size_t size);
void *kolk_heap_alloc_zeroed(kolk_heap *heap, size_t size);
void *kolk_heap_alloc_aligned(kolk_heap *heap, size_t align, size_t size);
void *kolk_heap_realloc(kolk_heap *heap, void *block, size_t size);
void kolk_heap_free(kolk_heap *heap, void *block);
size_t kolk_heap_alloc_n(kolk_heap *heap, size_t size, void **blocks, size_t n);
void kolk_heap_free_n(kolk_heap *heap, void *const *blocks, size_t n);
size_t kolk_heap_usable_size(kolk_heap *heap, const void *block);
bool kolk_heap_is_live(const kolk_heap *heap, const void *block);
void *kolk_heap_next(const kolk_heap *heap, const void *block);
bool kolk_heap_stats_of_class(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out);
void kolk_heap_stats(const kolk_heap *heap, kolk_stats *out);
size_t kolk_heap_trim(kolk_heap *heap);
bool kolk_heap_is_valid(const kolk_heap *heap);
size_t kolk_heap_memory_size(const kolk_heap_desc *desc);

/* kolk/resource.h */
kolk_status kolk_resource_init(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc);
void kolk_resource_deinit(kolk_resource_pool *pool);
kolk_status kolk_resource_rebind(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc);
kolk_status kolk_resource_close(kolk_resource_pool *pool, kolk_deadline deadline);
kolk_status kolk_resource_borrow(kolk_resource_pool *pool, const kolk_borrow_desc *desc, kolk_borrowed *out);
void kolk_resource_give_back(kolk_resource_pool *pool, kolk_borrowed *borrow);
void kolk_resource_discard(kolk_resource_pool *pool, kolk_borrowed *borrow);
int kolk_resource_fd(kolk_resource_pool *pool);
void kolk_resource_evict(kolk_resource_pool *pool);
bool kolk_resource_evict_generation(kolk_resource_pool *pool, uint32_t generation);
uint32_t kolk_resource_evict_if(kolk_resource_pool *pool, bool (*wants)(const char *, const void *, bool, void *), void *context);
void kolk_resource_pause(kolk_resource_pool *pool);
void kolk_resource_resume(kolk_resource_pool *pool);
kolk_status kolk_resource_resize(kolk_resource_pool *pool, uint32_t max);
void kolk_resource_tick(kolk_resource_pool *pool, kolk_deadline deadline);
int kolk_resource_interrupt_fd(void);
bool kolk_resource_is_interrupted(void);
void kolk_resource_stats(const kolk_resource_pool *pool, kolk_resource_pool_stats *out);
bool kolk_resource_is_valid(const kolk_resource_pool *pool);

/* kolk/shared.h */
kolk_status kolk_shared_init(kolk_shared *pool, const kolk_shared_desc *desc);
kolk_status kolk_shared_rebind(kolk_shared *pool, const kolk_shared_desc *desc);
void kolk_shared_deinit(kolk_shared *pool);
kolk_status kolk_shared_local_init(kolk_shared_local *local, kolk_shared *pool);
kolk_shared_local *kolk_shared_local_of_thread(kolk_shared *pool);
void kolk_shared_local_deinit(kolk_shared_local *local);
void kolk_shared_local_flush(kolk_shared_local *local);
void *kolk_shared_alloc(kolk_shared_local *local);
void *kolk_shared_alloc_wait(kolk_shared_local *local, kolk_deadline deadline);
void kolk_shared_free(kolk_shared_local *local, void *object);
uint32_t kolk_shared_alloc_n(kolk_shared_local *local, void **objects, uint32_t n);
void kolk_shared_free_n(kolk_shared_local *local, void *const *objects, uint32_t n);
void kolk_shared_clear(kolk_shared *pool);
void kolk_shared_shutdown(kolk_shared *pool);
void kolk_shared_reopen(kolk_shared *pool);
void kolk_shared_free_later(kolk_shared_local *local, void *object);
void kolk_shared_quiesce(kolk_shared_local *local);
void kolk_shared_offline(kolk_shared_local *local);
void kolk_shared_online(kolk_shared_local *local);
kolk_handle kolk_shared_handle_of(const kolk_shared *pool, const void *object);
void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle);
bool kolk_shared_is_live(const kolk_shared *pool, const void *object);
uint32_t kolk_shared_count(const kolk_shared *pool);
kolk_shared_cursor kolk_shared_each(const kolk_shared *pool);
void *kolk_shared_cursor_next(kolk_shared_cursor *cursor);
void kolk_shared_stats(const kolk_shared *pool, kolk_stats *out);
bool kolk_shared_is_valid(const kolk_shared *pool);

/* kolk/slotmap.h */
kolk_status kolk_slotmap_init(kolk_slotmap *map, const kolk_slotmap_desc *desc);
void kolk_slotmap_deinit(kolk_slotmap *map);
kolk_status kolk_slotmap_rebind(kolk_slotmap *map, const kolk_slotmap_desc *desc);
size_t kolk_slotmap_memory_size(const kolk_slotmap_desc *desc);
void *kolk_slotmap_add(kolk_slotmap *map, kolk_handle *out);
bool kolk_slotmap_remove(kolk_slotmap *map, kolk_handle handle);
void kolk_slotmap_clear(kolk_slotmap *map);
void *kolk_slotmap_get(const kolk_slotmap *map, kolk_handle handle);
void *kolk_slotmap_objects(const kolk_slotmap *map);
uint32_t kolk_slotmap_count(const kolk_slotmap *map);
uint32_t kolk_slotmap_available(const kolk_slotmap *map);
kolk_handle kolk_slotmap_handle_of(const kolk_slotmap *map, const void *object);
uint32_t kolk_slotmap_index(const kolk_slotmap *map, const void *object);
void *kolk_slotmap_at(const kolk_slotmap *map, uint32_t index);
uint32_t kolk_slotmap_slot(const kolk_slotmap *map, kolk_handle handle);
void kolk_slotmap_sort(kolk_slotmap *map, int (*compare)(const void *, const void *, void *), void *context);
kolk_slotmap_cursor kolk_slotmap_each(const kolk_slotmap *map);
void *kolk_slotmap_cursor_next(kolk_slotmap_cursor *cursor);
size_t kolk_slotmap_snapshot_size(const kolk_slotmap *map);
size_t kolk_slotmap_snapshot(const kolk_slotmap *map, void *block, size_t size);
kolk_status kolk_slotmap_restore(kolk_slotmap *map, const void *block, size_t size);
kolk_status kolk_slotmap_restore_converted(kolk_slotmap *map, const void *block, size_t size, void (*convert)(void *, const void *, size_t, void *), void *context);
kolk_status kolk_slotmap_reserve(kolk_slotmap *map, uint32_t capacity);
size_t kolk_slotmap_trim(kolk_slotmap *map);
void kolk_slotmap_stats(const kolk_slotmap *map, kolk_stats *out);
bool kolk_slotmap_is_valid(const kolk_slotmap *map);

#endif
