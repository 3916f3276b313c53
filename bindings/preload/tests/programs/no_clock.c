// Gives the processor's time-stamp counter up, in this way, and does what the library looks at.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char buffer[100];
    int fd = open("data", O_RDONLY);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    if (argc != 2 || read(fd, buffer, 10) != 10) return 1;
    if (strcmp(argv[1], "strict") == 0) {
        syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        if (read(fd, buffer, 100) == 100) write(1, "over\n", 5);
        syscall(SYS_exit, 0);
    }
    if (strcmp(argv[1], "prctl") == 0) prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    else syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
    if (read(fd, buffer, 100) != 100 || write(1, "read\n", 5) != 5 || open("absent", O_RDONLY) != -1) return 2;
    if (library) dlclose(library);
    close(fd);
    int status;
    pid_t child = fork();
    if (child == 0) {
        fd = open("data", O_RDONLY);
        _exit(read(fd, buffer, 1) != 1);
    }
    if (waitpid(child, &status, 0) != child || status != 0) return 3;
    write(1, "over\n", 5);
    return 0;
}
