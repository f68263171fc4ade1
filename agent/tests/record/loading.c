// Runs a program in a root folder and stops it when its loader is about to open
// the C library. Prints its process id then, and lets it go on when a line comes in.

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int names_libc(pid_t pid, unsigned long address) {
    char path[256] = {0};
    for (size_t i = 0; i + sizeof(long) < sizeof(path); i += sizeof(long)) {
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, pid, address + i, 0);
        if (errno) break;
        memcpy(path + i, &word, sizeof(word));
        if (memchr(&word, 0, sizeof(word))) break;
    }
    char *name = strrchr(path, '/');
    return name && strcmp(name, "/libc.so.6") == 0;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        int quiet = dup(2);
        dup2(quiet, 1);
        if (chroot(arguments[1]) == 0) execv(arguments[2], arguments + 2);
        return 127;
    }
    int status;
    waitpid(pid, &status, 0);
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD);
    for (;;) {
        ptrace(PTRACE_SYSCALL, pid, 0, 0);
        if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) return 1;
        struct __ptrace_syscall_info info;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
        if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0
            && info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_openat
            && names_libc(pid, info.entry.args[1]))
            break;
    }
    printf("%d\n", pid);
    fflush(stdout);
    getchar();
    ptrace(PTRACE_DETACH, pid, 0, 0);
    waitpid(pid, &status, 0);
    return 0;
}
