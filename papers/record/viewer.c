/* A viewer in the way of viewperf: loads the whole of a data set's files, as often as it is shown.
 *
 *     viewer TIMES FILE...      prints the sum of all bytes for each time
 */
#include <stdio.h>
#include <stdlib.h>

static unsigned long load(const char *path)
{
    static unsigned char buffer[1 << 16];
    unsigned long sum = 0;
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    setvbuf(file, NULL, _IOFBF, 1 << 14);
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
        for (size_t at = 0; at < got; at += 64)
            sum += buffer[at];
    fclose(file);
    return sum;
}

int main(int words, char **word)
{
    for (int times = words > 1 ? atoi(word[1]) : 0; times > 0; times--) {
        unsigned long sum = 0;
        for (int at = 2; at < words; at++)
            sum += load(word[at]);
        printf("%lu\n", sum);
    }
    return 0;
}
