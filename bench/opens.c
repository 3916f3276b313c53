/* Opens, reads whole and closes the files of a directory again and again, and prints the nanoseconds each took.
   opens DIRECTORY TIMES */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILES_MAX 1024

int main(int argc, char **argv)
{
    DIR *directory = argc == 3 && chdir(argv[1]) == 0 ? opendir(".") : NULL;
    if (!directory) {
        fprintf(stderr, "usage: opens DIRECTORY TIMES\n");
        return 2;
    }
    static char *names[FILES_MAX], buffer[65536];
    long files = 0, times = strtol(argv[2], NULL, 10);
    for (struct dirent *entry; files < FILES_MAX && (entry = readdir(directory));)
        if (entry->d_type == DT_REG)
            names[files++] = strdup(entry->d_name);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < times; i++) {
        int fd = open(names[i % files], O_RDONLY);
        ssize_t got;
        while ((got = read(fd, buffer, sizeof buffer)) > 0) {
        }
        if (got < 0 || close(fd) != 0)
            return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
    printf("%.1f\n", ns / times);
    return 0;
}
