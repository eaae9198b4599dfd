/* system.h: makes the C library declare everything that it has, also under -std=c11. The files of src/ that call the
 * operating system include this before anything else. */
#ifndef KOLK_SRC_SYSTEM_H
#define KOLK_SRC_SYSTEM_H

#if defined(__linux__) || defined(__APPLE__) || defined(__unix__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mincore, realpath, pthread_mutex_t, dl_iterate_phdr ... */
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64 /* a program with debug information may have 2 GiB, also one of 32 bits */
#endif
#endif

#endif
