/* system.h: makes the C library declare everything it has, even with -std=c11. The files of src/ that call the
 * operating system include this before anything else. */
#ifndef KOLK_SRC_SYSTEM_H
#define KOLK_SRC_SYSTEM_H

#if defined(__linux__) || defined(__APPLE__) || defined(__unix__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mincore, realpath, pthread_mutex_t, dl_iterate_phdr ... */
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64 /* an executable with debug information may exceed 2 GiB, even in a 32-bit program */
#endif
#endif

#ifdef _MSC_VER
#define _CRT_SECURE_NO_WARNINGS /* no warnings of fopen and getenv */
#endif

#endif
