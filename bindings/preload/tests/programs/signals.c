// Reads interrupted by signals, and signal handlers that read.
#include "show.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static int fd;
static volatile long handled;

static void interrupt(int number) { (void)number; }

static void reader(int number) {
    char c[16];
    (void)number;
    int before = errno;
    if (pread(fd, c, sizeof c, 0) == sizeof c && read(fd, c, 0) == 0) handled++;
    errno = before;
}

int main(void) {
    int pipes[2];
    char buffer[4096];
    pipe(pipes);
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGALRM, &action, NULL);
    ualarm(20000, 0);
    SHOW(read(pipes[0], buffer, 1));
    fd = open("data", O_RDONLY);
    action.sa_handler = reader;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    long bad = 0;
    while (handled < 500) bad += pread(fd, buffer, sizeof buffer, 4096) != sizeof buffer;
    setitimer(ITIMER_REAL, &never, NULL);
    SHOW(bad);
    return 0;
}
