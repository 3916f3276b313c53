/* A process discloses file "a", its child file "b". The child withdraws what it said, and reads all of "a". Then as many
   more children each say something while other threads of their parent do, which fork may find in the middle of it. */
#include <fcntl.h>
#include <foresee.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 1000, CHILDREN = 30 };

static struct foresee_segment segments[BLOCKS];
static volatile int over;

static void disclose(const char *path)
{
    for (int i = 0; i < BLOCKS; i++)
        segments[i] = (struct foresee_segment){i * 617 % BLOCKS * 4096, 4096};
    if (foresee_hint_segments(path, segments, BLOCKS) != 0)
        perror(path);
}

static void read_all(const char *path)
{
    static char block[4096];
    unsigned long sum = 0;
    int fd = open(path, O_RDONLY);
    for (int i = 0; i < BLOCKS; i++) {
        if (pread(fd, block, sizeof block, segments[i].offset) != (ssize_t)sizeof block)
            perror(path);
        sum = sum * 31 + block[i];
    }
    printf("%lu\n", sum);
    fflush(stdout);
}

static void *hint_on(void *unused)
{
    while (!over)
        foresee_hint_segments("a", segments, 300), usleep(100);
    return unused;
}

static void in_child(void (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (status != 0)
        printf("a child ended with %d\n", status);
}

static void first_child(void)
{
    disclose("b");
    foresee_cancel();
    read_all("a");
}

static void further_child(void)
{
    if (foresee_hint_file("b") != 0)
        perror("b");
}

int main(void)
{
    pthread_t threads[2];
    disclose("a");
    in_child(first_child);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, hint_on, NULL);
    for (int i = 0; i < CHILDREN; i++)
        in_child(further_child);
    over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    puts(foresee_cancel() == 0 ? "done" : "not heard");
    return 0;
}
