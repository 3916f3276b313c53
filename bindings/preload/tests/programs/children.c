// Children: of vfork, which run in our memory and close descriptors of their own; of fork; and a program of theirs.
#include "show.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    char buffer[100];
    int status;
    if (count > 1) {
        SHOW(read(0, buffer, 33));
        return 0;
    }
    int fd = open("data", O_RDONLY), other = open("dir/sub", O_RDONLY);
    SHOW(read(fd, buffer, 10));
    fflush(stdout);
    pid_t child = vfork();
    if (child == 0) {
        close(fd);
        dup2(other, fd);
        close_range(3, 100, 0);
        open("dir/sub", O_RDONLY);
        _exit(0);
    }
    waitpid(child, &status, 0);
    SHOW(status);
    SHOW(read(fd, buffer, 11));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        SHOW(read(fd, buffer, 12));
        SHOW(close(fd));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    SHOW(status);
    SHOW(read(fd, buffer, 13));
    fflush(stdout);
    // Through the shell: standard input becomes the file, and the program inherits it.
    char command[4000];
    snprintf(command, sizeof command, "%s child <data", arguments[0]);
    SHOW(system(command));
    return 0;
}
