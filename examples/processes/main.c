/* One process captures frames and several analyse them, in one pool that all of them map. An analyser may be killed at
 * any instruction: each frame is analysed once, or comes back as one whose analyser has died.
 *
 *     capture ---> queue CAPTURED ---> an analyser ---> queue DONE ---> capture
 *
 * A frame has one owner at any time: a process, or a queue. So an analyser that dies leaves its frames to whoever
 * notices it first, whose hook puts them into DONE, too. To watch it live, raise FRAMES and enter `kolk top` in
 * another terminal: it shows the pool in each process, and who holds how many frames.
 *
 * The analysers are children here, which have the pool already. docs/processes.md has programs that send it on. */
#define _POSIX_C_SOURCE 200809L
#include "kolk.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 20000, CAPACITY = 64, KILLS = 100, STUCK = 8 };
enum { CAPTURED, DONE, QUEUES };

struct frame {
    unsigned number;
    bool is_analysed;
    unsigned char pixels[1000];
    long long brightness;
};
KOLK_IPC_TYPE(frames, struct frame)

static frames pool;

/* ---- The analysers ----------------------------------------------------------------------------------------------- */

static void analyse(void) {
    for (struct frame *it; (it = frames_pop(&pool, CAPTURED, KOLK_FOREVER));) { /* until it is closed and empty */
        for (size_t n = 0; n < sizeof it->pixels; n++) it->brightness += it->pixels[n];
        it->is_analysed = true;
        frames_push(&pool, DONE, it, KOLK_FOREVER);
    }
}

/* One that takes frames, and then does nothing any more. */
static void hang(void) {
    for (int n = 0; n < STUCK; n++) frames_pop(&pool, CAPTURED, KOLK_FOREVER);
    pause();
}

/* Gets each frame that a dead analyser had, in the process that has noticed the death. */
static void give_back(void *object, void *unused) {
    struct frame *it = object;
    (void)unused;
    it->is_analysed = false;
    frames_push(&pool, DONE, it, KOLK_FOREVER);
}

/* ---- Capture ----------------------------------------------------------------------------------------------------- */

static struct { unsigned captured, analysed, lost, twice; } count;
static long long captured_brightness, analysed_brightness, lost_brightness;
static unsigned char seen[FRAMES];

/* A child is a process of its own in the pool, which owns nothing at first. */
static pid_t start(void (*work)(void)) {
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child > 0) return child;
    work();
    frames_deinit(&pool);
    _exit(0);
}

static void capture_one(struct frame *it) {
    *it = (struct frame){.number = count.captured++};
    for (size_t n = 0; n < sizeof it->pixels; n++) it->pixels[n] = (unsigned char)(it->number + n);
    for (size_t n = 0; n < sizeof it->pixels; n++) captured_brightness += it->pixels[n];
    frames_push(&pool, CAPTURED, it, KOLK_FOREVER);
}

static void collect_one(struct frame *it) {
    count.twice += seen[it->number]++;
    if (it->is_analysed) {
        count.analysed++;
        analysed_brightness += it->brightness;
    } else {
        count.lost++;
        for (size_t n = 0; n < sizeof it->pixels; n++) lost_brightness += it->pixels[n];
    }
    frames_free(&pool, it);
}

/* kolk_ipc_holders tells who holds the most. */
static void end_who_is_stuck(void) {
    kolk_ipc_holder most = {0};
    pid_t child = start(hang);
    while (most.count < STUCK) {
        frames_holders(&pool, &most, 1);
        poll(NULL, 0, 1);
    }
    printf("an analyser holds %u frames and does nothing: it is killed\n", most.count);
    kill((pid_t)most.pid, SIGKILL);
    waitpid(child, NULL, 0);
    printf("%u frames come back\n", frames_recover(&pool));
}

int main(void) {
    kolk_ipc_desc desc = {.capacity = CAPACITY, .queues = QUEUES, .on_orphan = give_back};
    if (frames_init(&pool, &desc) != KOLK_OK) return 1;
    while (count.captured < STUCK) capture_one(frames_alloc(&pool));
    end_who_is_stuck();

    pid_t steady = start(analyse), victim = start(analyse);
    for (unsigned kills = 0; count.analysed + count.lost < FRAMES;) {
        struct frame *it = frames_pop(&pool, DONE, kolk_deadline_after(1));
        if (it) collect_one(it);
        while (count.captured < FRAMES && (it = frames_alloc(&pool))) capture_one(it);
        if (count.analysed < (kills + 1) * (FRAMES / 2 / KILLS) || kills == KILLS) continue;
        kill(victim, SIGKILL); /* wherever it is */
        waitpid(victim, NULL, 0);
        victim = start(analyse);
        kills++;
    }
    frames_close(&pool, CAPTURED);
    waitpid(steady, NULL, 0);
    waitpid(victim, NULL, 0);

    printf("%u frames were captured, while analysers were killed %d times\n", count.captured, KILLS);
    printf("%u were analysed or came back, %u of them twice\n", count.analysed + count.lost, count.twice);
    printf("the brightness is %lld, and %lld\n", captured_brightness, analysed_brightness + lost_brightness);
    printf("%u frames are alive\n", frames_count(&pool));
    frames_deinit(&pool);
}

/* runs: not:qemu not:wine */
