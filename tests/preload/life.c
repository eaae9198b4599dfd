/* Uses malloc when the process, its threads and its libraries begin and end. Prints the same under every malloc.
 * Usage: life libraries|threads|forks FOLDER */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *early_text(void);

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static void *(*volatile get)(size_t) = malloc; /* hides malloc from the compiler */

/* ---- Libraries --------------------------------------------------------------------------------------------------- */

static void *call_plugin(void *plugin) {
    const char *(*text)(void) = (const char *(*)(void))(uintptr_t)dlsym(plugin, "early_text");
    check(text && strcmp(text(), "from before main") == 0, "a library's text");
    return NULL;
}

static void libraries(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/plugin.so", folder);
    check(strcmp(early_text(), "from before main") == 0, "the text from before main");
    for (int i = 0; i < 50; i++) {
        void *plugin = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
        pthread_t thread;
        check(plugin != NULL, "a plugin");
        call_plugin(plugin);
        check(pthread_create(&thread, NULL, call_plugin, plugin) == 0 && pthread_join(thread, NULL) == 0, "a thread");
        check(dlclose(plugin) == 0, "the end of a plugin");
        free(get(100));
    }
    check(!dlopen("/no/such/library.so", RTLD_NOW) && dlerror(), "a library that is missing");
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

#define KEYS 100 /* pthread_setspecific allocates memory for most of their values */

static pthread_key_t keys[KEYS];
static int ends;

/* A key's destructor that is called several times for a thread, also after kolk's own. */
static void end_of_key(void *value) {
    uintptr_t n = (uintptr_t)value;
    for (size_t size = 1; size < 500000; size = size * 3 + 1) free(get(size));
    __atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
    if (n % 16 < 3) pthread_setspecific(keys[n / 16], (void *)(n + 1));
}

static void *use_keys(void *block) {
    for (uintptr_t k = KEYS; k-- > 0;) pthread_setspecific(keys[k], (void *)(k * 16)); /* the thread's first mallocs */
    pthread_setspecific(keys[0], (void *)1);
    free(block); /* allocated by another thread */
    return strdup("a thread's");
}

static void *nothing(void *unused) {
    (void)unused;
    return NULL;
}

static long address_space(void) {
    char text[100] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    check(file && fgets(text, sizeof text, file), "statm");
    fclose(file);
    return atol(text);
}

static void threads(void) {
    enum { AT_A_TIME = 20 };
    pthread_t made[AT_A_TIME];
    long before = 0;
    for (int k = 0; k < KEYS; k++) check(pthread_key_create(&keys[k], end_of_key) == 0, "a key");
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < AT_A_TIME; i++) check(pthread_create(&made[i], NULL, use_keys, get(1000)) == 0, "a thread");
        for (int i = 0; i < AT_A_TIME; i++) {
            void *text;
            check(pthread_join(made[i], &text) == 0 && strcmp(text, "a thread's") == 0, "a thread's text");
            free(text);
        }
    }
    printf("%d ends of keys\n", ends);
    for (int i = 0; i < 1500; i++) {
        check(pthread_create(made, NULL, nothing, NULL) == 0 && pthread_join(made[0], NULL) == 0, "a thread");
        if (i == 500) before = address_space();
    }
    check(address_space() - before < 2500, "ended threads' memory is used again"); /* 10 MB */
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static int stop;

static void *work(void *seed) {
    void *blocks[200] = {NULL};
    uint64_t random = (uintptr_t)seed;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(random >> 33) % 200;
        size_t size = (size_t)1 << (random >> 58) % 20;
        if (random >> 40 & 1)
            blocks[at] = realloc(blocks[at], size);
        else
            free(blocks[at]), blocks[at] = get(size);
        check(blocks[at] != NULL, "a block");
    }
    for (int i = 0; i < 200; i++) free(blocks[i]);
    return NULL;
}

static void forks(const char *folder) {
    enum { WORKERS = 4 };
    pthread_t workers[WORKERS], more;
    const char *effort = getenv("KOLK_TEST_EFFORT");
    int rounds = effort && strcmp(effort, "full") == 0 ? 100 : 30;
    (void)folder;
    for (uintptr_t i = 0; i < WORKERS; i++)
        check(pthread_create(&workers[i], NULL, work, (void *)(i + 1)) == 0, "a worker");
    for (int i = 0; i < rounds; i++) {
        pid_t child = fork();
        check(child >= 0, "a fork");
        if (child == 0) {
            alarm(600);
            for (size_t size = 1; size < 2000000; size = size * 5 / 3 + 1) free(get(size));
            check(pthread_create(&more, NULL, use_keys, get(100)) == 0 && pthread_join(more, NULL) == 0,
                  "a child's thread");
            if (i % 5 == 0 && fork() == 0) exit(i % 2 ? 0 : 3);
            exit(3);
        }
        int status;
        check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3, "a child's end");
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static char *last;

static void at_exit(void) {
    free(last);
    free(get(12345));
}

int main(int argc, char **argv) {
    alarm(600);
    check(argc == 3, "two arguments");
    last = strdup("freed at exit");
    atexit(at_exit);
    for (int k = 0; k < 64; k++) atexit(at_exit); /* more handlers than libc can store without malloc */
    last = NULL;
    if (strcmp(argv[1], "libraries") == 0) libraries(argv[2]);
    if (strcmp(argv[1], "threads") == 0) threads();
    if (strcmp(argv[1], "forks") == 0) forks(argv[2]);
    printf("%s: done\n", argv[1]);
    return 0;
}
