// Reads much after a sign from outside; then closes the file and reads another by the same number.
#include <fcntl.h>
#include <unistd.h>

int main(void) {
    char buffer[100];
    int fd = open("data", O_RDONLY);
    write(1, "x", 1);
    if (read(0, buffer, 1) != 1) return 1;
    for (int i = 0; i < 6400; i++)
        if (read(fd, buffer, 1) != 1) return 2;
    close(fd);
    if (open("data", O_RDONLY) != fd) return 3;
    // The processor is given up: what comes next waited, as far as anybody can tell.
    usleep(1);
    for (int i = 0; i < 3; i++)
        if (pread(fd, buffer, 55, i) != 55) return 4;
    return 0;
}
