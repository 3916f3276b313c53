/* Sequential readers and a random one with a hot set, at once: what a file server sees.
 *
 *     readers STREAMS RANDOM READS FILE...
 *
 * STREAMS threads read the FILEs whole, STREAM_BYTES at a time, each its share of them one after the other. If RANDOM is not "-", one more
 * thread reads READS records of it: nine in ten of a hot eighth that lies scattered, the others of all. Nobody computes much.
 * Prints one line of JSON: how long all took, the streams, the random reader; how many of its reads were answered at once, and a sum of
 * what was read, the same whoever brought it. */
#include <fcntl.h>
#include <pthread.h>
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
static int file_count, stream_count;
static const char *random_file;
static long read_count;
static long at_once;

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

static void *stream(void *first) {
    char *buffer = malloc(STREAM_BYTES);
    uint64_t sum = 0;
    for (int at = (int)(intptr_t)first; at < file_count; at += stream_count) {
        int fd = open_or_die(files[at]);
        ssize_t got;
        while ((got = read(fd, buffer, STREAM_BYTES)) > 0) sum += sum_of(buffer, got);
        close(fd);
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
    uint64_t records = about.st_size / RECORD_BYTES, state = 1, sum = 0;
    for (long at = 0; at < read_count; at++) {
        int is_hot = draw(&state) % 10 < HOT_OF_TEN;
        uint64_t record = draw(&state) % records;
        if (is_hot) record -= record % HOT_PART;
        double begun = now();
        ssize_t got = pread(fd, buffer, RECORD_BYTES, record * RECORD_BYTES);
        at_once += now() - begun < AT_ONCE_S;
        sum += sum_of(buffer, got);
    }
    close(fd);
    free(buffer);
    return (void *)(uintptr_t)sum;
}

int main(int count, char **arguments) {
    if (count < 4) {
        fputs("usage: readers STREAMS RANDOM READS FILE...\n", stderr);
        return 2;
    }
    stream_count = atoi(arguments[1]), random_file = arguments[2], read_count = atol(arguments[3]);
    files = arguments + 4, file_count = count - 4;
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
    printf("{\"elapsed_s\": %.3f, \"streams_s\": %.3f, \"random_s\": %.3f, \"at_once\": %ld, \"sum\": %llu}\n",
           now() - begun, streams_end - begun, random_end - begun, at_once, (unsigned long long)sum);
    return 0;
}
