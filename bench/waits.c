/* How long a read of 4 KiB waits that is in memory: what a recorder costs those it records, or others.
   waits FILE [READERS [PAUSE]]   so many processes (1) each read 20,000 times from the first 4 MiB of FILE, with PAUSE microseconds
   (0) of work in between; prints each one's microseconds a read: median, 99th percentile. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { READS = 20000, BLOCKS = 1024 };
static double took[READS];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static void reader(const char *path, double pause)
{
    static char block[4096];
    int file = open(path, O_RDONLY);
    /* The first round brings it into memory. */
    for (int i = -BLOCKS; i < READS; i++) {
        double begun = now();
        if (pread(file, block, sizeof block, (i + BLOCKS) % BLOCKS * 4096L) < 0) {
            perror(path);
            exit(1);
        }
        double ended = now();
        if (i >= 0)
            took[i] = ended - begun;
        while (now() < ended + pause) {
        }
    }
    qsort(took, READS, sizeof *took, by_size);
    printf("%.1f us, %.1f us\n", took[READS / 2], took[READS / 100 * 99]);
}

int main(int argc, char **argv)
{
    int readers = argc > 2 ? atoi(argv[2]) : 1, status, failed = 0;
    if (argc < 2) {
        fprintf(stderr, "waits FILE [READERS [PAUSE]]\n");
        return 2;
    }
    for (int i = 0; i < readers; i++)
        if (fork() == 0) {
            reader(argv[1], argc > 3 ? atof(argv[3]) : 0);
            return 0;
        }
    while (wait(&status) > 0)
        failed |= status;
    return failed != 0;
}
