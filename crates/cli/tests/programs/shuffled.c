/* Reads as many blocks of a file as its first argument says, of as many as its second, in an order that is another one each time, and
   says on standard error how often it waited. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char block[4096];
    struct rusage before, after;
    unsigned seed;
    int random = open("/dev/urandom", O_RDONLY), file = argc == 4 ? open(argv[3], O_RDONLY) : -1;
    if (file < 0 || read(random, &seed, sizeof seed) != sizeof seed)
        return 1;
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    srand(seed);
    int reads = atoi(argv[1]), blocks = atoi(argv[2]), *order = calloc(blocks, sizeof *order);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < blocks; i++) {
        int at = rand() % (i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < reads; i++)
        if (pread(file, block, sizeof block, 4096L * order[i]) != sizeof block)
            return 1;
    getrusage(RUSAGE_SELF, &after);
    fprintf(stderr, "%ld\n", after.ru_nvcsw - before.ru_nvcsw);
    return 0;
}
