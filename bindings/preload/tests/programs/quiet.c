// Opens, reads and looks at a file in several ways; goes on after a sign from outside.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(condition) do { if (!(condition)) return __LINE__; } while (0)

int main(void) {
    char buffer[100];
    struct stat status;
    // Six reads that give something, of 52 bytes in all.
    int fd = open("data", O_RDONLY);
    CHECK(read(fd, buffer, 10) == 10 && lseek(fd, 100, SEEK_SET) == 100 && read(fd, buffer, 10) == 10);
    CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL) == 0 && close(fd) == 0);
    fd = openat(AT_FDCWD, "data", O_RDONLY | O_CLOEXEC);
    CHECK(pread(fd, buffer, 10, 50) == 10 && fstat(fd, &status) == 0 && close(fd) == 0);
    FILE *stream = fopen("dir/sub", "r");
    CHECK(stream && fgets(buffer, sizeof buffer, stream) && strcmp(buffer, "sub") == 0 && fclose(stream) == 0);
    CHECK(open("nowhere", O_RDONLY) == -1);
    // What is more than to be read.
    fd = open("data", O_RDWR);
    CHECK(read(fd, buffer, 9) == 9 && pread(fd, buffer, 8, 50) == 8 && close(fd) == 0);
    int directory = open("dir", O_RDONLY | O_DIRECTORY);
    fd = openat(directory, "sub", O_RDONLY);
    CHECK(fd >= 0 && close(directory) == 0 && close(fd) == 0);
    CHECK(stat("data", &status) == 0 && access("nowhere", R_OK) == -1);
    DIR *stream_of_directory = opendir("dir");
    CHECK(stream_of_directory && readdir(stream_of_directory) && closedir(stream_of_directory) == 0);
    int copied = open("dir", O_RDONLY | O_DIRECTORY);
    directory = dup(copied);
    stream_of_directory = fdopendir(copied);
    CHECK(stream_of_directory && fstatat(directory, "sub", &status, 0) == 0 && closedir(stream_of_directory) == 0);
    fd = open("data", O_RDONLY);
    CHECK(read(fd, buffer, 10) == 10);
    CHECK(write(1, "x", 1) == 1 && read(0, buffer, 1) == 1);
    // One in seven is timed.
    for (int i = 0; i < 7; i++)
        CHECK(read(fd, buffer, 1) == 1);
    CHECK(read(fd, buffer, 20) == 20 && pread(fd, buffer, 5, 50) == 5 && close(fd) == 0);
    CHECK(fstatat(directory, "sub", &status, 0) == 0 && close(directory) == 0);
    return 0;
}
