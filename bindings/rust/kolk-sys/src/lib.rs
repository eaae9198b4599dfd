//! Declarations of [kolk](https://docs.rs/kolk), the object-pool library for C: each function, struct and enum of its
//! headers. The crate `kolk` is the safe layer above them. `make bindings` writes this file from the headers.
//!
//! The texts are those of the C headers: `NULL` is a null pointer, and "a bug of the caller" is reported to the failure
//! handler, which by default prints a sentence and aborts. A struct must not move after its init. Fill descriptors with
//! zeros first (`std::mem::zeroed`): zero is the default of each member.
//!
//! An enum of C is a struct around an integer here, because C may give any value to it, which would be undefined
//! behaviour for an `enum` of Rust.
#![allow(non_camel_case_types)]
#![allow(clippy::too_many_arguments)]

pub use std::os::raw::{c_char, c_int, c_void};

pub const KOLK_VERSION: &str = "0.1.0";
pub const KOLK_ABI: u32 = 1;

#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_status(pub c_int);
pub const KOLK_OK: kolk_status = kolk_status(0);
pub const KOLK_TIMEOUT: kolk_status = kolk_status(1);
pub const KOLK_CLOSED: kolk_status = kolk_status(2);
pub const KOLK_SHUTDOWN: kolk_status = kolk_status(3);
pub const KOLK_FULL: kolk_status = kolk_status(4);
pub const KOLK_EMPTY: kolk_status = kolk_status(5);
pub const KOLK_NO_MEMORY: kolk_status = kolk_status(6);
pub const KOLK_ABOVE_MAX: kolk_status = kolk_status(7);
pub const KOLK_NOT_CREATED: kolk_status = kolk_status(8);
pub const KOLK_FORKED: kolk_status = kolk_status(9);
pub const KOLK_KEY_TOO_LONG: kolk_status = kolk_status(10);
pub const KOLK_OVER_BUDGET: kolk_status = kolk_status(11);
pub const KOLK_CORRUPT: kolk_status = kolk_status(12);
pub const KOLK_WRONG_ABI: kolk_status = kolk_status(100);
pub const KOLK_NO_DESCRIPTOR: kolk_status = kolk_status(101);
pub const KOLK_ZERO_SIZE: kolk_status = kolk_status(102);
pub const KOLK_BAD_ALIGN: kolk_status = kolk_status(103);
pub const KOLK_ALIGN_TOO_LARGE: kolk_status = kolk_status(104);
pub const KOLK_SIZE_OVERFLOW: kolk_status = kolk_status(105);
pub const KOLK_MAX_BELOW_CAPACITY: kolk_status = kolk_status(106);
pub const KOLK_CANNOT_GROW: kolk_status = kolk_status(107);
pub const KOLK_MEMORY_MISSING: kolk_status = kolk_status(108);
pub const KOLK_MEMORY_TOO_SMALL: kolk_status = kolk_status(109);
pub const KOLK_MEMORY_MISALIGNED: kolk_status = kolk_status(110);
pub const KOLK_BAD_REUSE: kolk_status = kolk_status(111);
pub const KOLK_BAD_GENERATIONS: kolk_status = kolk_status(112);
pub const KOLK_COST_MISSING: kolk_status = kolk_status(113);
pub const KOLK_AGES_MISSING: kolk_status = kolk_status(114);
pub const KOLK_BAD_HEADROOM: kolk_status = kolk_status(115);
pub const KOLK_BAD_OVERFLOW: kolk_status = kolk_status(116);
pub const KOLK_TYPE_MISMATCH: kolk_status = kolk_status(117);
pub const KOLK_ZERO_CAPACITY: kolk_status = kolk_status(118);
pub const KOLK_TOO_MANY_THREADS: kolk_status = kolk_status(119);
pub const KOLK_BAD_COUNT: kolk_status = kolk_status(120);
pub const KOLK_ARRAY_MISSING: kolk_status = kolk_status(121);
pub const KOLK_BAD_SEEDS: kolk_status = kolk_status(122);
pub const KOLK_BAD_LAYOUT: kolk_status = kolk_status(123);
pub const KOLK_OUTSIDE: kolk_status = kolk_status(124);
pub const KOLK_NOT_FLUSHED: kolk_status = kolk_status(125);
pub const KOLK_CREATE_MISSING: kolk_status = kolk_status(126);
pub const KOLK_BAD_MAX: kolk_status = kolk_status(127);
pub const KOLK_BAD_MIN_IDLE: kolk_status = kolk_status(128);
pub const KOLK_BAD_TIME: kolk_status = kolk_status(129);
pub const KOLK_PATH_MISSING: kolk_status = kolk_status(130);
pub const KOLK_BAD_ADDRESS: kolk_status = kolk_status(131);
pub const KOLK_BAD_CLASSES: kolk_status = kolk_status(132);
pub const KOLK_NO_THREAD: kolk_status = kolk_status(133);
pub const KOLK_BAD_CAPACITY: kolk_status = kolk_status(134);
pub const KOLK_LOWEST_MISSING: kolk_status = kolk_status(135);
pub const KOLK_BAD_PARENT: kolk_status = kolk_status(136);
pub const KOLK_FIXED_HEAP: kolk_status = kolk_status(137);
pub const KOLK_STRUCT_CHANGED: kolk_status = kolk_status(138);
pub const KOLK_LAYOUT_CHANGED: kolk_status = kolk_status(139);
pub const KOLK_BAD_BUDGET: kolk_status = kolk_status(140);
pub const KOLK_SET_BY_ADAPTER: kolk_status = kolk_status(141);
pub const KOLK_PINS_MISSING: kolk_status = kolk_status(142);
pub const KOLK_BAD_QUEUES: kolk_status = kolk_status(143);
pub const KOLK_BAD_PROCESSES: kolk_status = kolk_status(144);
pub const KOLK_BAD_ORPHANS: kolk_status = kolk_status(145);
pub const KOLK_NEEDS_LINUX: kolk_status = kolk_status(180);
pub const KOLK_NO_LOCKS: kolk_status = kolk_status(181);
pub const KOLK_NOT_EMPTY: kolk_status = kolk_status(182);
pub const KOLK_NOT_A_BLOCK: kolk_status = kolk_status(183);
pub const KOLK_OTHER_LAYOUT: kolk_status = kolk_status(184);
pub const KOLK_NOT_SEALED: kolk_status = kolk_status(185);
pub const KOLK_TOO_MANY_PROCESSES: kolk_status = kolk_status(186);
pub const KOLK_NO_SNAPSHOT: kolk_status = kolk_status(200);
pub const KOLK_IN_HOOK: kolk_status = kolk_status(201);
pub const KOLK_NOT_A_SNAPSHOT: kolk_status = kolk_status(202);
pub const KOLK_OTHER_BYTE_ORDER: kolk_status = kolk_status(203);
pub const KOLK_OTHER_VERSION: kolk_status = kolk_status(204);
pub const KOLK_DAMAGED_SNAPSHOT: kolk_status = kolk_status(205);
pub const KOLK_OTHER_POOL: kolk_status = kolk_status(206);
pub const KOLK_FORGED_SNAPSHOT: kolk_status = kolk_status(207);
pub const KOLK_NO_ROOM: kolk_status = kolk_status(208);
pub const KOLK_OTHER_BASE: kolk_status = kolk_status(209);
pub const KOLK_NO_FILE: kolk_status = kolk_status(210);
pub const KOLK_NOT_READ: kolk_status = kolk_status(211);
pub const KOLK_NOT_SAVED: kolk_status = kolk_status(212);
pub const KOLK_DOUBLE_FREE: kolk_status = kolk_status(300);
pub const KOLK_DEAD_OBJECT: kolk_status = kolk_status(301);
pub const KOLK_NEVER_ISSUED: kolk_status = kolk_status(302);
pub const KOLK_INTERIOR_POINTER: kolk_status = kolk_status(303);
pub const KOLK_FOREIGN_POINTER: kolk_status = kolk_status(304);
pub const KOLK_NO_HANDLES: kolk_status = kolk_status(305);
pub const KOLK_NO_LOCAL: kolk_status = kolk_status(306);
pub const KOLK_READ_ONLY: kolk_status = kolk_status(307);
pub const KOLK_MOVED: kolk_status = kolk_status(308);
pub const KOLK_PINNED: kolk_status = kolk_status(309);
pub const KOLK_NOT_PINNED: kolk_status = kolk_status(310);
pub const KOLK_NO_QUEUE: kolk_status = kolk_status(311);
pub const KOLK_WRITE_AFTER_FREE: kolk_status = kolk_status(350);
pub const KOLK_OVERFLOW: kolk_status = kolk_status(351);
pub const KOLK_UNDERFLOW: kolk_status = kolk_status(352);
pub const KOLK_WRONG_POOL: kolk_status = kolk_status(353);
pub const KOLK_LEAK: kolk_status = kolk_status(400);
pub const KOLK_BAD_SETTING: kolk_status = kolk_status(401);
pub const KOLK_NESTED: kolk_status = kolk_status(402);
pub const KOLK_NOT_OWNER: kolk_status = kolk_status(403);

/// The treatment of a worn-out slot, which has had as many lives as a generation can count.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_generations(pub c_int);
pub const KOLK_GENERATIONS_RECYCLE: kolk_generations = kolk_generations(0);
pub const KOLK_GENERATIONS_STRICT: kolk_generations = kolk_generations(1);
pub const KOLK_GENERATIONS_NONE: kolk_generations = kolk_generations(2);

/// Which free slot is used next. Slots that were never issued are used in ascending order.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_reuse(pub c_int);
pub const KOLK_REUSE_LIFO: kolk_reuse = kolk_reuse(0);
pub const KOLK_REUSE_FIFO: kolk_reuse = kolk_reuse(1);
pub const KOLK_REUSE_LOWEST: kolk_reuse = kolk_reuse(2);

pub const KOLK_DEBUG_FILL: c_int = 1;
pub const KOLK_DEBUG_GUARD: c_int = 2;
pub const KOLK_DEBUG_QUARANTINE: c_int = 4;
pub const KOLK_DEBUG_SITES: c_int = 8;
pub const KOLK_DEBUG_TRACE: c_int = 16;
pub const KOLK_DEBUG_BYPASS: c_int = 32;
pub const KOLK_DEBUG_MOVE: c_int = 64;
pub const KOLK_DEBUG_FAIL: c_int = 128;
pub const KOLK_DEBUG_SAMPLE: c_int = 256;

#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_stats_format(pub c_int);
pub const KOLK_STATS_TEXT: kolk_stats_format = kolk_stats_format(0);
pub const KOLK_STATS_JSON: kolk_stats_format = kolk_stats_format(1);
pub const KOLK_STATS_OPENMETRICS: kolk_stats_format = kolk_stats_format(2);
pub const KOLK_STATS_PROMETHEUS: kolk_stats_format = kolk_stats_format(3);

pub const KOLK_HAS_PROBES: c_int = 1;
pub const KOLK_HAS_VALGRIND: c_int = 2;
pub const KOLK_HAS_PAGES: c_int = 4;
pub const KOLK_HAS_DIAGNOSTICS: c_int = 8;

pub const KOLK_BYTEMAP_NULL: c_int = -1;
pub const KOLK_BYTEMAP_MAX_COUNT: c_int = 8388608;

/// The slot's seed after `New(handle)`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_bytemap_seeds(pub c_int);
pub const KOLK_BYTEMAP_SEED_ADVANCE: kolk_bytemap_seeds = kolk_bytemap_seeds(0);
pub const KOLK_BYTEMAP_SEED_OF_HANDLE: kolk_bytemap_seeds = kolk_bytemap_seeds(1);

/// How a game's struct of a pool begins: the offsets of object_list, byte_map, count, and first_free or object_size.
/// IV and later games have the same bytes and handles, but chain the free slots through the objects: do not write to
/// their pools.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_bytemap_layout(pub c_int);
pub const KOLK_BYTEMAP_III: kolk_bytemap_layout = kolk_bytemap_layout(0);
pub const KOLK_BYTEMAP_VICE_CITY: kolk_bytemap_layout = kolk_bytemap_layout(1);
pub const KOLK_BYTEMAP_SAN_ANDREAS: kolk_bytemap_layout = kolk_bytemap_layout(2);
pub const KOLK_BYTEMAP_SAN_ANDREAS_UNREAL: kolk_bytemap_layout = kolk_bytemap_layout(3);
pub const KOLK_BYTEMAP_IV: kolk_bytemap_layout = kolk_bytemap_layout(4);
pub const KOLK_BYTEMAP_V: kolk_bytemap_layout = kolk_bytemap_layout(5);
pub const KOLK_BYTEMAP_RDR3: kolk_bytemap_layout = kolk_bytemap_layout(6);

/// A moment is a copy of byte_map:
///
/// ```c
/// memcpy(before, pool.byte_map, (size_t)pool.count);
/// ...
/// kolk_bytemap_difference difference = {0};
/// while (kolk_bytemap_compare(before, pool.byte_map, pool.count, &difference)) ...
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_bytemap_change(pub c_int);
pub const KOLK_BYTEMAP_BORN: kolk_bytemap_change = kolk_bytemap_change(1);
pub const KOLK_BYTEMAP_DIED: kolk_bytemap_change = kolk_bytemap_change(2);
pub const KOLK_BYTEMAP_REPLACED: kolk_bytemap_change = kolk_bytemap_change(3);

#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_queue_event(pub c_int);
pub const KOLK_QUEUE_WRITABLE: kolk_queue_event = kolk_queue_event(0);
pub const KOLK_QUEUE_READABLE: kolk_queue_event = kolk_queue_event(1);

/// The behaviour of an alloc whose class is full.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_heap_when_full(pub c_int);
pub const KOLK_HEAP_NEXT: kolk_heap_when_full = kolk_heap_when_full(0);
pub const KOLK_HEAP_NULL: kolk_heap_when_full = kolk_heap_when_full(1);

/// What becomes of the objects of a process that has died. Objects that it has pushed stay in their queue.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_ipc_orphans(pub c_int);
pub const KOLK_IPC_FREE: kolk_ipc_orphans = kolk_ipc_orphans(0);
pub const KOLK_IPC_KEEP: kolk_ipc_orphans = kolk_ipc_orphans(1);

/// The events that `log` receives.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct kolk_resource_event_kind(pub c_int);
pub const KOLK_RESOURCE_SLOW_BORROW: kolk_resource_event_kind = kolk_resource_event_kind(0);
pub const KOLK_RESOURCE_BORROW_FAILED: kolk_resource_event_kind = kolk_resource_event_kind(1);
pub const KOLK_RESOURCE_CREATE_FAILED: kolk_resource_event_kind = kolk_resource_event_kind(2);

/// Names one life of one slot. The upper 32 bits are the generation; the lower 32 bits are the index, XORed with the
/// pool's tag. {0} is null and never valid. `bits` is a plain integer for logs, scripts and networks: the same program
/// gets the same bits in every run and on every platform.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_handle {
    pub bits: u64,
}

/// For pools and shared pools: see Objects that are made once, in pool.h and shared.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_life {
    pub keep: bool,
    pub setup: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void) -> bool>,
    pub reset: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub teardown: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
}

/// A point in time on the monotonic clock, in nanoseconds. The program computes it once, when a request comes in, and
/// passes it on unchanged.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_deadline {
    pub ns: i64,
}

/// Waiting threads, in order of arrival (src/core/wait_queue.h).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_wait_queue_ {
    pub first: *mut kolk_waiter_,
    pub last: *mut kolk_waiter_,
}

/// kolk_pool_stats and its counterparts fill this in. Counters start at init; clear does not reset them.
///
/// Names are copied by init, so the text that you pass may lie in a module that is unloaded. The copies live as long as
/// the process, and equal names share one. All copies together take at most 128 KiB: after that, and in a program
/// without diagnostics, the text itself is used and must outlive the pool.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_stats {
    pub name: *const c_char,
    pub kind: *const c_char,
    pub object_size: u64,
    pub stride: u64,
    pub count: u32,
    pub peak: u32,
    pub capacity: u32,
    pub max_capacity: u32,
    pub unused_bytes: u64,
    pub bytes_reserved: u64,
    pub bytes_committed: u64,
    pub failed: u64,
    pub evictions: u64,
    pub wrong_pool: u64,
    pub waits: u64,
    pub worn_out: u32,
    pub recycled: u32,
    pub waiting: u32,
    pub debug: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_failure {
    pub rule: kolk_status,
    pub pool: *const c_char,
    pub object: *const c_void,
    pub slot: u32,
    pub sentence: *const c_char,
    pub site: *const c_void,
    pub alloc_site: *const c_void,
    pub free_site: *const c_void,
    pub stack: *const *const c_void,
    pub alloc_stack: *const *const c_void,
    pub free_stack: *const *const c_void,
    pub holders: *const c_char,
    pub handle: kolk_handle,
    pub offset: u32,
    pub count: u32,
    pub depth: u32,
    pub sites: bool,
    pub no_debug: bool,
}

/// Sets the profiler (NULL: none). Pools that are initialised while it is set report every alloc and free to it, so they
/// do not use the fast paths. The arguments suit Tracy's TracyAllocN(object, size, pool) and TracyFreeN(object, pool).
/// Set it before threads start; the struct is copied. Its functions must return, and must not use the pool. For a shared
/// pool, several threads may call them at the same time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_profiler {
    pub alloc: Option<unsafe extern "C" fn(pool: *const c_char, object: *const c_void, size: usize, context: *mut c_void)>,
    pub free: Option<unsafe extern "C" fn(pool: *const c_char, object: *const c_void, context: *mut c_void)>,
    pub context: *mut c_void,
}

/// Zero means the default. Set the members before the first pool has the budget, and never change them afterwards,
/// except by kolk_budget_set_limit.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_budget {
    pub limit: u64,
    pub mark: u64,
    pub on_mark: Option<unsafe extern "C" fn(budget: *mut kolk_budget, context: *mut c_void)>,
    pub context: *mut c_void,
    pub parent: *mut kolk_budget,
    pub used_: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_bytemap_view {
    pub name: *const c_char,
    pub object_list: *mut c_void,
    pub byte_map: *mut u8,
    pub object_size: usize,
    pub count: i32,
    pub max_count: i32,
    pub seeds: kolk_bytemap_seeds,
    pub debug: *const c_char,
    pub first_free: i32,
    pub cursor: *mut i32,
    pub writable: bool,
}

/// A zero-initialised pool is valid and has 0 slots. Never copy or move a pool once it is initialised.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_bytemap {
    pub object_list: *mut u8,
    pub byte_map: *mut u8,
    pub count: i32,
    pub first_free: i32,
    pub used: i32,
    pub peak: i32,
    pub bound: u32,
    pub seeds: kolk_bytemap_seeds,
    pub object_size: usize,
    pub inverse: usize,
    pub shift: u8,
    pub initialized_state: bool,
    pub attached: bool,
    pub careful: bool,
    pub number: u32,
    pub cursor: *mut i32,
    pub failed: u64,
    pub block: *mut c_void,
    pub block_size: usize,
    pub debug: *mut kolk_debug,
    pub known: *mut u8,
    pub self_: *const kolk_bytemap,
    pub name: *const c_char,
    pub max_count: i32,
    pub trap_full: bool,
    pub read_only: bool,
    pub debug_flags: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_bytemap_difference {
    pub next: i32,
    pub index: i32,
    pub change: kolk_bytemap_change,
    pub before: i32,
    pub after: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_bytemap_region {
    pub address: u64,
    pub bytes: *const c_void,
    pub size: usize,
}

/// What happens when the pool is full, and before that: see When it is full.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_pool_full {
    pub on_full: Option<unsafe extern "C" fn(pool: *mut kolk_pool, bytes: usize, context: *mut c_void) -> bool>,
    pub cost: Option<unsafe extern "C" fn(object: *const c_void, context: *mut c_void) -> f64>,
    pub ranked: bool,
    pub on_evict: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub overflow: *mut kolk_pool,
    pub headroom: u32,
    pub low_water: u32,
    pub on_low: Option<unsafe extern "C" fn(pool: *mut kolk_pool, context: *mut c_void)>,
}

/// Zero means the default, except for object_size. Use it as &(kolk_pool_desc){.object_size = 64, .capacity = 100}.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_pool_desc {
    pub name: *const c_char,
    pub object_size: usize,
    pub object_align: usize,
    pub capacity: u32,
    pub max_capacity: u32,
    pub reuse: kolk_reuse,
    pub generations: kolk_generations,
    pub tag: u32,
    pub ages: bool,
    pub pins: bool,
    pub memory: *mut c_void,
    pub memory_size: usize,
    pub budget: *mut kolk_budget,
    pub full: kolk_pool_full,
    pub life: kolk_life,
    pub context: *mut c_void,
    pub debug: *const c_char,
}

/// A walk over the live objects, in ascending order of slots. kolk_pool_each begins it; each kolk_cursor_next returns an
/// object, or NULL at the end. Any object may be freed during the walk, including the current one. An object that is
/// allocated during the walk may or may not be visited. KOLK_EACH of typed.h is this loop for typed pools:
///
/// ```c
/// kolk_cursor cursor = kolk_pool_each(&pool);
/// for (T *it; (it = kolk_cursor_next(&cursor)) != NULL;) ...
///
/// ```
/// kolk_cursor_next_run returns several objects at a time: a run, which is n neighbours that are all alive, `stride`
/// bytes apart. It is for inner loops over plain arrays, which compilers turn into vector instructions. A run is either
/// a whole group, if all of its KOLK_GROUP slots have objects, or one object; so this is about as fast as
/// kolk_cursor_next where few objects are alive. At the end, returns NULL and sets \*length to 0. The objects of the
/// current run may be freed too. KOLK_EACH_RUN of typed.h is this loop:
///
/// ```c
/// kolk_cursor cursor = kolk_pool_each(&pool);
/// uint32_t n;
/// for (T *run; (run = kolk_cursor_next_run(&cursor, &n)) != NULL;)
///     for (uint32_t i = 0; i < n; i++) ... run[i] ...
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_cursor {
    pub states: *const u8,
    pub last: *const u8,
    pub next: *mut u8,
    pub base: *mut u8,
    pub pending: u64,
    pub tail: u64,
    pub left: usize,
    pub stride: usize,
    pub more: bool,
    pub apart: *const kolk_pool,
    pub from: u32,
    pub end: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_age_cursor {
    pub pool: *mut kolk_pool,
    pub born: u64,
    pub last: u64,
    pub at: u32,
    pub next: u32,
    pub more: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_slot_ {
    pub index: u32,
}

/// A slot's neighbours in the order of births, as slot numbers + 1. A slot that is not in the order has its own number
/// in both, and `born` 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_age_ {
    pub older: u32,
    pub newer: u32,
    pub born: u64,
}

/// The order of costs: src/pool/pool_rank.h. A slot's rank holds `price` and `place`; a place's rank holds `slot`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_rank_ {
    pub price: u64,
    pub place: u32,
    pub slot: u32,
}

