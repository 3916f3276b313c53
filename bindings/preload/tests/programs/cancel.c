// Threads cancelled in read, fgets and write: they must end, with their cleanup handlers run and errno in order.
#include "show.h"
#include <pthread.h>
#include <unistd.h>

static int pipes[2], full[2];
static int cleaned;

static void cleanup(void *what) {
    cleaned++;
    printf("cleanup of %s\n", (char *)what);
}

static void *in_read(void *nothing) {
    char c;
    pthread_cleanup_push(cleanup, "read");
    read(pipes[0], &c, 1);
    pthread_cleanup_pop(0);
    return nothing;
}

static void *in_fgets(void *nothing) {
    char line[10];
    FILE *f = fdopen(pipes[0], "r");
    pthread_cleanup_push(cleanup, "fgets");
    fgets(line, sizeof line, f);
    pthread_cleanup_pop(0);
    return nothing;
}

static void *in_write(void *nothing) {
    static char block[1 << 20];
    pthread_cleanup_push(cleanup, "write");
    write(full[1], block, sizeof block);
    pthread_cleanup_pop(0);
    return nothing;
}

static void *before_read(void *nothing) {
    char c;
    pthread_cleanup_push(cleanup, "a read begun after the cancellation");
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    usleep(100000);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    read(pipes[0], &c, 1);
    pthread_cleanup_pop(0);
    return nothing;
}

static void *disabled(void *nothing) {
    char c = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_push(cleanup, "nothing");
    SHOW(read(pipes[0], &c, 1));
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    printf("got %c, cancel type %d\n", c, type);
    pthread_cleanup_pop(0);
    return nothing;
}

static void run(void *(*body)(void *), const char *then) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, body, NULL);
    usleep(50000);
    pthread_cancel(thread);
    usleep(10000);
    if (then) write(pipes[1], then, 1);
    pthread_join(thread, &result);
    printf("cancelled %d, cleaned %d\n", result == PTHREAD_CANCELED, cleaned);
    fflush(stdout);
}

int main(void) {
    pipe(pipes);
    pipe(full);
    run(in_read, NULL);
    run(in_write, NULL);
    run(before_read, NULL);
    run(disabled, "x");
    run(in_fgets, NULL);
    return 0;
}
