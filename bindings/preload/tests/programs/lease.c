// A program that sets a lease, and gives it up.
#define _GNU_SOURCE
#include "show.h"
#include <fcntl.h>
#include <unistd.h>

int main(void) {
    int file = open("data", O_RDWR);
    SHOW(fcntl(file, F_SETLEASE, F_WRLCK));
    SHOW(fcntl(file, F_GETLEASE));
    SHOW(fcntl(file, F_SETLEASE, F_UNLCK));
    SHOW(close(file));
    return 0;
}