/// Free slots whose generations are used up: a list through high\[\], the oldest first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_worn_ {
    pub first: u32,
    pub last: u32,
    pub count: u32,
    pub recycled: u32,
}

/// The measurements of kolk_pool_tick: src/pool/pool_trim.c.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_tick_ {
    pub demand: u32,
    pub provided: u32,
    pub sweep: u32,
    pub peak: u32,
    pub trims: u32,
}

/// count == fresh - (top - stack) - aside. A zero-initialised pool is valid and has the capacity 0. Never copy or move a
/// pool once it is initialised.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_pool {
    pub slots: *mut u8,
    pub states: *mut u8,
    pub high: *mut u32,
    pub top: *mut kolk_slot_,
    pub floor: *mut kolk_slot_,
    pub inverse: usize,
    pub stride: u32,
    pub free_bound: u32,
    pub bound: u32,
    pub tag: u32,
    pub shift: u8,
    pub levels: u8,
    pub memory: u8,
    pub in_hook: u8,
    pub debug_flags: u16,
    pub low_reported: u16,
    pub fresh: u32,
    pub aside: u32,
    pub capacity: u32,
    pub first: u32,
    pub aside_floor: u32,
    pub quarantined: u32,
    pub worn: kolk_worn_,
    pub order_floor: *mut kolk_slot_,
    pub stack: *mut kolk_slot_,
    pub holes: [*mut u64; 6],
    pub ages: *mut kolk_age_,
    pub ranks: *mut kolk_rank_,
    pub pins: *mut u32,
    pub ready: *mut u64,
    pub name: *const c_char,
    pub object_size: usize,
    pub object_align: usize,
    pub max_capacity: u32,
    pub headroom: u32,
    pub low_water: u32,
    pub reuse: kolk_reuse,
    pub generations: kolk_generations,
    pub keep: bool,
    pub ranked: bool,
    pub budget: *mut kolk_budget,
    pub on_full: Option<unsafe extern "C" fn(pool: *mut kolk_pool, bytes: usize, context: *mut c_void) -> bool>,
    pub cost: Option<unsafe extern "C" fn(object: *const c_void, context: *mut c_void) -> f64>,
    pub on_evict: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub overflow: *mut kolk_pool,
    pub on_low: Option<unsafe extern "C" fn(pool: *mut kolk_pool, context: *mut c_void)>,
    pub setup: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void) -> bool>,
    pub reset: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub teardown: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub context: *mut c_void,
    pub options: *const kolk_pool_options_,
    pub debug: *mut kolk_debug,
    pub objects: *mut usize,
    pub block: *mut u8,
    pub block_size: usize,
    pub failed: u64,
    pub evictions: u64,
    pub births: u64,
    pub wrong_pool: u32,
    pub peak: u32,
    pub number: u32,
    pub ranking: u32,
    pub tick: kolk_tick_,
    pub held_back: u32,
    pub unlisted: u32,
    pub counted: u32,
    pub pinned: u32,
    pub away: *mut kolk_away_,
}

/// All but item_size and capacity may be 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_queue_desc {
    pub name: *const c_char,
    pub item_size: usize,
    pub capacity: u32,
    pub destroy: Option<unsafe extern "C" fn(item: *mut c_void, context: *mut c_void)>,
    pub r#move: Option<unsafe extern "C" fn(to: *mut c_void, from: *mut c_void, r#in: bool, context: *mut c_void)>,
    pub context: *mut c_void,
}

/// One end of the queue. Both ends are alike: a pop takes an item as a push takes room. Fields that different threads
/// write are 128 bytes apart, to avoid false sharing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_queue_end_ {
    pub ticket: u64,
    pub apart: [u8; 56],
    pub failed: u32,
    pub was_blocked: u32,
    pub in_vain: u32,
    pub apart_again: [u8; 52],
    pub asleep: u32,
    pub lock: u32,
    pub fd: u32,
    pub fd_called: u32,
    pub waiters: kolk_wait_queue_,
    pub called: *mut kolk_waiter_,
    pub waits: u64,
    pub waiting: u32,
    pub apart_too: [u8; 76],
}

/// A zero-initialised queue is shut down. Never copy or move a queue once it is initialised.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_queue {
    pub cells: *mut u8,
    pub mask: u64,
    pub stride: u32,
    pub item_size: u32,
    pub copied: u32,
    pub capacity: u32,
    pub number: u32,
    pub lock: u32,
    pub ending: u32,
    pub endings: [u64; 2],
    pub bytes: usize,
    pub name: *const c_char,
    pub destroy: Option<unsafe extern "C" fn(item: *mut c_void, context: *mut c_void)>,
    pub r#move: Option<unsafe extern "C" fn(to: *mut c_void, from: *mut c_void, r#in: bool, context: *mut c_void)>,
    pub context: *mut c_void,
    pub apart: [u8; 24],
    pub ends: [kolk_queue_end_; 2],
}

/// A tray: blocks of one size. 0 means the default, except for size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_heap_class {
    pub name: *const c_char,
    pub size: usize,
    pub capacity: u32,
    pub max_capacity: u32,
    pub when_full: kolk_heap_when_full,
}

/// Zero means the default for all members.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_heap_desc {
    pub name: *const c_char,
    pub limit: u64,
    pub budget: *mut kolk_budget,
    pub debug: *const c_char,
    pub classes: *const kolk_heap_class,
    pub n_classes: u32,
    pub on_full: Option<unsafe extern "C" fn(heap: *mut kolk_heap, bytes: usize, context: *mut c_void) -> bool>,
    pub context: *mut c_void,
    pub parent: *mut kolk_heap,
    pub memory: *mut c_void,
    pub memory_size: usize,
}

/// A zero-initialised heap has no memory. Never copy or move a heap once it is initialised.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_heap {
    pub base: usize,
    pub id: u64,
    pub n_classes: u32,
    pub place: u32,
    pub number: u32,
    pub class_shift: u8,
    pub by_size: [u8; 65],
    pub by_quarter: [u8; 80],
    pub inside: *mut kolk_heap_inside_,
    pub root: *mut kolk_heap_root_,
    pub fixed: *mut kolk_fixed_,
}

/// Statistics of one class, with the nursery's blocks of its size. `asked` and `given` show the waste: the bytes that
/// sampled allocs requested, and the bytes of the blocks that they got. A thread samples one alloc each time it goes to
/// the depot; a fixed heap samples the allocs that raise the peak. Allocs from a nursery are not sampled, so both are 0
/// until the size has its class. The peak is the class's plus the nursery's, which counts to 65,535.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_heap_class_stats {
    pub stats: kolk_stats,
    pub asked: u64,
    pub given: u64,
}

/// Zero means the default. At an attach, it means: whatever the block has.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_ipc_desc {
    pub name: *const c_char,
    pub object_size: usize,
    pub object_align: usize,
    pub capacity: u32,
    pub queues: u32,
    pub queue_capacity: u32,
    pub max_processes: u32,
    pub version: u32,
    pub tag: u32,
    pub orphans: kolk_ipc_orphans,
    pub on_orphan: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub context: *mut c_void,
    pub trap_full: bool,
    pub unsealed: bool,
}

/// A process's access to a pool. In one that is zero-initialised, alloc and pop return NULL. Never copy or move it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_ipc {
    pub slots: *mut u8,
    pub lives: *mut u64,
    pub block: *mut kolk_ipc_block_,
    pub queues_at: *mut kolk_ipc_queue_,
    pub rings: *mut u64,
    pub hints_end: *mut u64,
    pub inverse: usize,
    pub size: usize,
    pub stride: u32,
    pub capacity: u32,
    pub tag: u32,
    pub object_size: u32,
    pub queues: u32,
    pub queue_capacity: u32,
    pub ring_mask: u32,
    pub max_processes: u32,
    pub number: u32,
    pub me: u32,
    pub forks: u32,
    pub lock: u32,
    pub recovering: u32,
    pub wrong_pool: u32,
    pub fd: i32,
    pub shift: u8,
    pub read_only: bool,
    pub trap_full: bool,
    pub corrupt: u8,
    pub orphans: u8,
    pub file: u64,
    pub serial: u64,
    pub seen: u64,
    pub failed: u64,
    pub waits: u64,
    pub looked: u64,
    pub waiting: u32,
    pub in_vain: u32,
    pub page: u32,
    pub lock_kept: *mut c_void,
    pub name: *const c_char,
    pub on_orphan: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub context: *mut c_void,
    pub own_name: [c_char; 36],
}

/// A walk over the live objects of all processes, in ascending order of slots, as that of shared.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_ipc_cursor {
    pub pool: *const kolk_ipc,
    pub slot: u32,
    pub end: u32,
    pub more: bool,
}

/// A process, and how many objects it holds. Number 0 is no process: its counts are those of the dead, for objects that
/// they had pushed and for orphans that are kept.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_ipc_holder {
    pub number: u32,
    pub pid: u32,
    pub count: u32,
    pub queued: u32,
    pub name: [c_char; 16],
}

/// Why a function failed: a number of your own (0: none), and a sentence.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_error {
    pub code: i32,
    pub text: [c_char; 251],
    pub r#final: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_resource_event {
    pub kind: kolk_resource_event_kind,
    pub pool: *const c_char,
    pub key: *const c_char,
    pub who: *const c_char,
    pub status: kolk_status,
    pub ns: i64,
    pub error: *const kolk_error,
}

/// All members but create may be 0. For every time, 0 selects the default, and -1 turns the feature off unless stated
/// otherwise. Any other negative time is KOLK_BAD_TIME.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_resource_pool_desc {
    pub name: *const c_char,
    pub context: *mut c_void,
    pub create: Option<unsafe extern "C" fn(context: *mut c_void, key: *const c_char, deadline: kolk_deadline, resource: *mut *mut c_void, error: *mut kolk_error) -> bool>,
    pub destroy: Option<unsafe extern "C" fn(context: *mut c_void, resource: *mut c_void)>,
    pub validate: Option<unsafe extern "C" fn(context: *mut c_void, resource: *mut c_void, deadline: kolk_deadline) -> bool>,
    pub reset: Option<unsafe extern "C" fn(context: *mut c_void, resource: *mut c_void) -> bool>,
    pub max: u32,
    pub min_idle: u32,
    pub max_creating: u32,
    pub idle_timeout_ms: i64,
    pub max_lifetime_ms: i64,
    pub keepalive_ms: i64,
    pub validate_after_ms: i64,
    pub leak_after_ms: i64,
    pub warn_nested: bool,
    pub strict_order: bool,
    pub create_timeout_ms: i64,
    pub reuse: kolk_reuse,
    pub look: bool,
    pub no_housekeeper: bool,
    pub log: Option<unsafe extern "C" fn(context: *mut c_void, event: *const kolk_resource_event)>,
    pub slow_borrow_ms: i64,
    pub debug: *const c_char,
}

/// A zero-initialised pool is closed. The struct holds only a pointer and a number, and may be moved; of several copies,
/// only one may be deinit'd. If a pool is initialised again without a deinit, no call reaches the first pool any more,
/// and nothing reports this: it keeps its resources, and makers work for it, until the program ends. If it has a name,
/// statistics list both.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_resource_pool {
    pub inside: *mut kolk_resource_inside_,
    pub number: u32,
}

/// The borrower's record of a borrow. It may be copied. A record that is all zero has no borrow.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_borrowed {
    pub resource: *mut c_void,
    pub handle: kolk_handle,
    pub error: kolk_error,
    pub generation: u32,
}

/// A borrower's request. If it is all zero, there is no key and no waiting.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_borrow_desc {
    pub key: *const c_char,
    pub deadline: kolk_deadline,
    pub who: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_times {
    pub count: u64,
    pub sum_ns: u64,
    pub max_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub at_most: [u64; 10],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_resource_pool_stats {
    pub name: *const c_char,
    pub max: u32,
    pub in_use: u32,
    pub idle: u32,
    pub creating: u32,
    pub waiting: u32,
    pub peak: u32,
    pub borrows: u64,
    pub full: u64,
    pub timeouts: u64,
    pub failed: u64,
    pub created: u64,
    pub create_failures: u64,
    pub discarded: u64,
    pub invalid: u64,
    pub unclean: u64,
    pub expired: u64,
    pub unused: u64,
    pub evicted: u64,
    pub replaced: u64,
    pub closed: u64,
    pub detached: u64,
    pub leaks: u64,
    pub waits: u64,
    pub wait: kolk_times,
    pub r#use: kolk_times,
    pub create: kolk_times,
}

/// Zero means the default, except for object_size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_shared_desc {
    pub name: *const c_char,
    pub object_size: usize,
    pub object_align: usize,
    pub capacity: u32,
    pub max_capacity: u32,
    pub max_threads: u32,
    pub cache: u32,
    pub generations: kolk_generations,
    pub tag: u32,
    pub budget: *mut kolk_budget,
    pub exact: bool,
    pub life: kolk_life,
    pub context: *mut c_void,
    pub debug: *const c_char,
}

/// A thread's access to the pool. A zero-initialised local has no pool: alloc returns NULL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_shared_local {
    pub lives: *mut u32,
    pub magazine: *mut kolk_magazine_,
    pub pool: *mut kolk_shared_inside_,
}

/// One thread's free slots of one depot: a stack, whose `cache` entries follow the struct.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_magazine_ {
    pub slots: *mut u8,
    pub lives: *mut u32,
    pub short_lives: *mut u8,
    pub inverse: usize,
    pub stride: u32,
    pub bound: u32,
    pub top: u32,
    pub cache: u32,
    pub shift: u8,
    pub next_word: u32,
    pub failed: u64,
    pub leaving: u32,
    pub proving: u32,
    pub depot: *mut kolk_depot_,
    pub keeper: *mut kolk_keeper_,
    pub next: *mut kolk_magazine_,
}

/// No local can be made for a zero-initialised pool. Never copy or move a pool once it is initialised.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_shared {
    pub slots: *mut u8,
    pub lives: *mut u32,
    pub stride: u32,
    pub tag: u32,
    pub bound: u32,
    pub number: u32,
    pub name: *const c_char,
    pub inside: *mut kolk_shared_inside_,
}

/// A walk over the live objects, in ascending order of slots. kolk_shared_each begins it; each kolk_shared_cursor_next
/// returns an object, or NULL at the end. KOLK_EACH of typed.h is such a loop. Any object may be freed during the walk,
/// including the current one. An object that other threads allocate or free during the walk may or may not be visited;
/// all others are visited. Slots that are used for the first time after the walk began are not visited. As with `get`,
/// the program must make sure that no other thread frees an object while the loop's body uses it (or that it is freed by
/// free_later).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_shared_cursor {
    pub pool: *const kolk_shared,
    pub slot: u32,
    pub end: u32,
    pub more: bool,
}

/// Zero means the default, except for object_size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_slotmap_desc {
    pub name: *const c_char,
    pub object_size: usize,
    pub object_align: usize,
    pub capacity: u32,
    pub max_capacity: u32,
    pub tag: u32,
    pub memory: *mut c_void,
    pub memory_size: usize,
    pub budget: *mut kolk_budget,
    pub on_move: Option<unsafe extern "C" fn(object: *mut c_void, from: u32, to: u32, context: *mut c_void)>,
    pub on_remove: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub r#move: Option<unsafe extern "C" fn(to: *mut c_void, from: *mut c_void, context: *mut c_void)>,
    pub context: *mut c_void,
    pub debug: *const c_char,
}

/// The record of one slot.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_cell_ {
    pub place: u32,
    pub generation: u32,
}

/// A zero-initialised map is valid and has the capacity 0. Never copy or move a map once it is initialised.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_slotmap {
    pub objects: *mut u8,
    pub cells: *mut kolk_cell_,
    pub owners: *mut u32,
    pub count: u32,
    pub fresh: u32,
    pub add_bound: u32,
    pub remove_bound: u32,
    pub stride: u32,
    pub tag: u32,
    pub capacity: u32,
    pub max_capacity: u32,
    pub counted: u32,
    pub object_size: u32,
    pub peak: u32,
    pub worn_first: u32,
    pub worn_last: u32,
    pub worn: u32,
    pub recycled: u32,
    pub wrong_pool: u32,
    pub number: u32,
    pub holes: u32,
    pub first_hole: u32,
    pub shift: u8,
    pub memory: u8,
    pub debug_flags: u8,
    pub in_hook: u8,
    pub inverse: usize,
    pub failed: u64,
    pub block: *mut u8,
    pub block_size: usize,
    pub budget: *mut kolk_budget,
    pub blocks: *mut u8,
    pub debug: *mut kolk_debug,
    pub name: *const c_char,
    pub on_move: Option<unsafe extern "C" fn(object: *mut c_void, from: u32, to: u32, context: *mut c_void)>,
    pub on_remove: Option<unsafe extern "C" fn(object: *mut c_void, context: *mut c_void)>,
    pub r#move: Option<unsafe extern "C" fn(to: *mut c_void, from: *mut c_void, context: *mut c_void)>,
    pub context: *mut c_void,
    pub removals: *mut kolk_removal_,
}

/// A loop over the plain array is fastest, but must not remove objects. To remove objects during a walk, use KOLK_EACH
/// (typed.h), which walks upwards and visits a place again if its object was removed. Or walk downwards:
///
/// ```c
/// for (uint32_t i = kolk_slotmap_count(map); i-- > 0;)
///     if (is_dead(kolk_slotmap_at(map, i)))
///         kolk_slotmap_remove_at(map, i);
///
/// ```
/// In both walks, the current object may be removed, and objects may be added. If any other object is removed, the last
/// object, which takes its place, may be missed or visited twice.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct kolk_slotmap_cursor {
    pub map: *const kolk_slotmap,
    pub place: u32,
    pub slot: u32,
    pub more: bool,
}
pub const KOLK_NOW: kolk_deadline = kolk_deadline { ns: 0 };
pub const KOLK_FOREVER: kolk_deadline = kolk_deadline { ns: i64::MAX };
pub const KOLK_BYTEMAP_FREE: u32 = 128;
pub const KOLK_GROUP: u32 = 64;
pub const KOLK_HEAP_LARGEST: u32 = 262144;
pub const KOLK_HEAP_CLASSES: u32 = 64;
pub const KOLK_RESOURCE_MOST: u32 = 65536;
pub const KOLK_TIME_BOUNDS: u32 = 10;
pub const KOLK_NO_CACHE: u32 = 4294967295;

