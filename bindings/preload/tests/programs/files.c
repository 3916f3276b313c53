// Every way to open, look at, list, position, copy, map, advise on and close; "data" is a file, "dir" has one, "sub".
#include "show.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int __open_2(const char *, int), __open64_2(const char *, int);
int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);
int __xstat(int, const char *, struct stat *), __lxstat(int, const char *, struct stat *);
int __fxstatat(int, int, const char *, struct stat *, int);

int main(void) {
    struct stat s;
    struct statx x;
    char buffer[100];
    int dir = open("dir", O_RDONLY | O_DIRECTORY);
    SHOW(open("data", O_RDONLY));
    SHOW(open64("./data", O_RDONLY));
    SHOW(openat(dir, "sub", O_RDONLY));
    SHOW(openat64(dir, "../data", O_RDONLY));
    SHOW(__open_2("dir/../data", O_RDONLY));
    SHOW(__open64_2("dir/./sub", O_RDONLY));
    SHOW(__openat_2(dir, "./sub", O_RDONLY));
    SHOW(__openat64_2(dir, ".//sub", O_RDONLY));
    SHOW(creat("made", 0600));
    SHOW(open("/dev/null", O_RDONLY));
    SHOW(open("absent", O_RDONLY));
    SHOW(open("data/x", O_RDONLY));
    SHOW(openat(dir, "absent-too", O_RDONLY));
    SHOW(open((char *)8, O_RDONLY));
    SHOW(openat(dir, (char *)8, O_RDONLY));
    SHOW(open("data", -1));
    SHOW(stat("data", &s));
    SHOW(s.st_size);
    SHOW(lstat("./data", &s));
    SHOW(fstatat(dir, "sub", &s, 0));
    SHOW(fstatat(dir, "", &s, AT_EMPTY_PATH));
    SHOW(statx(AT_FDCWD, "dir", 0, STATX_SIZE, &x));
    SHOW(access("dir/sub", R_OK));
    SHOW(faccessat(dir, "nothing", R_OK, 0));
    SHOW(stat("no-such", &s));
    SHOW(stat((char *)8, &s));
    SHOW(__xstat(1, "dir/../dir", &s));
    SHOW(__lxstat(1, "dir/.", &s));
    SHOW(__fxstatat(1, dir, "../dir", &s, 0));
    int fd = open("data", O_RDONLY);
    SHOW(lseek(fd, 500, SEEK_SET));
    SHOW(lseek64(fd, -10, SEEK_END));
    SHOW(dup(fd));
    SHOW(dup2(fd, 60));
    SHOW(dup2(fd, fd));
    SHOW(dup3(fd, 61, O_CLOEXEC));
    SHOW(dup3(fd, fd, 0));
    SHOW(dup2(999, 62));
    SHOW(fcntl(fd, F_DUPFD, 70));
    SHOW(fcntl(fd, F_DUPFD_CLOEXEC, 80));
    SHOW(fcntl(fd, F_GETFL));
    SHOW(fcntl(999, F_GETFL));
    SHOW(read(70, buffer, 7));
    SHOW(close(60));
    SHOW(close(60));
    SHOW(open("dir/sub", O_RDONLY));
    SHOW(close_range(80, 90, 0));
    SHOW(posix_fadvise(fd, 1, 2, POSIX_FADV_WILLNEED));
    SHOW(posix_fadvise64(fd, 3, 4, POSIX_FADV_SEQUENTIAL));
    SHOW(posix_fadvise(fd, 3, 4, 77));
    SHOW(posix_fadvise(999, 3, 4, 0));
    SHOW(readahead(fd, 5, 6));
    void *map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 4096);
    SHOW(map != MAP_FAILED);
    SHOW(madvise(map, 4096, MADV_WILLNEED));
    SHOW(madvise((char *)1, 4096, MADV_RANDOM));
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED);
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    DIR *d = opendir("dir");
    int entries = 0;
    while (readdir(d)) entries++;
    SHOW(entries);
    SHOW(closedir(d));
    SHOW(opendir("absent-dir") != NULL);
    d = fdopendir(openat(AT_FDCWD, "dir", O_RDONLY));
    SHOW(d != NULL);
    SHOW(closedir(d));
    SHOW(chdir("dir"));
    SHOW(chdir("absent"));
    SHOW(fchdir(dir));
    SHOW(fchdir(999));
    SHOW(open("sub", O_RDONLY));
    // Opened where nobody looks.
    int hidden = syscall(SYS_open, "../data", O_RDONLY);
    SHOW(syscall(SYS_lseek, hidden, 1234, SEEK_SET));
    SHOW(read(hidden, buffer, 9));
    closefrom(50);
    SHOW(fcntl(70, F_GETFD));
    return 0;
}
