#include "kolk.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct sieve { /* expensive to make, so it is reused */
    bool is_composite[1000000];
};
KOLK_RESOURCE_TYPE(sieves, struct sieve)

static bool make(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    struct sieve *sieve = calloc(1, sizeof *sieve);
    (void)context, (void)key, (void)deadline; /* a connection would be made with these */
    if (!sieve) return snprintf(error->text, sizeof error->text, "no memory for a sieve"), false;
    for (long n = 2; n * n < 1000000; n++)
        for (long m = n * n; m < 1000000 && !sieve->is_composite[n]; m += n) sieve->is_composite[m] = true;
    *resource = sieve;
    return true;
}

static void destroy(void *context, void *resource) {
    (void)context;
    free(resource);
}

static sieves pool;

static void *count(void *primes) {
    sieves_borrowed borrowed;
    kolk_borrow_desc desc = {.deadline = kolk_deadline_after(5000), .who = "count"};
    kolk_status status = sieves_borrow(&pool, &desc, &borrowed); /* waits in line for one of the two */
    if (status != KOLK_OK) return fprintf(stderr, "%s\n", borrowed.borrow.error.text), NULL;
    for (long n = 2; n < 1000000; n++) *(long *)primes += !sieves_resource_of(&borrowed)->is_composite[n];
    sieves_give_back(&pool, &borrowed);
    return primes;
}

int main(void) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    long primes[THREADS] = {0}, sum = 0;
    kolk_resource_pool_stats stats;
    kolk_resource_pool_desc desc = {.name = "sieves", .create = make, .destroy = destroy, .max = 2};
    if (sieves_init(&pool, &desc) != KOLK_OK) return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, count, &primes[i]) != 0) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL), sum += primes[i];
    sieves_stats(&pool, &stats);
    printf("%d threads counted %ld primes each, by %s\n", THREADS, sum / THREADS,
           stats.created <= 2 ? "two sieves at most" : "too many sieves");
    sieves_deinit(&pool);
}
