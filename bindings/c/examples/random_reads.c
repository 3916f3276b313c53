/* Reads COUNT blocks of a file in random order, having disclosed them, and prints their sum.

     cc -o random_reads random_reads.c -lforesee
     foresee run --report -- ./random_reads FILE COUNT */
#include <fcntl.h>
#include <foresee.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096 };

static void random_blocks(struct foresee_segment *segments, size_t count, uint64_t blocks)
{
    uint64_t random = 88172645463325252u; /* xorshift64: the same order each time */
    for (size_t i = 0; i < count; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        segments[i] = (struct foresee_segment){random % blocks * BLOCK_BYTES, BLOCK_BYTES};
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: random_reads FILE COUNT\n");
        return 2;
    }
    int fd = open(argv[1], O_RDONLY);
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0 || found.st_size < BLOCK_BYTES) {
        fprintf(stderr, "%s: not a file of a block of %d bytes or more\n", argv[1], BLOCK_BYTES);
        return 1;
    }
    size_t count = strtoul(argv[2], NULL, 10);
    struct foresee_segment *segments = calloc(count, sizeof *segments);
    if (segments == NULL)
        return 1;
    random_blocks(segments, count, found.st_size / BLOCK_BYTES);

    /* The disclosure: all that is needed. */
    if (foresee_hint_segments(argv[1], segments, count) != 0)
        perror("foresee_hint_segments");

    unsigned long sum = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned char block[BLOCK_BYTES];
        if (pread(fd, block, sizeof block, segments[i].offset) != (ssize_t)sizeof block)
            return 1;
        for (size_t byte = 0; byte < sizeof block; byte++)
            sum += block[byte] * (i + 1);
    }
    printf("%lu\n", sum);
    free(segments);
    return 0;
}
