// Eight threads, each reading one block after another and opening and closing; every byte is checked.
#include "show.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
enum { THREADS = 8, READS = 20000, BLOCK = 512, BLOCKS = 190 };

static int fd;

static void *body(void *number) {
    long bad = 0;
    unsigned char buffer[BLOCK];
    for (int i = 0; i < READS; i++) {
        long at = (i * 7 + (long)number) % BLOCKS * BLOCK;
        bad += pread(fd, buffer, BLOCK, at) != BLOCK;
        for (int b = 0; b < BLOCK; b++) bad += buffer[b] != (unsigned char)((at + b) * 31 % 251);
        if (i % 100 == 0) {
            int own = open("data", O_RDONLY);
            bad += read(own, buffer, 77) != 77;
            bad += close(own);
        }
    }
    return (void *)bad;
}

int main(void) {
    pthread_t threads[THREADS];
    fd = open("data", O_RDONLY);
    for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, body, (void *)t);
    long bad = 0;
    for (int t = 0; t < THREADS; t++) {
        void *result;
        pthread_join(threads[t], &result);
        bad += (long)result;
    }
    SHOW(bad);
    return 0;
}
