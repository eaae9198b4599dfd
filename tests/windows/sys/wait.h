/* sys/wait.h: the status that run_child returns. */
#ifndef TESTS_WINDOWS_SYS_WAIT_H
#define TESTS_WINDOWS_SYS_WAIT_H

#define WIFSIGNALED(status) (((status)&0x7f) != 0)
#define WTERMSIG(status)    ((status)&0x7f)
#define WIFEXITED(status)   (!WIFSIGNALED(status))
#define WEXITSTATUS(status) ((status) >> 8)

#endif
