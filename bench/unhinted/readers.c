/* Sequential readers and a random one with a hot set, at once: what a file server sees.
 *
 *     readers STREAMS PASSES RANDOM READS FILE...
 *
 * STREAMS threads read the FILEs whole, STREAM_BYTES at a time, each its share of them one after the other, and that PASSES times. If
 * RANDOM is not "-", one more thread reads READS records of it: nine in ten of a hot eighth that lies scattered, the others of all; which
 * ones, the number READERS_SEED says. Nobody computes much.
 * Prints one line of JSON: how long all took, the streams, the random reader; how many of its reads were answered at once; at the end of
 * each pass of the first stream the time, how many there were of both, and what the slow disk had read; and a sum of what was read, the
 * same whoever brought it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STREAM_BYTES = 64 << 10, RECORD_BYTES = 16 << 10, HOT_PART = 8, HOT_OF_TEN = 9 };
/* A read that takes longer waited for a device. */
static const double AT_ONCE_S = 200e-6;

static char **files;
static int file_count, stream_count, pass_count;
static const char *random_file;
static long read_count;
static atomic_long reads_done, at_once;

/* How things stand at the end of a pass. */
struct mark {
    double at;
    long reads_done, at_once, disk_bytes;
};
static struct mark *marks;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static int open_or_die(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static uint64_t sum_of(const char *bytes, long count) {
    uint64_t sum = 0;
    for (long at = 0; at + 8 <= count; at += 64) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        sum += word;
    }
    return sum;
}

/* What the slow disk has read so far, as its control file says; -1 where there is none. */
static long disk_bytes(void) {
    const char *path = getenv("SLOWDISK_CONTROL");
    FILE *control = path ? fopen(path, "r") : NULL;
    if (!control) return -1;
    char line[256];
    long bytes = -1;
    while (fgets(line, sizeof line, control) && sscanf(line, "read_bytes %ld", &bytes) != 1) {}
    fclose(control);
    return bytes;
}

static void *stream(void *first) {
    char *buffer = malloc(STREAM_BYTES);
    uint64_t sum = 0;
    for (int pass = 0; pass < pass_count; pass++) {
        for (int at = (int)(intptr_t)first; at < file_count; at += stream_count) {
            int fd = open_or_die(files[at]);
            ssize_t got;
            while ((got = read(fd, buffer, STREAM_BYTES)) > 0) sum += sum_of(buffer, got);
            close(fd);
        }
        if (first == 0) marks[pass] = (struct mark){now(), reads_done, at_once, disk_bytes()};
    }
    free(buffer);
    return (void *)(uintptr_t)sum;
}

static uint64_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void *reads_at_random(void *unused) {
    (void)unused;
    char *buffer = malloc(RECORD_BYTES);
    int fd = open_or_die(random_file);
    struct stat about;
    fstat(fd, &about);
    const char *seed = getenv("READERS_SEED");
    uint64_t records = about.st_size / RECORD_BYTES, state = seed ? strtoull(seed, NULL, 10) : 1, sum = 0;
    for (long at = 0; at < read_count; at++) {
        int is_hot = draw(&state) % 10 < HOT_OF_TEN;
        uint64_t record = draw(&state) % records;
        if (is_hot) record -= record % HOT_PART;
        double begun = now();
        ssize_t got = pread(fd, buffer, RECORD_BYTES, record * RECORD_BYTES);
        at_once += now() - begun < AT_ONCE_S;
        reads_done++;
        sum += sum_of(buffer, got);
    }
    close(fd);
    free(buffer);
    return (void *)(uintptr_t)sum;
}

int main(int count, char **arguments) {
    if (count < 5) {
        fputs("usage: readers STREAMS PASSES RANDOM READS FILE...\n", stderr);
        return 2;
    }
    stream_count = atoi(arguments[1]), pass_count = atoi(arguments[2]), random_file = arguments[3], read_count = atol(arguments[4]);
    files = arguments + 5, file_count = count - 5, marks = calloc(pass_count + 1, sizeof *marks);
    pthread_t threads[stream_count + 1];
    double begun = now(), streams_end = begun, random_end = begun;
    uint64_t sum = 0;
    int is_random = strcmp(random_file, "-") != 0;
    for (intptr_t at = 0; at < stream_count; at++) pthread_create(&threads[at], NULL, stream, (void *)at);
    if (is_random) pthread_create(&threads[stream_count], NULL, reads_at_random, NULL);
    void *part;
    for (int at = 0; at < stream_count; at++) pthread_join(threads[at], &part), sum += (uintptr_t)part;
    if (stream_count > 0) streams_end = now();
    if (is_random) pthread_join(threads[stream_count], &part), sum += (uintptr_t)part, random_end = now();
    printf("{\"elapsed_s\": %.3f, \"streams_s\": %.3f, \"random_s\": %.3f, \"at_once\": %ld, \"passes\": [", now() - begun,
           streams_end - begun, random_end - begun, at_once);
    for (int at = 0; at < (stream_count > 0 ? pass_count : 0); at++)
        printf("%s{\"end_s\": %.3f, \"reads\": %ld, \"at_once\": %ld, \"disk_bytes\": %ld}", at ? ", " : "", marks[at].at - begun,
               marks[at].reads_done, marks[at].at_once, marks[at].disk_bytes);
    printf("], \"sum\": %llu}\n", (unsigned long long)sum);
    return 0;
}
