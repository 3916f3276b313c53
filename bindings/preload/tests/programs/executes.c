// Executes the program of this name, in the working directory, in all the ways there are.
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void ended(pid_t child, const char *how) {
    int status;
    waitpid(child, &status, 0);
    printf("%s %d\n", how, status);
    fflush(stdout);
}

#define IN_CHILD(fork, how, call)         \
    do {                                  \
        pid_t child = fork();             \
        if (child == 0) {                 \
            call;                         \
            _exit(99);                    \
        }                                 \
        ended(child, how);                \
    } while (0)

int main(int argc, char **argv) {
    char *name = argv[1], *words[] = {name, NULL}, *none[] = {NULL};
    pid_t child;
    setenv("PATH", "/nowhere:.", 1);
    IN_CHILD(fork, "execve", execve(name, words, environ));
    IN_CHILD(vfork, "vfork", execve(name, words, environ));
    IN_CHILD(fork, "execv", execv(name, words));
    IN_CHILD(vfork, "execvp", execvp(name, words));
    IN_CHILD(fork, "execlp", execlp(name, name, (char *)NULL));
    IN_CHILD(fork, "execle", execle(name, name, (char *)NULL, environ));
    if (posix_spawn(&child, name, NULL, NULL, words, environ) == 0) ended(child, "posix_spawn");
    if (posix_spawnp(&child, name, NULL, NULL, words, environ) == 0) ended(child, "posix_spawnp");
    char *command = malloc(100);
    snprintf(command, 100, "exec ./%s", name);
    FILE *pipe = popen(command, "r");
    char line[100];
    if (fgets(line, sizeof line, pipe)) fputs(line, stdout);
    printf("popen %d\n", pclose(pipe));
    fflush(stdout);
    IN_CHILD(vfork, "without environment", execve("/nowhere", words, none));
    IN_CHILD(vfork, "without any", execve("/nowhere", words, NULL));
    errno = 0;
    int result = execve("/", words, environ);
    printf("%d, errno %d\n", result, errno);
    return argc != 2;
}
