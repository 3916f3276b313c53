/* Reads a file again and again with pread, from a warm cache, and prints the nanoseconds one read took.
   preads FILE BYTES_A_READ READS */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: preads FILE BYTES_A_READ READS\n");
        return 2;
    }
    int fd = open(argv[1], O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(argv[1]);
        return 1;
    }
    size_t bytes = strtoul(argv[2], NULL, 10);
    long reads = strtol(argv[3], NULL, 10);
    char *buffer = malloc(bytes);
    long slots = st.st_size / (long)bytes;
    for (long i = 0; i < slots; i++) /* warm the cache, and let whoever watches learn that it is warm */
        if (pread(fd, buffer, bytes, i * (off_t)bytes) < 0)
            return 1;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < reads; i++)
        if (pread(fd, buffer, bytes, (i % slots) * (off_t)bytes) != (ssize_t)bytes)
            return 1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
    printf("%.1f\n", ns / reads);
    return 0;
}
