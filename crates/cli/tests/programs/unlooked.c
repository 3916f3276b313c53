/* Hints of files, by a program that the kernel kills if a file is looked up for them. Prints "told", or "mounted" where
   there is a `foresee mount`, for which it is. */
#include <foresee.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* openat is not: the list of mounts is read by it. */
#define FORBIDDEN(call)                                                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBIDDEN(SYS_statx), FORBIDDEN(SYS_newfstatat), FORBIDDEN(SYS_readlinkat), FORBIDDEN(SYS_faccessat),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (foresee_is_active())
        return write(1, "mounted\n", 8) != 8;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 2;
    struct foresee_segment segment = {0, 1};
    if (foresee_hint_file("f") != 0 || foresee_hint_segments("f", &segment, 1) != 0)
        return 1;
    return write(1, "told\n", 5) != 5;
}
