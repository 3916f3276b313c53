/* Ways to bring a file into the page cache, by the processor time they cost: what reading ahead is made of.
   ways FILE BYTES    drops FILE from the cache before each, reads it in ranges of BYTES (4096 to 1048576, every other range
   below 1 MiB so that they are scattered), and prints microseconds of CPU a range (user + system), and wall. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };
static char *scratch;
static int pipes[2], null;

static void by_pread(int fd, off_t at, size_t n)
{
    if (pread(fd, scratch, n, at) < 0)
        perror("pread");
}

static void by_splice(int fd, off_t at, size_t n)
{
    while (n > 0) {
        off64_t from = at;
        ssize_t got = splice(fd, &from, pipes[1], NULL, n, SPLICE_F_MOVE);
        if (got <= 0)
            break;
        for (ssize_t left = got; left > 0;) {
            ssize_t gone = splice(pipes[0], NULL, null, NULL, left, SPLICE_F_MOVE);
            if (gone <= 0)
                return;
            left -= gone;
        }
        at += got;
        n -= got;
    }
}

static void by_populate(int fd, off_t at, size_t n)
{
    void *map = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, at);
    if (map == MAP_FAILED || madvise(map, n, 22 /* MADV_POPULATE_READ */) != 0)
        perror("populate");
    munmap(map, n);
}

/* Without the advice, one sequential readahead per range: larger folios, but also pages nobody asked for. */
static void by_pread_normal(int fd, off_t at, size_t n)
{
    posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
    by_pread(fd, at, n);
}

static void by_willneed(int fd, off_t at, size_t n)
{
    posix_fadvise(fd, at, n, POSIX_FADV_WILLNEED);
}

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec * 1e6 + u.ru_utime.tv_usec + u.ru_stime.tv_sec * 1e6 + u.ru_stime.tv_usec;
}

static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*read)(int, off_t, size_t); } ways[] = {
        { "pread into one scratch buffer", by_pread },
        { "the same, not advised RANDOM", by_pread_normal },
        { "splice to /dev/null", by_splice },
        { "MADV_POPULATE_READ", by_populate },
        { "WILLNEED (does not wait)", by_willneed },
    };
    size_t range = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (range < 4096 || range > CHUNK) {
        fprintf(stderr, "usage: ways FILE BYTES\n");
        return 2;
    }
    int fd = open(argv[1], O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(argv[1]);
        return 1;
    }
    scratch = malloc(CHUNK);
    null = open("/dev/null", O_WRONLY);
    if (pipe(pipes) != 0 || fcntl(pipes[1], F_SETPIPE_SZ, CHUNK) < 0)
        return 1;
    for (int round = 0; round < 3; round++)
        for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
            fsync(fd);
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
            double from = cpu(), begun = wall();
            long ranges = 0;
            size_t step = range < CHUNK ? 2 * range : range;
            for (off_t at = 0; at + (off_t)range <= st.st_size; at += step, ranges++)
                ways[way].read(fd, at, range);
            printf("%d  %-32s %7.1f us CPU %8.1f us wall\n", round, ways[way].name, (cpu() - from) / ranges,
                   (wall() - begun) / ranges);
        }
    return 0;
}
