// Reads and writes a file at places of it, as a database does; goes on after a sign from outside.
#include <fcntl.h>
#include <unistd.h>

#define CHECK(condition) do { if (!(condition)) return __LINE__; } while (0)

int main(void) {
    char buffer[100];
    int fd = open("data", O_RDWR);
    for (int i = 0; i < 100; i++)
        CHECK(pread(fd, buffer, 10, i) == 10);
    CHECK(pwrite(fd, buffer, 7, 50) == 7 && read(fd, buffer, 9) == 9);
    CHECK(write(1, "x", 1) == 1 && read(0, buffer, 1) == 1);
    CHECK(pread(fd, buffer, 20, 50) == 20 && pread(fd, buffer, 30, 50) == 30 && close(fd) == 0);
    return 0;
}
