/* hints THREADS LISTS COUNT: each thread hints as many lists of as many segments. List L of thread T is of file "T/L", and
   segment I of it is {I, T}. Prints how many calls failed, with which errno, and how many threads waited for long. */
#include <errno.h>
#include <foresee.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int lists, count;
static atomic_int failed, why, slow;

static void *hint(void *thread)
{
    struct foresee_segment *segments = calloc(count, sizeof *segments);
    for (int i = 0; i < count; i++)
        segments[i] = (struct foresee_segment){i, (uintptr_t)thread};
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int list = 0; list < lists; list++) {
        char path[32];
        snprintf(path, sizeof path, "%d/%d", (int)(uintptr_t)thread, list);
        errno = 0;
        if (foresee_hint_segments(path, segments, count) != 0) {
            failed++;
            why = errno;
        } else if (errno != 0)
            return "errno was touched";
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    slow += to.tv_sec - from.tv_sec > 20;
    free(segments);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[16];
    if (argc != 4)
        return 2;
    int running = atoi(argv[1]);
    lists = atoi(argv[2]), count = atoi(argv[3]);
    printf("active %d\n", foresee_is_active());
    for (intptr_t i = 0; i < running; i++)
        pthread_create(&threads[i], NULL, hint, (void *)i);
    for (int i = 0; i < running; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        if (wrong)
            puts(wrong);
    }
    printf("failed %d, errno %d, slow %d\n", failed, why, slow);
    return foresee_hint_repeat(lists, 3) + foresee_cancel();
}
