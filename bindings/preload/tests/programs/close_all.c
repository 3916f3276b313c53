// A program that closes every descriptor it might have, as daemons do, and goes on.
#include "show.h"
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

int main(void) {
    char buffer[100];
    int open_ones = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d)) open_ones++;
    closedir(d);
    SHOW(open_ones);
    for (int fd = 3; fd < 5000; fd++) close(fd);
    SHOW(open("data", O_RDONLY));
    SHOW(read(3, buffer, 21));
    SHOW(close_range(3, ~0U, 0));
    SHOW(open("data", O_RDONLY));
    SHOW(read(3, buffer, 22));
    return 0;
}
