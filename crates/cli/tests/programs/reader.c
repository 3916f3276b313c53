/* Does with a file what its arguments say, one after the other, and prints the sum of all bytes it got.
     FILE       opens it (to be read and written, at its end if it begins with '+'), in place of the one before
     pOFF:LEN   reads there              rLEN  reads on
     mOFF:LEN   maps it and looks at it  wOFF:LEN  writes zeros there
     aLEN       writes zeros where the file stands
     lN         N reads of 512 bytes, here and there in the first MiB
     f          does the rest in a child, and waits for it */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long sum;

static void add(const unsigned char *bytes, long count)
{
    for (long i = 0; i < count; i++)
        sum = sum * 31 + bytes[i];
}

int main(int argc, char **argv)
{
    static unsigned char buffer[1 << 20], zeros[1 << 20];
    int file = -1, status;
    for (int i = 1; i < argc; i++) {
        char *rest;
        long number = strtol(argv[i] + 1, &rest, 10), length = *rest ? strtol(rest + 1, NULL, 10) : 0;
        switch (argv[i][0]) {
        case 'p': add(buffer, pread(file, buffer, length, number)); break;
        case 'r': add(buffer, read(file, buffer, number)); break;
        case 'm': add(mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, number), length); break;
        case 'w': if (pwrite(file, zeros, length, number) != length) return 1; break;
        case 'a': if (write(file, zeros, number) != number) return 1; break;
        case 'l':
            for (unsigned long at = 1; number-- > 0; at = at * 6364136223846793005 + 1442695040888963407)
                add(buffer, pread(file, buffer, 512, (at >> 33) % 2048 * 512));
            break;
        case 'f':
            if (fork() > 0)
                return wait(&status) < 0 || status != 0;
            break;
        default:
            close(file);
            file = open(argv[i] + (argv[i][0] == '+'), O_RDWR | (argv[i][0] == '+' ? O_APPEND | O_CREAT : 0), 0600);
            if (file < 0)
                return 1;
        }
    }
    printf("%lx\n", sum);
    return 0;
}