extern "C" {

    // kolk/base.h
    /// Returns a sentence without a full stop, in static storage; never NULL.
    pub fn kolk_status_text(status: kolk_status) -> *const c_char;
    pub fn kolk_handle_is_null(handle: kolk_handle) -> bool;
    pub fn kolk_handle_equal(a: kolk_handle, b: kolk_handle) -> bool;
    /// Converts to and from the plain integer. Any integer may be unpacked: a pool returns NULL for a handle that it did not
    /// issue.
    pub fn kolk_handle_pack(handle: kolk_handle) -> u64;
    pub fn kolk_handle_unpack(bits: u64) -> kolk_handle;
    /// Returns now + milliseconds, at most KOLK_FOREVER; 0 or less gives KOLK_NOW. Not in freestanding builds.
    pub fn kolk_deadline_after(milliseconds: i64) -> kolk_deadline;
    /// Writes the statistics of every initialised pool that has a name. The text is passed to `put` in pieces; `put` may
    /// call any function of kolk. The figures of pools that other threads are using may be slightly inaccurate. A program
    /// without diagnostics keeps no list of pools, and writes an empty one.
    pub fn kolk_stats_write(format: kolk_stats_format, put: Option<unsafe extern "C" fn(text: *const c_char, length: usize, context: *mut c_void)>, context: *mut c_void);
    /// Writes at once what the variable KOLK_STATS requests, to where it says, as KOLK_STATS_AT does at signals. A file is
    /// replaced as a whole. Threads may call it at the same time; signal handlers must not. Returns false if KOLK_STATS
    /// requests nothing, if the file cannot be written (which is reported, once for several failures in a row), and without
    /// diagnostics. O(pools).
    pub fn kolk_stats_now() -> bool;
    /// Like kolk_stats_write, for the pools of another process, which does nothing for it and does not notice it. It may be
    /// in the middle of a call; a pool that cannot be read at this moment is left out. Needs the right to trace that process
    /// (ptrace(2)): the same user, and what kernel.yama.ptrace_scope demands. The process must contain this version of kolk,
    /// linked in any way; if it contains several copies, the pools of all are written. JSON has `allocs` where it can be
    /// known: how many objects were ever allocated, plus a constant; and `resident_bytes` where it can be known: how many
    /// bytes of the slots (of a heap: of all blocks) are in memory. Returns NULL, or why nothing was written, as a clause.
    /// O(pools), O(slots) for what counts lives, O(pages) of the slots (of the first 64 GiB; some 40 ms for a GiB in
    /// memory), and a search through the writable data of the process's modules. It reads at most 1 GiB, where each small
    /// read counts as 2 KiB, so that no process can hold up its reader: pools beyond are left out, and so is `allocs` where
    /// counting would take more than half of what is left. Linux only, and only in a library that has all members.
    pub fn kolk_stats_write_of(process: i64, format: kolk_stats_format, put: Option<unsafe extern "C" fn(text: *const c_char, length: usize, context: *mut c_void)>, context: *mut c_void) -> *const c_char;
    /// The handler is called for each failure, in the thread whose call failed. If several threads use a pool, the handler
    /// may run in several of them at the same time. NULL restores the default handler, which prints the sentence to stderr
    /// and aborts (freestanding: __builtin_trap); after KOLK_LEAK, KOLK_BAD_SETTING and KOLK_NESTED it does not abort. A
    /// handler may call functions that take a const pool. If it returns, the failed call changes nothing. But if the failure
    /// is damage that the debug mode has found, the call repairs it and continues.
    ///
    /// The handler may longjmp or throw. An init that is left in this way has failed: the pool is all zero, and has no
    /// memory. But if the failed call was made by a hook (reset, setup, on_full, on_move, destroy ...), the handler must
    /// return, because hooks must return. Only kolk's own hooks (kolk_pool_trap_full, _evict_oldest, _evict_cheapest) may be
    /// left by longjmp or throw. (A handler that throws needs unwind tables for kolk's files: where they are not the
    /// default, as on 32-bit ARM, compile these files with -fexceptions. CMakeLists.txt does so.)
    pub fn kolk_set_failure_handler(handler: Option<unsafe extern "C" fn(failure: *const kolk_failure, context: *mut c_void)>, context: *mut c_void);
    /// Describes an address of code: "on_hit+0x2c (collide.c:63)". The file and line are missing if addr2line or the debug
    /// information is missing; without a symbol table it is "program+0x11f3". Functions that the compiler has inlined at the
    /// address come first: "on_hit (collide.c:63) \< explode+0x2c (collide.c:80)". At most three functions are named, and
    /// none of kolk's own. The text is cut off after `size` bytes, including the final 0. Returns `text`. The call is slow,
    /// because it reads files and, if `lines` is true, runs the first addr2line in PATH, or llvm-addr2line for code that
    /// clang compiled. Only absolute folders in PATH are searched, and none if the program has more rights than its user
    /// (set-user-ID, file capabilities). On Windows the text is "program.exe+0x11f3", and on other systems without Linux's
    /// loader it is an address. In freestanding builds it is empty.
    pub fn kolk_site_text(site: *const c_void, lines: bool, text: *mut c_char, size: usize) -> *const c_char;
    /// Describes a stack of return addresses that ends with a NULL, such as those of kolk_failure. It names at most `depth`
    /// calls (0: three). Returns how many of the addresses these calls cover.
    pub fn kolk_stack_text(stack: *const *const c_void, depth: u32, lines: bool, text: *mut c_char, size: usize) -> usize;
    /// Ends the current scene and, unless the name is NULL, begins a new one: a level of a game, a phase of a server. Call
    /// it while no other thread uses a pool. O(pools) with KOLK_STATS=sizes, O(pools times lines of the file) with
    /// KOLK_SIZES, else O(1). The name is copied. Does nothing without diagnostics.
    pub fn kolk_scene(name: *const c_char);
    pub fn kolk_set_profiler(profiler: *const kolk_profiler);
    pub fn kolk_features() -> u32;
    /// For other languages, which must provide the memory for a pool: the size and the alignment of a struct of these
    /// headers, such as "kolk_pool", in bytes; 0 if there is no such struct. O(structs). Only in a library that has all
    /// members.
    pub fn kolk_size_of(r#type: *const c_char) -> usize;
    pub fn kolk_align_of(r#type: *const c_char) -> usize;

    // kolk/budget.h
    /// The bytes that are taken now. Several threads may call it at any time.
    pub fn kolk_budget_used(budget: *const kolk_budget) -> u64;
    /// Changes the limit, at any time and in any thread; 0: no limit. If more bytes are taken than the new limit allows,
    /// nothing is taken away: pools keep their slots and use them, but get no new memory until the bytes are below the limit
    /// again, by deinits and trims. A growth in another thread that has begun before may still succeed. A higher limit
    /// counts at the next growth; it wakes nobody. The mark stays where it is, and on_mark is not called. O(1)
    pub fn kolk_budget_set_limit(budget: *mut kolk_budget, limit: u64);
    /// Gives back to the system what can be given back, in all of the process. Heaps give their unused memory back now, as
    /// by kolk_heap_trim. A kolk_pool belongs to the threads that use it; so a pool for which kolk_pool_tick is called is
    /// trimmed by its next tick. Other pools and slot maps need kolk_pool_trim and kolk_slotmap_trim. Shared pools, queues
    /// and resource pools keep their memory. Any thread may call it at any time, but not a hook of kolk's. O(slots of all
    /// heaps). Returns how many of the bytes given back by now had been backed by memory.
    pub fn kolk_trim_all() -> usize;

    // kolk/bytemap.h
    /// Initialise: afterwards all slots are free, all seeds are 0, and first_free is -1. KOLK_NOT_FLUSHED: the pool is
    /// already initialised, and stays as it is (the games would leak the first arrays). Any other status but KOLK_OK leaves
    /// the pool all zero.
    pub fn kolk_bytemap_initialise(pool: *mut kolk_bytemap, count: i32, object_size: usize) -> kolk_status;
    /// The same with a name, seeds, or your own arrays, which flush does not free.
    pub fn kolk_bytemap_initialise_with(pool: *mut kolk_bytemap, view: *const kolk_bytemap_view) -> kolk_status;
    /// Makes a pool from arrays of another owner, and leaves the arrays as they are. Both arrays must be given, unless count
    /// is 0. Without `.writable`, a call of `new`, new_at, `delete`, set_byte or `clear` is a bug of the caller
    /// (KOLK_READ_ONLY) and changes nothing. Flush the pool before its arrays are freed; if they are already gone,
    /// statistics leave the pool out. In the game's own process, you need only know the address of the game's struct and
    /// the size of its widest object:
    ///
    /// ```c
    /// struct CPool { void *objects; uint8_t *bytes; int32_t count, first_free; };   // San Andreas: two flags behind
    /// struct CPool *game = *(struct CPool **)address_of_the_pointer;
    /// kolk_bytemap_attach(&pool, &(kolk_bytemap_view){.object_list = game->objects, .byte_map = game->bytes,
    ///     .object_size = size, .count = game->count, .cursor = &game->first_free});
    /// ```
    pub fn kolk_bytemap_attach(pool: *mut kolk_bytemap, view: *const kolk_bytemap_view) -> kolk_status;
    /// Raises count, and leaves everything else as it is: objects, handles and the cursor stay, so a game's limit can be
    /// raised while the game runs. init has reserved the addresses of max_count slots; their memory comes only now. O(new
    /// slots). After KOLK_ABOVE_MAX (of max_count) or KOLK_NO_MEMORY nothing has changed.
    pub fn kolk_bytemap_reserve(pool: *mut kolk_bytemap, count: i32) -> kolk_status;
    /// Gives the pool to a game in this process, as a limit adjuster does: writes its arrays, count and cursor to the game's
    /// struct, without owns-its-memory. From then on the game's code may use the pool as well, and it counts as attached,
    /// with the game's first_free as its cursor. The struct's own arrays must have no objects, because theirs would be lost.
    /// Call export again after each reserve, and after flush: then it writes a pool of no slots, from which the game's own
    /// Flush frees nothing. KOLK_BAD_LAYOUT: this process has other pointers, or the layout is IV's or later; nothing has
    /// changed.
    ///
    /// ```c
    /// kolk_bytemap_initialise_with(&pool, &(kolk_bytemap_view){.object_size = size, .count = 140, .max_count = 5000});
    /// kolk_bytemap_export(&pool, KOLK_BYTEMAP_SAN_ANDREAS, game);
    /// ...
    /// if (kolk_bytemap_reserve(&pool, 300) == KOLK_OK) kolk_bytemap_export(&pool, KOLK_BYTEMAP_SAN_ANDREAS, game);
    /// ```
    pub fn kolk_bytemap_export(pool: *mut kolk_bytemap, layout: kolk_bytemap_layout, game: *mut c_void) -> kolk_status;
    /// Clear: all slots become free, and all seeds 0, so old handles become valid again sooner. first_free does not
    /// change.
    pub fn kolk_bytemap_clear(pool: *mut kolk_bytemap);
    /// Flush: frees the arrays if they are the pool's own, and sets all fields to 0, including initialized_state. A second
    /// flush does nothing. With the debug setting `sites`, first reports the objects that were made here and are still
    /// alive; those in a game's pool live on.
    pub fn kolk_bytemap_flush(pool: *mut kolk_bytemap);
    /// New: looks at the slots after first_free, then at the slots from 0 up to it. The first free slot becomes first_free,
    /// and its seed becomes seed + 1 modulo 128. If no slot is free, returns NULL and sets first_free to -1. So a slot that
    /// was just deleted is not used again before the cursor has gone round.
    pub fn kolk_bytemap_new(pool: *mut kolk_bytemap) -> *mut c_void;
    /// New(handle), for loading: returns the object in the handle's slot, with the seed that pool-\>seeds selects. first_free
    /// is then the lowest free slot, or -1 if none is left (as after `new` in a full pool). Returns NULL if the slot is in
    /// use or does not exist.
    pub fn kolk_bytemap_new_at(pool: *mut kolk_bytemap, handle: i32) -> *mut c_void;
    /// Delete: the slot becomes free and keeps its seed; first_free moves down to it, but never up. NULL does nothing. Any
    /// other pointer is a bug of the caller: it is not from this pool, is not the start of a slot, or its slot is already
    /// free.
    pub fn kolk_bytemap_delete(pool: *mut kolk_bytemap, object: *mut c_void);
    /// SetFreeAt and SetIdAt in one, to bring a saved pool back: sets the byte of a slot, with flag and seed. The object and
    /// first_free do not change, except that the debug setting `fill` fills an object that this frees. Returns false, and
    /// changes nothing, if there is no such slot.
    pub fn kolk_bytemap_set_byte(pool: *mut kolk_bytemap, index: i32, byte: u8) -> bool;
    /// GetSlot: returns the object in a used slot, otherwise NULL. Any index is allowed.
    pub fn kolk_bytemap_get_slot(pool: *const kolk_bytemap, index: i32) -> *mut c_void;
    /// GetAt: returns the object of a handle, or NULL if its slot is free, has another seed, or does not exist. A handle
    /// does not identify its pool: another pool's handle may be valid here too. After 128 lives of the slot, or a clear, the
    /// handle can find another object.
    ///
    /// To find out why the result is NULL: the slot is handle \>\> 8. If that is negative or at least count, there is no such
    /// slot. If get_slot returns NULL for it, the object was deleted. Otherwise the slot has another object, whose seed is
    /// byte_map\[slot\].
    pub fn kolk_bytemap_get_at(pool: *const kolk_bytemap, handle: i32) -> *mut c_void;
    /// GetJustIndex and GetIndex: return the index, or the handle, of the slot that begins at `object`, whether used or
    /// free. The handle of a free slot contains the free flag, and get_at returns NULL for it. Any other pointer is a bug of
    /// the caller; the result is then -1.
    pub fn kolk_bytemap_get_just_index(pool: *const kolk_bytemap, object: *const c_void) -> i32;
    pub fn kolk_bytemap_get_index(pool: *const kolk_bytemap, object: *const c_void) -> i32;
    /// TraversePoolEntities: returns the object of a handle in the first of n pools for which it is valid. On entry, \*which
    /// is the index of the pool to begin with; on return, it is that of the object's pool, or n. A handle may be valid in
    /// several pools. This loop finds all of its objects:
    /// ```c
    /// for (size_t which = 0; (object = kolk_bytemap_find(pools, n, handle, &which)) != NULL; which++) ...
    /// ```
    pub fn kolk_bytemap_find(pools: *const *const kolk_bytemap, n: usize, handle: i32, which: *mut usize) -> *mut c_void;
    pub fn kolk_bytemap_used_count(pool: *const kolk_bytemap) -> i32;
    pub fn kolk_bytemap_free_count(pool: *const kolk_bytemap) -> i32;
    /// All counters, as for the other members. The peak of an attached pool is its present count. Costs the same as
    /// used_count.
    pub fn kolk_bytemap_stats(pool: *const kolk_bytemap, out: *mut kolk_stats);
    /// Checks every invariant of src/bytemap/bytemap.c, for tests. In an attached pool, it checks the owner's cursor too: it
    /// must be from -1 to count - 1.
    pub fn kolk_bytemap_is_valid(pool: *const kolk_bytemap) -> bool;
    /// Returns the next object after this one, which may have been deleted since. NULL begins the walk, and NULL ends it. A
    /// pointer that is not the start of a slot is a bug of the caller; the result is then NULL.
    pub fn kolk_bytemap_next(pool: *const kolk_bytemap, object: *const c_void) -> *mut c_void;
    /// Returns the handle of the next used slot after this handle's slot. -1 begins the walk, and -1 ends it.
    pub fn kolk_bytemap_next_handle(pool: *const kolk_bytemap, handle: i32) -> i32;
    /// Finds the next slot that differs, in ascending order; false if there is none. It does not notice an object that was
    /// born and died in between, or one that replaced another under the same handle (128 lives later, or after a clear).
    pub fn kolk_bytemap_compare(before: *const u8, after: *const u8, count: i32, difference: *mut kolk_bytemap_difference) -> bool;
    /// Reads the pointer at an address, such as a game's pointer to a pool, with the game's 32 or 64 bits. KOLK_OUTSIDE: no
    /// region contains it.
    pub fn kolk_bytemap_follow(regions: *const kolk_bytemap_region, n: usize, address: u64, layout: kolk_bytemap_layout, out: *mut u64) -> kolk_status;
    /// Makes a view of the pool whose struct is at this address, for attach. Its arrays lie in the regions' own bytes.
    /// object_size is the size of the game's widest type, which games before IV do not store; for the others it is ignored,
    /// and first_free becomes -1. KOLK_OUTSIDE: the struct or an array is not wholly in one region. KOLK_BAD_COUNT: there is
    /// no pool. After any status but KOLK_OK \*out is unchanged. The game's other data is not trusted: first_free may be any
    /// number. A wrong one does not harm `new`, and is_valid reports it.
    pub fn kolk_bytemap_read(regions: *const kolk_bytemap_region, n: usize, address: u64, layout: kolk_bytemap_layout, object_size: usize, out: *mut kolk_bytemap_view) -> kolk_status;

    // kolk/pool.h
    /// Initialises the pool. If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the pool is
    /// left all zero.
    pub fn kolk_pool_init(pool: *mut kolk_pool, desc: *const kolk_pool_desc) -> kolk_status;
    /// Runs reset for each live object and teardown for each slot that is set up, releases the memory, and leaves the pool
    /// all zero. A reset hook that allocates gets a slot that was free, or NULL when none is left, because the pool no
    /// longer grows. The lives of objects allocated in this way are ended too.
    pub fn kolk_pool_deinit(pool: *mut kolk_pool);
    /// Frees an object of this pool; all its handles are stale from now on. NULL does nothing. Any other pointer is a bug of
    /// the caller: it is not from this pool, is not the start of an object, was never handed out, or is free already.
    pub fn kolk_pool_free(pool: *mut kolk_pool, object: *mut c_void);
    /// Returns an object, or NULL if the pool is full: see When it is full.
    pub fn kolk_pool_alloc(pool: *mut kolk_pool) -> *mut c_void;
    /// The same; all bytes of the object are 0.
    pub fn kolk_pool_alloc_zeroed(pool: *mut kolk_pool) -> *mut c_void;
    /// A free and an alloc in one: ends an object's life and begins the next one in the same slot, as when a bullet is fired
    /// again or a voice plays another sound. Returns the new object; all handles of the old one are stale. The reset hook
    /// runs. The free slots and `count` do not change, so no hook of a full pool is called. An object of an overflow pool
    /// stays there. NULL does nothing, and the result is NULL. Any other pointer that `free` refuses is a bug of the caller
    /// here too; the result is then NULL.
    ///
    /// Use the result, because it may be at another address. If the slot is worn out or pinned, the new object is that of
    /// an alloc; and under a tool that watches malloc (KOLK_BYPASS) it is another block. If the alloc or malloc fails, the
    /// result is NULL, and the old object is freed.
    pub fn kolk_pool_renew(pool: *mut kolk_pool, object: *mut c_void) -> *mut c_void;
    /// Frees all live objects. An object that a reset hook allocates meanwhile may be freed too, or may stay. Afterwards
    /// slots are reused from the lowest one on, and all handles are stale. Worn-out slots stay worn out.
    pub fn kolk_pool_clear(pool: *mut kolk_pool);
    /// Returns the handle of a live object of this pool. When the object is gone, the handle is stale. Any other pointer is
    /// a bug of the caller; the result is then the null handle.
    pub fn kolk_pool_handle_of(pool: *const kolk_pool, object: *const c_void) -> kolk_handle;
    /// Returns the object, or NULL if this handle is null, stale, forged or from another pool. It never returns a different
    /// object, within the limits of generations (kolk_generations, kolk_pool_alloc_at) and tags. A tag uses the b bits of 32
    /// that an index below max_capacity leaves free. Pools with distinct tags below 2^b never accept each other's handles.
    /// Two tags that are hashes of names are equal in one of 2^b cases. Pools with the same name, or with neither a tag nor
    /// a name, share a tag, so give each pool of a type its own name or tag.
    pub fn kolk_pool_get(pool: *const kolk_pool, handle: kolk_handle) -> *mut c_void;
    /// Frees the object of a handle. Returns false if get would return NULL.
    pub fn kolk_pool_free_handle(pool: *mut kolk_pool, handle: kolk_handle) -> bool;
    /// Frees the object in this slot. Returns false if none lives there.
    pub fn kolk_pool_free_at(pool: *mut kolk_pool, index: u32) -> bool;
    /// Is this the start of a live object of this pool? Any pointer is allowed, including NULL.
    pub fn kolk_pool_is_live(pool: *const kolk_pool, object: *const c_void) -> bool;
    /// Returns the slot of a live object, counted from 0, for arrays that you keep beside the pool. Any other pointer is a
    /// bug of the caller; the result is then UINT32_MAX.
    pub fn kolk_pool_index(pool: *const kolk_pool, object: *const c_void) -> u32;
    /// Returns the live object in a slot, or NULL.
    pub fn kolk_pool_at(pool: *const kolk_pool, index: u32) -> *mut c_void;
    pub fn kolk_pool_each(pool: *const kolk_pool) -> kolk_cursor;
    pub fn kolk_cursor_next(cursor: *mut kolk_cursor) -> *mut c_void;
    pub fn kolk_cursor_next_run(cursor: *mut kolk_cursor, length: *mut u32) -> *mut c_void;
    /// Begins a walk over n slots only, from slot `first` on; slots beyond the last one are ignored. With this, threads can
    /// divide the work: each walks over a part of the slots from 0 to capacity - 1.
    pub fn kolk_pool_each_in(pool: *const kolk_pool, first: u32, n: u32) -> kolk_cursor;
    /// The number of live objects (and of those that were freed while they were pinned), and the number of slots that are
    /// free without growing: capacity - count (with STRICT, minus the worn-out slots).
    pub fn kolk_pool_count(pool: *const kolk_pool) -> u32;
    pub fn kolk_pool_available(pool: *const kolk_pool) -> u32;
    /// Would n allocs find slots, without an eviction: free ones, those that the pool can still grow by, and those of its
    /// overflow pools? The headroom does not count. The budget and the system may still refuse the memory to grow.
    pub fn kolk_pool_can_alloc(pool: *const kolk_pool, n: u32) -> bool;
    /// All counters; O(1).
    pub fn kolk_pool_stats(pool: *const kolk_pool, out: *mut kolk_stats);
    /// Checks every invariant of src/pool/pool.c; O(slots), for tests.
    pub fn kolk_pool_is_valid(pool: *const kolk_pool) -> bool;
    /// Works like kolk_pool_alloc, but also uses the headroom. A pool that can grow commits the headroom in advance, so that
    /// this call need not ask the system for memory.
    pub fn kolk_pool_alloc_urgent(pool: *mut kolk_pool) -> *mut c_void;
    /// Works like kolk_pool_alloc, but if the pool is full, frees its cheapest object if that costs less than `cost`, and
    /// otherwise returns NULL. So a sound that is quieter than all others is not started. on_full is not called. Needs
    /// .full.cost. If the pool is full: O(slots), or with .full.ranked as kolk_pool_recost states.
    pub fn kolk_pool_alloc_over(pool: *mut kolk_pool, cost: f64) -> *mut c_void;
    /// Ready-made for .full.on_full: reports a bug of the caller (KOLK_FULL), with the pool, its capacity and how to raise
    /// it; with the debug setting `sites`, also with the three places that have allocated most of its objects. Returns
    /// false if the failure handler returns.
    pub fn kolk_pool_trap_full(pool: *mut kolk_pool, bytes: usize, context: *mut c_void) -> bool;
    /// Ready-made for .full.on_full: frees the live object with the least .full.cost, such as the quietest sound; among
    /// equals, the one in the lowest slot. A cost that is not a number counts as the highest. Returns false if no object is
    /// alive, or if all are protected. `bytes` and `context` are not used. Calls .full.cost for each object, O(slots),
    /// unless the pool is ranked.
    pub fn kolk_pool_evict_cheapest(pool: *mut kolk_pool, bytes: usize, context: *mut c_void) -> bool;
    /// With .full.ranked, which costs 16 bytes per slot, the pool remembers what each object costs and keeps the objects in
    /// that order. Then evict_cheapest and alloc_over find the same object in O(log n), if you say when costs change:
    ///
    /// ```c
    /// kolk_pool_recost(pool, object)    the cost of this live object has changed. Calls .cost; O(log n).
    /// kolk_pool_recost(pool, NULL)      many costs have changed, for example because the listener has moved. O(1). The
    ///                                   next eviction calls .cost for each object, O(n); those after it are O(log n).
    ///
    /// ```
    /// The pool asks for the cost of a new object at the first eviction that could choose the object, so fill it in before.
    /// If a cost changes unsaid, an eviction may choose another object. The order is made at the first eviction. Each alloc
    /// and each renewal after it enters the object: O(log n), but an alloc in a full pool is O(1). In a pool without
    /// .ranked, recost does nothing. The order is a heap (J. W. J. Williams, Algorithm 232, 1964; built as by R. W. Floyd,
    /// Algorithm 245, 1964).
    pub fn kolk_pool_recost(pool: *mut kolk_pool, object: *const c_void);
    /// Ready-made for .full.on_full: frees the oldest object. If each use calls kolk_pool_touch, that is the least recently
    /// used object. Otherwise it works like kolk_pool_evict_cheapest, but is O(1). Needs .ages, which .full.on_full =
    /// kolk_pool_evict_oldest implies.
    pub fn kolk_pool_evict_oldest(pool: *mut kolk_pool, bytes: usize, context: *mut c_void) -> bool;
    /// Returns how many bytes of the caller's memory a pool of desc-\>capacity slots needs. It may be called before any init.
    /// Returns 0 if the descriptor is bad; memory, memory_size, max_capacity, headroom and overflow are not checked. For a
    /// typed pool, set object_size = sizeof(T) and object_align = _Alignof(T); its init also accepts these values.
    pub fn kolk_pool_memory_size(desc: *const kolk_pool_desc) -> usize;
    /// Raises the capacity to this many slots now, so that later allocs need not ask the system for memory, nor the budget.
    /// After KOLK_ABOVE_MAX, KOLK_OVER_BUDGET or KOLK_NO_MEMORY nothing has changed.
    pub fn kolk_pool_reserve(pool: *mut kolk_pool, capacity: u32) -> kolk_status;
    /// Releases whole pages without live objects to the system, and makes a LIFO pool use low slots first. Does nothing for
    /// a pool on the caller's memory, or if keep is set without a setup hook that could make the contents again. Returns the
    /// number of bytes released, as far as the system reports them. Capacity, addresses and handles do not change. What is
    /// released behind the last object in use counts towards the budget no longer: see Released in budget.h.
    pub fn kolk_pool_trim(pool: *mut kolk_pool) -> usize;
    /// Call it once per frame. It grows the pool in advance and releases memory, both according to the measured demand and a
    /// little at a time. Demand is the maximum of the counts at the ticks and of new peaks between them; it decays by 1/64
    /// per tick. If demand nearly fills a pool that can grow, the pool gets up to `slots` more, so that no alloc
    /// waits for the system. Once demand has fallen by half, each tick releases the whole pages without live objects among
    /// `slots` slots (rounded up to 64 and to whole pages, 4096 at most). A tick never does more work than that, except
    /// that it moves the ring when a FIFO pool grows. It is O(1) while nothing changes. Returns the number of bytes
    /// released, which is 0 for a pool that cannot be trimmed. Releasing memory does not change the capacity, addresses,
    /// handles or the order of free slots.
    pub fn kolk_pool_tick(pool: *mut kolk_pool, slots: u32) -> usize;
    pub fn kolk_pool_each_oldest(pool: *mut kolk_pool) -> kolk_age_cursor;
    pub fn kolk_age_cursor_next(cursor: *mut kolk_age_cursor) -> *mut c_void;
    pub fn kolk_pool_oldest(pool: *mut kolk_pool) -> *mut c_void;
    pub fn kolk_pool_newest(pool: *mut kolk_pool) -> *mut c_void;
    /// The object born next after another one, and the one before it. NULL: none. The other one may be dead if its slot was
    /// not used again.
    pub fn kolk_pool_newer(pool: *mut kolk_pool, object: *const c_void) -> *mut c_void;
    pub fn kolk_pool_older(pool: *mut kolk_pool, object: *const c_void) -> *mut c_void;
    /// Makes a live object the newest, unless it is protected. If you call it at each use, the oldest object is the least
    /// recently used.
    pub fn kolk_pool_touch(pool: *mut kolk_pool, object: *const c_void);
    /// Protects a live object from eviction by the ready-made hooks and alloc_over, until it is freed or the protection is
    /// turned off (`on` false). A protected object is not in the order of births, so walks by age do not visit it. When the
    /// protection ends, the object becomes the newest.
    pub fn kolk_pool_protect(pool: *mut kolk_pool, object: *const c_void, on: bool);
    /// Pins an object that is live or pinned, also several times, and nothing if it is NULL. O(1). Any other pointer is a
    /// bug of the caller, and so is a pool without .pins (KOLK_PINS_MISSING).
    pub fn kolk_pool_pin(pool: *mut kolk_pool, object: *const c_void);
    /// Takes back one pin, and none if it is NULL. If it was the last one, and the object was freed meanwhile, frees its
    /// slot. O(1); O(log n) if the pool is ranked. An object that is not pinned is a bug of the caller (KOLK_NOT_PINNED).
    pub fn kolk_pool_unpin(pool: *mut kolk_pool, object: *const c_void);
    /// Replaces the hooks, context, name, headroom and low_water by those of the descriptor, also where these are 0. All
    /// objects, handles and counters stay, and so do the tag and the debug settings. No hook runs. The descriptor may be the
    /// one of the init. Members that determine how the pool is laid out must be 0, or as they were at the init: object_size,
    /// object_align, capacity (or less than the pool has now), max_capacity, reuse, generations, tag, keep, ages, pins,
    /// ranked, memory, memory_size, budget and overflow. The pool must have a setup or teardown hook if and only if it had
    /// one at the init.
    ///
    /// Changes nothing and returns KOLK_STRUCT_CHANGED if the objects have a different size or alignment, as after a change
    /// of their struct (see kolk_pool_restore_converted); KOLK_LAYOUT_CHANGED for another such member; KOLK_IN_HOOK if a
    /// hook is running; KOLK_MOVED if the pool is not at home (reported as well); KOLK_AGES_MISSING for
    /// evict_oldest in a pool without ages; or what init returns for such hooks.
    pub fn kolk_pool_rebind(pool: *mut kolk_pool, desc: *const kolk_pool_desc) -> kolk_status;
    /// Allocates up to n objects and returns how many. Only the allocation of the first one may call on_full, because a
    /// later on_full might evict the objects just allocated.
    pub fn kolk_pool_alloc_n(pool: *mut kolk_pool, objects: *mut *mut c_void, n: u32) -> u32;
    /// Frees n objects as `free` does, in this order. NULL entries do nothing. A pointer that `free` refuses is reported,
    /// and the other objects are freed all the same. This saves the calls of `free` in pools where it is not inline: with
    /// FIFO, LOWEST, hooks or the debug mode.
    pub fn kolk_pool_free_n(pool: *mut kolk_pool, objects: *const *mut c_void, n: u32);
    /// Allocates n neighbouring objects and returns the first one: in a typed pool, an array of n objects. (In another pool
    /// they are `stride` bytes apart, see kolk_stats.) If several places have room for n objects, it takes the lowest one:
    /// first fit. Each object is like any other: it has its own handle, and `free` or free_n may free it alone, in any
    /// order. Returns NULL, and allocates nothing, if n is 0, or if there are not n neighbouring free slots and the pool
    /// cannot grow by as many as are missing.
    ///
    /// ```c
    /// struct cell *row = cells_alloc_run(&pool, 80);                       // .reuse = KOLK_REUSE_LOWEST
    /// for (int i = 0; row && i < 80; i++) row[i].letter = ' ';
    /// for (int i = 0; row && i < 80; i++) cells_free(&pool, &row[i]);
    ///
    /// ```
    /// Needs KOLK_REUSE_LOWEST: only such a pool knows which free slots are neighbours. With another reuse, the call is a
    /// bug of the caller (KOLK_LOWEST_MISSING). It respects the headroom and may call on_low, but tries neither .overflow
    /// nor on_full, because freeing one object seldom makes room for a run. Worn-out slots are not part of a run. If setup
    /// fails for one of the objects, the others stay set up, and none is allocated. With the debug setting `guard`, and
    /// under tools where each object is a malloc block (KOLK_BYPASS), objects have no neighbours: then n \> 1 returns NULL.
    ///
    /// Cost: O(n), plus O(1) for each shorter stretch of free slots below the run.
    pub fn kolk_pool_alloc_run(pool: *mut kolk_pool, n: u32) -> *mut c_void;
    /// Returns the size of the block for the pool's present state, in bytes. Returns 0 if no snapshot is possible, because
    /// the pool has a setup or teardown hook, one of its hooks is running, or an object is pinned.
    pub fn kolk_pool_snapshot_size(pool: *const kolk_pool) -> usize;
    /// Writes the block and returns its size. Returns 0 if no snapshot is possible, or if `size` is below
    /// kolk_pool_snapshot_size.
    pub fn kolk_pool_snapshot(pool: *const kolk_pool, block: *mut c_void, size: usize) -> usize;
    /// Replaces the pool's state by the state in the block. The pool may be a different one, in a different program, if it
    /// has the same object_size, reuse, generations, ages and tag (or name). It grows as far as it needs to for the
    /// slots that the saved pool had handed out, and then towards that pool's capacity as an alloc would, if it can.
    /// KOLK_ABOVE_MAX, KOLK_OVER_BUDGET, KOLK_NO_MEMORY: it cannot provide these slots. The whole block is checked before
    /// anything changes, so it may come from an untrusted source. Any status but KOLK_OK leaves the pool as it was, perhaps
    /// with more capacity. Only the bytes inside objects are not checked.
    pub fn kolk_pool_restore(pool: *mut kolk_pool, block: *const c_void, size: usize) -> kolk_status;
    /// The same for a block whose objects have another size or meaning, such as one that an older version of the program has
    /// saved: calls `convert` for each object, in the order of slots. The object is all zero; `saved` are its `saved_size`
    /// bytes of the block, which are not aligned, so memcpy them into the old struct. Everything but the objects is restored
    /// as by kolk_pool_restore, so that no handle that was stale at the snapshot becomes valid, unlike with alloc_at. The
    /// block does not state what its objects mean: save a version beside it if the size does not tell. convert is not called
    /// before the whole block is checked. NULL: the objects are copied, and must have the same size.
    pub fn kolk_pool_restore_converted(pool: *mut kolk_pool, block: *const c_void, size: usize, convert: Option<unsafe extern "C" fn(object: *mut c_void, saved: *const c_void, saved_size: usize, context: *mut c_void)>, context: *mut c_void) -> kolk_status;
    /// A hash of the pool's state, by which two peers of a game notice that their simulations differ. It covers the live
    /// objects, in which slots they are, the generations of all slots, and the orders of reuse and of births: what a
    /// snapshot covers and what decides which handles the next allocs return. A restored pool has the hash that it had at
    /// the snapshot, even if its capacity has risen.
    ///
    /// `hash` returns the hash of one object. Use it to leave out padding, pointers, and what peers need not agree on; it
    /// must not change the pool. NULL: all bytes of the object count, in the machine's byte order. The same kolk gives the
    /// same hash on every machine; another version may give another one. Returns 0 inside a hook. O(slots that were ever
    /// used), plus the bytes of the live objects.
    pub fn kolk_pool_hash(pool: *mut kolk_pool, hash: Option<unsafe extern "C" fn(object: *const c_void, context: *mut c_void) -> u64>, context: *mut c_void) -> u64;
    /// For loading object by object: allocates an object in this handle's slot, with the handle's generation, so that get
    /// finds the object by this handle. Returns NULL if the slot is in use, is beyond max_capacity, is worn out for ever
    /// (STRICT) or fails its setup, or if the handle is null or from another pool. Lower slots that were never handed out
    /// become free slots. Older handles of the slot may become valid again.
    ///
    /// O(1), and a step for each of these lower slots. Unless the slot was the last one freed, LIFO and FIFO give up the
    /// order of the slots that are free at that time: they are used from the lowest one on. The next alloc that takes one of
    /// them is O(slots / 64) with LIFO, O(slots) with FIFO or while an object is pinned. In a hook other than on_full and
    /// on_low, the order stays, and alloc_at is O(free slots).
    pub fn kolk_pool_alloc_at(pool: *mut kolk_pool, handle: kolk_handle) -> *mut c_void;
    /// The same for a slot by its index, such as a number that a protocol or a file gives to an object. The slot has its
    /// next generation, so older handles stay stale, and the pool need not have handles.
    pub fn kolk_pool_alloc_at_index(pool: *mut kolk_pool, index: u32) -> *mut c_void;
    /// The same for the lowest slot without an object among n slots, from slot `first` on. If all allocs of a pool are of
    /// this kind, each kind of object has numbers of its own: those of the server below 1000, say, and those of its clients
    /// from 1000 on. O(n / 64), plus that of alloc_at_index. Returns NULL if none of these slots can be had, or the setup of
    /// the lowest one fails.
    pub fn kolk_pool_alloc_in(pool: *mut kolk_pool, first: u32, n: u32) -> *mut c_void;

    // kolk/queue.h
    /// If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the queue is left all zero.
    pub fn kolk_queue_init(queue: *mut kolk_queue, desc: *const kolk_queue_desc) -> kolk_status;
    /// Destroys the remaining items, releases the memory, and leaves the queue all zero. No thread may be inside a call.
    pub fn kolk_queue_deinit(queue: *mut kolk_queue);
    /// For hot reload, as kolk_pool_rebind: replaces destroy, move, context and name. item_size and capacity must be 0, or
    /// as they were at the init, and the queue must have `move` if and only if it had it at the init. Otherwise changes
    /// nothing and returns KOLK_STRUCT_CHANGED, KOLK_LAYOUT_CHANGED, KOLK_IN_HOOK or KOLK_MOVED. No thread may be inside
    /// clear or, if the queue has `move`, inside any call.
    pub fn kolk_queue_rebind(queue: *mut kolk_queue, desc: *const kolk_queue_desc) -> kolk_status;
    /// Copies the item in or out. If the status is not KOLK_OK, nothing has happened:
    ///
    /// ```c
    /// KOLK_FULL, KOLK_EMPTY   there was no room or no item; only with the deadline KOLK_NOW, which never waits
    /// KOLK_TIMEOUT            there was still none at the deadline
    /// KOLK_CLOSED             close was called; a pop gets this only when no item is left
    /// KOLK_SHUTDOWN           shutdown was called
    /// KOLK_IN_HOOK            the call is in a hook of the queue, and would have to wait
    /// ```
    pub fn kolk_queue_push(queue: *mut kolk_queue, item: *const c_void, deadline: kolk_deadline) -> kolk_status;
    pub fn kolk_queue_pop(queue: *mut kolk_queue, item: *mut c_void, deadline: kolk_deadline) -> kolk_status;
    /// The same for an array of \*n items. Waits for the first item, then moves as many as it can without waiting again, and
    /// sets \*n to their number, which is 0 if the status is not KOLK_OK. The items are adjacent in the queue.
    pub fn kolk_queue_push_n(queue: *mut kolk_queue, items: *const c_void, n: *mut usize, deadline: kolk_deadline) -> kolk_status;
    pub fn kolk_queue_pop_n(queue: *mut kolk_queue, items: *mut c_void, n: *mut usize, deadline: kolk_deadline) -> kolk_status;
    /// Returns the number of items in the queue, at one moment during the call.
    pub fn kolk_queue_count(queue: *const kolk_queue) -> usize;
    /// Drops all items, as if by a single pop_n, and returns how many there were. Calls that wait for room get it.
    pub fn kolk_queue_clear(queue: *mut kolk_queue) -> usize;
    /// Ends pushes: every push that is waiting or is called later returns KOLK_CLOSED. Pops still work until no item is
    /// left.
    pub fn kolk_queue_close(queue: *mut kolk_queue);
    /// Ends pushes and pops: every push or pop that is waiting or is called later returns KOLK_SHUTDOWN. Items stay.
    pub fn kolk_queue_shutdown(queue: *mut kolk_queue);
    /// Undoes close and shutdown. A call that was waiting at a close or shutdown still returns KOLK_CLOSED or KOLK_SHUTDOWN,
    /// even if the queue is reopened, and closed or shut down again, before its thread runs. After both a close and a
    /// shutdown it returns KOLK_SHUTDOWN. There are two exceptions. If items were left at a close, a waiting pop continues
    /// to wait if other pops take them. A call that was polling at the very moment of the close or shutdown may take an item
    /// or room that appears after the reopen.
    pub fn kolk_queue_reopen(queue: *mut kolk_queue);
    /// Returns a file descriptor (eventfd) for poll, epoll and io_uring. It becomes readable when there is room (or an
    /// item), or when the queue is closed or shut down. It stays readable until a push returns KOLK_FULL (or a pop
    /// KOLK_EMPTY), so push (or pop) with KOLK_NOW until then. The descriptor belongs to the queue, and deinit closes it;
    /// don't read from it. The first call makes it; from then on each push and pop updates it. Returns -1 if the system has
    /// no descriptor left, or is not Linux.
    pub fn kolk_queue_fd(queue: *mut kolk_queue, event: kolk_queue_event) -> c_int;
    /// Counters, as for the other members. Once a push has found the queue full, `peak` is the capacity; until then it is
    /// the count. `failed` counts the pushes that returned KOLK_FULL or KOLK_TIMEOUT.
    pub fn kolk_queue_stats(queue: *const kolk_queue, out: *mut kolk_stats);
    /// Checks every invariant of src/queue/queue.c, for tests; no thread may be inside a call.
    pub fn kolk_queue_is_valid(queue: *const kolk_queue) -> bool;

    // kolk/heap.h
    /// If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the heap is left all zero. Usually
    /// takes no system call, unless the descriptor has classes or settings.
    pub fn kolk_heap_init(heap: *mut kolk_heap, desc: *const kolk_heap_desc) -> kolk_status;
    /// Frees all blocks at once, and keeps their memory for new ones; large and guarded blocks are freed as by `free`. All
    /// heaps inside this one end, and functions added by kolk_heap_on_end are called, before that. No thread may use the
    /// heap meanwhile. Afterwards all threads may use it as before, but no longer the old blocks: a free of an old small
    /// block is reported as a double free, until a new block takes its slot. O(the most blocks that were ever alive at a
    /// time), but with a small constant: 0.3 ns a block. In debug mode, it frees the blocks one by one.
    pub fn kolk_heap_reset(heap: *mut kolk_heap);
    /// Frees the heap with all of its blocks, after all heaps inside it, whose structs become all zero. No thread may use
    /// any of these any more. If pages are kept: O(the most blocks that were ever alive at a time), but with a small
    /// constant, 0.2 ns a block.
    pub fn kolk_heap_deinit(heap: *mut kolk_heap);
    /// For hot reload: replaces on_full, context and name, and the names of classes if they are given. The other members
    /// must be 0, or as they were at the init; `debug` is ignored. Otherwise changes nothing and returns
    /// KOLK_LAYOUT_CHANGED, KOLK_MOVED, KOLK_IN_HOOK, or KOLK_CLOSED if the heap is all zero. No thread may be inside a
    /// call. Functions that were added with kolk_heap_on_end stay: they must not lie in a module that is unloaded before the
    /// heap ends.
    pub fn kolk_heap_rebind(heap: *mut kolk_heap, desc: *const kolk_heap_desc) -> kolk_status;
    /// Calls function(context) when the heap ends or is reset, before its blocks do: to close a file, for example. The
    /// functions are called in reverse order, the last added first, and only once. They may use the heap. Returns false if
    /// there is no memory; the function is not called then.
    pub fn kolk_heap_on_end(heap: *mut kolk_heap, function: Option<unsafe extern "C" fn(context: *mut c_void)>, context: *mut c_void) -> bool;
    /// Returns a block of at least `size` bytes (0 counts as 1), aligned to 16. NULL: there is no memory, the limit is
    /// reached, or the class is full and set to KOLK_HEAP_NULL. Blocks that other threads have cached count as used.
    pub fn kolk_heap_alloc(heap: *mut kolk_heap, size: usize) -> *mut c_void;
    /// The same; the first `size` bytes of the block are 0.
    pub fn kolk_heap_alloc_zeroed(heap: *mut kolk_heap, size: usize) -> *mut c_void;
    /// The same, aligned to a power of two. Returns NULL if `align` is not a power of two.
    pub fn kolk_heap_alloc_aligned(heap: *mut kolk_heap, align: usize, size: usize) -> *mut c_void;
    /// Resizes the block to `size` bytes. It stays where it is if `size` fits into the block and is more than half of it, or
    /// if `size` fits and the block has at most 64 bytes. Otherwise its contents move, or the system moves the pages of a
    /// large block. A large block releases the pages that it no longer needs. If `block` is NULL, allocates. Returns NULL if
    /// there is no memory; the block is unchanged then. A block that moves loses the alignment of alloc_aligned.
    pub fn kolk_heap_realloc(heap: *mut kolk_heap, block: *mut c_void, size: usize) -> *mut c_void;
    /// Frees a block of this heap; any thread may have allocated it. Does not change errno. NULL does nothing. Any other
    /// pointer is a bug of the caller and is reported. If two threads free the same block at the very same moment, this may
    /// go unnoticed: see kolk_shared_free in shared.h.
    pub fn kolk_heap_free(heap: *mut kolk_heap, block: *mut c_void);
    /// Allocates up to n blocks of at least `size` bytes each, as kolk_heap_alloc does, and returns how many. If these are
    /// fewer than n, kolk_heap_alloc would return NULL for the next one. on_full is called for each block that finds no
    /// room. It must not free the blocks of this call, which walks already visit. For sizes of a class, whole words of
    /// blocks come from the depot, past the thread's cache, which costs about half of n single calls. Otherwise this is a
    /// loop: in debug mode, with sample, for large blocks, and from the nursery.
    pub fn kolk_heap_alloc_n(heap: *mut kolk_heap, size: usize, blocks: *mut *mut c_void, n: usize) -> usize;
    /// Frees n blocks, of any sizes, in the order of the array, each as kolk_heap_free does; NULL entries are skipped. Does
    /// not change errno, nor the array. A pointer that kolk_heap_free would refuse, or that is in the array twice, is
    /// reported as there, and the others are freed all the same. (If the failure handler jumps out, the blocks behind that
    /// pointer stay alive.) This costs less than n single calls. It saves most for many blocks of one size in a row, more
    /// than a thread caches, in about the order of their allocation.
    pub fn kolk_heap_free_n(heap: *mut kolk_heap, blocks: *const *mut c_void, n: usize);
    /// Returns how many bytes the block has: at least the requested size. All of them may be used. Returns 0 for NULL. Any
    /// other pointer that is not a live block is reported; the result is then 0.
    pub fn kolk_heap_usable_size(heap: *mut kolk_heap, block: *const c_void) -> usize;
    /// Is this the start of a live block of this heap? Any pointer is allowed.
    pub fn kolk_heap_is_live(heap: *const kolk_heap, block: *const c_void) -> bool;
    /// Returns the next live block after this one, which may have been freed since. NULL begins the walk, and NULL ends it.
    /// The order is: the nursery's blocks by address; then those of the classes by class and address; then guarded blocks;
    /// then large ones. Blocks that other threads allocate or free during the walk may or may not be visited. A step is
    /// O(slots to the next block); in a nursery O(its leaves); among large blocks O(all of them). A pointer into a class's
    /// addresses that is not one of its blocks is a bug of the caller; the result is NULL.
    pub fn kolk_heap_next(heap: *const kolk_heap, block: *const c_void) -> *mut c_void;
    /// Classes are numbered from 0; n == n_classes selects the large and the guarded blocks, whose bytes include the pages
    /// that are kept of freed ones. Returns false if there is no such class, or if it has not been used yet; \*out is then
    /// all zero except for its name and size. As long as the heap has no classes, all have the heap's name.
    pub fn kolk_heap_stats_of_class(heap: *const kolk_heap, n: u32, out: *mut kolk_heap_class_stats) -> bool;
    /// The sums over all classes, large blocks and guarded blocks. `stride` and `object_size` are 0.
    pub fn kolk_heap_stats(heap: *const kolk_heap, out: *mut kolk_stats);
    /// Releases whole pages without live blocks to the system immediately, except pages with blocks that other threads have
    /// cached. Released pages no longer count towards limits and budgets. Returns how many of their bytes had been backed by
    /// memory, as mincore says, which a sandbox may not support; pages that were kept of freed large blocks and of ended
    /// heaps all count.
    ///
    /// Without this call, threads that go to a depot release the pages that have not been used for a second. That time is
    /// 10 ms when a class grows, or longer in a large heap. So a heap that no thread uses keeps its memory. A nursery keeps
    /// the leaves between its live blocks until this call, or until a limit needs them.
    pub fn kolk_heap_trim(heap: *mut kolk_heap) -> usize;
    /// Checks every invariant of src/heap/heap.c, for tests; no other thread may use the heap meanwhile.
    pub fn kolk_heap_is_valid(heap: *const kolk_heap) -> bool;
    /// How many bytes of memory a fixed heap with these classes needs: the sum of the macros below. It may be called before
    /// any init. Returns 0 if the descriptor is bad; memory and memory_size are not checked.
    pub fn kolk_heap_memory_size(desc: *const kolk_heap_desc) -> usize;

    // kolk/ipc.h
    /// Makes a pool in a new file without a name, whose size is sealed. If the status is not KOLK_OK (the descriptor breaks
    /// a rule, KOLK_NO_MEMORY, KOLK_NO_LOCKS or KOLK_NEEDS_LINUX), \*pool is left all zero. Cost: O(capacity / 64), apart
    /// from the system's work.
    pub fn kolk_ipc_init(pool: *mut kolk_ipc, desc: *const kolk_ipc_desc) -> kolk_status;
    /// The same in a file of yours, which must be empty and open for reading and writing, such as one that gets a name when
    /// it is complete (O_TMPFILE and linkat). It stays yours, and is sealed
    /// if it can be. KOLK_NOT_EMPTY: it is not empty.
    pub fn kolk_ipc_init_in(pool: *mut kolk_ipc, fd: c_int, desc: *const kolk_ipc_desc) -> kolk_status;
    /// Attaches the calling process to the pool in this file, which it may then close. The descriptor may be all zero; what
    /// is not zero must be what the pool was made with, or the status is KOLK_OTHER_LAYOUT. KOLK_NOT_A_BLOCK: the file is no
    /// pool, is not complete yet, or comes from another version of kolk or a machine of another byte order. KOLK_NOT_SEALED:
    /// see `unsealed`. KOLK_TOO_MANY_PROCESSES: there are max_processes; an attach waits up to a second for a number that
    /// another process is giving back. KOLK_NO_LOCKS: there is no /proc, or no descriptor left. A file that is open for
    /// reading only gives a pool that can be read only: get, is_live, walks, counts and statistics work, and the others
    /// report KOLK_READ_ONLY. A process with 32 bits may attach to the pool of one with 64, and the other way round. A
    /// process may attach several times, and counts as several then.
    pub fn kolk_ipc_attach(pool: *mut kolk_ipc, fd: c_int, desc: *const kolk_ipc_desc) -> kolk_status;
    /// Returns the pool's file: send it over a socket (SCM_RIGHTS), or let a program inherit it (it is close-on-exec: use
    /// dup2 or fcntl). It belongs to the pool, and deinit closes it. -1: the pool is all zero. For a process that may only
    /// read, send open("/proc/self/fd/N", O_RDONLY).
    pub fn kolk_ipc_fd(pool: *const kolk_ipc) -> c_int;
    /// Leaves the pool, and leaves \*pool all zero. Objects that this process owns become orphans, without the hook. No
    /// thread of this process may be inside a call. The other processes go on; the last one takes the pool with it.
    /// O(slots that were ever used).
    pub fn kolk_ipc_deinit(pool: *mut kolk_ipc);
    /// Returns KOLK_OK, or why this process can change nothing more: KOLK_CORRUPT, KOLK_READ_ONLY, in a fork's child that
    /// gets no number KOLK_TOO_MANY_PROCESSES, or KOLK_NO_DESCRIPTOR if it is all zero.
    pub fn kolk_ipc_status(pool: *mut kolk_ipc) -> kolk_status;
    /// Returns an object, which this process owns, or NULL if no slot is free. Before it returns NULL it looks for dead
    /// processes, but at most once in a millisecond.
    pub fn kolk_ipc_alloc(pool: *mut kolk_ipc) -> *mut c_void;
    /// The same, but waits for a slot until the deadline. Waiting threads are served in no particular order.
    pub fn kolk_ipc_alloc_wait(pool: *mut kolk_ipc, deadline: kolk_deadline) -> *mut c_void;
    /// Frees an object that this process owns. Its handles are stale from now on. NULL does nothing. An object that the
    /// process does not own (a double free, or one that it has pushed) is reported as KOLK_NOT_OWNER and stays as it is. The
    /// default failure handler only prints that, because another process may have overwritten the block. A pointer that is
    /// not from this pool is a bug of the caller.
    pub fn kolk_ipc_free(pool: *mut kolk_ipc, object: *mut c_void);
    /// Puts an object that this process owns at the end of a queue, which owns it from then on. If the status is not
    /// KOLK_OK, the process still owns it:
    ///
    /// ```c
    /// KOLK_FULL       the queue has queue_capacity objects; only with the deadline KOLK_NOW
    /// KOLK_TIMEOUT    it still had at the deadline
    /// KOLK_CLOSED     the queue is closed
    /// KOLK_CORRUPT, or another status of kolk_ipc_status
    ///
    /// ```
    /// An object that the process does not own is reported, as by kolk_ipc_free, and so is a queue that does not exist;
    /// KOLK_NOT_OWNER and KOLK_NO_QUEUE are returned then.
    pub fn kolk_ipc_push(pool: *mut kolk_ipc, queue: u32, object: *mut c_void, deadline: kolk_deadline) -> kolk_status;
    /// Takes the first object out of a queue: this process owns it from then on. Waits for one until the deadline. NULL:
    /// there was none at the deadline, or the queue is closed and empty, or kolk_ipc_status is not KOLK_OK. Each object is
    /// popped once, by one process, in the order of the pushes.
    pub fn kolk_ipc_pop(pool: *mut kolk_ipc, queue: u32, deadline: kolk_deadline) -> *mut c_void;
    /// Ends the pushes into a queue, for ever. What is in it can still be popped; afterwards pops return NULL, also those
    /// that wait.
    pub fn kolk_ipc_close(pool: *mut kolk_ipc, queue: u32);
    /// Is the queue closed and empty?
    pub fn kolk_ipc_is_closed(pool: *const kolk_ipc, queue: u32) -> bool;
    /// The number of objects in a queue: exact while nobody pushes or pops.
    pub fn kolk_ipc_queued(pool: *const kolk_ipc, queue: u32) -> u32;
    /// Looks for dead processes now, and returns how many objects they owned. O(max_processes); if any are dead, also
    /// O(slots that were ever used), for all of them together. Returns 0 if another thread of this process is doing it.
    pub fn kolk_ipc_recover(pool: *mut kolk_ipc) -> u32;
    /// With KOLK_IPC_KEEP: makes this process the owner of an object that has none, and returns it, or NULL if there is
    /// none. O(slots that were ever used).
    pub fn kolk_ipc_adopt(pool: *mut kolk_ipc) -> *mut c_void;
    /// Returns the handle of a live object, whoever owns it: valid in every process. Any other pointer is a bug of the
    /// caller; the result is then the null handle.
    pub fn kolk_ipc_handle_of(pool: *const kolk_ipc, object: *const c_void) -> kolk_handle;
    /// Returns the object of a handle, or NULL if it was freed. Its owner may free it right afterwards. After 2^31 lives of
    /// its slot a handle becomes valid again.
    pub fn kolk_ipc_get(pool: *const kolk_ipc, handle: kolk_handle) -> *mut c_void;
    /// Is this the start of a live object? And: does this process own it? Any pointer is allowed.
    pub fn kolk_ipc_is_live(pool: *const kolk_ipc, object: *const c_void) -> bool;
    pub fn kolk_ipc_is_owned(pool: *const kolk_ipc, object: *const c_void) -> bool;
    /// The number of live objects: exact while no process allocates or frees. O(slots that were ever used).
    pub fn kolk_ipc_count(pool: *const kolk_ipc) -> u32;
    pub fn kolk_ipc_each(pool: *const kolk_ipc) -> kolk_ipc_cursor;
    pub fn kolk_ipc_cursor_next(cursor: *mut kolk_ipc_cursor) -> *mut c_void;
    /// Writes the holders into an array of n, those that own the most objects first, and returns how many there are: 0 if
    /// there is no memory to count. A process without objects counts too. O(slots that were ever used + max_processes).
    pub fn kolk_ipc_holders(pool: *const kolk_ipc, holders: *mut kolk_ipc_holder, n: u32) -> u32;
    /// Counters, as for the other members. `peak` counts the slots that were ever used. `failed`, `waits` and `waiting` are
    /// those of this process.
    pub fn kolk_ipc_stats(pool: *const kolk_ipc, out: *mut kolk_stats);
    /// Checks the invariants of src/ipc/ipc.c, for tests; no process may be inside a call. Also false: there is no memory
    /// for it.
    pub fn kolk_ipc_is_valid(pool: *const kolk_ipc) -> bool;

    // kolk/resource.h
    /// Initialises a pool. It creates no resources; makers do, or the first borrow does. If the status is not KOLK_OK (the
    /// descriptor breaks a rule, KOLK_NO_MEMORY or KOLK_NO_THREAD), the pool is left all zero. init ignores the struct's
    /// previous contents: initialising a live pool again leaks it with its resources, its memory and its makers' work.
    pub fn kolk_resource_init(pool: *mut kolk_resource_pool, desc: *const kolk_resource_pool_desc) -> kolk_status;
    /// Ends a pool and leaves it all zero. If the pool is not closed yet, it is first closed with KOLK_NOW. A resource that
    /// is still lent then belongs to its borrower: giving it back is a bug, which is reported. No other thread may be inside
    /// a call. To call deinit in one of the pool's own functions is a bug of the caller (KOLK_IN_HOOK), and does nothing. It
    /// returns when none of these functions is running any more, so it waits for a create that does not give up. (Without a
    /// deinit, resources that are lent when the program exits are reported only with `sites`.)
    pub fn kolk_resource_deinit(pool: *mut kolk_resource_pool);
    /// For hot reload: replaces your functions, the context and the name, while other threads may use the pool. Resources
    /// and borrows stay; the new functions must be able to handle what the old ones have made. It returns when no old
    /// function is running any more, so it waits for a create that does not give up. Each function must be NULL if and only
    /// if it was NULL at the init, and the other members must be as they were at the init (`debug` is ignored). Otherwise
    /// changes nothing and returns KOLK_LAYOUT_CHANGED, or what init returns. In one of the pool's own functions it returns
    /// KOLK_IN_HOOK. KOLK_CLOSED: the pool is all zero.
    pub fn kolk_resource_rebind(pool: *mut kolk_resource_pool, desc: *const kolk_resource_pool_desc) -> kolk_status;
    /// Ends borrowing: every borrow that is waiting or is called later returns KOLK_CLOSED. Idle resources are destroyed
    /// now, and lent ones when they come back; close waits for both until the deadline. It interrupts your functions
    /// (kolk_resource_interrupt_fd). KOLK_OK: no resource is left. KOLK_TIMEOUT: some are still being created or destroyed,
    /// or are lent. Each lent one is reported as a KOLK_LEAK that names its borrower, if it was not reported before. In one
    /// of the pool's own functions, only KOLK_NOW is possible: another deadline returns KOLK_IN_HOOK, and does nothing. In a
    /// thread that has borrowed from the pool, call it only with KOLK_NOW.
    pub fn kolk_resource_close(pool: *mut kolk_resource_pool, deadline: kolk_deadline) -> kolk_status;
    /// Lends a resource: an idle one, or else the first one that comes back or is created. If a borrow ends before the
    /// resource that is being created for it is ready, the resource goes to the next waiter, or becomes idle.
    ///
    /// ```c
    /// KOLK_OK             the caller alone may use out->resource, until it gives it back
    /// KOLK_FULL           no resource is ready, or the pool is paused; only with the deadline KOLK_NOW, which never
    ///                     waits. If there is room, one is being created for the next borrow
    /// KOLK_TIMEOUT        no resource was ready until the deadline; the error states how many are in use, who has had
    ///                     one longest, and why the last create of the key failed, with its code
    /// KOLK_NOT_CREATED    create failed with error->final, and the key has no resource that could come back; out->error
    ///                     is create's error. With no_housekeeper: create failed
    /// KOLK_CLOSED         close was called
    /// KOLK_IN_HOOK        the borrow is in one of the pool's own functions, and would have to wait
    /// KOLK_FORKED         the pool belongs to the parent process
    /// KOLK_KEY_TOO_LONG, KOLK_NO_MEMORY
    ///
    /// ```
    /// If the status is not KOLK_OK, out-\>resource is NULL, and out-\>error has a sentence. If desc is NULL, there is no key,
    /// and the borrow waits for at most 30 s.
    pub fn kolk_resource_borrow(pool: *mut kolk_resource_pool, desc: *const kolk_borrow_desc, out: *mut kolk_borrowed) -> kolk_status;
    /// Ends a borrow. Does nothing with a borrow that is all zero or that failed. Sets the record's resource to NULL, but
    /// keeps its handle. So a second call is reported as KOLK_DOUBLE_FREE, even if another borrower has the resource by
    /// then. A borrow from another pool is reported as KOLK_WRONG_POOL.
    pub fn kolk_resource_give_back(pool: *mut kolk_resource_pool, borrow: *mut kolk_borrowed);
    /// Ends a borrow whose resource has turned out to be bad. Works like give_back, but destroys the resource.
    pub fn kolk_resource_discard(pool: *mut kolk_resource_pool, borrow: *mut kolk_borrowed);
    /// Ends a borrow, takes its resource out of the pool, and returns it: from now on it is the caller's, as after a deinit.
    /// None of the pool's functions is called for it, it does not count towards max, and the pool may create another one.
    /// Returns NULL where give_back does nothing or reports a bug.
    pub fn kolk_resource_detach(pool: *mut kolk_resource_pool, borrow: *mut kolk_borrowed) -> *mut c_void;
    /// For event loops: returns a file descriptor (eventfd) to poll after a borrow with KOLK_NOW has returned KOLK_FULL. It
    /// becomes readable when the same borrow may succeed, or when the pool is closed, and stays readable until a borrow
    /// returns KOLK_FULL again. Several loops may poll it, each for its own keys. When a key for which a borrow returned
    /// KOLK_FULL has changed, the descriptor stays readable until that key is borrowed again, for at most half a second;
    /// after that it becomes readable again from time to time. If a loop borrows several times in a row, that many resources
    /// are created at the same time, up to max_creating. After a failed create, the next borrow of that key with KOLK_NOW
    /// that finds no resource returns KOLK_NOT_CREATED, once. With no_housekeeper, from the first call of this function on,
    /// borrows with KOLK_NOW don't create resources: kolk_resource_tick does it for them. The descriptor belongs to the
    /// pool; don't read from it. Returns -1 if the system has no descriptor left, or is not Linux.
    pub fn kolk_resource_fd(pool: *mut kolk_resource_pool) -> c_int;
    /// Replaces all present resources, for example after a failover or a change of credentials. Idle ones are destroyed now,
    /// others when they come back. A running create is interrupted (kolk_resource_interrupt_fd). If it makes a resource
    /// nevertheless, that resource is destroyed, and its borrower gets another one.
    pub fn kolk_resource_evict(pool: *mut kolk_resource_pool);
    /// The same, but only once for all borrowers that notice the same trouble. It evicts, and returns true, only if the
    /// resource of this generation (borrow.generation) was created since the last evict. Otherwise the present resources are
    /// newer than the trouble, or there is none: after a borrow that failed.
    pub fn kolk_resource_evict_generation(pool: *mut kolk_resource_pool, generation: u32) -> bool;
    /// The same for each resource for which `wants` returns true; returns how many. `wants` is called once per resource,
    /// without any lock held, but not for resources that are being created. If in_use is true, it may compare the pointer
    /// `resource`, but not access the resource.
    pub fn kolk_resource_evict_if(pool: *mut kolk_resource_pool, wants: Option<unsafe extern "C" fn(key: *const c_char, resource: *const c_void, in_use: bool, context: *mut c_void) -> bool>, context: *mut c_void) -> u32;
    /// Between pause and resume borrows wait, as if all resources were in use. Lent resources may come back.
    pub fn kolk_resource_pause(pool: *mut kolk_resource_pool);
    pub fn kolk_resource_resume(pool: *mut kolk_resource_pool);
    pub fn kolk_resource_resize(pool: *mut kolk_resource_pool, max: u32) -> kolk_status;
    /// Does the makers' work for this pool once: destroys resources that are too old or idle for too long, validates for
    /// keepalive, creates resources up to min_idle (after a failed create only after the pause that create has), and reports
    /// leaks. It begins no step after the deadline, which is also passed to create and validate; with KOLK_NOW it does one
    /// step. To call it in one of the pool's own functions is a bug of the caller (KOLK_IN_HOOK), and does nothing.
    pub fn kolk_resource_tick(pool: *mut kolk_resource_pool, deadline: kolk_deadline);
    /// For create, validate and destroy functions that wait: returns a file descriptor to poll in addition to their own. It
    /// becomes readable when the result of the call is no longer wanted, because the pool was closed, or because an evict
    /// came during a create. The function may then give up: create and validate return false, and destroy releases the
    /// resource without waiting for its peer. So close, deinit and evict need not wait for a peer. The descriptor belongs to
    /// kolk; don't read from it, and get it anew in each call. Returns -1 if the caller is not one of kolk's threads, or if
    /// the system has no descriptor left.
    pub fn kolk_resource_interrupt_fd() -> c_int;
    /// Returns whether that descriptor is readable, for functions that don't poll.
    pub fn kolk_resource_is_interrupted() -> bool;
    pub fn kolk_resource_stats(pool: *const kolk_resource_pool, out: *mut kolk_resource_pool_stats);
    /// Checks every invariant of src/resource/resource.c, for tests.
    pub fn kolk_resource_is_valid(pool: *const kolk_resource_pool) -> bool;

    // kolk/shared.h
    /// If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the pool is left all zero.
    pub fn kolk_shared_init(pool: *mut kolk_shared, desc: *const kolk_shared_desc) -> kolk_status;
    /// For hot reload, as kolk_pool_rebind: replaces the hooks, context and name. The other members must be 0, or as they
    /// were at the init (capacity may be less than the pool has now), and the pool must have a reset hook, and a setup or
    /// teardown hook, if and only if it had one at the init. Otherwise changes nothing and returns KOLK_STRUCT_CHANGED,
    /// KOLK_LAYOUT_CHANGED, KOLK_IN_HOOK or KOLK_MOVED. Locals stay usable, but no thread may be inside a call meanwhile.
    pub fn kolk_shared_rebind(pool: *mut kolk_shared, desc: *const kolk_shared_desc) -> kolk_status;
    /// Call it when no thread uses the pool any more, and no local will be used again. Runs reset for each live object and
    /// teardown for each slot that is set up, releases the memory, and leaves the pool all zero. (A later alloc or free
    /// through one of its locals is reported as KOLK_NO_LOCAL. To make this possible, the last 64 pools that had locals of
    /// running threads leave a few pages behind. A local of an earlier pool accesses memory that is gone.)
    pub fn kolk_shared_deinit(pool: *mut kolk_shared);
    /// Makes a local for the calling thread, which lasts until this thread ends or deinits it. A thread may have several
    /// locals. KOLK_TOO_MANY_THREADS: there are already max_threads locals. On Linux and Windows, threads that have ended
    /// without a deinit do not count: their free slots are reclaimed now. KOLK_NO_LOCAL: the pool is all zero. After either
    /// status the local is all zero, and alloc returns NULL. Never copy a local: both copies would hand out the same
    /// slots.
    pub fn kolk_shared_local_init(local: *mut kolk_shared_local, pool: *mut kolk_shared) -> kolk_status;
    /// Returns the calling thread's own local, for code that has no place to keep one. It is made by the first call, and is
    /// deinitialised when the thread ends. A call takes some nanoseconds, so use the result for many objects. Returns NULL
    /// if there are already max_threads locals, or if the process has more such pools than the system has keys for
    /// thread-specific data (1,024 on Linux).
    pub fn kolk_shared_local_of_thread(pool: *mut kolk_shared) -> *mut kolk_shared_local;
    /// Returns the local's free slots to the depot, and leaves the local all zero. Its objects stay alive. Takes a lock for
    /// a moment, as init does.
    pub fn kolk_shared_local_deinit(local: *mut kolk_shared_local);
    /// Returns the local's free slots to the depot. Call it before the thread sleeps for long. Lock-free.
    pub fn kolk_shared_local_flush(local: *mut kolk_shared_local);
    /// Returns an object, or NULL: see Capacity above. Lock-free.
    pub fn kolk_shared_alloc(local: *mut kolk_shared_local) -> *mut c_void;
    /// The same, but waits for an object until the deadline, and then returns NULL. With KOLK_NOW it works like
    /// kolk_shared_alloc. Waiting threads are served in order of arrival; an alloc that does not wait may overtake them.
    /// Only an object, the deadline, or kolk_shared_shutdown ends a wait; pthread_cancel does not. If the program uses
    /// deferred free, go offline before waiting: otherwise the awaited slots may be waiting for this thread. (Once a second,
    /// one of the waiters checks whether they wait for a thread that has ended without a deinit.) To limit the number of
    /// objects exactly, use a pool without caches, because a pool with caches can have more objects than its capacity.
    pub fn kolk_shared_alloc_wait(local: *mut kolk_shared_local, deadline: kolk_deadline) -> *mut c_void;
    /// Frees an object of the pool; any thread may have allocated it. Its handles are stale from now on. NULL does nothing.
    /// Anything else is a bug of the caller and is reported: a double free, or a pointer that is not from this pool or is
    /// not the start of an object. If two threads free the same object at the very same moment, it can happen that neither
    /// free is reported; the slot is then handed out twice. With `.exact`, one of them is always reported; this costs some
    /// nanoseconds per free. Lock-free.
    pub fn kolk_shared_free(local: *mut kolk_shared_local, object: *mut c_void);
    /// Allocates up to n objects and returns how many. If these are fewer than n, the next kolk_shared_alloc would have
    /// returned NULL: see Capacity. Does not wait. Without setup, teardown and the debug mode, this takes the free slots of
    /// whole words of the depot without moving them through the local's cache. For many objects this costs about two thirds
    /// of n single calls, and a tenth in a pool without caches. Otherwise it is a loop. Lock-free.
    pub fn kolk_shared_alloc_n(local: *mut kolk_shared_local, objects: *mut *mut c_void, n: u32) -> u32;
    /// Frees n objects of the pool, in the order of the array, each as kolk_shared_free does; NULL entries are skipped. A
    /// pointer that kolk_shared_free would refuse is the same bug of the caller here, and so is one that is in the array
    /// twice: it is reported, and the others are freed all the same. (If the failure handler jumps out, the objects behind
    /// it stay alive.) The array is not changed. Without a reset hook and the debug mode, slots that are neighbours in the
    /// array and in the pool go to the depot together. So for more objects than `cache`, and in pools without caches, this
    /// costs less than n single calls, if objects are freed in about the order in which they were allocated. Waiting
    /// threads are served at the end. Otherwise it is a loop. Lock-free.
    pub fn kolk_shared_free_n(local: *mut kolk_shared_local, objects: *const *mut c_void, n: u32);
    /// Frees all objects at once, also those that wait for their deferred free, and makes all handles stale. Call it while
    /// no other thread uses the pool or its objects, for example between two levels, and order it before what these threads
    /// do with the pool later. The locals stay usable. reset runs for each object, in the calling thread; an object that it
    /// allocates meanwhile may be freed too, or may stay. Cost: O(slots that were ever used): per object about a third of
    /// the time of free_n, and a tenth without handles. With hooks or the debug mode, it is one free for each object.
    pub fn kolk_shared_clear(pool: *mut kolk_shared);
    /// Ends waiting: every alloc_wait that is waiting or is called later returns NULL immediately, even if there is a free
    /// object. Only with the deadline KOLK_NOW does it still allocate. alloc and free still work, so that the program can
    /// finish its work.
    pub fn kolk_shared_shutdown(pool: *mut kolk_shared);
    /// Undoes a shutdown. A call that was waiting at the shutdown still returns NULL.
    pub fn kolk_shared_reopen(pool: *mut kolk_shared);
    /// Frees an object as kolk_shared_free does: for handles, `count` and is_live it is gone. But its contents stay, and its
    /// slot becomes free only after every online local, including this one, has called quiesce, and at the latest when each
    /// has done so three times. Until then the slot counts as alive (see Capacity). Objects that it points to are not freed.
    /// O(1), one or two atomic operations. Lock-free.
    pub fn kolk_shared_free_later(local: *mut kolk_shared_local, object: *mut c_void);
    /// States that the calling thread holds no pointers to objects that any thread may have passed to free_later. This costs
    /// two loads if no slot is waiting to become free. Otherwise it also reads each local, and once per epoch costs O(slots
    /// / 4096), plus the slots that become free. Lock-free; but slots become free only if all threads keep calling it.
    /// (Every 1024th time that a thread finds another thread behind, it checks under a lock whether that thread has ended
    /// without a deinit.)
    pub fn kolk_shared_quiesce(local: *mut kolk_shared_local);
    /// offline states that the thread holds no such pointers until it calls online. Call it before the thread blocks. A new
    /// local is online. Lock-free.
    pub fn kolk_shared_offline(local: *mut kolk_shared_local);
    pub fn kolk_shared_online(local: *mut kolk_shared_local);
    /// Returns the handle of a live object. Any other pointer is a bug of the caller; the result is then the null handle.
    pub fn kolk_shared_handle_of(pool: *const kolk_shared, object: *const c_void) -> kolk_handle;
    /// Returns the object of a handle, or NULL if it was freed. Another thread may free the object right afterwards: the
    /// program must make sure that none does while this thread uses it. After 2^31 lives of its slot a handle becomes valid
    /// again.
    pub fn kolk_shared_get(pool: *const kolk_shared, handle: kolk_handle) -> *mut c_void;
    /// Is this the start of a live object? Any pointer is allowed.
    pub fn kolk_shared_is_live(pool: *const kolk_shared, object: *const c_void) -> bool;
    /// The number of live objects: exact while no thread allocates or frees, otherwise approximate. O(slots / 64).
    pub fn kolk_shared_count(pool: *const kolk_shared) -> u32;
    pub fn kolk_shared_each(pool: *const kolk_shared) -> kolk_shared_cursor;
    pub fn kolk_shared_cursor_next(cursor: *mut kolk_shared_cursor) -> *mut c_void;
    /// `capacity` and `max_capacity` count objects, as in the descriptor; they do not include the pool's additional slots.
    /// `peak` is an upper bound, because it counts slots in magazines too; it exceeds `capacity` only if more objects are
    /// alive. `waiting` is the number of threads in alloc_wait now, and `waits` the number of calls that have waited.
    pub fn kolk_shared_stats(pool: *const kolk_shared, out: *mut kolk_stats);
    /// Checks every invariant of src/shared/shared.c, for tests; no thread may allocate or free meanwhile.
    pub fn kolk_shared_is_valid(pool: *const kolk_shared) -> bool;

    // kolk/slotmap.h
    /// Initialises the map. If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the map is left
    /// all zero.
    pub fn kolk_slotmap_init(map: *mut kolk_slotmap, desc: *const kolk_slotmap_desc) -> kolk_status;
    /// Removes all objects (see on_remove), releases the memory, and leaves the map all zero.
    pub fn kolk_slotmap_deinit(map: *mut kolk_slotmap);
    /// For hot reload, as kolk_pool_rebind: replaces the hooks, context and name. The other members must be 0, or as they
    /// were at the init (capacity may be less than the map has now, and memory_size any that is enough for the map).
    /// Otherwise changes nothing and returns KOLK_STRUCT_CHANGED, KOLK_LAYOUT_CHANGED, KOLK_IN_HOOK or KOLK_MOVED.
    pub fn kolk_slotmap_rebind(map: *mut kolk_slotmap, desc: *const kolk_slotmap_desc) -> kolk_status;
    /// Returns how many bytes of the caller's memory a map of desc-\>capacity objects needs. It may be called before any
    /// init. Returns 0 if the descriptor is bad; only size, alignment and capacity are checked.
    pub fn kolk_slotmap_memory_size(desc: *const kolk_slotmap_desc) -> usize;
    /// Returns a new object, the last of the array, and stores its handle in \*out (out may be NULL). If the map would be
    /// full otherwise, the object lies in a hole (see remove_in_place). If the map is full and cannot grow, returns NULL and
    /// stores the null handle.
    pub fn kolk_slotmap_add(map: *mut kolk_slotmap, out: *mut kolk_handle) -> *mut c_void;
    /// Removes the object of a handle; the last object moves to its place. If get would return NULL, returns false and does
    /// nothing, so a second removal is harmless.
    pub fn kolk_slotmap_remove(map: *mut kolk_slotmap, handle: kolk_handle) -> bool;
    /// The same for the object at this place of the array. Returns false if the array has no such place.
    pub fn kolk_slotmap_remove_at(map: *mut kolk_slotmap, index: u32) -> bool;
    /// Ends the object's life as `remove` does, but nothing moves, so all pointers stay valid: its place is a hole. `at`
    /// returns NULL for a hole, and KOLK_EACH skips it; `count`, `available` and a loop over the plain array include it.
    /// `settle` closes all holes: the last object moves into each. So pointers hold within a frame:
    ///
    /// ```c
    /// KOLK_EACH (bodies, body, &map)
    ///     if (is_dead(body)) bodies_remove_in_place(&map, bodies_handle_of(&map, body));
    /// ...                                                     // no object has moved
    /// bodies_settle(&map);                                    // the array is packed again
    ///
    /// ```
    /// `settle` is O(holes), with at most one move for each. A `remove`, `clear`, `sort` and `restore` close all holes too;
    /// so a walk should not use both kinds of removal. While there are holes, no snapshot is possible.
    pub fn kolk_slotmap_remove_in_place(map: *mut kolk_slotmap, handle: kolk_handle) -> bool;
    pub fn kolk_slotmap_settle(map: *mut kolk_slotmap);
    /// Removes all objects.
    pub fn kolk_slotmap_clear(map: *mut kolk_slotmap);
    /// Returns the object, or NULL if this handle is null, stale, forged, or from another map or pool. It never returns a
    /// different object, within the limits of tags (see kolk_pool_get) and of generations: a slot that has had 2^32 - 1
    /// objects is used again once the map would otherwise be full, and its oldest handles then become valid again.
    pub fn kolk_slotmap_get(map: *const kolk_slotmap, handle: kolk_handle) -> *mut c_void;
    /// The array of kolk_slotmap_count objects and holes, stride bytes apart (in a typed map, sizeof(T)).
    pub fn kolk_slotmap_objects(map: *const kolk_slotmap) -> *mut c_void;
    pub fn kolk_slotmap_count(map: *const kolk_slotmap) -> u32;
    /// How many objects can be added without growing.
    pub fn kolk_slotmap_available(map: *const kolk_slotmap) -> u32;
    /// Returns the handle of an object of this map. Any other pointer is a bug of the caller; the result is then the null
    /// handle.
    pub fn kolk_slotmap_handle_of(map: *const kolk_slotmap, object: *const c_void) -> kolk_handle;
    /// Returns an object's place, from 0: the object is objects\[place\]. Any other pointer is a bug of the caller; the result
    /// is then UINT32_MAX. This is for arrays that are indexed by place and that on_move keeps up to date.
    pub fn kolk_slotmap_index(map: *const kolk_slotmap, object: *const c_void) -> u32;
    /// Returns the object at a place, or NULL if index \>= count or there is a hole.
    pub fn kolk_slotmap_at(map: *const kolk_slotmap, index: u32) -> *mut c_void;
    /// Returns the slot of a handle's object, or UINT32_MAX if get would return NULL. An object keeps its slot for life;
    /// slots are below max_capacity. This is for arrays that are indexed by slot: moves do not affect them. Initialise the
    /// element when you add the object:
    ///
    /// ```c
    /// float health[1000];
    /// health[bodies_slot(&map, handle)] = 100;
    /// ```
    pub fn kolk_slotmap_slot(map: *const kolk_slotmap, handle: kolk_handle) -> u32;
    /// Sorts the objects in place, by the sign of what `compare` returns. Equal objects keep their order, and all handles
    /// stay valid. Makes O(n log n) comparisons and at most one move per object; if the objects are already sorted, O(n)
    /// comparisons and no move. `compare` is called with objects of this map. In it, handle_of and `index` take O(slots).
    /// Later adds and removals don't keep the order.
    pub fn kolk_slotmap_sort(map: *mut kolk_slotmap, compare: Option<unsafe extern "C" fn(a: *const c_void, b: *const c_void, context: *mut c_void) -> c_int>, context: *mut c_void);
    pub fn kolk_slotmap_each(map: *const kolk_slotmap) -> kolk_slotmap_cursor;
    pub fn kolk_slotmap_cursor_next(cursor: *mut kolk_slotmap_cursor) -> *mut c_void;
    /// Returns the size of the block for the map's present state, in bytes. Returns 0 if no snapshot is possible, because
    /// the map has the hook `move` (its objects cannot be copied as bytes), has holes, or one of its hooks is running.
    pub fn kolk_slotmap_snapshot_size(map: *const kolk_slotmap) -> usize;
    /// Writes the block and returns its size. Returns 0 if no snapshot is possible, or if `size` is below
    /// kolk_slotmap_snapshot_size.
    pub fn kolk_slotmap_snapshot(map: *const kolk_slotmap, block: *mut c_void, size: usize) -> usize;
    /// Replaces the map's state by the state in the block. The map may be a different one, in a different program, if it has
    /// the same object_size and tag (or name). If it has too few slots, it grows. The whole block is checked before anything
    /// changes, so it may come from an untrusted source. Only the bytes inside objects are not checked. Any status but
    /// KOLK_OK leaves the map as it was: KOLK_NO_SNAPSHOT (it has the hook `move`), KOLK_NOT_A_SNAPSHOT,
    /// KOLK_OTHER_BYTE_ORDER, KOLK_OTHER_VERSION, KOLK_DAMAGED_SNAPSHOT, KOLK_FORGED_SNAPSHOT, KOLK_OTHER_POOL (a different
    /// object_size or tag), KOLK_ABOVE_MAX, KOLK_OVER_BUDGET or KOLK_NO_MEMORY (it cannot provide all slots that the block
    /// has), or KOLK_IN_HOOK.
    pub fn kolk_slotmap_restore(map: *mut kolk_slotmap, block: *const c_void, size: usize) -> kolk_status;
    /// The same for a block whose objects have another size or meaning, such as one that an older version of the program has
    /// saved: calls `convert` for each object, in the order of places. The object is all zero; `saved` are its `saved_size`
    /// bytes of the block, which are not aligned, so memcpy them into the old struct. The block does not state what its
    /// objects mean: save a version beside it if the size does not tell. convert is not called before the whole block is
    /// checked. NULL: the objects are copied, and must have the same size.
    pub fn kolk_slotmap_restore_converted(map: *mut kolk_slotmap, block: *const c_void, size: usize, convert: Option<unsafe extern "C" fn(object: *mut c_void, saved: *const c_void, saved_size: usize, context: *mut c_void)>, context: *mut c_void) -> kolk_status;
    /// A hash of the map's state, by which two peers of a game notice that their simulations differ. It covers what a
    /// snapshot covers: the objects and their places, and the slots with their generations and their order. `hash` returns
    /// the hash of one object, so that padding and pointers can be left out; it must not change the map. NULL: all bytes of
    /// the object count, in the machine's byte order. The same kolk gives the same hash on every machine; another version
    /// may give another one. Returns 0 inside a hook, and while there are holes. O(slots that ever had an object), plus the
    /// bytes of the objects.
    pub fn kolk_slotmap_hash(map: *mut kolk_slotmap, hash: Option<unsafe extern "C" fn(object: *const c_void, context: *mut c_void) -> u64>, context: *mut c_void) -> u64;
    /// Raises the capacity to this many objects now, so that later adds need not ask the system for memory, nor the budget.
    /// After KOLK_ABOVE_MAX, KOLK_OVER_BUDGET or KOLK_NO_MEMORY nothing has changed.
    pub fn kolk_slotmap_reserve(map: *mut kolk_slotmap, capacity: u32) -> kolk_status;
    /// Returns to the system all pages that lie wholly behind the last object. Does nothing on the caller's memory. Returns
    /// the number of bytes released, as far as the system reports them. Capacity, objects and handles do not change. The
    /// released places count towards the budget no longer: see Released in budget.h.
    pub fn kolk_slotmap_trim(map: *mut kolk_slotmap) -> usize;
    /// All counters; O(1).
    pub fn kolk_slotmap_stats(map: *const kolk_slotmap, out: *mut kolk_stats);
    /// Checks every invariant of src/slotmap/slotmap.c; O(slots), for tests.
    pub fn kolk_slotmap_is_valid(map: *const kolk_slotmap) -> bool;

    // kolk/snapshot.h
    /// Writes what makes `now` out of `base`, and returns its size in bytes: about what has changed, and 56 bytes. Objects
    /// of pools are compared with those in the same slots, so births and deaths cost no more than their own objects; those
    /// of slot maps with those at the same places. (A pool without free slots has no order of reuse in its snapshot. So its
    /// first free slot adds 4 bytes a slot.) Returns 0 if `room` is too small; now_size + 96 always suffices. The delta must
    /// not overlap the two. A base of size 0 may be NULL.
    pub fn kolk_snapshot_delta(base: *const c_void, base_size: usize, now: *const c_void, now_size: usize, delta: *mut c_void, room: usize) -> usize;
    /// Makes the same `now` again at `block`, which must not overlap the others. \*size is the room there, in bytes, and
    /// becomes the size of the block. KOLK_NO_ROOM: the block needs more, and \*size says how much. KOLK_OTHER_BASE: the
    /// delta was made against other bytes. KOLK_NOT_A_SNAPSHOT, KOLK_OTHER_BYTE_ORDER, KOLK_OTHER_VERSION,
    /// KOLK_DAMAGED_SNAPSHOT, KOLK_FORGED_SNAPSHOT: as for a restore. After an error, what is at `block` is of no use.
    pub fn kolk_snapshot_apply(base: *const c_void, base_size: usize, delta: *const c_void, delta_size: usize, block: *mut c_void, size: *mut usize) -> kolk_status;
    /// Saves these bytes in a file, which replaces an older one of this name as a whole: it is written and flushed to the
    /// disk under another name in the same folder (path.new1), and then renamed. If the program or the system crashes,
    /// `path` is the old file or the new one, never a part. What crashes leave under the other names (path.new1 to
    /// path.new100), you may delete; once there are 100, saves fail (EEXIST). The old file's permissions stay, but not an
    /// owner other than the program's. A symbolic link still leads to the file. KOLK_NOT_SAVED: see errno; the old file is
    /// unchanged, unless the last step has failed, the flush of the folder: then the new file is complete, but may be gone
    /// after a crash of the system. KOLK_NO_MEMORY: nothing has changed. Not in freestanding builds.
    pub fn kolk_snapshot_save(path: *const c_char, block: *const c_void, size: usize) -> kolk_status;
    /// Loads what kolk_snapshot_save has written, as kolk_snapshot_apply does: \*size is the room, then the size; to learn
    /// it, call with room 0 first, which reads the file too. KOLK_NO_FILE: there is none, as before the first save.
    /// KOLK_NOT_READ: see errno. KOLK_NOT_A_SNAPSHOT, KOLK_DAMAGED_SNAPSHOT and the others: it is not such a file, or has
    /// been changed. Not in freestanding builds.
    pub fn kolk_snapshot_load(path: *const c_char, block: *mut c_void, size: *mut usize) -> kolk_status;
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_away_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_debug {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_depot_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_fixed_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_heap_inside_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_heap_root_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_ipc_block_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_ipc_queue_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_keeper_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_pool_options_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_removal_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_resource_inside_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_shared_inside_ {
    inside: [u8; 0],
}

/// Known only to kolk itself.
#[repr(C)]
pub struct kolk_waiter_ {
    inside: [u8; 0],
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::{align_of, size_of};
    assert!(size_of::<kolk_handle>() == 8 && align_of::<kolk_handle>() == 8);
    assert!(size_of::<kolk_life>() == 32 && align_of::<kolk_life>() == 8);
    assert!(size_of::<kolk_deadline>() == 8 && align_of::<kolk_deadline>() == 8);
    assert!(size_of::<kolk_wait_queue_>() == 16 && align_of::<kolk_wait_queue_>() == 8);
    assert!(size_of::<kolk_stats>() == 120 && align_of::<kolk_stats>() == 8);
    assert!(size_of::<kolk_failure>() == 120 && align_of::<kolk_failure>() == 8);
    assert!(size_of::<kolk_profiler>() == 24 && align_of::<kolk_profiler>() == 8);
    assert!(size_of::<kolk_budget>() == 48 && align_of::<kolk_budget>() == 8);
    assert!(size_of::<kolk_bytemap_view>() == 80 && align_of::<kolk_bytemap_view>() == 8);
    assert!(size_of::<kolk_bytemap>() == 136 && align_of::<kolk_bytemap>() == 8);
    assert!(size_of::<kolk_bytemap_difference>() == 20 && align_of::<kolk_bytemap_difference>() == 4);
    assert!(size_of::<kolk_bytemap_region>() == 24 && align_of::<kolk_bytemap_region>() == 8);
    assert!(size_of::<kolk_pool_full>() == 56 && align_of::<kolk_pool_full>() == 8);
    assert!(size_of::<kolk_pool_desc>() == 176 && align_of::<kolk_pool_desc>() == 8);
    assert!(size_of::<kolk_cursor>() == 88 && align_of::<kolk_cursor>() == 8);
    assert!(size_of::<kolk_age_cursor>() == 40 && align_of::<kolk_age_cursor>() == 8);
    assert!(size_of::<kolk_slot_>() == 4 && align_of::<kolk_slot_>() == 4);
    assert!(size_of::<kolk_age_>() == 16 && align_of::<kolk_age_>() == 8);
    assert!(size_of::<kolk_rank_>() == 16 && align_of::<kolk_rank_>() == 8);
    assert!(size_of::<kolk_worn_>() == 16 && align_of::<kolk_worn_>() == 4);
    assert!(size_of::<kolk_tick_>() == 20 && align_of::<kolk_tick_>() == 4);
    assert!(size_of::<kolk_pool>() == 464 && align_of::<kolk_pool>() == 8);
    assert!(size_of::<kolk_queue_desc>() == 48 && align_of::<kolk_queue_desc>() == 8);
    assert!(size_of::<kolk_queue_end_>() == 256 && align_of::<kolk_queue_end_>() == 8);
    assert!(size_of::<kolk_queue>() == 640 && align_of::<kolk_queue>() == 8);
    assert!(size_of::<kolk_heap_class>() == 32 && align_of::<kolk_heap_class>() == 8);
    assert!(size_of::<kolk_heap_desc>() == 88 && align_of::<kolk_heap_desc>() == 8);
    assert!(size_of::<kolk_heap>() == 200 && align_of::<kolk_heap>() == 8);
    assert!(size_of::<kolk_heap_class_stats>() == 136 && align_of::<kolk_heap_class_stats>() == 8);
    assert!(size_of::<kolk_ipc_desc>() == 80 && align_of::<kolk_ipc_desc>() == 8);
    assert!(size_of::<kolk_ipc>() == 272 && align_of::<kolk_ipc>() == 8);
    assert!(size_of::<kolk_ipc_cursor>() == 24 && align_of::<kolk_ipc_cursor>() == 8);
    assert!(size_of::<kolk_ipc_holder>() == 32 && align_of::<kolk_ipc_holder>() == 4);
    assert!(size_of::<kolk_error>() == 256 && align_of::<kolk_error>() == 4);
    assert!(size_of::<kolk_resource_event>() == 56 && align_of::<kolk_resource_event>() == 8);
    assert!(size_of::<kolk_resource_pool_desc>() == 152 && align_of::<kolk_resource_pool_desc>() == 8);
    assert!(size_of::<kolk_resource_pool>() == 16 && align_of::<kolk_resource_pool>() == 8);
    assert!(size_of::<kolk_borrowed>() == 280 && align_of::<kolk_borrowed>() == 8);
    assert!(size_of::<kolk_borrow_desc>() == 24 && align_of::<kolk_borrow_desc>() == 8);
    assert!(size_of::<kolk_times>() == 136 && align_of::<kolk_times>() == 8);
    assert!(size_of::<kolk_resource_pool_stats>() == 576 && align_of::<kolk_resource_pool_stats>() == 8);
    assert!(size_of::<kolk_shared_desc>() == 112 && align_of::<kolk_shared_desc>() == 8);
    assert!(size_of::<kolk_shared_local>() == 24 && align_of::<kolk_shared_local>() == 8);
    assert!(size_of::<kolk_magazine_>() == 96 && align_of::<kolk_magazine_>() == 8);
    assert!(size_of::<kolk_shared>() == 48 && align_of::<kolk_shared>() == 8);
    assert!(size_of::<kolk_shared_cursor>() == 24 && align_of::<kolk_shared_cursor>() == 8);
    assert!(size_of::<kolk_slotmap_desc>() == 104 && align_of::<kolk_slotmap_desc>() == 8);
    assert!(size_of::<kolk_cell_>() == 8 && align_of::<kolk_cell_>() == 4);
    assert!(size_of::<kolk_slotmap>() == 208 && align_of::<kolk_slotmap>() == 8);
    assert!(size_of::<kolk_slotmap_cursor>() == 24 && align_of::<kolk_slotmap_cursor>() == 8);
};

#[cfg(all(test, target_pointer_width = "64"))]
#[test]
fn offsets() {
    macro_rules! offset {
        ($type:ty, $field:ident) => {{
            let at = std::mem::MaybeUninit::<$type>::uninit();
            unsafe { std::ptr::addr_of!((*at.as_ptr()).$field) as usize - at.as_ptr() as usize }
        }};
    }
    let offsets = [
        ("kolk_handle.bits", offset!(kolk_handle, bits), 0),
        ("kolk_life.keep", offset!(kolk_life, keep), 0),
        ("kolk_life.setup", offset!(kolk_life, setup), 8),
        ("kolk_life.reset", offset!(kolk_life, reset), 16),
        ("kolk_life.teardown", offset!(kolk_life, teardown), 24),
        ("kolk_deadline.ns", offset!(kolk_deadline, ns), 0),
        ("kolk_wait_queue_.first", offset!(kolk_wait_queue_, first), 0),
        ("kolk_wait_queue_.last", offset!(kolk_wait_queue_, last), 8),
        ("kolk_stats.name", offset!(kolk_stats, name), 0),
        ("kolk_stats.kind", offset!(kolk_stats, kind), 8),
        ("kolk_stats.object_size", offset!(kolk_stats, object_size), 16),
        ("kolk_stats.stride", offset!(kolk_stats, stride), 24),
        ("kolk_stats.count", offset!(kolk_stats, count), 32),
        ("kolk_stats.peak", offset!(kolk_stats, peak), 36),
        ("kolk_stats.capacity", offset!(kolk_stats, capacity), 40),
        ("kolk_stats.max_capacity", offset!(kolk_stats, max_capacity), 44),
        ("kolk_stats.unused_bytes", offset!(kolk_stats, unused_bytes), 48),
        ("kolk_stats.bytes_reserved", offset!(kolk_stats, bytes_reserved), 56),
        ("kolk_stats.bytes_committed", offset!(kolk_stats, bytes_committed), 64),
        ("kolk_stats.failed", offset!(kolk_stats, failed), 72),
        ("kolk_stats.evictions", offset!(kolk_stats, evictions), 80),
        ("kolk_stats.wrong_pool", offset!(kolk_stats, wrong_pool), 88),
        ("kolk_stats.waits", offset!(kolk_stats, waits), 96),
        ("kolk_stats.worn_out", offset!(kolk_stats, worn_out), 104),
        ("kolk_stats.recycled", offset!(kolk_stats, recycled), 108),
        ("kolk_stats.waiting", offset!(kolk_stats, waiting), 112),
        ("kolk_stats.debug", offset!(kolk_stats, debug), 116),
        ("kolk_failure.rule", offset!(kolk_failure, rule), 0),
        ("kolk_failure.pool", offset!(kolk_failure, pool), 8),
        ("kolk_failure.object", offset!(kolk_failure, object), 16),
        ("kolk_failure.slot", offset!(kolk_failure, slot), 24),
        ("kolk_failure.sentence", offset!(kolk_failure, sentence), 32),
        ("kolk_failure.site", offset!(kolk_failure, site), 40),
        ("kolk_failure.alloc_site", offset!(kolk_failure, alloc_site), 48),
        ("kolk_failure.free_site", offset!(kolk_failure, free_site), 56),
        ("kolk_failure.stack", offset!(kolk_failure, stack), 64),
        ("kolk_failure.alloc_stack", offset!(kolk_failure, alloc_stack), 72),
        ("kolk_failure.free_stack", offset!(kolk_failure, free_stack), 80),
        ("kolk_failure.holders", offset!(kolk_failure, holders), 88),
        ("kolk_failure.handle", offset!(kolk_failure, handle), 96),
        ("kolk_failure.offset", offset!(kolk_failure, offset), 104),
        ("kolk_failure.count", offset!(kolk_failure, count), 108),
        ("kolk_failure.depth", offset!(kolk_failure, depth), 112),
        ("kolk_failure.sites", offset!(kolk_failure, sites), 116),
        ("kolk_failure.no_debug", offset!(kolk_failure, no_debug), 117),
        ("kolk_profiler.alloc", offset!(kolk_profiler, alloc), 0),
        ("kolk_profiler.free", offset!(kolk_profiler, free), 8),
        ("kolk_profiler.context", offset!(kolk_profiler, context), 16),
        ("kolk_budget.limit", offset!(kolk_budget, limit), 0),
        ("kolk_budget.mark", offset!(kolk_budget, mark), 8),
        ("kolk_budget.on_mark", offset!(kolk_budget, on_mark), 16),
        ("kolk_budget.context", offset!(kolk_budget, context), 24),
        ("kolk_budget.parent", offset!(kolk_budget, parent), 32),
        ("kolk_budget.used_", offset!(kolk_budget, used_), 40),
        ("kolk_bytemap_view.name", offset!(kolk_bytemap_view, name), 0),
        ("kolk_bytemap_view.object_list", offset!(kolk_bytemap_view, object_list), 8),
        ("kolk_bytemap_view.byte_map", offset!(kolk_bytemap_view, byte_map), 16),
        ("kolk_bytemap_view.object_size", offset!(kolk_bytemap_view, object_size), 24),
        ("kolk_bytemap_view.count", offset!(kolk_bytemap_view, count), 32),
        ("kolk_bytemap_view.max_count", offset!(kolk_bytemap_view, max_count), 36),
        ("kolk_bytemap_view.seeds", offset!(kolk_bytemap_view, seeds), 40),
        ("kolk_bytemap_view.debug", offset!(kolk_bytemap_view, debug), 48),
        ("kolk_bytemap_view.first_free", offset!(kolk_bytemap_view, first_free), 56),
        ("kolk_bytemap_view.cursor", offset!(kolk_bytemap_view, cursor), 64),
        ("kolk_bytemap_view.writable", offset!(kolk_bytemap_view, writable), 72),
        ("kolk_bytemap.object_list", offset!(kolk_bytemap, object_list), 0),
        ("kolk_bytemap.byte_map", offset!(kolk_bytemap, byte_map), 8),
        ("kolk_bytemap.count", offset!(kolk_bytemap, count), 16),
        ("kolk_bytemap.first_free", offset!(kolk_bytemap, first_free), 20),
        ("kolk_bytemap.used", offset!(kolk_bytemap, used), 24),
        ("kolk_bytemap.peak", offset!(kolk_bytemap, peak), 28),
        ("kolk_bytemap.bound", offset!(kolk_bytemap, bound), 32),
        ("kolk_bytemap.seeds", offset!(kolk_bytemap, seeds), 36),
        ("kolk_bytemap.object_size", offset!(kolk_bytemap, object_size), 40),
        ("kolk_bytemap.inverse", offset!(kolk_bytemap, inverse), 48),
        ("kolk_bytemap.shift", offset!(kolk_bytemap, shift), 56),
        ("kolk_bytemap.initialized_state", offset!(kolk_bytemap, initialized_state), 57),
        ("kolk_bytemap.attached", offset!(kolk_bytemap, attached), 58),
        ("kolk_bytemap.careful", offset!(kolk_bytemap, careful), 59),
        ("kolk_bytemap.number", offset!(kolk_bytemap, number), 60),
        ("kolk_bytemap.cursor", offset!(kolk_bytemap, cursor), 64),
        ("kolk_bytemap.failed", offset!(kolk_bytemap, failed), 72),
        ("kolk_bytemap.block", offset!(kolk_bytemap, block), 80),
        ("kolk_bytemap.block_size", offset!(kolk_bytemap, block_size), 88),
        ("kolk_bytemap.debug", offset!(kolk_bytemap, debug), 96),
        ("kolk_bytemap.known", offset!(kolk_bytemap, known), 104),
        ("kolk_bytemap.self", offset!(kolk_bytemap, self_), 112),
        ("kolk_bytemap.name", offset!(kolk_bytemap, name), 120),
        ("kolk_bytemap.max_count", offset!(kolk_bytemap, max_count), 128),
        ("kolk_bytemap.trap_full", offset!(kolk_bytemap, trap_full), 132),
        ("kolk_bytemap.read_only", offset!(kolk_bytemap, read_only), 133),
        ("kolk_bytemap.debug_flags", offset!(kolk_bytemap, debug_flags), 134),
        ("kolk_bytemap_difference.next", offset!(kolk_bytemap_difference, next), 0),
        ("kolk_bytemap_difference.index", offset!(kolk_bytemap_difference, index), 4),
        ("kolk_bytemap_difference.change", offset!(kolk_bytemap_difference, change), 8),
        ("kolk_bytemap_difference.before", offset!(kolk_bytemap_difference, before), 12),
        ("kolk_bytemap_difference.after", offset!(kolk_bytemap_difference, after), 16),
        ("kolk_bytemap_region.address", offset!(kolk_bytemap_region, address), 0),
        ("kolk_bytemap_region.bytes", offset!(kolk_bytemap_region, bytes), 8),
        ("kolk_bytemap_region.size", offset!(kolk_bytemap_region, size), 16),
        ("kolk_pool_full.on_full", offset!(kolk_pool_full, on_full), 0),
        ("kolk_pool_full.cost", offset!(kolk_pool_full, cost), 8),
        ("kolk_pool_full.ranked", offset!(kolk_pool_full, ranked), 16),
        ("kolk_pool_full.on_evict", offset!(kolk_pool_full, on_evict), 24),
        ("kolk_pool_full.overflow", offset!(kolk_pool_full, overflow), 32),
        ("kolk_pool_full.headroom", offset!(kolk_pool_full, headroom), 40),
        ("kolk_pool_full.low_water", offset!(kolk_pool_full, low_water), 44),
        ("kolk_pool_full.on_low", offset!(kolk_pool_full, on_low), 48),
        ("kolk_pool_desc.name", offset!(kolk_pool_desc, name), 0),
        ("kolk_pool_desc.object_size", offset!(kolk_pool_desc, object_size), 8),
        ("kolk_pool_desc.object_align", offset!(kolk_pool_desc, object_align), 16),
        ("kolk_pool_desc.capacity", offset!(kolk_pool_desc, capacity), 24),
        ("kolk_pool_desc.max_capacity", offset!(kolk_pool_desc, max_capacity), 28),
        ("kolk_pool_desc.reuse", offset!(kolk_pool_desc, reuse), 32),
        ("kolk_pool_desc.generations", offset!(kolk_pool_desc, generations), 36),
        ("kolk_pool_desc.tag", offset!(kolk_pool_desc, tag), 40),
        ("kolk_pool_desc.ages", offset!(kolk_pool_desc, ages), 44),
        ("kolk_pool_desc.pins", offset!(kolk_pool_desc, pins), 45),
        ("kolk_pool_desc.memory", offset!(kolk_pool_desc, memory), 48),
        ("kolk_pool_desc.memory_size", offset!(kolk_pool_desc, memory_size), 56),
        ("kolk_pool_desc.budget", offset!(kolk_pool_desc, budget), 64),
        ("kolk_pool_desc.full", offset!(kolk_pool_desc, full), 72),
        ("kolk_pool_desc.life", offset!(kolk_pool_desc, life), 128),
        ("kolk_pool_desc.context", offset!(kolk_pool_desc, context), 160),
        ("kolk_pool_desc.debug", offset!(kolk_pool_desc, debug), 168),
        ("kolk_cursor.states", offset!(kolk_cursor, states), 0),
        ("kolk_cursor.last", offset!(kolk_cursor, last), 8),
        ("kolk_cursor.next", offset!(kolk_cursor, next), 16),
        ("kolk_cursor.base", offset!(kolk_cursor, base), 24),
        ("kolk_cursor.pending", offset!(kolk_cursor, pending), 32),
        ("kolk_cursor.tail", offset!(kolk_cursor, tail), 40),
        ("kolk_cursor.left", offset!(kolk_cursor, left), 48),
        ("kolk_cursor.stride", offset!(kolk_cursor, stride), 56),
        ("kolk_cursor.more", offset!(kolk_cursor, more), 64),
        ("kolk_cursor.apart", offset!(kolk_cursor, apart), 72),
        ("kolk_cursor.from", offset!(kolk_cursor, from), 80),
        ("kolk_cursor.end", offset!(kolk_cursor, end), 84),
        ("kolk_age_cursor.pool", offset!(kolk_age_cursor, pool), 0),
        ("kolk_age_cursor.born", offset!(kolk_age_cursor, born), 8),
        ("kolk_age_cursor.last", offset!(kolk_age_cursor, last), 16),
        ("kolk_age_cursor.at", offset!(kolk_age_cursor, at), 24),
        ("kolk_age_cursor.next", offset!(kolk_age_cursor, next), 28),
        ("kolk_age_cursor.more", offset!(kolk_age_cursor, more), 32),
        ("kolk_slot_.index", offset!(kolk_slot_, index), 0),
        ("kolk_age_.older", offset!(kolk_age_, older), 0),
        ("kolk_age_.newer", offset!(kolk_age_, newer), 4),
        ("kolk_age_.born", offset!(kolk_age_, born), 8),
        ("kolk_rank_.price", offset!(kolk_rank_, price), 0),
        ("kolk_rank_.place", offset!(kolk_rank_, place), 8),
        ("kolk_rank_.slot", offset!(kolk_rank_, slot), 12),
        ("kolk_worn_.first", offset!(kolk_worn_, first), 0),
        ("kolk_worn_.last", offset!(kolk_worn_, last), 4),
        ("kolk_worn_.count", offset!(kolk_worn_, count), 8),
        ("kolk_worn_.recycled", offset!(kolk_worn_, recycled), 12),
        ("kolk_tick_.demand", offset!(kolk_tick_, demand), 0),
        ("kolk_tick_.provided", offset!(kolk_tick_, provided), 4),
        ("kolk_tick_.sweep", offset!(kolk_tick_, sweep), 8),
        ("kolk_tick_.peak", offset!(kolk_tick_, peak), 12),
        ("kolk_tick_.trims", offset!(kolk_tick_, trims), 16),
        ("kolk_pool.slots", offset!(kolk_pool, slots), 0),
        ("kolk_pool.states", offset!(kolk_pool, states), 8),
        ("kolk_pool.high", offset!(kolk_pool, high), 16),
        ("kolk_pool.top", offset!(kolk_pool, top), 24),
        ("kolk_pool.floor", offset!(kolk_pool, floor), 32),
        ("kolk_pool.inverse", offset!(kolk_pool, inverse), 40),
        ("kolk_pool.stride", offset!(kolk_pool, stride), 48),
        ("kolk_pool.free_bound", offset!(kolk_pool, free_bound), 52),
        ("kolk_pool.bound", offset!(kolk_pool, bound), 56),
        ("kolk_pool.tag", offset!(kolk_pool, tag), 60),
        ("kolk_pool.shift", offset!(kolk_pool, shift), 64),
        ("kolk_pool.levels", offset!(kolk_pool, levels), 65),
        ("kolk_pool.memory", offset!(kolk_pool, memory), 66),
        ("kolk_pool.in_hook", offset!(kolk_pool, in_hook), 67),
        ("kolk_pool.debug_flags", offset!(kolk_pool, debug_flags), 68),
        ("kolk_pool.low_reported", offset!(kolk_pool, low_reported), 70),
        ("kolk_pool.fresh", offset!(kolk_pool, fresh), 72),
        ("kolk_pool.aside", offset!(kolk_pool, aside), 76),
        ("kolk_pool.capacity", offset!(kolk_pool, capacity), 80),
        ("kolk_pool.first", offset!(kolk_pool, first), 84),
        ("kolk_pool.aside_floor", offset!(kolk_pool, aside_floor), 88),
        ("kolk_pool.quarantined", offset!(kolk_pool, quarantined), 92),
        ("kolk_pool.worn", offset!(kolk_pool, worn), 96),
        ("kolk_pool.order_floor", offset!(kolk_pool, order_floor), 112),
        ("kolk_pool.stack", offset!(kolk_pool, stack), 120),
        ("kolk_pool.holes", offset!(kolk_pool, holes), 128),
        ("kolk_pool.ages", offset!(kolk_pool, ages), 176),
        ("kolk_pool.ranks", offset!(kolk_pool, ranks), 184),
        ("kolk_pool.pins", offset!(kolk_pool, pins), 192),
        ("kolk_pool.ready", offset!(kolk_pool, ready), 200),
        ("kolk_pool.name", offset!(kolk_pool, name), 208),
        ("kolk_pool.object_size", offset!(kolk_pool, object_size), 216),
        ("kolk_pool.object_align", offset!(kolk_pool, object_align), 224),
        ("kolk_pool.max_capacity", offset!(kolk_pool, max_capacity), 232),
        ("kolk_pool.headroom", offset!(kolk_pool, headroom), 236),
        ("kolk_pool.low_water", offset!(kolk_pool, low_water), 240),
        ("kolk_pool.reuse", offset!(kolk_pool, reuse), 244),
        ("kolk_pool.generations", offset!(kolk_pool, generations), 248),
        ("kolk_pool.keep", offset!(kolk_pool, keep), 252),
        ("kolk_pool.ranked", offset!(kolk_pool, ranked), 253),
        ("kolk_pool.budget", offset!(kolk_pool, budget), 256),
        ("kolk_pool.on_full", offset!(kolk_pool, on_full), 264),
        ("kolk_pool.cost", offset!(kolk_pool, cost), 272),
        ("kolk_pool.on_evict", offset!(kolk_pool, on_evict), 280),
        ("kolk_pool.overflow", offset!(kolk_pool, overflow), 288),
        ("kolk_pool.on_low", offset!(kolk_pool, on_low), 296),
        ("kolk_pool.setup", offset!(kolk_pool, setup), 304),
        ("kolk_pool.reset", offset!(kolk_pool, reset), 312),
        ("kolk_pool.teardown", offset!(kolk_pool, teardown), 320),
        ("kolk_pool.context", offset!(kolk_pool, context), 328),
        ("kolk_pool.options", offset!(kolk_pool, options), 336),
        ("kolk_pool.debug", offset!(kolk_pool, debug), 344),
        ("kolk_pool.objects", offset!(kolk_pool, objects), 352),
        ("kolk_pool.block", offset!(kolk_pool, block), 360),
        ("kolk_pool.block_size", offset!(kolk_pool, block_size), 368),
        ("kolk_pool.failed", offset!(kolk_pool, failed), 376),
        ("kolk_pool.evictions", offset!(kolk_pool, evictions), 384),
        ("kolk_pool.births", offset!(kolk_pool, births), 392),
        ("kolk_pool.wrong_pool", offset!(kolk_pool, wrong_pool), 400),
        ("kolk_pool.peak", offset!(kolk_pool, peak), 404),
        ("kolk_pool.number", offset!(kolk_pool, number), 408),
        ("kolk_pool.ranking", offset!(kolk_pool, ranking), 412),
        ("kolk_pool.tick", offset!(kolk_pool, tick), 416),
        ("kolk_pool.held_back", offset!(kolk_pool, held_back), 436),
        ("kolk_pool.unlisted", offset!(kolk_pool, unlisted), 440),
        ("kolk_pool.counted", offset!(kolk_pool, counted), 444),
        ("kolk_pool.pinned", offset!(kolk_pool, pinned), 448),
        ("kolk_pool.away", offset!(kolk_pool, away), 456),
        ("kolk_queue_desc.name", offset!(kolk_queue_desc, name), 0),
        ("kolk_queue_desc.item_size", offset!(kolk_queue_desc, item_size), 8),
        ("kolk_queue_desc.capacity", offset!(kolk_queue_desc, capacity), 16),
        ("kolk_queue_desc.destroy", offset!(kolk_queue_desc, destroy), 24),
        ("kolk_queue_desc.move", offset!(kolk_queue_desc, r#move), 32),
        ("kolk_queue_desc.context", offset!(kolk_queue_desc, context), 40),
        ("kolk_queue_end_.ticket", offset!(kolk_queue_end_, ticket), 0),
        ("kolk_queue_end_.apart", offset!(kolk_queue_end_, apart), 8),
        ("kolk_queue_end_.failed", offset!(kolk_queue_end_, failed), 64),
        ("kolk_queue_end_.was_blocked", offset!(kolk_queue_end_, was_blocked), 68),
        ("kolk_queue_end_.in_vain", offset!(kolk_queue_end_, in_vain), 72),
        ("kolk_queue_end_.apart_again", offset!(kolk_queue_end_, apart_again), 76),
        ("kolk_queue_end_.asleep", offset!(kolk_queue_end_, asleep), 128),
        ("kolk_queue_end_.lock", offset!(kolk_queue_end_, lock), 132),
        ("kolk_queue_end_.fd", offset!(kolk_queue_end_, fd), 136),
        ("kolk_queue_end_.fd_called", offset!(kolk_queue_end_, fd_called), 140),
        ("kolk_queue_end_.waiters", offset!(kolk_queue_end_, waiters), 144),
        ("kolk_queue_end_.called", offset!(kolk_queue_end_, called), 160),
        ("kolk_queue_end_.waits", offset!(kolk_queue_end_, waits), 168),
        ("kolk_queue_end_.waiting", offset!(kolk_queue_end_, waiting), 176),
        ("kolk_queue_end_.apart_too", offset!(kolk_queue_end_, apart_too), 180),
        ("kolk_queue.cells", offset!(kolk_queue, cells), 0),
        ("kolk_queue.mask", offset!(kolk_queue, mask), 8),
        ("kolk_queue.stride", offset!(kolk_queue, stride), 16),
        ("kolk_queue.item_size", offset!(kolk_queue, item_size), 20),
        ("kolk_queue.copied", offset!(kolk_queue, copied), 24),
        ("kolk_queue.capacity", offset!(kolk_queue, capacity), 28),
        ("kolk_queue.number", offset!(kolk_queue, number), 32),
        ("kolk_queue.lock", offset!(kolk_queue, lock), 36),
        ("kolk_queue.ending", offset!(kolk_queue, ending), 40),
        ("kolk_queue.endings", offset!(kolk_queue, endings), 48),
        ("kolk_queue.bytes", offset!(kolk_queue, bytes), 64),
        ("kolk_queue.name", offset!(kolk_queue, name), 72),
        ("kolk_queue.destroy", offset!(kolk_queue, destroy), 80),
        ("kolk_queue.move", offset!(kolk_queue, r#move), 88),
        ("kolk_queue.context", offset!(kolk_queue, context), 96),
        ("kolk_queue.apart", offset!(kolk_queue, apart), 104),
        ("kolk_queue.ends", offset!(kolk_queue, ends), 128),
        ("kolk_heap_class.name", offset!(kolk_heap_class, name), 0),
        ("kolk_heap_class.size", offset!(kolk_heap_class, size), 8),
        ("kolk_heap_class.capacity", offset!(kolk_heap_class, capacity), 16),
        ("kolk_heap_class.max_capacity", offset!(kolk_heap_class, max_capacity), 20),
        ("kolk_heap_class.when_full", offset!(kolk_heap_class, when_full), 24),
        ("kolk_heap_desc.name", offset!(kolk_heap_desc, name), 0),
        ("kolk_heap_desc.limit", offset!(kolk_heap_desc, limit), 8),
        ("kolk_heap_desc.budget", offset!(kolk_heap_desc, budget), 16),
        ("kolk_heap_desc.debug", offset!(kolk_heap_desc, debug), 24),
        ("kolk_heap_desc.classes", offset!(kolk_heap_desc, classes), 32),
        ("kolk_heap_desc.n_classes", offset!(kolk_heap_desc, n_classes), 40),
        ("kolk_heap_desc.on_full", offset!(kolk_heap_desc, on_full), 48),
        ("kolk_heap_desc.context", offset!(kolk_heap_desc, context), 56),
        ("kolk_heap_desc.parent", offset!(kolk_heap_desc, parent), 64),
        ("kolk_heap_desc.memory", offset!(kolk_heap_desc, memory), 72),
        ("kolk_heap_desc.memory_size", offset!(kolk_heap_desc, memory_size), 80),
        ("kolk_heap.base", offset!(kolk_heap, base), 0),
        ("kolk_heap.id", offset!(kolk_heap, id), 8),
        ("kolk_heap.n_classes", offset!(kolk_heap, n_classes), 16),
        ("kolk_heap.place", offset!(kolk_heap, place), 20),
        ("kolk_heap.number", offset!(kolk_heap, number), 24),
        ("kolk_heap.class_shift", offset!(kolk_heap, class_shift), 28),
        ("kolk_heap.by_size", offset!(kolk_heap, by_size), 29),
        ("kolk_heap.by_quarter", offset!(kolk_heap, by_quarter), 94),
        ("kolk_heap.inside", offset!(kolk_heap, inside), 176),
        ("kolk_heap.root", offset!(kolk_heap, root), 184),
        ("kolk_heap.fixed", offset!(kolk_heap, fixed), 192),
        ("kolk_heap_class_stats.stats", offset!(kolk_heap_class_stats, stats), 0),
        ("kolk_heap_class_stats.asked", offset!(kolk_heap_class_stats, asked), 120),
        ("kolk_heap_class_stats.given", offset!(kolk_heap_class_stats, given), 128),
        ("kolk_ipc_desc.name", offset!(kolk_ipc_desc, name), 0),
        ("kolk_ipc_desc.object_size", offset!(kolk_ipc_desc, object_size), 8),
        ("kolk_ipc_desc.object_align", offset!(kolk_ipc_desc, object_align), 16),
        ("kolk_ipc_desc.capacity", offset!(kolk_ipc_desc, capacity), 24),
        ("kolk_ipc_desc.queues", offset!(kolk_ipc_desc, queues), 28),
        ("kolk_ipc_desc.queue_capacity", offset!(kolk_ipc_desc, queue_capacity), 32),
        ("kolk_ipc_desc.max_processes", offset!(kolk_ipc_desc, max_processes), 36),
        ("kolk_ipc_desc.version", offset!(kolk_ipc_desc, version), 40),
        ("kolk_ipc_desc.tag", offset!(kolk_ipc_desc, tag), 44),
        ("kolk_ipc_desc.orphans", offset!(kolk_ipc_desc, orphans), 48),
        ("kolk_ipc_desc.on_orphan", offset!(kolk_ipc_desc, on_orphan), 56),
        ("kolk_ipc_desc.context", offset!(kolk_ipc_desc, context), 64),
        ("kolk_ipc_desc.trap_full", offset!(kolk_ipc_desc, trap_full), 72),
        ("kolk_ipc_desc.unsealed", offset!(kolk_ipc_desc, unsealed), 73),
        ("kolk_ipc.slots", offset!(kolk_ipc, slots), 0),
        ("kolk_ipc.lives", offset!(kolk_ipc, lives), 8),
        ("kolk_ipc.block", offset!(kolk_ipc, block), 16),
        ("kolk_ipc.queues_at", offset!(kolk_ipc, queues_at), 24),
        ("kolk_ipc.rings", offset!(kolk_ipc, rings), 32),
        ("kolk_ipc.hints_end", offset!(kolk_ipc, hints_end), 40),
        ("kolk_ipc.inverse", offset!(kolk_ipc, inverse), 48),
        ("kolk_ipc.size", offset!(kolk_ipc, size), 56),
        ("kolk_ipc.stride", offset!(kolk_ipc, stride), 64),
        ("kolk_ipc.capacity", offset!(kolk_ipc, capacity), 68),
        ("kolk_ipc.tag", offset!(kolk_ipc, tag), 72),
        ("kolk_ipc.object_size", offset!(kolk_ipc, object_size), 76),
        ("kolk_ipc.queues", offset!(kolk_ipc, queues), 80),
        ("kolk_ipc.queue_capacity", offset!(kolk_ipc, queue_capacity), 84),
        ("kolk_ipc.ring_mask", offset!(kolk_ipc, ring_mask), 88),
        ("kolk_ipc.max_processes", offset!(kolk_ipc, max_processes), 92),
        ("kolk_ipc.number", offset!(kolk_ipc, number), 96),
        ("kolk_ipc.me", offset!(kolk_ipc, me), 100),
        ("kolk_ipc.forks", offset!(kolk_ipc, forks), 104),
        ("kolk_ipc.lock", offset!(kolk_ipc, lock), 108),
        ("kolk_ipc.recovering", offset!(kolk_ipc, recovering), 112),
        ("kolk_ipc.wrong_pool", offset!(kolk_ipc, wrong_pool), 116),
        ("kolk_ipc.fd", offset!(kolk_ipc, fd), 120),
        ("kolk_ipc.shift", offset!(kolk_ipc, shift), 124),
        ("kolk_ipc.read_only", offset!(kolk_ipc, read_only), 125),
        ("kolk_ipc.trap_full", offset!(kolk_ipc, trap_full), 126),
        ("kolk_ipc.corrupt", offset!(kolk_ipc, corrupt), 127),
        ("kolk_ipc.orphans", offset!(kolk_ipc, orphans), 128),
        ("kolk_ipc.file", offset!(kolk_ipc, file), 136),
        ("kolk_ipc.serial", offset!(kolk_ipc, serial), 144),
        ("kolk_ipc.seen", offset!(kolk_ipc, seen), 152),
        ("kolk_ipc.failed", offset!(kolk_ipc, failed), 160),
        ("kolk_ipc.waits", offset!(kolk_ipc, waits), 168),
        ("kolk_ipc.looked", offset!(kolk_ipc, looked), 176),
        ("kolk_ipc.waiting", offset!(kolk_ipc, waiting), 184),
        ("kolk_ipc.in_vain", offset!(kolk_ipc, in_vain), 188),
        ("kolk_ipc.page", offset!(kolk_ipc, page), 192),
        ("kolk_ipc.lock_kept", offset!(kolk_ipc, lock_kept), 200),
        ("kolk_ipc.name", offset!(kolk_ipc, name), 208),
        ("kolk_ipc.on_orphan", offset!(kolk_ipc, on_orphan), 216),
        ("kolk_ipc.context", offset!(kolk_ipc, context), 224),
        ("kolk_ipc.own_name", offset!(kolk_ipc, own_name), 232),
        ("kolk_ipc_cursor.pool", offset!(kolk_ipc_cursor, pool), 0),
        ("kolk_ipc_cursor.slot", offset!(kolk_ipc_cursor, slot), 8),
        ("kolk_ipc_cursor.end", offset!(kolk_ipc_cursor, end), 12),
        ("kolk_ipc_cursor.more", offset!(kolk_ipc_cursor, more), 16),
        ("kolk_ipc_holder.number", offset!(kolk_ipc_holder, number), 0),
        ("kolk_ipc_holder.pid", offset!(kolk_ipc_holder, pid), 4),
        ("kolk_ipc_holder.count", offset!(kolk_ipc_holder, count), 8),
        ("kolk_ipc_holder.queued", offset!(kolk_ipc_holder, queued), 12),
        ("kolk_ipc_holder.name", offset!(kolk_ipc_holder, name), 16),
        ("kolk_error.code", offset!(kolk_error, code), 0),
        ("kolk_error.text", offset!(kolk_error, text), 4),
        ("kolk_error.final", offset!(kolk_error, r#final), 255),
        ("kolk_resource_event.kind", offset!(kolk_resource_event, kind), 0),
        ("kolk_resource_event.pool", offset!(kolk_resource_event, pool), 8),
        ("kolk_resource_event.key", offset!(kolk_resource_event, key), 16),
        ("kolk_resource_event.who", offset!(kolk_resource_event, who), 24),
        ("kolk_resource_event.status", offset!(kolk_resource_event, status), 32),
        ("kolk_resource_event.ns", offset!(kolk_resource_event, ns), 40),
        ("kolk_resource_event.error", offset!(kolk_resource_event, error), 48),
        ("kolk_resource_pool_desc.name", offset!(kolk_resource_pool_desc, name), 0),
        ("kolk_resource_pool_desc.context", offset!(kolk_resource_pool_desc, context), 8),
        ("kolk_resource_pool_desc.create", offset!(kolk_resource_pool_desc, create), 16),
        ("kolk_resource_pool_desc.destroy", offset!(kolk_resource_pool_desc, destroy), 24),
        ("kolk_resource_pool_desc.validate", offset!(kolk_resource_pool_desc, validate), 32),
        ("kolk_resource_pool_desc.reset", offset!(kolk_resource_pool_desc, reset), 40),
        ("kolk_resource_pool_desc.max", offset!(kolk_resource_pool_desc, max), 48),
        ("kolk_resource_pool_desc.min_idle", offset!(kolk_resource_pool_desc, min_idle), 52),
        ("kolk_resource_pool_desc.max_creating", offset!(kolk_resource_pool_desc, max_creating), 56),
        ("kolk_resource_pool_desc.idle_timeout_ms", offset!(kolk_resource_pool_desc, idle_timeout_ms), 64),
        ("kolk_resource_pool_desc.max_lifetime_ms", offset!(kolk_resource_pool_desc, max_lifetime_ms), 72),
        ("kolk_resource_pool_desc.keepalive_ms", offset!(kolk_resource_pool_desc, keepalive_ms), 80),
        ("kolk_resource_pool_desc.validate_after_ms", offset!(kolk_resource_pool_desc, validate_after_ms), 88),
        ("kolk_resource_pool_desc.leak_after_ms", offset!(kolk_resource_pool_desc, leak_after_ms), 96),
        ("kolk_resource_pool_desc.warn_nested", offset!(kolk_resource_pool_desc, warn_nested), 104),
        ("kolk_resource_pool_desc.strict_order", offset!(kolk_resource_pool_desc, strict_order), 105),
        ("kolk_resource_pool_desc.create_timeout_ms", offset!(kolk_resource_pool_desc, create_timeout_ms), 112),
        ("kolk_resource_pool_desc.reuse", offset!(kolk_resource_pool_desc, reuse), 120),
        ("kolk_resource_pool_desc.look", offset!(kolk_resource_pool_desc, look), 124),
        ("kolk_resource_pool_desc.no_housekeeper", offset!(kolk_resource_pool_desc, no_housekeeper), 125),
        ("kolk_resource_pool_desc.log", offset!(kolk_resource_pool_desc, log), 128),
        ("kolk_resource_pool_desc.slow_borrow_ms", offset!(kolk_resource_pool_desc, slow_borrow_ms), 136),
        ("kolk_resource_pool_desc.debug", offset!(kolk_resource_pool_desc, debug), 144),
        ("kolk_resource_pool.inside", offset!(kolk_resource_pool, inside), 0),
        ("kolk_resource_pool.number", offset!(kolk_resource_pool, number), 8),
        ("kolk_borrowed.resource", offset!(kolk_borrowed, resource), 0),
        ("kolk_borrowed.handle", offset!(kolk_borrowed, handle), 8),
        ("kolk_borrowed.error", offset!(kolk_borrowed, error), 16),
        ("kolk_borrowed.generation", offset!(kolk_borrowed, generation), 272),
        ("kolk_borrow_desc.key", offset!(kolk_borrow_desc, key), 0),
        ("kolk_borrow_desc.deadline", offset!(kolk_borrow_desc, deadline), 8),
        ("kolk_borrow_desc.who", offset!(kolk_borrow_desc, who), 16),
        ("kolk_times.count", offset!(kolk_times, count), 0),
        ("kolk_times.sum_ns", offset!(kolk_times, sum_ns), 8),
        ("kolk_times.max_ns", offset!(kolk_times, max_ns), 16),
        ("kolk_times.p50_ns", offset!(kolk_times, p50_ns), 24),
        ("kolk_times.p90_ns", offset!(kolk_times, p90_ns), 32),
        ("kolk_times.p99_ns", offset!(kolk_times, p99_ns), 40),
        ("kolk_times.p999_ns", offset!(kolk_times, p999_ns), 48),
        ("kolk_times.at_most", offset!(kolk_times, at_most), 56),
        ("kolk_resource_pool_stats.name", offset!(kolk_resource_pool_stats, name), 0),
        ("kolk_resource_pool_stats.max", offset!(kolk_resource_pool_stats, max), 8),
        ("kolk_resource_pool_stats.in_use", offset!(kolk_resource_pool_stats, in_use), 12),
        ("kolk_resource_pool_stats.idle", offset!(kolk_resource_pool_stats, idle), 16),
        ("kolk_resource_pool_stats.creating", offset!(kolk_resource_pool_stats, creating), 20),
        ("kolk_resource_pool_stats.waiting", offset!(kolk_resource_pool_stats, waiting), 24),
        ("kolk_resource_pool_stats.peak", offset!(kolk_resource_pool_stats, peak), 28),
        ("kolk_resource_pool_stats.borrows", offset!(kolk_resource_pool_stats, borrows), 32),
        ("kolk_resource_pool_stats.full", offset!(kolk_resource_pool_stats, full), 40),
        ("kolk_resource_pool_stats.timeouts", offset!(kolk_resource_pool_stats, timeouts), 48),
        ("kolk_resource_pool_stats.failed", offset!(kolk_resource_pool_stats, failed), 56),
        ("kolk_resource_pool_stats.created", offset!(kolk_resource_pool_stats, created), 64),
        ("kolk_resource_pool_stats.create_failures", offset!(kolk_resource_pool_stats, create_failures), 72),
        ("kolk_resource_pool_stats.discarded", offset!(kolk_resource_pool_stats, discarded), 80),
        ("kolk_resource_pool_stats.invalid", offset!(kolk_resource_pool_stats, invalid), 88),
        ("kolk_resource_pool_stats.unclean", offset!(kolk_resource_pool_stats, unclean), 96),
        ("kolk_resource_pool_stats.expired", offset!(kolk_resource_pool_stats, expired), 104),
        ("kolk_resource_pool_stats.unused", offset!(kolk_resource_pool_stats, unused), 112),
        ("kolk_resource_pool_stats.evicted", offset!(kolk_resource_pool_stats, evicted), 120),
        ("kolk_resource_pool_stats.replaced", offset!(kolk_resource_pool_stats, replaced), 128),
        ("kolk_resource_pool_stats.closed", offset!(kolk_resource_pool_stats, closed), 136),
        ("kolk_resource_pool_stats.detached", offset!(kolk_resource_pool_stats, detached), 144),
        ("kolk_resource_pool_stats.leaks", offset!(kolk_resource_pool_stats, leaks), 152),
        ("kolk_resource_pool_stats.waits", offset!(kolk_resource_pool_stats, waits), 160),
        ("kolk_resource_pool_stats.wait", offset!(kolk_resource_pool_stats, wait), 168),
        ("kolk_resource_pool_stats.use", offset!(kolk_resource_pool_stats, r#use), 304),
        ("kolk_resource_pool_stats.create", offset!(kolk_resource_pool_stats, create), 440),
        ("kolk_shared_desc.name", offset!(kolk_shared_desc, name), 0),
        ("kolk_shared_desc.object_size", offset!(kolk_shared_desc, object_size), 8),
        ("kolk_shared_desc.object_align", offset!(kolk_shared_desc, object_align), 16),
        ("kolk_shared_desc.capacity", offset!(kolk_shared_desc, capacity), 24),
        ("kolk_shared_desc.max_capacity", offset!(kolk_shared_desc, max_capacity), 28),
        ("kolk_shared_desc.max_threads", offset!(kolk_shared_desc, max_threads), 32),
        ("kolk_shared_desc.cache", offset!(kolk_shared_desc, cache), 36),
        ("kolk_shared_desc.generations", offset!(kolk_shared_desc, generations), 40),
        ("kolk_shared_desc.tag", offset!(kolk_shared_desc, tag), 44),
        ("kolk_shared_desc.budget", offset!(kolk_shared_desc, budget), 48),
        ("kolk_shared_desc.exact", offset!(kolk_shared_desc, exact), 56),
        ("kolk_shared_desc.life", offset!(kolk_shared_desc, life), 64),
        ("kolk_shared_desc.context", offset!(kolk_shared_desc, context), 96),
        ("kolk_shared_desc.debug", offset!(kolk_shared_desc, debug), 104),
        ("kolk_shared_local.lives", offset!(kolk_shared_local, lives), 0),
        ("kolk_shared_local.magazine", offset!(kolk_shared_local, magazine), 8),
        ("kolk_shared_local.pool", offset!(kolk_shared_local, pool), 16),
        ("kolk_magazine_.slots", offset!(kolk_magazine_, slots), 0),
        ("kolk_magazine_.lives", offset!(kolk_magazine_, lives), 8),
        ("kolk_magazine_.short_lives", offset!(kolk_magazine_, short_lives), 16),
        ("kolk_magazine_.inverse", offset!(kolk_magazine_, inverse), 24),
        ("kolk_magazine_.stride", offset!(kolk_magazine_, stride), 32),
        ("kolk_magazine_.bound", offset!(kolk_magazine_, bound), 36),
        ("kolk_magazine_.top", offset!(kolk_magazine_, top), 40),
        ("kolk_magazine_.cache", offset!(kolk_magazine_, cache), 44),
        ("kolk_magazine_.shift", offset!(kolk_magazine_, shift), 48),
        ("kolk_magazine_.next_word", offset!(kolk_magazine_, next_word), 52),
        ("kolk_magazine_.failed", offset!(kolk_magazine_, failed), 56),
        ("kolk_magazine_.leaving", offset!(kolk_magazine_, leaving), 64),
        ("kolk_magazine_.proving", offset!(kolk_magazine_, proving), 68),
        ("kolk_magazine_.depot", offset!(kolk_magazine_, depot), 72),
        ("kolk_magazine_.keeper", offset!(kolk_magazine_, keeper), 80),
        ("kolk_magazine_.next", offset!(kolk_magazine_, next), 88),
        ("kolk_shared.slots", offset!(kolk_shared, slots), 0),
        ("kolk_shared.lives", offset!(kolk_shared, lives), 8),
        ("kolk_shared.stride", offset!(kolk_shared, stride), 16),
        ("kolk_shared.tag", offset!(kolk_shared, tag), 20),
        ("kolk_shared.bound", offset!(kolk_shared, bound), 24),
        ("kolk_shared.number", offset!(kolk_shared, number), 28),
        ("kolk_shared.name", offset!(kolk_shared, name), 32),
        ("kolk_shared.inside", offset!(kolk_shared, inside), 40),
        ("kolk_shared_cursor.pool", offset!(kolk_shared_cursor, pool), 0),
        ("kolk_shared_cursor.slot", offset!(kolk_shared_cursor, slot), 8),
        ("kolk_shared_cursor.end", offset!(kolk_shared_cursor, end), 12),
        ("kolk_shared_cursor.more", offset!(kolk_shared_cursor, more), 16),
        ("kolk_slotmap_desc.name", offset!(kolk_slotmap_desc, name), 0),
        ("kolk_slotmap_desc.object_size", offset!(kolk_slotmap_desc, object_size), 8),
        ("kolk_slotmap_desc.object_align", offset!(kolk_slotmap_desc, object_align), 16),
        ("kolk_slotmap_desc.capacity", offset!(kolk_slotmap_desc, capacity), 24),
        ("kolk_slotmap_desc.max_capacity", offset!(kolk_slotmap_desc, max_capacity), 28),
        ("kolk_slotmap_desc.tag", offset!(kolk_slotmap_desc, tag), 32),
        ("kolk_slotmap_desc.memory", offset!(kolk_slotmap_desc, memory), 40),
        ("kolk_slotmap_desc.memory_size", offset!(kolk_slotmap_desc, memory_size), 48),
        ("kolk_slotmap_desc.budget", offset!(kolk_slotmap_desc, budget), 56),
        ("kolk_slotmap_desc.on_move", offset!(kolk_slotmap_desc, on_move), 64),
        ("kolk_slotmap_desc.on_remove", offset!(kolk_slotmap_desc, on_remove), 72),
        ("kolk_slotmap_desc.move", offset!(kolk_slotmap_desc, r#move), 80),
        ("kolk_slotmap_desc.context", offset!(kolk_slotmap_desc, context), 88),
        ("kolk_slotmap_desc.debug", offset!(kolk_slotmap_desc, debug), 96),
        ("kolk_cell_.place", offset!(kolk_cell_, place), 0),
        ("kolk_cell_.generation", offset!(kolk_cell_, generation), 4),
        ("kolk_slotmap.objects", offset!(kolk_slotmap, objects), 0),
        ("kolk_slotmap.cells", offset!(kolk_slotmap, cells), 8),
        ("kolk_slotmap.owners", offset!(kolk_slotmap, owners), 16),
        ("kolk_slotmap.count", offset!(kolk_slotmap, count), 24),
        ("kolk_slotmap.fresh", offset!(kolk_slotmap, fresh), 28),
        ("kolk_slotmap.add_bound", offset!(kolk_slotmap, add_bound), 32),
        ("kolk_slotmap.remove_bound", offset!(kolk_slotmap, remove_bound), 36),
        ("kolk_slotmap.stride", offset!(kolk_slotmap, stride), 40),
        ("kolk_slotmap.tag", offset!(kolk_slotmap, tag), 44),
        ("kolk_slotmap.capacity", offset!(kolk_slotmap, capacity), 48),
        ("kolk_slotmap.max_capacity", offset!(kolk_slotmap, max_capacity), 52),
        ("kolk_slotmap.counted", offset!(kolk_slotmap, counted), 56),
        ("kolk_slotmap.object_size", offset!(kolk_slotmap, object_size), 60),
        ("kolk_slotmap.peak", offset!(kolk_slotmap, peak), 64),
        ("kolk_slotmap.worn_first", offset!(kolk_slotmap, worn_first), 68),
        ("kolk_slotmap.worn_last", offset!(kolk_slotmap, worn_last), 72),
        ("kolk_slotmap.worn", offset!(kolk_slotmap, worn), 76),
        ("kolk_slotmap.recycled", offset!(kolk_slotmap, recycled), 80),
        ("kolk_slotmap.wrong_pool", offset!(kolk_slotmap, wrong_pool), 84),
        ("kolk_slotmap.number", offset!(kolk_slotmap, number), 88),
        ("kolk_slotmap.holes", offset!(kolk_slotmap, holes), 92),
        ("kolk_slotmap.first_hole", offset!(kolk_slotmap, first_hole), 96),
        ("kolk_slotmap.shift", offset!(kolk_slotmap, shift), 100),
        ("kolk_slotmap.memory", offset!(kolk_slotmap, memory), 101),
        ("kolk_slotmap.debug_flags", offset!(kolk_slotmap, debug_flags), 102),
        ("kolk_slotmap.in_hook", offset!(kolk_slotmap, in_hook), 103),
        ("kolk_slotmap.inverse", offset!(kolk_slotmap, inverse), 104),
        ("kolk_slotmap.failed", offset!(kolk_slotmap, failed), 112),
        ("kolk_slotmap.block", offset!(kolk_slotmap, block), 120),
        ("kolk_slotmap.block_size", offset!(kolk_slotmap, block_size), 128),
        ("kolk_slotmap.budget", offset!(kolk_slotmap, budget), 136),
        ("kolk_slotmap.blocks", offset!(kolk_slotmap, blocks), 144),
        ("kolk_slotmap.debug", offset!(kolk_slotmap, debug), 152),
        ("kolk_slotmap.name", offset!(kolk_slotmap, name), 160),
        ("kolk_slotmap.on_move", offset!(kolk_slotmap, on_move), 168),
        ("kolk_slotmap.on_remove", offset!(kolk_slotmap, on_remove), 176),
        ("kolk_slotmap.move", offset!(kolk_slotmap, r#move), 184),
        ("kolk_slotmap.context", offset!(kolk_slotmap, context), 192),
        ("kolk_slotmap.removals", offset!(kolk_slotmap, removals), 200),
        ("kolk_slotmap_cursor.map", offset!(kolk_slotmap_cursor, map), 0),
        ("kolk_slotmap_cursor.place", offset!(kolk_slotmap_cursor, place), 8),
        ("kolk_slotmap_cursor.slot", offset!(kolk_slotmap_cursor, slot), 12),
        ("kolk_slotmap_cursor.more", offset!(kolk_slotmap_cursor, more), 16),
    ];
    for (field, at, expected) in offsets {
        assert_eq!(at, expected, "{}", field);
    }
}
