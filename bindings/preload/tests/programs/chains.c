// Two chains of calls of which only the seventh caller differs, in turns, at the same depth of the stack.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int fd;
static char buffer[64];

__attribute__((noipa)) static void get(int bytes) {
    if (pread(fd, buffer, bytes, 0) != bytes) abort();
    __asm__ volatile("");
}
__attribute__((noipa)) static void deeper(int bytes, int depth) {
    if (depth > 0) deeper(bytes, depth - 1);
    else get(bytes);
    __asm__ volatile("");
}
__attribute__((noipa)) static void one(int bytes) { deeper(bytes, 4); __asm__ volatile(""); }
__attribute__((noipa)) static void other(int bytes) { deeper(bytes, 4); __asm__ volatile(""); }

int main(void) {
    fd = open("data", O_RDONLY);
    for (int at = 0; at < 100; at++) (at % 2 ? one : other)(1 + at % 2);
    return 0;
}
