/* Calls of the hint library that are wrong, or strange: what each returns. Then reads a file. */
#include <errno.h>
#include <foresee.h>
#include <stdio.h>
#include <string.h>

#define SHOW(call) (errno = 0, result = (call), printf("%s: %d, errno %d\n", #call, result, errno))

int main(void)
{
    static char longest[4096], too_long[5001];
    memset(longest, 'x', sizeof longest - 1);
    memset(too_long, 'x', sizeof too_long - 1);
    struct foresee_segment strange[] = {
        {0, 0}, {UINT64_MAX, UINT64_MAX}, {UINT64_MAX, 1}, {0, UINT64_MAX}, {1, UINT64_MAX - 1}, {INT64_MAX, 4096},
        {1ull << 52, 4096}, {(1ull << 52) - 1, 2}, {4095, 2}, {1 << 30, 10},
    };
    int result;
    SHOW(foresee_cancel());
    SHOW(foresee_hint_repeat(1, 2));
    SHOW(foresee_hint_file(NULL));
    SHOW(foresee_hint_file(""));
    SHOW(foresee_hint_file("absent"));
    SHOW(foresee_hint_file("/"));
    SHOW(foresee_hint_file("/proc/self/mem"));
    SHOW(foresee_hint_file("/dev/zero"));
    SHOW(foresee_hint_file("\xff\n../f"));
    SHOW(foresee_hint_file(longest));
    SHOW(foresee_hint_file(too_long));
    SHOW(foresee_hint_segments(NULL, strange, 1));
    SHOW(foresee_hint_segments("f", NULL, 1));
    SHOW(foresee_hint_segments("f", NULL, 0));
    SHOW(foresee_hint_segments("f", strange, 0));
    SHOW(foresee_hint_segments("absent", strange, sizeof strange / sizeof *strange));
    SHOW(foresee_hint_segments("f", strange, sizeof strange / sizeof *strange));
    SHOW(foresee_hint_repeat(0, 0));
    SHOW(foresee_hint_repeat(2, 0));
    SHOW(foresee_hint_repeat(SIZE_MAX, UINT64_MAX));
    SHOW(foresee_hint_file("f"));
    FILE *file = fopen("f", "r");
    unsigned long sum = 0;
    for (int byte; (byte = getc(file)) != EOF;)
        sum = sum * 31 + byte;
    printf("%lu\n", sum);
    SHOW(foresee_cancel());
    SHOW(foresee_cancel());
    return 0;
}
