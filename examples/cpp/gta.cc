// A mod for GTA San Andreas: it heals the peds of the game's own pool, keeps refs of some, and notices who is gone. The
// "game" here is a few structs. A real mod passes CPools::ms_pPedPool, in a 32-bit DLL.
#include "kolk_gta.hpp"

#include <cstdio>

struct CPed {
    float m_fHealth;
    int m_nModelIndex;
};
struct CCopPed : CPed { // the widest type, whose size the slots have
    int m_nRank;
};

// ---- The game ----
static CCopPed objects[6];
static unsigned char bytes[6] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
static kolk::gta::game_pool ms_pPedPool = {objects, bytes, 6, -1};

// ---- The mod ----
struct marker { // of its own
    int ref;
};

int main() {
    kolk::gta::pool<CPed, CCopPed> peds;
    if (peds.Attach(&ms_pPedPool, "peds") != KOLK_OK) return 1;
    kolk::gta::pool<marker> markers(3, "markers");

    for (int model = 7; CPed *ped = peds.New(); model++) { // as the game does, until its pool is full
        ped->m_fHealth = 20.0f;
        ped->m_nModelIndex = model;
        if (marker *mark = markers.New()) mark->ref = peds.GetRef(ped);
    }
    std::printf("%u peds of %d, %u markers\n", peds.GetNoOfUsedSpaces(), peds.GetSize(), markers.GetNoOfUsedSpaces());

    peds.Delete(peds.GetAt(1));
    for (CPed *ped : peds) ped->m_fHealth += 80.0f;

    for (marker *mark : markers) {
        if (CPed *ped = peds.GetAtRef(mark->ref)) {
            std::printf("ref %d: model %d, health %.0f\n", mark->ref, ped->m_nModelIndex,
                        static_cast<double>(ped->m_fHealth));
        } else {
            std::printf("ref %d: gone\n", mark->ref);
            markers.Delete(mark);
        }
    }
    std::printf("%u markers; the game's byte of slot 1 is 0x%02x\n", markers.GetNoOfUsedSpaces(), bytes[1]);
} // detaches from the game's pool
