// Another preloaded library, which stands in front of read too and counts.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
static int reads;
ssize_t read(int fd, void *into, size_t bytes) {
    ssize_t (*next)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
    reads++;
    return next(fd, into, bytes);
}
__attribute__((destructor)) static void end(void) { printf("other saw %d\n", reads); }
