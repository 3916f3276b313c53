// A program that gives up all system calls but a few.
#include "show.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(name)                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),     \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read), ALLOW(write), ALLOW(openat), ALLOW(close), ALLOW(exit_group), ALLOW(dup), ALLOW(newfstatat),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    char buffer[100];
    int before = open("data", O_RDONLY);
    SHOW(read(before, buffer, 5));
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    SHOW(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    SHOW(read(before, buffer, 6));
    SHOW(open("data", O_RDONLY));
    SHOW(dup(before));
    SHOW(close(before));
    return 0;
}
