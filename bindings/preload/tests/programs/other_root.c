// Says what is preloaded.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char *preloaded = getenv("LD_PRELOAD");
    puts(preloaded ? preloaded : "-");
    return 0;
}
