/* embed.c: puts into libkolk.so what gdb needs to print pools: kolk_gdb.py (KOLK_GDB_SCRIPT: its path), and the types
 * that are known only inside kolk. This file is compiled with debug information even if the rest of the library is not
 * (see CMakeLists.txt), and with all types of the headers below, although it uses none. Nothing of this is loaded with
 * the program, and strip removes it. */
#include "../src/heap/heap_inside.h"
#include "../src/ipc/ipc_inside.h"
#include "../src/resource/resource_inside.h"
#include "../src/shared/shared_inside.h"

/* The format is described in gdb's manual, "The .debug_gdb_scripts section". The byte 4 means the text of a Python
 * script, whose first line is its name. */
__asm__(".pushsection .debug_gdb_scripts, \"MS\", %progbits, 1\n"
        ".byte 4\n"
        ".ascii \"kolk_gdb.py\\n\"\n"
        ".incbin \"" KOLK_GDB_SCRIPT "\"\n"
        ".byte 0\n"
        ".popsection\n");
