/* cli/built_in.h: puts a file into the command. The assembler looks for it from the top folder on, and CMakeLists.txt
 * says which object depends on it. */
#ifndef CLI_BUILT_IN_H
#define CLI_BUILT_IN_H

#ifdef __APPLE__
#define BUILT_IN_SECTION "__TEXT,__const"
#else
#define BUILT_IN_SECTION ".rodata"
#endif

/* Declares NAME, the bytes of the file, and NAME_end, a zero byte behind them. So the file may be read as a string. */
#define BUILT_IN(name, file)                                                                                           \
    extern const char name[] __asm__("kolk_built_in_" #name), name##_end[] __asm__("kolk_built_in_" #name "_end");     \
    __asm__(".pushsection " BUILT_IN_SECTION "\n"                                                                      \
            ".globl kolk_built_in_" #name ", kolk_built_in_" #name "_end\n"                                            \
            "kolk_built_in_" #name ": .incbin \"" file "\"\n"                                                          \
            "kolk_built_in_" #name "_end: .byte 0\n"                                                                   \
            ".popsection\n")

#endif
