/* Reads in ways of its own: files, trees, a mapping, past the page cache, by io_uring; in a child if that is said. Prints a sum of what
   it read, and on standard error how often it waited. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef GO
/* To be taken for one of Go's, which make their system calls past libc. */
__asm__(".pushsection .note.go.buildid,\"a\",%note\n.balign 4\n.long 4, 4, 4\n.ascii \"Go\\0\\0\"\n.long 0\n.popsection");
#endif

#define RECORD 65536
static unsigned long sum;

static void add(const unsigned char *bytes, long count) {
    for (long at = 0; at < count; at++) sum = (sum * 31 + bytes[at]) % 1000003;
}

static void read_file(const char *path, int flags) {
    int fd = open(path, O_RDONLY | flags);
    if (fd < 0) { perror(path); exit(flags & O_DIRECT ? 77 : 1); }
    unsigned char *buffer = aligned_alloc(4096, RECORD);
    long got;
    while ((got = read(fd, buffer, RECORD)) > 0) add(buffer, got);
    if (got < 0) exit(flags & O_DIRECT ? 77 : 1);
    free(buffer);
    close(fd);
}

static void map_file(const char *path) {
    int fd = open(path, O_RDONLY);
    struct stat it;
    if (fd < 0 || fstat(fd, &it)) exit(1);
    unsigned char *bytes = mmap(NULL, it.st_size, PROT_READ, MAP_SHARED, fd, 0);
    for (long at = 0; at < it.st_size; at += 4096) add(bytes + at, 1);
}

/* One request after the other, by system calls alone. */
static void ring_file(const char *path) {
    struct io_uring_params params = {0};
    int ring = syscall(SYS_io_uring_setup, 4, &params), fd = open(path, O_RDONLY);
    if (ring < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP)) exit(77);
    size_t bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    char *queues = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    struct io_uring_cqe *done = (void *)(queues + params.cq_off.cqes);
    unsigned char *buffer = malloc(RECORD);
    unsigned mask = *(unsigned *)(queues + params.cq_off.ring_mask);
    for (unsigned long at = 0;; at += RECORD) {
        memset(entry, 0, sizeof *entry);
        entry->opcode = IORING_OP_READ;
        entry->fd = fd;
        entry->addr = (unsigned long)buffer;
        entry->len = RECORD;
        entry->off = at;
        _Atomic unsigned *tail = (void *)(queues + params.sq_off.tail), *head = (void *)(queues + params.cq_off.head);
        ((unsigned *)(queues + params.sq_off.array))[*tail & *(unsigned *)(queues + params.sq_off.ring_mask)] = 0;
        atomic_fetch_add(tail, 1);
        if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) exit(1);
        int got = done[*head & mask].res;
        atomic_fetch_add(head, 1);
        if (got <= 0) break;
        add(buffer, got);
    }
}

/* The same by Linux AIO, past the page cache as programs do that use it. */
static void queue_file(const char *path) {
    aio_context_t queue = 0;
    int fd = open(path, O_RDONLY | O_DIRECT);
    if (fd < 0) fd = open(path, O_RDONLY);
    if (syscall(SYS_io_setup, 4, &queue)) exit(77);
    unsigned char *buffer = aligned_alloc(4096, RECORD);
    for (long at = 0;; at += RECORD) {
        struct iocb block = {.aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (unsigned long)buffer,
            .aio_nbytes = RECORD, .aio_offset = at}, *blocks = &block;
        struct io_event event;
        if (syscall(SYS_io_submit, queue, 1L, &blocks) != 1) exit(1);
        if (syscall(SYS_io_getevents, queue, 1L, 1L, &event, NULL) != 1) exit(1);
        if (event.res <= 0) break;
        add(buffer, event.res);
    }
}

static void walk(const char *path) {
    DIR *directory = opendir(path);
    if (!directory) { read_file(path, 0); return; }
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') walk(name);
        if (entry->d_type == DT_REG) read_file(name, 0);
    }
    closedir(directory);
}

int main(int count, char **words) {
    if (!strncmp(words[1], "child-", 6)) {
        words[1] += 6;
        if (fork()) return wait(NULL) < 0;
    }
    for (int word = 2; word < count; word++) {
        if (!strcmp(words[1], "walk")) walk(words[word]);
        if (!strcmp(words[1], "map")) map_file(words[word]);
        if (!strcmp(words[1], "direct")) read_file(words[word], O_DIRECT);
        if (!strcmp(words[1], "uring")) ring_file(words[word]);
        if (!strcmp(words[1], "aio")) queue_file(words[word]);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%lu\n", sum);
    fprintf(stderr, "%ld\n", usage.ru_nvcsw);
    return 0;
}
