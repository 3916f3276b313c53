/* A cache simulator in the way of dinero: reads a trace of addresses once, and prints what a cache of 16 KB misses of it.
 *
 *     cachesim LINE-BYTES WAYS TRACE      the trace in dinero's format: what is done, and to which address in hex, a line
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_BYTES = 16 << 10 };

int main(int words, char **word)
{
    if (words != 4) {
        fprintf(stderr, "usage: cachesim LINE-BYTES WAYS TRACE\n");
        return 2;
    }
    unsigned long line = strtoul(word[1], NULL, 10), ways = strtoul(word[2], NULL, 10);
    FILE *trace = fopen(word[3], "r");
    if (!trace || line == 0 || ways == 0 || line * ways > CACHE_BYTES) {
        fprintf(stderr, "cachesim: %s: cannot be read, or no such cache\n", word[3]);
        return 2;
    }
    unsigned long sets = CACHE_BYTES / line / ways, references = 0, misses = 0, address;
    /* A set's tags, the latest first; 0 is none, so tags are one more than they would be. */
    unsigned long *tags = calloc(sets * ways, sizeof *tags);
    int kind;
    if (!tags)
        return 2;
    while (fscanf(trace, "%d %lx", &kind, &address) == 2) {
        unsigned long number = address / line, *set = tags + number % sets * ways, at = 0;
        while (at + 1 < ways && set[at] != number + 1)
            at++;
        references++;
        misses += set[at] != number + 1;
        memmove(set + 1, set, at * sizeof *set);
        set[0] = number + 1;
    }
    printf("%lu of %lu missed with lines of %lu bytes, %lu ways\n", misses, references, line, ways);
    return 0;
}
