// Waits for who writes to a pipe with a name, as it opens it and as it reads.
#include <fcntl.h>
#include <unistd.h>

#define CHECK(condition) do { if (!(condition)) return __LINE__; } while (0)

int main(void) {
    char buffer[10];
    int fd = open("pipe", O_RDONLY);
    CHECK(fd >= 0);
    for (int i = 0; i < 3; i++)
        CHECK(read(fd, buffer, 1) == 1);
    CHECK(close(fd) == 0);
    return 0;
}
