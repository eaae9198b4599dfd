/* wraps: madvise mincore mmap mmap64 mprotect */
/* system_calls_posix.h: the system calls of src/os/memory.c. Only for system_calls.h. */

void *__real_mmap(void *start, size_t size, int protection, int flags, int file, off_t offset);
void *__real_mmap64(void *start, size_t size, int protection, int flags, int file, int64_t offset);
int __real_mprotect(void *start, size_t size, int protection);
int __real_madvise(void *start, size_t size, int advice);
int __real_mincore(void *start, size_t size, unsigned char *states);
void *__wrap_mmap(void *start, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap64(void *start, size_t size, int protection, int flags, int file, int64_t offset);
int __wrap_mprotect(void *start, size_t size, int protection);
int __wrap_madvise(void *start, size_t size, int advice);
int __wrap_mincore(void *start, size_t size, unsigned char *states);

void *__wrap_mmap(void *start, size_t size, int protection, int flags, int file, off_t offset) {
    return refused(false) ? MAP_FAILED : __real_mmap(start, size, protection, flags, file, offset);
}

void *__wrap_mmap64(void *start, size_t size, int protection, int flags, int file, int64_t offset) {
    return refused(false) ? MAP_FAILED : __real_mmap64(start, size, protection, flags, file, offset);
}

int __wrap_mprotect(void *start, size_t size, int protection) {
    return refused(false) ? -1 : __real_mprotect(start, size, protection);
}

/* Calls about core dumps are never refused, because the library ignores their failure. */
int __wrap_madvise(void *start, size_t size, int advice) {
#ifdef MADV_DODUMP
    if (advice == MADV_DODUMP || advice == MADV_DONTDUMP) return __real_madvise(start, size, advice);
#endif
    return refused(false) ? -1 : __real_madvise(start, size, advice);
}

int __wrap_mincore(void *start, size_t size, unsigned char *states) {
    os.looked_at += size;
    return refused(true) ? -1 : __real_mincore(start, size, states);
}
