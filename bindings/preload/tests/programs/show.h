// Every call is shown with its result and errno, so that two runs can be compared.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define SHOW(call)                                                        \
    do {                                                                  \
        errno = 4242;                                                     \
        long result = (long)(call);                                       \
        int after = errno;                                                \
        printf("%s = %ld, errno %d\n", #call, result, after);             \
    } while (0)
