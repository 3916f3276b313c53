/* How likely a text is by a model of word triples and pairs that is larger than the memory (000 section 3.5).

       ngrams make MODEL MEBIBYTES         writes a synthetic model, and MODEL.index
       ngrams score MODEL TEXT HOW         prints the text's score

   What it reads: the index, once; then, 32 words of the text at a time, for each word the page of 4 KiB that holds the triple it
   ends, and that of the pair. What it discloses: the pages of each 32 words before it reads the first of them (HOW: hints to
   foresee, fadvise to the kernel, none).

   The model is sorted by the hash of the words: records of 16 bytes, 256 a page. Its index is the first hash of each page. A
   triple's weight is that of the last record at or before its hash, so that the synthetic model has one for every text. */
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foresee.h"

enum { PAGE = 4096, RECORDS = 256, BATCH = 32 };

struct record {
    uint64_t hash;
    double weight;
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* splitmix64's finaliser: every bit of the answer depends on every bit of the number. */
static uint64_t mix(uint64_t number) {
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

static void make(const char *path, uint64_t bytes) {
    char index_path[4096];
    snprintf(index_path, sizeof index_path, "%s.index", path);
    FILE *model = fopen(path, "w"), *index = fopen(index_path, "w");
    if (model == NULL || index == NULL)
        fail(path);
    uint64_t records = bytes / sizeof(struct record), step = UINT64_MAX / records;
    for (uint64_t number = 0; number < records; number++) {
        struct record record = {number * step + mix(number) % step, -(double)(mix(~number) % 1000) / 100};
        fwrite(&record, sizeof record, 1, model);
        if (number % RECORDS == 0)
            fwrite(&record.hash, sizeof record.hash, 1, index);
    }
    if (fclose(model) != 0 || fclose(index) != 0)
        fail(path);
}

/* The whole of a file, with a 0 behind it. */
static char *load(const char *path, size_t *bytes) {
    struct stat found;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &found) != 0)
        fail(path);
    char *content = calloc(found.st_size + 1, 1);
    if (content == NULL || read(fd, content, found.st_size) != found.st_size)
        fail(path);
    close(fd);
    *bytes = found.st_size;
    return content;
}

/* The hash of the next word of the text, or 0 at its end. */
static uint64_t next_word(const char **text) {
    while (**text != 0 && !isalnum((unsigned char)**text))
        ++*text;
    uint64_t hash = 0;
    for (; isalnum((unsigned char)**text); ++*text)
        hash = mix(hash * 257 + tolower((unsigned char)**text));
    return hash;
}

/* The last of the hashes, `stride` bytes apart, that is not above this one; the first if all are. */
static size_t find(const void *hashes, size_t count, size_t stride, uint64_t hash) {
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (*(const uint64_t *)((const char *)hashes + middle * stride) <= hash)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void disclose(const char *how, const char *path, int fd, const struct foresee_segment *pages, int count) {
    if (strcmp(how, "hints") == 0)
        foresee_hint_segments(path, pages, count);
    else if (strcmp(how, "fadvise") == 0)
        for (int i = 0; i < count; i++)
            posix_fadvise(fd, pages[i].offset, PAGE, POSIX_FADV_WILLNEED);
}

static double weight_at(int fd, uint64_t offset, uint64_t hash) {
    struct record page[RECORDS];
    if (pread(fd, page, PAGE, offset) != PAGE)
        fail("model");
    return page[find(page, RECORDS, sizeof *page, hash)].weight;
}

static void score(const char *path, const char *text_path, const char *how) {
    char index_path[4096];
    snprintf(index_path, sizeof index_path, "%s.index", path);
    size_t index_bytes, text_bytes;
    uint64_t *index = (uint64_t *)load(index_path, &index_bytes);
    const char *text = load(text_path, &text_bytes);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        fail(path);
    double sum = 0;
    uint64_t last = 0, before_last = 0;
    for (int count = 2 * BATCH; count == 2 * BATCH;) {
        uint64_t hashes[2 * BATCH], word;
        struct foresee_segment pages[2 * BATCH];
        for (count = 0; count < 2 * BATCH && (word = next_word(&text)) != 0; before_last = last, last = word) {
            hashes[count++] = mix(before_last ^ mix(last ^ mix(word)));
            hashes[count++] = mix(last ^ mix(word));
        }
        for (int i = 0; i < count; i++)
            pages[i] = (struct foresee_segment){find(index, index_bytes / 8, 8, hashes[i]) * PAGE, PAGE};
        disclose(how, path, fd, pages, count);
        for (int i = 0; i < count; i++)
            sum += weight_at(fd, pages[i].offset, hashes[i]);
    }
    printf("%.2f\n", sum);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        make(argv[2], strtoull(argv[3], NULL, 10) << 20);
    } else if (argc == 5 && strcmp(argv[1], "score") == 0) {
        score(argv[2], argv[3], argv[4]);
    } else {
        fprintf(stderr, "usage: ngrams make MODEL MEBIBYTES | ngrams score MODEL TEXT none|hints|fadvise\n");
        return 2;
    }
    return 0;
}
