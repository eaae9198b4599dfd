/* SPDX-License-Identifier: Zlib */
/* kolk/kolk_gta.hpp: kolk_bytemap (bytemap.h) under the names that the plugin-sdk gives the pool of GTA III, Vice City
 * and San Andreas. A mod that has CPool<A, B> can use kolk::gta::pool<A, B> in its place: for a game's own pool, or for
 * pools of the mod. C++11 or later, in 32 and in 64 bits, without exceptions.
 *
 *     #include <kolk/kolk_gta.hpp>
 *
 *     kolk::gta::pool<CPed, CCopPed> peds;                    // slots of CCopPed's size, as in the game
 *     if (peds.Attach(CPools::ms_pPedPool) != KOLK_OK) return;
 *     for (CPed *ped : peds) ped->m_fHealth = 100.0f;         // only what is alive; the body may delete any of them
 *     int ref = peds.GetRef(FindPlayerPed());
 *     CPed *same = peds.GetAtRef(ref);                        // nullptr once the ped is gone
 *
 * The names are those of the plugin-sdk, where GetAt and GetIndex take and return an index. In bytemap.h, as in the
 * modding documentation, get_at and get_index are about handles, which the plugin-sdk calls ref or handle.
 *
 *     name                            does                                    also checks
 *     ------------------------------  --------------------------------------  ----------------------------------------
 *     pool(size, name), Init          allocates, or takes your arrays; all    count and memory (a status); a second
 *                                     slots free, all ids 0                   Init changes nothing
 *     Reserve(size)                   more slots, up to Init's max_size       the greatest size, memory (a status)
 *     Export(layout, game)            gives the pool to a game                the layout (a status)
 *     Flush, ~pool                    frees own arrays; the pool has 0 slots
 *     Clear                           frees all slots; ids and cursor stay
 *     New()                           the next free slot after the cursor     a pool of 0 slots: nullptr
 *     New(ref), CreateAtRef,          the slot of a ref, with the next id     used slot, no such slot: nullptr; the
 *     CreateAtHandle                                                          last free slot: the cursor is -1
 *     Delete(object)                  frees the slot; the cursor moves down   twice, foreign or inside an object:
 *                                                                             reported; nullptr does nothing
 *     GetAt(index)                    the object in a used slot               no such slot: nullptr
 *     GetAtRef(ref), GetAtHandle      the object that has this ref            free slot, no such slot: nullptr
 *     GetIndex(object), GetJustIndex  the index of its slot                   foreign, inside: reported, -1
 *     GetRef(object), GetHandle       index << 8 | byte of its slot           the same
 *     IsObjectValid(object)           is it in a used slot?                   any pointer: false
 *     IsFreeSlotAtIndex(index)        is the slot free?                       no such slot: true
 *     SetFreeAt(index, free)          sets the flag; the cursor stays         no such slot: false
 *     SetIdAt(index, id)              sets the lower 7 bits                   the same; the 8th bit is ignored
 *     GetIdAt(index)                  the lower 7 bits of the slot's byte     no such slot: 0
 *     GetNoOfUsedSpaces, ...Free...   O(1), but counted for a game's pool
 *     GetSize, GetObjectSize          slots; bytes per slot
 *     Store(&flags, &objects)         copies bytes and objects, with new
 *     CopyBack(&flags, &objects)      brings them back; the cursor is 0       no copies: nothing happens
 *     begin, end                      pointers to live objects, ascending
 *
 * Cost, contents and threads are those of bytemap.h. No constructor or destructor of an A runs. A pool can't be copied.
 * What is reported goes to the failure handler (kolk_set_failure_handler), which ends the program unless you set
 * one. */
#ifndef KOLK_GTA_HPP
#define KOLK_GTA_HPP

