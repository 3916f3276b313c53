// Reads on stacks of every kind: threads' of the least size, signals', coroutines' at the very end of a mapping, frames of no fixed
// size, and one that a page that cannot be read follows.
#include <alloca.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096

static int fd;

__attribute__((noinline)) static void get(void) {
    char buffer[16];
    if (pread(fd, buffer, sizeof buffer, 0) != sizeof buffer) abort();
}

static void *thread(void *_) { for (int i = 0; i < 50; i++) get(); return NULL; }
static void handler(int _) { get(); }

static ucontext_t back, coroutine;
static void run(void) { get(); }

__attribute__((noinline)) static void varying(int bytes) {
    volatile char *space = alloca(bytes);
    space[0] = 1;
    get();
    __asm__ volatile("" ::"r"(space));
}

// Calls `get` with the stack pointer this far below the end of a mapping that nothing follows.
static void at_the_end(char *end, long below) {
    char *top = end - below;
    __asm__ volatile(
        "mov %%rsp, %%rbx\n mov %0, %%rsp\n call *%1\n mov %%rbx, %%rsp\n"
        :: "r"(top), "r"(get) : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

int main(void) {
    fd = open("data", O_RDONLY);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        if (pthread_create(&id, &attributes, thread, NULL)) abort();
        pthread_join(id, NULL);
    }

    stack_t other = {.ss_sp = malloc(MINSIGSTKSZ * 16), .ss_size = MINSIGSTKSZ * 16};
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 20; i++) raise(SIGUSR1);

    for (int pages = 8; pages < 12; pages++) {
        // Mapped together with a page more, which is then taken away.
        char *space = mmap(NULL, (pages + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(space + pages * PAGE, PAGE);
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = space;
        coroutine.uc_stack.ss_size = pages * PAGE;
        coroutine.uc_link = &back;
        makecontext(&coroutine, run, 0);
        swapcontext(&back, &coroutine);
        for (long below = 16; below < 2000; below += 48) at_the_end(space + pages * PAGE, below & ~15L);
        munmap(space, pages * PAGE);
    }

    for (int bytes = 1; bytes < 100000; bytes += 997) varying(bytes);
    puts("whole");
    return 0;
}
