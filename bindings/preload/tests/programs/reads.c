// Every way to read, on file "data" of 100,000 bytes.
#include "show.h"
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off_t, size_t);

static char buffer[1 << 16];

int main(void) {
    int fd = open("data", O_RDONLY), out = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct iovec parts[2] = {{buffer, 100}, {buffer + 100, 200}};
    off_t at = 5000;
    loff_t from = 6000, to = 700;
    SHOW(read(fd, buffer, 1001));
    SHOW(__read_chk(fd, buffer, 1002, sizeof buffer));
    SHOW(pread(fd, buffer, 1003, 11));
    SHOW(pread64(fd, buffer, 1004, 12));
    SHOW(__pread_chk(fd, buffer, 1005, 13, sizeof buffer));
    SHOW(__pread64_chk(fd, buffer, 1006, 14, sizeof buffer));
    SHOW(readv(fd, parts, 2));
    SHOW(preadv(fd, parts, 2, 15));
    SHOW(preadv64(fd, parts, 2, 16));
    SHOW(preadv2(fd, parts, 2, 17, 0));
    SHOW(preadv2(fd, parts, 2, -1, 0));
    SHOW(preadv64v2(fd, parts, 2, 18, 0));
    SHOW(sendfile(out, fd, &at, 400));
    SHOW(at);
    SHOW(sendfile64(out, fd, NULL, 401));
    SHOW(copy_file_range(fd, &from, out, &to, 402, 0));
    SHOW(from + to);
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(pread(fd, buffer, sizeof buffer, 99000));
    SHOW(pread(fd, buffer, 10, 1 << 20));
    // Failures.
    SHOW(read(fd, (void *)8, 100));
    SHOW(read(-1, buffer, 100));
    SHOW(read(999, buffer, 100));
    SHOW(read(out + 7, buffer, 100));
    SHOW(pread(fd, buffer, 100, -5));
    SHOW(readv(fd, (void *)8, 2));
    SHOW(readv(fd, parts, -1));
    SHOW(preadv(fd, (void *)8, 2, 0));
    SHOW(read(open("data", O_WRONLY), buffer, 1));
    SHOW(lseek(fd, -1, SEEK_SET));
    // Writing.
    SHOW(write(out, buffer, 10));
    SHOW(pwrite(out, buffer, 20, 3));
    SHOW(pwrite64(out, buffer, 21, 4));
    SHOW(writev(out, parts, 2));
    SHOW(pwritev(out, parts, 2, 5));
    SHOW(pwritev64(out, parts, 2, 6));
    SHOW(write(fd, buffer, 10));
    SHOW(write(out, (void *)8, 10));
    // One that the library sees at its first write.
    int hidden = syscall(SYS_openat, AT_FDCWD, "out", O_WRONLY);
    SHOW(syscall(SYS_lseek, hidden, 8, SEEK_SET));
    SHOW(write(hidden, buffer, 30));
    SHOW(write(hidden, buffer, 31));
    SHOW(pwritev2(out, parts, 2, 9, 0));
    SHOW(pwritev2(out, parts, 2, -1, 0));
    // At the end, wherever it stands.
    int log = open("log", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    SHOW(write(log, buffer, 50));
    SHOW(lseek(log, 10, SEEK_SET));
    SHOW(write(log, buffer, 51));
    SHOW(pwrite(log, buffer, 52, 3));
    SHOW(fcntl(log, F_SETFL, 0));
    SHOW(pwrite(log, buffer, 53, 3));
    SHOW(fcntl(log, F_SETFL, O_APPEND));
    SHOW(write(log, buffer, 54));
    int pipes[2];
    SHOW(pipe(pipes));
    SHOW(write(pipes[1], "hello", 5));
    SHOW(read(pipes[0], buffer, 100));
    SHOW(lseek(pipes[0], 0, SEEK_SET));
    loff_t spliced = 70;
    SHOW(splice(fd, &spliced, pipes[1], NULL, 403, 0));
    SHOW(splice(fd, NULL, pipes[1], NULL, 404, 0));
    SHOW(splice(pipes[0], NULL, out, NULL, 403, 0));
    SHOW(splice(pipes[0], NULL, out, &spliced, 404, 0));
    return 0;
}