#include "kolk.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace kolk {
namespace gta {

/* How a pool begins in the memory of III, Vice City and San Andreas, and with 64 bits in San Andreas Unreal. */
struct game_pool {
    void *objects;
    std::uint8_t *byte_map;
    std::int32_t size, first_free;
};

template <class A, class B = A> class pool {
  public:
    class iterator {
      public:
        iterator(const kolk_bytemap *of, void *at) : of_(of), at_(at) {}
        A *operator*() const { return static_cast<A *>(at_); }
        iterator &operator++() {
            at_ = kolk_bytemap_next(of_, at_);
            return *this;
        }
        bool operator==(const iterator &other) const { return at_ == other.at_; }
        bool operator!=(const iterator &other) const { return at_ != other.at_; }

      private:
        const kolk_bytemap *of_;
        void *at_;
    };

    /* A pool of 0 slots, until Init or Attach. */
    pool() : pool_() {}
    /* If there is no memory, the pool has 0 slots. The name is for reports and statistics; copied. */
    explicit pool(int size, const char *name = nullptr) : pool_() { Init(size, nullptr, nullptr, name); }
    ~pool() { Flush(); }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;

    /* With arrays of yours (`size` slots of B, `size` bytes), or none; then Reserve may add slots up to max_size.
     * Status: as for kolk_bytemap_initialise_with. */
    kolk_status Init(int size, void *objects = nullptr, void *byte_map = nullptr, const char *name = nullptr,
                     int max_size = 0) {
        std::uint8_t *bytes = static_cast<std::uint8_t *>(byte_map);
        kolk_bytemap_view view = {name, objects, bytes, sizeof(B), size, max_size, {}, nullptr, 0, nullptr, false};
        return kolk_bytemap_initialise_with(&pool_, &view);
    }

    /* Works on a pool of the game, which keeps using it: pass the address of its struct, a pointer of type CPool<A, B>
     * or any other. Flush detaches from it. If a limit adjuster replaces the pool's arrays, Flush and Attach again.
     * Status: as for kolk_bytemap_attach. */
    kolk_status Attach(void *game, const char *name = nullptr) {
        game_pool now;
        std::memcpy(&now, game, sizeof now);
        void *cursor = static_cast<char *>(game) + offsetof(game_pool, first_free);
        std::int32_t *theirs = static_cast<std::int32_t *>(cursor);
        kolk_bytemap_view view = {name,    now.objects, now.byte_map, sizeof(B), now.size, 0, {},
                                  nullptr, 0,           theirs,       true};
        return kolk_bytemap_attach(&pool_, &view);
    }

    /* For limit adjusters: more slots, while all objects stay where they are; and the pool as it is now, written to the
     * game's struct. Status: as for kolk_bytemap_reserve and kolk_bytemap_export. */
    kolk_status Reserve(int size) { return kolk_bytemap_reserve(&pool_, size); }
    kolk_status Export(kolk_bytemap_layout layout, void *game) { return kolk_bytemap_export(&pool_, layout, game); }

    void Flush() { kolk_bytemap_flush(&pool_); }
    void Clear() {
        for (int i = 0; i < pool_.count; i++) SetFreeAt(i, true);
    }

    A *New() { return static_cast<A *>(kolk_bytemap_new(&pool_)); }
    A *New(int ref) { return static_cast<A *>(kolk_bytemap_new_at(&pool_, ref)); }
    A *CreateAtRef(int ref) { return New(ref); }
    A *CreateAtHandle(int handle) { return New(handle); }
    void Delete(A *object) { kolk_bytemap_delete(&pool_, object); }

    A *GetAt(int index) const { return static_cast<A *>(kolk_bytemap_get_slot(&pool_, index)); }
    A *GetAtRef(int ref) const { return static_cast<A *>(kolk_bytemap_get_at(&pool_, ref)); }
    A *GetAtHandle(int handle) const { return GetAtRef(handle); }
    int GetIndex(const A *object) const { return kolk_bytemap_get_just_index(&pool_, object); }
    int GetJustIndex(const A *object) const { return GetIndex(object); }
    int GetRef(const A *object) const { return kolk_bytemap_get_index(&pool_, object); }
    int GetHandle(const A *object) const { return GetRef(object); }

    bool IsFreeSlotAtIndex(int index) const { return !GetAt(index); }
    bool IsObjectValid(const A *object) const {
        std::uintptr_t first = reinterpret_cast<std::uintptr_t>(pool_.object_list);
        std::uintptr_t index = (reinterpret_cast<std::uintptr_t>(object) - first) / sizeof(B);
        return object && index < static_cast<std::uint32_t>(pool_.count) && GetAt(static_cast<int>(index)) == object;
    }

    bool SetFreeAt(int index, bool free) { return set(index, GetIdAt(index), free); }
    bool SetIdAt(int index, unsigned char id) { return set(index, id, IsFreeSlotAtIndex(index)); }
    unsigned char GetIdAt(int index) const {
        bool exists = index >= 0 && index < pool_.count;
        return exists ? static_cast<unsigned char>(pool_.byte_map[index] & 0x7f) : static_cast<unsigned char>(0);
    }

    unsigned GetNoOfUsedSpaces() const { return static_cast<unsigned>(kolk_bytemap_used_count(&pool_)); }
    unsigned GetNoOfFreeSpaces() const { return static_cast<unsigned>(kolk_bytemap_free_count(&pool_)); }
    unsigned GetObjectSize() const { return static_cast<unsigned>(sizeof(B)); }
    int GetSize() const { return pool_.count; }

    /* A copy that is not brought back is freed by operator delete[]. */
    void Store(void **flags, void **objects) const {
        *flags = copy(pool_.byte_map, slots());
        *objects = copy(pool_.object_list, slots() * sizeof(B));
    }
    /* The copies must be of this pool, with the size that it has now. */
    void CopyBack(void **flags, void **objects) {
        if (!*flags || !*objects) return;
        for (int i = 0; i < pool_.count; i++) kolk_bytemap_set_byte(&pool_, i, static_cast<std::uint8_t *>(*flags)[i]);
        if (slots()) std::memcpy(pool_.object_list, *objects, slots() * sizeof(B));
        (pool_.cursor ? *pool_.cursor : pool_.first_free) = 0;
        ::operator delete[](*flags);
        ::operator delete[](*objects);
        *flags = *objects = nullptr;
    }

    iterator begin() const { return iterator(&pool_, kolk_bytemap_next(&pool_, nullptr)); }
    iterator end() const { return iterator(&pool_, nullptr); }

    /* The struct of C, for the other functions of bytemap.h, and for its fields: trap_full, to be told of a full pool,
     * and `seeds`: the games, unlike the plugin-sdk, give New(ref) the id of the ref (KOLK_BYTEMAP_SEED_OF_HANDLE). */
    kolk_bytemap &untyped() { return pool_; }

  private:
    static void *copy(const void *from, std::size_t size) {
        void *to = ::operator new[](size);
        return size ? std::memcpy(to, from, size) : to;
    }
    bool set(int index, unsigned char id, bool free) {
        return kolk_bytemap_set_byte(&pool_, index, static_cast<std::uint8_t>((id & 0x7f) | (free ? 0x80 : 0)));
    }
    std::size_t slots() const { return static_cast<std::size_t>(pool_.count); }

    kolk_bytemap pool_;
};

} // namespace gta
} // namespace kolk

#endif
