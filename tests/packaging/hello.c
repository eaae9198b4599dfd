/* The smallest program that needs the headers and the library: one object taken, found by its handle, given back. */
#include <kolk/kolk.h>
#include <stdio.h>

struct hello {
    int number;
};

KOLK_POOL_TYPE(hellos, struct hello)

int main(void) {
    hellos pool;
    if (hellos_init(&pool, &(kolk_pool_desc){.name = "hellos", .capacity = 8}) != KOLK_OK) return 1;
    struct hello *hello = hellos_alloc(&pool);
    if (!hello) return 1;
    *hello = (struct hello){.number = 42};
    hellos_handle handle = hellos_handle_of(&pool, hello);
    bool found = hellos_get(&pool, handle) == hello;
    hellos_free(&pool, hello);
    bool gone = !hellos_get(&pool, handle);
    hellos_deinit(&pool);
    puts(found && gone ? "kolk works" : "kolk does not work");
    return found && gone ? 0 : 1;
}
