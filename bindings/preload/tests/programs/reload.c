// Loads two libraries in turns, each to where the other was, and reads through them: one byte through the first, two through the second.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int fd;
static char buffer[64];

__attribute__((noipa)) static void get(int bytes) {
    if (pread(fd, buffer, bytes, 0) != bytes) abort();
}

int main(int count, char **arguments) {
    void *was = NULL;
    int moved = 0;
    fd = open("data", O_RDONLY);
    for (int at = 0; at < 10; at++) {
        void *library = dlopen(arguments[1 + at % 2], RTLD_NOW);
        void (*through)(void (*)(int), int) = (void (*)(void (*)(int), int))dlsym(library, "through");
        for (int times = 0; times < 10; times++) through(get, 1 + at % 2);
        moved += was && was != (void *)through;
        was = (void *)through;
        dlclose(library);
    }
    printf("moved %d\n", moved);
    return count - 3;
}
