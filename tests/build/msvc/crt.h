/* What kolk needs of Microsoft's C library, as its headers declare it. msvc.sh makes each header of it from this. */
#ifndef CRT_H
#define CRT_H

#if defined(_WIN64)
typedef unsigned long long size_t, uintptr_t;
typedef long long ptrdiff_t, intptr_t;
#define UINTPTR_MAX 0xffffffffffffffffu
#define SIZE_MAX    0xffffffffffffffffu
#define PTRDIFF_MAX 9223372036854775807ll
#else
typedef unsigned int size_t, uintptr_t;
typedef int ptrdiff_t, intptr_t;
#define UINTPTR_MAX 0xffffffffu
#define SIZE_MAX    0xffffffffu
#define PTRDIFF_MAX 2147483647
#endif

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define INT32_MAX   2147483647
#define INT64_MAX   9223372036854775807ll
#define UINT8_MAX   255
#define UINT16_MAX  65535
#define UINT32_MAX  0xffffffffu
#define UINT64_MAX  0xffffffffffffffffull
#define INT64_C(n)  n##ll
#define UINT32_C(n) n##u
#define UINT64_C(n) n##ull
#define INT_MAX     2147483647
#define LONG_MAX    2147483647l
#define PRId64      "lld"
#define PRIu64      "llu"
#define PRIx64      "llx"
#ifdef _WIN64
#define PRIxPTR "llx"
#else
#define PRIxPTR "x"
#endif

#ifdef __cplusplus
#define NULL 0
namespace std {
typedef decltype(nullptr) nullptr_t;
}
extern "C" {
#else
typedef double max_align_t;
#define NULL ((void *)0)
#define bool _Bool
#define true 1
#define false 0
#endif

#define offsetof(type, member) __builtin_offsetof(type, member)

typedef char *va_list;
#define va_start(list, last) ((void)((list) = (char *)(&(last) + 1)))
#define va_arg(list, type)   (*(type *)(((list) += sizeof(type)) - sizeof(type)))
#define va_end(list)         ((void)((list) = NULL))

void *memchr(const void *bytes, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *bytes, int byte, size_t size);
char *strchr(const char *text, int letter);
int strcmp(const char *a, const char *b);
size_t strcspn(const char *text, const char *letters);
size_t strlen(const char *text);
char *strncat(char *to, const char *from, size_t size);
int strncmp(const char *a, const char *b, size_t size);
size_t strnlen(const char *text, size_t size);
char *strrchr(const char *text, int letter);
char *strstr(const char *text, const char *part);

__declspec(noreturn) void abort(void);
int atexit(void(__cdecl *function)(void));
void free(void *block);
char *getenv(const char *name);
void *malloc(size_t size);
void *realloc(void *block, size_t size);
unsigned long strtoul(const char *text, char **end, int base);
unsigned long long strtoull(const char *text, char **end, int base);

typedef struct FILE FILE;
#define FILENAME_MAX 260
#define SEEK_END     2
FILE *__acrt_iob_func(unsigned index);
#define stdout (__acrt_iob_func(1))
#define stderr (__acrt_iob_func(2))
int fclose(FILE *file);
int ferror(FILE *file);
int fflush(FILE *file);
FILE *fopen(const char *name, const char *mode);
int fprintf(FILE *file, const char *format, ...);
int fputs(const char *text, FILE *file);
size_t fread(void *to, size_t size, size_t n, FILE *file);
int fseek(FILE *file, long offset, int whence);
long ftell(FILE *file);
size_t fwrite(const void *from, size_t size, size_t n, FILE *file);
int remove(const char *name);
void rewind(FILE *file);
int snprintf(char *text, size_t size, const char *format, ...);
int vsnprintf(char *text, size_t size, const char *format, va_list list);

int *_errno(void);
#define errno  (*_errno())
#define ENOENT 2
#define EEXIST 17

struct _stat64 {
    unsigned st_dev;
    unsigned short st_ino, st_mode;
    short st_nlink, st_uid, st_gid;
    unsigned st_rdev;
    int64_t st_size, st_atime, st_mtime, st_ctime;
};
#define S_IFMT  0xf000
#define S_IFREG 0x8000
int _stat64(const char *name, struct _stat64 *found);

#ifdef __cplusplus
}
namespace std {
using ::strcmp;
}
#endif
#endif
