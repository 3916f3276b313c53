// Reads the file `data` and writes the file `out` by several ways through the program, in an order that an argument shuffles.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef OTHER
const char *other = "another build";
#endif

static int fd, out;
static FILE *stream;
static char buffer[64];

// A wrapper: to the system call all ways look alike.
__attribute__((noipa)) static void get(int bytes) {
    if (pread(fd, buffer, bytes, 0) != bytes) abort();
}

__attribute__((noipa)) static void index_of(int bytes) { get(bytes); __asm__ volatile(""); }
__attribute__((noipa)) static void table_of(int bytes) { get(bytes); __asm__ volatile("nop"); }
__attribute__((noipa)) static void deeper(int bytes, int depth) {
    if (depth > 0) deeper(bytes, depth - 1);
    else index_of(bytes);
    __asm__ volatile("");
}

__attribute__((noipa)) static void place(int bytes) {
    if (pwrite(out, buffer, bytes, 0) != bytes) abort();
}

// To libc's own write, which nothing stands in front of.
__attribute__((noipa)) static void print(int bytes) {
    if (fwrite(buffer, 1, bytes, stream) != (size_t)bytes || fflush(stream) != 0) abort();
}

int main(int argc, char **argv) {
    fd = open("data", O_RDONLY);
    out = open("out", O_WRONLY | O_CREAT, 0600);
    stream = fopen("printed", "w");
    unsigned random = argc > 1 ? atoi(argv[1]) : 0;
    for (int at = 0; at < 200; at++) {
        random = random * 1103515245 + 12345;
        // The bytes say which way it was.
        switch ((random >> 16) % 7) {
        case 0: index_of(1); break;
        case 1: table_of(2); break;
        case 2: deeper(3, 1); break;
        case 3: deeper(4, 2); break;
        case 4: get(5); break;
        case 5: place(6); break;
        case 6: print(7); break;
        }
    }
    return 0;
}
