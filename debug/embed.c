/* embed.c: puts kolk_gdb.py (KOLK_GDB_SCRIPT: its path) into libkolk.so, where gdb finds it. The section belongs to the
 * debug information, so it is not loaded with the program, and strip removes it. The format is described in gdb's
 * manual, "The .debug_gdb_scripts section". The byte 4 means the text of a Python script, whose first line is its
 * name. */
__asm__(".pushsection .debug_gdb_scripts, \"MS\", %progbits, 1\n"
        ".byte 4\n"
        ".ascii \"kolk_gdb.py\\n\"\n"
        ".incbin \"" KOLK_GDB_SCRIPT "\"\n"
        ".byte 0\n"
        ".popsection\n");
